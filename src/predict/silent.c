#include "predict/silent.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "predict/view/fill_view.h"

#include <math.h>
#include <string.h>

/* Rows of the context of an entity's last row: first .. its end. */
static int64_t context_start(const llap_model *m, const llap_panel *p, int64_t e)
{
    const int64_t last = p->start[e + 1] - 1;
    int64_t       r = last;
    while (r > p->start[e] &&
           ll_elapsed(p->time[r - 1], p->time[last]) < (uint64_t)m->frame.context)
        r--;
    return r;
}

static bool is_silent(const llap_panel *p, int64_t first, int64_t end, int64_t var)
{
    bool read = false;
    for (int64_t r = first; r < end && !read; r++) read = ll_panel_observed(p, r, var);
    return !read;
}

static llap_status copy_panel(const llap_panel *p, ll_panel_draft *d, llap_panel **out)
{
    const int64_t cells = p->n_rows * p->n_vars;
    *d = ll_panel_draft_of(p);
    const llap_status st = ll_panel_create(d, out);
    if (st != LLAP_OK) return st;
    memcpy(d->time, p->time, (size_t)p->n_rows * sizeof *d->time);
    memcpy(d->value, p->value, (size_t)cells * sizeof *d->value);
    memcpy(d->observed, p->observed, (size_t)(cells + 63) / 64 * sizeof *d->observed);
    return LLAP_OK;
}

typedef struct silence {
    const llap_model *m;
    const llap_panel *p;
    ll_fill_view      view;
    ll_panel_draft    d; /* of *out */
    llap_panel      **out;
    double           *y;
} silence;

/* What the others say of one target; how many cells. */
static llap_status fill_context(silence *s, int64_t target, int64_t var, int64_t first, int64_t end,
                                int64_t *n)
{
    const llap_panel *p = s->p;
    llap_status       st = LLAP_OK;
    if (*s->out == NULL) {
        s->y = ll_new((size_t)p->n_rows, sizeof *s->y);
        st = s->y == NULL ? LLAP_ENOMEM : copy_panel(p, &s->d, s->out);
        if (st == LLAP_OK) st = ll_fill_view_init(&s->view, s->m, s->m->filling, p);
    }
    if (st == LLAP_OK) st = ll_fill_view_values(&s->view, target, first, end, s->y);
    for (int64_t r = first; r < end && st == LLAP_OK; r++) {
        const int64_t c = r * p->n_vars + var;
        if (!isfinite(s->y[r - first])) continue;
        s->d.value[c] = (float)s->y[r - first];
        s->d.observed[c >> 6] |= UINT64_C(1) << (c & 63);
        ++*n;
    }
    return st;
}

llap_status ll_fill_silent(const llap_model *m, const llap_panel *p, const int64_t *var,
                           const ll_queries *q, const llap_log *log, llap_panel **out)
{
    silence     s = { .m = m, .p = p, .out = out };
    size_t      n = 0;
    int64_t     before = -1;
    const char *first = NULL;
    llap_status st = LLAP_OK;
    *out = NULL;
    if (m->filling == NULL) return LLAP_OK;
    for (size_t i = 0; i < q->n && st == LLAP_OK; i++) {
        const int64_t e = q->entity[i], end = p->start[e + 1];
        int64_t       cells = 0;
        if (e == before || end == p->start[e] || q->origin[i] != p->time[end - 1]) continue;
        const int64_t from = context_start(m, p, e);
        for (int64_t k = 0; k < m->frame.n_targets && st == LLAP_OK; k++)
            if (ll_fill_view_answers(m->filling, k) && is_silent(p, from, end, var[k]))
                st = fill_context(&s, k, var[k], from, end, &cells);
        if (cells > 0 && n++ == 0) first = p->entity[e];
        before = e;
    }
    if (st == LLAP_OK && n > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "%zu of %zu forecasts ('%s'%s) have a target without a reading in their context: "
                "it is forecast from what the other sensors read",
                n, q->n, ll_text_show(first).text, n > 1 ? ", ..." : "");
    if (st != LLAP_OK || n == 0) {
        llap_panel_destroy(*out);
        *out = NULL;
    }
    ll_fill_view_deinit(&s.view);
    ll_free(s.y);
    return st;
}
