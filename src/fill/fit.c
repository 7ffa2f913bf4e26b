#include "fill/fit.h"

#include "anchor/chain/chain.h"
#include "anchor/chain/quantile.h"
#include "base/alloc.h"
#include "fill/fitting.h"
#include "fill/need.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { CELLS_SMALL = 1200000, EXAMPLES = 500, CELLS = 40000, CELLS_LEAST = 4000 };

static void fitting_deinit(fitting *g)
{
    for (int c = 0; c < FILL_COPIES; c++) {
        ll_fill_table_deinit(&g->copy[c].t);
        ll_free(g->copy[c].t.u);
        ll_free(g->copy[c].hidden);
        ll_free(g->copy[c].need);
        ll_free(g->copy[c].full);
    }
    for (int v = 0; v < LL_FILL_VARS; v++) {
        ll_free(g->of[v].row);
        ll_free(g->of[v].cell);
        ll_free(g->of[v].answer);
        ll_free(g->apart[v]);
    }
    ll_free(g->block);
    ll_free(g->u);
}

/* ---- scales ---- */

typedef struct moments {
    double mean, sd;
} moments;

/* Of the training values of one variable, through a curve; n: how many. */
static moments moments_of(const ll_fill_data *d, int64_t v, const ll_fill_scale *s, double *n)
{
    double sum = 0, square = 0;
    *n = 0;
    for (int pass = 0; pass < 2; pass++) {
        const double mean = *n > 0 ? sum / *n : 0;
        for (int64_t r = 0; r < d->table.n_rows; r++) {
            const double y = d->table.u[v * d->table.n_rows + r];
            if (isnan(y) || !d->train[r]) continue;
            const double x = s == NULL ? y : ll_yeo_johnson((y - s->mean) / s->sd, s->lambda);
            if (pass == 0) sum += x, ++*n;
            else square += (x - mean) * (x - mean);
        }
    }
    const double sd = *n > 0 ? sqrt(square / *n) : 0;
    return (moments){ *n > 0 ? sum / *n : 0, sd > 0 ? sd : 1 };
}

/* The curve under which the training values are most nearly normal, of 0 .. 2. */
static double best_lambda(const ll_fill_data *d, int64_t v, const ll_fill_scale *s)
{
    double best = 1, most = -INFINITY, grown = 0, n;
    for (int64_t r = 0; r < d->table.n_rows; r++) {
        const double z = (d->table.u[v * d->table.n_rows + r] - s->mean) / s->sd;
        if (!isnan(z) && d->train[r]) grown += copysign(log1p(fabs(z)), z);
    }
    for (int i = 0; i <= 20; i++) {
        ll_fill_scale try = *s;
        try.lambda = i / 10.0;
        const moments m = moments_of(d, v, &try, &n);
        const double  likely = -n * log(m.sd) + (try.lambda - 1) * grown;
        if (likely > most) most = likely, best = try.lambda;
    }
    return best;
}

static void fit_scale(fitting *g, int64_t v, bool bend)
{
    ll_fill_scale *s = &g->f->scale[v];
    double         n;
    const moments  y = moments_of(g->d, v, NULL, &n);
    *s = (ll_fill_scale){ .mean = y.mean, .sd = y.sd, .lambda = 1 };
    if (bend) s->lambda = best_lambda(g->d, v, s);
    const moments bent = moments_of(g->d, v, s, &n);
    s->middle = bent.mean;
    s->spread = bent.sd;
    for (int64_t i = v * g->d->table.n_rows; i < (v + 1) * g->d->table.n_rows; i++)
        g->u[i] = ll_fill_scale_u(s, g->d->table.u[i]);
}

/* ---- hidden cells ---- */

static llap_status copy_init(fitting *g, int c)
{
    copy        *k = &g->copy[c];
    const size_t n = (size_t)(g->d->table.n_rows * g->f->n_vars);
    k->t = g->d->table;
    k->t.u = ll_new(n, sizeof *k->t.u);
    k->full = ll_new(n, sizeof *k->full);
    k->hidden = ll_new(n, 1);
    k->need = ll_new(n, 1);
    if (!k->t.u || !k->full || !k->hidden || !k->need) return LLAP_ENOMEM;
    memcpy(k->t.u, g->u, n * sizeof *k->t.u);
    uint8_t mortal[LL_FILL_VARS];
    for (int64_t v = 0; v < g->f->n_vars; v++) mortal[v] = g->f->target[v] >= 0;
    static const ll_fill_pattern pattern[FILL_FEW] = { LL_FILL_RANDOM, LL_FILL_OUTAGES,
                                                       LL_FILL_DEAD };
    const ll_fill_hiding         how = { .pattern = pattern[c % FILL_FEW],
                                         .unit = g->f->day ? 1 : g->f->step,
                                         .stays = g->d->by_entity,
                                         .mortal = mortal,
                                         .deaths = 3,
                                         .seed = g->d->seed + 1000 * (uint64_t)(c / FILL_FEW) };
    ll_fill_hide(&k->t, &how, k->hidden);
    for (size_t i = 0; i < n; i++)
        if (k->hidden[i]) k->t.u[i] = NAN;
    return ll_fill_table_index(g->f, &k->t);
}

static llap_status list_cells(fitting *g, int64_t v, int64_t n_targets)
{
    const int64_t n_rows = g->d->table.n_rows;
    const int64_t most =
        g->f->target[v] >= 0 && CELLS / n_targets > CELLS_LEAST ? CELLS / n_targets : CELLS_LEAST;
    cells *s = &g->of[v];
    s->row = ll_new((size_t)(g->n_copies * (most + 1)), sizeof *s->row);
    s->cell = ll_new((size_t)(g->n_copies * (most + 1)), sizeof *s->cell);
    if (s->row == NULL || s->cell == NULL) return LLAP_ENOMEM;
    for (int c = 0; c < g->n_copies; c++) {
        const uint8_t *hidden = g->copy[c].hidden + v * n_rows;
        int64_t        all = 0, seen = 0;
        s->of_copy[c] = s->n;
        for (int64_t r = 0; r < n_rows; r++) all += hidden[r];
        const int64_t every = all / most + 1;
        for (int64_t r = 0; r < n_rows; r++)
            if (hidden[r] && seen++ % every == 0) s->row[s->n++] = r;
    }
    s->of_copy[g->n_copies] = s->n;
    return LLAP_OK;
}

/* What the passes are asked for: hidden cells after both, of inputs after the first alone, and
 * unrest. */
static void find_need(fitting *g)
{
    const ll_filling *f = g->f;
#pragma omp parallel for schedule(dynamic, 1)
    for (int c = 0; c < g->n_copies; c++) {
        copy *k = &g->copy[c];
        for (int64_t v = 0; v < f->n_vars; v++) {
            const cells  *s = &g->of[v];
            const uint8_t mark = LL_FILL_NEED_0 | (f->target[v] >= 0 ? LL_FILL_NEED_1 : 0);
            for (int64_t i = s->of_copy[c]; i < s->of_copy[c + 1]; i++)
                ll_fill_need_of(f, &k->t, v, s->row[i], mark, k->need);
        }
        ll_fill_need_unrest(f, &k->t, k->need);
        ll_fill_need_before(f, &k->t, k->need);
    }
}

static llap_status fit_kernel(fitting *g, int64_t v)
{
    const copy      *k = &g->copy[0]; /* at random */
    const cells     *s = &g->of[v];
    const int64_t    every = s->of_copy[1] / EXAMPLES + 1;
    ll_fill_example *x = ll_new(EXAMPLES, sizeof *x);
    int64_t          n = 0;
    if (x == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < s->of_copy[1] && n < EXAMPLES; i += every) {
        int32_t       at[LL_FILL_LOOK];
        const int64_t row = s->row[i];
        if (!g->d->train[row]) continue;
        x[n].n = ll_fill_around(g->f, &k->t, v, row, at);
        x[n].truth = g->u[v * k->t.n_rows + row];
        for (int j = 0; j < x[n].n; j++) {
            x[n].t[j] = k->t.t[at[j]] - k->t.t[row];
            x[n].y[j] = k->t.u[v * k->t.n_rows + at[j]];
        }
        n++;
    }
    g->f->kernel[v] = ll_fill_kernel_start(g->f->day, g->f->step);
    ll_fill_kernel_fit(x, n, k->t.unit, &g->f->kernel[v]);
    ll_free(x);
    return LLAP_OK;
}

static llap_status measure_cells(fitting *g, int64_t v)
{
    ll_fill_lags l;
    cells       *s = &g->of[v];
    llap_status  st = LLAP_OK;
    ll_fill_lags_init(&l, &g->f->kernel[v], g->copy[0].t.unit);
    for (int64_t first = 0; first < s->n && st == LLAP_OK; first += LL_FILL_AT_ONCE) {
        const int64_t end = s->n - first < LL_FILL_AT_ONCE ? s->n : first + LL_FILL_AT_ONCE;
#pragma omp parallel
        {
            ll_fill_smoother by;
            ll_fill_smoother_init(&by, g->f, &l, NULL, v);
#pragma omp for schedule(static)
            for (int64_t i = first; i < end; i++) {
                const copy *k = fill_copy_of(g, s, i);
                by.t = &k->t;
                ll_fill_residuals(&by, k->full, s->row[i], g->u[v * k->t.n_rows + s->row[i]],
                                  &s->cell[i]);
            }
        }
        st = fill_report(g, "covariances", v);
    }
    return st;
}

/* b above it is of a long gap. */
static llap_status find_far(fitting *g, int64_t v)
{
    const cells *s = &g->of[v];
    double      *b = ll_new((size_t)s->n + 1, sizeof *b);
    if (b == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < s->n; i++) b[i] = s->cell[i].b;
    ll_sort_doubles(b, (size_t)s->n);
    g->f->far[v] = s->n > 0 ? 1.5 * ll_quantile(b, (size_t)s->n, 0.5) : 1;
    ll_free(b);
    return LLAP_OK;
}

/* ---- covariances, of all training cells and of those outside of each block ---- */

static llap_status make_blocks(fitting *g)
{
    const ll_fill_table *t = &g->d->table;
    double               first = INFINITY, last = -INFINITY;
    g->block = ll_new((size_t)t->n_rows + 1, 1);
    if (g->block == NULL) return LLAP_ENOMEM;
    for (int64_t r = 0; r < t->n_rows; r++)
        if (g->d->train[r]) first = fmin(first, t->t[r]), last = fmax(last, t->t[r]);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const double part = g->d->by_entity ? (double)t->entity[r] / (double)t->n_entities
                                            : (t->t[r] - first) / (last - first);
        const double b = floor(FILL_BLOCKS * part);
        g->block[r] = (int8_t)(b >= 0 && b < FILL_BLOCKS ? b : FILL_BLOCKS - 1);
    }
    return LLAP_OK;
}

static void make_covs(const ll_fill_moments *m, double *cov)
{
    const int64_t each = m->slots * m->slots;
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t i = 0; i < LL_FILL_LENGTHS * m->n_groups; i++)
        ll_fill_moments_cov(m, i / LL_FILL_LENGTHS, (int)(i % LL_FILL_LENGTHS), cov + i * each);
}

static llap_status leave_blocks_out(fitting *g, int64_t v, const ll_fill_moments *m)
{
    const int64_t S = ll_fill_slots(g->f), each = g->f->n_groups * LL_FILL_LENGTHS * S * S;
    llap_status   st = LLAP_OK;
    g->apart[v] = ll_new(FILL_BLOCKS, (size_t)each * sizeof **g->apart);
    if (g->apart[v] == NULL) return LLAP_ENOMEM;
    for (int b = 0; b < FILL_BLOCKS && st == LLAP_OK; b++) {
        ll_fill_moments others;
        st = ll_fill_moments_init(&others, g->f);
        for (int k = 0; k < FILL_BLOCKS && st == LLAP_OK; k++)
            if (k != b) ll_fill_moments_merge(&others, &m[k]);
        if (st == LLAP_OK) make_covs(&others, g->apart[v] + b * each);
        ll_fill_moments_deinit(&others);
        if (st == LLAP_OK) st = fill_report(g, "covariances", v);
    }
    return st;
}

/* Covariances of the dead become those of long gaps. */
static void take_long(const fitting *g, double *cov)
{
    const int64_t S = ll_fill_slots(g->f);
    for (int64_t i = 0; i < g->f->n_groups; i++)
        memcpy(cov + (i * LL_FILL_LENGTHS + 2) * S * S, cov + (i * LL_FILL_LENGTHS + 1) * S * S,
               (size_t)(S * S) * sizeof *cov);
}

/* whole: validation's cells, too. */
static llap_status fit_cov(fitting *g, int pass, int64_t v, bool whole)
{
    const cells    *s = &g->of[v];
    ll_fill_moments m[FILL_BLOCKS + 1] = { { 0 } }, *all = &m[FILL_BLOCKS];
    llap_status     st = LLAP_OK;
    for (int b = 0; b <= FILL_BLOCKS && st == LLAP_OK; b++) st = ll_fill_moments_init(&m[b], g->f);
    for (int64_t i = 0; st == LLAP_OK && i < s->n; i++) {
        const int64_t row = s->row[i];
        const int     length = ll_fill_length(g->f, &fill_copy_of(g, s, i)->t, v, row, &s->cell[i]);
        if (!whole && !g->d->train[row]) continue;
        ll_fill_moments_add(&m[g->block[row]], ll_fill_group(g->f, &g->d->table, row), length,
                            s->cell[i].d);
    }
    for (int b = 0; b < FILL_BLOCKS && st == LLAP_OK; b++) ll_fill_moments_merge(all, &m[b]);
    if (st == LLAP_OK) make_covs(all, ll_fill_cov(g->f, pass, v, 0, 0));
    if (st == LLAP_OK && pass == 1 && !whole) st = leave_blocks_out(g, v, m);
    if (st == LLAP_OK && (pass == 0 || (whole && !g->own_dead)))
        take_long(g, ll_fill_cov(g->f, pass, v, 0, 0));
    for (int b = 0; b <= FILL_BLOCKS; b++) ll_fill_moments_deinit(&m[b]);
    return st;
}

/* ---- dead sensors ---- */

/* Sums of distances of the dead training cells of a target, out of their blocks: by the covariances
 * of long gaps, and by their own. room: for the covariances of a variable. */
static void judge_dead(const fitting *g, int64_t v, int block, double *room, double *sum)
{
    const cells  *s = &g->of[v];
    const int64_t S = ll_fill_slots(g->f), each = g->f->n_groups * LL_FILL_LENGTHS * S * S;
    const double *cov = g->apart[v] + block * each;
    memcpy(room, cov, (size_t)each * sizeof *room);
    take_long(g, room);
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t        row = s->row[i];
        const ll_fill_table *t = &fill_copy_of(g, s, i)->t;
        const ll_fill_cell  *c = &s->cell[i];
        if (!g->d->train[row] || g->block[row] != block || ll_fill_length(g->f, t, v, row, c) < 2)
            continue;
        for (int own = 0; own < 2; own++)
            sum[own] += fabs(c->mean + c->b * c->d[0] -
                             ll_fill_combine(g->f, own ? cov : room, t, v, row, c).mean);
    }
}

/* Few sensors die in training, and each of them for many cells: their own covariances are used
 * where they are better for other dead sensors, by 2 % of all targets together. */
static llap_status settle_dead(fitting *g)
{
    const int64_t S = ll_fill_slots(g->f), each = g->f->n_groups * LL_FILL_LENGTHS * S * S;
    double       *room = ll_new((size_t)each, sizeof *room), sum[2] = { 0 };
    llap_status   st = room == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < g->f->n_vars * FILL_BLOCKS && st == LLAP_OK; i++) {
        if (g->f->target[i / FILL_BLOCKS] < 0) continue;
        judge_dead(g, i / FILL_BLOCKS, (int)(i % FILL_BLOCKS), room, sum);
        st = fill_report(g, "dead sensors", i / FILL_BLOCKS);
    }
    if (st != LLAP_OK) {
        ll_free(room);
        return st;
    }
    g->own_dead = sum[1] < 0.98 * sum[0];
    for (int64_t v = 0; v < g->f->n_vars && !g->own_dead; v++) {
        if (g->f->target[v] < 0) continue;
        take_long(g, ll_fill_cov(g->f, 1, v, 0, 0));
        for (int b = 0; b < FILL_BLOCKS; b++) take_long(g, g->apart[v] + b * each);
    }
    ll_free(room);
    return LLAP_OK;
}

/* ---- all of it ---- */

static llap_status fit_kernels(fitting *g)
{
    const int64_t V = g->f->n_vars;
    int           worst = LLAP_OK;
    llap_status   st = LLAP_OK;
    for (int64_t first = 0; first < V && st == LLAP_OK; first += 2) { /* a second or so */
        const int64_t end = V - first < 2 ? V : first + 2;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
        for (int64_t v = first; v < end; v++) {
            const int one = (int)fit_kernel(g, v);
            if (one > worst) worst = one;
        }
        st = worst == LLAP_OK ? fill_report(g, "kernels", end) : (llap_status)worst;
    }
    return st;
}

static llap_status fit_passes(fitting *g)
{
    const ll_filling *f = g->f;
    llap_status       st = LLAP_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (int c = 0; c < g->n_copies && st == LLAP_OK; c++) {
            const copy *k = &g->copy[c];
            st = ll_fill_pass(f, &k->t, pass, k->need, g->d->progress, k->full);
        }
        for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
            if (pass == 1 && f->target[v] < 0) continue;
            st = measure_cells(g, v);
            if (pass == 0 && st == LLAP_OK) st = find_far(g, v);
            if (st == LLAP_OK) st = fit_cov(g, pass, v, false);
            if (st == LLAP_OK) st = fill_report(g, "covariances", v + 1);
        }
    }
    return st;
}

llap_status ll_filling_fit(ll_filling *f, const ll_fill_data *d, bool bend, bool trees,
                           double *score)
{
    const bool  small = d->table.n_rows * f->n_vars <= CELLS_SMALL;
    fitting     g = { .f = f, .d = d, .n_copies = trees && small ? FILL_COPIES : FILL_FEW };
    int64_t     n_targets = 0;
    llap_status st = LLAP_OK;
    assert(d->table.n_vars == f->n_vars);
    g.u = ll_new((size_t)(d->table.n_rows * f->n_vars), sizeof *g.u);
    if (g.u == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < f->n_vars; v++) {
        fit_scale(&g, v, bend);
        n_targets += f->target[v] >= 0;
    }
    if (f->n_near > 0) st = fill_fit_near(&g);
    for (int c = 0; c < g.n_copies && st == LLAP_OK; c++) st = copy_init(&g, c);
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) st = list_cells(&g, v, n_targets);
    if (st == LLAP_OK) find_need(&g);
    if (st == LLAP_OK) st = make_blocks(&g);
    if (st == LLAP_OK) st = fit_kernels(&g);
    if (st == LLAP_OK) st = fit_passes(&g);
    if (st == LLAP_OK) st = settle_dead(&g);
    if (st == LLAP_OK) st = fill_fit_spread(&g, score);
    if (st == LLAP_OK && trees) st = fill_fit_rest(&g, score);
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK && trees; v++)
        if (f->target[v] >= 0) st = fit_cov(&g, 1, v, true);
    fitting_deinit(&g);
    return st;
}
