#include "serve/decimate.h"

#include "base/alloc.h"

#include <assert.h>

llap_status ll_decimate_begin(ll_decimated *d, int64_t from, int64_t to, int64_t n_rows,
                              int64_t stretches)
{
    assert(from <= to && stretches > 0 && stretches <= LL_STRETCHES_MAX);
    *d = (ll_decimated){ .from = from, .exact = n_rows <= 2 * stretches };
    d->room = d->exact ? n_rows : stretches;
    d->width = ll_elapsed(from, to) / (uint64_t)stretches;
    if (d->width < UINT64_MAX) d->width++; /* the last row is within, too */
    d->point = ll_new((size_t)(d->room > 0 ? d->room : 1), sizeof *d->point);
    return d->point == NULL ? LLAP_ENOMEM : LLAP_OK;
}

/* In stretches, n is the number of points up to the last one that has a row; mean is a sum until
 * the end. */
void ll_decimate_add(ll_decimated *d, int64_t time, double low, double mean, double high)
{
    if (d->exact) {
        assert(d->n < d->room);
        d->point[d->n++] = (ll_decimated_point){ time, low, mean, high, isnan(mean) ? 0 : 1 };
        return;
    }
    uint64_t at = ll_elapsed(d->from, time) / d->width;
    if (at == (uint64_t)d->room) at--; /* of a width that could not be one more */
    assert(time >= d->from && at < (uint64_t)d->room && (int64_t)at + 1 >= d->n);
    ll_decimated_point *p = &d->point[at];
    d->n = (int64_t)at + 1;
    if (isnan(mean)) return;
    if (p->n == 0 || low < p->low) p->low = low;
    if (p->n == 0 || high > p->high) p->high = high;
    p->mean += mean;
    p->n++;
}

void ll_decimate_end(ll_decimated *d)
{
    int64_t first = 0;
    if (d->exact) return;
    while (first < d->n && d->point[first].n == 0) first++;
    for (int64_t i = first; i < d->n; i++) {
        ll_decimated_point p = d->point[i];
        const uint64_t     middle = (uint64_t)i * d->width + d->width / 2;
        p.time = (int64_t)((uint64_t)d->from + middle);
        p.mean = p.n == 0 ? NAN : p.mean / (double)p.n;
        if (p.n == 0) p.low = p.high = NAN;
        d->point[i - first] = p;
    }
    d->n -= first;
}

void ll_decimate_deinit(ll_decimated *d)
{
    ll_free(d->point);
    *d = (ll_decimated){ 0 };
}
