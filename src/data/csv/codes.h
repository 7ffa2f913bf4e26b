/* What can be told about values only when all of them are there: numbers that stand for "missing",
 * and the codes of words. */
#ifndef LL_DATA_CSV_CODES_H
#define LL_DATA_CSV_CODES_H

#include "data/panel_builder.h"
#include "data/text/names.h"

enum { LL_CSV_CODES_MAX = 16 };

typedef struct ll_csv_codes {
    float   code[LL_CSV_CODES_MAX]; /* found to mean missing */
    size_t  n;
    int64_t n_cells; /* made missing */
} ll_csv_codes;

/* Makes -200, -9999 and their like missing. Such a number is a code when, in some variable, it
 * comes at least three times, lies outside the range of all other values and farther from it than
 * that range is wide; it is then one in every variable whose other values it lies outside of. So
 * the order of rows, or their division into files, makes no difference. skip[v] != 0: variable v is
 * not looked at. */
llap_status ll_csv_erase_codes(ll_panel_builder *b, const unsigned char *skip, ll_csv_codes *out);

/* Variables of words hold the arrival numbers of their words (words[v].n > 0); this makes them
 * ranks in byte order, or in that of levels, "variable=word", closed by NULL, which may be NULL:
 * what these do not have becomes missing, *strange times. */
llap_status ll_csv_rank_words(ll_panel_builder *b, const ll_names *words, uint32_t n_vars,
                              const char *const *levels, int64_t *strange);

/* The word of a level of the variable; NULL: it is one of another. */
const char *ll_csv_level_word(const char *level, const char *variable);

#endif
