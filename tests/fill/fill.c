/* Filling by all sensors: the smoother against the exact process, matched residuals against the
 * dense law of all variables, gradients against differences, and a fit on made-up sensors. */
#include "anchor/process/process.h"
#include "base/rng/rng.h"
#include "fill/fit.h"
#include "fill/matched.h"

#include "check.h"

#include <omp.h>
#include <string.h>

static const llap_progress quiet = { 0 };

static double draw(uint64_t what, uint64_t i)
{
    const ll_rng r = ll_rng_make(11, LL_STREAM_TEST, what, 0, 0);
    return (double)ll_rng_normal(&r, i);
}

/* Terms that the anchor's process has, too: simple poles and cycles. */
static void smoother_is_the_exact_process(void **state)
{
    (void)state;
    enum { N = 9 };
    ll_fill_kernel   k = ll_fill_kernel_start(true, 1);
    ll_anchor_kernel exact = { .n_terms = 6, .nu = k.nu };
    double           t[N], y[N], w[LL_FILL_LOOK], var, sum = 0;
    ll_fill_root     U;
    ll_fill_lags     l;
    k.a[3] = k.a[4] = 0;
    for (int i = 0, n = 0; i < LL_FILL_TERMS; i++) {
        if (k.a[i] == 0) continue;
        exact.a[n] = k.a[i];
        exact.rho[n] = k.rho[i];
        exact.omega[n++] = i < 5 ? 0 : 6.283185307179586 / (i == 5 ? 24 : i == 6 ? 12 : 8);
    }
    for (int i = 0; i < N; i++) t[i] = i - 4 + 0.1 * i - (i < 5), y[i] = draw(1, (uint64_t)i);
    const ll_anchor_window win = {
        .n_obs = N, .t = t, .y = y, .n_query = 1, .t_query = (double[]){ 0 }
    };
    ll_anchor_posterior *post;
    double               mean, expected;
    CHECK_OK(ll_anchor_condition(&exact, &win, &post));
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_NOISY, &mean, &expected));
    ll_anchor_posterior_destroy(post);
    ll_fill_lags_init(&l, &k, 1);
    assert_int_equal(ll_fill_grow(&l, k.nu, t, 0, N, &U), N);
    ll_fill_weights(&l, k.nu, N, t, &U, w, &var);
    for (int i = 0; i < N; i++) sum += w[i] * y[i];
    assert_float_equal(sum, mean, 1e-9);
    assert_float_equal(var, expected, 1e-9);
}

static void slopes_are_differences(void **state)
{
    (void)state;
    enum { N = 6, P = 2 * LL_FILL_TERMS + 1 };
    ll_fill_example x[N];
    ll_fill_kernel  k = ll_fill_kernel_start(true, 1);
    double          g[P];
    for (int e = 0; e < N; e++) { /* some on whole hours, some not */
        x[e] = (ll_fill_example){ .n = 5, .truth = draw(2, (uint64_t)e) };
        for (int i = 0; i < x[e].n; i++) {
            x[e].t[i] = (i < 2 ? i - 3 : i - 1) * (1 + e) + (e % 2 ? 0.3 * i : 0);
            x[e].y[i] = draw(3, (uint64_t)(e * 8 + i));
        }
    }
    (void)ll_fill_kernel_loss(x, N, 1, &k, g);
    for (int i = 0; i < P; i++) {
        double at[2];
        for (int s = 0; s < 2; s++) {
            ll_fill_kernel moved = k;
            double        *p = i < LL_FILL_TERMS       ? &moved.a[i]
                               : i < 2 * LL_FILL_TERMS ? &moved.rho[i - LL_FILL_TERMS]
                                                       : &moved.nu;
            *p *= exp(s == 0 ? -1e-4 : 1e-4);
            at[s] = ll_fill_kernel_loss(x, N, 1, &moved, NULL);
        }
        assert_float_equal(g[i], (at[1] - at[0]) / 2e-4, 1e-7);
    }
}

/* ---- docs/spec/filling.md 3: where one kernel holds between times and one covariance between
 * variables, matched residuals are the dense answer, however long the gap ---- */

enum { VARS = 3, ROWS = 14 };
static const double between[VARS][VARS] = { { 1, .7, -.4 }, { .7, 1, .2 }, { -.4, .2, 1 } };

typedef struct world {
    int64_t       start[2], entity[ROWS], known[1];
    double        t[ROWS], u[VARS * ROWS], full[VARS * ROWS];
    ll_fill_table table;
    ll_filling   *f;
} world;

static void world_init(world *w)
{
    memset(w, 0, sizeof *w);
    w->start[1] = ROWS;
    w->known[0] = -1;
    for (int r = 0; r < ROWS; r++) w->t[r] = r;
    for (int i = 0; i < VARS * ROWS; i++) w->u[i] = draw(4, (uint64_t)i);
    for (int r = 5; r < 9; r++) w->u[r] = NAN; /* of variable 0 */
    w->table = (ll_fill_table){ .n_entities = 1,
                                .n_rows = ROWS,
                                .n_vars = VARS,
                                .start = w->start,
                                .t = w->t,
                                .entity = w->entity,
                                .known = w->known,
                                .u = w->u };
    CHECK_OK(ll_filling_create(VARS, 0, 0, &w->f));
    w->f->step = 1;
    for (int v = 0; v < VARS; v++) {
        w->f->kernel[v] = ll_fill_kernel_start(false, 1);
        w->f->far[v] = 1e9;
        for (int pass = 0; pass < 2; pass++) {
            double *c = ll_fill_cov(w->f, pass, v, 0, 0);
            int     slot[VARS], n = 1; /* the own one first, then the others in their order */
            slot[0] = v;
            for (int x = 0; x < VARS; x++)
                if (x != v) slot[n++] = x;
            for (int i = 0; i < VARS; i++)
                for (int j = 0; j < VARS; j++) c[i * VARS + j] = between[slot[i]][slot[j]];
        }
    }
    CHECK_OK(ll_fill_table_index(w->f, &w->table));
}

/* Mean and deviation of cell (0,row) given all that is read, but for other unread cells. */
static void dense_answer(const world *w, int row, double *mean, double *sd)
{
    enum { N = VARS * ROWS };
    static double K[N * N];
    double        x[N], to[N], y[N];
    int           at[N], n = 0;
    for (int i = 0; i < N; i++)
        if (!isnan(w->u[i])) at[n] = i, y[n++] = w->u[i];
    const ll_fill_kernel *k = &w->f->kernel[0];
    for (int i = 0; i < n; i++) {
        const double d = fabs(w->t[at[i] % ROWS] - row);
        x[i] = to[i] = between[0][at[i] / ROWS] * (ll_fill_kernel_at(k, d) + (d == 0 ? k->nu : 0));
        for (int j = 0; j < n; j++) {
            const double apart = fabs(w->t[at[i] % ROWS] - w->t[at[j] % ROWS]);
            K[i * n + j] = between[at[i] / ROWS][at[j] / ROWS] *
                           (ll_fill_kernel_at(k, apart) + (apart == 0 ? k->nu : 0));
        }
    }
    assert_true(ll_fill_factor(K, n));
    ll_fill_solve(K, n, x);
    double var = ll_fill_kernel_at(k, 0) + k->nu;
    *mean = 0;
    for (int i = 0; i < n; i++) *mean += x[i] * y[i], var -= x[i] * to[i];
    *sd = sqrt(var);
}

static void matched_residuals_are_the_dense_answer(void **state)
{
    (void)state;
    world w;
    world_init(&w);
    CHECK_OK(ll_fill_pass(w.f, &w.table, 0, NULL, quiet, w.full));
    CHECK_OK(ll_fill_pass(w.f, &w.table, 1, NULL, quiet, w.full));
    for (int64_t row = 5; row < 9; row++) {
        ll_fill_answer a;
        double         mean, sd;
        ll_fill_ask(w.f, &w.table, w.full, 0, &row, 1, &a);
        dense_answer(&w, (int)row, &mean, &sd);
        assert_float_equal(a.mean, mean, 1e-9);
        assert_float_equal(a.sd, sd, 1e-9);
        assert_float_equal(w.full[row], mean, 1e-9);
    }
    ll_fill_table_deinit(&w.table);
    ll_filling_destroy(w.f);
}

/* The cell's own reading says nothing about it, and what is not read is left out. */
static void own_reading_is_not_looked_at(void **state)
{
    (void)state;
    world          w;
    ll_fill_answer a, b;
    const int64_t  row = 2;
    world_init(&w);
    CHECK_OK(ll_fill_pass(w.f, &w.table, 0, NULL, quiet, w.full));
    ll_fill_ask(w.f, &w.table, w.full, 0, &row, 1, &a);
    w.u[row] += 5;
    w.full[row] += 5;
    ll_fill_ask(w.f, &w.table, w.full, 0, &row, 1, &b);
    assert_memory_equal(&a.mean, &b.mean, sizeof a.mean);
    w.u[ROWS + row] = w.u[2 * ROWS + row] = NAN; /* nothing else is read: the own smoother */
    CHECK_OK(ll_fill_table_index(w.f, &w.table));
    ll_fill_lags l;
    ll_fill_look look;
    ll_fill_lags_init(&l, &w.f->kernel[0], 1);
    ll_fill_smoother s;
    ll_fill_smoother_init(&s, w.f, &l, &w.table, 0);
    ll_fill_smooth(&s, row, &look);
    ll_fill_ask(w.f, &w.table, w.full, 0, &row, 1, &b);
    assert_float_equal(b.mean, look.mean, 1e-12);
    assert_float_equal(b.sd, look.b, 1e-12);
    ll_fill_table_deinit(&w.table);
    ll_filling_destroy(w.f);
}

static void scales_go_there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i <= 20; i++) {
        const ll_fill_scale s = { 3, 2, i / 10.0, .2, 1.3 };
        for (double y = -2; y < 8; y += 0.7)
            assert_float_equal(ll_fill_scale_y(&s, ll_fill_scale_u(&s, y)), y, 1e-9);
        assert_true(isnan(ll_fill_scale_u(&s, NAN)));
    }
}

/* ---- a fit ---- */

enum { STATIONS = 3, HOURS = 900, ALL = STATIONS * HOURS };

typedef struct sensors {
    int64_t start[STATIONS + 1], entity[ALL], known[STATIONS];
    double  t[ALL], y[2 * ALL];
    uint8_t train[ALL];
} sensors;

/* Two variables that a station's weather moves, and the weather of stations is alike. */
static void sensors_init(sensors *s)
{
    double common = 0, own[STATIONS] = { 0 };
    for (int i = 0; i < HOURS; i++) {
        common = 0.8 * common + draw(5, (uint64_t)i);
        for (int e = 0; e < STATIONS; e++) {
            const int r = e * HOURS + i;
            own[e] = 0.8 * own[e] + draw(6, (uint64_t)r);
            s->t[r] = i;
            s->entity[r] = e;
            s->known[e] = e;
            s->start[e + 1] = (e + 1) * HOURS;
            s->train[r] = i < 750;
            s->y[r] = 20 + 3 * (common + own[e]) + 0.2 * draw(7, (uint64_t)r);
            s->y[ALL + r] = 5 - (common + own[e]) + 0.2 * draw(8, (uint64_t)r);
        }
    }
}

/* others: the second variable and the neighbours are looked at. */
static llap_status fit(const sensors *s, bool others, ll_filling **f, double *score)
{
    const ll_fill_data d = { .table = { .n_entities = STATIONS,
                                        .n_rows = ALL,
                                        .n_vars = others ? 2 : 1,
                                        .start = s->start,
                                        .t = s->t,
                                        .entity = s->entity,
                                        .known = s->known,
                                        .u = (double *)s->y },
                             .train = s->train,
                             .seed = 3 };
    llap_status st = ll_filling_create(others ? 2 : 1, others ? STATIONS : 0, others ? 2 : 0, f);
    if (st != LLAP_OK) return st;
    (*f)->step = 1;
    (*f)->day = true;
    if (others) (*f)->target[1] = -1;
    return ll_filling_fit(*f, &d, false, others, score);
}

static void sources_sharpen_and_threads_do_not_matter(void **state)
{
    (void)state;
    static sensors s;
    ll_filling    *f[2];
    double         score[2];
    const int      n = omp_get_max_threads();
    sensors_init(&s);
    CHECK_OK(fit(&s, true, &f[0], &score[0]));
    omp_set_num_threads(n == 1 ? 3 : 1);
    CHECK_OK(fit(&s, true, &f[1], &score[1]));
    omp_set_num_threads(n);
    assert_memory_equal(&score[0], &score[1], sizeof *score);
    const size_t size =
        (size_t)(f[0]->n_vars * f[0]->n_groups * 2 * ll_fill_slots(f[0]) * ll_fill_slots(f[0]));
    assert_memory_equal(f[0]->cov[0], f[1]->cov[0], size * sizeof(double));
    assert_memory_equal(f[0]->kernel, f[1]->kernel, 2 * sizeof *f[0]->kernel);
    double      alone;
    ll_filling *own;
    CHECK_OK(fit(&s, false, &own, &alone));
    ll_filling_destroy(own);
    if (!(score[0] > 0.02 && score[0] < 0.5 * alone)) fail_msg("%g, alone %g", score[0], alone);
    const double *c = ll_fill_cov(f[0], 1, 0, 0, 0);
    assert_true(c[1] / sqrt(c[0] * c[4 + 1]) < -0.9); /* they mirror each other */
    for (int i = 0; i < STATIONS * 2; i++) assert_true(f[0]->near[i] != i / 2);
    ll_filling_destroy(f[0]);
    ll_filling_destroy(f[1]);
}

static void patterns_hide_what_they_say(void **state)
{
    (void)state;
    static sensors s;
    static uint8_t hidden[4][2 * ALL];
    sensors_init(&s);
    const ll_fill_table t = { .n_entities = STATIONS,
                              .n_rows = ALL,
                              .n_vars = 2,
                              .start = s.start,
                              .t = s.t,
                              .entity = s.entity,
                              .known = s.known,
                              .u = s.y };
    s.y[17] = NAN;
    int           n[4] = { 0 }, longest[4] = { 0 };
    const uint8_t mortal[2] = { 0, 1 };
    for (int p = 0; p < 4; p++) {
        const ll_fill_hiding how = {
            .pattern = (ll_fill_pattern)p, .unit = 1, .seed = 1, .mortal = mortal
        };
        ll_fill_hide(&t, &how, hidden[p]);
        assert_false(hidden[p][17]);
        for (int i = 0, run = 0; i < 2 * ALL; i++) {
            n[p] += hidden[p][i];
            run = hidden[p][i] && i % HOURS > 0 ? run + 1 : 0;
            if (run > longest[p]) longest[p] = run;
        }
    }
    assert_true(n[0] > 0.27 * 2 * ALL && n[0] < 0.33 * 2 * ALL);
    assert_true(n[1] > 0.12 * 2 * ALL && n[1] < 0.45 * 2 * ALL);
    assert_true(longest[0] < 30 && longest[1] >= 6);
    assert_true(n[LL_FILL_ROWS] > 0.05 * 2 * ALL && n[LL_FILL_ROWS] < 0.4 * 2 * ALL);
    assert_true(n[LL_FILL_DEAD] > 100 && longest[LL_FILL_DEAD] >= 100);
    for (int i = 0; i < ALL; i++) {
        if (i != 17) assert_int_equal(hidden[LL_FILL_ROWS][i], hidden[LL_FILL_ROWS][ALL + i]);
        assert_false(hidden[LL_FILL_DEAD][i]); /* the first does not die */
    }
}

/* At most one outage of each, of a share of the stays. */
static void stays_lose_a_few_hours(void **state)
{
    (void)state;
    enum { STAYS = 400, LONG = 48, CELLS = STAYS * LONG };
    static int64_t start[STAYS + 1];
    static double  t[CELLS], u[2 * CELLS];
    static uint8_t hidden[2 * CELLS];
    int            some = 0, whole = 0;
    for (int i = 0; i < CELLS; i++) t[i] = i % LONG;
    for (int e = 0; e <= STAYS; e++) start[e] = e * LONG;
    const ll_fill_table table = {
        .n_entities = STAYS, .n_rows = CELLS, .n_vars = 2, .start = start, .t = t, .u = u
    };
    const ll_fill_hiding rows = { LL_FILL_ROWS, .unit = 1, .stays = true, .seed = 3 };
    ll_fill_hide(&table, &rows, hidden);
    for (int e = 0; e < STAYS; e++) {
        int n = 0, runs = 0;
        for (int i = e * LONG; i < (e + 1) * LONG; i++) {
            n += hidden[i];
            runs += hidden[i] && (i == e * LONG || !hidden[i - 1]);
        }
        assert_true(n <= 12 && runs <= 1);
        some += n > 0;
    }
    assert_true(some > 0.7 * STAYS && some < 0.87 * STAYS); /* 80 % of them, some at the end */
    const ll_fill_hiding dead = { LL_FILL_DEAD, .unit = 1, .stays = true, .seed = 3 };
    ll_fill_hide(&table, &dead, hidden);
    for (int e = 0; e < STAYS; e++) {
        int n[2] = { 0 };
        for (int i = e * LONG; i < (e + 1) * LONG; i++)
            n[0] += hidden[i], n[1] += hidden[CELLS + i];
        assert_true(n[0] + n[1] == LONG && n[0] * n[1] == 0);
        whole += n[0] > 0;
    }
    assert_true(whole > 0.4 * STAYS && whole < 0.6 * STAYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother_is_the_exact_process),
        cmocka_unit_test(slopes_are_differences),
        cmocka_unit_test(matched_residuals_are_the_dense_answer),
        cmocka_unit_test(own_reading_is_not_looked_at),
        cmocka_unit_test(scales_go_there_and_back),
        cmocka_unit_test(sources_sharpen_and_threads_do_not_matter),
        cmocka_unit_test(patterns_hide_what_they_say),
        cmocka_unit_test(stays_lose_a_few_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
