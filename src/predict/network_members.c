#include "predict/network_members.h"
#include "predict/tables/numbers.h"

#include "base/log.h"

#include "base/crps.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

ll_layout ll_network_layout(const ll_model_frame *f, const ll_network_config *c)
{
    return (ll_layout){
        .view = c->features.view,
        .residual = c->features.residual,
        .entities = f->by_entity ? 0 : f->n_entities,
        .targets = f->n_targets,
        .covariates = c->n_inputs,
        .tokens = c->patches.tokens,
        .slots = c->features.patch_rows,
        .slot = c->features.patch / (double)c->features.patch_rows,
        .horizon = (double)f->horizon / (double)f->unit,
        .calendar = c->features.calendar,
        .level = c->features.level,
    };
}

void ll_network_members_init(ll_network_members *out, const llap_model *m)
{
    const ll_network        *n = m->network;
    const ll_network_config *c = &n->config;
    *out = (ll_network_members){
        .config = { .layout = ll_network_layout(&m->frame, c),
                    .patches = c->patches,
                    .denoiser = c->denoiser },
        .n_members = (int)c->options.members,
        .inputs = { .n = n->n_inputs, .name = n->input },
        .answer_source = c->features.answer_source,
        .sampling = c->sampling,
        .edge = &c->features.calibration_edge,
        .factor = &c->features.calibration_factor,
    };
    assert(out->n_members >= 1 && out->n_members <= LL_MEMBERS_MAX);
    if (n->n_inputs > 0) {
        out->inputs.mean = ll_params_find(n->params, "scale.x.mean")->data;
        out->inputs.std = ll_params_find(n->params, "scale.x.std")->data;
    }
    for (int i = 0; i < out->n_members; i++) {
        snprintf(out->prefix[i], sizeof out->prefix[i], "member.%d.", i);
        out->member[i] = (ll_residual_member){ .params = n->params,
                                               .part = LL_PARAMS_MODEL,
                                               .prefix = out->prefix[i] };
    }
}

ll_draw_plan ll_networks_plan(const ll_network_members *n, const ll_backend *backend)
{
    return (ll_draw_plan){ .solver = n->sampling.solver.solver,
                           .steps = (int)n->sampling.steps,
                           .first = n->sampling.first,
                           .last = n->sampling.last,
                           .gathered = n->sampling.list == LL_LIST_GATHERED,
                           .n_threads = omp_get_max_threads(),
                           .backend = backend };
}

llap_status ll_networks_sampler(const ll_network_members *n, const ll_draw_plan *plan,
                                const llap_log *log, ll_residual_sampler **out)
{
    const llap_status st =
        ll_residual_sampler_create(&n->config, n->member, n->n_members, plan, out);
    if (st == LLAP_OK && ll_residual_sampler_rows(*out) < plan->rows)
        ll_logf(
            log, LLAP_LOG_WARNING, "%s: too little memory for %lld windows at once: %lld at a time",
            plan->backend->name, (long long)plan->rows, (long long)ll_residual_sampler_rows(*out));
    return st;
}

static int bucket_of(const ll_reals *edge, double lead)
{
    int b = 0;
    while (b < edge->n && lead > edge->v[b]) b++;
    return b;
}

double ll_network_members_factor(const ll_network_members *n, int64_t c, double lead)
{
    const int buckets = n->edge->n + 1;
    if (n->factor->n == 0) return 1.0;
    const int64_t row = n->factor->n > buckets ? c * buckets : 0;
    assert(row + buckets <= n->factor->n);
    return n->factor->v[row + bucket_of(n->edge, lead)];
}

/* ---- scores ---- */

/* Fair CRPS of n draws, sorted on the way. */
static double fair_crps(double *x, int64_t n, double truth)
{
    ll_sort_doubles(x, (size_t)n);
    return ll_crps(x, n, truth, true);
}

typedef struct place { /* one value of a set */
    size_t  example;
    int64_t q, z;
} place;

static const float *residuals_at(const ll_feature_set *s, place p, const float *x, int64_t h,
                                 int64_t n_samples)
{
    assert(p.example < s->n && p.q < h);
    const int64_t Z = ll_feature_channels(&s->c);
    return x + ((int64_t)p.example * n_samples * h + p.q) * Z + p.z;
}

/* A residual r of a law in the unit of scores. */
static double unit_of(const ll_anchor_model *a, const ll_law *law, double r)
{
    return ll_chain_unit(
        a->chain, law->series,
        ll_chain_z_back_given(a->chain, law->series, law->climate, law->mean + law->sd * r));
}

/* CRPS of samples and anchor at one value whose residual is r. */
static void check_value(const llap_model *m, const ll_feature_set *s, const ll_network_members *n,
                        place p, double r, const float *x, int64_t h, int64_t n_samples,
                        ll_validation_scores *out)
{
    enum { MOST = 128 };
    const ll_feature_example *row = &s->example[p.example];
    const int64_t             Z = ll_feature_channels(&s->c);
    const size_t              e = ll_feature_entity(&s->c, row, p.z);
    const int64_t             c = (int64_t)ll_feature_target(&s->c, row, p.z);
    const ll_anchor_model    *a = m->anchor[c];
    const double              t = row->t_query[p.q], lead = t - row->origin;
    const float              *at = residuals_at(s, p, x, h, n_samples);
    double                    y[2 * MOST], middle = 0, mean;
    ll_law                    law = { .climate = ll_chain_climate(a->chain, s->source.known[e], t),
                                      .series = s->source.known[e],
                                      .shape = ll_calibration_at(&a->calibration, lead) };
    if (n_samples > MOST) n_samples = MOST;
    ll_feature_law(s, p.example, p.q, p.z, &law.mean, &law.sd);
    const double truth = unit_of(a, &law, r);
    const double factor = ll_network_members_factor(n, c, lead);
    for (int64_t k = 0; k < n_samples; k++) middle += (double)at[k * h * Z] / (double)n_samples;
    for (int64_t k = 0; k < n_samples; k++) {
        const double u = middle + factor * ((double)at[k * h * Z] - middle);
        y[k] = unit_of(a, &law, u);
        y[n_samples + k] = ll_chain_unit(
            a->chain, law.series,
            ll_anchor_quantile_z(a, &law, ll_normal_score(((double)k + 0.5) / (double)n_samples)));
    }
    const bool anchored = s->c.residual == LL_RESIDUAL_ANCHOR; /* else its law is not kept */
    out->anchor += anchored ? ll_anchor_crps_z(a, &law, truth, &mean) : NAN;
    out->network += fair_crps(y, n_samples, truth);
    out->pool += fair_crps(y, 2 * n_samples, truth);
    out->n++;
}

ll_validation_scores ll_networks_validate(const llap_model *m, const ll_feature_set *set,
                                          const ll_network_members *n, const float *x, int64_t h,
                                          int64_t n_samples)
{
    enum { AT_ONCE = 64 }; /* examples, whose sums are then added in order */
    const int64_t        Z = ll_feature_channels(&set->c), rows = (int64_t)set->n;
    ll_validation_scores out = { 0 };
    for (int64_t first = 0; first < rows; first += AT_ONCE) {
        const int64_t        few = rows - first < AT_ONCE ? rows - first : AT_ONCE;
        ll_validation_scores of_example[AT_ONCE] = { { 0 } };
#pragma omp parallel for schedule(dynamic, 1)
        for (int64_t k = 0; k < few; k++) {
            const size_t i = (size_t)(first + k);
            for (int64_t q = 0; q < (int64_t)set->example[i].n_query; q++)
                for (int64_t z = 0; z < Z; z++) {
                    const float r = set->r[((int64_t)i * set->h + q) * Z + z];
                    if (isnan(r)) continue;
                    check_value(m, set, n, (place){ i, q, z }, (double)r, x, h, n_samples,
                                &of_example[k]);
                }
        }
        for (int64_t k = 0; k < few; k++) {
            out.network += of_example[k].network;
            out.anchor += of_example[k].anchor;
            out.pool += of_example[k].pool;
            out.n += of_example[k].n;
        }
    }
    const double count = out.n > 0 ? (double)out.n : NAN;
    out.network /= count;
    out.anchor /= count;
    out.pool /= count;
    return out;
}

ll_answer_source ll_answer_source_choose(const ll_validation_scores *s, double price)
{
    if (!(fmin(s->network, s->pool) < s->anchor)) return LL_ANSWER_BY_ANCHOR;
    return s->network <= (1.0 - price) * s->pool ? LL_ANSWER_BY_NETWORKS : LL_ANSWER_BY_BOTH;
}

/* What is seen of one factor in one bucket. */
typedef struct spread_sums {
    double crps, held, n; /* held: truths within the interval of 80 % */
} spread_sums;

enum { SPREADS = 9, MOST_SAMPLES = 128 };
static const double SPREAD[SPREADS] = { .7, .8, .9, 1, 1.1, 1.2, 1.3, 1.45, 1.6 };

/* x [n], sorted on the way, stretched about its mean by each factor, against the truth. */
static void see_spreads(double *x, int64_t n, double truth, spread_sums to[SPREADS])
{
    const double  at = fmax(0.1 * (double)(n + 1), 1.0), part = at - floor(at);
    const int64_t i = (int64_t)at - 1;
    double        middle = 0, y[MOST_SAMPLES];
    assert(n >= 2 && n <= MOST_SAMPLES);
    ll_sort_doubles(x, (size_t)n);
    for (int64_t k = 0; k < n; k++) middle += x[k] / (double)n;
    const double below = x[i] + part * (x[i + 1] - x[i]) - middle;
    const double above = x[n - 1 - i] + part * (x[n - 2 - i] - x[n - 1 - i]) - middle;
    for (int f = 0; f < SPREADS; f++) {
        for (int64_t k = 0; k < n; k++) y[k] = middle + SPREAD[f] * (x[k] - middle);
        to[f].crps += fair_crps(y, n, truth);
        to[f].held += truth - middle >= SPREAD[f] * below && truth - middle <= SPREAD[f] * above;
        to[f].n++;
    }
}

static double choose_spread(const spread_sums s[SPREADS])
{
    const double dear = 1.003; /* so much of the least CRPS may be paid */
    double       least = INFINITY, best = 1.0, off = INFINITY;
    for (int f = 0; f < SPREADS; f++) least = fmin(least, s[f].crps);
    for (int f = 0; f < SPREADS && s[0].n > 0; f++) {
        const double far = fabs(s[f].held / s[f].n - 0.8);
        if (!(s[f].crps <= dear * least) || far > off || /* NaN: nothing is known */
            (far == off && fabs(SPREAD[f] - 1) >= fabs(best - 1)))
            continue;
        best = SPREAD[f];
        off = far;
    }
    return best;
}

void ll_network_members_calibrate(const ll_feature_set *set, const float *x, int64_t h,
                                  int64_t n_samples, const ll_reals *edge, ll_reals *factor)
{
    const int64_t Z = ll_feature_channels(&set->c), C = set->c.targets;
    const int     buckets = edge->n + 1, own = C * buckets <= LL_REALS_MAX;
    spread_sums   sums[LL_REALS_MAX][SPREADS] = { { { 0 } } };
    double        y[MOST_SAMPLES];
    if (n_samples > MOST_SAMPLES) n_samples = MOST_SAMPLES;
    for (size_t i = 0; i < set->n; i++)
        for (int64_t q = 0; q < (int64_t)set->example[i].n_query; q++)
            for (int64_t z = 0; z < Z; z++) {
                const ll_feature_example *row = &set->example[i];
                const double              r = (double)set->r[((int64_t)i * set->h + q) * Z + z];
                const int64_t             c = own ? (int64_t)ll_feature_target(&set->c, row, z) : 0;
                const float *at = residuals_at(set, (place){ i, q, z }, x, h, n_samples);
                if (isnan(r)) continue;
                for (int64_t k = 0; k < n_samples; k++) y[k] = (double)at[k * h * Z];
                see_spreads(y, n_samples, r,
                            sums[c * buckets + bucket_of(edge, row->t_query[q] - row->origin)]);
            }
    factor->n = (own ? (int)C : 1) * buckets;
    assert(factor->n <= LL_REALS_MAX);
    for (int b = 0; b < factor->n; b++) factor->v[b] = choose_spread(sums[b]);
}
