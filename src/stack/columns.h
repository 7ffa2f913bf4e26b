/* The columns that one member looks at: chosen from those of features.h, relative to the anchor's
 * median and spread or to the base, standardised by the rows of training, with an indicator for
 * each that is now and then missing.
 *
 *     ll_stack_columns c;
 *     st = ll_stack_columns_init(&c, &layout, anchored, levels);
 *     if (st == LLAP_OK) ll_stack_columns_fit(&c, raw, n);
 *     ll_stack_columns_put(&c, &raw[i], row);               row [c.width]
 *     ll_stack_columns_deinit(&c); */
#ifndef LL_STACK_COLUMNS_H
#define LL_STACK_COLUMNS_H

#include "stack/features.h"

typedef struct ll_stack_columns {
    int64_t          n, width; /* columns; and with their indicators */
    bool             anchored;
    int32_t         *from;      /* [n] number among all */
    ll_stack_column *kind;      /* [n] */
    float           *mean, *sd; /* [n] */
    float           *missing;   /* [n] 1: has an indicator, 0: not */
    float *low, *high;          /* [n] of the rows of training, standardised; infinite: not known */
} ll_stack_columns;

/* mean 0, sd 1, no indicators. */
llap_status ll_stack_columns_init(ll_stack_columns *c, const ll_stack_layout *l, bool anchored,
                                  bool levels);
void        ll_stack_columns_deinit(ll_stack_columns *c); /* { 0 } is fine */

void ll_stack_columns_fit(ll_stack_columns *c, const ll_stack_raw *raw, int64_t n);
void ll_stack_columns_count(ll_stack_columns *c); /* width, where `missing` was set otherwise */
/* row [width]; the result is how far the column that is furthest out lies outside of the range of
 * training, in its deviations, but for those that go on beyond it anyway. */
double ll_stack_columns_put(const ll_stack_columns *c, const ll_stack_raw *raw, float *row);

#endif
