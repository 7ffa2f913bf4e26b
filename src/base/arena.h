/* Arena: many small blocks with one end of life. Blocks are zeroed, aligned to LL_ALIGN when
 * they are that large and to 16 otherwise, and never move.
 *
 *     ll_arena a = { 0 };
 *     node *n = ll_arena_new(&a, 1, sizeof *n);      NULL on failure, detail set
 *     ll_arena_deinit(&a);                           frees all at once
 *
 * Not thread-safe. */
#ifndef LL_BASE_ARENA_H
#define LL_BASE_ARENA_H

#include <llapdiff/export.h>
#include <stddef.h>

typedef struct ll_arena {
    struct ll_arena_chunk *last;    /* newest chunk, linked to the older ones */
    size_t                 n_bytes; /* handed out so far */
} ll_arena;

void *ll_arena_new(ll_arena *a, size_t n, size_t size);
char *ll_arena_strndup(ll_arena *a, const char *s, size_t n);
char *ll_arena_printf(ll_arena *a, const char *fmt, ...) LLAP_PRINTF(2, 3);
void  ll_arena_deinit(ll_arena *a); /* the arena is then empty and usable again */

#endif
