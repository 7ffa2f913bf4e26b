/* Plans: a graph made ready to run on a backend.
 *
 *     llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = 2 };
 *     llap_plan     *p;
 *     llap_run      *r;
 *     st = llap_plan_create(g, &o, &p);
 *     if (st == LLAP_OK) st = llap_run_create(p, &r);       memory of one caller
 *     if (st == LLAP_OK) st = llap_run_bind(r, "x", x, n);  by name; floats on the cpu
 *     if (st == LLAP_OK) st = llap_run_exec(r);             as often as wanted: allocates nothing
 *     const float *y = llap_run_output(r, "y", &shape);     borrowed until the next exec
 *
 * A plan is immutable and shared by threads; each of them has its own run. It no longer needs its
 * graph. Memory of intermediate results is reused as soon as it is free; where it is safe, results
 * overwrite operands. */
#ifndef LLAP_GRAPH_PLAN_H
#define LLAP_GRAPH_PLAN_H

#include "graph/graph.h"

typedef struct llap_plan llap_plan;
typedef struct llap_run  llap_run;

typedef struct llap_plan_opts {
    const llap_backend *backend;
    int                 n_threads; /* of every run; at least 1 */
    bool                plain;     /* no fusion, no reuse of memory: for tests and for comparing */
    /* Parameters that the backend can read as bf16 are bound so: their slots say LLAP_HALF. */
    bool half_params;
    /* Parameters and states that no step writes keep their numbers from the first run on, unless
     * others are bound: kernels may keep them in another form. */
    bool fixed_params;
    /* Products and sums that nobody waits for, such as the gradients of weights, run beside the
     * steps that follow, where the backend can. Takes some more memory. */
    bool beside;
} llap_plan_opts;

llap_status llap_plan_create(const llap_graph *g, const llap_plan_opts *opts,
                             llap_plan **out); /* caller owns: llap_plan_release */
void        llap_plan_retain(llap_plan *p);
void        llap_plan_release(llap_plan *p); /* NULL is fine */

size_t llap_plan_workspace(const llap_plan *p); /* bytes of a run's memory */
int    llap_plan_n_steps(const llap_plan *p);   /* kernels that one run calls */

/* What one of them is: its op, the shapes of its first operand and result, and the multiply-adds of
 * its matrix products (0 for ops without). */
typedef struct llap_step_info {
    llap_op    op;
    llap_shape in, out;
    double     products;
} llap_step_info;

llap_step_info llap_plan_step_at(const llap_plan *p, int i);
double         llap_plan_products(const llap_plan *p); /* of one run */

/* What a run needs bound: parameters, states and inputs that the results depend on. */
typedef struct llap_slot {
    const char *name;
    llap_leaf   leaf;
    llap_elem   elem;
    llap_shape  shape;
    llap_init   init;
} llap_slot;

int              llap_plan_n_slots(const llap_plan *p);
const llap_slot *llap_plan_slot(const llap_plan *p, int i); /* borrowed until release */

llap_elem llap_plan_output_elem(const llap_plan *p,
                                const char      *name); /* LLAP_REAL, _INT or _HALF */

llap_status llap_run_create(llap_plan *p, llap_run **out); /* caller owns: llap_run_destroy */
void        llap_run_destroy(llap_run *r);                 /* NULL is fine */

/* Borrows data until the run is destroyed or the name is bound again; count elements, as many as
 * the slot has. Parameters and states that the graph updates are written. LLAP_ENOTFOUND when the
 * plan does not need that name. */
llap_status llap_run_bind(llap_run *r, const char *name, void *data, int64_t count);

/* Runs every step. LLAP_EINVAL when something is not bound. */
llap_status llap_run_exec(llap_run *r);

/* The same, and adds what each step took to seconds[llap_plan_n_steps]. */
llap_status llap_run_exec_timed(llap_run *r, double *seconds);

/* The same, and counts the multiply-adds executed: those of the plan less those that the kernels
 * left out since there were zeros. */
llap_status llap_run_exec_counted(llap_run *r, double *products);

/* The result of that name, dense; NULL when there is none, or it is bf16. shape may be NULL. */
const void *llap_run_output(const llap_run *r, const char *name, llap_shape *shape);

/* On a backend with memory of its own (backend/near.h) every exec copies what was bound above
 * there, and what the graph updates back; output waits and copies. These two take and give that
 * memory itself, without copies or waiting. On the others they are the same as those above. */
llap_status llap_run_bind_near(llap_run *r, const char *name, void *data, int64_t count);
void       *llap_run_output_near(const llap_run *r, const char *name, llap_shape *shape);

/* -------- a small cache of plans by shape signature -------- */

typedef struct llap_plan_cache llap_plan_cache;

/* Describes the computation for one signature. */
typedef llap_status (*llap_build_fn)(llap_graph *g, const int64_t *key, int n_key, void *user);

/* Keeps at most capacity plans, the least recently used goes first. Thread-safe. */
llap_status llap_plan_cache_create(const llap_plan_opts *opts, int capacity, llap_build_fn build,
                                   void *user, llap_plan_cache **out);
void        llap_plan_cache_destroy(llap_plan_cache *c);

/* The plan of this signature, built if need be. The caller owns *out: llap_plan_release. */
llap_status llap_plan_cache_get(llap_plan_cache *c, const int64_t *key, int n_key, llap_plan **out);

#endif
