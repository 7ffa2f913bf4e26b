/* Unstable (see unstable.h): readings of an MQTT broker into a stream (<llapdiff/stream.h>).
 *
 *     llap_broker *b = NULL;
 *     llap_status  st = llap_broker_open(s, "mqtt://host/ward/#", "ward.state", NULL, &b);
 *     while (st == LLAP_OK || st == LLAP_EUNAVAILABLE) {
 *         int64_t n = 0;
 *         st = llap_broker_take(b, 500, &n);
 *         if (st == LLAP_OK && n > 0) {
 *             ...                                  alarms are looked at, the stream is saved
 *             st = llap_broker_acknowledge(b);
 *         }
 *     }
 *     llap_broker_close(b);
 *
 * docs/serve.md has addresses, topics and payloads. libmosquitto is looked for when one is opened.
 */
#ifndef LLAPDIFF_BROKER_H
#define LLAPDIFF_BROKER_H

#include <llapdiff/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_broker llap_broker;

/* Connects to nothing yet. The broker keeps what was not acknowledged by the address, or its option
 * client: name, which may be NULL, tells those of several processes apart. Borrows s, and the log,
 * until it is closed; caller owns *out. LLAP_EINVAL: the address; LLAP_EUNSUPPORTED: no library. */
LLAP_API llap_status llap_broker_open(llap_stream *s, const char *address, const char *name,
                                      const llap_log *log, llap_broker **out);
LLAP_API void        llap_broker_close(llap_broker *b); /* NULL is fine */

/* Takes the rows of the messages that come, once some came or after so many milliseconds; *n: how
 * many messages. Those that are no row of the stream are counted, and the log tells of the first.
 * LLAP_EUNAVAILABLE: there is no connection; the next call tries again. */
LLAP_API llap_status llap_broker_take(llap_broker *b, int wait_ms, int64_t *n);
/* They do not come again; to be called before the next llap_broker_take, which would do so.
 * LLAP_EUNAVAILABLE: the connection was lost, they will. */
LLAP_API llap_status llap_broker_acknowledge(llap_broker *b);

typedef struct llap_broker_counts {
    int64_t messages, rows;
    int64_t passed;  /* of other variables, or of before it was first connected */
    int64_t refused; /* that could not be read, or not be taken */
} llap_broker_counts;
LLAP_API void llap_broker_count(const llap_broker *b, llap_broker_counts *out);

#ifdef __cplusplus
}
#endif

#endif
