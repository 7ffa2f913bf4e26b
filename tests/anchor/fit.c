#include "anchor/fit.h"
#include "dense.h"

#include <omp.h>

/* Windows drawn from the process of a known kernel: 60 hours seen, 12 asked for. */
enum { SEEN = 60, ASKED = 12, WINDOWS = 400 };
typedef struct world {
    double t[SEEN], tq[ASKED], y[WINDOWS][SEEN], target[WINDOWS][ASKED];
} world;

static const ll_anchor_kernel TRUTH = {
    .n_terms = 2, .a = { .8, .5 }, .rho = { .04, .01 }, .omega = { 0, 0.5 }, .nu = .05, .jitter = 0
};

static void world_init(world *wd)
{
    dice d = { 21 };
    for (int i = 0; i < SEEN; i++) wd->t[i] = i;
    for (int i = 0; i < ASKED; i++) wd->tq[i] = SEEN + i;
    double all[SEEN + ASKED], path[SEEN + ASKED];
    for (int i = 0; i < SEEN + ASKED; i++) all[i] = i;
    const ll_anchor_window w = { .n_query = SEEN + ASKED, .t_query = all };
    ll_anchor_posterior   *prior = NULL;
    CHECK_OK(ll_anchor_condition(&TRUTH, &w, &prior));
    const size_t nz = ll_anchor_path_normals(prior);
    double      *z = calloc(nz, sizeof *z);
    for (int i = 0; i < WINDOWS; i++) {
        for (size_t j = 0; j < nz; j++) z[j] = roll_normal(&d);
        CHECK_OK(ll_anchor_paths(prior, LL_ANCHOR_NOISY, 1, z, path));
        for (int j = 0; j < SEEN; j++) wd->y[i][j] = roll(&d) < 0.1 ? NAN : path[j];
        for (int j = 0; j < ASKED; j++) wd->target[i][j] = path[SEEN + j];
    }
    free(z);
    ll_anchor_posterior_destroy(prior);
}

static llap_status draw(void *user, int64_t step, size_t n_rows, ll_anchor_window *out)
{
    const world *wd = user;
    for (size_t i = 0; i < n_rows; i++) {
        const size_t row = ((size_t)step * n_rows + i) % WINDOWS;
        out[i] = (ll_anchor_window){ .n_obs = SEEN,
                                     .t = wd->t,
                                     .y = wd->y[row],
                                     .n_query = ASKED,
                                     .t_query = wd->tq,
                                     .target = wd->target[row] };
    }
    return LLAP_OK;
}

static double score(const ll_anchor_kernel *k, world *wd, ll_anchor_loss_kind kind)
{
    static ll_anchor_window all[WINDOWS];
    ll_anchor_loss          l;
    CHECK_OK(draw(wd, 0, WINDOWS, all));
    CHECK_OK(ll_anchor_loss_gradient(k, all, WINDOWS, kind, 1e-3, &l));
    return l.sum / (double)l.count;
}

/* From a start far off, the fit must score as well as the kernel that made the data. */
static void learns_the_truth(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd);
    for (int kind = 0; kind < 2; kind++) {
        ll_anchor_kernel   k = { .n_terms = 2,
                                 .a = { .2, .2 },
                                 .rho = { .3, .1 },
                                 .omega = { 0, .4 },
                                 .nu = .3,
                                 .jitter = 1e-4 };
        ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
        o.loss = kind == 0 ? LL_ANCHOR_CRPS : LL_ANCHOR_NLL;
        o.learn_omega = true;
        o.n_rows = 20;
        const double before = score(&k, &wd, o.loss);
        CHECK_OK(ll_anchor_fit(&k, &o, draw, &wd));
        const double after = score(&k, &wd, o.loss), best = score(&TRUTH, &wd, o.loss);
        if (!(after < best + 0.003 * fabs(best)) || !(before > best + 0.02))
            fail_msg("score %g before, %g after, %g at the truth", before, after, best);
        assert_true(fabs(k.omega[1] - 0.5) < 0.01);
        assert_true(k.omega[0] == 0.0);
        if (kind == 1) assert_true(fabs(k.nu - .05) < 0.01 && fabs(k.rho[1] - .01) < 0.005);
    }
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd);
    const int        usual = omp_get_max_threads();
    ll_anchor_kernel k[2];
    for (int j = 0; j < 2; j++) {
        ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
        o.n_steps = 5;
        omp_set_num_threads(j == 0 ? 1 : 3);
        k[j] = ll_anchor_kernel_hourly();
        CHECK_OK(ll_anchor_fit(&k[j], &o, draw, &wd));
    }
    omp_set_num_threads(usual);
    check_same_kernel(&k[0], &k[1]);
}

static llap_status broken(void *user, int64_t step, size_t n_rows, ll_anchor_window *out)
{
    (void)user, (void)n_rows, (void)out;
    return ll_fail(LLAP_EIO, "no window for step %lld", (long long)step);
}

static llap_status stop_at_three(void *user, const char *fit, int64_t done, int64_t made,
                                 double loss)
{
    assert_int_equal(made, done - 100);
    assert_string_equal(fit, "kernel");
    assert_true(isfinite(loss));
    *(int64_t *)user = done;
    return done < 103 ? LLAP_OK : ll_fail(LLAP_ECANCELLED, "stopped after %lld", (long long)done);
}

/* A watch that stops a fit again and again; the next goes on from what it has kept. */
typedef struct keeper {
    double  kept[300];
    size_t  n;
    int64_t left; /* steps until it stops */
} keeper;

static bool find_kept(void *user, const char *name, double *v, size_t n)
{
    const keeper *x = user;
    assert_string_equal(name, "kernel");
    if (x->n != n) return false;
    memcpy(v, x->kept, n * sizeof *v);
    return true;
}

static llap_status keep(void *user, const char *name, const double *v, size_t n)
{
    keeper *x = user;
    assert_string_equal(name, "kernel");
    assert_true(n <= sizeof x->kept / sizeof *x->kept);
    memcpy(x->kept, v, n * sizeof *v);
    x->n = n;
    return LLAP_OK;
}

static llap_status stop_in_a_while(void *user, const char *fit, int64_t done, int64_t made,
                                   double loss)
{
    keeper *x = user;
    (void)fit, (void)done, (void)made, (void)loss;
    return --x->left > 0 ? LLAP_OK : ll_fail(LLAP_ECANCELLED, "later");
}

static void a_fit_goes_on_where_it_was_stopped(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd);
    ll_anchor_kernel   whole = ll_anchor_kernel_hourly(), k;
    ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
    keeper             x = { .n = 0 };
    o.n_steps = 20;
    o.n_rows = 4;
    o.learn_omega = true;
    CHECK_OK(ll_anchor_fit(&whole, &o, draw, &wd));
    o.watch =
        (ll_anchor_watch){ .user = &x, .step = stop_in_a_while, .find = find_kept, .keep = keep };
    llap_status st = LLAP_ECANCELLED;
    int         runs = 0;
    for (; st == LLAP_ECANCELLED && runs < 20; runs++) {
        x.left = 3 + runs % 2; /* the early steps, and the late ones whose mean is the answer */
        k = ll_anchor_kernel_hourly();
        st = ll_anchor_fit(&k, &o, draw, &wd);
    }
    CHECK_OK(st);
    assert_in_range(runs, 5, 8);
    check_same_kernel(&k, &whole);
    k = ll_anchor_kernel_hourly();
    CHECK_OK(ll_anchor_fit(&k, &o, broken, &wd)); /* nothing is left to do: nothing is asked */
    check_same_kernel(&k, &whole);
    x.kept[0] = 21; /* no place of this fit */
    CHECK_FAIL(ll_anchor_fit(&k, &o, draw, &wd), LLAP_EFORMAT,
               "note 'kernel': steps: expected 0..20, found 21");
}

static llap_status empty(void *user, int64_t step, size_t n_rows, ll_anchor_window *out)
{
    (void)user, (void)step;
    for (size_t i = 0; i < n_rows; i++) out[i] = (ll_anchor_window){ 0 };
    return LLAP_OK;
}

static llap_status fit_once(void *user)
{
    ll_anchor_kernel   k = ll_anchor_kernel_hourly();
    ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
    o.n_steps = 2;
    o.n_rows = 2;
    return ll_anchor_fit(&k, &o, draw, user);
}

static void edges(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd);
    int64_t            last = -1;
    ll_anchor_kernel   k = ll_anchor_kernel_hourly(), start = k;
    ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
    o.n_rows = 2;
    o.before = 100;
    o.watch = (ll_anchor_watch){ .user = &last, .step = stop_at_three };
    CHECK_FAIL(ll_anchor_fit(&k, &o, draw, &wd), LLAP_ECANCELLED, "stopped after 103");
    assert_int_equal(last, 103);
    o.watch = (ll_anchor_watch){ 0 };
    CHECK_FAIL(ll_anchor_fit(&k, &o, broken, NULL), LLAP_EIO, "no window for step 0");
    k = start;
    CHECK_OK(ll_anchor_fit(&k, &o, empty, NULL));
    check_same_kernel(&k, &start);
    o.n_steps = 0;
    CHECK_FAIL(ll_anchor_fit(&k, &o, draw, &wd), LLAP_EINVAL, "at least one step");
    o = LL_ANCHOR_FIT_DEFAULT, o.lr = NAN;
    CHECK_FAIL(ll_anchor_fit(&k, &o, draw, &wd), LLAP_EINVAL, "step sizes and clip > 0");
    o = LL_ANCHOR_FIT_DEFAULT, o.var_floor = 0;
    CHECK_FAIL(ll_anchor_fit(&k, &o, draw, &wd), LLAP_EINVAL, "var_floor > 0");
    check_every_failed_allocation(fit_once, &wd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_the_truth),
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(a_fit_goes_on_where_it_was_stopped),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
