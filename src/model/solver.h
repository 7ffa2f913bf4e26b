/* One transition of the reverse process by DDIM, DPM-Solver++(2M) or UniPC. Inside model/ only. */
#ifndef LLAP_MODEL_SOLVER_H
#define LLAP_MODEL_SOLVER_H

#include "model/sampler.h"

typedef struct llap_solver_history { /* what multistep solvers remember; [n] numbers each */
    int64_t    n;
    float     *x0[3];    /* estimates at the current point and those before */
    float     *x;        /* state at the point before, corrected */
    llap_level level[3]; /* of the estimates */
    int        known;    /* how many estimates there are */
} llap_solver_history;

/* Takes the estimate at the current point into the history. */
void llap_solver_remember(llap_solver_history *h, llap_level at, const float *x0);
/* UniPC: corrects the state at the current point with the estimate made there. */
void llap_solver_correct(const llap_solver_history *h, float *x);
/* The state at the next point; x is the current one, for multistep solvers. */
void llap_solver_advance(llap_solver solver, llap_solver_history *h, llap_level to, float *x);

#endif
