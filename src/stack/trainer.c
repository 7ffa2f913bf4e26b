#include "stack/trainer.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/rng/rng.h"
#include "nn/session.h"

#include <assert.h>
#include <math.h>

#define EMA 0.98
#define EMA_START 10 /* the average begins with the share n / (n + this) of what it was */

struct ll_stack_trainer {
    ll_stack_rows  rows;
    ll_stack_how   how;
    ll_stack_shape shape;
    ll_params     *params;
    ll_session    *net, *check; /* of training; of answers */
    void          *x, *y;       /* the rows where the backend computes */
};

/* The loss of a batch: rows index [networks,batch] of the tables, CRPS at the levels. */
static ll_tensor *loss_of(ll_graph *g, const ll_stack_trainer *t)
{
    const int64_t N = t->shape.networks, B = t->how.batch, L = LL_STACK_LEVELS;
    double        up[LL_STACK_LEVELS], down[LL_STACK_LEVELS];
    for (int i = 0; i < L; i++) {
        up[i] = ll_stack_share[i] * ll_stack_level[i];
        down[i] = ll_stack_share[i] * (ll_stack_level[i] - 1);
    }
    const ll_stack_pass p = { t->how.drop_in, t->how.drop_hidden, false };
    ll_tensor          *index = ll_input_int(g, "index", LL_SHAPE(N, B));
    ll_tensor          *x =
        ll_embedding(g, ll_input(g, "rows.x", LL_SHAPE(t->rows.n, t->rows.width)), index);
    ll_tensor *y = ll_embedding(g, ll_input(g, "rows.y", LL_SHAPE(t->rows.n, 2)), index);
    ll_tensor *start = ll_constant(g, LL_SHAPE(1, 1, L), t->rows.start);
    ll_tensor *q = ll_add(g, ll_stack_forward(g, x, &t->shape, &p), start);
    ll_tensor *e = ll_sub(g, ll_slice(g, y, 2, 0, 1), q); /* [N,B,L] */
    ll_tensor *pinball = ll_maximum(g, ll_mul(g, e, ll_constant(g, LL_SHAPE(1, 1, L), up)),
                                    ll_mul(g, e, ll_constant(g, LL_SHAPE(1, 1, L), down)));
    ll_tensor *row = ll_mul(g, ll_sum(g, pinball, LL_AXIS(2)), ll_slice(g, y, 2, 1, 1));
    /* Each network has a loss of its own: the sum of all has their gradients. */
    ll_tensor *loss = ll_scale(g, ll_sum(g, row, LL_ALL_AXES), 1.0 / (double)B);
    ll_output(g, "loss", loss);
    return loss;
}

static llap_status place(ll_stack_trainer *t, ll_session *net)
{
    llap_status st = ll_session_place(net, "rows.x", t->x);
    return st == LLAP_OK ? ll_session_place(net, "rows.y", t->y) : st;
}

static llap_status make_training(ll_stack_trainer *t)
{
    const ll_train_attr attr = { .beta1 = 0.9,
                                 .beta2 = 0.98,
                                 .eps = 1e-8,
                                 .weight_decay = t->how.weight_decay,
                                 .ema = EMA,
                                 .ema_start = EMA_START };
    ll_graph           *g = NULL;
    llap_status         st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_nn_train(g, loss_of(g, t), &attr);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_params_create(g, t->how.backend, &t->params);
    if (st == LLAP_OK)
        st = ll_session_create(g, t->params, t->how.backend, t->how.n_threads, &t->net);
    if (st == LLAP_OK) st = place(t, t->net);
    ll_graph_destroy(g);
    return st;
}

static llap_status make_check(ll_stack_trainer *t)
{
    const ll_stack_pass p = { .ema = true };
    ll_graph           *g = NULL;
    llap_status         st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *index = ll_input_int(g, "index", LL_SHAPE(t->shape.networks, t->how.batch));
    ll_tensor *x =
        ll_embedding(g, ll_input(g, "rows.x", LL_SHAPE(t->rows.n, t->rows.width)), index);
    ll_output(g, "z", ll_stack_forward(g, x, &t->shape, &p));
    st = ll_session_create(g, t->params, t->how.backend, t->how.n_threads, &t->check);
    if (st == LLAP_OK) st = place(t, t->check);
    ll_graph_destroy(g);
    return st;
}

static llap_status move_rows(ll_stack_trainer *t)
{
    const size_t x = (size_t)(t->rows.n * t->rows.width) * sizeof(float);
    const size_t y = (size_t)t->rows.n * 2 * sizeof(float);
    llap_status  st = ll_device_alloc(t->how.backend, x, &t->x);
    if (st == LLAP_OK) st = ll_device_alloc(t->how.backend, y, &t->y);
    if (st == LLAP_OK) st = ll_device_put(t->how.backend, t->x, t->rows.x, x);
    return st == LLAP_OK ? ll_device_put(t->how.backend, t->y, t->rows.y, y) : st;
}

llap_status ll_stack_trainer_renew(ll_stack_trainer *t)
{
    const size_t x = (size_t)(t->rows.n * t->rows.width) * sizeof(float);
    return ll_device_put(t->how.backend, t->x, t->rows.x, x);
}

llap_status ll_stack_trainer_start(ll_stack_trainer *t)
{
    ll_params_init(t->params, t->how.seed);
    ll_params_start_ema(t->params);
    return ll_params_push(t->params);
}

llap_status ll_stack_trainer_create(const ll_stack_rows *rows, const ll_stack_how *how,
                                    ll_stack_trainer **out)
{
    *out = NULL;
    ll_stack_trainer *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    assert(rows->folds >= 1 && rows->seeds >= 1 && rows->n >= 1 && how->batch >= 1);
    for (int64_t f = 0; f < rows->folds; f++) assert(rows->fold[f].n_learn >= 1);
    *t = (ll_stack_trainer){ .rows = *rows, .how = *how };
    t->shape = (ll_stack_shape){ rows->folds * rows->seeds, rows->width, how->hidden };
    llap_status st = move_rows(t);
    if (st == LLAP_OK) st = make_training(t);
    if (st == LLAP_OK) st = make_check(t);
    if (st == LLAP_OK) st = ll_stack_trainer_start(t);
    if (st == LLAP_OK) *out = t;
    else ll_stack_trainer_destroy(t);
    return st;
}

void ll_stack_trainer_destroy(ll_stack_trainer *t)
{
    if (t == NULL) return;
    ll_session_destroy(t->net);
    ll_session_destroy(t->check);
    ll_params_destroy(t->params);
    ll_device_release(t->how.backend, t->x);
    ll_device_release(t->how.backend, t->y);
    ll_free(t);
}

ll_params     *ll_stack_trainer_params(ll_stack_trainer *t) { return t->params; }
ll_stack_shape ll_stack_trainer_shape(const ll_stack_trainer *t) { return t->shape; }

llap_status ll_stack_trainer_step(ll_stack_trainer *t, int64_t step, double *loss, double *norm)
{
    const int64_t B = t->how.batch, n = step + 1;
    int32_t      *index = ll_session_int(t->net, "index");
    assert(step >= 0 && index != NULL);
    for (int64_t k = 0; k < t->shape.networks; k++) {
        const ll_stack_fold *f = &t->rows.fold[k / t->rows.seeds];
        const ll_rng         r =
            ll_rng_make(t->how.seed, LL_STREAM_SHUFFLE, (uint64_t)k, 0, (uint32_t)step);
        for (int64_t i = 0; i < B; i++)
            index[k * B + i] = f->learn[ll_rng_below(&r, (uint64_t)i, (uint64_t)f->n_learn)];
    }
    *ll_session_real(t->net, LL_EMA_RATE) =
        (float)(1 - fmin(EMA, (double)n / (double)(n + EMA_START)));
    const llap_status st = ll_session_begin(t->net, t->params, step, t->how.lr);
    if (st != LLAP_OK) return st;
    ll_session_end(t->net, loss, norm);
    *loss /= (double)t->shape.networks;
    return LLAP_OK;
}

void ll_stack_add_sorted(const double *start, const float *z, double *sum)
{
    double q[LL_STACK_LEVELS];
    for (int l = 0; l < LL_STACK_LEVELS; l++) q[l] = start[l] + (double)z[l];
    ll_stack_sort(q);
    for (int l = 0; l < LL_STACK_LEVELS; l++) sum[l] += q[l] - start[l];
}

llap_status ll_stack_trainer_answers(ll_stack_trainer *t, double *quantile)
{
    const int64_t B = t->how.batch, S = t->rows.seeds, L = LL_STACK_LEVELS;
    int32_t      *index = ll_session_int(t->check, "index");
    int64_t       most = 0;
    for (int64_t f = 0; f < t->rows.folds; f++)
        most = t->rows.fold[f].n_held > most ? t->rows.fold[f].n_held : most;
    for (int64_t first = 0; first < most; first += B) {
        for (int64_t k = 0; k < t->shape.networks; k++) {
            const ll_stack_fold *f = &t->rows.fold[k / S];
            for (int64_t i = 0; i < B; i++)
                index[k * B + i] = first + i < f->n_held ? f->held[first + i] : 0;
        }
        const llap_status st = ll_session_run(t->check);
        if (st != LLAP_OK) return st;
        const float *z = ll_session_output(t->check, "z");
        for (int64_t f = 0; f < t->rows.folds; f++)
            for (int64_t i = 0; i < B && first + i < t->rows.fold[f].n_held; i++) {
                double *q = quantile + t->rows.fold[f].held[first + i] * L;
                for (int l = 0; l < L; l++) q[l] = 0;
                for (int64_t k = f * S; k < (f + 1) * S; k++)
                    ll_stack_add_sorted(t->rows.start, z + (k * B + i) * L, q);
                for (int l = 0; l < L; l++) q[l] /= (double)S;
            }
    }
    return LLAP_OK;
}
