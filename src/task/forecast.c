#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/clock.h"
#include "task/task.h"

#include <math.h>
#include <string.h>

enum { QUERIES_MAX = 1000000, ROWS_MAX = INT32_MAX }; /* of one entity; of one answer */

/* Queries of every entity, and the forecasts of one target after the other. */
typedef struct plan {
    int64_t  n_query, step;
    int64_t *origin; /* [n_entities] ticks; of entities that are asked about */
    int64_t *entity; /* [n] their numbers */
    size_t   n;
    double  *t_query; /* [n,n_query] in the model's unit */
} plan;

static llap_status parse_at(const llap_panel *p, const char *text, int64_t *at)
{
    const bool  number = p->axis.kind == LLAP_AXIS_NUMBER;
    llap_clock  c;
    llap_status st = llap_clock_init(&c, number ? "number" : "rfc3339",
                                     number && *p->axis.unit ? p->axis.unit : NULL,
                                     !number && *p->axis.zone ? p->axis.zone : NULL);
    if (st == LLAP_OK) st = llap_clock_read(&c, text, strlen(text), '.', at);
    llap_clock_deinit(&c);
    return st == LLAP_OK ? st : llap_fail_in(LLAP_EINVAL, "at");
}

static llap_status plan_init(plan *q, const llap_model *m, const llap_panel *p,
                             const llap_forecast_opts *o)
{
    int64_t     horizon = m->frame.horizon, at = 0;
    llap_status st = LLAP_OK;
    q->step = m->frame.step;
    if (o->step != NULL) st = task_span("step", o->step, &p->axis, m->frame.step, &q->step);
    if (st == LLAP_OK && o->horizon != NULL)
        st = task_span("horizon", o->horizon, &p->axis, m->frame.step, &horizon);
    if (st == LLAP_OK && o->at != NULL) st = parse_at(p, o->at, &at);
    if (st != LLAP_OK) return st;
    if (horizon > m->frame.horizon)
        llap_logf(o->log, LLAP_LOG_WARNING,
                  "the horizon is %.2g times that of training: the spread was not checked there",
                  (double)horizon / (double)m->frame.horizon);
    q->n_query = horizon / q->step;
    if (q->n_query < 1)
        return llap_fail(LLAP_EINVAL, "horizon: shorter than a step of the forecast");
    if (q->n_query > QUERIES_MAX)
        return llap_fail(
            LLAP_ELIMIT,
            "horizon: %lld steps, more than %d; take a longer step or a shorter horizon",
            (long long)q->n_query, QUERIES_MAX);
    const size_t n = (size_t)p->n_entities;
    q->origin = llap_new(n, sizeof *q->origin);
    q->entity = llap_new(n, sizeof *q->entity);
    q->t_query = llap_new(n, (size_t)q->n_query * sizeof *q->t_query);
    if (q->origin == NULL || q->entity == NULL || q->t_query == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (p->start[e] == p->start[e + 1]) continue;
        const int64_t last = o->at != NULL ? at : p->time[p->start[e + 1] - 1];
        if (last > INT64_MAX - horizon)
            return llap_fail(LLAP_ELIMIT, "horizon: entity '%s' reaches out of the range of times",
                             llap_text_show(p->entity[e]).text);
        for (int64_t k = 0; k < q->n_query; k++)
            q->t_query[(int64_t)q->n * q->n_query + k] =
                llap_model_time(m, last + (k + 1) * q->step);
        q->origin[q->n] = last;
        q->entity[q->n++] = e;
    }
    return LLAP_OK;
}

static void plan_deinit(plan *q)
{
    llap_free(q->origin);
    llap_free(q->entity);
    llap_free(q->t_query);
}

/* What is asked about the i-th entity of the plan. */
static llap_anchor_request request(const llap_model *m, const llap_panel *p, const plan *q,
                                   const task_series *s, const llap_series *all, size_t i,
                                   llap_law *law)
{
    const int64_t known = llap_model_entity(m, p->entity[q->entity[i]]);
    return (llap_anchor_request){ .history = s->series[q->entity[i]],
                                  .series = known < 0 ? SIZE_MAX : (size_t)known,
                                  .origin = llap_model_time(m, q->origin[i]),
                                  .n_query = (size_t)q->n_query,
                                  .t_query = q->t_query + (int64_t)i * q->n_query,
                                  .law = law,
                                  .all = all };
}

/* The laws of one target, [n,n_query]. */
static llap_status forecast_target(const llap_model *m, const llap_panel *p, const plan *q,
                                   int64_t target, int64_t var, llap_law *law)
{
    task_series          s = { 0 };
    llap_series         *all = NULL;
    llap_anchor_request *r = llap_new(q->n, sizeof *r);
    llap_status          st = r == NULL ? LLAP_ENOMEM : task_series_init(&s, p, var, m->frame.unit);
    if (st == LLAP_OK) st = task_linked(m, target, p, &s, &all);
    if (st == LLAP_OK) {
        for (size_t i = 0; i < q->n; i++)
            r[i] = request(m, p, q, &s, all, i, law + (int64_t)i * q->n_query);
        st = llap_anchor_model_forecast(m->anchor[target], r, q->n);
    }
    task_series_deinit(&s);
    llap_free(all);
    llap_free(r);
    return st;
}

/* Paths of one target, every entity after the other. */
static llap_status sample_target(const llap_model *m, const llap_panel *p, const plan *q,
                                 int64_t target, int64_t var, const llap_forecast_opts *o,
                                 llap_answer *out, size_t *at)
{
    const size_t n = (size_t)q->n_query, n_paths = (size_t)o->samples;
    task_series  s = { 0 };
    llap_series *all = NULL;
    double      *path = llap_new(n_paths, n * sizeof *path);
    llap_status  st = path == NULL ? LLAP_ENOMEM : task_series_init(&s, p, var, m->frame.unit);
    if (st == LLAP_OK) st = task_linked(m, target, p, &s, &all);
    for (size_t i = 0; st == LLAP_OK && i < q->n; i++) {
        const llap_anchor_request r = request(m, p, q, &s, all, i, NULL);
        const char               *name = p->entity[q->entity[i]], *of = m->frame.target[target];
        /* The draws belong to what is forecast: time, entity, variable. */
        uint64_t id = llap_hash(0, &q->origin[i], sizeof q->origin[i]);
        id = llap_hash(llap_hash(id, name, strlen(name)), of, strlen(of));
        st = llap_anchor_model_paths(m->anchor[target], &r, (uint64_t)o->seed, id, n_paths, path);
        for (size_t k = 0; st == LLAP_OK && k < n_paths * n; k++) {
            out->row[*at] = (task_row){ .time = q->origin[i] + ((int64_t)(k % n) + 1) * q->step,
                                        .entity = (int32_t)q->entity[i],
                                        .target = (int32_t)target,
                                        .sample = (int32_t)(k / n) };
            out->number[(*at)++] = path[k];
        }
    }
    task_series_deinit(&s);
    llap_free(all);
    llap_free(path);
    return st;
}

/* Rows of the answer: each query of each entity and target, `each` times. */
static llap_status count_rows(const llap_model *m, const plan *q, int64_t each, size_t *rows)
{
    int64_t n;
    if (__builtin_mul_overflow((int64_t)q->n * q->n_query, m->frame.n_targets, &n) ||
        __builtin_mul_overflow(n, each, &n) || n > ROWS_MAX)
        return llap_fail(LLAP_ELIMIT, "the answer would have more than %d rows; ask for %s",
                         ROWS_MAX, each > 1 ? "fewer samples" : "fewer steps");
    *rows = (size_t)n;
    return LLAP_OK;
}

static llap_status answer_samples(const llap_model *m, const llap_panel *p,
                                  const llap_forecast_opts *o, const plan *q, const int64_t *var,
                                  llap_answer **out)
{
    size_t      at = 0, rows = 0;
    llap_status st = count_rows(m, q, o->samples, &rows);
    if (st == LLAP_OK) st = task_answer_create(TASK_SAMPLES, m, p, rows, NULL, 0, out);
    for (int64_t v = 0; st == LLAP_OK && v < m->frame.n_targets; v++)
        st = sample_target(m, p, q, v, var[v], o, *out, &at);
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    return st;
}

static llap_status answer(const llap_model *m, const llap_panel *p, const llap_forecast_opts *o,
                          const plan *q, const int64_t *var, llap_answer **out)
{
    double      quantile[TASK_QUANTILES];
    task_scores score;
    int         n_quantiles = 0;
    size_t      rows = 0;
    llap_law   *law = llap_new(q->n, (size_t)q->n_query * sizeof *law);
    llap_status st =
        law == NULL ? LLAP_ENOMEM : task_quantiles(o->quantiles, quantile, &n_quantiles);
    if (st == LLAP_OK) st = count_rows(m, q, 1, &rows);
    if (st == LLAP_OK)
        st = task_answer_create(TASK_FORECAST, m, p, rows, quantile, n_quantiles, out);
    task_scores_init(&score, quantile, n_quantiles);
    for (int64_t v = 0; st == LLAP_OK && v < m->frame.n_targets; v++) {
        st = forecast_target(m, p, q, v, var[v], law);
        for (size_t i = 0; st == LLAP_OK && i < q->n; i++) {
            const int64_t known = llap_model_entity(m, p->entity[q->entity[i]]);
            for (int64_t k = 0; k < q->n_query; k++) {
                const size_t at =
                    (i * (size_t)q->n_query + (size_t)k) * (size_t)m->frame.n_targets + (size_t)v;
                (*out)->row[at] = (task_row){ .time = q->origin[i] + (k + 1) * q->step,
                                              .entity = (int32_t)q->entity[i],
                                              .target = (int32_t)v };
                task_law_numbers(m->anchor[v], known < 0 ? SIZE_MAX : (size_t)known,
                                 &law[(int64_t)i * q->n_query + k], &score,
                                 (*out)->number + at * (size_t)(*out)->n_numbers);
            }
        }
    }
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    llap_free(law);
    return st;
}

llap_status llap_forecast(const llap_model *m, const llap_panel *panel, const llap_forecast_opts *o,
                          llap_answer **out)
{
    *out = NULL;
    plan        q = { 0 };
    int64_t    *var = NULL;
    llap_status st = task_check_axis(m, panel);
    if (st != LLAP_OK) return st;
    var = llap_new((size_t)m->frame.n_targets, sizeof *var);
    st = var == NULL ? LLAP_ENOMEM : task_columns(m, panel, var);
    if (st == LLAP_OK) st = plan_init(&q, m, panel, o);
    if (st == LLAP_OK && o->samples < 0)
        st = llap_fail(LLAP_EINVAL, "samples: expected at least 1, found %lld",
                       (long long)o->samples);
    if (st == LLAP_OK)
        st = o->samples > 0 ? answer_samples(m, panel, o, &q, var, out)
                            : answer(m, panel, o, &q, var, out);
    plan_deinit(&q);
    llap_free(var);
    return st;
}
