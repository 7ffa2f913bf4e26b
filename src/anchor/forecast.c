#include "anchor/process/state.h"
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The rows of one request that are looked at, in w, and the way back. */
typedef struct piece {
    double *u, *w;       /* [n] */
    double  m, s, scale; /* s is scale, or 1 where the scale is that of innovations */
    double  start;       /* of ll_anchor_window */
    size_t  first, n;    /* rows of the history */
} piece;

static void piece_deinit(piece *p)
{
    ll_free(p->u);
    ll_free(p->w);
    *p = (piece){ 0 };
}

/* Rows first .. last - 1 of the request's history, as kernel k takes them. */
static llap_status piece_init(piece *p, const ll_anchor_model *m, const ll_anchor_kernel *k,
                              const ll_anchor_request *r, size_t first, size_t last)
{
    const ll_series *h = &r->history;
    *p = (piece){ 0 };
    assert(first <= last && last <= h->n);
    p->u = ll_new(last - first, sizeof *p->u);
    p->w = ll_new(last - first, sizeof *p->w);
    if (p->u == NULL || p->w == NULL) {
        piece_deinit(p);
        return LLAP_ENOMEM;
    }
    const ll_series part = { .n = last - first, .t = h->t + first, .y = h->y + first, .in = h->in };
    if (h->u != NULL && part.n > 0) memcpy(p->u, h->u + first, part.n * sizeof *p->u);
    else ll_chain_convert(m->chain, r->series, &part, NULL, p->u);
    const size_t skip = anchor_first_row(p->u, 0, last - first, m->spec.max_obs);
    p->first = first + skip;
    p->n = last - p->first;
    assert(p->first <= last);
    const llap_status st =
        anchor_drop_glitches(m->chain, r->series, r->history.y + p->first, p->n, p->u + skip);
    anchor_cut how = anchor_cut_of(m, k);
    how.loose = ll_chain_loose(m->chain, r->series);
    anchor_norm(how, p->u + skip, p->n, &p->m, &p->scale, &p->start);
    p->s = k->innovation ? 1.0 : p->scale;
    for (size_t i = 0; i < p->n; i++) p->w[i] = (p->u[skip + i] - p->m) / p->s;
    if (st != LLAP_OK) piece_deinit(p);
    return st;
}

/* The piece as the filter takes it, and what is asked about it. */
static ll_anchor_window window_of(const piece *p, const ll_anchor_request *r, const double *tq,
                                  size_t n)
{
    return (ll_anchor_window){ .n_obs = p->n,
                               .t = r->history.t + p->first,
                               .y = p->w,
                               .n_query = n,
                               .t_query = tq,
                               .start = p->start,
                               .scale = p->scale };
}

/* From a mean and variance of w to the law of u at time t. */
static ll_law law_of(const ll_anchor_model *m, const ll_anchor_request *r, const piece *p, double t,
                     double mean, double var, double floor, const double *shape)
{
    const ll_inputs *in = r->history.in;
    return (ll_law){ .mean = p->m + p->s * mean,
                     .sd = anchor_sd(p->s, fmax(var, floor), ll_chain_doubt(m->chain, in, t)),
                     .climate = ll_chain_mean(m->chain, r->series, in, t),
                     .series = r->series,
                     .shape = shape };
}

/* Everything that a batch of forecasts needs. */
typedef struct batch {
    piece            *piece;  /* [n] */
    ll_anchor_window *window; /* [n] */
    double          **mean, **var;
    double           *numbers;
} batch;

static void batch_deinit(batch *b, size_t n)
{
    for (size_t i = 0; b->piece != NULL && i < n; i++) piece_deinit(&b->piece[i]);
    ll_free(b->piece);
    ll_free(b->window);
    ll_free(b->mean);
    ll_free(b->var);
    ll_free(b->numbers);
}

static llap_status batch_init(batch *b, const ll_anchor_model *m, const ll_anchor_kernel *k,
                              const ll_anchor_request *r, size_t n)
{
    size_t n_query = 0;
    for (size_t i = 0; i < n; i++) n_query += r[i].n_query;
    b->piece = ll_new(n, sizeof *b->piece);
    b->window = ll_new(n, sizeof *b->window);
    b->mean = ll_new(n, sizeof *b->mean);
    b->var = ll_new(n, sizeof *b->var);
    b->numbers = ll_new(2 * n_query, sizeof *b->numbers);
    if (b->piece == NULL || b->window == NULL || b->mean == NULL || b->var == NULL ||
        b->numbers == NULL)
        return LLAP_ENOMEM;
    double *at = b->numbers;
    for (size_t i = 0; i < n; i++) {
        const ll_series  *h = &r[i].history;
        const size_t      first = anchor_after(h->t, h->n, r[i].origin - m->spec.context);
        const llap_status st =
            piece_init(&b->piece[i], m, k, &r[i], first, anchor_after(h->t, h->n, r[i].origin));
        if (st != LLAP_OK) return st;
        b->window[i] = window_of(&b->piece[i], &r[i], r[i].t_query, r[i].n_query);
        b->mean[i] = at;
        b->var[i] = at + r[i].n_query;
        at += 2 * r[i].n_query;
    }
    return LLAP_OK;
}

static void set_laws(const ll_anchor_model *m, const ll_calibration *c, double floor,
                     const batch *b, const ll_anchor_request *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t q = 0; q < r[i].n_query; q++) {
            const double t = r[i].t_query[q];
            r[i].law[q] = law_of(m, &r[i], &b->piece[i], t, b->mean[i][q], b->var[i][q], floor,
                                 ll_calibration_at(c, t - r[i].origin));
        }
}

static llap_status answer(const ll_anchor_model *m, const ll_anchor_kernel *k,
                          const ll_calibration *c, double floor, const ll_anchor_request *r,
                          size_t n)
{
    batch       b = { 0 };
    llap_status st = batch_init(&b, m, k, r, n);
    if (st == LLAP_OK) st = ll_anchor_filter(k, b.window, n, b.mean, b.var, NULL);
    if (st == LLAP_OK) set_laws(m, c, floor, &b, r, n);
    batch_deinit(&b, n);
    return st;
}

llap_status anchor_forecast_terms(const ll_anchor_model *m, const ll_anchor_request *r,
                                  double *term, double *level)
{
    batch       b = { 0 };
    llap_status st = batch_init(&b, m, &m->kernel, r, 1);
    if (st == LLAP_OK) st = ll_anchor_filter_terms(&m->kernel, b.window, b.mean[0], b.var[0], term);
    if (st == LLAP_OK) {
        set_laws(m, &m->calibration, anchor_floor(m), &b, r, 1);
        *level = b.piece->m;
        const size_t n = r->n_query * (size_t)(m->kernel.n_terms + 1);
        for (size_t i = 0; i < n; i++) term[i] *= b.piece->s;
    }
    batch_deinit(&b, 1);
    return st;
}

/* ---- forecasts that look at all series ---- */

/* Requests first .. first + n - 1 have one origin, and each is about another series. */
typedef struct group {
    size_t first, n;
} group;

static bool is_joint(const ll_anchor_model *m, const ll_anchor_request *r)
{
    return m->link.rank > 0 && r->all != NULL && r->series < m->link.n;
}

static group group_at(const ll_anchor_model *m, const ll_anchor_request *r, size_t first, size_t n)
{
    bool   taken[LL_ANCHOR_LINKED_MAX] = { false };
    size_t i = first;
    assert(m->link.n <= LL_ANCHOR_LINKED_MAX);
    for (; i < n && is_joint(m, &r[i]); i++) {
        if (r[i].origin != r[first].origin || r[i].all != r[first].all || taken[r[i].series]) break;
        taken[r[i].series] = true;
    }
    return (group){ first, i - first };
}

/* One request for every series: those of the group, and of others without a query. */
static void whole_group(const ll_anchor_model *m, const ll_anchor_request *r, group g,
                        ll_anchor_request *out)
{
    for (size_t e = 0; e < m->link.n; e++)
        out[e] = (ll_anchor_request){ .history = r[g.first].all[e],
                                      .series = e,
                                      .origin = r[g.first].origin };
    for (size_t i = g.first; i < g.first + g.n; i++) {
        assert(r[i].series < m->link.n && out[r[i].series].n_query == 0);
        out[r[i].series].n_query = r[i].n_query;
        out[r[i].series].t_query = r[i].t_query;
        out[r[i].series].law = r[i].law;
    }
}

static llap_status answer_jointly(const ll_anchor_model *m, const ll_anchor_request *r,
                                  const group *g, size_t n_groups)
{
    const size_t       n = n_groups * m->link.n;
    ll_anchor_request *all = ll_new(n, sizeof *all);
    batch              b = { 0 };
    if (all == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n_groups; i++) whole_group(m, r, g[i], all + i * m->link.n);
    llap_status st = batch_init(&b, m, &m->kernel, all, n);
    if (st == LLAP_OK)
        st = ll_anchor_linked_filter(&m->kernel, &m->link, b.window, n_groups, b.mean, b.var, NULL);
    if (st == LLAP_OK) set_laws(m, &m->calibration, anchor_floor(m), &b, all, n);
    batch_deinit(&b, n);
    ll_free(all);
    return st;
}

llap_status ll_anchor_model_forecast(const ll_anchor_model *m, const ll_anchor_request *r, size_t n)
{
    group *g = ll_new(n, sizeof *g);
    if (g == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    size_t      n_groups = 0;
    for (size_t i = 0; st == LLAP_OK && i < n;) {
        if (is_joint(m, &r[i])) {
            g[n_groups] = group_at(m, r, i, n);
            assert(g[n_groups].n > 0);
            i += g[n_groups++].n;
            continue;
        }
        size_t end = i + 1; /* the others, as many as stand together */
        while (end < n && !is_joint(m, &r[end])) end++;
        st = answer(m, &m->kernel, &m->calibration, anchor_floor(m), r + i, end - i);
        i = end;
    }
    if (st == LLAP_OK && n_groups > 0) st = answer_jointly(m, r, g, n_groups);
    ll_free(g);
    return st;
}

/* Paths of w as normal scores of their own marginals, [n_paths,n_query], which the law of each
 * query then takes to data units: the ranks are joint, the margins are those of the laws. */
static llap_status draw_scores(const ll_anchor_posterior *post, size_t n_query, uint64_t seed,
                               uint64_t window, uint32_t step, size_t n_paths, double *out)
{
    const size_t n = ll_anchor_path_normals(post);
    double      *margin = ll_new(2 * n_query, sizeof *margin);
    double      *normals = ll_new(n, sizeof *normals);
    float       *draw = ll_new(n, sizeof *draw);
    llap_status  st = margin == NULL || normals == NULL || draw == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_anchor_marginals(post, LL_ANCHOR_NOISY, margin, margin + n_query);
    for (size_t k = 0; st == LLAP_OK && k < n_paths; k++) {
        const ll_rng rng = ll_rng_make(seed, LL_STREAM_NOISE, window, (uint32_t)k, step);
        double      *path = out + k * n_query;
        ll_rng_fill_normal(&rng, 0, n, draw);
        for (size_t i = 0; i < n; i++) normals[i] = (double)draw[i];
        st = ll_anchor_paths(post, LL_ANCHOR_NOISY, 1, normals, path);
        for (size_t q = 0; st == LLAP_OK && q < n_query; q++)
            path[q] = (path[q] - margin[q]) / sqrt(fmax(margin[n_query + q], 1e-300));
    }
    ll_free(margin);
    ll_free(normals);
    ll_free(draw);
    return st;
}

/* Scores of one request's paths, from a stream of normals or from given ones. */
typedef llap_status (*score_paths)(const ll_anchor_posterior *post, size_t n_query, void *from,
                                   size_t n_paths, double *out);

static llap_status make_paths(const ll_anchor_model *m, const ll_anchor_request *r,
                              score_paths scores, void *from, size_t n_paths, double *out)
{
    ll_law              *law = r->law == NULL ? ll_new(r->n_query, sizeof *law) : r->law;
    ll_anchor_request    own = *r;
    ll_anchor_posterior *post = NULL;
    batch                b = { 0 };
    own.law = law;
    llap_status st = law == NULL ? LLAP_ENOMEM : batch_init(&b, m, &m->kernel, r, 1);
    if (st == LLAP_OK && r->law == NULL) st = ll_anchor_model_forecast(m, &own, 1);
    if (st == LLAP_OK) st = ll_anchor_condition(&m->kernel, b.window, &post);
    if (st == LLAP_OK) st = scores(post, r->n_query, from, n_paths, out);
    for (size_t i = 0; st == LLAP_OK && i < n_paths * r->n_query; i++)
        out[i] = ll_anchor_quantile(m, r->series, &law[i % r->n_query], out[i]);
    ll_anchor_posterior_destroy(post);
    batch_deinit(&b, 1);
    if (r->law == NULL) ll_free(law);
    return st;
}

typedef struct stream {
    uint64_t seed, window;
} stream;

static llap_status from_stream(const ll_anchor_posterior *post, size_t n_query, void *from,
                               size_t n_paths, double *out)
{
    const stream *s = from;
    return draw_scores(post, n_query, s->seed, s->window, 0, n_paths, out);
}

llap_status ll_anchor_model_paths(const ll_anchor_model *m, const ll_anchor_request *r,
                                  uint64_t seed, uint64_t window, size_t n_paths, double *out)
{
    stream s = { seed, window };
    return make_paths(m, r, from_stream, &s, n_paths, out);
}

static llap_status from_normals(const ll_anchor_posterior *post, size_t n_query, void *from,
                                size_t n_paths, double *out)
{
    const double *const *normals = from;
    (void)n_query;
    return ll_anchor_innovate(post, n_paths, *normals, out);
}

llap_status ll_anchor_model_paths_by(const ll_anchor_model *m, const ll_anchor_request *r,
                                     const double *normals, size_t n_paths, double *out)
{
    return make_paths(m, r, from_normals, &normals, n_paths, out);
}

/* Each query becomes a forecast at its own time, with a context of its own: a few at a time, so
 * that memory does not grow with queries times context. */
static llap_status fill_from_past(const ll_anchor_model *m, const ll_anchor_request *r,
                                  bool without)
{
    enum { AT_ONCE = 256 };
    ll_anchor_request each[AT_ONCE];
    llap_status       st = LLAP_OK;
    for (size_t done = 0, n; st == LLAP_OK && done < r->n_query; done += n) {
        n = r->n_query - done < AT_ONCE ? r->n_query - done : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            each[i] = *r;
            each[i].origin = r->t_query[done + i];
            if (without) each[i].origin = nextafter(each[i].origin, -INFINITY);
            each[i].n_query = 1;
            each[i].t_query = &r->t_query[done + i];
            each[i].law = &r->law[done + i];
        }
        st = answer(m, &m->fill_kernel, &m->fill_past, ANCHOR_FILL_FLOOR, each, n);
    }
    return st;
}

/* Fills the queries (their indices) of one piece from the rows within half a context of it. */
static llap_status fill_piece(const ll_anchor_model *m, const ll_anchor_request *r,
                              const double *tq, const size_t *index, size_t n, double *mean,
                              double *var)
{
    assert(n > 0 && tq[0] <= tq[n - 1]);
    const double         reach = 0.5 * m->spec.context;
    const ll_series     *h = &r->history;
    ll_anchor_posterior *post = NULL;
    piece                p;
    llap_status st = piece_init(&p, m, &m->fill_kernel, r, anchor_after(h->t, h->n, tq[0] - reach),
                                anchor_after(h->t, h->n, tq[n - 1] + reach));
    if (st != LLAP_OK) return st;
    const ll_anchor_window w = window_of(&p, r, tq, n);
    st = ll_anchor_condition(&m->fill_kernel, &w, &post);
    if (st == LLAP_OK) st = ll_anchor_marginals(post, LL_ANCHOR_NOISY, mean, var);
    for (size_t i = 0; st == LLAP_OK && i < n; i++)
        r->law[index[i]] =
            law_of(m, r, &p, tq[i], mean[i], var[i], ANCHOR_FILL_FLOOR, m->fill_both.factor[0]);
    ll_anchor_posterior_destroy(post);
    piece_deinit(&p);
    return st;
}

static llap_status fill_from_both(const ll_anchor_model *m, const ll_anchor_request *r)
{
    const size_t n = r->n_query;
    size_t      *index = ll_new(2 * n, sizeof *index);
    double      *numbers = ll_new(3 * n, sizeof *numbers);
    llap_status  st = index == NULL || numbers == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        index[i] = i;
        if (!isfinite(r->t_query[i]))
            st = ll_fail(LLAP_EINVAL, "anchor: query %zu: time %g is not finite", i, r->t_query[i]);
    }
    if (st == LLAP_OK) {
        anchor_sort(r->t_query, index, index + n, n);
        for (size_t i = 0; i < n; i++) numbers[i] = r->t_query[index[i]];
    }
    for (size_t i = 0; st == LLAP_OK && i < n;) {
        const size_t next = anchor_after(numbers, n, numbers[i] + 0.5 * m->spec.context);
        st = fill_piece(m, r, numbers + i, index + i, next - i, numbers + n + i,
                        numbers + 2 * n + i);
        i = next;
    }
    ll_free(index);
    ll_free(numbers);
    return st;
}

/* Where the queries end that are drawn together with the first: half a context later, or, from the
 * past, at the next reading. */
static size_t run_end(const ll_anchor_model *m, const ll_series *h, const double *tq, size_t n,
                      ll_anchor_from from)
{
    assert(n > 0);
    if (from == LL_ANCHOR_BOTH) return anchor_after(tq, n, tq[0] + 0.5 * m->spec.context);
    size_t next = anchor_after(h->t, h->n, tq[0]), end = 1;
    while (next < h->n && isnan(h->y[next])) next++;
    while (end < n && (next == h->n || tq[end] < h->t[next])) end++;
    return end;
}

/* The scores of one run, [n_paths,n]. */
static llap_status draw_run(const ll_anchor_model *m, const ll_anchor_request *r, const double *tq,
                            size_t n, ll_anchor_from from, uint64_t seed, uint64_t window,
                            uint32_t run, size_t n_paths, double *out)
{
    assert(n > 0 && tq[0] <= tq[n - 1]);
    const bool           both = from == LL_ANCHOR_BOTH;
    const double         reach = (both ? 0.5 : 1.0) * m->spec.context;
    const ll_series     *h = &r->history;
    ll_anchor_posterior *post = NULL;
    piece                p;
    llap_status st = piece_init(&p, m, &m->fill_kernel, r, anchor_after(h->t, h->n, tq[0] - reach),
                                anchor_after(h->t, h->n, both ? tq[n - 1] + reach : tq[0]));
    if (st != LLAP_OK) return st;
    const ll_anchor_window w = window_of(&p, r, tq, n);
    st = ll_anchor_condition(&m->fill_kernel, &w, &post);
    if (st == LLAP_OK) st = draw_scores(post, n, seed, window, run, n_paths, out);
    ll_anchor_posterior_destroy(post);
    piece_deinit(&p);
    return st;
}

llap_status ll_anchor_model_fill_paths(const ll_anchor_model *m, const ll_anchor_request *r,
                                       ll_anchor_from from, uint64_t seed, uint64_t window,
                                       size_t n_paths, double *out)
{
    double     *score = ll_new(r->n_query, n_paths * sizeof *score);
    llap_status st = score == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0, n; st == LLAP_OK && i < r->n_query; i += n) {
        n = run_end(m, &r->history, r->t_query + i, r->n_query - i, from);
        st = draw_run(m, r, r->t_query + i, n, from, seed, window, (uint32_t)i, n_paths, score);
        for (size_t k = 0; st == LLAP_OK && k < n_paths * n; k++) {
            const size_t q = i + k % n;
            out[k / n * r->n_query + q] = ll_anchor_quantile(m, r->series, &r->law[q], score[k]);
        }
    }
    ll_free(score);
    return st;
}

llap_status anchor_fill_alone(const ll_anchor_model *m, const ll_anchor_request *r,
                              ll_anchor_from from)
{
    return from == LL_ANCHOR_PAST ? fill_from_past(m, r, false) : fill_from_both(m, r);
}

llap_status anchor_fill_before(const ll_anchor_model *m, const ll_anchor_request *r)
{
    return fill_from_past(m, r, true);
}

llap_status anchor_read_again(const ll_anchor_model *m, const ll_anchor_request *r, double *alpha,
                              double *cov)
{
    assert(r->n_query > 0);
    const double         reach = 0.5 * m->spec.context;
    const double         noise = m->fill_kernel.nu + m->fill_kernel.jitter;
    const double        *tq = r->t_query;
    const ll_series     *h = &r->history;
    ll_anchor_posterior *post = NULL;
    piece                p;
    llap_status st = piece_init(&p, m, &m->fill_kernel, r, anchor_after(h->t, h->n, tq[0] - reach),
                                anchor_after(h->t, h->n, tq[r->n_query - 1] + reach));
    if (st != LLAP_OK) return st;
    const ll_anchor_window w = window_of(&p, r, tq, r->n_query);
    st = ll_anchor_condition(&m->fill_kernel, &w, &post);
    if (st == LLAP_OK) st = ll_anchor_marginals(post, LL_ANCHOR_LATENT, alpha, NULL);
    if (st == LLAP_OK) st = ll_anchor_covariance(post, LL_ANCHOR_LATENT, cov);
    for (size_t q = 0, i = 0; st == LLAP_OK && q < r->n_query; q++) {
        while (i < p.n && (w.t[i] < tq[q] || isnan(p.w[i]))) i++;
        alpha[q] = i < p.n && w.t[i] == tq[q] ? (p.w[i] - alpha[q]) / noise : 0.0;
    }
    ll_anchor_posterior_destroy(post);
    piece_deinit(&p);
    return st;
}
