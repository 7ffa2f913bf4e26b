/* Draws of all holes of a table that belong together (docs/spec/filling.md 8): normal scores, whose
 * order says which quantile of a hole's law a draw takes. Within a gap they follow the kernel of
 * the variable given the readings around it; variables of one row the covariance of their matched
 * residuals given those that are read. Entities are drawn independently.
 *
 *     ll_fill_draws d = { 0 };
 *     st = ll_fill_draws_init(&d, f, &t, &how);
 *     p = (ll_fill_draws_of(&d, &t, v, row)[k] + 0.5) / d.n_samples;     of draw k
 *     ll_fill_draws_deinit(&d);                                          { 0 } is fine */
#ifndef LL_FILL_DRAW_H
#define LL_FILL_DRAW_H

#include "fill/fill.h"

typedef struct ll_fill_draws {
    int64_t  n_samples, n;
    int32_t *place; /* [n_vars,n_rows] number of the hole; -1: none */
    int32_t *rank;  /* [n,n_samples] of each draw among those of the hole */
} ll_fill_draws;

typedef struct ll_fill_draws_opts {
    int64_t         n_samples;
    uint64_t        seed;
    const uint64_t *id;     /* [n_entities,n_vars] what tells series apart */
    const uint8_t  *wanted; /* [n_vars,n_rows] cells; those that are read are left out */
} ll_fill_draws_opts;

/* Same bytes for any number of threads. LLAP_ENOMEM. */
llap_status ll_fill_draws_init(ll_fill_draws *d, const ll_filling *f, const ll_fill_table *t,
                               const ll_fill_draws_opts *o);
void        ll_fill_draws_deinit(ll_fill_draws *d);

/* Ranks 0 .. n_samples - 1 of the draws of a cell; NULL: it is none of the holes. */
static inline const int32_t *ll_fill_draws_of(const ll_fill_draws *d, const ll_fill_table *t,
                                              int64_t v, int64_t row)
{
    const int32_t at = d->place == NULL ? -1 : d->place[v * t->n_rows + row];
    return at < 0 ? NULL : d->rank + (int64_t)at * d->n_samples;
}

#endif
