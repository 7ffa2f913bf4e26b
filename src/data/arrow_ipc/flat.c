#include "data/arrow_ipc/flat.h"

int64_t ll_flat_at(const uint8_t *at, int width)
{
    uint64_t x = 0;
    for (int i = 0; i < width; i++) x |= (uint64_t)at[i] << (8 * i);
    const uint64_t sign = UINT64_C(1) << (8 * width - 1);
    return (int64_t)((x ^ sign) - sign);
}

static uint32_t u32(const ll_flat *f, size_t at) { return (uint32_t)ll_flat_at(f->bytes + at, 4); }

static size_t u16(const ll_flat *f, size_t at) { return (uint16_t)ll_flat_at(f->bytes + at, 2); }

static bool inside(const ll_flat *f, size_t at, size_t n) { return at <= f->n && n <= f->n - at; }

static size_t bad(ll_flat *f)
{
    f->bad = true;
    return 0;
}

/* A table begins with how far in front of it its list of fields lies: bytes of the list, bytes of
 * the table, then the place of each field in the table, 0 of those that are absent. */
static size_t list_of(ll_flat *f, size_t table)
{
    if (!inside(f, table, 4)) return bad(f);
    const int64_t at = (int64_t)table - ll_flat_at(f->bytes + table, 4);
    if (at < 0 || !inside(f, (size_t)at, 4)) return bad(f);
    const size_t list = (size_t)at;
    const bool fits = u16(f, list) >= 4 && inside(f, list, u16(f, list)) && u16(f, list + 2) >= 4 &&
                      inside(f, table, u16(f, list + 2));
    return fits ? list : bad(f);
}

static size_t check_table(ll_flat *f, size_t table)
{
    (void)list_of(f, table);
    return f->bad ? 0 : table;
}

static size_t field(ll_flat *f, size_t table, int slot, size_t width)
{
    const size_t list = f->bad || table == 0 ? 0 : list_of(f, table);
    const size_t entry = 4 + 2 * (size_t)slot;
    if (f->bad || table == 0 || entry + 2 > u16(f, list)) return 0;
    const size_t at = u16(f, list + entry);
    if (at == 0) return 0;
    return at >= 4 && at + width <= u16(f, list + 2) ? table + at : bad(f);
}

/* Where the offset at this place points. */
static size_t target(ll_flat *f, size_t at)
{
    const size_t to = at + u32(f, at);
    return to > at && inside(f, to, 4) ? to : bad(f);
}

size_t ll_flat_root(ll_flat *f)
{
    if (!inside(f, 0, 8)) return bad(f);
    const size_t to = target(f, 0);
    return f->bad ? 0 : check_table(f, to);
}

int64_t ll_flat_int(ll_flat *f, size_t table, int slot, int width, int64_t usual)
{
    const size_t at = field(f, table, slot, (size_t)width);
    return at == 0 ? usual : ll_flat_at(f->bytes + at, width);
}

size_t ll_flat_table(ll_flat *f, size_t table, int slot)
{
    const size_t at = field(f, table, slot, 4);
    const size_t to = at == 0 ? 0 : target(f, at);
    return to == 0 ? 0 : check_table(f, to);
}

size_t ll_flat_vector(ll_flat *f, size_t table, int slot, size_t size, size_t *n)
{
    const size_t at = field(f, table, slot, 4);
    const size_t to = at == 0 ? 0 : target(f, at);
    *n = 0;
    if (to == 0) return 0;
    const size_t count = u32(f, to);
    if (count > (f->n - to - 4) / size) return bad(f);
    *n = count;
    return count == 0 ? 0 : to + 4;
}

size_t ll_flat_element(ll_flat *f, size_t vector, size_t i)
{
    const size_t to = f->bad ? 0 : target(f, vector + 4 * i);
    return to == 0 ? 0 : check_table(f, to);
}

const char *ll_flat_string(ll_flat *f, size_t table, int slot, size_t *n)
{
    const size_t at = ll_flat_vector(f, table, slot, 1, n);
    return at == 0 ? NULL : (const char *)f->bytes + at;
}
