/* Which of the first records name the columns: one, two (names and units, or a name over several
 * columns and theirs), lines of comment above the table, or none.
 *
 *     ll_csv_header h;
 *     st = ll_csv_header_init(&h, &sample, &opts);
 *     ... h.name[c], h.unit[c], h.first ...
 *     ll_csv_header_deinit(&h); */
#ifndef LL_DATA_CSV_HEADER_H
#define LL_DATA_CSV_HEADER_H

#include "data/csv/sample.h"

typedef struct ll_csv_header {
    bool         any;        /* there is one */
    bool         commented;  /* it is a comment */
    size_t       first;      /* record of data, the first */
    int64_t      first_line; /* where it begins; that of the end where there is none */
    size_t       n_columns;
    const char **name; /* [n_columns], NULL where there is none */
    const char **unit; /* [n_columns], "" where there is none */
    ll_arena     text;
} ll_csv_header;

/* Borrows sample and o until return. The caller owns *h, also after a failure. */
llap_status ll_csv_header_init(ll_csv_header *h, const ll_csv_sample *sample, const ll_csv_opts *o);
void        ll_csv_header_deinit(ll_csv_header *h);

#endif
