/* Fits on long contexts look at some of their readings; what they find is as good. */
#include "anchor/window.h"
#include "check.h"
#include "dense.h"

enum { ROWS = 5000, LONG = 600, AHEAD = 60, POINTS = 96, PART = 3600, CHOICE = 4200 };

typedef struct minutes {
    double    t[ROWS], y[ROWS];
    ll_series s;
    size_t    train_rows;
    ll_origin train[ROWS], valid[ROWS];
    size_t    n_train, n_valid;
} minutes;

/* Slow and fast weather, a cycle of 400 and noise; a tenth missing, a fifth of the times moved. */
static minutes *make_minutes(void)
{
    static minutes m;
    dice           d = { 77 };
    double         slow = 0, fast = 0;
    m = (minutes){ .train_rows = PART };
    for (int i = 0; i < ROWS; i++) {
        slow += -0.003 * slow + 0.06 * roll_normal(&d);
        fast += -0.1 * fast + 0.15 * roll_normal(&d);
        m.t[i] = i + (roll(&d) < 0.2 ? 0.5 : 0.0);
        m.y[i] = roll(&d) < 0.1
                     ? NAN
                     : 10 + slow + fast + sin(6.283185307179586 * i / 400) + 0.1 * roll_normal(&d);
    }
    m.s = (ll_series){ .n = ROWS, .t = m.t, .y = m.y };
    for (int i = LONG; i + AHEAD < PART; i += 7) m.train[m.n_train++] = (ll_origin){ 0, m.t[i] };
    for (int i = PART; i + AHEAD < CHOICE; i += 9) m.valid[m.n_valid++] = (ll_origin){ 0, m.t[i] };
    return &m;
}

static ll_anchor_data data_of_minutes(const minutes *m)
{
    return (ll_anchor_data){ .series = &m->s,
                             .n_series = 1,
                             .train_rows = &m->train_rows,
                             .train = m->train,
                             .n_train = m->n_train,
                             .valid = m->valid,
                             .n_valid = m->n_valid };
}

static ll_anchor_model_opts opts_of(size_t points)
{
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    o.spec = (ll_anchor_spec){ .context = LONG, .horizon = AHEAD };
    o.fit.n_steps = 40;
    o.fit.n_rows = 12;
    o.kappa = 4;
    o.points = points;
    o.near = AHEAD / 7.0;
    o.middle = AHEAD * 3 / 7.0;
    CHECK_OK(ll_anchor_kernel_spaced(2, LONG, 4, &o.start));
    return o;
}

/* Mean CRPS of a part, on whole contexts. */
static double score_part(const ll_anchor_model *m, const minutes *d, int first, int end, int step)
{
    double sum = 0, n = 0;
    for (int i = first; i + AHEAD < end; i += step) {
        ll_law            law[AHEAD];
        ll_anchor_request r = { .history = d->s,
                                .origin = d->t[i],
                                .n_query = AHEAD,
                                .t_query = d->t + i + 1,
                                .law = law };
        CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
        for (int q = 0; q < AHEAD; q++) {
            const double z = ll_chain_z(m->chain, 0, d->y[i + 1 + q]);
            const bool   within = d->t[i + 1 + q] <= d->t[i] + AHEAD;
            if (within && !isnan(z)) sum += ll_anchor_crps_z(m, &law[q], z, NULL), n += 1;
        }
    }
    return sum / n;
}

/* Of the test part. */
static double score(const ll_anchor_model *m, const minutes *d)
{
    return score_part(m, d, CHOICE, ROWS, 6);
}

typedef struct witness {
    const minutes *d;
    int            seen;
} witness;

static llap_status on_score(void *user, const char *fit, const ll_anchor_model *m)
{
    witness *w = user;
    (void)fit;
    w->seen++;
    assert_true(fabs(m->valid_crps - score_part(m, w->d, PART, CHOICE, 9)) < 1e-9);
    return LLAP_OK;
}

/* Kernels are fitted on some of the readings; which of them is better is seen on all. */
static void whole_windows_choose(void **state)
{
    (void)state;
    const minutes       *d = make_minutes();
    const ll_anchor_data data = data_of_minutes(d);
    ll_anchor_model_opts o = opts_of(POINTS);
    witness              w = { .d = d };
    ll_anchor_model     *m;
    o.fit.n_steps = 2;
    o.kappa = 0;
    o.fit.watch = (ll_anchor_watch){ .user = &w, .scored = on_score };
    CHECK_OK(ll_anchor_model_fit(&data, &o, &m));
    assert_true(w.seen >= 2);
    ll_anchor_model_destroy(m);
}

/* Readings alone are kept, at their times, the newest all and older ones as far apart as they are
 * old; the level and the scale are those of all. */
static void windows_keep_what_is_new(void **state)
{
    (void)state;
    const minutes             *d = make_minutes();
    const ll_anchor_data       data = data_of_minutes(d);
    const ll_anchor_model_opts o = opts_of(0);
    ll_chain                  *chain;
    anchor_rows               *rows;
    anchor_batch               whole, some;
    ll_origin                  origin[8];
    bool                       asked[AHEAD + 1] = { false };
    CHECK_OK(ll_chain_fit(data.series, 1, &o.chain, &chain));
    CHECK_OK(anchor_rows_create(chain, data.series, 1, &rows));
    anchor_cut how = { .spec = &o.spec, .kappa = 4 };
    for (int i = 0; i < 8; i++) origin[i] = (ll_origin){ 0, d->t[1000 + i] };
    CHECK_OK(anchor_batch_init(&whole, how, rows, 1, origin, 8));
    how.points = 40;
    CHECK_OK(anchor_batch_init(&some, how, rows, 1, origin, 8));
    for (int i = 0; i < 8; i++) {
        const ll_anchor_window *a = &whole.window[i], *b = &some.window[i];
        size_t                  j = a->n_obs, k = b->n_obs, seen = 0;
        double                  gap = 0;
        assert_true(b->n_obs <= 40 && b->n_obs > 30 && a->n_obs > 500);
        assert_true(whole.m[i] == some.m[i] && whole.s[i] == some.s[i]);
        for (; k > 0; k--) { /* each is a reading of the whole, further and further apart */
            size_t skipped = 0;
            for (j--; a->t[j] != b->t[k - 1]; j--) skipped += !isnan(a->y[j]), assert_true(j > 0);
            assert_true(a->y[j] == b->y[k - 1]);
            if (seen++ < 5) assert_int_equal(skipped, 0);
            assert_true((double)skipped + 1 >= gap);
            gap = (double)skipped;
        }
        assert_true(gap > 40);
        assert_true(b->n_query <= 20 && b->n_query >= 18);
        for (size_t q = 0; q < b->n_query; q++) {
            const size_t at = some.query[i] + q * some.every[i] - whole.query[i];
            assert_true(a->t_query[at] == b->t_query[q]);
            assert_true(a->target[at] == b->target[q] || isnan(b->target[q]));
            asked[at] = true;
        }
    }
    for (int q = 0; q + 1 < AHEAD; q++) assert_true(asked[q]); /* by some window */
    anchor_batch_deinit(&whole);
    anchor_batch_deinit(&some);
    anchor_rows_destroy(rows, 1);
    ll_chain_destroy(chain);
}

/* What is at most twice as long stays as it is, whatever it has of missing rows. */
static void short_contexts_stay_whole(void **state)
{
    (void)state;
    const minutes       *d = make_minutes();
    const ll_anchor_data data = data_of_minutes(d);
    ll_anchor_model_opts o = opts_of(0);
    ll_anchor_model     *exact, *same;
    o.fit.n_steps = 3;
    CHECK_OK(ll_anchor_model_fit(&data, &o, &exact));
    o.points = LONG / 2;
    CHECK_OK(ll_anchor_model_fit(&data, &o, &same));
    assert_memory_equal(&exact->kernel, &same->kernel, sizeof exact->kernel);
    assert_memory_equal(&exact->fill_kernel, &same->fill_kernel, sizeof exact->kernel);
    assert_memory_equal(&exact->calibration, &same->calibration, sizeof exact->calibration);
    assert_true(exact->valid_crps == same->valid_crps);
    ll_anchor_model_destroy(exact);
    ll_anchor_model_destroy(same);
}

/* A sixth of the readings: forecasts of what comes later are as good. */
static void thinned_fits_are_as_good(void **state)
{
    (void)state;
    const minutes       *d = make_minutes();
    const ll_anchor_data data = data_of_minutes(d);
    ll_anchor_model_opts o = opts_of(0);
    ll_anchor_model     *exact, *thinned;
    CHECK_OK(ll_anchor_model_fit(&data, &o, &exact));
    o.points = POINTS;
    CHECK_OK(ll_anchor_model_fit(&data, &o, &thinned));
    const double a = score(exact, d), b = score(thinned, d);
    print_message("CRPS %.5f, thinned %.5f; validation %.5f and %.5f\n", a, b, exact->valid_crps,
                  thinned->valid_crps);
    if (!(b <= a * 1.003)) fail_msg("CRPS %g, thinned %g", a, b);
    /* scored on whole windows: of the same size as that of the exact one */
    if (!(fabs(thinned->valid_crps - exact->valid_crps) <= 0.01 * exact->valid_crps))
        fail_msg("validation CRPS %g, thinned %g", exact->valid_crps, thinned->valid_crps);
    ll_anchor_model_destroy(exact);
    ll_anchor_model_destroy(thinned);
}

static llap_status fit_some(void *user)
{
    minutes             *d = user;
    ll_anchor_data       data = data_of_minutes(d);
    ll_anchor_model_opts o = opts_of(20);
    ll_anchor_model     *m = NULL;
    ll_series            few = d->s;
    ll_origin            origin[6];
    few.n = 220;
    for (int i = 0; i < 6; i++) origin[i] = (ll_origin){ 0, d->t[110 + 10 * i] };
    data.series = &few;
    data.train = origin;
    data.valid = origin + 4;
    data.n_train = 4;
    data.n_valid = 2;
    o.fit.n_steps = 1;
    o.fit.n_rows = 2;
    o.chain.curve = LL_CURVE_CLIPPED; /* one kernel */
    o.spec = (ll_anchor_spec){ .context = 100, .horizon = 30 };
    const llap_status st = ll_anchor_model_fit(&data, &o, &m);
    ll_anchor_model_destroy(m);
    return st;
}

static void without_memory(void **state)
{
    (void)state;
    check_every_failed_allocation(fit_some, make_minutes());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_windows_choose),
        cmocka_unit_test(windows_keep_what_is_new),
        cmocka_unit_test(short_contexts_stay_whole),
        cmocka_unit_test(thinned_fits_are_as_good),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
