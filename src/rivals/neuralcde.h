/* Neural CDE (Kidger et al. 2020): the readings become a path X, and a state obeys dz = f(z) dX;
 * what it ends as answers.
 *
 *     docs/spec/rivals.md 9 */
#ifndef LL_RIVALS_NEURALCDE_H
#define LL_RIVALS_NEURALCDE_H

#include "rivals/common.h"

typedef enum ll_cde_spline { LL_CDE_HERMITE, LL_CDE_NATURAL } ll_cde_spline;
extern const char *const ll_cde_splines[]; /* "hermite", "natural", NULL */

typedef struct ll_neuralcde_config {
    int64_t       hidden, field; /* the state; hidden layers of f */
    int           n_layers;      /* of f before its last one */
    ll_cde_spline spline;
    int           n_sub;   /* steps of an interval between rows */
    bool          query;   /* the read-out is asked for each query, else it gives all at once */
    int64_t       horizon; /* those, where not */
    int64_t       read;    /* hidden width of the former */
    int64_t       targets; /* an answer has an axis of them; 0: there is one, without an axis */
    ll_rival_head head;
} ll_neuralcde_config;

/* a + b v + c v^2 + d v^3 on each interval between rows, v in [0,1]: x, m [rows,vars]; coeffs
 * [4][rows - 1, vars] in the order a, b, c, d. What was never observed is 0. LLAP_ENOMEM. */
llap_status ll_cde_coefficients(ll_cde_spline kind, const float *x, const float *m, int64_t rows,
                                int64_t vars, double *const coeffs[4]);
/* dX/du where the steps look: 3 n_sub (rows - 1) + 1 times vars numbers. */
int64_t ll_cde_places(const ll_neuralcde_config *cfg, int64_t rows);
void    ll_cde_slopes(const ll_neuralcde_config *cfg, const double *const coeffs[4], int64_t rows,
                      int64_t vars, float *out);

typedef struct ll_neuralcde_in {
    ll_tensor *first;  /* [B,C], X at the first row */
    ll_tensor *slopes; /* [B,places,C] */
    ll_tensor *query;  /* [B,H,.], where the read-out is asked */
} ll_neuralcde_in;

/* -> [B,H] or [B,H,Q], [B,H,targets] or [B,H,targets,Q]. Notes z0, z_half, z. */
ll_tensor *ll_neuralcde(ll_graph *g, const ll_neuralcde_config *cfg, const ll_neuralcde_in *in);

#endif
