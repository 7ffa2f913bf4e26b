#include "residual/residual.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "nn/epochs.h"
#include "nn/micro_batches.h"
#include "nn/non_finite.h"
#include "residual/device_examples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the graph of a training step ---- */

typedef struct step_in {
    ll_tensor *tokens, *token_pad, *entity, *tq, *f, *pad, *z0, *mask, *eps, *time;
} step_in;

static step_in step_inputs(ll_graph *g, const ll_residual_config *c, int64_t B, int64_t h)
{
    const int64_t S = c->patches.tokens, Z = c->denoiser.data_dim;
    return (step_in){
        .tokens = ll_input(g, "tokens", LL_SHAPE(B, S, c->patches.token_dim)),
        .token_pad = ll_input(g, "token_pad", LL_SHAPE(B, S)),
        .entity = c->patches.entities > 0 ? ll_input_int(g, "entity", LL_SHAPE(B)) : NULL,
        .tq = ll_input(g, "tq", LL_SHAPE(B, h)),
        .f = ll_input(g, "f", LL_SHAPE(B, h, c->denoiser.query_features)),
        .pad = ll_input(g, "pad", LL_SHAPE(B, h)),
        .z0 = ll_input(g, "z0", LL_SHAPE(B, h, Z)),
        .mask = ll_input(g, "mask", LL_SHAPE(B, h, Z)),
        .eps = ll_input(g, "eps", LL_SHAPE(B, h, Z)),
        .time = ll_input(g, "time", LL_SHAPE(B)),
    };
}

static ll_tensor *summary(ll_graph *g, const ll_residual_config *c, ll_tensor *tokens,
                          ll_tensor *pad, ll_tensor *entity, bool training)
{
    ll_scope_push(g, "summarizer");
    ll_tensor *E = ll_patch_summary(
        g, &c->patches,
        &(ll_patch_in){ .tokens = tokens, .pad = pad, .entity = entity, .training = training });
    ll_scope_pop(g);
    return E;
}

/* Plain masked mean square of v = a eps - s z0, over all values of the batch. */
static ll_tensor *step_loss(ll_graph *g, const ll_residual_config *c, const step_in *in)
{
    ll_tensor *angle = ll_scale(g, in->time, 1.57079632679489661923);
    angle = ll_unsqueeze(g, ll_unsqueeze(g, angle, -1), -1);
    ll_tensor *a = ll_cos(g, angle), *s = ll_sin(g, angle);
    ll_tensor *z = ll_add(g, ll_mul(g, a, in->z0), ll_mul(g, s, in->eps));
    ll_tensor *v = ll_sub(g, ll_mul(g, a, in->eps), ll_mul(g, s, in->z0));

    ll_denoiser_in d = { .z = z,
                         .time = in->time,
                         .tq = in->tq,
                         .f = in->f,
                         .pad = in->pad,
                         .E = summary(g, c, in->tokens, in->token_pad, in->entity, true),
                         .E_pad = in->token_pad,
                         .training = true };
    ll_scope_push(g, "denoiser");
    ll_tensor *prediction = ll_denoiser(g, &c->denoiser, &d);
    ll_scope_pop(g);
    return ll_nn_masked_mse(g, prediction, v, in->mask, LL_ALL_AXES);
}

/* ---- the trainer ---- */

#define NOW(B) ((B) + 6) /* numbers of one step */

struct ll_residual_trainer {
    ll_residual_config    c;
    ll_residual_opts      o;
    const ll_feature_set *set;
    ll_params            *params;
    ll_plan              *plan;
    ll_run               *run;
    int64_t           micro_batches; /* that the batch goes in; 1: plan and run are of the whole */
    ll_micro_batches *split;
    ll_feature_batch *batch;
    float            *eps;   /* [B,h,Z] */
    uint32_t         *order; /* [n] rows of the epoch in order of use */
    int64_t           epoch; /* of order; -1: none yet */
    int64_t           ready; /* the step whose batch is there; -1: none */
    ll_async_results  results;
    ll_device_examples *rows; /* the set in device memory; NULL: batches are made here and copied */
    void               *now;  /* what is of one step, all numbers below one after another; */
    void               *device_now;   /* its copy beside the rows */
    ll_epochs           device_order; /* of the rows, beside them */
    void               *device_index; /* [B] of a step */
    uint32_t           *index;        /* [B], where batches are made here */
    float              *time;         /* [B] */
    int32_t            *key;          /* [4] */
    float              *lr;
    int32_t            *count;
};

void ll_residual_trainer_destroy(ll_residual_trainer *t)
{
    if (t == NULL) return;
    ll_micro_batches_destroy(t->split);
    ll_run_destroy(t->run);
    ll_plan_release(t->plan);
    ll_params_destroy(t->params);
    ll_async_results_deinit(&t->results);
    ll_feature_batch_destroy(t->batch);
    ll_device_examples_destroy(t->rows);
    ll_epochs_deinit(&t->device_order);
    ll_device_release(t->o.backend, t->device_index);
    ll_device_release(t->o.backend, t->device_now);
    ll_free(t->now);
    ll_free(t->index);
    ll_free(t->eps);
    ll_free(t->order);
    ll_free(t);
}

ll_params *ll_residual_trainer_params(ll_residual_trainer *t) { return t->params; }
int64_t ll_residual_trainer_micro_batches(const ll_residual_trainer *t) { return t->micro_batches; }

enum { INPUTS = 10 };
typedef struct input {
    const char *name;
    void       *data;  /* of four bytes each; NULL: there is none */
    int64_t     n;     /* of a micro-batch */
    bool        whole; /* numbers, not reals */
} input;

static void list_inputs(const ll_residual_trainer *t, input *out)
{
    const ll_residual_config *c = &t->c;
    const ll_feature_batch   *b = t->batch;
    const int64_t             B = b->B / t->micro_batches, h = b->h, S = c->patches.tokens,
                  Z = c->denoiser.data_dim;
    const input all[INPUTS] = {
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

/* Piece number `micro-batch` of the batch. */
static llap_status bind_batch(const ll_residual_trainer *t, ll_run *run, int64_t micro_batch)
{
    input in[INPUTS];
    list_inputs(t, in);
    for (int i = 0; i < INPUTS; i++) {
        if (in[i].data == NULL) continue;
        char             *at = (char *)in[i].data + 4 * micro_batch * in[i].n;
        const llap_status st = ll_run_bind(run, in[i].name, at, in[i].n);
        if (st != LLAP_OK && st != LLAP_ENOTFOUND) return st;
    }
    return LLAP_OK;
}

/* The rows, and what is of one step. */
static llap_status bind_resident(const ll_residual_trainer *t)
{
    const int64_t B = t->o.batch;
    const struct {
        const char *name;
        const void *at;
        int64_t     n;
    } part[] = {
        { "time", t->time, B }, { "key", t->key, 4 }, { "lr", t->lr, 1 }, { "step", t->count, 1 }
    };
    llap_status st = ll_device_examples_bind(t->rows, t->run);
    if (st == LLAP_OK) st = ll_run_bind_device(t->run, "index", t->device_index, B);
    for (size_t i = 0; i < sizeof part / sizeof *part && st == LLAP_OK; i++) {
        char *device_data =
            (char *)t->device_now + ((const char *)part[i].at - (const char *)t->now);
        st = ll_run_bind_device(t->run, part[i].name, device_data, part[i].n);
        if (st == LLAP_ENOTFOUND) st = LLAP_OK;
    }
    return st;
}

/* The plan of the whole batch, bound. */
static llap_status make_whole(ll_residual_trainer *t, const ll_graph *g, const ll_plan_opts *how)
{
    llap_status st = ll_plan_create(g, how, &t->plan);
    if (st == LLAP_OK) st = ll_run_create(t->plan, &t->run);
    if (st == LLAP_OK) st = ll_params_bind(t->params, LL_PARAMS_MODEL, t->plan, t->run);
    if (st == LLAP_OK && t->rows != NULL) return bind_resident(t);
    if (st == LLAP_OK) st = bind_batch(t, t->run, 0);
    if (st == LLAP_OK) st = ll_run_bind(t->run, "lr", t->lr, 1);
    return st == LLAP_OK ? ll_run_bind(t->run, "step", t->count, 1) : st;
}

static llap_status make_split(ll_residual_trainer *t, const ll_plan_opts *how)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    const step_in in = step_inputs(g, &t->c, t->o.batch / t->micro_batches, t->set->h);
    st = ll_micro_batches_create(g, step_loss(g, &t->c, &in), &t->o.optim, t->params, how,
                                 &t->split);
    ll_graph_destroy(g);
    return st == LLAP_OK ? bind_batch(t, ll_micro_batches_run(t->split), 0) : st;
}

static step_in device_inputs(ll_graph *g, const ll_residual_trainer *t)
{
    const int64_t                B = t->o.batch;
    const ll_device_examples_set r = ll_device_examples_set_of(g, t->rows, B, &t->o.vary);
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
        .time = ll_input(g, "time", LL_SHAPE(B)),
    };
}

static ll_plan_opts plan_opts(const ll_residual_trainer *t)
{
    return (ll_plan_opts){ .backend = t->o.backend, .n_threads = t->o.n_threads, .beside = true };
}

static llap_status make_plans(ll_residual_trainer *t)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    const step_in in =
        t->rows != NULL ? device_inputs(g, t) : step_inputs(g, &t->c, t->o.batch, t->set->h);
    ll_tensor *loss = step_loss(g, &t->c, &in);
    ll_output(g, "loss", loss);
    ll_nn_train(g, loss, &t->o.optim);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_params_create(g, t->o.backend, &t->params);
    const ll_plan_opts how = plan_opts(t);
    if (st == LLAP_OK) st = t->micro_batches == 1 ? make_whole(t, g, &how) : make_split(t, &how);
    ll_graph_destroy(g);
    return st;
}

static llap_status start(ll_residual_trainer *t)
{
    const char *const prefix = "denoiser.";
    ll_params_init(t->params, t->o.seed);
    const llap_status st =
        t->o.unit_hours > 0
            ? ll_denoiser_init_calendar(t->params, prefix, t->o.seed, t->o.unit_hours)
            : ll_denoiser_init(t->params, prefix, t->o.seed);
    ll_params_start_ema(t->params);
    return st == LLAP_OK ? ll_params_push(t->params) : st;
}

static ll_rng epoch_rng(const void *user, int64_t epoch)
{
    const ll_residual_trainer *t = user;
    return ll_rng_make(t->o.seed, LL_STREAM_SHUFFLE, 0, 0, (uint32_t)epoch);
}

static llap_status place_device(ll_residual_trainer *t)
{
    const ll_backend *b = t->o.backend;
    const size_t      B = (size_t)t->o.batch;
    llap_status       st = ll_epochs_init(&t->device_order, b, (int64_t)t->set->n, 1);
    t->device_order.epoch_rng = epoch_rng;
    t->device_order.user = t;
    if (st == LLAP_OK) st = ll_device_alloc(b, 4 * B, &t->device_index);
    return st == LLAP_OK ? ll_device_alloc(b, 4 * NOW(B), &t->device_now) : st;
}

/* What is of one step, as one block. */
static llap_status place_now(ll_residual_trainer *t)
{
    const size_t B = (size_t)t->o.batch;
    t->now = ll_new_aligned(NOW(B), 4);
    t->index = ll_new(B, sizeof *t->index);
    if (t->now == NULL || t->index == NULL) return LLAP_ENOMEM;
    t->time = t->now;
    t->key = (int32_t *)(t->time + B);
    t->lr = (float *)(t->key + 4);
    t->count = t->key + 5;
    t->key[0] = (int32_t)(uint32_t)t->o.seed;
    t->key[1] = (int32_t)(uint32_t)(t->o.seed >> 32);
    return t->rows == NULL ? LLAP_OK : place_device(t);
}

static llap_status create(const ll_residual_config *c, const ll_feature_set *set,
                          const ll_residual_opts *o, bool on_device, int64_t micro_batches,
                          ll_residual_trainer **out)
{
    ll_residual_trainer *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    *t = (ll_residual_trainer){
        .c = *c, .o = *o, .set = set, .micro_batches = micro_batches, .epoch = -1, .ready = -1
    };
    const size_t values = (size_t)(o->batch * set->h * c->denoiser.data_dim);
    t->eps = ll_new_aligned(values, sizeof *t->eps);
    t->order = ll_new(set->n, sizeof *t->order);
    llap_status st = t->eps == NULL || t->order == NULL
                         ? LLAP_ENOMEM
                         : ll_feature_batch_create(&c->layout, o->batch, set->h, &t->batch);
    if (st == LLAP_OK && on_device) st = ll_device_examples_create(set, o->backend, &t->rows);
    if (st == LLAP_OK) st = place_now(t);
    if (st == LLAP_OK) st = make_plans(t);
    if (st == LLAP_OK) st = ll_async_results_init(&t->results, o->backend);
    if (st == LLAP_OK) st = start(t);
    if (st == LLAP_OK) *out = t;
    else ll_residual_trainer_destroy(t);
    return st;
}

llap_status ll_residual_trainer_create(const ll_residual_config *c, const ll_feature_set *set,
                                       const ll_residual_opts *o, ll_residual_trainer **out)
{
    *out = NULL;
    if (set->n == 0 || o->batch < 1)
        return ll_fail(LLAP_EINVAL, "training: %zu rows, batches of %lld", set->n,
                       (long long)o->batch);
    const bool  apart = o->backend->memory != NULL;
    int64_t     micro_batches = 1;
    llap_status st = create(c, set, o, apart, micro_batches, out);
    if (st == LLAP_ENOMEM && apart) st = create(c, set, o, false, micro_batches, out);
    while (st == LLAP_ENOMEM && micro_batches < o->batch && apart) {
        for (micro_batches *= 2; micro_batches < o->batch && o->batch % micro_batches != 0;)
            micro_batches++;
        if (micro_batches > o->batch) micro_batches = o->batch;
        st = create(c, set, o, false, micro_batches, out);
    }
    return st;
}

/* Every epoch has its own order; a batch takes the next rows, over the end of an epoch too. */
static void choose_rows(ll_residual_trainer *t, int64_t step)
{
    const int64_t n = (int64_t)t->set->n;
    for (int64_t b = 0; b < t->o.batch; b++) {
        const int64_t k = step * t->o.batch + b;
        if (k / n != t->epoch) {
            t->epoch = k / n;
            const ll_rng r = epoch_rng(t, t->epoch);
            ll_rng_permute(&r, (size_t)n, t->order);
        }
        t->index[b] = t->order[k % n];
    }
}

/* Stratified over the batch. */
static void draw_times(ll_residual_trainer *t, int64_t step)
{
    const int64_t B = t->o.batch;
    const ll_rng  times = ll_rng_make(t->o.seed, LL_STREAM_DIFFUSE, 0, 1, (uint32_t)step);
    for (int64_t b = 0; b < B; b++) {
        const double u = (double)ll_rng_uniform(&times, (uint64_t)b);
        t->time[b] = (float)(0.003 + 0.994 * ((double)b + u) / (double)B);
    }
}

/* Normals by row. */
static void draw_noise(ll_residual_trainer *t, int64_t step)
{
    const int64_t n = t->set->h * t->c.denoiser.data_dim;
    for (int64_t b = 0; b < t->o.batch; b++) {
        const ll_rng r = ll_rng_make(t->o.seed, LL_STREAM_DIFFUSE, t->set->row[t->index[b]].id, 0,
                                     (uint32_t)step);
        ll_rng_fill_normal(&r, 0, (size_t)n, t->eps + b * n);
    }
}

/* Linear warm-up, then a cosine down to lr_least. */
static double rate(const ll_residual_opts *o, int64_t step)
{
    if (step < o->warmup) return o->lr * (double)(step + 1) / (double)o->warmup;
    const int64_t rest = o->steps - o->warmup > 1 ? o->steps - o->warmup : 1;
    const double  part = fmin(1.0, (double)(step - o->warmup) / (double)rest);
    return o->lr *
           (o->lr_least + (1.0 - o->lr_least) * 0.5 * (1.0 + cos(3.14159265358979323846 * part)));
}

static ll_feature_noise vary_at(const ll_residual_trainer *t, int64_t step)
{
    ll_feature_noise vary = t->o.vary;
    vary.seed = t->o.seed;
    vary.step = (uint32_t)step;
    return vary;
}

/* The batch of a step: a function of its number alone. */
static void prepare(ll_residual_trainer *t, int64_t step)
{
    const ll_feature_noise vary = vary_at(t, step);
    if (t->ready == step) return;
    choose_rows(t, step);
    ll_feature_fill(t->set, t->index, t->o.batch, &vary, t->batch);
    draw_times(t, step);
    draw_noise(t, step);
    t->ready = step;
}

/* The same where the rows and their order are in device memory: what is of the step. */
static llap_status send(ll_residual_trainer *t, int64_t step)
{
    const int64_t B = t->o.batch;
    draw_times(t, step);
    t->key[2] = (int32_t)(uint32_t)step;
    t->ready = -1;
    const llap_status st = ll_epochs_take(&t->device_order, step * B, B, t->device_index);
    return st == LLAP_OK ? ll_device_put(t->o.backend, t->device_now, t->now, 4 * NOW((size_t)B))
                         : st;
}

/* Values of a micro-batch's rows that count. */
static double counted(const ll_residual_trainer *t, int64_t first, int64_t rows)
{
    const int64_t each = t->set->h * t->c.denoiser.data_dim;
    double        sum = 0.0;
    for (int64_t i = first * each; i < (first + rows) * each; i++) sum += (double)t->batch->mask[i];
    return sum;
}

static llap_status put_random(ll_residual_trainer *t, int64_t step, int64_t micro_batch)
{
    const ll_param_info *rng = ll_params_find(t->params, "rng");
    if (rng == NULL) return LLAP_OK;
    ((int32_t *)rng->data)[2] = (int32_t)step;
    ((int32_t *)rng->data)[3] = (int32_t)micro_batch; /* which have their own dropout */
    return rng->device_data == rng->data
               ? LLAP_OK
               : ll_device_put(t->o.backend, rng->device_data, rng->data, 4 * sizeof(int32_t));
}

/* Each micro-batch counts by its share of the values. */
static llap_status step_split(ll_residual_trainer *t, int64_t step, double *loss, double *norm)
{
    const int64_t rows = t->o.batch / t->micro_batches;
    const double  all = fmax(counted(t, 0, t->o.batch), 1.0);
    llap_status   st = LLAP_OK;
    for (int64_t i = 0; i < t->micro_batches && st == LLAP_OK; i++) {
        st = put_random(t, step, i);
        if (st == LLAP_OK) st = bind_batch(t, ll_micro_batches_run(t->split), i);
        if (st == LLAP_OK)
            st =
                ll_micro_batches_add(t->split, i == 0, fmax(counted(t, i * rows, rows), 1.0) / all);
    }
    return st == LLAP_OK ? ll_micro_batches_step(t->split, (double)*t->lr, *t->count, loss, norm)
                         : st;
}

static llap_status put_later(ll_residual_trainer *t, int64_t step)
{
    if (t->split != NULL)
        return ll_async_results_put(&t->results, step, ll_micro_batches_loss(t->split),
                                    ll_micro_batches_norm(t->split));
    return ll_async_results_put(&t->results, step, ll_run_output_device(t->run, "loss", NULL),
                                ll_run_output_device(t->run, "grad_norm", NULL));
}

llap_status ll_residual_step(ll_residual_trainer *t, int64_t step, double *loss, double *norm)
{
    const bool apart = t->o.backend->memory != NULL;
    if (t->rows == NULL) prepare(t, step);
    *t->lr = (float)rate(&t->o, step);
    *t->count = (int32_t)step + 1;
    llap_status st = t->split != NULL ? step_split(t, step, loss, norm) : put_random(t, step, 0);
    if (st == LLAP_OK && t->rows != NULL) st = send(t, step);
    if (st == LLAP_OK && t->split == NULL) st = ll_run_exec(t->run);
    if (st == LLAP_OK && loss == NULL) st = put_later(t, step);
    if (st != LLAP_OK || t->split != NULL) return st;
    /* While a GPU computes; it has its copy of this one. */
    if (apart && t->rows == NULL && step + 1 < t->o.steps) prepare(t, step + 1);
    if (loss == NULL) return LLAP_OK;
    *loss = (double)*(const float *)ll_run_output(t->run, "loss", NULL);
    *norm = (double)*(const float *)ll_run_output(t->run, "grad_norm", NULL);
    return LLAP_OK;
}

llap_status ll_residual_results(ll_residual_trainer *t, int64_t first, int64_t n, double *loss,
                                double *norm)
{
    return ll_async_results_get(&t->results, first, n, loss, norm);
}

/* ---- what is not finite ---- */

static bool non_finite_input(const ll_residual_trainer *t, char *text, size_t size)
{
    input in[INPUTS];
    list_inputs(t, in);
    for (int i = 0; i < INPUTS; i++) {
        if (in[i].data == NULL || in[i].whole ||
            ll_nn_finite(in[i].data, in[i].n * t->micro_batches))
            continue;
        snprintf(text, size, "input '%s' is not finite", in[i].name);
        return true;
    }
    return false;
}

typedef struct step_of {
    ll_residual_trainer *t;
    int64_t              step;
} step_of;

static llap_status bind_micro_batch(void *user, ll_run *run, int64_t micro_batch)
{
    const step_of    *s = user;
    const llap_status st = put_random(s->t, s->step, micro_batch);
    return st == LLAP_OK ? bind_batch(s->t, run, micro_batch) : st;
}

llap_status ll_residual_find_non_finite(ll_residual_trainer *t, int64_t step, char *text,
                                        size_t size, const uint32_t **index, int64_t *n)
{
    const ll_plan_opts how = plan_opts(t);
    ll_graph          *g = NULL;
    prepare(t, step); /* the next one may be there already */
    *index = t->index;
    *n = t->o.batch;
    if (non_finite_input(t, text, size)) return LLAP_OK;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    const step_in in = step_inputs(g, &t->c, t->o.batch / t->micro_batches, t->set->h);
    st = ll_nn_find_non_finite(&(ll_non_finite){ .graph = g,
                                                 .loss = step_loss(g, &t->c, &in),
                                                 .params = t->params,
                                                 .how = &how,
                                                 .n_micro_batches = t->micro_batches,
                                                 .bind = bind_micro_batch,
                                                 .user = &(step_of){ t, step } },
                               text, size);
    ll_graph_destroy(g);
    return st;
}
