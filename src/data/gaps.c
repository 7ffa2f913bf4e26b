#include "data/gaps.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "base/time/civil.h"

#include <math.h>

enum { MOST = 1 << 22 }; /* gaps that are looked at one by one */

/* The gaps, sorted, or of very many every k-th; and of all of them the number, least and most.
 * Caller owns *out. */
static llap_status collect(const llap_panel *p, int64_t **out, int64_t *n, ll_gaps *all)
{
    const int64_t every = p->n_rows / MOST + 1;
    int64_t      *gap = *out = ll_new((size_t)(p->n_rows / every + 1), sizeof *gap), x;
    *n = 0;
    *all = (ll_gaps){ .least = INT64_MAX };
    if (gap == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e] + 1; r < p->start[e + 1]; r++) {
            /* two ends of int64 apart is as far as can be said */
            if (__builtin_sub_overflow(p->time[r], p->time[r - 1], &x)) x = INT64_MAX;
            if (x < all->least) all->least = x;
            if (x > all->most) all->most = x;
            if (all->n++ % every == 0) gap[(*n)++] = x;
        }
    /* mostly one value: a pass over runs of equal gaps spares the sort for regular data */
    bool sorted = true;
    for (int64_t i = 1; i < *n && sorted; i++) sorted = gap[i - 1] <= gap[i];
    if (!sorted) ll_sort_ints(gap, (size_t)*n);
    return LLAP_OK;
}

/* The gaps, sorted, that lie near their median. */
static void measure_middle(const int64_t *gap, int64_t n, ll_gaps *out)
{
    int64_t first = n / 2, last = n / 2;
    while (first > 0 && (double)gap[first - 1] >= 0.85 * (double)out->median) first--;
    while (last + 1 < n && (double)gap[last + 1] <= 1.15 * (double)out->median) last++;
    out->middle = gap[first + (last - first) / 2];
    out->middle_share = (double)(last - first + 1) / (double)n;
}

/* What a clock with jitter was set to: the longest unit of which whole ones come near, within what
 * the jitter of a few hundred rows leaves open for the usual ones. */
static int64_t round_step(int64_t step)
{
    static const struct {
        int64_t seconds;
        double  within;
    } unit[] = { { 604800, .04 }, { 86400, .04 }, { 3600, .04 }, { 1800, .04 }, { 900, .04 },
                 { 600, .04 },    { 300, .04 },   { 60, .02 },   { 1, .02 } };
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        const int64_t one = unit[i].seconds * 1000000000;
        const int64_t whole = (step / one + (step % one >= one / 2)) * one;
        if (whole > 0 && fabs((double)whole - (double)step) <= unit[i].within * (double)step)
            return whole;
    }
    return step;
}

llap_status ll_gaps_measure(const llap_panel *p, ll_gaps *out)
{
    int64_t *gap, n;
    ll_gaps  all;
    *out = (ll_gaps){ 0 };
    if (collect(p, &gap, &n, &all) != LLAP_OK) return LLAP_ENOMEM;
    if (n > 0) {
        *out = (ll_gaps){ .n = all.n,
                          .least = all.least,
                          .median = gap[n / 2],
                          .p95 = gap[n - 1 - (n - 1) / 20],
                          .most = all.most };
        int64_t best = 0;
        for (int64_t i = 0, j; i < n; i = j) {
            for (j = i; j < n && gap[j] == gap[i]; j++) continue;
            if (j - i > best) best = j - i, out->usual = gap[i];
        }
        measure_middle(gap, n, out);
        int64_t multiples = 0;
        for (int64_t i = 0; i < n; i++) multiples += gap[i] % out->usual == 0;
        out->usual_share = (double)best / (double)n;
        out->multiple_share = (double)multiples / (double)n;
    }
    ll_free(gap);
    out->grid = ll_gaps_grid(out, &p->axis);
    return LLAP_OK;
}

int64_t ll_gaps_grid(const ll_gaps *g, const ll_axis *axis)
{
    static const int64_t lengths_s[] = { 1,     2,     5,     10,    15,    20,    30,   60,
                                         120,   300,   600,   900,   1200,  1800,  3600, 7200,
                                         10800, 14400, 21600, 43200, 86400, 604800 };
    if (g->n == 0) return 0;
    const bool known = axis->kind == LL_AXIS_CALENDAR || axis->unit[0] != '\0';
    if (g->usual_share >= 0.5) return g->usual;
    if (!known || g->median < 500000000) return g->usual_share >= 0.25 ? g->usual : g->median;
    const int64_t day = LL_NS_PER_DAY;
    if (g->middle_share >= 0.5 && g->n >= 10 && g->median <= 14 * day) return round_step(g->middle);
    if (g->median > 14 * day) /* longer than people have a word for: the usual one, or whole days */
        return g->usual_share >= 0.25 && g->usual > 14 * day && g->n > 4 ? g->usual
                                                                         : g->median / day * day;
    int64_t best = lengths_s[0];
    for (size_t i = 1; i < sizeof lengths_s / sizeof lengths_s[0]; i++) {
        const double median_s = (double)g->median * 1e-9;
        if (fabs(log(median_s / (double)lengths_s[i])) < fabs(log(median_s / (double)best)))
            best = lengths_s[i];
    }
    return best * 1000000000;
}
