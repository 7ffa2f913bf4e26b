#include "score/tally.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "predict/forecaster.h"
#include "score/metric.h"

#include <assert.h>
#include <math.h>

const double tally_level[TALLY_LEVELS] = { 0.5, 0.8, 0.95 };

static void add_numbers(double *a, const double *b, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes / sizeof *a; i++) a[i] += b[i];
}

void tally_add(tally *t, const tally *more)
{
    static_assert(sizeof *t % sizeof(double) == 0, "doubles only");
    add_numbers(&t->n, &more->n, sizeof *t);
}

void tally_brief_add(tally_brief *t, const tally_brief *more)
{
    add_numbers(&t->n, &more->n, sizeof *t);
}

/* ---- one law of members, and what a truth scores under it ---- */

typedef struct law {
    int64_t       n;
    bool          drawn, given; /* given: its intervals are those of a file */
    const double *x;            /* [n] in order */
    double       *sum;          /* [n + 1] of the first k */
    double        apart;        /* the second term of the CRPS */
    double        mean, variance, median;
    double        pinball[TALLY_PINBALLS]; /* quantiles */
    double        lo[TALLY_LEVELS], hi[TALLY_LEVELS];
} law;

static void law_init(law *l, const double *x, int64_t n, bool drawn, double *sum)
{
    *l = (law){ .n = n, .drawn = drawn, .x = x, .sum = sum };
    double apart = 0, square = 0;
    sum[0] = 0;
    for (int64_t k = 0; k < n; k++) {
        sum[k + 1] = sum[k] + x[k];
        apart += (double)(2 * k + 1 - n) * x[k];
    }
    const double m = (double)n, less = drawn && n > 1 ? m - 1 : m;
    l->apart = apart / (m * less);
    l->mean = sum[n] / m;
    for (int64_t k = 0; k < n; k++) square += (x[k] - l->mean) * (x[k] - l->mean);
    l->variance = square / less;
    l->median = metric_median(x, n);
    for (int k = 0; k < TALLY_PINBALLS; k++)
        l->pinball[k] = metric_quantile_inner(x, n, (k + 1) / (TALLY_PINBALLS + 1.0));
    for (int k = 0; k < TALLY_LEVELS; k++) {
        l->lo[k] = metric_quantile(x, n, 0.5 - 0.5 * tally_level[k], drawn);
        l->hi[k] = metric_quantile(x, n, 0.5 + 0.5 * tally_level[k], drawn);
    }
}

/* The quantile at p between given ones; NaN beyond them. */
static double given_at(const ll_forecast_members *f, int64_t q, int64_t n_query, double p)
{
    const double slack = 1e-9; /* 0.5 - 0.475 is 0.025 */
    for (int64_t k = 0; k < f->n_levels; k++) {
        const double x = f->quantile[k * n_query + q];
        if (fabs(f->level[k] - p) < slack) return x;
        if (f->level[k] < p) continue;
        if (k == 0) return NAN;
        const double before = f->quantile[(k - 1) * n_query + q];
        const double part = (p - f->level[k - 1]) / (f->level[k] - f->level[k - 1]);
        return before + part * (x - before);
    }
    return NAN;
}

/* What a law says itself of query q, in the place of what its members do. */
static void law_given(law *l, const ll_forecast_members *f, int64_t q, int64_t n_query,
                      const ll_score_scale *scale)
{
    const double shift = scale == NULL ? 0 : scale->mean, size = scale == NULL ? 1 : scale->sd;
    if (f->mean != NULL) l->mean = (f->mean[q] - shift) / size;
    if (f->level == NULL) return;
    l->given = true;
    const double median = given_at(f, q, n_query, 0.5);
    if (!isnan(median)) l->median = (median - shift) / size;
    for (int k = 0; k < TALLY_LEVELS; k++) {
        l->lo[k] = (given_at(f, q, n_query, 0.5 - 0.5 * tally_level[k]) - shift) / size;
        l->hi[k] = (given_at(f, q, n_query, 0.5 + 0.5 * tally_level[k]) - shift) / size;
    }
}

static int64_t count_below(const law *l, double y)
{
    int64_t low = 0, high = l->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (l->x[mid] < y) low = mid + 1;
        else high = mid;
    }
    return low;
}

static double law_crps(const law *l, double y)
{
    const int64_t low = count_below(l, y);
    const double  below = (double)low, above = (double)(l->n - low);
    const double  away = y * below - l->sum[low] + (l->sum[l->n] - l->sum[low]) - y * above;
    return away / (double)l->n - l->apart;
}

static int64_t count_equal(const law *l, int64_t below, double y)
{
    int64_t equal = 0;
    while (below + equal < l->n && l->x[below + equal] == y) equal++;
    return equal;
}

static double law_place(const law *l, double y, double u)
{
    const int64_t below = count_below(l, y), equal = count_equal(l, below, y);
    return ((double)below + u * (double)(equal + 1)) / (double)(l->n + 1);
}

/* How much of a truth the interval between lo and hi holds. One that is an end of it, and that many
 * members are, as of whole numbers, counts by the share of them that belongs to the interval: else
 * intervals of whole numbers would hold more than they say. */
static double law_holds(const law *l, int level, double y)
{
    const double lo = l->lo[level], hi = l->hi[level], out = 0.5 - 0.5 * tally_level[level];
    if (!(y >= lo && y <= hi)) return 0;
    if ((y > lo && y < hi) || l->given) return 1;
    const int64_t below = count_below(l, y), equal = count_equal(l, below, y);
    if (equal < 2) return 1; /* by chance */
    const double n = (double)(l->n + l->drawn);
    const double first = (double)below / n, mass = (double)(equal + l->drawn) / n;
    return fmax(fmin(first + mass, 1 - out) - fmax(first, out), 0) / mass;
}

static void add_truth(tally_scale *t, const law *l, double y, double crps)
{
    t->crps += crps;
    t->ae_mean += fabs(y - l->mean);
    t->ae_median += fabs(y - l->median);
    t->se += (y - l->mean) * (y - l->mean);
    t->error += y - l->mean;
    t->variance += l->variance;
    t->size += fabs(y);
    for (int k = 0; k < TALLY_PINBALLS; k++)
        t->pinball[k] += metric_pinball(l->pinball[k], y, (k + 1) / (TALLY_PINBALLS + 1.0));
    for (int k = 0; k < TALLY_LEVELS; k++) {
        if (isnan(l->lo[k]) || isnan(l->hi[k])) continue;
        t->n_interval[k]++;
        t->inside[k] += law_holds(l, k, y);
        t->width[k] += l->hi[k] - l->lo[k];
    }
}

static void add_brief(tally_brief *t, const law *l, double z, double crps)
{
    t->n++;
    t->crps += crps;
    t->ae += fabs(z - l->mean);
    t->se += (z - l->mean) * (z - l->mean);
    if (isnan(l->lo[1]) || isnan(l->hi[1])) return;
    t->n_interval++;
    t->inside80 += law_holds(l, 1, z);
    t->width80 += l->hi[1] - l->lo[1];
}

/* ---- the paper's estimator ---- */

typedef struct paper {
    int64_t n, n_pairs;
    int64_t i[TALLY_PAIRS], j[TALLY_PAIRS];
} paper;

/* Ordered pairs of different members, the same for all queries of a window. */
static void paper_init(paper *p, const tally_case *c, int64_t n)
{
    const ll_rng r = ll_rng_make(c->seed, LL_STREAM_SCORE, c->id, 1, 0);
    assert(n <= TALLY_PAPER);
    p->n = n;
    p->n_pairs = p->n * (p->n - 1) / 2 < TALLY_PAIRS ? p->n * (p->n - 1) / 2 : TALLY_PAIRS;
    for (int64_t k = 0; k < p->n_pairs; k++) {
        const int64_t i = (int64_t)ll_rng_below(&r, 2 * (uint64_t)k, (uint64_t)p->n);
        const int64_t j = (int64_t)ll_rng_below(&r, 2 * (uint64_t)k + 1, (uint64_t)p->n - 1);
        p->i[k] = i;
        p->j[k] = j + (j >= i);
    }
}

/* Mean and CRPS at z of a law of data units whose members are held as the protocol holds them. */
static double crps_held(const law *y, const ll_score_scale *s, double z, double *mean)
{
    double off = 0, spread = 0, sum = 0;
    for (int64_t i = 0; i < y->n; i++) {
        const double x = ll_scale_held(s, y->x[i]);
        sum += x;
        off += fabs(x - z);
        spread += x * (double)(2 * i + 1 - y->n);
    }
    const double n = (double)y->n;
    *mean = sum / n;
    return off / n - spread / (n * n);
}

static bool is_held(const ll_score_scale *s, double y)
{
    return ll_scale_held(s, y) != ll_score_scale_z(s, y);
}

/* The paper's figures, of values held within the bounds of its protocol. drawn: members in the
 * order of their draws; NULL: the law itself, y in data units, l in deviations of score crps. */
static void add_paper(tally *t, const ll_score_scale *s, const paper *p, const double *drawn,
                      const law *y, const law *l, double truth, double crps)
{
    const double z = ll_scale_held(s, truth);
    double       mean = l->mean;
    if (drawn != NULL) {
        mean = metric_mean(drawn, p->n);
        crps = metric_crps_pairs(drawn, p->n, z, p->i, p->j, p->n_pairs);
    } else if (is_held(s, truth) ||
               (y->n > 0 && (is_held(s, y->x[0]) || is_held(s, y->x[y->n - 1])))) {
        crps = crps_held(y, s, z, &mean);
    }
    t->paper_crps += crps;
    t->paper_ae += fabs(z - mean);
    t->paper_se += (z - mean) * (z - mean);
}

/* ---- whole windows ---- */

/* The parts of a thread's scratch. */
enum { COLUMNS = 8 }; /* queries gathered at once: a row of members is far from the next */

typedef struct parts {
    double *column;        /* [COLUMNS,n_members] as drawn */
    double *y, *z;         /* [n_members] in order */
    double *y_sum, *z_sum; /* [n_members + 1] */
    double *path;          /* [TALLY_PATHS,n_query] */
    double *truth;         /* [n_query] in standard deviations */
} parts;

static parts parts_of(const tally_room *r)
{
    const int64_t m = r->n_members, q = r->n_query;
    parts         p = { .column = r->numbers };
    p.y = p.column + COLUMNS * m;
    p.z = p.y + m;
    p.y_sum = p.z + m;
    p.z_sum = p.y_sum + m + 1;
    p.path = p.z_sum + m + 1;
    p.truth = p.path + TALLY_PATHS * q;
    return p;
}

llap_status tally_room_init(tally_room *r, int64_t n_members, int64_t n_query)
{
    const size_t m = (size_t)n_members, q = (size_t)n_query;
    *r = (tally_room){ .n_members = n_members, .n_query = n_query };
    r->numbers = ll_new((COLUMNS + 4) * m + 2 + (TALLY_PATHS + 1) * q, sizeof *r->numbers);
    return r->numbers == NULL ? LLAP_ENOMEM : LLAP_OK;
}

void tally_room_deinit(tally_room *r)
{
    ll_free(r->numbers);
    *r = (tally_room){ 0 };
}

static void add_energy(const tally_case *c, const ll_forecast_members *f, const parts *p,
                       tally *out)
{
    const int64_t n = f->n < TALLY_PATHS ? f->n : TALLY_PATHS;
    bool          any = false, whole = n >= 2;
    for (int64_t q = 0; q < c->n_query; q++) {
        p->truth[q] = ll_score_scale_z(c->scale, c->truth[q]);
        any |= !isnan(p->truth[q]);
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t q = 0; q < c->n_query; q++) {
            const double z = ll_score_scale_z(c->scale, f->value[k * c->n_query + q]);
            p->path[k * c->n_query + q] = z;
            whole &= !isnan(z) || isnan(p->truth[q]);
        }
    if (!any || !whole) return;
    out->n_energy++;
    out->energy += metric_energy(p->path, n, c->n_query, p->truth);
}

/* Puts members [n], as drawn, in order on both scales; those that are NaN are left out. 0: none is
 * finite, and there is nothing to score. */
static int64_t put_in_order(const tally_case *c, const double *member, int64_t n, bool ordered,
                            const parts *p)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++)
        if (!isnan(member[k])) p->y[kept++] = member[k];
    if (!ordered) metric_sort(p->y, kept);
    bool finite = false;
    for (int64_t k = 0; k < kept; k++) {
        assert(k == 0 || p->y[k - 1] <= p->y[k]);
        p->z[k] = ll_score_scale_z(c->scale, p->y[k]);
        finite |= isfinite(p->y[k]);
    }
    return finite ? kept : 0;
}

static void add_query(const tally_case *c, int64_t q, const law *y, const law *z,
                      const paper *like_paper, const double *drawn, tally *out, tally_brief *lead)
{
    const double truth = c->truth[q], truth_z = ll_score_scale_z(c->scale, truth);
    const double crps = law_crps(z, truth_z);
    const ll_rng r = ll_rng_make(c->seed, LL_STREAM_SCORE, c->id, 0, 0);
    const double place = law_place(y, truth, (double)ll_rng_uniform(&r, (uint64_t)q));
    assert(place >= 0 && place <= 1);
    out->n++;
    add_truth(&out->z, z, truth_z, crps);
    add_truth(&out->y, y, truth, law_crps(y, truth));
    add_paper(out, c->scale, like_paper, drawn, y, z, truth, crps);
    out->pit[(int)fmin(TALLY_BINS * place, TALLY_BINS - 1)]++;
    if (lead != NULL) add_brief(&lead[c->bin[q]], z, truth_z, crps);
}

static void add_constant(const tally_case *c, const ll_forecast_members *f, const parts *p,
                         tally *out, tally_brief *lead)
{
    law           y, z;
    const int64_t n = put_in_order(c, f->value, f->n, true, p);
    if (n > 0) {
        law_init(&y, p->y, n, f->drawn, p->y_sum);
        law_init(&z, p->z, n, f->drawn, p->z_sum);
    }
    for (int64_t q = 0; q < c->n_query; q++) {
        if (isnan(c->truth[q])) continue;
        if (n > 0) add_query(c, q, &y, &z, NULL, NULL, out, lead);
        else out->n_unanswered++;
    }
}

static void add_members(const tally_case *c, const ll_forecast_members *f, const parts *p,
                        tally *out, tally_brief *lead)
{
    paper like_paper = { .n = -1 };
    for (int64_t first = 0; first < c->n_query; first += COLUMNS) {
        const int64_t some = c->n_query - first < COLUMNS ? c->n_query - first : COLUMNS;
        for (int64_t k = 0; k < f->n; k++)
            for (int64_t q = 0; q < some; q++)
                p->column[q * f->n + k] = f->value[k * c->n_query + first + q];
        for (int64_t q = 0; q < some; q++) {
            if (isnan(c->truth[first + q])) continue;
            law           y, z;
            double        drawn[TALLY_PAPER];
            const double *member = p->column + q * f->n;
            const int64_t n = put_in_order(c, member, f->n, false, p);
            if (n == 0) {
                out->n_unanswered++;
                continue;
            }
            const bool fair = f->drawn && (f->law == NULL || !f->law[first + q]);
            law_init(&y, p->y, n, fair, p->y_sum);
            law_init(&z, p->z, n, fair, p->z_sum);
            law_given(&y, f, first + q, c->n_query, NULL);
            law_given(&z, f, first + q, c->n_query, c->scale);
            int64_t kept = 0;
            for (int64_t k = 0; k < f->n && kept < TALLY_PAPER; k++)
                if (!isnan(member[k])) drawn[kept++] = ll_scale_held(c->scale, member[k]);
            if (kept != like_paper.n) paper_init(&like_paper, c, kept);
            add_query(c, first + q, &y, &z, &like_paper, fair ? drawn : NULL, out, lead);
        }
    }
}

void tally_forecast(const tally_case *c, const ll_forecast_members *f, const tally_room *room,
                    tally *out, tally_brief *lead)
{
    assert(f->n <= room->n_members && c->n_query <= room->n_query);
    assert(f->n >= 1 && !(f->joint && f->constant));
    const parts p = parts_of(room);
    if (f->joint && f->drawn) add_energy(c, f, &p, out);
    if (f->constant) add_constant(c, f, &p, out, lead);
    else add_members(c, f, &p, out, lead);
}
