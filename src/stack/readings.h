/* The readings of one series in order of time, with running sums: what was known at any moment, in
 * the time of a binary search. Whatever is asked about time s depends on readings at or before s
 * alone, to the last bit.
 *
 *     ll_readings r;
 *     st = ll_readings_init(&r, n_most);
 *     ll_readings_add(&r, t, x);                        in order of time
 *     last = ll_readings_at(&r, o, o - context);
 *     ll_stretch day = ll_readings_over(&r, o - 24, o);
 *     ll_readings_deinit(&r); */
#ifndef LL_STACK_READINGS_H
#define LL_STACK_READINGS_H

#include <llapdiff/status.h>
#include <stddef.h>

typedef struct ll_readings {
    size_t  n, room;
    double *t, *x;         /* [n] */
    double *sum, *squares; /* [n + 1] of the first so many */
} ll_readings;

llap_status ll_readings_init(ll_readings *r, size_t room);
void        ll_readings_deinit(ll_readings *r); /* { 0 } is fine */
void        ll_readings_add(ll_readings *r, double t, double x);

size_t ll_readings_upto(const ll_readings *r, double s); /* readings at or before s */

/* The last reading at or before s; NaN: there is none, or it is at `oldest` or older. */
double ll_readings_at(const ll_readings *r, double s, double oldest);
/* Its time, likewise. */
double ll_readings_last(const ll_readings *r, double s, double oldest);

typedef struct ll_stretch {
    double n, mean, sd; /* mean NaN where n is 0, sd where it is less than 2 */
} ll_stretch;
ll_stretch ll_readings_over(const ll_readings *r, double after, double upto); /* (after,upto] */

#endif
