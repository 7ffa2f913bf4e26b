#include "model/anchor_model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/midpoints.h"

#include <math.h>

void llap_anchor_model_destroy(llap_anchor_model *m)
{
    if (m == NULL) return;
    llap_chain_destroy(m->chain);
    llap_free(m->loading);
    for (int from = 0; from < 2; from++) llap_free(m->near[from].cov);
    llap_free(m);
}

static llap_status check_parts(const llap_anchor_spec *spec, const llap_anchor_kernel *kernel,
                               double kappa)
{
    if (!(spec->context > 0.0) || !(spec->horizon > 0.0) || !(kappa >= 0.0))
        return llap_fail(LLAP_EINVAL,
                         "anchor: expected context and horizon > 0 and kappa >= 0, "
                         "found %g, %g, %g",
                         spec->context, spec->horizon, kappa);
    return llap_anchor_kernel_check(kernel);
}

llap_status llap_anchor_model_create(const llap_anchor_spec *spec, llap_chain *chain,
                                     const llap_anchor_kernel *kernel, double kappa,
                                     llap_anchor_model **out)
{
    *out = NULL;
    llap_status        st = check_parts(spec, kernel, kappa);
    llap_anchor_model *m = NULL;
    if (st == LLAP_OK) {
        m = llap_new(1, sizeof *m);
        if (m == NULL) st = LLAP_ENOMEM;
    }
    if (st != LLAP_OK) {
        llap_chain_destroy(chain);
        return st;
    }
    *m = (llap_anchor_model){ .spec = *spec,
                              .chain = chain,
                              .kernel = *kernel,
                              .fill_kernel = *kernel,
                              .kappa = kappa,
                              .var_floor = 1e-3,
                              .calibration = llap_calibration_none(24, 72),
                              .fill_past = llap_calibration_none(0, 0),
                              .fill_both = llap_calibration_none(0, 0),
                              .valid_crps = NAN };
    *out = m;
    return LLAP_OK;
}

double llap_anchor_quantile_z(const llap_anchor_model *m, const llap_law *law, double x)
{
    if (law->shape != NULL) x = llap_calibration_bend(law->shape, x);
    return llap_chain_z_back_given(m->chain, law->series, law->climate, law->mean + law->sd * x);
}

double llap_anchor_quantile(const llap_anchor_model *m, size_t series, const llap_law *law,
                            double x)
{
    return llap_chain_y_back(m->chain, series, llap_anchor_quantile_z(m, law, x));
}

double llap_anchor_crps_z(const llap_anchor_model *m, const llap_law *law, double z, double *mean)
{
    double q[LLAP_MIDPOINTS], sum = 0.0;
    for (int i = 0; i < LLAP_MIDPOINTS; i++) {
        q[i] = llap_anchor_quantile_z(m, law, LLAP_MIDPOINT_SCORE[i]);
        sum += q[i];
    }
    if (mean != NULL) *mean = sum / LLAP_MIDPOINTS;
    return llap_midpoint_crps(q, z);
}
