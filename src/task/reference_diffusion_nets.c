#include "task/reference_diffusion.h"

#include "backend/near.h"
#include "base/rng.h"
#include "nn/optim.h"

#include <math.h>
#include <string.h>

#define INDEX TASK_NET_ROWS "index" /* of a batch, where it is made near */

/* -------- rows that lie in the backend's memory -------- */

void diffusion_release_near(diffusion_stage *s)
{
    task_encoded_leave(&s->val, s->r->backend);
    task_encoded_leave(&s->rows, s->r->backend);
    llap_near_release(s->r->backend, s->near_stats);
    llap_near_release(s->r->backend, s->near_index);
    llap_epochs_deinit(&s->near_order);
    llap_epochs_deinit(&s->val_order);
    s->near_stats = s->near_index = NULL;
    s->near = false;
}

llap_rng diffusion_epoch_rng(const void *user, int64_t epoch)
{
    const diffusion_stage *s = user;
    return llap_rng_make(s->r->seed, LLAP_STREAM_SHUFFLE, 3, 0, (uint32_t)epoch);
}

llap_status diffusion_move_near(diffusion_stage *s)
{
    const llap_backend *b = s->r->backend;
    const size_t        n = (size_t)s->H * sizeof(float);
    void               *stats = NULL;
    if (b->memory == NULL) return LLAP_OK;
    llap_status st = task_encoded_move(&s->val, b);
    if (st == LLAP_OK) st = task_encoded_move(&s->rows, b);
    if (st == LLAP_OK) st = llap_near_alloc(b, 2 * n, &stats);
    s->near_stats = stats;
    if (st == LLAP_OK) st = llap_near_alloc(b, (size_t)s->B * sizeof(int32_t), &s->near_index);
    if (st == LLAP_OK) st = llap_epochs_init(&s->val_order, b, s->val.n, 1);
    if (st == LLAP_OK) st = llap_epochs_init(&s->near_order, b, s->n_batches, s->B);
    s->near_order.user = s;
    if (s->r->recipe.data.shuffle) s->near_order.epoch_rng = diffusion_epoch_rng;
    if (st == LLAP_OK && s->mean != NULL) st = llap_near_put(b, stats, s->mean, n);
    if (st == LLAP_OK && s->mean != NULL) st = llap_near_put(b, (char *)stats + n, s->deviation, n);
    s->near = st == LLAP_OK;
    if (st != LLAP_OK) diffusion_release_near(s);
    return st == LLAP_ENOMEM ? LLAP_OK : st;
}

static llap_status place_near(const diffusion_stage *s, const task_encoded *e, task_net *net)
{
    llap_status st = task_encoded_place(e, net);
    if (st == LLAP_OK) st = task_net_place(net, INDEX, s->near_index);
    if (st == LLAP_OK) st = task_net_place(net, TASK_NET_ROWS "mean", s->near_stats);
    return st == LLAP_OK ? task_net_place(net, TASK_NET_ROWS "deviation", s->near_stats + s->H)
                         : st;
}

/* -------- the loss -------- */

typedef struct batch_of { /* B rows of e, as inputs or taken by INDEX from where they lie */
    llap_graph            *g;
    const diffusion_stage *s;
    const task_encoded    *e;
    int64_t                B;
    llap_tensor           *index; /* NULL: inputs */
} batch_of;

static llap_tensor *rows_of(const batch_of *b, int table, llap_shape shape)
{
    if (b->index == NULL)
        return llap_input(b->g, task_near_names[table] + strlen(TASK_NET_ROWS), shape);
    const llap_shape all = LLAP_SHAPE(b->e->n, task_encoded_width(b->e, table));
    llap_tensor     *x = llap_input(b->g, task_near_names[table], all);
    return llap_reshape(b->g, llap_embedding(b->g, x, b->index), shape);
}

/* What llap_diffusion_draw makes here, drawn there. */
static llap_tensor *draw(const batch_of *b, llap_draw_attr a)
{
    llap_tensor *key = llap_input_int(b->g, "key", LLAP_SHAPE(4));
    llap_tensor *ids = llap_input_int(b->g, task_near_names[TASK_NEAR_IDS], LLAP_SHAPE(b->e->n, 2));
    a.stream = LLAP_STREAM_DIFFUSE;
    return llap_draw(b->g, key, ids, b->index, &a);
}

static llap_tensor *noise_of(const batch_of *b, llap_shape shape)
{
    const int64_t width = llap_shape_count(&shape) / b->B;
    if (b->index == NULL) return llap_input(b->g, "eps", shape);
    return llap_reshape(b->g, draw(b, (llap_draw_attr){ .width = width, .normal = true }), shape);
}

static llap_tensor *steps_of(const batch_of *b)
{
    const llap_shape shape = LLAP_SHAPE(b->B);
    if (b->index == NULL) return llap_input_int(b->g, "t", shape);
    const uint32_t below = (uint32_t)b->s->r->network->schedule->T - 1;
    llap_tensor   *t = draw(b, (llap_draw_attr){ .width = 1, .sample = 1, .below = below });
    return llap_reshape(b->g, llap_whole(b->g, llap_affine(b->g, t, 1.0, 1.0)), shape);
}

/* Uniforms are multiples of 2^-24, so that this bound separates them as the share does. */
static llap_tensor *conditional_of(const batch_of *b)
{
    const llap_shape shape = LLAP_SHAPE(b->B);
    if (b->index == NULL) return llap_input(b->g, "conditional", shape);
    const double drop = ceil(b->s->r->network->config.noise.unconditional * 0x1p24) * 0x1p-24;
    llap_tensor *u = draw(b, (llap_draw_attr){ .width = 10, .sample = 1 });
    u = llap_reshape(b->g, llap_slice(b->g, u, 1, 9, 1), shape);
    return llap_at_least(b->g, u, llap_full(b->g, LLAP_SCALAR, drop));
}

static llap_tensor *statistic(const batch_of *b, const char *name)
{
    if (b->s->mean == NULL) return NULL;
    return llap_input(b->g, b->index == NULL ? name + strlen(TASK_NET_ROWS) : name,
                      LLAP_SHAPE(b->s->H));
}

llap_loss_opts diffusion_loss_opts(const diffusion_stage *s, bool training)
{
    const llap_network_config *c = &s->r->network->config;
    return (llap_loss_opts){ .predict = c->noise.prediction,
                             .min_snr = training && c->noise.min_snr,
                             .gamma = c->noise.gamma,
                             .normalize = c->noise.normalize };
}

llap_tensor *diffusion_describe(llap_graph *g, const diffusion_stage *s, int64_t B, bool training)
{
    const llap_network_config *c = &s->r->network->config;
    const int64_t              h = s->r->h;
    const batch_of             b = { .g = g,
                                     .s = s,
                                     .e = training ? &s->rows : &s->val,
                                     .B = B,
                                     .index = s->near ? llap_input_int(g, INDEX, LLAP_SHAPE(B)) : NULL };
    llap_tensor               *E_raw = rows_of(&b, TASK_NEAR_E, LLAP_SHAPE(B, s->S, s->H));
    llap_tensor               *mean = statistic(&b, TASK_NET_ROWS "mean");
    llap_tensor               *std = statistic(&b, TASK_NET_ROWS "deviation");
    const llap_loss_opts       o = diffusion_loss_opts(s, training);
    const llap_loss_in         in = {
                .z0 = rows_of(&b, TASK_NEAR_Z0, LLAP_SHAPE(B, h, s->Z)),
                .eps = noise_of(&b, LLAP_SHAPE(B, h, s->Z)),
                .t = steps_of(&b),
                .mask = rows_of(&b, TASK_NEAR_ANY, LLAP_SHAPE(B, h)),
                .tq = rows_of(&b, TASK_NEAR_TQ, LLAP_SHAPE(B, h)),
                .E = llap_context_normalise(g, E_raw, mean, std),
                .E_raw = E_raw,
                .conditional = training ? conditional_of(&b) : NULL,
                .weight = training && s->P > 0 ? llap_input(g, "weight", LLAP_SHAPE(B)) : NULL,
                .kinds = training && s->P > 0 ? llap_input(g, "kinds", LLAP_SHAPE(2)) : NULL,
                .training = training
    };
    llap_scope_push(g, "denoiser");
    llap_tensor *loss = llap_diffusion_loss(g, &c->denoiser, s->r->network->schedule, &o, &in);
    llap_scope_pop(g);
    llap_output(g, "loss", loss);
    return loss;
}

/* -------- the nets -------- */

/* The parameters of g as training begins with them. */
static llap_status start(diffusion_stage *s, const llap_graph *g)
{
    llap_params *p = NULL;
    llap_status  st = llap_params_create(g, s->r->backend, &p);
    if (st != LLAP_OK) return st;
    llap_params_init(p, s->r->seed);
    st = llap_denoiser_init(p, "denoiser.", s->r->seed);
    if (st == LLAP_OK) {
        task_reference_start(s->r, p);
        llap_params_start_ema(p);
        st = llap_params_push(p);
    }
    if (st == LLAP_OK) s->params = p;
    else llap_params_destroy(p);
    return st;
}

static llap_status net_of(diffusion_stage *s, int64_t B, bool training, task_net **out)
{
    llap_graph *g = NULL;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_tensor *loss = diffusion_describe(g, s, B, training);
        if (training) llap_nn_train(g, loss, &s->r->recipe.denoiser.stage.optim);
    }
    if (st == LLAP_OK && s->params == NULL) st = start(s, g);
    if (st == LLAP_OK) st = task_net_create(g, s->params, s->r->n_threads, out);
    if (st == LLAP_OK && s->near) st = place_near(s, training ? &s->rows : &s->val, *out);
    llap_graph_destroy(g);
    return st;
}

void diffusion_destroy_nets(diffusion_stage *s)
{
    for (int i = 0; i < 2; i++) {
        task_net_destroy(s->train[i]);
        task_net_destroy(s->check[i]);
        s->train[i] = s->check[i] = NULL;
    }
    task_net_destroy(s->part);
    s->part = NULL;
    s->ready = -1;
}

int64_t diffusion_at_once(const diffusion_stage *s) { return s->P > 0 ? s->P : s->B; }

llap_status diffusion_net_for(diffusion_stage *s, task_net **pair, int64_t count, bool training,
                              task_net **out)
{
    task_net  **at = &pair[count == diffusion_at_once(s) ? 0 : 1];
    llap_status st = *at == NULL ? net_of(s, count, training, at) : LLAP_OK;
    if (st == LLAP_ENOMEM && s->near) {
        diffusion_destroy_nets(s);
        diffusion_release_near(s);
        st = net_of(s, count, training, at);
    }
    *out = *at;
    return st;
}

/* -------- what they are fed with -------- */

static void fill_rows(const diffusion_stage *s, task_encoded *e, int64_t first, int64_t count,
                      task_net *net)
{
    const int64_t h = s->r->h, codes = h * s->Z, tokens = s->S * s->H;
    const size_t  real = sizeof(float);
    memcpy(task_net_real(net, "z0"), e->z0 + first * codes, (size_t)(count * codes) * real);
    memcpy(task_net_real(net, "mask"), e->any + first * h, (size_t)(count * h) * real);
    memcpy(task_net_real(net, "tq"), e->tq + first * h, (size_t)(count * h) * real);
    memcpy(task_net_real(net, "E_raw"), e->E_raw + first * tokens, (size_t)(count * tokens) * real);
    llap_scratch_used(&e->block, (size_t)count * task_encoded_row_bytes(e));
    if (s->mean == NULL) return;
    memcpy(task_net_real(net, "mean"), s->mean, (size_t)s->H * real);
    memcpy(task_net_real(net, "deviation"), s->deviation, (size_t)s->H * real);
}

llap_status diffusion_name_rows(const diffusion_stage *s, llap_epochs *order, int64_t first,
                                int64_t count, uint32_t number, task_net *net)
{
    int32_t *key = task_net_int(net, "key");
    key[0] = (int32_t)(uint32_t)s->r->seed;
    key[1] = (int32_t)(uint32_t)(s->r->seed >> 32);
    key[2] = (int32_t)number;
    return llap_epochs_take(order, first, count, s->near_index);
}

void diffusion_fill(const diffusion_stage *s, task_encoded *e, int64_t first, int64_t count,
                    uint32_t number, bool training, task_net *net)
{
    const llap_network_config *c = &s->r->network->config;
    const int64_t              codes = s->r->h * s->Z;
    const llap_draw_opts o = { .seed = s->r->seed, .drop = training ? c->noise.unconditional : 0 };
    float *eps = task_net_real(net, "eps"), *flag = task_net_real(net, "conditional"), none;
    fill_rows(s, e, first, count, net);
    for (int64_t i = 0; i < count; i++)
        llap_diffusion_draw(s->r->network->schedule, &o, e->id[first + i], number,
                            task_net_int(net, "t") + i, flag == NULL ? &none : flag + i,
                            eps + i * codes, (size_t)codes);
}
