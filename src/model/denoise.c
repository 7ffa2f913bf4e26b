/* Plans of the denoiser and their runs. */
#include "model/denoise.h"

#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/brought.h"

#include <stdio.h>
#include <string.h>

typedef struct ready { /* a plan with its run */
    llap_plan *plan;
    llap_run  *run;
} ready;

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
    bool    conditional;
    int64_t rows;               /* of the first half: B, or 1 where one serves all windows */
    ready   of_step;            /* of the first half, what may be kept; or nothing */
    ready   first;              /* the rest of it; nothing with whole */
    ready   second;             /* sample, or everything */
    int     at;                 /* point of the list that the first half has run for; -1: none */
    table   table[MOST_TABLES]; /* by point */
    size_t  table_bytes;        /* of one; 0: none are kept */
} pass;

struct llap_denoise {
    llap_denoiser_config c;
    llap_denoise_opts    o;
    const llap_params   *params;
    llap_params         *folds;   /* NULL: none */
    llap_brought        *brought; /* copies of parameters that lie elsewhere */
    pass                 pass[2]; /* unconditional, conditional */
    int32_t             *t;       /* [B] */
    float               *zeros;   /* [B,R,h,Z]; self-conditioning before the first estimate */
    float               *time;    /* [B] */
    float               *none;    /* zeros: no padding; [B * max(h,S)] */
    float               *grid;    /* [B,h]; query times of the tables */
    double               products;
};

/* -------- describing -------- */

/* Blocks have entries: then their AdaLN too is the step's alone. */
static bool has_entries(const llap_denoise *d)
{
    return d->o.folded && d->o.backend->kernel[LLAP_OP_NORMED] != NULL && !d->c.block_summary_adaln;
}

/* A block's place is large and quickly made; of the conditional pass, the rest is the window's. */
static bool is_of_step(const llap_denoise *d, const pass *p, const char *name)
{
    if (d->o.backend->memory != NULL || d->c.stream == LLAP_STREAM_TOKENS) return false;
    if (!p->conditional) return strstr(name, ".place") == NULL;
    return has_entries(d) && (strstr(name, ".entry.") != NULL || strstr(name, ".self.") != NULL ||
                              strstr(name, ".mlp.") != NULL);
}

typedef struct half { /* which results of a first half are wanted */
    const llap_denoise *d;
    const pass         *p;
    llap_graph         *g;
    bool                of_step;
    int                 n;
} half;

static void make_output(void *user, const char *name, llap_tensor **x)
{
    half *h = user;
    if (is_of_step(h->d, h->p, name) != h->of_step) return;
    llap_output(h->g, name, *x);
    h->n++;
}

static void make_input(void *user, const char *name, llap_tensor **x)
{
    *x = llap_input(user, name, llap_shape_of(*x));
}

/* With the stream of tokens padding is always an input, zeros where there is none. */
static llap_denoiser_in window_inputs(const llap_denoise *d, const pass *p, llap_graph *g)
{
    const int64_t    rows = p->rows, h = d->o.extent.h, F = d->c.query_features;
    const llap_shape tokens = LLAP_SHAPE(rows, d->o.S, d->c.hidden_dim);
    const bool       stream = d->c.stream == LLAP_STREAM_TOKENS;
    const bool       raw = d->c.pole_pool_use_raw_summary || d->c.analysis_qk_use_raw_summary;
    llap_denoiser_in in = { .tq = llap_input(g, "tq", LLAP_SHAPE(rows, h)),
                            .folded = d->o.folded,
                            .entries = has_entries(d) };
    if (p->conditional) in.E = llap_input(g, "E", tokens);
    if (p->conditional && raw && !stream) in.E_raw = llap_input(g, "E_raw", tokens);
    if (!stream) {
        in.t = llap_input_int(g, "t", LLAP_SHAPE(rows));
        return in;
    }
    in.time = llap_input(g, "time", LLAP_SHAPE(rows));
    in.pad = llap_input(g, "pad", LLAP_SHAPE(rows, h));
    if (F > 0) in.f = llap_input(g, "f", LLAP_SHAPE(rows, h, F));
    if (p->conditional) in.E_pad = llap_input(g, "E_pad", LLAP_SHAPE(rows, d->o.S));
    return in;
}

static void sample_inputs(const llap_denoise *d, llap_graph *g, llap_tensor **z, llap_tensor **sc)
{
    const llap_extent e = d->o.extent;
    *z = llap_input(g, "z", LLAP_SHAPE(e.B, e.R, e.h, e.Z));
    *sc = d->c.self_conditioning ? llap_input(g, "sc", LLAP_SHAPE(e.B, e.R, e.h, e.Z)) : NULL;
}

static void describe_sample(const llap_denoise *d, llap_graph *g, const llap_modal *m)
{
    llap_tensor *z, *sc;
    sample_inputs(d, g, &z, &sc);
    const llap_sample_opts o = { .folded = d->o.folded };
    llap_output(g, "pred", llap_denoiser_sample(g, &d->c, m, z, sc, &o));
}

/* -------- planning and binding -------- */

static llap_status plan(const llap_denoise *d, llap_graph *g, ready *r)
{
    llap_status st = llap_graph_status(g);
    if (st == LLAP_OK)
        st = llap_plan_create(g,
                              &(llap_plan_opts){ .backend = d->o.backend,
                                                 .n_threads = d->o.n_threads,
                                                 .fixed_params = true },
                              &r->plan);
    if (st == LLAP_OK) st = llap_run_create(r->plan, &r->run);
    return st;
}

/* The array of a parameter or state: folded, of the chosen part, or the model's. */
static const llap_param_info *find(const llap_denoise *d, const char *name)
{
    char                   full[512];
    const char            *prefix = d->o.prefix == NULL ? "" : d->o.prefix;
    const llap_param_info *p = d->folds == NULL ? NULL : llap_params_find(d->folds, name);
    if (p == NULL && d->o.part == LLAP_PARAMS_EMA) {
        snprintf(full, sizeof full, "ema.%s%s", prefix, name);
        p = llap_params_find(d->params, full);
    }
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return p != NULL ? p : llap_params_find(d->params, full);
}

static llap_status bind_weights(llap_denoise *d, ready *r)
{
    const llap_backend *b = d->o.backend;
    if (r->plan == NULL) return LLAP_OK;
    for (int i = 0; i < llap_plan_n_slots(r->plan); i++) {
        const llap_slot *s = llap_plan_slot(r->plan, i);
        if (s->leaf != LLAP_LEAF_PARAM && s->leaf != LLAP_LEAF_STATE) continue;
        const llap_param_info *p = find(d, s->name);
        char                   wanted[LLAP_SHAPE_TEXT], found[LLAP_SHAPE_TEXT];
        if (p == NULL) return llap_fail(LLAP_ENOTFOUND, "denoiser: no parameter '%s'", s->name);
        if (!llap_shape_equal(&p->shape, &s->shape) || p->elem != s->elem)
            return llap_fail(LLAP_EINVAL, "denoiser: '%s': expected %s, found %s", s->name,
                             llap_shape_text(&s->shape, wanted), llap_shape_text(&p->shape, found));
        const bool  folded = d->folds != NULL && llap_params_find(d->folds, s->name) == p;
        void       *near = p->near;
        llap_status st = LLAP_OK;
        if (!folded && llap_params_backend(d->params)->memory != b->memory)
            st = llap_bring(&d->brought, b, d->params, p, false, &near);
        if (st == LLAP_OK) st = llap_run_bind_near(r->run, s->name, near, p->count);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}

/* A name that the plan does not need is no failure. */
static llap_status bind(ready *r, const char *name, const void *data, int64_t n)
{
    if (r->run == NULL) return LLAP_OK;
    const llap_status st = llap_run_bind(r->run, name, (void *)(uintptr_t)data, n);
    return st == LLAP_ENOTFOUND ? LLAP_OK : st;
}

/* The folded weights' own store: the states of the sample graph whose names have ".fold.". */
static llap_status make_folds(llap_denoise *d, llap_graph *sample)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    for (int i = 0; i < llap_graph_n_leaves(sample); i++) {
        const llap_leaf_info l = llap_graph_leaf(sample, i);
        if (l.leaf == LLAP_LEAF_STATE && strstr(l.name, "fold.") != NULL)
            llap_state(g, l.name, l.shape, l.init);
    }
    st = llap_params_create(g, d->o.backend, &d->folds);
    llap_graph_destroy(g);
    const llap_fold_opts o = { .prefix = d->o.prefix, .part = d->o.part };
    if (st == LLAP_OK) st = llap_denoiser_fold(d->params, &o, d->folds);
    return st == LLAP_OK ? llap_params_push(d->folds) : st;
}

static llap_status build_whole(llap_denoise *d, pass *p)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_denoiser_in in = window_inputs(d, p, g);
    sample_inputs(d, g, &in.z, &in.sc);
    llap_output(g, "pred", llap_denoiser(g, &d->c, &in));
    st = plan(d, g, &p->second);
    llap_graph_destroy(g);
    return st == LLAP_OK ? bind_weights(d, &p->second) : st;
}

/* The part of the first half that the step alone decides, or the rest, on an empty graph; no plan
 * if there is none. */
static llap_status build_first(const llap_denoise *d, const pass *p, bool of_step, llap_graph *g,
                               llap_modal *m, ready *r)
{
    half                   h = { .d = d, .p = p, .g = g, .of_step = of_step };
    const llap_denoiser_in in = window_inputs(d, p, g);
    llap_denoiser_window(g, &d->c, &in, d->o.extent.h, m);
    llap_modal_each(m, &d->c, make_output, &h);
    return h.n > 0 ? plan(d, g, r) : llap_graph_status(g);
}

static llap_status build_halves(llap_denoise *d, pass *p)
{
    llap_graph *of_step = NULL, *first = NULL, *second = NULL;
    llap_modal *m = llap_new(1, sizeof *m);
    llap_status st = m == NULL ? LLAP_ENOMEM : llap_graph_create(&of_step);
    if (st == LLAP_OK) st = llap_graph_create(&first);
    if (st == LLAP_OK) st = llap_graph_create(&second);
    if (st == LLAP_OK) st = build_first(d, p, true, of_step, m, &p->of_step);
    if (st == LLAP_OK) st = build_first(d, p, false, first, m, &p->first);
    if (st == LLAP_OK) {
        llap_modal_each(m, &d->c, make_input, second);
        describe_sample(d, second, m);
        st = plan(d, second, &p->second);
    }
    if (st == LLAP_OK && d->o.folded && d->folds == NULL) st = make_folds(d, second);
    llap_graph_destroy(of_step);
    llap_graph_destroy(first);
    llap_graph_destroy(second);
    llap_free(m);
    ready *all[] = { &p->of_step, &p->first, &p->second };
    for (int i = 0; i < 3 && st == LLAP_OK; i++) st = bind_weights(d, all[i]);
    return st;
}

/* What the second half reads of the first. */
static bool is_shared(const llap_slot *s)
{
    return s->leaf == LLAP_LEAF_INPUT && strncmp(s->name, "modal.", 6) == 0;
}

static size_t bytes_of_table(const llap_denoise *d, const pass *p)
{
    size_t n = 0;
    if (p->of_step.plan == NULL) return 0;
    if (32.0 * llap_plan_products(p->of_step.plan) < llap_plan_products(p->second.plan))
        return 0; /* beside so many samples not worth the memory */
    for (int k = 0; k < llap_plan_n_slots(p->second.plan); k++) {
        const llap_slot *s = llap_plan_slot(p->second.plan, k);
        if (is_shared(s) && is_of_step(d, p, s->name))
            n += (size_t)llap_shape_count(&s->shape) * sizeof(float);
    }
    return n;
}

static llap_status build(llap_denoise *d, pass *p, bool conditional, int64_t rows)
{
    *p = (pass){ .conditional = conditional, .rows = rows, .at = -1 };
    llap_status st = d->o.whole ? build_whole(d, p) : build_halves(d, p);
    ready      *all[] = { &p->of_step, d->o.whole ? &p->second : &p->first };
    if (st == LLAP_OK) p->table_bytes = bytes_of_table(d, p);
    for (int i = 0; i < 2; i++) {
        if (st == LLAP_OK) st = bind(all[i], "t", d->t, rows);
        if (st == LLAP_OK) st = bind(all[i], "time", d->time, rows);
    }
    if (st == LLAP_OK && d->c.self_conditioning) {
        const llap_extent e = d->o.extent;
        st = bind(&p->second, "sc", d->zeros, e.B * e.R * e.h * e.Z);
    }
    return st;
}

static void drop(ready *r)
{
    llap_run_destroy(r->run);
    llap_plan_release(r->plan);
    *r = (ready){ 0 };
}

static void drop_tables(pass *p)
{
    for (int i = 0; i < MOST_TABLES; i++) llap_free(p->table[i].data);
    memset(p->table, 0, sizeof p->table);
    p->at = -1;
}

static void drop_pass(pass *p)
{
    drop(&p->of_step);
    drop(&p->first);
    drop(&p->second);
    drop_tables(p);
}

/* -------- the interface -------- */

llap_status llap_denoise_create(const llap_denoiser_config *c, const llap_params *params,
                                const llap_denoise_opts *o, llap_denoise **out)
{
    *out = NULL;
    llap_status st = llap_denoiser_config_check(c);
    if (st == LLAP_OK && o->backend->real_bytes != sizeof(float))
        st = llap_fail(LLAP_EUNSUPPORTED, "denoiser: backend '%s' does not compute in floats",
                       o->backend->name);
    if (st == LLAP_OK && o->extent.Z != c->data_dim)
        st = llap_fail(LLAP_EINVAL, "denoiser: data_dim: expected %lld, found %lld",
                       (long long)o->extent.Z, (long long)c->data_dim);
    if (st != LLAP_OK) return st;
    llap_denoise *d = llap_new(1, sizeof *d);
    if (d == NULL) return LLAP_ENOMEM;
    const llap_extent e = o->extent;
    *d = (llap_denoise){ .c = *c, .o = *o, .params = params };
    /* Where tokens are carried, there are no neighbouring products. */
    if (o->whole || c->stream == LLAP_STREAM_TOKENS) d->o.folded = false;
    d->time = llap_new((size_t)e.B, sizeof *d->time);
    d->none = llap_new((size_t)(e.B * (e.h > o->S ? e.h : o->S)), sizeof *d->none);
    d->grid = llap_new((size_t)(e.B * e.h), sizeof *d->grid);
    d->t = llap_new((size_t)e.B, sizeof *d->t);
    d->zeros = llap_new((size_t)(e.B * e.R * e.h * e.Z), sizeof *d->zeros);
    if (d->t == NULL || d->zeros == NULL || d->time == NULL || d->none == NULL || d->grid == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK && o->S > 0) st = build(d, &d->pass[1], true, e.B);
    if (st == LLAP_OK) *out = d;
    else llap_denoise_destroy(d);
    return st;
}

void llap_denoise_destroy(llap_denoise *d)
{
    if (d == NULL) return;
    for (int i = 0; i < 2; i++) drop_pass(&d->pass[i]);
    llap_brought_release(d->brought, d->o.backend);
    llap_free(d->grid);
    llap_params_destroy(d->folds);
    llap_free(d->t);
    llap_free(d->zeros);
    llap_free(d->time);
    llap_free(d->none);
    llap_free(d);
}

static bool same_rows(const float *x, int64_t rows, int64_t n)
{
    for (int64_t b = 1; x != NULL && b < rows; b++)
        if (memcmp(x, x + b * n, (size_t)n * sizeof *x) != 0) return false;
    return true;
}

static llap_status bind_windows(llap_denoise *d, pass *p, const llap_denoise_batch *w)
{
    const llap_extent e = d->o.extent;
    const int64_t     S = d->o.S, tokens = p->rows * S * d->c.hidden_dim;
    ready            *first = d->o.whole ? &p->second : &p->first;
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

static void forget_other_grids(llap_denoise *d, const float *tq)
{
    const size_t n = (size_t)(d->o.extent.B * d->o.extent.h) * sizeof *tq;
    if (memcmp(d->grid, tq, n) == 0) return;
    memcpy(d->grid, tq, n);
    for (int i = 0; i < MOST_TABLES; i++) d->pass[0].table[i].t = -1;
}

llap_status llap_denoise_windows(llap_denoise *d, const llap_denoise_batch *w)
{
    const llap_extent e = d->o.extent;
    const int64_t     F = d->c.query_features;
    llap_status       st = LLAP_OK;
    if ((w->E == NULL) != (d->o.S == 0))
        return llap_fail(LLAP_EINVAL, "denoiser: a summary is %s",
                         w->E == NULL ? "missing" : "not expected");
    /* One table serves all windows that ask the same. */
    const bool same =
        same_rows(w->tq, e.B, e.h) && same_rows(w->pad, e.B, e.h) && same_rows(w->f, e.B, e.h * F);
    const int64_t rows = same && !d->o.whole ? 1 : e.B;
    pass         *u = &d->pass[0];
    if ((d->o.guided || d->o.S == 0) && (u->second.plan == NULL || u->rows != rows)) {
        drop_pass(u);
        st = build(d, u, false, rows);
    }
    forget_other_grids(d, w->tq);
    for (int i = 0; i < 2 && st == LLAP_OK; i++)
        if (d->pass[i].second.run != NULL) st = bind_windows(d, &d->pass[i], w);
    return st;
}

void llap_denoise_forget(llap_denoise *d)
{
    for (int i = 0; i < 2; i++) drop_tables(&d->pass[i]);
}

/* The table of point i, whatever is in it; NULL: there is no room, or nobody has asked before. */
static llap_status table_of(const llap_denoise *d, pass *p, int i, table **out)
{
    *out = NULL;
    if (p->table_bytes == 0 || i >= MOST_TABLES) return LLAP_OK;
    table *kept = &p->table[i];
    if (kept->data == NULL) {
        const bool again = kept->asked;
        kept->asked = true;
        if (!again || llap_denoise_bytes(d) + p->table_bytes > MOST_BYTES) return LLAP_OK;
        kept->t = -1;
        kept->data = llap_new_aligned(p->table_bytes, 1);
        if (kept->data == NULL) return LLAP_ENOMEM;
    }
    *out = kept;
    return LLAP_OK;
}

static llap_status execute(llap_denoise *d, ready *r)
{
    if (r->run == NULL) return LLAP_OK;
    d->products += llap_plan_products(r->plan);
    return llap_run_exec(r->run);
}

/* The first half for this step; its results become inputs of the second. */
static llap_status prepare(llap_denoise *d, pass *p, int i)
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
    for (int k = 0; k < llap_plan_n_slots(p->second.plan) && st == LLAP_OK; k++) {
        const llap_slot *s = llap_plan_slot(p->second.plan, k);
        const int64_t    n = llap_shape_count(&s->shape);
        if (!is_shared(s)) continue;
        const bool of_step = is_of_step(d, p, s->name), keep = of_step && kept != NULL;
        float     *x = llap_run_output_near((of_step ? p->of_step : p->first).run, s->name, NULL);
        if (keep && !known) memcpy(at, x, (size_t)n * sizeof *x);
        st = llap_run_bind_near(p->second.run, s->name, keep ? at : x, n);
        if (keep) at += n;
    }
    if (kept != NULL && st == LLAP_OK) kept->t = d->t[0];
    if (st == LLAP_OK) p->at = i;
    return st;
}

static llap_status predict(void *user, int i, const llap_point *at, bool conditional,
                           const float *x, const float *sc, float *pred)
{
    llap_denoise     *d = user;
    pass             *p = &d->pass[conditional ? 1 : 0];
    const llap_extent e = d->o.extent;
    const int64_t     n = e.B * e.R * e.h * e.Z;
    if (p->second.run == NULL)
        return llap_fail(LLAP_EINVAL, "denoiser: the %s pass was not asked for",
                         conditional ? "conditional" : "unconditional");
    if (d->c.stream == LLAP_STREAM_RESIDUES && (at->t < 0 || at->t >= d->c.timesteps))
        return llap_fail(LLAP_EINVAL, "denoiser: step %lld is not below %lld", (long long)at->t,
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
        st = llap_near_get(d->o.backend, pred, llap_run_output_near(p->second.run, "pred", NULL),
                           (size_t)n * sizeof *pred);
    return st;
}

llap_predictor llap_denoise_predictor(llap_denoise *d)
{
    return (llap_predictor){ predict, d, d->o.S > 0 };
}

double llap_denoise_products(const llap_denoise *d) { return d->products; }

size_t llap_denoise_bytes(const llap_denoise *d)
{
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < MOST_TABLES; k++)
            if (d->pass[i].table[k].data != NULL) n += d->pass[i].table_bytes;
        const ready *r[] = { &d->pass[i].of_step, &d->pass[i].first, &d->pass[i].second };
        for (int k = 0; k < 3; k++)
            if (r[k]->plan != NULL) n += llap_plan_workspace(r[k]->plan);
    }
    return n;
}
