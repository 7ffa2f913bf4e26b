/* src/base/json: JSON read and written, and records by a table of fields.
 *
 *   json.h    this file
 *   fields.h  a record as JSON, by a table of its fields
 *
 * May touch: base. */

/* Configuration read with messages a person can act on, and text written the same way every
 * time. jansson does the parsing, behind limits that are checked before it allocates anything; its
 * types stay in json.c and json_get.c.
 *
 * Reading. A value is named by its path from the top: "train.batch", "layers[2].width", "" for the
 * document itself. A getter leaves what it is given alone where the value is absent, so defaults
 * are what the variables hold before:
 *
 *     static const char *const keys[] = { "batch", "rate", "loss", NULL };
 *     static const char *const losses[] = { "mse", "huber", NULL };
 *     int64_t batch = 64;
 *     double  rate = 1e-3;
 *     int     loss = 0;
 *     ll_json *j;
 *     llap_status st = ll_json_read("config.json", NULL, &j);
 *     if (st == LLAP_OK) st = ll_json_keys(j, "train", keys);
 *     if (st == LLAP_OK) st = ll_json_need(j, "train.rate");
 *     if (st == LLAP_OK) st = ll_json_int(j, "train.batch", 1, 4096, &batch);
 *     if (st == LLAP_OK) st = ll_json_double(j, "train.rate", 0, 1, &rate);
 *     if (st == LLAP_OK) st = ll_json_enum(j, "train.loss", losses, &loss);
 *     ll_json_destroy(j);
 *
 * What is wrong is LLAP_EFORMAT and says
 *     config.json:3:14: duplicate object key near '"batch"'
 *     config.json:2:12: 'train': unknown key 'bacth', did you mean 'batch'?
 *     config.json:3:14: 'train.batch': expected an integer in 1..4096, found "ten"
 * Line and column are those of a file; of text that is given they are only where parsing ended.
 * What only the caller can tell to be wrong, it says likewise by ll_json_fail. */
#ifndef LL_BASE_JSON_JSON_H
#define LL_BASE_JSON_JSON_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ll_json ll_json; /* a document; immutable, shared by threads */

typedef struct ll_json_limits {
    size_t n_bytes;  /* of text */
    size_t n_values; /* keys and values */
    size_t depth;    /* of objects and arrays within each other; at most 1000 */
} ll_json_limits;
#define LL_JSON_LIMITS ((ll_json_limits){ .n_bytes = 16 << 20, .n_values = 1 << 20, .depth = 64 })

/* Parses text[0..n), an object or array: RFC 8259 without duplicate keys and NUL characters. name
 * is for messages and copied. limits NULL: LL_JSON_LIMITS. On success the caller owns *out; else
 * it is NULL. LLAP_EFORMAT: malformed. LLAP_ELIMIT: over a limit. LLAP_ENOMEM. */
llap_status ll_json_parse(const char *text, size_t n, const char *name,
                          const ll_json_limits *limits, ll_json **out);
/* The same of a file, whose text is kept for messages. */
llap_status ll_json_read(const char *path, const ll_json_limits *limits, ll_json **out);
void        ll_json_destroy(ll_json *j); /* NULL is fine */

/* From now on what is wrong in it is of this code: LLAP_EOPTION of what is no file. */
void ll_json_fail_at(ll_json *j, llap_status code);

/* Gives j, an object without that key, the value that `part` has under it, and takes part, also
 * after a failure. Messages about that value have name, places and code of the part. */
enum { LL_JSON_PARTS = 2 };
llap_status ll_json_add(ll_json *j, const char *key, ll_json *part);

/* ---- what is there ---- */

bool        ll_json_has(const ll_json *j, const char *path);
llap_status ll_json_need(const ll_json *j, const char *path);   /* LLAP_EFORMAT: it is missing */
size_t      ll_json_length(const ll_json *j, const char *path); /* of an array, else 0 */

/* The object at path (if any) has no other keys than these; the list is closed by NULL. */
llap_status ll_json_keys(const ll_json *j, const char *path, const char *const *keys);

/* "config.json:3:14: 'train.batch': " and the message. */
llap_status ll_json_fail(const ll_json *j, const char *path, const char *fmt, ...)
    LLAP_PRINTF(3, 4);

/* "config.json:3:14", where the value at path stands; the name alone if it was no file. */
void ll_json_place(const ll_json *j, const char *path, char *out, size_t size);

/* ---- values; an absent one leaves *v, a failure too ---- */

llap_status ll_json_int(const ll_json *j, const char *path, int64_t min, int64_t max, int64_t *v);

/* Any finite number within min..max, which may be infinite. */
llap_status ll_json_double(const ll_json *j, const char *path, double min, double max, double *v);
llap_status ll_json_bool(const ll_json *j, const char *path, bool *v);

/* *v borrows until ll_json_destroy. */
llap_status ll_json_string(const ll_json *j, const char *path, const char **v);

/* One of the names (closed by NULL); *v becomes its index. */
llap_status ll_json_enum(const ll_json *j, const char *path, const char *const *names, int *v);

/* Arrays of one kind. Caller owns *v (ll_free); the strings borrow until ll_json_destroy. */
llap_status ll_json_ints(const ll_json *j, const char *path, int64_t min, int64_t max, int64_t **v,
                         size_t *n);
llap_status ll_json_doubles(const ll_json *j, const char *path, double min, double max, double **v,
                            size_t *n);
llap_status ll_json_strings(const ll_json *j, const char *path, const char ***v, size_t *n);

/* Any value as the text of an option (<llapdiff/options.h>), at most room bytes with the NUL:
 * strings as they are, numbers and true and false as they are written, arrays of those joined by
 * commas, anything else as JSON. */
llap_status ll_json_text(const ll_json *j, const char *path, char *out, size_t room);

/* A member of the document by its name, in which dots and brackets are nothing else. */
typedef enum ll_json_kind {
    LL_JSON_ABSENT, /* also where the document is no object */
    LL_JSON_NULL,
    LL_JSON_INTEGER, /* also true and false, 1 and 0 */
    LL_JSON_REAL,
    LL_JSON_STRING,
    LL_JSON_OTHER, /* an array or object */
} ll_json_kind;
typedef struct ll_json_value {
    ll_json_kind kind;
    int64_t      integer;
    double       real; /* of integers too */
    const char  *text; /* borrowed until ll_json_destroy */
} ll_json_value;
ll_json_value ll_json_member(const ll_json *j, const char *name);

/* A table by columns, {"time": ["2024-01-01", ...], "x": [1, null, ...]}, as CSV with commas and
 * points: null is an empty cell, true and false are 1 and 0. Caller owns *text (ll_free), closed by
 * a NUL behind its *n bytes. */
llap_status ll_json_csv(const ll_json *j, const char *path, char **text, size_t *n);

/* What is in an array, arrays in it opened, of any depth. */
typedef struct ll_json_counts {
    size_t strings, whole, reals, flags, nulls, objects;
} ll_json_counts;

/* The same values as one flat array, text. Caller owns *text (ll_free). LLAP_EFORMAT: no array. */
llap_status ll_json_flat(const ll_json *j, const char *path, char **text, size_t *n,
                         ll_json_counts *counts);

/* ---- writing ----
 *
 *     ll_json_writer w = { .indent = 2 };
 *     ll_json_open(&w, NULL, '{');
 *     ll_json_put_int(&w, "batch", 64);
 *     ll_json_open(&w, "rates", '[');
 *     ll_json_put_double(&w, NULL, 0.1);
 *     ll_json_close(&w, ']');
 *     ll_json_close(&w, '}');
 *     st = ll_json_finish(&w, &text, &n);      {"batch": 64, "rates": [0.1]} on four lines
 *
 * The writer lives in the caller's storage; its first failure is kept and told by ll_json_finish,
 * which must be called. Keys are for members of objects; elements of arrays and the top have NULL.
 * Members stay in the order they were put. Doubles get the fewest digits that read back exactly
 * and keep a '.' or an exponent; those that are not finite become null. */
typedef struct ll_json_writer {
    int indent; /* spaces per level; 0: all on one line, without spaces */

    /* private */
    char       *text;
    size_t      n, room;
    int         depth;
    int         line_depth; /* depth of the container on one line, 0: none */
    bool        comma;
    llap_status st;
} ll_json_writer;

/* '{' or '['; with '(' an array whose elements stay on one line. */
void ll_json_open(ll_json_writer *w, const char *key, char bracket);
void ll_json_close(ll_json_writer *w, char bracket); /* '}' or ']' */
void ll_json_put_int(ll_json_writer *w, const char *key, int64_t v);
void ll_json_put_double(ll_json_writer *w, const char *key, double v);
void ll_json_put_bool(ll_json_writer *w, const char *key, bool v);
void ll_json_put_null(ll_json_writer *w, const char *key);
void ll_json_put_string(ll_json_writer *w, const char *key, const char *v);
void ll_json_put(ll_json_writer *w, const char *key, const ll_json *j); /* a whole document */

/* Ends the text. On success the caller owns *text (ll_free), closed by a NUL behind its *n bytes;
 * else it is NULL. LLAP_EINVAL: a string is not valid UTF-8. LLAP_ENOMEM. */
llap_status ll_json_finish(ll_json_writer *w, char **text, size_t *n);

/* The value at path, on one line; NULL where there is none. Caller owns *text. */
llap_status ll_json_part(const ll_json *j, const char *path, char **text, size_t *n);

#endif
