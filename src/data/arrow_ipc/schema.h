/* The schema of a stream as that of the C data interface. */
#ifndef LL_DATA_ARROW_IPC_SCHEMA_H
#define LL_DATA_ARROW_IPC_SCHEMA_H

#include "base/arena.h"
#include "data/arrow/type.h"
#include "data/arrow_ipc/flat.h"

typedef struct ll_ipc_field {
    struct ArrowSchema schema, values; /* values: of a dictionary */
    ll_arrow_type      type;
    int64_t            dictionary; /* its number, where type.index says that there is one */
} ll_ipc_field;

typedef struct ll_ipc_schema {
    struct ArrowSchema   whole;
    struct ArrowSchema **child; /* [n] */
    ll_ipc_field        *field; /* [n] */
    size_t               n;
} ll_ipc_schema;

/* Of the table Schema at that place. What it points to is the arena's. */
llap_status ll_ipc_schema_read(ll_flat *f, size_t schema, ll_arena *a, ll_ipc_schema *out);

/* ---- what both directions know of the format ---- */

/* Slots of its tables. */
enum { MESSAGE_VERSION, MESSAGE_HEADER_TYPE, MESSAGE_HEADER, MESSAGE_BODY, MESSAGE_SLOTS };
enum { SCHEMA_ENDIAN, SCHEMA_FIELDS, SCHEMA_SLOTS };
enum {
    FIELD_NAME,
    FIELD_NULLABLE,
    FIELD_TYPE_TYPE,
    FIELD_TYPE,
    FIELD_CODED,
    FIELD_CHILDREN,
    FIELD_SLOTS
};
enum { CODED_ID, CODED_INDEX, CODED_SLOTS };
enum { BATCH_LENGTH, BATCH_NODES, BATCH_BUFFERS, BATCH_PACKED, BATCH_VARIADIC, BATCH_SLOTS };
enum { WORDS_ID, WORDS_DATA, WORDS_IS_DELTA, WORDS_SLOTS };

/* Their unions. */
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY, HEADER_BATCH };
enum {
    TYPE_NULL = 1,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BINARY,
    TYPE_TEXT,
    TYPE_BOOL,
    TYPE_DECIMAL,
    TYPE_DATE,
    TYPE_TIME,
    TYPE_TIMESTAMP,
    TYPE_INTERVAL,
    TYPE_DURATION = 18,
    TYPE_LARGE_TEXT = 20,
    TYPE_TEXT_VIEW = 24,
    TYPE_MOST = 26
};
enum { VERSION_4 = 3, VERSION_5 };

#endif
