#include "backend/adamw.h"

static bool in_place(const ll_call *c)
{
    for (int i = 0; i < 3; i++)
        if (c->in[i].data != c->out[i].data) return false;
    return true;
}

static bool same_step(const ll_call *a, const ll_call *b)
{
    for (int k = 4; k < 7; k++)
        if (a->in[k].data != b->in[k].data) return false;
    return a->attr->adamw.beta1 == b->attr->adamw.beta1 &&
           a->attr->adamw.beta2 == b->attr->adamw.beta2 &&
           a->attr->adamw.eps == b->attr->adamw.eps &&
           a->attr->adamw.weight_decay == b->attr->adamw.weight_decay;
}

/* Whether c moves an average towards p in place: average + (keep (p - average) + move). */
static bool is_average(const ll_call *c, const void *p, float *keep, float *move)
{
    if (c->op != LL_OP_CHAIN || c->attr->chain->n_in != 2 || c->attr->chain->n_steps != 3)
        return false;
    const ll_chain_step *s = c->attr->chain->step;
    const int            now = s[0].arg[0], mean = s[0].arg[1];
    if (s[0].op != LL_OP_SUB || s[1].op != LL_OP_AFFINE || s[2].op != LL_OP_ADD ||
        now + mean != 1 || s[1].arg[0] != 2 || s[2].arg[0] != mean || s[2].arg[1] != 3)
        return false;
    *keep = (float)s[1].a;
    *move = (float)s[1].b;
    return c->in[now].data == p && c->in[mean].data == c->out[0].data &&
           ll_view_dense(&c->in[now]) && ll_view_dense(&c->in[mean]);
}

int ll_adamw_next(ll_adamw_run *r, const ll_call *c, int n, ll_adamw_item *out)
{
    float keep, move;
    if (n < 1 || c->op != LL_OP_ADAMW || !in_place(c)) return 0;
    if (r->first == NULL) r->first = c;
    if (!same_step(r->first, c)) return 0;
    *out = (ll_adamw_item){ .p = c->out[0].data,
                            .m = c->out[1].data,
                            .v = c->out[2].data,
                            .grad = c->in[3].data,
                            .count = ll_shape_count(&c->in[0].shape) };
    if (n < 2 || !is_average(&c[1], out->p, &keep, &move)) return 1;
    if (r->averages && (keep != r->keep || move != r->move)) return 1;
    r->averages = true;
    r->keep = keep;
    r->move = move;
    out->average = c[1].out[0].data;
    return 2;
}
