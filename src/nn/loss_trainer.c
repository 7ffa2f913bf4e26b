#include "nn/loss_trainer.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "nn/non_finite.h"

#include <assert.h>

typedef struct sized_net {
    ll_session *net;
    int64_t     rows;
} sized_net;

struct ll_loss_trainer {
    ll_loss_trainer_opts o;
    ll_params           *params;
    sized_net            train[2], check[2]; /* of all the rows that go at once, and of fewer */
    int64_t rows, micro_batches; /* rows that go at once: of so many micro-batches of a batch */
    int64_t told;                /* rows that the user knows of */
    bool    on_device;
    int64_t ready; /* the step whose batch is in its net; -1: none */
    ll_async_results results;
    /* of a fixed number of micro-batches */
    ll_sum_tree    tree; /* its leaves are those of this rank */
    ll_ranks_adder adder;
    float         *sums; /* [n] of a micro-batch, or of all; */
    size_t         n;    /* 0: there is no room for them yet */
};

ll_params *ll_loss_trainer_params(ll_loss_trainer *t) { return t->params; }
int64_t    ll_loss_trainer_rows(const ll_loss_trainer *t) { return t->rows; }
bool       ll_loss_trainer_on_device(const ll_loss_trainer *t) { return t->on_device; }

static bool is_device(const ll_loss_trainer *t) { return t->o.backend->memory != NULL; }
static bool is_micro(const ll_loss_trainer *t) { return t->micro_batches > 1; }
static bool is_fixed(const ll_loss_trainer *t) { return t->o.micro_batches > 1; }

/* -------- nets -------- */

static void drop_nets(ll_loss_trainer *t)
{
    sized_net *all[] = { &t->train[0], &t->train[1], &t->check[0], &t->check[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ll_session_destroy(all[i]->net);
        *all[i] = (sized_net){ 0 };
    }
    t->ready = -1;
}

static ll_loss_of loss_of(const ll_loss_trainer *t, int64_t rows, bool training)
{
    return (ll_loss_of){
        .rows = rows, .training = training, .on_device = t->on_device, .micro = is_micro(t)
    };
}

static llap_status make_net(ll_loss_trainer *t, int64_t rows, bool training, ll_session **out)
{
    const ll_loss_of what = loss_of(t, rows, training);
    ll_graph        *g = NULL;
    llap_status      st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *loss = t->o.describe(g, t->o.user, &what);
    if (training && what.micro) {
        st = ll_session_create_part(g, loss, &t->o.optim, t->params, t->o.n_threads, out);
    } else {
        if (training) ll_nn_train(g, loss, &t->o.optim);
        st = ll_session_create(g, t->params, t->o.backend, t->o.n_threads, out);
    }
    if (st == LLAP_OK && t->on_device) st = t->o.place(t->o.user, training, *out);
    ll_graph_destroy(g);
    return st;
}

/* The net of so many rows, made when it is first asked for. */
static llap_status net_for(ll_loss_trainer *t, int64_t rows, bool training, ll_session **out)
{
    assert(rows >= 1 && rows <= t->rows);
    sized_net  *at = &(training ? t->train : t->check)[rows == t->rows ? 0 : 1];
    llap_status st = LLAP_OK;
    *out = NULL;
    if (at->net == NULL || at->rows != rows) {
        ll_session_destroy(at->net);
        *at = (sized_net){ .rows = rows };
        t->ready = training ? -1 : t->ready;
        st = make_net(t, rows, training, &at->net);
    }
    if (st == LLAP_OK) *out = at->net;
    return st;
}

static void leave_device(ll_loss_trainer *t)
{
    if (t->o.leave != NULL) t->o.leave(t->o.user);
    t->on_device = false;
}

llap_status ll_loss_trainer_save_memory(ll_loss_trainer *t)
{
    drop_nets(t);
    if (t->on_device) {
        leave_device(t);
        return LLAP_OK;
    }
    if (is_fixed(t)) return LLAP_ENOMEM; /* other ranks have as many */
    if (!is_device(t) || t->rows == 1) { /* a batch is one again, if there will be room */
        t->micro_batches = 1;
        t->rows = t->o.batch;
        return LLAP_ENOMEM;
    }
    t->micro_batches *= 2;
    t->rows =
        t->micro_batches < t->o.batch ? (t->o.batch + t->micro_batches - 1) / t->micro_batches : 1;
    assert(t->rows >= 1 && t->rows * t->micro_batches >= t->o.batch);
    return LLAP_OK;
}

/* The net of a batch of so many rows, with less in device memory where it does not fit. */
static llap_status training_net(ll_loss_trainer *t, int64_t rows, ll_session **out)
{
    llap_status st;
    do st = net_for(t, is_micro(t) ? t->rows : rows, true, out);
    while (st == LLAP_ENOMEM && ll_loss_trainer_save_memory(t) == LLAP_OK);
    if (st == LLAP_OK && t->rows < t->told && t->o.split != NULL) t->o.split(t->o.user, t->rows);
    if (st == LLAP_OK) t->told = t->rows;
    return st;
}

llap_status ll_loss_trainer_check_net(ll_loss_trainer *t, int64_t rows, ll_session **out)
{
    return net_for(t, rows, false, out);
}

/* -------- create, destroy -------- */

static llap_status make_params(ll_loss_trainer *t)
{
    const ll_loss_of what = loss_of(t, t->rows, true);
    ll_graph        *g = NULL;
    llap_status      st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_nn_train(g, t->o.describe(g, t->o.user, &what), &t->o.optim);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_params_create(g, t->o.backend, &t->params);
    if (st == LLAP_OK) st = t->o.start(t->o.user, t->params);
    if (st == LLAP_OK) st = ll_params_push(t->params);
    ll_graph_destroy(g);
    return st;
}

static llap_status move_data(ll_loss_trainer *t)
{
    if (!is_device(t) || t->o.move == NULL || is_fixed(t)) return LLAP_OK;
    const llap_status st = t->o.move(t->o.user, t);
    t->on_device = st == LLAP_OK;
    if (st != LLAP_OK) leave_device(t);
    return st == LLAP_ENOMEM ? LLAP_OK : st;
}

llap_status ll_loss_trainer_create(const ll_loss_trainer_opts *o, ll_loss_trainer **out)
{
    ll_session      *net;
    ll_loss_trainer *t = ll_new(1, sizeof *t);
    *out = NULL;
    if (t == NULL) return LLAP_ENOMEM;
    assert(o->batch >= 1 && o->micro_batches <= o->batch);
    assert((o->micro_batches & (o->micro_batches - 1)) == 0); /* the caller has looked */
    const int64_t fixed = o->micro_batches > 1 ? o->micro_batches : 1;
    const int64_t rows = (o->batch + fixed - 1) / fixed;
    assert(o->move == NULL || (o->leave != NULL && o->place != NULL && o->take != NULL));
    *t = (ll_loss_trainer){
        .o = *o, .rows = rows, .micro_batches = fixed, .told = rows, .ready = -1
    };
    if (fixed == 1) t->o.ranks = NULL;
    assert(t->o.ranks == NULL || fixed % t->o.ranks->size == 0);
    llap_status st = make_params(t);
    if (st == LLAP_OK) st = ll_async_results_init(&t->results, o->backend);
    if (st == LLAP_OK) st = move_data(t);
    if (st == LLAP_OK) st = training_net(t, o->batch, &net);
    if (st == LLAP_OK) *out = t;
    else ll_loss_trainer_destroy(t);
    return st;
}

void ll_loss_trainer_destroy(ll_loss_trainer *t)
{
    if (t == NULL) return;
    drop_nets(t);
    leave_device(t);
    ll_async_results_deinit(&t->results);
    ll_sum_tree_deinit(&t->tree);
    ll_ranks_adder_deinit(&t->adder);
    ll_free(t->sums);
    ll_params_destroy(t->params);
    ll_free(t);
}

/* -------- steps -------- */

static int64_t count_at(const ll_loss_trainer *t, int64_t step)
{
    return t->o.count == NULL ? t->o.batch : t->o.count(t->o.user, step);
}

static llap_status make_ready(ll_loss_trainer *t, int64_t step, int64_t rows, ll_session *net)
{
    const ll_micro_batch all = { .step = step, .rows = rows, .count = rows, .room = rows };
    double               share = 1.0;
    if (t->ready == step) return LLAP_OK;
    const llap_status st = t->o.fill(t->o.user, &all, net, &share);
    t->ready = st == LLAP_OK ? step : -1;
    return st;
}

static llap_status step_whole(ll_loss_trainer *t, int64_t step, int64_t rows, double lr,
                              ll_session *net)
{
    llap_status st =
        t->on_device ? t->o.take(t->o.user, step, net) : make_ready(t, step, rows, net);
    if (st == LLAP_OK) st = ll_session_begin(net, t->params, step, lr);
    /* While a device computes, the next batch of the same size; it has its copy of this one. */
    if (st == LLAP_OK && is_device(t) && !t->on_device && count_at(t, step + 1) == rows)
        st = make_ready(t, step + 1, rows, net);
    return st;
}

/* Piece number `micro-batch` of a batch of so many rows. */
static ll_micro_batch piece_of(const ll_loss_trainer *t, int64_t step, int64_t count,
                               int64_t micro_batch)
{
    const int64_t room = is_micro(t) ? t->rows : count, first = micro_batch * room,
                  left = count - first;
    assert(left > 0);
    return (ll_micro_batch){ .step = step,
                             .first = first,
                             .rows = left < room ? left : room,
                             .count = count,
                             .room = room };
}

static llap_status add_micro_batch(ll_loss_trainer *t, int64_t step, int64_t count, ll_session *net,
                                   ll_session_micro m)
{
    const ll_micro_batch b = piece_of(t, step, count, m.number);
    m.share = 1.0;
    if (b.rows < b.room) ll_session_clear(net); /* what was there is another rank's elsewhere */
    const llap_status st = t->o.fill(t->o.user, &b, net, &m.share);
    return st == LLAP_OK ? ll_session_add(net, t->params, step, &m) : st;
}

static llap_status step_in_micro_batches(ll_loss_trainer *t, int64_t step, int64_t count,
                                         ll_session *net)
{
    llap_status st = LLAP_OK;
    assert(!t->on_device); /* all of it left before a batch was split */
    for (int64_t i = 0; i * t->rows < count && st == LLAP_OK; i++)
        st = add_micro_batch(t, step, count, net,
                             (ll_session_micro){ .number = i, .first = i == 0, .fresh = i == 0 });
    return st;
}

/* Room for the sums, once it is known how many there are. */
static llap_status make_room(ll_loss_trainer *t, size_t n)
{
    const int64_t ranks = t->o.ranks == NULL ? 1 : t->o.ranks->size;
    if (t->n == n) return LLAP_OK;
    assert(t->n == 0);
    ll_free(t->sums); /* of an attempt that failed */
    ll_sum_tree_deinit(&t->tree);
    ll_ranks_adder_deinit(&t->adder);
    t->sums = ll_new_aligned(n, sizeof *t->sums);
    llap_status st = t->sums == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_sum_tree_init(&t->tree, n, t->o.micro_batches / ranks);
    if (st == LLAP_OK) st = ll_ranks_adder_init(&t->adder, t->o.ranks, n);
    t->n = st == LLAP_OK ? n : 0;
    return st;
}

/* This rank's micro-batches, in order, as leaves of its tree. A rank whose rows the batch does not
 * have still moves on the states, by the first micro-batch. */
static llap_status add_leaves(ll_loss_trainer *t, int64_t step, int64_t count, ll_session *net,
                              const float *device_sums)
{
    const int64_t ranks = t->o.ranks == NULL ? 1 : t->o.ranks->size,
                  each = t->o.micro_batches / ranks,
                  begin = t->o.ranks == NULL ? 0 : t->o.ranks->rank * each;
    llap_status st = LLAP_OK;
    ll_sum_tree_clear(&t->tree);
    for (int64_t i = begin; i < begin + each && st == LLAP_OK; i++) {
        const bool there = i * t->rows < count;
        if (!there && i > begin) break;
        st = add_micro_batch(
            t, step, count, net,
            (ll_session_micro){ .number = there ? i : 0, .first = i == begin, .fresh = true });
        if (st == LLAP_OK)
            st = ll_device_get(t->o.backend, t->sums, device_sums, t->n * sizeof *t->sums);
        if (st == LLAP_OK) ll_sum_tree_add(&t->tree, t->sums);
    }
    return st;
}

/* The same bytes for any number of ranks. */
static llap_status step_in_tree(ll_loss_trainer *t, int64_t step, int64_t count, ll_session *net)
{
    size_t        n;
    float        *device_sums = ll_session_sums(net, &n);
    const int64_t ranks = t->o.ranks == NULL ? 1 : t->o.ranks->size,
                  of_each = t->o.micro_batches / ranks * t->rows, /* rows of a rank */
        present = (count + of_each - 1) / of_each;
    assert(!t->on_device && present >= 1 && present <= ranks);
    llap_status st = make_room(t, n);
    if (st == LLAP_OK) st = add_leaves(t, step, count, net, device_sums);
    if (st != LLAP_OK) return st;
    float *sum = ll_sum_tree_get(&t->tree);
    st = ll_ranks_add(&t->adder, t->o.ranks, sum, n, (int)present);
    return st == LLAP_OK ? ll_device_put(t->o.backend, device_sums, sum, n * sizeof *sum) : st;
}

llap_status ll_loss_trainer_step(ll_loss_trainer *t, int64_t step, double lr, double *loss,
                                 double *norm)
{
    const int64_t count = count_at(t, step);
    ll_session   *net = NULL;
    llap_status   st = training_net(t, count, &net);
    assert(step >= 0 && count <= t->o.batch && (loss == NULL || norm != NULL));
    if (st == LLAP_OK && is_micro(t)) {
        st = is_fixed(t) ? step_in_tree(t, step, count, net)
                         : step_in_micro_batches(t, step, count, net);
        if (st == LLAP_OK) st = ll_session_added(net, step, lr, loss, norm);
    } else if (st == LLAP_OK) {
        st = step_whole(t, step, count, lr, net);
        if (st == LLAP_OK && loss != NULL) ll_session_end(net, loss, norm);
    }
    return st == LLAP_OK && loss == NULL ? ll_session_later(net, &t->results, step) : st;
}

llap_status ll_loss_trainer_results(ll_loss_trainer *t, int64_t first, int64_t n, double *loss,
                                    double *norm)
{
    return ll_async_results_get(&t->results, first, n, loss, norm);
}

/* -------- what is not finite -------- */

typedef struct step_again {
    ll_loss_trainer *t;
    int64_t          step, count;
} step_again;

static llap_status fill_again(void *user, ll_session *net, int64_t micro_batch)
{
    const step_again    *s = user;
    const ll_micro_batch b = piece_of(s->t, s->step, s->count, micro_batch);
    double               share = 1.0;
    const llap_status    st = ll_session_random(s->t->params, s->step, micro_batch);
    return st == LLAP_OK ? s->t->o.fill(s->t->o.user, &b, net, &share) : st;
}

/* With all inputs here, where they can be looked at. */
llap_status ll_loss_trainer_find_non_finite(ll_loss_trainer *t, int64_t step, char *text,
                                            size_t size)
{
    step_again  again = { t, step, count_at(t, step) };
    ll_loss_of  what = loss_of(t, is_micro(t) ? t->rows : again.count, true);
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    what.on_device = false;
    st = ll_nn_find_non_finite(
        &(ll_non_finite){ .graph = g,
                          .loss = t->o.describe(g, t->o.user, &what),
                          .params = t->params,
                          .n_threads = t->o.n_threads,
                          .n_micro_batches = (again.count + what.rows - 1) / what.rows,
                          .fill = fill_again,
                          .user = &again },
        text, size);
    ll_graph_destroy(g);
    return st;
}
