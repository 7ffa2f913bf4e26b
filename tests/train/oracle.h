/* What the best possible forecast of a made-up panel scores. */
#ifndef LLAP_TESTS_TASK_ORACLE_H
#define LLAP_TESTS_TASK_ORACLE_H

#include "check.h"

#include "anchor/process/process.h"
#include "oracles/synth_oracle.h"
#include "predict/view/frame.h"
#include "score/readings.h"

/* Mean CRPS of the oracle on the test windows that evaluation scores, in the units of its scores.
 */
static double oracle_crps(const ll_synth *truth, const llap_model *m, const llap_panel *p,
                          int64_t stride)
{
    const int64_t   var = 0;
    ll_windows     *w = NULL;
    ll_split       *split = NULL;
    ll_score_scale *scale = NULL;
    double          sum = 0, mean[64], variance[64];
    int64_t         n = 0;
    CHECK_OK(ll_frame_windows(&m->frame, p, &var, 1, &w));
    CHECK_OK(ll_frame_split(&m->frame, w, &split));
    CHECK_OK(ll_score_scales(m, p, &scale));
    ll_split_thin(split, w, LL_PART_TEST, stride, m->frame.by_entity);
    for (int64_t i = 0; i < w->n; i++) {
        const ll_window *v = &w->at[i];
        if (split->part[i] != LL_PART_TEST) continue;
        assert_true(v->n_query <= 64);
        CHECK_OK(ll_synth_oracle(truth, w, i, mean, variance));
        for (int64_t q = 0; q < v->n_query; q++) {
            const int64_t row = ll_window_query(v) + q;
            if (!ll_panel_observed(p, row, var)) continue;
            const ll_score_scale *s = &scale[v->entity];
            const double          y = (double)p->value[row * p->n_vars];
            const double          unit = ll_score_scale_y(s, 1) - ll_score_scale_y(s, 0);
            sum += ll_anchor_crps(y, mean[q], sqrt(variance[q]), NULL, NULL) / unit;
            n++;
        }
    }
    ll_free(scale);
    ll_split_destroy(split);
    ll_windows_destroy(w);
    return sum / (double)n;
}

#endif
