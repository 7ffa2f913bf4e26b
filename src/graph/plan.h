/* Plans: a graph made ready to run on a backend.
 *
 *     ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 2 };
 *     ll_plan     *p;
 *     ll_run      *r;
 *     st = ll_plan_create(g, &o, &p);
 *     if (st == LLAP_OK) st = ll_run_create(p, &r);       memory of one caller
 *     if (st == LLAP_OK) st = ll_run_bind(r, "x", x, n);  by name; floats on the cpu
 *     if (st == LLAP_OK) st = ll_run_exec(r);             as often as wanted: allocates nothing
 *     const float *y = ll_run_output(r, "y", &shape);     borrowed until the next exec
 *
 * A plan is immutable and shared by threads; each of them has its own run. It no longer needs its
 * graph. Memory of intermediate results is reused as soon as it is free; where it is safe, results
 * overwrite operands. */
#ifndef LL_GRAPH_PLAN_H
#define LL_GRAPH_PLAN_H

#include "graph/graph.h"

typedef struct ll_plan ll_plan;
typedef struct ll_run  ll_run;

typedef struct ll_plan_opts {
    const ll_backend *backend;
    int               n_threads; /* of every run; at least 1 */
    bool              plain;     /* no fusion, no reuse of memory: for tests and for comparing */
    /* Parameters that the backend can read as bf16 are bound so: their slots say LL_HALF. */
    bool half_params;
    /* Parameters and states that no step writes keep their numbers from the first run on, unless
     * others are bound: kernels may keep them in another form. */
    bool fixed_params;
    /* Products and sums that nobody waits for, such as the gradients of weights, run beside the
     * steps that follow, where the backend can. Takes some more memory. */
    bool beside;
} ll_plan_opts;

llap_status ll_plan_create(const ll_graph *g, const ll_plan_opts *opts,
                           ll_plan **out); /* caller owns: ll_plan_release */
void        ll_plan_retain(ll_plan *p);
void        ll_plan_release(ll_plan *p); /* NULL is fine */

size_t ll_plan_workspace(const ll_plan *p); /* bytes of a run's memory */
int    ll_plan_n_steps(const ll_plan *p);   /* kernels that one run calls */

/* What one of them is: its op, the shapes of its first operand and result, and the multiply-adds of
 * its matrix products (0 for ops without). */
typedef struct ll_step_info {
    ll_op    op;
    ll_shape in, out;
    double   products;
} ll_step_info;

ll_step_info ll_plan_step_at(const ll_plan *p, int i);
double       ll_plan_products(const ll_plan *p); /* of one run */

/* What a run needs bound: parameters, states and inputs that the results depend on. */
typedef struct ll_slot {
    const char *name;
    ll_leaf     leaf;
    ll_elem     elem;
    ll_shape    shape;
    ll_init     init;
} ll_slot;

int            ll_plan_n_slots(const ll_plan *p);
const ll_slot *ll_plan_slot(const ll_plan *p, int i); /* borrowed until release */

ll_elem ll_plan_output_elem(const ll_plan *p, const char *name); /* LL_REAL, _INT or _HALF */

llap_status ll_run_create(ll_plan *p, ll_run **out); /* caller owns: ll_run_destroy */
void        ll_run_destroy(ll_run *r);               /* NULL is fine */

/* Borrows data until the run is destroyed or the name is bound again; count elements, as many as
 * the slot has. Parameters and states that the graph updates are written. LLAP_ENOTFOUND when the
 * plan does not need that name. */
llap_status ll_run_bind(ll_run *r, const char *name, void *data, int64_t count);

/* Runs every step. LLAP_EINVAL when something is not bound. */
llap_status ll_run_exec(ll_run *r);

/* The same, and adds what each step took to seconds[ll_plan_n_steps]. */
llap_status ll_run_exec_timed(ll_run *r, double *seconds);

/* The same, and counts the multiply-adds executed: those of the plan less those that the kernels
 * left out since there were zeros. */
llap_status ll_run_exec_counted(ll_run *r, double *products);

/* The result of that name, dense; NULL when there is none, or it is bf16. shape may be NULL. */
const void *ll_run_output(const ll_run *r, const char *name, ll_shape *shape);

/* On a backend with memory of its own (backend/device_memory.h) every exec copies what was bound
 * above there, and what the graph updates back; output waits and copies. These two take and give
 * that memory itself, without copies or waiting. On the others they are the same as those above. */
llap_status ll_run_bind_device(ll_run *r, const char *name, void *data, int64_t count);
void       *ll_run_output_device(const ll_run *r, const char *name, ll_shape *shape);

#endif
