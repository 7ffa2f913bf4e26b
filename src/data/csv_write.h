/* Writing panels as CSV, wide or long, so that reading gives them back exactly.
 *
 *     llap_csv_write_opts o = LLAP_CSV_WRITE_DEFAULT;
 *     st = llap_csv_write(panel, "out.csv", &o);
 *
 *     llap_csv_opts back;                            and back again, whatever the panel is like:
 *     st = llap_csv_opts_of(panel, &o, &arena, &back);
 *     st = llap_csv_read(&path, 1, &back, &same, NULL);
 *
 * Values have the fewest digits that read back as the same float, times are written as their axis
 * says. Cells that are not observed are empty. In the long form a row without any value, and a
 * variable without any, get one line with an empty value. Ordinary panels read back without
 * options; llap_csv_opts_of is for those that look like something else: numbers as times that could
 * be epochs, values of -9999, a variable that numbers the rows, variables that are not sorted
 * (long). */
#ifndef LLAP_DATA_CSV_WRITE_H
#define LLAP_DATA_CSV_WRITE_H

#include "base/arena.h"
#include "data/csv.h"

typedef struct llap_csv_write_opts {
    llap_csv_form form;      /* LLAP_CSV_AUTO is wide */
    char          separator; /* 0: ',' */
    char          decimal;   /* 0: '.' */
    bool          filled;    /* carried values too; they read back as observed */
} llap_csv_write_opts;

#define LLAP_CSV_WRITE_DEFAULT ((llap_csv_write_opts){ .form = LLAP_CSV_WIDE })

/* Replaces the file as a whole, or leaves it as it was. LLAP_EINVAL: the axis has a format that
 * cannot hold a time exactly, or a name holds a NUL. LLAP_EIO. */
llap_status llap_csv_write(const llap_panel *p, const char *path, const llap_csv_write_opts *o);

/* Options that read what llap_csv_write wrote, with nothing left to find out. Strings are borrowed
 * from panel and arena. */
llap_status llap_csv_opts_of(const llap_panel *p, const llap_csv_write_opts *o, llap_arena *arena,
                             llap_csv_opts *out);

#endif
