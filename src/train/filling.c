#include "train/filling.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/time/civil.h"
#include "fill/fit.h"
#include "predict/view/fill_view.h"
#include "predict/view/target_series.h"
#include "score/gaps/hide.h"
#include "train/run/targets.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { CELLS = 2400000, TRAIN_LEAST = 2000, VALID_LEAST = 300, ENTITIES = 256, ASKED = 4000 };
static const double read_least = 0.09, gain_least = 0.005;

/* ---- what is looked at ---- */

/* Rows of training and validation, the last ones where they are too many: 1 validation, 2 training.
 */
static void keep_rows(const llap_model *m, const llap_panel *p, int64_t n_vars, uint8_t *keep)
{
    const int64_t most = CELLS / n_vars;
    int64_t       n = 0, first = INT64_MIN;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            const ll_part part = ll_row_part(m, p, e, r);
            keep[r] = part == LL_PART_TRAIN ? 2 : part == LL_PART_VAL ? 1 : 0;
            if (m->frame.by_entity && n >= most) keep[r] = 0;
            n += keep[r] > 0;
        }
    for (int64_t span = m->frame.test_start; !m->frame.by_entity && n > most;) {
        int64_t start = INT64_MAX; /* of what is left; a tenth of it goes */
        for (int64_t r = 0; r < p->n_rows; r++)
            if (keep[r] > 0 && p->time[r] < start) start = p->time[r];
        first = start + (int64_t)(ll_elapsed(start, span) / 10) + 1;
        for (int64_t r = 0; r < p->n_rows; r++)
            if (keep[r] > 0 && p->time[r] < first) keep[r] = 0, n--;
    }
}

/* Share of the rows that have the variable. */
static double share_read(const llap_panel *p, const uint8_t *keep, int64_t var)
{
    int64_t n = 0, read = 0;
    for (int64_t r = 0; r < p->n_rows; r++) {
        if (keep[r] == 0) continue;
        n++;
        read += ll_panel_observed(p, r, var);
    }
    return n == 0 ? 0 : (double)read / (double)n;
}

/* Targets, then inputs, that are read often enough: column [LL_FILL_VARS], target of each or -1. */
static llap_status choose_columns(const llap_model *m, const llap_panel *p, const int64_t *var,
                                  const char *inputs, const uint8_t *keep, int64_t *column,
                                  int64_t *target, int64_t *n)
{
    const int64_t C = m->frame.n_targets;
    int64_t      *input = NULL, n_inputs = 0;
    llap_status   st = ll_inputs_parse(p, inputs, var, C, &input, &n_inputs);
    *n = 0;
    for (int64_t i = 0; st == LLAP_OK && i < C + n_inputs && *n < LL_FILL_VARS; i++) {
        const int64_t c = i < C ? var[i] : input[i - C];
        if (share_read(p, keep, c) < read_least) continue;
        column[*n] = c;
        target[(*n)++] = i < C ? i : -1;
    }
    ll_free(input);
    return st;
}

static llap_status make_filling(const llap_model *m, const llap_panel *p, const int64_t *column,
                                const int64_t *target, int64_t n, ll_filling **out)
{
    const ll_model_frame *f = &m->frame;
    const bool            joint =
        !f->by_entity && p->whole == NULL && f->n_entities > 1 && f->n_entities <= ENTITIES;
    const int64_t near = !joint                         ? 0
                         : f->n_entities > LL_FILL_NEAR ? LL_FILL_NEAR
                                                        : f->n_entities - 1;
    llap_status   st = ll_filling_create(n, joint ? f->n_entities : 0, near, out);
    for (int64_t v = 0; v < n && st == LLAP_OK; v++) {
        const char *name = p->var[column[v]];
        (*out)->target[v] = target[v];
        (*out)->used[v] = target[v] >= 0;
        (*out)->name[v] = ll_strndup(name, strlen(name));
        if ((*out)->name[v] == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) {
        (*out)->step = (double)f->step / (double)f->unit;
        (*out)->day = f->axis == LL_AXIS_CALENDAR && f->step <= 6 * LL_NS_PER_HOUR;
    }
    return st;
}

/* ---- the fit ---- */

typedef struct work {
    const llap_model      *m;
    const llap_panel      *p;
    const llap_train_opts *o;
    uint8_t               *keep; /* [n_rows] by keep_rows */
    int64_t                column[LL_FILL_VARS], target[LL_FILL_VARS], n;
    ll_fill_rows           rows;
    uint8_t               *train; /* [rows.table.n_rows] */
} work;

/* Are there enough readings of targets to learn from and to choose by? */
static bool enough(const ll_filling *f, const ll_fill_rows *r, const uint8_t *train)
{
    const int64_t n = r->table.n_rows;
    int64_t       read[2] = { 0 };
    for (int64_t v = 0; v < f->n_vars; v++)
        for (int64_t i = 0; f->target[v] >= 0 && i < n; i++)
            read[train[i]] += !isnan(r->u[v * n + i]);
    return read[1] >= TRAIN_LEAST && read[0] >= VALID_LEAST;
}

/* One fit, with its trees: score on validation. */
static llap_status fit_one(const work *w, bool bend, ll_filling **out, double *score)
{
    const llap_model  *m = w->m;
    const ll_fill_data d = { w->rows.table, w->train, m->frame.by_entity, (uint64_t)w->o->seed,
                             w->o->progress };
    llap_status        st = make_filling(m, w->p, w->column, w->target, w->n, out);
    if (st == LLAP_OK) st = ll_filling_fit(*out, &d, bend, true, score);
    return st;
}

/* Rows that are looked at; *go: there are enough readings. */
static llap_status open_rows(work *w, bool *go)
{
    ll_filling *f = NULL;
    llap_status st = make_filling(w->m, w->p, w->column, w->target, w->n, &f);
    if (st == LLAP_OK) st = ll_fill_rows_init(&w->rows, f, w->m, w->p, w->keep, false);
    w->train = ll_new((size_t)w->rows.table.n_rows + 1, 1);
    if (st == LLAP_OK && w->train == NULL) st = LLAP_ENOMEM;
    for (int64_t i = 0; st == LLAP_OK && i < w->rows.table.n_rows; i++)
        w->train[i] = w->keep[w->rows.row[i]] == 2;
    *go = st == LLAP_OK && enough(f, &w->rows, w->train);
    ll_filling_destroy(f);
    return st;
}

/* Without curves and with them, each with trees of its own: the better one on validation is *out.
 * NULL: too little data. at: what an earlier run had fitted. */
static llap_status fit_best(work *w, ll_training_run *run, ll_run_filling *at, ll_filling **out)
{
    bool        go = false;
    ll_filling *bent = NULL;
    double      score = 0;
    llap_status st = open_rows(w, &go);
    if (st == LLAP_OK && go && at->stage == LL_FILLING_NONE) {
        st = fit_one(w, false, out, &at->score);
        at->stage = LL_FILLING_PLAIN;
        at->filling = *out;
        if (st == LLAP_OK) ll_training_run_filling(run, at);
        if (st == LLAP_OK) ll_training_run_save(run, "filling");
    }
    if (st == LLAP_OK && go) st = fit_one(w, true, &bent, &score);
    if (st == LLAP_OK && go) {
        const bool        bend = score < at->score;
        ll_filling *const lost = bend ? *out : bent;
        if (bend) *out = bent;
        at->stage = LL_FILLING_FITTED;
        at->filling = *out;
        ll_training_run_filling(run, at);
        ll_training_run_save(run, "filling");
        bent = lost;
    }
    ll_filling_destroy(bent);
    return st;
}

/* ---- the choice ---- */

typedef struct contest { /* hidden readings of the validation part, one pattern */
    const llap_model *m;
    const llap_panel *p; /* with everything */
    const int64_t    *var;
    llap_panel       *masked;
    uint8_t          *asked; /* [n_rows,n_targets] hidden cells of validation */
    llap_progress     progress;
    ll_target_series  series;
    ll_fill_view      view;
} contest;

static void contest_deinit(contest *c)
{
    ll_fill_view_deinit(&c->view);
    ll_target_series_deinit(&c->series);
    llap_panel_destroy(c->masked);
    ll_free(c->asked);
}

/* Hides what the pattern hides of all columns; of each target so many of validation are asked. */
static llap_status hide(contest *c, const uint8_t *keep, ll_fill_pattern pattern, uint64_t seed)
{
    const llap_panel *p = c->p;
    const int64_t     C = c->m->frame.n_targets;
    uint8_t          *all = ll_new((size_t)p->n_rows, (size_t)p->n_vars);
    llap_status       st = all == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_hide_gaps(c->m, p, c->var, pattern, seed, all);
    for (int64_t k = 0; st == LLAP_OK && k < C; k++) {
        int64_t count = 0, seen = 0;
        for (int64_t r = 0; r < p->n_rows; r++)
            count += all[r * p->n_vars + c->var[k]] && keep[r] == 1;
        const int64_t every = count / ASKED + 1;
        for (int64_t r = 0; r < p->n_rows; r++)
            if (all[r * p->n_vars + c->var[k]] && keep[r] == 1)
                c->asked[r * C + k] = seen++ % every == 0;
    }
    if (st == LLAP_OK) st = ll_hide_mask(p, NULL, p->n_vars, all, &c->masked);
    ll_free(all);
    return st;
}

static llap_status contest_init(contest *c, const ll_filling *f, const uint8_t *keep,
                                ll_fill_pattern pattern, uint64_t seed)
{
    const int64_t C = c->m->frame.n_targets;
    c->asked = ll_new((size_t)c->p->n_rows, (size_t)C);
    if (c->asked == NULL) return LLAP_ENOMEM;
    llap_status st = hide(c, keep, pattern, seed);
    if (st == LLAP_OK)
        st = ll_target_series_init(&c->series, c->m, c->masked, c->var, LL_SERIES_READINGS);
    if (st == LLAP_OK) st = ll_fill_view_init(&c->view, c->m, f, c->masked);
    c->view.asked = c->asked;
    c->view.progress = c->progress;
    return st;
}

typedef struct questions {      /* one target's hidden cells */
    ll_anchor_request *request; /* [n_entities] */
    int64_t           *entity;
    double            *t, *truth, *move;
    ll_law            *law;
    size_t             n;
} questions;

static void questions_deinit(questions *q)
{
    void *const arrays[] = { q->request, q->entity, q->t, q->truth, q->move, q->law };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

static llap_status questions_init(questions *q, const contest *c, int64_t target)
{
    const llap_panel *p = c->p;
    const int64_t     C = c->m->frame.n_targets;
    const ll_chain   *chain = c->m->anchor[target]->chain;
    size_t            n = 0;
    for (int64_t r = 0; r < p->n_rows; r++) n += c->asked[r * C + target];
    *q = (questions){ .request = ll_new((size_t)p->n_entities, sizeof *q->request),
                      .entity = ll_new((size_t)p->n_entities, sizeof *q->entity),
                      .t = ll_new(n, sizeof *q->t),
                      .truth = ll_new(n, sizeof *q->truth),
                      .move = ll_new(n, LL_LAW_LEVELS * sizeof *q->move),
                      .law = ll_new(n, sizeof *q->law) };
    if (!q->request || !q->entity || !q->t || !q->truth || !q->move || !q->law) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        q->entity[e] = e;
        q->request[e] = (ll_anchor_request){ .history = c->series.target[target].series[e],
                                             .series = c->series.known[e],
                                             .t_query = q->t + q->n,
                                             .law = q->law + q->n,
                                             .all = c->series.all[target] };
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            if (!c->asked[r * C + target]) continue;
            q->t[q->n] = ll_model_time(c->m, p->time[r]);
            q->truth[q->n++] = ll_chain_unit_of(chain, c->series.known[e],
                                                (double)p->value[r * p->n_vars + c->var[target]]);
            q->request[e].n_query++;
        }
    }
    assert(q->n == n);
    return LLAP_OK;
}

static llap_status report(const contest *c, int64_t target)
{
    const llap_progress_event e = { "filling", target, c->m->frame.n_targets, "targets",
                                    "contest" };
    return ll_report(c->progress, &e);
}

/* Sums of CRPS of the anchor and of the filling. */
static llap_status compare(contest *c, int64_t target, double *anchor, double *fill)
{
    enum { AT_ONCE = 16 }; /* entities: a second or so */
    const ll_anchor_model *a = c->m->anchor[target];
    const size_t           E = (size_t)c->p->n_entities;
    questions              q;
    llap_status            st = questions_init(&q, c, target);
    for (size_t e = 0; e < E && st == LLAP_OK; e += AT_ONCE) {
        st = ll_anchor_model_fill(a, q.request + e, E - e < AT_ONCE ? E - e : AT_ONCE,
                                  LL_ANCHOR_BOTH);
        if (st == LLAP_OK) st = report(c, target);
    }
    for (size_t i = 0; i < q.n && st == LLAP_OK; i++)
        *anchor += ll_anchor_crps_z(a, &q.law[i], q.truth[i], NULL);
    if (st == LLAP_OK) st = ll_fill_view_move(&c->view, target, q.request, q.entity, E, q.move);
    for (size_t i = 0; i < q.n && st == LLAP_OK; i++)
        *fill += ll_anchor_crps_z(a, &q.law[i], q.truth[i], NULL);
    questions_deinit(&q);
    return st;
}

static llap_status choose(const llap_model *m, const llap_panel *p, const int64_t *var,
                          const uint8_t *keep, const llap_train_opts *o, ll_filling *f)
{
    static const ll_fill_pattern pattern[] = { LL_FILL_RANDOM, LL_FILL_OUTAGES, LL_FILL_DEAD };
    double      anchor[LL_FILL_VARS] = { 0 }, fill[LL_FILL_VARS] = { 0 }, sums[2] = { 0 };
    int         n = 0, n_targets = 0;
    llap_status st = LLAP_OK;
    for (size_t k = 0; k < sizeof pattern / sizeof *pattern && st == LLAP_OK; k++) {
        contest c = { .m = m, .p = p, .var = var, .progress = o->progress };
        st = contest_init(&c, f, keep, pattern[k], (uint64_t)o->seed + 1);
        for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
            if (f->target[v] >= 0) st = compare(&c, f->target[v], &anchor[v], &fill[v]);
        }
        contest_deinit(&c);
    }
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
        f->used[v] = fill[v] < (1 - gain_least) * anchor[v];
        n_targets += f->target[v] >= 0;
        n += f->used[v];
        sums[0] += anchor[v];
        sums[1] += f->used[v] ? fill[v] : anchor[v];
    }
    if (st == LLAP_OK)
        ll_logf(o->log, LLAP_LOG_INFO,
                "gaps: all sensors fill %d of %d targets: CRPS of hidden validation values %.1f %% "
                "of the anchor's",
                n, n_targets, 100 * sums[1] / fmax(sums[0], 1e-300));
    return st;
}

static bool any_used(const ll_filling *f)
{
    bool any = false;
    for (int64_t v = 0; v < f->n_vars; v++) any |= f->used[v];
    return any;
}

static void work_deinit(work *w)
{
    ll_fill_rows_deinit(&w->rows);
    ll_free(w->train);
    ll_free(w->keep);
}

/* f: what an earlier run had fitted, or NULL; then what is fitted, or NULL. */
static llap_status fit_all(const llap_model *m, ll_training_run *run, const llap_panel *p,
                           const int64_t *var, const llap_train_opts *o, ll_run_filling *at,
                           ll_filling **f)
{
    work        w = { .m = m, .p = p, .o = o, .keep = ll_new((size_t)p->n_rows + 1, 1) };
    llap_status st = w.keep == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        keep_rows(m, p, p->n_vars < LL_FILL_VARS ? p->n_vars : LL_FILL_VARS, w.keep);
        st = choose_columns(m, p, var, o->inputs, w.keep, w.column, w.target, &w.n);
    }
    const bool others = w.n > 1 || (!m->frame.by_entity && m->frame.n_entities > 1);
    if (st == LLAP_OK && w.n > 0 && w.target[0] >= 0 && others && at->stage < LL_FILLING_FITTED)
        st = fit_best(&w, run, at, f);
    if (st == LLAP_OK && *f != NULL) st = choose(m, p, var, w.keep, o, *f);
    work_deinit(&w);
    return st;
}

llap_status ll_train_filling(llap_model *m, ll_training_run *run, const llap_panel *p,
                             const int64_t *var, const llap_train_opts *o)
{
    ll_run_filling at = { 0 };
    ll_filling    *f = NULL;
    llap_status    st = ll_training_run_read_filling(run, &m->frame, &at, &f);
    const bool     settled = at.stage == LL_FILLING_SETTLED;
    if (st == LLAP_OK && !settled) st = fit_all(m, run, p, var, o, &at, &f);
    if (st == LLAP_OK && f != NULL && any_used(f)) m->filling = f;
    at = (ll_run_filling){ .stage = st == LLAP_OK ? LL_FILLING_SETTLED : LL_FILLING_NONE,
                           .filling = m->filling };
    ll_training_run_filling(run, &at);
    if (st == LLAP_OK && !settled) ll_training_run_save(run, "filling");
    if (m->filling == NULL) ll_filling_destroy(f);
    return st;
}
