/* Runs of linear layers and norms over the same rows become one step, as long as the backend takes
 * them: what passes from layer to layer then never leaves it. Only where weights are kept as bf16.
 */
#include "graph/planner.h"

#include <assert.h>

typedef struct layers { /* a candidate: drafts one behind the other */
    ll_draft    *part[LL_LAYER_STEPS];
    int          n;
    ll_op_layers run;
    ll_tensor   *in[LL_LAYER_INPUTS], *out[LL_LAYER_OUTPUTS];
    int          n_out;
} layers;

static double rows_of(const ll_tensor *t)
{
    const int64_t width = ll_dim(t, -1);
    return width < 1 ? 0.0 : (double)(ll_shape_count(&t->shape) / width);
}

/* Kept as bf16 for sure: nobody reads it but as the weight of a layer. */
static bool is_kept(const ll_planner *p, const ll_tensor *t)
{
    const ll_tensor *b = t->base;
    if ((b->leaf != LL_LEAF_PARAM && b->leaf != LL_LEAF_STATE) || b->update != NULL) return false;
    for (int i = 0; i < p->n_drafts; i++) {
        const ll_draft *d = &p->draft[i];
        for (int a = 0; !d->gone && d->op != LL_OP_LAYERS && a < d->n_in; a++)
            if (d->in[a] != NULL && d->in[a]->base == b && (d->op != LL_OP_LINEAR || a != 1))
                return false;
    }
    return true;
}

static bool is_layer(const ll_planner *p, const ll_draft *d)
{
    if (d->gone || d->n_out != 1 || d->in[0] == NULL || d->in[0]->shape.rank < 2) return false;
    return d->op == LL_OP_NORM ||
           (d->op == LL_OP_LINEAR && !d->attr.linear.norm && is_kept(p, d->in[1]));
}

/* Where step i finds operand t: a result of an earlier step, or an input; -2: neither fits. */
static int place_of(layers *l, int i, const ll_tensor *t)
{
    if (t == NULL) return -1;
    for (int k = 0; k < i; k++)
        if (l->part[k]->out[0] == t->base) {
            const bool whole = ll_shows_all(t) && ll_dim(t, -1) == ll_dim(t->base, -1);
            return whole ? LL_LAYER_INPUTS + k : -2;
        }
    int at = 0;
    while (at < l->run.n_in && l->in[at] != t) at++;
    if (at == LL_LAYER_INPUTS) return -2;
    if (at == l->run.n_in) l->in[l->run.n_in++] = (ll_tensor *)t;
    return at;
}

/* Reads of the result of step i by later ones. */
static int reads_inside(const layers *l, int i)
{
    int n = 0;
    for (int k = i + 1; k < l->n; k++)
        for (int a = 0; a < l->part[k]->n_in; a++)
            n += l->part[k]->in[a] != NULL && l->part[k]->in[a]->base == l->part[i]->out[0];
    return n;
}

static bool describe(const ll_planner *p, layers *l)
{
    l->run = (ll_op_layers){ .n_steps = l->n };
    assert(l->n >= 1 && l->n <= LL_LAYER_STEPS);
    l->n_out = 0;
    for (int i = 0; i < l->n; i++) {
        const ll_draft *d = l->part[i];
        ll_layer       *s = &l->run.step[i];
        *s = (ll_layer){ .norm = d->op == LL_OP_NORM, .shape = d->out[0]->shape, .out = -1 };
        if (s->norm) s->eps = d->attr.norm.eps, s->offset = d->attr.norm.offset;
        else s->gelu = d->attr.linear.gelu;
        for (int a = 0; a < 4; a++) {
            s->arg[a] = a < d->n_in ? place_of(l, i, d->in[a]) : -1;
            if (s->arg[a] == -2) return false;
        }
        const int inside = reads_inside(l, i);
        assert(inside <= p->readers[d->out[0]->id]);
        if (p->readers[d->out[0]->id] == inside) continue;
        if (l->n_out == LL_LAYER_OUTPUTS) return false;
        s->out = l->n_out;
        l->out[l->n_out++] = d->out[0];
    }
    for (int i = 0; i < l->n; i++) /* results come behind the inputs */
        for (int a = 0; a < 4; a++)
            if (l->run.step[i].arg[a] >= LL_LAYER_INPUTS)
                l->run.step[i].arg[a] += l->run.n_in - LL_LAYER_INPUTS;
    return true;
}

static bool taken(const ll_planner *p, const layers *l)
{
    const ll_attr attr = { .layers = &l->run };
    ll_view       v[LL_LAYER_INPUTS + LL_LAYER_OUTPUTS];
    for (int k = 0; k < l->run.n_in; k++) v[k] = ll_tensor_view(l->in[k]);
    for (int k = 0; k < l->n_out; k++) v[l->run.n_in + k] = ll_tensor_view(l->out[k]);
    return p->backend->takes(&(ll_call){ .op = LL_OP_LAYERS,
                                         .attr = &attr,
                                         .in = v,
                                         .n_in = l->run.n_in,
                                         .out = v + l->run.n_in,
                                         .n_out = l->n_out });
}

/* The run takes the place of its last part. */
static llap_status replace(ll_planner *p, ll_draft **by_tensor, const layers *l)
{
    ll_op_layers *run = ll_arena_new(&p->arena, 1, sizeof *run);
    ll_tensor   **in = ll_arena_new(&p->arena, (size_t)l->run.n_in, sizeof *in);
    ll_tensor   **out = ll_arena_new(&p->arena, (size_t)l->n_out, sizeof *out);
    if (run == NULL || in == NULL || out == NULL) return LLAP_ENOMEM;
    ll_draft *d = l->part[l->n - 1];
    assert(l->n_out > 0 && by_tensor[d->out[0]->id] == d);
    *run = l->run;
    for (int k = 0; k < l->run.n_in; k++) in[k] = l->in[k];
    for (int k = 0; k < l->n_out; k++) by_tensor[(out[k] = l->out[k])->id] = d;
    for (int i = 0; i + 1 < l->n; i++) l->part[i]->gone = true;
    d->op = LL_OP_LAYERS;
    d->attr = (ll_attr){ .layers = run };
    d->in = in;
    d->out = out;
    d->n_in = run->n_in;
    d->n_out = l->n_out;
    return LLAP_OK;
}

llap_status ll_plan_fuse_layers(ll_planner *p, ll_draft **by_tensor)
{
    if (p->backend->kernel[LL_OP_LAYERS] == NULL || p->backend->takes == NULL) return LLAP_OK;
    for (int i = 0; i < p->n_drafts; i++) {
        ll_draft *all[LL_LAYER_STEPS];
        int       n = 0;
        for (int k = i; k < p->n_drafts && n < LL_LAYER_STEPS; k++) {
            if (p->draft[k].gone) continue;
            if (!is_layer(p, &p->draft[k])) break;
            if (n > 0 && rows_of(p->draft[k].out[0]) != rows_of(all[0]->out[0])) break;
            all[n++] = &p->draft[k];
        }
        for (; n > 1; n--) { /* the longest that is taken */
            layers l = { .n = n };
            for (int k = 0; k < n; k++) l.part[k] = all[k];
            if (!describe(p, &l) || !taken(p, &l)) continue;
            const llap_status st = replace(p, by_tensor, &l);
            if (st != LLAP_OK) return st;
            break;
        }
    }
    return LLAP_OK;
}
