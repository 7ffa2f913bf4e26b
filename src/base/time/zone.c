#include "base/time/zone.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/time/timetext.h"
#include "base/time/tzif.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- making ---- */

llap_status ll_tz_create(const char *name, size_t n_spans, ll_zone **out)
{
    *out = ll_new(1, sizeof **out + (n_spans + 1) * sizeof(ll_tz_span));
    if (*out == NULL) return LLAP_ENOMEM;
    ll_zone *z = *out;
    snprintf(z->name, sizeof z->name, "%s", name);
    z->n_kinds = z->n_spans = 1;
    z->spans[0].from_s = INT64_MIN;
    return LLAP_OK;
}

void ll_zone_destroy(ll_zone *z) { ll_free(z); }

static llap_status create_fixed(int32_t offset_s, ll_zone **out)
{
    char name[LL_ZONE_ABBREVIATION_MAX] = "UTC";
    if (offset_s != 0) *ll_put_offset(name, offset_s, true) = '\0';
    const llap_status st = ll_tz_create(name, 0, out);
    if (st != LLAP_OK) return st;
    (*out)->kinds[0].offset_s = offset_s;
    memcpy((*out)->kinds[0].abbreviation, name, sizeof name);
    return LLAP_OK;
}

/* Names become paths below the database: letters, digits, _ + - in parts between single slashes,
 * no dots at all. */
static llap_status check_name(ll_scan *s)
{
    bool in_part = false; /* a part has begun, so that a slash may follow */
    for (; s->at < s->n; s->at++) {
        const int  c = ll_scan_peek(s);
        const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (c == '/' ? !in_part : !letter && !ll_is_digit(c) && c != '_' && c != '+' && c != '-')
            return ll_scan_expected(s, "UTC, an offset such as +05:30, or a name such as "
                                       "Europe/Rome");
        in_part = c != '/';
    }
    if (!in_part) return ll_scan_expected(s, "the name of a zone");
    if (s->n >= LL_ZONE_NAME_MAX)
        return ll_scan_fail(s, s->code, "expected a name of at most %d bytes, found %zu",
                            LL_ZONE_NAME_MAX - 1, s->n);
    return LLAP_OK;
}

static llap_status fail_unknown(const char *name, const char *database)
{
    if (access(database, F_OK) != 0)
        return ll_fail(LLAP_ENOTFOUND,
                       "time zone '%s': there is no time zone database in %s: install the "
                       "package tzdata",
                       name, database);
    return ll_fail(LLAP_EINVAL, "time zone '%s': not in the time zone database %s (package tzdata)",
                   name, database);
}

static llap_status create_named(ll_scan *s, const char *database, ll_zone **out)
{
    llap_status st = check_name(s);
    if (st != LLAP_OK) return st;
    char name[LL_ZONE_NAME_MAX];
    memcpy(name, s->text, s->n);
    name[s->n] = '\0';
    const size_t room = strlen(database) + s->n + 2;
    char        *path = ll_new(room, 1);
    if (path == NULL) return LLAP_ENOMEM;
    snprintf(path, room, "%s/%s", database, name);
    ll_map m;
    st = ll_map_open(path, &m);
    ll_free(path);
    if (st == LLAP_ENOTFOUND) return fail_unknown(name, database);
    if (st != LLAP_OK) return ll_fail_in(st, "time zone '%s'", name);
    st = ll_zone_decode(m.data, m.size, name, out);
    ll_map_close(&m);
    return st;
}

llap_status ll_zone_create(const char *spec, size_t n, const char *database, ll_zone **out)
{
    *out = NULL;
    ll_scan    s = { spec, n, 0, "time zone", LLAP_EINVAL };
    const bool utc = (n >= 3 && (memcmp(spec, "UTC", 3) == 0 || memcmp(spec, "GMT", 3) == 0));
    s.at = utc ? 3 : n == 1 && spec[0] == 'Z';
    const int next = ll_scan_peek(&s);
    if (s.at > 0 && next < 0) return create_fixed(0, out);
    if (next == '+' || next == '-') {
        int32_t     offset_s;
        llap_status st = ll_scan_offset(&s, 1, &offset_s);
        if (st == LLAP_OK && s.at < n) st = ll_scan_expected(&s, "the end");
        return st == LLAP_OK ? create_fixed(offset_s, out) : st;
    }
    s.at = 0;
    return create_named(&s, database != NULL ? database : LL_ZONE_DATABASE, out);
}

/* ---- asking ---- */

const char *ll_zone_name(const ll_zone *z) { return z == NULL ? "UTC" : z->name; }

bool ll_zone_is_utc(const ll_zone *z)
{
    return z == NULL || (z->n_spans == 1 && z->kinds[z->spans[0].kind].offset_s == 0);
}

/* The index of the span that holds t. */
static size_t span_at(const ll_zone *z, int64_t t_s)
{
    size_t low = 0, n = z->n_spans; /* the answer lies in [low, low + n) */
    while (n > 1) {
        const size_t half = n / 2;
        low += z->spans[low + half].from_s <= t_s ? half : 0;
        n -= half;
    }
    return low;
}

ll_zone_local ll_zone_at(const ll_zone *z, int64_t t_s)
{
    if (z == NULL) return (ll_zone_local){ .abbreviation = "UTC" };
    const ll_tz_kind *k = &z->kinds[z->spans[span_at(z, t_s)].kind];
    return (ll_zone_local){ k->offset_s, k->dst, k->abbreviation };
}

static llap_status fail_wall(const ll_zone *z, bool fold, int64_t offset_1, int64_t offset_2)
{
    char one[8] = { 0 }, two[8] = { 0 };
    (void)ll_put_offset(one, (int32_t)offset_1, true);
    (void)ll_put_offset(two, (int32_t)offset_2, true);
    if (fold)
        return ll_fail(LLAP_EFORMAT,
                       "%s shows this time twice, at %s and at %s: choose the earlier or the "
                       "later (`twice`), or write the offset",
                       z->name, one, two);
    return ll_fail(LLAP_EFORMAT,
                   "%s never shows this time, its clock went from %s to %s: choose the earlier "
                   "or the later (`twice`), or write the offset",
                   z->name, one, two);
}

llap_status ll_zone_resolve(const ll_zone *z, int64_t local_s, ll_wall wall, int32_t *offset_s)
{
    *offset_s = 0;
    if (z == NULL) return LLAP_OK;
    /* Walk the spans that could hold the instant. The first begins, and the last ends, on the far
     * side of it whatever the offsets; so without a match one ends before it and a later one begins
     * behind it: the gap. */
    bool    fold = false, found = false;
    int64_t first = 0, last = 0, before = 0, after = 0;
    size_t  i = span_at(z, local_s - LL_ZONE_OFFSET_MAX);
    for (bool more = true; more; i++) {
        const int64_t offset = z->kinds[z->spans[i].kind].offset_s, t = local_s - offset;
        more = i + 1 < z->n_spans && z->spans[i + 1].from_s <= local_s + LL_ZONE_OFFSET_MAX;
        if (t < z->spans[i].from_s) {
            after = offset;
        } else if (i + 1 < z->n_spans && t >= z->spans[i + 1].from_s) {
            before = offset;
        } else {
            if (!found) first = offset;
            fold = found;
            found = true;
            last = offset;
        }
    }
    if (!found) {
        first = after; /* of the two readings of a gap the larger offset is the earlier */
        last = before;
    }
    *offset_s = (int32_t)(wall == LL_WALL_LATER ? last : first);
    if (wall == LL_WALL_ERROR && (fold || !found))
        return fail_wall(z, fold, fold ? first : before, fold ? last : after);
    return LLAP_OK;
}
