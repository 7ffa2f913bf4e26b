/* Arena: many small blocks with one end of life. Blocks are zeroed, aligned to LLAP_ALIGN when
 * they are that large and to 16 otherwise, and never move.
 *
 *     llap_arena a = { 0 };
 *     node *n = llap_arena_new(&a, 1, sizeof *n);      NULL on failure, detail set
 *     llap_arena_deinit(&a);                           frees all at once
 *
 * Not thread-safe. */
#ifndef LLAP_BASE_ARENA_H
#define LLAP_BASE_ARENA_H

#include <llapdiff/export.h>
#include <stddef.h>

typedef struct llap_arena {
    struct llap_arena_chunk *last;    /* newest chunk, linked to the older ones */
    size_t                   n_bytes; /* handed out so far */
} llap_arena;

void *llap_arena_new(llap_arena *a, size_t n, size_t size);
char *llap_arena_strndup(llap_arena *a, const char *s, size_t n);
char *llap_arena_printf(llap_arena *a, const char *fmt, ...) LLAP_PRINTF(2, 3);
void  llap_arena_deinit(llap_arena *a); /* the arena is then empty and usable again */

#endif
