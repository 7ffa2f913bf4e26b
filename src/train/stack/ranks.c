#include "train/stack/ranks.h"

#include "base/error.h"

#include <string.h>

/* What a member is, without pointers. */
typedef struct numbers {
    ll_stack_shape shape;
    double         start[LL_STACK_LEVELS];
    double         score;
    int64_t        steps;
} numbers;

/* As its owner has them: they depend on the rows alone. */
static llap_status make_columns(ll_stack_set *f, ll_stack_kind kind)
{
    ll_stack_columns *c = &f->stack->member[kind].columns;
    const llap_status st =
        ll_stack_columns_init(c, &f->stack->layout, ll_stack_anchored(kind), ll_stack_levels(kind));
    if (st == LLAP_OK) ll_stack_columns_fit(c, f->raw, f->n);
    return st;
}

static llap_status share_params(const ll_ranks *r, ll_params *p, int from)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_params_count(p) && st == LLAP_OK; i++) {
        const ll_param_info *a = ll_params_at(p, i);
        const size_t         each = a->elem == LL_INT ? sizeof(int32_t) : ll_params_real_bytes(p);
        st = ll_ranks_share(r, a->data, (size_t)a->count * each, from);
    }
    return st;
}

static llap_status share_member(const ll_ranks *r, ll_stack_set *f, ll_stack_kind kind)
{
    static const ll_backend floats = { .name = "floats", .real_bytes = sizeof(float) };
    ll_stack_member        *m = &f->stack->member[kind];
    const int               from = ll_ranks_owner(r, kind);
    const bool              mine = ll_ranks_mine(r, kind);
    numbers                 n;
    memset(&n, 0, sizeof n);
    if (mine) {
        n.shape = m->shape;
        n.score = m->score;
        n.steps = m->steps;
        memcpy(n.start, m->start, sizeof n.start);
    }
    llap_status st = ll_ranks_share(r, &n, sizeof n, from);
    if (st == LLAP_OK && !mine) {
        m->shape = n.shape;
        m->score = n.score;
        m->steps = n.steps;
        memcpy(m->start, n.start, sizeof n.start);
        st = make_columns(f, kind);
        if (st == LLAP_OK) st = ll_stack_weights(&m->shape, &floats, &m->params);
    }
    return st == LLAP_OK ? share_params(r, m->params, from) : st;
}

llap_status ll_stack_share_out(const ll_ranks *r, ll_stack_set *f, double *moves, double *without)
{
    const size_t each = (size_t)f->n * LL_STACK_LEVELS;
    const size_t inputs = (size_t)f->stack->layout.inputs;
    llap_status  st = LLAP_OK;
    for (size_t k = 0; r != NULL && k < LL_STACK_KINDS && st == LLAP_OK; k++) {
        const int from = ll_ranks_owner(r, (int64_t)k);
        st = share_member(r, f, (ll_stack_kind)k);
        if (st == LLAP_OK) st = ll_ranks_share(r, moves + k * each, each * sizeof *moves, from);
        if (st == LLAP_OK)
            st = ll_ranks_share(r, without + k * inputs, inputs * sizeof *without, from);
    }
    return st;
}
