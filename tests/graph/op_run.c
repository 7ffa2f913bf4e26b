#include "op_run.h"

#include "backend/ref/ref.h"

const sized op_shapes[N_SHAPES] = {
    { 1, 1, 1 }, { 2, 0, 3 }, { 3, 7, 5 }, { 2, 16, 33 }, { 4, 3, 130 }
};
const sized op_long_shape = { 2, 3, 20011 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
}

double op_unit(const char *name, uint64_t i)
{
    uint64_t h = 1469598103934665603u;
    for (; *name != '\0'; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (double)(mix(h + i * 0x9e3779b97f4a7c15u) >> 41) * 0x1p-22 - 1.0;
}

static double leaf_value(const char *name, int64_t i)
{
    const double u = op_unit(name, (uint64_t)i);
    switch (op_leaf_fill(name)) {
    case FILL_POSITIVE:
        return (double)(float)(1.5 + u);
    case FILL_MASK:
        return u > 0.3 ? 1.0 : 0.0;
    case FILL_TIME:
        return (double)(float)(40.0 * (u + 1.0));
    case FILL_COUNT:
        return 3.0;
    case FILL_INDEX:
        return (double)(int)(3.5 * (u + 1.0));
    default:
        return (double)(float)(2.0 * u);
    }
}

/* Sum over everything of y times fixed numbers, so that every element has a gradient of its own. */
static ll_tensor *weigh(ll_graph *g, ll_tensor *y)
{
    const ll_shape s = ll_shape_of(y);
    const int64_t  n = ll_shape_count(&s), row = s.rank > 0 && s.dim[0] > 0 ? n / s.dim[0] : 1;
    double        *w = ll_new((size_t)n, sizeof *w);
    if (w == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) w[i] = (double)(float)op_unit("weight", (uint64_t)(i % row));
    ll_tensor *sum = ll_sum(g, ll_mul(g, y, ll_constant(g, s, w)), LL_ALL_AXES);
    ll_free(w);
    return sum;
}

static llap_status describe(ll_graph *g, const op_row *row, sized s, op_layout layout)
{
    op_build   o = { .g = g, .b = s.b, .l = s.l, .n = s.n, .layout = layout };
    ll_tensor *y = row->build(&o), *wrt[MAX_GRADS], *grad[MAX_GRADS];
    int        n = 0;
    ll_output(g, "y", y);
    ll_plan *probe = NULL; /* its slots are the leaves */
    if (ll_graph_status(g) == LLAP_OK) {
        llap_status st =
            ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_ref, .plain = true }, &probe);
        if (st != LLAP_OK) return st;
        for (int i = 0; i < ll_plan_n_slots(probe) && !row->no_gradient; i++) {
            const ll_slot *slot = ll_plan_slot(probe, i);
            if (slot->elem == LL_INT || op_leaf_fill(slot->name) > FILL_POSITIVE) continue;
            wrt[n++] = ll_input(g, slot->name, slot->shape);
        }
        ll_gradients(g, weigh(g, y), wrt, n, grad);
        for (int i = 0; i < n; i++) {
            char name[80];
            snprintf(name, sizeof name, "d%s", ll_tensor_name(wrt[i]));
            if (grad[i] != NULL) ll_output(g, name, grad[i]);
        }
        ll_plan_release(probe);
    }
    return ll_graph_status(g);
}

ready make_ready(const op_row *row, sized s, op_layout layout, const ll_backend *backend,
                 int n_threads, bool plain)
{
    ready     r = { 0 };
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    CHECK_OK(describe(g, row, s, layout));
    CHECK_OK(ll_plan_create(
        g, &(ll_plan_opts){ .backend = backend, .n_threads = n_threads, .plain = plain }, &r.plan));
    ll_graph_destroy(g);
    CHECK_OK(ll_run_create(r.plan, &r.run));
    assert_true(ll_plan_n_slots(r.plan) <= MAX_SLOTS);
    return r;
}

void bind_leaves(ready *r, const ll_backend *backend, int64_t first_row)
{
    for (int i = 0; i < ll_plan_n_slots(r->plan); i++) {
        const ll_slot *s = ll_plan_slot(r->plan, i);
        const int64_t  n = ll_shape_count(&s->shape);
        r->data[i] = ll_new_aligned((size_t)n, sizeof(double));
        const bool    random = strcmp(s->name, "rng") == 0;
        const int64_t skip = random || !op_leaf_batched(s->name) || s->shape.dim[0] == 0
                                 ? 0
                                 : first_row * (n / s->shape.dim[0]);
        for (int64_t k = 0; k < n; k++) {
            const double v = random ? (double)(k + 7) : leaf_value(s->name, skip + k);
            if (s->elem == LL_INT) ((int32_t *)r->data[i])[k] = (int32_t)v;
            else if (backend->real_bytes == sizeof(double)) ((double *)r->data[i])[k] = v;
            else ((float *)r->data[i])[k] = (float)v;
        }
        CHECK_OK(ll_run_bind(r->run, s->name, r->data[i], n));
    }
}

void dispose(ready *r)
{
    for (int i = 0; i < MAX_SLOTS; i++) ll_free(r->data[i]);
    ll_run_destroy(r->run);
    ll_plan_release(r->plan);
}

ready run_row(const op_row *row, sized s, op_layout layout, const ll_backend *backend,
              int n_threads, bool plain)
{
    ready r = make_ready(row, s, layout, backend, n_threads, plain);
    bind_leaves(&r, backend, 0);
    CHECK_OK(ll_run_exec(r.run));
    return r;
}

const char *output_name(const ready *r, int k, char *buf, size_t size)
{
    if (k == 0) return "y";
    for (int i = 0; i < ll_plan_n_slots(r->plan); i++) {
        snprintf(buf, size, "d%s", ll_plan_slot(r->plan, i)->name);
        if (ll_run_output(r->run, buf, NULL) != NULL && --k == 0) return buf;
    }
    return NULL;
}

/* The largest magnitude among all gradients: where the exact one is 0, rounding of its parts is
 * what is left, in proportion to those. */
static double largest_gradient(const ready *r)
{
    char   name[80];
    double top = 0.0;
    for (int k = 1; output_name(r, k, name, sizeof name) != NULL; k++) {
        ll_shape      s;
        const double *x = ll_run_output(r->run, output_name(r, k, name, sizeof name), &s);
        for (int64_t i = 0; i < ll_shape_count(&s); i++) top = fmax(top, fabs(x[i]));
    }
    return top;
}

bool op_there(const op_row *row, const ll_backend *backend)
{
    return ll_op_is_view(row->op) || backend->kernel[row->op] != NULL;
}

static void compare(const op_row *row, sized s, op_layout layout, const ready *ref, const judged *j)
{
    ready        found = run_row(row, s, layout, j->backend, 2, false);
    char         name[80];
    const double all = largest_gradient(ref), rest = j->tol > 1e-6 ? j->tol : 1e-6;
    const double tol = j->tol < row->tol ? row->tol : j->tol;
    for (int k = 0; output_name(ref, k, name, sizeof name) != NULL; k++) {
        const char   *what = output_name(ref, k, name, sizeof name);
        ll_shape      shape;
        const double *a = ll_run_output(ref->run, what, &shape);
        const float  *b = ll_run_output(found.run, what, &shape);
        double        top = 0.0, worst = 0.0;
        if (b == NULL) fail_msg("%s, %s: %s", row->name, what, llap_error_detail());
        for (int64_t i = 0; i < ll_shape_count(&shape); i++) {
            top = fmax(top, fabs(a[i]));
            worst = fmax(worst, fabs(a[i] - b[i]));
            if (isnan(a[i]) || isnan(b[i])) worst = INFINITY;
        }
        if (worst > tol * top + (k == 0 ? 1e-9 : rest * all))
            fail_msg("%s [%lld,%lld,%lld] layout %d, %s on %s: off by %g of %g", row->name,
                     (long long)s.b, (long long)s.l, (long long)s.n, (int)layout, what,
                     j->backend->name, worst, top);
    }
    dispose(&found);
}

void compare_with_ref(const op_row *row, sized s, op_layout layout, const judged *b, int n)
{
    ready ref = { 0 }; /* made where somebody has the op */
    for (int i = 0; i < n; i++) {
        if (!op_there(row, b[i].backend)) continue;
        if (ref.plan == NULL) ref = run_row(row, s, layout, &ll_backend_ref, 1, true);
        compare(row, s, layout, &ref, &b[i]);
    }
    dispose(&ref);
}

void compare_table_with_ref(const judged *b, int n)
{
    for (int i = 0; i < op_table_len; i++) {
        for (int k = 0; k < N_SHAPES; k++)
            for (op_layout layout = OP_DENSE; layout <= OP_SWAPPED; layout++)
                compare_with_ref(&op_table[i], op_shapes[k], layout, b, n);
        if (!op_table[i].quadratic) compare_with_ref(&op_table[i], op_long_shape, OP_DENSE, b, n);
    }
}

void same_bytes(const op_row *row, const ready *a, const ready *b, const char *why)
{
    char name[80];
    for (int k = 0; output_name(a, k, name, sizeof name) != NULL; k++) {
        const char *what = output_name(a, k, name, sizeof name);
        ll_shape    s;
        const void *x = ll_run_output(a->run, what, &s), *y = ll_run_output(b->run, what, NULL);
        if (x == NULL || y == NULL) fail_msg("%s, %s: %s", row->name, what, llap_error_detail());
        if (memcmp(x, y, (size_t)ll_shape_count(&s) * sizeof(float)) != 0)
            fail_msg("%s, %s: other bytes %s", row->name, what, why);
    }
}
