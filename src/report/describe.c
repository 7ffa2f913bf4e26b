/* What a model is: numbers, text, JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time/civil.h"
#include "base/time/duration.h"
#include "base/time/time.h"
#include "model/stack_file.h"
#include "predict/span.h"

#include <llapdiff/description.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the numbers ---- */

struct llap_description {
    const llap_model        *m; /* borrowed */
    llap_description_info    info;
    llap_description_target *target; /* [n_targets] */
    ll_arena                 arena;
};

/* What training moved, in all members together. */
static int64_t n_parameters(const ll_network *n)
{
    int64_t sum = 0;
    for (int i = 0; i < ll_params_count(n->params); i++) {
        const ll_param_info *p = ll_params_at(n->params, i);
        if (p->leaf == LL_LEAF_PARAM) sum += p->count;
    }
    return sum;
}

/* Who answers, as validation decided; forecasts go by it. */
static const char *who_answers(const llap_model *m)
{
    static const char *const who[] = { "networks", "anchor", "both" };
    assert(m->network != NULL || m->anchor != NULL);
    if (m->stack != NULL && m->stack->weight[0] < 1) return "stack";
    if (m->network == NULL) return who[LL_ANSWER_BY_ANCHOR];
    return who[m->anchor == NULL ? LL_ANSWER_BY_NETWORKS
                                 : m->network->config.features.answer_source];
}

/* Steps that are made: lists leave some out. */
static int64_t n_points(const ll_network *n)
{
    ll_points         p = { 0 };
    const llap_status st = ll_network_points(n, 0, &p);
    const int64_t     made = st == LLAP_OK ? p.n : n->config.sampling.steps;
    ll_points_deinit(&p);
    return made;
}

static void add_network(const ll_network *n, llap_description_info *d)
{
    const ll_network_config *c = &n->config;
    d->size = ll_size_names[c->size];
    d->profile = ll_profile_names[c->profile];
    d->n_members = c->options.members;
    d->n_parameters = n_parameters(n);
    d->n_poles = c->denoiser.laplace_k;
    d->width = c->denoiser.hidden_dim;
    d->n_blocks = c->denoiser.num_layers;
    d->n_channels = c->denoiser.data_dim;
    d->prediction = ll_prediction_names[c->noise.prediction];
    d->solver = ll_solver_names[c->sampling.solver.solver];
    d->n_steps = n_points(n);
    d->steps_asked = c->sampling.steps;
    d->steps_gathered = c->sampling.list == LL_LIST_GATHERED;
}

static llap_description_info info_of(const llap_model *m)
{
    const ll_model_frame *f = &m->frame;
    int64_t               n[LL_PART_COUNT] = { 0 };
    for (int64_t i = 0; f->by_entity && i < f->n_entities; i++) {
        assert(f->part[i] < LL_PART_COUNT);
        n[f->part[i]]++;
    }
    llap_description_info d = { .size = "anchor",
                                .answers = who_answers(m),
                                .n_targets = f->n_targets,
                                .n_entities = f->n_entities,
                                .targets = f->target,
                                .entities = f->entity,
                                .context = f->context,
                                .horizon = f->horizon,
                                .step = f->step,
                                .time_kind = f->axis == LL_AXIS_NUMBER ? LLAP_TIME_NUMBER
                                                                       : LLAP_TIME_CALENDAR,
                                .time_unit_ns = f->axis_unit,
                                .gap = f->gap,
                                .observed = f->observed,
                                .by_entity = f->by_entity,
                                .val_start = f->by_entity ? 0 : f->val_start,
                                .test_start = f->by_entity ? 0 : f->test_start,
                                .n_train = n[LL_PART_TRAIN],
                                .n_val = n[LL_PART_VAL],
                                .n_test = n[LL_PART_TEST],
                                .n_left_out = n[LL_PART_PURGED],
                                .run = m->training,
                                .report = m->report };
    if (m->network != NULL) add_network(m->network, &d);
    if (m->stack != NULL) d.size = "stack";
    return d;
}

static llap_status add_anchor(ll_arena *arena, const ll_anchor_model *a, llap_description_target *t)
{
    const ll_anchor_kernel *k = &a->kernel;
    const size_t            n = (size_t)k->n_terms;
    double                 *life = ll_arena_new(arena, n, 2 * sizeof *life), *period = life + n;
    if (life == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        life[i] = ll_anchor_half_life(k->rho[i]);
        period[i] = k->omega[i] > 0 ? 2 * acos(-1.0) / k->omega[i] : HUGE_VAL;
    }
    t->has_anchor = 1;
    t->validation_crps = a->valid_crps;
    t->transform = a->chain->curve == LL_CURVE_LOG      ? "log"
                   : a->chain->curve == LL_CURVE_COUNTS ? "counts"
                   : a->chain->log1p                    ? "log1p"
                   : a->chain->asinh                    ? "asinh"
                   : a->chain->lambda == 1.0            ? "none"
                                                        : "yeo-johnson";
    t->curve = ll_curve_name(a->chain->curve);
    t->clipped = a->chain->curve == LL_CURVE_CLIPPED;
    t->drift = ll_anchor_drift_name(k->drift);
    t->scale = k->innovation ? "innovation" : "window";
    t->climate = a->chain->periods.n > 0       ? "climate of periods"
                 : a->chain->profile.daily > 0 ? "weekly profile"
                 : a->chain->n_climate > 0     ? "calendar climate"
                                               : "no climate";
    t->kind = ll_kind_names[a->chain->kind];
    t->whole = a->chain->kind == LL_KIND_COUNT || a->chain->kind == LL_KIND_WHOLE;
    t->min = a->chain->y_min;
    t->max = a->chain->y_max;
    t->lambda = a->chain->lambda;
    t->climate_terms = a->chain->n_climate;
    t->n_periods = a->chain->periods.n;
    t->periods = a->chain->periods.span;
    t->noise_variance = k->nu;
    t->joint_rank = (int64_t)a->link.rank;
    t->fills_by_others = a->neighbours[LL_ANCHOR_BOTH].cov != NULL;
    t->n_terms = k->n_terms;
    t->variance = k->a;
    t->rho = k->rho;
    t->omega = k->omega;
    t->half_life = life;
    t->period = period;
    return LLAP_OK;
}

llap_status llap_description_create(const llap_model *m, llap_description **out)
{
    *out = NULL;
    llap_description *d = ll_new(1, sizeof *d);
    if (d == NULL) return LLAP_ENOMEM;
    *d = (llap_description){ .m = m, .info = info_of(m) };
    d->target = ll_arena_new(&d->arena, (size_t)m->frame.n_targets, sizeof *d->target);
    llap_status st = d->target == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < m->frame.n_targets && st == LLAP_OK; i++) {
        d->target[i].name = m->frame.target[i];
        if (m->anchor != NULL) st = add_anchor(&d->arena, m->anchor[i], &d->target[i]);
    }
    if (st == LLAP_OK) *out = d;
    else llap_description_destroy(d);
    return st;
}

void llap_description_destroy(llap_description *d)
{
    if (d == NULL) return;
    ll_arena_deinit(&d->arena);
    ll_free(d);
}

const llap_description_info *llap_description_about(const llap_description *d) { return &d->info; }

const llap_description_target *llap_description_at(const llap_description *d, int64_t target)
{
    return target < 0 || target >= d->info.n_targets ? NULL : &d->target[target];
}

/* ---- JSON ---- */

static void target_json(ll_json_writer *w, const llap_description_target *t)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", t->name);
    if (t->has_anchor) {
        ll_json_put_double(w, "validation_crps", t->validation_crps);
        ll_json_put_double(w, "lambda", t->lambda);
        ll_json_put_string(w, "curve", t->curve);
        ll_json_put_string(w, "kind", t->kind);
        if (isfinite(t->min)) ll_json_put_double(w, "min", t->min);
        if (isfinite(t->max)) ll_json_put_double(w, "max", t->max);
        ll_json_put_string(w, "drift", t->drift);
        ll_json_put_string(w, "scale", t->scale);
        ll_json_put_int(w, "climate_terms", t->climate_terms);
        if (t->n_periods > 0) {
            ll_json_open(w, "periods", '(');
            for (int64_t k = 0; k < t->n_periods; k++) ll_json_put_double(w, NULL, t->periods[k]);
            ll_json_close(w, ']');
        }
        ll_json_put_double(w, "noise_variance", t->noise_variance);
        ll_json_put_int(w, "joint_rank", t->joint_rank);
        ll_json_put_bool(w, "fills_by_others", t->fills_by_others);
        ll_json_open(w, "poles", '[');
        for (int64_t k = 0; k < t->n_terms; k++) {
            ll_json_open(w, NULL, '{');
            ll_json_put_double(w, "variance", t->variance[k]);
            ll_json_put_double(w, "rho", t->rho[k]);
            ll_json_put_double(w, "omega", t->omega[k]);
            ll_json_close(w, '}');
        }
        ll_json_close(w, ']');
    }
    ll_json_close(w, '}');
}

/* A document of the model's own under its name, where there is one. */
static llap_status part_json(ll_json_writer *w, const char *name, const char *text)
{
    ll_json *j = NULL;
    if (text == NULL) return LLAP_OK;
    const llap_status st = ll_json_parse(text, strlen(text), name, NULL, &j);
    if (st == LLAP_OK) ll_json_put(w, name, j);
    ll_json_destroy(j);
    return st;
}

typedef struct time_text {
    char text[LL_TIME_TEXT_MAX];
} time_text;

/* A time as the data would have it, in UTC. */
static time_text show_time(const ll_model_frame *f, int64_t t)
{
    time_text s;
    if (f->axis == LL_AXIS_CALENDAR) ll_time_format(t, NULL, 0, s.text);
    else snprintf(s.text, sizeof s.text, "%.15g", (double)t / (double)f->axis_unit);
    return s;
}

/* Imported models were split elsewhere: they have borders before all times. */
static bool has_borders(const llap_model *m)
{
    return !m->frame.by_entity && m->frame.val_start > -INT64_MAX / 4;
}

/* How many entities trained, chose, were left to test and were left out, and which. */
static void parts_json(ll_json_writer *w, const llap_description *d)
{
    const ll_model_frame *f = &d->m->frame;
    const int64_t         n[LL_PART_COUNT] = { [LL_PART_TRAIN] = d->info.n_train,
                                               [LL_PART_VAL] = d->info.n_val,
                                               [LL_PART_TEST] = d->info.n_test,
                                               [LL_PART_PURGED] = d->info.n_left_out };
    const char           *name[LL_PART_COUNT];
    for (int k = 0; k < LL_PART_COUNT; k++)
        name[k] = k == LL_PART_PURGED ? "none" : ll_part_name((ll_part)k);
    ll_json_open(w, "parts", '{');
    for (int k = 0; k < LL_PART_COUNT; k++) ll_json_put_int(w, name[k], n[k]);
    ll_json_close(w, '}');
    ll_json_open(w, "split", '{');
    ll_json_put_string(w, "by", "entity");
    for (int k = 0; k < LL_PART_COUNT; k++) {
        ll_json_open(w, name[k], '[');
        for (int64_t i = 0; i < f->n_entities; i++)
            if (f->part[i] == k) ll_json_put_string(w, NULL, f->entity[i]);
        ll_json_close(w, ']');
    }
    ll_json_close(w, '}');
}

/* Of which times the parts are: each up to the time before the next one begins. */
static void borders_json(ll_json_writer *w, const llap_description *d)
{
    const ll_model_frame *f = &d->m->frame;
    const time_text       val = show_time(f, f->val_start), test = show_time(f, f->test_start);
    ll_json_open(w, "split", '{');
    ll_json_put_string(w, "by", "time");
    ll_json_put_string(w, "train_before", val.text);
    ll_json_put_string(w, "val_from", val.text);
    ll_json_put_string(w, "val_before", test.text);
    ll_json_put_string(w, "test_from", test.text);
    ll_json_close(w, '}');
}

static llap_status describe_json(ll_json_writer *w, const llap_description *d)
{
    const llap_description_info *f = &d->info;
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "size", f->size);
    ll_json_put_string(w, "answers", f->answers);
    ll_json_put_int(w, "entities", f->n_entities);
    if (f->by_entity) parts_json(w, d);
    if (has_borders(d->m)) borders_json(w, d);
    ll_json_put_int(w, "context_ns", f->context);
    ll_json_put_int(w, "horizon_ns", f->horizon);
    ll_json_put_int(w, "step_ns", f->step);
    ll_json_open(w, "targets", '[');
    for (int64_t i = 0; i < f->n_targets; i++) target_json(w, &d->target[i]);
    ll_json_close(w, ']');
    if (d->m->network != NULL) {
        ll_json_put_int(w, "parameters", f->n_parameters);
        ll_network_write_config(w, d->m->network);
    }
    if (d->m->stack != NULL) ll_stack_write(w, d->m->stack);
    /* What its training was told and chose, a --config file for another one like it; how it went.
     */
    llap_status st = part_json(w, "run", f->run);
    if (st == LLAP_OK) st = part_json(w, "report", f->report);
    ll_json_close(w, '}');
    return st;
}

llap_status llap_description_json(const llap_description *d, char **text)
{
    ll_json_writer w = { .indent = 2 };
    size_t         n;
    *text = NULL;
    const llap_status st = describe_json(&w, d);
    const llap_status written = ll_json_finish(&w, text, &n);
    if (st == LLAP_OK) return written;
    ll_free(*text);
    *text = NULL;
    return st;
}

/* ---- text ---- */

static void network_text(FILE *out, const llap_description_info *d)
{
    fprintf(out, "profile %s: %lld %s, %lld parameters, %lld poles, width %lld, %lld %s\n",
            d->profile, (long long)d->n_members, d->n_members == 1 ? "network" : "networks",
            (long long)d->n_parameters, (long long)d->n_poles, (long long)d->width,
            (long long)d->n_blocks, d->n_blocks == 1 ? "block" : "blocks");
    fprintf(out, "predicts %s from %lld latent channels; samples by %s in %lld%s steps",
            d->prediction, (long long)d->n_channels, d->solver, (long long)d->n_steps,
            d->steps_gathered ? " gathered" : "");
    if (d->n_steps != d->steps_asked) fprintf(out, " of %lld asked for", (long long)d->steps_asked);
    fputc('\n', out);
}

static void answers_text(FILE *out, const llap_model *m)
{
    const char *const text[] = {
        [LL_ANSWER_BY_NETWORKS] = "the networks answer",
        [LL_ANSWER_BY_ANCHOR] = "the anchor answers: on validation the networks were no better",
        [LL_ANSWER_BY_BOTH] = "networks and anchor answer, half of the samples each",
    };
    fprintf(out, "%s\n", text[m->network->config.features.answer_source]);
}

static void stack_text(FILE *out, const ll_stack *s)
{
    if (s->weight[0] >= 1) {
        fprintf(out, "the anchor answers: out of fold the stack was no better\n");
        return;
    }
    fprintf(out,
            "the stack answers: CRPS %.4f out of fold, anchor %.4f; it looks at %lld other %s%s\n",
            s->score, s->anchor_score, (long long)s->layout.inputs,
            s->layout.inputs == 1 ? "variable" : "variables",
            s->layout.entities > 0 ? " and at the other entities" : "");
    fprintf(out, "  %-8s %6s %10s %8s\n  %-8s %6.2f %10.4f\n", "member", "weight", "CRPS", "steps",
            "anchor", s->weight[0], s->anchor_score);
    for (int k = 0; k < LL_STACK_KINDS; k++)
        if (s->member[k].used)
            fprintf(out, "  %-8s %6.2f %10.4f %8lld\n", ll_stack_kind_names[k], s->weight[1 + k],
                    s->member[k].score, (long long)s->member[k].steps);
}

/* What kind of values, and the bounds of answers; nothing where there is nothing to say. */
static void kind_text(FILE *out, const llap_description_target *t)
{
    int kind = 0;
    while (strcmp(ll_kind_names[kind], t->kind) != 0) kind++;
    if (kind == LL_KIND_ANY && !isfinite(t->min) && !isfinite(t->max)) return;
    fprintf(out, "  values: %s", ll_kind_words((ll_kind)kind));
    if (isfinite(t->min)) fprintf(out, ", at least %g", t->min);
    if (isfinite(t->max)) fprintf(out, ", at most %g", t->max);
    if (strcmp(t->curve, "counts") == 0) fprintf(out, "; by a negative binomial law");
    if (strcmp(t->curve, "logit") == 0) fprintf(out, "; by logits");
    fputc('\n', out);
}

static void target_text(FILE *out, const llap_model *m, const llap_description_target *t)
{
    const bool power = strcmp(t->transform, "yeo-johnson") == 0;
    fprintf(out, "\n%s: anchor: validation CRPS %.4f; %s", t->name, t->validation_crps,
            power                               ? "Yeo-Johnson"
            : strcmp(t->transform, "none") == 0 ? "no transform"
                                                : t->transform);
    if (power) fprintf(out, " lambda %.1f", t->lambda);
    fprintf(out, "; %s; noise %.4f\n", t->climate, t->noise_variance);
    if (t->clipped)
        fprintf(out, "  clipped scale of an older version: no answer lies outside the range of "
                     "training; train again\n");
    kind_text(out, t);
    if (t->n_periods > 0)
        fprintf(out, "  periods: %s\n",
                ll_span_list_of(&m->frame, t->periods, (int32_t)t->n_periods).text);
    const bool innovations = strcmp(t->scale, "innovation") == 0;
    if (strcmp(t->drift, "none") != 0 || innovations)
        fprintf(out, "  drift: %s; scale of the %s\n", t->drift,
                innovations ? "innovations" : "window");
    if (t->joint_rank > 0)
        fprintf(out, "  forecasts look at all entities: linked by %lld factor%s\n",
                (long long)t->joint_rank, t->joint_rank == 1 ? "" : "s");
    if (t->fills_by_others) fprintf(out, "  gaps are filled with the help of the other entities\n");
    fprintf(out, "  %10s  %-12s %-12s\n", "variance", "half-life", "period");
    for (int64_t k = 0; k < t->n_terms; k++)
        fprintf(out, "  %10.4f  %-12s %-12s\n", t->variance[k],
                ll_span_of_units(m, t->half_life[k]).text, ll_span_of_units(m, t->period[k]).text);
}

static void describe_text(FILE *out, const llap_description *d)
{
    const llap_model            *m = d->m;
    const llap_description_info *f = &d->info;
    fprintf(out, "a model of size %s: %lld %s, context %s, horizon %s, step %s\n", f->size,
            (long long)f->n_entities, f->n_entities == 1 ? "entity" : "entities",
            ll_span_of_ticks(m, (double)f->context).text,
            ll_span_of_ticks(m, (double)f->horizon).text,
            ll_span_of_ticks(m, (double)f->step).text);
    if (f->by_entity)
        fprintf(out, "split by entity: %lld trained, %lld chose, %lld are left to test\n",
                (long long)f->n_train, (long long)f->n_val, (long long)f->n_test);
    else if (has_borders(m))
        fprintf(out,
                "split by time: trained before %s, chosen by what comes before %s, tested from "
                "there on\n",
                show_time(&m->frame, f->val_start).text, show_time(&m->frame, f->test_start).text);
    if (m->network != NULL) network_text(out, f);
    if (m->network != NULL && m->anchor != NULL) answers_text(out, m);
    if (m->stack != NULL) stack_text(out, m->stack);
    for (int64_t i = 0; i < f->n_targets; i++)
        if (d->target[i].has_anchor) target_text(out, m, &d->target[i]);
}

llap_status llap_description_text(const llap_description *d, char **text)
{
    char  *buffer = NULL;
    size_t n = 0;
    *text = NULL;
    FILE *f = open_memstream(&buffer, &n);
    if (f == NULL) return ll_fail(LLAP_ENOMEM, "out of memory");
    describe_text(f, d);
    const bool ok = fclose(f) == 0;
    *text = ok ? ll_strndup(buffer, n) : NULL;
    free(buffer);
    return *text == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status llap_model_describe(const llap_model *m, int json, char **text)
{
    llap_description *d = NULL;
    *text = NULL;
    llap_status st = llap_description_create(m, &d);
    if (st == LLAP_OK) st = json ? llap_description_json(d, text) : llap_description_text(d, text);
    llap_description_destroy(d);
    return st;
}
