#include "stack/trace.h"

#include "base/alloc.h"
#include "base/bisect.h"

#include <assert.h>
#include <math.h>

llap_status ll_trace_init(ll_trace *r, size_t room)
{
    *r = (ll_trace){ .room = room };
    r->t = ll_new(4 * room + 2, sizeof *r->t);
    if (r->t == NULL) return LLAP_ENOMEM;
    r->x = r->t + room;
    r->sum = r->x + room;
    r->squares = r->sum + room + 1;
    return LLAP_OK;
}

void ll_trace_deinit(ll_trace *r)
{
    ll_free(r->t);
    *r = (ll_trace){ 0 };
}

void ll_trace_add(ll_trace *r, double t, double x)
{
    assert(r->n < r->room && (r->n == 0 || r->t[r->n - 1] <= t) && isfinite(x));
    r->t[r->n] = t;
    r->x[r->n] = x;
    r->sum[r->n + 1] = r->sum[r->n] + x;
    r->squares[r->n + 1] = r->squares[r->n] + x * x;
    r->n++;
}

size_t ll_trace_upto(const ll_trace *r, double s) { return ll_count_upto(r->t, r->n, s); }

double ll_trace_at(const ll_trace *r, double s, double oldest)
{
    const size_t n = ll_trace_upto(r, s);
    return n > 0 && r->t[n - 1] > oldest ? r->x[n - 1] : NAN;
}

double ll_trace_last(const ll_trace *r, double s, double oldest)
{
    const size_t n = ll_trace_upto(r, s);
    return n > 0 && r->t[n - 1] > oldest ? r->t[n - 1] : NAN;
}

ll_stretch ll_trace_over(const ll_trace *r, double after, double upto)
{
    const size_t first = ll_trace_upto(r, after), end = ll_trace_upto(r, upto);
    if (end <= first) return (ll_stretch){ 0, NAN, NAN };
    const double n = (double)(end - first), mean = (r->sum[end] - r->sum[first]) / n;
    const double square = (r->squares[end] - r->squares[first]) / n - mean * mean;
    return (ll_stretch){ n, mean, n < 2 ? NAN : sqrt(fmax(square, 0)) };
}
