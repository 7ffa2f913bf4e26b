/* The reverse loop as graphs: what samples share, and a step. */
#include "diffusion/denoiser_loop_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What windows bring, in the order of ll_denoiser_loop.window. */
const char *const planned_window_names[N_WINDOW] = { "tq", "E", "E_raw", "f", "pad", "E_pad" };

static bool knows_sc(const ll_denoiser_loop *s)
{
    return s->c.self_conditioning && !planned_is_tokens(s);
}

ll_shape planned_window_shape(const ll_denoiser_loop *s, int i)
{
    const ll_extent e = s->o.extent;
    assert(i >= 0 && i < N_WINDOW);
    switch (i) {
    case TQ:
    case PAD:
        return LL_SHAPE(e.B, e.h);
    case FEATURES:
        return LL_SHAPE(e.B, e.h, s->c.query_features);
    case SUMMARY_PAD:
        return LL_SHAPE(e.B, s->o.S);
    default:
        return LL_SHAPE(e.B, s->o.S, s->c.hidden_dim);
    }
}

/* [B,...] as [n B,...]: the same for every step. */
static ll_tensor *for_all_steps(const ll_denoiser_loop *s, ll_graph *g, int which)
{
    const ll_shape one = planned_window_shape(s, which);
    ll_shape       all = { .rank = one.rank + 1, .dim = { s->n } }, flat = one;
    for (int i = 0; i < one.rank; i++) all.dim[i + 1] = one.dim[i];
    flat.dim[0] *= s->n;
    ll_tensor *x = ll_input(g, planned_window_names[which], one);
    return ll_reshape(g, ll_expand(g, ll_unsqueeze(g, x, 0), all), flat);
}

void planned_describe_shared(const ll_denoiser_loop *s, ll_graph *g, planned_kind k, ll_modal *m)
{
    const int64_t  rows = s->n * s->o.extent.B;
    const bool     raw = s->c.pole_pool_use_raw_summary || s->c.analysis_qk_use_raw_summary;
    ll_denoiser_in in = { .tq = for_all_steps(s, g, TQ) };
    if (k == GIVEN) in.E = for_all_steps(s, g, SUMMARY);
    if (k == GIVEN && raw && !planned_is_tokens(s)) in.E_raw = for_all_steps(s, g, SUMMARY_RAW);
    if (!planned_is_tokens(s)) {
        in.t = ll_input_int(g, "t", LL_SHAPE(rows));
    } else {
        in.time = ll_input(g, "time", LL_SHAPE(rows));
        in.pad = for_all_steps(s, g, PAD);
        if (s->c.query_features > 0) in.f = for_all_steps(s, g, FEATURES);
        if (k == GIVEN) in.E_pad = for_all_steps(s, g, SUMMARY_PAD);
    }
    ll_denoiser_window(g, &s->c, &in, s->o.extent.h, m);
}

/* Queries, keys and values: read by attention alone, which rounds them. */
static bool is_attended(const char *name)
{
    const size_t n = strlen(name);
    return n > 2 && (strcmp(name + n - 2, ".q") == 0 || strcmp(name + n - 2, ".k") == 0 ||
                     strcmp(name + n - 2, ".v") == 0);
}

void planned_make_output(void *user, const char *name, ll_tensor **x)
{
    const planned_outputs *o = user;
    if (o->half && is_attended(name)) ll_output_half(o->g, name, *x);
    else ll_output(o->g, name, *x);
}

typedef struct renaming {
    ll_graph      *g;
    const ll_plan *shared;
    planned_kind   kind;
    int64_t        n;
} renaming;

static void shared_name(char out[96], planned_kind k, const char *name)
{
    snprintf(out, 96, "%s.%s", k == GIVEN ? "given" : "free", name);
}

/* An input of the step's graph for one step's rows of a result of the shared one. */
static void make_input(void *user, const char *name, ll_tensor **x)
{
    const renaming *r = user;
    ll_shape        shape = ll_shape_of(*x);
    char            full[96];
    shared_name(full, r->kind, name);
    assert(shape.rank > 0 && shape.dim[0] % r->n == 0); /* rows of all steps */
    shape.dim[0] /= r->n;
    *x = ll_plan_output_elem(r->shared, name) == LL_HALF ? ll_input_half(r->g, full, shape)
                                                         : ll_input(r->g, full, shape);
}

static ll_tensor *coef(ll_graph *g, ll_tensor *table, int i)
{
    assert(i >= 0 && i < N_COEFS);
    return ll_reshape(g, ll_slice(g, table, 0, i, 1), LL_SCALAR);
}

/* a x + b y, a and b of the table */
static ll_tensor *combine(ll_graph *g, ll_tensor *table, int a, ll_tensor *x, int b, ll_tensor *y)
{
    return ll_add(g, ll_mul(g, coef(g, table, a), x), ll_mul(g, coef(g, table, b), y));
}

/* Mean and deviation of each sample, [B,R,1,1]. */
static void moments(ll_graph *g, ll_tensor *x, ll_tensor **mean, ll_tensor **deviation)
{
    const unsigned axes = LL_AXIS(2) | LL_AXIS(3);
    const double   n = (double)(ll_dim(x, 2) * ll_dim(x, 3));
    *mean = ll_mean(g, x, axes);
    ll_tensor *square = ll_sum(g, ll_square(g, ll_sub(g, x, *mean)), axes);
    *deviation = ll_sqrt(g, ll_scale(g, square, n > 1.0 ? 1.0 / (n - 1.0) : 0.0));
}

static ll_tensor *but(ll_graph *g, ll_tensor *mask)
{
    return ll_sub(g, ll_full(g, LL_SCALAR, 1.0), mask);
}

/* pred_u + g (pred_c - pred_u), with mean and deviation of pred_c if asked for. */
static ll_tensor *guide(const ll_denoiser_loop *s, ll_graph *g, const ll_move_in *in,
                        ll_tensor *keep)
{
    ll_tensor *given = in->given, *free = in->free, *gain = coef(g, in->table, GUIDANCE);
    if (keep != NULL) /* kept positions are not guided */
        gain = ll_add(g, ll_mul(g, gain, but(g, keep)), keep);
    ll_tensor *guided = ll_add(g, free, ll_mul(g, gain, ll_sub(g, given, free)));
    if (!s->o.sampler.guidance_rescale) return guided;
    ll_tensor *m, *d, *m_given, *d_given, *least = ll_full(g, LL_SCALAR, 1e-6);
    moments(g, guided, &m, &d);
    moments(g, given, &m_given, &d_given);
    ll_tensor *by = ll_div(g, ll_maximum(g, d_given, least), ll_maximum(g, d, least));
    return ll_add(g, ll_mul(g, ll_sub(g, guided, m), by), m_given);
}

/* The prediction of a kind from the states x and x0. */
static ll_tensor *pass(const ll_denoiser_loop *s, ll_graph *g, planned_kind k, ll_modal *modal,
                       ll_tensor *x, ll_tensor *before)
{
    const ll_sample_opts o = { .folded = s->o.folded,
                               .gated = s->o.backend->kernel[LL_OP_GATED] != NULL };
    renaming             r = { g, s->shared[k].plan, k, s->n };
    assert(r.shared != NULL);
    ll_modal_each(modal, &s->c, make_input, &r);
    ll_tensor *sc = !knows_sc(s)                  ? NULL
                    : s->o.sampler.self_condition ? before
                                                  : ll_full(g, ll_shape_of(x), 0.0);
    return ll_denoiser_sample(g, &s->c, modal, x, sc, &o);
}

static ll_tensor *state(const ll_denoiser_loop *s, ll_graph *g, const char *name)
{
    const ll_extent e = s->o.extent;
    return ll_state(g, name, LL_SHAPE(e.B, e.R, e.h, e.Z), LL_INIT_ZERO);
}

void planned_describe_pass(const ll_denoiser_loop *s, ll_graph *g, planned_kind k, ll_modal *modal)
{
    const ll_extent e = s->o.extent;
    const ll_shape  all = LL_SHAPE(e.B, e.R, e.h, e.Z);
    ll_tensor      *x = ll_input(g, "x", all), *before = ll_input(g, "x0", all);
    ll_output(g, "pred", pass(s, g, k, modal, x, before));
}

/* The estimate and the next x of a prediction, op by op; keep may be NULL. */
static void move_on(const ll_denoiser_loop *s, ll_graph *g, const ll_move_in *in, ll_tensor *keep,
                    ll_tensor **next, ll_tensor **x0)
{
    ll_tensor *p = in->free == NULL ? in->given : guide(s, g, in, keep);
    *x0 = combine(g, in->table, X0_OF_X, in->x, X0_OF_PRED, p);
    if (in->clip > 0.0) *x0 = ll_clamp(g, *x0, -in->clip, in->clip);
    ll_tensor *eps = combine(g, in->table, EPS_OF_X, in->x, EPS_OF_PRED, in->clip > 0.0 ? *x0 : p);
    *next = ll_add(g, combine(g, in->table, NEXT_OF_X, in->x, NEXT_OF_X0, *x0),
                   combine(g, in->table, NEXT_OF_BEFORE, in->before, NEXT_OF_EPS, eps));
    if (keep == NULL) return;
    ll_tensor *known = ll_input(g, "known", ll_shape_of(in->x));
    *next = ll_add(g, ll_mul(g, keep, known), ll_mul(g, but(g, keep), *next));
}

void planned_describe_step(const ll_denoiser_loop *s, ll_graph *g, ll_modal *modal, bool both)
{
    const planned_kind only = s->o.S > 0 ? GIVEN : FREE;
    ll_move_in         in = { .x = state(s, g, "x"),
                              .before = state(s, g, "x0"),
                              .table = ll_input(g, "coef", LL_SHAPE(N_COEFS)),
                              .clip = s->o.sampler.clip,
                              .rescale = s->o.sampler.guidance_rescale };
    ll_tensor         *next, *x0;
    if (both) {
        in.given = ll_input(g, "given", ll_shape_of(in.x));
        in.free = ll_input(g, "free", ll_shape_of(in.x));
    } else {
        in.given = pass(s, g, only, &modal[only], in.x, in.before);
    }
    const ll_extent e = s->o.extent;
    ll_tensor      *keep = s->o.kept ? ll_input(g, "keep", LL_SHAPE(e.B, 1, e.h, e.Z)) : NULL;
    if (s->o.backend->kernel[LL_OP_MOVE] != NULL && keep == NULL) ll_move(g, &in, &next, &x0);
    else move_on(s, g, &in, keep, &next, &x0);
    ll_update(g, in.x, next);
    ll_update(g, in.before, x0);
}
