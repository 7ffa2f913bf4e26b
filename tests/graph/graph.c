/* The graph, the planner and runs: messages, memory, states, caches, failures, threads. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include "graph/plan.h"

#include <pthread.h>

static const llap_plan_opts on_cpu = { .backend = &llap_backend_cpu, .n_threads = 1 };

/* Builds a graph, checks its failure's text. */
static void check_message(void (*describe)(llap_graph *), const char *text)
{
    llap_graph *g;
    CHECK_OK(llap_graph_create(&g));
    describe(g);
    CHECK_FAIL(llap_graph_status(g), LLAP_EINVAL, text);
    llap_plan *p;
    CHECK_FAIL(llap_plan_create(g, &on_cpu, &p), LLAP_EINVAL, text);
    llap_graph_destroy(g);
}

static void wrong_weight(llap_graph *g)
{
    llap_scope_push(g, "blocks.0");
    llap_scope_push(g, "coef2hid");
    llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(2, 512, 24));
    llap_tensor *w = llap_param(g, "weight", LLAP_SHAPE(256, 16), LLAP_INIT_ZERO);
    llap_tensor *y = llap_linear(g, x, w, NULL);
    llap_scope_pop(g);
    llap_scope_pop(g);
    llap_output(g, "y", llap_exp(g, y)); /* goes on with NULL, keeps the first message */
}

static void wrong_keys(llap_graph *g)
{
    llap_tensor *q = llap_input(g, "q", LLAP_SHAPE(2, 5, 8));
    llap_tensor *k = llap_input(g, "k", LLAP_SHAPE(2, 7, 6));
    llap_attention(g, q, k, k, &(llap_attention_opts){ .n_heads = 2 });
}

static void wrong_heads(llap_graph *g)
{
    llap_tensor *q = llap_input(g, "q", LLAP_SHAPE(2, 5, 8));
    llap_attention(g, q, q, q, &(llap_attention_opts){ .n_heads = 3 });
}

static void wrong_sum(llap_graph *g)
{
    llap_add(g, llap_input(g, "a", LLAP_SHAPE(2, 3)), llap_input(g, "b", LLAP_SHAPE(2, 4)));
}

static void wrong_reshape(llap_graph *g)
{
    llap_reshape(g, llap_input(g, "a", LLAP_SHAPE(2, 3)), LLAP_SHAPE(7));
}

static void declared_twice(llap_graph *g)
{
    llap_input(g, "a", LLAP_SHAPE(2, 3));
    llap_input(g, "a", LLAP_SHAPE(3, 2));
}

static void wrong_index(llap_graph *g)
{
    llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(4));
    llap_embedding(g, llap_param(g, "w", LLAP_SHAPE(9, 2), LLAP_INIT_ZERO), x);
}

static void huge(llap_graph *g) { llap_input(g, "x", LLAP_SHAPE(1 << 30, 1 << 30)); }

static void messages_name_op_place_and_shapes(void **state)
{
    (void)state;
    check_message(wrong_weight,
                  "linear 'blocks.0.coef2hid': weight expected [256,24], found [256,16]");
    check_message(wrong_keys, "attention: k expected [2,7,8], found [2,7,6]");
    check_message(wrong_heads, "attention: 3 heads do not divide width 8");
    check_message(wrong_sum, "add: [2,3] and [2,4] do not broadcast");
    check_message(wrong_reshape, "reshape: [2,3]: cannot become [7]");
    check_message(declared_twice, "'a' is declared twice: first [2,3], then [3,2]");
    check_message(wrong_index, "embedding: index expected whole numbers");
    check_message(huge, "[1073741824,1073741824]: negative or too large");
}

/* -------- a small training graph -------- */

enum { B = 3, L = 6, W = 8 };

/* A transformer-like block, a loss, its gradients and a step of AdamW on every parameter. */
static llap_status describe_training(llap_graph *g, const int64_t *key, int n_key, void *user)
{
    (void)user;
    const int64_t b = n_key > 0 ? key[0] : B;
    llap_tensor  *x = llap_input(g, "x", LLAP_SHAPE(b, L, W)), *part[3];
    llap_tensor  *target = llap_input(g, "target", LLAP_SHAPE(b, L, W));
    llap_scope_push(g, "block");
    llap_tensor *qkv =
        llap_linear(g, llap_layer_norm(g, x, NULL, NULL, 1e-5),
                    llap_param(g, "qkv.weight", LLAP_SHAPE(3 * W, W), LLAP_INIT_UNIFORM(0.3)),
                    llap_param(g, "qkv.bias", LLAP_SHAPE(3 * W), LLAP_INIT_ZERO));
    llap_split_axis(g, qkv, -1, 3, part);
    llap_tensor *y = llap_attention(g, part[0], part[1], part[2],
                                    &(llap_attention_opts){ .n_heads = 2, .dropout = 0.1 });
    y = llap_add(g, x, llap_dropout(g, y, 0.1));
    llap_tensor *up = llap_linear(g, llap_layer_norm(g, y, NULL, NULL, 1e-5),
                                  llap_param(g, "w", LLAP_SHAPE(2 * W, W), LLAP_INIT_UNIFORM(0.3)),
                                  llap_param(g, "b", LLAP_SHAPE(2 * W), LLAP_INIT_ZERO));
    y = llap_add(g, y,
                 llap_linear(g, llap_gelu(g, up),
                             llap_param(g, "down", LLAP_SHAPE(W, 2 * W), LLAP_INIT_UNIFORM(0.3)),
                             NULL));
    llap_scope_pop(g);
    llap_tensor *loss = llap_mean(g, llap_square(g, llap_sub(g, y, target)), LLAP_ALL_AXES);
    llap_output(g, "loss", loss);

    llap_tensor *param[8], *grad[8];
    const int    n = llap_graph_n_params(g);
    assert_true(n <= 8);
    for (int i = 0; i < n; i++) param[i] = llap_graph_param(g, i);
    llap_gradients(g, loss, param, n, grad);
    llap_tensor *lr = llap_full(g, LLAP_SCALAR, 0.01), *one = llap_full(g, LLAP_SCALAR, 1.0);
    llap_tensor *step = llap_input_int(g, "step", LLAP_SCALAR);
    for (int i = 0; i < n && llap_graph_status(g) == LLAP_OK; i++) {
        char         name[80];
        llap_tensor *out[3], *m, *v;
        snprintf(name, sizeof name, "m.%s", llap_tensor_name(param[i]));
        m = llap_state(g, name, llap_shape_of(param[i]), LLAP_INIT_ZERO);
        snprintf(name, sizeof name, "v.%s", llap_tensor_name(param[i]));
        v = llap_state(g, name, llap_shape_of(param[i]), LLAP_INIT_ZERO);
        llap_adamw_step(g, param[i], m, v, grad[i], one, lr, step,
                        &(llap_adamw_attr){ 0.9, 0.999, 1e-8, 5e-4 }, out);
        llap_update(g, param[i], out[0]);
        llap_update(g, m, out[1]);
        llap_update(g, v, out[2]);
    }
    return llap_graph_status(g);
}

typedef struct bound { /* a run and the memory of its slots */
    llap_run *run;
    void     *data[40];
    int       n;
    int32_t  *step, *rng;
} bound;

static void unbind(bound *b)
{
    for (int i = 0; i < b->n; i++) llap_free(b->data[i]);
    llap_run_destroy(b->run);
    *b = (bound){ 0 };
}

static llap_status bind_all(llap_plan *p, bound *b)
{
    *b = (bound){ 0 };
    llap_status st = llap_run_create(p, &b->run);
    for (int i = 0; i < llap_plan_n_slots(p) && st == LLAP_OK; i++) {
        const llap_slot *s = llap_plan_slot(p, i);
        const int64_t    n = llap_shape_count(&s->shape);
        float           *x = llap_new((size_t)n, sizeof *x);
        if (x == NULL) {
            st = LLAP_ENOMEM;
            break;
        }
        b->data[b->n++] = x;
        for (int64_t k = 0; k < n && s->elem == LLAP_REAL && s->leaf != LLAP_LEAF_STATE; k++)
            x[k] = sinf((float)(k + 1) * 0.7f + (float)s->name[0]) *
                   (s->leaf == LLAP_LEAF_PARAM ? 0.3f : 1.0f);
        if (strcmp(s->name, "step") == 0) b->step = (int32_t *)(void *)x;
        if (strcmp(s->name, "rng") == 0) b->rng = (int32_t *)(void *)x;
        st = llap_run_bind(b->run, s->name, x, n);
    }
    if (st != LLAP_OK) unbind(b);
    return st;
}

static llap_status train(bound *b, int n_steps, float *first, float *last)
{
    for (int i = 0; i < n_steps; i++) {
        *b->step = i + 1;
        b->rng[2] = i;
        const llap_status st = llap_run_exec(b->run);
        if (st != LLAP_OK) return st;
        *last = *(const float *)llap_run_output(b->run, "loss", NULL);
        if (i == 0) *first = *last;
    }
    return LLAP_OK;
}

static llap_plan *plan_training(bool plain, const llap_backend *backend)
{
    llap_graph *g;
    llap_plan  *p;
    CHECK_OK(llap_graph_create(&g));
    CHECK_OK(describe_training(g, NULL, 0, NULL));
    CHECK_OK(llap_plan_create(
        g, &(llap_plan_opts){ .backend = backend, .n_threads = 1, .plain = plain }, &p));
    llap_graph_destroy(g);
    return p;
}

static void training_learns_and_allocates_nothing(void **state)
{
    (void)state;
    llap_plan *p = plan_training(false, &llap_backend_cpu);
    bound      b;
    float      first = 0, last = 0;
    CHECK_OK(bind_all(p, &b));
    CHECK_OK(train(&b, 1, &first, &last));
    const int64_t calls = llap_alloc_calls();
    CHECK_OK(train(&b, 60, &first, &last));
    assert_int_equal(llap_alloc_calls(), calls);
    assert_true(last < 0.9f * first);
    unbind(&b);
    llap_plan_release(p);
}

static bool is_merged(llap_op op)
{
    return op == LLAP_OP_GELU || op == LLAP_OP_GELU_GRAD || op == LLAP_OP_CONCAT ||
           op == LLAP_OP_COPY;
}

/* Fusion and reuse of memory give the bytes of the plain plan, in less memory and fewer steps. */
static void planning_does_not_change_training(void **state)
{
    (void)state;
    llap_plan *p = plan_training(false, &llap_backend_cpu);
    llap_plan *plain = plan_training(true, &llap_backend_cpu);
    bound      b, c;
    float      first = 0, last = 0, other = 0;
    int        n_adds = 0;
    assert_true(llap_plan_workspace(p) < llap_plan_workspace(plain) / 2);
    assert_true(llap_plan_n_steps(p) < llap_plan_n_steps(plain));
    for (int i = 0; i < llap_plan_n_steps(p); i++) {
        assert_false(is_merged(llap_plan_step_at(p, i).op)); /* part of a neighbour */
        n_adds += llap_plan_step_at(p, i).op == LLAP_OP_ADD;
    }
    assert_int_equal(n_adds, 1); /* behind dropout */
    CHECK_OK(bind_all(p, &b));
    CHECK_OK(bind_all(plain, &c));
    CHECK_OK(train(&b, 5, &first, &last));
    CHECK_OK(train(&c, 5, &first, &other));
    assert_memory_equal(&last, &other, sizeof last);
    for (int i = 0; i < llap_plan_n_slots(p); i++)
        for (int k = 0; k < llap_plan_n_slots(plain); k++)
            if (strcmp(llap_plan_slot(p, i)->name, llap_plan_slot(plain, k)->name) == 0)
                assert_memory_equal(b.data[i], c.data[k],
                                    (size_t)llap_shape_count(&llap_plan_slot(p, i)->shape) * 4);
    unbind(&b);
    unbind(&c);
    llap_plan_release(p);
    llap_plan_release(plain);
}

static llap_status build_plan_run(void *user)
{
    (void)user;
    llap_graph *g = NULL;
    llap_plan  *p = NULL;
    bound       b = { 0 };
    float       first = 0, last = 0;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) st = describe_training(g, NULL, 0, NULL);
    if (st == LLAP_OK) st = llap_plan_create(g, &on_cpu, &p);
    llap_graph_destroy(g);
    if (st == LLAP_OK) st = bind_all(p, &b);
    if (st == LLAP_OK) st = train(&b, 1, &first, &last);
    unbind(&b);
    llap_plan_release(p);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    check_every_failed_allocation(build_plan_run, NULL);
}

static void binding_is_checked(void **state)
{
    (void)state;
    llap_plan *p = plan_training(false, &llap_backend_cpu);
    llap_run  *r;
    float      x[B * L * W] = { 0 };
    CHECK_OK(llap_run_create(p, &r));
    CHECK_FAIL(llap_run_bind(r, "x", x, 5), LLAP_EINVAL, "'x': expected [3,6,8], found 5 elements");
    CHECK_FAIL(llap_run_bind(r, "nothing", x, 5), LLAP_ENOTFOUND, "'nothing'");
    CHECK_OK(llap_run_bind(r, "x", x, B * L * W));
    CHECK_FAIL(llap_run_exec(r), LLAP_EINVAL, "is not bound");
    assert_null(llap_run_output(r, "nothing", NULL));
    llap_run_destroy(r);
    llap_plan_release(p);
}

/* -------- updates -------- */

/* a' = b, b' = a + b, c' = 2 c also read elsewhere: all reads see the old content. */
static void updates_happen_after_all_reads(void **state)
{
    (void)state;
    llap_graph *g;
    llap_plan  *p;
    llap_run   *r;
    float       a[2] = { 1, 2 }, b[2] = { 3, 5 }, c[2] = { 7, 9 };
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *ta = llap_state(g, "a", LLAP_SHAPE(2), LLAP_INIT_ZERO);
    llap_tensor *tb = llap_state(g, "b", LLAP_SHAPE(2), LLAP_INIT_ZERO);
    llap_tensor *tc = llap_state(g, "c", LLAP_SHAPE(2), LLAP_INIT_ZERO);
    llap_tensor *doubled = llap_scale(g, tc, 2.0);
    llap_update(g, tc, doubled);
    llap_update(g, ta, tb);
    llap_update(g, tb, llap_add(g, ta, tb));
    llap_output(g, "y", llap_add(g, llap_exp(g, doubled), llap_mul(g, tc, ta)));
    CHECK_OK(llap_plan_create(g, &on_cpu, &p));
    llap_graph_destroy(g);
    CHECK_OK(llap_run_create(p, &r));
    CHECK_OK(llap_run_bind(r, "a", a, 2));
    CHECK_OK(llap_run_bind(r, "b", b, 2));
    CHECK_OK(llap_run_bind(r, "c", c, 2));
    CHECK_OK(llap_run_exec(r));
    const float *y = llap_run_output(r, "y", NULL);
    assert_true(fabsf(y[0] - (expf(14) + 7)) < 1.0f && fabsf(y[1] - (expf(18) + 18)) < 20.0f);
    assert_true(a[0] == 3 && a[1] == 5 && b[0] == 4 && b[1] == 7 && c[0] == 14 && c[1] == 18);
    llap_run_destroy(r);
    llap_plan_release(p);
}

/* -------- cache and threads -------- */

/* Weights that are fixed are read once, until others are bound; one that a step writes is not. */
static void fixed_weights_are_kept_until_others_are_bound(void **state)
{
    enum { M = 150, N = 40, K = 33 };
    (void)state;
    static float x[M * K], w[2][N * K], moved[N * K];
    llap_graph  *g;
    llap_plan   *p[2];
    llap_run    *r[2];
    for (int i = 0; i < M * K; i++) x[i] = (float)(i % 17) - 8.0f;
    for (int i = 0; i < N * K; i++) w[0][i] = (float)(i % 7) - 3.0f, w[1][i] = (float)(i % 5);
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *fixed = llap_param(g, "fixed", LLAP_SHAPE(N, K), LLAP_INIT_ZERO);
    llap_tensor *state_w = llap_state(g, "moved", LLAP_SHAPE(N, K), LLAP_INIT_ZERO);
    llap_tensor *in = llap_input(g, "x", LLAP_SHAPE(M, K));
    llap_output(g, "y", llap_linear(g, in, fixed, NULL));
    llap_output(g, "z", llap_linear(g, in, state_w, NULL));
    llap_update(g, state_w, llap_scale(g, state_w, 2.0));
    for (int i = 0; i < 2; i++) {
        llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = 2, .fixed_params = i == 1 };
        CHECK_OK(llap_plan_create(g, &o, &p[i]));
        CHECK_OK(llap_run_create(p[i], &r[i]));
        CHECK_OK(llap_run_bind(r[i], "x", x, M * K));
    }
    assert_true(llap_plan_workspace(p[1]) > llap_plan_workspace(p[0]));
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < N * K; k++) moved[k] = (float)(k % 3 + turn);
            CHECK_OK(llap_run_bind(r[i], "fixed", w[turn / 2], N * K));
            CHECK_OK(llap_run_bind(r[i], "moved", moved, N * K));
            CHECK_OK(llap_run_exec(r[i]));
            for (const char *name = "y"; name != NULL; name = *name == 'y' ? "z" : NULL) {
                const float *y = llap_run_output(r[i], name, NULL);
                if (i == 1)
                    assert_memory_equal(llap_run_output(r[0], name, NULL), y, M * N * sizeof *y);
                assert_true(y[1] != 0.0f);
            }
        }
    for (int i = 0; i < 2; i++) {
        llap_run_destroy(r[i]);
        llap_plan_release(p[i]);
    }
    llap_graph_destroy(g);
}

/* A layer and what is added to all its items alike are one step, with the same bits; items of
 * their own, which the middle axis shares, are added apart. */
static void a_layer_adds_what_items_share(void **state)
{
    (void)state;
    enum { R = 3, M = 50, K = 5, N = 40, WINDOWS = 2 };
    static float  x[WINDOWS * R * M * K], w[N * K], add[WINDOWS * M * N];
    static double z[2][WINDOWS * R * M * N];
    for (int i = 0; i < WINDOWS * R * M * K; i++) x[i] = (float)(i % 17) - 8.3f;
    for (int i = 0; i < N * K; i++) w[i] = 0.02f * ((float)(i % 7) - 3.0f);
    for (int i = 0; i < WINDOWS * M * N; i++) add[i] = (float)(i % 1009) / 7.0f;
    for (int b = 1; b <= WINDOWS; b++) {
        for (int apart = 0; apart < 2; apart++) {
            llap_graph *g;
            llap_plan  *p;
            llap_run   *r;
            CHECK_OK(llap_graph_create(&g));
            llap_tensor *y =
                llap_linear(g, llap_input(g, "x", LLAP_SHAPE(b, R, M, K)),
                            llap_param(g, "w", LLAP_SHAPE(N, K), LLAP_INIT_ZERO), NULL);
            if (apart) llap_output(g, "first", y);
            llap_output(g, "y", llap_add(g, llap_input(g, "add", LLAP_SHAPE(b, 1, M, N)), y));
            const llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = 2 };
            CHECK_OK(llap_plan_create(g, &o, &p));
            CHECK_OK(llap_run_create(p, &r));
            CHECK_OK(llap_run_bind(r, "x", x, b * R * M * K));
            CHECK_OK(llap_run_bind(r, "w", w, N * K));
            CHECK_OK(llap_run_bind(r, "add", add, b * M * N));
            CHECK_OK(llap_run_exec(r));
            assert_int_equal(llap_plan_n_steps(p), apart || b > 1 ? 2 : 1);
            const float *out = llap_run_output(r, "y", NULL);
            for (int i = 0; i < b * R * M * N; i++) z[apart][i] = (double)out[i];
            llap_run_destroy(r);
            llap_plan_release(p);
            llap_graph_destroy(g);
        }
        assert_memory_equal(z[0], z[1], (size_t)(b * R * M * N) * sizeof **z);
    }
}

/* Norm, linear, GELU, linear + residual with fixed weights are one step, also where later ones are
 * bound, and give what the separate ops do. Modulated: each item's rows with their own gain and
 * shift. Shared: the same is added to all items. */
static void check_layers_behind_a_norm(bool modulated, bool shared)
{
    enum { R = 3, M = 10, H = 256, UP = 64, Z = 5 };
    static float x[R * M * H], w[UP * H], v[2][Z * UP], add[R * M * Z], own[2][R * H];
    llap_graph  *g;
    llap_plan   *p[2];
    llap_run    *r[2];
    for (int i = 0; i < R * M * H; i++) x[i] = (float)(i % 17) - 8.0f;
    for (int i = 0; i < UP * H; i++) w[i] = 0.02f * ((float)(i % 7) - 3.0f);
    for (int i = 0; i < Z * UP; i++) v[0][i] = (float)(i % 5), v[1][i] = (float)(i % 3);
    for (int i = 0; i < R * M * Z; i++) add[i] = (float)(i % 11);
    for (int i = 0; i < R * H; i++)
        own[0][i] = 0.1f * (float)(i % 13 - 2 * (i / H)), own[1][i] = (float)(i % 3 + i / H);
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *in = llap_input(g, "x", LLAP_SHAPE(R, M, H));
    llap_tensor *norm =
        !modulated ? llap_layer_norm(g, in, NULL, NULL, 1e-5)
                   : llap_modulated_norm(g, in, llap_input(g, "gain", LLAP_SHAPE(R, 1, H)),
                                         llap_input(g, "shift", LLAP_SHAPE(R, 1, H)), 1e-5);
    llap_tensor *up =
        llap_linear(g, norm, llap_param(g, "w", LLAP_SHAPE(UP, H), LLAP_INIT_ZERO), NULL);
    llap_tensor *y = llap_linear(g, llap_gelu(g, up),
                                 llap_param(g, "v", LLAP_SHAPE(Z, UP), LLAP_INIT_ZERO), NULL);
    const int    n_add = shared ? M * Z : R * M * Z;
    llap_output(g, "y", llap_add(g, y, llap_input(g, "add", LLAP_SHAPE(shared ? 1 : R, M, Z))));
    for (int i = 0; i < 2; i++) {
        llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = 2, .fixed_params = i == 1 };
        CHECK_OK(llap_plan_create(g, &o, &p[i]));
        CHECK_OK(llap_run_create(p[i], &r[i]));
        CHECK_OK(llap_run_bind(r[i], "x", x, R * M * H));
        CHECK_OK(llap_run_bind(r[i], "w", w, UP * H));
        CHECK_OK(llap_run_bind(r[i], "add", add, n_add));
        if (modulated) CHECK_OK(llap_run_bind(r[i], "gain", own[0], R * H));
        if (modulated) CHECK_OK(llap_run_bind(r[i], "shift", own[1], R * H));
    }
    assert_int_equal(llap_plan_n_steps(p[1]), 1);
    assert_int_equal(llap_plan_step_at(p[1], 0).op, LLAP_OP_MLP);
    /* Seven products in place of eight in the inner layer, but not by tiles. */
    const double inner = strcmp(llap_cpu_instructions(), "amx") == 0 ? 1.0 : 0.875;
    assert_true(llap_plan_products(p[1]) == R * M * UP * (inner * H + Z));
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++) {
            CHECK_OK(llap_run_bind(r[i], "v", v[turn], Z * UP));
            CHECK_OK(llap_run_exec(r[i]));
        }
        const float *one = llap_run_output(r[0], "y", NULL),
                    *two = llap_run_output(r[1], "y", NULL);
        for (int i = 0; i < R * M * Z; i++) assert_true(fabsf(one[i] - two[i]) <= 1e-4f);
    }
    for (int i = 0; i < 2; i++) {
        llap_run_destroy(r[i]);
        llap_plan_release(p[i]);
    }
    llap_graph_destroy(g);
}

/* What kernels leave out is not counted: zeros in 32 rows, and of x^T y in 256; three are. */
static void zeros_are_not_counted(void **state)
{
    (void)state;
    enum { N = 520, H = 40, U = 24 };
    static float x[N * H], w[U * H];
    const int    first = N - 256 - 32, second = N - 256;
    llap_graph  *g;
    llap_plan   *p;
    llap_run    *r;
    double       products;
    for (int i = 0; i < N * H; i++) {
        const int row = i / H;
        x[i] = row < 256 || row / 32 == 10 || (row >= 400 && row < 403) ? 0.0f : 1.0f;
    }
    for (int i = 0; i < U * H; i++) w[i] = 1.0f;
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *in = llap_input(g, "x", LLAP_SHAPE(N, H));
    llap_tensor *y = llap_linear(g, in, llap_input(g, "w", LLAP_SHAPE(U, H)), NULL);
    llap_output(g, "dw", llap_matmul(g, in, true, y, false));
    const llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = 2 };
    CHECK_OK(llap_plan_create(g, &o, &p));
    CHECK_OK(llap_run_create(p, &r));
    CHECK_OK(llap_run_bind(r, "x", x, N * H));
    CHECK_OK(llap_run_bind(r, "w", w, U * H));
    CHECK_OK(llap_run_exec_counted(r, &products));
    assert_true(llap_plan_products(p) == 2.0 * N * H * U);
    assert_true(fabs(products - (double)(first + second) * H * U) < 1.0);
    const float *dw = llap_run_output(r, "dw", NULL);
    for (int i = 0; i < H * U; i++) assert_true(dw[i] == (float)((first - 3) * H));
    llap_run_destroy(r);
    llap_plan_release(p);
    llap_graph_destroy(g);
}

static void layers_behind_a_norm_are_one_step(void **state)
{
    (void)state;
    check_layers_behind_a_norm(false, false);
    check_layers_behind_a_norm(true, false);
    check_layers_behind_a_norm(true, true);
}

/* Rows that are cut anew between the norm and the layers are other rows. */
static void layers_behind_another_norm_stay_apart(void **state)
{
    enum { R = 2, M = 6, H = 512, UP = 64, Z = 4 };
    (void)state;
    static float x[R * M * H], w[UP * H / 2], v[Z * UP];
    llap_graph  *g;
    llap_plan   *p[2];
    llap_run    *r[2];
    for (int i = 0; i < R * M * H; i++) x[i] = (float)(i % 19) * (i % H < H / 2 ? 1.0f : 3.0f);
    for (int i = 0; i < UP * H / 2; i++) w[i] = 0.02f * ((float)(i % 7) - 3.0f);
    for (int i = 0; i < Z * UP; i++) v[i] = (float)(i % 5);
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *in = llap_input(g, "x", LLAP_SHAPE(R, M, H));
    llap_tensor *cut =
        llap_reshape(g, llap_layer_norm(g, in, NULL, NULL, 1e-5), LLAP_SHAPE(R, 2 * M, H / 2));
    llap_tensor *up =
        llap_linear(g, cut, llap_param(g, "w", LLAP_SHAPE(UP, H / 2), LLAP_INIT_ZERO), NULL);
    llap_output(g, "y",
                llap_linear(g, llap_gelu(g, up),
                            llap_param(g, "v", LLAP_SHAPE(Z, UP), LLAP_INIT_ZERO), NULL));
    for (int i = 0; i < 2; i++) {
        llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = 1, .fixed_params = i == 1 };
        CHECK_OK(llap_plan_create(g, &o, &p[i]));
        CHECK_OK(llap_run_create(p[i], &r[i]));
        CHECK_OK(llap_run_bind(r[i], "x", x, R * M * H));
        CHECK_OK(llap_run_bind(r[i], "w", w, UP * H / 2));
        CHECK_OK(llap_run_bind(r[i], "v", v, Z * UP));
        CHECK_OK(llap_run_exec(r[i]));
    }
    const float *one = llap_run_output(r[0], "y", NULL), *two = llap_run_output(r[1], "y", NULL);
    for (int i = 0; i < R * 2 * M * Z; i++) assert_true(fabsf(one[i] - two[i]) <= 1e-4f);
    for (int i = 0; i < 2; i++) {
        llap_run_destroy(r[i]);
        llap_plan_release(p[i]);
    }
    llap_graph_destroy(g);
}

static void the_cache_keeps_plans_by_shape(void **state)
{
    (void)state;
    llap_plan_cache *c;
    llap_plan       *p[4];
    CHECK_OK(llap_plan_cache_create(&on_cpu, 2, describe_training, NULL, &c));
    for (int i = 0; i < 3; i++) {
        const int64_t key = i == 2 ? 1 : i + 1;
        CHECK_OK(llap_plan_cache_get(c, &key, 1, &p[i]));
    }
    assert_ptr_equal(p[0], p[2]);
    assert_ptr_not_equal(p[0], p[1]);
    const int64_t calls = llap_alloc_calls(), first = 1, third = 3, second = 2;
    CHECK_OK(llap_plan_cache_get(c, &first, 1, &p[3]));
    assert_int_equal(llap_alloc_calls(), calls); /* found, not built */
    llap_plan_release(p[3]);
    CHECK_OK(llap_plan_cache_get(c, &third, 1, &p[3])); /* pushes out 2, which we still hold */
    llap_plan_release(p[3]);
    CHECK_OK(llap_plan_cache_get(c, &second, 1, &p[3]));
    assert_ptr_not_equal(p[3], p[1]);
    for (int i = 0; i < 4; i++) llap_plan_release(p[i]);
    llap_plan_cache_destroy(c);
}

typedef struct worker {
    llap_plan_cache *cache;
    llap_status      status;
    float            loss;
} worker;

static void *work(void *user)
{
    worker       *w = user;
    llap_plan    *p = NULL;
    bound         b = { 0 };
    float         first = 0;
    const int64_t key = B;
    w->status = llap_plan_cache_get(w->cache, &key, 1, &p);
    if (w->status == LLAP_OK) w->status = bind_all(p, &b);
    if (w->status == LLAP_OK) w->status = train(&b, 8, &first, &w->loss);
    unbind(&b);
    llap_plan_release(p);
    return NULL;
}

static void threads_share_a_plan(void **state)
{
    (void)state;
    llap_plan_cache *c;
    pthread_t        thread[4];
    worker           w[4];
    CHECK_OK(llap_plan_cache_create(&on_cpu, 2, describe_training, NULL, &c));
    for (int i = 0; i < 4; i++) {
        w[i] = (worker){ .cache = c };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) (void)pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w[i].status, LLAP_OK);
        assert_memory_equal(&w[i].loss, &w[0].loss, sizeof w[0].loss);
    }
    llap_plan_cache_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_name_op_place_and_shapes),
        cmocka_unit_test(fixed_weights_are_kept_until_others_are_bound),
        cmocka_unit_test(training_learns_and_allocates_nothing),
        cmocka_unit_test(planning_does_not_change_training),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(binding_is_checked),
        cmocka_unit_test(updates_happen_after_all_reads),
        cmocka_unit_test(a_layer_adds_what_items_share),
        cmocka_unit_test(layers_behind_a_norm_are_one_step),
        cmocka_unit_test(zeros_are_not_counted),
        cmocka_unit_test(layers_behind_another_norm_stay_apart),
        cmocka_unit_test(the_cache_keeps_plans_by_shape),
        cmocka_unit_test(threads_share_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
