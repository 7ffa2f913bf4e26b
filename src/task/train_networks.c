/* Training the networks of the default profile, spec accuracy.md 4.5-4.9: rows of the anchor's
 * residuals, members by different seeds, the best by sampled validation CRPS, spread and guard. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "data/scaling.h"
#include "task/device.h"
#include "task/networks.h"
#include "task/recipe.h"
#include "task/train.h"
#include "task/training.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define HOUR INT64_C(3600000000000)
#define DAY (24 * HOUR)

enum {
    JOINT_MAX = 32, /* channels of one trajectory */
    QUERIES = 64,   /* of a row of irregular data, at most */
};
#define TOKEN_BYTES ((size_t)1 << 29) /* of tokens made once, at most */

/* ---- what is trained on ---- */

typedef struct field { /* everything that training looks at */
    llap_windows     *windows;
    llap_split       *split;
    llap_scaling     *scaling; /* of the inputs; NULL: none */
    const char      **input;   /* names */
    int64_t           n_inputs;
    task_sight        sight;
    task_rows         train_rows, check_rows, final_rows;
    llap_feature_set *train, *check, *final;

    const llap_backend *backend; /* that trains and draws */
    task_recipe         recipe;
    int64_t             batch; /* rows of a step */
} field;

static void field_deinit(field *f)
{
    llap_feature_set_destroy(f->train);
    llap_feature_set_destroy(f->check);
    llap_feature_set_destroy(f->final);
    task_rows_deinit(&f->train_rows);
    task_rows_deinit(&f->check_rows);
    task_rows_deinit(&f->final_rows);
    task_sight_deinit(&f->sight);
    llap_scaling_destroy(f->scaling);
    llap_split_destroy(f->split);
    llap_windows_destroy(f->windows);
    llap_free((void *)f->input);
}

/* Every variable that is no target is an input. */
static llap_status find_inputs(field *f, const llap_panel *p, const int64_t *var, int64_t n_targets)
{
    f->input = llap_new((size_t)p->n_vars, sizeof *f->input);
    if (f->input == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < p->n_vars; v++) {
        bool target = false;
        for (int64_t i = 0; i < n_targets; i++) target = target || var[i] == v;
        if (target) continue;
        f->input[f->n_inputs++] = p->var[v];
    }
    return LLAP_OK;
}

/* Do all entities have their rows on one grid of the model's step? */
static bool on_grid(const llap_panel *p, int64_t step)
{
    int64_t off = 0;
    for (int64_t r = 0; r < p->n_rows; r++) off += (p->time[r] - p->time[0]) % step != 0;
    return (double)off <= 1e-3 * (double)p->n_rows;
}

static llap_status choose_view(const llap_model *m, const llap_panel *p, const char *view,
                               llap_feature_view *out)
{
    static const char *const names[] = { "rows", "entity", "joint" };
    const llap_model_frame  *f = &m->frame;
    const int64_t            Z = f->n_entities * f->n_targets;
    const bool               can[] = { true, f->n_targets <= JOINT_MAX,
                                       !f->by_entity && Z <= JOINT_MAX && on_grid(p, f->step) };
    if (view == NULL || strcmp(view, "auto") == 0) {
        *out = can[LLAP_FEATURE_JOINT] && Z > 1               ? LLAP_FEATURE_JOINT
               : can[LLAP_FEATURE_ENTITY] && f->n_targets > 1 ? LLAP_FEATURE_ENTITY
                                                              : LLAP_FEATURE_ROWS;
        return LLAP_OK;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(view, names[i]) != 0) continue;
        *out = (llap_feature_view)i;
        return can[i]
                   ? LLAP_OK
                   : llap_fail(LLAP_EINVAL, "view: %s rows need at most %d series%s", view,
                               JOINT_MAX, i == LLAP_FEATURE_JOINT ? " on one grid of times" : "");
    }
    return llap_fail(LLAP_EINVAL, "view: expected auto, joint, entity or rows, found '%s'", view);
}

/* Features that the configuration of the networks may decide instead of the data. */
static llap_status layout_options(const llap_json *config, llap_layout *l)
{
    static const char *const names[] = { "anchor", "none", "global" };
    const char              *text = NULL;
    llap_status              st = LLAP_OK;
    if (config == NULL) return st;
    if (llap_json_has(config, "network.features.level"))
        st = llap_json_bool(config, "network.features.level", &l->level);
    if (st == LLAP_OK && llap_json_has(config, "network.features.calendar"))
        st = llap_json_bool(config, "network.features.calendar", &l->calendar);
    if (st == LLAP_OK && llap_json_has(config, "network.features.residual"))
        st = llap_json_string(config, "network.features.residual", &text);
    for (int i = 0; text != NULL && i < 3; i++) /* other words are refused with all options */
        if (strcmp(text, names[i]) == 0) l->residual = (llap_residual)i;
    return st;
}

static llap_status make_layout(const llap_model *m, const llap_panel *p, const char *view,
                               const llap_json *config, int64_t n_inputs, llap_layout *out)
{
    const llap_model_frame *f = &m->frame;
    const double            unit = (double)f->unit;
    const bool              daily = f->axis == LLAP_AXIS_CALENDAR && f->step <= 6 * HOUR;
    *out = (llap_layout){ .entities = f->by_entity ? 0 : f->n_entities,
                          .targets = f->n_targets,
                          .covariates = n_inputs,
                          .horizon = (double)f->horizon / unit };
    for (int64_t c = 0; c < f->n_targets; c++)
        if (daily && m->anchor[c]->chain->n_climate == 0) out->calendar = true;
    /* Levels tell seasons apart, once training has seen each of them twice, and entities. */
    out->level = f->by_entity || (f->axis == LLAP_AXIS_CALENDAR && p->n_rows > 0 &&
                                  f->val_start - p->time[0] >= 730 * DAY);
    llap_feature_slots((double)f->context / unit, (double)f->step / unit, out);
    const llap_status st = choose_view(m, p, view, &out->view);
    return st == LLAP_OK ? layout_options(config, out) : st;
}

static llap_status make_rows(field *f, const llap_model *m)
{
    const llap_layout          *l = &f->sight.layout;
    const task_recipe_networks *r = &f->recipe.networks;
    const size_t                steps = (size_t)(m->frame.horizon / m->frame.step);
    task_rows_opts              o = { .part = LLAP_PART_TRAIN,
                                      .most = (size_t)r->rows,
                                      .max_query = steps > QUERIES ? steps : QUERIES };
    llap_status st = task_rows_of(&f->sight, m, f->windows, f->split, &o, &f->train_rows);
    o.part = LLAP_PART_VAL;
    o.most = (size_t)r->check_rows;
    if (st == LLAP_OK) st = task_rows_of(&f->sight, m, f->windows, f->split, &o, &f->check_rows);
    o.most = (size_t)r->final_rows;
    if (st == LLAP_OK) st = task_rows_of(&f->sight, m, f->windows, f->split, &o, &f->final_rows);
    const llap_feature_source *s = &f->sight.source;
    if (st == LLAP_OK)
        st = llap_feature_set_create(l, s, f->train_rows.row, f->train_rows.n, &f->train);
    if (st == LLAP_OK)
        st = llap_feature_set_create(l, s, f->check_rows.row, f->check_rows.n, &f->check);
    if (st == LLAP_OK)
        st = llap_feature_set_create(l, s, f->final_rows.row, f->final_rows.n, &f->final);
    if (st == LLAP_OK) st = llap_feature_set_remember(f->train, TOKEN_BYTES);
    if (st == LLAP_OK) st = llap_feature_set_remember(f->check, TOKEN_BYTES);
    if (st == LLAP_OK && (f->train->n == 0 || f->check->n == 0))
        st = llap_fail(LLAP_EINVAL, "networks: nothing observed in training or validation");
    return st;
}

/* What size, view and horizon suggest, and what the caller wants otherwise. Long horizons memorise
 * sooner. */
static llap_status make_recipe(const llap_model *m, llap_feature_view view, llap_size size,
                               const llap_train_opts *o, const llap_json *config, task_recipe *out)
{
    static const int64_t     rows[] = { 80000, 20000, 6000 }; /* by view */
    const llap_residual_opts usual = LLAP_RESIDUAL_OPTS;
    const int64_t            h = m->frame.horizon / m->frame.step;
    const bool               tiny = size == LLAP_SIZE_TINY;
    const int64_t            steps = o->steps > 0 ? o->steps
                                     : tiny       ? 300
                                     : h <= 24    ? 1000
                                     : h < 168    ? 600
                                                  : 400;
    const double             lr = o->lr > 0 ? o->lr : tiny ? 2e-3 : h <= 24 ? 5e-4 : 3e-4;
    *out = (task_recipe){
        .profile = LLAP_PROFILE_DEFAULT,
        .networks = { .stage = { .steps = steps,
                                 .patience = 4,
                                 .patience_from = 1,
                                 .lr = lr,
                                 .optim = usual.optim },
                      .lr_least = usual.lr_least,
                      .vary = usual.vary,
                      .rows = rows[view],
                      .check_rows = 256,
                      .check_samples = 8,
                      .check_steps = 10,
                      .final_rows = view == LLAP_FEATURE_JOINT ? 256 : 512,
                      .final_samples = 24 },
    };
    task_recipe_networks *n = &out->networks;
    llap_status           st = task_recipe_read(config, out); /* the steps, which others follow */
    if (st != LLAP_OK) return st;
    n->stage.check_every = n->stage.steps / 10 < 100 ? (n->stage.steps + 9) / 10 : 100;
    n->warmup = n->stage.steps / 8 < 200 ? n->stage.steps / 8 : 200;
    st = task_recipe_read(config, out);
    return st == LLAP_OK ? task_recipe_agrees(out, o->steps, o->lr) : st;
}

static llap_status field_init(field *f, const llap_model *m, const llap_panel *p,
                              const llap_train_opts *o, llap_size size, const llap_json *config)
{
    *f = (field){ .batch = o->batch > 0 ? o->batch : size == LLAP_SIZE_TINY ? 64 : 128 };
    int64_t    *var = llap_new((size_t)m->frame.n_targets, sizeof *var);
    llap_layout layout;
    llap_status st = var == NULL ? LLAP_ENOMEM : task_columns(m, p, var);
    if (st == LLAP_OK) st = task_device(o->device, o->precision, &f->backend);
    if (st == LLAP_OK) st = find_inputs(f, p, var, m->frame.n_targets);
    if (st == LLAP_OK) st = task_windows(&m->frame, p, var, m->frame.n_targets, &f->windows);
    if (st == LLAP_OK) st = task_split(&m->frame, f->windows, &f->split);
    if (st == LLAP_OK && f->n_inputs > 0) {
        int64_t *feature = llap_new((size_t)f->n_inputs, sizeof *feature);
        for (int64_t i = 0; feature != NULL && i < f->n_inputs; i++)
            feature[i] = llap_panel_find_var(p, f->input[i]);
        llap_scaling_opts so = LLAP_SCALING_DEFAULT;
        so.by = m->frame.by_entity ? LLAP_SCALE_GLOBAL : LLAP_SCALE_BY_ENTITY;
        so.feature = feature;
        so.n_features = f->n_inputs;
        st = feature == NULL ? LLAP_ENOMEM
                             : llap_scaling_create(f->windows, f->split, &so, &f->scaling);
        llap_free(feature);
    }
    if (st == LLAP_OK) st = make_layout(m, p, o->view, config, f->n_inputs, &layout);
    if (st == LLAP_OK) st = make_recipe(m, layout.view, size, o, config, &f->recipe);
    const task_inputs in = { .n = f->n_inputs,
                             .name = (const char *const *)f->input,
                             .mean = f->scaling != NULL ? f->scaling->x_mean : NULL,
                             .std = f->scaling != NULL ? f->scaling->x_std : NULL };
    if (st == LLAP_OK) st = task_sight_init(&f->sight, m, p, &layout, &in);
    if (st == LLAP_OK) st = make_rows(f, m);
    llap_free(var);
    return st;
}

/* ---- the model's networks ---- */

/* Options of a file on top; what the data decides stays as it is. */
static llap_status read_options(const llap_json *config, llap_network_config *c)
{
    const llap_network_config was = *c;
    c->size = LLAP_SIZE_CUSTOM;
    const llap_status st = llap_network_config_read(config, "network", c);
    if (st != LLAP_OK) return st;
    if (c->patches.token_dim != was.patches.token_dim || c->patches.tokens != was.patches.tokens ||
        c->patches.entities != was.patches.entities ||
        c->denoiser.data_dim != was.denoiser.data_dim ||
        c->denoiser.query_features != was.denoiser.query_features ||
        c->features.view != was.features.view || c->features.patch != was.features.patch ||
        c->features.patch_rows != was.features.patch_rows ||
        c->features.calendar != was.features.calendar || c->features.level != was.features.level ||
        !c->options.conditioning || c->features.residual != was.features.residual)
        return llap_fail(LLAP_EUNSUPPORTED,
                         "network: sizes and features that the data decides cannot be changed");
    return LLAP_OK;
}

static llap_status make_network(const llap_model *m, const field *f, const llap_train_opts *o,
                                llap_size size, const llap_json *config, llap_network **out)
{
    const llap_layout      *l = &f->sight.layout;
    const llap_network_dims dims = { .entities = m->frame.n_entities,
                                     .inputs = f->n_inputs,
                                     .targets = m->frame.n_targets,
                                     .latent = llap_feature_channels(l),
                                     .tokens = l->tokens,
                                     .token_dim = llap_feature_token_dim(l),
                                     .query_features = llap_feature_query_dim(l),
                                     .embeddings = llap_feature_embeddings(l) };
    llap_network_config     c;
    llap_status             st = llap_network_config_named(LLAP_PROFILE_DEFAULT, size, &dims, &c);
    if (st != LLAP_OK) return st;
    if (o->members > 0) c.options.members = o->members;
    c.features.view = l->view;
    c.features.residual = l->residual;
    c.features.patch_rows = l->slots;
    c.features.patch = l->slot * (double)l->slots;
    c.features.counts = l->view != LLAP_FEATURE_JOINT;
    c.features.entity_mean = l->view == LLAP_FEATURE_ROWS && l->entities > 1;
    c.features.calendar = l->calendar;
    c.features.level = l->level;
    c.features.augment = m->frame.horizon / m->frame.step > 48 ? 0.3 : 0.0;
    c.features.calibration_edge = (llap_reals){
        .n = 2, .v = { m->anchor[0]->calibration.edge[0], m->anchor[0]->calibration.edge[1] }
    };
    st = llap_network_config_check(&c);
    if (st == LLAP_OK && config != NULL && llap_json_has(config, "network"))
        st = read_options(config, &c);
    if (st == LLAP_OK) st = llap_network_create(&c, (const char *const *)f->input, out);
    if (st != LLAP_OK || f->scaling == NULL) return st;
    const llap_param_info *mean = llap_params_find((*out)->params, "scale.x.mean");
    const llap_param_info *std = llap_params_find((*out)->params, "scale.x.std");
    memcpy(mean->data, f->scaling->x_mean, (size_t)mean->count * sizeof(float));
    memcpy(std->data, f->scaling->x_std, (size_t)std->count * sizeof(float));
    return LLAP_OK;
}

static llap_residual_opts training_of(const llap_model *m, const llap_network_config *c,
                                      const llap_train_opts *o, const field *f, int64_t member)
{
    const task_recipe_networks *r = &f->recipe.networks;
    llap_residual_opts          t = LLAP_RESIDUAL_OPTS;
    t.steps = r->stage.steps;
    t.batch = f->batch;
    t.warmup = r->warmup;
    t.lr = r->stage.lr;
    t.lr_least = r->lr_least;
    t.optim = r->stage.optim;
    t.vary = r->vary;
    t.vary.noise = 0.3 * c->features.augment;
    t.vary.drop = 0.5 * c->features.augment;
    t.seed = (uint64_t)o->seed + (uint64_t)member * UINT64_C(1000003);
    t.unit_hours = m->frame.axis == LLAP_AXIS_CALENDAR ? (double)m->frame.unit / HOUR : 0.0;
    t.n_threads = omp_get_max_threads();
    t.backend = f->backend;
    return t;
}

/* ---- validation ---- */

/* Samples of all rows of a set, [n,n_samples,h,Z]. Caller owns *out. */
static llap_status draw(const task_networks *n, const llap_backend *backend, const llap_log *log,
                        const llap_feature_set *set, int steps, int64_t n_samples, uint64_t seed,
                        float **out)
{
    const int64_t          Z = llap_feature_channels(&set->c);
    const int64_t          R = (n_samples + n->n_members - 1) / n->n_members;
    const int64_t          paths = backend->memory == NULL ? 128 : 8192;
    const int64_t          rows = R < paths ? paths / R : 1;
    const llap_draw_plan   o = { .rows = rows < (int64_t)set->n ? rows : (int64_t)set->n,
                                 .samples = R,
                                 .h = set->h,
                                 .solver = n->sampling.solver.solver,
                                 .steps = steps,
                                 .first = n->sampling.first,
                                 .last = n->sampling.last,
                                 .n_threads = omp_get_max_threads(),
                                 .backend = backend };
    llap_residual_sampler *s = NULL;
    uint32_t              *index = llap_new(set->n, sizeof *index);
    *out = llap_new(set->n * (size_t)n_samples, (size_t)(set->h * Z) * sizeof **out);
    llap_status st = index == NULL || *out == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < set->n && st == LLAP_OK; i++) index[i] = (uint32_t)i;
    if (st == LLAP_OK)
        st = llap_residual_sampler_create(&n->config, n->member, n->n_members, &o, &s);
    if (st == LLAP_OK && llap_residual_sampler_rows(s) < o.rows)
        llap_logf(log, LLAP_LOG_WARNING,
                  "validation: %s: too little memory for %lld rows at once: %lld at a time",
                  backend->name, (long long)o.rows, (long long)llap_residual_sampler_rows(s));
    if (st == LLAP_OK)
        st = llap_residual_draw(s, set, index, (int64_t)set->n, seed, n_samples, *out);
    llap_residual_sampler_destroy(s);
    llap_free(index);
    return st;
}

static llap_status check(const llap_model *m, const task_networks *n, const field *f,
                         const llap_log *log, uint64_t seed, task_check *out)
{
    const task_recipe_networks *r = &f->recipe.networks;
    float                      *x = NULL;
    const llap_status           st =
        draw(n, f->backend, log, f->check, (int)r->check_steps, r->check_samples, seed, &x);
    if (st == LLAP_OK) *out = task_networks_check(m, f->check, n, x, f->check->h, r->check_samples);
    llap_free(x);
    return st;
}

/* ---- members ---- */

typedef struct member_run {
    const llap_model      *m;
    const field           *f;
    const llap_train_opts *o;
    llap_residual_trainer *trainer;
    task_networks          networks; /* the trainer's average as the only member */
    task_check             score;    /* of the last check */
    char                   name[40]; /* "member.0" */
} member_run;

static llap_status member_step(void *user, int64_t step, double *loss, double *norm)
{
    member_run *r = user;
    return llap_residual_step(r->trainer, step, loss, norm);
}

static llap_status member_check(void *user, int64_t step, double *score)
{
    member_run       *r = user;
    const llap_status st =
        check(r->m, &r->networks, r->f, r->o->log, (uint64_t)r->o->seed, &r->score);
    if (st != LLAP_OK) return st;
    *score = r->score.network;
    llap_logf(r->o->log, LLAP_LOG_INFO, "%s: step %lld: validation CRPS %.4f (anchor %.4f)",
              r->name, (long long)step, r->score.network, r->score.anchor);
    return LLAP_OK;
}

static void member_fields(void *user, llap_json_writer *w)
{
    const member_run *r = user;
    llap_json_put_double(w, "anchor", r->score.anchor);
}

/* The networks of another model as the start; its members in turn where it has fewer. */
static llap_status start_from(const llap_model *from, int64_t member, llap_params *params)
{
    static const char *const part[] = { "summarizer.", "denoiser." };
    llap_status              st = LLAP_OK;
    member %= from->network->config.options.members;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        char source[80];
        snprintf(source, sizeof source, "member.%lld.%s", (long long)member, part[i]);
        st = llap_params_take(params, part[i], from->network->params, source);
    }
    if (st != LLAP_OK) return llap_fail_in(st, "from: networks of another size or layout");
    llap_params_start_ema(params);
    return llap_params_push(params);
}

static llap_status train_member(task_training *run, const llap_model *m, llap_network *net,
                                const field *f, const llap_train_opts *o, const llap_model *from,
                                int64_t member)
{
    const llap_residual_opts   t = training_of(m, &net->config, o, f, member);
    const llap_network_config *c = &net->config;
    member_run                *r = llap_new(1, sizeof *r);
    char                       prefix[48];
    if (r == NULL) return LLAP_ENOMEM;
    *r = (member_run){ .m = m,
                       .f = f,
                       .o = o,
                       .networks = { .config = { .layout = f->sight.layout,
                                                 .patches = c->patches,
                                                 .denoiser = c->denoiser },
                                     .n_members = 1,
                                     .sampling = c->sampling,
                                     .edge = &c->features.calibration_edge,
                                     .factor = &c->features.calibration_factor } };
    snprintf(r->name, sizeof r->name, "member.%lld", (long long)member);
    snprintf(prefix, sizeof prefix, "%s.", r->name);
    llap_status st = llap_residual_trainer_create(&r->networks.config, f->train, &t, &r->trainer);
    if (st == LLAP_OK && llap_residual_trainer_pieces(r->trainer) > 1)
        llap_logf(o->log, LLAP_LOG_WARNING,
                  "%s: %s: too little memory for batches of %lld: they go in %lld pieces", r->name,
                  f->backend->name, (long long)t.batch,
                  (long long)llap_residual_trainer_pieces(r->trainer));
    if (st == LLAP_OK) {
        llap_params *params = llap_residual_trainer_params(r->trainer);
        if (from != NULL) st = start_from(from, member, params);
        r->networks.member[0] = (llap_residual_member){ .params = params, .part = LLAP_PARAMS_EMA };
        task_stage stage = task_stage_of(&f->recipe.networks.stage);
        stage.name = r->name;
        stage.params = params;
        stage.user = r;
        stage.step = member_step;
        stage.evaluate = member_check;
        stage.fields = member_fields;
        if (st == LLAP_OK) st = task_training_stage(run, &stage, NULL);
        if (st == LLAP_OK) st = llap_params_take(net->params, prefix, params, "ema.");
    }
    llap_residual_trainer_destroy(r->trainer);
    llap_free(r);
    return st;
}

/* ---- spread and guard, spec accuracy.md 4.9 ---- */

/* Validation of less than two months may be of another season than what is to come. */
static bool short_validation(const llap_model_frame *f)
{
    return !f->by_entity && f->axis == LLAP_AXIS_CALENDAR &&
           f->test_start - f->val_start < 60 * DAY;
}

static llap_status settle(llap_model *m, const field *f, const llap_train_opts *o)
{
    llap_feature_config *c = &m->network->config.features;
    task_networks        n;
    float               *x = NULL;
    const int            steps = (int)m->network->config.sampling.steps;
    task_networks_init(&n, m);
    const int64_t R = f->recipe.networks.final_samples;
    llap_status   st = draw(&n, f->backend, o->log, f->final, steps, R, (uint64_t)o->seed, &x);
    if (st == LLAP_OK) {
        task_networks_calibrate(f->final, x, f->final->h, R, &c->calibration_edge,
                                &c->calibration_factor);
        const task_check s = task_networks_check(m, f->final, &n, x, f->final->h, R);
        c->guard = f->sight.layout.residual != LLAP_RESIDUAL_ANCHOR
                       ? LLAP_GUARD_NETWORK
                       : task_networks_guard(&s, short_validation(&m->frame));
        llap_logf(o->log, LLAP_LOG_INFO,
                  "networks: validation CRPS %.4f, anchor %.4f, both %.4f: %s answers", s.network,
                  s.anchor, s.pool,
                  c->guard == LLAP_GUARD_ANCHOR ? "the anchor"
                  : c->guard == LLAP_GUARD_POOL ? "the pool of both"
                                                : "the network");
    }
    llap_free(x);
    return st;
}

/* With what the caller left to us. */
static llap_status remember(llap_network *net, const llap_train_opts *o, const field *f)
{
    llap_train_opts all = *o;
    all.steps = f->recipe.networks.stage.steps;
    all.batch = f->batch;
    all.lr = f->recipe.networks.stage.lr;
    all.members = net->config.options.members;
    return task_train_remember(&all, &f->recipe, net);
}

llap_status task_networks_train(llap_model *m, const llap_panel *p, const llap_train_opts *o,
                                llap_size size, const llap_json *config)
{
    field          f;
    llap_network  *net = NULL;
    task_training *run = NULL;
    llap_model    *from = NULL;
    llap_status    st = field_init(&f, m, p, o, size, config);
    if (st == LLAP_OK && o->from != NULL) st = llap_model_load(o->from, &from);
    if (st == LLAP_OK && from != NULL &&
        (from->network == NULL || from->network->config.profile != LLAP_PROFILE_DEFAULT))
        st = llap_fail(LLAP_EINVAL, "from: %s has no networks of the default profile", o->from);
    if (st == LLAP_OK) st = make_network(m, &f, o, size, config, &net);
    if (st == LLAP_OK) st = task_training_open(p, o, &m->frame, &net->config, &f.recipe, &run);
    if (st == LLAP_OK)
        llap_logf(o->log, LLAP_LOG_INFO, "networks: %zu rows of %lld series, %lld members",
                  f.train->n, (long long)llap_feature_channels(&f.sight.layout),
                  (long long)net->config.options.members);
    for (int64_t i = 0; st == LLAP_OK && i < net->config.options.members; i++)
        st = train_member(run, m, net, &f, o, from, i);
    if (st == LLAP_OK) task_training_table(run);
    task_training_destroy(run);
    llap_model_destroy(from);
    if (st == LLAP_OK) {
        m->network = net;
        st = settle(m, &f, o);
        if (st == LLAP_OK) st = remember(net, o, &f);
    } else {
        llap_network_destroy(net);
    }
    field_deinit(&f);
    return st;
}
