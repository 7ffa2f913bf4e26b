/* Plans of the denoiser and their runs. */
#include "diffusion/denoiser_steps.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "diffusion/prepared_denoiser_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Results that the next windows will want again, because they depend on the step alone, those of
 * the unconditional pass on step and query times. Kept for as many points of the list as there is
 * room for. */
typedef struct table {
    bool    asked; /* before: who asks once may never come again */
    int64_t t;     /* the step; -1: nothing yet */
    float  *data;  /* the results one after the other */
} table;

enum { MOST_TABLES = 64 };
static const size_t MOST_BYTES = (size_t)512 << 20; /* of plans and tables together */

typedef struct pass { /* conditional or unconditional */
    bool     conditional;
    int64_t  rows;               /* of the first half: B, or 1 where one serves all windows */
    ll_ready of_step;            /* of the first half, what may be kept; or nothing */
    ll_ready first;              /* the rest of it; nothing with whole */
    ll_ready second;             /* sample, or everything */
    int      at;                 /* point of the list that the first half has run for; -1: none */
    table    table[MOST_TABLES]; /* by point */
    size_t   table_bytes;        /* of one; 0: none are kept */
} pass;

struct ll_denoiser_steps {
    ll_denoiser_config           c;
    ll_prepared_denoiser_opts    o;
    ll_prepared_denoiser_weights weights;
    pass                         pass[2]; /* unconditional, conditional */
    int32_t                     *t;       /* [B] */
    float                       *zeros; /* [B,R,h,Z]; self-conditioning before the first estimate */
    float                       *time;  /* [B] */
    float                       *none;  /* zeros: no padding; [B * max(h,S)] */
    float                       *grid;  /* [B,h]; query times of the tables */
    double                       products;
};

/* -------- describing -------- */

/* Blocks have entries: then their AdaLN too is the step's alone. */
static bool has_entries(const ll_denoiser_steps *d)
{
    return d->o.folded && d->o.backend->kernel[LL_OP_NORMED] != NULL && !d->c.block_summary_adaln;
}

/* A block's place is large and quickly made; of the conditional pass, the rest is the window's. */
static bool is_of_step(const ll_denoiser_steps *d, const pass *p, const char *name)
{
    if (d->o.backend->memory != NULL || d->c.stream == LL_STREAM_TOKENS) return false;
    if (!p->conditional) return strstr(name, ".place") == NULL;
    return has_entries(d) && (strstr(name, ".entry.") != NULL || strstr(name, ".self.") != NULL ||
                              strstr(name, ".mlp.") != NULL);
}

typedef struct half { /* which results of a first half are wanted */
    const ll_denoiser_steps *d;
    const pass              *p;
    ll_graph                *g;
    bool                     of_step;
    int                      n;
} half;

static void make_output(void *user, const char *name, ll_tensor **x)
{
    half *h = user;
    if (is_of_step(h->d, h->p, name) != h->of_step) return;
    ll_output(h->g, name, *x);
    h->n++;
}

static void make_input(void *user, const char *name, ll_tensor **x)
{
    *x = ll_input(user, name, ll_shape_of(*x));
}

/* With the stream of tokens padding is always an input, zeros where there is none. */
static ll_denoiser_in window_inputs(const ll_denoiser_steps *d, const pass *p, ll_graph *g)
{
    const int64_t  rows = p->rows, h = d->o.extent.h, F = d->c.query_features;
    const ll_shape tokens = LL_SHAPE(rows, d->o.S, d->c.hidden_dim);
    const bool     stream = d->c.stream == LL_STREAM_TOKENS;
    const bool     raw = d->c.pole_pool_use_raw_summary || d->c.analysis_qk_use_raw_summary;
    ll_denoiser_in in = { .tq = ll_input(g, "tq", LL_SHAPE(rows, h)),
                          .folded = d->o.folded,
                          .entries = has_entries(d) };
    if (p->conditional) in.E = ll_input(g, "E", tokens);
    if (p->conditional && raw && !stream) in.E_raw = ll_input(g, "E_raw", tokens);
    if (!stream) {
        in.t = ll_input_int(g, "t", LL_SHAPE(rows));
        return in;
    }
    in.time = ll_input(g, "time", LL_SHAPE(rows));
    in.pad = ll_input(g, "pad", LL_SHAPE(rows, h));
    if (F > 0) in.f = ll_input(g, "f", LL_SHAPE(rows, h, F));
    if (p->conditional) in.E_pad = ll_input(g, "E_pad", LL_SHAPE(rows, d->o.S));
    return in;
}

static void sample_inputs(const ll_denoiser_steps *d, ll_graph *g, ll_tensor **z, ll_tensor **sc)
{
    const ll_extent e = d->o.extent;
    *z = ll_input(g, "z", LL_SHAPE(e.B, e.R, e.h, e.Z));
    *sc = d->c.self_conditioning ? ll_input(g, "sc", LL_SHAPE(e.B, e.R, e.h, e.Z)) : NULL;
}

static void describe_sample(const ll_denoiser_steps *d, ll_graph *g, const ll_modal *m)
{
    ll_tensor *z, *sc;
    sample_inputs(d, g, &z, &sc);
    const ll_sample_opts o = { .folded = d->o.folded };
    ll_output(g, "pred", ll_denoiser_sample(g, &d->c, m, z, sc, &o));
}

/* -------- planning and binding -------- */

static llap_status plan(const ll_denoiser_steps *d, const ll_graph *g, ll_ready *r)
{
    const ll_plan_opts o = { .backend = d->o.backend,
                             .n_threads = d->o.n_threads,
                             .fixed_params = true };
    return ll_ready_init(r, g, &o);
}

/* A name that the plan does not need is no failure. */
static llap_status bind(ll_ready *r, const char *name, const void *data, int64_t n)
{
    if (r->run == NULL) return LLAP_OK;
    const llap_status st = ll_run_bind(r->run, name, (void *)(uintptr_t)data, n);
    return st == LLAP_ENOTFOUND ? LLAP_OK : st;
}

static llap_status build_whole(ll_denoiser_steps *d, pass *p)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_denoiser_in in = window_inputs(d, p, g);
    sample_inputs(d, g, &in.z, &in.sc);
    ll_output(g, "pred", ll_denoiser(g, &d->c, &in));
    st = plan(d, g, &p->second);
    ll_graph_destroy(g);
    return st == LLAP_OK ? ll_prepared_denoiser_bind(&d->weights, &p->second, NULL) : st;
}

/* The part of the first half that the step alone decides, or the rest, on an empty graph; no plan
 * if there is none. */
static llap_status build_first(const ll_denoiser_steps *d, const pass *p, bool of_step, ll_graph *g,
                               ll_modal *m, ll_ready *r)
{
    half                 h = { .d = d, .p = p, .g = g, .of_step = of_step };
    const ll_denoiser_in in = window_inputs(d, p, g);
    ll_denoiser_window(g, &d->c, &in, d->o.extent.h, m);
    ll_modal_each(m, &d->c, make_output, &h);
    return h.n > 0 ? plan(d, g, r) : ll_graph_status(g);
}

static llap_status build_halves(ll_denoiser_steps *d, pass *p)
{
    ll_graph   *of_step = NULL, *first = NULL, *second = NULL;
    ll_modal   *m = ll_new(1, sizeof *m);
    llap_status st = m == NULL ? LLAP_ENOMEM : ll_graph_create(&of_step);
    if (st == LLAP_OK) st = ll_graph_create(&first);
    if (st == LLAP_OK) st = ll_graph_create(&second);
    if (st == LLAP_OK) st = build_first(d, p, true, of_step, m, &p->of_step);
    if (st == LLAP_OK) st = build_first(d, p, false, first, m, &p->first);
    if (st == LLAP_OK) {
        ll_modal_each(m, &d->c, make_input, second);
        describe_sample(d, second, m);
        st = plan(d, second, &p->second);
    }
    if (st == LLAP_OK && d->o.folded) st = ll_prepared_denoiser_fold(&d->weights, second);
    ll_graph_destroy(of_step);
    ll_graph_destroy(first);
    ll_graph_destroy(second);
    ll_free(m);
    ll_ready *all[] = { &p->of_step, &p->first, &p->second };
    for (int i = 0; i < 3 && st == LLAP_OK; i++)
        st = ll_prepared_denoiser_bind(&d->weights, all[i], NULL);
    return st;
}

/* What the second half reads of the first. */
static bool is_shared(const ll_slot *s)
{
    return s->leaf == LL_LEAF_INPUT && strncmp(s->name, "modal.", 6) == 0;
}

static size_t bytes_of_table(const ll_denoiser_steps *d, const pass *p)
{
    size_t n = 0;
    if (p->of_step.plan == NULL) return 0;
    if (32.0 * ll_plan_products(p->of_step.plan) < ll_plan_products(p->second.plan))
        return 0; /* beside so many samples not worth the memory */
    for (int k = 0; k < ll_plan_n_slots(p->second.plan); k++) {
        const ll_slot *s = ll_plan_slot(p->second.plan, k);
        if (is_shared(s) && is_of_step(d, p, s->name))
            n += (size_t)ll_shape_count(&s->shape) * sizeof(float);
    }
    return n;
}

static llap_status build(ll_denoiser_steps *d, pass *p, bool conditional, int64_t rows)
{
    assert(rows == 1 || rows == d->o.extent.B);
    *p = (pass){ .conditional = conditional, .rows = rows, .at = -1 };
    llap_status st = d->o.whole ? build_whole(d, p) : build_halves(d, p);
    ll_ready   *all[] = { &p->of_step, d->o.whole ? &p->second : &p->first };
    if (st == LLAP_OK) p->table_bytes = bytes_of_table(d, p);
    for (int i = 0; i < 2; i++) {
        if (st == LLAP_OK) st = bind(all[i], "t", d->t, rows);
        if (st == LLAP_OK) st = bind(all[i], "time", d->time, rows);
    }
    if (st == LLAP_OK && d->c.self_conditioning) {
        const ll_extent e = d->o.extent;
        st = bind(&p->second, "sc", d->zeros, e.B * e.R * e.h * e.Z);
    }
    return st;
}

static void drop_tables(pass *p)
{
    for (int i = 0; i < MOST_TABLES; i++) ll_free(p->table[i].data);
    memset(p->table, 0, sizeof p->table);
    p->at = -1;
}

static void drop_pass(pass *p)
{
    ll_ready_deinit(&p->of_step);
    ll_ready_deinit(&p->first);
    ll_ready_deinit(&p->second);
    drop_tables(p);
}

/* -------- the interface -------- */

llap_status ll_denoiser_steps_create(const ll_denoiser_config *c, const ll_params *params,
                                     const ll_prepared_denoiser_opts *o, ll_denoiser_steps **out)
{
    *out = NULL;
    llap_status st = ll_prepared_denoiser_check(c, o);
    if (st != LLAP_OK) return st;
    ll_denoiser_steps *d = ll_new(1, sizeof *d);
    if (d == NULL) return LLAP_ENOMEM;
    const ll_extent e = o->extent;
    *d = (ll_denoiser_steps){ .c = *c,
                              .o = *o,
                              .weights = ll_prepared_denoiser_weights_of(params, o) };
    /* Where tokens are carried, there are no neighbouring products. */
    if (o->whole || c->stream == LL_STREAM_TOKENS) d->o.folded = false;
    d->time = ll_new((size_t)e.B, sizeof *d->time);
    d->none = ll_new((size_t)(e.B * (e.h > o->S ? e.h : o->S)), sizeof *d->none);
    d->grid = ll_new((size_t)(e.B * e.h), sizeof *d->grid);
    d->t = ll_new((size_t)e.B, sizeof *d->t);
    d->zeros = ll_new((size_t)(e.B * e.R * e.h * e.Z), sizeof *d->zeros);
    if (d->t == NULL || d->zeros == NULL || d->time == NULL || d->none == NULL || d->grid == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK && o->S > 0) st = build(d, &d->pass[1], true, e.B);
    if (st == LLAP_OK) *out = d;
    else ll_denoiser_steps_destroy(d);
    return st;
}

void ll_denoiser_steps_destroy(ll_denoiser_steps *d)
{
    if (d == NULL) return;
    for (int i = 0; i < 2; i++) drop_pass(&d->pass[i]);
    ll_prepared_denoiser_weights_deinit(&d->weights);
    ll_free(d->grid);
    ll_free(d->t);
    ll_free(d->zeros);
    ll_free(d->time);
    ll_free(d->none);
    ll_free(d);
}

static bool same_rows(const float *x, int64_t rows, int64_t n)
{
    for (int64_t b = 1; x != NULL && b < rows; b++)
        if (memcmp(x, x + b * n, (size_t)n * sizeof *x) != 0) return false;
    return true;
}

static llap_status bind_windows(ll_denoiser_steps *d, pass *p, const ll_prepared_denoiser_batch *w)
{
    const ll_extent e = d->o.extent;
    const int64_t   S = d->o.S, tokens = p->rows * S * d->c.hidden_dim;
    ll_ready       *first = d->o.whole ? &p->second : &p->first;
    const struct {
        const char  *name;
        const float *data;
        int64_t      n;
    } all[] = {
        { "tq", w->tq, p->rows * e.h },
        { "pad", w->pad != NULL ? w->pad : d->none, p->rows * e.h },
        { "f", w->f, p->rows * e.h * d->c.query_features },
        { "E", w->E, tokens },
        { "E_raw", w->E_raw, tokens },
        { "E_pad", w->E_pad != NULL ? w->E_pad : d->none, p->rows * S },
    };
    llap_status st = LLAP_OK;
    p->at = -1;
    for (size_t i = 0; i < sizeof all / sizeof *all && st == LLAP_OK; i++)
        if (all[i].data != NULL && all[i].n > 0) {
            st = bind(&p->of_step, all[i].name, all[i].data, all[i].n);
            if (st == LLAP_OK) st = bind(first, all[i].name, all[i].data, all[i].n);
        }
    return st;
}

static void forget_other_grids(ll_denoiser_steps *d, const float *tq)
{
    const size_t n = (size_t)(d->o.extent.B * d->o.extent.h) * sizeof *tq;
    if (memcmp(d->grid, tq, n) == 0) return;
    memcpy(d->grid, tq, n);
    for (int i = 0; i < MOST_TABLES; i++) d->pass[0].table[i].t = -1;
}

/* Some step may want the unconditional pass too. */
static bool may_be_guided(const ll_denoiser_steps *d)
{
    return d->o.sampler.guidance[0] != 1.0 || d->o.sampler.guidance[1] != 1.0;
}

llap_status ll_denoiser_steps_windows(ll_denoiser_steps *d, const ll_prepared_denoiser_batch *w)
{
    const ll_extent e = d->o.extent;
    const int64_t   F = d->c.query_features;
    llap_status     st = LLAP_OK;
    if ((w->E == NULL) != (d->o.S == 0))
        return ll_fail(LLAP_EINVAL, "denoiser: a summary is %s",
                       w->E == NULL ? "missing" : "not expected");
    /* One table serves all windows that ask the same. */
    const bool same =
        same_rows(w->tq, e.B, e.h) && same_rows(w->pad, e.B, e.h) && same_rows(w->f, e.B, e.h * F);
    const int64_t rows = same && !d->o.whole ? 1 : e.B;
    pass         *u = &d->pass[0];
    if ((may_be_guided(d) || d->o.S == 0) && (u->second.plan == NULL || u->rows != rows)) {
        drop_pass(u);
        st = build(d, u, false, rows);
    }
    forget_other_grids(d, w->tq);
    for (int i = 0; i < 2 && st == LLAP_OK; i++)
        if (d->pass[i].second.run != NULL) st = bind_windows(d, &d->pass[i], w);
    return st;
}

void ll_denoiser_steps_forget(ll_denoiser_steps *d)
{
    for (int i = 0; i < 2; i++) drop_tables(&d->pass[i]);
}

/* The table of point i, whatever is in it; NULL: there is no room, or nobody has asked before. */
static llap_status table_of(const ll_denoiser_steps *d, pass *p, int i, table **out)
{
    *out = NULL;
    assert(i >= 0);
    if (p->table_bytes == 0 || i >= MOST_TABLES) return LLAP_OK;
    table *kept = &p->table[i];
    if (kept->data == NULL) {
        const bool again = kept->asked;
        kept->asked = true;
        if (!again || ll_denoiser_steps_bytes(d) + p->table_bytes > MOST_BYTES) return LLAP_OK;
        kept->t = -1;
        kept->data = ll_new_aligned(p->table_bytes, 1);
        if (kept->data == NULL) return LLAP_ENOMEM;
    }
    *out = kept;
    return LLAP_OK;
}

static llap_status execute(ll_denoiser_steps *d, ll_ready *r)
{
    if (r->run == NULL) return LLAP_OK;
    d->products += ll_plan_products(r->plan);
    return ll_run_exec(r->run);
}

/* The first half for this step; its results become inputs of the second. */
static llap_status prepare(ll_denoiser_steps *d, pass *p, int i)
{
    if (d->o.whole || p->at == i) return LLAP_OK;
    table      *kept;
    llap_status st = table_of(d, p, i, &kept);
    const bool  known = kept != NULL && kept->t == d->t[0];
    float      *at = kept == NULL ? NULL : kept->data;
    p->at = -1; /* until all of it is there */
    if (kept != NULL && !known) kept->t = -1;
    if (st == LLAP_OK && !known) st = execute(d, &p->of_step);
    if (st == LLAP_OK) st = execute(d, &p->first);
    for (int k = 0; k < ll_plan_n_slots(p->second.plan) && st == LLAP_OK; k++) {
        const ll_slot *s = ll_plan_slot(p->second.plan, k);
        const int64_t  n = ll_shape_count(&s->shape);
        if (!is_shared(s)) continue;
        const bool of_step = is_of_step(d, p, s->name), keep = of_step && kept != NULL;
        float     *x = ll_run_output_device((of_step ? p->of_step : p->first).run, s->name, NULL);
        assert(x != NULL); /* one of the halves has it */
        if (keep && !known) memcpy(at, x, (size_t)n * sizeof *x);
        st = ll_run_bind_device(p->second.run, s->name, keep ? at : x, n);
        if (keep) at += n;
    }
    if (kept != NULL && st == LLAP_OK) {
        assert((size_t)(at - kept->data) * sizeof *at == p->table_bytes);
        kept->t = d->t[0];
    }
    if (st == LLAP_OK) p->at = i;
    return st;
}

static llap_status predict(void *user, int i, const ll_point *at, bool conditional, const float *x,
                           const float *sc, float *pred)
{
    ll_denoiser_steps *d = user;
    pass              *p = &d->pass[conditional ? 1 : 0];
    const ll_extent    e = d->o.extent;
    const int64_t      n = e.B * e.R * e.h * e.Z;
    if (p->second.run == NULL)
        return ll_fail(LLAP_EINVAL, "denoiser: the %s pass was not asked for",
                       conditional ? "conditional" : "unconditional");
    if (d->c.stream == LL_STREAM_RESIDUES && (at->t < 0 || at->t >= d->c.timesteps))
        return ll_fail(LLAP_EINVAL, "denoiser: step %lld is not below %lld", (long long)at->t,
                       (long long)d->c.timesteps);
    for (int64_t b = 0; b < e.B; b++) {
        d->t[b] = (int32_t)at->t;
        d->time[b] = (float)at->time;
    }
    llap_status st = prepare(d, p, i);
    if (st == LLAP_OK) st = bind(&p->second, "z", x, n);
    if (st == LLAP_OK && sc != NULL) st = bind(&p->second, "sc", sc, n);
    if (st == LLAP_OK) st = execute(d, &p->second);
    if (st == LLAP_OK)
        st = ll_device_get(d->o.backend, pred, ll_run_output_device(p->second.run, "pred", NULL),
                           (size_t)n * sizeof *pred);
    return st;
}

ll_predictor ll_denoiser_steps_predictor(ll_denoiser_steps *d)
{
    return (ll_predictor){ predict, d, d->o.S > 0 };
}

double ll_denoiser_steps_products(const ll_denoiser_steps *d) { return d->products; }

size_t ll_denoiser_steps_bytes(const ll_denoiser_steps *d)
{
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < MOST_TABLES; k++)
            if (d->pass[i].table[k].data != NULL) n += d->pass[i].table_bytes;
        const ll_ready *r[] = { &d->pass[i].of_step, &d->pass[i].first, &d->pass[i].second };
        for (int k = 0; k < 3; k++)
            if (r[k]->plan != NULL) n += ll_plan_workspace(r[k]->plan);
    }
    return n;
}
