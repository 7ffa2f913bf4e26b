/* Inside the planner: the graph's nodes as a list that is pruned, fused and given memory. */
#ifndef LL_GRAPH_PLANNER_H
#define LL_GRAPH_PLANNER_H

#include "graph/node.h"
#include "graph/plan.h"

#include <stdatomic.h>

/* A node on its way to becoming a step; fusion changes its op, operands and attr. */
typedef struct ll_draft {
    ll_op       op;
    ll_attr     attr;
    const char *label;
    int         n_in, n_out;
    ll_tensor **in, **out;
    bool        gone; /* merged into another */
} ll_draft;

/* Memory of one tensor that is not a view, by tensor id. */
typedef struct ll_storage {
    enum { STORE_NONE, STORE_WORK, STORE_SLOT, STORE_CONST } kind;
    size_t n_bytes;
    int    first, last; /* steps that write and last read it */
    int    root;        /* id of the storage whose memory it shares; itself, or of an older one */
    int    slot;        /* STORE_SLOT: the same for all of the root's memory */
    size_t offset;      /* STORE_WORK: in the workspace; STORE_CONST: in the constants */
} ll_storage;

/* The first and the last draft of those that the backend may do at once. */
typedef struct ll_group {
    int first, last;
} ll_group;

typedef struct ll_planner {
    const ll_graph   *g;
    const ll_backend *backend;
    ll_arena          arena; /* of the planner, freed with it */
    ll_draft         *draft;
    int               n_drafts;
    int              *readers; /* by tensor id: operands that read this memory; results add one */
    ll_storage       *store;   /* by tensor id */
    bool             *half;    /* by tensor id: kept as bf16 */
    bool              half_params, fixed_params;
    size_t           *work_offset, *work_bytes; /* by draft: scratch */
    bool             *aside; /* by draft: runs beside those that follow; NULL: none does */
    ll_group         *group; /* by draft; NULL: each by itself */
    size_t            workspace, constants;
} ll_planner;

enum { LL_PLAN_ALIGN = 64 };

static inline size_t ll_plan_round(size_t n)
{
    return (n + LL_PLAN_ALIGN - 1) / LL_PLAN_ALIGN * LL_PLAN_ALIGN;
}

/* A tensor that shows all of its memory in row order. */
bool ll_shows_all(const ll_tensor *t);

/* The fixed list of fusions (fuse.c has it). */
llap_status ll_plan_fuse(ll_planner *p);
/* Of those: layers one behind the other. by_tensor: the draft that made a tensor. */
llap_status ll_plan_fuse_layers(ll_planner *p, ll_draft **by_tensor);

/* Small drafts of one kind one behind the other, where the backend does several at once. */
llap_status ll_plan_gather(ll_planner *p);

/* Which results the backend keeps as bf16. */
llap_status ll_plan_halve(ll_planner *p);

/* How far ahead the first reader of what runs aside is at least, and how many steps it may take:
 * so long nobody touches its operands' and results' memory. */
enum { LL_ASIDE_DEVICE = 6, LL_ASIDE_FAR = 32 };

/* Bytes of one element of the tensor's memory. */
static inline size_t ll_plan_elem_bytes(const ll_planner *p, const ll_tensor *t)
{
    return t->elem == LL_INT ? sizeof(int32_t) : p->half[t->base->id] ? 2 : p->backend->real_bytes;
}

/* Decides which memory each tensor lives in; plain: each in its own. */
llap_status ll_plan_memory(ll_planner *p, bool plain);

typedef struct ll_place { /* an operand of a step */
    ll_view view;
    int     slot; /* -1: not bound by the caller */
    bool    constant;
    size_t  offset; /* bytes from the slot, the workspace or the constants */
} ll_place;

typedef struct ll_plan_step {
    ll_op        op;
    ll_kernel_fn fn;
    ll_attr      attr;
    ll_place    *place; /* n_in operands, then n_out results */
    int          n_in, n_out;
    size_t       work_offset;
    size_t       kept_bytes; /* 0: nothing is kept */
    bool         aside;
    int          after; /* the last step aside whose result it reads; -1: none */
} ll_plan_step;

typedef struct ll_result {
    const char *name;
    ll_shape    shape;
    ll_elem     elem;
    size_t      offset;
} ll_result;

struct ll_plan {
    ll_arena          arena;
    atomic_int        refs;
    const ll_backend *backend;
    int               n_threads;
    ll_plan_step     *step;
    int               n_steps, n_places;
    ll_slot          *slot;
    int               n_slots;
    ll_result        *result;
    int               n_results;
    unsigned char    *constants;                    /* device memory */
    size_t            n_constants, workspace, kept; /* bytes */
};

#endif
