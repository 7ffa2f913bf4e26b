/* Stage 3: latents and summaries of the frozen networks (encode.h), then the denoiser,
 * spec protocol.md 5.3 to 5.5. */
#include "train/reference/diffusion.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "predict/frame.h"
#include "train/reference/reference.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

/* -------- batches -------- */

/* Batches of neighbouring rows: in order of time, or in a new order each epoch. */
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

static void find_batch(diffusion_stage *s, int64_t number, int64_t *first, int64_t *count)
{
    *first = batch_at(s, number) * s->B;
    *count = s->rows.n - *first < s->B ? s->rows.n - *first : s->B;
}

/* How many rows the batch of a step has, without making the order: the last one in time may have
 * fewer, and what comes last in ll_rng_permute goes where its own draw says. */
static int64_t rows_at(const diffusion_stage *s, int64_t number)
{
    const int64_t n = s->n_batches, place = number % n;
    const ll_rng  g = diffusion_epoch_rng(s, number / n);
    const int64_t last =
        s->r->recipe.data.shuffle ? (int64_t)ll_rng_below(&g, (uint64_t)n - 1, (uint64_t)n) : n - 1;
    return place == last ? s->rows.n - (n - 1) * s->B : s->B;
}

static void fill_batch(diffusion_stage *s, int64_t number, int64_t first, int64_t count,
                       ll_session *net)
{
    if (s->ready != number) diffusion_fill(s, &s->rows, first, count, (uint32_t)number, true, net);
    s->ready = number;
}

/* -------- the stage -------- */

static llap_status step_whole(diffusion_stage *s, int64_t number, ll_session *net)
{
    llap_status st = LLAP_OK;
    if (s->device_data)
        st = diffusion_name_rows(s, &s->device_order, number * s->B, s->count, (uint32_t)number,
                                 net);
    else fill_batch(s, number, s->first, s->count, net);
    return st == LLAP_OK ? ll_session_begin(net, s->params, number, s->lr_now) : st;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    diffusion_stage *s = user;
    ll_session      *net = NULL;
    int64_t          first, count;
    s->count = rows_at(s, number);
    s->lr_now = ll_lr_at(&s->lr, number);
    llap_status st =
        s->part == NULL ? diffusion_net_for(s, s->train, s->count, true, &net) : LLAP_OK;
    if (st == LLAP_ENOMEM && s->r->backend->memory != NULL) st = diffusion_split(s);
    if (!s->device_data) find_batch(s, number, &s->first, &s->count);
    if (s->part != NULL) return diffusion_step_in_micro_batches(s, number, loss, norm);
    if (st == LLAP_OK) st = step_whole(s, number, net);
    if (st != LLAP_OK) return st;
    /* While a GPU computes, the next batch of the same size; it has its copy of this one. */
    if (ll_params_backend(s->params)->memory != NULL && !s->device_data) {
        find_batch(s, number + 1, &first, &count);
        if (count == s->count) fill_batch(s, number + 1, first, count, net);
    }
    if (loss == NULL) return ll_session_later(net, &s->results, number);
    ll_session_end(net, loss, norm);
    return LLAP_OK;
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return ll_async_results_get(&((diffusion_stage *)user)->results, first, n, loss, norm);
}

/* Error of the prediction on validation, every row with its condition, its own step and noise:
 * always the same. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    (void)done;
    diffusion_stage *s = user;
    double           sum = 0;
    llap_status      st = LLAP_OK;
    for (int64_t at = 0; at < s->val.n && st == LLAP_OK; at += diffusion_at_once(s)) {
        const int64_t count =
            s->val.n - at < diffusion_at_once(s) ? s->val.n - at : diffusion_at_once(s);
        ll_session *net = NULL;
        st = diffusion_net_for(s, s->check, count, false, &net);
        if (st == LLAP_OK && s->device_data)
            st = diffusion_name_rows(s, &s->val_order, at, count, UINT32_MAX, net);
        else if (st == LLAP_OK) diffusion_fill(s, &s->val, at, count, UINT32_MAX, false, net);
        if (st == LLAP_OK) st = ll_session_run(net);
        if (st != LLAP_OK) break;
        sum += (double)count * ll_session_number(net, "loss");
    }
    *score = sum / (double)s->val.n;
    if (st != LLAP_ENOMEM || s->part != NULL || s->r->backend->memory == NULL) return st;
    st = diffusion_split(s); /* which leaves room */
    return st == LLAP_OK ? evaluate(user, done, score) : st;
}

static void fields(void *user, ll_json_writer *w)
{
    ll_json_put_double(w, "lr", ((diffusion_stage *)user)->lr_now);
}

/* With all inputs here, where they can be looked at. */
static llap_status non_finite_whole(diffusion_stage *s, int64_t number, char *text, size_t size)
{
    const bool  device_data = s->device_data;
    ll_graph   *g = NULL;
    ll_session *net = NULL;
    llap_status st = ll_graph_create(&g);
    s->device_data = false;
    if (device_data) diffusion_destroy_nets(s);
    if (st == LLAP_OK) st = diffusion_net_for(s, s->train, s->count, true, &net);
    if (st == LLAP_OK) {
        fill_batch(s, number, s->first, s->count, net); /* the next one may be there already */
        st = ll_session_find_non_finite(net, g, diffusion_describe(g, s, s->count, true), s->params,
                                        text, size);
    }
    if (device_data) diffusion_destroy_nets(s);
    s->device_data = device_data;
    ll_graph_destroy(g);
    return st;
}

static llap_status find_non_finite(void *user, int64_t number, char *text, size_t size)
{
    diffusion_stage *s = user;
    find_batch(s, number, &s->first, &s->count);
    const llap_status st = s->part != NULL ? diffusion_find_non_finite(s, number, text, size)
                                           : non_finite_whole(s, number, text, size);
    ll_frame_name_windows(&s->r->frame, s->rows.end + s->first, s->count, text, size);
    return st;
}

static llap_status prepare(diffusion_stage *s)
{
    const ll_reference *r = s->r;
    const int64_t       val = ll_reference_val_batches(r) * r->B;
    const int64_t       needed = s->lr.total * r->groups; /* more rows are never seen */
    const int64_t       rows = r->recipe.denoiser.rows;
    const int64_t       most = needed < rows ? needed : rows;
    ll_session         *net = NULL;
    llap_status         st = ll_encode(r, r->train, most, "latents", &s->rows);
    if (st == LLAP_OK) st = ll_encode(r, r->val, val, "latents of validation", &s->val);
    if (st == LLAP_OK) st = ll_encoded_normalise(r, &s->rows, &s->val);
    if (st == LLAP_OK) st = ll_encoded_statistics(r, &s->rows, &s->mean, &s->deviation);
    if (st != LLAP_OK) return st;
    s->B = r->groups < s->rows.n ? r->groups : s->rows.n;
    s->n_batches = (s->rows.n + s->B - 1) / s->B;
    s->order = ll_new((size_t)s->n_batches, sizeof *s->order);
    s->t = ll_new((size_t)s->B, sizeof *s->t);
    s->flag = ll_new(2 * (size_t)s->B, sizeof *s->flag);
    if (s->order == NULL || s->t == NULL || s->flag == NULL) return LLAP_ENOMEM;
    s->weight = s->flag + s->B;
    st = diffusion_move_to_device(s);
    if (st == LLAP_OK) st = diffusion_net_for(s, s->train, s->B, true, &net);
    if (st == LLAP_ENOMEM && r->backend->memory != NULL) st = diffusion_split(s);
    return st == LLAP_OK ? ll_async_results_init(&s->results, r->backend) : st;
}

static llap_status hand_over(diffusion_stage *s)
{
    static const char *const part[] = { "denoiser.model.", "denoiser.time_embed.",
                                        "ema.denoiser.model.", "ema.denoiser.time_embed." };
    llap_status              st = LLAP_OK;
    for (int i = 0; i < (s->r->network->config.options.ema ? 4 : 2) && st == LLAP_OK; i++)
        st = ll_params_take(s->r->network->params, part[i], s->params, part[i]);
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
                                    .ready = -1,
                                    .lr = { .kind = LL_LR_WARMUP_CONSTANT,
                                            .base = d->stage.lr,
                                            .min = d->lr_first * d->stage.lr,
                                            .warmup = d->warmup,
                                            .total = d->stage.steps } };
    ll_stage                  stage = ll_stage_of(&d->stage);
    llap_status               st = prepare(&s);
    stage.name = "denoiser";
    stage.params = s.params;
    stage.user = &s;
    stage.step = step;
    if (r->backend->memory != NULL) stage.results = results;
    stage.evaluate = evaluate;
    stage.fields = fields;
    stage.find_non_finite = find_non_finite;
    if (st == LLAP_OK) st = ll_training_run_stage(t, &stage, NULL);
    if (st == LLAP_OK) st = hand_over(&s);
    diffusion_destroy_nets(&s);
    diffusion_release_device(&s);
    ll_async_results_deinit(&s.results);
    ll_scratch_deinit(&s.rows.block);
    ll_scratch_deinit(&s.val.block);
    ll_params_destroy(s.params);
    ll_free(s.order);
    ll_free(s.t);
    ll_free(s.flag);
    return st;
}
