/* What a column is: the format string of its schema, read. */
#ifndef LL_DATA_ARROW_TYPE_H
#define LL_DATA_ARROW_TYPE_H

#include <llapdiff/arrow.h>
#include <stdbool.h>

typedef enum ll_arrow_kind {
    LL_ARROW_NULL,
    LL_ARROW_BOOL,
    LL_ARROW_I8,
    LL_ARROW_U8,
    LL_ARROW_I16,
    LL_ARROW_U16,
    LL_ARROW_I32,
    LL_ARROW_U32,
    LL_ARROW_I64,
    LL_ARROW_U64,
    LL_ARROW_F16,
    LL_ARROW_F32,
    LL_ARROW_F64,
    LL_ARROW_TEXT,       /* offsets of 32 bits */
    LL_ARROW_LARGE_TEXT, /* of 64 */
    LL_ARROW_TEXT_VIEW,
    LL_ARROW_TIMESTAMP, /* int64 */
    LL_ARROW_DATE_DAYS, /* int32 */
    LL_ARROW_DATE_MS,   /* int64 */
    LL_ARROW_CLOCK32,   /* time of day */
    LL_ARROW_CLOCK64,
    LL_ARROW_DURATION, /* int64 */
    LL_ARROW_OTHER,    /* not read */
} ll_arrow_kind;

typedef struct ll_arrow_type {
    ll_arrow_kind kind;      /* of the values, also where they are in a dictionary */
    ll_arrow_kind index;     /* of a dictionary; LL_ARROW_NULL: there is none */
    int64_t       unit_ns;   /* of times: ticks of 1 */
    const char   *zone;      /* of timestamps; "": none. Borrowed from the schema */
    int           n_buffers; /* without those of views beyond the first two */
} ll_arrow_type;

static inline bool ll_arrow_is_number(ll_arrow_kind k)
{
    return k >= LL_ARROW_BOOL && k <= LL_ARROW_F64;
}

static inline bool ll_arrow_is_text(ll_arrow_kind k)
{
    return k >= LL_ARROW_TEXT && k <= LL_ARROW_TEXT_VIEW;
}

/* Timestamps and dates. */
static inline bool ll_arrow_is_instant(ll_arrow_kind k)
{
    return k >= LL_ARROW_TIMESTAMP && k <= LL_ARROW_DATE_MS;
}

/* LLAP_EFORMAT: no format string, or a dictionary of something that cannot be one. */
llap_status ll_arrow_type_init(ll_arrow_type *t, const struct ArrowSchema *s);

/* The name of a format for messages, "decimal(10,2)". */
typedef struct ll_arrow_shown {
    char text[64];
} ll_arrow_shown;

ll_arrow_shown ll_arrow_show(const char *format);

#endif
