/* Forecasters of sums. */
#include "base/alloc.h"
#include "base/rng/rng.h"
#include "score/total_windows.h"

#include <assert.h>
#include <math.h>

/* The answers about the parts of one sum and target: of part i at from[i * stride]. */
typedef struct parts {
    const ll_total_forecaster *f;
    const ll_forecast_window  *w; /* the sum's window */
    const ll_forecast_members *from;
    int64_t                    n, stride, h, out, target; /* parts, times asked, sums */
    uint64_t                   seed;
} parts;

static const ll_forecast_members *answer_of(const parts *p, int64_t i)
{
    return &p->from[i * p->stride];
}

/* Members that are paths, as many for every part, and belong together over what is added up. */
static bool are_paths(const parts *p)
{
    const bool alone = p->n == 1 && p->f->t->over_horizon;
    if (p->f->how == LL_TOTAL_OPPONENT && !alone) return false;
    for (int64_t i = 0; i < p->n; i++) {
        const ll_forecast_members *a = answer_of(p, i);
        if (!a->joint || a->constant || a->n != answer_of(p, 0)->n) return false;
    }
    return true;
}

static void set_order(int64_t *order, int64_t n)
{
    for (int64_t s = 0; s < n; s++) order[s] = s;
}

/* Another order of the members for what has number `which` among all that is added up. */
static void shuffle(const parts *p, int64_t which, int64_t *order, int64_t n)
{
    const ll_rng r =
        ll_rng_make(p->seed, LL_STREAM_SCORE, p->w->id + (uint64_t)p->target, 3, (uint32_t)which);
    set_order(order, n);
    for (int64_t s = n; s-- > 1;) {
        const int64_t with = (int64_t)ll_rng_below(&r, (uint64_t)s, (uint64_t)s + 1);
        const int64_t kept = order[s];
        order[s] = order[with];
        order[with] = kept;
    }
}

/* sum [n,out] += the members of part i. */
static void add_part(const parts *p, int64_t i, int64_t *order, double *sum)
{
    const ll_forecast_members *a = answer_of(p, i);
    const bool                 apart = p->f->how == LL_TOTAL_INDEPENDENT;
    const bool                 by_time = apart && p->f->t->over_horizon;
    set_order(order, a->n);
    if (apart && !by_time) shuffle(p, i, order, a->n);
    for (int64_t q = 0; q < p->h; q++) {
        if (by_time) shuffle(p, i * p->h + q, order, a->n);
        for (int64_t s = 0; s < a->n; s++)
            sum[s * p->out + (p->out == 1 ? 0 : q)] += a->value[order[s] * p->h + q];
    }
}

static llap_status add_paths(const parts *p, ll_arena *arena, ll_forecast_members *out)
{
    const ll_forecast_members *a = answer_of(p, 0);
    double                    *sum = ll_arena_new(arena, (size_t)(a->n * p->out), sizeof *sum);
    int64_t                   *order = ll_new((size_t)a->n, sizeof *order);
    const bool                 ok = sum != NULL && order != NULL;
    for (int64_t i = 0; ok && i < p->n; i++) add_part(p, i, order, sum);
    ll_free(order);
    *out = (ll_forecast_members){
        .n = a->n, .value = sum, .drawn = a->drawn, .joint = p->f->how != LL_TOTAL_OPPONENT
    };
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* The mean of an answer at a time, over members that have one. */
static double mean_at(const ll_forecast_members *a, int64_t h, int64_t q)
{
    double sum = 0, n = 0;
    if (a->mean != NULL) return a->mean[q];
    for (int64_t s = 0; s < a->n; s++) {
        const double x = a->value[a->constant ? s : s * h + q];
        if (!isnan(x)) sum += x, n++;
    }
    return sum / n;
}

static llap_status add_means(const parts *p, ll_arena *arena, ll_forecast_members *out)
{
    double *sum = ll_arena_new(arena, (size_t)p->out, sizeof *sum);
    if (sum == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t q = 0; q < p->h; q++)
            sum[p->out == 1 ? 0 : q] += mean_at(answer_of(p, i), p->h, q);
    *out = (ll_forecast_members){ .n = 1, .value = sum };
    return LLAP_OK;
}

/* Windows from .. end - 1 of t->w. */
static llap_status forecast_some(const ll_total_forecaster *f, const ll_forecast_request *ask,
                                 int64_t from, int64_t end, ll_arena *arena,
                                 ll_forecast_members *out)
{
    const ll_total_windows *t = f->t;
    const int64_t           C = f->f.n_targets, first = t->first[from], n = t->first[end] - first;
    ll_arena                room = { 0 };
    ll_forecast_members    *members = ll_arena_new(&room, (size_t)(n * C), sizeof *members);
    llap_status             st = members == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = f->of->forecast(f->of, ask, t->part + first, n, &room, members);
    for (int64_t i = from; st == LLAP_OK && i < end; i++)
        for (int64_t k = 0; st == LLAP_OK && k < C; k++) {
            const parts          p = { .f = f,
                                       .w = &t->w[i],
                                       .from = members + (t->first[i] - first) * C + k,
                                       .n = t->first[i + 1] - t->first[i],
                                       .stride = C,
                                       .h = t->part[t->first[i]].n_query,
                                       .out = t->w[i].n_query,
                                       .target = k,
                                       .seed = ask->seed };
            ll_forecast_members *to = &out[(i - from) * C + k];
            st = are_paths(&p) ? add_paths(&p, arena, to) : add_means(&p, arena, to);
        }
    ll_arena_deinit(&room);
    return st;
}

static llap_status forecast(const ll_forecaster *self, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    enum { PARTS_AT_ONCE = 256 };
    const ll_total_forecaster *f = self->self;
    const ll_total_windows    *t = f->t;
    const int64_t              at = w - t->w;
    llap_status                st = LLAP_OK;
    assert(at >= 0 && at + n <= t->n);
    for (int64_t i = at, end; st == LLAP_OK && i < at + n; i = end) {
        for (end = i + 1; end < at + n; end++)
            if (t->first[end + 1] - t->first[i] > PARTS_AT_ONCE) break;
        st = forecast_some(f, ask, i, end, arena, out + (i - at) * f->f.n_targets);
    }
    return st;
}

void ll_total_forecaster_init(ll_total_forecaster *out, const ll_total_windows *t,
                              const ll_forecaster *f, ll_total_how how)
{
    *out = (ll_total_forecaster){
        .f = { .name = how == LL_TOTAL_INDEPENDENT ? "independent" : f->name,
               .n_targets = f->n_targets,
               .self = out,
               .forecast = forecast },
        .of = f,
        .t = t,
        .how = how,
    };
}
