/* The known inputs of an anchor in a model file. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/anchor_file.h"

#include <math.h>
#include <stdio.h>

static const char *const kind_names[] = { "number", "flag", NULL };
static const char *const weighting_names[] = { "plain", "whitened", NULL };

static void put_input(ll_json_writer *w, const ll_known_input *in)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_int(w, "column", in->column);
    ll_json_put_string(w, "kind", kind_names[in->kind]);
    if (in->kind == LL_KNOWN_FLAG) ll_json_put_double(w, "level", in->level);
    else anchor_file_put_doubles(w, "knots", in->knot, in->n_knots);
    if (in->slow) ll_json_put_bool(w, "slow", true);
    anchor_file_put_doubles(w, "usual", in->usual, in->n_usual);
    ll_json_put_double(w, "phi", in->phi);
    ll_json_put_double(w, "var", in->var);
    ll_json_close(w, '}');
}

void anchor_file_put_known(ll_json_writer *w, const ll_known *k)
{
    if (k == NULL) return;
    ll_json_open(w, "known", '{');
    ll_json_put_string(w, "weighting", weighting_names[k->weighting]);
    ll_json_put_bool(w, "daily", k->daily);
    ll_json_open(w, "inputs", '[');
    for (int32_t i = 0; i < k->n; i++) put_input(w, &k->input[i]);
    ll_json_close(w, ']');
    ll_json_close(w, '}');
}

llap_status anchor_file_save_known(ll_tensors_writer *w, int64_t i, const ll_known *k)
{
    if (k == NULL) return LLAP_OK;
    return anchor_file_add_tensor(w, i, "anchor", "known", 1, &(int64_t){ k->n_terms }, k->beta);
}

static llap_status get_knots(const ll_json *j, int64_t i, int32_t n, ll_known_input *in)
{
    const anchor_input_path p = anchor_file_input_path(i, "known", n, "knots");
    const size_t            count = ll_json_length(j, p.text);
    if (count < 2 || count > LL_KNOWN_KNOTS)
        return ll_fail(LLAP_EFORMAT, "config: '%s': expected 2 to %d knots, found %zu", p.text,
                       LL_KNOWN_KNOTS, count);
    in->n_knots = (int32_t)count;
    llap_status st = anchor_file_get_array(j, i, p.key, -1e38, 1e38, count, in->knot);
    for (size_t k = 1; st == LLAP_OK && k < count; k++)
        if (!(in->knot[k - 1] < in->knot[k]))
            st = ll_fail(LLAP_EFORMAT, "config: '%s': %g is not below %g", p.text, in->knot[k - 1],
                         in->knot[k]);
    return st;
}

static llap_status get_usual(const ll_json *j, int64_t i, int32_t n, ll_known_input *in)
{
    const anchor_input_path p = anchor_file_input_path(i, "known", n, "usual");
    const size_t            count = ll_json_length(j, p.text);
    if (count != 1 && count != 11 && count != LL_CLIMATE_MAX)
        return ll_fail(LLAP_EFORMAT, "config: '%s': expected 1, 11 or %d terms, found %zu", p.text,
                       LL_CLIMATE_MAX, count);
    in->n_usual = (int32_t)count;
    return anchor_file_get_array(j, i, p.key, -1e38, 1e38, count, in->usual);
}

static llap_status get_input(const ll_json *j, int64_t i, int32_t n, int64_t n_columns,
                             ll_known_input *in)
{
    int64_t                 column = -1;
    int                     kind = -1;
    const anchor_input_path at = anchor_file_input_path(i, "known", n, "column"),
                            of = anchor_file_input_path(i, "known", n, "kind");
    const anchor_input_path level = anchor_file_input_path(i, "known", n, "level"),
                            phi = anchor_file_input_path(i, "known", n, "phi");
    const anchor_input_path var = anchor_file_input_path(i, "known", n, "var");
    const anchor_number     numbers[] = { { phi.key, 0, 1, &in->phi, false },
                                          { var.key, 0, 1e76, &in->var, false } };
    const anchor_number     levels[] = { { level.key, -1e38, 1e38, &in->level, false } };
    llap_status             st = ll_json_need(j, at.text);
    if (st == LLAP_OK) st = ll_json_int(j, at.text, 0, n_columns - 1, &column);
    if (st == LLAP_OK) st = ll_json_need(j, of.text);
    if (st == LLAP_OK) st = ll_json_enum(j, of.text, kind_names, &kind);
    in->column = (int32_t)column;
    in->kind = (ll_known_kind)kind;
    if (st == LLAP_OK)
        st = in->kind == LL_KNOWN_FLAG ? anchor_file_get_numbers(j, i, levels, 1)
                                       : get_knots(j, i, n, in);
    if (st == LLAP_OK && in->kind == LL_KNOWN_NUMBER)
        st = ll_json_bool(j, anchor_file_input_path(i, "known", n, "slow").text, &in->slow);
    if (st == LLAP_OK) st = get_usual(j, i, n, in);
    return st == LLAP_OK ? anchor_file_get_numbers(j, i, numbers, 2) : st;
}

static llap_status get_inputs(const ll_json *j, int64_t i, int64_t n_columns, ll_known *k)
{
    char path[96];
    int  weighting = -1;
    snprintf(path, sizeof path, "anchors[%lld].known.inputs", (long long)i);
    const size_t n = ll_json_length(j, path);
    if (n < 1 || n > LL_KNOWN_INPUTS || n_columns < 1 || n_columns > LL_KNOWN_COLUMNS)
        return ll_fail(LLAP_EFORMAT,
                       "config: '%s': expected 1 to %d inputs of 1 to %d known columns, found %zu "
                       "of %lld",
                       path, LL_KNOWN_INPUTS, LL_KNOWN_COLUMNS, n, (long long)n_columns);
    k->n = (int32_t)n;
    k->n_columns = (int32_t)n_columns;
    k->input = ll_new(n, sizeof *k->input);
    llap_status st = k->input == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int32_t m = 0; st == LLAP_OK && m < k->n; m++)
        st = get_input(j, i, m, n_columns, &k->input[m]);
    snprintf(path, sizeof path, "anchors[%lld].known.weighting", (long long)i);
    if (st == LLAP_OK) st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_enum(j, path, weighting_names, &weighting);
    snprintf(path, sizeof path, "anchors[%lld].known.daily", (long long)i);
    if (st == LLAP_OK) st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_bool(j, path, &k->daily);
    k->weighting = (ll_weighting)weighting;
    return st;
}

llap_status anchor_file_get_known(const ll_tensors *t, const ll_json *j, int64_t i,
                                  int64_t n_columns, ll_chain *c)
{
    char path[96];
    snprintf(path, sizeof path, "anchors[%lld].known", (long long)i);
    if (!ll_json_has(j, path)) return LLAP_OK;
    if (c->curve == LL_CURVE_COUNTS)
        return ll_fail(LLAP_EFORMAT, "config: %s: counts have no known inputs", path);
    ll_known *k = c->known = ll_new(1, sizeof *k); /* the chain's to destroy */
    if (k == NULL) return LLAP_ENOMEM;
    k->constant = c->n_climate == 0;
    llap_status st = get_inputs(j, i, n_columns, k);
    if (st != LLAP_OK) return st;
    k->n_terms = ll_known_count(k);
    return anchor_file_get_tensor(t, i, "anchor", "known", 1, &(int64_t){ k->n_terms }, &k->beta);
}
