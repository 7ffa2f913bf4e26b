#include "anchor/chain/glitch.h"

#include "anchor/chain/quantile.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 5, HALF = AROUND / 2 };

static double median(const double *x, int n)
{
    double s[AROUND];
    assert(n >= 1 && n <= AROUND);
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && s[at - 1] > x[i]; at--) s[at] = s[at - 1];
        s[at] = x[i];
    }
    return 0.5 * (s[(n - 1) / 2] + s[n / 2]);
}

/* The last five observed values that a walk along a series has met. */
typedef struct trail {
    size_t seen;
    size_t at[AROUND];
    double y[AROUND];
} trail;

static void trail_add(trail *t, size_t at, double y)
{
    memmove(t->at, t->at + 1, (AROUND - 1) * sizeof *t->at);
    memmove(t->y, t->y + 1, (AROUND - 1) * sizeof *t->y);
    t->at[AROUND - 1] = at;
    t->y[AROUND - 1] = y;
    t->seen++;
}

/* Calls visit for each observed value of y with the median around it and its distance from that;
 * last: one of the last two. */
typedef void (*visit)(void *user, size_t at, double middle, double r, bool last);

static void walk(const double *y, size_t n, visit to, void *user)
{
    trail t = { 0 };
    for (size_t i = 0; i < n; i++) {
        if (isnan(y[i])) continue;
        trail_add(&t, i, y[i]);
        if (t.seen < AROUND) continue;
        const double middle = median(t.y, AROUND);
        for (int k = t.seen == AROUND ? 0 : HALF; k <= HALF; k++)
            to(user, t.at[k], middle, t.y[k] - middle, false);
    }
    if (t.seen < AROUND) return;
    const double middle = median(t.y, AROUND);
    for (int k = HALF + 1; k < AROUND; k++) to(user, t.at[k], middle, t.y[k] - middle, true);
}

/* How far from the median around it a value may be. */
static double limit_at(const ll_glitch_rule *rule, double middle)
{
    return rule->top > 0.0 && middle > rule->top ? rule->limit * (middle / rule->top) : rule->limit;
}

typedef struct marker {
    ll_glitch_rule rule;
    bool          *drop;
} marker;

static void mark(void *user, size_t at, double middle, double r, bool last)
{
    const marker *m = user;
    const double  limit = limit_at(&m->rule, middle);
    m->drop[at] = fabs(r) > (last ? m->rule.end * limit : limit);
}

/* No value is further from a median than the largest of all is from the least: most windows have
 * nothing that could be a glitch. NaN is passed over. */
static bool all_within(const double *y, size_t n, double limit)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        least = y[i] < least ? y[i] : least;
        most = y[i] > most ? y[i] : most;
    }
    return !(most - least > limit);
}

void ll_glitch_mark(const double *y, size_t n, ll_glitch_rule rule, bool *drop)
{
    memset(drop, 0, n * sizeof *drop);
    if (rule.limit == 0.0 || all_within(y, n, rule.limit * fmin(1.0, rule.end))) return;
    marker m = { rule, drop };
    walk(y, n, mark, &m);
}

void ll_glitch_mark_past(const double *y, size_t n, ll_glitch_rule rule, bool *drop)
{
    trail t = { 0 };
    for (size_t i = 0; i < n; i++) {
        drop[i] = false;
        if (isnan(y[i])) continue;
        trail_add(&t, i, y[i]);
        if (!(rule.limit > 0.0) || t.seen < AROUND) continue;
        const double middle = median(t.y, AROUND);
        drop[i] = fabs(y[i] - middle) > limit_at(&rule, middle);
    }
}

/* ---- learning the limits ---- */

typedef struct sizes {
    double *r, *y; /* [room] */
    size_t  n_r, n_y;
} sizes;

static void keep_size(void *user, size_t at, double middle, double r, bool last)
{
    sizes *s = user;
    (void)at;
    (void)middle;
    (void)last;
    s->r[s->n_r++] = fabs(r);
}

static void measure(sizes *s, const ll_series *x)
{
    walk(x->y, x->n, keep_size, s);
    for (size_t i = 0; i < x->n; i++)
        if (!isnan(x->y[i])) s->y[s->n_y++] = x->y[i];
}

static double limit_of(sizes *s, bool counts)
{
    const double beyond_any_sale = 1000.0;
    if (s->n_r == 0) return 0.0;
    assert(s->n_r <= s->n_y); /* readings of series of five or more have a distance */
    ll_sort_doubles(s->r, s->n_r);
    ll_sort_doubles(s->y, s->n_y);
    if (counts) return beyond_any_sale * (1.0 + ll_quantile(s->y, s->n_y, .975));
    const double wide = ll_quantile(s->y, s->n_y, .84) - ll_quantile(s->y, s->n_y, .16);
    return fmax(8.0 * ll_quantile(s->r, s->n_r, .975), 3.0 * wide);
}

/* Readings that would be dropped as the last one, and those of them that the next one confirms. */
static void count_ends(const ll_series *x, double limit, double *seen, double *kept)
{
    trail t = { 0 };
    bool  doubted = false;
    for (size_t i = 0; i < x->n; i++) {
        const double y = x->y[i];
        if (isnan(y)) continue;
        if (doubted) {
            *seen += 1.0;
            *kept += fabs(y - t.y[AROUND - 1]) < fabs(y - median(t.y, AROUND - 1));
        }
        trail_add(&t, i, y);
        doubted = limit > 0.0 && t.seen >= AROUND && fabs(y - median(t.y, AROUND)) > limit;
    }
}

llap_status ll_glitch_fit(const ll_series *s, size_t n, bool pooled, bool counts, double *limit,
                          double *end)
{
    const double confirm = 3.0;
    size_t       rows = 0;
    double       seen = 0.0, kept = 0.0;
    for (size_t e = 0; e < n; e++) rows += s[e].n;
    sizes      all = { .r = ll_new(rows, sizeof(double)), .y = ll_new(rows, sizeof(double)) };
    const bool ok = all.r != NULL && all.y != NULL;
    for (size_t e = 0; ok && e < n; e++) {
        all.n_r = all.n_y = 0;
        measure(&all, &s[e]);
        limit[e] = limit_of(&all, counts);
    }
    if (ok) {
        all.n_r = all.n_y = 0;
        for (size_t e = 0; e < n; e++) measure(&all, &s[e]);
        limit[n] = limit_of(&all, counts);
    }
    for (size_t e = 0; ok && e < n; e++) {
        if (pooled) limit[e] = limit[n];
        count_ends(&s[e], limit[e], &seen, &kept);
    }
    *end = (1.0 + kept) / (2.0 + seen) <= 0.5 ? 1.0 : confirm;
    ll_free(all.r);
    ll_free(all.y);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}
