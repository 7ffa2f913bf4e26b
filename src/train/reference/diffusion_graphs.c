#include "train/reference/diffusion.h"

#include "backend/device_memory.h"
#include "base/rng/rng.h"
#include "nn/optim.h"
#include "train/reference/reference.h"

#include <math.h>
#include <string.h>

#define INDEX LL_SESSION_ROWS "index" /* of a batch, where it is made in device memory */

/* -------- rows that lie in the backend's memory -------- */

void diffusion_release_device(diffusion_stage *s)
{
    ll_encoded_leave(&s->val, s->r->backend);
    ll_encoded_leave(&s->rows, s->r->backend);
    ll_device_release(s->r->backend, s->device_stats);
    ll_device_release(s->r->backend, s->device_index);
    ll_epochs_deinit(&s->device_order);
    ll_epochs_deinit(&s->val_order);
    s->device_stats = s->device_index = NULL;
    s->device_data = false;
}

ll_rng diffusion_epoch_rng(const void *user, int64_t epoch)
{
    const diffusion_stage *s = user;
    return ll_rng_make(s->r->seed, LL_STREAM_SHUFFLE, 3, 0, (uint32_t)epoch);
}

llap_status diffusion_move_to_device(diffusion_stage *s)
{
    const ll_backend *b = s->r->backend;
    const size_t      n = (size_t)s->H * sizeof(float);
    void             *stats = NULL;
    if (b->memory == NULL) return LLAP_OK;
    llap_status st = ll_encoded_move(&s->val, b);
    if (st == LLAP_OK) st = ll_encoded_move(&s->rows, b);
    if (st == LLAP_OK) st = ll_device_alloc(b, 2 * n, &stats);
    s->device_stats = stats;
    if (st == LLAP_OK) st = ll_device_alloc(b, (size_t)s->B * sizeof(int32_t), &s->device_index);
    if (st == LLAP_OK) st = ll_epochs_init(&s->val_order, b, s->val.n, 1);
    if (st == LLAP_OK) st = ll_epochs_init(&s->device_order, b, s->n_batches, s->B);
    s->device_order.user = s;
    if (s->r->recipe.data.shuffle) s->device_order.epoch_rng = diffusion_epoch_rng;
    if (st == LLAP_OK && s->mean != NULL) st = ll_device_put(b, stats, s->mean, n);
    if (st == LLAP_OK && s->mean != NULL) st = ll_device_put(b, (char *)stats + n, s->deviation, n);
    s->device_data = st == LLAP_OK;
    if (st != LLAP_OK) diffusion_release_device(s);
    return st == LLAP_ENOMEM ? LLAP_OK : st;
}

static llap_status place_device(const diffusion_stage *s, const ll_encoded *e, ll_session *net)
{
    llap_status st = ll_encoded_to_device(e, net);
    if (st == LLAP_OK) st = ll_session_place(net, INDEX, s->device_index);
    if (st == LLAP_OK) st = ll_session_place(net, LL_SESSION_ROWS "mean", s->device_stats);
    return st == LLAP_OK
               ? ll_session_place(net, LL_SESSION_ROWS "deviation", s->device_stats + s->H)
               : st;
}

/* -------- the loss -------- */

typedef struct batch_of { /* B rows of e, as inputs or taken by INDEX from where they lie */
    ll_graph              *g;
    const diffusion_stage *s;
    const ll_encoded      *e;
    int64_t                B;
    ll_tensor             *index; /* NULL: inputs */
} batch_of;

static ll_tensor *rows_of(const batch_of *b, int table, ll_shape shape)
{
    if (b->index == NULL)
        return ll_input(b->g, ll_device_table_names[table] + strlen(LL_SESSION_ROWS), shape);
    const ll_shape all = LL_SHAPE(b->e->n, ll_encoded_width(b->e, table));
    ll_tensor     *x = ll_input(b->g, ll_device_table_names[table], all);
    return ll_reshape(b->g, ll_embedding(b->g, x, b->index), shape);
}

/* What ll_diffusion_draw makes here, drawn there. */
static ll_tensor *draw(const batch_of *b, ll_draw_attr a)
{
    ll_tensor *key = ll_input_int(b->g, "key", LL_SHAPE(4));
    ll_tensor *ids =
        ll_input_int(b->g, ll_device_table_names[LL_DEVICE_TABLE_IDS], LL_SHAPE(b->e->n, 2));
    a.stream = LL_STREAM_DIFFUSE;
    return ll_draw(b->g, key, ids, b->index, &a);
}

static ll_tensor *noise_of(const batch_of *b, ll_shape shape)
{
    const int64_t width = ll_shape_count(&shape) / b->B;
    if (b->index == NULL) return ll_input(b->g, "eps", shape);
    return ll_reshape(b->g, draw(b, (ll_draw_attr){ .width = width, .normal = true }), shape);
}

static ll_tensor *steps_of(const batch_of *b)
{
    const ll_shape shape = LL_SHAPE(b->B);
    if (b->index == NULL) return ll_input_int(b->g, "t", shape);
    const uint32_t below = (uint32_t)b->s->r->network->schedule->T - 1;
    ll_tensor     *t = draw(b, (ll_draw_attr){ .width = 1, .sample = 1, .below = below });
    return ll_reshape(b->g, ll_whole(b->g, ll_affine(b->g, t, 1.0, 1.0)), shape);
}

/* Uniforms are multiples of 2^-24, so that this bound separates them as the share does. */
static ll_tensor *conditional_of(const batch_of *b)
{
    const ll_shape shape = LL_SHAPE(b->B);
    if (b->index == NULL) return ll_input(b->g, "conditional", shape);
    const double drop = ceil(b->s->r->network->config.noise.unconditional * 0x1p24) * 0x1p-24;
    ll_tensor   *u = draw(b, (ll_draw_attr){ .width = 10, .sample = 1 });
    u = ll_reshape(b->g, ll_slice(b->g, u, 1, 9, 1), shape);
    return ll_at_least(b->g, u, ll_full(b->g, LL_SCALAR, drop));
}

static ll_tensor *statistic(const batch_of *b, const char *name)
{
    if (b->s->mean == NULL) return NULL;
    return ll_input(b->g, b->index == NULL ? name + strlen(LL_SESSION_ROWS) : name,
                    LL_SHAPE(b->s->H));
}

ll_loss_opts diffusion_loss_opts(const diffusion_stage *s, bool training)
{
    const ll_network_config *c = &s->r->network->config;
    return (ll_loss_opts){ .predict = c->noise.prediction,
                           .min_snr = training && c->noise.min_snr,
                           .gamma = c->noise.gamma,
                           .normalize = c->noise.normalize };
}

ll_tensor *diffusion_describe(ll_graph *g, const diffusion_stage *s, int64_t B, bool training)
{
    const ll_network_config *c = &s->r->network->config;
    const int64_t            h = s->r->h;
    const batch_of           b = { .g = g,
                                   .s = s,
                                   .e = training ? &s->rows : &s->val,
                                   .B = B,
                                   .index = s->device_data ? ll_input_int(g, INDEX, LL_SHAPE(B)) : NULL };
    ll_tensor               *E_raw = rows_of(&b, LL_DEVICE_TABLE_E, LL_SHAPE(B, s->S, s->H));
    ll_tensor               *mean = statistic(&b, LL_SESSION_ROWS "mean");
    ll_tensor               *std = statistic(&b, LL_SESSION_ROWS "deviation");
    const ll_loss_opts       o = diffusion_loss_opts(s, training);
    const ll_loss_in         in = { .z0 = rows_of(&b, LL_DEVICE_TABLE_Z0, LL_SHAPE(B, h, s->Z)),
                                    .eps = noise_of(&b, LL_SHAPE(B, h, s->Z)),
                                    .t = steps_of(&b),
                                    .mask = rows_of(&b, LL_DEVICE_TABLE_ANY, LL_SHAPE(B, h)),
                                    .tq = rows_of(&b, LL_DEVICE_TABLE_TQ, LL_SHAPE(B, h)),
                                    .E = ll_context_normalise(g, E_raw, mean, std),
                                    .E_raw = E_raw,
                                    .conditional = training ? conditional_of(&b) : NULL,
                                    .weight =
                                training && s->P > 0 ? ll_input(g, "weight", LL_SHAPE(B)) : NULL,
                                    .kinds =
                                training && s->P > 0 ? ll_input(g, "kinds", LL_SHAPE(2)) : NULL,
                                    .training = training };
    ll_scope_push(g, "denoiser");
    ll_tensor *loss = ll_diffusion_loss(g, &c->denoiser, s->r->network->schedule, &o, &in);
    ll_scope_pop(g);
    ll_output(g, "loss", loss);
    return loss;
}

/* -------- the nets -------- */

/* The parameters of g as training begins with them. */
static llap_status start(diffusion_stage *s, const ll_graph *g)
{
    ll_params  *p = NULL;
    llap_status st = ll_params_create(g, s->r->backend, &p);
    if (st != LLAP_OK) return st;
    ll_params_init(p, s->r->seed);
    st = ll_denoiser_init(p, "denoiser.", s->r->seed);
    if (st == LLAP_OK) {
        ll_reference_start(s->r, p);
        ll_params_start_ema(p);
        st = ll_params_push(p);
    }
    if (st == LLAP_OK) s->params = p;
    else ll_params_destroy(p);
    return st;
}

static llap_status net_of(diffusion_stage *s, int64_t B, bool training, ll_session **out)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *loss = diffusion_describe(g, s, B, training);
        if (training) ll_nn_train(g, loss, &s->r->recipe.denoiser.stage.optim);
    }
    if (st == LLAP_OK && s->params == NULL) st = start(s, g);
    if (st == LLAP_OK) st = ll_session_create(g, s->params, s->r->n_threads, out);
    if (st == LLAP_OK && s->device_data) st = place_device(s, training ? &s->rows : &s->val, *out);
    ll_graph_destroy(g);
    return st;
}

void diffusion_destroy_nets(diffusion_stage *s)
{
    for (int i = 0; i < 2; i++) {
        ll_session_destroy(s->train[i]);
        ll_session_destroy(s->check[i]);
        s->train[i] = s->check[i] = NULL;
    }
    ll_session_destroy(s->part);
    s->part = NULL;
    s->ready = -1;
}

int64_t diffusion_at_once(const diffusion_stage *s) { return s->P > 0 ? s->P : s->B; }

llap_status diffusion_net_for(diffusion_stage *s, ll_session **pair, int64_t count, bool training,
                              ll_session **out)
{
    ll_session **at = &pair[count == diffusion_at_once(s) ? 0 : 1];
    llap_status  st = *at == NULL ? net_of(s, count, training, at) : LLAP_OK;
    if (st == LLAP_ENOMEM && s->device_data) {
        diffusion_destroy_nets(s);
        diffusion_release_device(s);
        st = net_of(s, count, training, at);
    }
    *out = *at;
    return st;
}

/* -------- what they are fed with -------- */

static void fill_rows(const diffusion_stage *s, ll_encoded *e, int64_t first, int64_t count,
                      ll_session *net)
{
    const int64_t h = s->r->h, codes = h * s->Z, tokens = s->S * s->H;
    const size_t  real = sizeof(float);
    memcpy(ll_session_real(net, "z0"), e->z0 + first * codes, (size_t)(count * codes) * real);
    memcpy(ll_session_real(net, "mask"), e->any + first * h, (size_t)(count * h) * real);
    memcpy(ll_session_real(net, "tq"), e->tq + first * h, (size_t)(count * h) * real);
    memcpy(ll_session_real(net, "E_raw"), e->E_raw + first * tokens,
           (size_t)(count * tokens) * real);
    ll_scratch_used(&e->block, (size_t)count * ll_encoded_row_bytes(e));
    if (s->mean == NULL) return;
    memcpy(ll_session_real(net, "mean"), s->mean, (size_t)s->H * real);
    memcpy(ll_session_real(net, "deviation"), s->deviation, (size_t)s->H * real);
}

llap_status diffusion_name_rows(const diffusion_stage *s, ll_epochs *order, int64_t first,
                                int64_t count, uint32_t number, ll_session *net)
{
    int32_t *key = ll_session_int(net, "key");
    key[0] = (int32_t)(uint32_t)s->r->seed;
    key[1] = (int32_t)(uint32_t)(s->r->seed >> 32);
    key[2] = (int32_t)number;
    return ll_epochs_take(order, first, count, s->device_index);
}

void diffusion_fill(const diffusion_stage *s, ll_encoded *e, int64_t first, int64_t count,
                    uint32_t number, bool training, ll_session *net)
{
    const ll_network_config *c = &s->r->network->config;
    const int64_t            codes = s->r->h * s->Z;
    const ll_draw_opts o = { .seed = s->r->seed, .drop = training ? c->noise.unconditional : 0 };
    float *eps = ll_session_real(net, "eps"), *flag = ll_session_real(net, "conditional"), none;
    fill_rows(s, e, first, count, net);
    for (int64_t i = 0; i < count; i++)
        ll_diffusion_draw(s->r->network->schedule, &o, e->id[first + i], number,
                          ll_session_int(net, "t") + i, flag == NULL ? &none : flag + i,
                          eps + i * codes, (size_t)codes);
}
