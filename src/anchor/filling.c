/* What filling needs beyond forecasting: a kernel that is right over short distances, and its own
 * calibration. A kernel fitted over a horizon of days is far too wide next to a reading. */
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <math.h>

/* Draws contexts, and asks for each of their readings just before it comes. */
typedef struct drawer {
    const ll_anchor_data       *data;
    const ll_anchor_model_opts *opts;
    const ll_anchor_model      *model;
    const anchor_rows          *rows;
    ll_origin                  *origin; /* [n_rows] */
    anchor_batch                batch;
    ll_anchor_spec              spec;   /* of filling_spec */
    double                     *before; /* times, of all windows of a step */
} drawer;

/* What lies far behind a gap says next to nothing about it, so that a long context is cut short
 * here, not thinned: distances between readings are what is learnt. */
static ll_anchor_spec filling_spec(const ll_anchor_model *m, const ll_anchor_model_opts *o)
{
    ll_anchor_spec spec = m->spec;
    const size_t   most = 2 * o->points;
    if (most > 0 && (spec.max_obs == 0 || spec.max_obs > most)) spec.max_obs = most;
    return spec;
}

static void drawer_deinit(drawer *d)
{
    anchor_batch_deinit(&d->batch);
    ll_free(d->origin);
    ll_free(d->before);
}

static llap_status draw(void *user, int64_t step, size_t n_rows, ll_anchor_window *out)
{
    drawer      *d = user;
    const ll_rng rng = ll_rng_make(d->opts->seed, LL_STREAM_FIT, 1, 0, (uint32_t)step);
    size_t       n_obs = 0;
    for (size_t i = 0; i < n_rows; i++)
        d->origin[i] = d->data->train[ll_rng_below(&rng, i, d->data->n_train)];
    anchor_batch_deinit(&d->batch);
    ll_free(d->before);
    d->before = NULL;
    anchor_cut how = anchor_cut_of(d->model, NULL);
    how.spec = &d->spec;
    const llap_status st =
        anchor_batch_init(&d->batch, how, d->rows, d->data->n_series, d->origin, n_rows);
    if (st != LLAP_OK) return st;
    for (size_t i = 0; i < n_rows; i++) n_obs += d->batch.window[i].n_obs;
    double *at = d->before = ll_new(n_obs, sizeof *d->before);
    if (at == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n_rows; i++) {
        out[i] = d->batch.window[i];
        for (size_t j = 0; j < out[i].n_obs; j++) at[j] = nextafter(out[i].t[j], -INFINITY);
        out[i].n_query = out[i].n_obs;
        out[i].t_query = at;
        out[i].target = d->batch.again[i];
        at += out[i].n_obs;
    }
    assert(at == d->before + n_obs && d->batch.n == n_rows);
    return LLAP_OK;
}

static llap_status fit_kernel(ll_anchor_model *m, const ll_anchor_data *data,
                              const ll_anchor_model_opts *o, const anchor_rows *rows)
{
    drawer d = { .data = data, .opts = o, .model = m, .rows = rows, .spec = filling_spec(m, o) };
    ll_anchor_fit_opts fit = o->fit;
    fit.loss = LL_ANCHOR_CRPS;
    fit.nu_floor = 1e-4;
    fit.var_floor = ANCHOR_FILL_FLOOR;
    fit.name = "filling";
    fit.before = anchor_course_of(o, data->n_series, data->n_valid > 0).filling;
    d.origin = ll_new(fit.n_rows, sizeof *d.origin);
    if (d.origin == NULL) return LLAP_ENOMEM;
    assert(data->n_train > 0); /* ll_anchor_model_fit has asked */
    ll_anchor_kernel k =
        anchor_kernel_still(o->start.n_terms > 0 ? o->start : ll_anchor_kernel_hourly());
    const llap_status st = ll_anchor_fit(&k, &fit, draw, &d);
    drawer_deinit(&d);
    if (st == LLAP_OK) m->fill_kernel = k;
    return st;
}

/* Readings of a context hidden and asked for, and how far off the answers were. */
typedef struct quiz {
    double *y; /* [n_max] what is left */
    double *t; /* [n_max] of the hidden */
    double *truth;
    double *mean, *var;
    double *past, *both; /* residuals of all windows so far */
    double *lead;        /* zeros */
    size_t  n;           /* of them */
} quiz;

static void quiz_deinit(quiz *q)
{
    double *const arrays[] = { q->y, q->t, q->truth, q->mean, q->var, q->past, q->both, q->lead };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

static llap_status quiz_init(quiz *q, const anchor_batch *b)
{
    size_t longest = 0, all = 0;
    for (size_t i = 0; i < b->n; i++) {
        all += b->window[i].n_obs;
        if (b->window[i].n_obs > longest) longest = b->window[i].n_obs;
    }
    double **const arrays[] = { &q->y, &q->t, &q->truth, &q->mean, &q->var };
    double **const whole[] = { &q->past, &q->both, &q->lead };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = ll_new(longest, sizeof(double));
        if (*arrays[i] == NULL) return LLAP_ENOMEM;
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        *whole[i] = ll_new(all, sizeof(double));
        if (*whole[i] == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

static void keep(const quiz *q, size_t n, double *residual)
{
    for (size_t j = 0; j < n; j++)
        residual[j] = (q->truth[j] - q->mean[j]) / sqrt(fmax(q->var[j], ANCHOR_FILL_FLOOR));
}

/* Hides 30 % of a window, whose readings are again [n_obs] as targets. */
static llap_status ask(quiz *q, const ll_anchor_model *m, const ll_anchor_window *full,
                       const double *again, const ll_rng *rng)
{
    const double     share = 0.3;
    size_t           n = 0;
    ll_anchor_window w = *full;
    for (size_t j = 0; j < w.n_obs; j++) {
        q->y[j] = full->y[j];
        if (isnan(q->y[j]) || !(ll_rng_uniform(rng, j) < share)) continue;
        q->y[j] = NAN;
        q->t[n] = full->t[j];
        q->truth[n++] = again[j];
    }
    w.y = q->y;
    assert(n <= w.n_obs);
    w.n_query = n;
    w.t_query = q->t;
    ll_anchor_posterior *post = NULL;
    double              *means[] = { q->mean }, *vars[] = { q->var };
    llap_status          st = ll_anchor_filter(&m->fill_kernel, &w, 1, means, vars, NULL);
    if (st != LLAP_OK) return st;
    keep(q, n, q->past + q->n);
    st = ll_anchor_condition(&m->fill_kernel, &w, &post);
    if (st == LLAP_OK) st = ll_anchor_marginals(post, LL_ANCHOR_NOISY, q->mean, q->var);
    if (st == LLAP_OK) keep(q, n, q->both + q->n);
    if (st == LLAP_OK) q->n += n;
    ll_anchor_posterior_destroy(post);
    return st;
}

static llap_status calibrate(ll_anchor_model *m, const ll_anchor_data *d,
                             const ll_anchor_model_opts *o, const anchor_rows *rows)
{
    anchor_batch         b;
    quiz                 q = { 0 };
    anchor_cut           how = anchor_cut_of(m, &m->fill_kernel);
    const ll_anchor_spec spec = filling_spec(m, o);
    how.spec = &spec;
    llap_status st = anchor_batch_init(&b, how, rows, d->n_series, d->valid, d->n_valid);
    if (st != LLAP_OK) return st;
    st = quiz_init(&q, &b);
    for (size_t i = 0; i < b.n && st == LLAP_OK; i++) {
        const ll_rng rng = ll_rng_make(o->seed, LL_STREAM_MASK, i, 0, 0);
        st = ask(&q, m, &b.window[i], b.again[i], &rng);
    }
    if (st == LLAP_OK) st = ll_calibration_fit(q.lead, q.past, q.n, 0, 0, 1.0, &m->fill_past);
    if (st == LLAP_OK) st = ll_calibration_fit(q.lead, q.both, q.n, 0, 0, 1.0, &m->fill_both);
    quiz_deinit(&q);
    anchor_batch_deinit(&b);
    return st;
}

llap_status anchor_fit_filling(ll_anchor_model *m, const ll_anchor_data *d,
                               const ll_anchor_model_opts *o)
{
    anchor_rows *rows = NULL;
    llap_status  st = anchor_rows_create(m->chain, d->series, d->n_series, &rows);
    if (st == LLAP_OK) st = fit_kernel(m, d, o, rows);
    if (st == LLAP_OK && d->n_valid > 0) st = calibrate(m, d, o, rows);
    anchor_rows_destroy(rows, d->n_series);
    return st;
}
