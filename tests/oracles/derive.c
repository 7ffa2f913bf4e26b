#include "oracles/derive.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/time/civil.h"

static const double TWO_PI = 6.283185307179586476925286766559;

/* Where a derived variable finds what it is made of; -1: nothing. */
typedef struct source {
    int64_t a, b;
} source;

static llap_status find_sources(const llap_panel *p, const ll_derived *list, int64_t n, source *s)
{
    for (int64_t i = 0; i < n; i++) {
        const char *name[2] = { list[i].a, list[i].b };
        int64_t     at[2] = { -1, -1 };
        for (int k = 0; k < 2; k++) {
            if (name[k] == NULL) continue;
            at[k] = ll_panel_find_var(p, name[k]);
            if (at[k] < 0)
                return ll_fail(LLAP_EINVAL, "%s: the panel has no variable '%s'", list[i].name,
                               name[k]);
        }
        s[i] = (source){ .a = at[0], .b = at[1] };
    }
    return LLAP_OK;
}

/* An observed value, else NaN: carried values are not measured again. */
static double cell(const llap_panel *p, int64_t row, int64_t var)
{
    return ll_panel_observed(p, row, var) ? (double)p->value[row * p->n_vars + var] : NAN;
}

static double log_ratio(double x, double y) { return x > 0 && y > 0 ? log(x / y) : NAN; }

static double calendar(ll_derive_op op, int64_t time, bool cosine)
{
    const ll_civil c = ll_civil_at(time, NULL);
    const double   turn = op == LL_DERIVE_WEEKDAY ? c.weekday / 7.0
                          : op == LL_DERIVE_MONTH
                              ? (c.month - 1) / 12.0
                              : (c.day - 1) / (double)ll_days_in_month(c.year, c.month);
    return cosine ? cos(TWO_PI * turn) : sin(TWO_PI * turn);
}

/* One value; mean is the running mean of the volatility, NaN at the start of an entity. */
static double derive_cell(const llap_panel *p, const ll_derived *d, source s, int64_t row,
                          bool first, double *mean)
{
    switch (d->op) {
    case LL_DERIVE_COPY:
        return cell(p, row, s.a);
    case LL_DERIVE_LOG_RATIO:
        return log_ratio(cell(p, row, s.a), cell(p, row, s.b));
    case LL_DERIVE_LOG_CHANGE:
        return first ? NAN : log_ratio(cell(p, row, s.a), cell(p, row - 1, s.b));
    case LL_DERIVE_VOLATILITY: {
        const double change = first ? NAN : log_ratio(cell(p, row, s.a), cell(p, row - 1, s.a));
        const double alpha = 2 / (d->span + 1);
        if (isnan(change)) return NAN;
        *mean = isnan(*mean) ? change * change : (1 - alpha) * *mean + alpha * change * change;
        return sqrt(*mean);
    }
    case LL_DERIVE_WEEKDAY:
    case LL_DERIVE_MONTHDAY:
    case LL_DERIVE_MONTH:
        return calendar(d->op, p->time[row], d->cosine);
    }
    return NAN;
}

static void derive_column(const llap_panel *p, const ll_derived *d, source s, int64_t column,
                          const ll_panel_draft *to)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        double mean = NAN;
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            const float x = (float)derive_cell(p, d, s, r, r == p->start[e], &mean);
            if (!isfinite(x)) continue;
            to->value[r * to->n_vars + column] = x;
            ll_bit_set(to->observed, r * to->n_vars + column);
        }
    }
}

llap_status ll_derive(const llap_panel *p, const ll_derived *list, int64_t n, llap_panel **out)
{
    *out = NULL;
    const char **name = ll_new((size_t)n, sizeof *name);
    source      *s = ll_new((size_t)n, sizeof *s);
    llap_status  st = name == NULL || s == NULL ? LLAP_ENOMEM : find_sources(p, list, n, s);
    if (st == LLAP_OK) {
        for (int64_t i = 0; i < n; i++) name[i] = list[i].name;
        ll_panel_draft d = ll_panel_draft_of(p);
        d.n_vars = n;
        d.var = name;
        st = ll_panel_create(&d, out);
        for (int64_t r = 0; st == LLAP_OK && r < p->n_rows; r++) d.time[r] = p->time[r];
        for (int64_t i = 0; st == LLAP_OK && i < n; i++) derive_column(p, &list[i], s[i], i, &d);
    }
    ll_free(name);
    ll_free(s);
    return st;
}
