/* Which entities are an entity's neighbours: those whose targets go with its own. */
#include "fill/fitting.h"

#include <math.h>

enum { PAIRED = 1000, PAIRED_LEAST = 50 };

/* The row of an entity at a time, as ll_fill_row_at finds it, for times that grow: from *at on, a
 * row of the entity or its end. */
static int64_t next_row_at(const ll_fill_table *t, int64_t e, double time, double step, int64_t *at)
{
    int64_t best = -1;
    double  far = step / 2;
    while (*at < t->start[e + 1] && t->t[*at] < time) ++*at;
    for (int64_t r = *at - 1; r <= *at; r++)
        if (r >= t->start[e] && r < t->start[e + 1] && fabs(t->t[r] - time) < far) {
            far = fabs(t->t[r] - time);
            best = r;
        }
    return best;
}

/* Correlation of an entity with another at the same times, mean over targets; 0: too few. */
static double likeness(const fitting *g, const ll_fill_table *t, int64_t e, int64_t j)
{
    const int64_t n_rows = t->n_rows, length = t->start[e + 1] - t->start[e];
    const int64_t every = length / PAIRED + 1;
    double        sum = 0, count = 0;
    for (int64_t v = 0; v < g->f->n_vars; v++) {
        double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
        if (g->f->target[v] < 0) continue;
        for (int64_t r = t->start[e], other = t->start[j]; r < t->start[e + 1]; r += every) {
            const double a = g->u[v * n_rows + r];
            if (isnan(a) || !g->d->train[r]) continue;
            const int64_t at = every > 1 ? ll_fill_row_at(t, j, t->t[r], g->f->step)
                                         : next_row_at(t, j, t->t[r], g->f->step, &other);
            const double  b = at < 0 ? NAN : g->u[v * n_rows + at];
            if (isnan(b)) continue;
            n++, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
        }
        const double vx = xx - x * x / n, vy = yy - y * y / n;
        if (n < PAIRED_LEAST || !(vx > 0) || !(vy > 0)) continue;
        sum += fabs(xy - x * y / n) / sqrt(vx * vy);
        count++;
    }
    return count > 0 ? sum / count : 0;
}

/* Best first. The table's entities are the filling's. */
static void find_near_of(const fitting *g, int64_t e)
{
    const ll_filling    *f = g->f;
    const ll_fill_table *t = &g->d->table;
    double               best[LL_FILL_NEAR] = { 0 };
    int32_t             *near = f->near + t->known[e] * f->n_near;
    for (int64_t k = 0; k < f->n_near; k++) near[k] = -1;
    for (int64_t j = 0; j < t->n_entities; j++) {
        const double r = j == e ? 0 : likeness(g, t, e, j);
        int64_t      k = f->n_near;
        while (k > 0 && r > best[k - 1]) k--;
        if (!(r > 0) || k == f->n_near) continue;
        for (int64_t i = f->n_near - 1; i > k; i--) best[i] = best[i - 1], near[i] = near[i - 1];
        best[k] = r;
        near[k] = (int32_t)t->known[j];
    }
}

llap_status fill_fit_near(fitting *g)
{
    enum { AT_ONCE = 8 };
    const int64_t n = g->d->table.n_entities;
    llap_status   st = LLAP_OK;
    for (int64_t first = 0; first < n && st == LLAP_OK; first += AT_ONCE) {
        const int64_t end = n - first < AT_ONCE ? n : first + AT_ONCE;
#pragma omp parallel for schedule(dynamic, 1)
        for (int64_t e = first; e < end; e++) find_near_of(g, e);
        st = fill_report(g, "neighbours", 0);
    }
    return st;
}
