/* Fusions that only some backends take, on the cpu and on one that puts them together from the
 * cpu's kernels: the same bytes as without, in fewer steps. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "graph/plan.h"

enum { B = 2, L = 5, W = 8, PARAMS = 5 };

/* -------- a backend that takes more -------- */

static int  n_apart, n_added; /* operands that lay apart, sums with a norm's gradient */
static bool willing;

static bool takes(const llap_call *c)
{
    if (c->op == LLAP_OP_ATTENTION_GRAD)
        for (int k = 0; k < 3; k++)
            if (c->in[k].stride[c->in[k].shape.rank - 1] != 1) return false;
    return willing &&
           (c->op == LLAP_OP_ATTENTION_GRAD || (c->op == LLAP_OP_NORM_GRAD && c->n_in == 5));
}

/* A dense copy; caller owns its data. */
static llap_view gathered(const llap_view *v)
{
    const int64_t n = llap_shape_count(&v->shape);
    llap_view     dense = *v;
    float        *x = malloc((size_t)n * sizeof *x); /* kernels allocate nothing that may fail */
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = ((const float *)v->data)[llap_view_offset(v, i)];
    dense.data = x;
    for (int64_t axis = v->shape.rank - 1, step = 1; axis >= 0; step *= v->shape.dim[axis--])
        dense.stride[axis] = step;
    return dense;
}

static void attention_grad(const llap_call *c)
{
    llap_view in[9];
    llap_call one = *c;
    assert_int_equal(c->n_in, 9);
    for (int k = 0; k < 9; k++) in[k] = c->in[k];
    for (int k = 0; k < 3; k++) {
        n_apart += !llap_view_dense(&in[k]);
        in[k] = gathered(&in[k]);
    }
    one.in = in;
    llap_backend_cpu.kernel[c->op](&one);
    for (int k = 0; k < 3; k++) free(in[k].data);
}

static void norm_grad(const llap_call *c)
{
    llap_call one = *c;
    one.n_in = 4;
    llap_backend_cpu.kernel[c->op](&one);
    if (c->n_in < 5) return;
    float *dx = c->out[0].data;
    n_added++;
    for (int64_t i = 0; i < llap_shape_count(&c->out[0].shape); i++)
        dx[i] += ((const float *)c->in[4].data)[llap_view_offset(&c->in[4], i)];
}

static llap_backend taking_backend(void)
{
    llap_backend b = llap_backend_cpu;
    b.name = "taking";
    b.takes = takes;
    b.kernel[LLAP_OP_ATTENTION_GRAD] = attention_grad;
    b.kernel[LLAP_OP_NORM_GRAD] = norm_grad;
    return b;
}

/* -------- attention behind a norm, with a way around both -------- */

static llap_status describe(llap_graph *g, const void *user)
{
    (void)user;
    llap_tensor *part[3], *param[PARAMS], *grad[PARAMS];
    llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(B, L, W));
    llap_tensor *h =
        llap_linear(g, x, llap_param(g, "w", LLAP_SHAPE(W, W), LLAP_INIT_UNIFORM(0.3)), NULL);
    llap_tensor *n = llap_layer_norm(g, h, llap_param(g, "gain", LLAP_SHAPE(W), LLAP_INIT_ZERO),
                                     llap_param(g, "shift", LLAP_SHAPE(W), LLAP_INIT_ZERO), 1e-5);
    n = llap_linear(g, n, llap_param(g, "qkv", LLAP_SHAPE(3 * W, W), LLAP_INIT_UNIFORM(0.3)),
                    llap_param(g, "c", LLAP_SHAPE(3 * W), LLAP_INIT_ZERO));
    llap_split_axis(g, n, -1, 3, part);
    llap_tensor *y = llap_attention(g, part[0], part[1], part[2],
                                    &(llap_attention_opts){ .n_heads = 2, .dropout = 0.1 });
    llap_tensor *loss = llap_mean(g, llap_square(g, llap_add(g, h, y)), LLAP_ALL_AXES);
    llap_output(g, "loss", loss);
    for (int i = 0; i < PARAMS; i++) param[i] = llap_graph_param(g, i);
    llap_gradients(g, loss, param, PARAMS, grad);
    for (int i = 0; i < PARAMS && llap_graph_status(g) == LLAP_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%s", llap_tensor_name(param[i]));
        llap_output(g, name, grad[i]);
    }
    return llap_graph_status(g);
}

typedef struct bound {
    llap_plan *plan;
    llap_run  *run;
    float     *data[PARAMS + 2];
    int        n;
} bound;

static void unbind(bound *b)
{
    for (int i = 0; i < b->n; i++) llap_free(b->data[i]);
    llap_run_destroy(b->run);
    llap_plan_release(b->plan);
}

typedef llap_status (*describe_fn)(llap_graph *g, const void *user);

static llap_status run_planned(describe_fn of, const void *user, const llap_plan_opts *o, bound *b)
{
    llap_graph *g = NULL;
    *b = (bound){ 0 };
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) st = of(g, user);
    if (st == LLAP_OK) st = llap_plan_create(g, o, &b->plan);
    llap_graph_destroy(g);
    if (st == LLAP_OK) st = llap_run_create(b->plan, &b->run);
    for (int i = 0; st == LLAP_OK && i < llap_plan_n_slots(b->plan); i++) {
        const llap_slot *s = llap_plan_slot(b->plan, i);
        const int64_t    n = llap_shape_count(&s->shape);
        float           *x = llap_new((size_t)n, sizeof *x); /* zeros of either kind */
        if (x == NULL) st = LLAP_ENOMEM;
        if (x == NULL) break;
        b->data[b->n++] = x;
        for (int64_t k = 0; k < n && s->elem == LLAP_REAL; k++)
            x[k] = 0.5f * sinf((float)(k + 1) * 0.7f + (float)s->name[0]);
        st = llap_run_bind(b->run, s->name, x, n);
    }
    return st == LLAP_OK ? llap_run_exec(b->run) : st;
}

static llap_status run_on(const llap_backend *backend, bound *b)
{
    return run_planned(describe, NULL, &(llap_plan_opts){ .backend = backend, .n_threads = 1 }, b);
}

static int count(const llap_plan *p, llap_op op)
{
    int n = 0;
    for (int i = 0; i < llap_plan_n_steps(p); i++) n += llap_plan_step_at(p, i).op == op;
    return n;
}

static void same_results(const bound *a, const bound *b)
{
    static const char *const names[] = { "loss", "dw", "dgain", "dshift", "dqkv", "dc" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        llap_shape   s, t;
        const float *x = llap_run_output(a->run, names[i], &s),
                    *y = llap_run_output(b->run, names[i], &t);
        assert_non_null(x);
        assert_true(llap_shape_equal(&s, &t));
        assert_memory_equal(x, y, (size_t)llap_shape_count(&s) * sizeof *x);
        assert_true(x[0] != 0.0f);
    }
}

static void what_a_backend_takes_saves_steps_only(void **state)
{
    (void)state;
    const llap_backend taking = taking_backend();
    llap_backend       refusing = llap_backend_cpu;
    bound              cpu, apart, same, fused;
    refusing.takes = NULL;
    CHECK_OK(run_on(&llap_backend_cpu, &cpu));
    CHECK_OK(run_on(&refusing, &apart));
    willing = false;
    CHECK_OK(run_on(&taking, &same));
    assert_int_equal(n_apart + n_added, 0);
    assert_int_equal(llap_plan_n_steps(same.plan), llap_plan_n_steps(apart.plan));
    willing = true;
    CHECK_OK(run_on(&taking, &fused));
    assert_int_equal(n_apart, 3); /* queries, keys and values */
    assert_int_equal(n_added, 1); /* what goes around the norm */
    assert_int_equal(count(fused.plan, LLAP_OP_COPY), count(apart.plan, LLAP_OP_COPY) - 3);
    assert_int_equal(llap_plan_n_steps(fused.plan), llap_plan_n_steps(apart.plan) - 4);
    assert_int_equal(count(apart.plan, LLAP_OP_CONCAT), 1); /* of the three gradients */
    assert_int_equal(count(cpu.plan, LLAP_OP_CONCAT), 0);
    assert_int_equal(count(cpu.plan, LLAP_OP_SUM), count(apart.plan, LLAP_OP_SUM) - 1); /* dc */
    assert_int_equal(llap_plan_n_steps(cpu.plan), llap_plan_n_steps(fused.plan) - 2);
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

static llap_status describe_layer(llap_graph *g, const void *user)
{
    const layer     *l = user;
    const llap_shape own = LLAP_SHAPE(l->items, 1, l->in), all = LLAP_SHAPE(l->in);
    llap_tensor     *x = llap_input(g, "x", LLAP_SHAPE(l->items, l->rows, l->in)), *h;
    if (l->norm == BARE) h = llap_layer_norm(g, x, NULL, NULL, 1e-5);
    else if (l->norm == AFFINE)
        h = llap_layer_norm(g, x, llap_param(g, "gain", all, LLAP_INIT_ZERO),
                            llap_param(g, "shift", all, LLAP_INIT_ZERO), 1e-5);
    else
        h = llap_modulated_norm(g, x, llap_input(g, "gain", own), llap_input(g, "shift", own),
                                1e-5);
    llap_tensor *y =
        llap_linear(g, h, llap_param(g, "w", LLAP_SHAPE(l->out, l->in), LLAP_INIT_ZERO),
                    llap_param(g, "c", LLAP_SHAPE(l->out), LLAP_INIT_ZERO));
    if (l->gelu) y = llap_gelu(g, y);
    if (l->add) y = llap_add(g, y, llap_input(g, "add", LLAP_SHAPE(l->items, l->rows, l->out)));
    llap_output(g, "y", y);
    if (l->seen) llap_output(g, "h", h);
    return llap_graph_status(g);
}

static void check_layer(const layer *l, const llap_plan_opts *cpu)
{
    llap_backend   refusing = llap_backend_cpu;
    llap_plan_opts o = *cpu;
    bound          one, two;
    llap_shape     s;
    refusing.takes = NULL;
    o.backend = &refusing;
    CHECK_OK(run_planned(describe_layer, l, cpu, &one));
    CHECK_OK(run_planned(describe_layer, l, &o, &two));
    assert_int_equal(llap_plan_n_steps(two.plan), 2);
    assert_int_equal(llap_plan_n_steps(one.plan), l->one ? 1 : 2);
    assert_true(llap_plan_products(one.plan) == (double)(l->items * l->rows * l->in * l->out));
    if (l->one) assert_true(llap_plan_workspace(one.plan) < llap_plan_workspace(two.plan));
    const float *y = llap_run_output(one.run, "y", &s), *z = llap_run_output(two.run, "y", NULL);
    assert_memory_equal(y, z, (size_t)llap_shape_count(&s) * sizeof *y);
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
                check_layer(&layers[i], &(llap_plan_opts){ .backend = &llap_backend_cpu,
                                                           .n_threads = threads,
                                                           .fixed_params = fixed == 1 });
}

static llap_status run_layer(void *user)
{
    bound             b;
    const llap_status st =
        run_planned(describe_layer, user,
                    &(llap_plan_opts){ .backend = &llap_backend_cpu, .n_threads = 1 }, &b);
    unbind(&b);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    llap_backend taking = taking_backend();
    willing = true;
    check_every_failed_allocation(run_once, &taking);
    check_every_failed_allocation(run_layer, &(layer){ 3, 40, 16, 16, AFFINE, .one = true });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_backend_takes_saves_steps_only),
        cmocka_unit_test(a_norm_is_part_of_the_layer_behind_it),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
