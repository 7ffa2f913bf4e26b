/* Fusions that only some backends take, on the cpu and on one that puts them together from the
 * cpu's kernels: the same bytes as without, in fewer steps. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "graph/plan.h"

enum { B = 2, L = 5, W = 8, PARAMS = 5 };

/* -------- a backend that takes more -------- */

static int  n_apart, n_added; /* operands that lay apart, sums with a norm's gradient */
static bool willing;

static bool takes(const ll_call *c)
{
    if (c->op == LL_OP_ATTENTION_GRAD)
        for (int k = 0; k < 3; k++)
            if (c->in[k].stride[c->in[k].shape.rank - 1] != 1) return false;
    return willing && (c->op == LL_OP_ATTENTION_GRAD || (c->op == LL_OP_NORM_GRAD && c->n_in == 5));
}

/* A dense copy; caller owns its data. */
static ll_view gathered(const ll_view *v)
{
    const int64_t n = ll_shape_count(&v->shape);
    ll_view       dense = *v;
    float        *x = malloc((size_t)n * sizeof *x); /* kernels allocate nothing that may fail */
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = ((const float *)v->data)[ll_view_offset(v, i)];
    dense.data = x;
    for (int64_t axis = v->shape.rank - 1, step = 1; axis >= 0; step *= v->shape.dim[axis--])
        dense.stride[axis] = step;
    return dense;
}

static void attention_grad(const ll_call *c)
{
    ll_view in[9];
    ll_call one = *c;
    assert_int_equal(c->n_in, 9);
    for (int k = 0; k < 9; k++) in[k] = c->in[k];
    for (int k = 0; k < 3; k++) {
        n_apart += !ll_view_dense(&in[k]);
        in[k] = gathered(&in[k]);
    }
    one.in = in;
    ll_backend_cpu.kernel[c->op](&one);
    for (int k = 0; k < 3; k++) free(in[k].data);
}

static void norm_grad(const ll_call *c)
{
    ll_call one = *c;
    one.n_in = 4;
    ll_backend_cpu.kernel[c->op](&one);
    if (c->n_in < 5) return;
    float *dx = c->out[0].data;
    n_added++;
    for (int64_t i = 0; i < ll_shape_count(&c->out[0].shape); i++)
        dx[i] += ((const float *)c->in[4].data)[ll_view_offset(&c->in[4], i)];
}

static ll_backend taking_backend(void)
{
    ll_backend b = ll_backend_cpu;
    b.name = "taking";
    b.takes = takes;
    b.kernel[LL_OP_ATTENTION_GRAD] = attention_grad;
    b.kernel[LL_OP_NORM_GRAD] = norm_grad;
    return b;
}

/* -------- attention behind a norm, with a way around both -------- */

static llap_status describe(ll_graph *g, const void *user)
{
    (void)user;
    ll_tensor *part[3], *param[PARAMS], *grad[PARAMS];
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(B, L, W));
    ll_tensor *h = ll_linear(g, x, ll_param(g, "w", LL_SHAPE(W, W), LL_INIT_UNIFORM(0.3)), NULL);
    ll_tensor *n = ll_layer_norm(g, h, ll_param(g, "gain", LL_SHAPE(W), LL_INIT_ZERO),
                                 ll_param(g, "shift", LL_SHAPE(W), LL_INIT_ZERO), 1e-5);
    n = ll_linear(g, n, ll_param(g, "qkv", LL_SHAPE(3 * W, W), LL_INIT_UNIFORM(0.3)),
                  ll_param(g, "c", LL_SHAPE(3 * W), LL_INIT_ZERO));
    ll_split_axis(g, n, -1, 3, part);
    ll_tensor *y = ll_attention(g, part[0], part[1], part[2],
                                &(ll_attention_opts){ .n_heads = 2, .dropout = 0.1 });
    ll_tensor *loss = ll_mean(g, ll_square(g, ll_add(g, h, y)), LL_ALL_AXES);
    ll_output(g, "loss", loss);
    for (int i = 0; i < PARAMS; i++) param[i] = ll_graph_param(g, i);
    ll_gradients(g, loss, param, PARAMS, grad);
    for (int i = 0; i < PARAMS && ll_graph_status(g) == LLAP_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%s", ll_tensor_name(param[i]));
        ll_output(g, name, grad[i]);
    }
    return ll_graph_status(g);
}

typedef struct bound {
    ll_plan *plan;
    ll_run  *run;
    float   *data[PARAMS + 2];
    int      n;
} bound;

static void unbind(bound *b)
{
    for (int i = 0; i < b->n; i++) ll_free(b->data[i]);
    ll_run_destroy(b->run);
    ll_plan_release(b->plan);
}

typedef llap_status (*describe_fn)(ll_graph *g, const void *user);

static llap_status run_planned(describe_fn of, const void *user, const ll_plan_opts *o, bound *b)
{
    ll_graph *g = NULL;
    *b = (bound){ 0 };
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) st = of(g, user);
    if (st == LLAP_OK) st = ll_plan_create(g, o, &b->plan);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = ll_run_create(b->plan, &b->run);
    for (int i = 0; st == LLAP_OK && i < ll_plan_n_slots(b->plan); i++) {
        const ll_slot *s = ll_plan_slot(b->plan, i);
        const int64_t  n = ll_shape_count(&s->shape);
        float         *x = ll_new((size_t)n, sizeof *x); /* zeros of either kind */
        if (x == NULL) st = LLAP_ENOMEM;
        if (x == NULL) break;
        b->data[b->n++] = x;
        for (int64_t k = 0; k < n && s->elem == LL_REAL; k++)
            x[k] = 0.5f * sinf((float)(k + 1) * 0.7f + (float)s->name[0]);
        st = ll_run_bind(b->run, s->name, x, n);
    }
    return st == LLAP_OK ? ll_run_exec(b->run) : st;
}

static llap_status run_on(const ll_backend *backend, bound *b)
{
    return run_planned(describe, NULL, &(ll_plan_opts){ .backend = backend, .n_threads = 1 }, b);
}

static int count(const ll_plan *p, ll_op op)
{
    int n = 0;
    for (int i = 0; i < ll_plan_n_steps(p); i++) n += ll_plan_step_at(p, i).op == op;
    return n;
}

static void same_results(const bound *a, const bound *b)
{
    static const char *const names[] = { "loss", "dw", "dgain", "dshift", "dqkv", "dc" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ll_shape     s, t;
        const float *x = ll_run_output(a->run, names[i], &s),
                    *y = ll_run_output(b->run, names[i], &t);
        assert_non_null(x);
        assert_true(ll_shape_equal(&s, &t));
        assert_memory_equal(x, y, (size_t)ll_shape_count(&s) * sizeof *x);
        assert_true(x[0] != 0.0f);
    }
}

static void what_a_backend_takes_saves_steps_only(void **state)
{
    (void)state;
    const ll_backend taking = taking_backend();
    ll_backend       refusing = ll_backend_cpu;
    bound            cpu, apart, same, fused;
    refusing.takes = NULL;
    CHECK_OK(run_on(&ll_backend_cpu, &cpu));
    CHECK_OK(run_on(&refusing, &apart));
    willing = false;
    CHECK_OK(run_on(&taking, &same));
    assert_int_equal(n_apart + n_added, 0);
    assert_int_equal(ll_plan_n_steps(same.plan), ll_plan_n_steps(apart.plan));
    willing = true;
    CHECK_OK(run_on(&taking, &fused));
    assert_int_equal(n_apart, 3); /* queries, keys and values */
    assert_int_equal(n_added, 1); /* what goes around the norm */
    assert_int_equal(count(fused.plan, LL_OP_COPY), count(apart.plan, LL_OP_COPY) - 3);
    assert_int_equal(ll_plan_n_steps(fused.plan), ll_plan_n_steps(apart.plan) - 4);
    assert_int_equal(count(apart.plan, LL_OP_CONCAT), 1); /* of the three gradients */
    assert_int_equal(count(cpu.plan, LL_OP_CONCAT), 0);
    assert_int_equal(count(cpu.plan, LL_OP_SUM), count(apart.plan, LL_OP_SUM) - 1); /* dc */
    assert_int_equal(ll_plan_n_steps(cpu.plan), ll_plan_n_steps(fused.plan) - 2);
    same_results(&apart, &same);
    same_results(&apart, &fused);
    same_results(&apart, &cpu);
    unbind(&cpu);
    unbind(&apart);
    unbind(&same);
    unbind(&fused);
}

static llap_status run_once(void *user)
{
    bound             b;
    const llap_status st = run_on(user, &b);
    unbind(&b);
    return st;
}

/* -------- a layer behind a norm -------- */

typedef struct layer {
    int64_t items, rows, in, out;
    enum { BARE, AFFINE, MODULATED } norm;
    bool gelu, add, seen; /* seen: the norm's result is wanted too */
    bool one;             /* step, on the cpu */
} layer;

static llap_status describe_layer(ll_graph *g, const void *user)
{
    const layer   *l = user;
    const ll_shape own = LL_SHAPE(l->items, 1, l->in), all = LL_SHAPE(l->in);
    ll_tensor     *x = ll_input(g, "x", LL_SHAPE(l->items, l->rows, l->in)), *h;
    if (l->norm == BARE) h = ll_layer_norm(g, x, NULL, NULL, 1e-5);
    else if (l->norm == AFFINE)
        h = ll_layer_norm(g, x, ll_param(g, "gain", all, LL_INIT_ZERO),
                          ll_param(g, "shift", all, LL_INIT_ZERO), 1e-5);
    else h = ll_modulated_norm(g, x, ll_input(g, "gain", own), ll_input(g, "shift", own), 1e-5);
    ll_tensor *y = ll_linear(g, h, ll_param(g, "w", LL_SHAPE(l->out, l->in), LL_INIT_ZERO),
                             ll_param(g, "c", LL_SHAPE(l->out), LL_INIT_ZERO));
    if (l->gelu) y = ll_gelu(g, y);
    if (l->add) y = ll_add(g, y, ll_input(g, "add", LL_SHAPE(l->items, l->rows, l->out)));
    ll_output(g, "y", y);
    if (l->seen) ll_output(g, "h", h);
    return ll_graph_status(g);
}

static void check_layer(const layer *l, const ll_plan_opts *cpu)
{
    ll_backend   refusing = ll_backend_cpu;
    ll_plan_opts o = *cpu;
    bound        one, two;
    ll_shape     s;
    refusing.takes = NULL;
    o.backend = &refusing;
    CHECK_OK(run_planned(describe_layer, l, cpu, &one));
    CHECK_OK(run_planned(describe_layer, l, &o, &two));
    assert_int_equal(ll_plan_n_steps(two.plan), 2);
    assert_int_equal(ll_plan_n_steps(one.plan), l->one ? 1 : 2);
    assert_true(ll_plan_products(one.plan) == (double)(l->items * l->rows * l->in * l->out));
    if (l->one) assert_true(ll_plan_workspace(one.plan) < ll_plan_workspace(two.plan));
    const float *y = ll_run_output(one.run, "y", &s), *z = ll_run_output(two.run, "y", NULL);
    assert_memory_equal(y, z, (size_t)ll_shape_count(&s) * sizeof *y);
    assert_true(isfinite(y[0]) && y[0] != 0.0f);
    unbind(&one);
    unbind(&two);
}

/* Also where the inner length is more than one block, or not of whole vectors, and where weights
 * are packed for good; few rows or many columns would be normed again and again. */
static void a_norm_is_part_of_the_layer_behind_it(void **state)
{
    static const layer layers[] = {
        { 3, 40, 48, 56, BARE, .one = true },
        { 3, 40, 48, 56, AFFINE, .gelu = true, .one = true },
        { 3, 40, 48, 56, MODULATED, .add = true, .one = true },
        { 1, 130, 301, 33, MODULATED, .gelu = true, .add = true, .one = true },
        { 130, 1, 19, 1024, MODULATED, .one = true },
        { 3, 40, 48, 56, MODULATED, .seen = true },
        { 2, 40, 48, 56, MODULATED, .one = false },
        { 3, 40, 48, 1056, AFFINE, .one = false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int threads = 1; threads < 4; threads++)
            for (int fixed = 0; fixed < 2; fixed++)
                check_layer(&layers[i], &(ll_plan_opts){ .backend = &ll_backend_cpu,
                                                         .n_threads = threads,
                                                         .fixed_params = fixed == 1 });
}

/* -------- rows of another width in the same memory -------- */

static llap_status describe_turned(ll_graph *g, const void *user)
{
    (void)user;
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(6, 8));
    ll_tensor *a = ll_linear(g, x, ll_param(g, "w", LL_SHAPE(12, 8), LL_INIT_ZERO), NULL);
    ll_tensor *narrow = ll_reshape(g, a, LL_SHAPE(18, 4)); /* of 12 as made, 4 as read */
    ll_tensor *sum = ll_add(g, narrow, ll_input(g, "add", LL_SHAPE(18, 4)));
    ll_tensor *b = ll_linear(g, x, ll_param(g, "v", LL_SHAPE(12, 8), LL_INIT_ZERO), NULL);
    ll_output(g, "y", sum);
    ll_output(g, "z", ll_gelu(g, ll_reshape(g, b, LL_SHAPE(18, 4))));
    return ll_graph_status(g);
}

static void a_layer_keeps_the_width_of_its_rows(void **state)
{
    bound one, two;
    (void)state;
    CHECK_OK(run_planned(describe_turned, NULL,
                         &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 }, &one));
    CHECK_OK(run_planned(
        describe_turned, NULL,
        &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1, .plain = true }, &two));
    for (int k = 0; k < 2; k++) {
        const char  *name = k == 0 ? "y" : "z";
        ll_shape     s;
        const float *y = ll_run_output(one.run, name, &s);
        assert_memory_equal(y, ll_run_output(two.run, name, NULL),
                            (size_t)ll_shape_count(&s) * sizeof *y);
        assert_true(isfinite(y[0]) && y[0] != 0.0f);
    }
    unbind(&one);
    unbind(&two);
}

static llap_status run_layer(void *user)
{
    bound             b;
    const llap_status st = run_planned(
        describe_layer, user, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 }, &b);
    unbind(&b);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ll_backend taking = taking_backend();
    willing = true;
    check_every_failed_allocation(run_once, &taking);
    check_every_failed_allocation(run_layer, &(layer){ 3, 40, 16, 16, AFFINE, .one = true });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_backend_takes_saves_steps_only),
        cmocka_unit_test(a_norm_is_part_of_the_layer_behind_it),
        cmocka_unit_test(a_layer_keeps_the_width_of_its_rows),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
