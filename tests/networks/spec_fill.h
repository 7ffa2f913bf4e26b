/* The deterministic fill of docs/spec/model.md 11, so that its golden numbers need no files. */
#ifndef LLAP_TESTS_MODEL_SPEC_FILL_H
#define LLAP_TESTS_MODEL_SPEC_FILL_H

#include "check.h"
#include "nn/params.h"

static inline uint32_t fnv1a32(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s != '\0'; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static inline float spec_value(const char *name, double amplitude, double offset, int64_t i)
{
    const double ph = 2.0 * 3.14159265358979323846 * (double)(fnv1a32(name) % 1000) / 1000.0;
    const double x = (double)i;
    return (float)(amplitude * sin(ph + 0.37 * x + 0.011 * x * x) + offset);
}

static inline float spec_input(const char *name, int64_t i)
{
    return spec_value(name, 1.0, 0.0, i);
}

static inline void spec_fill(ll_params *p)
{
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        const size_t         n = strlen(x->name);
        const bool norm = x->shape.rank == 1 && n > 7 && strcmp(x->name + n - 7, ".weight") == 0;
        for (int64_t k = 0; k < x->count; k++)
            ll_param_set(p, x, k, (double)spec_value(x->name, 0.5, norm ? 1.0 : 0.0, k));
    }
}

static inline void check_numbers(const char *what, const float *found, const double *expected,
                                 int n, double tolerance)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)found[i] - expected[i]) <= tolerance))
            fail_msg("%s[%d]: expected %.6f, found %.6f", what, i, expected[i], (double)found[i]);
}

#endif
