/* A fit that is stopped and goes on, by a watch that keeps what was found. */
#include "world.h"

typedef struct keeper {
    struct {
        char   name[32];
        double v[300];
        size_t n;
    } note[16];
    size_t  n;
    int64_t left, done, most; /* steps until it stops, made, to make */
    int     scored;
} keeper;

static bool find_note(void *user, const char *name, double *v, size_t n)
{
    const keeper *x = user;
    for (size_t i = 0; i < x->n; i++) {
        if (strcmp(x->note[i].name, name) != 0) continue;
        assert_int_equal(x->note[i].n, n);
        memcpy(v, x->note[i].v, n * sizeof *v);
        return true;
    }
    return false;
}

static llap_status keep_note(void *user, const char *name, const double *v, size_t n)
{
    keeper *x = user;
    size_t  i = 0;
    while (i < x->n && strcmp(x->note[i].name, name) != 0) i++;
    assert_true(i < 16 && n <= 300 && strlen(name) < 32);
    if (i == x->n) x->n++;
    memcpy(x->note[i].name, name, strlen(name) + 1);
    memcpy(x->note[i].v, v, n * sizeof *v);
    x->note[i].n = n;
    return LLAP_OK;
}

static llap_status count_step(void *user, const char *fit, int64_t done, int64_t made, double loss)
{
    keeper *x = user;
    assert_int_equal(made > 0, strncmp(fit, "kernel", 6) == 0 || strcmp(fit, "filling") == 0);
    assert_int_equal(made > 0, !isnan(loss));
    assert_true(done > x->done && done <= x->most);
    x->done = done;
    return --x->left > 0 ? LLAP_OK : ll_fail(LLAP_ECANCELLED, "later");
}

static llap_status count_score(void *user, const char *fit, const ll_anchor_model *m)
{
    keeper *x = user;
    char    expected[32];
    snprintf(expected, sizeof expected, "kernel.%d", x->scored++);
    assert_string_equal(fit, expected);
    assert_true(m->valid_crps > 0);
    return LLAP_OK;
}

static void check_same_model(const ll_anchor_model *a, const ll_anchor_model *b)
{
    const size_t n = a->chain->n_series;
    check_same_kernel(&a->kernel, &b->kernel);
    check_same_kernel(&a->fill_kernel, &b->fill_kernel);
    assert_memory_equal(&a->calibration, &b->calibration, sizeof a->calibration);
    assert_memory_equal(&a->fill_past, &b->fill_past, sizeof a->fill_past);
    assert_memory_equal(&a->fill_both, &b->fill_both, sizeof a->fill_both);
    assert_true(a->valid_crps == b->valid_crps && a->kappa == b->kappa);
    assert_int_equal(a->link.rank, b->link.rank);
    assert_memory_equal(a->link.share, b->link.share, sizeof a->link.share);
    assert_memory_equal(a->loading, b->loading, n * a->link.rank * sizeof *a->loading);
    for (int from = 0; from < 2; from++) {
        assert_memory_equal(a->neighbours[from].cov, b->neighbours[from].cov,
                            n * n * sizeof(double));
        assert_memory_equal(&a->neighbours[from].calibration, &b->neighbours[from].calibration,
                            sizeof a->neighbours[from].calibration);
    }
}

/* One number of a note at a time; all else is as a fit has left it. */
static void check_damages(keeper *x, const ll_anchor_data *d, const ll_anchor_model_opts *o)
{
    enum { NUMBERS = 3 * LL_ANCHOR_MAX_TERMS + 3, EDGE = 2 + LL_ANCHOR_MAX_TERMS };
    static const struct {
        const char *note;
        size_t      at;
        double      value;
        const char *expected;
    } damages[] = {
        { "kernel.0", 0, -1, "note 'kernel.0': steps: expected 0..9, found -1" },
        { "kernel.0", 1, 10, "note 'kernel.0': moves: expected 0..9, found 10" },
        { "kernel.0", 2, NAN, "note 'kernel.0': late steps: expected 0..9, found nan" },
        { "kernel.4", 3, 47, "note 'kernel.4': numbers: expected -46..46, found 47" },
        { "kernel.4", 3 + NUMBERS, INFINITY, "note 'kernel.4': moments: expected " },
        { "kernel.4", 3 + 2 * NUMBERS, -1, "note 'kernel.4': squares: expected 0.." },
        { "filling", 3 + 3 * NUMBERS, 1e9, "note 'filling': sums: expected -" },
        { "kernel.1.score", 0, -1, "note 'kernel.1.score': CRPS: expected 0.." },
        { "link", 0, LL_ANCHOR_RANK_MAX + 1, "note 'link': rank: expected 0..2, found 3" },
        { "link", 1, NAN, "note 'link': CRPS: expected 0.." },
        { "link", 2, 1.5, "note 'link': joint anchor: share[0]: expected 0 to 1, found 1.5" },
        { "link", EDGE + 1, 1, "note 'link': calibration.edge: expected 72..72, found 1" },
        { "link", EDGE + 2, 0, "note 'link': calibration.factor: expected 1e-06..1e+06, found 0" },
        { "link", EDGE + 17, 2, "note 'link': joint anchor: entity 0: squared loadings sum to " },
        { "near.0", 0, 2, "note 'near.0': whether it pays: expected 0..1, found 2" },
        { "near.0", 2, 3, "note 'near.0': calibration.edge: expected 0..0, found 3" },
        { "near.1", 17, NAN, "note 'near.1': calibration.factor: expected 1e-06..1e+06, found" },
        { "near.1", 18, INFINITY, "note 'near.1': covariance: expected " },
        { "near.1", 19, 7, "note 'near.1': covariance: expected " },
        { "near.1", 18, -1, "note 'near.1': is no covariance of 3 entities" },
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        ll_anchor_model *m = NULL;
        size_t           k = 0;
        while (k < x->n && strcmp(x->note[k].name, damages[i].note) != 0) k++;
        assert_in_range(damages[i].at, 0, x->note[k].n - 1);
        const double was = x->note[k].v[damages[i].at];
        x->note[k].v[damages[i].at] = damages[i].value;
        CHECK_FAIL(ll_anchor_model_fit(d, o, &m), LLAP_EFORMAT, damages[i].expected);
        assert_null(m);
        x->note[k].v[damages[i].at] = was;
    }
}

/* All parts of a fit: five kernels and their scores, the link, filling, the other series. */
static void a_fit_goes_on_where_it_was_stopped(void **state)
{
    (void)state;
    static keeper        x;
    world               *wd = world_make();
    const ll_anchor_data d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *whole = NULL, *m = NULL;
    dice                 di = { 9 };
    for (size_t e = 1; e < SERIES; e++)
        for (int i = 0; i < N; i++)
            wd->y[e][i] = roll(&di) < 0.5 ? NAN : wd->y[0][i] + 0.5 * roll_normal(&di);
    o.fit.n_steps = 9;
    o.neighbours_series = true;
    CHECK_OK(ll_anchor_kernel_spaced(8, CONTEXT, 3, &o.cycles));
    CHECK_OK(ll_anchor_model_fit(&d, &o, &whole));
    assert_true(whole->link.rank > 0);
    assert_non_null(whole->neighbours[LL_ANCHOR_PAST].cov);
    assert_non_null(whole->neighbours[LL_ANCHOR_BOTH].cov);
    o.fit.watch = (ll_anchor_watch){
        .user = &x, .step = count_step, .scored = count_score, .find = find_note, .keep = keep_note
    };
    x.most = ll_anchor_model_steps(&o, SERIES, true);
    llap_status st = LLAP_ECANCELLED;
    int         runs = 0;
    for (; st == LLAP_ECANCELLED && runs < 300; runs++) {
        x.left = 7 + runs % 3 + (runs > 12 ? 98 : 0); /* of the last, a look at all is one piece */
        x.done = 0;
        st = ll_anchor_model_fit(&d, &o, &m);
    }
    CHECK_OK(st);
    assert_in_range(runs, 8, 100);
    assert_int_equal(x.done, x.most);
    assert_int_equal(x.scored, 5); /* each once */
    check_same_model(whole, m);
    ll_anchor_model_destroy(m);
    x.done = x.most; /* no step more */
    check_damages(&x, &d, &o);
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    check_same_model(whole, m);
    ll_anchor_model_destroy(m);
    ll_anchor_model_destroy(whole);
}

/* Every candidate with a drift comes to nothing: the kernel without one is kept, and all that
 * follows is fitted. */
static llap_status lose_drifts(void *user, const char *fit, int64_t done, int64_t made, double loss)
{
    (void)done, (void)made, (void)loss;
    if (strncmp(fit, "kernel.", 7) != 0 || atoi(fit + 7) < 8) return LLAP_OK;
    ++*(int *)user;
    return ll_fail(LLAP_ENUMERIC, "%s: not finite", fit);
}

static void a_candidate_that_fails_is_none(void **state)
{
    (void)state;
    const world         *wd = world_make();
    const ll_anchor_data d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *m = NULL;
    int                  lost = 0;
    o.fit.n_steps = 3;
    o.chain.curve = LL_CURVE_TAILS;
    o.fit.watch = (ll_anchor_watch){ .user = &lost, .step = lose_drifts };
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    assert_true(lost >= 2);
    assert_true(m->kernel.drift == LL_ANCHOR_STILL && !m->kernel.innovation);
    assert_true(m->valid_crps > 0 && m->fill_kernel.n_terms > 0);
    ll_anchor_model_destroy(m);
}

/* One kernel and that of filling: what is counted is made. */
static void without_validation_all_steps_are_made(void **state)
{
    (void)state;
    world               *wd = world_make();
    ll_anchor_data       d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    d.n_valid = 0;
    o.fit.n_steps = 3;
    o.link = o.neighbours_series = true;
    CHECK_OK(ll_anchor_kernel_spaced(8, CONTEXT, 3, &o.cycles));
    for (int climate = 0; climate < 2; climate++) {
        static keeper    x;
        ll_anchor_model *m = NULL;
        x = (keeper){ .left = 100, .most = ll_anchor_model_steps(&o, SERIES, false) };
        o.chain.climate = climate;
        o.fit.watch = (ll_anchor_watch){ .user = &x, .step = count_step, .keep = keep_note };
        CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
        assert_int_equal(x.most, 2 * o.fit.n_steps);
        assert_int_equal(x.done, x.most);
        ll_anchor_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_goes_on_where_it_was_stopped),
        cmocka_unit_test(a_candidate_that_fails_is_none),
        cmocka_unit_test(without_validation_all_steps_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
