/* Stage 3: latents and summaries of the frozen networks (reference_encode.h), then the denoiser,
 * spec protocol.md 5.3 to 5.5. */
#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "nn/epochs.h"
#include "nn/optim.h"
#include "task/reference_encode.h"

#include <math.h>
#include <string.h>

#define INDEX TASK_NET_ROWS "index" /* of a batch, where it is made near */

typedef struct diffusion_stage {
    task_reference *r;
    llap_params    *params;
    task_net       *train[2], *check[2]; /* for whole batches, and for the last one */
    task_net       *part;                /* for P rows, where batches go in pieces; else NULL */
    int64_t         P;
    int32_t        *t;             /* [B] of a batch in pieces; and */
    float          *flag, *weight; /* [B]; and */
    float           kinds[2];      /* whether any row has its condition, and whether any has none */
    task_encoded    rows, val;
    int64_t         B, S, H, Z, n_batches;
    uint32_t       *order; /* [n_batches] of an epoch */
    int64_t         epoch; /* that it is of; -1: none */
    int64_t         ready; /* the step whose batch is in its net; -1: none */
    bool            near; /* rows and val lie in the backend's memory, and batches are made there */
    float          *near_stats;            /* there: mean and deviation below, [2,H], */
    llap_epochs     near_order, val_order; /* of rows and of val, */
    void           *near_index;            /* and the rows of a step, int [B] */
    llap_lr         lr;
    double          lr_now;
    const float    *mean, *deviation; /* of the summaries, [H]; NULL: those of the batch */
    int64_t         first, count;     /* rows of the last step */
    llap_ahead      ahead;
} diffusion_stage;

/* -------- rows that lie in the backend's memory -------- */

static void release_near(diffusion_stage *s)
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

static llap_rng epoch_rng(const void *user, int64_t epoch)
{
    const diffusion_stage *s = user;
    return llap_rng_make(s->r->seed, LLAP_STREAM_SHUFFLE, 3, 0, (uint32_t)epoch);
}

/* Everything that steps look at goes to the memory of a GPU; where it has no room for that, batches
 * are copied there for each step. */
static llap_status move_near(diffusion_stage *s)
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
    if (s->r->recipe.data.shuffle) s->near_order.epoch_rng = epoch_rng;
    if (st == LLAP_OK && s->mean != NULL) st = llap_near_put(b, stats, s->mean, n);
    if (st == LLAP_OK && s->mean != NULL) st = llap_near_put(b, (char *)stats + n, s->deviation, n);
    s->near = st == LLAP_OK;
    if (st != LLAP_OK) release_near(s);
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

static llap_loss_opts loss_opts(const diffusion_stage *s, bool training)
{
    const llap_network_config *c = &s->r->network->config;
    return (llap_loss_opts){ .predict = c->noise.prediction,
                             .min_snr = training && c->noise.min_snr,
                             .gamma = c->noise.gamma,
                             .normalize = c->noise.normalize };
}

static llap_tensor *describe(llap_graph *g, const diffusion_stage *s, int64_t B, bool training)
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
    const llap_loss_opts       o = loss_opts(s, training);
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
        llap_tensor *loss = describe(g, s, B, training);
        if (training) llap_nn_train(g, loss, &s->r->recipe.denoiser.stage.optim);
    }
    if (st == LLAP_OK && s->params == NULL) st = start(s, g);
    if (st == LLAP_OK) st = task_net_create(g, s->params, s->r->n_threads, out);
    if (st == LLAP_OK && s->near) st = place_near(s, training ? &s->rows : &s->val, *out);
    llap_graph_destroy(g);
    return st;
}

static void destroy_nets(diffusion_stage *s)
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

static int64_t at_once(const diffusion_stage *s) { return s->P > 0 ? s->P : s->B; } /* rows */

/* The net for so many rows, made when it is first asked for. */
static llap_status net_for(diffusion_stage *s, task_net **pair, int64_t count, bool training,
                           task_net **out)
{
    task_net  **at = &pair[count == at_once(s) ? 0 : 1];
    llap_status st = *at == NULL ? net_of(s, count, training, at) : LLAP_OK;
    if (st == LLAP_ENOMEM && s->near) {
        destroy_nets(s);
        release_near(s);
        st = net_of(s, count, training, at);
    }
    *out = *at;
    return st;
}

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

/* Where rows and draws are made there: which draws, and numbers first .. first + count - 1 of the
 * order. */
static llap_status name_rows(const diffusion_stage *s, llap_epochs *order, int64_t first,
                             int64_t count, uint32_t number, task_net *net)
{
    int32_t *key = task_net_int(net, "key");
    key[0] = (int32_t)(uint32_t)s->r->seed;
    key[1] = (int32_t)(uint32_t)(s->r->seed >> 32);
    key[2] = (int32_t)number;
    return llap_epochs_take(order, first, count, s->near_index);
}

/* Rows first .. first + count - 1, with the noise of this step. */
static void fill(const diffusion_stage *s, task_encoded *e, int64_t first, int64_t count,
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

/* -------- batches -------- */

/* Batches of neighbouring rows: in order of time, or in a new order each epoch. */
static int64_t batch_at(diffusion_stage *s, int64_t number)
{
    const int64_t place = number % s->n_batches, epoch = number / s->n_batches;
    if (!s->r->recipe.data.shuffle) return place;
    if (s->epoch != epoch) {
        const llap_rng g = epoch_rng(s, epoch);
        llap_rng_permute(&g, (size_t)s->n_batches, s->order);
        s->epoch = epoch;
    }
    return s->order[place];
}

static void find_batch(diffusion_stage *s, int64_t number, int64_t *first, int64_t *count)
{
    *first = batch_at(s, number) * s->B;
    *count = s->rows.n - *first < s->B ? s->rows.n - *first : s->B;
}

/* How many rows the batch of a step has, without making the order: the last one in time may have
 * fewer, and what comes last in llap_rng_permute goes where its own draw says. */
static int64_t rows_at(const diffusion_stage *s, int64_t number)
{
    const int64_t  n = s->n_batches, place = number % n;
    const llap_rng g = epoch_rng(s, number / n);
    const int64_t  last = s->r->recipe.data.shuffle
                              ? (int64_t)llap_rng_below(&g, (uint64_t)n - 1, (uint64_t)n)
                              : n - 1;
    return place == last ? s->rows.n - (n - 1) * s->B : s->B;
}

static void fill_batch(diffusion_stage *s, int64_t number, int64_t first, int64_t count,
                       task_net *net)
{
    if (s->ready != number) fill(s, &s->rows, first, count, (uint32_t)number, true, net);
    s->ready = number;
}

/* -------- in pieces -------- */

static llap_status make_part(diffusion_stage *s)
{
    llap_graph *g = NULL;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK)
        st = task_net_create_part(g, describe(g, s, s->P, true), &s->r->recipe.denoiser.stage.optim,
                                  s->params, s->r->n_threads, &s->part);
    llap_graph_destroy(g);
    return st;
}

/* Those of validation beside it, which need their room too. */
static llap_status make_checks(diffusion_stage *s)
{
    const int64_t rest = s->val.n % s->P;
    task_net     *net = NULL;
    llap_status   st = s->val.n < s->P ? LLAP_OK : net_for(s, s->check, s->P, false, &net);
    return st == LLAP_OK && rest > 0 ? net_for(s, s->check, rest, false, &net) : st;
}

/* From now on a batch goes in equal parts, as few as there is room for. */
static llap_status split(diffusion_stage *s)
{
    llap_status st = LLAP_ENOMEM;
    destroy_nets(s);
    release_near(s);
    for (int64_t n = 2; st == LLAP_ENOMEM && s->params != NULL && s->P != 1; n *= 2) {
        destroy_nets(s);
        s->P = n < s->B ? (s->B + n - 1) / n : 1;
        st = make_part(s);
        if (st == LLAP_OK) st = make_checks(s);
    }
    if (st != LLAP_OK) destroy_nets(s);
    if (st != LLAP_OK) s->P = 0; /* a batch is one again, if there will be room */
    if (st == LLAP_OK) task_stage_in_pieces(s->r->o->log, "denoiser", s->r->backend, s->B, s->P);
    return st;
}

/* Piece i of the last step's batch; what lies behind its rows counts for nothing. */
static void fill_piece(const diffusion_stage *s, task_encoded *e, int64_t number, int64_t i)
{
    const int64_t at = i * s->P, n = s->count - at < s->P ? s->count - at : s->P, h = s->r->h;
    float        *mask = task_net_real(s->part, "mask"), *weight = task_net_real(s->part, "weight");
    float        *kinds = task_net_real(s->part, "kinds");
    fill(s, e, s->first + at, n, (uint32_t)number, true, s->part);
    for (int64_t k = 0; k < s->P; k++) weight[k] = k < n ? s->weight[at + k] : 0.0f;
    if (kinds != NULL) memcpy(kinds, s->kinds, sizeof s->kinds);
    memset(mask + n * h, 0, (size_t)((s->P - n) * h) * sizeof *mask);
}

/* What is of the whole batch: weights, so that its pieces add up to its loss, and which kinds of
 * rows it has, because spectral norms iterate for each. */
static void draw_whole(diffusion_stage *s, int64_t number)
{
    const llap_loss_opts loss_o = loss_opts(s, true);
    const llap_draw_opts o = { .seed = s->r->seed,
                               .drop = s->r->network->config.noise.unconditional };
    const llap_schedule *schedule = s->r->network->schedule;
    s->kinds[0] = s->kinds[1] = 0.0f;
    for (int64_t i = 0; i < s->count; i++) {
        llap_diffusion_draw(schedule, &o, s->rows.id[s->first + i], (uint32_t)number, s->t + i,
                            s->flag + i, NULL, 0);
        s->kinds[s->flag[i] > 0 ? 0 : 1] = 1.0f;
    }
    llap_diffusion_weights(schedule, &loss_o, s->t, s->flag, s->count, s->weight);
}

static llap_status step_in_pieces(diffusion_stage *s, int64_t number, double *loss, double *norm)
{
    llap_status st = LLAP_OK;
    draw_whole(s, number);
    for (int64_t i = 0; i * s->P < s->count && st == LLAP_OK; i++) {
        fill_piece(s, &s->rows, number, i);
        st = task_net_add(s->part, s->params, number, i, (double)s->P / (double)s->count);
    }
    if (st == LLAP_OK) st = task_net_added(s->part, number, s->lr_now, loss, norm);
    return st == LLAP_OK && loss == NULL ? task_net_later(s->part, &s->ahead, number) : st;
}

/* -------- the stage -------- */

static llap_status step_whole(diffusion_stage *s, int64_t number, task_net *net)
{
    llap_status st = LLAP_OK;
    if (s->near) st = name_rows(s, &s->near_order, number * s->B, s->count, (uint32_t)number, net);
    else fill_batch(s, number, s->first, s->count, net);
    return st == LLAP_OK ? task_net_begin(net, s->params, number, s->lr_now) : st;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    diffusion_stage *s = user;
    task_net        *net = NULL;
    int64_t          first, count;
    s->count = rows_at(s, number);
    s->lr_now = llap_lr_at(&s->lr, number);
    llap_status st = s->part == NULL ? net_for(s, s->train, s->count, true, &net) : LLAP_OK;
    if (st == LLAP_ENOMEM && s->r->backend->memory != NULL) st = split(s);
    if (!s->near) find_batch(s, number, &s->first, &s->count);
    if (s->part != NULL) return step_in_pieces(s, number, loss, norm);
    if (st == LLAP_OK) st = step_whole(s, number, net);
    if (st != LLAP_OK) return st;
    /* While a GPU computes, the next batch of the same size; it has its copy of this one. */
    if (llap_params_backend(s->params)->memory != NULL && !s->near) {
        find_batch(s, number + 1, &first, &count);
        if (count == s->count) fill_batch(s, number + 1, first, count, net);
    }
    if (loss == NULL) return task_net_later(net, &s->ahead, number);
    task_net_end(net, loss, norm);
    return LLAP_OK;
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return llap_ahead_get(&((diffusion_stage *)user)->ahead, first, n, loss, norm);
}

/* Error of the prediction on validation, every row with its condition, its own step and noise:
 * always the same. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    (void)done;
    diffusion_stage *s = user;
    double           sum = 0;
    llap_status      st = LLAP_OK;
    for (int64_t at = 0; at < s->val.n && st == LLAP_OK; at += at_once(s)) {
        const int64_t count = s->val.n - at < at_once(s) ? s->val.n - at : at_once(s);
        task_net     *net = NULL;
        st = net_for(s, s->check, count, false, &net);
        if (st == LLAP_OK && s->near) st = name_rows(s, &s->val_order, at, count, UINT32_MAX, net);
        else if (st == LLAP_OK) fill(s, &s->val, at, count, UINT32_MAX, false, net);
        if (st == LLAP_OK) st = task_net_run(net);
        if (st != LLAP_OK) break;
        sum += (double)count * task_net_number(net, "loss");
    }
    *score = sum / (double)s->val.n;
    if (st != LLAP_ENOMEM || s->part != NULL || s->r->backend->memory == NULL) return st;
    st = split(s); /* which leaves room */
    return st == LLAP_OK ? evaluate(user, done, score) : st;
}

static void fields(void *user, llap_json_writer *w)
{
    llap_json_put_double(w, "lr", ((diffusion_stage *)user)->lr_now);
}

static llap_status blame_pieces(diffusion_stage *s, int64_t number, char *text, size_t size)
{
    char        known[512];
    llap_status st = LLAP_OK;
    snprintf(known, sizeof known, "%s", text);
    for (int64_t i = 0; i * s->P < s->count && st == LLAP_OK && strcmp(known, text) == 0; i++) {
        llap_graph *g = NULL;
        st = llap_graph_create(&g);
        fill_piece(s, &s->rows, number, i);
        if (st == LLAP_OK)
            st = task_net_blame(s->part, g, describe(g, s, s->P, true), s->params, text, size);
        llap_graph_destroy(g);
    }
    return st;
}

/* With all inputs here, where they can be looked at. */
static llap_status blame_whole(diffusion_stage *s, int64_t number, char *text, size_t size)
{
    const bool  near = s->near;
    llap_graph *g = NULL;
    task_net   *net = NULL;
    llap_status st = llap_graph_create(&g);
    s->near = false;
    if (near) destroy_nets(s);
    if (st == LLAP_OK) st = net_for(s, s->train, s->count, true, &net);
    if (st == LLAP_OK) {
        fill_batch(s, number, s->first, s->count, net); /* the next one may be there already */
        st = task_net_blame(net, g, describe(g, s, s->count, true), s->params, text, size);
    }
    if (near) destroy_nets(s);
    s->near = near;
    llap_graph_destroy(g);
    return st;
}

static llap_status blame(void *user, int64_t number, char *text, size_t size)
{
    diffusion_stage *s = user;
    find_batch(s, number, &s->first, &s->count);
    const llap_status st =
        s->part != NULL ? blame_pieces(s, number, text, size) : blame_whole(s, number, text, size);
    task_name_windows(&s->r->frame, s->rows.end + s->first, s->count, text, size);
    return st;
}

static llap_status prepare(diffusion_stage *s)
{
    const task_reference *r = s->r;
    const int64_t         val = task_reference_val_batches(r) * r->B;
    const int64_t         needed = s->lr.total * r->groups; /* more rows are never seen */
    const int64_t         rows = r->recipe.denoiser.rows;
    const int64_t         most = needed < rows ? needed : rows;
    task_net             *net = NULL;
    llap_status           st = task_encode(r, r->train, most, "latents", &s->rows);
    if (st == LLAP_OK) st = task_encode(r, r->val, val, "latents of validation", &s->val);
    if (st == LLAP_OK) st = task_encoded_normalise(r, &s->rows, &s->val);
    if (st == LLAP_OK) st = task_encoded_statistics(r, &s->rows, &s->mean, &s->deviation);
    if (st != LLAP_OK) return st;
    s->B = r->groups < s->rows.n ? r->groups : s->rows.n;
    s->n_batches = (s->rows.n + s->B - 1) / s->B;
    s->order = llap_new((size_t)s->n_batches, sizeof *s->order);
    s->t = llap_new((size_t)s->B, sizeof *s->t);
    s->flag = llap_new(2 * (size_t)s->B, sizeof *s->flag);
    if (s->order == NULL || s->t == NULL || s->flag == NULL) return LLAP_ENOMEM;
    s->weight = s->flag + s->B;
    st = move_near(s);
    if (st == LLAP_OK) st = net_for(s, s->train, s->B, true, &net);
    if (st == LLAP_ENOMEM && r->backend->memory != NULL) st = split(s);
    return st == LLAP_OK ? llap_ahead_init(&s->ahead, r->backend) : st;
}

static llap_status hand_over(diffusion_stage *s)
{
    static const char *const part[] = { "denoiser.model.", "denoiser.time_embed.",
                                        "ema.denoiser.model.", "ema.denoiser.time_embed." };
    llap_status              st = LLAP_OK;
    for (int i = 0; i < (s->r->network->config.options.ema ? 4 : 2) && st == LLAP_OK; i++)
        st = llap_params_take(s->r->network->params, part[i], s->params, part[i]);
    return st;
}

llap_status task_reference_diffusion(task_reference *r, task_training *t)
{
    const llap_network_config  *c = &r->network->config;
    const task_recipe_denoiser *d = &r->recipe.denoiser;
    diffusion_stage             s = { .r = r,
                                      .S = c->summarizer.tokens,
                                      .H = c->summarizer.width,
                                      .Z = c->denoiser.data_dim,
                                      .epoch = -1,
                                      .ready = -1,
                                      .lr = { .kind = LLAP_LR_WARMUP_CONSTANT,
                                              .base = d->stage.lr,
                                              .min = d->lr_first * d->stage.lr,
                                              .warmup = d->warmup,
                                              .total = d->stage.steps } };
    task_stage                  stage = task_stage_of(&d->stage);
    llap_status                 st = prepare(&s);
    stage.name = "denoiser";
    stage.params = s.params;
    stage.user = &s;
    stage.step = step;
    if (r->backend->memory != NULL) stage.results = results;
    stage.evaluate = evaluate;
    stage.fields = fields;
    stage.blame = blame;
    if (st == LLAP_OK) st = task_training_stage(t, &stage, NULL);
    if (st == LLAP_OK) st = hand_over(&s);
    destroy_nets(&s);
    release_near(&s);
    llap_ahead_deinit(&s.ahead);
    llap_scratch_deinit(&s.rows.block);
    llap_scratch_deinit(&s.val.block);
    llap_params_destroy(s.params);
    llap_free(s.order);
    llap_free(s.t);
    llap_free(s.flag);
    return st;
}
