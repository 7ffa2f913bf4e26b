/* Readings from an MQTT broker, for one stream: stored, taken in, then acknowledged. */
#ifndef LL_SERVE_FEED_H
#define LL_SERVE_FEED_H

#include "serve/serve.h"

/* Where no broker is named it does nothing. A broker that does not answer is tried again and again.
 * LLAP_EOPTION: the address, or no store; LLAP_EUNSUPPORTED: no libmosquitto. */
llap_status ll_feed_start(llap_server *s);
void        ll_feed_stop(llap_server *s);

/* Since it was started. */
typedef struct ll_feed_counts {
    int64_t messages, readings; /* that came; that became durable, rows */
    int64_t passed, refused;    /* messages of nothing that the model knows; that cannot be read */
    bool    ready;              /* the broker sends */
} ll_feed_counts;
bool ll_feed_count(llap_server *s, ll_feed_counts *out); /* false: there is none */

#endif
