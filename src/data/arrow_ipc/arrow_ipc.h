/* src/data/arrow_ipc: Arrow streams, the tables that pyarrow, polars, DuckDB and others send
 * ("application/vnd.apache.arrow.stream"), read and written without a library.
 *
 *   arrow_ipc.h   this file
 *   flat.h        the flatbuffers that their metadata is
 *   schema.h      a schema of them as that of the C data interface
 *
 * A stream is a line of messages: a schema, then dictionaries and batches of rows. A message is
 *
 *     offset  size
 *     0       4      ff ff ff ff
 *     4       4      n, a multiple of 8; 0 ends the stream
 *     8       n      a flatbuffer: what the body is, and where its buffers lie
 *     8+n     m      the body, m a multiple of 8, as the flatbuffer says
 *
 * all little-endian. What is read: metadata of versions 4 and 5; columns of nulls, booleans, whole
 * and floating numbers, text (32 and 64 bit offsets, views), dates, times, timestamps, durations,
 * and dictionaries of them that come whole. Anything else is refused by name: compressed bodies,
 * nested columns, decimals, binary, additions to dictionaries, other byte orders.
 *
 * May touch: base, data/arrow. */
#ifndef LL_DATA_ARROW_IPC_ARROW_IPC_H
#define LL_DATA_ARROW_IPC_ARROW_IPC_H

#include <llapdiff/arrow.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- reading ---- */

/* Whether it begins like a stream, or like a file of Arrow, which is refused with a word why. */
bool ll_ipc_detect(const void *bytes, size_t n);

/* Checks all of the stream, every size and offset, and shows it by the C data interface: nothing
 * that out gives can fail or lie outside. Its arrays borrow bytes and out, which is to be released.
 * LLAP_EFORMAT: "arrow: byte 312: ..."; LLAP_ENOMEM. */
llap_status ll_ipc_open(const void *bytes, size_t n, struct ArrowArrayStream *out);

/* ---- writing ---- */

typedef enum ll_ipc_kind {
    LL_IPC_WORD,    /* int32_t, place in text: a dictionary */
    LL_IPC_INSTANT, /* int64_t, nanoseconds since 1970 */
    LL_IPC_INTEGER, /* int64_t */
    LL_IPC_SMALL,   /* int32_t */
    LL_IPC_NUMBER,  /* double; NaN is null */
    LL_IPC_FLAG,    /* uint8_t, 0 or 1; 2 is null */
} ll_ipc_kind;

typedef struct ll_ipc_column {
    const char        *name;
    ll_ipc_kind        kind;
    const char        *zone;   /* of instants; NULL or "": none, a clock on a wall */
    const void        *cell;   /* row r is element r * stride */
    size_t             stride; /* in elements */
    const char *const *text;   /* [n_texts] of words */
    int64_t            n_texts;
} ll_ipc_column;

/* A stream of one batch. Words are places in text (asserted). Caller owns *out (ll_free). */
llap_status ll_ipc_write(const ll_ipc_column *column, size_t n_columns, int64_t n_rows, char **out,
                         size_t *n);

#endif
