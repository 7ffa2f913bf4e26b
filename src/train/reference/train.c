/* Training a model of the `reference` profile: its three stages one after another. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "predict/device.h"
#include "train/reference/reference.h"
#include "train/run/config.h"
#include "train/run/recipe.h"
#include "train/run/run.h"
#include "train/run/targets.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

static llap_status choose_size(llap_train_size asked, ll_size *size)
{
    *size = asked == LLAP_TRAIN_SIZE_PAPER ? LL_SIZE_PAPER : LL_SIZE_TINY;
    if (asked != LLAP_TRAIN_SIZE_SMALL && asked != LLAP_TRAIN_SIZE_ANCHOR) return LLAP_OK;
    return ll_fail(LLAP_EOPTION, "size: the reference profile has tiny and paper, found '%s'",
                   ll_option_word(llap_train_options(), "size", (int)asked));
}

/* -------- how it is trained -------- */

/* The protocol's epochs, or for small sizes so many steps. --steps are those of the denoiser, and
 * the others' in the same proportion. */
static bool in_epochs(const ll_reference *r, ll_size size)
{
    return size == LL_SIZE_PAPER && r->o->steps <= 0;
}

static int64_t steps_of(const ll_reference *r, ll_size size, int64_t tiny_steps, int64_t epochs)
{
    const int64_t asked = r->o->steps > 0 ? r->o->steps : 1500;
    const int64_t n = asked * tiny_steps / 1500;
    return in_epochs(r, size) ? epochs * r->n_batches : n > 0 ? n : 1;
}

static void set_rates(const ll_reference *r, ll_recipe_stage *stage, double lr, double decay)
{
    stage->lr = r->o->lr > 0 ? r->o->lr : lr;
    stage->optim = LL_TRAIN_DEFAULT;
    stage->max_skipped = LL_MAX_SKIPPED;
    stage->optim.weight_decay = decay;
    stage->optim.ema = 0;
}

/* Small sizes see less than an epoch and must not see its beginning alone, as they would in order
 * of time. */
static void suggest(const ll_reference *r, ll_size size, ll_recipe *c)
{
    enum { SMALL_ROWS = 6000, VAL_BATCHES = 32 };
    const bool    paper = size == LL_SIZE_PAPER, odd = r->irregular;
    const int64_t few = r->o->steps > 0 ? r->o->steps / 40 + 2 : VAL_BATCHES;
    *c = (ll_recipe){ .profile = LL_PROFILE_REFERENCE };
    c->data.shuffle = !paper;
    c->data.val_batches = in_epochs(r, size)  ? (r->val->n_examples + r->B - 1) / r->B
                          : few < VAL_BATCHES ? few
                                              : VAL_BATCHES;

    ll_recipe_stage *s = &c->vae.stage;
    s->steps = steps_of(r, size, 500, 600);
    s->patience = !paper ? 0 : odd ? 25 : 20;
    set_rates(r, s, paper ? 1e-4 : 2e-3, 1e-4);
    c->vae.relative = 0.01;
    c->vae.loss = odd ? LL_VAE_LOSS_IRREGULAR : LL_VAE_LOSS_BASE;

    s = &c->summarizer.stage;
    s->steps = steps_of(r, size, 300, 200);
    s->patience = !paper ? 0 : odd ? 15 : 10;
    s->patience_from = 1;
    set_rates(r, s, paper ? 1e-4 : 1e-3, 1e-4);
    c->summarizer.margin = 1e-6;
    c->summarizer.loss = odd ? LL_SUMMARIZER_LOSS_IRREGULAR : LL_SUMMARIZER_LOSS_BASE;

    s = &c->denoiser.stage;
    s->steps = steps_of(r, size, 1500, 600);
    s->patience = paper ? 20 : 0;
    s->patience_from = paper ? 57 : 1;
    set_rates(r, s, paper ? 1.5e-4 : 1e-3, LL_TRAIN_DEFAULT.weight_decay);
    s->optim.ema = LL_TRAIN_DEFAULT.ema;
    c->denoiser.warmup = 0.095;
    c->denoiser.lr_first = 0.02;
    c->denoiser.rows = paper ? r->train->n_examples : SMALL_ROWS;
}

/* Checks each epoch, or ten in all; small sizes have epochs of a sixtieth. */
static int64_t part_of(const ll_reference *r, ll_size size, int64_t steps, int64_t parts)
{
    return in_epochs(r, size) ? r->n_batches : steps / parts > 0 ? steps / parts : 1;
}

/* What the caller wants otherwise, and what follows from it. */
static llap_status make_recipe(const ll_reference *r, ll_size size, const ll_json *config,
                               ll_recipe *c)
{
    suggest(r, size, c);
    llap_status st = ll_recipe_read(config, c); /* the steps, which checks and epochs follow */
    if (st != LLAP_OK) return st;
    ll_recipe_stage *stage[] = { &c->vae.stage, &c->summarizer.stage, &c->denoiser.stage };
    for (int i = 0; i < 3; i++) stage[i]->check_every = part_of(r, size, stage[i]->steps, 10);
    c->vae.epoch = part_of(r, size, c->vae.stage.steps, 60);
    st = ll_recipe_read(config, c);
    if (st != LLAP_OK) return st;
    /* Before the 40th epoch the score still changes with beta. */
    const int64_t every = c->vae.stage.check_every;
    c->vae.stage.patience_from = c->vae.select_from = (40 * c->vae.epoch + every - 1) / every;
    st = ll_recipe_read(config, c);
    return st == LLAP_OK ? ll_recipe_agrees(c, r->o->steps, r->o->lr) : st;
}

/* -------- what is trained -------- */

/* Options of the caller on top; what the data decides stays as it is. */
static llap_status read_options(const ll_json *config, int64_t h, ll_network_config *c)
{
    const ll_network_config was = *c;
    c->size = LL_SIZE_CUSTOM;
    const llap_status st = ll_network_config_change(config, "network", c);
    if (st != LLAP_OK) return st;
    if (c->n_entities != was.n_entities || c->n_targets != was.n_targets ||
        c->vae.channels != was.vae.channels || c->vae.n_entities != was.vae.n_entities ||
        c->summarizer.n_entities != was.summarizer.n_entities ||
        c->summarizer.features != was.summarizer.features ||
        c->summarizer.context != was.summarizer.context)
        return ll_json_fail(config, "network", "sizes that the data decides cannot be changed");
    if (c->options.latent_rows != 1 && c->options.latent_rows != h)
        return ll_json_fail(config, "network.options.latent_rows",
                            "expected 1, or %lld for the steps of the horizon, found %lld",
                            (long long)h, (long long)c->options.latent_rows);
    if (c->options.latent != was.options.latent || !c->options.conditioning ||
        c->options.joint_summarizer || c->options.cond_adapter || c->denoiser.self_conditioning)
        return ll_json_fail(config, "network",
                            "the three stages train a denoiser of VAE latents and summaries; "
                            "identity latents, no or joint summaries, adapters and "
                            "self-conditioning are for models that are imported");
    return LLAP_OK;
}

static llap_status configure(const ll_reference *r, ll_size size, const ll_json *config,
                             ll_network_config *c)
{
    const ll_network_dims dims = { .entities = r->frame.n_entities,
                                   .inputs = r->D,
                                   .targets = r->C,
                                   .context = r->l,
                                   .irregular = r->irregular };
    const llap_status     st = ll_network_config_named(LL_PROFILE_REFERENCE, size, &dims, c);
    if (st != LLAP_OK) return st;
    if (r->frame.by_entity) { /* entities on their own are not told apart */
        c->vae.n_entities = 0;
        c->summarizer.n_entities = 1;
    }
    if (c->summarizer.tokens > r->l) c->summarizer.tokens = r->l;
    /* Of the training summaries: with those of a batch, a forecast would depend on which others are
     * asked for with it. */
    c->options.cond_norm = LL_COND_NORM_FIXED;
    return config != NULL && ll_json_has(config, "network") ? read_options(config, r->h, c)
                                                            : ll_network_config_check(c);
}

static void copy_scale(const ll_reference *r, const char *name, const float *from)
{
    const ll_param_info *to = ll_params_find(r->network->params, name);
    assert(to != NULL);
    memcpy(to->data, from, (size_t)to->count * sizeof *from);
}

static llap_status make_network(ll_reference *r, const llap_panel *p, const ll_json *config)
{
    ll_network_config c;
    ll_size           size;
    llap_status       st = choose_size(r->o->size, &size);
    if (st == LLAP_OK) st = configure(r, size, config, &c);
    if (st == LLAP_OK) st = make_recipe(r, size, config, &r->recipe);
    if (st == LLAP_OK) st = ll_network_create(&c, p->var, &r->network);
    if (st == LLAP_OK) st = ll_network_start(r->network, r->seed, 0);
    if (st != LLAP_OK) return st;
    copy_scale(r, "scale.x.mean", r->scaling->x_mean);
    copy_scale(r, "scale.x.std", r->scaling->x_std);
    copy_scale(r, "scale.y.mean", r->scaling->y_mean);
    copy_scale(r, "scale.y.std", r->scaling->y_std);
    return LLAP_OK;
}

static llap_status reserve(const ll_reference *r, const ll_training_run *t)
{
    const ll_params *p = r->network->params;
    const size_t     vae = ll_training_run_weights(p, "vae."),
                 summarizer = ll_training_run_weights(p, "summarizer."),
                 denoiser = ll_training_run_weights(p, "denoiser.");
    const ll_stage_size stage[] = { { vae, 3 * vae },
                                    { summarizer, 3 * summarizer },
                                    { 2 * denoiser, 4 * denoiser } };
    return ll_training_run_reserve(t, stage, 3);
}

static llap_status train_stages(ll_reference *r, ll_training_run *t)
{
    llap_status st = reserve(r, t);
    if (st == LLAP_OK)
        ll_logf(r->o->log, LLAP_LOG_INFO,
                "reference: %lld examples of %lld entities, %lld batches an epoch",
                (long long)r->train->n_examples, (long long)r->N, (long long)r->n_batches);
    if (st == LLAP_OK) st = ll_reference_vae(r, t);
    if (st == LLAP_OK) st = ll_reference_summarizer(r, t);
    if (st == LLAP_OK) st = ll_reference_diffusion(r, t);
    return st == LLAP_OK ? ll_training_run_table(t, &r->report) : st;
}

/* *out: the model, without its networks where they have just been trained. */
static llap_status train(ll_reference *r, const llap_panel *p, const ll_json *config,
                         llap_model **out)
{
    ll_training_run *t = NULL;
    char            *text = NULL;
    llap_status      st = ll_train_options_text(r->o, config, &r->recipe, &text);
    const ll_run_job job = { &r->network->config, &r->recipe, text };
    if (st == LLAP_OK) st = ll_training_run_open(p, r->o, &r->frame, &job, &t, out);
    ll_free(text);
    if (st == LLAP_OK && *out == NULL) {
        st = train_stages(r, t);
        if (st == LLAP_OK) st = ll_model_create(&r->frame, NULL, out);
        if (st == LLAP_OK) st = ll_train_options_keep(r->o, config, &r->recipe, *out);
        if (st == LLAP_OK) st = ll_training_run_sign(p, r->o, *out);
    }
    ll_training_run_destroy(t);
    return st;
}

/* -------- all of it -------- */

void ll_reference_start(const ll_reference *r, ll_params *params)
{
    for (int i = 0; r->started && i < ll_params_count(params); i++) {
        const ll_param_info *to = ll_params_at(params, i);
        const ll_param_info *from = ll_params_find(r->network->params, to->name);
        assert(from == NULL || from->count == to->count);
        if (from != NULL) memcpy(to->data, from->data, (size_t)to->count * sizeof(float));
    }
}

static llap_status start_from(ll_reference *r, const llap_model *from)
{
    static const char *const part[] = { "vae.", "summarizer.", "denoiser." };
    llap_status              st = LLAP_OK;
    for (int i = 0; i < 3 && st == LLAP_OK; i++)
        st = ll_params_take(r->network->params, part[i], from->network->params, part[i]);
    if (st != LLAP_OK) return ll_fail_in(st, "from: networks of another size or layout");
    r->started = true;
    ll_targets_compare(r->o, &from->frame, &r->frame);
    return LLAP_OK;
}

/* Options that stand for something this profile does not have. */
static llap_status check_options(const llap_train_opts *o)
{
    const struct {
        bool        given;
        const char *name;
    } of_default[] = {
        { o->members > 1, "members" },
        { o->view != LLAP_TRAIN_VIEW_AUTO, "view" },
        { o->transform != NULL, "transform" },
        { o->min != NULL, "min" },
        { o->max != NULL, "max" },
        { o->kind != NULL, "kind" },
        { o->link != 0, "link" },
        { o->no_climate != 0, "no_climate" },
        { o->periods != NULL, "periods" },
    };
    for (size_t i = 0; i < sizeof of_default / sizeof *of_default; i++)
        if (of_default[i].given)
            return ll_fail(LLAP_EOPTION, "%s: the reference profile does not have this option",
                           of_default[i].name);
    return LLAP_OK;
}

static llap_status load_from(const char *path, llap_model **from)
{
    *from = NULL;
    if (path == NULL) return LLAP_OK;
    const llap_status st = llap_model_load(path, from);
    if (st != LLAP_OK) return st;
    if ((*from)->network != NULL && (*from)->network->config.profile == LL_PROFILE_REFERENCE)
        return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "from: %s has no networks of the reference profile", path);
}

llap_status ll_reference_train(const llap_panel *p, const llap_train_opts *o, const ll_json *config,
                               const ll_model_frame *f, const int64_t *var,
                               const ll_backend *backend, llap_model **out)
{
    *out = NULL;
    llap_model  *from = NULL;
    ll_reference r = { .o = o,
                       .frame = *f,
                       .seed = (uint64_t)o->seed,
                       .n_threads = omp_get_max_threads(),
                       .backend = backend,
                       .exact = backend };
    llap_status  st = check_options(o);
    if (st == LLAP_OK && backend->memory != NULL && o->device != NULL)
        st = ll_backend_choose(o->device, LLAP_GPU_FP32, &r.exact);
    if (st == LLAP_OK) st = load_from(o->from, &from);
    if (st == LLAP_OK) st = ll_reference_look(&r, p, var);
    if (st == LLAP_OK) st = ll_train_micro_batches(o, r.groups < r.B ? r.groups : r.B);
    if (st == LLAP_OK) st = make_network(&r, p, config);
    if (st == LLAP_OK && from != NULL) st = start_from(&r, from);
    if (st == LLAP_OK) st = train(&r, p, config, out);
    if (st == LLAP_OK && (*out)->network == NULL) {
        (*out)->network = r.network;
        (*out)->report = r.report;
    } else { /* it has failed, or was finished before */
        ll_network_destroy(r.network);
        ll_free(r.report);
    }
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    ll_reference_deinit(&r);
    llap_model_destroy(from);
    return st;
}
