/* Metrics: c09. Samples [M,B,h,N,C] and targets [B,N,h,C] of two batches, one pooled average. */
#include "golden.h"

#include "base/crps.h"
#include "data/windows/missing.h"
#include "score/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCHES = 2, MEMBERS_MAX = 64, PAIRS_MAX = 512, TARGETS_MAX = 8 };

/* One batch; all of it in the arena. */
typedef struct batch {
    int64_t B, N, h, C, M, n_pairs;
    double *samples, *y; /* [M,B,h,N,C], [B,N,h,C] */
    double *ent, *obs;   /* [B,N], [B,N,h,C] */
    int64_t i[PAIRS_MAX], j[PAIRS_MAX];
} batch;

static double *values(golden *c, const char *name, int k)
{
    char full[64];
    snprintf(full, sizeof full, "in.%s%d", name, k);
    return golden_values(c, full);
}

static void read_batch(golden *c, int k, batch *b)
{
    *b = (batch){ golden_int(c, "B"),
                  golden_int(c, "N"),
                  golden_int(c, "h"),
                  golden_int(c, "C"),
                  golden_int(c, "M"),
                  golden_int(c, "P"),
                  .samples = values(c, "samples", k) };
    b->y = values(c, "y", k);
    b->ent = values(c, "entity_mask", k);
    b->obs = values(c, "y_obs_mask", k);
    const double *i = values(c, "pair_i", k), *raw = values(c, "pair_j_raw", k);
    if (b->M > MEMBERS_MAX || b->n_pairs > PAIRS_MAX || b->C > TARGETS_MAX)
        golden_fail(c, LLAP_ELIMIT, "more members, pairs or targets than expected");
    for (int64_t p = 0; c->status == LLAP_OK && p < b->n_pairs; p++) {
        b->i[p] = (int64_t)i[p];
        b->j[p] = (int64_t)raw[p] + (raw[p] >= i[p]); /* never the same member */
    }
}

static bool scored(const batch *b, int64_t row, int64_t n, int64_t t, int64_t k)
{
    return b->ent[row * b->N + n] != 0.0 && b->obs[((row * b->N + n) * b->h + t) * b->C + k] != 0.0;
}

/* Sums over values, and what they are divided by. */
typedef struct sums {
    double n, crps, pairs, ae_mean, se_mean, ae, se, pinball[3];
} sums;

static const double level[3] = { 0.1, 0.5, 0.9 };

static void add(sums *s, const batch *b, int64_t row, int64_t n, int64_t t, int64_t k, bool median)
{
    double       x[MEMBERS_MAX];
    const double y = b->y[((row * b->N + n) * b->h + t) * b->C + k];
    for (int64_t m = 0; m < b->M; m++)
        x[m] = b->samples[(((m * b->B + row) * b->h + t) * b->N + n) * b->C + k];
    s->n++;
    s->pairs += metric_crps_pairs(x, b->M, y, b->i, b->j, b->n_pairs);
    metric_sort(x, b->M);
    const double mean = metric_mean(x, b->M), point = median ? metric_median(x, b->M) : mean;
    s->crps += ll_crps(x, b->M, y, true);
    s->ae_mean += fabs(y - mean);
    s->se_mean += (y - mean) * (y - mean);
    s->ae += fabs(y - point);
    s->se += (y - point) * (y - point);
    for (int q = 0; q < 3; q++)
        s->pinball[q] += metric_pinball(metric_quantile_inner(x, b->M, level[q]), y, level[q]);
}

/* Steps of a batch where only [B,h] is not 0 (NULL: all), and target `of` alone (-1: all). */
static void add_batch(sums *s, const batch *b, const uint8_t *only, int64_t of, bool median)
{
    for (int64_t row = 0; row < b->B; row++)
        for (int64_t t = 0; t < b->h; t++) {
            if (only != NULL && !only[row * b->h + t]) continue;
            for (int64_t n = 0; n < b->N; n++)
                for (int64_t k = 0; k < b->C; k++)
                    if ((of < 0 || of == k) && scored(b, row, n, t, k))
                        add(s, b, row, n, t, k, median);
        }
}

static void compare(golden *c, const char *name, double x)
{
    char full[64];
    snprintf(full, sizeof full, "out.%s", name);
    golden_compare(c, full, &x, 1, NULL);
}

static void compare_forecast(golden *c, const batch *b, bool median)
{
    sums   s = { 0 };
    double count[TARGETS_MAX], mae[TARGETS_MAX], mse[TARGETS_MAX];
    for (int i = 0; i < BATCHES; i++) add_batch(&s, &b[i], NULL, -1, median);
    compare(c, "count", s.n);
    compare(c, "crps_mc", s.pairs / s.n);
    compare(c, "crps_all_pairs", s.crps / s.n);
    compare(c, "mae", s.ae / s.n);
    compare(c, "mse", s.se / s.n);
    compare(c, "mae_mean_point", s.ae_mean / s.n);
    compare(c, "mse_mean_point", s.se_mean / s.n);
    compare(c, "pinball_q10", s.pinball[0] / s.n);
    compare(c, "pinball_q50", s.pinball[1] / s.n);
    compare(c, "pinball_q90", s.pinball[2] / s.n);
    for (int64_t k = 0; k < b->C; k++) {
        sums one = { 0 };
        for (int i = 0; i < BATCHES; i++) add_batch(&one, &b[i], NULL, k, median);
        count[k] = one.n;
        mae[k] = one.ae / one.n;
        mse[k] = one.se / one.n;
    }
    golden_compare(c, "out.per_target_count", count, b->C, NULL);
    golden_compare(c, "out.per_target_mae", mae, b->C, NULL);
    golden_compare(c, "out.per_target_mse", mse, b->C, NULL);
}

/* ---- imputation: steps of a row are kept or hidden for all entities together ---- */

static uint8_t *flags(golden *c, int64_t n)
{
    uint8_t *x = ll_arena_new(&c->arena, (size_t)n, sizeof *x);
    if (x == NULL) golden_fail(c, LLAP_ENOMEM, "out of memory");
    return x;
}

/* any [BATCHES,B,h]: a target of that step is observed. */
static uint8_t *observed_steps(golden *c, const batch *b)
{
    uint8_t *any = flags(c, BATCHES * b->B * b->h);
    for (int64_t i = 0; any != NULL && i < BATCHES * b->B * b->h; i++)
        for (int64_t n = 0; n < b->N; n++)
            for (int64_t k = 0; k < b->C; k++)
                if (scored(&b[i / (b->B * b->h)], i / b->h % b->B, n, i % b->h, k)) any[i] = 1;
    return any;
}

static void compare_flags(golden *c, const char *name, const uint8_t *x, int64_t n)
{
    double *wide = golden_new(c, n);
    for (int64_t i = 0; wide != NULL && i < n; i++) wide[i] = x[i];
    if (wide != NULL) golden_compare(c, name, wide, n, NULL);
}

/* Scores of the steps hidden and kept, both [BATCHES,B,h]. */
static void compare_scores(golden *c, const batch *b, const char *kind, const uint8_t *hide,
                           const uint8_t *keep)
{
    char          name[64];
    const int64_t n = b->B * b->h;
    sums          hidden = { 0 }, kept = { 0 };
    double        n_hidden = 0, n_kept = 0;
    for (int64_t i = 0; i < BATCHES * n; i++) {
        n_hidden += hide[i];
        n_kept += keep[i];
    }
    for (int i = 0; i < BATCHES; i++) {
        add_batch(&hidden, &b[i], hide + i * n, -1, false);
        add_batch(&kept, &b[i], keep + i * n, -1, false);
    }
    const struct {
        const char *what;
        double      value;
    } line[] = { { "hidden_crps", hidden.crps / hidden.n },
                 { "hidden_mae", hidden.ae_mean / hidden.n },
                 { "hidden_mse", hidden.se_mean / hidden.n },
                 { "hidden_token_frac", n_hidden / (n_hidden + n_kept) },
                 { "observed_mae", kept.ae_mean / kept.n },
                 { "observed_token_frac", n_kept / (n_hidden + n_kept) } };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        snprintf(name, sizeof name, "impute_%s_%s", kind, line[i].what);
        compare(c, name, line[i].value);
    }
}

/* u [BATCHES,B,h]: the reference's draws */
static void compare_imputation(golden *c, const batch *b, const char *kind, const uint8_t *any,
                               const double *u, ll_impute_mask_opts o)
{
    char          name[64];
    const int64_t rows = BATCHES * b->B, h = b->h;
    uint8_t      *keep = flags(c, rows * h), *hide = flags(c, rows * h);
    if (c->status != LLAP_OK) return;
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *observed = any + row * h;
        o.draw = u + row * h;
        if (!ll_impute_mask(&o, 0, h, observed, keep + row * h)) continue;
        for (int64_t t = 0; t < h; t++) hide[row * h + t] = observed[t] && !keep[row * h + t];
    }
    snprintf(name, sizeof name, "mid.keep_%s", kind);
    compare_flags(c, name, keep, rows * h);
    compare_scores(c, b, kind, hide, keep);
}

void golden_metrics(golden *c)
{
    batch              *b = ll_arena_new(&c->arena, BATCHES, sizeof *b);
    const bool          median = golden_is(c, "aggregation", "median");
    const double       *u = golden_values(c, "in.keep_u");
    ll_impute_mask_opts o = LL_IMPUTE_DEFAULT;
    o.every = golden_int(c, "regular_stride");
    o.keep = golden_real(c, "random_keep_frac");
    if (b == NULL) golden_fail(c, LLAP_ENOMEM, "out of memory");
    for (int i = 0; c->status == LLAP_OK && i < BATCHES; i++) read_batch(c, i, &b[i]);
    if (c->status != LLAP_OK) return;
    compare_forecast(c, b, median);
    const uint8_t *any = observed_steps(c, b);
    if (c->status != LLAP_OK) return;
    compare_flags(c, "mid.obs_any", any, BATCHES * b->B * b->h);
    compare_imputation(c, b, "random", any, u, o);
    o.kind = LL_IMPUTE_REGULAR;
    compare_imputation(c, b, "regular", any, u, o);
}
