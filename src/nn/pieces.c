#include "nn/pieces.h"

#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

#define SUM "sum." /* states that are no part of the model: gradients so far */

struct llap_pieces {
    const llap_params  *params;
    const llap_backend *backend;
    llap_plan          *plan, *step_plan;
    llap_run           *run, *step_run;
    char               *sums;   /* near memory of all SUM states of plan */
    char               *states; /* of the others, as the step found them */
    float               share, keep, lr;
    int32_t             number;
};

void llap_pieces_destroy(llap_pieces *p)
{
    if (p == NULL) return;
    llap_run_destroy(p->run);
    llap_run_destroy(p->step_run);
    llap_plan_release(p->plan);
    llap_plan_release(p->step_plan);
    llap_near_release(p->backend, p->sums);
    llap_near_release(p->backend, p->states);
    llap_free(p);
}

llap_run        *llap_pieces_run(llap_pieces *p) { return p->run; }
const llap_plan *llap_pieces_plan(const llap_pieces *p) { return p->plan; }

static llap_tensor *sum_of(llap_graph *g, const char *name, llap_shape shape)
{
    llap_scope_push(g, "sum");
    llap_tensor *s = llap_state(g, name, shape, LLAP_INIT_ZERO);
    llap_scope_pop(g);
    return s;
}

/* sum = (keep? sum : 0) + x */
static void gather(llap_graph *g, const char *name, llap_tensor *keep, llap_tensor *x)
{
    llap_tensor *sum = sum_of(g, name, llap_shape_of(x));
    llap_update(g, sum, llap_add(g, llap_mask(g, sum, keep), x));
}

/* Adds to g what gathers, and to step what uses it. */
static void describe(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr,
                     llap_graph *step)
{
    const int     n = llap_graph_n_params(g);
    llap_tensor **own = llap_new(3 * (size_t)n + 1, sizeof *own), **grad = own + n,
                **other = grad + n;
    if (own == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    llap_tensor *keep = llap_input(g, SUM "keep", LLAP_SCALAR);
    llap_tensor *part = llap_mul(g, loss, llap_input(g, SUM "share", LLAP_SCALAR));
    for (int i = 0; i < n; i++) own[i] = llap_graph_param(g, i);
    llap_gradients(g, part, own, n, grad);
    gather(g, "loss", keep, llap_reshape(g, part, LLAP_SCALAR));
    for (int i = 0; i < n && llap_graph_status(g) == LLAP_OK; i++) {
        const char      *name = llap_tensor_name(own[i]);
        const llap_shape shape = llap_shape_of(own[i]);
        other[i] = llap_param(step, name, shape, LLAP_INIT_ZERO);
        if (grad[i] == NULL) continue;
        gather(g, name, keep, grad[i]);
        grad[i] = sum_of(step, name, shape);
    }
    if (llap_graph_status(g) == LLAP_OK)
        llap_nn_step(step, sum_of(step, "loss", LLAP_SCALAR), other, grad, n, attr);
    llap_free(own);
}

static bool is_sum(const llap_slot *s)
{
    return s->leaf == LLAP_LEAF_STATE && strncmp(s->name, SUM, strlen(SUM)) == 0;
}

/* What a run moves on beside the gradients: the vectors of spectral norms. */
static bool is_state(const llap_slot *s)
{
    return s->leaf == LLAP_LEAF_STATE && s->elem == LLAP_REAL && !is_sum(s);
}

static size_t bytes_of(const llap_slot *s)
{
    return ((size_t)llap_shape_count(&s->shape) * sizeof(float) + 255) / 256 * 256;
}

/* Where the plan of the pieces has the sum of that name. */
static size_t place_of(const llap_pieces *p, const char *name)
{
    size_t at = 0;
    for (int i = 0; i < llap_plan_n_slots(p->plan); i++) {
        const llap_slot *s = llap_plan_slot(p->plan, i);
        if (!is_sum(s)) continue;
        if (strcmp(s->name, name) == 0) return at;
        at += bytes_of(s);
    }
    return at; /* behind the last: how many there are in all */
}

/* Each piece begins with the states that the step began with: keeps them, or puts them back. */
static llap_status exchange_states(llap_pieces *p, bool keep)
{
    size_t      at = 0;
    llap_status st = LLAP_OK;
    for (int i = 0; i < llap_plan_n_slots(p->plan) && st == LLAP_OK; i++) {
        const llap_slot *s = llap_plan_slot(p->plan, i);
        if (!is_state(s)) continue;
        char *state = llap_params_find(p->params, s->name)->near;
        st =
            llap_near_copy(p->backend, keep ? p->states + at : state, keep ? state : p->states + at,
                           (size_t)llap_shape_count(&s->shape) * sizeof(float));
        at += bytes_of(s);
    }
    return st;
}

static size_t states_bytes(const llap_plan *plan)
{
    size_t n = 256;
    for (int i = 0; i < llap_plan_n_slots(plan); i++)
        if (is_state(llap_plan_slot(plan, i))) n += bytes_of(llap_plan_slot(plan, i));
    return n;
}

static llap_status bind(llap_pieces *p, const llap_plan *plan, llap_run *run)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < llap_plan_n_slots(plan) && st == LLAP_OK; i++) {
        const llap_slot *s = llap_plan_slot(plan, i);
        const int64_t    n = llap_shape_count(&s->shape);
        if (is_sum(s)) {
            st = llap_run_bind_near(run, s->name, p->sums + place_of(p, s->name), n);
        } else if (s->leaf == LLAP_LEAF_PARAM || s->leaf == LLAP_LEAF_STATE) {
            const llap_param_info *found = llap_params_find(p->params, s->name);
            if (found == NULL)
                return llap_fail(LLAP_ENOTFOUND, "parameter '%s': not in the model", s->name);
            st = llap_run_bind_near(run, s->name, found->near, n);
        }
    }
    return st;
}

static llap_status make(llap_pieces *p, const llap_graph *g, const llap_graph *step,
                        const llap_plan_opts *how)
{
    void       *sums = NULL, *states = NULL;
    llap_status st = llap_plan_create(g, how, &p->plan);
    if (st == LLAP_OK) st = llap_plan_create(step, how, &p->step_plan);
    if (st == LLAP_OK) st = llap_near_alloc(p->backend, place_of(p, "") + 256, &sums);
    p->sums = sums;
    if (st == LLAP_OK) st = llap_near_alloc(p->backend, states_bytes(p->plan), &states);
    p->states = states;
    if (st == LLAP_OK) st = llap_run_create(p->plan, &p->run);
    if (st == LLAP_OK) st = llap_run_create(p->step_plan, &p->step_run);
    if (st == LLAP_OK) st = bind(p, p->plan, p->run);
    if (st == LLAP_OK) st = bind(p, p->step_plan, p->step_run);
    if (st == LLAP_OK) st = llap_run_bind(p->run, SUM "keep", &p->keep, 1);
    if (st == LLAP_OK) st = llap_run_bind(p->run, SUM "share", &p->share, 1);
    if (st == LLAP_OK) st = llap_run_bind(p->step_run, "lr", &p->lr, 1);
    if (st == LLAP_OK) st = llap_run_bind(p->step_run, "step", &p->number, 1);
    return st;
}

llap_status llap_pieces_create(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr,
                               const llap_params *params, const llap_plan_opts *how,
                               llap_pieces **out)
{
    llap_graph  *step = NULL;
    llap_pieces *p = llap_new(1, sizeof *p);
    *out = NULL;
    if (p == NULL) return LLAP_ENOMEM;
    *p = (llap_pieces){ .params = params, .backend = how->backend };
    llap_status st = llap_graph_create(&step);
    if (st == LLAP_OK) describe(g, loss, attr, step);
    if (st == LLAP_OK) st = llap_graph_status(g);
    if (st == LLAP_OK) st = llap_graph_status(step);
    if (st == LLAP_OK) st = make(p, g, step, how);
    llap_graph_destroy(step);
    if (st == LLAP_OK) *out = p;
    else llap_pieces_destroy(p);
    return st;
}

llap_status llap_pieces_add(llap_pieces *p, bool first, double share)
{
    const llap_status st = exchange_states(p, first);
    p->keep = first ? 0.0f : 1.0f;
    p->share = (float)share;
    return st == LLAP_OK ? llap_run_exec(p->run) : st;
}

llap_status llap_pieces_step(llap_pieces *p, double lr, int64_t step, double *loss, double *norm)
{
    float found = 0.0f;
    p->lr = (float)lr;
    p->number = (int32_t)step;
    llap_status st = llap_run_exec(p->step_run);
    if (st != LLAP_OK || loss == NULL) return st;
    st = llap_near_get(p->backend, &found, llap_pieces_loss(p), sizeof found);
    if (st != LLAP_OK) return st;
    *loss = (double)found;
    *norm = (double)*(const float *)llap_run_output(p->step_run, "grad_norm", NULL);
    return LLAP_OK;
}

const void *llap_pieces_loss(const llap_pieces *p) { return p->sums + place_of(p, SUM "loss"); }

const void *llap_pieces_norm(const llap_pieces *p)
{
    return llap_run_output_near(p->step_run, "grad_norm", NULL);
}
