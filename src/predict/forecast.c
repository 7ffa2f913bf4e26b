#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/sort.h"
#include "base/text.h"
#include "predict/device.h"
#include "predict/forecaster.h"
#include "predict/laws.h"
#include "predict/network_members.h"
#include "predict/outside.h"
#include "predict/pool.h"
#include "predict/scenarios.h"
#include "predict/silent.h"
#include "predict/tables/answer.h"
#include "predict/tables/numbers.h"
#include "predict/totals.h"
#include "predict/view/compare.h"
#include "predict/view/frame.h"
#include "predict/view/known_series.h"
#include "predict/view/meet.h"
#include "predict/view/queries.h"
#include "predict/view/stack_view.h"
#include "predict/view/static_view.h"

#include <llapdiff/sampler.h>

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Rows of the answer: each query (or forecast, of totals) and target, `each` times. */
static llap_status count_rows(const llap_model *m, size_t asked, int64_t each, size_t *rows)
{
    int64_t n;
    if (__builtin_mul_overflow((int64_t)asked, m->frame.n_targets, &n) ||
        __builtin_mul_overflow(n, each, &n) || n > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "the answer would have more than %d rows; ask for %s",
                       LL_ANSWER_ROWS_MAX, each > 1 ? "fewer samples" : "fewer steps");
    *rows = (size_t)n;
    return LLAP_OK;
}

/* ---- joint paths ---- */

enum { WINDOWS_AT_ONCE = 64 };

typedef struct asked { /* a forecast, by the time it is made at */
    int64_t origin;
    size_t  place;
} asked;

static int in_time(const void *a, const void *b)
{
    const asked *x = a, *y = b;
    if (x->origin != y->origin) return x->origin < y->origin ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool over_horizon(const llap_forecast_opts *o)
{
    return o->total == LLAP_FORECAST_TOTAL_HORIZON || o->total == LLAP_FORECAST_TOTAL_BOTH;
}

static bool over_entities(const llap_forecast_opts *o)
{
    return o->total == LLAP_FORECAST_TOTAL_ENTITIES || o->total == LLAP_FORECAST_TOTAL_BOTH;
}

/* What becomes of the paths of one forecast and target, [n_paths,its queries]. */
typedef struct paths {
    const llap_forecast_opts *o;
    const ll_queries         *q;
    const ll_totals          *totals; /* that q is of; NULL: q is of single entities */
    int64_t                   n_paths, n_targets;
    double                   *x;    /* [n_paths] scratch */
    int64_t                   done; /* forecasts */
    llap_answer              *out;
} paths;

static ll_answer_row row_of(const paths *a, size_t i, int64_t target, int64_t k)
{
    return (ll_answer_row){ .time = a->q->time[a->q->first[i] + (size_t)k],
                            .origin = a->q->origin[i],
                            .entity = (int32_t)a->q->entity[i],
                            .target = (int32_t)target };
}

static int64_t n_queries(const ll_queries *q, size_t i)
{
    assert(i < q->n && q->first[i] <= q->first[i + 1]);
    return (int64_t)(q->first[i + 1] - q->first[i]);
}

static void put_samples(const paths *a, size_t i, int64_t target, const double *path)
{
    const int64_t h = n_queries(a->q, i);
    const size_t  width = (size_t)a->n_targets;
    size_t        at = a->q->first[i] * (size_t)a->n_paths * width + (size_t)target;
    for (int64_t k = 0; k < a->n_paths * h; k++, at += width) {
        ll_answer_row row = row_of(a, i, target, k % h);
        row.sample = (int32_t)(k / h);
        ll_answer_put(a->out, at, row);
        a->out->number[at] = path[k];
    }
}

static void put_quantiles(const paths *a, size_t i, int64_t target, const ll_forecast_members *from)
{
    const int64_t h = n_queries(a->q, i);
    assert(from->n <= a->n_paths);
    for (int64_t k = 0; k < h; k++) {
        const size_t at = (a->q->first[i] + (size_t)k) * (size_t)a->n_targets + (size_t)target;
        for (int64_t s = 0; s < from->n; s++) a->x[s] = from->value[s * h + k];
        ll_answer_put(a->out, at, row_of(a, i, target, k));
        ll_sample_numbers(a->x, from->n, from->law != NULL && from->law[k], a->out,
                          a->out->number + at * (size_t)a->out->n_numbers);
    }
}

static void put_total(const paths *a, size_t i, int64_t target, const double *path)
{
    const int64_t h = n_queries(a->q, i), n = a->n_paths;
    const bool    keep = a->o->keep_samples != 0;
    const size_t  width = (size_t)a->n_targets;
    const size_t  at = i * (size_t)(keep ? n : 1) * width + (size_t)target;
    assert(h > 0);
    for (int64_t s = 0; s < n; s++) {
        a->x[s] = 0;
        for (int64_t k = 0; k < h; k++) a->x[s] += path[s * h + k];
    }
    for (int64_t s = 0; s < (keep ? n : 1); s++) {
        ll_answer_row row = row_of(a, i, target, h - 1);
        row.sample = (int32_t)s;
        ll_answer_put(a->out, at + (size_t)s * width, row);
        if (keep) a->out->number[at + (size_t)s * width] = a->x[s];
    }
    if (!keep)
        ll_sample_numbers(a->x, n, false, a->out, a->out->number + at * (size_t)a->out->n_numbers);
}

/* The forecasts list[0 .. n-1]. */
static llap_status put_paths(const paths *a, const llap_panel *p, const ll_forecaster *f,
                             const asked *list, int64_t n)
{
    const ll_queries         *q = a->q;
    const bool                laws = !a->o->keep_samples && !a->o->total && a->o->n_with == 0;
    const ll_forecast_request ask = { .n_samples = a->n_paths,
                                      .seed = (uint64_t)a->o->seed,
                                      .laws = laws,
                                      .log = a->o->log,
                                      .progress = a->o->progress,
                                      .at = { "forecast", a->done, (int64_t)q->n, "forecasts",
                                              NULL } };
    ll_arena                  arena = { 0 };
    ll_forecast_window       *w = ll_arena_new(&arena, (size_t)n, sizeof *w);
    ll_forecast_members      *from = ll_arena_new(&arena, (size_t)(n * a->n_targets), sizeof *from);
    llap_status               st = w == NULL || from == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const size_t place = list[i].place;
        if (a->totals != NULL) {
            st = ll_totals_forecast(a->totals, place, p, f, &ask, &arena, from + i * a->n_targets);
            continue;
        }
        w[i] = ll_forecast_window_at(p, q->entity[place], list[i].origin);
        w[i].n_query = n_queries(q, place);
        w[i].time = q->time + q->first[place];
        w[i].draw = q->several ? list[i].origin : 0;
    }
    if (st == LLAP_OK && a->totals == NULL) st = f->forecast(f, &ask, w, n, &arena, from);
    for (int64_t i = 0; i < n * a->n_targets && st == LLAP_OK; i++) {
        const size_t  place = list[i / a->n_targets].place;
        const int64_t target = i % a->n_targets;
        assert((laws || from[i].n == a->n_paths) && !from[i].constant);
        if (over_horizon(a->o)) put_total(a, place, target, from[i].value);
        else if (a->o->keep_samples) put_samples(a, place, target, from[i].value);
        else put_quantiles(a, place, target, &from[i]);
    }
    ll_arena_deinit(&arena);
    return st;
}

/* The rows of the answer that a forecast makes: *first .. *end - 1. */
static void rows_of(const paths *a, size_t i, size_t *first, size_t *end)
{
    const bool   total = over_horizon(a->o);
    const size_t width = (size_t)(a->n_targets * (a->o->keep_samples ? a->n_paths : 1));
    *first = width * (total ? i : a->q->first[i]);
    *end = width * (total ? i + 1 : a->q->first[i + 1]);
}

/* Ranks make groups of forecasts in turn. */
static llap_status put_all(const ll_ranks *r, paths *a, const llap_panel *p, const ll_forecaster *f)
{
    const ll_queries *q = a->q;
    asked            *list = ll_new(q->n, sizeof *list);
    uint8_t          *mine = ll_new(r == NULL ? 1 : a->out->n_rows, sizeof *mine);
    int64_t           group = 0;
    llap_status       st = list == NULL || mine == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < q->n && st == LLAP_OK; i++) list[i] = (asked){ q->origin[i], i };
    if (st == LLAP_OK) qsort(list, q->n, sizeof *list, in_time);
    for (size_t i = 0, end; i < q->n && st == LLAP_OK; i = end) {
        for (end = i + 1; end < q->n; end++)
            if (list[end].origin != list[end - 1].origin && end - i >= WINDOWS_AT_ONCE) break;
        a->done = (int64_t)i;
        if (!ll_ranks_mine(r, group++)) continue;
        for (size_t k = i, row, last; r != NULL && k < end; k++)
            for (rows_of(a, list[k].place, &row, &last); row < last; row++) mine[row] = 1;
        st = put_paths(a, p, f, list + i, (int64_t)(end - i));
    }
    st = ll_ranks_end_together(r, st);
    if (st == LLAP_OK) st = ll_answer_spread(r, a->out, mine);
    ll_free(mine);
    ll_free(list);
    return st;
}

struct llap_sampler {
    const llap_model    *m;
    const ll_backend    *backend;
    ll_residual_sampler *networks; /* made ready to draw; NULL: not yet */
};

/* Samples, or numbers made of them. *out is the caller's to destroy, also after a failure. */
static llap_status answer_paths(llap_sampler *sampler, const llap_panel *p,
                                const llap_forecast_opts *o, const ll_queries *q,
                                const int64_t *var, llap_answer **out)
{
    const llap_model *m = sampler->m;
    const bool        draws = o->keep_samples != 0;
    double            quantile[LL_QUANTILES];
    int               n_quantiles = 0;
    size_t            rows = 0;
    ll_forecaster     f = { 0 };

    ll_totals totals = { 0 };

    paths       a = { .o = o, .q = q, .n_paths = o->samples, .n_targets = m->frame.n_targets };
    llap_status st = LLAP_OK;
    if (over_entities(o)) {
        st = ll_totals_init(&totals, q, p, o->log);
        a.q = &totals.q;
        a.totals = &totals;
    }
    if (st == LLAP_OK)
        st = count_rows(m, over_horizon(o) ? a.q->n : a.q->first[a.q->n], draws ? a.n_paths : 1,
                        &rows);
    if (st == LLAP_OK) st = ll_quantiles_parse(o->quantiles, quantile, &n_quantiles);
    if (st == LLAP_OK) a.x = ll_new((size_t)a.n_paths, sizeof *a.x);
    if (st == LLAP_OK && a.x == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK)
        st = ll_answer_create(draws ? LL_ANSWER_SAMPLES : LL_ANSWER_FORECAST, m, p, rows, quantile,
                              draws ? 0 : n_quantiles, out);
    if (st == LLAP_OK && a.totals != NULL) st = ll_answer_add_entity(*out, LL_TOTAL_NAME);
    a.out = *out;
    if (st == LLAP_OK)
        st = ll_pool_forecaster(m, o->with, o->n_with, p, var, sampler->backend, &sampler->networks,
                                &f);
    if (st == LLAP_OK) st = put_all(ll_ranks_joined(), &a, p, &f);
    ll_forecaster_deinit(&f);
    ll_totals_deinit(&totals);
    ll_free(a.x);
    return st;
}

/* ---- laws ---- */

/* The numbers of all these forecasts about target v. */
static void put_laws(const llap_model *m, const llap_panel *p, const ll_queries *q, int64_t v,
                     const ll_law *law, const ll_normal_scores *score, llap_answer *out)
{
    for (size_t i = 0; i < q->n; i++) {
        const size_t series = ll_model_series_of(m, p, q->entity[i]);
        for (size_t k = q->first[i]; k < q->first[i + 1]; k++) {
            const size_t at = k * (size_t)m->frame.n_targets + (size_t)v;
            ll_answer_put(out, at,
                          (ll_answer_row){ .time = q->time[k],
                                           .origin = q->origin[i],
                                           .entity = (int32_t)q->entity[i],
                                           .target = (int32_t)v });
            ll_law_numbers(m->anchor[v], series, &law[k], score,
                           out->number + at * (size_t)out->n_numbers);
        }
    }
}

/* Forecasts that this rank makes of those asked for; they lie where all would. */
static ll_queries part_of(const ll_ranks *r, const ll_queries *q)
{
    ll_queries some = *q;
    int64_t    first, end;
    ll_ranks_part(r, (int64_t)q->n, &first, &end);
    some.n = (size_t)(end - first);
    some.entity += first;
    some.origin += first;
    some.first += first;
    return some;
}

/* The rows of part q go to the other ranks. */
static llap_status spread_part(const ll_ranks *r, const ll_queries *q, int64_t n_targets,
                               llap_answer *out)
{
    if (r == NULL) return LLAP_OK;
    const size_t C = (size_t)n_targets;
    uint8_t     *mine = ll_new(out->n_rows + 1, sizeof *mine);
    if (mine == NULL) return LLAP_ENOMEM;
    for (size_t i = q->first[0] * C; i < q->first[q->n] * C; i++) mine[i] = 1;
    const llap_status st = ll_answer_spread(r, out, mine);
    ll_free(mine);
    return st;
}

/* As answer_paths. */
static llap_status answer_laws(const llap_model *m, const llap_panel *p,
                               const llap_forecast_opts *o, const ll_queries *q, const int64_t *var,
                               ll_stack_view *stack, llap_answer **out)
{
    assert(m->anchor != NULL);
    double           quantile[LL_QUANTILES];
    ll_normal_scores score;
    int              n_quantiles = 0;
    size_t           rows = 0;
    const ll_ranks  *ranks = ll_ranks_joined();
    const ll_queries own = part_of(ranks, q);
    ll_law          *law = ll_new(q->first[q->n], sizeof *law);
    double     *move = ll_new(stack == NULL ? 1 : q->first[q->n] * LL_LAW_LEVELS, sizeof *move);
    llap_status st = law == NULL || move == NULL
                         ? LLAP_ENOMEM
                         : ll_quantiles_parse(o->quantiles, quantile, &n_quantiles);
    if (st == LLAP_OK) st = count_rows(m, q->first[q->n], 1, &rows);
    if (st == LLAP_OK)
        st = ll_answer_create(LL_ANSWER_FORECAST, m, p, rows, quantile, n_quantiles, out);
    ll_normal_scores_init(&score, quantile, n_quantiles);
    for (int64_t v = 0; st == LLAP_OK && v < m->frame.n_targets; v++) {
        if (own.n > 0) st = ll_forecast_laws(m, p, o, &own, v, var[v], stack, law, move);
        if (st == LLAP_OK) put_laws(m, p, &own, v, law, &score, *out);
    }
    st = ll_ranks_end_together(ranks, st);
    if (st == LLAP_OK) st = spread_part(ranks, &own, m->frame.n_targets, *out);
    ll_free(law);
    ll_free(move);
    return st;
}

static llap_status answer(const llap_sampler *s, const llap_panel *p, const llap_forecast_opts *o,
                          const ll_queries *q, const int64_t *var, llap_answer **out)
{
    ll_stack_view stack = { 0 };
    llap_status   st = LLAP_OK;
    if (s->m->stack != NULL) st = ll_stack_view_init(&stack, s->m, s->m->stack, p);
    if (st == LLAP_OK)
        st = answer_laws(s->m, p, o, q, var, s->m->stack == NULL ? NULL : &stack, out);
    ll_stack_view_deinit(&stack);
    return st;
}

/* Where the anchor answers alone, its laws are known exactly. */
static bool from_networks(const llap_model *m)
{
    if (m->rival != NULL) return true;
    return m->network != NULL && m->network->config.features.answer_source != LL_ANSWER_BY_ANCHOR;
}

/* ---- samplers ---- */

llap_status llap_sampler_create(const llap_model *m, const char *device,
                                llap_gpu_precision precision, llap_sampler **out)
{
    *out = NULL;
    const ll_backend *backend;
    const llap_status st = ll_backend_choose(device, precision, &backend);
    if (st != LLAP_OK) return st;
    llap_sampler *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (llap_sampler){ .m = m, .backend = backend };
    *out = s;
    return LLAP_OK;
}

void llap_sampler_destroy(llap_sampler *s)
{
    if (s == NULL) return;
    ll_residual_sampler_destroy(s->networks);
    ll_free(s);
}

/* With options that are resolved. */
static llap_status forecast(llap_sampler *s, const llap_panel *panel, const llap_forecast_opts *o,
                            llap_answer **out)
{
    const llap_model *m = s->m;
    ll_queries        q = { 0 };
    int64_t          *var = NULL;
    llap_status       st = ll_check_axis(m, panel);
    if (st == LLAP_OK) st = ll_pool_check(m, o->with, o->n_with, false);
    if (st != LLAP_OK) return st;
    var = ll_new((size_t)m->frame.n_targets, sizeof *var);
    st = var == NULL ? LLAP_ENOMEM : ll_target_columns(m, panel, var);
    if (st == LLAP_OK) st = ll_queries_init(&q, m, panel, var, o);
    llap_panel *filled = NULL;
    if (st == LLAP_OK) st = ll_fill_silent(m, panel, var, &q, o->log, &filled);
    if (filled != NULL) panel = filled;
    if (st == LLAP_OK) st = ll_compare_with_training(m, panel, var, &q, o->log);
    if (st == LLAP_OK) ll_warn_known(m, panel, &q, o->log);
    if (st == LLAP_OK)
        st = o->keep_samples || o->total || o->n_with > 0 || from_networks(m)
                 ? answer_paths(s, panel, o, &q, var, out)
                 : answer(s, panel, o, &q, var, out);
    if (st == LLAP_OK) {
        (*out)->has_origin = q.several;
        st = ll_answer_finish(*out);
    }
    if (st == LLAP_OK) st = ll_mark_outside(m, panel, var, &q, o->total ? NULL : *out, o->log);
    if (st != LLAP_OK) {
        llap_answer_destroy(*out);
        *out = NULL;
    }
    llap_panel_destroy(filled);
    ll_queries_deinit(&q);
    ll_free(var);
    return st;
}

/* One answer for each scenario, then all as one. */
static llap_status forecast_scenarios(llap_sampler *s, const llap_panel *panel,
                                      const llap_forecast_opts *given, llap_answer **out)
{
    const int64_t       n = given->n_scenarios;
    ll_scenarios        all = { 0 };
    const llap_answer **answer = ll_new((size_t)n, sizeof *answer);
    const char        **name = ll_new((size_t)n, sizeof *name);
    llap_status         st = answer == NULL || name == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_scenarios_init(&all, s->m, panel, given);
    for (int64_t k = 0; st == LLAP_OK && k < n; k++) {
        llap_forecast_opts o = *given;
        llap_panel        *p = NULL;
        llap_answer       *one = NULL;
        name[k] = given->scenarios[k].name;
        o.log = ll_scenarios_log(&all, k);
        st = ll_scenarios_panel(&all, k, &p);
        if (st == LLAP_OK) st = forecast(s, p, &o, &one);
        answer[k] = one;
        llap_panel_destroy(p);
    }
    if (st == LLAP_OK) st = ll_answer_join(answer, n, name, out);
    for (int64_t k = 0; answer != NULL && k < n; k++) llap_answer_destroy((llap_answer *)answer[k]);
    ll_scenarios_deinit(&all);
    ll_free((void *)answer);
    ll_free((void *)name);
    return st;
}

llap_status llap_sampler_forecast(llap_sampler *s, const llap_panel *panel,
                                  const llap_forecast_opts *given, llap_answer **out)
{
    llap_forecast_opts      o;
    ll_static_view          v;
    const llap_model *const m = s->m;
    *out = NULL;
    llap_status st = llap_options_resolve(llap_forecast_options(), given, &o, sizeof o);
    if (st == LLAP_OK) st = ll_static_check_with(m, o.with, o.n_with, panel);
    if (st != LLAP_OK) return st;
    st = ll_static_view_init(&v, m, panel, o.statics, o.log);
    s->m = v.m; /* for this forecast */
    if (st == LLAP_OK)
        st = ll_ranks_meet(ll_ranks_joined(), v.m, panel, llap_forecast_options(), &o, o.with,
                           o.n_with);
    if (st == LLAP_OK)
        st =
            o.n_scenarios > 0 ? forecast_scenarios(s, panel, &o, out) : forecast(s, panel, &o, out);
    s->m = m;
    ll_static_view_deinit(&v);
    return st;
}

llap_status llap_forecast(const llap_model *m, const llap_panel *panel, const llap_forecast_opts *o,
                          llap_answer **out)
{
    llap_sampler *s = NULL;
    *out = NULL;
    llap_status st = llap_sampler_create(m, o->device, o->precision, &s);
    if (st == LLAP_OK) st = llap_sampler_forecast(s, panel, o, out);
    llap_sampler_destroy(s);
    return st;
}
