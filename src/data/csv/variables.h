/* From the columns (wide form) or names (long form) of files to the variables of the panel, and
 * from cells to values: selection, renaming, missing words, words as codes, degrees as sine and
 * cosine.
 *
 *     st = ll_csv_variables_init(&vs, &opts, builder);
 *     st = ll_csv_variables_find(&vs, "wd", 2, LL_CSV_COUNT, &id);  once per column
 *     st = ll_csv_variables_read(&vs, id, field, '.', row + vs.variable[id].var);
 *     ll_csv_variables_deinit(&vs); */
#ifndef LL_DATA_CSV_VARIABLES_H
#define LL_DATA_CSV_VARIABLES_H

#include "data/csv/sample.h"
#include "data/text/names.h"

typedef enum ll_csv_treatment {
    LL_CSV_SKIP,     /* not wanted */
    LL_CSV_COUNT,    /* words, left out; counted */
    LL_CSV_VALUES,   /* a number */
    LL_CSV_CODE,     /* words, for now by order of arrival (codes.h) */
    LL_CSV_CIRCULAR, /* degrees or compass points: two variables */
} ll_csv_treatment;

typedef struct ll_csv_variable {
    ll_csv_treatment how;
    uint32_t         var;     /* in the builder: the first of its 0, 1 or 2 */
    int64_t          n_words; /* left out or coded */
    const char      *unit;    /* of the header; NULL: none */
    const char      *path;    /* long form: of the last file that has it */
} ll_csv_variable;

typedef struct ll_csv_variables {
    ll_names         source;   /* names in the files, wanted or not */
    ll_csv_variable *variable; /* [source.n] */
    uint32_t         capacity;
    ll_names        *words; /* [n_words] of each variable of the builder that is coded */
    uint32_t         n_words;

    int64_t bad_cells, infinite_cells, out_of_range, missing_numbers, text_cells;
    int64_t grouped_cells; /* numbers with their thousands set apart */
    bool    plain;         /* a number is a value: no range, no codes given */
    int64_t suspects;      /* values that might be codes for missing */

    const ll_csv_opts *o;
    ll_panel_builder  *builder;
    double            *missing; /* the options' words that are numbers */
    size_t             n_missing;
} ll_csv_variables;

/* Whether the options ask for a variable, and whether to make its words numbers. */
bool ll_csv_is_wanted(const ll_csv_opts *o, const char *name);
bool ll_csv_is_made_of_words(const ll_csv_opts *o, const char *name);

/* Borrows opts and builder until deinit. The caller owns *vs, also after a failure. */
llap_status ll_csv_variables_init(ll_csv_variables *vs, const ll_csv_opts *o,
                                  ll_panel_builder *builder);
void        ll_csv_variables_deinit(ll_csv_variables *vs);

/* The number of a name, new or known. likely: what it looks like, unless the options say otherwise:
 * LL_CSV_VALUES, LL_CSV_COUNT for words, LL_CSV_CODE for few of them, LL_CSV_SKIP for what is left
 * out unless named. */
llap_status ll_csv_variables_find(ll_csv_variables *vs, const char *name, size_t len,
                                  ll_csv_treatment likely, uint32_t *id);

/* What the panel calls a variable with a single column. Borrowed until the builder's end. */
const char *ll_csv_variables_name(const ll_csv_variables *vs, uint32_t id);

static inline uint32_t ll_csv_variables_width(const ll_csv_variables *vs, uint32_t id)
{
    const ll_csv_treatment how = vs->variable[id].how;
    return how == LL_CSV_CIRCULAR ? 2 : how >= LL_CSV_VALUES;
}

/* Writes the variable's width of values to x, NaN where missing. LLAP_EFORMAT: the cell cannot be
 * read (and is not to be taken as missing). */
llap_status ll_csv_variables_read(ll_csv_variables *vs, uint32_t id, ll_csv_field cell,
                                  char decimal, float *x);

/* The same of a cell that is a number and no text, of LL_CSV_VALUES and LL_CSV_CIRCULAR. In long
 * form, words are the shortest text of the number. */
llap_status ll_csv_variables_number(ll_csv_variables *vs, uint32_t id, double number, float *x);

/* The variables of the builder in the order that the options ask for; NULL when they ask for none.
 * Caller owns *order (ll_free), [number of variables]. */
llap_status ll_csv_variables_order(const ll_csv_variables *vs, uint32_t **order);

/* LLAP_EINVAL when an option names a variable that no file had; lists those that were there. */
llap_status ll_csv_variables_check(const ll_csv_variables *vs);

#endif
