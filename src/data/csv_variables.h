/* From the columns (wide form) or names (long form) of files to the variables of the panel, and
 * from cells to values: selection, renaming, missing words, words as codes, degrees as sine and
 * cosine.
 *
 *     st = llap_csv_variables_init(&vs, &opts, builder);
 *     st = llap_csv_variables_find(&vs, "wd", 2, LLAP_CSV_COUNT, &id);  once per column
 *     st = llap_csv_variables_read(&vs, id, field, '.', row + vs.variable[id].var);
 *     llap_csv_variables_deinit(&vs); */
#ifndef LLAP_DATA_CSV_VARIABLES_H
#define LLAP_DATA_CSV_VARIABLES_H

#include "data/csv_sample.h"
#include "data/names.h"

typedef enum llap_csv_treatment {
    LLAP_CSV_SKIP,     /* not wanted */
    LLAP_CSV_COUNT,    /* words, left out; counted */
    LLAP_CSV_VALUES,   /* a number */
    LLAP_CSV_CODE,     /* words, for now by order of arrival (csv_codes.h) */
    LLAP_CSV_CIRCULAR, /* degrees or compass points: two variables */
} llap_csv_treatment;

typedef struct llap_csv_variable {
    llap_csv_treatment how;
    uint32_t           var;     /* in the builder: the first of its 0, 1 or 2 */
    int64_t            n_words; /* left out */
    const char        *path;    /* long form: of the last file that has it */
} llap_csv_variable;

typedef struct llap_csv_variables {
    llap_names         source;   /* names in the files, wanted or not */
    llap_csv_variable *variable; /* [source.n] */
    uint32_t           capacity;
    llap_names        *words; /* [n_words] of each variable of the builder that is coded */
    uint32_t           n_words;

    int64_t bad_cells, infinite_cells, out_of_range, missing_numbers, text_cells;
    bool    plain;    /* a number is a value: no range, no codes given */
    int64_t suspects; /* values that might be codes for missing */

    const llap_csv_opts *o;
    llap_panel_builder  *builder;
    double              *missing; /* the options' words that are numbers */
    size_t               n_missing;
} llap_csv_variables;

/* Borrows opts and builder until deinit. The caller owns *vs, also after a failure. */
llap_status llap_csv_variables_init(llap_csv_variables *vs, const llap_csv_opts *o,
                                    llap_panel_builder *builder);
void        llap_csv_variables_deinit(llap_csv_variables *vs);

/* The number of a name, new or known. likely: what it looks like, unless the options say otherwise:
 * LLAP_CSV_VALUES, LLAP_CSV_COUNT for words, LLAP_CSV_SKIP for what is left out unless named. */
llap_status llap_csv_variables_find(llap_csv_variables *vs, const char *name, size_t len,
                                    llap_csv_treatment likely, uint32_t *id);

static inline uint32_t llap_csv_variables_width(const llap_csv_variables *vs, uint32_t id)
{
    const llap_csv_treatment how = vs->variable[id].how;
    return how == LLAP_CSV_CIRCULAR ? 2 : how >= LLAP_CSV_VALUES;
}

/* Writes the variable's width of values to x, NaN where missing. LLAP_EFORMAT: the cell cannot be
 * read (and is not to be taken as missing). */
llap_status llap_csv_variables_read(llap_csv_variables *vs, uint32_t id, llap_csv_field cell,
                                    char decimal, float *x);

/* The variables of the builder in the order that the options ask for; NULL when they ask for none.
 * Caller owns *order (llap_free), [number of variables]. */
llap_status llap_csv_variables_order(const llap_csv_variables *vs, uint32_t **order);

/* LLAP_EINVAL when an option names a variable that no file had; lists those that were there. */
llap_status llap_csv_variables_check(const llap_csv_variables *vs);

#endif
