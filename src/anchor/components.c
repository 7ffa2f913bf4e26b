#include "anchor/components.h"

#include "anchor/chain/chain_components.h"
#include "anchor/window.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

const char *const ll_component_scale_names[] = { "data",  "log",         "log1p", "asinh",
                                                 "logit", "yeo-johnson", NULL };

static const double DAY = 24.0, WEEK = 168.0, YEAR = 8766.0;

static ll_component_scale scale_of(const ll_chain *c)
{
    if (c->curve == LL_CURVE_COUNTS) return LL_SCALE_DATA;
    if (c->curve == LL_CURVE_LOG) return LL_SCALE_LOG;
    if (c->log1p) return LL_SCALE_LOG1P;
    if (c->asinh) return LL_SCALE_ASINH;
    if (c->curve == LL_CURVE_LOGIT) return LL_SCALE_LOGIT;
    return c->lambda == 1.0 ? LL_SCALE_DATA : LL_SCALE_YEO_JOHNSON;
}

/* ---- which there are ---- */

static int32_t find(const ll_component_list *l, ll_component_kind kind, int32_t of)
{
    for (int32_t i = 0; i < l->n; i++)
        if (l->is[i].kind == kind && l->is[i].of == of) return i;
    return -1;
}

static void add(ll_component_list *l, ll_component_kind kind, int32_t of)
{
    assert(l->n < LL_COMPONENTS_MAX);
    l->is[l->n++] = (ll_component){ kind, of };
}

/* Whether a cycle goes an even number of times into a span, up to most. */
static bool divides(double period, double span, double most)
{
    const double times = span / period, even = round(times);
    return even >= 1.0 && even <= most && fabs(times - even) < 0.02 * even;
}

/* Where a cycle of that period belongs. */
static ll_component cycle_of(const ll_chain *c, bool hours, double period)
{
    for (int32_t i = 0; i < c->periods.n; i++)
        if (divides(period, c->periods.span[i], LL_PERIOD_HARMONICS))
            return (ll_component){ LL_COMPONENT_PERIOD, i };
    if (hours && divides(period, DAY, 12)) return (ll_component){ LL_COMPONENT_DAILY, 0 };
    if (hours && divides(period, WEEK, 6)) return (ll_component){ LL_COMPONENT_WEEKLY, 0 };
    if (hours && divides(period, YEAR, 2)) return (ll_component){ LL_COMPONENT_ANNUAL, 0 };
    return (ll_component){ LL_COMPONENT_CYCLES, 0 };
}

static ll_component term_of(const ll_anchor_model *m, bool hours, int32_t i)
{
    const double omega = m->kernel.omega[i];
    if (omega == 0.0) return (ll_component){ LL_COMPONENT_REST, 0 };
    return cycle_of(m->chain, hours, 6.283185307179586476925286766559 / omega);
}

static bool has_input(const ll_known *k, int32_t column)
{
    for (int32_t i = 0; k != NULL && i < k->n; i++)
        if (k->input[i].column == column) return true;
    return false;
}

static void list_counts(ll_component_list *l, const ll_chain *c)
{
    add(l, LL_COMPONENT_LEVEL, 0);
    if (c->n_week > 1) add(l, LL_COMPONENT_WEEKLY, 0);
    add(l, LL_COMPONENT_REST, 0);
}

void ll_component_list_init(ll_component_list *l, const ll_anchor_model *m, bool hours)
{
    const ll_chain *c = m->chain;
    const bool      calendar = c->n_climate > 0 && c->periods.n == 0;
    const int32_t   usual = ll_chain_usual_terms(c);
    bool            has[LL_COMPONENT_REST + 1] = { false };
    *l = (ll_component_list){ .scale = scale_of(c) };
    if (c->curve == LL_CURVE_COUNTS) {
        list_counts(l, c);
        return;
    }
    for (int32_t i = 0; i < m->kernel.n_terms; i++) has[term_of(m, hours, i).kind] = true;
    add(l, LL_COMPONENT_LEVEL, 0);
    if (calendar || has[LL_COMPONENT_DAILY] || (c->known != NULL && c->known->daily))
        add(l, LL_COMPONENT_DAILY, 0);
    if (calendar || has[LL_COMPONENT_WEEKLY]) add(l, LL_COMPONENT_WEEKLY, 0);
    if ((calendar && (c->profile.daily > 0 ? c->profile.annual : usual == LL_CLIMATE_MAX)) ||
        has[LL_COMPONENT_ANNUAL])
        add(l, LL_COMPONENT_ANNUAL, 0);
    for (int32_t i = 0; i < c->periods.n; i++) add(l, LL_COMPONENT_PERIOD, i);
    if (has[LL_COMPONENT_CYCLES]) add(l, LL_COMPONENT_CYCLES, 0);
    if (usual < c->n_climate) add(l, LL_COMPONENT_HOLIDAYS, 0);
    for (int32_t i = 0; c->known != NULL && i < c->known->n_columns; i++)
        if (has_input(c->known, i)) add(l, LL_COMPONENT_INPUT, i);
    if (m->link.rank > 0) add(l, LL_COMPONENT_OTHERS, 0);
    add(l, LL_COMPONENT_REST, 0);
    for (int32_t i = 0; i < m->kernel.n_terms; i++) {
        const ll_component t = term_of(m, hours, i);
        l->place[i] = find(l, t.kind, t.of);
        assert(l->place[i] >= 0);
    }
}

/* ---- what they are ---- */

/* The scale is from + by U, U what the climate is taken off. */
typedef struct line {
    double from, by;
} line;

static line line_of(const ll_chain *c, size_t e)
{
    e = ll_chain_row(c, e);
    if (c->log1p || c->asinh) return (line){ c->g_m, c->g_s };
    return (line){ c->mu[e] + c->sd[e] * c->g_m, c->sd[e] * c->g_s };
}

double ll_component_of(const ll_anchor_model *m, const ll_component_list *l, size_t series,
                       double y)
{
    const ll_chain *c = m->chain;
    const line      at = line_of(c, series);
    if (isnan(y) || c->curve == LL_CURVE_COUNTS || l->scale == LL_SCALE_DATA) return y;
    return at.from + at.by * c->r_s * ll_chain_u_given(c, series, 0.0, ll_chain_z(c, series, y));
}

static double chain_component(const ll_chain_components *c, ll_component is)
{
    switch (is.kind) {
    case LL_COMPONENT_LEVEL:
        return c->level;
    case LL_COMPONENT_DAILY:
        return c->daily;
    case LL_COMPONENT_WEEKLY:
        return c->weekly;
    case LL_COMPONENT_ANNUAL:
        return c->annual;
    case LL_COMPONENT_PERIOD:
        return c->period[is.of];
    case LL_COMPONENT_HOLIDAYS:
        return c->holidays;
    case LL_COMPONENT_INPUT:
        return c->input[is.of];
    default:
        return 0.0;
    }
}

/* One query. term [n_terms + 1], level: as anchor_forecast_terms has them, in u. */
static void split(const ll_anchor_model *m, const ll_anchor_request *r, const ll_component_list *l,
                  size_t q, const double *term, double level, double others, double *value)
{
    const ll_chain     *c = m->chain;
    const line          at = line_of(c, r->series);
    ll_chain_components known;
    ll_chain_components_at(c, r->series, r->history.in, r->t_query[q], &known);
    for (int32_t i = 0; i < l->n; i++) value[i] = chain_component(&known, l->is[i]);
    for (int32_t i = 0; i < m->kernel.n_terms; i++) value[l->place[i]] += c->r_s * term[i];
    value[0] += c->r_s * (level + term[m->kernel.n_terms]);
    if (l->n > 1 && l->is[l->n - 2].kind == LL_COMPONENT_OTHERS) value[l->n - 2] += c->r_s * others;
    assert(l->is[0].kind == LL_COMPONENT_LEVEL && l->is[l->n - 1].kind == LL_COMPONENT_REST);
    for (int32_t i = 0; i < l->n; i++) value[i] *= at.by;
    value[0] += at.from;
}

/* Of counts: the mean of the law is made of what is usual, and what the last readings change. */
static void split_count(const ll_anchor_model *m, const ll_law *law, const ll_component_list *l,
                        double t, double mean, double *value)
{
    double week;
    ll_chain_count_components(m->chain, law->series, t, &value[0], &week);
    if (l->n == 3) value[1] = week;
    value[l->n - 1] = mean - value[0] - week;
}

llap_status ll_anchor_components(const ll_anchor_model *m, const ll_anchor_request *r,
                                 const ll_law *ahead, size_t n_ahead, const ll_component_list *l,
                                 ll_law_mean mean, const void *user, double *sum, double *value)
{
    const size_t width = (size_t)(m->kernel.n_terms + 1);
    double      *term = ll_new(r->n_query * width, sizeof *term), level;
    assert(n_ahead <= r->n_query);
    llap_status st = term == NULL ? LLAP_ENOMEM : anchor_forecast_terms(m, r, term, &level);
    for (size_t q = 0; st == LLAP_OK && q < r->n_query; q++) {
        const bool      known = q + n_ahead >= r->n_query;
        const ll_law   *law = known ? &ahead[q + n_ahead - r->n_query] : &r->law[q];
        const ll_chain *c = m->chain;
        double         *to = value + q * (size_t)l->n;
        if (c->curve == LL_CURVE_COUNTS) {
            sum[q] = mean(user, m, law);
            split_count(m, law, l, r->t_query[q], sum[q], to);
            continue;
        }
        const line at = line_of(c, r->series);
        sum[q] = at.from + at.by * (c->r_s * law->mean + law->climate);
        split(m, r, l, q, term + q * width, level, law->mean - r->law[q].mean, to);
    }
    ll_free(term);
    return st;
}
