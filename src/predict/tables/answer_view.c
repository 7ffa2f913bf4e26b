/* What callers outside see of an answer: its columns, its forecasts, and its numbers as one array.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "predict/tables/answer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int order_of(int64_t x, int64_t y) { return (x > y) - (x < y); }

int ll_row_compare(const ll_answer_row *x, const ll_answer_row *y)
{
    if (x->scenario != y->scenario) return order_of(x->scenario, y->scenario);
    if (x->entity != y->entity) return order_of(x->entity, y->entity);
    if (x->origin != y->origin) return order_of(x->origin, y->origin);
    if (x->sample != y->sample) return order_of(x->sample, y->sample);
    if (x->time != y->time) return order_of(x->time, y->time);
    return order_of(x->target, y->target);
}

#ifndef NDEBUG
static bool in_order(const llap_answer *a)
{
    for (size_t i = 1; i < a->n_rows; i++) {
        const ll_answer_row before = ll_answer_row_at(a, i - 1), row = ll_answer_row_at(a, i);
        if (ll_row_compare(&before, &row) > 0) return false;
    }
    return true;
}
#endif

static bool same_forecast(const ll_answer_rows *c, size_t i, size_t k)
{
    return c->scenario[i] == c->scenario[k] && c->entity[i] == c->entity[k] &&
           c->origin[i] == c->origin[k];
}

/* Where each forecast begins, [n + 1]; returns n. first may be NULL. */
static int64_t find_forecasts(const llap_answer *a, int64_t *first)
{
    int64_t n = 0;
    for (size_t i = 0; i < a->n_rows; i++) {
        if (i > 0 && same_forecast(&a->rows, i - 1, i)) continue;
        if (first != NULL) first[n] = (int64_t)i;
        n++;
    }
    if (first != NULL) first[n] = (int64_t)a->n_rows;
    return n;
}

/* Different times of rows from .. to - 1, which are of one forecast and sample. */
static int64_t count_times(const ll_answer_rows *c, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) n += i == from || c->time[i] != c->time[i - 1];
    return n;
}

static int64_t count_samples(const llap_answer *a)
{
    int64_t n = 1;
    for (size_t i = 0; i < a->n_rows; i++)
        if (a->rows.sample[i] >= n) n = a->rows.sample[i] + 1;
    return n;
}

/* Whether every forecast has every time, sample and variable; and the most times of one. */
static void find_shape(const llap_answer *a, llap_answer_columns *v)
{
    assert(a->n_rows == 0 || v->first[v->n_forecasts] == (int64_t)a->n_rows);
    v->n_samples = count_samples(a);
    v->dense = 1;
    for (int64_t f = 0; f < v->n_forecasts; f++) {
        const int64_t rows = v->first[f + 1] - v->first[f], each = rows / v->n_samples;
        const int64_t times = count_times(&a->rows, v->first[f], v->first[f] + each);
        if (rows % v->n_samples != 0 || each != times * v->n_variables ||
            (f > 0 && times != v->n_times))
            v->dense = 0;
        if (times > v->n_times) v->n_times = times;
    }
    for (int64_t i = 0; i < v->n_rows && v->dense; i++)
        if (a->rows.target[i] != i % v->n_variables) v->dense = 0;
}

llap_status ll_answer_finish(llap_answer *a)
{
    assert(in_order(a));
    const int64_t n = find_forecasts(a, NULL);
    a->first = ll_new((size_t)n + 1, sizeof *a->first);
    if (a->first == NULL) return LLAP_ENOMEM;
    find_forecasts(a, a->first);
    a->view = (llap_answer_columns){
        .n_rows = (int64_t)a->n_rows,
        .n_numbers = a->n_numbers,
        .n_entities = a->n_entities,
        .n_variables = a->n_targets,
        .entities = a->entity,
        .variables = a->target,
        .n_quantiles = a->n_quantiles,
        .quantiles = a->quantile,
        .is_imputation = (a->kind & LL_ANSWER_IMPUTATION) != 0,
        .is_samples = (a->kind & LL_ANSWER_SAMPLES) != 0,
        .is_backtest = a->has_origin,
        .entity = a->rows.entity,
        .variable = a->rows.target,
        .time = a->rows.time,
        .origin = a->rows.origin,
        .sample = a->rows.sample,
        .observed = a->rows.observed,
        .number = a->number,
        .n_forecasts = n,
        .first = a->first,
        .axis = ll_axis_show(&a->axis),
        .n_scenarios = a->n_scenarios,
        .scenarios = a->scenario,
        .scenario = a->rows.scenario,
    };
    find_shape(a, &a->view);
    return LLAP_OK;
}

llap_status ll_answer_join(const llap_answer *const *answer, int64_t n, const char *const *scenario,
                           llap_answer **out)
{
    const llap_answer *one = answer[0];
    size_t             rows = 0, at = 0;
    for (int64_t k = 0; k < n; k++) rows += answer[k]->n_rows;
    if (rows > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "the answer would have more than %d rows; ask for fewer steps",
                       LL_ANSWER_ROWS_MAX);
    llap_answer *a = NULL;
    llap_status  st = ll_answer_create_bare(one->kind, rows, one->quantile, one->n_quantiles, &a);
    if (st == LLAP_OK) st = ll_answer_name_as(a, one);
    if (st == LLAP_OK) st = ll_copy_names(&a->arena, scenario, n, &a->scenario);
    for (int64_t k = 0; st == LLAP_OK && k < n; k++) {
        const llap_answer *from = answer[k];
        assert(from->kind == one->kind && from->n_numbers == a->n_numbers);
        if (from->n_rows > 0)
            memcpy(a->number + at * (size_t)a->n_numbers, from->number,
                   from->n_rows * (size_t)a->n_numbers * sizeof *a->number);
        for (size_t i = 0; i < from->n_rows; i++) {
            ll_answer_row row = ll_answer_row_at(from, i);
            row.scenario = (int32_t)k;
            ll_answer_put(a, at++, row);
        }
    }
    if (st == LLAP_OK) {
        a->n_scenarios = n;
        st = ll_answer_finish(a);
    }
    if (st == LLAP_OK) *out = a;
    else llap_answer_destroy(a);
    return st;
}

const llap_answer_columns *llap_answer_view(const llap_answer *a) { return &a->view; }

/* The rows of one forecast to their places. */
static void spread(const llap_answer_columns *v, int64_t f, double *out, int64_t *time)
{
    int64_t k = -1; /* time of the row */
    for (int64_t i = v->first[f]; i < v->first[f + 1]; i++) {
        const bool next = i > v->first[f] && v->sample[i] != v->sample[i - 1];
        if (next) k = -1;
        if (k < 0 || v->time[i] != v->time[i - 1]) k++;
        assert(k < v->n_times && v->sample[i] < v->n_samples);
        const int64_t to =
            ((f * v->n_samples + v->sample[i]) * v->n_times + k) * v->n_variables + v->variable[i];
        memcpy(out + to * v->n_numbers, v->number + i * v->n_numbers,
               (size_t)v->n_numbers * sizeof *out);
        if (time != NULL) time[f * v->n_times + k] = v->time[i];
    }
}

size_t llap_answer_array(const llap_answer *a, double *out, int64_t *time, size_t room)
{
    const llap_answer_columns *v = &a->view;
    const size_t               times = (size_t)(v->n_forecasts * v->n_times);
    const size_t               n = times * (size_t)(v->n_samples * v->n_variables * v->n_numbers);
    if (room < n || out == NULL) return n;
    for (size_t i = 0; i < n; i++) out[i] = (double)NAN;
    for (size_t i = 0; time != NULL && i < times; i++) time[i] = INT64_MIN;
    for (int64_t f = 0; f < v->n_forecasts; f++) spread(v, f, out, time);
    return n;
}
