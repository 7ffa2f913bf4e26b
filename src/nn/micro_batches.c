#include "nn/micro_batches.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

#define SUM "sum." /* states that are no part of the model: gradients so far */

struct ll_micro_batches {
    const ll_params  *params;
    const ll_backend *backend;
    ll_plan          *plan, *step_plan;
    ll_run           *run, *step_run;
    char             *sums;   /* device memory of all SUM states of plan */
    char             *states; /* of the others, as the step found them */
    float             share, keep, lr;
    int32_t           number;
};

void ll_micro_batches_destroy(ll_micro_batches *p)
{
    if (p == NULL) return;
    ll_run_destroy(p->run);
    ll_run_destroy(p->step_run);
    ll_plan_release(p->plan);
    ll_plan_release(p->step_plan);
    ll_device_release(p->backend, p->sums);
    ll_device_release(p->backend, p->states);
    ll_free(p);
}

ll_run        *ll_micro_batches_run(ll_micro_batches *p) { return p->run; }
const ll_plan *ll_micro_batches_plan(const ll_micro_batches *p) { return p->plan; }

static ll_tensor *sum_of(ll_graph *g, const char *name, ll_shape shape)
{
    ll_scope_push(g, "sum");
    ll_tensor *s = ll_state(g, name, shape, LL_INIT_ZERO);
    ll_scope_pop(g);
    return s;
}

/* sum = (keep? sum : 0) + x */
static void gather(ll_graph *g, const char *name, ll_tensor *keep, ll_tensor *x)
{
    ll_tensor *sum = sum_of(g, name, ll_shape_of(x));
    ll_update(g, sum, ll_add(g, ll_mask(g, sum, keep), x));
}

/* Adds to g what gathers, and to step what uses it. */
static void describe(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr, ll_graph *step)
{
    const int   n = ll_graph_n_params(g);
    ll_tensor **own = ll_new(3 * (size_t)n + 1, sizeof *own), **grad = own + n, **other = grad + n;
    if (own == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    ll_tensor *keep = ll_input(g, SUM "keep", LL_SCALAR);
    ll_tensor *part = ll_mul(g, loss, ll_input(g, SUM "share", LL_SCALAR));
    for (int i = 0; i < n; i++) own[i] = ll_graph_param(g, i);
    ll_gradients(g, part, own, n, grad);
    gather(g, "loss", keep, ll_reshape(g, part, LL_SCALAR));
    for (int i = 0; i < n && ll_graph_status(g) == LLAP_OK; i++) {
        const char    *name = ll_tensor_name(own[i]);
        const ll_shape shape = ll_shape_of(own[i]);
        other[i] = ll_param(step, name, shape, LL_INIT_ZERO);
        if (grad[i] == NULL) continue;
        gather(g, name, keep, grad[i]);
        grad[i] = sum_of(step, name, shape);
    }
    if (ll_graph_status(g) == LLAP_OK)
        ll_nn_step(step, sum_of(step, "loss", LL_SCALAR), other, grad, n, attr);
    ll_free(own);
}

static bool is_sum(const ll_slot *s)
{
    return s->leaf == LL_LEAF_STATE && strncmp(s->name, SUM, strlen(SUM)) == 0;
}

/* What a run moves on beside the gradients: the vectors of spectral norms. */
static bool is_state(const ll_slot *s)
{
    return s->leaf == LL_LEAF_STATE && s->elem == LL_REAL && !is_sum(s);
}

static size_t bytes_of(const ll_slot *s)
{
    return ((size_t)ll_shape_count(&s->shape) * sizeof(float) + 255) / 256 * 256;
}

/* Where the plan of the micro-batches has the sum of that name. */
static size_t place_of(const ll_micro_batches *p, const char *name)
{
    size_t at = 0;
    for (int i = 0; i < ll_plan_n_slots(p->plan); i++) {
        const ll_slot *s = ll_plan_slot(p->plan, i);
        if (!is_sum(s)) continue;
        if (strcmp(s->name, name) == 0) return at;
        at += bytes_of(s);
    }
    return at; /* behind the last: how many there are in all */
}

/* Each micro-batch begins with the states that the step began with: keeps them, or puts them back.
 */
static llap_status exchange_states(ll_micro_batches *p, bool keep)
{
    size_t      at = 0;
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_plan_n_slots(p->plan) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(p->plan, i);
        if (!is_state(s)) continue;
        const ll_param_info *own = ll_params_find(p->params, s->name);
        assert(own != NULL); /* bind found it */
        char *state = own->device_data;
        st =
            ll_device_copy(p->backend, keep ? p->states + at : state, keep ? state : p->states + at,
                           (size_t)ll_shape_count(&s->shape) * sizeof(float));
        at += bytes_of(s);
    }
    return st;
}

static size_t states_bytes(const ll_plan *plan)
{
    size_t n = 256;
    for (int i = 0; i < ll_plan_n_slots(plan); i++)
        if (is_state(ll_plan_slot(plan, i))) n += bytes_of(ll_plan_slot(plan, i));
    return n;
}

static llap_status bind(ll_micro_batches *p, const ll_plan *plan, ll_run *run)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_plan_n_slots(plan) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(plan, i);
        const int64_t  n = ll_shape_count(&s->shape);
        if (is_sum(s)) {
            assert(place_of(p, s->name) < place_of(p, "")); /* the parts gather it */
            st = ll_run_bind_device(run, s->name, p->sums + place_of(p, s->name), n);
        } else if (s->leaf == LL_LEAF_PARAM || s->leaf == LL_LEAF_STATE) {
            const ll_param_info *found = ll_params_find(p->params, s->name);
            if (found == NULL)
                return ll_fail(LLAP_ENOTFOUND, "parameter '%s': not in the model", s->name);
            st = ll_run_bind_device(run, s->name, found->device_data, n);
        }
    }
    return st;
}

static llap_status make(ll_micro_batches *p, const ll_graph *g, const ll_graph *step,
                        const ll_plan_opts *how)
{
    void       *sums = NULL, *states = NULL;
    llap_status st = ll_plan_create(g, how, &p->plan);
    if (st == LLAP_OK) st = ll_plan_create(step, how, &p->step_plan);
    if (st == LLAP_OK) st = ll_device_alloc(p->backend, place_of(p, "") + 256, &sums);
    p->sums = sums;
    if (st == LLAP_OK) st = ll_device_alloc(p->backend, states_bytes(p->plan), &states);
    p->states = states;
    if (st == LLAP_OK) st = ll_run_create(p->plan, &p->run);
    if (st == LLAP_OK) st = ll_run_create(p->step_plan, &p->step_run);
    if (st == LLAP_OK) st = bind(p, p->plan, p->run);
    if (st == LLAP_OK) st = bind(p, p->step_plan, p->step_run);
    if (st == LLAP_OK) st = ll_run_bind(p->run, SUM "keep", &p->keep, 1);
    if (st == LLAP_OK) st = ll_run_bind(p->run, SUM "share", &p->share, 1);
    if (st == LLAP_OK) st = ll_run_bind(p->step_run, "lr", &p->lr, 1);
    if (st == LLAP_OK) st = ll_run_bind(p->step_run, "step", &p->number, 1);
    return st;
}

llap_status ll_micro_batches_create(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr,
                                    const ll_params *params, const ll_plan_opts *how,
                                    ll_micro_batches **out)
{
    ll_graph         *step = NULL;
    ll_micro_batches *p = ll_new(1, sizeof *p);
    *out = NULL;
    if (p == NULL) return LLAP_ENOMEM;
    *p = (ll_micro_batches){ .params = params, .backend = how->backend };
    llap_status st = ll_graph_create(&step);
    if (st == LLAP_OK) describe(g, loss, attr, step);
    if (st == LLAP_OK) st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_graph_status(step);
    if (st == LLAP_OK) st = make(p, g, step, how);
    ll_graph_destroy(step);
    if (st == LLAP_OK) *out = p;
    else ll_micro_batches_destroy(p);
    return st;
}

llap_status ll_micro_batches_add(ll_micro_batches *p, bool first, bool fresh, double share)
{
    const llap_status st = exchange_states(p, first);
    assert(fresh || !first);
    p->keep = fresh ? 0.0f : 1.0f;
    p->share = (float)share;
    return st == LLAP_OK ? ll_run_exec(p->run) : st;
}

float *ll_micro_batches_sums(ll_micro_batches *p, size_t *n)
{
    *n = place_of(p, "") / sizeof(float);
    return (float *)(void *)p->sums;
}

llap_status ll_micro_batches_step(ll_micro_batches *p, double lr, int64_t step, double *loss,
                                  double *norm)
{
    float found = 0.0f;
    assert(step >= 1 && (loss == NULL || norm != NULL));
    p->lr = (float)lr;
    p->number = (int32_t)step;
    llap_status st = ll_run_exec(p->step_run);
    if (st != LLAP_OK || loss == NULL) return st;
    st = ll_device_get(p->backend, &found, ll_micro_batches_loss(p), sizeof found);
    if (st != LLAP_OK) return st;
    *loss = (double)found;
    *norm = (double)*(const float *)ll_run_output(p->step_run, "grad_norm", NULL);
    return LLAP_OK;
}

const void *ll_micro_batches_loss(const ll_micro_batches *p)
{
    return p->sums + place_of(p, SUM "loss");
}

const void *ll_micro_batches_norm(const ll_micro_batches *p)
{
    return ll_run_output_device(p->step_run, "grad_norm", NULL);
}
