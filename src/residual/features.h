/* What the default profile's networks see of a window, and what they are to predict: tokens of the
 * context, features of the queries, and the residual that the anchor leaves
 * (docs/spec/anchor.md 2.5, 8.1-8.3).
 *
 *     w = (u - m) / s         u of the chain, level m and scale s of the window's context
 *     a, b                    mean and deviation of w in the anchor's answer
 *     r = (w - a) / b         the network's trajectory; it learns and fills with r held within +-6,
 *                             and is scored on r itself
 *
 * An example is one trajectory. Single: one target of one entity, Z = 1. By entity: all targets of
 * one, Z = C. Joint: all targets of all entities, Z = N C, channel e C + c; both at common query
 * times.
 *
 *     ll_feature_set *set = NULL;
 *     st = ll_feature_set_create(&cfg, &source, examples, n, &set);  the anchor answers them all
 *     st = ll_feature_batch_create(&cfg, B, set->h, &batch);
 *     ll_feature_fill(set, index, B, NULL, batch);                   examples index[0 .. B-1]
 *
 * Nothing depends on other examples of a batch. */
#ifndef LL_RESIDUAL_FEATURES_H
#define LL_RESIDUAL_FEATURES_H

#include "anchor/model.h"

#define LL_RESIDUAL_MAX 6.0
enum { LL_FEATURE_SLOTS = 32, LL_FEATURE_CALENDAR = 10 }; /* at most, of a token; terms */

typedef enum ll_feature_view {
    LL_FEATURE_SINGLE,
    LL_FEATURE_ENTITY,
    LL_FEATURE_JOINT,
} ll_feature_view;

typedef enum ll_residual {                     /* what the networks' trajectory is */
                           LL_RESIDUAL_ANCHOR, /* (w - a) / b */
                           LL_RESIDUAL_NONE,   /* w: a = 0, b = 1 */
                           LL_RESIDUAL_GLOBAL, /* u: m = 0 and s = 1 too */
} ll_residual;

typedef struct ll_layout { /* saved with the model; times in its unit */
    ll_feature_view view;
    ll_residual     residual;

    int64_t entities;   /* N known by index; 0: none, every entity is new */
    int64_t targets;    /* C */
    int64_t covariates; /* V, variables that are looked at but not predicted */
    int64_t tokens;     /* S */
    int64_t slots;      /* P, of a token */
    double  slot;       /* time of a slot; S P slots reach back over the context */
    double  horizon;
    bool    calendar; /* time of day and week are features: where a chain has no climate */
    bool    level;    /* m and s are features of the queries */
} ll_layout;

/* S and P for a context of that length: at most 56 tokens of equally many slots. */
void ll_feature_slots(double context, double step, ll_layout *c);

llap_status ll_layout_check(const ll_layout *c); /* LLAP_EINVAL names a field */

int64_t ll_feature_channels(const ll_layout *c);  /* Z */
int64_t ll_feature_token_dim(const ll_layout *c); /* numbers of a token */
int64_t ll_feature_query_dim(const ll_layout *c); /* numbers of a query */
/* Rows of the embedding: every (entity, target), then every target of an entity that is not known;
 * 0: none needed. */
int64_t ll_feature_embeddings(const ll_layout *c);

/* One entity's rows. x[v] [n]: u of target v < C, else a covariate, standardised; NaN: missing. */
typedef struct ll_record {
    size_t              n;
    const double       *t; /* [n] not decreasing */
    const float *const *x; /* [C + V] */
} ll_record;

/* Borrowed until the set is destroyed. */
typedef struct ll_feature_source {
    const ll_record              *history; /* [n]; joint: [N] by the model's index */
    const size_t                 *known;   /* [n] the model's index of each; else new */
    size_t                        n;
    const ll_anchor_model *const *anchor; /* [C] */
    const ll_series *const       *series; /* [C] of [n] series: what the anchors look at */
    const ll_series *const       *all;    /* [C] as ll_anchor_request.all; or NULL */
} ll_feature_source;

typedef struct ll_feature_example {
    double        origin;
    size_t        entity, target; /* of the source; joint: neither is used, by entity: no target */
    size_t        n_query;
    const double *t_query; /* [n_query] after origin; borrowed until the set is destroyed */
    uint64_t      id;      /* names the example's random numbers */
} ll_feature_example;

typedef struct ll_feature_set {
    ll_layout           c;
    ll_feature_source   source;
    size_t              n;
    int64_t             h;             /* the most queries of an example */
    ll_feature_example *example;       /* [n] */
    float              *a, *log_b, *r; /* [n,h,Z]; r as measured, NaN: not known */
    float              *m, *s;         /* [n,Z] */
    float              *tokens;        /* [n,S,F] once remembered, else NULL */
} ll_feature_set;

/* Of the source, where channel z of an example looks: entity and target. */
size_t ll_feature_entity(const ll_layout *c, const ll_feature_example *r, int64_t z);
size_t ll_feature_target(const ll_layout *c, const ll_feature_example *r, int64_t z);

/* Asks the anchors about all examples (shared out among threads) and looks up what came true.
 * Caller owns *out (ll_feature_set_destroy); examples are copied. */
llap_status ll_feature_set_create(const ll_layout *c, const ll_feature_source *source,
                                  const ll_feature_example *example, size_t n,
                                  ll_feature_set **out);
void        ll_feature_set_destroy(ll_feature_set *s); /* NULL is fine */

/* A residual as the networks see it; NaN stays. */
static inline float ll_residual_held(float r)
{
    const float most = (float)LL_RESIDUAL_MAX;
    return r < -most ? -most : r > most ? most : r;
}

/* Makes the tokens of all examples now instead of each time they are asked for, if they fit into
 * n_bytes; otherwise does nothing. */
llap_status ll_feature_set_remember(ll_feature_set *s, size_t n_bytes);

/* The law of u that the residual of channel z at query q of example i refers to: u = mean + sd r.
 */
void ll_feature_law(const ll_feature_set *s, size_t i, int64_t q, int64_t z, double *mean,
                    double *sd);

/* Tensors of up to B examples, [B,...]; what no example fills is padding. */
typedef struct ll_feature_batch {
    int64_t  B, h;
    float   *tokens;    /* [B,S,F] */
    float   *token_pad; /* [B,S] 1: no token */
    int32_t *entity;    /* [B] row of the embedding */
    float   *tq;        /* [B,h] offsets from the origin */
    float   *f;         /* [B,h,Q] */
    float   *pad;       /* [B,h] 1: no query */
    float   *z0;        /* [B,h,Z] residuals; not known: 0, in training a draw */
    float   *mask;      /* [B,h,Z] 1: known */
} ll_feature_batch;

llap_status ll_feature_batch_create(const ll_layout *c, int64_t B, int64_t h,
                                    ll_feature_batch **out); /* caller owns */
void        ll_feature_batch_destroy(ll_feature_batch *b);   /* NULL is fine */

/* Level and scale of rows first .. last - 1 of a variable, as ll_window_norm. */
void ll_feature_norm(const ll_record *h, size_t v, size_t first, size_t last, double kappa,
                     double *m, double *s);

/* How training varies the examples; every draw is named by (seed, example id, step). */
typedef struct ll_feature_noise {
    uint64_t seed;
    uint32_t step;
    double   noise, drop; /* of tokens: deviation added, probability of dropping one */
    double   strange;     /* probability that an entity is taken for a new one */
    double   shift;       /* probability that the origin moves up to a slot past the last row */
    double   subset;      /* probability that only some queries are asked */
} ll_feature_noise;

/* What its draws are for: the sample in LL_STREAM_MASK. Numbers are part of the results. */
typedef enum ll_feature_use {
    LL_USE_EXAMPLE,
    LL_USE_TOKEN_DROP,
    LL_USE_TOKEN_NOISE,
    LL_USE_QUERY,
    LL_USE_UNKNOWN,
} ll_feature_use;

/* What an example as a whole comes to; noise NULL: as it is. */
typedef struct ll_feature_choice {
    double  shift;  /* of the origin past the example's */
    int32_t entity; /* row of the embedding */
    bool    subset; /* only some queries are asked */
} ll_feature_choice;
ll_feature_choice ll_feature_choose(const ll_feature_set *s, size_t i,
                                    const ll_feature_noise *noise);

/* Times since the last reading of each channel at the end of every token, [S,Z]: log(1 + gap +
 * shift) are the numbers of a token from ll_feature_age on. */
void    ll_feature_gaps(const ll_feature_set *s, size_t i, float *gap);
int64_t ll_feature_age(const ll_layout *c);

/* Examples index[0 .. n-1] of the set, n <= B; the rest is padding. noise NULL: as they are. */
void ll_feature_fill(const ll_feature_set *s, const uint32_t *index, int64_t n,
                     const ll_feature_noise *noise, ll_feature_batch *b);

#endif
