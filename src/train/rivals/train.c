/* From options to a published model. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/time/civil.h"
#include "predict/forecaster.h"
#include "predict/view/frame.h"
#include "train/rivals/rivals.h"
#include "train/run/config.h"
#include "train/run/targets.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* -------- windows -------- */

ll_rival_window ll_rival_training_window(const ll_rival_training *t, uint32_t i, bool read)
{
    const ll_forecast_window w = ll_forecast_window_of(t->windows, (int64_t)i);
    return (ll_rival_window){ .entity = w.entity,
                              .first = w.first,
                              .end = w.end,
                              .origin = w.origin,
                              .time = w.time,
                              .n = w.n_query,
                              .read = read,
                              .id = w.id };
}

static llap_status look(ll_rival_training *t, const llap_panel *p, const int64_t *var)
{
    const ll_model_frame *f = t->frame;
    llap_status           st = ll_frame_windows(f, p, var, f->n_targets, &t->windows);
    if (st == LLAP_OK) st = ll_frame_split(f, t->windows, &t->split);
    if (st == LLAP_OK && (t->split->n[LL_PART_TRAIN] == 0 || t->split->n[LL_PART_VAL] == 0))
        st = ll_fail(LLAP_EINVAL, "nothing observed in the part for training or for validation");
    if (st != LLAP_OK) return st;
    t->train = ll_new((size_t)t->split->n[LL_PART_TRAIN], sizeof *t->train);
    if (t->train == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < t->windows->n; i++)
        if (t->split->part[i] == LL_PART_TRAIN) t->train[t->n_train++] = (uint32_t)i;
    return LLAP_OK;
}

/* Those of validation that are looked at, evenly spread. */
static llap_status choose_checks(ll_rival_training *t)
{
    const int64_t all = t->split->n[LL_PART_VAL], most = t->recipe.published.check_rows;
    const int64_t n = all < most ? all : most;
    int64_t       place = 0;
    t->check = ll_new((size_t)n, sizeof *t->check);
    if (t->check == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < t->windows->n; i++) {
        if (t->split->part[i] != LL_PART_VAL) continue;
        if (t->n_check < n && place == t->n_check * all / n) t->check[t->n_check++] = (uint32_t)i;
        place++;
    }
    assert(t->n_check == n);
    return LLAP_OK;
}

/* -------- sizes and options -------- */

static ll_rival_rhythm rhythm_of(const ll_model_frame *f)
{
    if (f->by_entity) return LL_RIVAL_STAYS;
    const bool daily = f->axis == LL_AXIS_CALENDAR && f->step >= 20 * LL_NS_PER_HOUR;
    return daily ? LL_RIVAL_DAILY : LL_RIVAL_HOURLY;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The rows that windows have, or the steps of a grid. */
static void set_sizes(const ll_rival_training *t, bool grid, ll_rival_task *k)
{
    const ll_model_frame *f = t->frame;
    k->data.context = grid ? f->context / f->step : least(t->windows->n_context, LL_RIVAL_ROWS);
    k->data.horizon = grid ? (f->horizon + f->step - 1) / f->step : t->windows->n_query;
}

/* Its configuration for these sizes, with what the caller wants otherwise. */
static llap_status configure(const llap_train_opts *o, const ll_json *options, ll_rival_task *k)
{
    const ll_rival *r = k->kind;
    const bool      adapter = o->rival_config == LLAP_TRAIN_RIVAL_CONFIG_ADAPTER;
    if (adapter && r->adapter == NULL)
        return ll_fail(LLAP_EOPTION,
                       "rival_config: %s has no adapter: what the paper compared "
                       "itself with under this name is another network",
                       r->title);
    memset(&k->config, 0, sizeof k->config);
    (adapter ? r->adapter : r->native)(&k->data, &k->config);
    if (options == NULL) return LLAP_OK;
    const llap_status st = ll_fields_only(options, "", r->field, r->n_fields, NULL);
    return st == LLAP_OK ? ll_fields_read(options, "", r->field, r->n_fields, &k->config) : st;
}

static llap_status make_task(const ll_rival_training *t, const ll_json *options, int64_t n_inputs,
                             ll_rival_task *k)
{
    enum { FEW = 10000 };
    const ll_model_frame *f = t->frame;
    *k = (ll_rival_task){ .kind = ll_rival_named(t->o->rival),
                          .targets = f->n_targets,
                          .vars = f->n_targets + n_inputs,
                          .context = (double)f->context / (double)f->step,
                          .horizon = (double)f->horizon / (double)f->step };
    k->data.rhythm = rhythm_of(f);
    k->data.small = t->n_train < FEW;
    k->calendar =
        f->axis == LL_AXIS_CALENDAR && k->data.rhythm != LL_RIVAL_STAYS ? LL_RIVAL_CALENDAR : 0;
    set_sizes(t, false, k);
    llap_status st = configure(t->o, options, k);
    if (st == LLAP_OK && ll_rival_on_grid(k)) { /* an option may say so */
        set_sizes(t, true, k);
        st = configure(t->o, options, k);
    }
    if (st == LLAP_OK) st = ll_rival_task_check(k);
    return st == LLAP_EINVAL ? ll_fail_in(LLAP_EOPTION, "rival_options") : st;
}

/* T-PatchGNN has room for the readings of a patch: as many as any window of training lays into one.
 */
static llap_status fit_slots(ll_rival_training *t, ll_rival_task *k)
{
    enum { LOOKED_AT = 2000 };
    const int64_t M = k->config.tpatchgnn.patches, K = k->data.context;
    int64_t      *count = ll_new((size_t)M, sizeof *count), most = 1;
    if (count == NULL) return LLAP_ENOMEM;
    const int64_t n = least(t->n_train, LOOKED_AT);
    for (int64_t i = 0; i < n; i++) {
        const ll_rival_window w = ll_rival_training_window(t, t->train[i * t->n_train / n], false);
        memset(count, 0, (size_t)M * sizeof *count);
        for (int64_t row = w.end - least(w.end - w.first, K); row < w.end; row++) {
            const double back =
                (double)ll_elapsed(t->windows->panel->time[row], w.origin) / (double)t->frame->step;
            const double  at = floor((k->context - 1.0 - back) * (double)M / k->context);
            const int64_t p = at < 0 ? 0 : at >= (double)M ? M - 1 : (int64_t)at;
            if (++count[p] > most) most = count[p];
        }
    }
    ll_free(count);
    k->config.tpatchgnn.slots = most;
    return LLAP_OK;
}

/* -------- scales, the model -------- */

/* Columns beside the targets: those that the caller names, else all. Caller owns *all, the targets
 * first. */
static llap_status list_columns(const llap_panel *p, const llap_train_opts *o, const int64_t *var,
                                int64_t n_targets, int64_t **all, int64_t *n_inputs)
{
    int64_t    *input = NULL;
    llap_status st = ll_inputs_parse(p, o->inputs, var, n_targets, &input, n_inputs);
    *all = NULL;
    if (st == LLAP_OK) *all = ll_new((size_t)(n_targets + *n_inputs), sizeof **all);
    if (st == LLAP_OK && *all == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) {
        memcpy(*all, var, (size_t)n_targets * sizeof **all);
        if (*n_inputs > 0) memcpy(*all + n_targets, input, (size_t)*n_inputs * sizeof **all);
    }
    ll_free(input);
    return st;
}

static llap_status scale(const ll_rival_training *t, const int64_t *column, ll_rival_model *r)
{
    ll_scaling     *s = NULL;
    ll_scaling_opts o = LL_SCALING_DEFAULT;
    const size_t    n = (size_t)((r->n_entities + 1) * r->task.vars);
    o.by = t->frame->by_entity ? LL_SCALE_GLOBAL : LL_SCALE_BY_ENTITY;
    o.feature = column;
    o.n_features = r->task.vars;
    const llap_status st = ll_scaling_create(t->windows, t->split, &o, &s);
    if (st != LLAP_OK) return st;
    memcpy(r->mean, s->x_mean, n * sizeof *r->mean);
    memcpy(r->sd, s->x_std, n * sizeof *r->sd);
    ll_scaling_destroy(s);
    return LLAP_OK;
}

static llap_status make_rival(ll_rival_training *t, const llap_panel *p, const int64_t *var,
                              const ll_json *options)
{
    int64_t      *column = NULL, n_inputs = 0;
    const int64_t C = t->frame->n_targets;
    ll_rival_task k;
    llap_status   st = list_columns(p, t->o, var, C, &column, &n_inputs);
    if (st == LLAP_OK) st = make_task(t, options, n_inputs, &k);
    if (st == LLAP_OK && strcmp(k.kind->name, "tpatchgnn") == 0 && k.config.tpatchgnn.slots == 0)
        st = fit_slots(t, &k);
    const char **name = st == LLAP_OK ? ll_new((size_t)n_inputs, sizeof *name) : NULL;
    if (st == LLAP_OK && name == NULL) st = LLAP_ENOMEM;
    for (int64_t i = 0; i < n_inputs && st == LLAP_OK; i++) name[i] = p->var[column[C + i]];
    if (st == LLAP_OK)
        st = ll_rival_model_create(&k, t->frame->n_entities, (const char *const *)name, &t->r);
    if (st == LLAP_OK) st = scale(t, column, t->r);
    if (st == LLAP_OK) st = ll_rival_view_init(&t->view, t->r, t->frame, p);
    ll_free((void *)name);
    ll_free(column);
    return st;
}

/* -------- all of it -------- */

static void deinit(ll_rival_training *t)
{
    ll_rival_view_deinit(&t->view);
    ll_split_destroy(t->split);
    ll_windows_destroy(t->windows);
    ll_rival_model_destroy(t->r);
    ll_free(t->train);
    ll_free(t->check);
}

static void say(const ll_rival_training *t)
{
    const ll_recipe_rival *r = &t->recipe.published;
    const ll_rival_task   *k = &t->r->task;
    ll_logf(
        t->o->log, LLAP_LOG_INFO,
        "%s: %lld parameters, %lld rows to %lld ahead of %lld variable%s; %lld windows, at most "
        "%lld steps of %lld",
        k->kind->title, (long long)ll_rival_model_parameters(t->r), (long long)k->data.context,
        (long long)k->data.horizon, (long long)k->vars, k->vars == 1 ? "" : "s",
        (long long)t->n_train, (long long)r->stage.steps, (long long)r->batch);
}

/* *out: the model, also where an earlier run has finished it. */
static llap_status train(ll_rival_training *t, const llap_panel *p, const ll_json *config,
                         llap_model **out)
{
    ll_training_run *run = NULL;
    char            *text = NULL;
    llap_status      st = ll_train_options_text(t->o, config, &t->recipe, &text);
    const ll_run_job job = { .recipe = &t->recipe, .text = text };
    if (st == LLAP_OK) st = ll_training_run_open(p, t->o, t->frame, &job, &run, out);
    ll_free(text);
    if (st == LLAP_OK && *out == NULL) {
        say(t);
        st = ll_rival_run(t, run);
        if (st == LLAP_OK) st = ll_model_create(t->frame, NULL, out);
        if (st == LLAP_OK) {
            (*out)->rival = t->r;
            ll_rival_view_deinit(&t->view); /* which looks through it */
            t->r = NULL;
            st = ll_training_run_table(run, &(*out)->report);
        }
        if (st == LLAP_OK) st = ll_train_options_keep(t->o, config, &t->recipe, *out);
        if (st == LLAP_OK) st = ll_training_run_sign(p, t->o, *out);
    }
    ll_training_run_destroy(run);
    return st;
}

static llap_status read_options(const char *text, ll_json **out)
{
    *out = NULL;
    if (text == NULL) return LLAP_OK;
    const llap_status st = ll_json_parse(text, strlen(text), "rival_options", NULL, out);
    if (st == LLAP_OK) ll_json_fail_at(*out, LLAP_EOPTION);
    return st == LLAP_EFORMAT || st == LLAP_ELIMIT ? LLAP_EOPTION : st;
}

llap_status ll_rival_train(const llap_panel *p, const llap_train_opts *o, const ll_json *config,
                           const ll_model_frame *f, const int64_t *var, const ll_backend *backend,
                           llap_model **out)
{
    ll_rival_training t = { .o = o, .frame = f, .backend = backend };
    ll_json          *options = NULL;
    *out = NULL;
    assert(o->rival != NULL && ll_rival_named(o->rival) != NULL);
    llap_status st = read_options(o->rival_options, &options);
    if (st == LLAP_OK) st = look(&t, p, var);
    if (st == LLAP_OK) st = make_rival(&t, p, var, options);
    if (st == LLAP_OK) st = ll_rival_recipe(&t, config, &t.recipe);
    if (st == LLAP_OK) st = choose_checks(&t);
    if (st == LLAP_OK) st = train(&t, p, config, out);
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    deinit(&t);
    ll_json_destroy(options);
    return st;
}
