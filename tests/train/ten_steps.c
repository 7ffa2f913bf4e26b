/* The default profile's networks against the same steps by hand: the order of the rows, tokens and
 * queries from the panel's values, what training varies, noise, loss, rate, clipping, AdamW and the
 * moving average in obvious loops and double precision. Only the laws of the anchor, and loss and
 * gradient of the networks (on the ref backend), come from the program. */
#include "folder.h"
#include "hand.h"
#include "rows_by_hand.h"

#include "networks/denoiser.h"
#include "networks/patches.h"

#include <unistd.h>

/* ---- a member by hand ---- */

typedef struct result {
    double loss[STEPS], *ema[STEPS + 1]; /* averaged weights, before and after each step */
    int    clipped;
    hand   h; /* its names */
} result;

typedef struct inputs {
    double  *tokens, *token_pad, *z, *time, *tq, *f, *pad, *v, *weight;
    int32_t *entity;
} inputs;

/* Loss: sum of weight (prediction - v)^2; what z, v and weight are is the caller's. */
static inputs describe(hand *h, const ll_network_config *c, uint64_t seed)
{
    static int32_t entity[BATCH];
    const int64_t  B = BATCH, F = c->patches.token_dim, Q = c->denoiser.query_features;
    const int64_t  Z = c->denoiser.data_dim;
    const ll_shape values = LL_SHAPE(B, QUERIES, Z);
    CHECK_OK(ll_graph_create(&h->g));
    ll_graph   *g = h->g;
    ll_tensor  *pad = ll_input(g, "token_pad", LL_SHAPE(B, S));
    ll_patch_in p = { .tokens = ll_input(g, "tokens", LL_SHAPE(B, S, F)),
                      .pad = pad,
                      .training = true };
    if (c->patches.entities > 0) p.entity = ll_input_int(g, "entity", LL_SHAPE(B));
    ll_scope_push(g, "summarizer");
    ll_tensor *E = ll_patch_summary(g, &c->patches, &p);
    ll_scope_pop(g);
    const ll_denoiser_in d = { .z = ll_input(g, "z", values),
                               .time = ll_input(g, "time", LL_SHAPE(B)),
                               .tq = ll_input(g, "tq", LL_SHAPE(B, QUERIES)),
                               .f = ll_input(g, "f", LL_SHAPE(B, QUERIES, Q)),
                               .pad = ll_input(g, "pad", LL_SHAPE(B, QUERIES)),
                               .E = E,
                               .E_pad = pad,
                               .training = true };
    ll_scope_push(g, "denoiser");
    ll_tensor *prediction = ll_denoiser(g, &c->denoiser, &d);
    ll_scope_pop(g);
    ll_tensor *error = ll_sub(g, prediction, ll_input(g, "v", values));
    ll_tensor *weight = ll_input(g, "weight", values);
    hand_init(h, ll_sum(g, ll_mul(g, weight, ll_square(g, error)), LL_ALL_AXES), seed);
    CHECK_OK(ll_denoiser_init_calendar(h->p, "denoiser.", seed, 1.0));
    hand_start_ema(h);
    if (p.entity != NULL) CHECK_OK(ll_run_bind(h->run, "entity", entity, B));
    return (inputs){ .tokens = hand_in(h, "tokens", B * S * F),
                     .token_pad = hand_in(h, "token_pad", B * S),
                     .z = hand_in(h, "z", B * QUERIES * Z),
                     .time = hand_in(h, "time", B),
                     .tq = hand_in(h, "tq", B * QUERIES),
                     .f = hand_in(h, "f", B * QUERIES * Q),
                     .pad = hand_in(h, "pad", B * QUERIES),
                     .v = hand_in(h, "v", B * QUERIES * Z),
                     .weight = hand_in(h, "weight", B * QUERIES * Z),
                     .entity = entity };
}

/* Row b of the batch: noise of its own, a time from its own part of (0, 1). Values that are known.
 */
static double put_row(const ll_network_config *c, const seen *x, uint64_t seed, uint64_t id,
                      int step, int b, const inputs *in)
{
    const int    F = (int)c->patches.token_dim, Q = (int)c->denoiser.query_features;
    const int    Z = (int)c->denoiser.data_dim;
    const ll_rng when = ll_rng_make(seed, LL_STREAM_DIFFUSE, 0, 1, (uint32_t)step);
    const ll_rng noise = ll_rng_make(seed, LL_STREAM_DIFFUSE, id, 0, (uint32_t)step);
    const double t = 0.003 + 0.994 * (b + (double)ll_rng_uniform(&when, (uint64_t)b)) / BATCH;
    const double alpha = cos(acos(-1) / 2 * t), sigma = sin(acos(-1) / 2 * t);
    double       known = 0;
    in->time[b] = t;
    in->entity[b] = x->embedding;
    for (int j = 0; j < S; j++) {
        in->token_pad[b * S + j] = x->dropped[j];
        for (int k = 0; k < F; k++) in->tokens[(b * S + j) * F + k] = x->token[j][k];
    }
    for (int q = 0; q < QUERIES; q++) {
        const int at = b * QUERIES + q;
        in->tq[at] = x->tq[q];
        in->pad[at] = 1 - x->asked[q];
        for (int k = 0; k < Q; k++) in->f[at * Q + k] = x->f[q][k];
        for (int z = 0; z < Z; z++) {
            const double e = (double)ll_rng_normal(&noise, (uint64_t)(q * Z + z));
            in->z[at * Z + z] = alpha * x->z0[q][z] + sigma * e;
            in->v[at * Z + z] = alpha * e - sigma * x->z0[q][z];
            in->weight[at * Z + z] = x->mask[q][z];
            known += x->mask[q][z];
        }
    }
    return known;
}

static double rate(int step)
{
    if (step < WARM) return RATE * (step + 1) / WARM;
    const double part = (double)(step - WARM) / (STEPS - WARM);
    return RATE * (0.02 + 0.98 * 0.5 * (1 + cos(acos(-1) * part)));
}

static void train_by_hand(sensors *s, int member, result *out)
{
    static seen              x;
    const ll_network_config *c = &s->m->network->config;
    const uint64_t           seed = SEED + (uint64_t)member * 1000003;
    const inputs             in = describe(&out->h, c, seed);
    const int                Z = (int)c->denoiser.data_dim;
    int32_t                 *rng = ll_params_find(out->h.p, "rng")->data;
    uint32_t                 order[MOST];
    int64_t                  count = 0;
    for (int i = 0; i < ll_params_count(out->h.p); i++) count += ll_params_at(out->h.p, i)->count;
    out->ema[0] = ll_new((size_t)count, sizeof **out->ema);
    memcpy(out->ema[0], out->h.ema, (size_t)count * sizeof **out->ema);
    assert_true(s->n > STEPS * BATCH); /* one epoch */
    const ll_rng shuffle = ll_rng_make(seed, LL_STREAM_SHUFFLE, 0, 0, 0);
    ll_rng_permute(&shuffle, (size_t)s->n, order);
    for (int step = 0; step < STEPS; step++) {
        double known = 0;
        for (int b = 0; b < BATCH; b++) {
            const int64_t row = order[step * BATCH + b];
            see(s, row, seed, (uint32_t)step, &x);
            known += put_row(c, &x, seed, s->id[row], step, b, &in);
        }
        for (int i = 0; i < BATCH * QUERIES * Z; i++) in.weight[i] /= known;
        rng[0] = (int32_t)seed, rng[1] = rng[3] = 0; /* of dropout; [2] is the step */
        out->loss[step] = hand_step(&out->h, step, rate(step),
                                    (hand_optim){ .beta2 = 0.98, .decay = 0.02, .ema = 0.99 });
        out->clipped += out->h.norm > 1;
        out->ema[step + 1] = ll_new((size_t)count, sizeof **out->ema);
        memcpy(out->ema[step + 1], out->h.ema, (size_t)count * sizeof **out->ema);
    }
}

/* ---- the comparison ---- */

/* After how many steps the program kept the weights: its last line that was better. */
static int kept_step(const char *log, const char *stage)
{
    char  *text;
    size_t size;
    int    line = -1, best = -1;
    CHECK_OK(ll_file_read(log, 1 << 20, &text, &size));
    for (char *x = strtok(text, "\n"); x != NULL; x = strtok(NULL, "\n")) {
        if (strstr(x, stage) == NULL) continue;
        line++;
        if (strstr(x, "\"better\":true") != NULL) best = line;
    }
    ll_free(text);
    return (best + 1) * EACH;
}

static void check_member(sensors *s, const char *log, int member)
{
    char    stage[16];
    double  found[TEN / EACH];
    result *r = ll_new(1, sizeof *r);
    snprintf(stage, sizeof stage, "member.%d", member);
    train_by_hand(s, member, r);
    read_losses(log, stage, found, TEN / EACH);
    for (int i = 0; i < TEN / EACH; i++) {
        const double mean = (r->loss[EACH * i] + r->loss[EACH * i + 1]) / 2;
        /* single against double precision, through the steps of Adam */
        if (fabs(found[i] - mean) > 2e-4 * fabs(mean))
            fail_msg("%s, line %d: expected a loss of %.7g, found %.7g", stage, i, mean, found[i]);
    }
    assert_true(r->clipped > 0);
    const int     kept = kept_step(log, stage);
    const double *ema = r->ema[kept], *before = r->ema[0];
    double        apart = 0, moved = 0; /* sums of squares */
    for (int i = 0; i < ll_params_count(r->h.p); i++) {
        const ll_param_info *x = ll_params_at(r->h.p, i);
        char                 name[128];
        snprintf(name, sizeof name, "%s.%s", stage, x->name);
        const ll_param_info *y = ll_params_find(s->m->network->params, name);
        for (int64_t k = 0; y != NULL && k < x->count; k++) {
            apart += pow(ema[k] - (double)((const float *)y->data)[k], 2);
            moved += pow(ema[k] - before[k], 2);
        }
        ema += x->count;
        before += x->count;
    }
    print_message("%s: %d steps moved the weights by %.1e, %.1e from those by hand\n", stage, kept,
                  sqrt(moved), sqrt(apart));
    /* most of it in the biases of keys, whose gradient is 0 and in single precision chance */
    assert_true(apart < 2e-3 * 2e-3 * moved);
    for (int i = 0; i <= STEPS; i++) ll_free(r->ema[i]);
    hand_deinit(&r->h);
    ll_free(r);
}

static void check_steps(llap_train_view view)
{
    char            log[64], config[64];
    llap_train_opts o = { 0 };
    llap_model     *m;
    sensors        *s = ll_new(1, sizeof *s);
    snprintf(log, sizeof log, "%s/%d.log", folder, (int)view);
    snprintf(config, sizeof config, "%s/config", folder);
    FILE *f = fopen(config, "w");
    fprintf(f,
            "{ \"network\": { \"features\": { \"augment\": %g } }, "
            "\"training\": { \"networks\": { \"check_rows\": 8, \"final_rows\": 8 } } }",
            AUGMENT);
    fclose(f);
    o.target = "no2", o.context = "60h", o.horizon = "6";
    o.size = LLAP_TRAIN_SIZE_TINY, o.view = view, o.members = 2;
    o.steps = STEPS, o.batch = BATCH, o.lr = RATE, o.seed = SEED;
    o.config = config, o.history = log;
    CHECK_OK(llap_train(panel, &o, &m));
    sensors_init(s, m, view == LLAP_TRAIN_VIEW_JOINT);
    for (int member = 0; member < 2; member++) check_member(s, log, member);
    assert_true(s->shifted > 0 && s->shortened > 0 && s->strangers > 0 && s->dropped > 0);
    ll_free(s);
    llap_model_destroy(m);
}

static void steps_of_joint_rows(void **state)
{
    (void)state;
    check_steps(LLAP_TRAIN_VIEW_JOINT);
}

static void steps_of_single_rows(void **state)
{
    (void)state;
    check_steps(LLAP_TRAIN_VIEW_ROWS);
}

/* The keys of dropout, which the comparison above shares with the program. */
static void dropout_is_named_by_seed_op_step_and_element(void **state)
{
    (void)state;
    enum { n = 100 };
    const uint64_t seed = UINT64_C(0x123456789abcdef0), step = UINT64_C(0x300000005);
    hand           h = { 0 };
    CHECK_OK(ll_graph_create(&h.g));
    ll_tensor *x = ll_input(h.g, "x", LL_SHAPE(n));
    ll_output(h.g, "0", ll_dropout(h.g, x, 0.3));
    ll_tensor *y = ll_dropout(h.g, x, 0.3);
    ll_output(h.g, "1", y);
    hand_init(&h, ll_sum(h.g, y, LL_ALL_AXES), 1);
    double  *in = hand_in(&h, "x", n);
    int32_t *rng = ll_params_find(h.p, "rng")->data;
    for (int i = 0; i < 2; i++) {
        rng[i] = (int32_t)(uint32_t)(seed >> 32 * i);
        rng[2 + i] = (int32_t)(uint32_t)(step >> 32 * i);
    }
    for (int i = 0; i < n; i++) in[i] = 7;
    CHECK_OK(ll_run_exec(h.run));
    for (uint64_t op = 0; op < 2; op++) {
        const double *out = ll_run_output(h.run, op == 0 ? "0" : "1", NULL);
        const ll_rng  r = ll_rng_make(seed, LL_STREAM_DROPOUT, op, 3, 5);
        for (uint64_t i = 0; i < n; i++)
            assert_float_equal(out[i], ll_rng_uniform(&r, i) < 0.3f ? 0 : 10, 1e-12);
    }
    hand_deinit(&h);
}

static int set_up(void **state)
{
    panel = make_rows_on(&LL_AXIS_UTC, "no2", "wind", N, HOURS);
    return make_folder(state);
}

static int tear_down(void **state)
{
    llap_panel_destroy(panel);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_joint_rows),
        cmocka_unit_test(steps_of_single_rows),
        cmocka_unit_test(dropout_is_named_by_seed_op_step_and_element),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
