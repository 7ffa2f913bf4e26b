#include "task/net.h"

#include "backend/cpu/cpu.h"
#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"
#include "nn/blame.h"
#include "nn/pieces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct task_net {
    const llap_backend *backend;
    const llap_plan    *plan;
    llap_run           *run;
    llap_plan          *own_plan; /* NULL: both are of the pieces */
    llap_pieces        *pieces;
    char               *block; /* buffers of all inputs, one after another */
    void               *near;  /* their copy, where the backend has its own memory */
    size_t              n_bytes;
    void              **input; /* [slots]: those buffers, NULL for other slots */
};

static size_t input_bytes(const llap_slot *s) /* 0: no input of the caller's, or a table */
{
    if (s->leaf != LLAP_LEAF_INPUT || strncmp(s->name, TASK_NET_ROWS, strlen(TASK_NET_ROWS)) == 0 ||
        strncmp(s->name, "sum.", 4) == 0)
        return 0;
    return (size_t)llap_shape_count(&s->shape) * sizeof(float) / 256 * 256 + 256;
}

/* All inputs go there as one copy. */
static llap_status bind_inputs(task_net *n)
{
    const int   slots = llap_plan_n_slots(n->plan);
    llap_status st = LLAP_OK;
    for (int i = 0; i < slots; i++) n->n_bytes += input_bytes(llap_plan_slot(n->plan, i));
    n->block = llap_new_aligned(n->n_bytes + 1, 1);
    n->input = llap_new((size_t)slots, sizeof *n->input);
    if (n->block == NULL || n->input == NULL) return LLAP_ENOMEM;
    if (n->backend->memory != NULL) st = llap_near_alloc(n->backend, n->n_bytes, &n->near);
    for (size_t i = 0, at = 0; i < (size_t)slots && st == LLAP_OK; i++) {
        const llap_slot *s = llap_plan_slot(n->plan, (int)i);
        if (input_bytes(s) == 0) continue;
        n->input[i] = n->block + at;
        st = llap_run_bind_near(n->run, s->name,
                                n->near != NULL ? (char *)n->near + at : n->input[i],
                                llap_shape_count(&s->shape));
        at += input_bytes(s);
    }
    return st;
}

static llap_plan_opts plan_opts(const llap_params *p, int n_threads)
{
    const llap_backend *of = llap_params_backend(p);
    return (llap_plan_opts){ .backend = of->memory != NULL ? of : &llap_backend_cpu,
                             .n_threads = n_threads,
                             .beside = true };
}

llap_status task_net_create(const llap_graph *g, const llap_params *p, int n_threads,
                            task_net **out)
{
    *out = NULL;
    task_net *n = llap_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    const llap_plan_opts o = plan_opts(p, n_threads);
    llap_status          st = llap_graph_status(g);
    n->backend = o.backend;
    if (st == LLAP_OK) st = llap_plan_create(g, &o, &n->own_plan);
    n->plan = n->own_plan;
    if (st == LLAP_OK) st = llap_run_create(n->own_plan, &n->run);
    if (st == LLAP_OK) st = llap_params_bind(p, LLAP_PARAMS_MODEL, n->plan, n->run);
    if (st == LLAP_OK) st = bind_inputs(n);
    if (st == LLAP_OK) *out = n;
    else task_net_destroy(n);
    return st;
}

llap_status task_net_create_part(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr,
                                 const llap_params *p, int n_threads, task_net **out)
{
    *out = NULL;
    task_net *n = llap_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    const llap_plan_opts o = plan_opts(p, n_threads);
    n->backend = o.backend;
    llap_status st = llap_pieces_create(g, loss, attr, p, &o, &n->pieces);
    if (st == LLAP_OK) {
        n->plan = llap_pieces_plan(n->pieces);
        n->run = llap_pieces_run(n->pieces);
        st = bind_inputs(n);
    }
    if (st == LLAP_OK) *out = n;
    else task_net_destroy(n);
    return st;
}

void task_net_destroy(task_net *n)
{
    if (n == NULL) return;
    if (n->pieces == NULL) llap_run_destroy(n->run);
    llap_pieces_destroy(n->pieces);
    llap_near_release(n->backend, n->near);
    llap_plan_release(n->own_plan);
    llap_free(n->block);
    llap_free(n->input);
    llap_free(n);
}

static int slot_of(const task_net *n, const char *name, llap_elem elem) /* -1: none */
{
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        if (s->leaf == LLAP_LEAF_INPUT && s->elem == elem && strcmp(s->name, name) == 0) return i;
    }
    return -1;
}

static void *input_of(task_net *n, const char *name, llap_elem elem)
{
    const int i = slot_of(n, name, elem);
    return i < 0 ? NULL : n->input[i];
}

float   *task_net_real(task_net *n, const char *name) { return input_of(n, name, LLAP_REAL); }
int32_t *task_net_int(task_net *n, const char *name) { return input_of(n, name, LLAP_INT); }

int64_t task_net_count(const task_net *n, const char *name)
{
    const int i = slot_of(n, name, LLAP_REAL);
    return i < 0 ? 0 : llap_shape_count(&llap_plan_slot(n->plan, i)->shape);
}

llap_status task_net_place(task_net *n, const char *name, void *near_table)
{
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        if (strcmp(s->name, name) == 0)
            return llap_run_bind_near(n->run, name, near_table, llap_shape_count(&s->shape));
    }
    return LLAP_OK;
}

static llap_status send_inputs(const task_net *n)
{
    return n->near == NULL ? LLAP_OK : llap_near_put(n->backend, n->near, n->block, n->n_bytes);
}

llap_status task_net_run(task_net *n)
{
    const llap_status st = send_inputs(n);
    return st == LLAP_OK ? llap_run_exec(n->run) : st;
}

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

/* Dropout draws by the step, and by the piece of it. */
static llap_status put_random(llap_params *p, int64_t step, int64_t piece)
{
    const llap_param_info *rng = llap_params_find(p, "rng");
    if (rng == NULL) return LLAP_OK;
    ((int32_t *)rng->data)[2] = (int32_t)(uint32_t)step;
    ((int32_t *)rng->data)[3] = (int32_t)(uint32_t)((uint64_t)step >> 32) + (int32_t)piece;
    if (rng->near == rng->data) return LLAP_OK;
    return llap_near_put(llap_params_backend(p), rng->near, rng->data,
                         (size_t)rng->count * sizeof(int32_t));
}

llap_status task_net_begin(task_net *n, llap_params *p, int64_t step, double lr)
{
    const llap_status st = put_random(p, step, 0);
    *task_net_real(n, "lr") = (float)lr;
    *task_net_int(n, "step") = (int32_t)step + 1;
    return st == LLAP_OK ? task_net_run(n) : st;
}

void task_net_end(const task_net *n, double *loss, double *grad_norm)
{
    *loss = task_net_number(n, "loss");
    *grad_norm = task_net_number(n, "grad_norm");
}

llap_status task_net_later(const task_net *n, llap_ahead *a, int64_t step)
{
    if (n->pieces != NULL)
        return llap_ahead_put(a, step, llap_pieces_loss(n->pieces), llap_pieces_norm(n->pieces));
    return llap_ahead_put(a, step, llap_run_output_near(n->run, "loss", NULL),
                          llap_run_output_near(n->run, "grad_norm", NULL));
}

llap_status task_net_step(task_net *n, llap_params *p, int64_t step, double lr, double *loss,
                          double *grad_norm)
{
    const llap_status st = task_net_begin(n, p, step, lr);
    if (st == LLAP_OK) task_net_end(n, loss, grad_norm);
    return st;
}

llap_status task_net_add(task_net *n, llap_params *p, int64_t step, int64_t piece, double share)
{
    llap_status st = put_random(p, step, piece);
    if (st == LLAP_OK) st = send_inputs(n);
    return st == LLAP_OK ? llap_pieces_add(n->pieces, piece == 0, share) : st;
}

llap_status task_net_added(task_net *n, int64_t step, double lr, double *loss, double *grad_norm)
{
    return llap_pieces_step(n->pieces, lr, step + 1, loss, grad_norm);
}

/* -------- what is not finite -------- */

static bool blame_input(const task_net *n, char *text, size_t size)
{
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        if (n->input[i] == NULL || s->elem != LLAP_REAL ||
            llap_nn_finite(n->input[i], llap_shape_count(&s->shape)))
            continue;
        snprintf(text, size, "input '%s' is not finite", s->name);
        return true;
    }
    return false;
}

/* The inputs of a net for another run of the same loss, which may have no use for some. */
static llap_status lend_inputs(void *user, llap_run *run, int64_t piece)
{
    (void)piece; /* it goes as one */
    const task_net *n = user;
    for (int i = 0; i < llap_plan_n_slots(n->plan); i++) {
        const llap_slot *s = llap_plan_slot(n->plan, i);
        if (n->input[i] == NULL) continue;
        const llap_status st =
            llap_run_bind(run, s->name, n->input[i], llap_shape_count(&s->shape));
        if (st != LLAP_OK && st != LLAP_ENOTFOUND) return st;
    }
    return LLAP_OK;
}

llap_status task_net_blame(task_net *n, llap_graph *g, llap_tensor *loss, llap_params *p,
                           char *text, size_t size)
{
    if (blame_input(n, text, size)) return LLAP_OK;
    const llap_plan_opts how = plan_opts(p, 1);
    const llap_blame     b = {
            .graph = g, .loss = loss, .params = p, .how = &how, .bind = lend_inputs, .user = n
    };
    return llap_nn_blame(&b, text, size);
}
