#include "score/joint_scores.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/rng/rng.h"
#include "score/metric.h"

#include <assert.h>
#include <math.h>

/* ---- the test ---- */

/* Of a chi-square with so many degrees of freedom, what lies above x. */
static double above(int64_t freedom, double x)
{
    const double h = 0.5 * x;
    double       a = freedom % 2 == 0 ? 1 : 0.5;
    double       q = freedom % 2 == 0 ? exp(-h) : erfc(sqrt(h));
    for (; a < 0.5 * (double)freedom; a++) q += exp(a * log(h) - h - lgamma(a + 1));
    return q;
}

ll_pit_test ll_pit_test_of(const double bins[TALLY_BINS])
{
    enum { EXPECTED = 5 };
    static const int64_t ways[] = { TALLY_BINS, 10, 5 };
    ll_pit_test          t = { .chi_square = NAN, .p = NAN };
    double               n = 0;
    for (int i = 0; i < TALLY_BINS; i++) n += bins[i];
    t.n = (int64_t)n;
    for (size_t w = 0; w < sizeof ways / sizeof *ways && t.n_bins == 0; w++)
        if (n >= (double)(EXPECTED * ways[w])) t.n_bins = ways[w];
    if (t.n_bins == 0) return t;
    const double expected = n / (double)t.n_bins;
    t.chi_square = 0;
    for (int64_t i = 0; i < t.n_bins; i++) {
        double        found = 0;
        const int64_t width = TALLY_BINS / t.n_bins;
        for (int64_t k = i * width; k < (i + 1) * width; k++) found += bins[k];
        t.chi_square += (found - expected) * (found - expected) / expected;
    }
    t.p = t.chi_square > 0 ? above(t.n_bins - 1, t.chi_square) : 1;
    return t;
}

/* ---- groups ---- */

llap_status ll_joint_scores_init(ll_joint_scores *j, const scoring_input *in, bool apart)
{
    const int64_t n = in->panel->n_entities;
    *j = (ll_joint_scores){ .in = in, .apart = apart };
    j->until = ll_new((size_t)n + 1, sizeof *j->until);
    j->of = ll_new((size_t)in->n_targets + 1, sizeof *j->of);
    if (j->until == NULL || j->of == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e <= n; e++) j->until[e] = INT64_MIN;
    return LLAP_OK;
}

void ll_joint_scores_deinit(ll_joint_scores *j)
{
    ll_free(j->until);
    ll_free(j->of);
    ll_free(j->path);
    ll_free(j->truth);
    *j = (ll_joint_scores){ 0 };
}

/* Windows first .. first + n - 1 of a block, of one origin. */
typedef struct group {
    const scoring_block *b;
    int64_t              first, n, lead; /* lead: the window whose times are the common ones */
    ll_rng               r;
} group;

static const ll_forecast_members *paths_of(const scoring_block *b, int64_t window, int64_t target)
{
    const ll_forecast_members *a = &b->answer[window * b->n_targets + target];
    return a->drawn && a->joint && !a->constant && a->n >= 2 ? a : NULL;
}

static double truth_of(const scoring_block *b, int64_t window, int64_t target, int64_t q)
{
    return b->truth[(window * b->n_targets + target) * b->n_query + q];
}

/* Place of a time among the queries of a window; -1: it is not asked. */
static int64_t query_at(const ll_forecast_window *w, int64_t time)
{
    const int64_t q = ll_first_from(w->time, 0, w->n_query, time);
    return q < w->n_query && w->time[q] == time ? q : -1;
}

static int bin_of(const double *x, int64_t n, double y, double u)
{
    int64_t below = 0, equal = 0;
    for (int64_t i = 0; i < n; i++) {
        below += x[i] < y;
        equal += x[i] == y;
    }
    const double place = ((double)below + u * (double)(equal + 1)) / (double)(n + 1);
    return (int)fmin(TALLY_BINS * place, TALLY_BINS - 1);
}

static llap_status make_room(ll_joint_scores *j, int64_t members, int64_t width)
{
    const int64_t n = members > 2 * TALLY_PATHS * width ? members : 2 * TALLY_PATHS * width;
    if (n <= j->room) return LLAP_OK;
    double *path = ll_grow(j->path, (size_t)n, sizeof *path);
    if (path == NULL) return LLAP_ENOMEM;
    j->path = path;
    double *truth = ll_grow(j->truth, (size_t)n, sizeof *truth);
    if (truth == NULL) return LLAP_ENOMEM;
    j->truth = truth;
    j->room = n;
    return LLAP_OK;
}

/* The sum over entities of a target at a time; bin of what came true, -1: fewer than two. */
static int sum_at(ll_joint_scores *j, const group *g, int64_t target, int64_t time, double u)
{
    const scoring_block *b = g->b;
    int64_t              found = 0, n = 0;
    double               truth = 0;
    for (int64_t i = g->first; i < g->first + g->n; i++) {
        const ll_forecast_members *a = paths_of(b, i, target);
        const int64_t              q = query_at(&b->w[i], time);
        if (a == NULL || q < 0 || isnan(truth_of(b, i, target, q))) continue;
        if (n == 0) n = a->n;
        if (a->n != n) continue;
        for (int64_t s = 0; s < n; s++)
            j->path[s] = (found == 0 ? 0 : j->path[s]) + a->value[s * b->w[i].n_query + q];
        truth += truth_of(b, i, target, q);
        found++;
    }
    return found < 2 ? -1 : bin_of(j->path, n, truth, u);
}

/* How many paths further the next series looks for one of another number: no series of the first n
 * meets the first again. */
static int64_t apart_by(int64_t n) { return n % 61 == 0 ? 1 : 61; }

/* The energy score at a time over entities, of one target or (n_targets) of all. */
static void energy_at(ll_joint_scores *j, const group *g, int64_t target, int64_t time)
{
    const scoring_block *b = g->b;
    const int64_t        T = b->n_targets, first = target < T ? target : 0,
                  end = target < T ? target + 1 : T;
    const int64_t width = g->n * (end - first);
    int64_t       d = 0, n = TALLY_PATHS;
    double       *apart = j->path + TALLY_PATHS * width;
    for (int64_t i = g->first; i < g->first + g->n; i++)
        for (int64_t k = first; k < end; k++) {
            const ll_forecast_members *a = paths_of(b, i, k);
            const int64_t              q = query_at(&b->w[i], time);
            if (a == NULL || q < 0 || isnan(truth_of(b, i, k, q))) continue;
            const ll_score_scale *s = &j->in->scale[k * j->in->panel->n_entities + b->w[i].entity];
            if (a->n < n) n = a->n;
            j->truth[d] = ll_score_scale_z(s, truth_of(b, i, k, q));
            for (int64_t p = 0; p < TALLY_PATHS && p < a->n; p++) {
                const double *x = a->value + q;
                j->path[p * width + d] = ll_score_scale_z(s, x[p * b->w[i].n_query]);
                /* Another path for each: as good alone, and nothing in common. */
                apart[p * width + d] =
                    ll_score_scale_z(s, x[(p + 1 + apart_by(a->n) * d) % a->n * b->w[i].n_query]);
            }
            d++;
        }
    if (d < 2) return;
    for (int64_t x = d; x < width; x++) j->truth[x] = NAN; /* not there */
    j->of[target].n_energy++;
    j->of[target].energy += metric_energy(j->path, n, width, j->truth);
    j->of[target].energy_apart += metric_energy(apart, n, width, j->truth);
}

/* One value of the group, or of each of its windows where entities are independent. */
static void take_margins(ll_joint_scores *j, const group *g, int64_t target, bool fair)
{
    const scoring_block *b = g->b;
    const int64_t        first = (int64_t)ll_rng_below(&g->r, (uint64_t)target, (uint64_t)g->n);
    for (int64_t step = 0; step < g->n; step++) {
        const int64_t              i = g->first + (first + step) % g->n;
        const ll_forecast_window  *w = &b->w[i];
        const ll_forecast_members *a = &b->answer[i * b->n_targets + target];
        if (a->constant || (j->apart ? w->origin < j->until[w->entity] : !fair)) continue;
        const int64_t from = (int64_t)ll_rng_below(&g->r, 1000 + (uint64_t)i, (uint64_t)w->n_query);
        for (int64_t k = 0; k < w->n_query; k++) {
            const int64_t q = (from + k) % w->n_query;
            const double  y = truth_of(b, i, target, q);
            if (isnan(y)) continue;
            for (int64_t s = 0; s < a->n; s++) j->path[s] = a->value[s * w->n_query + q];
            j->of[target]
                .fair_margins[bin_of(j->path, a->n, y, (double)ll_rng_uniform(&g->r, 7))]++;
            if (!j->apart) return;
            break;
        }
    }
}

static void take_sums(ll_joint_scores *j, const group *g, int64_t target, bool fair)
{
    const ll_forecast_window *w = &g->b->w[g->lead];
    const int64_t             from = (int64_t)ll_rng_below(&g->r, 500, (uint64_t)w->n_query);
    for (int64_t k = 0; k < w->n_query; k++) {
        const int64_t q = (from + k) % w->n_query;
        const double  u = (double)ll_rng_uniform(&g->r, 2000 + (uint64_t)q);
        const int     bin = sum_at(j, g, target, w->time[q], u);
        if (bin < 0) continue;
        j->of[target].sums[bin]++;
        if (fair) j->of[target].fair_sums[bin]++;
        fair = false; /* one is enough */
    }
}

static void see_group(ll_joint_scores *j, const group *g)
{
    const scoring_block      *b = g->b;
    const ll_forecast_window *lead = &b->w[g->lead];
    int64_t                  *all = &j->until[j->in->panel->n_entities];
    const bool                fair = lead->origin >= *all;
    for (int64_t k = 0; k < b->n_targets; k++) {
        take_margins(j, g, k, fair);
        if (g->n > 1) take_sums(j, g, k, fair);
    }
    enum { TIMES = 24 }; /* of a window, evenly spread: the energy score costs much */
    const int64_t every = lead->n_query > TIMES ? lead->n_query / TIMES : 1;
    const int64_t n_energies = b->n_targets > 1 ? b->n_targets + 1 : 1;
    for (int64_t k = 0; k < n_energies; k++)
        for (int64_t q = 0; q < lead->n_query; q += every) energy_at(j, g, k, lead->time[q]);
    if (fair) *all = lead->time[lead->n_query - 1];
    for (int64_t i = g->first; i < g->first + g->n; i++) {
        const ll_forecast_window *w = &b->w[i];
        if (w->origin >= j->until[w->entity]) j->until[w->entity] = w->time[w->n_query - 1];
    }
}

llap_status ll_joint_scores_see(void *self, const scoring_block *b)
{
    ll_joint_scores *j = self;
    for (int64_t first = 0, end; first < b->n; first = end) {
        group g = { .b = b, .first = first, .lead = first };
        for (end = first; end < b->n && b->w[end].origin == b->w[first].origin; end++)
            if (b->w[end].n_query > b->w[g.lead].n_query) g.lead = end;
        g.n = end - first;
        g.r = ll_rng_make(j->in->ask.seed, LL_STREAM_SCORE, b->w[first].id, 2, 0);
        int64_t most = 1;
        for (int64_t i = first * b->n_targets; i < end * b->n_targets; i++)
            if (b->answer[i].n > most) most = b->answer[i].n;
        const llap_status st = make_room(j, most, g.n * b->n_targets);
        if (st != LLAP_OK) return st;
        see_group(j, &g);
    }
    return LLAP_OK;
}
