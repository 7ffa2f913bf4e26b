#include "data/windows/spans.h"

#include "base/alloc.h"

/* As training keeps them: windows whose whole horizon the record has. */
static llap_status keep_covered(const llap_panel *p, const ll_spans *s, ll_windows *w)
{
    uint8_t *covered = ll_new((size_t)w->n, sizeof *covered);
    if (covered == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t last = p->time[p->start[w->at[i].entity + 1] - 1];
        covered[i] = ll_elapsed(ll_window_end(w, &w->at[i]), last) >= (uint64_t)s->horizon;
    }
    ll_windows_keep(w, covered);
    ll_free(covered);
    return LLAP_OK;
}

llap_status ll_spans_fit(const llap_panel *p, const int64_t *target, int64_t n_targets,
                         const ll_spans *s, bool *fit)
{
    const ll_window_opts o = {
        .context_ns = s->context, .horizon_ns = s->horizon, .target = target, .n_targets = n_targets
    };
    ll_windows   *w = NULL;
    ll_split     *split = NULL;
    ll_split_opts shares = LL_SPLIT_DEFAULT;
    *fit = false;
    if (s->even) shares.train = 0.5, shares.val = 0.25;
    llap_status st = ll_windows_create(p, &o, &w);
    if (st == LLAP_OK) st = keep_covered(p, s, w);
    if (st == LLAP_OK && w->n > 0) {
        st = ll_split_create(w, &shares, &split);
        *fit = st == LLAP_OK;
        if (st == LLAP_EINVAL) st = LLAP_OK;
    }
    ll_split_destroy(split);
    ll_windows_destroy(w);
    return st;
}

llap_status ll_spans_shorten(const llap_panel *p, const int64_t *target, int64_t n_targets,
                             int64_t step, ll_spans *s)
{
    const ll_spans asked = *s;
    llap_status    st = LLAP_OK;
    bool           fit = false;
    for (int even = 0; even < 2 && st == LLAP_OK && !fit; even++) {
        *s = asked;
        s->even = even == 1;
        while (s->horizon >= step) {
            st = ll_spans_fit(p, target, n_targets, s, &fit);
            if (st != LLAP_OK || fit || s->horizon == step) break;
            const int64_t steps = s->horizon / step * 3 / 4;
            s->horizon = (steps < 1 ? 1 : steps) * step;
            if (s->context > 2 * s->horizon) s->context = 2 * s->horizon;
        }
    }
    if (!fit) *s = (ll_spans){ 0 };
    return st;
}
