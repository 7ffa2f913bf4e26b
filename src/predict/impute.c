#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "base/text.h"
#include "predict/device.h"
#include "predict/filler.h"
#include "predict/outside.h"
#include "predict/tables/answer.h"
#include "predict/tables/numbers.h"
#include "predict/tables/times.h"
#include "predict/view/compare.h"
#include "predict/view/fill_view.h"
#include "predict/view/frame.h"
#include "predict/view/known_series.h"
#include "predict/view/meet.h"
#include "predict/view/only.h"
#include "predict/view/queries.h"
#include "predict/view/series.h"
#include "predict/view/static_view.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What is asked. */
typedef struct asked {
    const llap_model       *m;
    const llap_panel       *p;
    const int64_t          *var;      /* [n_targets] */
    const uint8_t          *rows;     /* [n_rows] those of given times; NULL: all */
    uint8_t                *left_out; /* [n_rows] not asked about; NULL: none. Owned */
    const llap_impute_opts *o;
    int64_t                 n_samples;
    bool                    keep; /* the draws themselves */
    const ll_backend       *backend;
    ll_fill_view           *view;       /* from both sides */
    const struct place     *place;      /* [n_rows,n_targets] */
    const ll_ranks         *ranks;      /* that share the entities out; NULL: there are no others */
    int64_t                 first, end; /* entities of this one */
    uint8_t                *mine;       /* [rows of the answer] what this one has made; or NULL */
} asked;

typedef struct place { /* of a cell's answer: its row there, and how far to that of its next sample
                        */
    size_t at, step;
} place;

static ll_anchor_from from_of(const asked *k)
{
    return k->o->causal ? LL_ANCHOR_PAST : LL_ANCHOR_BOTH;
}

static bool asked_of(const asked *k, int64_t row, int64_t target)
{
    if (k->rows != NULL) return k->rows[row] != 0;
    if (k->left_out != NULL && k->left_out[row]) return false;
    return k->o->all || !ll_panel_observed(k->p, row, k->var[target]);
}

/* Rows of entities that are not asked about, and those behind the last reading of an entity that
 * hold known inputs alone: they are no gaps, the future is asked for by forecasts. */
static llap_status find_left_out(asked *k)
{
    const llap_panel *p = k->p;
    const char       *only = k->o->only;
    llap_status       st = ll_only_check(only, p);
    if (st != LLAP_OK || k->rows != NULL) return st;
    if (only == NULL && k->m->frame.n_known == 0) return LLAP_OK;
    k->left_out = ll_new((size_t)p->n_rows, sizeof *k->left_out);
    if (k->left_out == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t first = p->start[e];
        if (ll_only_has(only, p->entity[e]))
            first = k->m->frame.n_known == 0
                        ? p->start[e + 1]
                        : first + ll_observed_until(p, e, k->var, k->m->frame.n_targets);
        for (int64_t r = first; r < p->start[e + 1]; r++) k->left_out[r] = 1;
    }
    return LLAP_OK;
}

static int64_t count_asked(const asked *k, int64_t target)
{
    int64_t n = 0;
    for (int64_t r = 0; r < k->p->n_rows; r++) n += asked_of(k, r, target);
    return n;
}

/* Where the answers are: of each entity, sample by sample, its cells in order of time and target.
 */
static void find_places(const asked *k, place *to)
{
    const llap_panel *p = k->p;
    const int64_t     C = k->m->frame.n_targets;
    size_t            at = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t first = p->start[e] * C, end = p->start[e + 1] * C;
        size_t        n = 0;
        for (int64_t i = first; i < end; i++) {
            to[i].at = at + n;
            n += asked_of(k, i / C, i % C);
        }
        for (int64_t i = first; i < end; i++) to[i].step = n;
        at += n * (size_t)(k->keep ? k->n_samples : 1);
    }
}

/* What is asked about one target, entity by entity. */
typedef struct questions {
    ll_anchor_request *request; /* [n_entities] */
    double            *t;       /* of all queries, as the next two */
    int64_t           *row;
    ll_law            *law;
    int64_t           *entity; /* [n_entities] */
    double            *move;   /* of the laws */
    ll_series         *all;    /* by entity of the model, or NULL */
} questions;

static void questions_deinit(questions *q)
{
    ll_free(q->request);
    ll_free(q->t);
    ll_free(q->row);
    ll_free(q->law);
    ll_free(q->all);
    ll_free(q->entity);
    ll_free(q->move);
}

static llap_status questions_init(questions *q, const asked *k, const ll_panel_series *s,
                                  int64_t target)
{
    const llap_model *m = k->m;
    const llap_panel *p = k->p;
    const size_t      n_rows = (size_t)p->n_rows;
    size_t            n = 0;
    *q = (questions){ .request = ll_new((size_t)p->n_entities, sizeof *q->request),
                      .t = ll_new(n_rows, sizeof *q->t),
                      .row = ll_new(n_rows, sizeof *q->row),
                      .law = ll_new(n_rows, sizeof *q->law),
                      .entity = ll_new((size_t)p->n_entities, sizeof *q->entity) };
    if (!q->request || !q->t || !q->row || !q->law || !q->entity) return LLAP_ENOMEM;
    const llap_status st = ll_linked_series(m, target, p, s, &q->all);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const int64_t      first = p->start[e];
        ll_anchor_request *r = &q->request[e];
        q->entity[e] = e;
        *r = (ll_anchor_request){ .history = s->series[e],
                                  .series = ll_model_series_of(m, p, e),
                                  .t_query = q->t + n,
                                  .law = q->law + n,
                                  .all = q->all };
        for (int64_t row = first; row < p->start[e + 1]; row++)
            if (asked_of(k, row, target)) {
                q->t[n] = s->series[e].t[row - first];
                q->row[n++] = row;
                r->n_query++;
            }
    }
    return st;
}

/* The laws of this rank's questions; reports between pieces. Where entities help each other all are
 * asked at once. */
static llap_status fill(const asked *k, int64_t target, const questions *q)
{
    enum { ENTITIES_AT_ONCE = 16 };
    const ll_anchor_model *a = k->m->anchor[target];
    const bool             together = a->neighbours[from_of(k)].cov != NULL;
    const size_t           n = (size_t)(together ? k->p->n_entities : k->end);
    const size_t           most = together ? n : ENTITIES_AT_ONCE;
    llap_status            st = LLAP_OK;
    for (size_t i = together ? 0 : (size_t)k->first; i < n && st == LLAP_OK; i += most) {
        st = ll_report(k->o->progress,
                       &(llap_progress_event){ "impute", (int64_t)i, (int64_t)n, "entities",
                                               k->m->frame.target[target] });
        if (st == LLAP_OK)
            st = ll_anchor_model_fill(a, q->request + i, n - i < most ? n - i : most, from_of(k));
    }
    return st;
}

/* The laws as all sensors have them, where they fill. */
static llap_status fill_by_all(const asked *k, int64_t target, questions *q)
{
    const size_t n = (size_t)count_asked(k, target);
    if (k->o->causal || k->m->filling == NULL || k->first == k->end) return LLAP_OK;
    q->move = ll_new(n, LL_LAW_LEVELS * sizeof *q->move);
    return q->move == NULL
               ? LLAP_ENOMEM
               : ll_fill_view_move(k->view, target, q->request + k->first, q->entity + k->first,
                                   (size_t)(k->end - k->first), q->move);
}

/* Draws of what all sensors fill take the quantiles that their ranks say: joint over targets, too.
 */
static void take_ranks(const asked *k, int64_t target, int64_t e, const ll_anchor_request *r,
                       double *path)
{
    const size_t n = (size_t)k->n_samples;
    for (size_t q = 0; q < r->n_query && !k->o->causal; q++) {
        const int32_t *rank = ll_fill_view_ranks(k->view, target, e, r->t_query[q]);
        if (rank == NULL || r->law[q].move == NULL) continue;
        for (size_t i = 0; i < n; i++)
            path[i * r->n_query + q] =
                ll_anchor_quantile(k->m->anchor[target], r->series, &r->law[q],
                                   ll_normal_score(((double)rank[i] + 0.5) / (double)n));
    }
}

/* Paths of all questions, [n_samples,its queries] of each entity, behind one another. */
static llap_status draw(const asked *k, int64_t target, const questions *q, double *out)
{
    const char *name = k->m->frame.target[target];
    int         worst = LLAP_OK;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (int64_t e = k->first; e < k->end; e++) {
        const ll_anchor_request *r = &q->request[e];
        const char              *entity = k->p->entity[e];
        const uint64_t    id = ll_hash(ll_hash(0, entity, strlen(entity) + 1), name, strlen(name));
        const llap_status st = ll_anchor_model_fill_paths(
            k->m->anchor[target], r, from_of(k), (uint64_t)k->o->seed, id, (size_t)k->n_samples,
            out + (r->law - q->law) * k->n_samples);
        if (st == LLAP_OK) take_ranks(k, target, e, r, out + (r->law - q->law) * k->n_samples);
        if ((int)st > worst) worst = (int)st;
    }
    /* its detail may be another thread's */
    return worst == LLAP_OK ? LLAP_OK
                            : ll_fail((llap_status)worst, "%s: drawing paths failed", name);
}

/* The rows of the answer about one query, and what was measured there, which stays. path: its
 * draws, n apart, or NULL. */
static void put_query(const asked *k, int64_t target, int64_t e, int64_t row, const double *path,
                      size_t n, llap_answer *out)
{
    const int64_t cell = row * k->p->n_vars + k->var[target];
    const bool    observed = ll_panel_observed(k->p, row, k->var[target]);
    const place   to = k->place[row * k->m->frame.n_targets + target];
    size_t        at = to.at;
    for (int64_t i = 0; i < (k->keep ? k->n_samples : 1); i++, at += to.step) {
        ll_answer_put(out, at,
                      (ll_answer_row){ .time = k->p->time[row],
                                       .entity = (int32_t)e,
                                       .target = (int32_t)target,
                                       .sample = (int32_t)i,
                                       .observed = observed });
        if (k->mine != NULL) k->mine[at] = 1;
        if (path != NULL) out->number[at] = path[(size_t)i * n];
        for (int c = 0; observed && c < out->n_numbers; c++)
            out->number[at * (size_t)out->n_numbers + (size_t)c] = (double)k->p->value[cell];
    }
}

/* Answers about one target. path: room for the draws of all its queries, or NULL. */
static llap_status impute_target(const asked *k, const ll_panel_series *s, int64_t target,
                                 const ll_normal_scores *score, double *path, llap_answer *out)
{
    const llap_model *m = k->m;
    questions         q;
    size_t            i = 0;
    llap_status       st = questions_init(&q, k, s, target);
    if (st == LLAP_OK && m->anchor != NULL) st = fill(k, target, &q);
    if (st == LLAP_OK && m->anchor != NULL) st = fill_by_all(k, target, &q);
    if (st == LLAP_OK && path != NULL) st = draw(k, target, &q, path);
    assert((path != NULL) == (m->anchor != NULL && k->keep));
    for (int64_t e = 0; st == LLAP_OK && e < k->p->n_entities; e++) {
        const ll_anchor_request *r = &q.request[e];
        const bool               own = e >= k->first && e < k->end;
        for (size_t j = 0; j < r->n_query; j++, i++) {
            if (!own) continue;
            const size_t at = k->place[q.row[i] * m->frame.n_targets + target].at;
            if (m->anchor != NULL && !k->keep)
                ll_law_numbers(m->anchor[target], r->series, &q.law[i], score,
                               out->number + at * (size_t)out->n_numbers);
            put_query(k, target, e, q.row[i], path == NULL ? NULL : path + j, r->n_query, out);
        }
        if (path != NULL) path += r->n_query * (size_t)k->n_samples;
    }
    questions_deinit(&q);
    return st;
}

static llap_status make_answer(const asked *k, ll_normal_scores *score, llap_answer **out)
{
    double        quantile[LL_QUANTILES];
    int           n = 0;
    int64_t       rows = 0;
    const int64_t each = k->keep ? k->n_samples : 1;
    llap_status   st = ll_quantiles_parse(k->o->quantiles, quantile, &n);
    if (st != LLAP_OK) return st;
    ll_normal_scores_init(score, quantile, n);
    for (int64_t v = 0; v < k->m->frame.n_targets; v++) rows += count_asked(k, v);
    if (__builtin_mul_overflow(rows, each, &rows) || rows > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "the answer would have more than %d rows%s", LL_ANSWER_ROWS_MAX,
                       k->keep ? "; ask for fewer samples" : "");
    return ll_answer_create(k->keep ? LL_ANSWER_IMPUTATION | LL_ANSWER_SAMPLES
                                    : LL_ANSWER_IMPUTATION,
                            k->m, k->p, (size_t)rows, quantile, k->keep ? 0 : n, out);
}

static llap_status draw_together(const asked *k)
{
    const int64_t C = k->m->frame.n_targets;
    uint8_t      *wanted = ll_new((size_t)k->p->n_rows, (size_t)C);
    if (wanted == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < k->p->n_rows * C; i++) wanted[i] = asked_of(k, i / C, i % C);
    const llap_status st = ll_fill_view_draw(k->view, wanted, k->n_samples, (uint64_t)k->o->seed);
    ll_free(wanted);
    return st;
}

static llap_status impute_all(const asked *k, llap_answer *out, const ll_normal_scores *score)
{
    const bool  draws = k->m->anchor != NULL && k->keep;
    llap_status st = LLAP_OK;
    if (draws && !k->o->causal && k->m->filling != NULL) st = draw_together(k);
    for (int64_t v = 0; st == LLAP_OK && v < k->m->frame.n_targets; v++) {
        ll_panel_series s;
        double         *path = NULL;
        st = ll_panel_series_init(&s, k->p, k->var[v], k->m->frame.unit);
        if (st == LLAP_OK) st = ll_known_series(&s, k->m, v, k->p);
        if (st == LLAP_OK && draws) {
            path = ll_new((size_t)(count_asked(k, v) * k->n_samples), sizeof *path);
            if (path == NULL) st = LLAP_ENOMEM;
        }
        if (st == LLAP_OK) st = impute_target(k, &s, v, score, path, out);
        ll_free(path);
        ll_panel_series_deinit(&s);
    }
    return st;
}

/* ---- networks, where they fill better than the anchor, or without one ---- */

typedef struct draws {
    const asked *k;
    llap_answer *out;
    double      *y; /* [n_samples] scratch */
} draws;

static void put_draws(void *user, const ll_filled_cell *cell)
{
    draws      *d = user;
    const place at = d->k->place[cell->row * d->k->m->frame.n_targets + cell->target];
    assert(cell->n <= d->k->n_samples);
    for (size_t i = 0; d->k->mine != NULL && i < (d->k->keep ? (size_t)cell->n : 1); i++)
        d->k->mine[at.at + i * at.step] = 1;
    if (d->k->keep) {
        for (size_t i = 0; i < (size_t)cell->n; i++)
            d->out->number[at.at + i * at.step] = cell->y[i];
        return;
    }
    memcpy(d->y, cell->y, (size_t)cell->n * sizeof *d->y);
    ll_sample_numbers(d->y, cell->n, false, d->out,
                      d->out->number + at.at * (size_t)d->out->n_numbers);
}

/* What the networks are asked, [n_rows,n_targets]. */
static void find_missing(const asked *k, uint8_t *missing)
{
    const int64_t C = k->m->frame.n_targets;
    for (int64_t i = 0; i < k->p->n_rows * C; i++)
        missing[i] = asked_of(k, i / C, i % C) && !ll_panel_observed(k->p, i / C, k->var[i % C]);
}

/* The answer to cells that are missing, by the networks. */
static llap_status improve(const asked *k, int64_t first, llap_answer *out)
{
    const llap_panel *p = k->p;
    const int64_t     C = k->m->frame.n_targets, most = k->m->anchor != NULL ? LL_FILL_WINDOWS : 0;
    uint8_t          *missing = ll_new((size_t)p->n_rows, (size_t)C);
    draws             d = { .k = k, .out = out };
    size_t            n_windows = 0;
    d.y = ll_new((size_t)k->n_samples, sizeof *d.y);
    llap_status st = missing == NULL || d.y == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (k->mine != NULL) memset(k->mine, 0, out->n_rows); /* what came before is everybody's */
    if (st == LLAP_OK) find_missing(k, missing);
    const ll_gap_cells      g = { .m = k->m, .p = p, .asked = missing };
    const ll_fill_gaps_opts how = { .from = from_of(k),
                                    .first = first,
                                    .n_samples = k->n_samples,
                                    .seed = (uint64_t)k->o->seed,
                                    .most = (size_t)most,
                                    .progress = k->o->progress,
                                    .backend = k->backend,
                                    .ranks = k->ranks,
                                    .log = k->o->log };
    if (st == LLAP_OK) st = ll_fill_gaps(&g, &how, put_draws, &d, &n_windows);
    st = ll_ranks_end_together(k->ranks, st);
    if (st == LLAP_OK) st = ll_answer_spread(k->ranks, out, k->mine);
    if (st == LLAP_OK && most > 0 && n_windows > (size_t)most)
        ll_logf(k->o->log, LLAP_LOG_WARNING,
                "the networks fill %lld of %zu places with gaps, evenly spread; the anchor fills "
                "the others",
                (long long)most, n_windows);
    ll_free(missing);
    ll_free(d.y);
    return st;
}

/* rows as in asked; panel is the data as it came. */
static llap_status impute(const llap_model *m, const llap_panel *panel, const llap_panel *p,
                          const uint8_t *rows, const llap_impute_opts *o, llap_answer **out)
{
    asked k = {
        .m = m, .p = p, .rows = rows, .o = o, .n_samples = o->samples, .keep = o->keep_samples != 0
    };
    ll_normal_scores score;
    ll_fill_view     view = { 0 };
    int64_t         *var = ll_new((size_t)m->frame.n_targets, sizeof *var);
    place           *to = ll_new((size_t)p->n_rows, (size_t)m->frame.n_targets * sizeof *to);
    llap_status      st = var == NULL || to == NULL
                              ? LLAP_ENOMEM
                              : ll_backend_choose(o->device, o->precision, &k.backend);
    if (st == LLAP_OK) st = ll_target_columns(m, p, var);
    k.var = var;
    if (st == LLAP_OK) st = find_left_out(&k);
    if (st == LLAP_OK) st = ll_compare_with_training(m, panel, var, NULL, o->log);
    k.place = to;
    k.view = &view;
    if (st == LLAP_OK && !o->causal) st = ll_fill_view_init(&view, m, m->filling, p);
    view.progress = o->progress;
    k.ranks = ll_ranks_joined();
    ll_ranks_part(k.ranks, p->n_entities, &k.first, &k.end);
    if (st == LLAP_OK) find_places(&k, to);
    if (st == LLAP_OK) st = make_answer(&k, &score, out);
    if (st == LLAP_OK && k.ranks != NULL && (k.mine = ll_new((*out)->n_rows + 1, 1)) == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = impute_all(&k, *out, &score);
    st = ll_ranks_end_together(k.ranks, st);
    if (st == LLAP_OK) st = ll_answer_spread(k.ranks, *out, k.mine);
    const int64_t first = ll_fill_first_point(m, from_of(&k));
    if (st == LLAP_OK && first >= 0) st = improve(&k, first, *out);
    if (st == LLAP_OK) st = ll_answer_finish(*out);
    if (st == LLAP_OK) st = ll_mark_outside(m, p, var, NULL, *out, o->log);
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    ll_fill_view_deinit(&view);
    ll_free(k.left_out);
    ll_free(k.mine);
    ll_free(to);
    ll_free(var);
    return st;
}

/* Times that are given instead of missing cells. */
static llap_status impute_times(const llap_model *m, const llap_panel *panel,
                                const llap_impute_opts *o, llap_answer **out)
{
    ll_query_times times;
    llap_panel    *more = NULL;
    uint8_t       *rows = NULL;
    if (o->only != NULL)
        return ll_fail(LLAP_EOPTION, "only: what `times` asks about names the entities itself");
    if (o->times != NULL && o->query != NULL)
        return ll_fail(LLAP_EOPTION, "query: cannot be combined with times");
    llap_status st = o->query != NULL ? ll_query_times_take(panel, o->query, &times)
                                      : ll_query_times_read(panel, o->times, &times);
    if (st == LLAP_OK && times.has_origins)
        st = ll_fail(LLAP_EINVAL, "%s: %s'origin': of forecasts, gaps have none",
                     ll_query_times_place(&times, NULL).text, times.path != NULL ? "column " : "");
    if (st == LLAP_OK) st = ll_query_times_rows(panel, &times, &more, &rows);
    if (st == LLAP_OK) st = impute(m, panel, more, rows, o, out);
    ll_free(times.at);
    ll_free(rows);
    llap_panel_destroy(more);
    return st;
}

llap_status llap_impute(const llap_model *m, const llap_panel *panel, const llap_impute_opts *given,
                        llap_answer **out)
{
    llap_impute_opts o;
    ll_static_view   v;
    *out = NULL;
    llap_status st = llap_options_resolve(llap_impute_options(), given, &o, sizeof o);
    if (st == LLAP_OK) st = ll_check_axis(m, panel);
    if (st == LLAP_OK) st = ll_fill_can(m);
    if (st != LLAP_OK) return st;
    st = ll_static_view_init(&v, m, panel, o.statics, o.log);
    if (st == LLAP_OK)
        st = ll_ranks_meet(ll_ranks_joined(), v.m, panel, llap_impute_options(), &o, NULL, 0);
    if (st == LLAP_OK)
        st = o.times == NULL && o.query == NULL ? impute(v.m, panel, panel, NULL, &o, out)
                                                : impute_times(v.m, panel, &o, out);
    ll_static_view_deinit(&v);
    return st;
}
