/* Records from and to JSON by a table: each key is one line, and reading, writing, limits and
 * messages follow from it.
 *
 *     typedef struct engine { int64_t power; double rate; bool on; } engine;
 *     static const llap_field fields[] = {
 *         { "power", LLAP_FIELD_INT, offsetof(engine, power), .low = 1, .high = 100 },
 *         { "rate", LLAP_FIELD_REAL, offsetof(engine, rate), .high = 1 },
 *         { "on", LLAP_FIELD_BOOL, offsetof(engine, on) },
 *     };
 *     engine e = { .power = 10 };
 *     st = llap_fields_read(j, "engine", fields, 3, &e);       absent keys leave what e holds
 *     llap_fields_write(w, fields, 3, &e);                     the members of an open object
 */
#ifndef LLAP_BASE_FIELDS_H
#define LLAP_BASE_FIELDS_H

#include "base/json.h"

typedef enum llap_field_kind {
    LLAP_FIELD_INT,    /* int64_t in low..high */
    LLAP_FIELD_SMALL,  /* int in low..high */
    LLAP_FIELD_REAL,   /* double in low..high */
    LLAP_FIELD_REALS,  /* llap_reals, each in low..high */
    LLAP_FIELD_BOOL,   /* bool */
    LLAP_FIELD_CHOICE, /* an enum that counts from 0, by its names */
} llap_field_kind;

enum { LLAP_REALS_MAX = 64 };
typedef struct llap_reals { /* a few numbers */
    int    n;
    double v[LLAP_REALS_MAX];
} llap_reals;

typedef struct llap_field {
    const char        *key;
    llap_field_kind    kind;
    size_t             offset; /* in the record */
    double             low, high;
    const char *const *names; /* of a choice, closed by NULL */
} llap_field;

/* The object at path ("" is the document). Other keys are not looked at. LLAP_EFORMAT as in
 * base/json.h; the record may then have changed in part. */
llap_status llap_fields_read(const llap_json *j, const char *path, const llap_field *f, int n,
                             void *record);
/* The object at path has no other keys than these, and than those of more (closed by NULL, or
 * NULL). */
llap_status llap_fields_only(const llap_json *j, const char *path, const llap_field *f, int n,
                             const char *const *more);
void        llap_fields_write(llap_json_writer *w, const llap_field *f, int n, const void *record);

/* The record is within its limits; what is for the message. LLAP_EINVAL names the key. */
llap_status llap_fields_check(const char *what, const llap_field *f, int n, const void *record);

#endif
