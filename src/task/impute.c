#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "task/filler.h"

#include <math.h>
#include <string.h>

/* Which rows of an entity are asked about, and where their answers go. */
static bool asked_of(const llap_panel *p, int64_t row, int64_t var, const llap_impute_opts *o)
{
    return o->all || !llap_panel_observed(p, row, var);
}

static int64_t count_asked(const llap_model *m, const llap_panel *p, const int64_t *var,
                           const llap_impute_opts *o)
{
    int64_t n = 0;
    for (int64_t r = 0; r < p->n_rows; r++)
        for (int64_t v = 0; v < m->frame.n_targets; v++) n += asked_of(p, r, var[v], o);
    return n;
}

/* What is asked about one target, entity by entity. */
typedef struct questions {
    llap_anchor_request *request; /* [n_entities] */
    double              *t;       /* of all queries, as the next two */
    int64_t             *row;
    llap_law            *law;
    llap_series         *all; /* by entity of the model, or NULL */
} questions;

static void questions_deinit(questions *q)
{
    llap_free(q->request);
    llap_free(q->t);
    llap_free(q->row);
    llap_free(q->law);
    llap_free(q->all);
}

static llap_status questions_init(questions *q, const llap_model *m, const llap_panel *p,
                                  const task_series *s, int64_t target, int64_t var,
                                  const llap_impute_opts *o)
{
    const size_t n_rows = (size_t)p->n_rows;
    size_t       n = 0;
    *q = (questions){ .request = llap_new((size_t)p->n_entities, sizeof *q->request),
                      .t = llap_new(n_rows, sizeof *q->t),
                      .row = llap_new(n_rows, sizeof *q->row),
                      .law = llap_new(n_rows, sizeof *q->law) };
    if (q->request == NULL || q->t == NULL || q->row == NULL || q->law == NULL) return LLAP_ENOMEM;
    const llap_status st = task_linked(m, target, p, s, &q->all);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const int64_t        first = p->start[e];
        llap_anchor_request *r = &q->request[e];
        *r = (llap_anchor_request){ .history = s->series[e],
                                    .series = llap_model_series(m, p->entity[e]),
                                    .t_query = q->t + n,
                                    .law = q->law + n,
                                    .all = q->all };
        for (int64_t row = first; row < p->start[e + 1]; row++)
            if (asked_of(p, row, var, o)) {
                q->t[n] = s->series[e].t[row - first];
                q->row[n++] = row;
                r->n_query++;
            }
    }
    return st;
}

/* The laws of all questions; reports between pieces. Where entities help each other all are asked
 * at once. */
static llap_status fill(const llap_model *m, int64_t target, const questions *q, size_t n,
                        const llap_impute_opts *o)
{
    enum { ENTITIES_AT_ONCE = 16 };
    const llap_anchor_model *a = m->anchor[target];
    const llap_anchor_from   from = o->causal ? LLAP_ANCHOR_PAST : LLAP_ANCHOR_BOTH;
    const size_t             most = a->near[from].cov != NULL ? n : ENTITIES_AT_ONCE;
    llap_status              st = LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i += most) {
        st =
            llap_report(o->progress, &(llap_progress_event){ "impute", (int64_t)i, (int64_t)n,
                                                             "entities", m->frame.target[target] });
        if (st == LLAP_OK)
            st = llap_anchor_model_fill(a, q->request + i, n - i < most ? n - i : most, from);
    }
    return st;
}

/* Answers about one target, written from row `at` of the answer on. */
static llap_status impute_target(const llap_model *m, const llap_panel *p, const task_series *s,
                                 int64_t target, int64_t var, const llap_impute_opts *o,
                                 const task_scores *score, llap_answer *out, size_t *at)
{
    questions   q;
    llap_status st = questions_init(&q, m, p, s, target, var, o);
    if (st == LLAP_OK && m->anchor != NULL) st = fill(m, target, &q, (size_t)p->n_entities, o);
    size_t i = 0;
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
        for (size_t k = 0; k < q.request[e].n_query; k++, i++) {
            double    *number = out->number + *at * (size_t)out->n_numbers;
            const bool observed = llap_panel_observed(p, q.row[i], var);
            out->row[(*at)++] = (task_row){ .time = p->time[q.row[i]],
                                            .entity = (int32_t)e,
                                            .target = (int32_t)target,
                                            .observed = observed };
            if (m->anchor != NULL)
                task_law_numbers(m->anchor[target], q.request[e].series, &q.law[i], score, number);
            /* What was measured stays. */
            for (int c = 0; observed && c < out->n_numbers; c++)
                number[c] = (double)p->value[q.row[i] * p->n_vars + var];
        }
    questions_deinit(&q);
    return st;
}

static llap_status impute_all(const llap_model *m, const llap_panel *p, const int64_t *var,
                              const llap_impute_opts *o, llap_answer **out)
{
    double      quantile[TASK_QUANTILES];
    task_scores score;
    int         n_quantiles = 0;
    llap_status st = task_quantiles(o->quantiles, quantile, &n_quantiles);
    task_scores_init(&score, quantile, n_quantiles);
    if (st == LLAP_OK)
        st = task_answer_create(TASK_IMPUTATION, m, p, (size_t)count_asked(m, p, var, o), quantile,
                                n_quantiles, out);
    size_t at = 0;
    for (int64_t v = 0; st == LLAP_OK && v < m->frame.n_targets; v++) {
        task_series s;
        st = task_series_init(&s, p, var[v], m->frame.unit);
        if (st != LLAP_OK) break;
        st = impute_target(m, p, &s, v, var[v], o, &score, *out, &at);
        task_series_deinit(&s);
    }
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* ---- networks, where they fill better than the anchor, or without one ---- */

typedef struct draws {
    llap_answer *out;
    int64_t     *place; /* [n_rows,n_targets] row of the answer */
    int64_t      n_targets;
    double       y[TASK_FILL_SAMPLES];
} draws;

static void put_draws(void *user, const task_filled *cell)
{
    draws        *d = user;
    const int64_t at = d->place[cell->row * d->n_targets + cell->target];
    memcpy(d->y, cell->y, (size_t)cell->n * sizeof *d->y);
    task_sample_numbers(d->y, cell->n, d->out, d->out->number + at * d->out->n_numbers);
}

/* The answer to cells that are missing, by the networks. */
static llap_status improve(const llap_model *m, const llap_panel *p, const int64_t *var,
                           const llap_impute_opts *o, int64_t first, llap_answer *out)
{
    const int64_t C = m->frame.n_targets, most = m->anchor != NULL ? TASK_FILL_WINDOWS : 0;
    uint8_t      *asked = llap_new((size_t)p->n_rows, (size_t)C);
    draws         d = { .out = out, .n_targets = C };
    size_t        n = 0, n_windows = 0;
    d.place = llap_new((size_t)p->n_rows, (size_t)C * sizeof *d.place);
    llap_status st = asked == NULL || d.place == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t v = 0; v < C && st == LLAP_OK; v++)
        for (int64_t row = 0; row < p->n_rows; row++) {
            d.place[row * C + v] = (int64_t)n;
            n += asked_of(p, row, var[v], o);
            asked[row * C + v] = !llap_panel_observed(p, row, var[v]);
        }
    const task_gaps      g = { .m = m, .p = p, .asked = asked };
    const task_fill_opts how = { .from = o->causal ? LLAP_ANCHOR_PAST : LLAP_ANCHOR_BOTH,
                                 .first = first,
                                 .n_samples = TASK_FILL_SAMPLES,
                                 .seed = 1,
                                 .most = (size_t)most,
                                 .progress = o->progress };
    if (st == LLAP_OK) st = task_fill(&g, &how, put_draws, &d, &n_windows);
    if (st == LLAP_OK && most > 0 && n_windows > (size_t)most)
        llap_logf(o->log, LLAP_LOG_WARNING,
                  "the networks fill %lld of %zu places with gaps, evenly spread; the anchor fills "
                  "the others",
                  (long long)most, n_windows);
    llap_free(asked);
    llap_free(d.place);
    return st;
}

llap_status llap_impute(const llap_model *m, const llap_panel *panel, const llap_impute_opts *o,
                        llap_answer **out)
{
    *out = NULL;
    llap_status st = task_check_axis(m, panel);
    if (st != LLAP_OK) return st;
    int64_t *var = llap_new((size_t)m->frame.n_targets, sizeof *var);
    st = var == NULL ? LLAP_ENOMEM : task_columns(m, panel, var);
    if (st == LLAP_OK) st = task_compare(m, panel, var, NULL, o->log);
    if (st == LLAP_OK) st = impute_all(m, panel, var, o, out);
    const int64_t first = task_fill_first(m, o->causal ? LLAP_ANCHOR_PAST : LLAP_ANCHOR_BOTH);
    if (st == LLAP_OK && first >= 0) {
        st = improve(m, panel, var, o, first, *out);
        if (st != LLAP_OK) {
            llap_answer_destroy(*out);
            *out = NULL;
        }
    }
    llap_free(var);
    return st;
}
