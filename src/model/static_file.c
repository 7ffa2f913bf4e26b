/* The static inputs of an anchor in a model file. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/anchor_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ERROR_MOST = 1e12, LOOSE_MOST = 1e4, NUMBER_MOST = 1e300;

static const char *const names[2] = { "static_level", "static_spread" }; /* of the ridges */

static void put_input(ll_json_writer *w, const ll_static_input *in)
{
    ll_json_open(w, NULL, '{');
    if (in->words) {
        ll_json_open(w, "levels", '(');
        for (int32_t k = 0; k < in->n_levels; k++) ll_json_put_string(w, NULL, in->level[k]);
        ll_json_close(w, ']');
        anchor_file_put_doubles(w, "shares", in->share, in->n_levels);
    } else {
        ll_json_put_double(w, "mean", in->mean);
        ll_json_put_double(w, "sd", in->sd);
        ll_json_put_double(w, "low", in->low);
        ll_json_put_double(w, "high", in->high);
    }
    ll_json_close(w, '}');
}

static double penalty_of(const ll_static_ridge *r) { return isinf(r->penalty) ? 0.0 : r->penalty; }

void anchor_file_put_static(ll_json_writer *w, const ll_statics *s)
{
    if (s == NULL) return;
    const double penalty[2] = { penalty_of(&s->level), penalty_of(&s->spread) };
    const double error[2] = { s->level.error, s->spread.error };
    const double apart[2] = { s->level.apart, s->spread.apart };
    ll_json_open(w, "static", '{');
    ll_json_put_bool(w, "log", s->log);
    ll_json_put_bool(w, "every", s->every);
    anchor_file_put_doubles(w, "penalty", penalty, 2); /* 0: the mean alone */
    anchor_file_put_doubles(w, "error", error, 2);
    anchor_file_put_doubles(w, "apart", apart, 2);
    ll_json_open(w, "inputs", '[');
    for (int32_t i = 0; i < s->n; i++) put_input(w, &s->input[i]);
    ll_json_close(w, ']');
    ll_json_close(w, '}');
}

llap_status anchor_file_save_static(ll_tensors_writer *w, int64_t i, const ll_chain *c)
{
    const ll_statics *s = c->statics;
    if (s == NULL) return LLAP_OK;
    const int64_t n = s->n_terms + 1, rows = (int64_t)c->n_series + 1;
    llap_status   st = anchor_file_add_tensor(w, i, "anchor", names[0], 1, &n, s->level.beta);
    if (st == LLAP_OK) st = anchor_file_add_tensor(w, i, "anchor", names[1], 1, &n, s->spread.beta);
    if (st == LLAP_OK && c->loose != NULL)
        st = anchor_file_add_tensor(w, i, "scale", "loose", 1, &rows, c->loose);
    return st;
}

size_t anchor_file_static_tensors(const ll_chain *c)
{
    return (c->statics != NULL ? 2 : 0) + (size_t)(c->loose != NULL);
}

static llap_status get_words(const ll_json *j, int64_t i, int32_t n, ll_static_input *in)
{
    const anchor_input_path p = anchor_file_input_path(i, "static", n, "levels");
    const char            **word = NULL;
    size_t                  count = 0;
    llap_status             st = ll_json_strings(j, p.text, &word, &count);
    in->words = true;
    if (st == LLAP_OK && count > LL_STATIC_LEVELS)
        st = ll_fail(LLAP_EFORMAT, "config: '%s': expected at most %d words, found %zu", p.text,
                     LL_STATIC_LEVELS, count);
    if (st == LLAP_OK) {
        in->level = ll_new(count, sizeof *in->level);
        in->share = ll_new(count, sizeof *in->share);
        if (in->level == NULL || in->share == NULL) st = LLAP_ENOMEM;
    }
    for (size_t k = 0; st == LLAP_OK && k < count; k++) {
        if (k > 0 && strcmp(word[k - 1], word[k]) >= 0)
            st = ll_fail(LLAP_EFORMAT, "config: '%s': '%s' is out of order", p.text, word[k]);
        else if ((in->level[k] = ll_strndup(word[k], strlen(word[k]))) == NULL) st = LLAP_ENOMEM;
        else in->n_levels++;
    }
    if (st == LLAP_OK && count > 0)
        st = anchor_file_get_array(j, i, anchor_file_input_path(i, "static", n, "shares").key, 0, 1,
                                   count, in->share);
    ll_free((void *)word);
    return st;
}

static llap_status get_input(const ll_json *j, int64_t i, int32_t n, ll_static_input *in)
{
    const anchor_input_path mean = anchor_file_input_path(i, "static", n, "mean"),
                            sd = anchor_file_input_path(i, "static", n, "sd");
    const anchor_input_path low = anchor_file_input_path(i, "static", n, "low"),
                            high = anchor_file_input_path(i, "static", n, "high");
    const anchor_number numbers[] = { { mean.key, -NUMBER_MOST, NUMBER_MOST, &in->mean, false },
                                      { sd.key, 0, NUMBER_MOST, &in->sd, false },
                                      { low.key, -NUMBER_MOST, NUMBER_MOST, &in->low, false },
                                      { high.key, -NUMBER_MOST, NUMBER_MOST, &in->high, false } };
    if (ll_json_has(j, anchor_file_input_path(i, "static", n, "levels").text))
        return get_words(j, i, n, in);
    llap_status st = anchor_file_get_numbers(j, i, numbers, 4);
    if (st == LLAP_OK && !(in->low <= in->mean && in->mean <= in->high))
        st = ll_fail(LLAP_EFORMAT, "config: '%s': expected it within low and high", mean.text);
    if (st == LLAP_OK && in->sd > 0.0 && in->sd < 1e-300) in->sd = 1e-300;
    return st;
}

static llap_status get_inputs(const ll_json *j, int64_t i, int64_t n_columns, ll_statics *s)
{
    char path[96];
    snprintf(path, sizeof path, "anchors[%lld].static.inputs", (long long)i);
    const size_t n = ll_json_length(j, path);
    if (n < 1 || n > LL_STATIC_COLUMNS || (int64_t)n != n_columns)
        return ll_fail(LLAP_EFORMAT, "config: '%s': expected %lld inputs, found %zu", path,
                       (long long)n_columns, n);
    s->input = ll_new(n, sizeof *s->input);
    if (s->input == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (int32_t k = 0; st == LLAP_OK && k < (int32_t)n; k++) {
        s->n = k + 1;
        st = get_input(j, i, k, &s->input[k]);
        s->n_terms += ll_static_terms(&s->input[k]);
    }
    if (st == LLAP_OK && s->n_terms > LL_STATIC_TERMS)
        st = ll_fail(LLAP_EFORMAT, "config: '%s': %d terms, more than %d", path, (int)s->n_terms,
                     LL_STATIC_TERMS);
    return st;
}

static llap_status get_flag(const ll_json *j, int64_t i, const char *name, bool *v)
{
    char path[96];
    snprintf(path, sizeof path, "anchors[%lld].static.%s", (long long)i, name);
    const llap_status st = ll_json_need(j, path);
    return st == LLAP_OK ? ll_json_bool(j, path, v) : st;
}

/* Errors, penalties and coefficients of both ridges. */
static llap_status get_ridges(const ll_tensors *t, const ll_json *j, int64_t i, ll_statics *s)
{
    const int64_t          n = s->n_terms + 1;
    ll_static_ridge *const ridge[2] = { &s->level, &s->spread };
    double                 penalty[2], error[2], apart[2];
    llap_status            st = anchor_file_get_array(j, i, "static.penalty", 0, 1e6, 2, penalty);
    if (st == LLAP_OK) st = anchor_file_get_array(j, i, "static.error", 0, ERROR_MOST, 2, error);
    if (st == LLAP_OK) st = anchor_file_get_array(j, i, "static.apart", 0, ERROR_MOST, 2, apart);
    for (int k = 0; st == LLAP_OK && k < 2; k++) {
        ridge[k]->penalty = penalty[k] > 0.0 ? penalty[k] : INFINITY;
        ridge[k]->error = error[k];
        ridge[k]->apart = apart[k];
        st = anchor_file_get_tensor(t, i, "anchor", names[k], 1, &n, &ridge[k]->beta);
    }
    return st;
}

static llap_status get_loose(const ll_tensors *t, int64_t i, ll_chain *c)
{
    const int64_t rows = (int64_t)c->n_series + 1;
    llap_status   st = anchor_file_get_tensor(t, i, "scale", "loose", 1, &rows, &c->loose);
    for (int64_t e = 0; st == LLAP_OK && e < rows; e++)
        if (!(c->loose[e] >= 0.0 && c->loose[e] <= LOOSE_MOST))
            st = ll_fail(LLAP_EFORMAT, "scale.%lld.loose: element %lld: expected 0..%g, found %g",
                         (long long)i, (long long)e, LOOSE_MOST, c->loose[e]);
    return st;
}

llap_status anchor_file_get_static(const ll_tensors *t, const ll_json *j, int64_t i,
                                   int64_t n_columns, ll_chain *c)
{
    char path[96];
    snprintf(path, sizeof path, "anchors[%lld].static", (long long)i);
    if (!ll_json_has(j, path)) return LLAP_OK;
    if (c->curve == LL_CURVE_CLIPPED)
        return ll_fail(LLAP_EFORMAT, "config: %s: clipped values have none", path);
    ll_statics *s = c->statics = ll_new(1, sizeof *s); /* the chain's to destroy */
    if (s == NULL) return LLAP_ENOMEM;
    llap_status st = get_flag(j, i, "log", &s->log);
    if (st == LLAP_OK) st = get_flag(j, i, "every", &s->every);
    if (st == LLAP_OK && c->curve == LL_CURVE_COUNTS && !s->log)
        st = ll_fail(LLAP_EFORMAT, "config: %s.log: expected true for counts", path);
    if (st == LLAP_OK) st = get_inputs(j, i, n_columns, s);
    if (st == LLAP_OK) st = get_ridges(t, j, i, s);
    return st == LLAP_OK && !s->every ? get_loose(t, i, c) : st;
}
