/* The reverse loop as graphs: what samples share, and a step. */
#include "model/planned_parts.h"

#include <stdio.h>
#include <string.h>

/* What windows bring, in the order of llap_planned.window. */
const char *const planned_window_names[N_WINDOW] = { "tq", "E", "E_raw", "f", "pad", "E_pad" };

static bool knows_sc(const llap_planned *s)
{
    return s->c.self_conditioning && !planned_is_tokens(s);
}

llap_shape planned_window_shape(const llap_planned *s, int i)
{
    const llap_extent e = s->o.extent;
    switch (i) {
    case TQ:
    case PAD:
        return LLAP_SHAPE(e.B, e.h);
    case FEATURES:
        return LLAP_SHAPE(e.B, e.h, s->c.query_features);
    case SUMMARY_PAD:
        return LLAP_SHAPE(e.B, s->o.S);
    default:
        return LLAP_SHAPE(e.B, s->o.S, s->c.hidden_dim);
    }
}

/* [B,...] as [n B,...]: the same for every step. */
static llap_tensor *for_all_steps(const llap_planned *s, llap_graph *g, int which)
{
    const llap_shape one = planned_window_shape(s, which);
    llap_shape       all = { .rank = one.rank + 1, .dim = { s->n } }, flat = one;
    for (int i = 0; i < one.rank; i++) all.dim[i + 1] = one.dim[i];
    flat.dim[0] *= s->n;
    llap_tensor *x = llap_input(g, planned_window_names[which], one);
    return llap_reshape(g, llap_expand(g, llap_unsqueeze(g, x, 0), all), flat);
}

void planned_describe_shared(const llap_planned *s, llap_graph *g, planned_kind k, llap_modal *m)
{
    const int64_t    rows = s->n * s->o.extent.B;
    const bool       raw = s->c.pole_pool_use_raw_summary || s->c.analysis_qk_use_raw_summary;
    llap_denoiser_in in = { .tq = for_all_steps(s, g, TQ) };
    if (k == GIVEN) in.E = for_all_steps(s, g, SUMMARY);
    if (k == GIVEN && raw && !planned_is_tokens(s)) in.E_raw = for_all_steps(s, g, SUMMARY_RAW);
    if (!planned_is_tokens(s)) {
        in.t = llap_input_int(g, "t", LLAP_SHAPE(rows));
    } else {
        in.time = llap_input(g, "time", LLAP_SHAPE(rows));
        in.pad = for_all_steps(s, g, PAD);
        if (s->c.query_features > 0) in.f = for_all_steps(s, g, FEATURES);
        if (k == GIVEN) in.E_pad = for_all_steps(s, g, SUMMARY_PAD);
    }
    llap_denoiser_window(g, &s->c, &in, s->o.extent.h, m);
}

/* Queries, keys and values: read by attention alone, which rounds them. */
static bool is_attended(const char *name)
{
    const size_t n = strlen(name);
    return n > 2 && (strcmp(name + n - 2, ".q") == 0 || strcmp(name + n - 2, ".k") == 0 ||
                     strcmp(name + n - 2, ".v") == 0);
}

void planned_make_output(void *user, const char *name, llap_tensor **x)
{
    const planned_outputs *o = user;
    if (o->half && is_attended(name)) llap_output_half(o->g, name, *x);
    else llap_output(o->g, name, *x);
}

typedef struct renaming {
    llap_graph      *g;
    const llap_plan *shared;
    planned_kind     kind;
    int64_t          n;
} renaming;

static void shared_name(char out[96], planned_kind k, const char *name)
{
    snprintf(out, 96, "%s.%s", k == GIVEN ? "given" : "free", name);
}

/* An input of the step's graph for one step's rows of a result of the shared one. */
static void make_input(void *user, const char *name, llap_tensor **x)
{
    const renaming *r = user;
    llap_shape      shape = llap_shape_of(*x);
    char            full[96];
    shared_name(full, r->kind, name);
    shape.dim[0] /= r->n;
    *x = llap_plan_output_elem(r->shared, name) == LLAP_HALF ? llap_input_half(r->g, full, shape)
                                                             : llap_input(r->g, full, shape);
}

static llap_tensor *coef(llap_graph *g, llap_tensor *table, int i)
{
    return llap_reshape(g, llap_slice(g, table, 0, i, 1), LLAP_SCALAR);
}

/* a x + b y, a and b of the table */
static llap_tensor *combine(llap_graph *g, llap_tensor *table, int a, llap_tensor *x, int b,
                            llap_tensor *y)
{
    return llap_add(g, llap_mul(g, coef(g, table, a), x), llap_mul(g, coef(g, table, b), y));
}

/* Mean and deviation of each sample, [B,R,1,1]. */
static void moments(llap_graph *g, llap_tensor *x, llap_tensor **mean, llap_tensor **deviation)
{
    const unsigned axes = LLAP_AXIS(2) | LLAP_AXIS(3);
    const double   n = (double)(llap_dim(x, 2) * llap_dim(x, 3));
    *mean = llap_mean(g, x, axes);
    llap_tensor *square = llap_sum(g, llap_square(g, llap_sub(g, x, *mean)), axes);
    *deviation = llap_sqrt(g, llap_scale(g, square, n > 1.0 ? 1.0 / (n - 1.0) : 0.0));
}

static llap_tensor *but(llap_graph *g, llap_tensor *mask)
{
    return llap_sub(g, llap_full(g, LLAP_SCALAR, 1.0), mask);
}

/* pred_u + g (pred_c - pred_u), with mean and deviation of pred_c if asked for. */
static llap_tensor *guide(const llap_planned *s, llap_graph *g, const llap_move_in *in,
                          llap_tensor *keep)
{
    llap_tensor *given = in->given, *free = in->free, *gain = coef(g, in->table, GUIDANCE);
    if (keep != NULL) /* kept positions are not guided */
        gain = llap_add(g, llap_mul(g, gain, but(g, keep)), keep);
    llap_tensor *guided = llap_add(g, free, llap_mul(g, gain, llap_sub(g, given, free)));
    if (!s->o.sampler.guidance_rescale) return guided;
    llap_tensor *m, *d, *m_given, *d_given, *least = llap_full(g, LLAP_SCALAR, 1e-6);
    moments(g, guided, &m, &d);
    moments(g, given, &m_given, &d_given);
    llap_tensor *by = llap_div(g, llap_maximum(g, d_given, least), llap_maximum(g, d, least));
    return llap_add(g, llap_mul(g, llap_sub(g, guided, m), by), m_given);
}

/* The prediction of a kind from the states x and x0. */
static llap_tensor *pass(const llap_planned *s, llap_graph *g, planned_kind k, llap_modal *modal,
                         llap_tensor *x, llap_tensor *before)
{
    const llap_sample_opts o = { .folded = s->o.folded,
                                 .gated = s->o.backend->kernel[LLAP_OP_GATED] != NULL };
    renaming               r = { g, s->shared[k].plan, k, s->n };
    llap_modal_each(modal, &s->c, make_input, &r);
    llap_tensor *sc = !knows_sc(s)                  ? NULL
                      : s->o.sampler.self_condition ? before
                                                    : llap_full(g, llap_shape_of(x), 0.0);
    return llap_denoiser_sample(g, &s->c, modal, x, sc, &o);
}

static llap_tensor *state(const llap_planned *s, llap_graph *g, const char *name)
{
    const llap_extent e = s->o.extent;
    return llap_state(g, name, LLAP_SHAPE(e.B, e.R, e.h, e.Z), LLAP_INIT_ZERO);
}

void planned_describe_pass(const llap_planned *s, llap_graph *g, planned_kind k, llap_modal *modal)
{
    const llap_extent e = s->o.extent;
    const llap_shape  all = LLAP_SHAPE(e.B, e.R, e.h, e.Z);
    llap_tensor      *x = llap_input(g, "x", all), *before = llap_input(g, "x0", all);
    llap_output(g, "pred", pass(s, g, k, modal, x, before));
}

/* The estimate and the next x of a prediction, op by op; keep may be NULL. */
static void move_on(const llap_planned *s, llap_graph *g, const llap_move_in *in, llap_tensor *keep,
                    llap_tensor **next, llap_tensor **x0)
{
    llap_tensor *p = in->free == NULL ? in->given : guide(s, g, in, keep);
    *x0 = combine(g, in->table, X0_OF_X, in->x, X0_OF_PRED, p);
    if (in->clip > 0.0) *x0 = llap_clamp(g, *x0, -in->clip, in->clip);
    llap_tensor *eps =
        combine(g, in->table, EPS_OF_X, in->x, EPS_OF_PRED, in->clip > 0.0 ? *x0 : p);
    *next = llap_add(g, combine(g, in->table, NEXT_OF_X, in->x, NEXT_OF_X0, *x0),
                     combine(g, in->table, NEXT_OF_BEFORE, in->before, NEXT_OF_EPS, eps));
    if (keep == NULL) return;
    llap_tensor *known = llap_input(g, "known", llap_shape_of(in->x));
    *next = llap_add(g, llap_mul(g, keep, known), llap_mul(g, but(g, keep), *next));
}

void planned_describe_step(const llap_planned *s, llap_graph *g, llap_modal *modal, bool both)
{
    const planned_kind only = s->o.S > 0 ? GIVEN : FREE;
    llap_move_in       in = { .x = state(s, g, "x"),
                              .before = state(s, g, "x0"),
                              .table = llap_input(g, "coef", LLAP_SHAPE(N_COEFS)),
                              .clip = s->o.sampler.clip,
                              .rescale = s->o.sampler.guidance_rescale };
    llap_tensor       *next, *x0;
    if (both) {
        in.given = llap_input(g, "given", llap_shape_of(in.x));
        in.free = llap_input(g, "free", llap_shape_of(in.x));
    } else {
        in.given = pass(s, g, only, &modal[only], in.x, in.before);
    }
    const llap_extent e = s->o.extent;
    llap_tensor      *keep = s->o.kept ? llap_input(g, "keep", LLAP_SHAPE(e.B, 1, e.h, e.Z)) : NULL;
    if (s->o.backend->kernel[LLAP_OP_MOVE] != NULL && keep == NULL) llap_move(g, &in, &next, &x0);
    else move_on(s, g, &in, keep, &next, &x0);
    llap_update(g, in.x, next);
    llap_update(g, in.before, x0);
}
