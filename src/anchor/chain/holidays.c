#include "anchor/chain/holidays.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

llap_status ll_holidays_create(size_t n, ll_holiday_list **out)
{
    ll_holiday_list *h = ll_new(1, sizeof *h);
    *out = NULL;
    if (h == NULL) return LLAP_ENOMEM;
    h->n = n;
    h->day = ll_new(n, sizeof *h->day);
    if (h->day == NULL) {
        ll_free(h);
        return LLAP_ENOMEM;
    }
    *out = h;
    return LLAP_OK;
}

llap_status ll_holidays_copy(const ll_holiday_list *h, ll_holiday_list **out)
{
    const llap_status st = ll_holidays_create(h->n, out);
    if (st == LLAP_OK && h->n > 0) memcpy((*out)->day, h->day, h->n * sizeof *h->day);
    return st;
}

void ll_holidays_destroy(ll_holiday_list *h)
{
    if (h == NULL) return;
    ll_free(h->day);
    ll_free(h);
}

llap_status ll_holidays_check(const ll_holiday_list *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct ll_holiday *d = &h->day[i];
        const bool               later = i == 0 || d->start >= h->day[i - 1].end;
        const bool               days = fmod(d->shift, 24.0) == 0.0 && fabs(d->shift) <= 72.0;
        if (!(d->start < d->end) || !later || !days)
            return ll_fail(LLAP_EFORMAT,
                           "holidays: number %zu: from %g to %g h, %g h from Sunday: expected days "
                           "in order",
                           i, d->start, d->end, d->shift);
    }
    return LLAP_OK;
}

bool ll_holiday_at(const ll_holiday_list *h, double t, double *shift)
{
    size_t lo = 0, hi = h->n; /* the first day that ends after t */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (h->day[mid].end <= t) lo = mid + 1;
        else hi = mid;
    }
    if (lo == h->n || t < h->day[lo].start) return false;
    *shift = h->day[lo].shift;
    return true;
}
