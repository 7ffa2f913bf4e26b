#include "nn/non_finite.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The states of the store aside (arena given), and back. */
static llap_status swap_states(ll_params *p, void **kept, ll_arena *arena)
{
    assert(ll_params_real_bytes(p) == sizeof(float));
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        const size_t         n = (size_t)x->count * sizeof(float);
        if (x->leaf != LL_LEAF_STATE) continue;
        if (arena != NULL && (kept[i] = ll_arena_new(arena, n, 1)) == NULL) return LLAP_ENOMEM;
        memcpy(arena != NULL ? kept[i] : x->data, arena != NULL ? x->data : kept[i], n);
    }
    return LLAP_OK;
}

static bool non_finite_parameter(const ll_params *p, char *text, size_t size)
{
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        if (x->leaf != LL_LEAF_PARAM || ll_nn_finite(x->data, x->count)) continue;
        snprintf(text, size, "'%s' is not finite", x->name);
        return true;
    }
    return false;
}

#define LOSS "checked loss" /* the graph may have a "loss" of its own */

/* Adds the loss and the gradient of every parameter as outputs LOSS and "grad NAME". */
static void add_outputs(const ll_non_finite *b, ll_arena *arena)
{
    const int   n = ll_graph_n_params(b->graph);
    ll_tensor **of = ll_arena_new(arena, 2 * (size_t)n + 1, sizeof *of);
    if (of == NULL) {
        ll_graph_fail(b->graph, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n; i++) of[i] = ll_graph_param(b->graph, i);
    ll_gradients(b->graph, b->loss, of, n, of + n);
    ll_output(b->graph, LOSS, b->loss);
    for (int i = 0; i < n; i++) {
        const char *name = ll_arena_printf(arena, "grad %s", ll_tensor_name(of[i]));
        if (name != NULL && of[n + i] != NULL) ll_output(b->graph, name, of[n + i]);
    }
}

/* The gradients of all micro-batches, as far as they are finite. */
typedef struct extent {
    double      squares; /* their sum, of the worst micro-batch */
    double      largest;
    const char *of; /* the parameter whose it is */
} extent;

/* The parameter of the first gradient that is not finite; NULL: there is none. */
static const char *look_at_gradients(const ll_non_finite *b, const ll_session *net, extent *e)
{
    double squares = 0.0;
    for (int i = 0; i < ll_graph_n_params(b->graph); i++) {
        const char *name = ll_tensor_name(ll_graph_param(b->graph, i));
        char        output[256];
        snprintf(output, sizeof output, "grad %s", name);
        const float         *x = ll_session_output(net, output);
        const ll_param_info *of = ll_params_find(b->params, name);
        const int64_t        n = x == NULL || of == NULL ? 0 : of->count;
        if (!ll_nn_finite(x, n)) return name;
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

/* Whether it was this micro-batch. */
static bool non_finite_micro_batch(const ll_non_finite *b, const ll_session *net, extent *e,
                                   char *text, size_t size)
{
    const float *loss = ll_session_output(net, LOSS);
    const bool   lost = loss != NULL && !isfinite(*loss);
    const char  *name = look_at_gradients(b, net, e);
    if (lost && name != NULL)
        snprintf(text, size, "the loss is not finite, nor is the gradient of '%s'", name);
    else if (lost) snprintf(text, size, "the loss is not finite");
    else if (name != NULL) snprintf(text, size, "gradient of '%s' is not finite", name);
    return lost || name != NULL;
}

static int64_t micro_batches_of(const ll_non_finite *b)
{
    return b->n_micro_batches < 1 ? 1 : b->n_micro_batches;
}

static llap_status non_finite_input(const ll_non_finite *b, ll_session *net, bool *found,
                                    char *text, size_t size)
{
    llap_status st = LLAP_OK;
    *found = false;
    for (int64_t i = 0; i < micro_batches_of(b) && st == LLAP_OK && !*found; i++) {
        st = b->fill(b->user, net, i);
        const char *bad = st == LLAP_OK ? ll_session_bad_input(net) : NULL;
        *found = bad != NULL;
        if (*found) snprintf(text, size, "input '%s' is not finite", bad);
    }
    return st;
}

/* The states as they were. */
static llap_status restore(const ll_non_finite *b, void **kept)
{
    (void)swap_states(b->params, kept, NULL);
    return ll_params_push(b->params);
}

/* Each micro-batch begins with the states that the step began with. */
static llap_status non_finite_micro_batches(const ll_non_finite *b, ll_session *net, void **kept,
                                            char *text, size_t size)
{
    extent      e = { 0 };
    bool        found = false;
    llap_status st = LLAP_OK;
    for (int64_t i = 0; i < micro_batches_of(b) && st == LLAP_OK && !found; i++) {
        if (i > 0) st = restore(b, kept);
        if (st == LLAP_OK) st = b->fill(b->user, net, i);
        if (st == LLAP_OK) st = ll_session_run(net);
        if (st == LLAP_OK) found = non_finite_micro_batch(b, net, &e, text, size);
    }
    /* The backend adds them up in an order of its own: about what a float holds is too much. */
    if (st == LLAP_OK && !found && e.squares > 0.5 * (double)FLT_MAX) {
        assert(e.of != NULL);
        snprintf(text, size,
                 "the norm of the gradients is not finite (the largest, %.3g, is of '%s')",
                 e.largest, e.of);
    }
    return st;
}

llap_status ll_nn_find_non_finite(const ll_non_finite *b, char *text, size_t size)
{
    ll_arena    arena = { 0 };
    ll_session *net = NULL;
    bool        found = false;
    llap_status st = ll_params_pull(b->params);
    if (st != LLAP_OK) return st;
    void **kept = ll_arena_new(&arena, (size_t)ll_params_count(b->params) + 1, sizeof *kept);
    st = kept == NULL ? LLAP_ENOMEM : swap_states(b->params, kept, &arena);
    if (st == LLAP_OK) {
        add_outputs(b, &arena);
        st = ll_session_create(b->graph, b->params, ll_params_backend(b->params), b->n_threads,
                               &net);
    }
    if (st == LLAP_OK) {
        st = non_finite_input(b, net, &found, text, size);
        if (st == LLAP_OK && !found && !non_finite_parameter(b->params, text, size))
            st = non_finite_micro_batches(b, net, kept, text, size);
        const llap_status restored = restore(b, kept);
        if (st == LLAP_OK) st = restored;
    }
    ll_session_destroy(net);
    ll_arena_deinit(&arena);
    return st;
}
