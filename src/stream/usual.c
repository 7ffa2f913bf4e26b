#include "stream/usual.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* How much of a running mean a new reading is. */
static const double SHARE[LL_MEANS] = { 1.0 / 16, 1.0 / 64, 1.0 / 8, 1.0 / 8 };
/* What part of all alarms each test may give. */
static const double PART[LL_TESTS] = { .4, .1, .15, .15, .1, .1 };
static const double FAR_X = 4.0, FAR_U = 6.0;

static double held(double x, double far) { return x < -far ? -far : x > far ? far : x; }

static void add(ll_runs *r, int k, double x)
{
    r->of[k] += SHARE[k] * (x - r->of[k]);
    r->weight[k] += SHARE[k] * (1.0 - r->weight[k]);
}

/* The farthest of some running means, as far as they have come. */
static double farthest(const ll_runs *r, const ll_habit *h, int first, int end)
{
    double far = NAN;
    for (int k = first; k < end; k++) {
        if (r->weight[k] < 0.6) continue; /* too few readings yet */
        const double z = fabs(r->of[k] - h->mean[k]) / h->spread[k];
        if (!(z <= far)) far = z;
    }
    return far;
}

void ll_runs_step(ll_runs *r, const ll_habit *h, const ll_watch_row *in, double *stat)
{
    enum { FAR = LL_CHANGES, LEVEL = FAR + LL_FARS };
    for (int k = 0; k < LL_TESTS; k++) stat[k] = NAN;
    assert(h->gap > 0.0 && h->sd > 0.0 && h->far_sd > 0.0);
    if (r->equal > 0) stat[LL_TEST_SILENT] = ((double)in->time - (double)r->last) / h->gap;
    if (isnan(in->y)) return;
    r->equal = r->equal > 0 && in->y == r->y ? r->equal + 1 : 1;
    r->y = in->y;
    r->last = in->time;
    stat[LL_TEST_STUCK] = (double)r->equal;
    if (!isnan(in->x)) {
        stat[LL_TEST_READING] = fabs(in->x) / h->sd;
        for (int k = 0; k < LL_CHANGES; k++) add(r, k, held(in->x / h->sd, FAR_X));
    }
    if (!isnan(in->far))
        for (int k = FAR; k < LEVEL; k++) add(r, k, held(in->far / h->far_sd, FAR_X));
    if (!isnan(in->u))
        for (int k = LEVEL; k < LL_MEANS; k++) add(r, k, held(in->u, FAR_U));
    stat[LL_TEST_CHANGE] = farthest(r, h, 0, FAR);
    stat[LL_TEST_FAR] = farthest(r, h, FAR, LEVEL);
    stat[LL_TEST_LEVEL] = farthest(r, h, LEVEL, LL_MEANS);
}

/* ---- tails ---- */

/* Of how many values the largest are left to the exponential, and the share that it is fitted to.
 */
enum { LEFT = 8, FITTED = 40 };

void ll_tail_fit(ll_tail *t, double *stat, size_t n, double least)
{
    *t = (ll_tail){ .scale = least };
    if (n == 0) return;
    ll_sort_doubles(stat, n);
    const double all = (double)n + 1.0, most = log(all / LEFT);
    for (int k = 0; k < LL_TAIL_KNOTS - 1 && most > 0.0; k++) {
        const double c = most * k / (LL_TAIL_KNOTS - 2);
        const size_t at = (size_t)fmax(0.0, floor((double)n - all * exp(-c)));
        if (at >= n || (t->n > 0 && stat[at] <= t->v[t->n - 1])) continue;
        size_t first = at; /* ties are as large as each other */
        while (first > 0 && stat[first - 1] == stat[at]) first--;
        t->v[t->n] = stat[at];
        t->c[t->n++] = log(all / ((double)(n - first) + 1.0));
    }
    if (t->n == 0) { /* few values */
        t->v[0] = stat[0];
        t->c[0] = 0.0;
        t->n = 1;
    }
    const size_t fitted = n < FITTED ? n : FITTED;
    double       sum = 0.0;
    for (size_t i = n - fitted; i < n; i++) sum += stat[i] - stat[n - fitted];
    t->scale = fmax(sum / (double)fitted, least);
    t->top = stat[n - 1];
    t->above = log(all);
}

double ll_tail_surprise(const ll_tail *t, double v)
{
    if (t->n == 0 || isnan(v) || v < t->v[0]) return 0.0;
    const int64_t last = t->n - 1;
    if (v >= t->v[last]) {
        const double c = t->c[last] + (v - t->v[last]) / t->scale;
        return v > t->top ? fmax(c, t->above + (v - t->top) / t->scale) : c;
    }
    int64_t i = last - 1;
    while (t->v[i] > v) i--;
    return t->c[i] + (t->c[i + 1] - t->c[i]) * ((v - t->v[i]) / (t->v[i + 1] - t->v[i]));
}

double ll_tail_value(const ll_tail *t, double c)
{
    if (t->n == 0) return INFINITY;
    double low = t->v[0], high = t->top + t->scale * (1.0 + fmax(c, 0.0));
    for (int i = 0; i < 80; i++) {
        const double mid = 0.5 * (low + high);
        if (ll_tail_surprise(t, mid) < c) low = mid;
        else high = mid;
    }
    return high;
}

double ll_usual_margin(const ll_usual *u, const double *stat, ll_test *which)
{
    double best = -INFINITY;
    for (int k = 0; k < LL_TESTS; k++) {
        const double over = ll_tail_surprise(&u->tail[k], stat[k]) - u->limit[k];
        if (over <= best) continue;
        best = over;
        *which = (ll_test)k;
    }
    return best;
}

/* ---- before anything was learnt ---- */

/* Two-sided tail of a standard normal, one more number each knot. */
static void normal_tail(ll_tail *t, double scale)
{
    *t = (ll_tail){ .n = LL_TAIL_KNOTS, .scale = scale / 8.0 };
    for (int k = 0; k < LL_TAIL_KNOTS; k++) {
        const double x = 8.0 * k / (LL_TAIL_KNOTS - 1);
        t->v[k] = scale * x;
        t->c[k] = -log(erfc(x / sqrt(2.0)));
    }
    t->c[0] = 0.0;
    t->top = t->v[LL_TAIL_KNOTS - 1];
    t->above = t->c[LL_TAIL_KNOTS - 1];
}

/* Equal readings and gaps: each further one a third as likely. */
static void plain_tail(ll_tail *t)
{
    *t = (ll_tail){ .n = 1, .v = { 1.0 }, .scale = 0.9, .top = 1.0 };
}

llap_status ll_usual_init(ll_usual *u, int64_t n_series, int64_t gap, double rate)
{
    *u = (ll_usual){ .n_series = n_series };
    u->habit = ll_new((size_t)n_series + 1, sizeof *u->habit);
    if (u->habit == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e <= n_series; e++) {
        u->habit[e].sd = u->habit[e].far_sd = 1.0;
        u->habit[e].gap = (double)gap;
        for (int k = 0; k < LL_MEANS; k++) {
            const bool change = k < LL_CHANGES; /* means of independent distances; others move */
            u->habit[e].spread[k] = change ? sqrt(SHARE[k] / (2.0 - SHARE[k])) : 1.0;
        }
    }
    normal_tail(&u->tail[LL_TEST_READING], 1.0);
    normal_tail(&u->tail[LL_TEST_CHANGE], 1.0);
    normal_tail(&u->tail[LL_TEST_FAR], 1.5);
    normal_tail(&u->tail[LL_TEST_LEVEL], 1.5);
    plain_tail(&u->tail[LL_TEST_STUCK]);
    plain_tail(&u->tail[LL_TEST_SILENT]);
    for (int k = 0; k < LL_TESTS; k++) u->limit[k] = -log(rate * PART[k]);
    return LLAP_OK;
}

void ll_usual_deinit(ll_usual *u)
{
    ll_free(u->habit);
    *u = (ll_usual){ 0 };
}

/* ---- learning ---- */

/* Mean and spread of numbers of which some are far off: held at FAR_X spreads, twice over. */
typedef struct moments {
    double n, sum, squares;
} moments;

static void see(moments *m, double x)
{
    m->n += 1.0;
    m->sum += x;
    m->squares += x * x;
}

enum { LIKE = 100, LIKE_GAPS = 5 };

/* With as much weight of all series together as `like` readings have. */
static void settle(const moments *own, const moments *all, double like, double least, double *mean,
                   double *spread)
{
    const double share = like / fmax(all->n, 1.0);
    const double n = own->n + like, sum = own->sum + share * all->sum;
    const double m = sum / n, v = (own->squares + share * all->squares) / n - m * m;
    *mean = m;
    *spread = sqrt(fmax(v, least * least));
}

static moments *moments_of(const ll_usual *u, moments *own, size_t series)
{
    return &own[series < (size_t)u->n_series ? series : (size_t)u->n_series];
}

static double *sd_of(ll_habit *h, bool far) { return far ? &h->far_sd : &h->sd; }

/* Deviation of the distances of each series, about 0 and held at a few of them. */
static void learn_sd(ll_usual *u, const ll_usual_rows *h, size_t n, bool far, moments *own)
{
    const double MOST = 3.0;
    for (int pass = 0; pass < 3; pass++) {
        moments all = { 0 };
        memset(own, 0, ((size_t)u->n_series + 1) * sizeof *own);
        for (size_t i = 0; i < n; i++) {
            moments     *of = moments_of(u, own, h[i].series);
            ll_habit     habit = *ll_usual_habit(u, h[i].series);
            const double most = MOST * *sd_of(&habit, far);
            for (size_t k = 0; k < h[i].n; k++) {
                const double given = far ? h[i].row[k].far : h[i].row[k].x;
                if (isnan(given)) continue;
                const double x = held(given, most);
                see(of, x);
                see(&all, x);
            }
        }
        own[u->n_series] = all;
        for (int64_t e = 0; e <= u->n_series && all.n > 0.0; e++) {
            double mean, sd;
            settle(&own[e], &all, LIKE, 1e-3, &mean, &sd);
            *sd_of(&u->habit[e], far) = sqrt(mean * mean + sd * sd);
        }
    }
}

/* Ticks between the readings of each series. */
static void learn_gaps(ll_usual *u, const ll_usual_rows *h, size_t n, moments *own)
{
    moments all = { 0 };
    memset(own, 0, ((size_t)u->n_series + 1) * sizeof *own);
    for (size_t i = 0; i < n; i++) {
        moments *of = moments_of(u, own, h[i].series);
        int64_t  last = 0;
        bool     any = false;
        for (size_t k = 0; k < h[i].n; k++) {
            const int64_t now = h[i].row[k].time;
            if (isnan(h[i].row[k].y)) continue;
            if (any) {
                see(of, (double)now - (double)last);
                see(&all, (double)now - (double)last);
            }
            last = now;
            any = true;
        }
    }
    own[u->n_series] = all;
    for (int64_t e = 0; e <= u->n_series && all.n > 0.0; e++) {
        double spread;
        settle(&own[e], &all, LIKE_GAPS, 0.0, &u->habit[e].gap, &spread);
    }
}

static void learn_means(ll_usual *u, const ll_usual_rows *h, size_t n, moments *own)
{
    const size_t E = (size_t)u->n_series;
    for (int k = 0; k < LL_MEANS; k++) {
        moments all = { 0 };
        memset(own, 0, (E + 1) * sizeof *own);
        for (size_t i = 0; i < n; i++) {
            const ll_habit *habit = ll_usual_habit(u, h[i].series);
            moments        *of = moments_of(u, own, h[i].series);
            ll_runs         r = { 0 };
            double          stat[LL_TESTS];
            for (size_t j = 0; j < h[i].n; j++) {
                ll_runs_step(&r, habit, &h[i].row[j], stat);
                if (isnan(h[i].row[j].y) || r.weight[k] < 0.9) continue;
                see(of, r.of[k]);
                see(&all, r.of[k]);
            }
        }
        own[E] = all;
        for (size_t e = 0; e <= E && all.n > 0.0; e++)
            settle(&own[e], &all, LIKE, 1e-3, &u->habit[e].mean[k], &u->habit[e].spread[k]);
    }
}

/* The statistics of all rows: stat [rows,LL_TESTS]. */
static void run_all(const ll_usual *u, const ll_usual_rows *h, size_t n, double *stat)
{
    for (size_t i = 0; i < n; i++) {
        ll_runs r = { 0 };
        for (size_t k = 0; k < h[i].n; k++, stat += LL_TESTS)
            ll_runs_step(&r, ll_usual_habit(u, h[i].series), &h[i].row[k], stat);
    }
}

/* Alarms where any of c [rows,LL_TESTS] of tests first .. end - 1 is beyond its limit and `more`.
 */
static double count_alarms(const ll_usual *u, const ll_usual_rows *h, size_t n, const double *c,
                           int first, int end, double more, int64_t join)
{
    double alarms = 0.0;
    for (size_t i = 0; i < n; i++) {
        int64_t quiet = join;
        for (size_t k = 0; k < h[i].n; k++, c += LL_TESTS) {
            double over = -INFINITY;
            for (int t = first; t < end; t++) over = fmax(over, c[t] - u->limit[t] - more);
            alarms += over > 0.0 && quiet >= join;
            if (over > 0.0 || quiet < join) quiet = over > -LL_USUAL_HOLD ? 0 : quiet + 1;
        }
    }
    return alarms;
}

/* The smallest further surprise at which there are no more alarms than wanted, come to from above:
 * far below, alarms run into each other and are few again. Where fewer are wanted than can be
 * counted, the tail is taken to fall as surprises do. */
static double find_limit(const ll_usual *u, const ll_usual_rows *h, size_t n, const double *c,
                         int first, int end, double wanted, double low, int64_t join)
{
    const double counted = 3.0, goal = fmax(wanted, counted), high = 20.0;
    double       best = high, most = -1.0;
    for (double more = high; more >= low; more -= 0.05) {
        const double alarms = count_alarms(u, h, n, c, first, end, more, join);
        if (alarms > goal) break;
        if (alarms < most) continue;
        most = alarms;
        best = more;
    }
    return best + log(goal / wanted);
}

llap_status ll_usual_learn(ll_usual *u, const ll_usual_rows *h, size_t n, double rate, int64_t join)
{
    static const double least[LL_TESTS] = { .05, .05, .05, .05, .25, .1 };
    size_t              rows = 0;
    for (size_t i = 0; i < n; i++) rows += h[i].n;
    moments *own = ll_new((size_t)u->n_series + 1, sizeof *own);
    double  *stat = ll_new(rows, LL_TESTS * sizeof *stat), *one = ll_new(rows, sizeof *one);
    if (own == NULL || stat == NULL || one == NULL) {
        ll_free(own);
        ll_free(stat);
        ll_free(one);
        return LLAP_ENOMEM;
    }
    learn_sd(u, h, n, false, own);
    learn_sd(u, h, n, true, own);
    learn_gaps(u, h, n, own);
    learn_means(u, h, n, own);
    run_all(u, h, n, stat);
    for (int k = 0; k < LL_TESTS; k++) {
        size_t m = 0;
        for (size_t i = 0; i < rows; i++)
            if (!isnan(stat[i * LL_TESTS + (size_t)k])) one[m++] = stat[i * LL_TESTS + (size_t)k];
        ll_tail_fit(&u->tail[k], one, m, least[k]);
        u->limit[k] = 0.0;
    }
    for (size_t i = 0; i < rows * LL_TESTS; i++)
        stat[i] = ll_tail_surprise(&u->tail[i % LL_TESTS], stat[i]);
    const double low = fmax(-log(30.0 * rate), 2.3), wanted = rate * (double)rows;
    for (int k = 0; k < LL_TESTS; k++)
        u->limit[k] = find_limit(u, h, n, stat, k, k + 1, wanted * PART[k], low, join);
    const double more = find_limit(u, h, n, stat, 0, LL_TESTS, wanted, -1.5, join);
    for (int k = 0; k < LL_TESTS; k++) u->limit[k] += more;
    u->rows = (int64_t)rows;
    ll_free(own);
    ll_free(stat);
    ll_free(one);
    return LLAP_OK;
}
