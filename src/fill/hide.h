/* What is hidden of a table on purpose, to learn from or to score by: what users lose
 * (docs/spec/filling.md 6). A draw for each sensor; same bytes for any number of threads. */
#ifndef LL_FILL_HIDE_H
#define LL_FILL_HIDE_H

#include "fill/fill.h"

typedef enum ll_fill_pattern {
    LL_FILL_RANDOM,  /* 30 % of all cells */
    LL_FILL_OUTAGES, /* a variable or a whole row for 6 to 48 hours, and 10 % of all cells */
    LL_FILL_ROWS,    /* whole rows alone, for 6 to 48 hours */
    LL_FILL_DEAD,    /* one sensor for two weeks, then another */
} ll_fill_pattern;

typedef struct ll_fill_hiding {
    ll_fill_pattern pattern;
    double          unit;   /* an hour of the table's times; a step, where it has no clock */
    bool            stays;  /* entities are short records: of 3 to 12 hours; dead from end to end */
    const uint8_t  *mortal; /* [n_vars] sensors that die; NULL: all */
    int64_t         deaths; /* of as many times the sensors; 0: once */
    uint64_t        seed;
} ll_fill_hiding;

/* hidden [n_vars,n_rows], of cells that are read alone. */
void ll_fill_hide(const ll_fill_table *t, const ll_fill_hiding *h, uint8_t *hidden);

#endif
