/* The target-mask auxiliary of training, docs/spec/model.md 5.4; off in every preset. On
 * conditional rows some observed steps are kept: they get fresh noise of the same level and leave
 * the loss, which then asks for the hidden ones only.
 *
 *     n = ll_target_keep(&opts, seed, window, step, observed, h, keep);
 *     if (n > 0) ll_target_renoise(seed, window, step, keep, h, Z, eps, mask);
 *
 * A kept step tells no more than an ordinary noised one (docs/spec/model.md 12.10). A batch in
 * which no row has a kept step stays as it is. */
#ifndef LL_DIFFUSION_TARGET_MASK_H
#define LL_DIFFUSION_TARGET_MASK_H

#include <stdint.h>

typedef enum ll_keep_mode {                  /* which steps */
                            LL_KEEP_RANDOM,  /* each with probability keep */
                            LL_KEEP_REGULAR, /* every stride-th */
                            LL_KEEP_PREFIX,  /* the first ceil(n keep) of the n observed */
                            LL_KEEP_MIXED,   /* by row: prefix 0.5, regular 0.3, random 0.2 */
} ll_keep_mode;

extern const char *const ll_keep_names[]; /* closed by NULL */

typedef struct ll_target_mask_opts {
    ll_keep_mode mode;
    double       keep;   /* in (0,1) */
    int64_t      stride; /* at least 1 */
} ll_target_mask_opts;

/* keep [h] of one row by its observed steps [h] (0 or 1), drawn by (seed, window, step of
 * training). At least one is kept and one hidden; none is kept where fewer than two are observed.
 * Returns how many are kept. */
int64_t ll_target_keep(const ll_target_mask_opts *o, uint64_t seed, uint64_t window, uint32_t step,
                       const float *observed, int64_t h, uint8_t *keep);

/* Kept steps: eps [h,Z] becomes other normals, mask [h] becomes 0. */
void ll_target_renoise(uint64_t seed, uint64_t window, uint32_t step, const uint8_t *keep,
                       int64_t h, int64_t Z, float *eps, float *mask);

#endif
