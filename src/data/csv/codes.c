#include "data/csv/codes.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Only what no instrument saturates at: limits like 999 or 9999 are measurements. */
static const float known[] = { -99.0f,   -99.9f,   -200.0f,   -999.0f,    -999.9f,
                               -9999.0f, -9999.9f, -99999.0f, -999999.0f, -32768.0f,
                               1e20f,    1e30f,    -1e30f,    1e35f,      9.96921e36f };
enum { N_KNOWN = sizeof known / sizeof known[0] };
static_assert((int)N_KNOWN <= (int)LL_CSV_CODES_MAX, "room for all codes");

static int code_of(float x)
{
    if (fabsf(x) < 99) return -1;
    for (int i = 0; i < (int)N_KNOWN; i++)
        if (x == known[i]) return i;
    return -1;
}

typedef struct variable { /* the values of one variable */
    float   least, most;  /* of those that are no codes */
    int64_t others;       /* how many they are */
    int64_t count[N_KNOWN];
    bool    erase[N_KNOWN];
} variable;

typedef struct scan {
    variable            *var;
    const unsigned char *skip;
    int64_t              n_erased;
} scan;

static void tally(void *user, uint32_t v, float *x)
{
    scan     *s = user;
    variable *var = &s->var[v];
    const int code = code_of(*x);
    if (code >= 0) {
        var->count[code]++;
        return;
    }
    var->least = fminf(var->least, *x);
    var->most = fmaxf(var->most, *x);
    var->others++;
}

static void erase(void *user, uint32_t v, float *x)
{
    scan     *s = user;
    const int code = code_of(*x);
    if (code < 0 || s->skip[v] || !s->var[v].erase[code]) return;
    *x = NAN;
    s->n_erased++;
}

static bool outside(const variable *v, float code)
{
    return v->others == 0 || code < v->least || code > v->most;
}

static bool far_outside(const variable *v, int i)
{
    if (v->count[i] < 3 || v->others < 3 || !outside(v, known[i])) return false;
    const double gap = known[i] < v->least ? (double)v->least - (double)known[i]
                                           : (double)known[i] - (double)v->most;
    return gap > (double)v->most - (double)v->least;
}

llap_status ll_csv_erase_codes(ll_panel_builder *b, const unsigned char *skip, ll_csv_codes *out)
{
    *out = (ll_csv_codes){ 0 };
    const uint32_t n_vars = ll_panel_builder_n_vars(b);
    scan           s = { .var = ll_new(n_vars, sizeof *s.var), .skip = skip };
    if (s.var == NULL) return LLAP_ENOMEM;
    for (uint32_t v = 0; v < n_vars; v++) s.var[v].least = INFINITY, s.var[v].most = -INFINITY;
    llap_status st = ll_panel_builder_visit(b, tally, &s);
    for (int i = 0; i < (int)N_KNOWN && st == LLAP_OK; i++) {
        bool is_code = false;
        for (uint32_t v = 0; v < n_vars; v++)
            is_code = is_code || (!skip[v] && far_outside(&s.var[v], i));
        if (!is_code) continue;
        out->code[out->n++] = known[i];
        for (uint32_t v = 0; v < n_vars; v++) s.var[v].erase[i] = outside(&s.var[v], known[i]);
    }
    if (st == LLAP_OK && out->n > 0) st = ll_panel_builder_visit(b, erase, &s);
    out->n_cells = s.n_erased;
    ll_free(s.var);
    return st;
}

/* ---- words ---------------------------------------------------------------------------------- */

typedef struct ranks {
    const ll_names *words; /* [n_vars] */
    uint32_t      **rank; /* [n_vars] of arrival number, NULL: not words; UINT32_MAX: not a level */
    int64_t         strange; /* cells that are no level */
} ranks;

static void rank_word(void *user, uint32_t v, float *x)
{
    ranks *r = user;
    if (r->rank[v] == NULL) return;
    /* Another file may have numbers under the same name. */
    const bool     word = *x >= 0 && *x < (float)r->words[v].n && *x == floorf(*x);
    const uint32_t rank = word ? r->rank[v][(uint32_t)*x] : UINT32_MAX;
    r->strange += rank == UINT32_MAX;
    *x = rank == UINT32_MAX ? NAN : (float)rank;
}

const char *ll_csv_level_word(const char *level, const char *of)
{
    const size_t n = strlen(of);
    return strncmp(level, of, n) == 0 && level[n] == '=' ? level + n + 1 : NULL;
}

/* False: no level is one of the variable. */
static bool rank_levels(const ll_names *words, const char *of, const char *const *levels,
                        uint32_t *rank)
{
    uint32_t n = 0, id;
    for (uint32_t k = 0; k < words->n; k++) rank[k] = UINT32_MAX;
    for (; levels != NULL && *levels != NULL; levels++) {
        const char *word = ll_csv_level_word(*levels, of);
        if (word == NULL) continue;
        if (ll_names_find(words, word, strlen(word), &id)) rank[id] = n;
        n++;
    }
    return n > 0;
}

static llap_status rank_names(const ll_names *words, const char *of, const char *const *levels,
                              uint32_t **out)
{
    uint32_t *order;
    *out = ll_new(words->n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    if (rank_levels(words, of, levels, *out)) return LLAP_OK;
    const llap_status st = ll_names_sorted(words, &order);
    for (uint32_t k = 0; st == LLAP_OK && k < words->n; k++) (*out)[order[k]] = k;
    ll_free(order);
    return st;
}

llap_status ll_csv_rank_words(ll_panel_builder *b, const ll_names *words, uint32_t n_vars,
                              const char *const *levels, int64_t *strange)
{
    ranks       r = { words, ll_new(n_vars, sizeof *r.rank), 0 };
    llap_status st = r.rank == NULL ? LLAP_ENOMEM : LLAP_OK;
    bool        any = false;
    for (uint32_t v = 0; v < n_vars && st == LLAP_OK; v++) {
        if (words[v].n == 0) continue;
        any = true;
        st = rank_names(&words[v], ll_panel_builder_var_name(b, v), levels, &r.rank[v]);
    }
    if (st == LLAP_OK && any) st = ll_panel_builder_visit(b, rank_word, &r);
    for (uint32_t v = 0; r.rank != NULL && v < n_vars; v++) ll_free(r.rank[v]);
    ll_free(r.rank);
    *strange = r.strange;
    return st;
}
