/* The effects of known inputs and the climate, fitted together: coefficients of inputs are shared
 * by all series, the climate is each one's own. First the inputs' with every climate eliminated,
 * then the climates on what they leave. */
#include "anchor/chain/known_fit.h"
#include "anchor/chain/chain_climate.h"
#include "anchor/process/state.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- whitening ---- */

struct whitener {
    anchor_system sys;
    anchor_step   step;
    double        P[ANCHOR_MAX_J * ANCHOR_MAX_J];
    double        b[ANCHOR_MAX_J], unused[ANCHOR_MAX_J];
    double       *x; /* [J,width] a state for each column */
    int           width;
    bool          begun;
    double        t;
};

void known_whitener_destroy(known_whitener *w)
{
    if (w != NULL) ll_free(w->x);
    ll_free(w);
}

llap_status known_whitener_create(const ll_anchor_kernel *k, int width, known_whitener **out)
{
    known_whitener *w = ll_new(1, sizeof *w);
    *out = NULL;
    if (w == NULL) return LLAP_ENOMEM;
    anchor_system_init(&w->sys, k, false);
    w->width = width;
    w->x = ll_new((size_t)w->sys.J, (size_t)width * sizeof *w->x);
    if (w->x == NULL) {
        known_whitener_destroy(w);
        return LLAP_ENOMEM;
    }
    known_whitener_reset(w);
    *out = w;
    return LLAP_OK;
}

void known_whitener_reset(known_whitener *w)
{
    anchor_start(&w->sys, w->unused, w->P);
    memset(w->x, 0, (size_t)(w->sys.J * w->width) * sizeof *w->x);
    w->step.gap = -1.0;
    w->begun = false;
}

void known_whiten(known_whitener *w, double t, double *row)
{
    if (w->begun && t > w->t) {
        anchor_step_set(&w->step, &w->sys, t - w->t);
        anchor_push_rows(&w->sys, &w->step, w->width, w->width, w->x);
        anchor_push_cov(&w->sys, &w->step, w->P);
    }
    w->begun = true;
    w->t = t;
    const double d = fmax(w->P[0], 0.0) + w->sys.r, root = sqrt(d);
    anchor_update(&w->sys, 0.0, d, w->b, w->unused, w->P);
    for (int j = 0; j < w->width; j++) row[j] -= w->x[j];
    for (int i = 0; i < w->sys.J; i++) {
        const double gain = w->b[i] / d;
        double      *x = w->x + i * w->width;
        for (int j = 0; j < w->width; j++) x[j] += gain * row[j];
    }
    for (int j = 0; j < w->width; j++) row[j] /= root;
}

/* ---- normal equations ---- */

/* Of n columns; A is its lower half. */
typedef struct equations {
    int     n;
    double *A, *b; /* [n,n], [n]; owned through A */
} equations;

static llap_status equations_init(equations *q, int n)
{
    *q = (equations){ .n = n };
    q->A = ll_new((size_t)n + 1, (size_t)n * sizeof *q->A);
    if (q->A == NULL) return LLAP_ENOMEM;
    q->b = q->A + (size_t)n * (size_t)n;
    return LLAP_OK;
}

static void equations_clear(equations *q)
{
    memset(q->A, 0, ((size_t)q->n + 1) * (size_t)q->n * sizeof *q->A);
}

static void equations_add(equations *q, const double *column, double target)
{
    for (int i = 0; i < q->n; i++) {
        double      *row = q->A + (size_t)i * (size_t)q->n;
        const double x = column[i];
        if (x == 0.0) continue;
        q->b[i] += x * target;
        for (int j = 0; j <= i; j++) row[j] += x * column[j];
    }
}

static void equations_join(equations *to, const equations *from)
{
    const size_t n = ((size_t)to->n + 1) * (size_t)to->n;
    assert(to->n == from->n);
    for (size_t i = 0; i < n; i++) to->A[i] += from->A[i];
}

/* Eliminates the first m columns: what is left of the others is a system of their own. */
static void eliminate(equations *q, int m)
{
    const size_t n = (size_t)q->n;
    for (size_t k = 0; k < (size_t)m; k++) {
        const double root = sqrt(q->A[k * n + k]);
        q->A[k * n + k] = root;
        q->b[k] /= root;
        for (size_t i = k + 1; i < n; i++) q->A[i * n + k] /= root;
        for (size_t i = k + 1; i < n; i++) {
            const double x = q->A[i * n + k];
            q->b[i] -= x * q->b[k];
            for (size_t j = k + 1; j <= i; j++) q->A[i * n + j] -= x * q->A[j * n + k];
        }
    }
}

/* Adds the block behind the first m columns to a smaller system. */
static void take_block(const equations *q, int m, equations *to)
{
    const size_t n = (size_t)q->n, first = (size_t)m, small = (size_t)to->n;
    assert(q->n == m + to->n);
    for (size_t i = 0; i < small; i++) {
        to->b[i] += q->b[first + i];
        for (size_t j = 0; j <= i; j++) to->A[i * small + j] += q->A[(first + i) * n + first + j];
    }
}

/* ---- rows ---- */

typedef struct fit {
    ll_chain               *c;
    const chain_values     *v;
    const ll_inputs *const *in;     /* [n_series] */
    const ll_anchor_kernel *whiten; /* NULL: plain */
    int                     n_climate, n_known;
    double                  share; /* of the penalties */
} fit;

/* The rows of series e: climate and inputs (both) or climate alone, whose target is then what the
 * inputs leave. */
static llap_status add_series(const fit *f, size_t e, bool both, equations *q)
{
    const chain_values *v = f->v;
    const int           n = f->n_climate + (both ? f->n_known : 0);
    known_whitener     *w = NULL;
    double             *row = ll_new((size_t)n + 1, sizeof *row);
    llap_status         st = row == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && f->whiten != NULL) st = known_whitener_create(f->whiten, n + 1, &w);
    for (size_t i = e > 0 ? v->ends[e - 1] : 0; st == LLAP_OK && i < v->ends[e]; i++) {
        chain_terms(f->c, v->t[i], row);
        row[n] = v->x[i];
        if (both) ll_known_terms(f->c->known, f->in[e], v->t[i], row + f->n_climate);
        else if (f->c->known != NULL) row[n] -= ll_known_effect(f->c->known, f->in[e], v->t[i], -1);
        if (w != NULL) known_whiten(w, v->t[i], row);
        equations_add(q, row, row[n]);
    }
    known_whitener_destroy(w);
    ll_free(row);
    return st;
}

/* The first n columns, which are terms of the climate, or of inputs. */
static void penalise(const fit *f, equations *q, int n, bool inputs)
{
    for (int i = 0; i < n; i++)
        q->A[(size_t)i * (size_t)q->n + (size_t)i] +=
            f->share * (inputs ? ll_known_penalty(f->c->known, i) : chain_penalty(f->c, i));
}

/* Coefficients of the inputs. */
static llap_status fit_effects(const fit *f, bool pooled)
{
    const size_t n_series = f->c->n_series;
    equations    one = { 0 }, left = { 0 };
    llap_status  st = equations_init(&one, f->n_climate + f->n_known);
    if (st == LLAP_OK) st = equations_init(&left, f->n_known);
    for (size_t e = 0; st == LLAP_OK && e < n_series; e++) {
        st = add_series(f, e, true, &one);
        if (st != LLAP_OK || (pooled && e + 1 < n_series)) continue;
        penalise(f, &one, f->n_climate, false);
        eliminate(&one, f->n_climate);
        take_block(&one, f->n_climate, &left);
        equations_clear(&one);
    }
    if (st == LLAP_OK) {
        penalise(f, &left, left.n, true);
        chain_solve(left.A, left.b, left.n);
        memcpy(f->c->known->beta, left.b, (size_t)left.n * sizeof *left.b);
    }
    ll_free(one.A);
    ll_free(left.A);
    return st;
}

static void solve_climate(const fit *f, equations *q, double *coefficient)
{
    penalise(f, q, q->n, false);
    chain_solve(q->A, q->b, q->n);
    memcpy(coefficient, q->b, (size_t)q->n * sizeof *coefficient);
}

/* Climates of what the inputs leave; the last is of all together. */
static llap_status fit_climates(const fit *f, bool pooled)
{
    const size_t n_series = f->c->n_series, n = (size_t)f->n_climate;
    equations    own = { 0 }, all = { 0 };
    llap_status  st = equations_init(&own, f->n_climate);
    if (st == LLAP_OK) st = equations_init(&all, f->n_climate);
    for (size_t e = 0; st == LLAP_OK && e < n_series; e++) {
        equations_clear(&own);
        st = add_series(f, e, false, &own);
        if (st != LLAP_OK) break;
        equations_join(&all, &own);
        solve_climate(f, &own, f->c->climate + e * n);
    }
    if (st == LLAP_OK) {
        double *together = f->c->climate + n_series * n;
        solve_climate(f, &all, together);
        for (size_t e = 0; e < n_series; e++)
            if (pooled || f->v->ends[e] == (e > 0 ? f->v->ends[e - 1] : 0))
                memcpy(f->c->climate + e * n, together, n * sizeof *together);
    }
    ll_free(own.A);
    ll_free(all.A);
    return st;
}

/* What is fitted of the inputs that o names, into c->known. */
static llap_status set_inputs(ll_chain *c, const ll_known_opts *o)
{
    const llap_status st = ll_known_copy(o->known, &c->known);
    if (st != LLAP_OK) return st;
    ll_known *k = c->known;
    k->constant = c->n_climate == 0;
    k->weighting = o->whiten != NULL ? LL_WEIGHTING_WHITENED : LL_WEIGHTING_PLAIN;
    for (int32_t i = 0; i < k->n; i++)
        k->input[i].slow = o->slow && k->input[i].kind == LL_KNOWN_NUMBER;
    k->n_terms = ll_known_count(k);
    ll_free(k->beta);
    k->beta = ll_new((size_t)k->n_terms, sizeof *k->beta);
    return k->beta == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status chain_fit_known(ll_chain *c, const chain_values *v, const ll_known_opts *o, bool pooled)
{
    const double whitened_share = 0.05;
    const bool   inputs = o->known != NULL;
    llap_status  st = inputs ? set_inputs(c, o) : LLAP_OK;
    if (st != LLAP_OK) return st;
    const fit f = { .c = c,
                    .v = v,
                    .in = v->in,
                    .whiten = inputs ? o->whiten : NULL,
                    .n_climate = c->n_climate,
                    .n_known = inputs ? c->known->n_terms : 0,
                    .share = inputs && o->whiten != NULL ? whitened_share : 1.0 };
    if (inputs) st = fit_effects(&f, pooled);
    return st == LLAP_OK && c->n_climate > 0 ? fit_climates(&f, pooled) : st;
}
