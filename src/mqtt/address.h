/* Addresses of brokers, and what is wanted of them.
 *
 *     mqtt[s]://[user[:password]@]host[:port]/FILTER[?option=value&...]
 *
 * FILTER is a topic, in which + stands for one level and # at the end for the rest. In all parts
 * %23 is #, %3F ?, %40 @ and %25 %. */
#ifndef LL_MQTT_ADDRESS_H
#define LL_MQTT_ADDRESS_H

#include <llapdiff/status.h>
#include <stdbool.h>

typedef struct ll_mqtt_address {
    bool  tls; /* mqtts */
    char *host, *user, *password, *filter;
    int   port;
    char *name; /* for messages: no user, no password */

    /* options; NULL: not given */
    char *stream, *model; /* that take the readings */
    char *client;         /* the name under which the broker keeps what was not acknowledged */
    char *columns;        /* of payloads that are lines of CSV: "time,pulse,spo2" */
    char *time, *entity;  /* the columns or members of those names; NULL: "time", "entity" */
    char *cafile;         /* certificates to trust; NULL: those of the system */
    char *password_file;  /* has the password in its first line */
} ll_mqtt_address;

/* Caller owns *a, also after a failure. LLAP_EINVAL, with a detail that shows no password: not such
 * an address, no filter that could be, an unknown option. */
llap_status ll_mqtt_address_init(ll_mqtt_address *a, const char *text);
void        ll_mqtt_address_deinit(ll_mqtt_address *a); /* { 0 } is fine */

#endif
