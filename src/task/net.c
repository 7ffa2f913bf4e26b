#include "task/net.h"

#include "backend/cpu/cpu.h"
#include "backend/near.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct task_net {
    llap_plan *plan;
    llap_run  *run;
    void     **input; /* [slots]: buffers of the inputs, NULL for other slots */
    llap_arena arena;
};

static llap_status bind_inputs(task_net *n)
{
    const int slots = llap_plan_n_slots(n->plan);
    n->input = llap_arena_new(&n->arena, (size_t)slots, sizeof *n->input);
    if (n->input == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < slots; i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        const int64_t    count = llap_shape_count(&s->shape);
        if (s->leaf != LLAP_LEAF_INPUT) continue;
        n->input[i] = llap_arena_new(&n->arena, (size_t)count, sizeof(float));
        if (n->input[i] == NULL) return LLAP_ENOMEM;
        const llap_status st = llap_run_bind(n->run, s->name, n->input[i], count);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}

llap_status task_net_create(const llap_graph *g, const llap_params *p, int n_threads,
                            task_net **out)
{
    *out = NULL;
    task_net *n = llap_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    const llap_backend  *of = llap_params_backend(p);
    const llap_plan_opts o = { .backend = of->memory != NULL ? of : &llap_backend_cpu,
                               .n_threads = n_threads,
                               .beside = true };
    llap_status          st = llap_graph_status(g);
    if (st == LLAP_OK) st = llap_plan_create(g, &o, &n->plan);
    if (st == LLAP_OK) st = llap_run_create(n->plan, &n->run);
    if (st == LLAP_OK) st = llap_params_bind(p, LLAP_PARAMS_MODEL, n->plan, n->run);
    if (st == LLAP_OK) st = bind_inputs(n);
    if (st == LLAP_OK) *out = n;
    else task_net_destroy(n);
    return st;
}

void task_net_destroy(task_net *n)
{
    if (n == NULL) return;
    llap_run_destroy(n->run);
    llap_plan_release(n->plan);
    llap_arena_deinit(&n->arena);
    llap_free(n);
}

static void *input_of(task_net *n, const char *name, llap_elem elem)
{
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        if (s->leaf == LLAP_LEAF_INPUT && s->elem == elem && strcmp(s->name, name) == 0)
            return n->input[i];
    }
    return NULL;
}

float   *task_net_real(task_net *n, const char *name) { return input_of(n, name, LLAP_REAL); }
int32_t *task_net_int(task_net *n, const char *name) { return input_of(n, name, LLAP_INT); }

llap_status task_net_run(task_net *n) { return llap_run_exec(n->run); }

const float *task_net_output(const task_net *n, const char *name)
{
    return llap_run_output(n->run, name, NULL);
}

double task_net_number(const task_net *n, const char *name)
{
    const float *x = task_net_output(n, name);
    return x == NULL ? NAN : (double)x[0];
}

size_t task_net_bytes(const task_net *n) { return llap_plan_workspace(n->plan); }

llap_status task_net_begin(task_net *n, llap_params *p, int64_t step, double lr)
{
    const llap_param_info *rng = llap_params_find(p, "rng");
    llap_status            st = LLAP_OK;
    if (rng != NULL) {
        ((int32_t *)rng->data)[2] = (int32_t)(uint32_t)step;
        ((int32_t *)rng->data)[3] = (int32_t)(uint32_t)((uint64_t)step >> 32);
        if (rng->near != rng->data)
            st = llap_near_put(llap_params_backend(p), rng->near, rng->data,
                               (size_t)rng->count * sizeof(int32_t));
    }
    *task_net_real(n, "lr") = (float)lr;
    *task_net_int(n, "step") = (int32_t)step + 1;
    return st == LLAP_OK ? task_net_run(n) : st;
}

void task_net_end(const task_net *n, double *loss, double *grad_norm)
{
    *loss = task_net_number(n, "loss");
    *grad_norm = task_net_number(n, "grad_norm");
}

llap_status task_net_step(task_net *n, llap_params *p, int64_t step, double lr, double *loss,
                          double *grad_norm)
{
    const llap_status st = task_net_begin(n, p, step, lr);
    if (st == LLAP_OK) task_net_end(n, loss, grad_norm);
    return st;
}

/* -------- what is not finite -------- */

static bool all_finite(const float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool blame_input(const task_net *n, char *text, size_t size)
{
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        if (n->input[i] == NULL || s->elem != LLAP_REAL ||
            all_finite(n->input[i], llap_shape_count(&s->shape)))
            continue;
        snprintf(text, size, "input '%s' is not finite", s->name);
        return true;
    }
    return false;
}

/* Copies the inputs of n to those of another net of the same loss. */
static void copy_inputs(task_net *to, const task_net *n)
{
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        void            *x = n->input[i] == NULL ? NULL : input_of(to, s->name, s->elem);
        if (x != NULL) memcpy(x, n->input[i], (size_t)llap_shape_count(&s->shape) * sizeof(float));
    }
}

/* The states of the store aside, and back. */
static void swap_states(llap_params *p, void **kept, llap_arena *arena)
{
    for (int i = 0; i < llap_params_count(p); i++) {
        const llap_param_info *x = llap_params_at(p, i);
        const size_t           n = (size_t)x->count * sizeof(float);
        if (x->leaf != LLAP_LEAF_STATE) continue;
        if (arena == NULL && kept[i] != NULL) memcpy(x->data, kept[i], n);
        if (arena != NULL && (kept[i] = llap_arena_new(arena, n, 1)) != NULL)
            memcpy(kept[i], x->data, n);
    }
}

llap_status task_net_blame(task_net *n, llap_graph *g, llap_tensor *loss, llap_params *p,
                           char *text, size_t size)
{
    if (blame_input(n, text, size)) return LLAP_OK;
    const int     count = llap_graph_n_params(g);
    task_net     *with = NULL;
    llap_arena    arena = { 0 };
    llap_tensor **all = llap_arena_new(&arena, 2 * (size_t)count + 1, sizeof *all);
    void        **kept = llap_arena_new(&arena, (size_t)llap_params_count(p) + 1, sizeof *kept);
    llap_status   st = all == NULL || kept == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        for (int i = 0; i < count; i++) all[i] = llap_graph_param(g, i);
        llap_gradients(g, loss, all, count, all + count);
        for (int i = 0; i < count; i++) {
            const char *name = llap_arena_printf(&arena, "grad %s", llap_tensor_name(all[i]));
            if (name != NULL && all[count + i] != NULL) llap_output(g, name, all[count + i]);
        }
        st = llap_params_pull(p);
        swap_states(p, kept, &arena);
    }
    if (st == LLAP_OK) st = task_net_create(g, p, 1, &with);
    if (st == LLAP_OK) {
        copy_inputs(with, n);
        st = task_net_run(with);
        swap_states(p, kept, NULL);
        if (st == LLAP_OK) st = llap_params_push(p);
    }
    snprintf(text, size, "a value is not finite");
    for (int i = 0; i < count && st == LLAP_OK; i++) {
        char name[256];
        snprintf(name, sizeof name, "grad %s", llap_tensor_name(all[i]));
        const float *x = task_net_output(with, name);
        if (x == NULL || all_finite(x, llap_params_find(p, llap_tensor_name(all[i]))->count))
            continue;
        snprintf(text, size, "gradient of '%s' is not finite", llap_tensor_name(all[i]));
        break;
    }
    task_net_destroy(with);
    llap_arena_deinit(&arena);
    return st;
}
