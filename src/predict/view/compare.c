/* Is the data that an answer is asked about like the data of training? */
#include "predict/view/compare.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time/duration.h"
#include "predict/view/known_series.h"
#include "predict/view/queries.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int64_t ll_usual_gap(const ll_gaps *g)
{
    return g->usual_share >= 0.5 ? g->usual : g->grid > 0 ? g->grid : g->median;
}

typedef struct gap_text {
    char text[64];
} gap_text;

static gap_text show_gap(const ll_axis *a, int64_t ticks)
{
    gap_text s;
    if (a->kind == LL_AXIS_CALENDAR || *a->unit != '\0') ll_duration_format(ticks, s.text);
    else snprintf(s.text, sizeof s.text, "%g", (double)ticks / (double)a->unit_ns);
    return s;
}

static void compare_entities(const llap_model *m, const llap_panel *p, const llap_log *log)
{
    int64_t     n = 0;
    const char *first = NULL;
    for (int64_t e = 0; e < p->n_entities; e++)
        if (ll_model_entity_of(m, p, e) < 0 && n++ == 0) first = p->entity[e];
    if (n > 0 && !m->frame.by_entity)
        ll_logf(log, LLAP_LOG_WARNING,
                "training has not seen %lld of %lld %s ('%s'%s): %s the level and spread %s",
                (long long)n, (long long)p->n_entities, p->n_entities == 1 ? "entity" : "entities",
                ll_text_show(first).text, n > 1 ? ", ..." : "", n > 1 ? "they take" : "it takes",
                m->n_more > 0 ? "that their static inputs tell" : "of all together");
}

/* Too coarse, or much finer, than what was learned from. */
static llap_status compare_interval(const llap_model *m, const llap_panel *p, const llap_log *log)
{
    ll_gaps           g;
    const int64_t     then = m->frame.gap;
    const llap_status st = ll_gaps_measure(p, &g);
    const int64_t     now = st == LLAP_OK ? ll_usual_gap(&g) : 0;
    if (now > 0 && then > 0 &&
        ((double)now > 1.5 * (double)then || (double)then > 1.5 * (double)now))
        ll_logf(log, LLAP_LOG_WARNING, "rows are usually %s apart, in training they were %s",
                show_gap(&p->axis, now).text, show_gap(&p->axis, then).text);
    return st;
}

typedef struct moments {
    double n, mean, m2; /* of z */
} moments;

static void add(moments *s, double x)
{
    const double d = x - s->mean;
    s->n++;
    s->mean += d / s->n;
    s->m2 += d * (x - s->mean);
}

/* Values in standard deviations of training. Single far readings say nothing about a unit; where
 * they are many they are no glitches: with and without them. */
typedef struct measured {
    double  n, dropped;
    moments all, kept;
} measured;

static void measure_entity(const llap_model *m, int64_t target, const llap_panel *p, int64_t var,
                           int64_t e, double *y, bool *drop, measured *s)
{
    const ll_chain *c = m->anchor[target]->chain;
    const double   *mu = c->y_mu != NULL ? c->y_mu : c->mu;
    const double   *sd = c->y_sd != NULL ? c->y_sd : c->sd;
    const int64_t   first = p->start[e], n = p->start[e + 1] - first,
                  known = ll_model_entity_of(m, p, e);
    const size_t k = known < 0 ? c->n_series : (size_t)known;
    assert(k <= c->n_series);
    for (int64_t r = 0; r < n; r++)
        y[r] = ll_panel_observed(p, first + r, var)
                   ? (double)p->value[(first + r) * p->n_vars + var]
                   : (double)NAN;
    ll_chain_mark(c, ll_model_series_of(m, p, e), y, (size_t)n, drop);
    for (int64_t r = 0; r < n; r++) {
        if (isnan(y[r])) continue;
        const double z = (y[r] - mu[k]) / sd[k];
        s->n++;
        s->dropped += drop[r];
        add(&s->all, z);
        if (!drop[r]) add(&s->kept, z);
    }
}

/* Entity by entity: no more than the longest is in memory. */
static llap_status measure(const llap_model *m, int64_t target, const llap_panel *p, int64_t var,
                           moments *out, double *seen)
{
    const double few = 0.025;
    measured     s = { 0 };
    int64_t      longest = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        longest = p->start[e + 1] - p->start[e] > longest ? p->start[e + 1] - p->start[e] : longest;
    double    *y = ll_new((size_t)longest, sizeof *y);
    bool      *drop = ll_new((size_t)longest, sizeof *drop);
    const bool ok = y != NULL && drop != NULL;
    for (int64_t e = 0; ok && e < p->n_entities; e++)
        measure_entity(m, target, p, var, e, y, drop, &s);
    ll_free(y);
    ll_free(drop);
    *out = s.dropped > few * s.n ? s.all : s.kept;
    *seen = s.n;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* Each series had one value, and its deviation of 1 is none to measure by. Where z is clipped: no
 * value of training lay below the mean of its series (chain.h has its z_lo 0.2 under the least). */
static bool never_changed(const ll_chain *c)
{
    if (c->low == NULL) return c->z_lo > -0.2 - 1e-6;
    for (size_t e = 0; e < c->n_series; e++)
        if (c->low[e] < c->high[e]) return false;
    return true;
}

/* Rows that could have a value of the target: with known inputs those after the last have none. */
static double count_rows(const llap_model *m, const llap_panel *p, int64_t var)
{
    int64_t n = 0;
    if (m->frame.n_known == 0) return (double)p->n_rows;
    for (int64_t e = 0; e < p->n_entities; e++) n += ll_observed_until(p, e, &var, 1);
    return (double)n;
}

static llap_status compare_values(const llap_model *m, int64_t target, const llap_panel *p,
                                  int64_t var, const llap_log *log)
{
    const char       *name = m->frame.target[target];
    const ll_chain   *c = m->anchor[target]->chain;
    double            seen = 0;
    moments           s = { 0 };
    const llap_status st = measure(m, target, p, var, &s, &seen);
    if (st != LLAP_OK) return st;
    const double sd = sqrt(s.m2 / fmax(s.n, 1)), share = seen / fmax(count_rows(m, p, var), 1);
    if (s.n == 0) {
        ll_logf(log, LLAP_LOG_WARNING, "%s: no observed value at all", ll_text_show(name).text);
    } else if (never_changed(c)) {
        if (c->y_lo < c->y_hi && (s.mean != 0 || s.m2 > 0)) /* not cut to one value by its tails */
            ll_logf(log, LLAP_LOG_WARNING, "%s: was constant in training and has other values now",
                    ll_text_show(name).text);
    } else if (s.n >= 10 && (fabs(s.mean) > 3 || sd > 4 || sd < 0.05)) {
        ll_logf(log, LLAP_LOG_WARNING,
                "%s: its values lie %.2g deviations of training from the mean of training and "
                "spread %.2g times as much: another unit, another place?",
                ll_text_show(name).text, s.mean, sd);
    }
    const double then = m->frame.observed;
    if (s.n > 0 && share < 0.5 * then)
        ll_logf(log, LLAP_LOG_WARNING, "%s: %.2g %% of the cells are observed, in training %.2g %%",
                ll_text_show(name).text, 100 * share, 100 * then);
    return LLAP_OK;
}

/* Whether any target was observed within the context before the i-th forecast. */
static bool has_value(const llap_model *m, const llap_panel *p, const int64_t *var,
                      const ll_queries *q, size_t i)
{
    const int64_t e = q->entity[i], t = q->origin[i];
    for (int64_t r = ll_panel_row_after(p, e, t) - 1;
         r >= p->start[e] && ll_elapsed(p->time[r], t) < (uint64_t)m->frame.context; r--)
        for (int64_t v = 0; v < m->frame.n_targets; v++)
            if (ll_panel_observed(p, r, var[v])) return true;
    return false;
}

static void compare_contexts(const llap_model *m, const llap_panel *p, const int64_t *var,
                             const ll_queries *q, const llap_log *log)
{
    size_t      n = 0;
    const char *first = NULL;
    for (size_t i = 0; i < q->n; i++)
        if (!has_value(m, p, var, q, i) && n++ == 0) first = p->entity[q->entity[i]];
    if (n > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "%zu of %zu forecasts ('%s'%s) have nothing observed in the %s before them: they "
                "only give usual values",
                n, q->n, ll_text_show(first).text, n > 1 ? ", ..." : "",
                show_gap(&p->axis, m->frame.context).text);
}

typedef struct name_list {
    char   text[400];
    size_t at;
} name_list;

/* cost: a share of CRPS, or NaN where it was not measured. */
static void list_missing(name_list *l, const llap_panel *p, const char *name, double cost)
{
    char said[64] = "";
    if (name == NULL || ll_panel_find_var(p, name) >= 0 || l->at >= sizeof l->text) return;
    if (cost >= 0.0005)
        snprintf(said, sizeof said, " (in training CRPS was up to %.2g %% higher without it)",
                 100 * cost);
    else if (!isnan(cost)) snprintf(said, sizeof said, " (it gained nothing in training)");
    l->at += (size_t)snprintf(l->text + l->at, sizeof l->text - l->at, "%s'%s'%s",
                              l->at == 0 ? "" : ", ", ll_text_show(name).text, said);
}

/* Columns that networks were trained to look at. A direction is two inputs of one name. */
static void compare_inputs(const llap_model *m, const llap_panel *p, const llap_log *log)
{
    name_list l = { 0 };
    for (int64_t i = 0; m->network != NULL && i < m->network->n_inputs; i++)
        list_missing(&l, p, m->network->input[i], (double)NAN);
    for (int64_t i = 0; m->stack != NULL && i < m->stack->layout.inputs; i++)
        if (m->stack->input[i].turn != LL_STACK_COSINE)
            list_missing(&l, p, m->stack->input[i].name, m->stack->input[i].cost);
    if (l.at > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "inputs of training that the data does not have: %s; the networks take them as "
                "missing and answer less well than they were scored",
                l.text);
}

llap_status ll_compare_with_training(const llap_model *m, const llap_panel *p, const int64_t *var,
                                     const ll_queries *q, const llap_log *log)
{
    if (log == NULL || m->anchor == NULL) return LLAP_OK;
    compare_entities(m, p, log);
    compare_inputs(m, p, log);
    llap_status st = compare_interval(m, p, log);
    for (int64_t v = 0; st == LLAP_OK && v < m->frame.n_targets; v++)
        st = compare_values(m, v, p, var[v], log);
    if (st == LLAP_OK && q != NULL) compare_contexts(m, p, var, q, log);
    return st;
}
