/* Texts and files of base/time: the first byte chooses the reader, the rest is its input. What is
 * read must survive being written and read again. */
#include "base/time/duration.h"
#include "base/time/time.h"
#include "base/time/timefmt.h"
#include "base/time/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MUST(condition)                                                     \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

static void rfc3339(const char *text, size_t n)
{
    int64_t t, back;
    char    out[LL_TIME_TEXT_MAX];
    if (ll_time_parse(text, n, NULL, LL_WALL_ERROR, &t) != LLAP_OK) return;
    for (int digits = LL_DIGITS_EXACT; digits <= 9; digits += 10) {
        const size_t len = ll_time_format(t, NULL, digits, out);
        MUST(len == strlen(out));
        MUST(ll_time_parse(out, len, NULL, LL_WALL_ERROR, &back) == LLAP_OK && back == t);
    }
    const ll_civil c = ll_civil_at(t, NULL);
    MUST(ll_civil_to_ns(&c, &back) == LLAP_OK && back == t);
}

static void unit(const char *text, size_t n)
{
    ll_time_unit u;
    char         out[LL_TIME_TEXT_MAX];
    if (ll_time_unit_parse(text, n, &u) != LLAP_OK) return;
    MUST(ll_time_format_epoch(INT64_MIN, u, out) < sizeof out);
}

/* The format, a NUL, the text. */
static void format(const char *text, size_t n)
{
    const char  *split = memchr(text, '\0', n);
    const size_t n_format = split != NULL ? (size_t)(split - text) : n;
    ll_timefmt   f;
    int64_t      t, back;
    char         out[LL_TIMEFMT_TEXT_MAX];
    size_t       len;
    if (ll_timefmt_init(&f, text, n_format) != LLAP_OK) return;
    if (ll_timefmt_write(&f, INT64_MIN, NULL, 9, out, &len) == LLAP_OK) MUST(len < sizeof out);
    if (split == NULL) return;
    if (ll_timefmt_parse(&f, split + 1, n - n_format - 1, NULL, LL_WALL_ERROR, &t) != LLAP_OK)
        return;
    /* %y alone may not be written back: 24:00 on the last day of 2068, or an offset there. */
    if (ll_timefmt_write(&f, t, NULL, LL_DIGITS_EXACT, out, &len) != LLAP_OK) {
        const int32_t year = ll_civil_at(t, NULL).year;
        MUST(year == 1968 || year == 2069);
        return;
    }
    MUST(ll_timefmt_parse(&f, out, len, NULL, LL_WALL_ERROR, &back) == LLAP_OK && back == t);
}

static void duration(const char *text, size_t n)
{
    int64_t ns, back;
    char    out[LL_DURATION_TEXT_MAX];
    if (ll_duration_parse(text, n, &ns) != LLAP_OK) return;
    const size_t len = ll_duration_format(ns, out);
    MUST(len < sizeof out);
    MUST(ll_duration_parse(out, len, &back) == LLAP_OK && back == ns);
}

/* Every wall time that the zone shows at t leads back to t. */
static void check_zone(const ll_zone *z, int64_t t_s)
{
    const int64_t local_s = t_s + ll_zone_at(z, t_s).offset_s;
    int32_t       early, late, only;
    MUST(ll_zone_resolve(z, local_s, LL_WALL_EARLIER, &early) == LLAP_OK);
    MUST(ll_zone_resolve(z, local_s, LL_WALL_LATER, &late) == LLAP_OK);
    MUST(local_s - early <= t_s && t_s <= local_s - late);
    MUST(ll_zone_at(z, local_s - early).offset_s == early);
    MUST(ll_zone_at(z, local_s - late).offset_s == late);
    const llap_status st = ll_zone_resolve(z, local_s, LL_WALL_ERROR, &only);
    MUST(early == late ? st == LLAP_OK && only == early : st == LLAP_EFORMAT);
}

static void check_zone_often(const ll_zone *z)
{
    static const int64_t from[] = { -9223372037, -2147483648, -100000,
                                    1704067200,  2147483647,  9223282036 };
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        for (int64_t t_s = from[i]; t_s < from[i] + 90000; t_s += 4999) check_zone(z, t_s);
}

static void spec(const char *text, size_t n)
{
    ll_zone *z, *again;
    /* A database that is not there: nothing outside is opened. */
    if (ll_zone_create(text, n, "/nonexistent", &z) != LLAP_OK) return;
    const char *name = ll_zone_name(z);
    MUST(ll_zone_create(name, strlen(name), "/nonexistent", &again) == LLAP_OK);
    MUST(strcmp(ll_zone_name(again), name) == 0);
    MUST(ll_zone_at(again, 0).offset_s == ll_zone_at(z, 0).offset_s);
    check_zone_often(z);
    ll_zone_destroy(again);
    ll_zone_destroy(z);
}

static void tzif(const char *bytes, size_t n)
{
    ll_zone *z;
    if (ll_zone_decode((const uint8_t *)bytes, n, "fuzz", &z) != LLAP_OK) return;
    check_zone_often(z);
    ll_zone_destroy(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const readers[])(const char *, size_t) = { rfc3339,  unit, format,
                                                             duration, spec, tzif };
    if (n == 0) return 0;
    readers[data[0] % (sizeof readers / sizeof *readers)]((const char *)data + 1, n - 1);
    return 0;
}
