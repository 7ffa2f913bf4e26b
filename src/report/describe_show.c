/* What a model is, as JSON and as text. */
#include "report/describe.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "base/time/time.h"
#include "model/fill_file.h"
#include "model/stack_file.h"
#include "predict/view/span.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (t->known_weighting != NULL) {
            ll_json_put_string(w, "known", t->known);
            ll_json_put_string(w, "known_weighting", t->known_weighting);
        }
        if (t->statics != NULL) {
            ll_json_open(w, "static", '{');
            ll_json_put_string(w, "level", t->statics);
            ll_json_put_bool(w, "log", t->static_log);
            ll_json_put_double(w, "error", t->static_error);
            ll_json_put_double(w, "error_of_mean", t->static_apart);
            ll_json_close(w, '}');
        }
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

/* Of which times the parts are: each up to the time before the next one begins, and the first and
 * last row of each. */
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
    for (int k = 0; f->has_times && k <= LL_PART_TEST; k++) {
        ll_json_open(w, ll_part_name((ll_part)k), '{');
        ll_json_put_string(w, "first", show_time(f, f->part_times[k][0]).text);
        ll_json_put_string(w, "last", show_time(f, f->part_times[k][1]).text);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

/* Nothing where there are none. */
static void names_json(ll_json_writer *w, const char *key, const char *const *name, int64_t n)
{
    if (n == 0) return;
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_string(w, NULL, name[i]);
    ll_json_close(w, ']');
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
    names_json(w, "known", f->known, f->n_known);
    names_json(w, "static", f->statics, f->n_statics);
    ll_json_open(w, "targets", '[');
    for (int64_t i = 0; i < f->n_targets; i++) target_json(w, &d->target[i]);
    ll_json_close(w, ']');
    if (d->m->network != NULL) {
        ll_json_put_int(w, "parameters", f->n_parameters);
        ll_network_write_config(w, d->m->network);
    }
    if (d->m->rival != NULL) {
        ll_json_put_int(w, "parameters", f->n_parameters);
        ll_rival_write(w, d->m->rival);
    }
    if (d->m->stack != NULL) ll_stack_write(w, d->m->stack);
    if (d->m->filling != NULL) ll_fill_write(w, d->m->filling);
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

/* A published model: what it sees of a window, and by what options. */
static void rival_text(FILE *out, const ll_rival_model *r, const llap_description_info *d)
{
    const ll_rival_task *k = &r->task;
    fprintf(out, "%s, a published model: %lld parameters; %lld rows%s to %lld ahead, ",
            k->kind->title, (long long)d->n_parameters, (long long)k->data.context,
            ll_rival_on_grid(k) ? " on the grid of steps" : "", (long long)k->data.horizon);
    if (k->vars > k->targets)
        fprintf(out, "%lld other variable%s; ", (long long)(k->vars - k->targets),
                k->vars - k->targets == 1 ? "" : "s");
    if (ll_rival_draws(k)) fprintf(out, "answers by draws\n");
    else if (ll_rival_members(k) > 1)
        fprintf(out, "answers with %lld quantiles\n", (long long)ll_rival_members(k));
    else fprintf(out, "answers with a point\n");
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

/* Those that cost most where they are missing. */
static void input_costs_text(FILE *out, const ll_stack *s)
{
    enum { SHOWN = 5 };
    double below = HUGE_VAL;
    for (int n = 0; n < SHOWN; n++) {
        int64_t most = -1;
        for (int64_t i = 0; i < s->layout.inputs; i++)
            if (s->input[i].turn != LL_STACK_COSINE && s->input[i].cost < below &&
                s->input[i].cost >= 0.0005 && (most < 0 || s->input[i].cost > s->input[most].cost))
                most = i;
        if (most < 0) break;
        below = s->input[most].cost;
        fprintf(out, "%s'%s' %.2g %%", n == 0 ? "  CRPS is higher, at most, without " : ", ",
                ll_text_show(s->input[most].name).text, 100 * below);
    }
    if (below < HUGE_VAL) fprintf(out, "\n");
}

/* What the diffusion networks add to it. */
static void diffusion_text(FILE *out, const ll_stack_diffusion *d)
{
    if (!d->tried) return;
    fprintf(out,
            "  diffusion networks: CRPS %.4f on validation, the others %.4f, all together %.4f: ",
            d->alone, d->without, d->score);
    if (d->weight > 0) fprintf(out, "weight %.2f beside the others", d->weight);
    else fprintf(out, "no weight");
    if (d->ranks) fprintf(out, "; paths go in the order of theirs");
    fputc('\n', out);
}

static void stack_text(FILE *out, const ll_stack *s)
{
    if (s->weight[0] >= 1) {
        fprintf(out, "%s: out of fold the quantile networks were no better\n",
                s->diffusion.weight > 0 ? "anchor and diffusion networks answer"
                                        : "the anchor answers");
        diffusion_text(out, &s->diffusion);
        return;
    }
    int64_t n = 0; /* a direction is two inputs, but one variable */
    for (int64_t i = 0; i < s->layout.inputs; i++) n += s->input[i].turn != LL_STACK_COSINE;
    fprintf(out,
            "the stack answers: CRPS %.4f out of fold, anchor %.4f (%.1f %% better); it looks at "
            "%lld other %s%s\n",
            s->score, s->anchor_score, 100 * (1 - s->score / s->anchor_score), (long long)n,
            n == 1 ? "variable" : "variables",
            s->layout.entities > 0 ? " and at the other entities" : "");
    fprintf(out, "  %-8s %6s %10s %8s\n  %-8s %6.2f %10.4f\n", "member", "weight", "CRPS", "steps",
            "anchor", s->weight[0], s->anchor_score);
    for (int k = 0; k < LL_STACK_KINDS; k++)
        if (s->member[k].used)
            fprintf(out, "  %-8s %6.2f %10.4f %8lld\n", ll_stack_kind_names[k], s->weight[1 + k],
                    s->member[k].score, (long long)s->member[k].steps);
    input_costs_text(out, s);
    diffusion_text(out, &s->diffusion);
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
    if (t->known_weighting != NULL)
        fprintf(out, "  known inputs: %s (%s)\n", t->known, t->known_weighting);
    else if (m->frame.n_known > 0) fprintf(out, "  known inputs: none helped\n");
    if (t->statics != NULL)
        fprintf(out,
                "  static inputs: level %s; variance of the %slevel of one left out %.3g, "
                "without them %.3g\n",
                t->statics, t->static_log ? "log " : "", t->static_error, t->static_apart);
    else if (m->frame.n_statics > 0) fprintf(out, "  static inputs: none helped\n");
    if (t->joint_rank > 0)
        fprintf(out, "  forecasts look at all entities: linked by %lld factor%s\n",
                (long long)t->joint_rank, t->joint_rank == 1 ? "" : "s");
    if (t->fills_by_others) fprintf(out, "  gaps are filled with the help of the other entities\n");
    fprintf(out, "  %10s  %-12s %-12s\n", "variance", "half-life", "period");
    for (int64_t k = 0; k < t->n_terms; k++)
        fprintf(out, "  %10.4f  %-12s %-12s\n", t->variance[k],
                ll_span_of_units(m, t->half_life[k]).text, ll_span_of_units(m, t->period[k]).text);
}

/* Who fills gaps, by what, and how that was chosen. */
static void filling_text(FILE *out, const ll_filling *f)
{
    int n = 0, all = 0;
    for (int64_t v = 0; v < f->n_vars; v++) n += f->used[v], all += f->target[v] >= 0;
    fprintf(out, "gaps: all sensors fill %d of %d targets, from %lld variable%s", n, all,
            (long long)f->n_vars, f->n_vars == 1 ? "" : "s");
    if (f->n_near > 0)
        fprintf(out, " and %lld other entit%s", (long long)f->n_near, f->n_near == 1 ? "y" : "ies");
    fprintf(out, ", %s trees;", f->rest ? "with" : "without");
    for (int64_t v = 0; v < f->n_vars; v++)
        if (f->target[v] >= 0 && !f->used[v])
            fprintf(out, " the anchor fills %s;", ll_text_show(f->name[v]).text);
    fprintf(out, " chosen on hidden readings of validation (random, outages, dead sensors)\n");
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
    if (m->rival != NULL) rival_text(out, m->rival, f);
    if (m->network != NULL && m->anchor != NULL && m->stack == NULL) answers_text(out, m);
    if (m->stack != NULL) stack_text(out, m->stack);
    if (m->filling != NULL) filling_text(out, m->filling);
    for (int64_t i = 0; i < f->n_targets; i++)
        if (d->target[i].has_anchor) target_text(out, m, &d->target[i]);
}

llap_status llap_description_text(const llap_description *d, char **text)
{
    size_t            n;
    ll_memory_file    to;
    const llap_status st = ll_memory_file_open(&to);
    if (st == LLAP_OK) describe_text(to.stream, d);
    return ll_memory_file_close(&to, st, text, &n);
}
