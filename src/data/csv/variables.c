#include "data/csv/variables.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/csv/marks.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

/* ---- names ---------------------------------------------------------------------------------- */

/* The name in the files of an entry "new=old" or "name", and the part that is the new name. */
static const char *old_name(const char *entry, size_t *new_len)
{
    const char *equals = strchr(entry, '=');
    *new_len = equals == NULL ? strlen(entry) : (size_t)(equals - entry);
    return equals == NULL ? entry : equals + 1;
}

static bool listed(const char *const *list, const char *name, size_t len)
{
    for (; list != NULL && *list != NULL; list++)
        if (strlen(*list) == len && memcmp(*list, name, len) == 0) return true;
    return false;
}

/* What the panel calls the variable; NULL: not wanted. An entry is looked up as it stands first,
 * for names that hold a '='. */
static const char *panel_name(const ll_csv_opts *o, const char *name, size_t len, size_t *out_len)
{
    *out_len = len;
    if (listed(o->drop, name, len)) return NULL;
    if (o->columns == NULL || listed(o->columns, name, len)) return name;
    for (const char *const *entry = o->columns; *entry != NULL; entry++) {
        const char *old = old_name(*entry, out_len);
        if (strlen(old) == len && memcmp(old, name, len) == 0) return *entry;
    }
    return NULL;
}

bool ll_csv_is_wanted(const ll_csv_opts *o, const char *name)
{
    size_t unused;
    return panel_name(o, name, strlen(name), &unused) != NULL;
}

/* Levels have the names of the panel: those of the columns may be others. */
static bool has_levels(const ll_csv_opts *o, const char *name, size_t len)
{
    const char *as = panel_name(o, name, len, &len);
    for (const char *const *l = o->levels; as != NULL && l != NULL && *l != NULL; l++)
        if (strncmp(*l, as, len) == 0 && (*l)[len] == '=') return true;
    return false;
}

bool ll_csv_is_made_of_words(const ll_csv_opts *o, const char *name)
{
    return has_levels(o, name, strlen(name)) || listed(o->circular, name, strlen(name)) ||
           listed(o->coded, name, strlen(name));
}

static ll_csv_treatment treatment_of(const ll_csv_opts *o, const char *name, size_t len,
                                     ll_csv_treatment likely)
{
    if (likely == LL_CSV_SKIP && o->columns == NULL) return LL_CSV_SKIP;
    if (listed(o->circular, name, len)) return LL_CSV_CIRCULAR;
    if (listed(o->coded, name, len) || likely == LL_CSV_CODE || has_levels(o, name, len))
        return LL_CSV_CODE;
    if (likely != LL_CSV_COUNT || o->text == LL_CSV_TEXT_ERROR) return LL_CSV_VALUES;
    return o->text == LL_CSV_TEXT_CODE ? LL_CSV_CODE : LL_CSV_COUNT;
}

/* Room for the words of every variable of the builder. */
static llap_status grow_words(ll_csv_variables *vs)
{
    const uint32_t n = ll_panel_builder_n_vars(vs->builder);
    if (n <= vs->n_words) return LLAP_OK;
    ll_names *larger = ll_grow(vs->words, n, sizeof *larger);
    if (larger == NULL) return LLAP_ENOMEM;
    vs->words = larger;
    while (vs->n_words < n) vs->words[vs->n_words++] = (ll_names){ 0 };
    return LLAP_OK;
}

static llap_status make_variable(ll_csv_variables *vs, ll_csv_variable *v, const char *name,
                                 size_t len)
{
    if (v->how != LL_CSV_CIRCULAR) {
        const llap_status st = ll_panel_builder_var(vs->builder, name, len, &v->var);
        return st == LLAP_OK ? grow_words(vs) : st;
    }
    ll_arena    text = { 0 };
    const char *sine = ll_arena_printf(&text, "%.*s_sin", (int)len, name);
    const char *cosine = ll_arena_printf(&text, "%.*s_cos", (int)len, name);
    llap_status st = sine == NULL || cosine == NULL ? LLAP_ENOMEM : LLAP_OK;
    uint32_t    second = 0;
    if (st == LLAP_OK) st = ll_panel_builder_var(vs->builder, sine, len + 4, &v->var);
    if (st == LLAP_OK) st = ll_panel_builder_var(vs->builder, cosine, len + 4, &second);
    if (st == LLAP_OK && second != v->var + 1)
        st = ll_fail(LLAP_EINVAL, "a column '%s' or '%s' is there already", sine, cosine);
    ll_arena_deinit(&text);
    return st == LLAP_OK ? grow_words(vs) : st;
}

llap_status ll_csv_variables_find(ll_csv_variables *vs, const char *name, size_t len,
                                  ll_csv_treatment likely, uint32_t *id)
{
    const uint32_t known = vs->source.n;
    llap_status    st = ll_names_add(&vs->source, name, len, id);
    if (st != LLAP_OK || *id < known) return st;
    if (*id >= vs->capacity) {
        ll_csv_variable *larger = ll_grow(vs->variable, vs->capacity * 2 + 16, sizeof *larger);
        if (larger == NULL) return LLAP_ENOMEM;
        vs->variable = larger;
        vs->capacity = vs->capacity * 2 + 16;
    }
    ll_csv_variable *v = &vs->variable[*id];
    *v = (ll_csv_variable){ .how = LL_CSV_SKIP };
    size_t      as_len;
    const char *as = panel_name(vs->o, name, len, &as_len);
    if (as == NULL) return LLAP_OK;
    v->how = treatment_of(vs->o, name, len, likely);
    return v->how <= LL_CSV_COUNT ? LLAP_OK : make_variable(vs, v, as, as_len);
}

const char *ll_csv_variables_name(const ll_csv_variables *vs, uint32_t id)
{
    return ll_panel_builder_var_name(vs->builder, vs->variable[id].var);
}

llap_status ll_csv_variables_init(ll_csv_variables *vs, const ll_csv_opts *o,
                                  ll_panel_builder *builder)
{
    *vs = (ll_csv_variables){ .o = o, .builder = builder };
    size_t n = 0;
    while (o->missing != NULL && o->missing[n] != NULL) n++;
    vs->missing = ll_new(n, sizeof *vs->missing);
    if (vs->missing == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const char  *text = o->missing[i];
        char         plain[LL_NUMBER_TEXT];
        const size_t len = ll_number_ungroup(text, strlen(text), '.', plain);
        double       x;
        if (ll_number_double(len > 0 ? plain : text, len > 0 ? len : strlen(text), '.', &x) !=
            LL_NUMBER_NONE)
            vs->missing[vs->n_missing++] = x;
    }
    vs->plain = vs->n_missing == 0 && isinf(o->valid_min) && isinf(o->valid_max) &&
                o->valid_min < 0 && o->valid_max > 0;
    return LLAP_OK;
}

void ll_csv_variables_deinit(ll_csv_variables *vs)
{
    for (uint32_t v = 0; v < vs->n_words; v++) ll_names_deinit(&vs->words[v]);
    ll_free(vs->words);
    ll_free(vs->missing);
    ll_free(vs->variable);
    ll_names_deinit(&vs->source);
    *vs = (ll_csv_variables){ 0 };
}

static bool is_among(uint32_t x, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

llap_status ll_csv_variables_order(const ll_csv_variables *vs, uint32_t **order)
{
    *order = NULL;
    if (vs->o->columns == NULL) return LLAP_OK;
    const uint32_t n_vars = ll_panel_builder_n_vars(vs->builder);
    *order = ll_new(n_vars, sizeof **order);
    if (*order == NULL) return LLAP_ENOMEM;
    uint32_t n = 0;
    for (const char *const *entry = vs->o->columns; *entry != NULL; entry++) {
        uint32_t id;
        size_t   unused;
        if (!ll_names_find(&vs->source, *entry, strlen(*entry), &id)) {
            const char *old = old_name(*entry, &unused);
            if (!ll_names_find(&vs->source, old, strlen(old), &id)) continue;
        }
        for (uint32_t k = 0; k < ll_csv_variables_width(vs, id); k++) {
            const uint32_t var = vs->variable[id].var + k; /* files may have two names for one */
            if (!is_among(var, *order, n)) (*order)[n++] = var;
        }
    }
    return LLAP_OK;
}

static llap_status check_list(const ll_csv_variables *vs, const char *const *list, bool renames)
{
    for (; list != NULL && *list != NULL; list++) {
        uint32_t    id;
        size_t      unused;
        const char *name = *list;
        if (ll_names_find(&vs->source, name, strlen(name), &id)) continue;
        if (renames && *name == '=')
            return ll_fail(LLAP_EOPTION, "columns: '%s' has no new name", name);
        if (renames) name = old_name(name, &unused);
        if (ll_names_find(&vs->source, name, strlen(name), &id)) continue;
        char   seen[600] = "";
        size_t at = 0;
        for (id = 0; id < vs->source.n && at < sizeof seen; id++)
            at += (size_t)snprintf(seen + at, sizeof seen - at, "%s'%s'", id == 0 ? "" : ", ",
                                   vs->source.name[id]);
        return ll_fail(LLAP_EINVAL, "no variable '%s'; there are %s", name, seen);
    }
    return LLAP_OK;
}

llap_status ll_csv_variables_check(const ll_csv_variables *vs)
{
    llap_status st = check_list(vs, vs->o->columns, true);
    if (st == LLAP_OK) st = check_list(vs, vs->o->drop, false);
    if (st == LLAP_OK) st = check_list(vs, vs->o->circular, false);
    if (st == LLAP_OK) st = check_list(vs, vs->o->coded, false);
    return st;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static llap_status bad_cell(ll_csv_variables *vs, ll_csv_field f, const char *expected)
{
    if (vs->o->bad_is_missing) {
        vs->bad_cells++;
        return LLAP_OK;
    }
    return ll_fail(LLAP_EFORMAT, "expected %s, found '%s'; if that means missing: `missing`",
                   expected, ll_csv_show(f).text);
}

static float accept(ll_csv_variables *vs, float x)
{
    for (size_t i = 0; i < vs->n_missing; i++)
        if (x == (float)vs->missing[i]) {
            vs->missing_numbers++;
            return NAN;
        }
    if ((double)x < vs->o->valid_min || (double)x > vs->o->valid_max) {
        vs->out_of_range++;
        return NAN;
    }
    vs->suspects += x <= -99 || x >= 1e20f;
    return x;
}

static llap_status read_number(ll_csv_variables *vs, ll_csv_field f, char decimal, float *x)
{
    float          value;
    ll_number_kind kind = ll_number_float(f.text, f.len, decimal, &value);
    *x = NAN;
    if (kind == LL_NUMBER_NONE && !ll_csv_means_missing(vs->o, f)) {
        kind = ll_csv_number(f, decimal, &value);
        vs->grouped_cells += kind != LL_NUMBER_NONE;
    }
    if (kind == LL_NUMBER_FINITE) *x = accept(vs, value);
    else if (kind == LL_NUMBER_INFINITE) vs->infinite_cells++;
    else if (!ll_csv_means_missing(vs->o, f)) return bad_cell(vs, f, "a number");
    return LLAP_OK;
}

static float take_number(ll_csv_variables *vs, double number)
{
    const float x = (float)number;
    if (isfinite(x)) return accept(vs, x);
    vs->infinite_cells += !isnan(x);
    return NAN;
}

static bool compass(ll_csv_field f, float *degrees)
{
    static const char *const points[] = { "N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
                                          "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW" };
    for (int i = 0; i < 16; i++)
        if (strlen(points[i]) == f.len && strncasecmp(points[i], f.text, f.len) == 0) {
            *degrees = 22.5f * (float)i;
            return true;
        }
    return false;
}

static void put_circular(float degrees, float *x)
{
    const double radians = (double)degrees * (3.14159265358979323846 / 180);
    x[0] = (float)sin(radians);
    x[1] = (float)cos(radians);
}

static llap_status read_circular(ll_csv_variables *vs, ll_csv_field f, char decimal, float *x)
{
    float degrees;
    x[0] = x[1] = NAN;
    if (!compass(f, &degrees)) {
        const llap_status st = read_number(vs, f, decimal, &degrees);
        if (st != LLAP_OK || isnan(degrees)) return st;
    }
    put_circular(degrees, x);
    return LLAP_OK;
}

static llap_status read_word(ll_csv_variables *vs, uint32_t variable, ll_csv_field f, float *x)
{
    uint32_t id;
    *x = NAN;
    if (ll_csv_means_missing(vs->o, f)) return LLAP_OK;
    const llap_status st = ll_names_add(&vs->words[vs->variable[variable].var], f.text, f.len, &id);
    if (st != LLAP_OK) return st;
    vs->variable[variable].n_words++;
    if (id >= 1 << 24) return ll_fail(LLAP_ELIMIT, "more than %d different words", 1 << 24);
    *x = (float)id;
    return LLAP_OK;
}

llap_status ll_csv_variables_read(ll_csv_variables *vs, uint32_t id, ll_csv_field cell,
                                  char decimal, float *x)
{
    ll_csv_variable *v = &vs->variable[id];
    if (v->how == LL_CSV_SKIP) return LLAP_OK;
    const unsigned char last = cell.len == 0 ? 0 : (unsigned char)cell.text[cell.len - 1];
    if (cell.len > 0 && (cell.text[0] <= ' ' || last <= ' ' || last == 0xa0))
        cell = ll_csv_trim(cell);
    switch (v->how) {
    case LL_CSV_VALUES:
        return read_number(vs, cell, decimal, x);
    case LL_CSV_CIRCULAR:
        return read_circular(vs, cell, decimal, x);
    case LL_CSV_CODE:
        return read_word(vs, id, cell, x);
    case LL_CSV_COUNT:
        if (ll_csv_means_missing(vs->o, cell)) return LLAP_OK;
        v->n_words++;
        vs->text_cells++;
        return LLAP_OK;
    case LL_CSV_SKIP:
        break;
    }
    return LLAP_OK;
}

llap_status ll_csv_variables_number(ll_csv_variables *vs, uint32_t id, double number, float *x)
{
    const ll_csv_treatment how = vs->variable[id].how;
    if (how == LL_CSV_CODE) {
        char   text[LL_DOUBLE_TEXT];
        size_t n = isnan(number) ? 0 : ll_text_double(number, text);
        return ll_csv_variables_read(vs, id, (ll_csv_field){ text, (uint32_t)n, false }, '.', x);
    }
    if (how < LL_CSV_VALUES) return LLAP_OK;
    const float value = take_number(vs, number);
    if (how == LL_CSV_VALUES) *x = value;
    else if (!isnan(value)) put_circular(value, x);
    else x[0] = x[1] = NAN;
    return LLAP_OK;
}
