/* Scaling to mean 0, deviation 1, by what training may know and nothing later.
 *
 *     ll_scaling *s;
 *     st = ll_scaling_create(w, split, &opts, &s);        statistics
 *     ll_scaled *x;
 *     st = ll_scaled_create(w->panel, s, &x);             the whole panel, scaled, once
 *     y = ll_unscale_value(z, s->y_mean[e * C + c], s->y_std[e * C + c]);
 *
 * Of entity e the features are averaged over its rows up to the last context row of any training
 * window, the targets up to the last query row of any training window (so one variable may be
 * scaled a little differently as feature and as target). Every finite value counts, carried
 * forward or not. Deviations are those of the population, at least 1e-6, in double, then rounded
 * to float.
 *
 * An entity that has no training window (but see own_rows), a variable of it without a value
 * there, and entities that come after training use the pooled statistics over all others: row
 * n_entities of the arrays. A variable without any training value gets mean 0, deviation 1.
 *
 * A value becomes (x - mean) / std, clipped to +- clip; a missing one becomes 0.
 */
#ifndef LL_DATA_WINDOWS_SCALING_H
#define LL_DATA_WINDOWS_SCALING_H

#include "data/windows/split.h"

typedef enum ll_scale_by {
    LL_SCALE_BY_ENTITY,
    LL_SCALE_GLOBAL, /* pooled over all entities, for every entity */
    LL_SCALE_NONE,   /* mean 0, deviation 1 */
} ll_scale_by;

typedef struct ll_scaling_opts {
    ll_scale_by by;
    float       clip;              /* deviations; 0: never clipped */
    bool        target_as_feature; /* targets use the statistics of the contexts */
    bool own_rows; /* of an entity count only rows from its first observed value on, not what was
                      carried into them, and all of them where it has no training window: that sees
                      what it is scored on (parity with published references) */
    const int64_t *feature; /* [n_features] variables, borrowed until return; NULL: all */
    int64_t        n_features;
} ll_scaling_opts;

#define LL_SCALING_DEFAULT ((ll_scaling_opts){ .by = LL_SCALE_BY_ENTITY, .clip = 5 })

typedef struct ll_scaling {
    int64_t  n_entities, n_features, n_targets;
    int64_t *feature, *target; /* variables of the panel */
    float   *x_mean, *x_std;   /* [n_entities + 1,n_features], the last row pooled */
    float   *y_mean, *y_std;   /* [n_entities + 1,n_targets] */
    float    clip;
} ll_scaling;

/* Caller owns *out. Borrows w and split until return. LLAP_EINVAL: a feature that is no variable,
 * or a split of other windows. */
llap_status ll_scaling_create(const ll_windows *w, const ll_split *split, const ll_scaling_opts *o,
                              ll_scaling **out);
void        ll_scaling_destroy(ll_scaling *s); /* NULL is fine */

/* The statistics for another panel, entity by entity and variable by variable by name: what a
 * trained model needs to serve it. entity [n_entities] and var are the names of the panel that s
 * comes from, borrowed until return. Entities that s does not know get the pooled statistics.
 * Caller owns *out. LLAP_EINVAL: a variable that the panel does not have. */
llap_status ll_scaling_transfer(const ll_scaling *s, const char *const *entity,
                                const char *const *var, const llap_panel *to, ll_scaling **out);

static inline float ll_scale_value(float x, float mean, float std, float clip)
{
    if (isnan(x)) return 0.0f;
    const float z = (x - mean) / std;
    return clip > 0 ? fminf(fmaxf(z, -clip), clip) : z;
}

static inline float ll_unscale_value(float z, float mean, float std) { return z * std + mean; }

/* Rows first .. first + n - 1 of the panel, all of entity e, after scaling: the features into
 * x [n,n_features], the targets into y [n,n_targets], missing 0; obs likewise, 1 = observed. */
void ll_scale_features(const ll_scaling *s, const llap_panel *p, int64_t e, int64_t first,
                       int64_t n, float *x, uint8_t *obs);
void ll_scale_targets(const ll_scaling *s, const llap_panel *p, int64_t e, int64_t first, int64_t n,
                      float *y, uint8_t *obs);

/* Where the training rows of each entity end, [n_entities] each: after the last context row and
 * after the last query row of any training window. Without one they end where the entity starts. */
void ll_training_rows(const ll_windows *w, const ll_split *split, int64_t *context, int64_t *query);

/* A panel after scaling, with masks of bytes: what batches are cut from. */
typedef struct ll_scaled {
    int64_t  n_rows, n_features, n_targets;
    float   *x;     /* [n_rows,n_features], missing 0 */
    float   *y;     /* [n_rows,n_targets], missing 0 */
    uint8_t *x_obs; /* [n_rows,n_features] 1 = observed */
    uint8_t *y_obs; /* [n_rows,n_targets] */
} ll_scaled;

/* Caller owns *out. Statistics row of entity e is e. */
llap_status ll_scaled_create(const llap_panel *p, const ll_scaling *s, ll_scaled **out);
void        ll_scaled_destroy(ll_scaled *x); /* NULL is fine */

#endif
