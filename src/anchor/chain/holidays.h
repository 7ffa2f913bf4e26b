/* Holidays in a climate: on such a day the terms of the week are those of the same hour of Sunday,
 * and the day has terms of its own, docs/spec/anchor.md 2.15.
 *
 *     double shift;
 *     if (ll_holiday_at(h, t, &shift)) ...          the Sunday's time is t + shift
 */
#ifndef LL_ANCHOR_CHAIN_HOLIDAYS_H
#define LL_ANCHOR_CHAIN_HOLIDAYS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>

enum { LL_HOLIDAY_TERMS = 13, LL_HOLIDAY_MOST = 4096 }; /* 1 and sin, cos of the day, k = 1 .. 6 */

/* Days as hours since 1970-01-01T00:00Z, in order, none over another. */
typedef struct ll_holiday_list {
    size_t n;
    struct ll_holiday {
        double start, end; /* t of the day: start <= t < end */
        double shift;      /* hours to Sunday, -72 .. 72 */
    } * day;
} ll_holiday_list;

llap_status ll_holidays_create(size_t n, ll_holiday_list **out); /* caller owns; all zero */
llap_status ll_holidays_copy(const ll_holiday_list *h, ll_holiday_list **out);
void        ll_holidays_destroy(ll_holiday_list *h); /* NULL is fine */

/* LLAP_EFORMAT: days out of order, or a shift that is no number of days within three. */
llap_status ll_holidays_check(const ll_holiday_list *h);

bool ll_holiday_at(const ll_holiday_list *h, double t, double *shift);

#endif
