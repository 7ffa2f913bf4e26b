#include "score/gaps/naive.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "score/gaps/hide.h"
#include "score/metric.h"

#include <assert.h>
#include <math.h>

enum { BUCKETS = 8, TRUSTED = 50 };

/* Errors of one filler and target, as mid-point quantiles in standard deviations: by distance, and
 * of all distances behind them. n = 0: none was seen. */
typedef struct ll_naive_errors {
    int64_t n[BUCKETS + 1];
    double  quantile[BUCKETS + 1][LL_NAIVE_MEMBERS];
} ll_naive_errors;

typedef struct guess {
    double  value;
    int32_t bucket; /* of the distance to the nearest reading used: 0 a step, then powers of 2 */
} guess;

static guess guess_at(const ll_naive_fillers *s, ll_naive which, int64_t target, int64_t entity,
                      int64_t time)
{
    const ll_target_readings *r = &s->r.of[target];
    const int64_t             first = r->start[entity], end = r->start[entity + 1];
    const int64_t             after = ll_first_after(r->time, first, end, time), before = after - 1;
    const bool back = before >= first, ahead = after < end && which == LL_NAIVE_LINEAR;
    double     far = INFINITY;
    guess      g = { .value = s->scale[target * s->p->n_entities + entity].mean };
    if (back) far = (double)(time - r->time[before]), g.value = r->value[before];
    if (ahead && !back) g.value = r->value[after];
    if (ahead) far = fmin(far, (double)(r->time[after] - time));
    if (ahead && back) {
        assert(r->time[before] < r->time[after]);
        const double part =
            (double)(time - r->time[before]) / (double)(r->time[after] - r->time[before]);
        g.value += part * (r->value[after] - r->value[before]);
    }
    const double steps = far / (double)s->m->frame.step;
    g.bucket = steps <= 1 ? 0 : (int32_t)fmin(BUCKETS - 1, ceil(log2(steps)));
    assert(g.bucket >= 0 && g.bucket < BUCKETS);
    return g;
}

/* Errors of all hidden cells that are neither scored nor for testing; room [hidden cells]. */
static void learn(ll_naive_fillers *s, ll_naive which, int64_t target, ll_part scored, double *room,
                  int32_t *bucket)
{
    const llap_panel *p = s->p;
    ll_naive_errors  *out = &s->error[which * s->m->frame.n_targets + target];
    int64_t           n = 0;
    double           *some = room;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const ll_score_scale *scale = &s->scale[target * p->n_entities + e];
        for (int64_t row = p->start[e]; row < p->start[e + 1]; row++) {
            if (!s->hidden[row * s->m->frame.n_targets + target]) continue;
            const ll_part part = ll_row_part(s->m, p, e, row);
            if (part == scored || part == LL_PART_TEST) continue;
            const guess  g = guess_at(s, which, target, e, p->time[row]);
            const double y = (double)p->value[row * p->n_vars + s->var[target]];
            bucket[n] = g.bucket;
            room[n++] = ll_score_scale_z(scale, y) - ll_score_scale_z(scale, g.value);
        }
    }
    some = room + n; /* the caller has room for two lists */
    for (int b = 0; b <= BUCKETS; b++) {
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++)
            if (b == BUCKETS || bucket[i] == b) some[kept++] = room[i];
        metric_sort(some, kept);
        out->n[b] = kept;
        for (int k = 0; kept > 0 && k < LL_NAIVE_MEMBERS; k++)
            out->quantile[b][k] = metric_quantile_inner(some, kept, (k + 0.5) / LL_NAIVE_MEMBERS);
    }
}

llap_status ll_naive_fill(const ll_naive_fillers *s, ll_naive which, const ll_forecast_window *w,
                          int64_t target, ll_arena *arena, ll_forecast_members *out)
{
    const ll_naive_errors *e = &s->error[which * s->m->frame.n_targets + target];
    const ll_score_scale  *scale = &s->scale[target * s->p->n_entities + w->entity];
    const int64_t          n = e->n[BUCKETS] > 0 ? LL_NAIVE_MEMBERS : 1;
    double                *value = ll_arena_new(arena, (size_t)(n * w->n_query), sizeof *value);
    if (value == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < w->n_query; q++) {
        const guess   g = guess_at(s, which, target, w->entity, w->time[q]);
        const double *error = e->quantile[e->n[g.bucket] >= TRUSTED ? g.bucket : BUCKETS];
        for (int64_t k = 0; k < n; k++)
            value[k * w->n_query + q] = g.value + (n > 1 ? scale->sd * error[k] : 0);
    }
    *out = (ll_forecast_members){ .n = n, .value = value };
    return LLAP_OK;
}

static llap_status learn_errors(ll_naive_fillers *s, ll_part scored)
{
    const int64_t n = s->m->frame.n_targets;
    double       *room = ll_new(2 * (size_t)s->p->n_rows, sizeof *room);
    int32_t      *bucket = ll_new((size_t)s->p->n_rows, sizeof *bucket);
    s->error = ll_new((size_t)(LL_NAIVES * n), sizeof *s->error);
    const bool ok = room != NULL && bucket != NULL && s->error != NULL;
    for (int64_t i = 0; ok && i < LL_NAIVES * n; i++)
        learn(s, (ll_naive)(i / n), i % n, scored, room, bucket);
    ll_free(room);
    ll_free(bucket);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

llap_status ll_naive_init(ll_naive_fillers *s, const llap_panel *masked, ll_part scored,
                          const uint8_t *glitch)
{
    const llap_status st = ll_readings_init(&s->r, masked, s->var, s->m->frame.n_targets, glitch);
    return st == LLAP_OK ? learn_errors(s, scored) : st;
}

void ll_naive_deinit(ll_naive_fillers *s)
{
    ll_free(s->error);
    ll_readings_deinit(&s->r);
    s->error = NULL;
}
