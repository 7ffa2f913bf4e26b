/* What the networks of the default profile are trained on: examples of the anchors' residuals, in
 * the view that data, size and options ask for. */
#include "train/training_set.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/time/civil.h"
#include "predict/device.h"
#include "predict/view/frame.h"
#include "predict/view/panel_view.h"
#include "residual/residual.h"
#include "train/run/config.h"
#include "train/run/recipe.h"

#include <assert.h>
#include <string.h>

enum {
    JOINT_MAX = 32, /* channels of one trajectory */
    QUERIES = 64,   /* of a row of irregular data, at most */
};
#define TOKEN_BYTES ((size_t)1 << 29) /* of tokens made once, at most */

void ll_training_set_deinit(ll_training_set *f)
{
    ll_feature_set_destroy(f->train);
    ll_feature_set_destroy(f->check);
    ll_feature_set_destroy(f->final);
    ll_examples_deinit(&f->train_list);
    ll_examples_deinit(&f->check_list);
    ll_examples_deinit(&f->final_list);
    ll_panel_view_deinit(&f->view);
    ll_scaling_destroy(f->scaling);
    ll_split_destroy(f->split);
    ll_windows_destroy(f->windows);
    ll_free((void *)f->input);
}

/* Every variable that is no target is an input. */
static llap_status find_inputs(ll_training_set *f, const llap_panel *p, const int64_t *var,
                               int64_t n_targets)
{
    f->input = ll_new((size_t)p->n_vars, sizeof *f->input);
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
    for (int64_t r = 0; r < p->n_rows; r++) {
        const int64_t t = p->time[r], zero = p->time[0];
        off += (t < zero ? ll_elapsed(t, zero) : ll_elapsed(zero, t)) % (uint64_t)step != 0;
    }
    return (double)off <= 1e-3 * (double)p->n_rows;
}

static llap_status choose_view(const ll_model_frame *f, const llap_panel *p, llap_train_view view,
                               ll_feature_view *out)
{
    static const ll_feature_view views[] = { [LLAP_TRAIN_VIEW_JOINT] = LL_FEATURE_JOINT,
                                             [LLAP_TRAIN_VIEW_ENTITY] = LL_FEATURE_ENTITY,
                                             [LLAP_TRAIN_VIEW_ROWS] = LL_FEATURE_SINGLE };
    const int64_t                Z = f->n_entities * f->n_targets;
    const bool                   can[] = { true, f->n_targets <= JOINT_MAX,
                                           !f->by_entity && Z <= JOINT_MAX && on_grid(p, f->step) };
    assert(view > LLAP_TRAIN_VIEW_DEFAULT && view <= LLAP_TRAIN_VIEW_ROWS);
    if (view == LLAP_TRAIN_VIEW_AUTO) {
        *out = can[LL_FEATURE_JOINT] && Z > 1               ? LL_FEATURE_JOINT
               : can[LL_FEATURE_ENTITY] && f->n_targets > 1 ? LL_FEATURE_ENTITY
                                                            : LL_FEATURE_SINGLE;
        return LLAP_OK;
    }
    *out = views[view];
    if (can[*out]) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "view: %s examples need at most %d series%s",
                   ll_option_word(llap_train_options(), "view", (int)view), JOINT_MAX,
                   *out == LL_FEATURE_JOINT ? " on one grid of times" : "");
}

/* Features that the configuration of the networks may decide instead of the data. */
static llap_status layout_options(const ll_json *config, ll_layout *l)
{
    static const char *const names[] = { "anchor", "none", "global" };
    const char              *text = NULL;
    llap_status              st = LLAP_OK;
    if (config == NULL) return st;
    if (ll_json_has(config, "network.features.level"))
        st = ll_json_bool(config, "network.features.level", &l->level);
    if (st == LLAP_OK && ll_json_has(config, "network.features.calendar"))
        st = ll_json_bool(config, "network.features.calendar", &l->calendar);
    if (st == LLAP_OK && ll_json_has(config, "network.features.residual"))
        st = ll_json_string(config, "network.features.residual", &text);
    for (int i = 0; text != NULL && i < 3; i++) /* other words are refused with all options */
        if (strcmp(text, names[i]) == 0) l->residual = (ll_residual)i;
    return st;
}

static bool is_daily(const ll_model_frame *f)
{
    return f->axis == LL_AXIS_CALENDAR && f->step <= 6 * LL_NS_PER_HOUR;
}

/* The first time of any entity; without rows after all times. */
static int64_t beginning(const llap_panel *p)
{
    int64_t first = INT64_MAX;
    for (int64_t e = 0; e < p->n_entities; e++)
        if (p->start[e] < p->start[e + 1] && p->time[p->start[e]] < first)
            first = p->time[p->start[e]];
    return first;
}

/* Before the anchors are known: as if none of them had a climate. */
static llap_status make_layout(const ll_model_frame *f, const llap_panel *p, llap_train_view view,
                               const ll_json *config, int64_t n_inputs, ll_layout *out)
{
    const double unit = (double)f->unit;
    *out = (ll_layout){ .entities = f->by_entity ? 0 : f->n_entities,
                        .targets = f->n_targets,
                        .covariates = n_inputs,
                        .calendar = is_daily(f),
                        .horizon = (double)f->horizon / unit };
    /* Levels are features where they tell entities apart, or seasons that training has seen twice.
     * */
    out->level =
        f->by_entity || (f->axis == LL_AXIS_CALENDAR &&
                         (double)f->val_start - (double)beginning(p) >= 730.0 * LL_NS_PER_DAY);
    ll_feature_slots((double)f->context / unit, (double)f->step / unit, out);
    const llap_status st = choose_view(f, p, view, &out->view);
    return st == LLAP_OK ? layout_options(config, out) : st;
}

static llap_status list_examples(ll_training_set *f, const llap_model *m)
{
    const ll_layout          *l = &f->view.layout;
    const ll_recipe_networks *r = &f->recipe.networks;
    const size_t              steps = (size_t)(m->frame.horizon / m->frame.step);
    ll_examples_opts          o = { .part = LL_PART_TRAIN,
                                    .most = (size_t)r->rows,
                                    .max_query = steps > QUERIES ? steps : QUERIES };
    assert(r->rows > 0 && r->check_rows > 0 && r->final_rows > 0); /* 0 would be all */
    llap_status st = ll_examples_of(&f->view, m, f->windows, f->split, &o, &f->train_list);
    o.part = LL_PART_VAL;
    o.most = (size_t)r->check_rows;
    if (st == LLAP_OK) st = ll_examples_of(&f->view, m, f->windows, f->split, &o, &f->check_list);
    o.most = (size_t)r->final_rows;
    if (st == LLAP_OK) st = ll_examples_of(&f->view, m, f->windows, f->split, &o, &f->final_list);
    const ll_feature_source *s = &f->view.source;
    if (st == LLAP_OK)
        st = ll_feature_set_create(l, s, f->train_list.example, f->train_list.n, &f->train);
    if (st == LLAP_OK)
        st = ll_feature_set_create(l, s, f->check_list.example, f->check_list.n, &f->check);
    if (st == LLAP_OK)
        st = ll_feature_set_create(l, s, f->final_list.example, f->final_list.n, &f->final);
    if (st == LLAP_OK) st = ll_feature_set_remember(f->train, TOKEN_BYTES);
    if (st == LLAP_OK) st = ll_feature_set_remember(f->check, TOKEN_BYTES);
    if (st == LLAP_OK && (f->train->n == 0 || f->check->n == 0))
        st = ll_fail(LLAP_EINVAL, "networks: nothing observed in training or validation");
    return st;
}

/* What size, view and horizon suggest, and what the caller wants otherwise. Long horizons memorise
 * sooner. */
static llap_status make_recipe(const ll_model_frame *f, ll_feature_view view, ll_size size,
                               const llap_train_opts *o, const ll_json *config, ll_recipe *out)
{
    static const int64_t   rows[] = { 80000, 20000, 6000 }; /* by view */
    const ll_residual_opts usual = LL_RESIDUAL_OPTS;
    const int64_t          h = f->horizon / f->step;
    const bool             tiny = size == LL_SIZE_TINY;
    const int64_t          steps = o->steps > 0 ? o->steps
                                   : tiny       ? 300
                                   : h <= 24    ? 900
                                   : h < 168    ? 600
                                                : 400;
    const double           lr = o->lr > 0 ? o->lr : tiny ? 2e-3 : h <= 24 ? 5e-4 : 3e-4;
    *out = (ll_recipe){
        .profile = LL_PROFILE_DEFAULT,
        .stacked = o->size == LLAP_TRAIN_SIZE_STACK,
        .stack = LL_RECIPE_STACK,
        .anchor = ll_recipe_anchor_usual(),
        .networks = { .stage = { .steps = steps,
                                 .patience = 6,
                                 .patience_from = 1,
                                 .max_skipped = LL_MAX_SKIPPED,
                                 .lr = lr,
                                 .optim = usual.optim },
                      .lr_least = usual.lr_least,
                      .vary = usual.vary,
                      .rows = rows[view],
                      .check_rows = 256,
                      .check_samples = 8, /* with the same noise at every check */
                      .check_steps = 8,
                      .final_rows = view == LL_FEATURE_JOINT ? 256 : 512,
                      .final_samples = 24,
                      LL_RECIPE_MARGINS },
    };
    ll_recipe_networks *n = &out->networks;
    llap_status         st = ll_recipe_read(config, out); /* the steps, which others follow */
    if (st != LLAP_OK) return st;
    n->stage.check_every = n->stage.steps / 10 < 100 ? (n->stage.steps + 9) / 10 : 100;
    n->warmup = n->stage.steps / 8 < 200 ? n->stage.steps / 8 : 200;
    st = ll_recipe_read(config, out);
    return st == LLAP_OK ? ll_recipe_agrees(out, o->steps, o->lr) : st;
}

static llap_status scale_inputs(ll_training_set *f, const ll_model_frame *frame,
                                const llap_panel *p)
{
    if (f->n_inputs == 0) return LLAP_OK;
    int64_t *feature = ll_new((size_t)f->n_inputs, sizeof *feature);
    for (int64_t i = 0; feature != NULL && i < f->n_inputs; i++) {
        feature[i] = ll_panel_find_var(p, f->input[i]);
        assert(feature[i] >= 0); /* its name came from there */
    }
    ll_scaling_opts so = LL_SCALING_DEFAULT;
    so.by = frame->by_entity ? LL_SCALE_GLOBAL : LL_SCALE_BY_ENTITY;
    so.feature = feature;
    so.n_features = f->n_inputs;
    const llap_status st =
        feature == NULL ? LLAP_ENOMEM : ll_scaling_create(f->windows, f->split, &so, &f->scaling);
    ll_free(feature);
    return st;
}

llap_status ll_training_set_init(ll_training_set *f, const ll_model_frame *frame,
                                 const llap_panel *p, const int64_t *var, const llap_train_opts *o,
                                 ll_size size, const ll_json *config)
{
    *f = (ll_training_set){ .batch = o->batch > 0 ? o->batch : size == LL_SIZE_TINY ? 64 : 128 };
    llap_status st = ll_train_micro_batches(o, f->batch);
    if (st == LLAP_OK) st = ll_backend_choose(o->device, o->precision, &f->backend);
    if (st == LLAP_OK) st = find_inputs(f, p, var, frame->n_targets);
    if (st == LLAP_OK) st = make_layout(frame, p, o->view, config, f->n_inputs, &f->layout);
    if (st == LLAP_OK) st = make_recipe(frame, f->layout.view, size, o, config, &f->recipe);
    return st;
}

llap_status ll_training_set_steps(ll_training_set *f, const ll_model_frame *frame, int64_t steps,
                                  const llap_train_opts *o, ll_size size, const ll_json *config)
{
    llap_train_opts all = *o;
    all.steps = steps;
    return make_recipe(frame, f->layout.view, size, &all, config, &f->recipe);
}

llap_status ll_training_set_see(ll_training_set *f, const llap_model *m, const llap_panel *p,
                                const ll_json *config)
{
    const int64_t C = m->frame.n_targets;
    int64_t      *var = ll_new((size_t)C, sizeof *var);
    llap_status   st = var == NULL ? LLAP_ENOMEM : ll_target_columns(m, p, var);
    assert(m->anchor != NULL && f->windows == NULL);
    f->layout.calendar = false;
    for (int64_t c = 0; c < C && is_daily(&m->frame); c++)
        if (m->anchor[c]->chain->n_climate == 0) f->layout.calendar = true;
    if (st == LLAP_OK) st = layout_options(config, &f->layout);
    if (st == LLAP_OK) st = ll_frame_windows(&m->frame, p, var, C, &f->windows);
    if (st == LLAP_OK) st = ll_frame_split(&m->frame, f->windows, &f->split);
    if (st == LLAP_OK) st = scale_inputs(f, &m->frame, p);
    const ll_model_inputs in = { .n = f->n_inputs,
                                 .name = (const char *const *)f->input,
                                 .mean = f->scaling != NULL ? f->scaling->x_mean : NULL,
                                 .std = f->scaling != NULL ? f->scaling->x_std : NULL };
    if (st == LLAP_OK) st = ll_panel_view_init(&f->view, m, p, &f->layout, &in);
    if (st == LLAP_OK) st = list_examples(f, m);
    ll_free(var);
    return st;
}
