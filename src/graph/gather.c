/* The order of steps on backends that do several small ones at once. Small steps wait until
 * somebody reads their result; then all of the same kind that can be computed by that time follow
 * each other: what blocks make of the step embedding, say, is then one step of all blocks instead
 * of one each. Results are the same in any order. */
#include "graph/planner.h"

#include <assert.h>

typedef struct gathering {
    ll_planner *p;
    int        *maker; /* by tensor id: the draft, or -1 */
    int        *kind;  /* by draft; 0: does not wait */
    int        *place; /* by draft: its new place, or -1 */
    int        *order; /* the drafts so far */
    int         n;
} gathering;

/* Whose memory a leaf takes over must not lie far from its readers; AdamW's average stays behind
 * it. */
static bool may_wait(const gathering *s, const ll_draft *d)
{
    for (int i = 0; i < s->p->g->n_tensors; i++)
        if (s->p->g->tensor[i]->update != NULL && s->p->g->tensor[i]->update->base == d->out[0])
            return false;
    return true;
}

static int kind_of(const gathering *s, const ll_draft *d)
{
    enum { MOST = 16 };
    ll_view v[MOST];
    if (d->n_in + d->n_out > MOST || d->n_out != 1 || !may_wait(s, d)) return 0;
    for (int k = 0; k < d->n_in; k++) v[k] = ll_tensor_view(d->in[k]);
    v[d->n_in] = ll_tensor_view(d->out[0]);
    return s->p->backend->alike(&(ll_call){
        .op = d->op, .attr = &d->attr, .in = v, .n_in = d->n_in, .out = v + d->n_in, .n_out = 1 });
}

static void put(gathering *s, int i)
{
    assert(s->place[i] < 0 && s->n < s->p->n_drafts);
    s->place[i] = s->n;
    s->order[s->n++] = i;
}

/* All that draft i reads is computed before `by`. */
static bool is_ready(const gathering *s, int i, int by)
{
    const ll_draft *d = &s->p->draft[i];
    for (int k = 0; k < d->n_in; k++) {
        const int from = d->in[k] == NULL ? -1 : s->maker[d->in[k]->base->id];
        if (from >= 0 && (s->place[from] < 0 || s->place[from] >= by)) return false;
    }
    return true;
}

/* Draft i is wanted, and what it reads. */
static void want(gathering *s, int i)
{
    const ll_draft *d = &s->p->draft[i];
    for (int k = 0; k < d->n_in; k++) {
        const int from = d->in[k] == NULL ? -1 : s->maker[d->in[k]->base->id];
        if (from >= 0 && s->place[from] < 0) want(s, from);
    }
    if (s->place[i] >= 0) return; /* came with another */
    const int by = s->n;
    put(s, i);
    for (int j = 0; j < s->p->n_drafts && s->kind[i] > 0; j++)
        if (s->place[j] < 0 && s->kind[j] == s->kind[i] && is_ready(s, j, by)) put(s, j);
}

static llap_status take_order(gathering *s)
{
    ll_planner *p = s->p;
    ll_draft   *draft = ll_arena_new(&p->arena, (size_t)p->n_drafts, sizeof *draft);
    assert(s->n == p->n_drafts); /* each has its place */
    p->group = ll_arena_new(&p->arena, (size_t)p->n_drafts, sizeof *p->group);
    if (draft == NULL || p->group == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < p->n_drafts; i++) draft[i] = p->draft[s->order[i]];
    for (int i = 0, end; i < p->n_drafts; i = end) {
        const int kind = s->kind[s->order[i]];
        for (end = i + 1; kind > 0 && end < p->n_drafts; end++)
            if (s->kind[s->order[end]] != kind) break;
        for (int k = i; k < end; k++) p->group[k] = (ll_group){ i, end - 1 };
    }
    p->draft = draft;
    return LLAP_OK;
}

llap_status ll_plan_gather(ll_planner *p)
{
    const size_t n = (size_t)p->n_drafts;
    gathering    s = { .p = p };
    if (p->backend->several == NULL || p->backend->alike == NULL) return LLAP_OK;
    s.maker = ll_arena_new(&p->arena, (size_t)p->g->n_tensors, sizeof *s.maker);
    s.kind = ll_arena_new(&p->arena, n, sizeof *s.kind);
    s.place = ll_arena_new(&p->arena, n, sizeof *s.place);
    s.order = ll_arena_new(&p->arena, n, sizeof *s.order);
    if (s.maker == NULL || s.kind == NULL || s.place == NULL || s.order == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < p->g->n_tensors; i++) s.maker[i] = -1;
    for (int i = 0; i < p->n_drafts; i++) {
        s.place[i] = -1;
        s.kind[i] = kind_of(&s, &p->draft[i]);
        for (int o = 0; o < p->draft[i].n_out; o++) s.maker[p->draft[i].out[o]->id] = i;
    }
    for (int i = 0; i < p->n_drafts; i++) {
        if (p->draft[i].op == LL_OP_ADAMW) /* weights change: whoever reads them comes first */
            for (int j = 0; j < i; j++)
                if (s.place[j] < 0) want(&s, j);
        if (s.kind[i] == 0) want(&s, i);
    }
    for (int i = 0; i < p->n_drafts; i++)
        if (s.place[i] < 0) want(&s, i);
    return take_order(&s);
}
