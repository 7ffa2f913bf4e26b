#include "base/alloc.h"
#include "base/error.h"
#include "task/task.h"

#include <math.h>

/* Which rows of an entity are asked about, and where their answers go. */
static bool asked(const llap_panel *p, int64_t row, int64_t var, const llap_impute_opts *o)
{
    return o->all || !llap_panel_observed(p, row, var);
}

static int64_t count_asked(const llap_model *m, const llap_panel *p, const int64_t *var,
                           const llap_impute_opts *o)
{
    int64_t n = 0;
    for (int64_t r = 0; r < p->n_rows; r++)
        for (int64_t v = 0; v < m->frame.n_targets; v++) n += asked(p, r, var[v], o);
    return n;
}

/* Answers of one target of one entity, written from row `at` of the answer on. */
static llap_status impute_entity(const llap_model *m, const llap_panel *p, const llap_series *s,
                                 int64_t e, int64_t target, int64_t var, const llap_impute_opts *o,
                                 const task_scores *score, llap_answer *out, size_t *at)
{
    const int64_t first = p->start[e], n_rows = p->start[e + 1] - first;
    const int64_t known = llap_model_entity(m, p->entity[e]);
    double       *t = llap_new((size_t)n_rows, sizeof *t);
    int64_t      *row = llap_new((size_t)n_rows, sizeof *row);
    llap_law     *law = llap_new((size_t)n_rows, sizeof *law);
    llap_status   st = t == NULL || row == NULL || law == NULL ? LLAP_ENOMEM : LLAP_OK;
    size_t        n = 0;
    for (int64_t r = 0; st == LLAP_OK && r < n_rows; r++)
        if (asked(p, first + r, var, o)) {
            t[n] = s->t[r];
            row[n++] = first + r;
        }
    const llap_anchor_request request = { .history = *s,
                                          .series = known < 0 ? SIZE_MAX : (size_t)known,
                                          .n_query = n,
                                          .t_query = t,
                                          .law = law };
    if (st == LLAP_OK && n > 0)
        st = llap_anchor_model_fill(m->anchor[target], &request, 1,
                                    o->causal ? LLAP_ANCHOR_PAST : LLAP_ANCHOR_BOTH);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        double    *number = out->number + *at * (size_t)out->n_numbers;
        const bool observed = llap_panel_observed(p, row[i], var);
        out->row[(*at)++] = (task_row){ .time = p->time[row[i]],
                                        .entity = (int32_t)e,
                                        .target = (int32_t)target,
                                        .observed = observed };
        task_law_numbers(m->anchor[target], request.series, &law[i], score, number);
        /* What was measured stays. */
        for (int k = 0; observed && k < out->n_numbers; k++)
            number[k] = (double)p->value[row[i] * p->n_vars + var];
    }
    llap_free(t);
    llap_free(row);
    llap_free(law);
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
        for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
            st = impute_entity(m, p, &s.series[e], e, v, var[v], o, &score, *out, &at);
        task_series_deinit(&s);
    }
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    return st;
}

llap_status llap_impute(const llap_model *m, const llap_panel *panel, const llap_impute_opts *o,
                        llap_answer **out)
{
    *out = NULL;
    llap_status st = task_need_anchors(m);
    if (st == LLAP_OK) st = task_check_axis(m, panel);
    if (st != LLAP_OK) return st;
    int64_t *var = llap_new((size_t)m->frame.n_targets, sizeof *var);
    st = var == NULL ? LLAP_ENOMEM : task_columns(m, panel, var);
    if (st == LLAP_OK) st = task_compare(m, panel, var, NULL, o->log);
    if (st == LLAP_OK) st = impute_all(m, panel, var, o, out);
    llap_free(var);
    return st;
}
