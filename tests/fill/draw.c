/* Draws of gaps that belong together (docs/spec/filling.md 8): sums over a gap and over variables
 * hold what they say, on two series whose law is known. */
#include "fill/draw.h"
#include "base/rng/rng.h"
#include "fill/matched.h"

#include "check.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static double draw(uint64_t what, uint64_t i)
{
    const ll_rng r = ll_rng_make(11, LL_STREAM_TEST, what, 0, 0);
    return (double)ll_rng_normal(&r, i);
}

enum { PAIRS = 2, DAYS = 300, LENGTH = 24 * DAYS, GAP = 12, DRAWS = 60 };

/* Two variables with one kernel and a correlation of .8, simulated exactly (simple poles alone),
 * and every day both out for half of it. */
typedef struct pair {
    int64_t       start[2], entity[LENGTH], known[1];
    double        t[LENGTH], u[PAIRS * LENGTH], truth[PAIRS * LENGTH];
    ll_fill_table table;
    ll_filling   *f;
} pair;

static void pair_init(pair *w)
{
    memset(w, 0, sizeof *w);
    w->start[1] = LENGTH;
    w->known[0] = -1;
    CHECK_OK(ll_filling_create(PAIRS, 0, 0, &w->f));
    w->f->step = 1;
    for (int v = 0; v < PAIRS; v++) {
        ll_fill_kernel *k = &w->f->kernel[v];
        *k = ll_fill_kernel_start(false, 1);
        for (int i = 0; i < LL_FILL_TERMS; i++) k->a[i] = i == 0 ? 1 : 0;
        k->rho[0] = 0.05;
        k->nu = 0.01;
        w->f->used[v] = true;
        w->f->far[v] = 1e9;
        for (int length = 0; length < LL_FILL_LENGTHS; length++)
            for (int i = 0; i < 4; i++)
                ll_fill_cov(w->f, 1, v, 0, length)[i] = i == 0 || i == 3 ? 1 : 0.8;
    }
    double       x[PAIRS] = { 0 };
    const double keep = exp(-0.05), new = sqrt(1 - keep * keep);
    for (int r = 0; r < LENGTH; r++) {
        w->t[r] = r;
        const double common = draw(21, (uint64_t)r), noise = draw(22, (uint64_t)r);
        for (int v = 0; v < PAIRS; v++) {
            const uint64_t i = (uint64_t)(2 * r + v);
            x[v] = keep * x[v] + new *(sqrt(.8) * common + sqrt(.2) * draw(23, i));
            w->truth[v * LENGTH + r] = x[v] + 0.1 * (sqrt(.8) * noise + sqrt(.2) * draw(24, i));
            w->u[v * LENGTH + r] = r % 24 < GAP && r >= 24 ? NAN : w->truth[v * LENGTH + r];
        }
    }
    w->table = (ll_fill_table){ .n_entities = 1,
                                .n_rows = LENGTH,
                                .n_vars = PAIRS,
                                .start = w->start,
                                .t = w->t,
                                .entity = w->entity,
                                .known = w->known,
                                .u = w->u };
    CHECK_OK(ll_fill_table_index(w->f, &w->table));
}

/* How often an 80 % interval of the draws of a sum over n cells holds it, of many such sums. */
typedef struct coverage {
    int n, joint, apart;
} coverage;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool holds(double *x, double truth)
{
    qsort(x, DRAWS, sizeof *x, by_value);
    return truth >= x[DRAWS / 10] && truth <= x[DRAWS - 1 - DRAWS / 10];
}

static double quantile[DRAWS]; /* of a normal law, at (i + .5) / DRAWS */

static void find_quantiles(void)
{
    for (int i = 0; i < DRAWS; i++) {
        double low = -6, high = 6;
        for (int s = 0; s < 50; s++) {
            const double mid = (low + high) / 2;
            if (0.5 * erfc(-mid / sqrt(2)) < (i + 0.5) / DRAWS) low = mid;
            else high = mid;
        }
        quantile[i] = low;
    }
}

/* Cells v .. v_end of rows r .. r_end: by their ranks, and by ranks of an order of their own. */
static void judge(const pair *w, const ll_fill_draws *d, int v, int v_end, int r, int r_end,
                  coverage *c)
{
    double joint[DRAWS] = { 0 }, apart[DRAWS] = { 0 }, truth = 0;
    for (int x = v; x < v_end; x++) {
        ll_fill_lags l;
        ll_fill_lags_init(&l, &w->f->kernel[x], 1);
        ll_fill_smoother s;
        ll_fill_smoother_init(&s, w->f, &l, &w->table, x);
        for (int row = r; row < r_end; row++) {
            ll_fill_look   look;
            const int32_t *rank = ll_fill_draws_of(d, &w->table, x, row);
            assert_non_null(rank);
            ll_fill_smooth(&s, row, &look);
            truth += w->truth[x * LENGTH + row];
            for (int k = 0; k < DRAWS; k++) {
                joint[k] += look.mean + look.b * quantile[rank[k]];
                apart[k] += look.mean +
                            look.b * quantile[(k * 37 + row * 11 + x * 23 + row * k * 7) % DRAWS];
            }
        }
    }
    c->n++;
    c->joint += holds(joint, truth);
    c->apart += holds(apart, truth);
}

static void sums_of_draws_hold_what_they_say(void **state)
{
    (void)state;
    static pair    w;
    static uint8_t all[PAIRS * LENGTH];
    const uint64_t id[PAIRS] = { 5, 6 };
    ll_fill_draws  d;
    coverage       gap = { 0 }, row = { 0 };
    pair_init(&w);
    find_quantiles();
    memset(all, 1, sizeof all);
    const ll_fill_draws_opts o = { DRAWS, 3, id, all };
    CHECK_OK(ll_fill_draws_init(&d, w.f, &w.table, &o));
    assert_null(ll_fill_draws_of(&d, &w.table, 0, 3)); /* it is read */
    for (int r = 24; r + 24 <= LENGTH; r += 24) {
        for (int v = 0; v < PAIRS; v++) judge(&w, &d, v, v + 1, r, r + GAP, &gap);
        for (int i = 0; i < GAP; i += 4) judge(&w, &d, 0, PAIRS, r + i, r + i + 1, &row);
    }
    /* between the seventh and the last but six of 60 draws lie 77 %; a share of so many sums is
     * within .05 of it, also where those of one gap lean on each other */
    if (fabs(gap.joint / (double)gap.n - .77) > .05 || gap.apart > .65 * gap.n)
        fail_msg("of %d gaps %d, apart %d", gap.n, gap.joint, gap.apart);
    if (fabs(row.joint / (double)row.n - .77) > .05 || row.apart > .68 * row.n)
        fail_msg("of %d rows %d, apart %d", row.n, row.joint, row.apart);
    ll_fill_draws again;
    const int     n = omp_get_max_threads();
    omp_set_num_threads(n == 1 ? 3 : 1);
    CHECK_OK(ll_fill_draws_init(&again, w.f, &w.table, &o));
    omp_set_num_threads(n);
    assert_int_equal(again.n, d.n);
    assert_memory_equal(again.rank, d.rank, (size_t)(d.n * DRAWS) * sizeof *d.rank);
    ll_fill_draws_deinit(&again);
    ll_fill_draws_deinit(&d);
    ll_fill_table_deinit(&w.table);
    ll_filling_destroy(w.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_of_draws_hold_what_they_say) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
