/* The graph, the planner and runs: messages, memory, states, failures, threads. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include "graph/plan.h"

#include <pthread.h>

static const ll_plan_opts on_cpu = { .backend = &ll_backend_cpu, .n_threads = 1 };

/* Builds a graph, checks its failure's text. */
static void check_message(void (*describe)(ll_graph *), const char *text)
{
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    describe(g);
    CHECK_FAIL(ll_graph_status(g), LLAP_EINVAL, text);
    ll_plan *p;
    CHECK_FAIL(ll_plan_create(g, &on_cpu, &p), LLAP_EINVAL, text);
    ll_graph_destroy(g);
}

static void wrong_weight(ll_graph *g)
{
    ll_scope_push(g, "blocks.0");
    ll_scope_push(g, "coef2hid");
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(2, 512, 24));
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(256, 16), LL_INIT_ZERO);
    ll_tensor *y = ll_linear(g, x, w, NULL);
    ll_scope_pop(g);
    ll_scope_pop(g);
    ll_output(g, "y", ll_exp(g, y)); /* goes on with NULL, keeps the first message */
}

static void wrong_keys(ll_graph *g)
{
    ll_tensor *q = ll_input(g, "q", LL_SHAPE(2, 5, 8));
    ll_tensor *k = ll_input(g, "k", LL_SHAPE(2, 7, 6));
    ll_attention(g, q, k, k, &(ll_attention_opts){ .n_heads = 2 });
}

static void wrong_heads(ll_graph *g)
{
    ll_tensor *q = ll_input(g, "q", LL_SHAPE(2, 5, 8));
    ll_attention(g, q, q, q, &(ll_attention_opts){ .n_heads = 3 });
}

static void wrong_sum(ll_graph *g)
{
    ll_add(g, ll_input(g, "a", LL_SHAPE(2, 3)), ll_input(g, "b", LL_SHAPE(2, 4)));
}

static void wrong_reshape(ll_graph *g)
{
    ll_reshape(g, ll_input(g, "a", LL_SHAPE(2, 3)), LL_SHAPE(7));
}

static void declared_twice(ll_graph *g)
{
    ll_input(g, "a", LL_SHAPE(2, 3));
    ll_input(g, "a", LL_SHAPE(3, 2));
}

static void wrong_index(ll_graph *g)
{
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(4));
    ll_embedding(g, ll_param(g, "w", LL_SHAPE(9, 2), LL_INIT_ZERO), x);
}

static void huge(ll_graph *g) { ll_input(g, "x", LL_SHAPE(1 << 30, 1 << 30)); }

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
static llap_status describe_training(ll_graph *g)
{
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(B, L, W)), *part[3];
    ll_tensor *target = ll_input(g, "target", LL_SHAPE(B, L, W));
    ll_scope_push(g, "block");
    ll_tensor *qkv = ll_linear(g, ll_layer_norm(g, x, NULL, NULL, 1e-5),
                               ll_param(g, "qkv.weight", LL_SHAPE(3 * W, W), LL_INIT_UNIFORM(0.3)),
                               ll_param(g, "qkv.bias", LL_SHAPE(3 * W), LL_INIT_ZERO));
    ll_split_axis(g, qkv, -1, 3, part);
    ll_tensor *y = ll_attention(g, part[0], part[1], part[2],
                                &(ll_attention_opts){ .n_heads = 2, .dropout = 0.1 });
    y = ll_add(g, x, ll_dropout(g, y, 0.1));
    ll_tensor *up = ll_linear(g, ll_layer_norm(g, y, NULL, NULL, 1e-5),
                              ll_param(g, "w", LL_SHAPE(2 * W, W), LL_INIT_UNIFORM(0.3)),
                              ll_param(g, "b", LL_SHAPE(2 * W), LL_INIT_ZERO));
    y = ll_add(g, y,
               ll_linear(g, ll_gelu(g, up),
                         ll_param(g, "down", LL_SHAPE(W, 2 * W), LL_INIT_UNIFORM(0.3)), NULL));
    ll_scope_pop(g);
    ll_tensor *loss = ll_mean(g, ll_square(g, ll_sub(g, y, target)), LL_ALL_AXES);
    ll_output(g, "loss", loss);

    ll_tensor *param[8], *grad[8];
    const int  n = ll_graph_n_params(g);
    assert_true(n <= 8);
    for (int i = 0; i < n; i++) param[i] = ll_graph_param(g, i);
    ll_gradients(g, loss, param, n, grad);
    ll_tensor *lr = ll_full(g, LL_SCALAR, 0.01), *one = ll_full(g, LL_SCALAR, 1.0);
    ll_tensor *step = ll_input_int(g, "step", LL_SCALAR);
    for (int i = 0; i < n && ll_graph_status(g) == LLAP_OK; i++) {
        char       name[80];
        ll_tensor *out[3], *m, *v;
        snprintf(name, sizeof name, "m.%s", ll_tensor_name(param[i]));
        m = ll_state(g, name, ll_shape_of(param[i]), LL_INIT_ZERO);
        snprintf(name, sizeof name, "v.%s", ll_tensor_name(param[i]));
        v = ll_state(g, name, ll_shape_of(param[i]), LL_INIT_ZERO);
        ll_adamw_step(g, param[i], m, v, grad[i], one, lr, step,
                      &(ll_adamw_attr){ 0.9, 0.999, 1e-8, 5e-4 }, out);
        ll_update(g, param[i], out[0]);
        ll_update(g, m, out[1]);
        ll_update(g, v, out[2]);
    }
    return ll_graph_status(g);
}

typedef struct bound { /* a run and the memory of its slots */
    ll_run  *run;
    void    *data[40];
    int      n;
    int32_t *step, *rng;
} bound;

static void unbind(bound *b)
{
    for (int i = 0; i < b->n; i++) ll_free(b->data[i]);
    ll_run_destroy(b->run);
    *b = (bound){ 0 };
}

static llap_status bind_all(ll_plan *p, bound *b)
{
    *b = (bound){ 0 };
    llap_status st = ll_run_create(p, &b->run);
    for (int i = 0; i < ll_plan_n_slots(p) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(p, i);
        const int64_t  n = ll_shape_count(&s->shape);
        float         *x = ll_new((size_t)n, sizeof *x);
        if (x == NULL) {
            st = LLAP_ENOMEM;
            break;
        }
        b->data[b->n++] = x;
        for (int64_t k = 0; k < n && s->elem == LL_REAL && s->leaf != LL_LEAF_STATE; k++)
            x[k] = sinf((float)(k + 1) * 0.7f + (float)s->name[0]) *
                   (s->leaf == LL_LEAF_PARAM ? 0.3f : 1.0f);
        if (strcmp(s->name, "step") == 0) b->step = (int32_t *)(void *)x;
        if (strcmp(s->name, "rng") == 0) b->rng = (int32_t *)(void *)x;
        st = ll_run_bind(b->run, s->name, x, n);
    }
    if (st != LLAP_OK) unbind(b);
    return st;
}

static llap_status train(bound *b, int n_steps, float *first, float *last)
{
    for (int i = 0; i < n_steps; i++) {
        *b->step = i + 1;
        b->rng[2] = i;
        const llap_status st = ll_run_exec(b->run);
        if (st != LLAP_OK) return st;
        *last = *(const float *)ll_run_output(b->run, "loss", NULL);
        if (i == 0) *first = *last;
    }
    return LLAP_OK;
}

static ll_plan *plan_training(bool plain, const ll_backend *backend)
{
    ll_graph *g;
    ll_plan  *p;
    CHECK_OK(ll_graph_create(&g));
    CHECK_OK(describe_training(g));
    CHECK_OK(ll_plan_create(
        g, &(ll_plan_opts){ .backend = backend, .n_threads = 1, .plain = plain }, &p));
    ll_graph_destroy(g);
    return p;
}

static void training_learns_and_allocates_nothing(void **state)
{
    (void)state;
    ll_plan *p = plan_training(false, &ll_backend_cpu);
    bound    b;
    float    first = 0, last = 0;
    CHECK_OK(bind_all(p, &b));
    CHECK_OK(train(&b, 1, &first, &last));
    const int64_t calls = ll_alloc_calls();
    CHECK_OK(train(&b, 60, &first, &last));
    assert_int_equal(ll_alloc_calls(), calls);
    assert_true(last < 0.9f * first);
    unbind(&b);
    ll_plan_release(p);
}

static bool is_merged(ll_op op)
{
    return op == LL_OP_GELU || op == LL_OP_GELU_GRAD || op == LL_OP_CONCAT || op == LL_OP_COPY;
}

/* Fusion and reuse of memory give the bytes of the plain plan, in less memory and fewer steps. */
static void planning_does_not_change_training(void **state)
{
    (void)state;
    ll_plan *p = plan_training(false, &ll_backend_cpu);
    ll_plan *plain = plan_training(true, &ll_backend_cpu);
    bound    b, c;
    float    first = 0, last = 0, other = 0;
    int      n_adds = 0;
    assert_true(ll_plan_workspace(p) < ll_plan_workspace(plain) / 2);
    assert_true(ll_plan_n_steps(p) < ll_plan_n_steps(plain));
    for (int i = 0; i < ll_plan_n_steps(p); i++) {
        assert_false(is_merged(ll_plan_step_at(p, i).op)); /* part of a neighbour */
        n_adds += ll_plan_step_at(p, i).op == LL_OP_ADD;
    }
    assert_int_equal(n_adds, 1); /* behind dropout */
    CHECK_OK(bind_all(p, &b));
    CHECK_OK(bind_all(plain, &c));
    CHECK_OK(train(&b, 5, &first, &last));
    CHECK_OK(train(&c, 5, &first, &other));
    assert_memory_equal(&last, &other, sizeof last);
    for (int i = 0; i < ll_plan_n_slots(p); i++)
        for (int k = 0; k < ll_plan_n_slots(plain); k++)
            if (strcmp(ll_plan_slot(p, i)->name, ll_plan_slot(plain, k)->name) == 0)
                assert_memory_equal(b.data[i], c.data[k],
                                    (size_t)ll_shape_count(&ll_plan_slot(p, i)->shape) * 4);
    unbind(&b);
    unbind(&c);
    ll_plan_release(p);
    ll_plan_release(plain);
}

static llap_status build_plan_run(void *user)
{
    (void)user;
    ll_graph   *g = NULL;
    ll_plan    *p = NULL;
    bound       b = { 0 };
    float       first = 0, last = 0;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) st = describe_training(g);
    if (st == LLAP_OK) st = ll_plan_create(g, &on_cpu, &p);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = bind_all(p, &b);
    if (st == LLAP_OK) st = train(&b, 1, &first, &last);
    unbind(&b);
    ll_plan_release(p);
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
    ll_plan *p = plan_training(false, &ll_backend_cpu);
    ll_run  *r;
    float    x[B * L * W] = { 0 };
    CHECK_OK(ll_run_create(p, &r));
    CHECK_FAIL(ll_run_bind(r, "x", x, 5), LLAP_EINVAL, "'x': expected [3,6,8], found 5 elements");
    CHECK_FAIL(ll_run_bind(r, "nothing", x, 5), LLAP_ENOTFOUND, "'nothing'");
    CHECK_OK(ll_run_bind(r, "x", x, B * L * W));
    CHECK_FAIL(ll_run_exec(r), LLAP_EINVAL, "is not bound");
    assert_null(ll_run_output(r, "nothing", NULL));
    ll_run_destroy(r);
    ll_plan_release(p);
}

/* -------- updates -------- */

/* a' = b, b' = a + b, c' = 2 c also read elsewhere: all reads see the old content. */
static void updates_happen_after_all_reads(void **state)
{
    (void)state;
    ll_graph *g;
    ll_plan  *p;
    ll_run   *r;
    float     a[2] = { 1, 2 }, b[2] = { 3, 5 }, c[2] = { 7, 9 };
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *ta = ll_state(g, "a", LL_SHAPE(2), LL_INIT_ZERO);
    ll_tensor *tb = ll_state(g, "b", LL_SHAPE(2), LL_INIT_ZERO);
    ll_tensor *tc = ll_state(g, "c", LL_SHAPE(2), LL_INIT_ZERO);
    ll_tensor *doubled = ll_scale(g, tc, 2.0);
    ll_update(g, tc, doubled);
    ll_update(g, ta, tb);
    ll_update(g, tb, ll_add(g, ta, tb));
    ll_output(g, "y", ll_add(g, ll_exp(g, doubled), ll_mul(g, tc, ta)));
    CHECK_OK(ll_plan_create(g, &on_cpu, &p));
    ll_graph_destroy(g);
    CHECK_OK(ll_run_create(p, &r));
    CHECK_OK(ll_run_bind(r, "a", a, 2));
    CHECK_OK(ll_run_bind(r, "b", b, 2));
    CHECK_OK(ll_run_bind(r, "c", c, 2));
    CHECK_OK(ll_run_exec(r));
    const float *y = ll_run_output(r, "y", NULL);
    assert_true(fabsf(y[0] - (expf(14) + 7)) < 1.0f && fabsf(y[1] - (expf(18) + 18)) < 20.0f);
    assert_true(a[0] == 3 && a[1] == 5 && b[0] == 4 && b[1] == 7 && c[0] == 14 && c[1] == 18);
    ll_run_destroy(r);
    ll_plan_release(p);
}

/* -------- weights and threads -------- */

/* Weights that are fixed are read once, until others are bound; one that a step writes is not. */
static void fixed_weights_are_kept_until_others_are_bound(void **state)
{
    enum { M = 150, N = 40, K = 33 };
    (void)state;
    static float x[M * K], w[2][N * K], moved[N * K];
    ll_graph    *g;
    ll_plan     *p[2];
    ll_run      *r[2];
    for (int i = 0; i < M * K; i++) x[i] = (float)(i % 17) - 8.0f;
    for (int i = 0; i < N * K; i++) w[0][i] = (float)(i % 7) - 3.0f, w[1][i] = (float)(i % 5);
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *fixed = ll_param(g, "fixed", LL_SHAPE(N, K), LL_INIT_ZERO);
    ll_tensor *state_w = ll_state(g, "moved", LL_SHAPE(N, K), LL_INIT_ZERO);
    ll_tensor *in = ll_input(g, "x", LL_SHAPE(M, K));
    ll_output(g, "y", ll_linear(g, in, fixed, NULL));
    ll_output(g, "z", ll_linear(g, in, state_w, NULL));
    ll_update(g, state_w, ll_scale(g, state_w, 2.0));
    for (int i = 0; i < 2; i++) {
        ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 2, .fixed_params = i == 1 };
        CHECK_OK(ll_plan_create(g, &o, &p[i]));
        CHECK_OK(ll_run_create(p[i], &r[i]));
        CHECK_OK(ll_run_bind(r[i], "x", x, M * K));
    }
    assert_true(ll_plan_workspace(p[1]) > ll_plan_workspace(p[0]));
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < N * K; k++) moved[k] = (float)(k % 3 + turn);
            CHECK_OK(ll_run_bind(r[i], "fixed", w[turn / 2], N * K));
            CHECK_OK(ll_run_bind(r[i], "moved", moved, N * K));
            CHECK_OK(ll_run_exec(r[i]));
            for (const char *name = "y"; name != NULL; name = *name == 'y' ? "z" : NULL) {
                const float *y = ll_run_output(r[i], name, NULL);
                if (i == 1)
                    assert_memory_equal(ll_run_output(r[0], name, NULL), y, M * N * sizeof *y);
                assert_true(y[1] != 0.0f);
            }
        }
    for (int i = 0; i < 2; i++) {
        ll_run_destroy(r[i]);
        ll_plan_release(p[i]);
    }
    ll_graph_destroy(g);
}

typedef struct worker {
    ll_plan    *plan;
    llap_status status;
    float       loss;
} worker;

static void *work(void *user)
{
    worker *w = user;
    bound   b = { 0 };
    float   first = 0;
    w->status = bind_all(w->plan, &b);
    if (w->status == LLAP_OK) w->status = train(&b, 8, &first, &w->loss);
    unbind(&b);
    return NULL;
}

static void threads_share_a_plan(void **state)
{
    (void)state;
    ll_plan  *p = plan_training(false, &ll_backend_cpu);
    pthread_t thread[4];
    worker    w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = (worker){ .plan = p };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) (void)pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w[i].status, LLAP_OK);
        assert_memory_equal(&w[i].loss, &w[0].loss, sizeof w[0].loss);
    }
    ll_plan_release(p);
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
        cmocka_unit_test(threads_share_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
