/* Fitting a kernel: Adam on the logarithms of its numbers over batches of windows.
 *
 *     static llap_status draw(void *user, int64_t step, size_t n_rows, ll_anchor_window *out);
 *
 *     ll_anchor_kernel k = ll_anchor_kernel_hourly();         the start; then the answer
 *     ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
 *     llap_status st = ll_anchor_fit(&k, &o, draw, data);
 *
 * The same start, options and windows give the same bytes, whatever the number of threads. */
#ifndef LL_ANCHOR_FIT_H
#define LL_ANCHOR_FIT_H

#include "anchor/process/process.h"

/* Who is told how fits go, and keeps what they have found so far: a later run that finds it there
 * goes on to the same bytes, and one that finds what cannot be is LLAP_EFORMAT. Each function may
 * be NULL. */
struct ll_anchor_model;
typedef struct ll_anchor_watch {
    void *user;
    /* `done` steps are made, those of fits before it included; `made` of this one, 0: it is no
     * descent. loss: of the last one's windows, NaN: they scored nothing. Anything but LLAP_OK ends
     * the fit with it. */
    llap_status (*step)(void *user, const char *fit, int64_t done, int64_t made, double loss);
    /* Validation has scored a candidate (model.h). As step. */
    llap_status (*scored)(void *user, const char *fit, const struct ll_anchor_model *m);
    /* Copies the n numbers kept under the name to v. False: there are none, or not so many. */
    bool (*find)(void *user, const char *name, double *v, size_t n);
    llap_status (*keep)(void *user, const char *name, const double *v, size_t n); /* a copy */
} ll_anchor_watch;

typedef struct ll_anchor_fit_opts {
    int64_t             n_steps;     /* >= 1 */
    size_t              n_rows;      /* windows a step, >= 1 */
    ll_anchor_loss_kind loss;        /* what is minimised, per scored value */
    double              lr, lr_late; /* step size, and after `late` of the steps */
    double              late;        /* 0 .. 1 */
    double              clip;        /* largest norm of the gradient */
    double              nu_floor;    /* nu = exp(l) + nu_floor */
    double              var_floor;   /* as in ll_anchor_loss_gradient */
    bool                learn_omega; /* else the frequencies stay as they start */
    const char         *name;        /* that the watch knows it by */
    int64_t             before;      /* steps made before it, as the watch counts */
    ll_anchor_watch     watch;
} ll_anchor_fit_opts;

#define LL_ANCHOR_FIT_DEFAULT                      \
    ((ll_anchor_fit_opts){ .n_steps = 200,         \
                           .n_rows = 48,           \
                           .loss = LL_ANCHOR_CRPS, \
                           .lr = .06,              \
                           .lr_late = .015,        \
                           .late = .7,             \
                           .clip = 1,              \
                           .nu_floor = .005,       \
                           .var_floor = 1e-3,      \
                           .name = "kernel" })

/* Fills out [n_rows] with the windows of a step; they stay valid until its next call. A pure
 * function of step makes the fit reproducible. */
typedef llap_status (*ll_anchor_batch)(void *user, int64_t step, size_t n_rows,
                                       ll_anchor_window *out);

/* k is the start and becomes the answer, the mean of the late steps; its jitter is kept. A step
 * without a scored value moves nothing. LLAP_EINVAL: options, start or windows; LLAP_ENUMERIC: the
 * loss is no number. */
llap_status ll_anchor_fit(ll_anchor_kernel *k, const ll_anchor_fit_opts *o, ll_anchor_batch batch,
                          void *user);

#endif
