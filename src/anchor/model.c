#include "anchor/model.h"

#include "anchor/midpoints.h"
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/crps.h"
#include "base/error.h"

#include <math.h>

void ll_anchor_model_destroy(ll_anchor_model *m)
{
    if (m == NULL) return;
    ll_chain_destroy(m->chain);
    ll_free(m->loading);
    for (int from = 0; from < 2; from++) ll_free(m->neighbours[from].cov);
    ll_free(m);
}

static llap_status check_parts(const ll_anchor_spec *spec, const ll_anchor_kernel *kernel,
                               double kappa)
{
    if (!(spec->context > 0.0) || !(spec->horizon > 0.0) || !(kappa >= 0.0))
        return ll_fail(LLAP_EINVAL,
                       "anchor: expected context and horizon > 0 and kappa >= 0, "
                       "found %g, %g, %g",
                       spec->context, spec->horizon, kappa);
    return ll_anchor_kernel_check(kernel);
}

llap_status ll_anchor_model_create(const ll_anchor_spec *spec, ll_chain *chain,
                                   const ll_anchor_kernel *kernel, double kappa,
                                   ll_anchor_model **out)
{
    *out = NULL;
    llap_status      st = check_parts(spec, kernel, kappa);
    ll_anchor_model *m = NULL;
    if (st == LLAP_OK) {
        m = ll_new(1, sizeof *m);
        if (m == NULL) st = LLAP_ENOMEM;
    }
    if (st != LLAP_OK) {
        ll_chain_destroy(chain);
        return st;
    }
    *m = (ll_anchor_model){ .spec = *spec,
                            .chain = chain,
                            .kernel = *kernel,
                            .fill_kernel = anchor_kernel_still(*kernel),
                            .kappa = kappa,
                            .var_floor = 1e-3,
                            .calibration = ll_calibration_none(24, 72),
                            .fill_past = ll_calibration_none(0, 0),
                            .fill_both = ll_calibration_none(0, 0),
                            .valid_crps = NAN };
    *out = m;
    return LLAP_OK;
}

/* The score x as others have moved it. */
static double moved(const double *move, double x)
{
    static const double score[LL_LAW_LEVELS] = {
        -1.9599639845400545, -1.2815515655446004, -0.6744897501960817, 0,
        0.6744897501960817,  1.2815515655446004,  1.9599639845400545,
    };
    int i = 0;
    while (i < LL_LAW_LEVELS - 2 && x > score[i + 1]) i++;
    const double at = (x - score[i]) / (score[i + 1] - score[i]);
    return x + (move[i] + at * (move[i + 1] - move[i]));
}

double ll_anchor_score_z(const ll_anchor_model *m, const ll_law *law, double z)
{
    const double u = ll_chain_u_given(m->chain, law->series, law->climate, z);
    const double x = (u - law->mean) / law->sd;
    return law->shape == NULL ? x : ll_calibration_unbend(law->shape, x);
}

double ll_anchor_score(const ll_anchor_model *m, const ll_law *law, double y)
{
    const double held = fmin(fmax(y, m->chain->y_min), m->chain->y_max);
    return ll_anchor_score_z(m, law, ll_chain_z(m->chain, law->series, held));
}

double ll_anchor_quantile_z(const ll_anchor_model *m, const ll_law *law, double x)
{
    if (law->move != NULL) x = moved(law->move, x);
    if (law->shape != NULL) x = ll_calibration_bend(law->shape, x);
    return ll_chain_z_back_given(m->chain, law->series, law->climate, law->mean + law->sd * x);
}

double ll_anchor_quantile(const ll_anchor_model *m, size_t series, const ll_law *law, double x)
{
    return ll_chain_y_back(m->chain, series, ll_anchor_quantile_z(m, law, x));
}

double ll_anchor_crps_z(const ll_anchor_model *m, const ll_law *law, double z, double *mean)
{
    double q[LL_MIDPOINTS], sum = 0.0;
    for (int i = 0; i < LL_MIDPOINTS; i++) {
        q[i] = ll_chain_unit(m->chain, law->series,
                             ll_anchor_quantile_z(m, law, LL_MIDPOINT_SCORE[i]));
        sum += q[i];
    }
    if (mean != NULL) *mean = sum / LL_MIDPOINTS;
    return ll_crps(q, LL_MIDPOINTS, z, false);
}
