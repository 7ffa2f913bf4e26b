/* What a model is, in numbers. */
#include "report/describe.h"

#include <assert.h>

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
    assert(m->rival != NULL || m->network != NULL || m->anchor != NULL);
    if (m->rival != NULL) return who[LL_ANSWER_BY_NETWORKS];
    if (m->stack != NULL && (m->stack->weight[0] < 1 || m->stack->diffusion.weight > 0))
        return "stack";
    if (m->stack != NULL) return who[LL_ANSWER_BY_ANCHOR];
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
                                .report = m->report,
                                .n_known = f->n_known,
                                .known = f->known,
                                .n_statics = f->n_statics,
                                .statics = f->statics };
    if (m->network != NULL) add_network(m->network, &d);
    if (m->stack != NULL) d.size = "stack";
    if (m->rival != NULL) {
        d.size = "rival";
        d.profile = m->rival->task.kind->name;
        d.n_members = 1;
        d.n_parameters = ll_rival_model_parameters(m->rival);
    }
    return d;
}

/* "a, b": the known columns that have an effect. */
static llap_status add_known(ll_arena *arena, const llap_model *m, const ll_known *k,
                             llap_description_target *t)
{
    t->known = "";
    if (k == NULL) return LLAP_OK;
    t->known_weighting = ll_weighting_name(k->weighting);
    for (int32_t i = 0; i < k->n; i++) {
        const char *name = m->frame.known[k->input[i].column];
        if (i > 0 && k->input[i].column == k->input[i - 1].column) continue;
        t->known = i == 0 ? name : ll_arena_printf(arena, "%s, %s", t->known, name);
        if (t->known == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

static void add_statics(const ll_statics *s, llap_description_target *t)
{
    if (s == NULL) return;
    t->statics = s->every ? "of every entity" : "of new entities";
    t->static_error = s->level.error;
    t->static_apart = s->level.apart;
    t->static_log = s->log;
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
    t->climate =
        a->chain->periods.n > 0 ? "climate of periods"
        : a->chain->profile.daily > 0
            ? a->chain->holidays != NULL ? "weekly profile with holidays" : "weekly profile"
        : a->chain->holidays != NULL ? "calendar climate with holidays"
        : a->chain->n_climate > 0    ? "calendar climate"
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
        if (m->anchor == NULL) continue;
        st = add_anchor(&d->arena, m->anchor[i], &d->target[i]);
        add_statics(m->anchor[i]->chain->statics, &d->target[i]);
        if (st == LLAP_OK) st = add_known(&d->arena, m, m->anchor[i]->chain->known, &d->target[i]);
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

llap_status llap_model_describe(const llap_model *m, int json, char **text)
{
    llap_description *d = NULL;
    *text = NULL;
    llap_status st = llap_description_create(m, &d);
    if (st == LLAP_OK) st = json ? llap_description_json(d, text) : llap_description_text(d, text);
    llap_description_destroy(d);
    return st;
}
