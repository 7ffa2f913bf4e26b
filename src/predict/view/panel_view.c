#include "predict/view/panel_view.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "base/sort.h"
#include "data/windows/scaling.h"
#include "predict/view/frame.h"
#include "predict/view/series.h"
#include "predict/view/target_series.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ll_panel_view_deinit(ll_panel_view *s)
{
    for (int64_t c = 0; s->ordered != NULL && c < s->layout.targets; c++) ll_free(s->ordered[c]);
    ll_target_series_deinit(&s->targets);
    void *const arrays[] = { s->entity, s->record, s->known, s->ordered, (void *)s->x, s->values };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    *s = (ll_panel_view){ 0 };
}

/* Which entity of the panel each of the source is, and which of the model. */
static void match(ll_panel_view *s, const llap_model *m, const llap_panel *p)
{
    for (size_t i = 0; i < s->source.n; i++) {
        if (s->layout.view == LL_FEATURE_JOINT) {
            s->entity[i] = ll_panel_find_entity(p, m->frame.entity[i]);
            s->known[i] = i;
            continue;
        }
        s->entity[i] = (int64_t)i;
        s->known[i] = ll_model_series_of(m, p, (int64_t)i);
    }
}

/* u of one series, as the anchors have it, without its glitches, in single precision. */
static llap_status see_series(const ll_chain *chain, size_t e, const ll_series *y, float *to)
{
    bool *drop = ll_new(y->n, sizeof *drop);
    if (drop == NULL) return LLAP_ENOMEM;
    ll_chain_mark_past(chain, e, y->y, y->n, drop);
    for (size_t r = 0; r < y->n; r++) to[r] = drop[r] ? NAN : (float)y->u[r];
    ll_free(drop);
    return LLAP_OK;
}

static llap_status see_targets(ll_panel_view *s, const llap_model *m, const llap_panel *p,
                               const int64_t *var)
{
    llap_status st = ll_target_series_init(&s->targets, m, p, var, LL_SERIES_CONVERTED);
    for (int64_t c = 0; c < s->layout.targets && st == LLAP_OK; c++) {
        s->ordered[c] = ll_new(s->source.n, sizeof **s->ordered);
        if (s->ordered[c] == NULL) return LLAP_ENOMEM;
        for (size_t i = 0; i < s->source.n; i++) {
            if (s->entity[i] < 0) continue;
            const ll_series *y = &s->targets.target[c].series[s->entity[i]];
            float           *to = s->values + c * p->n_rows + p->start[s->entity[i]];
            assert(s->targets.known[s->entity[i]] == s->known[i]);
            s->ordered[c][i] = *y;
            st = see_series(m->anchor[c]->chain, s->known[i], y, to);
            if (st != LLAP_OK) return st;
        }
    }
    return st;
}

/* Scaled as training scaled it; NaN where it was not observed. */
static void see_input(ll_panel_view *s, const llap_model *m, const llap_panel *p,
                      const ll_model_inputs *in, int64_t k)
{
    const int64_t v = ll_panel_find_var(p, in->name[k]);
    float        *x = s->values + (s->layout.targets + k) * p->n_rows;
    for (size_t i = 0; i < s->source.n; i++) {
        if (s->entity[i] < 0) continue;
        const int64_t at =
            s->known[i] >= (size_t)m->frame.n_entities ? m->frame.n_entities : (int64_t)s->known[i];
        const float mean = in->mean[at * in->n + k], std = in->std[at * in->n + k];
        for (int64_t r = p->start[s->entity[i]]; r < p->start[s->entity[i] + 1]; r++)
            x[r] = v >= 0 && ll_panel_observed(p, r, v)
                       ? ll_scale_value(p->value[r * p->n_vars + v], mean, std,
                                        LL_SCALING_DEFAULT.clip)
                       : NAN;
    }
}

static void point(ll_panel_view *s, const llap_panel *p)
{
    const size_t V = (size_t)(s->layout.targets + s->layout.covariates);
    for (size_t i = 0; i < s->source.n; i++) {
        s->record[i].x = s->x + i * V;
        if (s->entity[i] < 0) continue;
        const int64_t    first = p->start[s->entity[i]];
        const ll_series *y = &s->targets.target[0].series[s->entity[i]];
        s->record[i].n = y->n;
        s->record[i].t = y->t;
        for (size_t v = 0; v < V; v++) s->x[i * V + v] = s->values + (int64_t)v * p->n_rows + first;
    }
    s->source.history = s->record;
    s->source.known = s->known;
    s->source.series = (const ll_series *const *)s->ordered;
    s->source.all = (const ll_series *const *)s->targets.all;
}

llap_status ll_panel_view_init(ll_panel_view *s, const llap_model *m, const llap_panel *p,
                               const ll_layout *layout, const ll_model_inputs *inputs)
{
    const size_t C = (size_t)layout->targets, V = C + (size_t)layout->covariates;
    const size_t n =
        (size_t)(layout->view == LL_FEATURE_JOINT ? m->frame.n_entities : p->n_entities);
    *s = (ll_panel_view){ .layout = *layout };
    s->source.n = n;
    s->source.anchor = (const ll_anchor_model *const *)m->anchor;
    s->entity = ll_new(n, sizeof *s->entity);
    s->record = ll_new(n, sizeof *s->record);
    s->known = ll_new(n, sizeof *s->known);
    s->ordered = ll_new(C, sizeof *s->ordered);
    s->x = ll_new(n, V * sizeof *s->x);
    s->values = ll_new(V, (size_t)p->n_rows * sizeof *s->values);
    int64_t    *var = ll_new(C, sizeof *var);
    llap_status st = s->entity == NULL || s->record == NULL || s->known == NULL ||
                             s->ordered == NULL || s->x == NULL || s->values == NULL || var == NULL
                         ? LLAP_ENOMEM
                         : ll_target_columns(m, p, var);
    if (st == LLAP_OK) {
        match(s, m, p);
        st = see_targets(s, m, p, var);
    }
    for (int64_t k = 0; k < layout->covariates && st == LLAP_OK; k++) see_input(s, m, p, inputs, k);
    if (st == LLAP_OK) point(s, p);
    else ll_panel_view_deinit(s);
    ll_free(var);
    return st;
}

/* ---- rows ---- */

void ll_examples_deinit(ll_examples *r)
{
    ll_free(r->example);
    ll_free(r->t);
    *r = (ll_examples){ 0 };
}

uint64_t ll_example_id(int64_t origin, const char *entity, int64_t target)
{
    uint64_t h = ll_hash(0, &origin, sizeof origin);
    if (entity != NULL) h = ll_hash(h, entity, strlen(entity));
    return ll_hash(h, &target, sizeof target);
}

/* The k-th of n kept ones is number floor(k all / n) of all. */
static size_t nth(size_t k, size_t n, size_t all)
{
    assert(k < n && n <= all);
    return (size_t)((double)k * (double)all / (double)n);
}

static llap_status joint_rows(const llap_model *m, const ll_windows *w, const ll_split *split,
                              const ll_examples_opts *o, ll_examples *out)
{
    const size_t h = (size_t)(m->frame.horizon / m->frame.step);
    int64_t     *end = ll_new((size_t)w->n, sizeof *end);
    size_t       n = 0, all = 0;
    if (end == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n; i++)
        if (split->part[i] == o->part) end[n++] = ll_window_end(w, &w->at[i]);
    ll_sort_ints(end, n);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || end[i] != end[all - 1]) end[all++] = end[i];
    out->n = o->most > 0 && o->most < all ? o->most : all;
    out->example = ll_new(out->n, sizeof *out->example);
    out->t = ll_new(out->n, h * sizeof *out->t);
    const llap_status st = out->example == NULL || out->t == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t k = 0; k < out->n && st == LLAP_OK; k++) {
        const int64_t at = end[nth(k, out->n, all)];
        double       *t = out->t + k * h;
        for (size_t q = 0; q < h; q++)
            t[q] = ll_model_time(m, at + ((int64_t)q + 1) * m->frame.step);
        out->example[k] = (ll_feature_example){ .origin = ll_model_time(m, at),
                                                .n_query = h,
                                                .t_query = t,
                                                .id = ll_example_id(at, NULL, -1) };
    }
    ll_free(end);
    return st;
}

/* Is the row's target observed, or by entity any of them? */
static bool seen_at(const ll_panel_view *s, const ll_record *r, size_t target, size_t i)
{
    if (s->layout.view == LL_FEATURE_SINGLE) return !isnan(r->x[target][i]);
    for (int64_t c = 0; c < s->layout.targets; c++)
        if (!isnan(r->x[c][i])) return true;
    return false;
}

/* Observed rows among the queries of a window: their number, and their times if wanted. */
static size_t observed(const ll_panel_view *s, const ll_windows *w, const ll_window *v,
                       size_t target, size_t most, double *t)
{
    const int64_t    start = w->panel->start[v->entity];
    const size_t     first = (size_t)(ll_window_query(v) - start);
    const size_t     end = first + (size_t)v->n_query;
    const ll_record *r = &s->record[v->entity];
    size_t           n = 0, k = 0, seen = 0;
    assert(end <= r->n);
    for (size_t i = first; i < end; i++) n += seen_at(s, r, target, i);
    const size_t keep = most > 0 && most < n ? most : n;
    for (size_t i = first; t != NULL && i < end; i++)
        if (seen_at(s, r, target, i) && k < keep && seen++ == nth(k, keep, n)) t[k++] = r->t[i];
    return keep;
}

static llap_status own_rows(const ll_panel_view *s, const llap_model *m, const ll_windows *w,
                            const ll_split *split, const ll_examples_opts *o, ll_examples *out)
{
    const size_t C = s->layout.view == LL_FEATURE_SINGLE ? (size_t)s->layout.targets : 1;
    size_t       all = 0, n_t = 0, seen = 0, k = 0;
    for (int pass = 0; pass < 2; pass++) {
        seen = k = n_t = 0;
        for (int64_t i = 0; i < w->n; i++) {
            const ll_window *v = &w->at[i];
            if (split->part[i] != o->part) continue;
            for (size_t c = 0; c < C; c++) {
                if (pass == 0) {
                    all += observed(s, w, v, c, 1, NULL);
                    continue;
                }
                if (observed(s, w, v, c, 1, NULL) == 0 || k >= out->n ||
                    seen++ != nth(k, out->n, all))
                    continue;
                const int64_t at = ll_window_end(w, v);
                out->example[k++] =
                    (ll_feature_example){ .origin = ll_model_time(m, at),
                                          .entity = (size_t)v->entity,
                                          .target = c,
                                          .n_query = observed(s, w, v, c, o->max_query, NULL),
                                          .id = ll_example_id(at, w->panel->entity[v->entity],
                                                              (int64_t)c) };
                n_t += out->example[k - 1].n_query;
            }
        }
        if (pass > 0) break;
        out->n = o->most > 0 && o->most < all ? o->most : all;
        out->example = ll_new(out->n, sizeof *out->example);
        if (out->example == NULL) return LLAP_ENOMEM;
    }
    out->t = ll_new(n_t, sizeof *out->t);
    if (out->t == NULL) return LLAP_ENOMEM;
    double *t = out->t;
    seen = k = 0;
    for (int64_t i = 0; i < w->n; i++)
        for (size_t c = 0; c < C && split->part[i] == o->part; c++) {
            const ll_window *v = &w->at[i];
            if (observed(s, w, v, c, 1, NULL) == 0 || k >= out->n || seen++ != nth(k, out->n, all))
                continue;
            out->example[k].t_query = t;
            t += observed(s, w, v, c, o->max_query, t);
            k++;
        }
    assert(k == out->n && t == out->t + n_t);
    return LLAP_OK;
}

llap_status ll_examples_of(const ll_panel_view *s, const llap_model *m, const ll_windows *w,
                           const ll_split *split, const ll_examples_opts *o, ll_examples *out)
{
    *out = (ll_examples){ 0 };
    const llap_status st = s->layout.view == LL_FEATURE_JOINT ? joint_rows(m, w, split, o, out)
                                                              : own_rows(s, m, w, split, o, out);
    if (st != LLAP_OK) ll_examples_deinit(out);
    return st;
}
