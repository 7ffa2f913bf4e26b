/* Flatbuffers, as far as Arrow needs them: tables of fields by number, vectors, strings. All is
 * checked against the buffer's end; what does not fit sets bad, and reads as absent.
 *
 *     ll_flat f = { bytes, n, false };
 *     size_t  message = ll_flat_root(&f);
 *     size_t  header = ll_flat_table(&f, message, 2);         0: there is none
 *     int64_t version = ll_flat_int(&f, message, 0, 2, 0);
 *     if (f.bad) ... */
#ifndef LL_DATA_ARROW_IPC_FLAT_H
#define LL_DATA_ARROW_IPC_FLAT_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ---- */

typedef struct ll_flat {
    const uint8_t *bytes;
    size_t         n;
    bool           bad;
} ll_flat;

/* Little-endian, of width 1, 2, 4 or 8 bytes, with its sign. */
int64_t ll_flat_at(const uint8_t *at, int width);

size_t ll_flat_root(ll_flat *f); /* place of the table */
/* Of a table that was found: its field, or what is usual where it is absent. */
int64_t ll_flat_int(ll_flat *f, size_t table, int slot, int width, int64_t usual);
size_t  ll_flat_table(ll_flat *f, size_t table, int slot); /* 0: absent */
/* Of the first element; *n is how many there are, of so many bytes each. 0: absent or empty. */
size_t ll_flat_vector(ll_flat *f, size_t table, int slot, size_t size, size_t *n);
/* Element i of a vector of tables. */
size_t ll_flat_element(ll_flat *f, size_t vector, size_t i);
/* Its *n bytes; NULL: absent. */
const char *ll_flat_string(ll_flat *f, size_t table, int slot, size_t *n);

/* ---- writing: what is pointed to comes behind what points ---- */

typedef struct ll_flat_out {
    uint8_t *bytes; /* caller owns (ll_free) */
    size_t   n, room;
    bool     failed; /* no memory */
} ll_flat_out;

typedef struct ll_flat_field { /* of a table, by slot */
    int     width;             /* 0: absent; 4 of what is linked later */
    int64_t value;
    size_t  place; /* set by ll_flat_put_table */
} ll_flat_field;

/* Room for n bytes, zeroed, behind zeros up to a multiple of align; their place. */
size_t ll_flat_put(ll_flat_out *o, size_t n, size_t align);
void   ll_flat_put_int(ll_flat_out *o, size_t place, int width, int64_t value);
size_t ll_flat_put_table(ll_flat_out *o, ll_flat_field *field, size_t n);
/* Vector of n elements of size bytes; its place, the elements lie 4 bytes behind. */
size_t ll_flat_put_vector(ll_flat_out *o, size_t n, size_t size);
size_t ll_flat_put_string(ll_flat_out *o, const char *s);
/* What stands at place points to target, which lies behind it. */
void ll_flat_link(ll_flat_out *o, size_t place, size_t target);

#endif
