/* What the default profile's networks see of a window, and what they are to predict: tokens of the
 * context, features of the queries, and the residual that the anchor leaves (spec accuracy.md
 * 4.3-4.7).
 *
 *     w = (u - m) / s         u of the chain, level m and scale s of the window's context
 *     a, b                    mean and deviation of w in the anchor's answer
 *     r = (w - a) / b         the network's trajectory, clipped to +-6
 *
 * A row is one trajectory. Single: one target of one entity, Z = 1. By entity: all targets of one,
 * Z = C. Joint: all targets of all entities, Z = N C, channel e C + c; both at common query times.
 *
 *     llap_feature_set *set = NULL;
 *     st = llap_feature_set_create(&cfg, &source, rows, n, &set);      the anchor answers them all
 *     st = llap_feature_batch_create(&cfg, B, set->h, &batch);
 *     llap_feature_fill(set, index, B, NULL, batch);                   rows index[0 .. B-1]
 *
 * Nothing depends on other rows of a batch. */
#ifndef LLAP_MODEL_FEATURES_H
#define LLAP_MODEL_FEATURES_H

#include "model/anchor_model.h"

#define LLAP_RESIDUAL_MAX 6.0
enum { LLAP_FEATURE_SLOTS = 32, LLAP_FEATURE_CALENDAR = 10 }; /* at most, of a token; terms */

typedef enum llap_feature_view {
    LLAP_FEATURE_ROWS,
    LLAP_FEATURE_ENTITY,
    LLAP_FEATURE_JOINT,
} llap_feature_view;

typedef enum llap_residual {                       /* what the networks' trajectory is */
                             LLAP_RESIDUAL_ANCHOR, /* (w - a) / b */
                             LLAP_RESIDUAL_NONE,   /* w: a = 0, b = 1 */
                             LLAP_RESIDUAL_GLOBAL, /* u: m = 0 and s = 1 too */
} llap_residual;

typedef struct llap_layout { /* saved with the model; times in its unit */
    llap_feature_view view;
    llap_residual     residual;

    int64_t entities;   /* N known by index; 0: none, every entity is new */
    int64_t targets;    /* C */
    int64_t covariates; /* V, variables that are looked at but not predicted */
    int64_t tokens;     /* S */
    int64_t slots;      /* P, of a token */
    double  slot;       /* time of a slot; S P slots reach back over the context */
    double  horizon;
    bool    calendar; /* time of day and week are features: where a chain has no climate */
    bool    level;    /* m and s are features of the queries */
} llap_layout;

/* S and P for a context of that length: at most 56 tokens of equally many slots. */
void llap_feature_slots(double context, double step, llap_layout *c);

llap_status llap_layout_check(const llap_layout *c); /* LLAP_EINVAL names a field */

int64_t llap_feature_channels(const llap_layout *c);  /* Z */
int64_t llap_feature_token_dim(const llap_layout *c); /* numbers of a token */
int64_t llap_feature_query_dim(const llap_layout *c); /* numbers of a query */
/* Rows of the embedding: every (entity, target), then every target of an entity that is not known;
 * 0: none needed. */
int64_t llap_feature_embeddings(const llap_layout *c);

/* One entity's rows. x[v] [n]: u of target v < C, else a covariate, standardised; NaN: missing. */
typedef struct llap_record {
    size_t              n;
    const double       *t; /* [n] not decreasing */
    const float *const *x; /* [C + V] */
} llap_record;

/* Borrowed until the set is destroyed. */
typedef struct llap_feature_source {
    const llap_record              *history; /* [n]; joint: [N] by the model's index */
    const size_t                   *known;   /* [n] the model's index of each; SIZE_MAX: new */
    size_t                          n;
    const llap_anchor_model *const *anchor; /* [C] */
    const llap_series *const       *series; /* [C] of [n] series: what the anchors look at */
    const llap_series *const       *all;    /* [C] as llap_anchor_request.all; or NULL */
} llap_feature_source;

typedef struct llap_feature_row {
    double        origin;
    size_t        entity, target; /* of the source; joint: neither is used, by entity: no target */
    size_t        n_query;
    const double *t_query; /* [n_query] after origin; borrowed until the set is destroyed */
    uint64_t      id;      /* names the row's random numbers */
} llap_feature_row;

typedef struct llap_feature_set {
    llap_layout         c;
    llap_feature_source source;
    size_t              n;
    int64_t             h;             /* the most queries of a row */
    llap_feature_row   *row;           /* [n] */
    float              *a, *log_b, *r; /* [n,h,Z]; r NaN: not known */
    float              *m, *s;         /* [n,Z] */
    float              *tokens;        /* [n,S,F] once remembered, else NULL */
} llap_feature_set;

/* Of the source, where channel z of a row looks: entity and target. */
size_t llap_feature_entity(const llap_layout *c, const llap_feature_row *r, int64_t z);
size_t llap_feature_target(const llap_layout *c, const llap_feature_row *r, int64_t z);

/* Asks the anchors about all rows (shared out among threads) and looks up what came true.
 * Caller owns *out (llap_feature_set_destroy); rows are copied. */
llap_status llap_feature_set_create(const llap_layout *c, const llap_feature_source *source,
                                    const llap_feature_row *row, size_t n, llap_feature_set **out);
void        llap_feature_set_destroy(llap_feature_set *s); /* NULL is fine */

/* Makes the tokens of all rows now instead of each time they are asked for, if they fit into
 * n_bytes; otherwise does nothing. */
llap_status llap_feature_set_remember(llap_feature_set *s, size_t n_bytes);

/* The law of u that the residual of channel z at query q of row i refers to: u = mean + sd r. */
void llap_feature_law(const llap_feature_set *s, size_t i, int64_t q, int64_t z, double *mean,
                      double *sd);

/* Tensors of up to B rows, [B,...]; what no row fills is padding. */
typedef struct llap_feature_batch {
    int64_t  B, h;
    float   *tokens;    /* [B,S,F] */
    float   *token_pad; /* [B,S] 1: no token */
    int32_t *entity;    /* [B] row of the embedding */
    float   *tq;        /* [B,h] offsets from the origin */
    float   *f;         /* [B,h,Q] */
    float   *pad;       /* [B,h] 1: no query */
    float   *z0;        /* [B,h,Z] residuals; not known: 0, in training a draw */
    float   *mask;      /* [B,h,Z] 1: known */
} llap_feature_batch;

llap_status llap_feature_batch_create(const llap_layout *c, int64_t B, int64_t h,
                                      llap_feature_batch **out); /* caller owns */
void        llap_feature_batch_destroy(llap_feature_batch *b);   /* NULL is fine */

/* Level and scale of rows first .. last - 1 of a variable, as llap_window_norm. */
void llap_feature_norm(const llap_record *h, size_t v, size_t first, size_t last, double kappa,
                       double *m, double *s);

/* How training varies the rows; every draw is named by (seed, row id, step). */
typedef struct llap_feature_noise {
    uint64_t seed;
    uint32_t step;
    double   noise, drop; /* of tokens: deviation added, probability of dropping one */
    double   strange;     /* probability that an entity is taken for a new one */
    double   shift;       /* probability that the origin moves up to a slot past the last row */
    double   subset;      /* probability that only some queries are asked */
} llap_feature_noise;

/* What its draws are for: the sample in LLAP_STREAM_MASK. Numbers are part of the results. */
typedef enum llap_feature_use {
    LLAP_USE_ROW,
    LLAP_USE_TOKEN_DROP,
    LLAP_USE_TOKEN_NOISE,
    LLAP_USE_QUERY,
    LLAP_USE_UNKNOWN,
} llap_feature_use;

/* What a row as a whole comes to; noise NULL: as it is. */
typedef struct llap_feature_choice {
    double  shift;  /* of the origin past the row's */
    int32_t entity; /* row of the embedding */
    bool    subset; /* only some queries are asked */
} llap_feature_choice;
llap_feature_choice llap_feature_choose(const llap_feature_set *s, size_t i,
                                        const llap_feature_noise *noise);

/* Times since the last reading of each channel at the end of every token, [S,Z]: log(1 + gap +
 * shift) are the numbers of a token from llap_feature_age on. */
void    llap_feature_gaps(const llap_feature_set *s, size_t i, float *gap);
int64_t llap_feature_age(const llap_layout *c);

/* Rows index[0 .. n-1] of the set, n <= B; the rest is padding. noise NULL: as they are. */
void llap_feature_fill(const llap_feature_set *s, const uint32_t *index, int64_t n,
                       const llap_feature_noise *noise, llap_feature_batch *b);

#endif
