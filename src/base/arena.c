#include "base/arena.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };

struct ll_arena_chunk {
    struct ll_arena_chunk *older;
    size_t                 used, size; /* bytes of data[] */
    _Alignas(LL_ALIGN) unsigned char data[];
};

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void *ll_arena_new(ll_arena *a, size_t n, size_t size)
{
    size_t n_bytes;
    if (__builtin_mul_overflow(n, size, &n_bytes) || n_bytes > SIZE_MAX / 2) {
        (void)ll_fail(LLAP_ENOMEM, "out of memory: %zu elements of %zu bytes", n, size);
        return NULL;
    }
    const size_t           align = n_bytes >= LL_ALIGN ? LL_ALIGN : 16;
    struct ll_arena_chunk *c = a->last;
    size_t                 start = c == NULL ? 0 : round_up(c->used, align);
    if (c == NULL || start > c->size || c->size - start < n_bytes) {
        const size_t room = n_bytes > CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
        c = ll_new_aligned(1, sizeof *c + room);
        if (c == NULL) return NULL;
        *c = (struct ll_arena_chunk){ .older = a->last, .size = room };
        a->last = c;
        start = 0;
    }
    c->used = start + n_bytes;
    a->n_bytes += n_bytes;
    return c->data + start;
}

char *ll_arena_strndup(ll_arena *a, const char *s, size_t n)
{
    char *copy = ll_arena_new(a, n + 1, 1);
    if (copy != NULL) memcpy(copy, s, n);
    return copy;
}

char *ll_arena_printf(ll_arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    char     *s = n < 0 ? NULL : ll_arena_new(a, (size_t)n + 1, 1);
    if (s != NULL) vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return s;
}

void ll_arena_deinit(ll_arena *a)
{
    for (struct ll_arena_chunk *c = a->last; c != NULL;) {
        struct ll_arena_chunk *older = c->older;
        ll_free(c);
        c = older;
    }
    *a = (ll_arena){ 0 };
}
