/* The columns of one query: numbers that tell about the value of a target at time t what was known
 * at the origin (docs/spec/stack.md 3). Readings after the origin are never looked at, but for
 * those of known variables, which are up to t.
 *
 *     ll_stack_layout l = ...;                       what there is to look at, kept in the model
 *     int F = ll_stack_describe(&l, NULL);
 *     ll_stack_column column[F];
 *     ll_stack_describe(&l, column);
 *     ll_stack_raw raw;
 *     ll_stack_look(&l, &source, &query, &raw);      raw.x [F]
 *
 * A column is NaN where it is missing. Columns that members with and without the anchor see
 * differently are kept as they are read: columns.h takes them from there. */
#ifndef LL_STACK_FEATURES_H
#define LL_STACK_FEATURES_H

#include "stack/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LL_STACK_WINDOWS = 6,    /* spans that means are taken over */
    LL_STACK_NEIGHBOURS = 5, /* entities that tell most about another */
    LL_STACK_EACH = 30,      /* up to so many entities each have columns of their own */
    LL_STACK_SOME = 50,      /* entities that a mean over all looks at, evenly spread */
};

typedef enum ll_stack_cycle {
    LL_STACK_CYCLE_NONE,
    LL_STACK_CYCLE_DAY,  /* readings of a day are several: the hour counts, and the week */
    LL_STACK_CYCLE_WEEK, /* one a day or fewer */
} ll_stack_cycle;

/* Times are in the model's unit, with a cycle hours since 1970. */
typedef struct ll_stack_layout {
    int64_t targets, inputs; /* variables: the targets, then what is looked at beside them, */
    int64_t known;           /* then what is given for the time of a query too */
    int64_t statics;         /* numbers of an entity that never change */
    int64_t entities;        /* that look at each other; 0: each is on its own */
    double  step, context, horizon;
    ll_stack_cycle cycle;
    bool           annual;    /* columns of the year */
    bool           irregular; /* readings keep to no grid */
    bool           elapsed;   /* time since the entity's first row counts */
    bool           holidays;  /* some days are */
    int64_t        n_windows;
    double         window[LL_STACK_WINDOWS]; /* increasing, the last is the context at most */
    double         brief, longer;            /* changes are taken over these */
} ll_stack_layout;

static inline int64_t ll_stack_variables(const ll_stack_layout *l)
{
    return l->targets + l->inputs + l->known;
}

/* window, brief and longer as step, context and cycle suggest. */
void ll_stack_layout_spans(ll_stack_layout *l);

typedef enum ll_stack_role {
    LL_STACK_PLAIN,
    LL_STACK_RELATIVE, /* a value that counts as its distance from the median or the base */
    LL_STACK_MEDIAN,   /* the anchor's median; without the anchor the base */
    LL_STACK_ANCHOR,   /* there is none of it without the anchor */
} ll_stack_role;

typedef struct ll_stack_column {
    ll_stack_role role;
    bool          level;    /* tells the level of a series, by which a season could be recognised */
    bool          flag;     /* 0 or 1, not to be standardised */
    int64_t       variable; /* whose other readings it tells of, by its place; 0: none of them */
    bool          grows;    /* goes on beyond the range of training as a matter of course */
} ll_stack_column;

/* How many columns there are; column may be NULL. */
int ll_stack_describe(const ll_stack_layout *l, ll_stack_column *column);
enum { LL_STACK_COLUMNS_MAX = 16384 };

/* Standardised readings of a panel; all borrowed. */
typedef struct ll_stack_source {
    const ll_trace *series;    /* [entities of the panel,ll_stack_variables()] */
    const double   *start;     /* [entities of the panel] time of the first row */
    const int64_t  *known;     /* [entities of the panel] index among the layout's, or -1 */
    const int64_t  *place;     /* [layout entities] of the panel, or -1 */
    const int32_t  *neighbour; /* [targets,layout entities,LL_STACK_NEIGHBOURS], -1: none */
    const float    *statics;   /* [entities of the panel,layout statics]; NULL: there are none */
} ll_stack_source;

typedef struct ll_stack_query {
    int64_t entity, target; /* of the panel; of the layout */
    double  origin, t;
    double  median, spread, skew; /* of the anchor's law, standardised: a, b > 0, (q90+q10-2a)/b */
    bool    holiday;              /* t lies on one */
} ll_stack_query;

typedef struct ll_stack_raw {
    float         *x; /* [columns]; the caller's */
    ll_stack_query query;
    double         base; /* what members without the anchor start from */
} ll_stack_raw;

/* Sets all of raw but x itself, which it fills. */
void ll_stack_look(const ll_stack_layout *l, const ll_stack_source *s, const ll_stack_query *q,
                   ll_stack_raw *raw);

/* Whom each entity looks at first: those whose distance from it tells most about its own change
 * over the next `ahead`, by correlation at the times from first to end, `every` apart. neighbour
 * [layout entities,LL_STACK_NEIGHBOURS] of one target. */
void ll_stack_neighbours(const ll_stack_layout *l, const ll_stack_source *s, int64_t target,
                         double first, double end, double every, double ahead, int32_t *neighbour);

#endif
