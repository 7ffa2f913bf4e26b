/* Training the networks of the default profile, docs/spec/anchor.md 8.1-8.10: their sizes and
 * options, the members in turn (network_member.c), then spread and answer source. */
#include "train/networks.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/time/civil.h"
#include "predict/network_members.h"
#include "train/anchors.h"
#include "train/network_member.h"
#include "train/run/config.h"
#include "train/run/recipe.h"
#include "train/run/run.h"
#include "train/run/targets.h"
#include "train/training_set.h"

#include <assert.h>
#include <string.h>

/* ---- sizes and options ---- */

/* Options of a file on top; what the data decides stays as it is. */
static llap_status read_options(const ll_json *config, ll_network_config *c)
{
    const ll_network_config was = *c;
    c->size = LL_SIZE_CUSTOM;
    const llap_status st = ll_network_config_change(config, "network", c);
    if (st != LLAP_OK) return st;
    if (c->n_entities != was.n_entities || c->n_targets != was.n_targets ||
        c->patches.token_dim != was.patches.token_dim || c->patches.tokens != was.patches.tokens ||
        c->patches.entities != was.patches.entities ||
        c->denoiser.data_dim != was.denoiser.data_dim ||
        c->denoiser.query_features != was.denoiser.query_features ||
        c->features.view != was.features.view || c->features.patch != was.features.patch ||
        c->features.patch_rows != was.features.patch_rows ||
        c->features.calendar != was.features.calendar || c->features.level != was.features.level ||
        !c->options.conditioning || c->features.residual != was.features.residual)
        return ll_json_fail(config, "network",
                            "sizes and features that the data decides cannot be changed");
    return LLAP_OK;
}

/* edge [2]: of the anchors' calibration. */
static llap_status configure(const ll_model_frame *frame, const ll_training_set *f,
                             const llap_train_opts *o, ll_size size, const ll_json *config,
                             const double *edge, ll_network_config *c)
{
    const ll_layout      *l = &f->layout;
    const ll_network_dims dims = { .entities = frame->n_entities,
                                   .inputs = f->n_inputs,
                                   .targets = frame->n_targets,
                                   .latent = ll_feature_channels(l),
                                   .tokens = l->tokens,
                                   .token_dim = ll_feature_token_dim(l),
                                   .query_features = ll_feature_query_dim(l),
                                   .embeddings = ll_feature_embeddings(l) };
    llap_status           st = ll_network_config_named(LL_PROFILE_DEFAULT, size, &dims, c);
    if (st != LLAP_OK) return st;
    if (o->members > 0) c->options.members = o->members;
    c->features.view = l->view;
    c->features.residual = l->residual;
    c->features.patch_rows = l->slots;
    c->features.patch = l->slot * (double)l->slots;
    c->features.counts = l->view != LL_FEATURE_JOINT;
    c->features.entity_mean = l->view == LL_FEATURE_SINGLE && l->entities > 1;
    c->features.calendar = l->calendar;
    c->features.level = l->level;
    c->features.augment = frame->horizon / frame->step > 48 ? 0.3 : 0.0;
    c->features.calibration_edge = (ll_reals){ .n = 2, .v = { edge[0], edge[1] } };
    st = ll_network_config_check(c);
    if (st == LLAP_OK && config != NULL && ll_json_has(config, "network"))
        st = read_options(config, c);
    return st;
}

static llap_status make_network(const llap_model *m, const ll_training_set *f,
                                const llap_train_opts *o, ll_size size, const ll_json *config,
                                ll_network **out)
{
    ll_network_config c;
    llap_status st = configure(&m->frame, f, o, size, config, m->anchor[0]->calibration.edge, &c);
    if (st == LLAP_OK) st = ll_network_create(&c, (const char *const *)f->input, out);
    if (st != LLAP_OK || f->scaling == NULL) return st;
    const ll_param_info *mean = ll_params_find((*out)->params, "scale.x.mean");
    const ll_param_info *std = ll_params_find((*out)->params, "scale.x.std");
    assert(mean->count == (f->scaling->n_entities + 1) * f->n_inputs && std->count == mean->count);
    memcpy(mean->data, f->scaling->x_mean, (size_t)mean->count * sizeof(float));
    memcpy(std->data, f->scaling->x_std, (size_t)std->count * sizeof(float));
    return LLAP_OK;
}

/* ---- spread and answer source, docs/spec/anchor.md 8.9, 8.10 ---- */

/* What networks must gain to answer alone. Where validation is short it may be of another season
 * than the future. */
static double guard_price(const ll_model_frame *f, const ll_recipe_networks *r)
{
    const bool brief =
        !f->by_entity && f->axis == LL_AXIS_CALENDAR &&
        (double)(f->test_start - f->val_start) < r->guard_days * (double)LL_NS_PER_DAY;
    return brief ? r->guard_price : 0.0;
}

/* Draws that are not finite are no answer: no spread factors are kept, and the anchor answers where
 * there is one. */
static llap_status settle_without(ll_feature_config *c, const llap_train_opts *o)
{
    if (c->residual != LL_RESIDUAL_ANCHOR)
        return ll_fail_in(LLAP_ENUMERIC, "networks: draws of the validation part");
    c->answer_source = LL_ANSWER_BY_ANCHOR;
    c->calibration_factor.n = 0;
    ll_logf(o->log, LLAP_LOG_WARNING,
            "networks: draws of the validation part: %s: the anchor answers and fills gaps",
            llap_error_detail());
    return LLAP_OK;
}

static llap_status settle(llap_model *m, const ll_training_set *f, const llap_train_opts *o)
{
    ll_feature_config *c = &m->network->config.features;
    ll_network_members n;
    float             *x = NULL;
    const int          steps = (int)m->network->config.sampling.steps;
    ll_network_members_init(&n, m);
    const int64_t R = f->recipe.networks.final_samples;
    llap_status   st =
        ll_network_members_draw(&n, f->backend, o->log, f->final, steps, R, (uint64_t)o->seed, &x);
    if (st == LLAP_OK) {
        ll_network_members_calibrate(f->final, x, f->final->h, R, &c->calibration_edge,
                                     &c->calibration_factor);
        const ll_validation_scores s = ll_networks_validate(m, f->final, &n, x, f->final->h, R);
        c->answer_source =
            c->residual != LL_RESIDUAL_ANCHOR
                ? LL_ANSWER_BY_NETWORKS
                : ll_answer_source_choose(&s, guard_price(&m->frame, &f->recipe.networks));
        ll_logf(o->log, LLAP_LOG_INFO,
                "networks: validation CRPS %.4f, anchor %.4f, both %.4f: %s answers", s.network,
                s.anchor, s.pool,
                c->answer_source == LL_ANSWER_BY_ANCHOR ? "the anchor"
                : c->answer_source == LL_ANSWER_BY_BOTH ? "the pool of both"
                                                        : "the network");
    }
    ll_free(x);
    return st == LLAP_ENUMERIC ? settle_without(c, o) : st;
}

/* The same, unless an earlier run has done it: the answer source and the factors of the spread. */
static llap_status settle_once(ll_training_run *run, llap_model *m, const ll_training_set *f,
                               const llap_train_opts *o)
{
    ll_feature_config *c = &m->network->config.features;
    ll_reals          *factor = &c->calibration_factor;
    enum { MOST = LL_REALS_MAX };
    double kept[2 + MOST] = { 0 };
    if (ll_training_run_find(run, "settled", kept, 2 + MOST)) {
        if (!(kept[0] >= 0 && kept[0] <= LL_ANSWER_BY_BOTH && kept[1] >= 0 && kept[1] <= MOST))
            return ll_fail(
                LLAP_EFORMAT,
                "%s: note 'settled': expected an answer source of 0..%d and 0..%d factors, "
                "found %g and %g",
                o->state, LL_ANSWER_BY_BOTH, MOST, kept[0], kept[1]);
        c->answer_source = (ll_answer_source)kept[0];
        factor->n = (int)kept[1];
        for (int i = 0; i < MOST; i++) factor->v[i] = kept[2 + i];
        if (ll_network_config_check(&m->network->config) == LLAP_OK) return LLAP_OK;
        return ll_fail_in(LLAP_EFORMAT, "%s: note 'settled'", o->state);
    }
    const llap_status st = settle(m, f, o);
    if (st != LLAP_OK) return st;
    kept[0] = (double)c->answer_source;
    kept[1] = (double)factor->n;
    for (int i = 0; i < factor->n; i++) kept[2 + i] = factor->v[i];
    const llap_status noted = ll_training_run_keep(run, "settled", kept, 2 + MOST);
    if (noted == LLAP_OK) ll_training_run_save(run, "networks");
    return noted;
}

/* With what the caller left to us. */
static llap_train_opts resolved(const llap_train_opts *o, const ll_network_config *c,
                                const ll_training_set *f)
{
    llap_train_opts all = *o;
    all.steps = f->recipe.networks.stage.steps;
    all.batch = f->batch;
    all.lr = f->recipe.networks.stage.lr;
    all.members = c->options.members;
    return all;
}

static llap_status remember(llap_model *m, const llap_train_opts *o, const ll_json *config,
                            const ll_training_set *f)
{
    const llap_train_opts all = resolved(o, &m->network->config, f);
    return ll_train_options_keep(&all, config, &f->recipe, m);
}

static llap_status open_run(const ll_training_set *f, const ll_model_frame *frame,
                            const llap_panel *p, const llap_train_opts *o,
                            const ll_network_config *c, const ll_json *config,
                            ll_training_run **run, llap_model **finished)
{
    const llap_train_opts all = resolved(o, c, f);
    char                 *text = NULL;
    llap_status           st = ll_train_options_text(&all, config, &f->recipe, &text);
    const ll_run_job      job = { .network = c, .recipe = &f->recipe, .text = text };
    if (st == LLAP_OK) st = ll_training_run_open(p, o, frame, &job, run, finished);
    ll_free(text);
    return st;
}

static llap_status reserve(const ll_training_run *run, const ll_model_frame *frame,
                           const ll_network *net)
{
    const size_t   n = ll_training_run_weights(net->params, "member.0.");
    const int64_t  members = net->config.options.members;
    ll_stage_size *stage = ll_new((size_t)members + 1, sizeof *stage);
    if (stage == NULL) return LLAP_ENOMEM;
    stage[0].kept = ll_anchors_numbers(frame);
    for (int64_t i = 0; i < members; i++) stage[i + 1] = (ll_stage_size){ 2 * n, 4 * n };
    const llap_status st = ll_training_run_reserve(run, stage, (int)members + 1);
    ll_free(stage);
    return st;
}

static llap_status load_from(const char *path, llap_model **from)
{
    *from = NULL;
    if (path == NULL) return LLAP_OK;
    const llap_status st = llap_model_load(path, from);
    if (st != LLAP_OK) return st;
    const ll_network *n = (*from)->network;
    if (n != NULL && n->config.profile == LL_PROFILE_DEFAULT) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "from: %s has no networks of the default profile", path);
}

/* Can training start from that model? Whether calendar features are used is known only once the
 * anchors are fitted: until then, as in that model. */
static llap_status check_from(const llap_model *from, const ll_training_set *f,
                              const ll_model_frame *frame, const llap_train_opts *o, ll_size size,
                              const ll_json *config, const double *edge)
{
    ll_training_set   like = *f;
    ll_network_config c;
    ll_network       *net = NULL;
    if (config == NULL || !ll_json_has(config, "network.features.calendar"))
        like.layout.calendar = f->layout.calendar && from->network->config.features.calendar;
    llap_status st = configure(frame, &like, o, size, config, edge, &c);
    if (st == LLAP_OK) st = ll_network_create(&c, (const char *const *)f->input, &net);
    if (st == LLAP_OK) st = ll_network_take_from(from, 0, net->params, "member.0.");
    if (st == LLAP_OK) ll_targets_compare(o, &from->frame, frame);
    ll_network_destroy(net);
    return st;
}

llap_status ll_train_networks_open(ll_training_set *f, const ll_model_frame *frame,
                                   const llap_panel *p, const int64_t *var,
                                   const llap_train_opts *o, ll_size size, const ll_json *config,
                                   ll_training_run **run, llap_model **finished)
{
    const double      edge[2] = { 24, 72 }; /* whatever they will be */
    ll_network_config c;
    ll_network       *net = NULL;
    llap_model       *from = NULL;
    llap_status       st = ll_training_set_init(f, frame, p, var, o, size, config);
    if (st == LLAP_OK) st = load_from(o->from, &from); /* that it can be, before it is needed */
    if (st == LLAP_OK) st = configure(frame, f, o, size, config, edge, &c);
    if (st == LLAP_OK && from != NULL) st = check_from(from, f, frame, o, size, config, edge);
    llap_model_destroy(from);
    if (st == LLAP_OK) st = ll_network_create(&c, (const char *const *)f->input, &net);
    if (st == LLAP_OK) st = open_run(f, frame, p, o, &c, config, run, finished);
    if (st == LLAP_OK && *finished == NULL) st = reserve(*run, frame, net);
    ll_network_destroy(net);
    return st;
}

/* What there is without networks. */
static void compare_with_anchors(const llap_model *m, char *text, size_t size)
{
    double        crps = 0;
    const int64_t n = m->frame.n_targets;
    for (int64_t i = 0; i < n; i++) crps += m->anchor[i]->valid_crps / (double)n;
    snprintf(text, size, "validation CRPS of the anchor alone %.4f", crps);
}

static bool names(const ll_json *config, const char *path)
{
    return config != NULL && ll_json_has(config, path);
}

/* How many of them, and steps of each, unless it was settled before. 0: none fit. */
static llap_status ask_budget(ll_training_run *run, const llap_model *m, const ll_training_set *f,
                              const llap_train_opts *o, ll_size size, const ll_json *config,
                              ll_work *w)
{
    char             without[100];
    ll_network      *net = NULL;
    ll_work_cost     cost = { 0 };
    ll_work_question q = { .name = "networks", .without = without };
    if (ll_work_settled(run, q.name, w)) return LLAP_OK;
    llap_status st = make_network(m, f, o, size, config, &net);
    if (st == LLAP_OK) {
        q.asked = (ll_work){ net->config.options.members, f->recipe.networks.stage.steps };
        q.less.networks = o->members <= 0 && !names(config, "network.options.members");
        q.less.steps = o->steps <= 0 && !names(config, "training.networks.steps");
        compare_with_anchors(m, without, sizeof without);
        st = ll_measure_member(m, net, f, o, &cost);
    }
    if (st == LLAP_OK) st = ll_work_settle(run, o, &q, &cost, w);
    ll_network_destroy(net);
    return st;
}

static llap_status train_members(llap_model *m, ll_training_run *run, ll_training_set *f,
                                 const llap_train_opts *o, ll_size size, const ll_json *config)
{
    ll_network *net = NULL;
    llap_model *from = NULL;
    llap_status st = load_from(o->from, &from);
    if (st == LLAP_OK) st = make_network(m, f, o, size, config, &net);
    if (st == LLAP_OK)
        ll_logf(o->log, LLAP_LOG_INFO, "networks: %zu examples of %lld series, %lld members",
                f->train->n, (long long)ll_feature_channels(&f->layout),
                (long long)net->config.options.members);
    for (int64_t i = 0; st == LLAP_OK && i < net->config.options.members; i++)
        st = ll_train_member(run, m, net, f, o, from, i);
    if (st == LLAP_OK) st = ll_training_run_table(run, &m->report);
    llap_model_destroy(from);
    if (st != LLAP_OK) {
        ll_network_destroy(net);
        return st;
    }
    assert(m->network == NULL);
    m->network = net;
    st = settle_once(run, m, f, o);
    return st == LLAP_OK ? remember(m, o, config, f) : st;
}

llap_status ll_train_networks(llap_model *m, ll_training_run *run, ll_training_set *f,
                              const llap_panel *p, const llap_train_opts *o, ll_size size,
                              const ll_json *config, bool *fits)
{
    llap_train_opts how = *o;
    ll_work         w = { 0 };
    llap_status     st = ll_training_set_see(f, m, p, config);
    if (st == LLAP_OK) st = ask_budget(run, m, f, o, size, config, &w);
    *fits = w.networks > 0;
    if (st != LLAP_OK || !*fits) return st;
    how.members = w.networks;
    if (w.steps != f->recipe.networks.stage.steps) {
        how.steps = w.steps;
        st = ll_training_set_steps(f, &m->frame, w.steps, o, size, config);
    }
    return st == LLAP_OK ? train_members(m, run, f, &how, size, config) : st;
}
