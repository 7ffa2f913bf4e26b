/* What cells share, and what a pass leaves out: the same answers as each cell by itself, and as all
 * values of the passes. */
#include "base/rng/rng.h"
#include "fill/matched.h"

#include "check.h"

#include <math.h>

static const llap_progress quiet = { 0 };

static double draw(uint64_t what, uint64_t i)
{
    const ll_rng r = ll_rng_make(11, LL_STREAM_TEST, what, 0, 0);
    return (double)ll_rng_normal(&r, i);
}

/* Answers do not depend on the cells before, whose factor is used again, and are those of all
 * readings around by themselves. */
static void cells_share_what_is_around_them(void **state)
{
    (void)state;
    enum { N = 90 };
    static double t[N], u[N];
    int64_t       start[2] = { 0, N }, entity[N] = { 0 }, known[1] = { -1 };
    ll_filling   *f;
    ll_fill_lags  l;
    for (int i = 0; i < N; i++) { /* whole hours, a gap, times between, and on every third row */
        t[i] = i < 50 ? i + 3 * (i > 30) : 1.01 * i + 0.37 * sin(i);
        u[i] = (i > 20 && i < 27) || (i > 60 && i % 3 > 0) ? NAN : draw(20, (uint64_t)i);
    }
    ll_fill_table table = { .n_entities = 1,
                            .n_rows = N,
                            .n_vars = 1,
                            .start = start,
                            .t = t,
                            .entity = entity,
                            .known = known,
                            .u = u };
    CHECK_OK(ll_filling_create(1, 0, 0, &f));
    f->step = 1;
    f->day = true;
    f->kernel[0] = ll_fill_kernel_start(true, 1);
    CHECK_OK(ll_fill_table_index(f, &table));
    ll_fill_lags_init(&l, &f->kernel[0], table.unit);
    ll_fill_smoother running, fresh;
    ll_fill_smoother_init(&running, f, &l, &table, 0);
    for (int64_t i = 0; i < N; i++) {
        const int64_t row = i < 70 ? i : i * 37 % N; /* in order, then anyhow */
        ll_fill_look  a, b;
        double        at[LL_FILL_LOOK], K[LL_FILL_LOOK * LL_FILL_LOOK], w[LL_FILL_LOOK];
        ll_fill_smooth(&running, row, &a);
        ll_fill_smoother_init(&fresh, f, &l, &table, 0);
        ll_fill_smooth(&fresh, row, &b);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.w, b.w, (size_t)a.n * sizeof *a.w);
        assert_memory_equal(&a.mean, &b.mean, sizeof a.mean);
        assert_memory_equal(&a.b, &b.b, sizeof a.b);
        for (int k = 0; k < a.n; k++) at[k] = t[a.row[k]] - t[row];
        double var = ll_fill_kernel_at(&f->kernel[0], 0) + f->kernel[0].nu; /* and densely */
        for (int k = 0; k < a.n; k++) {
            w[k] = ll_fill_kernel_at(&f->kernel[0], fabs(at[k]));
            for (int x = 0; x <= k; x++)
                K[k * a.n + x] = ll_fill_kernel_at(&f->kernel[0], fabs(at[k] - at[x])) +
                                 (k == x ? f->kernel[0].nu : 0);
        }
        assert_true(ll_fill_factor(K, a.n));
        ll_fill_solve(K, a.n, w);
        for (int k = 0; k < a.n; k++) {
            assert_float_equal(a.w[k], w[k], 1e-9);
            var -= w[k] * ll_fill_kernel_at(&f->kernel[0], fabs(at[k]));
        }
        assert_float_equal(a.b, sqrt(var), 1e-9);
    }
    ll_fill_table_deinit(&table);
    ll_filling_destroy(f);
}

/* Rows are whole multiples of a table's unit apart. */
static void units_divide_gaps(void **state)
{
    (void)state;
    static const struct {
        double gap[4], step, unit;
    } c[] = { { { 1, 1, 2, 1 }, 1, 1 },
              { { 72, 168, 24, 240 }, 168, 24 },
              { { 1, .5, 1, 1.25 }, 1, .25 },
              { { 1, 1.00001, 1, 1 }, 1, 1 } }; /* too fine to help */
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        int64_t     start[2] = { 0, 5 }, entity[5] = { 0 }, known[1] = { -1 };
        double      t[5] = { 7 }, u[5] = { 0 };
        ll_filling *f;
        for (int i = 0; i < 4; i++) t[i + 1] = t[i] + c[k].gap[i];
        ll_fill_table table = { .n_entities = 1,
                                .n_rows = 5,
                                .n_vars = 1,
                                .start = start,
                                .t = t,
                                .entity = entity,
                                .known = known,
                                .u = u };
        CHECK_OK(ll_filling_create(1, 0, 0, &f));
        f->step = c[k].step;
        CHECK_OK(ll_fill_table_index(f, &table));
        assert_float_equal(table.unit, c[k].unit, 1e-12);
        ll_fill_table_deinit(&table);
        ll_filling_destroy(f);
    }
}

enum { VARS = 3, STATIONS = 4, HOURS = 40, ROWS = STATIONS * HOURS, CELLS = VARS * ROWS };

/* Three sensors of four stations, of which a third is read; a target and two inputs. */
typedef struct net {
    int64_t       start[STATIONS + 1], entity[ROWS], known[STATIONS];
    double        t[ROWS], u[CELLS], full[CELLS];
    ll_fill_table table;
} net;

static ll_filling *make_filling(void)
{
    ll_filling *f;
    CHECK_OK(ll_filling_create(VARS, STATIONS, 2, &f));
    const int64_t S = ll_fill_slots(f);
    f->step = 1;
    f->target[1] = f->target[2] = -1;
    for (int v = 0; v < VARS; v++) {
        f->kernel[v] = ll_fill_kernel_start(false, 1);
        f->far[v] = 2;
    }
    for (int64_t i = 0; i < VARS * f->n_groups * LL_FILL_LENGTHS * S * S; i++) {
        const int64_t a = i / S % S, b = i % S;
        f->cov[0][i] = f->cov[1][i] = a == b ? 1 : .3 + .05 * (double)((a + b) % 3);
    }
    for (int e = 0; e < STATIONS; e++) {
        f->near[2 * e] = (e + 1) % STATIONS;
        f->near[2 * e + 1] = (e + 2) % STATIONS;
    }
    return f;
}

static void net_init(net *w, const ll_filling *f)
{
    *w = (net){ 0 };
    for (int r = 0; r < ROWS; r++) {
        w->entity[r] = r / HOURS;
        w->known[r / HOURS] = r / HOURS;
        w->t[r] = r % HOURS + 2 * (r % HOURS > 12 + r / HOURS); /* not at each time are all there */
        w->start[r / HOURS + 1] = r + 1;
        for (int v = 0; v < VARS; v++) {
            const uint64_t i = (uint64_t)(r * VARS + v);
            w->u[v * ROWS + r] = draw(31, i) > .4 ? draw(30, i) : NAN;
        }
    }
    w->table = (ll_fill_table){ .n_entities = STATIONS,
                                .n_rows = ROWS,
                                .n_vars = VARS,
                                .start = w->start,
                                .t = w->t,
                                .entity = w->entity,
                                .known = w->known,
                                .u = w->u };
    CHECK_OK(ll_fill_table_index(f, &w->table));
}

/* Answers from what is needed alone are those from all values of the passes, to the last bit. */
static void what_is_needed_is_all_that_is_looked_at(void **state)
{
    (void)state;
    static net  some, all;
    uint8_t     asked[CELLS] = { 0 };
    ll_filling *f = make_filling();
    int         idle = 0;
    net_init(&some, f);
    net_init(&all, f);
    for (int r = 0; r < ROWS; r += 7) asked[r] = 1;
    CHECK_OK(ll_fill_table_fill(f, &some.table, asked, quiet, some.full));
    for (int pass = 0; pass < 2; pass++)
        CHECK_OK(ll_fill_pass(f, &all.table, pass, NULL, quiet, all.full));
    CHECK_OK(ll_fill_unrest(f, &all.table, all.full, quiet));
    assert_memory_equal(some.table.unrest, all.table.unrest, ROWS * sizeof(double));
    for (int64_t r = 0; r < ROWS; r++) {
        ll_fill_answer a, b;
        idle += isnan(some.full[ROWS + r]);
        if (!asked[r]) continue;
        ll_fill_ask(f, &some.table, some.full, 0, &r, 1, &a);
        ll_fill_ask(f, &all.table, all.full, 0, &r, 1, &b);
        assert_memory_equal(&a.mean, &b.mean, sizeof a.mean);
        assert_memory_equal(&a.sd, &b.sd, sizeof a.sd);
        assert_int_equal(a.kind, b.kind);
    }
    assert_true(idle > 10);
    ll_fill_table_deinit(&some.table);
    ll_fill_table_deinit(&all.table);
    ll_filling_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_share_what_is_around_them),
        cmocka_unit_test(units_divide_gaps),
        cmocka_unit_test(what_is_needed_is_all_that_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
