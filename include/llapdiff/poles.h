/* The poles of a model as numbers: what llap_model_poles writes as text. A set is the kernel of one
 * anchor, or the modes of one network; its columns have a value for each pole.
 *
 *     llap_pole_sets *p = NULL;
 *     llap_status     st = llap_pole_sets_create(model, NULL, &ask, &p);
 *     for (int64_t i = 0; i < llap_pole_sets_about(p)->n_sets; i++) {
 *         const llap_pole_set *s = llap_pole_sets_at(p, i);
 *         for (int64_t k = 0; k < s->n; k++) printf("%s %g\n", s->name, s->half_life[k]);
 *     }
 *     llap_pole_sets_destroy(p);
 *
 * Times are in the model's unit (unit_ns ticks), frequencies in radians per unit. Immutable; all
 * pointers are borrowed until the sets are destroyed. The structs may grow at their ends, so
 * programs use the pointers and make no copies by size. */
#ifndef LLAPDIFF_POLES_H
#define LLAPDIFF_POLES_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_pole_sets llap_pole_sets;

/* panel may be NULL. Borrows m until destroyed. Caller owns *out. */
LLAP_API llap_status llap_pole_sets_create(const llap_model *m, const llap_panel *panel,
                                           const llap_pole_opts *o, llap_pole_sets **out);
LLAP_API void        llap_pole_sets_destroy(llap_pole_sets *p); /* NULL is fine */

typedef struct llap_pole_sets_info {
    int64_t n_sets;
    int64_t unit_ns; /* ticks of 1 in what follows */
    double  noise;   /* where networks were asked; NaN: nothing depends on it */
} llap_pole_sets_info;

LLAP_API const llap_pole_sets_info *llap_pole_sets_about(const llap_pole_sets *p);

/* y(t) = sum over the poles of e^(-rho t) (cosine cos(omega t) + sine sin(omega t)) */
typedef struct llap_pole_set {
    const char   *name;          /* "no2", "network 1, without a history" */
    int64_t       n;             /* poles; every column below is [n] */
    const double *rho, *omega;   /* the poles are -rho +- i omega */
    const double *half_life;     /* ln 2 / rho; infinite: it never decays */
    const double *period;        /* 2 pi / omega; infinite: it never turns */
    const double *cosine, *sine; /* residues */
    const double *energy;        /* all 0: not known */
    const char   *energy_is;     /* what it measures: "variance", "residues squared" */
    int           stable;        /* 1: every rho > 0 */
    /* with a panel: what a pole becomes from reading to reading. Complex numbers are [n,2] */
    int64_t       n_gaps;       /* between readings; 0: no panel, and the columns are NULL */
    double        mean_gap;     /* their mean */
    const double *multiplier;   /* lambda: mean of e^(pole gap) */
    const double *log_pole;     /* log lambda */
    const double *second_order; /* its second-order approximation */
    const int    *event_stable; /* 1: |lambda| < 1 */
    /* where the options ask for them, else 0 and NULL */
    int64_t       n_transfer;
    const double *transfer; /* [n_transfer,3] omega, real and imaginary part of G */
    int64_t       n_impulse;
    const double *impulse;   /* [n_impulse,2] time, response */
    const double *A, *B, *C; /* x' = A x + B u, y = C x: [2n,2n] in rows, [2n], [2n] */
} llap_pole_set;

/* NULL: there is no such set. */
LLAP_API const llap_pole_set *llap_pole_sets_at(const llap_pole_sets *p, int64_t set);

/* A table for people, and JSON. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_pole_sets_text(const llap_pole_sets *p, char **text);
LLAP_API llap_status llap_pole_sets_json(const llap_pole_sets *p, char **text);

#ifdef __cplusplus
}
#endif

#endif
