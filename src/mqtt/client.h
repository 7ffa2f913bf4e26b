/* A connection to a broker. The session is kept by the broker under the client's name: what was
 * published with QoS 1 and not acknowledged comes again, also after the process was killed.
 *
 *     st = ll_mqtt_open(&address, "llapdiff-1", &stopping, NULL, &c);
 *     for (;;) {
 *         st = ll_mqtt_receive(c, 200, &m, &n);             connects first, where it is not
 *         if (st == LLAP_OK && n > 0) { store them; st = ll_mqtt_acknowledge(c); }
 *     }
 *     ll_mqtt_close(c);
 *
 * libmosquitto puts the acknowledgement of a message into its queue before it hands the message
 * over, and sends what is in the queue when it is told to: between ll_mqtt_receive, where it gave
 * messages, and ll_mqtt_acknowledge nothing is sent. Messages that are not acknowledged come again
 * once the connection is lost (ll_mqtt_drop). One thread at a time. */
#ifndef LL_MQTT_CLIENT_H
#define LL_MQTT_CLIENT_H

#include "mqtt/address.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ll_mqtt_client ll_mqtt_client;

typedef struct ll_mqtt_message {
    const char *topic;
    const char *payload; /* [n] closed by a NUL that does not count */
    size_t      n;
    bool        retained; /* from before: the broker gives it to everybody who subscribes */
} ll_mqtt_message;

/* Connects to nothing yet. id: where the address names no client. a and stop (waiting ends when it
 * is set) are borrowed until the end. library: NULL is the usual one. Caller owns *out.
 * LLAP_EUNSUPPORTED: no library; LLAP_ENOTFOUND, LLAP_EIO: a file that the address names. */
llap_status ll_mqtt_open(const ll_mqtt_address *a, const char *id, const atomic_bool *stop,
                         const char *library, ll_mqtt_client **out);
void        ll_mqtt_close(ll_mqtt_client *c); /* NULL is fine */

/* The next messages [*n], borrowed until the next call; none where none came for wait_ms.
 * LLAP_EUNAVAILABLE: no connection, the detail says why; the next call tries again. */
llap_status ll_mqtt_receive(ll_mqtt_client *c, int wait_ms, const ll_mqtt_message **m, size_t *n);
/* Of all that were given. LLAP_EUNAVAILABLE: the connection is lost, they come again. */
llap_status ll_mqtt_acknowledge(ll_mqtt_client *c);
/* Ends the connection as if it were lost. */
void ll_mqtt_drop(ll_mqtt_client *c);
/* Whether the broker has answered that it sends what is wanted. */
bool ll_mqtt_is_ready(const ll_mqtt_client *c);

#endif
