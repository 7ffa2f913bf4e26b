#include "base/alloc.h"
#include "predict/rivals/rivals.h"

#include <assert.h>

struct ll_rival_asker {
    const ll_rival_task *k;
    ll_params           *own; /* parameters on the backend; NULL: the caller's are */
    ll_session          *net[LL_RIVAL_NETS];
    int                  n_nets;
    int64_t              room, n; /* rows of the sessions; put so far */
    ll_rival_row        *row;     /* [room] */
    float               *y;       /* [room,H,C,members] */
};

/* Rows of the sessions: a power of two, so many cells go at once. */
static int64_t room_for(const ll_rival_task *k, int64_t most)
{
    enum { CELLS = 1 << 16, MOST = 64 };
    const int64_t each = (k->data.context + k->data.horizon) * k->vars;
    int64_t       n = 1;
    while (n < most && n < MOST && 2 * n * each <= CELLS) n *= 2;
    return n;
}

/* A copy of the parameters where the backend computes. */
static llap_status copy_params(ll_rival_asker *a, const ll_params *params,
                               const ll_backend *backend)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    for (int i = 0; i < ll_params_count(params); i++) {
        const ll_param_info *x = ll_params_at(params, i);
        ll_state(g, x->name, x->shape, LL_INIT_ZERO);
    }
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_params_create(g, backend, &a->own);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = ll_params_take(a->own, "", params, "");
    return st == LLAP_OK ? ll_params_push(a->own) : st;
}

static llap_status make_net(ll_rival_asker *a, int i, const ll_params *params,
                            const ll_backend *backend, int n_threads)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_rival_describe(g, a->k, i, a->room);
    st = ll_session_create(g, params, backend, n_threads, &a->net[i]);
    ll_graph_destroy(g);
    return st;
}

llap_status ll_rival_asker_create(const ll_rival_task *k, const ll_params *params,
                                  const ll_backend *backend, int n_threads, int64_t most,
                                  ll_rival_asker **out)
{
    ll_rival_asker *a = ll_new(1, sizeof *a);
    llap_status     st = LLAP_OK;
    *out = NULL;
    if (a == NULL) return LLAP_ENOMEM;
    *a = (ll_rival_asker){ .k = k, .n_nets = ll_rival_nets(k), .room = room_for(k, most) };
    const int64_t each = k->data.horizon * k->targets * ll_rival_members(k);
    a->row = ll_new((size_t)a->room, sizeof *a->row);
    a->y = ll_new((size_t)(a->room * each), sizeof *a->y);
    if (a->row == NULL || a->y == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK && backend->memory != NULL && ll_params_backend(params) != backend)
        st = copy_params(a, params, backend);
    for (int i = 0; i < a->n_nets && st == LLAP_OK; i++)
        st = make_net(a, i, a->own != NULL ? a->own : params, backend, n_threads);
    if (st == LLAP_OK) *out = a;
    else ll_rival_asker_destroy(a);
    return st;
}

void ll_rival_asker_destroy(ll_rival_asker *a)
{
    if (a == NULL) return;
    for (int i = 0; i < a->n_nets; i++) ll_session_destroy(a->net[i]);
    ll_params_destroy(a->own);
    ll_free(a->row);
    ll_free(a->y);
    ll_free(a);
}

int64_t ll_rival_asker_room(const ll_rival_asker *a) { return a->room; }

llap_status ll_rival_asker_put(ll_rival_asker *a, const ll_rival_example *e, uint32_t sample)
{
    llap_status st = LLAP_OK;
    assert(a->n < a->room);
    for (int i = 0; i < a->n_nets && st == LLAP_OK; i++)
        st = ll_rival_fill(a->k, e, a->n, a->net[i]);
    a->row[a->n++] = (ll_rival_row){ .id = e->id, .sample = sample };
    return st;
}

llap_status ll_rival_asker_run(ll_rival_asker *a, uint64_t seed, const float **y)
{
    const llap_status st = ll_rival_draw(a->k, a->net, a->room, seed, a->row, a->y);
    *y = a->y;
    a->n = 0;
    return st;
}
