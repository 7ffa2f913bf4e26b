/* The first noise of samples that lie evenly: of n samples each number of the noise takes one of n
 * equal parts of the normal law (to 1/8192), in an order of its own, as a Latin hypercube does.
 * Every sample alone is normal as ever; together they are nearer to the law than independent ones:
 * 25 of them have quantiles as good as those of hundreds.
 *
 *     st = ll_spread_create(&s);
 *     ll_spread_normals(s, seed, window, n, R, width, out);      samples 0 .. R-1, [R,width]
 *     ll_spread_destroy(s); */
#ifndef LL_RESIDUAL_SPREAD_H
#define LL_RESIDUAL_SPREAD_H

#include <llapdiff/status.h>
#include <stdint.h>

enum { LL_SPREAD_MOST = 64 }; /* samples */

typedef struct ll_spread ll_spread; /* quantiles of the normal law; never changes */

llap_status ll_spread_create(ll_spread **out); /* caller owns *out */
void        ll_spread_destroy(ll_spread *s);   /* NULL is fine */

/* Samples 0 .. n-1 are spread, 1 <= n <= LL_SPREAD_MOST; the others up to R, which nobody looks at,
 * are zeros. Drawn from (seed, window): the same for any batch. */
void ll_spread_normals(const ll_spread *s, uint64_t seed, uint64_t window, int64_t n, int64_t R,
                       int64_t width, float *out);

#endif
