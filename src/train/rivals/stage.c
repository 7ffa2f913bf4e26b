/* The one stage of a published model. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng/rng.h"
#include "predict/view/frame.h"
#include "train/rivals/rivals.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

typedef struct rival_stage {
    ll_rival_training     *t;
    const ll_rival_task   *k;
    const ll_recipe_rival *how;
    ll_loss_trainer       *trainer;
    ll_rival_example       example;
    uint32_t              *order; /* [n_train] of an epoch */
    int64_t                epoch; /* that it is of; -1: none */
} rival_stage;

/* -------- batches -------- */

/* The windows of an epoch are the first how->rows of an order of its own. */
static uint32_t window_at(rival_stage *s, int64_t place)
{
    const int64_t epoch = place / s->how->rows;
    if (s->epoch != epoch) {
        const ll_rng g =
            ll_rng_make((uint64_t)s->t->o->seed, LL_STREAM_SHUFFLE, 0, 0, (uint32_t)epoch);
        ll_rng_permute(&g, (size_t)s->t->n_train, s->order);
        s->epoch = epoch;
    }
    return s->t->train[s->order[place % s->how->rows]];
}

static void show(rival_stage *s, int64_t step, int64_t i)
{
    const uint32_t        number = window_at(s, step * s->how->batch + i);
    const ll_rival_window w = ll_rival_training_window(s->t, number, true);
    ll_rival_view_example(&s->t->view, &w, &s->example);
}

/* What a part of a batch counts for: its share of what is scored. */
static double share_of(rival_stage *s, const ll_micro_batch *b)
{
    double all = 0, part = 0;
    for (int64_t i = 0; i < b->count; i++) {
        show(s, b->step, i);
        const double n = ll_rival_scored(s->k, &s->example);
        all += n;
        if (i >= b->first && i < b->first + b->rows) part += n;
    }
    return all > 0 ? part / all : 0.0;
}

static llap_status fill(void *user, const ll_micro_batch *b, ll_session *net, double *share)
{
    rival_stage        *s = user;
    const ll_rival_turn turn = { .seed = (uint64_t)s->t->o->seed,
                                 .step = b->step,
                                 .epoch = b->step * s->how->batch / s->how->rows };
    llap_status         st = LLAP_OK;
    if (b->rows < b->count) *share = share_of(s, b);
    for (int64_t i = 0; i < b->room && st == LLAP_OK; i++) {
        if (i < b->rows) show(s, b->step, b->first + i);
        else ll_rival_example_clear(&s->example, s->k);
        st = ll_rival_fill(s->k, &s->example, i, net);
        if (st == LLAP_OK) st = ll_rival_vary(s->k, &turn, &s->example, i, net);
    }
    return st;
}

static ll_tensor *describe(ll_graph *g, void *user, const ll_loss_of *what)
{
    const rival_stage *s = user;
    assert(!what->on_device);
    return ll_rival_loss(g, s->k, what->rows);
}

static llap_status start(void *user, ll_params *p)
{
    const rival_stage *s = user;
    ll_params_init(p, (uint64_t)s->t->o->seed);
    ll_rival_start(s->k, p);
    return LLAP_OK;
}

static void say_split(void *user, int64_t rows)
{
    const rival_stage *s = user;
    ll_stage_in_micro_batches(s->t->o->log, s->k->kind->name, s->t->backend, s->how->batch, rows);
}

/* -------- the stage -------- */

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    rival_stage *s = user;
    return ll_loss_trainer_step(s->trainer, number, ll_rival_lr(s->how, number), loss, norm);
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return ll_loss_trainer_results(((rival_stage *)user)->trainer, first, n, loss, norm);
}

static llap_status evaluate(void *user, int64_t number, double *score)
{
    rival_stage      *s = user;
    const llap_status st = ll_rival_check_crps(s->t, ll_loss_trainer_params(s->trainer), score);
    if (st == LLAP_OK)
        ll_logf(s->t->o->log, LLAP_LOG_INFO, "%s: step %lld: validation CRPS %.4f",
                s->k->kind->name, (long long)number, *score);
    return st;
}

static llap_status find_non_finite(void *user, int64_t number, char *text, size_t size)
{
    rival_stage  *s = user;
    const int64_t B = s->how->batch;
    int64_t      *end = ll_new((size_t)B, sizeof *end);
    llap_status   st =
        end == NULL ? LLAP_ENOMEM : ll_loss_trainer_find_non_finite(s->trainer, number, text, size);
    for (int64_t i = 0; i < B && st == LLAP_OK; i++) {
        const uint32_t w = window_at(s, number * B + i);
        end[i] = ll_window_end(s->t->windows, &s->t->windows->at[w]);
    }
    if (st == LLAP_OK) ll_frame_name_windows(s->t->frame, end, B, text, size);
    ll_free(end);
    return st;
}

static llap_status stage_init(rival_stage *s, ll_rival_training *t)
{
    *s = (rival_stage){ .t = t, .k = &t->r->task, .how = &t->recipe.published, .epoch = -1 };
    s->order = ll_new((size_t)t->n_train, sizeof *s->order);
    if (s->order == NULL) return LLAP_ENOMEM;
    const ll_loss_trainer_opts o = { .backend = t->backend,
                                     .n_threads = omp_get_max_threads(),
                                     .optim = s->how->stage.optim,
                                     .batch = s->how->batch,
                                     .user = s,
                                     .describe = describe,
                                     .start = start,
                                     .fill = fill,
                                     .split = say_split };
    llap_status                st = ll_rival_example_init(&s->example, s->k);
    if (st == LLAP_OK) st = ll_loss_trainer_create(&o, &s->trainer);
    return st;
}

llap_status ll_rival_run(ll_rival_training *t, ll_training_run *run)
{
    rival_stage s;
    llap_status st = stage_init(&s, t);
    ll_stage    stage = ll_stage_of(&s.how->stage);
    if (st == LLAP_OK) {
        const size_t        n = ll_training_run_weights(ll_loss_trainer_params(s.trainer), "");
        const ll_stage_size size = { n, 3 * n };
        stage.name = s.k->kind->name;
        stage.params = ll_loss_trainer_params(s.trainer);
        stage.user = &s;
        stage.rounds = 1;
        stage.compare = "it may end sooner; fewer `steps` take less";
        stage.step = step;
        if (t->backend->memory != NULL) stage.results = results;
        stage.evaluate = evaluate;
        stage.find_non_finite = find_non_finite;
        st = ll_training_run_reserve(run, &size, 1);
    }
    if (st == LLAP_OK) st = ll_training_run_stage(run, &stage, NULL);
    if (st == LLAP_OK) st = ll_params_take(t->r->params, "", stage.params, "");
    ll_loss_trainer_destroy(s.trainer);
    ll_rival_example_deinit(&s.example);
    ll_free(s.order);
    return st;
}
