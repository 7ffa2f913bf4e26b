/* What the kind of an anchor's values has in a model file: its name, the edges of logits, the
 * origin of logarithms, the law of counts. */
#include "anchor/chain/negbin.h"
#include "base/error.h"
#include "model/anchor_file.h"

#include <math.h>
#include <stdio.h>

void anchor_file_put_kind(ll_json_writer *w, const ll_chain *c)
{
    if (c->kind != LL_KIND_ANY) ll_json_put_string(w, "kind", ll_kind_names[c->kind]);
    if (c->origin != 0.0) ll_json_put_double(w, "origin", c->origin);
    if (c->curve == LL_CURVE_LOGIT) {
        ll_json_put_double(w, "edge", c->edge);
        anchor_file_put_doubles(w, "ends", c->end, 2);
    }
    if (c->curve == LL_CURVE_COUNTS) ll_json_put_double(w, "dispersion", c->dispersion);
}

llap_status anchor_file_save_counts(ll_tensors_writer *w, int64_t i, const ll_chain *c)
{
    const int64_t rates = (int64_t)c->n_series + 1, parts = c->n_week;
    if (c->curve != LL_CURVE_COUNTS) return LLAP_OK;
    const llap_status st = anchor_file_add_tensor(w, i, "scale", "rate", 1, &rates, c->rate);
    return st != LLAP_OK ? st : anchor_file_add_tensor(w, i, "scale", "week", 1, &parts, c->week);
}

static llap_status check_positive(int64_t i, const char *what, const double *v, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (!(v[k] > 0 && v[k] <= LL_NEGBIN_MEAN_MOST))
            return ll_fail(LLAP_EFORMAT, "scale.%lld.%s: element %lld: expected above 0, found %g",
                           (long long)i, what, (long long)k, v[k]);
    return LLAP_OK;
}

/* The parts of a week are as many as the tensor has, one of three numbers. */
static llap_status get_counts(const ll_tensors *t, const ll_json *j, int64_t i,
                              const int64_t *shape, ll_chain *c)
{
    const anchor_number  numbers[] = { { "dispersion", LL_NEGBIN_R_LEAST, LL_NEGBIN_R_MOST,
                                         &c->dispersion, false } };
    static const int32_t parts[] = { 1, 7, 168 };
    ll_tensor_info       info;
    char                 name[64];
    llap_status          st = anchor_file_get_numbers(j, i, numbers, 1);
    if (st == LLAP_OK) st = anchor_file_get_tensor(t, i, "scale", "rate", 1, shape, &c->rate);
    if (st == LLAP_OK) st = check_positive(i, "rate", c->rate, shape[0]);
    snprintf(name, sizeof name, "scale.%lld.week", (long long)i);
    c->n_week = 1;
    if (st == LLAP_OK && ll_tensors_find(t, name, &info))
        for (int k = 0; k < 3; k++)
            if (info.n_elements == parts[k]) c->n_week = parts[k];
    const int64_t week = c->n_week;
    if (st == LLAP_OK) st = anchor_file_get_tensor(t, i, "scale", "week", 1, &week, &c->week);
    return st != LLAP_OK ? st : check_positive(i, "week", c->week, week);
}

static llap_status get_logit(const ll_json *j, int64_t i, ll_chain *c)
{
    const anchor_number numbers[] = { { "edge", 1e-12, .5, &c->edge, false } };
    llap_status         st = anchor_file_get_numbers(j, i, numbers, 1);
    if (st == LLAP_OK) st = anchor_file_get_array(j, i, "ends", 0, 1, 2, c->end);
    if (st == LLAP_OK && !(c->end[0] < c->end[1]))
        st = ll_fail(LLAP_EFORMAT, "config: anchors[%lld].ends: expected %g < %g", (long long)i,
                     c->end[0], c->end[1]);
    if (st == LLAP_OK && !(isfinite(c->y_min) && isfinite(c->y_max) && c->y_min < c->y_max))
        st = ll_fail(LLAP_EFORMAT, "config: anchors[%lld]: the curve logit needs min < max",
                     (long long)i);
    return st;
}

llap_status anchor_file_get_kind(const ll_tensors *t, const ll_json *j, int64_t i,
                                 const int64_t *shape, ll_chain *c)
{
    const anchor_number numbers[] = { { "origin", -HUGE_VAL, HUGE_VAL, &c->origin, true } };
    char                path[96];
    int                 kind = LL_KIND_ANY;
    snprintf(path, sizeof path, "anchors[%lld].kind", (long long)i);
    llap_status st = ll_json_enum(j, path, ll_kind_names, &kind);
    c->kind = (ll_kind)kind;
    if (st == LLAP_OK) st = anchor_file_get_numbers(j, i, numbers, 1);
    if (st == LLAP_OK && c->curve == LL_CURVE_LOGIT) st = get_logit(j, i, c);
    if (st == LLAP_OK && c->curve == LL_CURVE_COUNTS) st = get_counts(t, j, i, shape, c);
    return st;
}
