/* What happens to entities at times, in the order it came, and the order that it has. The payload,
 * rows of values or single cells, lies beside it. */
#ifndef LL_DATA_EVENTS_H
#define LL_DATA_EVENTS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ll_events {
    void    *entity; /* [n] numbers of width bytes: most tables have few entities and many rows */
    int      width;  /* 1, 2 or 4; 0: nothing was reserved */
    int64_t *time;   /* [n] */
    int64_t  n, capacity;
} ll_events;

static inline uint32_t ll_events_entity(const ll_events *e, int64_t i)
{
    return e->width == 1   ? ((const uint8_t *)e->entity)[i]
           : e->width == 2 ? ((const uint16_t *)e->entity)[i]
                           : ((const uint32_t *)e->entity)[i];
}

/* The width must hold it. */
static inline void ll_events_put(ll_events *e, int64_t i, uint32_t entity)
{
    if (e->width == 1) ((uint8_t *)e->entity)[i] = (uint8_t)entity;
    else if (e->width == 2) ((uint16_t *)e->entity)[i] = (uint16_t)entity;
    else ((uint32_t *)e->entity)[i] = entity;
}

static inline bool ll_events_holds(const ll_events *e, uint32_t entity)
{
    return e->width == 4 || entity >> 8 * e->width == 0;
}

/* Room for so many events, of entities up to this number. Keeps the capacity as it is known. */
llap_status ll_events_reserve(ll_events *e, int64_t capacity, uint32_t entity);
void        ll_events_deinit(ll_events *e);

/* order[k] = arrival number of the k-th event by (rank of its entity, time, arrival). NULL when
 * the events lie so already. Caller owns *order. */
llap_status ll_events_sort(const ll_events *e, const uint32_t *rank, uint32_t n_entities,
                           int64_t **order);

/* Whether the i-th and the j-th event of that order are of one entity and time. */
bool ll_events_same(const ll_events *e, const int64_t *order, int64_t i, int64_t j);

#endif
