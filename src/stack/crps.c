#include "stack/crps.h"

#include <math.h>

/* clang-format off */
const double ll_stack_level[LL_STACK_LEVELS] = { .025, .1, .25, .5, .75, .9, .975 };
const double ll_stack_normal[LL_STACK_LEVELS] = {
    -1.9599639845400545, -1.2815515655446004, -0.6744897501960817, 0,
    0.6744897501960817, 1.2815515655446004, 1.9599639845400545,
};
/* Half the distance of the two levels beside it (0 and 1 at the ends), of the sum of all. */
const double ll_stack_share[LL_STACK_LEVELS] = {
    .05 / .975, .1125 / .975, .2 / .975, .25 / .975, .2 / .975, .1125 / .975, .05 / .975,
};
const double ll_stack_fine_level[LL_STACK_FINE] = {
    .025, .05, .1, .15, .2, .25, .3, .35, .4, .45, .5, .55, .6, .65, .7, .75, .8, .85, .9, .95, .975,
};
const double ll_stack_fine_normal[LL_STACK_FINE] = {
    -1.9599639845400545, -1.6448536269514726, -1.2815515655446004, -1.0364333894937898, -0.8416212335729142,
    -0.6744897501960817, -0.5244005127080407, -0.3853204664075677, -0.2533471031357997, -0.1256613468550740, 0,
    0.1256613468550740, 0.2533471031357997, 0.3853204664075677, 0.5244005127080407, 0.6744897501960817,
    0.8416212335729142, 1.0364333894937898, 1.2815515655446004, 1.6448536269514726, 1.9599639845400545,
};
/* clang-format on */

double ll_stack_fine_share(int i)
{
    const double below = i == 0 ? 0 : ll_stack_fine_level[i - 1];
    const double above = i == LL_STACK_FINE - 1 ? 1 : ll_stack_fine_level[i + 1];
    return (above - below) / 2 / 0.975; /* the sum of all */
}

void ll_stack_sort(double *q)
{
    for (int i = 1; i < LL_STACK_LEVELS; i++) {
        const double x = q[i];
        int          k = i;
        for (; k > 0 && q[k - 1] > x; k--) q[k] = q[k - 1];
        q[k] = x;
    }
}

double ll_stack_crps(const double *fine, double truth)
{
    double sum = 0;
    for (int i = 0; i < LL_STACK_FINE; i++) {
        const double e = truth - fine[i], p = ll_stack_fine_level[i];
        sum += ll_stack_fine_share(i) * fmax(p * e, (p - 1) * e);
    }
    return 2 * sum;
}

void ll_stack_refine(const double *q, double *fine)
{
    for (int i = 0, k = 0; i < LL_STACK_FINE; i++) {
        const double x = ll_stack_fine_normal[i];
        while (k < LL_STACK_LEVELS - 2 && ll_stack_normal[k + 1] < x) k++;
        const double from = ll_stack_normal[k], to = ll_stack_normal[k + 1];
        fine[i] = q[k] + (q[k + 1] - q[k]) * ((x - from) / (to - from));
    }
}
