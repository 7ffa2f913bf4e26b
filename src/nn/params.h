/* Parameter store: the named arrays of a model, fresh or loaded, that runs are bound to.
 *
 *     ll_params *p;
 *     st = ll_params_create(g, &ll_backend_cpu, &p);    all parameters and states of the graph
 *     if (st == LLAP_OK) ll_params_init(p, seed);         as each layer says; or
 *     if (st == LLAP_OK) st = ll_params_load(p, LL_PARAMS_MODEL, file, &(ll_load_opts){ 0 });
 *     if (st == LLAP_OK) st = ll_params_bind(p, LL_PARAMS_MODEL, plan, run);
 *
 * One contiguous block; each array begins on a cache line. What a name draws depends on seed and
 * name alone, so that adding a layer changes no other one. Any number of plans (other batch sizes,
 * training and inference) may be bound to one store. */
#ifndef LL_NN_PARAMS_H
#define LL_NN_PARAMS_H

#include "base/safetensors.h"
#include "graph/plan.h"

typedef struct ll_params ll_params;

typedef struct ll_param_info {
    const char *name;
    ll_leaf     leaf; /* parameter or state */
    ll_elem     elem;
    ll_shape    shape;
    int64_t     count;
    void       *data;        /* count reals of the backend, or int32; owned by the store */
    void       *device_data; /* what runs are bound to: data, or its copy in the backend's memory */
} ll_param_info;

/* The parts of a store by the names in it: X is the model's (parameters, and states such as
 * weight_u), the others belong to training and lie beside it (nn/optim.h). The random state "rng"
 * is in no part. */
typedef enum ll_params_part {
    LL_PARAMS_MODEL,  /* X */
    LL_PARAMS_EMA,    /* ema.X */
    LL_PARAMS_ADAM_M, /* adam.m.X */
    LL_PARAMS_ADAM_V, /* adam.v.X */
    LL_PARAMS_COUNT
} ll_params_part;

/* Zeroed; the reals are the backend's: float, or double on ref. Caller owns: ll_params_destroy.
 */
llap_status ll_params_create(const ll_graph *g, const ll_backend *backend, ll_params **out);
void        ll_params_destroy(ll_params *p); /* NULL is fine */

const ll_backend    *ll_params_backend(const ll_params *p);
int                  ll_params_count(const ll_params *p);
const ll_param_info *ll_params_at(const ll_params *p, int i); /* in order of the graph */
const ll_param_info *ll_params_find(const ll_params *p, const char *name); /* NULL: none */

/* On a backend with memory of its own (backend/device_memory.h) runs work on a copy there. push
 * takes what was drawn, loaded or set to it, and pull what runs have updated back; elsewhere they
 * do nothing.
 */
llap_status ll_params_push(const ll_params *p);
llap_status ll_params_pull(ll_params *p);

/* What runs work on, kept beside it (keep, which needs as much memory again) and put back, without
 * waiting. */
llap_status ll_params_keep(ll_params *p);
llap_status ll_params_back(ll_params *p);
void        ll_params_drop(ll_params *p); /* gives that memory back */

size_t ll_params_real_bytes(const ll_params *p); /* of one real: 4, or 8 on ref */

/* One number of an array of reals, whatever the backend. */
double ll_param_get(const ll_params *p, const ll_param_info *i, int64_t k);
void   ll_param_set(ll_params *p, const ll_param_info *i, int64_t k, double v);

/* Draws every array as its layer says; "rng" becomes { seed, step 0 }. */
void ll_params_init(ll_params *p, uint64_t seed);

/* Every "TO.X" becomes a copy of "FROM.X" (same shape): layers that start equal. Nothing happens to
 * names that have no counterpart. */
void ll_params_copy(ll_params *p, const char *from, const char *to);
void ll_params_start_ema(ll_params *p); /* every "ema.X" becomes a copy of X */

/* Every "TO_PREFIXX" of to becomes a copy of "FROM_PREFIXX" of from: a trained part goes to the
 * store that is saved, such as ("member.0.", "ema."). Both hold reals of one size. LLAP_ENOTFOUND,
 * LLAP_EINVAL name the first that is not in from, or has another shape there; then nothing has
 * changed. */
llap_status ll_params_take(ll_params *to, const char *to_prefix, const ll_params *from,
                           const char *from_prefix);

/* Spectral-norm vectors of all "NAME.weight_orig": n rounds of v = W^T u, u = W v, each made a unit
 * vector, in double. A fresh model needs them (20 are enough) before it is used for inference. */
llap_status ll_params_power_iterate(ll_params *p, int n);

/* -------- binding -------- */

/* Binds all parameters and states of the run's plan; it borrows them until it is destroyed. With
 * LL_PARAMS_EMA, "ema.X" is bound as X where there is one (its buffers stay the model's).
 * LLAP_ENOTFOUND when one is not in the store, LLAP_EINVAL when its shape is another. */
llap_status ll_params_bind(const ll_params *p, ll_params_part part, const ll_plan *plan,
                           ll_run *run);
/* The same for a plan whose names X are "SCOPEX" in the store. */
llap_status ll_params_bind_scope(const ll_params *p, ll_params_part part, const char *scope,
                                 const ll_plan *plan, ll_run *run);

/* -------- files -------- */

typedef struct ll_load_opts {
    const char *prefix; /* "PREFIXX" in the file is "SCOPEX" of the part; NULL: none */
    const char *scope;  /* only that much of the part; NULL: all */
    /* Beginnings of X, closed by NULL; or NULL: */
    const char *const *ignore; /* tensors of the file that are not refused */
    const char *const *leave;  /* names of the store that are not asked for and stay as they are */
} ll_load_opts;

/* Fills one part from the tensors of a file whose names begin with the prefix. Strict: LLAP_EFORMAT
 * names the first tensor that is missing, unknown, of another shape or type, or not finite; then
 * nothing has changed. */
llap_status ll_params_load(ll_params *p, ll_params_part part, const ll_tensors *file,
                           const ll_load_opts *opts);

/* Adds one part to a file being written, as "PREFIXX". The writer borrows the data until it is
 * saved. LLAP_EUNSUPPORTED for a store of doubles. */
llap_status ll_params_save(const ll_params *p, ll_params_part part, const char *prefix,
                           ll_tensors_writer *w);
/* The same for every "SCOPEX" of the part: the reverse of loading with that scope. */
llap_status ll_params_save_scope(const ll_params *p, ll_params_part part, const char *scope,
                                 const char *prefix, ll_tensors_writer *w);

#endif
