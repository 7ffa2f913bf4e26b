#include "predict/scenarios.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "data/clock.h"
#include "data/panel.h"
#include "predict/view/frame.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* "scenario 'cold' (cold.csv)" */
typedef struct title {
    char text[256];
} title;

static title title_of(const llap_scenario *s)
{
    title t;
    if (s->source == NULL)
        snprintf(t.text, sizeof t.text, "scenario '%s'", ll_text_show(s->name).text);
    else
        snprintf(t.text, sizeof t.text, "scenario '%s' (%s)", ll_text_show(s->name).text,
                 ll_text_show(s->source).text);
    return t;
}

/* ---- whose values are whose ---- */

static bool for_all(const ll_scenarios *s, const llap_panel *of)
{
    return of->n_entities == 1 && ll_panel_find_entity(s->p, of->entity[0]) < 0;
}

/* The entity of a scenario that speaks of entity e of the data; -1: none. */
static int64_t speaker(const ll_scenarios *s, const llap_panel *of, int64_t e)
{
    return for_all(s, of) ? 0 : ll_panel_find_entity(of, s->p->entity[e]);
}

/* Whether row r of a scenario has a value of a known input. */
static bool has_value(const ll_scenarios *s, const llap_panel *of, int64_t r)
{
    const ll_model_frame *f = &s->m->frame;
    for (int64_t c = 0; c < f->n_known; c++) {
        const int64_t var = ll_panel_find_var(of, f->known[c]);
        if (var >= 0 && ll_panel_observed(of, r, var)) return true;
    }
    return false;
}

/* The first row of the scenario for entity e after its origin, and the row behind the last; false:
 * there is none. */
static bool later_rows(const ll_scenarios *s, const llap_panel *of, int64_t e, int64_t *first,
                       int64_t *end)
{
    const int64_t by = speaker(s, of, e);
    if (by < 0 || s->origin[e] == INT64_MAX) return false;
    *first = ll_panel_row_after(of, by, s->origin[e]);
    *end = of->start[by + 1];
    return *first < *end;
}

/* ---- checks ---- */

static llap_status check_entities(const ll_scenarios *s, const llap_scenario *is,
                                  const llap_log *log)
{
    const llap_panel *of = is->known;
    if (for_all(s, of)) return LLAP_OK;
    for (int64_t e = 0; e < of->n_entities; e++)
        if (ll_panel_find_entity(s->p, of->entity[e]) < 0)
            return ll_fail(LLAP_EINVAL, "%s: the data has no entity '%s'", title_of(is).text,
                           ll_text_show(of->entity[e]).text);
    for (int64_t e = 0; e < s->p->n_entities; e++)
        if (s->origin[e] != INT64_MAX && speaker(s, of, e) < 0)
            ll_logf(log, LLAP_LOG_WARNING, "no row of entity '%s': as the data has it",
                    ll_text_show(s->p->entity[e]).text);
    return LLAP_OK;
}

static bool is_known(const ll_model_frame *f, const char *name)
{
    int64_t c = 0;
    while (c < f->n_known && strcmp(f->known[c], name) != 0) c++;
    return c < f->n_known;
}

static llap_status check_columns(const ll_scenarios *s, const llap_scenario *is,
                                 const llap_log *log)
{
    const ll_model_frame *f = &s->m->frame;
    int64_t               found = 0;
    for (int64_t c = 0; c < f->n_known; c++)
        found += ll_panel_find_var(is->known, f->known[c]) >= 0;
    if (found == 0)
        return ll_fail(LLAP_EINVAL,
                       "%s: expected a column of a known input, such as '%s', found %s'%s'",
                       title_of(is).text, ll_text_show(f->known[0]).text,
                       is->known->n_vars > 1 ? "others, such as " : "",
                       is->known->n_vars > 0 ? ll_text_show(is->known->var[0]).text : "");
    for (int64_t c = 0; c < f->n_known; c++)
        if (ll_panel_find_var(is->known, f->known[c]) < 0)
            ll_logf(log, LLAP_LOG_WARNING, "no column '%s': as the data has it",
                    ll_text_show(f->known[c]).text);
    for (int64_t v = 0; v < is->known->n_vars; v++)
        if (!is_known(f, is->known->var[v]))
            ll_logf(log, LLAP_LOG_WARNING, "'%s' is no known input of the model: not looked at",
                    ll_text_show(is->known->var[v]).text);
    if (s->p->n_entities > 1 && for_all(s, is->known))
        ll_logf(log, LLAP_LOG_WARNING, "'%s' is no entity of the data: taken for all of them",
                ll_text_show(is->known->entity[0]).text);
    return LLAP_OK;
}

static llap_status check_rows(const ll_scenarios *s, const llap_scenario *is)
{
    int64_t first, end, last = INT64_MIN;
    for (int64_t e = 0; e < s->p->n_entities; e++) {
        if (s->origin[e] != INT64_MAX && s->origin[e] > last) last = s->origin[e];
        if (!later_rows(s, is->known, e, &first, &end)) continue;
        for (; first < end; first++)
            if (has_value(s, is->known, first)) return LLAP_OK;
    }
    ll_clock_writer clock;
    char            text[LL_TIMEFMT_TEXT_MAX] = "";
    size_t          n = 0;
    llap_status     st = ll_clock_writer_init(&clock, &s->p->axis);
    if (st == LLAP_OK) st = ll_clock_write(&clock, last, text, &n);
    ll_clock_writer_deinit(&clock);
    return ll_fail(LLAP_EINVAL,
                   "%s: no value of a known input later than the time of the forecast%s%.*s",
                   title_of(is).text, st == LLAP_OK ? ", " : "", st == LLAP_OK ? (int)n : 0, text);
}

static llap_status check(const ll_scenarios *s, int64_t k)
{
    const llap_scenario *is = &s->o->scenarios[k];
    const llap_log      *log = ll_scenarios_log(s, k);
    for (int64_t i = 0; i < k; i++)
        if (strcmp(s->o->scenarios[i].name, is->name) == 0)
            return ll_fail(LLAP_EINVAL, "scenario: '%s' is given twice",
                           ll_text_show(is->name).text);
    llap_status st = ll_check_axis(s->m, is->known);
    if (st != LLAP_OK) return ll_fail_in(st, "%s", title_of(is).text);
    st = check_columns(s, is, log);
    if (st == LLAP_OK) st = check_entities(s, is, log);
    return st == LLAP_OK ? check_rows(s, is) : st;
}

/* ---- all of them ---- */

static void say(void *user, llap_log_level level, const char *message)
{
    const struct ll_scenario_log *s = user;
    ll_logf(s->to, level, "scenario '%s': %s", ll_text_show(s->name).text, message);
}

/* Where each entity is forecast from. */
static llap_status find_origins(ll_scenarios *s)
{
    const ll_model_frame *f = &s->m->frame;
    llap_forecast_opts    o = *s->o;
    ll_queries            q = { 0 };
    int64_t              *var = ll_new((size_t)f->n_targets, sizeof *var);
    o.log = NULL; /* the forecasts themselves say it */
    llap_status st = var == NULL ? LLAP_ENOMEM : ll_target_columns(s->m, s->p, var);
    if (st == LLAP_OK) st = ll_queries_init(&q, s->m, s->p, var, &o);
    if (st == LLAP_OK && q.several)
        st = ll_fail(LLAP_EOPTION, "scenario: every entity is forecast from one time: leave out "
                                   "`every`, and origins of `times`");
    for (int64_t e = 0; st == LLAP_OK && e < s->p->n_entities; e++) s->origin[e] = INT64_MAX;
    for (size_t i = 0; st == LLAP_OK && i < q.n; i++) s->origin[q.entity[i]] = q.origin[i];
    ll_queries_deinit(&q);
    ll_free(var);
    return st;
}

llap_status ll_scenarios_init(ll_scenarios *s, const llap_model *m, const llap_panel *p,
                              const llap_forecast_opts *o)
{
    *s = (ll_scenarios){ .m = m, .p = p, .o = o };
    assert(o->n_scenarios > 0);
    if (o->n_scenarios > LL_SCENARIOS_MAX)
        return ll_fail(LLAP_ELIMIT, "scenario: more than %d", LL_SCENARIOS_MAX);
    if (m->frame.n_known == 0)
        return ll_fail(LLAP_EINVAL,
                       "scenario: the model has no known inputs, which training is told of: "
                       "all scenarios would be alike");
    llap_status st = ll_check_axis(m, p);
    if (st != LLAP_OK) return st;
    s->origin = ll_new((size_t)p->n_entities, sizeof *s->origin);
    s->say = ll_new((size_t)o->n_scenarios, sizeof *s->say);
    if (s->origin == NULL || s->say == NULL) return LLAP_ENOMEM;
    for (int64_t k = 0; k < o->n_scenarios; k++) {
        struct ll_scenario_log *to = &s->say[k];
        to->name = o->scenarios[k].name;
        to->to = o->log;
        to->log = (llap_log){ .level = o->log == NULL ? LLAP_LOG_ERROR : o->log->level,
                              .sink = say,
                              .user = to };
    }
    st = find_origins(s);
    for (int64_t k = 0; st == LLAP_OK && k < o->n_scenarios; k++) st = check(s, k);
    return st;
}

void ll_scenarios_deinit(ll_scenarios *s)
{
    ll_free(s->origin);
    ll_free(s->say);
    *s = (ll_scenarios){ 0 };
}

const llap_log *ll_scenarios_log(const ll_scenarios *s, int64_t k)
{
    return s->o->log == NULL ? NULL : &s->say[k].log;
}

/* ---- the panel of one ---- */

typedef struct merging {
    const ll_scenarios *s;
    const llap_panel   *of;
    int64_t            *column; /* [n_vars of of] variable of the data; -1: not looked at */
    ll_panel_draft      d;
    int64_t             at;
} merging;

/* The next row of the panel: row own of the data with what row `other` of the scenario has; -1:
 * none. */
static void put_row(merging *g, int64_t own, int64_t other)
{
    const llap_panel *p = g->s->p;
    const int64_t     to = g->at++;
    g->d.time[to] = own >= 0 ? p->time[own] : g->of->time[other];
    for (int64_t v = 0; own >= 0 && v < p->n_vars; v++) {
        g->d.value[to * p->n_vars + v] = p->value[own * p->n_vars + v];
        if (ll_panel_observed(p, own, v)) ll_bit_set(g->d.observed, to * p->n_vars + v);
    }
    for (int64_t v = 0; other >= 0 && v < g->of->n_vars; v++) {
        if (g->column[v] < 0 || !ll_panel_observed(g->of, other, v)) continue;
        const int64_t cell = to * p->n_vars + g->column[v];
        g->d.value[cell] = g->of->value[other * g->of->n_vars + v];
        ll_bit_set(g->d.observed, cell);
    }
}

/* Rows of entity e in the data and in the scenario, in order of time; returns how many there are.
 */
static int64_t merge_rows(merging *g, int64_t e, bool put)
{
    const llap_panel *p = g->s->p;
    int64_t           r = p->start[e], other = 0, end = 0, n = 0;
    if (!later_rows(g->s, g->of, e, &other, &end)) other = end = 0;
    while (r < p->start[e + 1] || other < end) {
        const bool later = r == p->start[e + 1] || (other < end && g->of->time[other] < p->time[r]);
        const bool both = !later && other < end && g->of->time[other] == p->time[r];
        if (put) put_row(g, later ? -1 : r, later || both ? other : -1);
        r += !later;
        other += later || both;
        n++;
    }
    return n;
}

llap_status ll_scenarios_panel(const ll_scenarios *s, int64_t k, llap_panel **out)
{
    const llap_panel *p = s->p, *of = s->o->scenarios[k].known;
    merging           g = { .s = s, .of = of };
    int64_t          *start = ll_new((size_t)p->n_entities + 1, sizeof *start);
    g.column = ll_new((size_t)of->n_vars, sizeof *g.column);
    *out = NULL;
    llap_status st = start == NULL || g.column == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t v = 0; st == LLAP_OK && v < of->n_vars; v++) {
        g.column[v] = -1;
        for (int64_t c = 0; c < s->m->frame.n_known; c++)
            if (strcmp(of->var[v], s->m->frame.known[c]) == 0)
                g.column[v] = ll_panel_find_var(p, of->var[v]);
    }
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
        start[e + 1] = start[e] + merge_rows(&g, e, false);
    g.d = (ll_panel_draft){ .axis = p->axis,
                            .n_entities = p->n_entities,
                            .n_vars = p->n_vars,
                            .entity = p->entity,
                            .var = p->var,
                            .start = start };
    if (st == LLAP_OK) st = ll_panel_create(&g.d, out);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) merge_rows(&g, e, true);
    assert(st != LLAP_OK || g.at == (*out)->n_rows);
    ll_free(start);
    ll_free(g.column);
    return st;
}
