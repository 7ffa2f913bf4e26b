/* Parameter store: the named arrays of a model, fresh or loaded, that runs are bound to.
 *
 *     llap_params *p;
 *     st = llap_params_create(g, &llap_backend_cpu, &p);    all parameters and states of the graph
 *     if (st == LLAP_OK) llap_params_init(p, seed);         as each layer says; or
 *     if (st == LLAP_OK) st = llap_params_load(p, LLAP_PARAMS_MODEL, file, &(llap_load_opts){ 0 });
 *     if (st == LLAP_OK) st = llap_params_bind(p, LLAP_PARAMS_MODEL, plan, run);
 *
 * One contiguous block; each array begins on a cache line. What a name draws depends on seed and
 * name alone, so that adding a layer changes no other one. Any number of plans (other batch sizes,
 * training and inference) may be bound to one store. */
#ifndef LLAP_NN_PARAMS_H
#define LLAP_NN_PARAMS_H

#include "base/safetensors.h"
#include "graph/plan.h"

typedef struct llap_params llap_params;

typedef struct llap_param_info {
    const char *name;
    llap_leaf   leaf; /* parameter or state */
    llap_elem   elem;
    llap_shape  shape;
    int64_t     count;
    void       *data; /* count reals of the backend, or int32; owned by the store */
    void       *near; /* what runs are bound to: data, or its copy in the backend's memory */
} llap_param_info;

/* The parts of a store by the names in it: X is the model's (parameters, and states such as
 * weight_u), the others belong to training and lie beside it (nn/optim.h). The random state "rng"
 * is in no part. */
typedef enum llap_params_part {
    LLAP_PARAMS_MODEL,  /* X */
    LLAP_PARAMS_EMA,    /* ema.X */
    LLAP_PARAMS_ADAM_M, /* adam.m.X */
    LLAP_PARAMS_ADAM_V, /* adam.v.X */
    LLAP_PARAMS_COUNT
} llap_params_part;

/* Zeroed; the reals are the backend's: float, or double on ref. Caller owns: llap_params_destroy.
 */
llap_status llap_params_create(const llap_graph *g, const llap_backend *backend, llap_params **out);
void        llap_params_destroy(llap_params *p); /* NULL is fine */

const llap_backend    *llap_params_backend(const llap_params *p);
int                    llap_params_count(const llap_params *p);
const llap_param_info *llap_params_at(const llap_params *p, int i); /* in order of the graph */
const llap_param_info *llap_params_find(const llap_params *p, const char *name); /* NULL: none */

/* On a backend with memory of its own (backend/near.h) runs work on a copy there. push takes what
 * was drawn, loaded or set to it, and pull what runs have updated back; elsewhere they do nothing.
 */
llap_status llap_params_push(const llap_params *p);
llap_status llap_params_pull(llap_params *p);

/* What runs work on, kept beside it (keep, which needs as much memory again) and put back, without
 * waiting. */
llap_status llap_params_keep(llap_params *p);
llap_status llap_params_back(llap_params *p);
void        llap_params_drop(llap_params *p); /* gives that memory back */

size_t llap_params_real_bytes(const llap_params *p); /* of one real: 4, or 8 on ref */

/* One number of an array of reals, whatever the backend. */
double llap_param_get(const llap_params *p, const llap_param_info *i, int64_t k);
void   llap_param_set(llap_params *p, const llap_param_info *i, int64_t k, double v);

/* Draws every array as its layer says; "rng" becomes { seed, step 0 }. */
void llap_params_init(llap_params *p, uint64_t seed);

/* Every "TO.X" becomes a copy of "FROM.X" (same shape): layers that start equal. Nothing happens to
 * names that have no counterpart. */
void llap_params_copy(llap_params *p, const char *from, const char *to);
void llap_params_start_ema(llap_params *p); /* every "ema.X" becomes a copy of X */

/* Every "TO_PREFIXX" of to becomes a copy of "FROM_PREFIXX" of from: a trained part goes to the
 * store that is saved, such as ("member.0.", "ema."). Both hold reals of one size. LLAP_ENOTFOUND,
 * LLAP_EINVAL name the first that is not in from, or has another shape there; then nothing has
 * changed. */
llap_status llap_params_take(llap_params *to, const char *to_prefix, const llap_params *from,
                             const char *from_prefix);

/* Spectral-norm vectors of all "NAME.weight_orig": n rounds of v = W^T u, u = W v, each made a unit
 * vector, in double. A fresh model needs them (20 are enough) before it is used for inference. */
llap_status llap_params_power_iterate(llap_params *p, int n);

/* -------- binding -------- */

/* Binds all parameters and states of the run's plan; it borrows them until it is destroyed. With
 * LLAP_PARAMS_EMA, "ema.X" is bound as X where there is one (its buffers stay the model's).
 * LLAP_ENOTFOUND when one is not in the store, LLAP_EINVAL when its shape is another. */
llap_status llap_params_bind(const llap_params *p, llap_params_part part, const llap_plan *plan,
                             llap_run *run);
/* The same for a plan whose names X are "SCOPEX" in the store. */
llap_status llap_params_bind_scope(const llap_params *p, llap_params_part part, const char *scope,
                                   const llap_plan *plan, llap_run *run);

/* -------- files -------- */

typedef struct llap_load_opts {
    const char *prefix; /* "PREFIXX" in the file is "SCOPEX" of the part; NULL: none */
    const char *scope;  /* only that much of the part; NULL: all */
    /* Beginnings of X, closed by NULL; or NULL: */
    const char *const *ignore; /* tensors of the file that are not refused */
    const char *const *leave;  /* names of the store that are not asked for and stay as they are */
} llap_load_opts;

/* Fills one part from the tensors of a file whose names begin with the prefix. Strict: LLAP_EFORMAT
 * names the first tensor that is missing, unknown, of another shape or type, or not finite; then
 * nothing has changed. */
llap_status llap_params_load(llap_params *p, llap_params_part part, const llap_tensors *file,
                             const llap_load_opts *opts);

/* Adds one part to a file being written, as "PREFIXX". The writer borrows the data until it is
 * saved. LLAP_EUNSUPPORTED for a store of doubles. */
llap_status llap_params_save(const llap_params *p, llap_params_part part, const char *prefix,
                             llap_tensors_writer *w);
/* The same for every "SCOPEX" of the part: the reverse of loading with that scope. */
llap_status llap_params_save_scope(const llap_params *p, llap_params_part part, const char *scope,
                                   const char *prefix, llap_tensors_writer *w);

#endif
