/* What a model is, for people and as JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time/civil.h"
#include "base/time/duration.h"
#include "predict/span.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *size_of(const llap_model *m)
{
    return m->network == NULL ? "anchor" : ll_size_names[m->network->config.size];
}

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

static void anchor_json(ll_json_writer *w, const ll_anchor_model *a)
{
    ll_json_put_double(w, "validation_crps", a->valid_crps);
    ll_json_put_double(w, "lambda", a->chain->lambda);
    ll_json_put_int(w, "climate_terms", a->chain->n_climate);
    ll_json_put_double(w, "noise_variance", a->kernel.nu);
    ll_json_put_int(w, "joint_rank", (int64_t)a->link.rank);
    ll_json_put_bool(w, "fills_by_others", a->neighbours[LL_ANCHOR_BOTH].cov != NULL);
    ll_json_open(w, "poles", '[');
    for (int32_t k = 0; k < a->kernel.n_terms; k++) {
        ll_json_open(w, NULL, '{');
        ll_json_put_double(w, "variance", a->kernel.a[k]);
        ll_json_put_double(w, "rho", a->kernel.rho[k]);
        ll_json_put_double(w, "omega", a->kernel.omega[k]);
        ll_json_close(w, '}');
    }
    ll_json_close(w, ']');
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

/* How many entities trained, chose, were left to test and were left out. */
static void parts_json(ll_json_writer *w, const ll_model_frame *f)
{
    int64_t n[LL_PART_COUNT] = { 0 };
    for (int64_t i = 0; i < f->n_entities; i++) n[f->part[i]]++;
    ll_json_open(w, "parts", '{');
    for (int k = 0; k <= LL_PART_TEST; k++) ll_json_put_int(w, ll_part_name((ll_part)k), n[k]);
    ll_json_put_int(w, "none", n[LL_PART_PURGED]);
    ll_json_close(w, '}');
}

/* Who answers, as validation decided; forecasts go by it. */
static const char *who_answers(const llap_model *m)
{
    static const char *const who[] = { "networks", "anchor", "both" };
    if (m->network == NULL) return who[LL_ANSWER_BY_ANCHOR];
    return who[m->anchor == NULL ? LL_ANSWER_BY_NETWORKS
                                 : m->network->config.features.answer_source];
}

static llap_status describe_json(ll_json_writer *w, const llap_model *m)
{
    const ll_model_frame *f = &m->frame;
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "size", size_of(m));
    ll_json_put_string(w, "answers", who_answers(m));
    ll_json_put_int(w, "entities", f->n_entities);
    if (f->by_entity) parts_json(w, f);
    ll_json_put_int(w, "context_ns", f->context);
    ll_json_put_int(w, "horizon_ns", f->horizon);
    ll_json_put_int(w, "step_ns", f->step);
    ll_json_open(w, "targets", '[');
    for (int64_t i = 0; i < f->n_targets; i++) {
        ll_json_open(w, NULL, '{');
        ll_json_put_string(w, "name", f->target[i]);
        if (m->anchor != NULL) anchor_json(w, m->anchor[i]);
        ll_json_close(w, '}');
    }
    ll_json_close(w, ']');
    if (m->network != NULL) {
        ll_json_put_int(w, "parameters", n_parameters(m->network));
        ll_network_write_config(w, m->network);
    }
    /* What its training was told and chose, a --config file for another one like it; how it went.
     */
    llap_status st = part_json(w, "run", m->training);
    if (st == LLAP_OK) st = part_json(w, "report", m->report);
    ll_json_close(w, '}');
    return st;
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

static void network_text(FILE *out, const ll_network *n)
{
    const ll_network_config  *c = &n->config;
    const ll_denoiser_config *d = &c->denoiser;
    fprintf(out, "profile %s: %lld %s, %lld parameters, %lld poles, width %lld, %lld %s\n",
            ll_profile_names[c->profile], (long long)c->options.members,
            c->options.members == 1 ? "network" : "networks", (long long)n_parameters(n),
            (long long)d->laplace_k, (long long)d->hidden_dim, (long long)d->num_layers,
            d->num_layers == 1 ? "block" : "blocks");
    fprintf(out, "predicts %s from %lld latent channels; samples by %s in %lld%s steps",
            ll_prediction_names[c->noise.prediction], (long long)d->data_dim,
            ll_solver_names[c->sampling.solver.solver], (long long)n_points(n),
            c->sampling.list == LL_LIST_GATHERED ? " gathered" : "");
    if (n_points(n) != c->sampling.steps)
        fprintf(out, " of %lld asked for", (long long)c->sampling.steps);
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

static void describe_text(FILE *out, const llap_model *m)
{
    const ll_model_frame *f = &m->frame;
    fprintf(out, "a model of size %s: %lld %s, context %s, horizon %s, step %s\n", size_of(m),
            (long long)f->n_entities, f->n_entities == 1 ? "entity" : "entities",
            ll_span_of_ticks(m, (double)f->context).text,
            ll_span_of_ticks(m, (double)f->horizon).text,
            ll_span_of_ticks(m, (double)f->step).text);
    if (m->network != NULL) network_text(out, m->network);
    if (m->network != NULL && m->anchor != NULL) answers_text(out, m);
    for (int64_t i = 0; m->anchor != NULL && i < f->n_targets; i++) {
        const ll_anchor_model *a = m->anchor[i];
        const char *bend = a->chain->log1p ? "log1p" : a->chain->asinh ? "asinh" : "Yeo-Johnson";
        fprintf(out, "\n%s: anchor: validation CRPS %.4f; %s", f->target[i], a->valid_crps, bend);
        if (!a->chain->log1p && !a->chain->asinh) fprintf(out, " lambda %.1f", a->chain->lambda);
        fprintf(out, "; %s; noise %.4f\n",
                a->chain->n_climate > 0 ? "calendar climate" : "no climate", a->kernel.nu);
        if (a->link.rank > 0)
            fprintf(out, "  forecasts look at all entities: linked by %zu factor%s\n", a->link.rank,
                    a->link.rank == 1 ? "" : "s");
        if (a->neighbours[LL_ANCHOR_BOTH].cov != NULL)
            fprintf(out, "  gaps are filled with the help of the other entities\n");
        fprintf(out, "  %10s  %-12s %-12s\n", "variance", "half-life", "period");
        for (int32_t k = 0; k < a->kernel.n_terms; k++)
            fprintf(out, "  %10.4f  %-12s %-12s\n", a->kernel.a[k],
                    ll_span_of_units(m, ll_anchor_half_life(a->kernel.rho[k])).text,
                    a->kernel.omega[k] > 0
                        ? ll_span_of_units(m, 2 * acos(-1.0) / a->kernel.omega[k]).text
                        : "none");
    }
}

llap_status llap_model_describe(const llap_model *m, int json, char **text)
{
    *text = NULL;
    if (json) {
        ll_json_writer    w = { .indent = 2 };
        size_t            n;
        const llap_status st = describe_json(&w, m);
        const llap_status written = ll_json_finish(&w, text, &n);
        if (st == LLAP_OK) return written;
        ll_free(*text);
        *text = NULL;
        return st;
    }
    char  *buffer = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&buffer, &n);
    if (f == NULL) return ll_fail(LLAP_ENOMEM, "out of memory");
    describe_text(f, m);
    const bool ok = fclose(f) == 0;
    *text = ok ? ll_strndup(buffer, n) : NULL;
    free(buffer);
    return *text == NULL ? LLAP_ENOMEM : LLAP_OK;
}
