/* Writing panels as CSV, wide or long, so that reading gives them back exactly.
 *
 *     ll_csv_write_opts o = LL_CSV_WRITE_DEFAULT;
 *     st = ll_csv_write(panel, "out.csv", &o);
 *
 * Values have the fewest digits that read back as the same float, times are written as their axis
 * says. Cells that are not observed are empty. In the long form a row without any value, and a
 * variable without any, get one line with an empty value. Ordinary panels read back without
 * options. Those that look like something else need them (tests/data/csv_round.c has them all):
 * numbers as times that could be epochs, values of -9999, a variable that numbers the rows,
 * variables that are not sorted (long). */
#ifndef LL_DATA_CSV_WRITE_H
#define LL_DATA_CSV_WRITE_H

#include "data/csv/csv.h"

typedef struct ll_csv_write_opts {
    ll_csv_form form;      /* LL_CSV_AUTO is wide */
    char        separator; /* 0: ',' */
    char        decimal;   /* 0: '.' */
    bool        filled;    /* carried values too; they read back as observed */
} ll_csv_write_opts;

#define LL_CSV_WRITE_DEFAULT ((ll_csv_write_opts){ .form = LL_CSV_WIDE })

/* Replaces the file as a whole, or leaves it as it was. LLAP_EINVAL: the axis has a format that
 * cannot hold a time exactly, or a name holds a NUL. LLAP_EIO. */
llap_status ll_csv_write(const llap_panel *p, const char *path, const ll_csv_write_opts *o);

#endif
