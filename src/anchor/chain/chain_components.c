#include "anchor/chain/chain_components.h"

#include "anchor/chain/chain_climate.h"
#include "anchor/chain/chain_kinds.h"

#include <assert.h>

static double dot(const double *coef, const double *term, int32_t from, int32_t to)
{
    double sum = 0.0;
    for (int32_t i = from; i < to; i++) sum += coef[i] * term[i];
    return sum;
}

/* Terms of the few: 1, 6 of the day, 4 of the week, 4 of the year, 8 of the day by the year. A
 * profile has them in the same order, more of day and week. */
static void calendar(const ll_chain *c, const double *coef, double t, ll_chain_components *out)
{
    double        term[LL_CLIMATE_ROOM];
    const int32_t n = ll_chain_usual_terms(c);
    const bool    many = c->profile.daily > 0;
    const int32_t day = many ? 1 + 2 * c->profile.daily : 7;
    const int32_t week = many ? day + 2 * (c->profile.weekly - c->profile.weekly / 7) : 11;
    if (many) ll_weekly_terms(c->profile, t, term);
    else ll_climate_terms(t, n, term);
    out->daily = dot(coef, term, 1, day);
    out->weekly = dot(coef, term, day, week);
    if (n == week) return;
    assert(n == week + 12);
    out->annual = dot(coef, term, week, week + 4);
    out->daily += dot(coef, term, week + 4, n);
}

static void periods(const ll_chain *c, const double *coef, double t, ll_chain_components *out)
{
    double  term[LL_CLIMATE_ROOM];
    int32_t at = 1;
    ll_periods_terms(&c->periods, t, term);
    for (int32_t i = 0; i < c->periods.n; i++) {
        const int32_t next = at + 2 * c->periods.harmonics[i];
        out->period[i] = dot(coef, term, at, next);
        at = next;
    }
    assert(at == ll_chain_usual_terms(c));
}

static void inputs(const ll_known *k, const ll_inputs *in, double t, ll_chain_components *out)
{
    if (k->constant) out->level += k->beta[0];
    for (int32_t i = 0; i < k->n; i++) {
        double       flat;
        const double middle = ll_known_at_mean(k, i, t, &flat);
        assert(k->input[i].column < LL_KNOWN_COLUMNS);
        out->level += flat;
        out->daily += middle - flat;
        out->input[k->input[i].column] += ll_known_effect(k, in, t, i) - middle;
    }
}

void ll_chain_components_at(const ll_chain *c, size_t e, const ll_inputs *in, double t,
                            ll_chain_components *out)
{
    *out = (ll_chain_components){ 0 };
    assert(c->curve != LL_CURVE_COUNTS);
    if (c->n_climate > 0) {
        const double *coef = ll_chain_coefficients(c, e);
        double        usual, shift;
        out->level = coef[0];
        if (c->periods.n > 0) periods(c, coef, t, out);
        else calendar(c, coef, t, out);
        usual = out->level + out->daily + out->weekly + out->annual;
        for (int32_t i = 0; i < c->periods.n; i++) usual += out->period[i];
        if (c->holidays != NULL && ll_holiday_at(c->holidays, t, &shift))
            out->holidays = ll_chain_climate(c, e, t) - usual;
    }
    if (c->known != NULL) inputs(c->known, in, t, out);
}

void ll_chain_count_components(const ll_chain *c, size_t e, double t, double *level, double *week)
{
    *level = c->rate[ll_chain_row(c, e)];
    *week = chain_count_mean(c, e, t) - *level;
}
