/* Where copies between the caller's memory and the GPU's are staged: a ring of a few equal pieces
 * of memory that the GPU reads and writes by itself. Small copies go one behind the other into a
 * piece, large ones take one piece after the other, so that one is filled while others travel.
 * Without CUDA's headers, so that it is tested on machines without a GPU too. */
#ifndef LL_BACKEND_CUDA_OBJECT_STAGING_H
#define LL_BACKEND_CUDA_OBJECT_STAGING_H

#include <stdbool.h>
#include <stddef.h>

enum { STAGING_PIECES = 8, STAGING_ALIGN = 256 };
#define STAGING_BYTES ((size_t)1 << 20) /* of a piece */
#define STAGING_MOST ((size_t)1 << 22)  /* of a copy: two of them at once, or one behind others */

typedef struct staging {
    int    at;   /* the piece in use */
    size_t used; /* bytes of it that were handed out */
} staging;

typedef struct staging_place {
    int    left;   /* piece that nothing more goes to, to be marked; -1: none */
    int    piece;  /* if one was left, its mark of the round before is to be waited for */
    size_t offset; /* in the ring */
} staging_place;

/* Room for n_bytes, at most STAGING_BYTES. alone: not behind what is in the piece, because that
 * belongs to another queue. */
static inline staging_place staging_take(staging *s, size_t n_bytes, bool alone)
{
    staging_place p = { -1, s->at, 0 };
    if (s->used > 0 && (alone || s->used + n_bytes > STAGING_BYTES)) {
        p.left = s->at;
        s->at = (s->at + 1) % STAGING_PIECES;
        s->used = 0;
    }
    p.piece = s->at;
    p.offset = (size_t)s->at * STAGING_BYTES + s->used;
    s->used += (n_bytes + STAGING_ALIGN - 1) / STAGING_ALIGN * STAGING_ALIGN;
    return p;
}

#endif
