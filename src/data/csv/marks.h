/* The marks inside numbers: which one is the decimal point, and which sets thousands apart.
 *
 * Cells vote: 12,5 and 1.538,65 can only have a comma as the point, 1,234.5 only a point. 1,234 and
 * 1.234 can be read either way, a thousandfold apart: such cells follow what others of their column
 * show, then those of the other columns, and are refused where nothing shows it. */
#ifndef LL_DATA_CSV_MARKS_H
#define LL_DATA_CSV_MARKS_H

#include "data/csv/sample.h"
#include "data/text/number.h"

typedef struct ll_csv_votes {  /* cells of a column that */
    size_t point, comma;       /* can be read with this point only */
    size_t point_or_thousands; /* 1.234 */
    size_t comma_or_thousands; /* 1,234 */
    size_t first_unclear;      /* record of the first of the last two kinds */
    bool   clock;              /* all of point might be hours and minutes, 18.30 */
} ll_csv_votes;

/* Of the records from first on. */
ll_csv_votes ll_csv_count_votes(const ll_csv_sample *s, size_t first, size_t column);

/* Without quotes, commas that separate fields cannot be in them. */
bool ll_csv_may_hold_commas(const ll_csv_sample *s);

/* '.' or ',', whichever most columns show. */
char ll_csv_find_decimal(const ll_csv_sample *s);

/* The cell as a number, thousands set apart or not. */
ll_number_kind     ll_csv_number(ll_csv_field f, char decimal, float *out);
static inline bool ll_csv_is_number(ll_csv_field f, char decimal)
{
    float x;
    return ll_csv_number(f, decimal, &x) != LL_NUMBER_NONE;
}

/* Whether a cell that is no number looks like one: with the other decimal point, or with a sign of
 * currency, percent or a unit. */
bool ll_csv_looks_numeric(ll_csv_field f, char decimal);

#endif
