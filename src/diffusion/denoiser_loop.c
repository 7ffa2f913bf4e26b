/* The reverse loop as plans: one for what samples share, one for a step. */
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "diffusion/denoiser_loop_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* -------- the table -------- */

/* DDIM: a' x0 + s' eps. DPM-Solver++(2M): (s'/s) x + gain ((1 + half) x0 - half x0_before). */
static void transition(const ll_denoiser_loop *s, const ll_points *list, int i, float *row)
{
    assert(i + 1 < list->n);
    const ll_level at = list->at[i].level, to = list->at[i + 1].level;
    if (s->o.sampler.solver == LL_SOLVER_DDIM) {
        row[NEXT_OF_X0] = to.a;
        row[NEXT_OF_EPS] = sqrtf(fmaxf(1.0f - to.alpha_bar, 0.0f));
        return;
    }
    const double here = log((double)at.a) - log((double)at.s);
    const double step = log((double)to.a) - log((double)to.s) - here;
    const double gain = -(double)to.a * expm1(-step);
    double       half = 0.0;
    if (i > 0 && isfinite(step)) { /* as in solver.c */
        const ll_level last = list->at[i - 1].level;
        half = 0.5 * step / (here - (log((double)last.a) - log((double)last.s)));
    }
    row[NEXT_OF_X] = (float)((double)to.s / (double)at.s);
    row[NEXT_OF_X0] = (float)(gain * (1.0 + half));
    row[NEXT_OF_BEFORE] = (float)(-gain * half);
}

static void fill_table(ll_denoiser_loop *s, const ll_points *list)
{
    const ll_sampler_opts *o = &s->o.sampler;
    assert(list->n == s->n);
    for (int i = 0; i < s->n; i++) {
        const ll_level      at = list->at[i].level;
        const ll_prediction p = o->clip > 0.0 ? LL_PREDICT_X0 : o->predict;
        float              *row = s->coef + (int64_t)i * N_COEFS;
        s->level[i] = at;
        row[X0_OF_X] = ll_to_x0(o->predict, at, 1.0f, 0.0f);
        row[X0_OF_PRED] = ll_to_x0(o->predict, at, 0.0f, 1.0f);
        row[EPS_OF_X] = ll_to_eps(p, at, 1.0f, 0.0f);
        row[EPS_OF_PRED] = ll_to_eps(p, at, 0.0f, 1.0f);
        row[GUIDANCE] = ll_guidance_at(o, at.alpha_bar);
        s->guided[i] = s->o.S > 0 && fabs((double)row[GUIDANCE] - 1.0) > 1e-12;
        if (i + 1 < s->n) transition(s, list, i, row);
    }
}

/* -------- planning and binding -------- */

static llap_status make_ready(const ll_denoiser_loop *s, const ll_graph *g, ll_ready *r)
{
    const ll_plan_opts o = { .backend = s->o.backend,
                             .n_threads = s->o.n_threads,
                             .half_params = true };
    return ll_ready_init(r, g, &o);
}

static llap_status bind_weights(ll_denoiser_loop *s, ll_ready *r)
{
    static const char *const own[] = { "x", "x0", NULL };
    return ll_prepared_denoiser_bind(&s->weights, r, own);
}

static llap_status build_shared(ll_denoiser_loop *s, planned_kind k, ll_graph *g, ll_modal *m)
{
    const int64_t rows = s->n * s->o.extent.B;
    ll_ready     *r = &s->shared[k];
    planned_describe_shared(s, g, k, m);
    ll_modal_each(m, &s->c, planned_make_output, &(planned_outputs){ g, s->half });
    llap_status st = make_ready(s, g, r);
    if (st == LLAP_OK) st = bind_weights(s, r);
    if (st == LLAP_OK) st = planned_bind(r, "t", s->t, rows);
    if (st == LLAP_OK) st = planned_bind(r, "time", s->time, rows);
    for (int i = 0; i < N_WINDOW && st == LLAP_OK; i++) {
        const ll_shape one = planned_window_shape(s, i);
        st = planned_bind(r, planned_window_names[i], s->window[i], ll_shape_count(&one));
    }
    return st;
}

/* Plans the graph of a step or of a pass, and binds weights and states. */
static llap_status build_part(ll_denoiser_loop *s, ll_graph *g, ll_ready *r)
{
    const ll_extent e = s->o.extent;
    llap_status     st = make_ready(s, g, r);
    if (st == LLAP_OK && s->o.folded) st = ll_prepared_denoiser_fold(&s->weights, g);
    if (st == LLAP_OK) st = bind_weights(s, r);
    if (st == LLAP_OK) st = planned_bind(r, "x", s->x, e.B * e.R * e.h * e.Z);
    if (st == LLAP_OK) st = planned_bind(r, "x0", s->x0, e.B * e.R * e.h * e.Z);
    if (st == LLAP_OK) st = planned_bind(r, "keep", s->keep, e.B * e.h * e.Z);
    return st;
}

/* mine: room for the graph's own tensors */
static llap_status build_step(ll_denoiser_loop *s, const ll_modal *modal, ll_modal *mine, bool both)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    for (int k = 0; k < N_KINDS; k++) mine[k] = modal[k];
    planned_describe_step(s, g, mine, both);
    st = build_part(s, g, &s->step[both]);
    ll_graph_destroy(g);
    for (int k = 0; k < N_KINDS && both && st == LLAP_OK; k++) {
        int64_t n = s->o.extent.B * s->o.extent.R * s->o.extent.h * s->o.extent.Z;
        st = ll_graph_create(&g);
        if (st != LLAP_OK) return st;
        mine[k] = modal[k];
        planned_describe_pass(s, g, (planned_kind)k, &mine[k]);
        st = build_part(s, g, &s->pass[k]);
        ll_graph_destroy(g);
        if (st == LLAP_OK)
            st = ll_run_bind_device(s->step[1].run, k == GIVEN ? "given" : "free",
                                    ll_run_output_device(s->pass[k].run, "pred", NULL), n);
    }
    return st;
}

/* What the plan reads of the shared is of the kind that it is written in. */
static bool agrees(const ll_denoiser_loop *s, const ll_ready *r)
{
    for (int k = 0; r->plan != NULL && k < ll_plan_n_slots(r->plan); k++) {
        const ll_slot *slot = ll_plan_slot(r->plan, k);
        const bool     given = strncmp(slot->name, "given.", 6) == 0;
        if (!given && strncmp(slot->name, "free.", 5) != 0) continue;
        assert(s->shared[given ? GIVEN : FREE].plan != NULL);
        if (ll_plan_output_elem(s->shared[given ? GIVEN : FREE].plan,
                                slot->name + (given ? 6 : 5)) != slot->elem)
            return false;
    }
    return true;
}

static bool all_agree(const ll_denoiser_loop *s)
{
    bool ok = true;
    for (int i = 0; i < 2; i++) ok = ok && agrees(s, &s->step[i]) && agrees(s, &s->pass[i]);
    return ok;
}

static void drop_all(ll_denoiser_loop *s)
{
    for (int i = 0; i < 2; i++) {
        ll_ready_deinit(&s->shared[i]);
        ll_ready_deinit(&s->step[i]);
        ll_ready_deinit(&s->pass[i]);
    }
}

/* The graphs of the shared halves live until the steps have seen the shapes of their results. */
static llap_status build_once(ll_denoiser_loop *s)
{
    ll_modal   *modal = ll_new(2 * N_KINDS, sizeof *modal);
    ll_graph   *g[N_KINDS] = { NULL };
    bool        needed[2] = { false, false };
    llap_status st = modal == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int i = 0; i < s->n; i++) needed[s->guided[i]] = true;
    const bool of_kind[N_KINDS] = { s->o.S == 0 || needed[1], s->o.S > 0 };
    for (int k = 0; k < N_KINDS && st == LLAP_OK; k++) {
        if (!of_kind[k]) continue;
        st = ll_graph_create(&g[k]);
        if (st == LLAP_OK) st = build_shared(s, (planned_kind)k, g[k], &modal[k]);
    }
    for (int both = 0; both < 2 && st == LLAP_OK; both++)
        if (needed[both]) st = build_step(s, modal, modal + N_KINDS, both == 1);
    for (int k = 0; k < N_KINDS; k++) ll_graph_destroy(g[k]);
    ll_free(modal);
    return st;
}

/* What attention reads as bf16, unless one of the plans does not take it so. */
static llap_status build(ll_denoiser_loop *s)
{
    s->half = s->o.backend->half != NULL;
    const llap_status st = build_once(s);
    if (st != LLAP_OK || !s->half || all_agree(s)) return st;
    drop_all(s);
    s->half = false;
    return build_once(s);
}

bool ll_denoiser_loop_takes(const ll_sampler_opts *o)
{
    return !(o->eta > 0.0 || o->threshold_p > 0.0 || o->solver == LL_SOLVER_UNIPC);
}

static llap_status check(const ll_denoiser_config *c, const ll_prepared_denoiser_opts *o,
                         const ll_points *list)
{
    if (list->n < 1) return ll_fail(LLAP_EINVAL, "sampler: the list of steps is empty");
    if (!ll_denoiser_loop_takes(&o->sampler))
        return ll_fail(LLAP_EUNSUPPORTED,
                       "sampler: eta, thresholds and unipc are not for planned sampling");
    return ll_prepared_denoiser_check(c, o);
}

static llap_status put_steps(ll_denoiser_loop *s, const ll_points *list)
{
    const int64_t B = s->o.extent.B, rows = s->n * B;
    int32_t      *t = ll_new((size_t)rows, sizeof *t);
    float        *time = ll_new((size_t)rows, sizeof *time);
    llap_status   st = t == NULL || time == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t r = 0; r < rows && st == LLAP_OK; r++) {
        const ll_point *at = &list->at[r / B];
        t[r] = (int32_t)at->t;
        time[r] = (float)at->time;
        if (!planned_is_tokens(s) && (at->t < 0 || at->t >= s->c.timesteps))
            st = ll_fail(LLAP_EINVAL, "sampler: step %lld is not below %lld", (long long)at->t,
                         (long long)s->c.timesteps);
    }
    const ll_backend *b = s->o.backend;
    if (st == LLAP_OK) st = ll_device_put(b, s->t, t, (size_t)rows * sizeof *t);
    if (st == LLAP_OK) st = ll_device_put(b, s->time, time, (size_t)rows * sizeof *time);
    if (st == LLAP_OK)
        st = ll_device_put(b, s->coef_near, s->coef, (size_t)s->n * N_COEFS * sizeof *s->coef);
    if (st == LLAP_OK) st = ll_device_finish(b); /* t and time go */
    ll_free(t);
    ll_free(time);
    return st;
}

static llap_status allocate(ll_denoiser_loop *s)
{
    const ll_extent   e = s->o.extent;
    const ll_backend *b = s->o.backend;
    const size_t      n = (size_t)(e.B * e.R * e.h * e.Z) * sizeof(float);
    const size_t      rows = (size_t)(s->n * e.B) * sizeof(float);
    s->coef = ll_new((size_t)s->n * N_COEFS, sizeof *s->coef);
    s->guided = ll_new((size_t)s->n, sizeof *s->guided);
    s->noise = ll_new_aligned(n, 1);
    s->level = ll_new((size_t)s->n, sizeof *s->level);
    s->mask = ll_new((size_t)(e.B * e.h * e.Z), sizeof *s->mask);
    if (s->coef == NULL || s->guided == NULL || s->noise == NULL || s->level == NULL ||
        s->mask == NULL)
        return LLAP_ENOMEM;
    llap_status st = ll_device_alloc(b, (size_t)s->n * N_COEFS * sizeof(float), &s->coef_near);
    if (st == LLAP_OK) st = ll_device_alloc(b, rows, &s->t);
    if (st == LLAP_OK) st = ll_device_alloc(b, rows, &s->time);
    if (st == LLAP_OK) st = ll_device_alloc(b, n, &s->x);
    if (st == LLAP_OK) st = ll_device_alloc(b, n, &s->x0);
    if (st == LLAP_OK && s->o.kept) st = ll_device_alloc(b, n / (size_t)e.R, &s->keep);
    if (st == LLAP_OK && s->o.kept) st = ll_device_alloc(b, n * (size_t)s->n, &s->known);
    for (int i = 0; i < N_WINDOW && st == LLAP_OK; i++) {
        const ll_shape one = planned_window_shape(s, i);
        st = ll_device_alloc(b, (size_t)ll_shape_count(&one) * sizeof(float), &s->window[i]);
    }
    return st;
}

llap_status ll_denoiser_loop_create(const ll_denoiser_config *c, const ll_params *params,
                                    const ll_prepared_denoiser_opts *o, const ll_points *list,
                                    ll_denoiser_loop **out)
{
    *out = NULL;
    llap_status st = check(c, o, list);
    if (st != LLAP_OK) return st;
    ll_denoiser_loop *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (ll_denoiser_loop){
        .c = *c, .o = *o, .weights = ll_prepared_denoiser_weights_of(params, o), .n = list->n
    };
    if (planned_is_tokens(s)) s->o.folded = false; /* no neighbouring products there */
    st = allocate(s);
    if (st == LLAP_OK) {
        fill_table(s, list);
        st = put_steps(s, list);
    }
    if (st == LLAP_OK) st = build(s);
    if (st == LLAP_OK) *out = s;
    else ll_denoiser_loop_destroy(s);
    return st;
}

void planned_forget(ll_denoiser_loop *s)
{
    assert(s->recording == NULL || s->o.backend->memory != NULL);
    if (s->recording != NULL) s->o.backend->memory->forget(s->recording);
    s->recording = NULL;
    s->has_run = false;
}

void ll_denoiser_loop_destroy(ll_denoiser_loop *s)
{
    if (s == NULL) return;
    const ll_backend *b = s->o.backend;
    planned_forget(s);
    drop_all(s);
    for (int i = 0; i < N_WINDOW; i++) ll_device_release(b, s->window[i]);
    void *device_data[] = { s->coef_near, s->t, s->time, s->x, s->x0, s->keep, s->known };
    for (size_t i = 0; i < sizeof device_data / sizeof *device_data; i++)
        ll_device_release(b, device_data[i]);
    ll_prepared_denoiser_weights_deinit(&s->weights);
    ll_free(s->coef);
    ll_free(s->guided);
    ll_free(s->noise);
    ll_free(s->mask);
    ll_free(s->level);
    ll_free(s);
}

double ll_denoiser_loop_products(const ll_denoiser_loop *s)
{
    double n = 0.0;
    for (int k = 0; k < N_KINDS; k++)
        if (s->shared[k].plan != NULL) n += ll_plan_products(s->shared[k].plan);
    for (int i = 0; i < s->n; i++) {
        assert(s->step[s->guided[i]].plan != NULL);
        n += ll_plan_products(s->step[s->guided[i]].plan);
        for (int k = 0; k < N_KINDS && s->guided[i]; k++) n += ll_plan_products(s->pass[k].plan);
    }
    return n;
}

size_t ll_denoiser_loop_bytes(const ll_denoiser_loop *s)
{
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        if (s->shared[k].plan != NULL) n += ll_plan_workspace(s->shared[k].plan);
        if (s->step[k].plan != NULL) n += ll_plan_workspace(s->step[k].plan);
        if (s->pass[k].plan != NULL) n += ll_plan_workspace(s->pass[k].plan);
    }
    return n;
}
