#include "predict/pool.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "predict/forecaster.h"

#include <assert.h>
#include <string.h>

typedef struct pool_self {
    ll_forecaster f[LL_POOL_MAX + 1];
    int64_t       n;
} pool_self;

/* ---- who may ---- */

static bool same_targets(const ll_model_frame *a, const ll_model_frame *b)
{
    if (a->n_targets != b->n_targets) return false;
    for (int64_t i = 0; i < a->n_targets; i++)
        if (strcmp(a->target[i], b->target[i]) != 0) return false;
    return true;
}

static bool same_split(const ll_model_frame *a, const ll_model_frame *b)
{
    if (a->by_entity != b->by_entity) return false;
    if (!a->by_entity) return a->val_start == b->val_start && a->test_start == b->test_start;
    if (a->n_entities != b->n_entities) return false;
    for (int64_t i = 0; i < a->n_entities; i++)
        if (strcmp(a->entity[i], b->entity[i]) != 0) return false;
    return memcmp(a->part, b->part, (size_t)a->n_entities) == 0;
}

const char *ll_pool_differs(const ll_model_frame *a, const ll_model_frame *b, bool scored)
{
    return !same_targets(a, b)                                  ? "other targets"
           : a->axis != b->axis || a->axis_unit != b->axis_unit ? "another kind of times"
           : a->horizon != b->horizon                           ? "another horizon"
           : scored && !same_split(a, b) ? "another split: it may have seen what is scored"
                                         : NULL;
}

llap_status ll_pool_check(const llap_model *m, const llap_model *const *with, int64_t n,
                          bool scored)
{
    if (n < 0 || n > LL_POOL_MAX)
        return ll_fail(LLAP_EOPTION, "with: expected at most %d models, found %lld", LL_POOL_MAX,
                       (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const ll_model_frame *a = &m->frame, *b = &with[i]->frame;
        const char           *what = ll_pool_differs(a, b, scored);
        if (what == NULL && a->context != b->context) what = "another context";
        if (what != NULL)
            return ll_fail(LLAP_EINVAL, "with: model %lld has %s", (long long)(i + 1), what);
    }
    return LLAP_OK;
}

/* ---- answering ---- */

uint64_t ll_pool_seed(uint64_t seed, int64_t i)
{
    return i == 0 ? seed : ll_hash(seed, &i, sizeof i);
}

/* Paths number k, k + of, k + 2 of, ... of out: whoever looks at the first ones sees all models. */
static void put(const ll_forecast_members *from, int64_t h, int64_t k, int64_t of, double *out)
{
    for (int64_t i = 0; i < from->n; i++)
        memcpy(out + (k + i * of) * h, from->value + i * h, (size_t)h * sizeof *out);
}

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    const pool_self *s = f->self;
    const int64_t    C = f->n_targets;
    if (ask->n_samples < s->n)
        return ll_fail(LLAP_EOPTION, "samples: %lld cannot be shared by %lld models",
                       (long long)ask->n_samples, (long long)s->n);
    ll_forecast_members *own = ll_arena_new(arena, (size_t)(n * C), sizeof *own);
    double             **path = ll_arena_new(arena, (size_t)(n * C), sizeof *path);
    llap_status          st = own == NULL || path == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n * C && st == LLAP_OK; i++) {
        path[i] = ll_arena_new(arena, (size_t)(ask->n_samples * w[i / C].n_query), sizeof **path);
        if (path[i] == NULL) st = LLAP_ENOMEM;
    }
    for (int64_t k = 0; k < s->n && st == LLAP_OK; k++) {
        ll_forecast_request mine = *ask;
        mine.n_samples = (ask->n_samples - k + s->n - 1) / s->n;
        mine.seed = ll_pool_seed(ask->seed, k);
        mine.laws = false;
        st = s->f[k].forecast(&s->f[k], &mine, w, n, arena, own);
        for (int64_t i = 0; i < n * C && st == LLAP_OK; i++) {
            assert(own[i].n == mine.n_samples && !own[i].constant);
            put(&own[i], w[i / C].n_query, k, s->n, path[i]);
        }
    }
    for (int64_t i = 0; i < n * C && st == LLAP_OK; i++)
        out[i] = (ll_forecast_members){
            .n = ask->n_samples, .value = path[i], .drawn = true, .joint = true
        };
    return st;
}

static void destroy(void *self)
{
    pool_self *s = self;
    for (int64_t k = 0; k < s->n; k++) ll_forecaster_deinit(&s->f[k]);
    ll_free(s);
}

llap_status ll_pool_forecaster(const llap_model *m, const llap_model *const *with, int64_t n,
                               const llap_panel *p, const int64_t *var, const ll_backend *backend,
                               struct ll_residual_sampler **kept, ll_forecaster *out)
{
    *out = (ll_forecaster){ 0 };
    assert(n >= 0 && n <= LL_POOL_MAX);
    if (n == 0) return ll_model_forecaster(m, p, var, backend, kept, out);
    pool_self *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *out = (ll_forecaster){ .name = "model",
                            .n_targets = m->frame.n_targets,
                            .self = s,
                            .forecast = forecast,
                            .destroy = destroy };
    llap_status st = LLAP_OK;
    for (; s->n <= n && st == LLAP_OK; s->n++)
        st = s->n == 0 ? ll_model_forecaster(m, p, var, backend, kept, &s->f[0])
                       : ll_model_forecaster(with[s->n - 1], p, var, backend, NULL, &s->f[s->n]);
    if (st != LLAP_OK) ll_forecaster_deinit(out);
    return st;
}
