#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "predict/answer.h"
#include "predict/compare.h"
#include "predict/device.h"
#include "predict/filler.h"
#include "predict/frame.h"
#include "predict/numbers.h"
#include "predict/queries.h"
#include "predict/series.h"
#include "predict/times.h"

#include <math.h>
#include <string.h>

/* What is asked. */
typedef struct asked {
    const llap_model       *m;
    const llap_panel       *p;
    const int64_t          *var;  /* [n_targets] */
    const uint8_t          *rows; /* [n_rows] those of given times; NULL: all */
    const llap_impute_opts *o;
    int64_t                 n_samples;
    bool                    keep; /* the draws themselves */
    const ll_backend       *backend;
} asked;

static ll_anchor_from from_of(const asked *k)
{
    return k->o->causal ? LL_ANCHOR_PAST : LL_ANCHOR_BOTH;
}

static bool asked_of(const asked *k, int64_t row, int64_t target)
{
    if (k->rows != NULL) return k->rows[row] != 0;
    return k->o->all || !ll_panel_observed(k->p, row, k->var[target]);
}

static int64_t count_asked(const asked *k)
{
    int64_t n = 0;
    for (int64_t r = 0; r < k->p->n_rows; r++)
        for (int64_t v = 0; v < k->m->frame.n_targets; v++) n += asked_of(k, r, v);
    return n;
}

/* What is asked about one target, entity by entity. */
typedef struct questions {
    ll_anchor_request *request; /* [n_entities] */
    double            *t;       /* of all queries, as the next two */
    int64_t           *row;
    ll_law            *law;
    ll_series         *all; /* by entity of the model, or NULL */
} questions;

static void questions_deinit(questions *q)
{
    ll_free(q->request);
    ll_free(q->t);
    ll_free(q->row);
    ll_free(q->law);
    ll_free(q->all);
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
                      .law = ll_new(n_rows, sizeof *q->law) };
    if (q->request == NULL || q->t == NULL || q->row == NULL || q->law == NULL) return LLAP_ENOMEM;
    const llap_status st = ll_linked_series(m, target, p, s, &q->all);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const int64_t      first = p->start[e];
        ll_anchor_request *r = &q->request[e];
        *r = (ll_anchor_request){ .history = s->series[e],
                                  .series = ll_model_series(m, p->entity[e]),
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

/* The laws of all questions; reports between pieces. Where entities help each other all are asked
 * at once. */
static llap_status fill(const asked *k, int64_t target, const questions *q)
{
    enum { ENTITIES_AT_ONCE = 16 };
    const ll_anchor_model *a = k->m->anchor[target];
    const size_t           n = (size_t)k->p->n_entities;
    const size_t           most = a->neighbours[from_of(k)].cov != NULL ? n : ENTITIES_AT_ONCE;
    llap_status            st = LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i += most) {
        st = ll_report(k->o->progress,
                       &(llap_progress_event){ "impute", (int64_t)i, (int64_t)n, "entities",
                                               k->m->frame.target[target] });
        if (st == LLAP_OK)
            st = ll_anchor_model_fill(a, q->request + i, n - i < most ? n - i : most, from_of(k));
    }
    return st;
}

/* Paths of all questions, [n_samples,its queries] of each entity, behind one another. */
static llap_status draw(const asked *k, int64_t target, const questions *q, double *out)
{
    const char *name = k->m->frame.target[target];
    int         worst = LLAP_OK;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (int64_t e = 0; e < k->p->n_entities; e++) {
        const ll_anchor_request *r = &q->request[e];
        const char              *entity = k->p->entity[e];
        const uint64_t    id = ll_hash(ll_hash(0, entity, strlen(entity) + 1), name, strlen(name));
        const llap_status st = ll_anchor_model_fill_paths(
            k->m->anchor[target], r, from_of(k), (uint64_t)k->o->seed, id, (size_t)k->n_samples,
            out + (r->law - q->law) * k->n_samples);
        if ((int)st > worst) worst = (int)st;
    }
    /* its detail may be another thread's */
    return worst == LLAP_OK ? LLAP_OK
                            : ll_fail((llap_status)worst, "%s: drawing paths failed", name);
}

/* The rows of the answer about one query, and what was measured there, which stays. at: the first;
 * those of further samples are each `step` behind. */
static void put_query(const asked *k, int64_t target, int64_t e, int64_t row, llap_answer *out,
                      size_t at, size_t step)
{
    const int64_t cell = row * k->p->n_vars + k->var[target];
    const bool    observed = ll_panel_observed(k->p, row, k->var[target]);
    for (int64_t i = 0; i < (k->keep ? k->n_samples : 1); i++, at += step) {
        out->row[at] = (ll_answer_row){ .time = k->p->time[row],
                                        .entity = (int32_t)e,
                                        .target = (int32_t)target,
                                        .sample = (int32_t)i,
                                        .observed = observed };
        for (int c = 0; observed && c < out->n_numbers; c++)
            out->number[at * (size_t)out->n_numbers + (size_t)c] = (double)k->p->value[cell];
    }
}

/* Answers about one target, written from row *at of the answer on: of each entity its queries, or
 * sample by sample all of them. */
static llap_status impute_target(const asked *k, const ll_panel_series *s, int64_t target,
                                 const ll_normal_scores *score, llap_answer *out, size_t *at)
{
    const llap_model *m = k->m;
    questions         q;
    size_t            i = 0;
    llap_status       st = questions_init(&q, k, s, target);
    if (st == LLAP_OK && m->anchor != NULL) st = fill(k, target, &q);
    if (st == LLAP_OK && m->anchor != NULL && k->keep) st = draw(k, target, &q, out->number + *at);
    for (int64_t e = 0; st == LLAP_OK && e < k->p->n_entities; e++) {
        const ll_anchor_request *r = &q.request[e];
        for (size_t j = 0; j < r->n_query; j++, i++) {
            if (m->anchor != NULL && !k->keep)
                ll_law_numbers(m->anchor[target], r->series, &q.law[i], score,
                               out->number + (*at + j) * (size_t)out->n_numbers);
            put_query(k, target, e, q.row[i], out, *at + j, r->n_query);
        }
        *at += r->n_query * (size_t)(k->keep ? k->n_samples : 1);
    }
    questions_deinit(&q);
    return st;
}

static llap_status make_answer(const asked *k, ll_normal_scores *score, llap_answer **out)
{
    double        quantile[LL_QUANTILES];
    int           n = 0;
    int64_t       rows;
    const int64_t each = k->keep ? k->n_samples : 1;
    llap_status   st = ll_quantiles_parse(k->o->quantiles, quantile, &n);
    if (st != LLAP_OK) return st;
    ll_normal_scores_init(score, quantile, n);
    if (__builtin_mul_overflow(count_asked(k), each, &rows) || rows > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "the answer would have more than %d rows%s", LL_ANSWER_ROWS_MAX,
                       k->keep ? "; ask for fewer samples" : "");
    return ll_answer_create(k->keep ? LL_ANSWER_IMPUTATION | LL_ANSWER_SAMPLES
                                    : LL_ANSWER_IMPUTATION,
                            k->m, k->p, (size_t)rows, quantile, k->keep ? 0 : n, out);
}

static llap_status impute_all(const asked *k, llap_answer *out, const ll_normal_scores *score)
{
    size_t      at = 0;
    llap_status st = LLAP_OK;
    for (int64_t v = 0; st == LLAP_OK && v < k->m->frame.n_targets; v++) {
        ll_panel_series s;
        st = ll_panel_series_init(&s, k->p, k->var[v], k->m->frame.unit);
        if (st != LLAP_OK) break;
        st = impute_target(k, &s, v, score, out, &at);
        ll_panel_series_deinit(&s);
    }
    return st;
}

/* ---- networks, where they fill better than the anchor, or without one ---- */

typedef struct place { /* of a cell's answer */
    int64_t at, step;  /* step: to the row of its next sample */
} place;

typedef struct draws {
    const asked *k;
    llap_answer *out;
    place       *place; /* [n_rows,n_targets] */
    double      *y;     /* [n_samples] scratch */
} draws;

static void put_draws(void *user, const ll_filled_cell *cell)
{
    draws      *d = user;
    const place at = d->place[cell->row * d->k->m->frame.n_targets + cell->target];
    if (d->k->keep) {
        for (int64_t i = 0; i < cell->n; i++) d->out->number[at.at + i * at.step] = cell->y[i];
        return;
    }
    memcpy(d->y, cell->y, (size_t)cell->n * sizeof *d->y);
    ll_sample_numbers(d->y, cell->n, d->out, d->out->number + at.at * d->out->n_numbers);
}

/* Where the answers are, as impute_all puts them; and what the networks are asked. */
static void find_places(const asked *k, place *to, uint8_t *missing)
{
    const llap_panel *p = k->p;
    const int64_t     C = k->m->frame.n_targets;
    int64_t           at = 0;
    for (int64_t v = 0; v < C; v++)
        for (int64_t e = 0; e < p->n_entities; e++) {
            int64_t n = 0;
            for (int64_t row = p->start[e]; row < p->start[e + 1]; row++) {
                const bool yes = asked_of(k, row, v);
                to[row * C + v].at = at + n;
                missing[row * C + v] = yes && !ll_panel_observed(p, row, k->var[v]);
                n += yes;
            }
            for (int64_t row = p->start[e]; row < p->start[e + 1]; row++) to[row * C + v].step = n;
            at += n * (k->keep ? k->n_samples : 1);
        }
}

/* The answer to cells that are missing, by the networks. */
static llap_status improve(const asked *k, int64_t first, llap_answer *out)
{
    const llap_panel *p = k->p;
    const int64_t     C = k->m->frame.n_targets, most = k->m->anchor != NULL ? LL_FILL_WINDOWS : 0;
    uint8_t          *missing = ll_new((size_t)p->n_rows, (size_t)C);
    draws             d = { .k = k, .out = out };
    size_t            n_windows = 0;
    d.place = ll_new((size_t)p->n_rows, (size_t)C * sizeof *d.place);
    d.y = ll_new((size_t)k->n_samples, sizeof *d.y);
    llap_status st = missing == NULL || d.place == NULL || d.y == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) find_places(k, d.place, missing);
    const ll_gap_cells      g = { .m = k->m, .p = p, .asked = missing };
    const ll_fill_gaps_opts how = { .from = from_of(k),
                                    .first = first,
                                    .n_samples = k->n_samples,
                                    .seed = (uint64_t)k->o->seed,
                                    .most = (size_t)most,
                                    .progress = k->o->progress,
                                    .backend = k->backend,
                                    .log = k->o->log };
    if (st == LLAP_OK) st = ll_fill_gaps(&g, &how, put_draws, &d, &n_windows);
    if (st == LLAP_OK && most > 0 && n_windows > (size_t)most)
        ll_logf(k->o->log, LLAP_LOG_WARNING,
                "the networks fill %lld of %zu places with gaps, evenly spread; the anchor fills "
                "the others",
                (long long)most, n_windows);
    ll_free(missing);
    ll_free(d.place);
    ll_free(d.y);
    return st;
}

/* rows as in asked; panel is the data as it came. */
static llap_status impute(const llap_model *m, const llap_panel *panel, const llap_panel *p,
                          const uint8_t *rows, const llap_impute_opts *o, llap_answer **out)
{
    asked            k = { .m = m,
                           .p = p,
                           .rows = rows,
                           .o = o,
                           .n_samples = o->samples > 0 ? o->samples : LL_FILL_SAMPLES,
                           .keep = o->keep_samples != 0 };
    ll_normal_scores score;
    int64_t         *var = ll_new((size_t)m->frame.n_targets, sizeof *var);
    llap_status      st =
        var == NULL ? LLAP_ENOMEM : ll_backend_choose(o->device, o->precision, &k.backend);
    if (st == LLAP_OK) st = ll_target_columns(m, p, var);
    k.var = var;
    if (st == LLAP_OK) st = ll_compare_with_training(m, panel, var, NULL, o->log);
    if (st == LLAP_OK) st = make_answer(&k, &score, out);
    if (st == LLAP_OK) st = impute_all(&k, *out, &score);
    const int64_t first = ll_fill_first_point(m, from_of(&k));
    if (st == LLAP_OK && first >= 0) st = improve(&k, first, *out);
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    ll_free(var);
    return st;
}

llap_status llap_impute(const llap_model *m, const llap_panel *panel, const llap_impute_opts *o,
                        llap_answer **out)
{
    *out = NULL;
    if (o->samples < 0)
        return ll_fail(LLAP_EOPTION, "samples: expected at least 1, found %lld",
                       (long long)o->samples);
    llap_status st = ll_check_axis(m, panel);
    if (st != LLAP_OK || o->times == NULL)
        return st == LLAP_OK ? impute(m, panel, panel, NULL, o, out) : st;
    ll_query_times times;
    llap_panel    *more = NULL;
    uint8_t       *rows = NULL;
    st = ll_query_times_read(panel, o->times, &times);
    if (st == LLAP_OK) st = ll_query_times_rows(panel, &times, &more, &rows);
    if (st == LLAP_OK) st = impute(m, panel, more, rows, o, out);
    ll_free(times.at);
    ll_free(rows);
    llap_panel_destroy(more);
    return st;
}
