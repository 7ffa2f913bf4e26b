/* Records from and to JSON by a table: each key is one line, and reading, writing, limits and
 * messages follow from it.
 *
 *     typedef struct engine { int64_t power; double rate; bool on; } engine;
 *     static const ll_field fields[] = {
 *         { "power", LL_FIELD_INT, offsetof(engine, power), .low = 1, .high = 100 },
 *         { "rate", LL_FIELD_REAL, offsetof(engine, rate), .high = 1 },
 *         { "on", LL_FIELD_BOOL, offsetof(engine, on) },
 *     };
 *     engine e = { .power = 10 };
 *     st = ll_fields_read(j, "engine", fields, 3, &e);       absent keys leave what e holds
 *     ll_fields_write(w, fields, 3, &e);                     the members of an open object
 */
#ifndef LL_BASE_JSON_FIELDS_H
#define LL_BASE_JSON_FIELDS_H

#include "base/json/json.h"

typedef enum ll_field_kind {
    LL_FIELD_INT,    /* int64_t in low..high */
    LL_FIELD_SMALL,  /* int in low..high */
    LL_FIELD_REAL,   /* double in low..high */
    LL_FIELD_REALS,  /* ll_reals, each in low..high */
    LL_FIELD_BOOL,   /* bool */
    LL_FIELD_CHOICE, /* an enum that counts from 0, by its names */
} ll_field_kind;

enum { LL_REALS_MAX = 64 };
typedef struct ll_reals { /* a few numbers */
    int    n;
    double v[LL_REALS_MAX];
} ll_reals;

typedef struct ll_field {
    const char        *key;
    ll_field_kind      kind;
    size_t             offset; /* in the record */
    double             low, high;
    const char *const *names; /* of a choice, closed by NULL */
} ll_field;

/* The object at path ("" is the document). Other keys are not looked at. LLAP_EFORMAT as in
 * base/json/json.h; the record may then have changed in part. */
llap_status ll_fields_read(const ll_json *j, const char *path, const ll_field *f, int n,
                           void *record);
/* The object at path has no other keys than these, and than those of more (closed by NULL, or
 * NULL). */
llap_status ll_fields_only(const ll_json *j, const char *path, const ll_field *f, int n,
                           const char *const *more);
void        ll_fields_write(ll_json_writer *w, const ll_field *f, int n, const void *record);

/* The record is within its limits; what is for the message. LLAP_EINVAL names the key. */
llap_status ll_fields_check(const char *what, const ll_field *f, int n, const void *record);

#endif
