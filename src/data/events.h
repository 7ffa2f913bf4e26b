/* What happens to entities at times, in the order it came, and the order that it has. The payload,
 * rows of values or single cells, lies beside it. */
#ifndef LL_DATA_EVENTS_H
#define LL_DATA_EVENTS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ll_events {
    uint32_t *entity; /* [n] */
    int64_t  *time;   /* [n] */
    int64_t   n, capacity;
} ll_events;

/* order[k] = arrival number of the k-th event by (rank of its entity, time, arrival). NULL when
 * the events lie so already. Caller owns *order. */
llap_status ll_events_sort(const ll_events *e, const uint32_t *rank, uint32_t n_entities,
                           int64_t **order);

/* Whether the i-th and the j-th event of that order are of one entity and time. */
bool ll_events_same(const ll_events *e, const int64_t *order, int64_t i, int64_t j);

#endif
