#include "residual/residual.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "nn/epochs.h"
#include "nn/loss_trainer.h"
#include "residual/device_examples.h"

#include <assert.h>
#include <math.h>
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

static step_in device_inputs(ll_graph *g, const ll_residual_config *c, const ll_device_examples *r,
                             int64_t B, const ll_feature_noise *vary)
{
    const ll_device_examples_set in = ll_device_examples_set_of(g, r, B, vary);
    return (step_in){
        .tokens = in.tokens,
        .token_pad = in.token_pad,
        .entity = c->patches.entities > 0 ? in.entity : NULL,
        .tq = in.tq,
        .f = in.f,
        .pad = in.pad,
        .z0 = in.z0,
        .mask = in.mask,
        .eps = in.eps,
        .time = ll_input(g, "time", LL_SHAPE(B)),
    };
}

/* ---- the trainer ---- */

struct ll_residual_trainer {
    ll_residual_config    c;
    ll_residual_opts      o;
    const ll_feature_set *set;
    ll_loss_trainer      *trainer;
    ll_feature_batch     *batch;   /* a whole one, where it goes in micro-batches; */
    int64_t               whole;   /* the step that it is of; -1: none */
    double                counted; /* values of it that count */
    uint32_t             *index;   /* [B] rows of a step; */
    int64_t               chosen;  /* which; -1: none */
    uint32_t             *order;   /* [n] rows of the epoch in order of use */
    int64_t               epoch;   /* of order; -1: none yet */
    /* in device memory, or nothing */
    ll_device_examples *rows;
    ll_epochs           device_order;
    void               *device_index; /* [B] of a step */
};

void ll_residual_trainer_destroy(ll_residual_trainer *t)
{
    if (t == NULL) return;
    ll_loss_trainer_destroy(t->trainer);
    ll_feature_batch_destroy(t->batch);
    ll_free(t->index);
    ll_free(t->order);
    ll_free(t);
}

ll_params *ll_residual_trainer_params(ll_residual_trainer *t)
{
    return ll_loss_trainer_params(t->trainer);
}

int64_t ll_residual_trainer_rows(const ll_residual_trainer *t)
{
    return ll_loss_trainer_rows(t->trainer);
}

static ll_tensor *describe(ll_graph *g, void *user, const ll_loss_of *what)
{
    const ll_residual_trainer *t = user;
    assert(!what->on_device || t->rows != NULL);
    const step_in in = what->on_device ? device_inputs(g, &t->c, t->rows, what->rows, &t->o.vary)
                                       : step_inputs(g, &t->c, what->rows, t->set->h);
    ll_tensor    *loss = step_loss(g, &t->c, &in);
    ll_output(g, "loss", loss);
    return loss;
}

static llap_status start(void *user, ll_params *p)
{
    const char *const       prefix = "denoiser.";
    const ll_residual_opts *o = &((const ll_residual_trainer *)user)->o;
    ll_params_init(p, o->seed);
    const llap_status st = o->unit_hours > 0
                               ? ll_denoiser_init_calendar(p, prefix, o->seed, o->unit_hours)
                               : ll_denoiser_init(p, prefix, o->seed);
    ll_params_start_ema(p);
    return st;
}

/* ---- batches: functions of a step's number alone ---- */

static ll_rng epoch_rng(const void *user, int64_t epoch)
{
    const ll_residual_trainer *t = user;
    return ll_rng_make(t->o.seed, LL_STREAM_SHUFFLE, 0, 0, (uint32_t)epoch);
}

/* Every epoch has its own order; a batch takes the next rows, over the end of an epoch too. */
static void choose_rows(ll_residual_trainer *t, int64_t step)
{
    const int64_t n = (int64_t)t->set->n;
    assert(step >= 0 && n > 0);
    if (t->chosen == step) return;
    for (int64_t b = 0; b < t->o.batch; b++) {
        const int64_t k = step * t->o.batch + b;
        if (k / n != t->epoch) {
            t->epoch = k / n;
            const ll_rng r = epoch_rng(t, t->epoch);
            ll_rng_permute(&r, (size_t)n, t->order);
        }
        t->index[b] = t->order[k % n];
    }
    t->chosen = step;
}

/* Stratified over the batch: of its rows first .. first + n - 1. */
static void draw_times(const ll_residual_trainer *t, int64_t step, int64_t first, int64_t n,
                       float *time)
{
    const int64_t B = t->o.batch;
    const ll_rng  times = ll_rng_make(t->o.seed, LL_STREAM_DIFFUSE, 0, 1, (uint32_t)step);
    assert(first >= 0 && first + n <= B);
    for (int64_t b = first; b < first + n; b++) {
        const double u = (double)ll_rng_uniform(&times, (uint64_t)b);
        time[b - first] = (float)(0.003 + 0.994 * ((double)b + u) / (double)B);
    }
}

/* Normals by row. */
static void draw_noise(const ll_residual_trainer *t, const ll_micro_batch *b, float *eps)
{
    const int64_t n = t->set->h * t->c.denoiser.data_dim;
    for (int64_t i = 0; i < b->rows; i++) {
        const ll_rng r =
            ll_rng_make(t->o.seed, LL_STREAM_DIFFUSE, t->set->example[t->index[b->first + i]].id, 0,
                        (uint32_t)b->step);
        ll_rng_fill_normal(&r, 0, (size_t)n, eps + i * n);
    }
}

static void fill_features(const ll_residual_trainer *t, int64_t step, ll_feature_batch *b)
{
    ll_feature_noise vary = t->o.vary;
    vary.seed = t->o.seed;
    vary.step = (uint32_t)step;
    ll_feature_fill(t->set, t->index, t->o.batch, &vary, b);
}

static float *or_own(ll_session *net, const char *name, float *own)
{
    float *x = ll_session_real(net, name);
    return x != NULL ? x : own;
}

/* The batch in the inputs of the net; what it has no use for stays here. */
static ll_feature_batch batch_in(const ll_residual_trainer *t, ll_session *net)
{
    ll_feature_batch b = *t->batch;
    int32_t         *entity = ll_session_int(net, "entity");
    b.tokens = or_own(net, "tokens", b.tokens);
    b.token_pad = or_own(net, "token_pad", b.token_pad);
    b.entity = entity != NULL ? entity : b.entity;
    b.tq = or_own(net, "tq", b.tq);
    b.f = or_own(net, "f", b.f);
    b.pad = or_own(net, "pad", b.pad);
    b.z0 = or_own(net, "z0", b.z0);
    b.mask = or_own(net, "mask", b.mask);
    return b;
}

/* ---- micro-batches ---- */

static double sum_of(const float *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    return sum;
}

/* The whole batch of a step, here. */
static void fill_whole(ll_residual_trainer *t, int64_t step)
{
    const int64_t each = t->set->h * t->c.denoiser.data_dim;
    if (t->whole == step) return;
    fill_features(t, step, t->batch);
    t->counted = fmax(sum_of(t->batch->mask, t->o.batch * each), 1.0);
    t->whole = step;
}

/* Rows of the micro-batch, of an input with so many numbers a row; those behind them are zeros. */
static void copy_rows(const ll_micro_batch *b, const float *from, int64_t width, float *to)
{
    if (to == NULL) return;
    assert(b->rows <= b->room && b->first + b->rows <= b->count);
    memcpy(to, from + b->first * width, (size_t)(b->rows * width) * sizeof *to);
    memset(to + b->rows * width, 0, (size_t)((b->room - b->rows) * width) * sizeof *to);
}

/* Each counts by its share of the values. */
static void fill_micro(ll_residual_trainer *t, const ll_micro_batch *b, ll_session *net,
                       double *share)
{
    const ll_feature_batch *all = t->batch;
    const int64_t S = t->c.patches.tokens, h = t->set->h, values = h * t->c.denoiser.data_dim;
    int32_t      *entity = ll_session_int(net, "entity");
    fill_whole(t, b->step);
    copy_rows(b, all->tokens, S * t->c.patches.token_dim, ll_session_real(net, "tokens"));
    copy_rows(b, all->token_pad, S, ll_session_real(net, "token_pad"));
    copy_rows(b, all->tq, h, ll_session_real(net, "tq"));
    copy_rows(b, all->f, h * t->c.denoiser.query_features, ll_session_real(net, "f"));
    copy_rows(b, all->pad, h, ll_session_real(net, "pad"));
    copy_rows(b, all->z0, values, ll_session_real(net, "z0"));
    copy_rows(b, all->mask, values, ll_session_real(net, "mask"));
    for (int64_t i = 0; entity != NULL && i < b->rows; i++) entity[i] = all->entity[b->first + i];
    *share = fmax(sum_of(all->mask + b->first * values, b->rows * values), 1.0) / t->counted;
}

static llap_status fill(void *user, const ll_micro_batch *b, ll_session *net, double *share)
{
    ll_residual_trainer *t = user;
    choose_rows(t, b->step);
    assert(ll_session_real(net, "time") != NULL && ll_session_real(net, "eps") != NULL);
    if (b->rows < t->o.batch) {
        fill_micro(t, b, net, share);
    } else {
        ll_feature_batch in = batch_in(t, net);
        fill_features(t, b->step, &in);
    }
    draw_times(t, b->step, b->first, b->rows, ll_session_real(net, "time"));
    draw_noise(t, b, ll_session_real(net, "eps"));
    return LLAP_OK;
}

/* ---- rows in device memory ---- */

static void leave(void *user)
{
    ll_residual_trainer *t = user;
    ll_device_examples_destroy(t->rows);
    ll_epochs_deinit(&t->device_order);
    ll_device_release(t->o.backend, t->device_index);
    t->rows = NULL;
    t->device_index = NULL;
}

static llap_status move(void *user, ll_loss_trainer *trainer)
{
    (void)trainer;
    ll_residual_trainer *t = user;
    const ll_backend    *b = t->o.backend;
    llap_status          st = ll_device_examples_create(t->set, b, &t->rows);
    if (st == LLAP_OK) st = ll_epochs_init(&t->device_order, b, (int64_t)t->set->n, 1);
    t->device_order.epoch_rng = epoch_rng;
    t->device_order.user = t;
    return st == LLAP_OK ? ll_device_alloc(b, 4 * (size_t)t->o.batch, &t->device_index) : st;
}

static llap_status place(void *user, bool training, ll_session *net)
{
    const ll_residual_trainer *t = user;
    (void)training; /* there is no other net */
    assert(t->rows != NULL && t->device_index != NULL);
    const llap_status st = ll_device_examples_place(t->rows, net);
    return st == LLAP_OK ? ll_session_place(net, LL_SESSION_ROWS "index", t->device_index) : st;
}

static llap_status take(void *user, int64_t step, ll_session *net)
{
    ll_residual_trainer *t = user;
    const int64_t        B = t->o.batch;
    int32_t             *key = ll_session_int(net, "key");
    assert(key != NULL && t->device_index != NULL);
    key[0] = (int32_t)(uint32_t)t->o.seed;
    key[1] = (int32_t)(uint32_t)(t->o.seed >> 32);
    key[2] = (int32_t)(uint32_t)step;
    draw_times(t, step, 0, B, ll_session_real(net, "time"));
    return ll_epochs_take(&t->device_order, step * B, B, t->device_index);
}

/* ---- the interface ---- */

llap_status ll_residual_trainer_create(const ll_residual_config *c, const ll_feature_set *set,
                                       const ll_residual_opts *o, ll_residual_trainer **out)
{
    *out = NULL;
    if (set->n == 0 || o->batch < 1)
        return ll_fail(LLAP_EINVAL, "training: %zu rows, batches of %lld", set->n,
                       (long long)o->batch);
    ll_residual_trainer *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    *t = (ll_residual_trainer){
        .c = *c, .o = *o, .set = set, .whole = -1, .chosen = -1, .epoch = -1
    };
    const ll_loss_trainer_opts how = { .backend = o->backend,
                                       .n_threads = o->n_threads,
                                       .optim = o->optim,
                                       .batch = o->batch,
                                       .micro_batches = o->micro_batches,
                                       .ranks = o->ranks,
                                       .user = t,
                                       .describe = describe,
                                       .start = start,
                                       .fill = fill,
                                       .move = move,
                                       .leave = leave,
                                       .place = place,
                                       .take = take };
    t->index = ll_new((size_t)o->batch, sizeof *t->index);
    t->order = ll_new(set->n, sizeof *t->order);
    llap_status st = t->index == NULL || t->order == NULL
                         ? LLAP_ENOMEM
                         : ll_feature_batch_create(&c->layout, o->batch, set->h, &t->batch);
    if (st == LLAP_OK) st = ll_loss_trainer_create(&how, &t->trainer);
    if (st == LLAP_OK) *out = t;
    else ll_residual_trainer_destroy(t);
    return st;
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

llap_status ll_residual_step(ll_residual_trainer *t, int64_t step, double *loss, double *norm)
{
    return ll_loss_trainer_step(t->trainer, step, rate(&t->o, step), loss, norm);
}

llap_status ll_residual_results(ll_residual_trainer *t, int64_t first, int64_t n, double *loss,
                                double *norm)
{
    return ll_loss_trainer_results(t->trainer, first, n, loss, norm);
}

llap_status ll_residual_find_non_finite(ll_residual_trainer *t, int64_t step, char *text,
                                        size_t size, const uint32_t **index, int64_t *n)
{
    const llap_status st = ll_loss_trainer_find_non_finite(t->trainer, step, text, size);
    choose_rows(t, step); /* the next one may be there already */
    *index = t->index;
    *n = t->o.batch;
    return st;
}
