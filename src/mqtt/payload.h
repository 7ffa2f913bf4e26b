/* Topic and payload of a message: a row of readings, or why it is none.
 *
 * What the wildcards of the filter stand for names the entity, levels joined by /; where the last
 * level of the topic is the name of a variable, that is the variable, and no part of the entity.
 *
 *     ward/+/+   ward/bed 4/pulse    71                                   one reading, now
 *     ward/#     ward/bed 4/pulse    2024-05-01T12:00:00Z,71              one reading
 *     ward/#     ward/bed 4          {"time": 1714564800, "pulse": 71, "spo2": null}
 *     ward/#     ward/bed 4          2024-05-01T12:00:00Z,71,98           with columns
 *
 * A payload is a number, the reading of the topic's variable, or of the only one; a line of CSV,
 * "TIME,VALUE" of such, or the columns that the address names; or a JSON object, whose members are
 * variables and which may have time and entity, of a topic with a variable also "value". Times are
 * RFC 3339 or numbers since 1970 (seconds, or ms, us, ns by their size); of a model whose times are
 * numbers, those. Without one the message is of when it arrived. Members and columns of other names
 * are not looked at. */
#ifndef LL_MQTT_PAYLOAD_H
#define LL_MQTT_PAYLOAD_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LL_PAYLOAD_MOST = 64 << 10, /* bytes; more is no reading */
    LL_PAYLOAD_ENTITY_MOST = 255,
};

/* What messages are about. All is borrowed. */
typedef struct ll_payload_form {
    const char        *filter;  /* that the address has */
    const char        *columns; /* of lines of CSV; NULL: TIME,VALUE */
    const char        *time;    /* names of those columns or members; NULL: "time", "entity" */
    const char        *entity;
    const char *const *variable; /* [n_variables] */
    int64_t            n_variables;
    bool               is_number; /* times are numbers, */
    int64_t            unit_ns;   /* ticks of 1 */
} ll_payload_form;

typedef enum ll_payload_kind {
    LL_PAYLOAD_ROW,
    LL_PAYLOAD_OTHER, /* nothing of it is a variable */
} ll_payload_kind;

typedef struct ll_payload_row {
    char    entity[LL_PAYLOAD_ENTITY_MOST + 1];
    int64_t time;
    double *value; /* [n_variables] the caller's; NaN: missing */
} ll_payload_row;

/* payload need not end with a NUL. now: when it arrived, nanoseconds since 1970. LLAP_EFORMAT,
 * LLAP_ELIMIT: it cannot be read; the detail says why and shows the topic. */
llap_status ll_payload_read(const ll_payload_form *f, const char *topic, const char *payload,
                            size_t n, int64_t now, ll_payload_row *out, ll_payload_kind *kind);

#endif
