#include "net.h"

#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include "base/rng/rng.h"
#include "nn/params.h"

static ll_rng rng_of(uint64_t seed, const char *name)
{
    return ll_rng_make(seed, LL_STREAM_TEST, ll_hash(0, name, strlen(name)), 0, 0);
}

double net_normal(uint64_t seed, const char *name, int64_t k)
{
    const ll_rng r = rng_of(seed, name);
    return (double)ll_rng_normal(&r, (uint64_t)k);
}

double net_uniform(uint64_t seed, const char *name, int64_t k)
{
    const ll_rng r = rng_of(seed, name);
    return (double)ll_rng_uniform(&r, (uint64_t)k);
}

int64_t net_pick(uint64_t seed, const char *name, int64_t low, int64_t high)
{
    const ll_rng r = rng_of(seed, name);
    return low + (int64_t)ll_rng_below(&r, 0, (uint64_t)(high - low + 1));
}

enum { MAX_LEAVES = 400 };

typedef struct ready { /* the network on one backend */
    const net *net;
    ll_graph  *graph;
    ll_params *params;
    ll_plan   *plan;
    ll_run    *run;
    ll_plan   *loss_plan; /* without gradients, for differences */
    ll_run    *loss_run;
    char       leaf[MAX_LEAVES][96]; /* what has a gradient "d.NAME" */
    void      *data[MAX_LEAVES];     /* of inputs; NULL: of the store */
    void      *other[MAX_LEAVES];    /* inputs without gradient */
    int        n, n_other;
    bool       wide; /* doubles */
} ready;

static bool is_fixed(const net *n, const char *name)
{
    char list[1024], word[128];
    snprintf(list, sizeof list, " %s ", n->fixed == NULL ? "" : n->fixed);
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

static double input_value(const net *n, const char *name, int64_t k)
{
    const double v = n->fill == NULL ? NAN : n->fill(n, name, k);
    return isnan(v) ? net_normal(n->seed, name, k) : v;
}

static bool ends(const char *s, const char *tail)
{
    return strlen(s) >= strlen(tail) && strcmp(s + strlen(s) - strlen(tail), tail) == 0;
}

static void add_gradients(ready *r, ll_tensor *loss)
{
    ll_tensor *wrt[MAX_LEAVES], *grad[MAX_LEAVES];
    const int  n = ll_graph_n_leaves(r->graph);
    for (int i = 0; i < n; i++) {
        const ll_leaf_info l = ll_graph_leaf(r->graph, i);
        if (l.elem != LL_REAL || l.leaf == LL_LEAF_STATE || is_fixed(r->net, l.name)) continue;
        assert_true(r->n < MAX_LEAVES);
        wrt[r->n] = l.leaf == LL_LEAF_PARAM ? ll_param(r->graph, l.name, l.shape, l.init)
                                            : ll_input(r->graph, l.name, l.shape);
        snprintf(r->leaf[r->n++], sizeof r->leaf[0], "%s", l.name);
    }
    ll_gradients(r->graph, loss, wrt, r->n, grad);
    for (int i = 0; i < r->n; i++) {
        char name[112];
        snprintf(name, sizeof name, "d.%s", r->leaf[i]);
        if (grad[i] != NULL) ll_output(r->graph, name, grad[i]);
    }
}

static void *new_input(const net *n, const ll_slot *s, bool wide)
{
    const int64_t count = ll_shape_count(&s->shape);
    void         *data = ll_new_aligned((size_t)count + 1, sizeof(double));
    assert_non_null(data);
    for (int64_t k = 0; k < count; k++) {
        const double v = input_value(n, s->name, k);
        if (s->elem == LL_INT) ((int32_t *)data)[k] = (int32_t)v;
        else if (wide) ((double *)data)[k] = (double)(float)v;
        else ((float *)data)[k] = (float)v;
    }
    return data;
}

static void bind_inputs(ready *r)
{
    for (int i = 0; i < ll_plan_n_slots(r->plan); i++) {
        const ll_slot *s = ll_plan_slot(r->plan, i);
        if (s->leaf != LL_LEAF_INPUT) continue;
        void *data = new_input(r->net, s, r->wide);
        int   k = 0;
        while (k < r->n && strcmp(r->leaf[k], s->name) != 0) k++;
        if (k < r->n) r->data[k] = data;
        else r->other[r->n_other++] = data;
        CHECK_OK(ll_run_bind(r->run, s->name, data, ll_shape_count(&s->shape)));
        const llap_status st = ll_run_bind(r->loss_run, s->name, data, ll_shape_count(&s->shape));
        assert_true(st == LLAP_OK || st == LLAP_ENOTFOUND);
    }
}

static void draw_parameters(ready *r)
{
    for (int i = 0; i < ll_params_count(r->params); i++) {
        const ll_param_info *p = ll_params_at(r->params, i);
        for (int64_t k = 0; k < p->count && p->elem == LL_REAL; k++) {
            const double v = 0.3 * net_normal(r->net->seed, p->name, k);
            const bool   around_one = p->shape.rank == 1 && ends(p->name, ".weight");
            const bool   variance = ends(p->name, ".running_var");
            ll_param_set(r->params, p, k, (double)(float)(variance ? 0.5 + v * v : v + around_one));
        }
    }
}

static void make_ready(ready *r, const net *n, const ll_backend *backend, int n_threads)
{
    *r = (ready){ .net = n, .wide = backend->real_bytes == sizeof(double) };
    CHECK_OK(ll_graph_create(&r->graph));
    ll_tensor *loss = n->describe(r->graph, n->cfg);
    CHECK_OK(ll_graph_status(r->graph));
    ll_output(r->graph, "the loss", loss);
    const ll_plan_opts opts = { .backend = backend, .n_threads = n_threads };
    CHECK_OK(ll_plan_create(r->graph, &opts, &r->loss_plan));
    CHECK_OK(ll_run_create(r->loss_plan, &r->loss_run));
    add_gradients(r, loss);
    CHECK_OK(ll_graph_status(r->graph));
    CHECK_OK(ll_params_create(r->graph, backend, &r->params));
    ll_params_init(r->params, n->seed);
    draw_parameters(r);
    CHECK_OK(ll_plan_create(r->graph, &opts, &r->plan));
    CHECK_OK(ll_run_create(r->plan, &r->run));
    CHECK_OK(ll_params_bind(r->params, LL_PARAMS_MODEL, r->plan, r->run));
    CHECK_OK(ll_params_bind(r->params, LL_PARAMS_MODEL, r->loss_plan, r->loss_run));
    bind_inputs(r);
    CHECK_OK(ll_run_exec(r->run));
}

static void clean(ready *r)
{
    for (int i = 0; i < r->n; i++) ll_free(r->data[i]);
    for (int i = 0; i < r->n_other; i++) ll_free(r->other[i]);
    ll_run_destroy(r->run);
    ll_run_destroy(r->loss_run);
    ll_plan_release(r->loss_plan);
    ll_plan_release(r->plan);
    ll_params_destroy(r->params);
    ll_graph_destroy(r->graph);
}

static double largest(const double *x, int64_t n)
{
    double top = 0.0;
    for (int64_t k = 0; k < n; k++) top = fmax(top, fabs(x[k]));
    return top;
}

/* Largest gradient of all, the scale of rounding in each. */
static double largest_gradient(const ready *ref)
{
    double top = 0.0;
    for (int i = 0; i < ref->n; i++) {
        char     name[112];
        ll_shape s;
        snprintf(name, sizeof name, "d.%s", ref->leaf[i]);
        const double *x = ll_run_output(ref->run, name, &s);
        if (x != NULL) top = fmax(top, largest(x, ll_shape_count(&s)));
    }
    return top;
}

static void compare(const ready *cpu, const ready *ref, const char *name, double floor_at)
{
    ll_shape      s;
    const double *r = ll_run_output(ref->run, name, &s);
    const float  *x = ll_run_output(cpu->run, name, NULL);
    if (r == NULL && x == NULL) return;
    assert_non_null(r);
    assert_non_null(x);
    const double tolerance = ref->net->tolerance > 0.0 ? ref->net->tolerance : 3e-5;
    const double bound = tolerance * largest(r, ll_shape_count(&s)) + floor_at;
    for (int64_t k = 0; k < ll_shape_count(&s); k++)
        if (!(fabs((double)x[k] - r[k]) <= bound))
            fail_msg("seed %llu: %s[%lld]: cpu %.9g, ref %.9g, allowed %.3g",
                     (unsigned long long)ref->net->seed, name, (long long)k, (double)x[k], r[k],
                     bound);
}

static double loss_of(ready *r)
{
    CHECK_OK(ll_run_exec(r->loss_run));
    return *(const double *)ll_run_output(r->loss_run, "the loss", NULL);
}

/* A few elements of each gradient against central differences. */
static void check_differences(ready *ref, double top)
{
    const double h = ref->net->step > 0.0 ? ref->net->step : 1e-5;
    for (int i = 0; i < ref->n; i++) {
        char     name[112];
        ll_shape s;
        snprintf(name, sizeof name, "d.%s", ref->leaf[i]);
        double *x = ref->data[i];
        if (x == NULL) {
            const ll_param_info *p = ll_params_find(ref->params, ref->leaf[i]);
            if (p == NULL) continue; /* an input the plan does not need */
            x = p->data;
        }
        const double *found = ll_run_output(ref->run, name, &s);
        if (found == NULL) continue;
        const int64_t count = ll_shape_count(&s), stride = count / 3 + 1;
        for (int64_t k = 0; k < count; k += stride) {
            const double d = found[k], old = x[k];
            x[k] = old + h;
            const double up = loss_of(ref);
            x[k] = old - h;
            const double down = loss_of(ref);
            x[k] = old;
            if (!(fabs((up - down) / (2.0 * h) - d) <= 1e-6 * fabs(d) + 1e-7 * fmax(top, 1.0)))
                fail_msg("seed %llu: %s[%lld]: gradient %.9g, central difference %.9g",
                         (unsigned long long)ref->net->seed, name, (long long)k, d,
                         (up - down) / (2.0 * h));
        }
    }
}

void net_check(const net *n)
{
    ready *cpu = ll_new(1, sizeof *cpu), *ref = ll_new(1, sizeof *ref);
    assert_non_null(cpu);
    assert_non_null(ref);
    make_ready(cpu, n, &ll_backend_cpu, 2);
    make_ready(ref, n, &ll_backend_ref, 1);
    const double top = largest_gradient(ref);
    compare(cpu, ref, "the loss", 0.0);
    for (int i = 0; i < ref->n; i++) {
        char name[112];
        snprintf(name, sizeof name, "d.%s", ref->leaf[i]);
        compare(cpu, ref, name, 2e-6 * top);
    }
    if (!n->stops) check_differences(ref, top);
    clean(cpu);
    clean(ref);
    ll_free(cpu);
    ll_free(ref);
}
