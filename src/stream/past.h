/* The rows that are kept of one entity: those that an answer can still depend on, in order of time,
 * with the numbers that the anchors look at beside them.
 *
 *     ll_past k = { 0 };
 *     ll_past_row row;
 *     st = ll_past_take(&k, &shape, time, value, &row);
 *     ll_series h = ll_past_series(&k, &shape, 0, row.at);         what came before it
 *     ll_past_deinit(&k);
 *
 * Rows lie one behind the other with room at both ends: the oldest leave by counting up `from`, and
 * are overwritten when the room is used up, so a row costs its own length on average. */
#ifndef LL_STREAM_PAST_H
#define LL_STREAM_PAST_H

#include "anchor/model.h"

#include <stdint.h>

/* What all entities of a stream have in common. */
typedef struct ll_past_shape {
    int64_t                       n_vars, n_targets;
    const int64_t                *target; /* [n_targets] which variable it is */
    const ll_anchor_model *const *anchor; /* [n_targets]; NULL: the model has none */
    int64_t                       unit;   /* ticks per unit of the anchors' time */
    int64_t                       span;   /* ticks; older rows than this before the newest go */
    int64_t                       most;   /* rows, by which the oldest go all the same */
    bool observed; /* the span is counted from the last row that has a target */
} ll_past_shape;

typedef struct ll_past {
    size_t   series;     /* ll_model_series of the entity */
    int64_t  first;      /* time of its first row ever; of no use while there is none */
    int64_t  newest;     /* of the span: time of its newest row that counts */
    int64_t  from, n;    /* rows from .. from + n - 1 are kept */
    int64_t  room;       /* rows that there is memory for */
    bool     any, begun; /* there was a row; one that counts for the span */
    int64_t *time;       /* [room] */
    double  *t;          /* [room] in the anchors' unit */
    float   *value;      /* [room,n_vars] NaN: missing */
    double  *y, *u;      /* [n_targets,room] */
} ll_past;

/* What became of a row. */
typedef struct ll_past_row {
    int64_t at; /* its place from `from` on; -1: it was dropped */
    bool    late, repeated;
    int64_t cut; /* rows that left before their span was over */
} ll_past_row;

/* Values [n_vars]. LLAP_ENOMEM leaves k as it was. */
llap_status ll_past_take(ll_past *k, const ll_past_shape *s, int64_t time, const float *value,
                         ll_past_row *out);
void        ll_past_deinit(ll_past *k); /* { 0 } is fine */

/* Room for n rows. */
llap_status ll_past_reserve(ll_past *k, const ll_past_shape *s, int64_t n);

/* A target's first n rows, as the anchors take them; borrowed until the next row. */
ll_series ll_past_series(const ll_past *k, const ll_past_shape *s, int64_t target, int64_t n);

/* The rows are of another series of the model from now on. */
void ll_past_set_series(ll_past *k, const ll_past_shape *s, size_t series);

/* How many rows are at or before that time. */
int64_t ll_past_upto(const ll_past *k, int64_t time);

size_t ll_past_bytes(const ll_past *k, const ll_past_shape *s);

#endif
