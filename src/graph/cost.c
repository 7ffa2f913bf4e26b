/* What the steps of a plan are and what they cost. */
#include "graph/planner.h"

#include <assert.h>

/* Rows of all axes but the last n. */
static double lead(const ll_shape *s, int n)
{
    double rows = 1.0;
    for (int i = 0; i < s->rank - n; i++) rows *= (double)s->dim[i];
    return rows;
}

static double last(const ll_shape *s, int back)
{
    assert(back >= 1 && back <= s->rank);
    return (double)s->dim[s->rank - back];
}

/* Multiply-adds; the gradient of attention forms five products where attention forms two. */
static double products_of(const ll_plan *p, const ll_plan_step *s)
{
    const ll_shape *in = &s->place[0].view.shape, *out = &s->place[s->n_in].view.shape;
    double          sum = 0.0;
    switch (s->op) {
    case LL_OP_LAYERS:
        for (int i = 0; i < s->attr.layers->n_steps; i++) {
            const ll_layer *l = &s->attr.layers->step[i];
            assert(l->norm || (l->arg[1] >= 0 && l->arg[1] < s->n_in)); /* a weight */
            if (!l->norm)
                sum += (double)ll_shape_count(&l->shape) * last(&s->place[l->arg[1]].view.shape, 1);
        }
        return sum;
    case LL_OP_LINEAR:
    case LL_OP_NORMED:
        return lead(out, 1) * last(out, 1) * last(in, 1);
    case LL_OP_MLP:
        return lead(out, 1) * last(&s->place[5].view.shape, 1) *
               ((p->backend->mlp_share == NULL ? 1.0 : p->backend->mlp_share()) * last(in, 1) +
                last(out, 1));
    case LL_OP_GATED:
        return lead(out, 1) * last(out, 1) *
               (last(in, 1) + 3.0 * last(&s->place[6].view.shape, 1) + last(out, 1));
    case LL_OP_GRU: /* and the gradient of the state; that of the weights is a MATMUL */
        return 3.0 * lead(out, 1) * last(out, 1) * last(out, 1);
    case LL_OP_GRU_GRAD:
        return lead(out, 1) * last(out, 1) * last(in, 1);
    case LL_OP_MATMUL:
        return lead(out, 2) * last(out, 2) * last(out, 1) * last(in, s->attr.matmul.ta ? 2 : 1);
    case LL_OP_ATTENTION:
    case LL_OP_ATTENTION_GRAD:
        return (s->op == LL_OP_ATTENTION ? 2.0 : 5.0) * lead(in, 1) * last(in, 1) *
               last(&s->place[1].view.shape, 2);
    default:
        return 0.0;
    }
}

ll_step_info ll_plan_step_at(const ll_plan *p, int i)
{
    assert(i >= 0 && i < p->n_steps);
    const ll_plan_step *s = &p->step[i];
    return (ll_step_info){ .op = s->op,
                           .in = s->place[0].view.shape,
                           .out = s->place[s->n_in].view.shape,
                           .products = products_of(p, s) };
}

double ll_plan_products(const ll_plan *p)
{
    double sum = 0.0;
    for (int i = 0; i < p->n_steps; i++) sum += products_of(p, &p->step[i]);
    return sum;
}
