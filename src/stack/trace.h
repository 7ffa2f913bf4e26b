/* The readings of one series in order of time, with running sums: what was known at any moment, in
 * the time of a binary search. Whatever is asked about time s depends on readings at or before s
 * alone, to the last bit.
 *
 *     ll_trace r;
 *     st = ll_trace_init(&r, n_most);
 *     ll_trace_add(&r, t, x);                        in order of time
 *     last = ll_trace_at(&r, o, o - context);
 *     ll_stretch day = ll_trace_over(&r, o - 24, o);
 *     ll_trace_deinit(&r); */
#ifndef LL_STACK_TRACE_H
#define LL_STACK_TRACE_H

#include <llapdiff/status.h>
#include <stddef.h>

typedef struct ll_trace {
    size_t  n, room;
    double *t, *x;         /* [n] */
    double *sum, *squares; /* [n + 1] of the first so many */
} ll_trace;

llap_status ll_trace_init(ll_trace *r, size_t room);
void        ll_trace_deinit(ll_trace *r); /* { 0 } is fine */
void        ll_trace_add(ll_trace *r, double t, double x);

size_t ll_trace_upto(const ll_trace *r, double s); /* readings at or before s */

/* The last reading at or before s; NaN: there is none, or it is at `oldest` or older. */
double ll_trace_at(const ll_trace *r, double s, double oldest);
/* Its time, likewise. */
double ll_trace_last(const ll_trace *r, double s, double oldest);

typedef struct ll_stretch {
    double n, mean, sd; /* mean NaN where n is 0, sd where it is less than 2 */
} ll_stretch;
ll_stretch ll_trace_over(const ll_trace *r, double after, double upto); /* (after,upto] */

#endif
