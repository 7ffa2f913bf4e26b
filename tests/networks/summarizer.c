/* The summarizer: golden numbers of the specification, any sizes and options, what must not
 * matter. */
#include "check.h"
#include "net.h"
#include "spec_fill.h"

#include "backend/cpu/cpu.h"
#include "networks/conditioning.h"
#include "networks/summarizer.h"
#include "nn/nn.h"
#include "oracles/plain_layers.h"

/* -------- docs/spec/model.md 11.2 -------- */

enum { B = 2, L = 7, N = 3, D = 2, S = 4, H = 8 };

static const ll_summarizer_config variant_a = { .n_entities = N,
                                                .features = D,
                                                .context = L,
                                                .tokens = S,
                                                .width = H,
                                                .mix = 5,
                                                .kernel = 3,
                                                .proxy_hidden = 4,
                                                .time2vec = 3,
                                                .irregular_hidden = 4,
                                                .n_layers = 2,
                                                .n_heads = 2,
                                                .t_scale = 0.1,
                                                .irregular_scale = 0.1,
                                                .rotary_base = 10000.0 };

static ll_summarizer_config variant_b(void)
{
    ll_summarizer_config cfg = variant_a;
    cfg.position = LL_POSITION_ROTARY;
    cfg.t_token = LL_T_TOKEN_BOTH;
    cfg.irregular_pooling = true;
    return cfg;
}

typedef struct pass { /* one forward on the cpu */
    ll_graph  *graph;
    ll_params *params;
    ll_plan   *plan;
    ll_run    *run;
    float      x[B * L * N * D], dx[B * L * N * D], obs[B * L * N * D];
    float      dt[B * L * N], ent[B * N];
} pass;

static void fill_g2(pass *p)
{
    for (int i = 0; i < B * L * N * D; i++) {
        const int j = i / (N * D) % L;
        p->x[i] = spec_input("in.x", i);
        p->dx[i] = j == 0 ? 0.0f : p->x[i] - spec_input("in.x", i - N * D);
        p->obs[i] = spec_input("in.o", i) > -0.5f;
    }
    for (int i = 0; i < B * L * N; i++) {
        const float j = (float)(i / N % L);
        p->dt[i] = i < L * N ? j + 0.25f * j * j : 1.5f * j;
    }
    for (int i = 0; i < B * N; i++) p->ent[i] = i != 2;
}

static void make_pass_on(pass *p, const ll_summarizer_config *cfg, bool balanced, int n_threads)
{
    memset(p, 0, sizeof *p);
    CHECK_OK(ll_graph_create(&p->graph));
    ll_graph                 *g = p->graph;
    const ll_shape            all = LL_SHAPE(B, L, N, D);
    const ll_history          history = { .x = ll_input(g, "x", all),
                                          .dx = ll_input(g, "dx", all),
                                          .ent = ll_input(g, "ent", LL_SHAPE(B, N)),
                                          .dt = ll_input(g, "dt", LL_SHAPE(B, L, N)),
                                          .obs = ll_input(g, "obs", all) };
    const ll_summary          s = ll_summarize(g, cfg, &history);
    const ll_summarizer_heads heads = ll_summarizer_decode(g, cfg, s.context);
    ll_summarizer_loss_config weights = LL_SUMMARIZER_LOSS_IRREGULAR;
    weights.channel_balanced = balanced;
    ll_output(g, "E_raw", s.context);
    ll_output(g, "E", ll_context_normalise(g, s.context, NULL, NULL));
    ll_output(g, "v_sig", s.v_sig);
    ll_output(g, "t_sig", s.t_sig);
    ll_output(g, "loss", ll_summarizer_loss(g, &weights, &s, &heads, NULL).loss);
    const ll_plan_opts opts = { .backend = &ll_backend_cpu, .n_threads = n_threads };
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &p->params));
    CHECK_OK(ll_plan_create(g, &opts, &p->plan));
    CHECK_OK(ll_run_create(p->plan, &p->run));
    CHECK_OK(ll_params_bind(p->params, LL_PARAMS_MODEL, p->plan, p->run));
    CHECK_OK(ll_run_bind(p->run, "x", p->x, B * L * N * D));
    CHECK_OK(ll_run_bind(p->run, "dx", p->dx, B * L * N * D));
    CHECK_OK(ll_run_bind(p->run, "obs", p->obs, B * L * N * D));
    CHECK_OK(ll_run_bind(p->run, "dt", p->dt, B * L * N));
    CHECK_OK(ll_run_bind(p->run, "ent", p->ent, B * N));
    spec_fill(p->params);
    fill_g2(p);
}

static void make_pass(pass *p, const ll_summarizer_config *cfg, bool balanced)
{
    make_pass_on(p, cfg, balanced, 2);
}

static const float *out(const pass *p, const char *name)
{
    return ll_run_output(p->run, name, NULL);
}

static void drop_pass(pass *p)
{
    ll_run_destroy(p->run);
    ll_plan_release(p->plan);
    ll_params_destroy(p->params);
    ll_graph_destroy(p->graph);
}

typedef struct expected {
    double first[H], last[H], sum, squares, loss, normal[H];
} expected;

static const expected of_a = {
    .first = { -1.267165, -0.090912, -1.812474, 0.696277, 1.014831, 1.534849, 0.163133, 0.457713 },
    .last = { -1.454703, -0.230254, -1.662251, 0.742066, 0.892687, 1.279323, 0.271701, 0.343639 },
    .sum = 3.58093,
    .squares = 68.54168,
    .loss = 3.995192,
    .normal = { 0.855646, 0.912274, -0.900453, -0.978344, 0.963391, 0.985287, -1.057224, 0.858059 },
};
static const expected of_b = {
    .first = { -0.741357, 1.273963, -2.416113, -2.584395, 1.020375, 0.933414, 0.322012, 1.665606 },
    .last = { -0.719075, 1.175545, -2.450711, -2.540601, 1.067668, 1.078891, 0.253551, 1.583164 },
    .sum = -4.45345,
    .squares = 155.00341,
    .loss = 3.877570,
    .normal = { -0.640023, 1.066559, 0.889490, -0.897941, -0.782882, -0.953439, 1.129410,
                1.019976 },
};

static void check_g2(const ll_summarizer_config *cfg, bool balanced, const expected *e)
{
    pass   p;
    double sum = 0.0, squares = 0.0;
    make_pass(&p, cfg, balanced);
    CHECK_OK(ll_run_exec(p.run));
    const float *E = out(&p, "E_raw");
    for (int i = 0; i < B * S * H; i++) {
        sum += (double)E[i];
        squares += pow((double)E[i], 2);
    }
    check_numbers("E_raw[0,0]", E, e->first, H, 2e-5);
    check_numbers("E_raw[1,3]", E + 7 * H, e->last, H, 2e-5);
    assert_true(fabs(sum - e->sum) < 1e-4 && fabs(squares - e->squares) < 5e-4);
    check_numbers("loss", out(&p, "loss"), &e->loss, 1, 2e-5);
    check_numbers("E[0,0]", out(&p, "E"), e->normal, H, 1e-4);
    check_numbers("v_sig[0,0,0]", out(&p, "v_sig"), (double[]){ 0.131576 }, 1, 2e-5);
    check_numbers("t_sig[0,1,0]", out(&p, "t_sig") + N, (double[]){ -0.497134 }, 1, 2e-5);
    drop_pass(&p);
}

static void golden_numbers_of_the_specification(void **state)
{
    (void)state;
    const ll_summarizer_config b = variant_b();
    check_g2(&variant_a, false, &of_a);
    check_g2(&b, true, &of_b);
}

/* Row 0 has an absent entity: whatever it holds, bytes stay. Hidden values do matter
 * (docs/spec/model.md 12.9). */
static void absent_entities_change_nothing(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        pass                       p;
        float                      before[B * S * H], loss;
        const ll_summarizer_config b = variant_b();
        make_pass(&p, which == 0 ? &variant_a : &b, true);
        CHECK_OK(ll_run_exec(p.run));
        memcpy(before, out(&p, "E_raw"), sizeof before);
        loss = *out(&p, "loss");
        for (int j = 0; j < L; j++) {
            p.dt[j * N + 2] = 0.5f * (float)j;
            for (int d = 0; d < D; d++) {
                p.x[(j * N + 2) * D + d] = NAN;
                p.dx[(j * N + 2) * D + d] = -17.0f;
                p.obs[(j * N + 2) * D + d] = (float)(j % 2);
            }
        }
        CHECK_OK(ll_run_exec(p.run));
        assert_memory_equal(before, out(&p, "E_raw"), sizeof before);
        assert_true(*out(&p, "loss") == loss);
        drop_pass(&p);
    }
}

/* Whether E_raw changes when something of the input does; obs of one value in three is 0. */
typedef enum touched { HIDDEN_VALUES, TIMES, ALL_VALUES, DIFFERENCES } touched;

static bool matters(const ll_summarizer_config *cfg, touched what)
{
    pass  p;
    float before[B * S * H];
    make_pass(&p, cfg, false);
    for (int i = 0; i < B * L * N * D; i++) p.obs[i] = i % 3 == 0 ? 0.0f : 1.0f;
    CHECK_OK(ll_run_exec(p.run));
    memcpy(before, out(&p, "E_raw"), sizeof before);
    for (int i = 0; i < B * L * N * D; i++) {
        const int j = i / (N * D) % L;
        if (what == ALL_VALUES || (what == HIDDEN_VALUES && i % 3 == 0)) p.x[i] += 0.7f;
        /* a difference has two ends */
        const bool hidden = i % 3 == 0 || (j > 0 && (i - N * D) % 3 == 0);
        if (what == DIFFERENCES || (what == HIDDEN_VALUES && hidden)) p.dx[i] -= 0.3f;
    }
    for (int i = 0; what == TIMES && i < B * L * N; i++) {
        const float j = (float)(i / N % L);
        p.dt[i] = j * j; /* the same for all entities, so their order in it does not matter */
    }
    CHECK_OK(ll_run_exec(p.run));
    const bool changed = memcmp(before, out(&p, "E_raw"), sizeof before) != 0;
    drop_pass(&p);
    return changed;
}

/* What each option takes away is not looked at; the paper's masks hide what is not observed. */
static void options_take_away_what_they_say(void **state)
{
    (void)state;
    ll_summarizer_config c = variant_a;
    assert_true(matters(&c, HIDDEN_VALUES) && matters(&c, TIMES));
    assert_true(matters(&c, ALL_VALUES) && matters(&c, DIFFERENCES));
    c.masked_input = true;
    assert_false(matters(&c, HIDDEN_VALUES));
    assert_true(matters(&c, ALL_VALUES));
    c = variant_a;
    c.no_temporal_token = true;
    assert_false(matters(&c, TIMES));
    assert_true(matters(&c, ALL_VALUES));
    c = variant_a;
    c.no_dynamics_token = true;
    assert_false(matters(&c, DIFFERENCES));
    c.no_port_token = true;
    assert_false(matters(&c, ALL_VALUES));
    assert_true(matters(&c, TIMES));
}

/* Time2Vec sees absolute times: twice as slow a clock is another history. */
static void absolute_time_is_not_divided(void **state)
{
    (void)state;
    for (int absolute = 0; absolute < 2; absolute++) {
        ll_summarizer_config c = variant_a;
        pass                 p;
        float                before[B * S * H];
        c.absolute_time = absolute == 1;
        make_pass(&p, &c, false);
        CHECK_OK(ll_run_exec(p.run));
        memcpy(before, out(&p, "E_raw"), sizeof before);
        for (int i = 0; i < B * L * N; i++) p.dt[i] *= 2.0f;
        CHECK_OK(ll_run_exec(p.run));
        assert_int_equal(memcmp(before, out(&p, "E_raw"), sizeof before) != 0, absolute);
        drop_pass(&p);
    }
}

static void swap_rows(float *x, int per_row)
{
    for (int i = 0; i < per_row; i++) {
        const float first = x[i];
        x[i] = x[per_row + i];
        x[per_row + i] = first;
    }
}

/* The same bytes in another place of the batch and with another number of threads. */
static void rows_do_not_depend_on_their_batch(void **state)
{
    (void)state;
    const ll_summarizer_config b = variant_b();
    pass                       one, three;
    make_pass_on(&one, &b, true, 1);
    make_pass_on(&three, &b, true, 3);
    swap_rows(three.x, L * N * D);
    swap_rows(three.dx, L * N * D);
    swap_rows(three.obs, L * N * D);
    swap_rows(three.dt, L * N);
    swap_rows(three.ent, N);
    CHECK_OK(ll_run_exec(one.run));
    CHECK_OK(ll_run_exec(three.run));
    const size_t row = S * H * sizeof(float);
    assert_memory_equal(out(&one, "E_raw"), out(&three, "E_raw") + S * H, row);
    assert_memory_equal(out(&one, "E_raw") + S * H, out(&three, "E_raw"), row);
    drop_pass(&one);
    drop_pass(&three);
}

/* -------- any sizes and options -------- */

typedef struct options {
    int64_t                   rows;
    ll_summarizer_config      cfg;
    ll_summarizer_loss_config loss;
    bool                      masks, adapt;
} options;

static options draw_options(uint64_t seed)
{
    options o = {
        .rows = net_pick(seed, "B", 1, 2),
        .cfg = { .n_entities = net_pick(seed, "N", 1, 3),
                 .features = net_pick(seed, "D", 1, 3),
                 .context = net_pick(seed, "l", 1, 6),
                 .tokens = net_pick(seed, "S", 1, 4),
                 .width = net_pick(seed, "H", 3, 6), /* LN of two numbers is their order alone */
                 .mix = net_pick(seed, "mix", 2, 5),
                 .kernel = 2 * net_pick(seed, "kernel", 0, 2) + 1,
                 .proxy_hidden = 3,
                 .time2vec = net_pick(seed, "d_t", 2, 4),
                 .irregular_hidden = 3,
                 .n_layers = (int)net_pick(seed, "layers", 0, 2),
                 .n_heads = (int)net_pick(seed, "heads", 1, 3),
                 .position = (ll_position)(seed % 3),
                 .t_token = (ll_t_token)(seed / 3 % 4),
                 .irregular_pooling = seed % 2 == 0,
                 .t_scale = 0.3,
                 .irregular_scale = 0.2,
                 .rotary_base = 50.0 },
        .loss = { 1.0, 0.3, 0.2, 0.4, 0.1, seed % 4 < 2 },
        .masks = seed % 5 != 0,
        .adapt = seed % 3 == 1,
    };
    return o;
}

/* All terms of the loss, and the normalised (and adapted) context. */
static ll_tensor *describe(ll_graph *g, const void *user)
{
    const options              *o = user;
    const ll_summarizer_config *c = &o->cfg;
    const ll_shape              all = LL_SHAPE(o->rows, c->context, c->n_entities, c->features);
    const ll_history            h = {
                   .x = ll_input(g, "x", all),
                   .dx = ll_input(g, "dx", all),
                   .ent = o->masks ? ll_input(g, "ent", LL_SHAPE(o->rows, c->n_entities)) : NULL,
                   .dt = o->masks ? ll_input(g, "dt", LL_SHAPE(o->rows, c->context, c->n_entities)) : NULL,
                   .obs = o->masks ? ll_input(g, "obs", all) : NULL
    };
    const ll_summary          s = ll_summarize(g, c, &h);
    const ll_summarizer_heads heads = ll_summarizer_decode(g, c, s.context);
    ll_tensor                *loss = ll_summarizer_loss(g, &o->loss, &s, &heads, NULL).loss;
    ll_tensor                *E = s.context;
    if (o->adapt) {
        const ll_adapter_config adapter = { .hidden = 4, .scale = 0.5 };
        E = ll_context_adapt(g, &adapter, E, ll_stat_tokens(g, &h));
    }
    ll_tensor *mean = ll_input(g, "mean", LL_SHAPE(c->width));
    ll_tensor *deviation = ll_input(g, "deviation", LL_SHAPE(c->width));
    E = ll_context_normalise(g, E, mean, deviation);
    ll_tensor *error = plain_mse(g, E, ll_input(g, "target", ll_shape_of(E)));
    return ll_add(g, loss, error);
}

static double fill(const net *n, const char *name, int64_t k)
{
    const options *o = n->cfg;
    const int64_t  entities = o->cfg.n_entities;
    if (strcmp(name, "deviation") == 0) return 1.0 + net_uniform(n->seed, name, k);
    if (strcmp(name, "obs") == 0) return net_uniform(n->seed, name, k) < 0.7;
    if (strcmp(name, "ent") == 0) return k % entities == 0 || net_uniform(n->seed, name, k) < 0.6;
    if (strcmp(name, "dt") == 0) { /* grows along the steps, with another pace for each entity */
        const double j = (double)(k / entities % o->cfg.context);
        return 0.3 + j * (0.4 + 0.3 * (double)(k % entities)) + 0.1 * j * j;
    }
    return NAN;
}

static void any_sizes_and_options(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const options o = draw_options(seed);
        net_check(&(net){ describe, &o, seed, fill, "ent dt obs", false, 0, 0 });
    }
}

/* -------- small parts -------- */

static void context_over_the_batch_has_mean_0_and_deviation_1(void **state)
{
    (void)state;
    pass p;
    make_pass(&p, &variant_a, true);
    CHECK_OK(ll_run_exec(p.run));
    const float *E = out(&p, "E");
    for (int k = 0; k < H; k++) {
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < B * S; i++) {
            sum += (double)E[i * H + k];
            squares += pow((double)E[i * H + k], 2);
        }
        assert_true(fabs(sum) < 1e-4 && fabs(squares / (B * S) - 1.0) < 1e-3);
    }
    drop_pass(&p);
}

static void fresh_layers_start_equal_with_learned_positions_only(void **state)
{
    (void)state;
    static const char *const name[] = { "history_encoder.layers.0.linear1.weight",
                                        "history_encoder.layers.1.linear1.weight" };
    for (int which = 0; which < 2; which++) {
        pass                       p;
        const ll_summarizer_config b = variant_b(), *cfg = which == 0 ? &variant_a : &b;
        make_pass(&p, cfg, false);
        ll_params_init(p.params, 5);
        ll_summarizer_start(p.params, cfg, "");
        const ll_param_info *w0 = ll_params_find(p.params, name[0]),
                            *w1 = ll_params_find(p.params, name[1]);
        const int same = memcmp(w0->data, w1->data, (size_t)w0->count * sizeof(float));
        assert_true((same == 0) == (which == 0));
        drop_pass(&p);
    }
}

/* What inference needs does not grow with the number of entities. */
static void the_parameter_count_is_the_papers(void **state)
{
    (void)state;
    ll_summarizer_config cfg = LL_SUMMARIZER_PAPER;
    cfg.n_entities = 3;
    cfg.features = 5;
    cfg.context = cfg.tokens = 336;
    ll_graph *g;
    int64_t   n = 0;
    CHECK_OK(ll_graph_create(&g));
    const ll_shape   all = LL_SHAPE(1, 336, 3, 5);
    const ll_history h = { .x = ll_input(g, "x", all), .dx = ll_input(g, "dx", all) };
    ll_summarize(g, &cfg, &h);
    CHECK_OK(ll_graph_status(g));
    for (int i = 0; i < ll_graph_n_params(g); i++) {
        const ll_shape s = ll_shape_of(ll_graph_param(g, i));
        n += ll_shape_count(&s);
    }
    assert_int_equal(n, 274016);
    ll_graph_destroy(g);
}

static void another_history_is_refused(void **state)
{
    (void)state;
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    const ll_shape   all = LL_SHAPE(1, L, N + 1, D);
    const ll_history h = { .x = ll_input(g, "x", all), .dx = ll_input(g, "dx", all) };
    ll_summarize(g, &variant_a, &h);
    CHECK_FAIL(ll_graph_status(g), LLAP_EINVAL, "history: expected [B,7,3,2], found [B,7,4,2]");
    ll_graph_destroy(g);
}

static llap_status describe_once(void *user)
{
    (void)user;
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    const options o = draw_options(10); /* no masks: the grid; with irregular pooling */
    (void)describe(g, &o);
    const ll_adapter_config adapter = { .hidden = 4, .scale = 0.5 };
    ll_tensor              *E = ll_input(g, "more", LL_SHAPE(1, 3, 4));
    ll_scope_push(g, "adapter");
    ll_context_adapt(g, &adapter, E, ll_input(g, "tokens", LL_SHAPE(1, 5, 3)));
    ll_scope_pop(g);
    st = ll_graph_status(g);
    ll_graph_destroy(g);
    return st;
}

static void memory_failures_are_told(void **state)
{
    (void)state;
    check_every_failed_allocation(describe_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_numbers_of_the_specification),
        cmocka_unit_test(absent_entities_change_nothing),
        cmocka_unit_test(options_take_away_what_they_say),
        cmocka_unit_test(absolute_time_is_not_divided),
        cmocka_unit_test(rows_do_not_depend_on_their_batch),
        cmocka_unit_test(any_sizes_and_options),
        cmocka_unit_test(context_over_the_batch_has_mean_0_and_deviation_1),
        cmocka_unit_test(fresh_layers_start_equal_with_learned_positions_only),
        cmocka_unit_test(the_parameter_count_is_the_papers),
        cmocka_unit_test(another_history_is_refused),
        cmocka_unit_test(memory_failures_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
