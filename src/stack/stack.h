/* src/stack: small quantile networks around the anchor, and the pool of all (docs/spec/stack.md).
 *
 *   stack.h      this file: a trained stack, from which models answer
 *   trace.h      the readings of one series, with sums for means over any stretch
 *   features.h   the columns of one query: what was known at its origin
 *   correlation.h
 *                how much one number tells about another
 *   columns.h    the columns that one member looks at, standardised
 *   networks.h   the networks of a member as a graph, all of them as one product, and their answers
 *   trainer.h    training them: steps, and answers out of fold
 *   crps.h       quantiles at a few levels: CRPS, and levels between
 *   pool.h       the weights of the members
 *
 * May touch: base, base/rng, backend, graph, nn. */

/* A trained stack: members that answer one query by quantiles, each of several networks, and the
 * weight of each in the pool with the anchor. What it answers are moves: what to add to the normal
 * scores of the anchor's law at the levels of crps.h, so that a stack without an opinion is the
 * anchor exactly.
 *
 *     ll_stack_answerer *a;
 *     st = ll_stack_answerer_create(stack, backend, &a);
 *     if (st == LLAP_OK) st = ll_stack_answer(a, raw, n, back, user, move);   raw rows: features.h
 *     ll_stack_answerer_destroy(a);
 *
 * Immutable once it is made; an answerer is one caller's. */
#ifndef LL_STACK_STACK_H
#define LL_STACK_STACK_H

#include "stack/columns.h"
#include "stack/networks.h"

/* The members that there can be. Weights and scores have the anchor first. */
typedef enum ll_stack_kind {
    LL_STACK_S, /* on the anchor's residual, all columns */
    LL_STACK_R, /* the same, without levels */
    LL_STACK_U, /* without the anchor, all columns */
    LL_STACK_V, /* the same, without levels */
    LL_STACK_KINDS
} ll_stack_kind;

extern const char *const ll_stack_kind_names[]; /* "s", "r", "u", "v", NULL */
static inline bool       ll_stack_anchored(ll_stack_kind k) { return k <= LL_STACK_R; }
static inline bool ll_stack_levels(ll_stack_kind k) { return k == LL_STACK_S || k == LL_STACK_U; }

enum { LL_STACK_FOLDS = 4 };    /* of which each network has learnt from all but one */
enum { LL_STACK_BUCKETS = 12 }; /* of leads, with a scale of their own where there is no anchor */

typedef struct ll_stack_scale {        /* of one target: sd of y - base by lead, for u and v */
    double edge[LL_STACK_BUCKETS - 1]; /* a lead <= edge[i] is in bucket i or before */
    double sd[LL_STACK_BUCKETS];
} ll_stack_scale;
double ll_stack_scale_at(const ll_stack_scale *s, double lead);

/* A variable that is looked at. A direction in degrees is two of them: a vector, as long as the
 * reading of `by` in the same row. */
typedef enum ll_stack_turn { LL_STACK_STRAIGHT, LL_STACK_SINE, LL_STACK_COSINE } ll_stack_turn;
typedef struct ll_stack_input {
    char         *name; /* owned */
    ll_stack_turn turn;
    char         *by;   /* owned; NULL: of length 1 */
    double        cost; /* by what share CRPS out of fold grows, at most, where it is missing; NaN:
                           not measured. Of inputs that are not known ones */
} ll_stack_input;

typedef struct ll_stack_member {
    bool             used; /* has networks and a weight above 0 */
    ll_stack_columns columns;
    ll_stack_shape   shape;
    double           start[LL_STACK_LEVELS]; /* where the quantiles begin */
    ll_params       *params;                 /* as ll_stack_declare names them; owned */
    int64_t          steps;                  /* that out-of-fold answers have chosen */
    double           score;                  /* CRPS out of fold, in deviations of training */
} ll_stack_member;

/* The diffusion networks of the same model as one more member of the pool, beside what the others
 * answer together: judged on validation, of which they have learnt nothing
 * (train/stack/diffusion.h).
 */
enum { LL_STACK_DRAWS_MAX = 512 };
typedef struct ll_stack_diffusion {
    bool    tried;                 /* were there any? */
    double  weight;                /* of theirs; what the others answer has the rest */
    bool    ranks;                 /* paths go in the order of theirs, not of the anchor's */
    int64_t samples;               /* draws that their quantiles are made of */
    double  alone, without, score; /* CRPS on validation: theirs, of the others, of all together */
} ll_stack_diffusion;
static inline bool ll_stack_diffuses(const ll_stack_diffusion *d)
{
    return d->weight > 0 || d->ranks;
}

typedef struct ll_stack {
    ll_stack_layout layout;
    int32_t        *neighbour;  /* [targets,entities,LL_STACK_NEIGHBOURS]; owned, NULL: none */
    ll_stack_input *input;      /* [inputs + known]; owned */
    double         *mean, *sd;  /* [variables] of training; owned */
    double         *limit;      /* [variables] beyond which a jump is a glitch; 0: none */
    bool           *chained;    /* [targets] not by mean and sd, but as z of the anchor's chain:
                                   each series by its own, logs where it takes them; owned */
    ll_stack_scale    *scale;   /* [targets] of u and v; owned */
    float             *statics; /* [entities of training,layout statics]; owned, NULL: none */
    ll_stack_member    member[LL_STACK_KINDS];
    double             weight[1 + LL_STACK_KINDS]; /* of the pool, the anchor's first */
    double             anchor_score, score; /* CRPS out of fold: of the anchor, of the pool */
    ll_stack_diffusion diffusion;
    /* While it is trained: a fold, of which only the networks answer that did not learn from it;
     * -1: all do. Not in the file. */
    int fold;
} ll_stack;

/* Everything of the layout's size, zero; neighbours none, names NULL, no fold. Caller owns *out. */
llap_status ll_stack_create(const ll_stack_layout *l, ll_stack **out);
void        ll_stack_destroy(ll_stack *s); /* NULL is fine */

/* The share of a member's weight that is left where one of its columns lies so many deviations
 * outside of the range of training (ll_stack_columns_put): 1 up to one deviation. The anchor, which
 * knows what to do there, has the rest. */
double ll_stack_trust(double away);

typedef struct ll_stack_answerer ll_stack_answerer;
llap_status ll_stack_answerer_create(const ll_stack *s, const ll_backend *backend,
                                     ll_stack_answerer **out); /* borrows s */
void        ll_stack_answerer_destroy(ll_stack_answerer *a);   /* NULL is fine */

/* The normal score of a standardised value under the anchor's law of row i. */
typedef double (*ll_stack_score)(const void *user, int64_t i, double value);

/* move [n,LL_STACK_LEVELS] of raw rows, in order of nothing. */
llap_status ll_stack_answer(ll_stack_answerer *a, const ll_stack_raw *raw, int64_t n,
                            ll_stack_score score, const void *user, double *move);

/* One member's quantiles of the target (sorted, mean of its networks; [n,levels], less `start` of
 * the member) as moves of the anchor's scores: as they are, or through value and score. */
void ll_stack_moves_of(const ll_stack *s, ll_stack_kind kind, const ll_stack_raw *raw, int64_t i,
                       const double *quantile, ll_stack_score score, const void *user,
                       double *move);

#endif
