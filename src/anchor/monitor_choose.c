#include "anchor/monitor_choose.h"

#include "anchor/chain/quantile.h"
#include "base/alloc.h"
#include "base/sort.h"

#include <math.h>
#include <stdint.h>

/* The furthest that a context lies out, in u. */
static double furthest(const anchor_batch *b)
{
    double most = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        double       sum = 0.0, n = 0.0;
        const double s = b->s[i], m = b->m[i];
        for (size_t j = 0; j < b->window[i].n_obs; j++)
            if (!isnan(b->window[i].y[j])) sum += m + s * b->window[i].y[j], n += 1.0;
        most = fmax(most, anchor_far_out(sum, n));
    }
    return most;
}

llap_status anchor_set_monitor(ll_anchor_model *m, const ll_anchor_data *d,
                               const ll_anchor_model_opts *o, const anchor_rows *rows)
{
    enum { WINDOWS = 256 };
    const double least = 5.0, share = .995, factor = 2.5, room = 1.5;
    const size_t n = d->n_train < WINDOWS ? d->n_train : WINDOWS;
    ll_origin    origin[WINDOWS] = { 0 };
    anchor_batch b;
    size_t       all = 0, known = 0;
    int          worst = LLAP_OK;
    for (size_t i = 0; i < n; i++) origin[i] = d->train[i * d->n_train / n];
    llap_status st =
        anchor_batch_init(&b, anchor_cut_of(m, &m->kernel), rows, d->n_series, origin, n);
    if (st != LLAP_OK) return st;
    /* Long windows have enough readings in a few. */
    const size_t longest = o->points > 0 ? 2 * o->points : SIZE_MAX;
    size_t       at[WINDOWS], every = 1;
    for (size_t i = 0; i < n; i++) at[i] = all, all += b.window[i].n_obs;
    while (all / every > n * longest && every < n) every *= 2;
    double *a = ll_new(all, sizeof *a);
    if (a == NULL) worst = LLAP_ENOMEM;
    for (size_t i = 0; a != NULL && i < all; i++) a[i] = NAN;
#pragma omp parallel for schedule(dynamic, 4) reduction(max : worst) if (a != NULL)
    for (size_t i = 0; i < n; i += every) {
        const llap_status one =
            a == NULL ? LLAP_OK : ll_anchor_surprises(&m->kernel, &b.window[i], a + at[i]);
        if ((int)one > worst) worst = (int)one;
    }
    for (size_t i = 0; worst == LLAP_OK && i < all; i++)
        if (!isnan(a[i])) a[known++] = a[i];
    m->kernel.monitor = least;
    if (worst == LLAP_OK && known > 0) {
        ll_sort_doubles(a, known);
        m->kernel.monitor = fmax(least, factor * ll_quantile(a, known, share));
    }
    m->reach = room * furthest(&b);
    ll_free(a);
    anchor_batch_deinit(&b);
    return (llap_status)worst;
}
