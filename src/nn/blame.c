#include "nn/blame.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool llap_nn_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* The states of the store aside (arena given), and back. */
static llap_status swap_states(llap_params *p, void **kept, llap_arena *arena)
{
    for (int i = 0; i < llap_params_count(p); i++) {
        const llap_param_info *x = llap_params_at(p, i);
        const size_t           n = (size_t)x->count * sizeof(float);
        if (x->leaf != LLAP_LEAF_STATE) continue;
        if (arena != NULL && (kept[i] = llap_arena_new(arena, n, 1)) == NULL) return LLAP_ENOMEM;
        memcpy(arena != NULL ? kept[i] : x->data, arena != NULL ? x->data : kept[i], n);
    }
    return LLAP_OK;
}

static bool blame_parameter(const llap_params *p, char *text, size_t size)
{
    for (int i = 0; i < llap_params_count(p); i++) {
        const llap_param_info *x = llap_params_at(p, i);
        if (x->leaf != LLAP_LEAF_PARAM || llap_nn_finite(x->data, x->count)) continue;
        snprintf(text, size, "'%s' is not finite", x->name);
        return true;
    }
    return false;
}

#define LOSS "blamed loss" /* what is blamed may have a "loss" of its own */

/* Adds the loss and the gradient of every parameter as outputs LOSS and "grad NAME". */
static void add_outputs(const llap_blame *b, llap_arena *arena)
{
    const int     n = llap_graph_n_params(b->graph);
    llap_tensor **of = llap_arena_new(arena, 2 * (size_t)n + 1, sizeof *of);
    if (of == NULL) {
        llap_graph_fail(b->graph, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n; i++) of[i] = llap_graph_param(b->graph, i);
    llap_gradients(b->graph, b->loss, of, n, of + n);
    llap_output(b->graph, LOSS, b->loss);
    for (int i = 0; i < n; i++) {
        const char *name = llap_arena_printf(arena, "grad %s", llap_tensor_name(of[i]));
        if (name != NULL && of[n + i] != NULL) llap_output(b->graph, name, of[n + i]);
    }
}

/* The gradients of all pieces, as far as they are finite. */
typedef struct extent {
    double      squares; /* their sum, of the worst piece */
    double      largest;
    const char *of; /* the parameter whose it is */
} extent;

/* The parameter of the first gradient that is not finite; NULL: there is none. */
static const char *look_at_gradients(const llap_blame *b, const llap_run *run, extent *e)
{
    double squares = 0.0;
    for (int i = 0; i < llap_graph_n_params(b->graph); i++) {
        const char *name = llap_tensor_name(llap_graph_param(b->graph, i));
        char        output[256];
        snprintf(output, sizeof output, "grad %s", name);
        const float           *x = llap_run_output(run, output, NULL);
        const llap_param_info *of = llap_params_find(b->params, name);
        const int64_t          n = x == NULL || of == NULL ? 0 : of->count;
        if (!llap_nn_finite(x, n)) return name;
        for (int64_t k = 0; k < n; k++) {
            squares += (double)x[k] * (double)x[k];
            if (fabs((double)x[k]) <= e->largest) continue;
            e->largest = fabs((double)x[k]);
            e->of = name;
        }
    }
    e->squares = fmax(e->squares, squares);
    return NULL;
}

/* Whether it was this piece. */
static bool blame_piece(const llap_blame *b, const llap_run *run, extent *e, char *text,
                        size_t size)
{
    const float *loss = llap_run_output(run, LOSS, NULL);
    const bool   lost = loss != NULL && !isfinite(*loss);
    const char  *name = look_at_gradients(b, run, e);
    if (lost && name != NULL)
        snprintf(text, size, "the loss is not finite, nor is the gradient of '%s'", name);
    else if (lost) snprintf(text, size, "the loss is not finite");
    else if (name != NULL) snprintf(text, size, "gradient of '%s' is not finite", name);
    return lost || name != NULL;
}

static llap_status blame_pieces(const llap_blame *b, llap_run *run, char *text, size_t size)
{
    extent      e = { 0 };
    bool        found = false;
    llap_status st = LLAP_OK;
    for (int64_t i = 0; (i == 0 || i < b->n_pieces) && st == LLAP_OK && !found; i++) {
        st = b->bind(b->user, run, i);
        if (st == LLAP_OK) st = llap_run_exec(run);
        if (st == LLAP_OK) found = blame_piece(b, run, &e, text, size);
    }
    /* The backend adds them up in an order of its own: about what a float holds is too much. */
    if (st == LLAP_OK && !found && e.squares > 0.5 * (double)FLT_MAX)
        snprintf(text, size,
                 "the norm of the gradients is not finite (the largest, %.3g, is of '%s')",
                 e.largest, e.of);
    return st;
}

llap_status llap_nn_blame(const llap_blame *b, char *text, size_t size)
{
    llap_arena  arena = { 0 };
    llap_plan  *plan = NULL;
    llap_run   *run = NULL;
    llap_status st = llap_params_pull(b->params);
    if (st != LLAP_OK || blame_parameter(b->params, text, size)) return st;
    void **kept = llap_arena_new(&arena, (size_t)llap_params_count(b->params) + 1, sizeof *kept);
    st = kept == NULL ? LLAP_ENOMEM : swap_states(b->params, kept, &arena);
    if (st == LLAP_OK) {
        add_outputs(b, &arena);
        st = llap_plan_create(b->graph, b->how, &plan);
    }
    if (st == LLAP_OK) st = llap_run_create(plan, &run);
    if (st == LLAP_OK) st = llap_params_bind(b->params, LLAP_PARAMS_MODEL, plan, run);
    if (st == LLAP_OK) {
        st = blame_pieces(b, run, text, size);
        swap_states(b->params, kept, NULL);
        const llap_status pushed = llap_params_push(b->params);
        if (st == LLAP_OK) st = pushed;
    }
    llap_run_destroy(run);
    llap_plan_release(plan);
    llap_arena_deinit(&arena);
    return st;
}
