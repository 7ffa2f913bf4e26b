/* Inside the planner: the graph's nodes as a list that is pruned, fused and given memory. */
#ifndef LLAP_GRAPH_PLANNER_H
#define LLAP_GRAPH_PLANNER_H

#include "graph/node.h"
#include "graph/plan.h"

#include <stdatomic.h>

/* A node on its way to becoming a step; fusion changes its op, operands and attr. */
typedef struct llap_draft {
    llap_op       op;
    llap_attr     attr;
    const char   *label;
    int           n_in, n_out;
    llap_tensor **in, **out;
    bool          gone; /* merged into another */
} llap_draft;

/* Memory of one tensor that is not a view, by tensor id. */
typedef struct llap_storage {
    enum { STORE_NONE, STORE_WORK, STORE_SLOT, STORE_CONST } kind;
    size_t n_bytes;
    int    first, last; /* steps that write and last read it */
    int    root;        /* id of the storage whose memory it shares; itself, or of an older one */
    int    slot;        /* STORE_SLOT: the same for all of the root's memory */
    size_t offset;      /* STORE_WORK: in the workspace; STORE_CONST: in the constants */
} llap_storage;

/* The first and the last draft of those that the backend may do at once. */
typedef struct llap_group {
    int first, last;
} llap_group;

typedef struct llap_planner {
    const llap_graph   *g;
    const llap_backend *backend;
    llap_arena          arena; /* of the planner, freed with it */
    llap_draft         *draft;
    int                 n_drafts;
    int                *readers; /* by tensor id: operands that read this memory; results add one */
    llap_storage       *store;   /* by tensor id */
    bool               *half;    /* by tensor id: kept as bf16 */
    bool                half_params, fixed_params;
    size_t             *work_offset, *work_bytes; /* by draft: scratch */
    bool               *aside; /* by draft: runs beside those that follow; NULL: none does */
    llap_group         *group; /* by draft; NULL: each by itself */
    size_t              workspace, constants;
} llap_planner;

enum { LLAP_PLAN_ALIGN = 64 };

static inline size_t llap_plan_round(size_t n)
{
    return (n + LLAP_PLAN_ALIGN - 1) / LLAP_PLAN_ALIGN * LLAP_PLAN_ALIGN;
}

/* A tensor that shows all of its memory in row order. */
bool llap_shows_all(const llap_tensor *t);

/* The fixed list of fusions (fuse.c has it). */
llap_status llap_plan_fuse(llap_planner *p);
/* Of those: layers one behind the other. by_tensor: the draft that made a tensor. */
llap_status llap_plan_fuse_layers(llap_planner *p, llap_draft **by_tensor);

/* Small drafts of one kind one behind the other, where the backend does several at once. */
llap_status llap_plan_gather(llap_planner *p);

/* Which results the backend keeps as bf16. */
llap_status llap_plan_halve(llap_planner *p);

/* How far ahead the first reader of what runs aside is at least, and how many steps it may take:
 * so long nobody touches its operands' and results' memory. */
enum { LLAP_ASIDE_NEAR = 6, LLAP_ASIDE_FAR = 32 };

/* Bytes of one element of the tensor's memory. */
static inline size_t llap_plan_elem_bytes(const llap_planner *p, const llap_tensor *t)
{
    return t->elem == LLAP_INT    ? sizeof(int32_t)
           : p->half[t->base->id] ? 2
                                  : p->backend->real_bytes;
}

/* Decides which memory each tensor lives in; plain: each in its own. */
llap_status llap_plan_memory(llap_planner *p, bool plain);

typedef struct llap_place { /* an operand of a step */
    llap_view view;
    int       slot; /* -1: not bound by the caller */
    bool      constant;
    size_t    offset; /* bytes from the slot, the workspace or the constants */
} llap_place;

typedef struct llap_plan_step {
    llap_op        op;
    llap_kernel_fn fn;
    llap_attr      attr;
    llap_place    *place; /* n_in operands, then n_out results */
    int            n_in, n_out;
    size_t         work_offset;
    size_t         kept_bytes; /* 0: nothing is kept */
    bool           aside;
    int            after; /* the last step aside whose result it reads; -1: none */
} llap_plan_step;

typedef struct llap_result {
    const char *name;
    llap_shape  shape;
    llap_elem   elem;
    size_t      offset;
} llap_result;

struct llap_plan {
    llap_arena          arena;
    atomic_int          refs;
    const llap_backend *backend;
    int                 n_threads;
    llap_plan_step     *step;
    int                 n_steps, n_places;
    llap_slot          *slot;
    int                 n_slots;
    llap_result        *result;
    int                 n_results;
    unsigned char      *constants;                    /* near memory */
    size_t              n_constants, workspace, kept; /* bytes */
};

#endif
