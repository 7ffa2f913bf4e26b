#include "anchor/trial.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

llap_status anchor_trial_init(anchor_trial *t, const ll_anchor_model *m, const anchor_rows *rows,
                              size_t n_series, const ll_origin *origin, size_t n, size_t points)
{
    anchor_cut how = anchor_cut_of(m, &m->kernel);
    how.points = points;
    *t = (anchor_trial){ .rows = rows, .origin = origin, .n = n };
    llap_status st = anchor_batch_init(&t->batch, how, rows, n_series, origin, n);
    if (st == LLAP_OK)
        st = ll_anchor_filter(&m->kernel, t->batch.window, n, t->batch.mean, t->batch.var, NULL);
    if (st != LLAP_OK) anchor_trial_deinit(t);
    return st;
}

void anchor_trial_deinit(anchor_trial *t) { anchor_batch_deinit(&t->batch); }

llap_status anchor_calibrate(ll_anchor_model *m, const anchor_batch *b, const ll_origin *origin,
                             double near, double middle)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < b->n; i++) n += b->window[i].n_query;
    double     *lead = ll_new(n, sizeof *lead), *residual = ll_new(n, sizeof *residual);
    llap_status st = lead == NULL || residual == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < b->n; i++)
        for (size_t q = 0; q < b->window[i].n_query; q++, at++) {
            const double t = b->window[i].t_query[q];
            const double doubt = ll_chain_doubt(m->chain, b->in[i], t) / (b->s[i] * b->s[i]);
            const double sd = anchor_sd(1.0, fmax(b->var[i][q], anchor_floor(m)), doubt);
            lead[at] = t - origin[i].t;
            residual[at] = (b->window[i].target[q] - b->mean[i][q]) / sd;
        }
    assert(st != LLAP_OK || at == n);
    if (st == LLAP_OK)
        st = ll_calibration_fit(lead, residual, n, near, middle, 0.5, &m->calibration);
    ll_free(lead);
    ll_free(residual);
    return st;
}

/* Sum of CRPS over the known queries of window i. */
static double score_window(const ll_anchor_model *m, const anchor_batch *b, const anchor_rows *rows,
                           const ll_origin *origin, size_t i, int64_t *count)
{
    const size_t  series = origin[i].series;
    const double *z = rows[series].z + b->query[i];
    double        sum = 0.0;
    *count = 0;
    const size_t every = b->every[i];
    assert(b->window[i].n_query == 0 ||
           b->query[i] + (b->window[i].n_query - 1) * every < rows[series].n);
    for (size_t q = 0; q < b->window[i].n_query; q++) {
        const double truth = z[q * every];
        if (isnan(truth)) continue;
        const ll_law law = anchor_batch_law(b, m, series, i, q);
        sum += ll_anchor_crps_z(m, &law, truth, NULL);
        ++*count;
    }
    return sum;
}

llap_status anchor_score(const ll_anchor_model *m, const anchor_batch *b, const anchor_rows *rows,
                         const ll_origin *origin, double *crps)
{
    double    *part = ll_new(b->n, sizeof *part), sum = 0.0;
    int64_t   *count = ll_new(b->n, sizeof *count), known = 0;
    const bool ok = part != NULL && count != NULL;
    if (ok) {
#pragma omp parallel for schedule(dynamic, 8)
        for (int64_t i = 0; i < (int64_t)b->n; i++)
            part[i] = score_window(m, b, rows, origin, (size_t)i, &count[i]);
        for (size_t i = 0; i < b->n; i++) sum += part[i], known += count[i];
        *crps = sum / (double)known;
    }
    ll_free(part);
    ll_free(count);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}
