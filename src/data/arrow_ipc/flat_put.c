#include "base/alloc.h"
#include "data/arrow_ipc/flat.h"

#include <assert.h>
#include <string.h>

size_t ll_flat_put(ll_flat_out *o, size_t n, size_t align)
{
    const size_t at = (o->n + align - 1) / align * align, end = at + n;
    if (!o->failed && end > o->room) {
        uint8_t *more = ll_grow(o->bytes, 2 * end, 1);
        if (more == NULL) o->failed = true;
        else o->bytes = more, o->room = 2 * end;
    }
    if (o->failed) return 0;
    memset(o->bytes + o->n, 0, end - o->n);
    o->n = end;
    return at;
}

void ll_flat_put_int(ll_flat_out *o, size_t place, int width, int64_t value)
{
    if (o->failed) return;
    assert(place + (size_t)width <= o->n);
    for (int i = 0; i < width; i++) o->bytes[place + (size_t)i] = (uint8_t)(value >> (8 * i));
}

/* The list of fields, then the table at a multiple of 8. */
size_t ll_flat_put_table(ll_flat_out *o, ll_flat_field *f, size_t n)
{
    const size_t n_list = 4 + 2 * n, list = ll_flat_put(o, (n_list + 7) / 8 * 8, 8);
    const size_t start = list + (n_list + 7) / 8 * 8 - n_list; /* it ends where the table begins */
    const size_t table = ll_flat_put(o, 4, 8);
    for (size_t i = 0; i < n; i++) {
        if (f[i].width == 0) continue;
        f[i].place = ll_flat_put(o, (size_t)f[i].width, (size_t)f[i].width);
        ll_flat_put_int(o, f[i].place, f[i].width, f[i].value);
        ll_flat_put_int(o, start + 4 + 2 * i, 2, (int64_t)(f[i].place - table));
    }
    ll_flat_put_int(o, table, 4, (int64_t)n_list);
    ll_flat_put_int(o, start, 2, (int64_t)n_list);
    ll_flat_put_int(o, start + 2, 2, (int64_t)(o->n - table));
    return table;
}

size_t ll_flat_put_vector(ll_flat_out *o, size_t n, size_t size)
{
    (void)ll_flat_put(o, 4, 8); /* elements at a multiple of 8 */
    const size_t at = ll_flat_put(o, 4 + n * size, 4);
    ll_flat_put_int(o, at, 4, (int64_t)n);
    return at;
}

size_t ll_flat_put_string(ll_flat_out *o, const char *s)
{
    const size_t n = strlen(s), at = ll_flat_put(o, 4 + n + 1, 4);
    if (o->failed) return 0;
    ll_flat_put_int(o, at, 4, (int64_t)n);
    memcpy(o->bytes + at + 4, s, n);
    return at;
}

void ll_flat_link(ll_flat_out *o, size_t place, size_t to)
{
    if (o->failed) return;
    assert(to > place);
    ll_flat_put_int(o, place, 4, (int64_t)(to - place));
}
