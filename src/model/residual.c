#include "model/residual.h"

#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "model/resident.h"
#include "nn/blame.h"
#include "nn/epochs.h"
#include "nn/pieces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the graph of a training step ---- */

typedef struct step_in {
    llap_tensor *tokens, *token_pad, *entity, *tq, *f, *pad, *z0, *mask, *eps, *time;
} step_in;

static step_in step_inputs(llap_graph *g, const llap_residual_config *c, int64_t B, int64_t h)
{
    const int64_t S = c->patches.tokens, Z = c->denoiser.data_dim;
    return (step_in){
        .tokens = llap_input(g, "tokens", LLAP_SHAPE(B, S, c->patches.token_dim)),
        .token_pad = llap_input(g, "token_pad", LLAP_SHAPE(B, S)),
        .entity = c->patches.entities > 0 ? llap_input_int(g, "entity", LLAP_SHAPE(B)) : NULL,
        .tq = llap_input(g, "tq", LLAP_SHAPE(B, h)),
        .f = llap_input(g, "f", LLAP_SHAPE(B, h, c->denoiser.query_features)),
        .pad = llap_input(g, "pad", LLAP_SHAPE(B, h)),
        .z0 = llap_input(g, "z0", LLAP_SHAPE(B, h, Z)),
        .mask = llap_input(g, "mask", LLAP_SHAPE(B, h, Z)),
        .eps = llap_input(g, "eps", LLAP_SHAPE(B, h, Z)),
        .time = llap_input(g, "time", LLAP_SHAPE(B)),
    };
}

static llap_tensor *summary(llap_graph *g, const llap_residual_config *c, llap_tensor *tokens,
                            llap_tensor *pad, llap_tensor *entity, bool training)
{
    llap_scope_push(g, "summarizer");
    llap_tensor *E = llap_patch_summary(
        g, &c->patches,
        &(llap_patch_in){ .tokens = tokens, .pad = pad, .entity = entity, .training = training });
    llap_scope_pop(g);
    return E;
}

/* Plain masked mean square of v = a eps - s z0, over all values of the batch. */
static llap_tensor *step_loss(llap_graph *g, const llap_residual_config *c, const step_in *in)
{
    llap_tensor *angle = llap_scale(g, in->time, 1.57079632679489661923);
    angle = llap_unsqueeze(g, llap_unsqueeze(g, angle, -1), -1);
    llap_tensor *a = llap_cos(g, angle), *s = llap_sin(g, angle);
    llap_tensor *z = llap_add(g, llap_mul(g, a, in->z0), llap_mul(g, s, in->eps));
    llap_tensor *v = llap_sub(g, llap_mul(g, a, in->eps), llap_mul(g, s, in->z0));

    llap_denoiser_in d = { .z = z,
                           .time = in->time,
                           .tq = in->tq,
                           .f = in->f,
                           .pad = in->pad,
                           .E = summary(g, c, in->tokens, in->token_pad, in->entity, true),
                           .E_pad = in->token_pad,
                           .training = true };
    llap_scope_push(g, "denoiser");
    llap_tensor *prediction = llap_denoiser(g, &c->denoiser, &d);
    llap_scope_pop(g);
    return llap_nn_masked_mse(g, prediction, v, in->mask, LLAP_ALL_AXES);
}

/* ---- the trainer ---- */

#define NOW(B) ((B) + 6) /* numbers of one step */

struct llap_residual_trainer {
    llap_residual_config    c;
    llap_residual_opts      o;
    const llap_feature_set *set;
    llap_params            *params;
    llap_plan              *plan;
    llap_run               *run;
    int64_t                 pieces; /* that the batch goes in; 1: plan and run are of the whole */
    llap_pieces            *split;
    llap_feature_batch     *batch;
    float                  *eps;   /* [B,h,Z] */
    uint32_t               *order; /* [n] rows of the epoch in order of use */
    int64_t                 epoch; /* of order; -1: none yet */
    int64_t                 ready; /* the step whose batch is there; -1: none */
    llap_ahead              ahead;
    llap_resident          *rows; /* the set near; NULL: batches are made here and copied */
    void                   *now;  /* what is of one step, all numbers below one after another; */
    void                   *near_now;   /* its copy beside the rows */
    llap_epochs             near_order; /* of the rows, beside them */
    void                   *near_index; /* [B] of a step */
    uint32_t               *index;      /* [B], where batches are made here */
    float                  *time;       /* [B] */
    int32_t                *key;        /* [4] */
    float                  *lr;
    int32_t                *count;
};

void llap_residual_trainer_destroy(llap_residual_trainer *t)
{
    if (t == NULL) return;
    llap_pieces_destroy(t->split);
    llap_run_destroy(t->run);
    llap_plan_release(t->plan);
    llap_params_destroy(t->params);
    llap_ahead_deinit(&t->ahead);
    llap_feature_batch_destroy(t->batch);
    llap_resident_destroy(t->rows);
    llap_epochs_deinit(&t->near_order);
    llap_near_release(t->o.backend, t->near_index);
    llap_near_release(t->o.backend, t->near_now);
    llap_free(t->now);
    llap_free(t->index);
    llap_free(t->eps);
    llap_free(t->order);
    llap_free(t);
}

llap_params *llap_residual_trainer_params(llap_residual_trainer *t) { return t->params; }
int64_t      llap_residual_trainer_pieces(const llap_residual_trainer *t) { return t->pieces; }

enum { INPUTS = 10 };
typedef struct input {
    const char *name;
    void       *data;  /* of four bytes each; NULL: there is none */
    int64_t     n;     /* of a piece */
    bool        whole; /* numbers, not reals */
} input;

static void list_inputs(const llap_residual_trainer *t, input *out)
{
    const llap_residual_config *c = &t->c;
    const llap_feature_batch   *b = t->batch;
    const int64_t B = b->B / t->pieces, h = b->h, S = c->patches.tokens, Z = c->denoiser.data_dim;
    const input   all[INPUTS] = {
          { "tokens", b->tokens, B * S * c->patches.token_dim, false },
          { "token_pad", b->token_pad, B * S, false },
          { "entity", b->entity, B, true },
          { "tq", b->tq, B * h, false },
          { "f", b->f, B * h * c->denoiser.query_features, false },
          { "pad", b->pad, B * h, false },
          { "z0", b->z0, B * h * Z, false },
          { "mask", b->mask, B * h * Z, false },
          { "eps", t->eps, B * h * Z, false },
          { "time", t->time, B, false },
    };
    memcpy(out, all, sizeof all);
}

/* Piece number `piece` of the batch. */
static llap_status bind_batch(const llap_residual_trainer *t, llap_run *run, int64_t piece)
{
    input in[INPUTS];
    list_inputs(t, in);
    for (int i = 0; i < INPUTS; i++) {
        if (in[i].data == NULL) continue;
        char             *at = (char *)in[i].data + 4 * piece * in[i].n;
        const llap_status st = llap_run_bind(run, in[i].name, at, in[i].n);
        if (st != LLAP_OK && st != LLAP_ENOTFOUND) return st;
    }
    return LLAP_OK;
}

/* The rows, and what is of one step. */
static llap_status bind_resident(const llap_residual_trainer *t)
{
    const int64_t B = t->o.batch;
    const struct {
        const char *name;
        const void *at;
        int64_t     n;
    } part[] = {
        { "time", t->time, B }, { "key", t->key, 4 }, { "lr", t->lr, 1 }, { "step", t->count, 1 }
    };
    llap_status st = llap_resident_bind(t->rows, t->run);
    if (st == LLAP_OK) st = llap_run_bind_near(t->run, "index", t->near_index, B);
    for (size_t i = 0; i < sizeof part / sizeof *part && st == LLAP_OK; i++) {
        char *near = (char *)t->near_now + ((const char *)part[i].at - (const char *)t->now);
        st = llap_run_bind_near(t->run, part[i].name, near, part[i].n);
        if (st == LLAP_ENOTFOUND) st = LLAP_OK;
    }
    return st;
}

/* The plan of the whole batch, bound. */
static llap_status make_whole(llap_residual_trainer *t, const llap_graph *g,
                              const llap_plan_opts *how)
{
    llap_status st = llap_plan_create(g, how, &t->plan);
    if (st == LLAP_OK) st = llap_run_create(t->plan, &t->run);
    if (st == LLAP_OK) st = llap_params_bind(t->params, LLAP_PARAMS_MODEL, t->plan, t->run);
    if (st == LLAP_OK && t->rows != NULL) return bind_resident(t);
    if (st == LLAP_OK) st = bind_batch(t, t->run, 0);
    if (st == LLAP_OK) st = llap_run_bind(t->run, "lr", t->lr, 1);
    return st == LLAP_OK ? llap_run_bind(t->run, "step", t->count, 1) : st;
}

static llap_status make_split(llap_residual_trainer *t, const llap_plan_opts *how)
{
    llap_graph *g = NULL;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    const step_in in = step_inputs(g, &t->c, t->o.batch / t->pieces, t->set->h);
    st = llap_pieces_create(g, step_loss(g, &t->c, &in), &t->o.optim, t->params, how, &t->split);
    llap_graph_destroy(g);
    return st == LLAP_OK ? bind_batch(t, llap_pieces_run(t->split), 0) : st;
}

static step_in resident_inputs(llap_graph *g, const llap_residual_trainer *t)
{
    const int64_t            B = t->o.batch;
    const llap_resident_rows r = llap_resident_rows_of(g, t->rows, B, &t->o.vary);
    return (step_in){
        .tokens = r.tokens,
        .token_pad = r.token_pad,
        .entity = t->c.patches.entities > 0 ? r.entity : NULL,
        .tq = r.tq,
        .f = r.f,
        .pad = r.pad,
        .z0 = r.z0,
        .mask = r.mask,
        .eps = r.eps,
        .time = llap_input(g, "time", LLAP_SHAPE(B)),
    };
}

static llap_plan_opts plan_opts(const llap_residual_trainer *t)
{
    return (llap_plan_opts){ .backend = t->o.backend, .n_threads = t->o.n_threads, .beside = true };
}

static llap_status make_plans(llap_residual_trainer *t)
{
    llap_graph *g = NULL;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    const step_in in =
        t->rows != NULL ? resident_inputs(g, t) : step_inputs(g, &t->c, t->o.batch, t->set->h);
    llap_tensor *loss = step_loss(g, &t->c, &in);
    llap_output(g, "loss", loss);
    llap_nn_train(g, loss, &t->o.optim);
    st = llap_graph_status(g);
    if (st == LLAP_OK) st = llap_params_create(g, t->o.backend, &t->params);
    const llap_plan_opts how = plan_opts(t);
    if (st == LLAP_OK) st = t->pieces == 1 ? make_whole(t, g, &how) : make_split(t, &how);
    llap_graph_destroy(g);
    return st;
}

static llap_status start(llap_residual_trainer *t)
{
    const char *const prefix = "denoiser.";
    llap_params_init(t->params, t->o.seed);
    const llap_status st =
        t->o.unit_hours > 0
            ? llap_denoiser_init_calendar(t->params, prefix, t->o.seed, t->o.unit_hours)
            : llap_denoiser_init(t->params, prefix, t->o.seed);
    llap_params_start_ema(t->params);
    return st == LLAP_OK ? llap_params_push(t->params) : st;
}

static llap_rng epoch_rng(const void *user, int64_t epoch)
{
    const llap_residual_trainer *t = user;
    return llap_rng_make(t->o.seed, LLAP_STREAM_SHUFFLE, 0, 0, (uint32_t)epoch);
}

static llap_status place_near(llap_residual_trainer *t)
{
    const llap_backend *b = t->o.backend;
    const size_t        B = (size_t)t->o.batch;
    llap_status         st = llap_epochs_init(&t->near_order, b, (int64_t)t->set->n, 1);
    t->near_order.epoch_rng = epoch_rng;
    t->near_order.user = t;
    if (st == LLAP_OK) st = llap_near_alloc(b, 4 * B, &t->near_index);
    return st == LLAP_OK ? llap_near_alloc(b, 4 * NOW(B), &t->near_now) : st;
}

/* What is of one step, as one block. */
static llap_status place_now(llap_residual_trainer *t)
{
    const size_t B = (size_t)t->o.batch;
    t->now = llap_new_aligned(NOW(B), 4);
    t->index = llap_new(B, sizeof *t->index);
    if (t->now == NULL || t->index == NULL) return LLAP_ENOMEM;
    t->time = t->now;
    t->key = (int32_t *)(t->time + B);
    t->lr = (float *)(t->key + 4);
    t->count = t->key + 5;
    t->key[0] = (int32_t)(uint32_t)t->o.seed;
    t->key[1] = (int32_t)(uint32_t)(t->o.seed >> 32);
    return t->rows == NULL ? LLAP_OK : place_near(t);
}

static llap_status create(const llap_residual_config *c, const llap_feature_set *set,
                          const llap_residual_opts *o, bool resident, int64_t pieces,
                          llap_residual_trainer **out)
{
    llap_residual_trainer *t = llap_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    *t = (llap_residual_trainer){
        .c = *c, .o = *o, .set = set, .pieces = pieces, .epoch = -1, .ready = -1
    };
    const size_t values = (size_t)(o->batch * set->h * c->denoiser.data_dim);
    t->eps = llap_new_aligned(values, sizeof *t->eps);
    t->order = llap_new(set->n, sizeof *t->order);
    llap_status st = t->eps == NULL || t->order == NULL
                         ? LLAP_ENOMEM
                         : llap_feature_batch_create(&c->layout, o->batch, set->h, &t->batch);
    if (st == LLAP_OK && resident) st = llap_resident_create(set, o->backend, &t->rows);
    if (st == LLAP_OK) st = place_now(t);
    if (st == LLAP_OK) st = make_plans(t);
    if (st == LLAP_OK) st = llap_ahead_init(&t->ahead, o->backend);
    if (st == LLAP_OK) st = start(t);
    if (st == LLAP_OK) *out = t;
    else llap_residual_trainer_destroy(t);
    return st;
}

llap_status llap_residual_trainer_create(const llap_residual_config *c, const llap_feature_set *set,
                                         const llap_residual_opts *o, llap_residual_trainer **out)
{
    *out = NULL;
    if (set->n == 0 || o->batch < 1)
        return llap_fail(LLAP_EINVAL, "training: %zu rows, batches of %lld", set->n,
                         (long long)o->batch);
    const bool  apart = o->backend->memory != NULL;
    int64_t     pieces = 1;
    llap_status st = create(c, set, o, apart, pieces, out);
    if (st == LLAP_ENOMEM && apart) st = create(c, set, o, false, pieces, out);
    while (st == LLAP_ENOMEM && pieces < o->batch && apart) {
        for (pieces *= 2; pieces < o->batch && o->batch % pieces != 0;) pieces++;
        if (pieces > o->batch) pieces = o->batch;
        st = create(c, set, o, false, pieces, out);
    }
    return st;
}

/* Every epoch has its own order; a batch takes the next rows, over the end of an epoch too. */
static void choose_rows(llap_residual_trainer *t, int64_t step)
{
    const int64_t n = (int64_t)t->set->n;
    for (int64_t b = 0; b < t->o.batch; b++) {
        const int64_t k = step * t->o.batch + b;
        if (k / n != t->epoch) {
            t->epoch = k / n;
            const llap_rng r = epoch_rng(t, t->epoch);
            llap_rng_permute(&r, (size_t)n, t->order);
        }
        t->index[b] = t->order[k % n];
    }
}

/* Stratified over the batch. */
static void draw_times(llap_residual_trainer *t, int64_t step)
{
    const int64_t  B = t->o.batch;
    const llap_rng times = llap_rng_make(t->o.seed, LLAP_STREAM_DIFFUSE, 0, 1, (uint32_t)step);
    for (int64_t b = 0; b < B; b++) {
        const double u = (double)llap_rng_uniform(&times, (uint64_t)b);
        t->time[b] = (float)(0.003 + 0.994 * ((double)b + u) / (double)B);
    }
}

/* Normals by row. */
static void draw_noise(llap_residual_trainer *t, int64_t step)
{
    const int64_t n = t->set->h * t->c.denoiser.data_dim;
    for (int64_t b = 0; b < t->o.batch; b++) {
        const llap_rng r = llap_rng_make(t->o.seed, LLAP_STREAM_DIFFUSE,
                                         t->set->row[t->index[b]].id, 0, (uint32_t)step);
        llap_rng_fill_normal(&r, 0, (size_t)n, t->eps + b * n);
    }
}

/* Linear warm-up, then a cosine down to lr_least. */
static double rate(const llap_residual_opts *o, int64_t step)
{
    if (step < o->warmup) return o->lr * (double)(step + 1) / (double)o->warmup;
    const int64_t rest = o->steps - o->warmup > 1 ? o->steps - o->warmup : 1;
    const double  part = fmin(1.0, (double)(step - o->warmup) / (double)rest);
    return o->lr *
           (o->lr_least + (1.0 - o->lr_least) * 0.5 * (1.0 + cos(3.14159265358979323846 * part)));
}

static llap_feature_noise vary_at(const llap_residual_trainer *t, int64_t step)
{
    llap_feature_noise vary = t->o.vary;
    vary.seed = t->o.seed;
    vary.step = (uint32_t)step;
    return vary;
}

/* The batch of a step: a function of its number alone. */
static void prepare(llap_residual_trainer *t, int64_t step)
{
    const llap_feature_noise vary = vary_at(t, step);
    if (t->ready == step) return;
    choose_rows(t, step);
    llap_feature_fill(t->set, t->index, t->o.batch, &vary, t->batch);
    draw_times(t, step);
    draw_noise(t, step);
    t->ready = step;
}

/* The same where the rows and their order are near: what is of the step. */
static llap_status send(llap_residual_trainer *t, int64_t step)
{
    const int64_t B = t->o.batch;
    draw_times(t, step);
    t->key[2] = (int32_t)(uint32_t)step;
    t->ready = -1;
    const llap_status st = llap_epochs_take(&t->near_order, step * B, B, t->near_index);
    return st == LLAP_OK ? llap_near_put(t->o.backend, t->near_now, t->now, 4 * NOW((size_t)B))
                         : st;
}

/* Values of a piece's rows that count. */
static double counted(const llap_residual_trainer *t, int64_t first, int64_t rows)
{
    const int64_t each = t->set->h * t->c.denoiser.data_dim;
    double        sum = 0.0;
    for (int64_t i = first * each; i < (first + rows) * each; i++) sum += (double)t->batch->mask[i];
    return sum;
}

static llap_status put_random(llap_residual_trainer *t, int64_t step, int64_t piece)
{
    const llap_param_info *rng = llap_params_find(t->params, "rng");
    if (rng == NULL) return LLAP_OK;
    ((int32_t *)rng->data)[2] = (int32_t)step;
    ((int32_t *)rng->data)[3] = (int32_t)piece; /* which have their own dropout */
    return rng->near == rng->data
               ? LLAP_OK
               : llap_near_put(t->o.backend, rng->near, rng->data, 4 * sizeof(int32_t));
}

/* Each piece counts by its share of the values. */
static llap_status step_split(llap_residual_trainer *t, int64_t step, double *loss, double *norm)
{
    const int64_t rows = t->o.batch / t->pieces;
    const double  all = fmax(counted(t, 0, t->o.batch), 1.0);
    llap_status   st = LLAP_OK;
    for (int64_t i = 0; i < t->pieces && st == LLAP_OK; i++) {
        st = put_random(t, step, i);
        if (st == LLAP_OK) st = bind_batch(t, llap_pieces_run(t->split), i);
        if (st == LLAP_OK)
            st = llap_pieces_add(t->split, i == 0, fmax(counted(t, i * rows, rows), 1.0) / all);
    }
    return st == LLAP_OK ? llap_pieces_step(t->split, (double)*t->lr, *t->count, loss, norm) : st;
}

static llap_status put_later(llap_residual_trainer *t, int64_t step)
{
    if (t->split != NULL)
        return llap_ahead_put(&t->ahead, step, llap_pieces_loss(t->split),
                              llap_pieces_norm(t->split));
    return llap_ahead_put(&t->ahead, step, llap_run_output_near(t->run, "loss", NULL),
                          llap_run_output_near(t->run, "grad_norm", NULL));
}

llap_status llap_residual_step(llap_residual_trainer *t, int64_t step, double *loss, double *norm)
{
    const bool apart = t->o.backend->memory != NULL;
    if (t->rows == NULL) prepare(t, step);
    *t->lr = (float)rate(&t->o, step);
    *t->count = (int32_t)step + 1;
    llap_status st = t->split != NULL ? step_split(t, step, loss, norm) : put_random(t, step, 0);
    if (st == LLAP_OK && t->rows != NULL) st = send(t, step);
    if (st == LLAP_OK && t->split == NULL) st = llap_run_exec(t->run);
    if (st == LLAP_OK && loss == NULL) st = put_later(t, step);
    if (st != LLAP_OK || t->split != NULL) return st;
    /* While a GPU computes; it has its copy of this one. */
    if (apart && t->rows == NULL && step + 1 < t->o.steps) prepare(t, step + 1);
    if (loss == NULL) return LLAP_OK;
    *loss = (double)*(const float *)llap_run_output(t->run, "loss", NULL);
    *norm = (double)*(const float *)llap_run_output(t->run, "grad_norm", NULL);
    return LLAP_OK;
}

llap_status llap_residual_results(llap_residual_trainer *t, int64_t first, int64_t n, double *loss,
                                  double *norm)
{
    return llap_ahead_get(&t->ahead, first, n, loss, norm);
}

/* ---- what is not finite ---- */

static bool blame_input(const llap_residual_trainer *t, char *text, size_t size)
{
    input in[INPUTS];
    list_inputs(t, in);
    for (int i = 0; i < INPUTS; i++) {
        if (in[i].data == NULL || in[i].whole || llap_nn_finite(in[i].data, in[i].n * t->pieces))
            continue;
        snprintf(text, size, "input '%s' is not finite", in[i].name);
        return true;
    }
    return false;
}

typedef struct step_of {
    llap_residual_trainer *t;
    int64_t                step;
} step_of;

static llap_status bind_piece(void *user, llap_run *run, int64_t piece)
{
    const step_of    *s = user;
    const llap_status st = put_random(s->t, s->step, piece);
    return st == LLAP_OK ? bind_batch(s->t, run, piece) : st;
}

llap_status llap_residual_blame(llap_residual_trainer *t, int64_t step, char *text, size_t size,
                                const uint32_t **index, int64_t *n)
{
    const llap_plan_opts how = plan_opts(t);
    llap_graph          *g = NULL;
    prepare(t, step); /* the next one may be there already */
    *index = t->index;
    *n = t->o.batch;
    if (blame_input(t, text, size)) return LLAP_OK;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    const step_in in = step_inputs(g, &t->c, t->o.batch / t->pieces, t->set->h);
    st = llap_nn_blame(&(llap_blame){ .graph = g,
                                      .loss = step_loss(g, &t->c, &in),
                                      .params = t->params,
                                      .how = &how,
                                      .n_pieces = t->pieces,
                                      .bind = bind_piece,
                                      .user = &(step_of){ t, step } },
                       text, size);
    llap_graph_destroy(g);
    return st;
}
