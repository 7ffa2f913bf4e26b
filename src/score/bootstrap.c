#include "score/bootstrap.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "score/metric.h"

#include <assert.h>
#include <math.h>

typedef struct sums {
    double n, crps_a, crps_b, se_a, se_b;
    double left_out; /* units */
} sums;

static void add(sums *s, const scoring_sum *a, const scoring_sum *b, bool units)
{
    const scoring_errors *x = units ? &a->y : &a->z, *y = units ? &b->y : &b->z;
    if (a->n_unanswered > 0 || b->n_unanswered > 0) { /* their sums are of different values */
        s->left_out++;
        return;
    }
    assert(a->n == b->n);
    s->n += a->n;
    s->crps_a += x->crps;
    s->crps_b += y->crps;
    s->se_a += x->se;
    s->se_b += y->se;
}

/* n_units units in runs that go round from the last to the first. */
static sums draw(const scoring_sum *a, const scoring_sum *b, int64_t n_units,
                 const bootstrap_opts *o, int64_t number)
{
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_BOOT, 0, (uint32_t)number, 1);
    sums         s = { 0 };
    assert(n_units > 0 && o->run >= 1);
    for (int64_t done = 0, k = 0; done < n_units; k++) {
        const int64_t first = (int64_t)ll_rng_below(&r, (uint64_t)k, (uint64_t)n_units);
        for (int64_t i = 0; i < o->run && done < n_units; i++, done++) {
            const int64_t u = (first + i) % n_units;
            add(&s, &a[u], &b[u], o->units);
        }
    }
    return s;
}

static double crps_of(const sums *s) { return (s->crps_a - s->crps_b) / s->n; }
static double mse_of(const sums *s) { return (s->se_a - s->se_b) / s->n; }
/* There is no share of nothing. */
static double skill_of(const sums *s) { return s->crps_b > 0 ? 1 - s->crps_a / s->crps_b : NAN; }

/* Draws without any value are left out. */
static bootstrap_range range(double (*of)(const sums *), const sums *all, const sums *drawn,
                             int64_t n_draws, double *room)
{
    bootstrap_range r = { .value = of(all), .se = NAN, .low = NAN, .high = NAN };
    int64_t         n = 0;
    for (int64_t i = 0; i < n_draws; i++)
        if (drawn[i].n > 0 && !isnan(of(&drawn[i]))) room[n++] = of(&drawn[i]);
    if (n < 2) return r;
    metric_sort(room, n);
    const double mean = metric_mean(room, n);
    double       square = 0;
    for (int64_t i = 0; i < n; i++) square += (room[i] - mean) * (room[i] - mean);
    r.se = sqrt(square / (double)(n - 1));
    r.low = metric_quantile_inner(room, n, 0.025);
    r.high = metric_quantile_inner(room, n, 0.975);
    return r;
}

llap_status bootstrap_difference(const scoring_sum *a, const scoring_sum *b, int64_t n_units,
                                 const bootstrap_opts *o, bootstrap_result *out)
{
    sums   *drawn = ll_new((size_t)o->n_draws, sizeof *drawn);
    double *room = ll_new((size_t)o->n_draws, sizeof *room);
    sums    all = { 0 };
    if (drawn == NULL || room == NULL) {
        ll_free(drawn);
        ll_free(room);
        return LLAP_ENOMEM;
    }
    for (int64_t u = 0; u < n_units; u++) add(&all, &a[u], &b[u], o->units);
    /* One unit says nothing of the others. */
    const int64_t n = n_units > 1 ? o->n_draws : 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) drawn[i] = draw(a, b, n_units, o, i);
    out->crps = range(crps_of, &all, drawn, n, room);
    out->mse = range(mse_of, &all, drawn, n, room);
    out->skill = range(skill_of, &all, drawn, n, room);
    out->n_left_out = (int64_t)all.left_out;
    ll_free(drawn);
    ll_free(room);
    return LLAP_OK;
}
