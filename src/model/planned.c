/* The reverse loop as plans: one for what samples share, one for a step. */
#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/planned_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -------- the table -------- */

/* DDIM: a' x0 + s' eps. DPM-Solver++(2M): (s'/s) x + gain ((1 + half) x0 - half x0_before). */
static void transition(const llap_planned *s, const llap_points *list, int i, float *row)
{
    const llap_level at = list->at[i].level, to = list->at[i + 1].level;
    if (s->o.sampler.solver == LLAP_SOLVER_DDIM) {
        row[NEXT_OF_X0] = to.a;
        row[NEXT_OF_EPS] = sqrtf(fmaxf(1.0f - to.alpha_bar, 0.0f));
        return;
    }
    const double here = log((double)at.a) - log((double)at.s);
    const double step = log((double)to.a) - log((double)to.s) - here;
    const double gain = -(double)to.a * expm1(-step);
    double       half = 0.0;
    if (i > 0 && isfinite(step)) { /* as in solver.c */
        const llap_level last = list->at[i - 1].level;
        half = 0.5 * step / (here - (log((double)last.a) - log((double)last.s)));
    }
    row[NEXT_OF_X] = (float)((double)to.s / (double)at.s);
    row[NEXT_OF_X0] = (float)(gain * (1.0 + half));
    row[NEXT_OF_BEFORE] = (float)(-gain * half);
}

static void fill_table(llap_planned *s, const llap_points *list)
{
    const llap_sampler_opts *o = &s->o.sampler;
    for (int i = 0; i < s->n; i++) {
        const llap_level      at = list->at[i].level;
        const llap_prediction p = o->clip > 0.0 ? LLAP_PREDICT_X0 : o->predict;
        float                *row = s->coef + (int64_t)i * N_COEFS;
        s->level[i] = at;
        row[X0_OF_X] = llap_to_x0(o->predict, at, 1.0f, 0.0f);
        row[X0_OF_PRED] = llap_to_x0(o->predict, at, 0.0f, 1.0f);
        row[EPS_OF_X] = llap_to_eps(p, at, 1.0f, 0.0f);
        row[EPS_OF_PRED] = llap_to_eps(p, at, 0.0f, 1.0f);
        row[GUIDANCE] = llap_guidance_at(o, at.alpha_bar);
        s->guided[i] = s->o.S > 0 && fabs((double)row[GUIDANCE] - 1.0) > 1e-12;
        if (i + 1 < s->n) transition(s, list, i, row);
    }
}

/* -------- planning and binding -------- */

static llap_status make_ready(const llap_planned *s, llap_graph *g, planned_ready *r)
{
    llap_status st = llap_graph_status(g);
    if (st == LLAP_OK)
        st = llap_plan_create(g,
                              &(llap_plan_opts){ .backend = s->o.backend,
                                                 .n_threads = s->o.n_threads,
                                                 .half_params = true },
                              &r->plan);
    return st == LLAP_OK ? llap_run_create(r->plan, &r->run) : st;
}

/* The array of a parameter or state: folded, of the chosen part, or the model's. */
static const llap_param_info *find(const llap_planned *s, const char *name)
{
    char                   full[512];
    const char            *prefix = s->o.prefix == NULL ? "" : s->o.prefix;
    const llap_param_info *p = s->folds == NULL ? NULL : llap_params_find(s->folds, name);
    if (p == NULL && s->o.part == LLAP_PARAMS_EMA) {
        snprintf(full, sizeof full, "ema.%s%s", prefix, name);
        p = llap_params_find(s->params, full);
    }
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return p != NULL ? p : llap_params_find(s->params, full);
}

static const llap_params *home_of(const llap_planned *s, const llap_param_info *p)
{
    return s->folds != NULL && llap_params_find(s->folds, p->name) == p ? s->folds : s->params;
}

static llap_status bind_weights(llap_planned *s, planned_ready *r)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < llap_plan_n_slots(r->plan) && st == LLAP_OK; i++) {
        const llap_slot *slot = llap_plan_slot(r->plan, i);
        if (slot->leaf != LLAP_LEAF_PARAM && slot->leaf != LLAP_LEAF_STATE) continue;
        if (strcmp(slot->name, "x") == 0 || strcmp(slot->name, "x0") == 0) continue;
        const llap_param_info *p = find(s, slot->name);
        if (p == NULL) return llap_fail(LLAP_ENOTFOUND, "sampler: no parameter '%s'", slot->name);
        if (!llap_shape_equal(&p->shape, &slot->shape)) {
            char a[LLAP_SHAPE_TEXT], b[LLAP_SHAPE_TEXT];
            return llap_fail(LLAP_EINVAL, "sampler: '%s': expected %s, found %s", slot->name,
                             llap_shape_text(&slot->shape, a), llap_shape_text(&p->shape, b));
        }
        void              *near = p->near;
        const bool         half = slot->elem == LLAP_HALF;
        const llap_params *home = home_of(s, p);
        if (half || llap_params_backend(home)->memory != s->o.backend->memory)
            st = llap_bring(&s->brought, s->o.backend, home, p, half, &near);
        if (st == LLAP_OK) st = llap_run_bind_near(r->run, slot->name, near, p->count);
    }
    return st;
}

static bool has_folds(const llap_graph *g)
{
    for (int i = 0; i < llap_graph_n_leaves(g); i++)
        if (strstr(llap_graph_leaf(g, i).name, "fold.") != NULL) return true;
    return false;
}

/* The folded weights' own store: the states of the step's graph whose names have ".fold.". */
static llap_status make_folds(llap_planned *s, llap_graph *step)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    for (int i = 0; i < llap_graph_n_leaves(step); i++) {
        const llap_leaf_info l = llap_graph_leaf(step, i);
        if (l.leaf == LLAP_LEAF_STATE && strstr(l.name, "fold.") != NULL)
            llap_state(g, l.name, l.shape, l.init);
    }
    st = llap_params_create(g, s->o.backend, &s->folds);
    llap_graph_destroy(g);
    const llap_fold_opts o = { .prefix = s->o.prefix, .part = s->o.part };
    if (st == LLAP_OK) st = llap_denoiser_fold(s->params, &o, s->folds);
    return st == LLAP_OK ? llap_params_push(s->folds) : st;
}

static llap_status build_shared(llap_planned *s, planned_kind k, llap_graph *g, llap_modal *m)
{
    const int64_t  rows = s->n * s->o.extent.B;
    planned_ready *r = &s->shared[k];
    planned_describe_shared(s, g, k, m);
    llap_modal_each(m, &s->c, planned_make_output, &(planned_outputs){ g, s->half });
    llap_status st = make_ready(s, g, r);
    if (st == LLAP_OK) st = bind_weights(s, r);
    if (st == LLAP_OK) st = planned_bind(r, "t", s->t, rows);
    if (st == LLAP_OK) st = planned_bind(r, "time", s->time, rows);
    for (int i = 0; i < N_WINDOW && st == LLAP_OK; i++) {
        const llap_shape one = planned_window_shape(s, i);
        st = planned_bind(r, planned_window_names[i], s->window[i], llap_shape_count(&one));
    }
    return st;
}

/* Plans the graph of a step or of a pass, and binds weights and states. */
static llap_status build_part(llap_planned *s, llap_graph *g, planned_ready *r)
{
    const llap_extent e = s->o.extent;
    llap_status       st = make_ready(s, g, r);
    if (st == LLAP_OK && s->o.folded && s->folds == NULL && has_folds(g)) st = make_folds(s, g);
    if (st == LLAP_OK) st = bind_weights(s, r);
    if (st == LLAP_OK) st = planned_bind(r, "x", s->x, e.B * e.R * e.h * e.Z);
    if (st == LLAP_OK) st = planned_bind(r, "x0", s->x0, e.B * e.R * e.h * e.Z);
    if (st == LLAP_OK) st = planned_bind(r, "keep", s->keep, e.B * e.h * e.Z);
    return st;
}

/* mine: room for the graph's own tensors */
static llap_status build_step(llap_planned *s, const llap_modal *modal, llap_modal *mine, bool both)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    for (int k = 0; k < N_KINDS; k++) mine[k] = modal[k];
    planned_describe_step(s, g, mine, both);
    st = build_part(s, g, &s->step[both]);
    llap_graph_destroy(g);
    for (int k = 0; k < N_KINDS && both && st == LLAP_OK; k++) {
        int64_t n = s->o.extent.B * s->o.extent.R * s->o.extent.h * s->o.extent.Z;
        st = llap_graph_create(&g);
        if (st != LLAP_OK) return st;
        mine[k] = modal[k];
        planned_describe_pass(s, g, (planned_kind)k, &mine[k]);
        st = build_part(s, g, &s->pass[k]);
        llap_graph_destroy(g);
        if (st == LLAP_OK)
            st = llap_run_bind_near(s->step[1].run, k == GIVEN ? "given" : "free",
                                    llap_run_output_near(s->pass[k].run, "pred", NULL), n);
    }
    return st;
}

/* What the plan reads of the shared is of the kind that it is written in. */
static bool agrees(const llap_planned *s, const planned_ready *r)
{
    for (int k = 0; r->plan != NULL && k < llap_plan_n_slots(r->plan); k++) {
        const llap_slot *slot = llap_plan_slot(r->plan, k);
        const bool       given = strncmp(slot->name, "given.", 6) == 0;
        if (!given && strncmp(slot->name, "free.", 5) != 0) continue;
        if (llap_plan_output_elem(s->shared[given ? GIVEN : FREE].plan,
                                  slot->name + (given ? 6 : 5)) != slot->elem)
            return false;
    }
    return true;
}

static bool all_agree(const llap_planned *s)
{
    bool ok = true;
    for (int i = 0; i < 2; i++) ok = ok && agrees(s, &s->step[i]) && agrees(s, &s->pass[i]);
    return ok;
}

static void drop(planned_ready *r)
{
    llap_run_destroy(r->run);
    llap_plan_release(r->plan);
    *r = (planned_ready){ 0 };
}

static void drop_all(llap_planned *s)
{
    for (int i = 0; i < 2; i++) {
        drop(&s->shared[i]);
        drop(&s->step[i]);
        drop(&s->pass[i]);
    }
}

/* The graphs of the shared halves live until the steps have seen the shapes of their results. */
static llap_status build_once(llap_planned *s)
{
    llap_modal *modal = llap_new(2 * N_KINDS, sizeof *modal);
    llap_graph *g[N_KINDS] = { NULL };
    bool        needed[2] = { false, false };
    llap_status st = modal == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int i = 0; i < s->n; i++) needed[s->guided[i]] = true;
    const bool of_kind[N_KINDS] = { s->o.S == 0 || needed[1], s->o.S > 0 };
    for (int k = 0; k < N_KINDS && st == LLAP_OK; k++) {
        if (!of_kind[k]) continue;
        st = llap_graph_create(&g[k]);
        if (st == LLAP_OK) st = build_shared(s, (planned_kind)k, g[k], &modal[k]);
    }
    for (int both = 0; both < 2 && st == LLAP_OK; both++)
        if (needed[both]) st = build_step(s, modal, modal + N_KINDS, both == 1);
    for (int k = 0; k < N_KINDS; k++) llap_graph_destroy(g[k]);
    llap_free(modal);
    return st;
}

/* What attention reads as bf16, unless one of the plans does not take it so. */
static llap_status build(llap_planned *s)
{
    s->half = s->o.backend->half != NULL;
    const llap_status st = build_once(s);
    if (st != LLAP_OK || !s->half || all_agree(s)) return st;
    drop_all(s);
    s->half = false;
    return build_once(s);
}

bool llap_planned_takes(const llap_sampler_opts *o)
{
    return !(o->eta > 0.0 || o->threshold_p > 0.0 || o->solver == LLAP_SOLVER_UNIPC);
}

static llap_status check(const llap_denoiser_config *c, const llap_planned_opts *o,
                         const llap_points *list)
{
    if (o->backend->real_bytes != sizeof(float))
        return llap_fail(LLAP_EUNSUPPORTED, "sampler: backend '%s' does not compute in floats",
                         o->backend->name);
    if (list->n < 1) return llap_fail(LLAP_EINVAL, "sampler: the list of steps is empty");
    if (o->extent.Z != c->data_dim)
        return llap_fail(LLAP_EINVAL, "sampler: data_dim: expected %lld, found %lld",
                         (long long)o->extent.Z, (long long)c->data_dim);
    if (!llap_planned_takes(&o->sampler))
        return llap_fail(LLAP_EUNSUPPORTED,
                         "sampler: eta, thresholds and unipc are not for planned sampling");
    return llap_denoiser_config_check(c);
}

static llap_status put_steps(llap_planned *s, const llap_points *list)
{
    const int64_t B = s->o.extent.B, rows = s->n * B;
    int32_t      *t = llap_new((size_t)rows, sizeof *t);
    float        *time = llap_new((size_t)rows, sizeof *time);
    llap_status   st = t == NULL || time == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t r = 0; r < rows && st == LLAP_OK; r++) {
        const llap_point *at = &list->at[r / B];
        t[r] = (int32_t)at->t;
        time[r] = (float)at->time;
        if (!planned_is_tokens(s) && (at->t < 0 || at->t >= s->c.timesteps))
            st = llap_fail(LLAP_EINVAL, "sampler: step %lld is not below %lld", (long long)at->t,
                           (long long)s->c.timesteps);
    }
    const llap_backend *b = s->o.backend;
    if (st == LLAP_OK) st = llap_near_put(b, s->t, t, (size_t)rows * sizeof *t);
    if (st == LLAP_OK) st = llap_near_put(b, s->time, time, (size_t)rows * sizeof *time);
    if (st == LLAP_OK)
        st = llap_near_put(b, s->coef_near, s->coef, (size_t)s->n * N_COEFS * sizeof *s->coef);
    if (st == LLAP_OK) st = llap_near_finish(b); /* t and time go */
    llap_free(t);
    llap_free(time);
    return st;
}

static llap_status allocate(llap_planned *s)
{
    const llap_extent   e = s->o.extent;
    const llap_backend *b = s->o.backend;
    const size_t        n = (size_t)(e.B * e.R * e.h * e.Z) * sizeof(float);
    const size_t        rows = (size_t)(s->n * e.B) * sizeof(float);
    s->coef = llap_new((size_t)s->n * N_COEFS, sizeof *s->coef);
    s->guided = llap_new((size_t)s->n, sizeof *s->guided);
    s->noise = llap_new_aligned(n, 1);
    s->level = llap_new((size_t)s->n, sizeof *s->level);
    s->mask = llap_new((size_t)(e.B * e.h * e.Z), sizeof *s->mask);
    if (s->coef == NULL || s->guided == NULL || s->noise == NULL || s->level == NULL ||
        s->mask == NULL)
        return LLAP_ENOMEM;
    llap_status st = llap_near_alloc(b, (size_t)s->n * N_COEFS * sizeof(float), &s->coef_near);
    if (st == LLAP_OK) st = llap_near_alloc(b, rows, &s->t);
    if (st == LLAP_OK) st = llap_near_alloc(b, rows, &s->time);
    if (st == LLAP_OK) st = llap_near_alloc(b, n, &s->x);
    if (st == LLAP_OK) st = llap_near_alloc(b, n, &s->x0);
    if (st == LLAP_OK && s->o.kept) st = llap_near_alloc(b, n / (size_t)e.R, &s->keep);
    if (st == LLAP_OK && s->o.kept) st = llap_near_alloc(b, n * (size_t)s->n, &s->known);
    for (int i = 0; i < N_WINDOW && st == LLAP_OK; i++) {
        const llap_shape one = planned_window_shape(s, i);
        st = llap_near_alloc(b, (size_t)llap_shape_count(&one) * sizeof(float), &s->window[i]);
    }
    return st;
}

llap_status llap_planned_create(const llap_denoiser_config *c, const llap_params *params,
                                const llap_planned_opts *o, const llap_points *list,
                                llap_planned **out)
{
    *out = NULL;
    llap_status st = check(c, o, list);
    if (st != LLAP_OK) return st;
    llap_planned *s = llap_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (llap_planned){ .c = *c, .o = *o, .params = params, .n = list->n };
    if (planned_is_tokens(s)) s->o.folded = false; /* no neighbouring products there */
    st = allocate(s);
    if (st == LLAP_OK) {
        fill_table(s, list);
        st = put_steps(s, list);
    }
    if (st == LLAP_OK) st = build(s);
    if (st == LLAP_OK) *out = s;
    else llap_planned_destroy(s);
    return st;
}

void planned_forget(llap_planned *s)
{
    if (s->recording != NULL) s->o.backend->memory->forget(s->recording);
    s->recording = NULL;
    s->has_run = false;
}

void llap_planned_destroy(llap_planned *s)
{
    if (s == NULL) return;
    const llap_backend *b = s->o.backend;
    planned_forget(s);
    drop_all(s);
    for (int i = 0; i < N_WINDOW; i++) llap_near_release(b, s->window[i]);
    void *near[] = { s->coef_near, s->t, s->time, s->x, s->x0, s->keep, s->known };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) llap_near_release(b, near[i]);
    llap_brought_release(s->brought, b);
    llap_params_destroy(s->folds);
    llap_free(s->coef);
    llap_free(s->guided);
    llap_free(s->noise);
    llap_free(s->mask);
    llap_free(s->level);
    llap_free(s);
}

int llap_planned_n_steps(const llap_planned *s)
{
    int n = 0;
    for (int k = 0; k < N_KINDS; k++)
        if (s->shared[k].plan != NULL) n += llap_plan_n_steps(s->shared[k].plan);
    for (int i = 0; i < s->n; i++) {
        n += llap_plan_n_steps(s->step[s->guided[i]].plan);
        for (int k = 0; k < N_KINDS && s->guided[i]; k++) n += llap_plan_n_steps(s->pass[k].plan);
    }
    return n;
}

double llap_planned_products(const llap_planned *s)
{
    double n = 0.0;
    for (int k = 0; k < N_KINDS; k++)
        if (s->shared[k].plan != NULL) n += llap_plan_products(s->shared[k].plan);
    for (int i = 0; i < s->n; i++) {
        n += llap_plan_products(s->step[s->guided[i]].plan);
        for (int k = 0; k < N_KINDS && s->guided[i]; k++) n += llap_plan_products(s->pass[k].plan);
    }
    return n;
}

size_t llap_planned_bytes(const llap_planned *s)
{
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        if (s->shared[k].plan != NULL) n += llap_plan_workspace(s->shared[k].plan);
        if (s->step[k].plan != NULL) n += llap_plan_workspace(s->step[k].plan);
        if (s->pass[k].plan != NULL) n += llap_plan_workspace(s->pass[k].plan);
    }
    return n;
}
