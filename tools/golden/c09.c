/* Metrics: c09. Samples [M,B,h,N,C] and targets [B,N,h,C] of two batches, one pooled average. */
#include "golden.h"

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
    s->crps += metric_crps(x, b->M, y, true);
    s->ae_mean += fabs(y - mean);
    s->se_mean += (y - mean) * (y - mean);
    s->ae += fabs(y - point);
    s->se += (y - point) * (y - point);
    for (int q = 0; q < 3; q++)
        s->pinball[q] += metric_pinball(metric_quantile_inner(x, b->M, level[q]), y, level[q]);
}

/* keep [B,h] of this batch, or NULL; only steps where it is `as`, and only target `of` (-1: all).
 */
static void add_batch(sums *s, const batch *b, const double *keep, bool as, int64_t of, bool median)
{
    for (int64_t row = 0; row < b->B; row++)
        for (int64_t t = 0; t < b->h; t++) {
            if (keep != NULL && (keep[row * b->h + t] != 0.0) != as) continue;
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
    for (int i = 0; i < BATCHES; i++) add_batch(&s, &b[i], NULL, true, -1, median);
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
        for (int i = 0; i < BATCHES; i++) add_batch(&one, &b[i], NULL, true, k, median);
        count[k] = one.n;
        mae[k] = one.ae / one.n;
        mse[k] = one.se / one.n;
    }
    golden_compare(c, "out.per_target_count", count, b->C, NULL);
    golden_compare(c, "out.per_target_mae", mae, b->C, NULL);
    golden_compare(c, "out.per_target_mse", mse, b->C, NULL);
}

/* ---- imputation: steps of a row are kept or hidden for all entities together ---- */

/* any [BATCHES,B,h]: a target of that step is observed. */
static double *observed_steps(golden *c, const batch *b)
{
    double *any = golden_new(c, BATCHES * b->B * b->h);
    for (int64_t i = 0; any != NULL && i < BATCHES * b->B * b->h; i++)
        for (int64_t n = 0; n < b->N; n++)
            for (int64_t k = 0; k < b->C; k++)
                if (scored(&b[i / (b->B * b->h)], i / b->h % b->B, n, i % b->h, k)) any[i] = 1;
    return any;
}

static void compare_imputation(golden *c, const batch *b, const char *kind, const double *any,
                               const double *keep)
{
    char          name[64];
    const int64_t n = b->B * b->h;
    sums          hidden = { 0 }, kept = { 0 };
    double        steps = 0, left = 0;
    for (int64_t i = 0; i < BATCHES * n; i++) {
        steps += any[i];
        left += any[i] * keep[i];
    }
    for (int i = 0; i < BATCHES; i++) {
        add_batch(&hidden, &b[i], keep + i * n, false, -1, false);
        add_batch(&kept, &b[i], keep + i * n, true, -1, false);
    }
    const struct {
        const char *what;
        double      value;
    } line[] = { { "hidden_crps", hidden.crps / hidden.n },
                 { "hidden_mae", hidden.ae_mean / hidden.n },
                 { "hidden_mse", hidden.se_mean / hidden.n },
                 { "hidden_token_frac", (steps - left) / steps },
                 { "observed_mae", kept.ae_mean / kept.n },
                 { "observed_token_frac", left / steps } };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        snprintf(name, sizeof name, "impute_%s_%s", kind, line[i].what);
        compare(c, name, line[i].value);
    }
}

void golden_metrics(golden *c)
{
    batch        *b = ll_arena_new(&c->arena, BATCHES, sizeof *b);
    const bool    median = golden_is(c, "aggregation", "median");
    const double *u = golden_values(c, "in.keep_u");
    if (b == NULL) golden_fail(c, LLAP_ENOMEM, "out of memory");
    for (int i = 0; c->status == LLAP_OK && i < BATCHES; i++) read_batch(c, i, &b[i]);
    if (c->status != LLAP_OK) return;
    compare_forecast(c, b, median);
    const int64_t n = BATCHES * b->B * b->h, stride = golden_int(c, "regular_stride");
    const double  share = golden_real(c, "random_keep_frac");
    double       *any = observed_steps(c, b), *regular = golden_new(c, n), *some = golden_new(c, n);
    for (int64_t i = 0; c->status == LLAP_OK && i < n; i++) {
        regular[i] = any[i] != 0.0 && i % b->h % stride == 0;
        some[i] = any[i] != 0.0 && u[i] < share;
    }
    if (c->status != LLAP_OK) return;
    golden_compare(c, "mid.obs_any", any, n, NULL);
    golden_compare(c, "mid.keep_regular", regular, n, NULL);
    golden_compare(c, "mid.keep_random", some, n, NULL);
    compare_imputation(c, b, "regular", any, regular);
    compare_imputation(c, b, "random", any, some);
}
