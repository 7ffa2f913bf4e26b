/* One transition of the reverse process by DDIM, DPM-Solver++(2M) or UniPC. Inside diffusion/ only.
 */
#ifndef LL_DIFFUSION_SOLVER_H
#define LL_DIFFUSION_SOLVER_H

#include "diffusion/sampler.h"

typedef struct ll_solver_history { /* what multistep solvers remember; [n] numbers each */
    int64_t  n;
    float   *x0[3];    /* estimates at the current point and those before */
    float   *x;        /* state at the point before, corrected */
    ll_level level[3]; /* of the estimates */
    int      known;    /* how many estimates there are */
} ll_solver_history;

/* Takes the estimate at the current point into the history. */
void ll_solver_remember(ll_solver_history *h, ll_level at, const float *x0);
/* UniPC: corrects the state at the current point with the estimate made there. */
void ll_solver_correct(const ll_solver_history *h, float *x);
/* The state at the next point; x is the current one, for multistep solvers. */
void ll_solver_advance(ll_solver solver, ll_solver_history *h, ll_level to, float *x);

#endif
