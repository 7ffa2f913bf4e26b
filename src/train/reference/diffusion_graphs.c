#include "train/reference/diffusion.h"

#include "backend/device_memory.h"
#include "base/rng/rng.h"
#include "nn/optim.h"
#include "train/reference/reference.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define INDEX LL_SESSION_ROWS "index" /* of a batch, where it is made in device memory */

/* -------- rows that lie in the backend's memory -------- */

void diffusion_leave(void *stage)
{
    diffusion_stage *s = stage;
    ll_encoded_leave(&s->val, s->r->backend);
    ll_encoded_leave(&s->rows, s->r->backend);
    ll_device_release(s->r->backend, s->device_stats);
    ll_device_release(s->r->backend, s->device_index);
    ll_epochs_deinit(&s->device_order);
    ll_epochs_deinit(&s->val_order);
    s->device_stats = s->device_index = NULL;
}

llap_status diffusion_move(void *stage, ll_loss_trainer *t)
{
    diffusion_stage  *s = stage;
    const ll_backend *b = s->r->backend;
    const size_t      n = (size_t)s->H * sizeof(float);
    void             *stats = NULL;
    (void)t;
    assert(s->device_stats == NULL && s->device_index == NULL);
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
    return st;
}

llap_status diffusion_place(void *stage, bool training, ll_session *net)
{
    const diffusion_stage *s = stage;
    llap_status            st = ll_encoded_to_device(training ? &s->rows : &s->val, net);
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

static ll_loss_opts loss_opts(const diffusion_stage *s, bool training)
{
    const ll_network_config *c = &s->r->network->config;
    return (ll_loss_opts){ .predict = c->noise.prediction,
                           .min_snr = training && c->noise.min_snr,
                           .gamma = c->noise.gamma,
                           .normalize = c->noise.normalize };
}

ll_tensor *diffusion_describe(ll_graph *g, void *stage, const ll_loss_of *what)
{
    const diffusion_stage   *s = stage;
    const bool               training = what->training, micro = training && what->micro;
    const int64_t            B = what->rows;
    const ll_network_config *c = &s->r->network->config;
    const int64_t            h = s->r->h;
    const batch_of           b = { .g = g,
                                   .s = s,
                                   .e = training ? &s->rows : &s->val,
                                   .B = B,
                                   .index = what->on_device ? ll_input_int(g, INDEX, LL_SHAPE(B)) : NULL };
    ll_tensor               *E_raw = rows_of(&b, LL_DEVICE_TABLE_E, LL_SHAPE(B, s->S, s->H));
    ll_tensor               *mean = statistic(&b, LL_SESSION_ROWS "mean");
    ll_tensor               *std = statistic(&b, LL_SESSION_ROWS "deviation");
    const ll_loss_opts       o = loss_opts(s, training);
    const ll_loss_in         in = { .z0 = rows_of(&b, LL_DEVICE_TABLE_Z0, LL_SHAPE(B, h, s->Z)),
                                    .eps = noise_of(&b, LL_SHAPE(B, h, s->Z)),
                                    .t = steps_of(&b),
                                    .mask = rows_of(&b, LL_DEVICE_TABLE_ANY, LL_SHAPE(B, h)),
                                    .tq = rows_of(&b, LL_DEVICE_TABLE_TQ, LL_SHAPE(B, h)),
                                    .E = ll_context_normalise(g, E_raw, mean, std),
                                    .E_raw = E_raw,
                                    .conditional = training ? conditional_of(&b) : NULL,
                                    .weight = micro ? ll_input(g, "weight", LL_SHAPE(B)) : NULL,
                                    .kinds = micro ? ll_input(g, "kinds", LL_SHAPE(2)) : NULL,
                                    .training = training };
    ll_scope_push(g, "denoiser");
    ll_tensor *loss = ll_diffusion_loss(g, &c->denoiser, s->r->network->schedule, &o, &in);
    ll_scope_pop(g);
    ll_output(g, "loss", loss);
    return loss;
}

/* -------- what nets are fed with -------- */

static void fill_rows(const diffusion_stage *s, ll_encoded *e, int64_t first, int64_t count,
                      ll_session *net)
{
    const int64_t h = s->r->h, codes = h * s->Z, tokens = s->S * s->H;
    const size_t  real = sizeof(float);
    assert(first >= 0 && count > 0 && first + count <= e->n);
    assert((s->mean == NULL) == (s->deviation == NULL));
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

/* Where rows and draws are made there: which draws, and numbers first .. first + count - 1 of the
 * order. */
static llap_status name_rows(const diffusion_stage *s, ll_epochs *order, int64_t first,
                             int64_t count, uint32_t number, ll_session *net)
{
    int32_t *key = ll_session_int(net, "key");
    key[0] = (int32_t)(uint32_t)s->r->seed;
    key[1] = (int32_t)(uint32_t)(s->r->seed >> 32);
    key[2] = (int32_t)number;
    return ll_epochs_take(order, first, count, s->device_index);
}

/* Rows first .. first + count - 1 of e, with the noise of this step. */
static void fill_noised(const diffusion_stage *s, ll_encoded *e, int64_t first, int64_t count,
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

/* What is of the whole batch, rows from `first` on: weights, so that its micro-batches add up to
 * its loss, and which kinds of rows it has, because spectral norms iterate for each. */
static void draw_whole(diffusion_stage *s, int64_t number, int64_t first, int64_t count)
{
    const ll_loss_opts loss_o = loss_opts(s, true);
    const ll_draw_opts o = { .seed = s->r->seed,
                             .drop = s->r->network->config.noise.unconditional };
    const ll_schedule *schedule = s->r->network->schedule;
    assert(count <= s->B && first + count <= s->rows.n);
    s->kinds[0] = s->kinds[1] = 0.0f;
    s->whole = number;
    for (int64_t i = 0; i < count; i++) {
        ll_diffusion_draw(schedule, &o, s->rows.id[first + i], (uint32_t)number, s->t + i,
                          s->flag + i, NULL, 0);
        s->kinds[s->flag[i] > 0 ? 0 : 1] = 1.0f;
    }
    ll_diffusion_weights(schedule, &loss_o, s->t, s->flag, count, s->weight);
}

/* The rest of a micro-batch, behind its rows and noise; what lies behind its rows counts for
 * nothing. */
static void fill_micro(const diffusion_stage *s, const ll_micro_batch *b, ll_session *net)
{
    const int64_t h = s->r->h;
    float        *mask = ll_session_real(net, "mask"), *weight = ll_session_real(net, "weight");
    float        *kinds = ll_session_real(net, "kinds");
    assert(b->rows <= b->room && b->first + b->rows <= b->count && b->count <= s->B);
    for (int64_t k = 0; k < b->room; k++) weight[k] = k < b->rows ? s->weight[b->first + k] : 0.0f;
    if (kinds != NULL) memcpy(kinds, s->kinds, sizeof s->kinds);
    memset(mask + b->rows * h, 0, (size_t)((b->room - b->rows) * h) * sizeof *mask);
}

llap_status diffusion_fill(void *stage, const ll_micro_batch *b, ll_session *net, double *share)
{
    diffusion_stage *s = stage;
    const bool       micro = ll_session_real(net, "weight") != NULL;
    int64_t          first, count;
    diffusion_find_batch(s, b->step, &first, &count);
    assert(b->count == count);
    if (micro && s->whole != b->step) draw_whole(s, b->step, first, count);
    fill_noised(s, &s->rows, first + b->first, b->rows, (uint32_t)b->step, true, net);
    if (!micro) return LLAP_OK;
    fill_micro(s, b, net);
    *share = (double)b->room / (double)b->count;
    return LLAP_OK;
}

llap_status diffusion_take(void *stage, int64_t number, ll_session *net)
{
    diffusion_stage *s = stage;
    const int64_t    count = diffusion_count(s, number);
    return name_rows(s, &s->device_order, number * s->B, count, (uint32_t)number, net);
}

llap_status diffusion_fill_check(diffusion_stage *s, int64_t first, int64_t count, ll_session *net)
{
    if (ll_loss_trainer_on_device(s->trainer))
        return name_rows(s, &s->val_order, first, count, UINT32_MAX, net);
    fill_noised(s, &s->val, first, count, UINT32_MAX, false, net);
    return LLAP_OK;
}
