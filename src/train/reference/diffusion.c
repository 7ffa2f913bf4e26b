/* Stage 3: latents and summaries of the frozen networks (encode.h), then the denoiser,
 * docs/spec/protocol.md 5.3-5.5. */
#include "train/reference/diffusion.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "predict/view/frame.h"
#include "ranks/ranks.h"
#include "train/reference/reference.h"
#include "train/run/config.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <assert.h>

/* -------- batches -------- */

ll_rng diffusion_epoch_rng(const void *stage, int64_t epoch)
{
    const diffusion_stage *s = stage;
    return ll_rng_make(s->r->seed, LL_STREAM_SHUFFLE, 3, 0, (uint32_t)epoch);
}

/* Batches of neighbouring examples: in order of time, or in a new order each epoch. */
static int64_t batch_at(diffusion_stage *s, int64_t number)
{
    const int64_t place = number % s->n_batches, epoch = number / s->n_batches;
    if (!s->r->recipe.data.shuffle) return place;
    if (s->epoch != epoch) {
        const ll_rng g = diffusion_epoch_rng(s, epoch);
        ll_rng_permute(&g, (size_t)s->n_batches, s->order);
        s->epoch = epoch;
    }
    return s->order[place];
}

void diffusion_find_batch(diffusion_stage *s, int64_t number, int64_t *first, int64_t *count)
{
    *first = batch_at(s, number) * s->B;
    *count = s->rows.n - *first < s->B ? s->rows.n - *first : s->B;
    assert(*first >= 0 && *count > 0);
}

/* The last one in time may have fewer rows, and what comes last in ll_rng_permute goes where its
 * own draw says. */
int64_t diffusion_count(void *stage, int64_t number)
{
    const diffusion_stage *s = stage;
    const int64_t          n = s->n_batches, place = number % n;
    const ll_rng           g = diffusion_epoch_rng(s, number / n);
    const int64_t          last =
        s->r->recipe.data.shuffle ? (int64_t)ll_rng_below(&g, (uint64_t)n - 1, (uint64_t)n) : n - 1;
    return place == last ? s->rows.n - (n - 1) * s->B : s->B;
}

/* -------- the stage -------- */

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    diffusion_stage *s = user;
    s->lr_now = ll_lr_at(&s->lr, number);
    return ll_loss_trainer_step(s->trainer, number, s->lr_now, loss, norm);
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return ll_loss_trainer_results(((diffusion_stage *)user)->trainer, first, n, loss, norm);
}

/* Error of the prediction on validation, every row with its condition, its own step and noise:
 * always the same. */
static llap_status evaluate_once(diffusion_stage *s, double *score)
{
    const ll_ranks *r = s->r->backend->memory == NULL ? ll_ranks_joined() : NULL;
    const int64_t   at_once = ll_loss_trainer_rows(s->trainer),
                  parts = (s->val.n + at_once - 1) / at_once;
    double     *sum = ll_new((size_t)parts, sizeof *sum); /* of each; ranks share them out */
    llap_status st = sum == NULL ? LLAP_ENOMEM : LLAP_OK;
    int64_t     first, end;
    assert(s->val.n > 0);
    ll_ranks_part(r, parts, &first, &end);
    for (int64_t k = first; k < end && st == LLAP_OK; k++) {
        const int64_t at = k * at_once, left = s->val.n - at,
                      count = left < at_once ? left : at_once;
        ll_session *net = NULL;
        st = ll_loss_trainer_check_net(s->trainer, count, &net);
        if (st == LLAP_OK) st = diffusion_fill_check(s, at, count, net);
        if (st == LLAP_OK) st = ll_session_run(net);
        if (st == LLAP_OK) sum[k] = (double)count * ll_session_number(net, "loss");
    }
    if (st == LLAP_OK) st = ll_ranks_spread(r, sum, parts, sizeof *sum);
    *score = 0;
    for (int64_t k = 0; k < parts && st == LLAP_OK; k++) *score += sum[k];
    *score /= (double)s->val.n;
    ll_free(sum);
    return st;
}

static llap_status evaluate(void *user, int64_t done, double *score)
{
    diffusion_stage *s = user;
    llap_status      st;
    (void)done;
    do st = evaluate_once(s, score);
    while (st == LLAP_ENOMEM && ll_loss_trainer_save_memory(s->trainer) == LLAP_OK);
    return st;
}

static void fields(void *user, ll_json_writer *w)
{
    ll_json_put_double(w, "lr", ((diffusion_stage *)user)->lr_now);
}

static llap_status find_non_finite(void *user, int64_t number, char *text, size_t size)
{
    diffusion_stage  *s = user;
    int64_t           first, count;
    const llap_status st = ll_loss_trainer_find_non_finite(s->trainer, number, text, size);
    diffusion_find_batch(s, number, &first, &count);
    ll_frame_name_windows(&s->r->frame, s->rows.end + first, count, text, size);
    return st;
}

/* The parameters as training begins with them. */
static llap_status start(void *user, ll_params *p)
{
    const ll_reference *r = ((const diffusion_stage *)user)->r;
    ll_params_init(p, r->seed);
    const llap_status st = ll_denoiser_init(p, "denoiser.", r->seed);
    if (st != LLAP_OK) return st;
    ll_reference_start(r, p);
    ll_params_start_ema(p);
    return LLAP_OK;
}

static void say_split(void *user, int64_t rows)
{
    const diffusion_stage *s = user;
    ll_stage_in_micro_batches(s->r->o->log, "denoiser", s->r->backend, s->B, rows);
}

static llap_status make_trainer(diffusion_stage *s)
{
    const ll_reference        *r = s->r;
    const ll_loss_trainer_opts o = { .backend = r->backend,
                                     .n_threads = r->n_threads,
                                     .optim = r->recipe.denoiser.stage.optim,
                                     .batch = s->B,
                                     .micro_batches = r->o->micro_batches,
                                     .ranks = ll_ranks_joined(),
                                     .user = s,
                                     .describe = diffusion_describe,
                                     .start = start,
                                     .count = diffusion_count,
                                     .fill = diffusion_fill,
                                     .split = say_split,
                                     .move = diffusion_move,
                                     .leave = diffusion_leave,
                                     .place = diffusion_place,
                                     .take = diffusion_take };
    return ll_loss_trainer_create(&o, &s->trainer);
}

/* -------- latents and summaries -------- */

static llap_status prepare(diffusion_stage *s)
{
    const ll_reference *r = s->r;
    const int64_t       val = ll_reference_val_batches(r) * r->B;
    const int64_t       needed = s->lr.total * r->groups; /* more rows are never seen */
    const int64_t       rows = r->recipe.denoiser.rows;
    const int64_t       most = needed < rows ? needed : rows;
    llap_status         st = ll_encode(r, r->train, most, "latents", &s->rows);
    if (st == LLAP_OK) st = ll_encode(r, r->val, val, "latents of validation", &s->val);
    if (st == LLAP_OK) st = ll_encoded_normalise(r, &s->rows, &s->val);
    if (st == LLAP_OK) st = ll_encoded_statistics(r, &s->rows, &s->mean, &s->deviation);
    if (st != LLAP_OK) return st;
    assert(s->rows.n > 0 && s->rows.h == s->val.h && s->rows.Z == s->val.Z);
    s->B = r->groups < s->rows.n ? r->groups : s->rows.n;
    st = ll_train_micro_batches(r->o, s->B);
    if (st != LLAP_OK) return st;
    s->n_batches = (s->rows.n + s->B - 1) / s->B;
    s->order = ll_new((size_t)s->n_batches, sizeof *s->order);
    s->t = ll_new((size_t)s->B, sizeof *s->t);
    s->flag = ll_new(2 * (size_t)s->B, sizeof *s->flag);
    if (s->order == NULL || s->t == NULL || s->flag == NULL) return LLAP_ENOMEM;
    s->weight = s->flag + s->B;
    return make_trainer(s);
}

static llap_status hand_over(diffusion_stage *s)
{
    static const char *const part[] = { "denoiser.model.", "denoiser.time_embed.",
                                        "ema.denoiser.model.", "ema.denoiser.time_embed." };
    llap_status              st = LLAP_OK;
    for (int i = 0; i < (s->r->network->config.options.ema ? 4 : 2) && st == LLAP_OK; i++)
        st = ll_params_take(s->r->network->params, part[i], ll_loss_trainer_params(s->trainer),
                            part[i]);
    return st;
}

llap_status ll_reference_diffusion(ll_reference *r, ll_training_run *t)
{
    const ll_network_config  *c = &r->network->config;
    const ll_recipe_denoiser *d = &r->recipe.denoiser;
    diffusion_stage           s = { .r = r,
                                    .S = c->summarizer.tokens,
                                    .H = c->summarizer.width,
                                    .Z = c->denoiser.data_dim,
                                    .epoch = -1,
                                    .whole = -1,
                                    .lr = { .kind = LL_LR_WARMUP_CONSTANT,
                                            .base = d->stage.lr,
                                            .min = d->lr_first * d->stage.lr,
                                            .warmup = d->warmup,
                                            .total = d->stage.steps } };
    ll_stage                  stage = ll_stage_of(&d->stage);
    llap_status               st = prepare(&s);
    stage.name = "denoiser";
    stage.rounds = 1;
    stage.compare = "it may end sooner; fewer `steps` take less";
    if (st == LLAP_OK) stage.params = ll_loss_trainer_params(s.trainer);
    stage.user = &s;
    stage.step = step;
    if (r->backend->memory != NULL) stage.results = results;
    stage.evaluate = evaluate;
    stage.fields = fields;
    stage.find_non_finite = find_non_finite;
    if (st == LLAP_OK) st = ll_training_run_stage(t, &stage, NULL);
    if (st == LLAP_OK) st = hand_over(&s);
    ll_loss_trainer_destroy(s.trainer);
    ll_scratch_deinit(&s.rows.block);
    ll_scratch_deinit(&s.val.block);
    ll_free(s.order);
    ll_free(s.t);
    ll_free(s.flag);
    return st;
}
