/* The nine models as one kind of thing: answers of a row depend on that row alone and on nothing
 * that came true; the loops of those that draw are the graphs that tests/golden holds to the
 * authors' code; what is hidden in training; what is refused. */
#include "tiny.h"

#include "backend/cpu/cpu.h"
#include "rivals/feed/inputs.h"

enum { K = 12, H = 4, F = 3, C = 2, SEED = 7 };

typedef struct model {
    ll_rival_task    k;
    ll_params       *params;
    ll_rival_example e;
} model;

static void model_init(model *m, int i, int64_t vars, int64_t targets)
{
    ll_graph *g = NULL;
    *m = (model){ .k = tiny_task(i, K, H, vars, targets) };
    CHECK_OK(ll_rival_task_check(&m->k));
    CHECK_OK(ll_graph_create(&g));
    ll_rival_loss(g, &m->k, 2);
    CHECK_OK(ll_graph_status(g));
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &m->params));
    ll_params_init(m->params, SEED);
    ll_rival_start(&m->k, m->params);
    for (int p = 0; p < ll_params_count(m->params); p++) { /* what begins with 0 hides mistakes */
        const ll_param_info *x = ll_params_at(m->params, p);
        const ll_rng         r = ll_rng_make(SEED, LL_STREAM_TEST, 2, (uint32_t)p, 0);
        for (int64_t n = 0; x->leaf == LL_LEAF_PARAM && n < x->count; n++)
            ll_param_set(m->params, x, n,
                         ll_param_get(m->params, x, n) +
                             0.1 * (double)ll_rng_normal(&r, (uint64_t)n));
    }
    ll_graph_destroy(g);
    CHECK_OK(ll_rival_example_init(&m->e, &m->k));
}

static void model_deinit(model *m)
{
    ll_rival_example_deinit(&m->e);
    ll_params_destroy(m->params);
}

static int64_t numbers(const model *m) { return H * m->k.targets * ll_rival_members(&m->k); }

/* Answers of the rows whose examples have these seeds; their futures are of futures. */
static llap_status ask_some(model *m, const uint64_t *seed, int64_t n, float future, float *out)
{
    ll_session  *net[LL_RIVAL_NETS] = { NULL };
    ll_rival_row row[8];
    llap_status  st = LLAP_OK;
    for (int i = 0; i < ll_rival_nets(&m->k) && st == LLAP_OK; i++) {
        ll_graph *g = NULL;
        st = ll_graph_create(&g);
        if (st == LLAP_OK) {
            ll_rival_describe(g, &m->k, i, n);
            st = ll_session_create(g, m->params, &ll_backend_cpu, 1, &net[i]);
        }
        ll_graph_destroy(g);
        for (int64_t r = 0; r < n && st == LLAP_OK; r++) {
            tiny_example(&m->k, seed[r], false, &m->e);
            for (int64_t j = 0; j < H * m->k.vars; j++) m->e.y[j] *= future;
            row[r] = (ll_rival_row){ .id = seed[r], .sample = 3 };
            st = ll_rival_fill(&m->k, &m->e, r, net[i]);
        }
    }
    if (st == LLAP_OK) st = ll_rival_draw(&m->k, net, n, SEED, row, out);
    for (int i = 0; i < LL_RIVAL_NETS; i++) ll_session_destroy(net[i]);
    return st;
}

static void a_row_looks_at_itself_and_at_no_future(void **state)
{
    (void)state;
    static const uint64_t all[] = { 11, 12, 13 };
    for (int i = 0; i < LL_RIVALS; i++)
        for (int64_t vars = 1; vars <= F; vars += F - 1) {
            float one[2000], three[2000];
            model m;
            model_init(&m, i, vars, vars > 1 ? C : 1);
            const int64_t n = numbers(&m);
            assert_true(3 * n <= 2000);
            CHECK_OK(ask_some(&m, all, 3, 1.0f, three));
            for (int r = 0; r < 3; r++) {
                CHECK_OK(ask_some(&m, &all[r], 1, 1000.0f, one));
                if (memcmp(one, three + r * n, (size_t)n * sizeof *one) != 0)
                    fail_msg("%s: row %d is another one alone", m.k.kind->name, r);
            }
            for (int64_t j = 0; j < 3 * n; j++) assert_true(isfinite(three[j]));
            assert_memory_not_equal(three, three + n, (size_t)n * sizeof *three);
            for (int64_t j = 1; j < ll_rival_members(&m.k); j++)
                assert_true(three[j] >= three[j - 1]);
            model_deinit(&m);
        }
}

/* -------- loops are the graphs -------- */

static void input(ll_session *net, const char *name, const float *from, int64_t n)
{
    float *to = ll_session_real(net, name);
    if (to == NULL) return;
    assert_int_equal(ll_session_count(net, name), n);
    memcpy(to, from, (size_t)n * sizeof *to);
}

/* Runs a graph whose output "y" is [H,..] of one row, and compares it with the loop. */
static void compare(model *m, ll_graph *g, const float *noise, int64_t n_noise, int64_t width,
                    int64_t stride, int64_t first)
{
    static const uint64_t seed = 21;
    ll_session           *net = NULL;
    float                 loop[64];
    CHECK_OK(ll_session_create(g, m->params, &ll_backend_cpu, 1, &net));
    CHECK_OK(ask_some(m, &seed, 1, 1.0f, loop)); /* leaves its example */
    CHECK_OK(ll_rival_fill(&m->k, &m->e, 0, net));
    input(net, "noise", noise, n_noise);
    CHECK_OK(ll_session_run(net));
    const float *y = ll_session_output(net, "y");
    for (int64_t q = 0; q < H; q++)
        for (int64_t c = 0; c < m->k.targets; c++) {
            const double a = (double)loop[q * m->k.targets + c];
            const double b = (double)y[first + q * stride + c * width];
            if (!(fabs(a - b) <= 2e-5 * (1.0 + fabs(b))))
                fail_msg("%s: query %d: loop %g, graph %g", m->k.kind->name, (int)q, a, b);
        }
    ll_session_destroy(net);
    ll_graph_destroy(g);
}

static void noise_of(int64_t step, int64_t n, float *out)
{
    const ll_rival_row row = { .id = 21, .sample = 3 };
    ll_feed_noise(SEED, &row, step, n, out);
}

static void csdi_draws_as_its_graph(void **state)
{
    (void)state;
    enum { L = K + H, T = 6 };
    float     noise[T * F * L];
    ll_graph *g = NULL;
    model     m;
    model_init(&m, 8, F, C);
    for (int s = 0; s < T; s++) noise_of(s, F * L, noise + s * F * L);
    CHECK_OK(ll_graph_create(&g));
    const ll_shape   cells = LL_SHAPE(1, F, L);
    const ll_csdi_in in = { ll_input(g, "x", cells), ll_input(g, "visible", cells),
                            ll_input(g, "times", LL_SHAPE(1, L)) };
    ll_csdi_config   c = m.k.config.csdi;
    c.dropout = 0;
    ll_output(g, "y", ll_csdi_sample(g, &c, &in, ll_input(g, "noise", LL_SHAPE(T, 1, F, L))));
    compare(&m, g, noise, T * F * L, L, 1, K);
    model_deinit(&m);
}

static void timegrad_draws_as_its_graph(void **state)
{
    (void)state;
    enum { T = 6, LAG = 4 };
    float     noise[H * (T + 1) * F];
    ll_graph *g = NULL;
    model     m;
    model_init(&m, 3, F, C);
    for (int s = 0; s < H * (T + 1); s++) noise_of(s, F, noise + s * F);
    CHECK_OK(ll_graph_create(&g));
    ll_timegrad_config c = m.k.config.timegrad;
    c.dropout = 0;
    const ll_shape       past = LL_SHAPE(1, K, F);
    const ll_timegrad_in in = { .series = ll_input(g, "past", past),
                                .observed = ll_input(g, "past_seen", past),
                                .time = ll_input(g, "time", LL_SHAPE(1, K - LAG + H, 7)),
                                .context = K };
    ll_tensor           *scale = ll_timegrad_scale(g, &c, in.series, in.observed);
    ll_output(
        g, "y",
        ll_timegrad_sample(g, &c, &in, scale, ll_input(g, "noise", LL_SHAPE(H, T + 1, 1, F))));
    compare(&m, g, noise, H * (T + 1) * F, 1, F, 0);
    model_deinit(&m);
}

static void mrdiff_draws_as_its_graph(void **state)
{
    (void)state;
    enum { T = 6, S = 2 };
    float     noise[S * (T + 1) * F * H], rows[H * F];
    ll_graph *g = NULL;
    model     m;
    model_init(&m, 2, F, C);
    for (int s = 0; s < S * (T + 1); s++) { /* the graph has channels before rows */
        noise_of(s, H * F, rows);
        for (int64_t q = 0; q < H; q++)
            for (int64_t v = 0; v < F; v++) noise[(s * F + v) * H + q] = rows[q * F + v];
    }
    CHECK_OK(ll_graph_create(&g));
    ll_mrdiff_config c = m.k.config.mrdiff;
    c.dropout = 0;
    const ll_shape     x = LL_SHAPE(1, K, F);
    const ll_mrdiff_in in = { .x = ll_input(g, "x", x),
                              .m = ll_input(g, "m", x),
                              .side = ll_input(g, "calendar", LL_SHAPE(1, H, 6)) };
    ll_output(g, "y",
              ll_mrdiff_sample(g, &c, &in, ll_input(g, "noise", LL_SHAPE(S, T + 1, 1, F, H))));
    compare(&m, g, noise, S * (T + 1) * F * H, 1, F, 0);
    model_deinit(&m);
}

/* -------- what is hidden -------- */

static void half_of_the_time_the_horizon_is_hidden(void **state)
{
    (void)state;
    enum { TIMES = 400, CELLS = (K + H) * F };
    float  shown[CELLS];
    double horizon = 0, hidden = 0, seen = 0;
    model  m;
    model_init(&m, 8, F, C);
    tiny_example(&m.k, 5, true, &m.e);
    for (int from = 0; from <= K * F; from += K * F)
        for (int64_t step = 0; step < TIMES; step++) {
            const ll_rival_turn t = { .seed = SEED, .step = step };
            int                 n = 0, context = 0;
            ll_feed_hide(&m.k, &t, &m.e, from, shown);
            for (int i = 0; i < CELLS; i++) {
                const float was = i < K * F ? m.e.m[i] : m.e.seen[i - K * F];
                assert_true(shown[i] == was || (shown[i] == 0.0f && was == 1.0f));
                n += shown[i] != was;
                context += shown[i] != was && i < K * F;
                if (i < from) assert_true(shown[i] == was);
            }
            if (n == H * F && context == 0) horizon++;
            hidden += n - context;
            seen += H * F;
        }
    /* half, and of the rest half of the cells on average; a horizon may be hidden by chance */
    assert_in_range((int)(100 * horizon / (2 * TIMES)), 42, 62);
    assert_in_range((int)(100 * hidden / seen), 68, 82);
    model_deinit(&m);
}

/* mr-Diff: what a guess is mixed with the truth by, in all stages of a window or in none. */
static void guesses_are_mixed_in_so_many_windows(void **state)
{
    (void)state;
    enum { TIMES = 400, S = 2, CELLS = S * F * H };
    static const double share[] = { 0.0, 0.5, 1.0 };
    for (int i = 0; i < 3; i++) {
        model       m;
        ll_graph   *g = NULL;
        ll_session *net = NULL;
        int         windows = 0;
        model_init(&m, 2, F, C);
        assert_true(m.k.config.mrdiff.mixed == 0.0); /* unless asked for, seen as when it draws */
        m.k.config.mrdiff.mixed = share[i];
        CHECK_OK(ll_graph_create(&g));
        ll_rival_loss(g, &m.k, 1);
        CHECK_OK(ll_session_create(g, m.params, &ll_backend_cpu, 1, &net));
        assert_int_equal(ll_session_count(net, "mix"), CELLS);
        for (int n = 0; n < TIMES; n++) {
            const ll_rival_turn t = { .seed = SEED, .step = n / 20 };
            const float        *mix = ll_session_real(net, "mix");
            int                 mixed = 0;
            m.e.id = (uint64_t)n % 20;
            CHECK_OK(ll_rival_vary(&m.k, &t, &m.e, 0, net));
            for (int j = 0; j < CELLS; j++) mixed += mix[j] < 1.0f;
            assert_true(mixed == 0 || mixed == CELLS);
            windows += mixed > 0;
        }
        assert_in_range(windows, (int)(TIMES * share[i] * 0.85), (int)(TIMES * share[i] * 1.15));
        ll_session_destroy(net);
        ll_graph_destroy(g);
        model_deinit(&m);
    }
}

/* mTAN: waves, which tell rows apart from the first step of training on, one unit a step. */
static void mtan_counts_time_in_steps(void **state)
{
    (void)state;
    static const uint64_t seed = 5;
    static const double   units[] = { 0.0, K + H, 48.0 };
    float                 y[3][H * C];
    for (int i = 0; i < 3; i++) {
        model m;
        model_init(&m, 4, F, C);
        assert_false(m.k.config.mtan.learned);
        m.k.config.mtan.units = units[i];
        CHECK_OK(ask_some(&m, &seed, 1, 1.0f, y[i]));
        model_deinit(&m);
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_memory_not_equal(y[0], y[2], sizeof y[0]);
}

/* -------- what cannot be -------- */

static void refused(ll_rival_task k, const char *says)
{
    CHECK_FAIL(ll_rival_task_check(&k), LLAP_EINVAL, says);
}

static void sizes_and_options_that_cannot_be_are_named(void **state)
{
    (void)state;
    const ll_rival_task dlinear = tiny_task(0, K, H, F, 1), cde = tiny_task(7, K, H, F, 1);
    const ll_rival_task gnn = tiny_task(5, K, H, F, 1), ode = tiny_task(6, K, H, F, 1);
    ll_rival_task       k = dlinear;
    k.data.context = 1;
    refused(k, "rows of context: expected 2 to 4096, found 1");
    k.data.context = 5000;
    refused(k, "found 5000");
    k = dlinear, k.data.horizon = INT64_MAX;
    refused(k, "rows ahead");
    k = dlinear, k.vars = 5000;
    refused(k, "variables: expected 1 to 4096");
    k = dlinear, k.targets = F + 1;
    refused(k, "targets: expected 1 to 3");
    k = dlinear, k.calendar = 3;
    refused(k, "calendar: expected 0 or 6");
    k = dlinear, k.context = NAN;
    refused(k, "spans: expected positive steps");
    k = dlinear, k.config.dlinear.horizon = 5;
    refused(k, "horizon: expected 4 rows, found 5");
    k = dlinear, k.config.dlinear.mix = true, k.targets = 2;
    refused(k, "mix: is for one target");
    k = gnn, k.config.tpatchgnn.patches = 13;
    refused(k, "patches: expected at most the 12 rows");
    k = gnn, k.config.tpatchgnn.slots = 13;
    refused(k, "slots: expected at most the 12 rows");
    k = ode, k.config.contiformer.n_sub = 1024, k.config.contiformer.n_layers = 64;
    refused(k, "layers times steps");
    k = ode, k.config.contiformer.rows = 13;
    refused(k, "rows: 13 do not fit");
    k = cde, k.config.neuralcde.n_sub = 1024, k.config.neuralcde.n_layers = 64;
    refused(k, "are more than 65536");
}

/* -------- memory -------- */

static llap_status answer_one(void *user)
{
    static const uint64_t seed = 3;
    float                 y[1000];
    return ask_some(user, &seed, 1, 1.0f, y);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    static const int some[] = { 2, 7, 8 }; /* with memory of their own while they draw or fill */
    for (size_t i = 0; i < sizeof some / sizeof *some && !check_once(); i++) {
        model m;
        model_init(&m, some[i], 2, 1);
        check_every_failed_allocation(answer_one, &m);
        model_deinit(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_looks_at_itself_and_at_no_future),
        cmocka_unit_test(csdi_draws_as_its_graph),
        cmocka_unit_test(timegrad_draws_as_its_graph),
        cmocka_unit_test(mrdiff_draws_as_its_graph),
        cmocka_unit_test(half_of_the_time_the_horizon_is_hidden),
        cmocka_unit_test(guesses_are_mixed_in_so_many_windows),
        cmocka_unit_test(mtan_counts_time_in_steps),
        cmocka_unit_test(sizes_and_options_that_cannot_be_are_named),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
