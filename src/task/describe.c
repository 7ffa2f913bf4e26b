/* What a model is, for people and as JSON. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/json.h"
#include "task/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void llap_text_free(char *text) { llap_free(text); }

task_shown task_ticks_show(const llap_model *m, double ticks)
{
    task_shown s;
    if (!(ticks < HUGE_VAL)) snprintf(s.text, sizeof s.text, "none");
    else if (m->frame.axis == LLAP_AXIS_NUMBER)
        snprintf(s.text, sizeof s.text, "%.4g", ticks / (double)m->frame.axis_unit);
    else if (ticks >= 9e18) snprintf(s.text, sizeof s.text, "over 285 years");
    else {
        /* three figures are enough for a person */
        const double  hours = ticks / 3.6e12;
        const int64_t round_to = hours >= 240  ? INT64_C(86400000000000)
                                 : hours >= 10 ? INT64_C(3600000000000)
                                 : hours >= 1  ? INT64_C(60000000000)
                                               : INT64_C(1000000000);
        llap_duration_format((int64_t)llround(ticks / (double)round_to) * round_to, s.text);
    }
    return s;
}

task_shown task_units_show(const llap_model *m, double units)
{
    return task_ticks_show(m, units * (double)m->frame.unit);
}

static const char *size_of(const llap_model *m)
{
    return m->network == NULL ? "anchor" : llap_size_names[m->network->config.size];
}

/* What training moved, in all members together. */
static int64_t n_parameters(const llap_network *n)
{
    int64_t sum = 0;
    for (int i = 0; i < llap_params_count(n->params); i++) {
        const llap_param_info *p = llap_params_at(n->params, i);
        if (p->leaf == LLAP_LEAF_PARAM) sum += p->count;
    }
    return sum;
}

static void anchor_json(llap_json_writer *w, const llap_anchor_model *a)
{
    llap_json_put_double(w, "validation_crps", a->valid_crps);
    llap_json_put_double(w, "lambda", a->chain->lambda);
    llap_json_put_int(w, "climate_terms", a->chain->n_climate);
    llap_json_put_double(w, "noise_variance", a->kernel.nu);
    llap_json_put_int(w, "joint_rank", (int64_t)a->joint.rank);
    llap_json_put_bool(w, "fills_by_others", a->near[LLAP_ANCHOR_BOTH].cov != NULL);
    llap_json_open(w, "poles", '[');
    for (int32_t k = 0; k < a->kernel.n_terms; k++) {
        llap_json_open(w, NULL, '{');
        llap_json_put_double(w, "variance", a->kernel.a[k]);
        llap_json_put_double(w, "rho", a->kernel.rho[k]);
        llap_json_put_double(w, "omega", a->kernel.omega[k]);
        llap_json_close(w, '}');
    }
    llap_json_close(w, ']');
}

/* A document of the model's own under its name, where there is one. */
static llap_status part_json(llap_json_writer *w, const char *name, const char *text)
{
    llap_json *j = NULL;
    if (text == NULL) return LLAP_OK;
    const llap_status st = llap_json_parse(text, strlen(text), name, NULL, &j);
    if (st == LLAP_OK) llap_json_put(w, name, j);
    llap_json_destroy(j);
    return st;
}

/* How many entities trained, chose, were left to test and were left out. */
static void parts_json(llap_json_writer *w, const llap_model_frame *f)
{
    int64_t n[LLAP_PART_COUNT] = { 0 };
    for (int64_t i = 0; i < f->n_entities; i++) n[f->part[i]]++;
    llap_json_open(w, "parts", '{');
    for (int k = 0; k <= LLAP_PART_TEST; k++)
        llap_json_put_int(w, llap_part_name((llap_part)k), n[k]);
    llap_json_put_int(w, "none", n[LLAP_PART_PURGED]);
    llap_json_close(w, '}');
}

/* Who answers, as validation decided; forecasts go by it. */
static const char *who_answers(const llap_model *m)
{
    static const char *const who[] = { "networks", "anchor", "both" };
    if (m->network == NULL) return who[LLAP_GUARD_ANCHOR];
    return who[m->anchor == NULL ? LLAP_GUARD_NETWORK : m->network->config.features.guard];
}

static llap_status describe_json(llap_json_writer *w, const llap_model *m)
{
    const llap_model_frame *f = &m->frame;
    llap_json_open(w, NULL, '{');
    llap_json_put_string(w, "size", size_of(m));
    llap_json_put_string(w, "answers", who_answers(m));
    llap_json_put_int(w, "entities", f->n_entities);
    if (f->by_entity) parts_json(w, f);
    llap_json_put_int(w, "context_ns", f->context);
    llap_json_put_int(w, "horizon_ns", f->horizon);
    llap_json_put_int(w, "step_ns", f->step);
    llap_json_open(w, "targets", '[');
    for (int64_t i = 0; i < f->n_targets; i++) {
        llap_json_open(w, NULL, '{');
        llap_json_put_string(w, "name", f->target[i]);
        if (m->anchor != NULL) anchor_json(w, m->anchor[i]);
        llap_json_close(w, '}');
    }
    llap_json_close(w, ']');
    if (m->network != NULL) {
        llap_json_put_int(w, "parameters", n_parameters(m->network));
        llap_network_write_config(w, m->network);
    }
    /* What its training was told and chose, a --config file for another one like it; how it went.
     */
    llap_status st = part_json(w, "run", m->training);
    if (st == LLAP_OK) st = part_json(w, "report", m->report);
    llap_json_close(w, '}');
    return st;
}

/* Steps that are made: lists leave some out. */
static int64_t n_points(const llap_network *n)
{
    llap_points       p = { 0 };
    const llap_status st = llap_network_points(n, 0, &p);
    const int64_t     made = st == LLAP_OK ? p.n : n->config.sampling.steps;
    llap_points_deinit(&p);
    return made;
}

static void network_text(FILE *out, const llap_network *n)
{
    const llap_network_config  *c = &n->config;
    const llap_denoiser_config *d = &c->denoiser;
    fprintf(out, "profile %s: %lld %s, %lld parameters, %lld poles, width %lld, %lld %s\n",
            llap_profile_names[c->profile], (long long)c->options.members,
            c->options.members == 1 ? "network" : "networks", (long long)n_parameters(n),
            (long long)d->laplace_k, (long long)d->hidden_dim, (long long)d->num_layers,
            d->num_layers == 1 ? "block" : "blocks");
    fprintf(out, "predicts %s from %lld latent channels; samples by %s in %lld%s steps",
            llap_prediction_names[c->noise.prediction], (long long)d->data_dim,
            llap_solver_names[c->sampling.solver.solver], (long long)n_points(n),
            c->sampling.list == LLAP_LIST_GATHERED ? " gathered" : "");
    if (n_points(n) != c->sampling.steps)
        fprintf(out, " of %lld asked for", (long long)c->sampling.steps);
    fputc('\n', out);
}

static void answers_text(FILE *out, const llap_model *m)
{
    const char *const text[] = {
        [LLAP_GUARD_NETWORK] = "the networks answer",
        [LLAP_GUARD_ANCHOR] = "the anchor answers: on validation the networks were no better",
        [LLAP_GUARD_POOL] = "networks and anchor answer, half of the samples each",
    };
    fprintf(out, "%s\n", text[m->network->config.features.guard]);
}

static void describe_text(FILE *out, const llap_model *m)
{
    const llap_model_frame *f = &m->frame;
    fprintf(out, "a model of size %s: %lld %s, context %s, horizon %s, step %s\n", size_of(m),
            (long long)f->n_entities, f->n_entities == 1 ? "entity" : "entities",
            task_ticks_show(m, (double)f->context).text,
            task_ticks_show(m, (double)f->horizon).text, task_ticks_show(m, (double)f->step).text);
    if (m->network != NULL) network_text(out, m->network);
    if (m->network != NULL && m->anchor != NULL) answers_text(out, m);
    for (int64_t i = 0; m->anchor != NULL && i < f->n_targets; i++) {
        const llap_anchor_model *a = m->anchor[i];
        const char *bend = a->chain->log1p ? "log1p" : a->chain->asinh ? "asinh" : "Yeo-Johnson";
        fprintf(out, "\n%s: anchor: validation CRPS %.4f; %s", f->target[i], a->valid_crps, bend);
        if (!a->chain->log1p && !a->chain->asinh) fprintf(out, " lambda %.1f", a->chain->lambda);
        fprintf(out, "; %s; noise %.4f\n",
                a->chain->n_climate > 0 ? "calendar climate" : "no climate", a->kernel.nu);
        if (a->joint.rank > 0)
            fprintf(out, "  forecasts look at all entities: linked by %zu factor%s\n",
                    a->joint.rank, a->joint.rank == 1 ? "" : "s");
        if (a->near[LLAP_ANCHOR_BOTH].cov != NULL)
            fprintf(out, "  gaps are filled with the help of the other entities\n");
        fprintf(out, "  %10s  %-12s %-12s\n", "variance", "half-life", "period");
        for (int32_t k = 0; k < a->kernel.n_terms; k++)
            fprintf(out, "  %10.4f  %-12s %-12s\n", a->kernel.a[k],
                    task_units_show(m, llap_anchor_half_life(a->kernel.rho[k])).text,
                    a->kernel.omega[k] > 0
                        ? task_units_show(m, 2 * acos(-1.0) / a->kernel.omega[k]).text
                        : "none");
    }
}

llap_status llap_model_describe(const llap_model *m, int json, char **text)
{
    *text = NULL;
    if (json) {
        llap_json_writer  w = { .indent = 2 };
        size_t            n;
        const llap_status st = describe_json(&w, m);
        const llap_status written = llap_json_finish(&w, text, &n);
        if (st == LLAP_OK) return written;
        llap_free(*text);
        *text = NULL;
        return st;
    }
    char  *buffer = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&buffer, &n);
    if (f == NULL) return llap_fail(LLAP_ENOMEM, "out of memory");
    describe_text(f, m);
    const bool ok = fclose(f) == 0;
    *text = ok ? llap_strndup(buffer, n) : NULL;
    free(buffer);
    return *text == NULL ? LLAP_ENOMEM : LLAP_OK;
}
