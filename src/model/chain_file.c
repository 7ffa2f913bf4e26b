/* The chain of an anchor in a model file, and the helpers of anchor_file.h. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/anchor_file.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { HOLIDAY_NUMBERS = sizeof(struct ll_holiday) / sizeof(double) };

void anchor_file_put_doubles(ll_json_writer *w, const char *key, const double *v, int64_t n)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, v[i]);
    ll_json_close(w, ']');
}

static bool has_knots(const ll_chain *c)
{
    return c->curve == LL_CURVE_TAILS || c->curve == LL_CURVE_LOGIT;
}

void anchor_file_put_chain(ll_json_writer *w, const ll_chain *c)
{
    if (isfinite(c->y_lo)) ll_json_put_double(w, "y_lo", c->y_lo); /* absent: no bound */
    if (isfinite(c->y_hi)) ll_json_put_double(w, "y_hi", c->y_hi);
    if (isfinite(c->y_min)) ll_json_put_double(w, "min", c->y_min);
    if (isfinite(c->y_max)) ll_json_put_double(w, "max", c->y_max);
    if (c->asinh) ll_json_put_double(w, "asinh_of_y", 1);
    if (c->log1p) ll_json_put_double(w, "log1p_of_y", 1);
    if (c->curve == LL_CURVE_CLIPPED) {
        ll_json_put_double(w, "z_clip", c->z_clip);
        ll_json_put_double(w, "z_lo", c->z_lo);
        ll_json_put_double(w, "z_hi", c->z_hi);
    } else {
        ll_json_put_string(w, "curve", ll_curve_name(c->curve));
        ll_json_put_double(w, "glitch_end", c->glitch_end);
    }
    anchor_file_put_kind(w, c);
    if (has_knots(c)) anchor_file_put_doubles(w, "knots", c->knot, 2);
    if (c->curve == LL_CURVE_LOG) ll_json_put_double(w, "y_0", c->y_0);
    ll_json_put_double(w, "lambda", c->lambda);
    ll_json_put_double(w, "g_m", c->g_m);
    ll_json_put_double(w, "g_s", c->g_s);
    ll_json_put_int(w, "climate_terms", c->n_climate);
    if (c->one_climate) ll_json_put_bool(w, "one_climate", true); /* absent: of each series */
    if (c->profile.daily > 0) {                                   /* absent: the few terms */
        ll_json_put_int(w, "daily", c->profile.daily);
        ll_json_put_int(w, "weekly", c->profile.weekly);
    }
    if (c->periods.n > 0) { /* absent: none */
        const double harmonics[LL_PERIODS_MAX] = { c->periods.harmonics[0], c->periods.harmonics[1],
                                                   c->periods.harmonics[2] };
        anchor_file_put_doubles(w, "periods", c->periods.span, c->periods.n);
        anchor_file_put_doubles(w, "harmonics", harmonics, c->periods.n);
    }
    if (c->holidays != NULL) ll_json_put_int(w, "holidays", (int64_t)c->holidays->n);
    ll_json_put_double(w, "r_s", c->r_s);
}

llap_status anchor_file_add_tensor(ll_tensors_writer *w, int64_t i, const char *of,
                                   const char *what, int rank, const int64_t *shape,
                                   const double *data)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%lld.%s", of, (long long)i, what);
    return ll_tensors_writer_add(w, name, LL_F64, rank, shape, data);
}

/* Tensors [n_series + 1] of a chain without walls. */
static const struct free_tensor {
    const char *name;
    size_t      at;   /* offset of the pointer in ll_chain */
    bool        logs; /* for the curves log and logit, and where static inputs tell the scale */
} free_tensors[] = { { "low", offsetof(ll_chain, low), false },
                     { "high", offsetof(ll_chain, high), false },
                     { "glitch", offsetof(ll_chain, glitch), false },
                     { "y_mean", offsetof(ll_chain, y_mu), true },
                     { "y_std", offsetof(ll_chain, y_sd), true } };
enum { FREE_TENSORS = sizeof free_tensors / sizeof *free_tensors };

static double **free_tensor(const struct free_tensor *f, ll_chain *c)
{
    return (double **)(void *)((char *)c + f->at);
}

llap_status anchor_file_save_chain(ll_tensors_writer *w, int64_t i, ll_chain *c)
{
    const int64_t shape[2] = { (int64_t)c->n_series + 1, c->n_climate };
    assert(c->mu != NULL && c->sd != NULL && (c->n_climate == 0 || c->climate != NULL));
    llap_status st = anchor_file_add_tensor(w, i, "scale", "mean", 1, shape, c->mu);
    if (st == LLAP_OK) st = anchor_file_add_tensor(w, i, "scale", "std", 1, shape, c->sd);
    for (size_t k = 0; st == LLAP_OK && k < FREE_TENSORS; k++) {
        const double *v = *free_tensor(&free_tensors[k], c);
        if (v != NULL)
            st = anchor_file_add_tensor(w, i, "scale", free_tensors[k].name, 1, shape, v);
    }
    const int64_t climates[2] = { c->one_climate ? 1 : shape[0], c->n_climate };
    if (st == LLAP_OK && c->n_climate > 0)
        st = anchor_file_add_tensor(w, i, "scale", "climate", 2, climates, c->climate);
    if (st == LLAP_OK && c->holidays != NULL)
        st = anchor_file_add_tensor(w, i, "scale", "holidays", 2,
                                    (const int64_t[]){ (int64_t)c->holidays->n, HOLIDAY_NUMBERS },
                                    &c->holidays->day->start);
    return st != LLAP_OK ? st : anchor_file_save_counts(w, i, c);
}

size_t anchor_file_chain_tensors(ll_chain *c)
{
    size_t n = 2;
    for (size_t k = 0; k < FREE_TENSORS; k++) n += *free_tensor(&free_tensors[k], c) != NULL;
    return n + (c->n_climate > 0) + (c->holidays != NULL) + (c->curve == LL_CURVE_COUNTS ? 2 : 0);
}

llap_status anchor_file_get_numbers(const ll_json *j, int64_t i, const anchor_number *numbers,
                                    size_t n)
{
    llap_status st = LLAP_OK;
    for (size_t k = 0; st == LLAP_OK && k < n; k++) {
        char path[96];
        snprintf(path, sizeof path, "anchors[%lld].%s", (long long)i, numbers[k].key);
        if (!numbers[k].optional) st = ll_json_need(j, path);
        if (st == LLAP_OK)
            st = ll_json_double(j, path, numbers[k].min, numbers[k].max, numbers[k].v);
    }
    return st;
}

anchor_input_path anchor_file_input_path(int64_t i, const char *group, int32_t n, const char *name)
{
    anchor_input_path p;
    snprintf(p.key, sizeof p.key, "%s.inputs[%d].%s", group, (int)n, name);
    snprintf(p.text, sizeof p.text, "anchors[%lld].%s", (long long)i, p.key);
    return p;
}

llap_status anchor_file_get_array(const ll_json *j, int64_t i, const char *key, double min,
                                  double max, size_t n, double *out)
{
    char    path[96];
    double *v = NULL;
    size_t  found = 0;
    snprintf(path, sizeof path, "anchors[%lld].%s", (long long)i, key);
    llap_status st = ll_json_doubles(j, path, min, max, &v, &found);
    if (st == LLAP_OK && found != n)
        st = ll_fail(LLAP_EFORMAT, "config: '%s': expected %zu numbers, found %zu", path, n, found);
    if (st == LLAP_OK) memcpy(out, v, n * sizeof *out);
    ll_free(v);
    return st;
}

/* A tensor of finite numbers, copied; caller owns *out. */
llap_status anchor_file_get_tensor(const ll_tensors *t, int64_t i, const char *of, const char *what,
                                   int rank, const int64_t *shape, double **out)
{
    char           name[64];
    ll_tensor_info info;
    snprintf(name, sizeof name, "%s.%lld.%s", of, (long long)i, what);
    llap_status st = ll_tensors_require(t, name, LL_F64, rank, shape, &info);
    if (st != LLAP_OK) return st;
    const double *v = info.data;
    for (int64_t k = 0; k < info.n_elements; k++)
        if (!isfinite(v[k]))
            return ll_fail(LLAP_EFORMAT, "%s: element %lld is not a finite number", name,
                           (long long)k);
    *out = ll_new((size_t)info.n_elements, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    memcpy(*out, v, info.n_bytes);
    return LLAP_OK;
}

/* Whether scores have a unit of their own. */
static bool has_unit(const ll_tensors *t, int64_t i)
{
    char           name[64];
    ll_tensor_info info;
    snprintf(name, sizeof name, "scale.%lld.y_mean", (long long)i);
    return ll_tensors_find(t, name, &info);
}

/* What a chain without walls has in the place of its bounds. */
static llap_status get_free(const ll_tensors *t, const ll_json *j, int64_t i, const int64_t *shape,
                            ll_chain *c)
{
    const anchor_number ends[] = { { "glitch_end", 1, HUGE_VAL, &c->glitch_end, false } };
    const anchor_number logs[] = { { "y_0", DBL_MIN, HUGE_VAL, &c->y_0, false } };
    const bool  bent = c->curve == LL_CURVE_LOG || c->curve == LL_CURVE_LOGIT || has_unit(t, i);
    llap_status st = anchor_file_get_numbers(j, i, ends, 1);
    if (st == LLAP_OK) st = anchor_file_get_kind(t, j, i, shape, c);
    if (st == LLAP_OK && c->curve == LL_CURVE_LOG) st = anchor_file_get_numbers(j, i, logs, 1);
    if (st == LLAP_OK && has_knots(c))
        st = anchor_file_get_array(j, i, "knots", -1e3, 1e3, 2, c->knot);
    if (st == LLAP_OK && has_knots(c) && !(c->knot[0] <= c->knot[1]))
        st = ll_fail(LLAP_EFORMAT, "config: anchors[%lld].knots: expected %g <= %g", (long long)i,
                     c->knot[0], c->knot[1]);
    for (size_t k = 0; st == LLAP_OK && k < FREE_TENSORS; k++)
        if (!free_tensors[k].logs || bent)
            st = anchor_file_get_tensor(t, i, "scale", free_tensors[k].name, 1, shape,
                                        free_tensor(&free_tensors[k], c));
    for (int64_t e = 0; st == LLAP_OK && e < shape[0]; e++)
        if (!(c->low[e] <= c->high[e]) || !(c->glitch[e] >= 0) || (bent && !(c->y_sd[e] > 0)))
            st = ll_fail(LLAP_EFORMAT, "scale.%lld: element %lld: low %g, high %g, glitch %g%s",
                         (long long)i, (long long)e, c->low[e], c->high[e], c->glitch[e],
                         bent ? ", or y_std is not positive" : "");
    return st;
}

/* The harmonics of a profile, which must be as many as there are terms. */
static llap_status get_profile(const ll_json *j, int64_t i, int32_t terms, ll_weekly *out)
{
    char    path[2][96];
    int64_t daily = 2, weekly = 1;
    snprintf(path[0], sizeof path[0], "anchors[%lld].daily", (long long)i);
    snprintf(path[1], sizeof path[1], "anchors[%lld].weekly", (long long)i);
    if (!ll_json_has(j, path[0])) return LLAP_OK;
    llap_status st = ll_json_int(j, path[0], 2, 12, &daily);
    if (st == LLAP_OK) st = ll_json_need(j, path[1]);
    if (st == LLAP_OK) st = ll_json_int(j, path[1], 1, 84, &weekly);
    *out = (ll_weekly){ .daily = (int32_t)daily, .weekly = (int32_t)weekly };
    if (st == LLAP_OK && ll_weekly_count(*out) != terms) out->annual = true;
    if (st == LLAP_OK && ll_weekly_count(*out) != terms)
        st = ll_fail(LLAP_EFORMAT,
                     "config: anchors[%lld]: %d climate terms are not those of %lld daily and "
                     "%lld weekly harmonics",
                     (long long)i, (int)terms, (long long)daily, (long long)weekly);
    return st;
}

/* Periods and their harmonics, which must be as many as there are terms. */
static llap_status get_periods(const ll_json *j, int64_t i, int32_t terms, ll_periods *out)
{
    char   path[96];
    double harmonics[LL_PERIODS_MAX];
    snprintf(path, sizeof path, "anchors[%lld].periods", (long long)i);
    if (!ll_json_has(j, path)) return LLAP_OK;
    const size_t n = ll_json_length(j, path);
    if (n < 1 || n > LL_PERIODS_MAX)
        return ll_fail(LLAP_EFORMAT, "config: '%s': expected 1 to %d of them, found %zu", path,
                       LL_PERIODS_MAX, n);
    llap_status st = anchor_file_get_array(j, i, "periods", 1e-12, 1e12, n, out->span);
    if (st == LLAP_OK)
        st = anchor_file_get_array(j, i, "harmonics", 1, LL_PERIOD_HARMONICS, n, harmonics);
    for (size_t k = 0; st == LLAP_OK && k < n; k++) {
        out->harmonics[k] = (int32_t)harmonics[k];
        if (harmonics[k] != (double)out->harmonics[k])
            st = ll_fail(LLAP_EFORMAT, "config: anchors[%lld].harmonics: %g is no whole number",
                         (long long)i, harmonics[k]);
    }
    out->n = (int32_t)n;
    if (st == LLAP_OK && ll_periods_count(out) != terms)
        st = ll_fail(LLAP_EFORMAT,
                     "config: anchors[%lld]: %d climate terms are not those of its periods' "
                     "harmonics",
                     (long long)i, (int)terms);
    return st;
}

/* The list of holidays, empty until its tensor is read, and how many of the terms are others. */
static llap_status get_holidays(const ll_json *j, int64_t i, ll_chain *c, int64_t *terms)
{
    char    path[96];
    int64_t n = 0;
    snprintf(path, sizeof path, "anchors[%lld].holidays", (long long)i);
    if (!ll_json_has(j, path)) return LLAP_OK;
    const llap_status st = ll_json_int(j, path, 1, LL_HOLIDAY_MOST, &n);
    if (st != LLAP_OK) return st;
    if (*terms < LL_HOLIDAY_TERMS)
        return ll_fail(LLAP_EFORMAT, "config: anchors[%lld]: holidays in %lld climate terms",
                       (long long)i, (long long)*terms);
    *terms -= LL_HOLIDAY_TERMS;
    return ll_holidays_create((size_t)n, &c->holidays);
}

static llap_status get_holiday_days(const ll_tensors *t, int64_t i, ll_holiday_list *h)
{
    double       *numbers = NULL;
    const int64_t shape[2] = { (int64_t)h->n, HOLIDAY_NUMBERS };
    llap_status   st = anchor_file_get_tensor(t, i, "scale", "holidays", 2, shape, &numbers);
    if (st == LLAP_OK) memcpy(h->day, numbers, h->n * sizeof *h->day);
    if (st == LLAP_OK && ll_holidays_check(h) != LLAP_OK)
        st = ll_fail_in(LLAP_EFORMAT, "scale.%lld.holidays", (long long)i);
    ll_free(numbers);
    return st;
}

/* Everything but the tensors. */
static llap_status get_chain_numbers(const ll_json *j, int64_t i, ll_chain *c)
{
    double asinh_used = 0, log1p_used = 0;
    c->y_lo = c->y_min = -HUGE_VAL;
    c->y_hi = c->y_max = HUGE_VAL;
    const anchor_number numbers[] = {
        { "y_lo", -HUGE_VAL, HUGE_VAL, &c->y_lo, true },
        { "y_hi", -HUGE_VAL, HUGE_VAL, &c->y_hi, true },
        { "min", -HUGE_VAL, HUGE_VAL, &c->y_min, true },
        { "max", -HUGE_VAL, HUGE_VAL, &c->y_max, true },
        { "asinh_of_y", 0, 1, &asinh_used, true },
        { "log1p_of_y", 0, 1, &log1p_used, true },
        { "lambda", -10, 10, &c->lambda, false },
        { "g_m", -HUGE_VAL, HUGE_VAL, &c->g_m, false },
        { "g_s", 1e-300, HUGE_VAL, &c->g_s, false },
        { "r_s", 1e-300, HUGE_VAL, &c->r_s, false },
    };
    const anchor_number walls[] = {
        { "z_clip", 1e-9, HUGE_VAL, &c->z_clip, false },
        { "z_lo", -HUGE_VAL, HUGE_VAL, &c->z_lo, false },
        { "z_hi", -HUGE_VAL, HUGE_VAL, &c->z_hi, false },
    };
    char    path[96];
    int64_t terms = -1;
    int     curve = LL_CURVE_CLIPPED; /* what older files have */
    c->z_clip = HUGE_VAL;
    snprintf(path, sizeof path, "anchors[%lld].curve", (long long)i);
    llap_status st = ll_json_enum(j, path, ll_curve_names, &curve);
    c->curve = (ll_curve)curve;
    snprintf(path, sizeof path, "anchors[%lld].climate_terms", (long long)i);
    if (st == LLAP_OK)
        st = anchor_file_get_numbers(j, i, numbers, sizeof numbers / sizeof *numbers);
    if (st == LLAP_OK && c->curve == LL_CURVE_CLIPPED)
        st = anchor_file_get_numbers(j, i, walls, sizeof walls / sizeof *walls);
    c->asinh = asinh_used != 0;
    c->log1p = log1p_used != 0;
    if (st == LLAP_OK && !(c->y_lo <= c->y_hi && c->z_lo <= c->z_hi && c->y_min <= c->y_max))
        st = ll_fail(LLAP_EFORMAT,
                     "config: anchors[%lld]: bounds y_lo, y_hi, z_lo, z_hi or min, max cross",
                     (long long)i);
    if (st == LLAP_OK) st = ll_json_int(j, path, 0, LL_CLIMATE_ROOM, &terms);
    c->n_climate = (int32_t)terms;
    snprintf(path, sizeof path, "anchors[%lld].one_climate", (long long)i);
    if (st == LLAP_OK && ll_json_has(j, path)) st = ll_json_bool(j, path, &c->one_climate);
    snprintf(path, sizeof path, "anchors[%lld].climate_terms", (long long)i);
    if (st == LLAP_OK) st = get_holidays(j, i, c, &terms);
    if (st == LLAP_OK) st = get_profile(j, i, (int32_t)terms, &c->profile);
    if (st == LLAP_OK && c->profile.daily == 0) st = get_periods(j, i, (int32_t)terms, &c->periods);
    if (st == LLAP_OK && c->profile.daily == 0 && c->periods.n == 0 && terms != 0 && terms != 11 &&
        terms != LL_CLIMATE_MAX)
        st = ll_fail(LLAP_EFORMAT, "config: '%s': expected 0, 11 or %d, found %lld", path,
                     LL_CLIMATE_MAX, (long long)terms);
    if (st == LLAP_OK && c->holidays != NULL && terms == 0)
        st = ll_fail(LLAP_EFORMAT, "config: '%s': holidays without a climate", path);
    return st;
}

llap_status anchor_file_get_chain(const ll_tensors *t, const ll_json *j, int64_t i,
                                  int64_t n_entities, ll_chain **out)
{
    ll_chain *c = ll_new(1, sizeof *c);
    if (c == NULL) return LLAP_ENOMEM;
    c->n_series = (size_t)n_entities;
    llap_status   st = get_chain_numbers(j, i, c);
    const int64_t shape[2] = { n_entities + 1, c->n_climate };
    const int64_t climates[2] = { c->one_climate ? 1 : shape[0], c->n_climate };
    if (st == LLAP_OK) st = anchor_file_get_tensor(t, i, "scale", "mean", 1, shape, &c->mu);
    if (st == LLAP_OK) st = anchor_file_get_tensor(t, i, "scale", "std", 1, shape, &c->sd);
    if (st == LLAP_OK && c->n_climate > 0)
        st = anchor_file_get_tensor(t, i, "scale", "climate", 2, climates, &c->climate);
    if (st == LLAP_OK && c->holidays != NULL) st = get_holiday_days(t, i, c->holidays);
    if (st == LLAP_OK && c->curve != LL_CURVE_CLIPPED) st = get_free(t, j, i, shape, c);
    for (int64_t k = 0; st == LLAP_OK && k <= n_entities; k++)
        if (!(c->sd[k] > 0))
            st = ll_fail(LLAP_EFORMAT, "scale.%lld.std: element %lld is not positive", (long long)i,
                         (long long)k);
    if (st == LLAP_OK) *out = c;
    else ll_chain_destroy(c);
    return st;
}
