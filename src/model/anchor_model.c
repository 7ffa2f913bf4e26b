#include "model/anchor_model.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

void llap_anchor_model_destroy(llap_anchor_model *m)
{
    if (m == NULL) return;
    llap_chain_destroy(m->chain);
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
                              .kappa = kappa,
                              .var_floor = 1e-3,
                              .valid_crps = NAN,
                              .calibration = { .edge = { 24, 72 }, .scale = { 1, 1, 1 } } };
    *out = m;
    return LLAP_OK;
}

double llap_anchor_quantile_z(const llap_anchor_model *m, const llap_law *law, double x)
{
    return llap_chain_z_back_given(m->chain, law->climate, law->mean + law->sd * x);
}

double llap_anchor_quantile(const llap_anchor_model *m, size_t series, const llap_law *law,
                            double x)
{
    return llap_chain_y_back(m->chain, series, llap_anchor_quantile_z(m, law, x));
}

double llap_anchor_crps_z(const llap_anchor_model *m, const llap_law *law, double z, double *mean)
{
    /* Normal quantiles of (i + 1/2)/25. */
    static const double score[LLAP_ANCHOR_MIDPOINTS] = {
        -2.0537489106318225,
        -1.554773594596853,
        -1.2815515655446008,
        -1.080319340814956,
        -0.9153650878428141,
        -0.7721932141886849,
        -0.6433454053929168,
        -0.5244005127080407,
        -0.4124631294414046,
        -0.3054807880993974,
        -0.2018934791418509,
        -0.10043372051146975,
        0.0,
        0.10043372051146975,
        0.2018934791418509,
        0.3054807880993974,
        0.4124631294414046,
        0.5244005127080407,
        0.6433454053929168,
        0.7721932141886849,
        0.9153650878428141,
        1.080319340814956,
        1.2815515655446008,
        1.554773594596853,
        2.0537489106318225,
    };
    double off = 0.0, spread = 0.0, sum = 0.0;
    for (int i = 0; i < LLAP_ANCHOR_MIDPOINTS; i++) {
        const double q = llap_anchor_quantile_z(m, law, score[i]);
        off += fabs(q - z);
        sum += q;
        spread += q * (2 * i + 1 - LLAP_ANCHOR_MIDPOINTS); /* over all pairs: q is sorted */
    }
    if (mean != NULL) *mean = sum / LLAP_ANCHOR_MIDPOINTS;
    return off / LLAP_ANCHOR_MIDPOINTS - spread / (LLAP_ANCHOR_MIDPOINTS * LLAP_ANCHOR_MIDPOINTS);
}
