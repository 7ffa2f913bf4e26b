/* Training: anchors, then what comes on top of them. */
#include "train/train.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/pack.h"
#include "ranks/ranks.h"
#include "train/anchors.h"
#include "train/fill_choice.h"
#include "train/filling.h"
#include "train/joint.h"
#include "train/networks.h"
#include "train/plan.h"
#include "train/reference/reference.h"
#include "train/rivals/rivals.h"
#include "train/run/budget.h"
#include "train/run/config.h"
#include "train/run/recipe.h"
#include "train/run/run.h"
#include "train/sample.h"
#include "train/stack/diffusion.h"
#include "train/stack/stack.h"
#include "train/training_set.h"

#include <assert.h>
#include <stdlib.h>

/* The run with its state and log, before anything is fitted; with networks also what they are
 * trained on. Too little room for its states is said here. */
static llap_status open_run(const llap_panel *p, const llap_train_opts *o, const ll_json *config,
                            const ll_train_plan *l, ll_training_set *f, ll_training_run **run,
                            llap_model **finished)
{
    if (!l->recipe.alone)
        return ll_train_networks_open(f, &l->frame, p, l->var, o, l->networks, config, run,
                                      finished);
    const ll_stage_size size = { ll_anchors_numbers(&l->frame), 0 };
    char               *text = NULL;
    llap_status         st = ll_train_options_text(o, config, &l->recipe, &text);
    const ll_run_job    job = { .recipe = &l->recipe, .text = text };
    if (st == LLAP_OK) st = ll_training_run_open(p, o, &l->frame, &job, run, finished);
    ll_free(text);
    return st == LLAP_OK && *finished == NULL ? ll_training_run_reserve(*run, &size, 1) : st;
}

/* The anchors as a model, without networks. */
static llap_status fit_anchors(ll_training_run *run, const llap_panel *p, const llap_train_opts *o,
                               const ll_train_plan *l, llap_model **out)
{
    ll_anchor_model **anchor = ll_new((size_t)l->frame.n_targets, sizeof *anchor);
    if (anchor == NULL) return LLAP_ENOMEM;
    const llap_status st = ll_anchors_fit(
        run, p, o, &l->recipe.anchor, &l->frame,
        &(ll_static_opts){ .column = l->statics.column, .n = l->statics.n }, l->var, anchor);
    if (st == LLAP_OK) return ll_model_create(&l->frame, anchor, out);
    for (int64_t i = 0; i < l->frame.n_targets; i++) ll_anchor_model_destroy(anchor[i]);
    ll_free(anchor);
    return st;
}

/* Who fills gaps, unless an earlier run has decided it. */
static llap_status settle_filling(ll_training_run *run, llap_model *m, const llap_panel *p,
                                  const llap_train_opts *o, const ll_recipe_networks *r)
{
    ll_feature_config *c = &m->network->config.features;
    const double       steps = (double)m->network->config.sampling.steps;
    double             kept[2];
    if (ll_training_run_find(run, "filling", kept, 2)) {
        if (!(kept[0] >= 0 && kept[0] < steps && kept[1] >= 0 && kept[1] < steps))
            return ll_fail(LLAP_EFORMAT,
                           "%s: note 'filling': expected points of 0..%g, found %g and %g",
                           o->state, steps - 1, kept[0], kept[1]);
        c->fill_past = (int64_t)kept[0];
        c->fill_both = (int64_t)kept[1];
        return LLAP_OK;
    }
    llap_status st = LLAP_OK;
    c->fill_past = c->fill_both = 0;
    if (c->calibration_factor.n > 0) st = ll_fill_choice(m, p, o, r); /* else draws not finite */
    if (st != LLAP_OK) return st;
    if (m->filling != NULL) c->fill_both = 0; /* all sensors fill from both sides */
    kept[0] = (double)c->fill_past;
    kept[1] = (double)c->fill_both;
    const llap_status noted = ll_training_run_keep(run, "filling", kept, 2);
    if (noted == LLAP_OK) ll_training_run_save(run, "gaps");
    return noted;
}

/* Says before anything is fitted what will be. */
static void say_plan(const ll_train_plan *l, const llap_log *log)
{
    if (!l->recipe.stacked) return;
    ll_logf(log, LLAP_LOG_INFO,
            "to be trained: the anchor%s of %lld target%s, then the stack, 4 members of %lld "
            "networks%s%s%s; answers that they have not seen say who answers",
            l->frame.n_targets == 1 ? "" : "s", (long long)l->frame.n_targets,
            l->frame.n_targets == 1 ? "" : "s", (long long)(LL_STACK_FOLDS * l->recipe.stack.seeds),
            l->diffusion ? ", and diffusion networks" : "", l->diffusion ? " of size " : "",
            l->diffusion ? ll_size_names[l->networks] : "");
}

/* What is trained, and how the model says it: less than was asked for where the budget says so. */
typedef struct doing {
    ll_train_plan   l;
    llap_train_opts o;
    const ll_json  *config;
} doing;

/* Without diffusion networks, as if they had not been asked for: beside a stack the stack is left;
 * in the place of one comes one, which takes minutes. */
static void leave_networks(doing *d)
{
    d->l.recipe.alone = d->l.recipe.stacked = true;
    d->l.recipe.stack = d->l.diffusion ? d->l.recipe.stack : LL_RECIPE_STACK;
    d->l.diffusion = false;
    d->config = NULL; /* what it has of anchors and stack is in the recipe */
    d->o.diffusion = LLAP_TRAIN_DIFFUSION_NO;
    d->o.size = LLAP_TRAIN_SIZE_STACK;
    d->o.members = d->o.steps = d->o.batch = d->o.micro_batches = 0;
    d->o.lr = 0;
    d->o.view = LLAP_TRAIN_VIEW_AUTO;
    d->o.from = NULL;
}

static void leave_stack(doing *d)
{
    leave_networks(d);
    d->l.recipe.stacked = false;
    d->o.size = LLAP_TRAIN_SIZE_ANCHOR;
    d->o.inputs = NULL;
}

static llap_status train_stack(doing *d, llap_model *m, ll_training_run *run, const llap_panel *p,
                               ll_stack_folds *folds)
{
    ll_train_plan    *l = &d->l;
    const llap_status st = ll_train_stack(m, run, p, l->var, l->statics.column, &d->o,
                                          &l->recipe.stack, l->backend, folds);
    if (st == LLAP_OK && m->stack == NULL) leave_stack(d);
    return st;
}

/* On top of the anchors, as far as the budget allows. */
static llap_status train_networks(doing *d, llap_model *m, ll_training_run *run, ll_training_set *f,
                                  const llap_panel *p)
{
    ll_stack_folds folds = { 0 };
    bool           fits = true;
    const bool     beside = d->l.recipe.stacked;
    llap_status    st = LLAP_OK;
    if (beside) st = train_stack(d, m, run, p, &folds);
    if (st == LLAP_OK && !d->l.recipe.alone)
        st = ll_train_networks(m, run, f, p, &d->o, d->l.networks, d->config, &fits);
    if (st == LLAP_OK && !fits) leave_networks(d);
    if (st == LLAP_OK && !fits && !beside) st = train_stack(d, m, run, p, &folds);
    if (st != LLAP_OK || d->l.recipe.alone) return st;
    return d->l.diffusion ? ll_train_stack_diffusion(m, p, d->l.var, &folds, &d->o, d->l.backend)
                          : settle_filling(run, m, p, &d->o, &d->l.recipe.networks);
}

static llap_status train_all(ll_training_run *run, ll_training_set *f, const llap_panel *p,
                             const llap_train_opts *o, const ll_json *config,
                             const ll_train_plan *l, llap_model **out)
{
    assert(*out == NULL && !l->reference);
    doing d = { *l, *o, config };
    say_plan(l, o->log);
    llap_status st = fit_anchors(run, p, o, l, out);
    /* of a sample, nothing is said about single entities */
    if (st == LLAP_OK && p->whole == NULL) st = ll_train_joint(*out, p, l->var, o->log);
    if (st == LLAP_OK) st = ll_train_filling(*out, run, p, l->var, o);
    if (st == LLAP_OK) st = train_networks(&d, *out, run, f, p);
    const bool alone = d.l.recipe.alone;
    if (st == LLAP_OK && alone) st = ll_training_run_table(run, &(*out)->report);
    if (st == LLAP_OK && alone) st = ll_train_options_keep(&d.o, d.config, &d.l.recipe, *out);
    return st == LLAP_OK ? ll_training_run_sign(p, o, *out) : st;
}

static llap_status train_default(const llap_panel *p, const llap_train_opts *o,
                                 const ll_json *config, const ll_train_plan *l, llap_model **out)
{
    ll_training_run *run = NULL;
    ll_training_set  f = { 0 };
    llap_status      st = open_run(p, o, config, l, &f, &run, out);
    if (st == LLAP_OK && *out == NULL) st = train_all(run, &f, p, o, config, l, out);
    ll_training_run_destroy(run);
    ll_training_set_deinit(&f);
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* Says what several ranks do not share out. */
static void say_alone(const llap_train_opts *o, const ll_train_plan *l, int size)
{
    if (l->recipe.stacked || o->micro_batches > 1) return;
    ll_logf(o->log, LLAP_LOG_WARNING, "ranks: each of %d processes does all of this%s", size,
            l->recipe.alone || l->rival != NULL
                ? ""
                : "; `micro_batches` shares out the steps of the networks");
}

/* Several ranks train one model: on the same data, with the same options, none of which depends on
 * the time that one of them takes. The first one tells of it and writes the state. Of a stack there
 * is none: the members of others are not in it. */
static llap_status meet_ranks(const llap_panel *p, llap_train_opts *o, const ll_json *config,
                              const ll_train_plan *l)
{
    const ll_ranks *r = ll_ranks_joined();
    char           *text = NULL, name[LL_MODEL_RUN + 1] = "";
    if (r == NULL) return LLAP_OK;
    if (o->budget != NULL)
        return ll_fail(LLAP_EOPTION, "budget: is for one process, and this is one of %d", r->size);
    if (o->resume && l->recipe.stacked)
        return ll_fail(LLAP_EOPTION, "resume: is for one process: %d keep no state of a stack",
                       r->size);
    say_alone(o, l, r->size);
    if (l->recipe.stacked) o->state = NULL;
    if (r->rank > 0) {
        o->log = NULL;
        o->history = NULL;
        o->progress = (llap_progress){ 0 };
    }
    llap_status st = ll_train_options_text(o, config, &l->recipe, &text);
    if (st == LLAP_OK) st = ll_training_run_name(p, o, &l->frame, text, name);
    ll_free(text);
    return st == LLAP_OK ? ll_ranks_agree(r, strtoull(name, NULL, 16), "other data or options")
                         : st;
}

static llap_status train(const llap_panel *panel, llap_train_opts *o, const ll_json *config,
                         llap_model **out)
{
    ll_train_plan l;
    llap_status   st = ll_train_plan_init(panel, o, &l);
    if (st == LLAP_OK) st = ll_train_plan_read(&l, config);
    l.recipe.anchor.one_climate = panel->whole != NULL;
    if (st == LLAP_OK) st = meet_ranks(panel, o, config, &l);
    if (st == LLAP_OK)
        st = l.rival != NULL ? ll_rival_train(panel, o, config, &l.frame, l.var, l.backend, out)
             : l.reference   ? ll_reference_train(panel, o, config, &l.frame, l.var, l.backend, out)
                             : train_default(panel, o, config, &l, out);
    ll_train_plan_deinit(&l);
    return st;
}

llap_status ll_train_check(const llap_panel *panel, const llap_train_opts *o)
{
    llap_train_opts all;
    ll_json        *config = NULL;
    llap_panel     *some = NULL;
    ll_train_plan   l;
    llap_status     st = ll_panel_verify_all(panel);
    if (st == LLAP_OK) st = ll_train_config(o, &all, &config);
    if (st == LLAP_OK && all.rival == NULL)
        st = ll_train_sample(panel, &all, LL_SAMPLE_LIMITS, &some);
    if (st == LLAP_OK) {
        st = ll_train_plan_init(some == NULL ? panel : some, &all, &l);
        if (st == LLAP_OK) st = ll_train_plan_read(&l, config);
        ll_train_plan_deinit(&l);
    }
    llap_panel_destroy(some);
    ll_json_destroy(config);
    return st;
}

llap_status llap_train(const llap_panel *panel, const llap_train_opts *o, llap_model **out)
{
    llap_train_opts all;
    ll_json        *config = NULL;
    llap_panel     *some = NULL;
    *out = NULL;
    llap_status st = ll_panel_verify_all(panel);
    if (st == LLAP_OK) st = ll_train_config(o, &all, &config);
    if (st == LLAP_OK && all.rival == NULL)
        st = ll_train_sample(panel, &all, LL_SAMPLE_LIMITS, &some);
    if (st == LLAP_OK) st = train(some == NULL ? panel : some, &all, config, out);
    if (st == LLAP_OK && some != NULL) st = ll_train_widen(*out, panel, some);
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    llap_panel_destroy(some);
    ll_json_destroy(config);
    return st;
}
