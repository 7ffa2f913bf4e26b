#include "score/gaps/hidden_gaps.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "predict/filler.h"
#include "predict/forecaster.h"
#include "predict/reference.h"
#include "predict/tables/numbers.h"
#include "predict/view/fill_view.h"
#include "predict/view/gap_windows.h"
#include "predict/view/series.h"
#include "predict/view/target_series.h"
#include "score/gaps/hide.h"
#include "score/gaps/listed.h"
#include "score/gaps/naive.h"
#include "score/metric.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MEMBERS = LL_NAIVE_MEMBERS };

typedef struct fill_set {
    const llap_model *m;
    const llap_panel *p; /* with everything */
    const int64_t    *var;
    const uint8_t    *hidden;
    llap_panel       *masked;
    ll_naive_fillers  naive;  /* of what is left */
    ll_target_series  series; /* likewise */
    ll_fill_view      view;   /* likewise */
    double            score[MEMBERS];
    /* of networks that fill */
    const ll_backend *backend;
    uint8_t          *asked; /* [n_rows,n_targets] in this call */
    int64_t          *place; /* [n_rows] window and query of this call */
} fill_set;

/* ---- the model ---- */

/* Laws that the anchor has answered, as the filling has them. */
static llap_status move_laws(fill_set *s, int64_t target, const ll_forecast_window *w, int64_t n,
                             ll_arena *arena, const ll_anchor_request *r)
{
    size_t   n_query = 0;
    int64_t *entity = ll_arena_new(arena, (size_t)n, sizeof *entity);
    for (int64_t i = 0; entity != NULL && i < n; i++)
        entity[i] = w[i].entity, n_query += r[i].n_query;
    double *move = ll_arena_new(arena, n_query, LL_LAW_LEVELS * sizeof *move);
    if (entity == NULL || move == NULL) return LLAP_ENOMEM;
    return ll_fill_view_move(&s->view, target, r, entity, (size_t)n, move);
}

/* What is asked of the windows. Laws, and members that are their mid-point quantiles. */
static llap_status make_requests(const fill_set *s, int64_t target, const ll_forecast_window *w,
                                 int64_t n, ll_arena *arena, ll_anchor_request *r)
{
    for (int64_t i = 0; i < n; i++) {
        const size_t n_query = (size_t)w[i].n_query;
        double      *t = ll_arena_new(arena, n_query, sizeof *t);
        ll_law      *law = ll_arena_new(arena, n_query, sizeof *law);
        if (t == NULL || law == NULL) return LLAP_ENOMEM;
        for (size_t q = 0; q < n_query; q++) t[q] = ll_model_time(s->m, w[i].time[q]);
        r[i] = (ll_anchor_request){ .history = s->series.target[target].series[w[i].entity],
                                    .series = s->series.known[w[i].entity],
                                    .n_query = n_query,
                                    .t_query = t,
                                    .law = law,
                                    .all = s->series.all[target] };
    }
    return LLAP_OK;
}

static llap_status fill_by_model(fill_set *s, ll_anchor_from from, int64_t target,
                                 const ll_forecast_window *w, int64_t n, ll_arena *arena,
                                 ll_forecast_members *out)
{
    const int64_t          n_targets = s->m->frame.n_targets;
    const ll_anchor_model *a = s->m->anchor == NULL ? NULL : s->m->anchor[target];
    ll_anchor_request     *r = ll_arena_new(arena, (size_t)n, sizeof *r);
    double               **value = ll_arena_new(arena, (size_t)n, sizeof *value);
    llap_status            st = r == NULL || value == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = make_requests(s, target, w, n, arena, r);
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) {
        value[i] = ll_arena_new(arena, MEMBERS * r[i].n_query, sizeof **value);
        if (value[i] == NULL) st = LLAP_ENOMEM;
        out[i * n_targets + target] = (ll_forecast_members){ .n = MEMBERS, .value = value[i] };
    }
    if (st == LLAP_OK && a != NULL) st = ll_anchor_model_fill(a, r, (size_t)n, from);
    if (st == LLAP_OK && a != NULL && from == LL_ANCHOR_BOTH)
        st = move_laws(s, target, w, n, arena, r);
    if (st != LLAP_OK || a == NULL) return st;
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t i = 0; i < n; i++)
        for (size_t q = 0; q < r[i].n_query; q++)
            for (int k = 0; k < MEMBERS; k++)
                value[i][(size_t)k * r[i].n_query + q] =
                    ll_anchor_quantile(a, r[i].series, &r[i].law[q], s->score[k]);
    return LLAP_OK;
}

/* The networks' draws of a cell take the place of the anchor's members; cells that they leave stay
 * the anchor's law. */
typedef struct redrawn {
    fill_set                  *s;
    const ll_forecast_request *ask;
    const ll_forecast_window  *w;
    ll_forecast_members       *out;
} redrawn;

/* Whoever scores hears of its own windows, not of the networks'. */
static int report_asked(void *user, const llap_progress_event *e)
{
    (void)e;
    const redrawn *r = user;
    return ll_report(r->ask->progress, &r->ask->at) != LLAP_OK;
}

static void put_redrawn(void *user, const ll_filled_cell *cell)
{
    const redrawn       *r = user;
    const fill_set      *s = r->s;
    const int64_t        i = s->place[cell->row] >> 32, q = s->place[cell->row] & UINT32_MAX;
    ll_forecast_members *f = &r->out[i * s->m->frame.n_targets + cell->target];
    double              *value = (double *)f->value;
    assert(q < r->w[i].n_query && cell->n <= MEMBERS && f->law != NULL);
    for (int64_t k = 0; k < MEMBERS; k++)
        value[k * r->w[i].n_query + q] = k < cell->n ? cell->y[k] : NAN;
    ((bool *)f->law)[q] = false;
}

static llap_status expect_draws(const ll_forecast_window *w, int64_t n, int64_t C, ll_arena *arena,
                                ll_forecast_members *out)
{
    static_assert((int)LL_FILL_SAMPLES <= (int)MEMBERS, "draws take the place of members");
    for (int64_t i = 0; i < n * C; i++) {
        const size_t n_query = (size_t)w[i / C].n_query;
        bool        *law = ll_arena_new(arena, n_query, sizeof *law);
        if (law == NULL) return LLAP_ENOMEM;
        memset(law, true, n_query);
        out[i].drawn = true;
        out[i].law = law;
    }
    return LLAP_OK;
}

static llap_status redraw(fill_set *s, ll_anchor_from from, int64_t first,
                          const ll_forecast_request *ask, const ll_forecast_window *w, int64_t n,
                          ll_arena *arena, ll_forecast_members *out)
{
    const int64_t C = s->m->frame.n_targets;
    redrawn       r = { s, ask, w, out };
    if (expect_draws(w, n, C, arena, out) != LLAP_OK) return LLAP_ENOMEM;
    memset(s->asked, 0, (size_t)(s->p->n_rows * C));
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < w[i].n_query; q++) {
            const int64_t row = ll_panel_find_row(s->p, w[i].entity, w[i].time[q]);
            assert(row >= 0);
            s->place[row] = i << 32 | q;
            memcpy(s->asked + row * C, s->hidden + row * C, (size_t)C);
        }
    const ll_gap_cells      g = { .m = s->m, .p = s->masked, .asked = s->asked };
    const ll_fill_gaps_opts o = { .from = from,
                                  .first = first,
                                  .n_samples = LL_FILL_SAMPLES,
                                  .seed = ask->seed,
                                  .progress = { report_asked, &r },
                                  .backend = s->backend,
                                  .log = ask->log };
    return ll_fill_gaps(&g, &o, put_redrawn, &r, NULL);
}

static llap_status fill_from(const ll_forecaster *f, ll_anchor_from from,
                             const ll_forecast_request *ask, const ll_forecast_window *w, int64_t n,
                             ll_arena *arena, ll_forecast_members *out)
{
    fill_set     *s = f->self;
    const int64_t first = ll_fill_first_point(s->m, from);
    llap_status   st = LLAP_OK;
    for (int64_t k = 0; st == LLAP_OK && k < f->n_targets; k++)
        st = fill_by_model(s, from, k, w, n, arena, out);
    if (st == LLAP_OK && first >= 0) st = redraw(s, from, first, ask, w, n, arena, out);
    return st;
}

static llap_status fill_both(const ll_forecaster *f, const ll_forecast_request *ask,
                             const ll_forecast_window *w, int64_t n, ll_arena *arena,
                             ll_forecast_members *out)
{
    return fill_from(f, LL_ANCHOR_BOTH, ask, w, n, arena, out);
}

static llap_status fill_past(const ll_forecaster *f, const ll_forecast_request *ask,
                             const ll_forecast_window *w, int64_t n, ll_arena *arena,
                             ll_forecast_members *out)
{
    return fill_from(f, LL_ANCHOR_PAST, ask, w, n, arena, out);
}

static llap_status each_naively(const ll_forecaster *f, ll_naive which, const ll_forecast_window *w,
                                int64_t n, ll_arena *arena, ll_forecast_members *out)
{
    const fill_set *s = f->self;
    llap_status     st = LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < n * f->n_targets; i++)
        st =
            ll_naive_fill(&s->naive, which, &w[i / f->n_targets], i % f->n_targets, arena, &out[i]);
    return st;
}

static llap_status fill_linear(const ll_forecaster *f, const ll_forecast_request *ask,
                               const ll_forecast_window *w, int64_t n, ll_arena *arena,
                               ll_forecast_members *out)
{
    (void)ask;
    return each_naively(f, LL_NAIVE_LINEAR, w, n, arena, out);
}

static llap_status fill_last(const ll_forecaster *f, const ll_forecast_request *ask,
                             const ll_forecast_window *w, int64_t n, ll_arena *arena,
                             ll_forecast_members *out)
{
    (void)ask;
    return each_naively(f, LL_NAIVE_LAST, w, n, arena, out);
}

/* ---- what is asked ---- */

static bool is_asked(const ll_hidden_gaps *g, const llap_model *m, const llap_panel *p, int64_t e,
                     int64_t row, ll_part part)
{
    const int64_t n = m->frame.n_targets;
    for (int64_t k = 0; k < n; k++)
        if (g->hidden[row * n + k]) return ll_row_part(m, p, e, row) == part;
    return false;
}

/* Networks that fill take their time, a tenth of a second for a time with a gap: every so many days
 * are asked about then. */
static int64_t days_between(const llap_model *m, int64_t n_cells)
{
    enum { MOST = 1024 };
    if (ll_fill_first_point(m, LL_ANCHOR_PAST) < 0 && ll_fill_first_point(m, LL_ANCHOR_BOTH) < 0)
        return 1;
    const ll_network_config *c = m->rival != NULL ? NULL : &m->network->config;
    const bool               joint = c == NULL           ? false
                                     : m->anchor == NULL ? ll_reference_joint(c)
                                                         : c->features.view == LL_FEATURE_JOINT;
    const int64_t            times = joint ? 10 * n_cells / (3 * m->frame.n_entities) : n_cells;
    return 1 + times / MOST;
}

static int64_t count_asked(const ll_hidden_gaps *g, const llap_model *m, const llap_panel *p,
                           ll_part part)
{
    int64_t n = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t row = p->start[e]; row < p->start[e + 1]; row++)
            n += is_asked(g, m, p, e, row, part);
    return n;
}

/* The bin of the time since the target's reading before; the last one where there is none. */
static int32_t steps_since(const ll_hidden_gaps *g, int64_t e, int64_t row, int64_t now,
                           int64_t target)
{
    const ll_readings      *r = &g->set->naive.r;
    const ll_readings_range before = ll_readings_within(r, target, e, g->set->p->start[e], row);
    if (before.end == before.first) return (int32_t)g->leads.n - 1;
    return (int32_t)ll_lead(&g->leads, now - r->of[target].time[before.end - 1]);
}

int64_t ll_hidden_gaps_span(const ll_model_frame *f)
{
    return f->axis == LL_AXIS_CALENDAR ? LL_NS_PER_DAY : f->horizon;
}

/* Hidden cells of one entity and one day are one window. */
static llap_status list_windows(ll_hidden_gaps *g, const llap_model *m, const llap_panel *p,
                                ll_part part)
{
    const int64_t length = ll_hidden_gaps_span(&m->frame);
    const int64_t every = days_between(m, count_asked(g, m, p, part));
    const int64_t n_targets = m->frame.n_targets;
    int64_t       n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t day = INT64_MIN;
        for (int64_t row = p->start[e]; row < p->start[e + 1]; row++) {
            if (!is_asked(g, m, p, e, row, part)) continue;
            const int64_t now = p->time[row] / length - (p->time[row] % length < 0);
            if (now % every != 0) continue;
            if (now != day)
                g->w[g->n_windows++] =
                    (ll_forecast_window){ .entity = e,
                                          .first = p->start[e],
                                          .end = p->start[e + 1],
                                          .origin = now * length,
                                          .time = g->time + n,
                                          .id = ll_forecast_window_id(p, e, now * length) };
            day = now;
            g->w[g->n_windows - 1].n_query++;
            g->row[n] = row;
            for (int64_t k = 0; k < n_targets; k++)
                g->lead[n * n_targets + k] = steps_since(g, e, row, p->time[row], k);
            g->time[n++] = p->time[row];
        }
    }
    if (n == 0)
        return ll_fail(LLAP_EINVAL, "the data has no observed value to hide in the %s part",
                       ll_part_name(part));
    return ll_forecast_windows_sort(g->w, g->n_windows);
}

/* ---- all of it ---- */

static llap_status set_init(fill_set *s, const uint8_t *all, ll_part part, const uint8_t *glitch)
{
    const int64_t n = s->m->frame.n_targets;
    llap_status   st = ll_hide_mask(s->p, NULL, s->p->n_vars, all, &s->masked);
    if (st == LLAP_OK) st = ll_naive_init(&s->naive, s->masked, part, glitch);
    if (st == LLAP_OK) {
        s->asked = ll_new((size_t)s->p->n_rows, (size_t)n);
        s->place = ll_new((size_t)s->p->n_rows, sizeof *s->place);
        if (s->asked == NULL || s->place == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK)
        st = ll_target_series_init(&s->series, s->m, s->masked, s->var, LL_SERIES_READINGS);
    if (st == LLAP_OK) st = ll_fill_view_init(&s->view, s->m, s->m->filling, s->masked);
    for (int i = 0; i < MEMBERS; i++) s->score[i] = ll_normal_score((i + 0.5) / MEMBERS);
    return st;
}

static llap_status hide(ll_hidden_gaps *g, const ll_hidden_gaps_opts *o, const llap_model *m,
                        const llap_panel *p, const int64_t *var)
{
    const int64_t     C = m->frame.n_targets;
    int64_t           n_absent = 0;
    const llap_status st = o->listed != NULL ? ll_hide_listed(o->listed, m, p, g->all, &n_absent)
                                             : ll_hide_gaps(m, p, var, o->pattern, o->seed, g->all);
    if (st == LLAP_OK && n_absent > 0)
        ll_logf(o->log, LLAP_LOG_WARNING, "hidden: %lld values of %s are no readings: passed over",
                (long long)n_absent, ll_text_show(o->listed).text);
    for (int64_t i = 0; st == LLAP_OK && i < p->n_rows * C; i++)
        g->hidden[i] = g->all[i / C * p->n_vars + var[i % C]];
    return st;
}

llap_status ll_hidden_gaps_init(ll_hidden_gaps *g, const llap_model *m, const llap_panel *p,
                                const int64_t *var, const ll_score_scale *scale,
                                const ll_hidden_gaps_opts *o)
{
    static const struct {
        const char *name;
        llap_status (*fill)(const ll_forecaster *, const ll_forecast_request *,
                            const ll_forecast_window *, int64_t, ll_arena *, ll_forecast_members *);
    } filler[LL_FILLERS] = { { "model", fill_both },
                             { "model_causal", fill_past },
                             { "linear", fill_linear },
                             { "last_value", fill_last } };
    const size_t n_rows = (size_t)p->n_rows;
    *g = (ll_hidden_gaps){ .n = LL_FILLERS, .n_own = 2, .leads = ll_leads_of_frame(&m->frame) };
    g->set = ll_new(1, sizeof *g->set);
    g->hidden = ll_new(n_rows, (size_t)m->frame.n_targets);
    g->all = ll_new(n_rows, (size_t)p->n_vars);
    g->w = ll_new(n_rows, sizeof *g->w);
    g->row = ll_new(n_rows, sizeof *g->row);
    g->time = ll_new(n_rows, sizeof *g->time);
    g->lead = ll_new(n_rows, (size_t)m->frame.n_targets * sizeof *g->lead);
    const bool  ok = g->set && g->hidden && g->all && g->w && g->row && g->time && g->lead;
    llap_status st = ok ? hide(g, o, m, p, var) : LLAP_ENOMEM;
    if (st == LLAP_OK) {
        *g->set = (fill_set){
            .m = m,
            .p = p,
            .var = var,
            .hidden = g->hidden,
            .naive = { .m = m, .p = p, .var = var, .scale = scale, .hidden = g->hidden },
            .backend = o->backend
        };
        st = set_init(g->set, g->all, o->part, o->glitch);
    }
    if (st == LLAP_OK) st = list_windows(g, m, p, o->part);
    for (int i = 0; i < LL_FILLERS; i++)
        g->f[i] = (ll_forecaster){ .name = filler[i].name,
                                   .n_targets = m->frame.n_targets,
                                   .self = g->set,
                                   .forecast = filler[i].fill };
    if (st != LLAP_OK) ll_hidden_gaps_deinit(g);
    return st;
}

void ll_hidden_gaps_deinit(ll_hidden_gaps *g)
{
    fill_set *s = g->set;
    if (s != NULL) {
        ll_target_series_deinit(&s->series);
        ll_fill_view_deinit(&s->view);
        ll_naive_deinit(&s->naive);
        ll_free(s->asked);
        ll_free(s->place);
        llap_panel_destroy(s->masked);
        ll_free(s);
    }
    ll_free(g->w);
    ll_free(g->row);
    ll_free(g->time);
    ll_free(g->lead);
    ll_free(g->hidden);
    ll_free(g->all);
    *g = (ll_hidden_gaps){ 0 };
}
