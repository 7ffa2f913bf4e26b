/* What networks see of windows, against plain sums over the readings. */
#include "check.h"

#include "base/rng/rng.h"
#include "residual/features.h"

enum { N = 3, ROWS = 200, H = 8 };

static double           t[ROWS], y[N][ROWS];
static float            u[N][ROWS], x[N][ROWS];
static const float     *columns[N][2];
static ll_record        record[N];
static ll_series        series[N];
static const ll_series *all_series[1] = { series };
static size_t           known[N] = { 0, 1, 2 };
static ll_anchor_model *anchor;
static double           tq[H];

/* Rows an hour apart, a fifth missing; the covariate is there every other hour. */
static int set_up(void **state)
{
    (void)state;
    ll_chain              *chain = NULL;
    const ll_anchor_spec   spec = { .context = 24, .horizon = H };
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    for (int e = 0; e < N; e++) {
        const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, (uint64_t)e, 0, 0);
        for (uint64_t i = 0; i < ROWS; i++) {
            t[i] = 1000 + (double)i;
            y[e][i] = ll_rng_uniform(&r, 2 * i) < 0.2f
                          ? NAN
                          : 5 + e + sin(0.3 * (double)i) + 0.3 * (double)ll_rng_normal(&r, 3 * i);
            x[e][i] = i % 2 ? NAN : (float)(i % 24) / 12.0f - 1.0f;
        }
        series[e] = (ll_series){ .n = ROWS, .t = t, .y = y[e] };
        columns[e][0] = u[e];
        columns[e][1] = x[e];
        record[e] = (ll_record){ ROWS, t, columns[e] };
    }
    const ll_chain_opts o = { .transform = true, .z_clip = 5 };
    if (ll_chain_fit(series, N, &o, &chain) != LLAP_OK) return 1;
    for (int e = 0; e < N; e++)
        for (int i = 0; i < ROWS; i++)
            u[e][i] =
                (float)ll_chain_u(chain, (size_t)e, t[i], ll_chain_z(chain, (size_t)e, y[e][i]));
    for (int q = 0; q < H; q++) tq[q] = 1100.0 + q + 1;
    return ll_anchor_model_create(&spec, chain, &k, 4, &anchor) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    ll_anchor_model_destroy(anchor);
    return 0;
}

static ll_feature_source source(void)
{
    static const ll_anchor_model *anchors[1];
    anchors[0] = anchor;
    return (ll_feature_source){
        .history = record, .known = known, .n = N, .anchor = anchors, .series = all_series
    };
}

static ll_layout layout(bool joint)
{
    ll_layout l = { .view = joint ? LL_FEATURE_JOINT : LL_FEATURE_SINGLE,
                    .entities = N,
                    .targets = 1,
                    .covariates = 1,
                    .horizon = H,
                    .level = true };
    ll_feature_slots(24, 1, &l);
    l.tokens = 8; /* of three hours */
    l.slots = 3;
    return l;
}

/* w of entity e, hours back from the origin; NaN where missing. */
static double w_at(const ll_feature_set *s, int e, int z, int back)
{
    return ((double)u[e][100 - back] - (double)s->m[z]) / (double)s->s[z];
}

static void answers_of_the_anchor_and_residuals(void **state)
{
    (void)state;
    const ll_layout          l = layout(true);
    const ll_feature_source  from = source();
    const ll_feature_example row = { .origin = 1100, .n_query = H, .t_query = tq, .id = 7 };
    ll_feature_set          *s = NULL;
    ll_law                   law[H];
    CHECK_OK(ll_feature_set_create(&l, &from, &row, 1, &s));
    for (int e = 0; e < N; e++) {
        const ll_anchor_request r = { .history = series[e],
                                      .series = (size_t)e,
                                      .origin = 1100,
                                      .n_query = H,
                                      .t_query = tq,
                                      .law = law };
        CHECK_OK(ll_anchor_model_forecast(anchor, &r, 1));
        double m, scale, window[24];
        for (int i = 0; i < 24; i++) window[i] = (double)u[e][77 + i];
        ll_window_norm(window, 24, 4, &m, &scale);
        assert_float_equal(s->m[e], m, 1e-5);
        assert_float_equal(s->s[e], scale, 1e-5);
        for (int q = 0; q < H; q++) {
            double       mean, sd;
            const float  r_at = s->r[q * N + e];
            const double truth = (double)u[e][101 + q];
            ll_feature_law(s, 0, q, e, &mean, &sd);
            assert_float_equal(mean, law[q].mean, 1e-5);
            assert_float_equal(sd, law[q].sd, 1e-5);
            if (isnan(truth)) assert_true(isnan(r_at));
            else assert_float_equal(mean + sd * (double)r_at, truth, 1e-4);
        }
    }
    ll_feature_set_destroy(s);
}

/* What came true far out is learnt from as 6 deviations, and kept as it was for scores. */
static void far_residuals_are_kept_and_held(void **state)
{
    (void)state;
    const ll_layout          l = layout(true);
    const ll_feature_source  from = source();
    const ll_feature_example row = { .origin = 1100, .n_query = H, .t_query = tq, .id = 7 };
    const uint32_t           first = 0;
    const float              was = u[1][103];
    ll_feature_set          *s = NULL;
    ll_feature_batch        *b = NULL;
    double                   mean, sd;
    u[1][103] = -500;
    CHECK_OK(ll_feature_set_create(&l, &from, &row, 1, &s));
    u[1][103] = was;
    ll_feature_law(s, 0, 2, 1, &mean, &sd);
    assert_float_equal((double)s->r[2 * N + 1], (-500 - mean) / sd, 1e-2);
    CHECK_OK(ll_feature_batch_create(&l, 1, H, &b));
    ll_feature_fill(s, &first, 1, NULL, b);
    assert_true(b->z0[2 * N + 1] == -6.0f && b->mask[2 * N + 1] == 1.0f);
    ll_feature_batch_destroy(b);
    ll_feature_set_destroy(s);
}

/* hours since the last reading at the end of token j */
static double gap_at(int e, int j)
{
    const int end = 100 - 3 * (7 - j);
    for (int i = end; i > 76; i--)
        if (!isnan(u[e][i])) return end - i;
    return end - 76 + 24;
}

static void tokens_of_joint_rows(void **state)
{
    (void)state;
    const ll_layout          l = layout(true);
    const ll_feature_source  from = source();
    const ll_feature_example row = { .origin = 1100, .n_query = H, .t_query = tq, .id = 7 };
    const int64_t            F = ll_feature_token_dim(&l), Q = ll_feature_query_dim(&l);
    ll_feature_set          *s = NULL;
    ll_feature_batch        *b = NULL;
    CHECK_OK(ll_feature_set_create(&l, &from, &row, 1, &s));
    CHECK_OK(ll_feature_batch_create(&l, 2, H + 2, &b));
    ll_feature_fill(s, (const uint32_t[]){ 0 }, 1, NULL, b);
    assert_int_equal(F, N * 5 + 1);
    for (int j = 0; j < 8; j++)
        for (int e = 0; e < N; e++) {
            int seen = 0;
            for (int p = 0; p < 3; p++) {
                const double w = w_at(s, e, e, 3 * (7 - j) + 2 - p);
                assert_float_equal(b->tokens[j * F + e * 3 + p], isnan(w) ? 0 : w, 1e-5);
                seen += isnan(w) ? 0 : 1;
            }
            assert_float_equal(b->tokens[j * F + N * 3 + e], seen / 3.0, 1e-6);
            assert_float_equal(b->tokens[j * F + N * 4 + e], log1p(gap_at(e, j)), 1e-5);
        }
    for (int q = 0; q < H + 2; q++) {
        assert_float_equal(b->pad[q], q < H ? 0 : 1, 0);
        if (q >= H) continue;
        assert_float_equal(b->tq[q], q + 1, 1e-5);
        assert_float_equal(b->f[q * Q], (q + 1) / 8.0, 1e-6);
        assert_float_equal(b->f[q * Q + 2 + 1], s->a[q * N + 1], 0);
        assert_float_equal(b->f[q * Q + 2 + N + 1], s->log_b[q * N + 1], 0);
        assert_float_equal(b->f[q * Q + 2 + 2 * N + 1], s->m[1], 0);
        assert_float_equal(b->mask[q * N + 2], isnan(u[2][101 + q]) ? 0 : 1, 0);
    }
    for (int q = 0; q < H + 2; q++) assert_float_equal(b->pad[H + 2 + q], 1, 0); /* no second row */
    ll_feature_batch_destroy(b);
    ll_feature_set_destroy(s);
}

static void tokens_of_single_rows(void **state)
{
    (void)state;
    const ll_layout          l = layout(false);
    const ll_feature_source  from = source();
    const ll_feature_example row[2] = {
        { .origin = 1100, .entity = 1, .n_query = H, .t_query = tq, .id = 7 },
        { .origin = 1100, .entity = 2, .n_query = H - 3, .t_query = tq, .id = 8 },
    };
    const int64_t     F = ll_feature_token_dim(&l);
    ll_feature_set   *s = NULL;
    ll_feature_batch *b = NULL, *alone = NULL;
    CHECK_OK(ll_feature_set_create(&l, &from, row, 2, &s));
    CHECK_OK(ll_feature_batch_create(&l, 2, H, &b));
    CHECK_OK(ll_feature_batch_create(&l, 1, H, &alone));
    ll_feature_fill(s, (const uint32_t[]){ 1, 0 }, 2, NULL, b);
    ll_feature_fill(s, (const uint32_t[]){ 0 }, 1, NULL, alone);
    assert_int_equal(F, 2 * 3 + 1 + 3 + 2);
    assert_memory_equal(b->tokens + 8 * F, alone->tokens, (size_t)(8 * F) * sizeof(float));
    assert_int_equal(b->entity[0], 2);
    assert_int_equal(b->entity[1], 1);
    for (int j = 0; j < 8; j++) {
        double sum = 0;
        int    n = 0;
        for (int p = 0; p < 3; p++) {
            const int    back = 3 * (7 - j) + 2 - p;
            const double w = w_at(s, 1, 0, back);
            assert_float_equal(alone->tokens[j * F + p], isnan(w) ? 0 : w, 1e-5);
            assert_float_equal(alone->tokens[j * F + 3 + p], isnan(w) ? 0 : 1, 1e-6);
            if (!isnan(x[1][100 - back])) sum += (double)x[1][100 - back], n++;
        }
        double m, scale;
        ll_feature_norm(&record[1], 1, 77, 101, 4, &m, &scale);
        assert_float_equal(alone->tokens[j * F + 6], log1p(gap_at(1, j)), 1e-5);
        assert_float_equal(alone->tokens[j * F + 10], (sum / n - m) / scale, 1e-5);
        assert_float_equal(alone->tokens[j * F + 11], n / 3.0, 1e-6);
    }
    ll_feature_batch_destroy(b);
    ll_feature_batch_destroy(alone);
    ll_feature_set_destroy(s);
}

/* Both columns of one entity as its targets. */
static ll_feature_set *set_by_entity(ll_residual residual)
{
    static const ll_anchor_model *anchors[2];
    static const ll_series *const both[2] = { series, series };
    ll_layout                     l = layout(false);
    const ll_feature_example      row[2] = {
             { .origin = 1100, .entity = 1, .n_query = H, .t_query = tq, .id = 7 },
             { .origin = 1100, .entity = 2, .n_query = H, .t_query = tq, .id = 8 },
    };
    ll_feature_set *s = NULL;
    anchors[0] = anchors[1] = anchor;
    l.view = LL_FEATURE_ENTITY;
    l.residual = residual;
    l.targets = 2;
    l.covariates = 0;
    CHECK_OK(ll_feature_set_create(
        &l,
        &(ll_feature_source){
            .history = record, .known = known, .n = N, .anchor = anchors, .series = both },
        row, 2, &s));
    return s;
}

static void tokens_by_entity(void **state)
{
    (void)state;
    ll_feature_set   *s = set_by_entity(LL_RESIDUAL_ANCHOR);
    const int64_t     F = ll_feature_token_dim(&s->c), Z = 2;
    ll_feature_batch *b = NULL, *again = NULL;
    assert_int_equal(ll_feature_channels(&s->c), Z);
    assert_int_equal(F, Z * (3 + 2));
    assert_int_equal(ll_feature_embeddings(&s->c), N + 1);
    CHECK_OK(ll_feature_batch_create(&s->c, 2, H, &b));
    CHECK_OK(ll_feature_batch_create(&s->c, 2, H, &again));
    ll_feature_fill(s, (const uint32_t[]){ 1, 0 }, 2, NULL, b);
    assert_int_equal(b->entity[0], 2);
    assert_int_equal(b->entity[1], 1);
    for (int j = 0; j < 8; j++)
        for (int z = 0; z < Z; z++) {
            int seen = 0;
            for (int p = 0; p < 3; p++) {
                const float  y_at = columns[2][z][100 - (3 * (7 - j) + 2 - p)];
                const double w = ((double)y_at - (double)s->m[Z + z]) / (double)s->s[Z + z];
                assert_float_equal(b->tokens[j * F + z * 3 + p], isnan(w) ? 0 : w, 1e-5);
                seen += isnan(w) ? 0 : 1;
            }
            assert_float_equal(b->tokens[j * F + Z * 3 + z], log2(1 + seen / 3.0), 1e-5);
            if (z == 0) assert_float_equal(b->tokens[j * F + Z * 4 + z], log1p(gap_at(2, j)), 1e-5);
        }
    for (int q = 0; q < H; q++)
        for (int z = 0; z < Z; z++)
            assert_float_equal(b->mask[q * Z + z], isnan(columns[2][z][101 + q]) ? 0 : 1, 0);

    /* Tokens that were made before are the same, however training varies them. */
    const ll_feature_noise o = { .seed = 5, .step = 3, .noise = 0.1, .drop = 0.3, .shift = 1 };
    const size_t           bytes = (size_t)(2 * 8 * F) * sizeof(float);
    ll_feature_fill(s, (const uint32_t[]){ 1, 0 }, 2, &o, b);
    CHECK_OK(ll_feature_set_remember(s, bytes - 1));
    assert_null(s->tokens);
    CHECK_OK(ll_feature_set_remember(s, bytes));
    assert_non_null(s->tokens);
    ll_feature_fill(s, (const uint32_t[]){ 1, 0 }, 2, &o, again);
    assert_memory_equal(b->tokens, again->tokens, bytes);

    /* What is not known is a draw while training, and nothing the loss looks at. */
    for (int k = 0; k < 2 * H * Z; k++) {
        assert_float_equal(b->z0[k], again->z0[k], 0);
        if (b->mask[k] == 0) assert_true(b->z0[k] != 0);
    }
    ll_feature_batch_destroy(b);
    ll_feature_batch_destroy(again);
    ll_feature_set_destroy(s);
}

/* Without the anchor the trajectory is w, without the window's level too it is u. */
static void residuals_without_anchor(void **state)
{
    (void)state;
    ll_feature_set *w = set_by_entity(LL_RESIDUAL_NONE), *g = set_by_entity(LL_RESIDUAL_GLOBAL);
    for (int q = 0; q < H; q++) {
        const double truth = (double)u[1][101 + q];
        double       mean, sd;
        ll_feature_law(w, 0, q, 0, &mean, &sd);
        assert_float_equal(mean, w->m[0], 0);
        assert_float_equal(sd, w->s[0], 1e-6);
        if (!isnan(truth)) {
            assert_float_equal((double)w->r[q * 2] * sd + mean, truth, 1e-5);
            assert_float_equal(g->r[q * 2], truth, 1e-6);
        }
        assert_true(g->a[q * 2] == 0 && g->log_b[q * 2] == 0 && g->m[0] == 0 && g->s[0] == 1);
    }
    ll_feature_set_destroy(w);
    ll_feature_set_destroy(g);
}

static void training_varies_rows_by_name_alone(void **state)
{
    (void)state;
    const ll_layout          l = layout(false);
    const ll_feature_source  from = source();
    const ll_feature_example row[2] = {
        { .origin = 1100, .entity = 1, .n_query = H, .t_query = tq, .id = 7 },
        { .origin = 1100, .entity = 2, .n_query = H, .t_query = tq, .id = 8 },
    };
    const ll_feature_noise o = {
        .seed = 5, .step = 3, .noise = 0.1, .drop = 0.3, .strange = 0.5, .shift = 1, .subset = 1
    };
    const size_t      F = (size_t)ll_feature_token_dim(&l);
    ll_feature_set   *s = NULL;
    ll_feature_batch *b = NULL, *alone = NULL;
    CHECK_OK(ll_feature_set_create(&l, &from, row, 2, &s));
    CHECK_OK(ll_feature_batch_create(&l, 2, H, &b));
    CHECK_OK(ll_feature_batch_create(&l, 1, H, &alone));
    ll_feature_fill(s, (const uint32_t[]){ 1, 0 }, 2, &o, b);
    ll_feature_fill(s, (const uint32_t[]){ 0 }, 1, &o, alone);
    assert_memory_equal(b->tokens + 8 * F, alone->tokens, 8 * F * sizeof(float));
    assert_memory_equal(b->pad + H, alone->pad, H * sizeof(float));
    assert_true(alone->tq[0] < 1 && alone->tq[0] > 0); /* the origin has moved */
    assert_float_equal(alone->pad[0], 0, 0);
    for (int q = 0; q < H; q++) assert_false(alone->pad[q] == 1 && alone->mask[q] == 1);
    ll_feature_batch_destroy(b);
    ll_feature_batch_destroy(alone);
    ll_feature_set_destroy(s);
}

static llap_status work(void *user)
{
    (void)user;
    const ll_layout          l = layout(true);
    const ll_feature_source  from = source();
    const ll_feature_example row = { .origin = 1100, .n_query = H, .t_query = tq };
    ll_feature_set          *s = NULL;
    ll_feature_batch        *b = NULL;
    llap_status              st = ll_feature_set_create(&l, &from, &row, 1, &s);
    if (st == LLAP_OK) st = ll_feature_batch_create(&l, 2, H, &b);
    if (st == LLAP_OK) st = ll_feature_set_remember(s, 1 << 20);
    ll_feature_batch_destroy(b);
    ll_feature_set_destroy(s);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    check_every_failed_allocation(work, NULL);
}

static void layouts(void **state)
{
    (void)state;
    ll_layout l = { .targets = 1, .horizon = 24 };
    ll_feature_slots(336, 1, &l);
    assert_int_equal(l.tokens, 56);
    assert_int_equal(l.slots, 6);
    ll_feature_slots(24, 1, &l);
    assert_int_equal(l.tokens, 24);
    assert_int_equal(l.slots, 1);
    ll_feature_slots(1e6, 1, &l); /* more than a token can hold: longer slots */
    assert_true(l.slots <= 32 && (double)(l.tokens * l.slots) * l.slot >= 1e6 * (1 - 1e-9));
    CHECK_OK(ll_layout_check(&l));
    l.slots = 0;
    CHECK_FAIL(ll_layout_check(&l), LLAP_EINVAL, "slots");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(answers_of_the_anchor_and_residuals),
        cmocka_unit_test(far_residuals_are_kept_and_held),
        cmocka_unit_test(tokens_of_joint_rows),
        cmocka_unit_test(tokens_of_single_rows),
        cmocka_unit_test(tokens_by_entity),
        cmocka_unit_test(residuals_without_anchor),
        cmocka_unit_test(training_varies_rows_by_name_alone),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
