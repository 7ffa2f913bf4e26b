/* What the readers and writers of times, durations and zones share: a cursor over (pointer, length)
 * text whose errors name the text, the place, what was expected and what was found; the pieces of a
 * time; the step from a clock reading to an instant. For the files of base/ only. */
#ifndef LL_BASE_TIME_TIMETEXT_H
#define LL_BASE_TIME_TIMETEXT_H

#include "base/time/civil.h"
#include "base/time/zone.h"

#include <llapdiff/export.h>
#include <stddef.h>

/* ---- reading ---- */

typedef struct ll_scan {
    const char *text; /* need not end with NUL */
    size_t      n, at;
    const char *kind; /* what the text is, for messages: "time", "duration" */
    llap_status code; /* what a mistake in it is */
} ll_scan;

/* Makes the failures of a scan; both return the code.
 *     time '2024-13-01' at position 6: expected month 01..12, found '13-01'
 *     time '2023-02-29': 2023-02 has 28 days */
llap_status ll_scan_expected(const ll_scan *s, const char *fmt, ...) LLAP_PRINTF(2, 3);
llap_status ll_scan_fail(const ll_scan *s, llap_status code, const char *fmt, ...)
    LLAP_PRINTF(3, 4);
llap_status ll_scan_fail_range(const ll_scan *s); /* LLAP_ELIMIT: outside int64 */

static inline int ll_scan_peek(const ll_scan *s) /* -1 at the end */
{
    return s->at < s->n ? (unsigned char)s->text[s->at] : -1;
}

static inline bool ll_is_digit(int c) { return c >= '0' && c <= '9'; }

bool ll_is_blank(int c);                              /* what isspace("C") accepts */
bool ll_scan_take(ll_scan *s, char c);                /* steps over c if it is next */
bool ll_scan_take_word(ll_scan *s, const char *word); /* also in the other case */
void ll_scan_skip_blanks(ll_scan *s);

/* A number of min .. max (<= 9) digits between low and high. What it is called goes into the
 * message: "expected month 01..12". The cursor stays on failure. */
typedef struct ll_number {
    const char *name;
    int         min, max;
    int32_t     low, high;
} ll_number;

llap_status ll_scan_number(ll_scan *s, const ll_number *rule, int32_t *out);
llap_status ll_scan_fraction(ll_scan *s, int32_t *ns); /* 1 .. 9 digits behind the point */

/* +08:00, +0800, +08 (and +8 where hours may have one digit) to seconds. */
llap_status ll_scan_offset(ll_scan *s, int min_hour_digits, int32_t *offset_s);

/* What a clock showed. hour may be 24 where all below it is 0: the end of the day. second may be 60
 * where that is 23:59:60 UTC: a leap second, which POSIX time gives the number of the next one. */
typedef struct ll_reading {
    int32_t year, month, day, hour, minute, second, ns;
    bool    zoned; /* the text said its offset; else the caller's zone decides */
    int32_t offset_s;
} ll_reading;

llap_status ll_reading_resolve(const ll_scan *s, const ll_reading *r, const ll_zone *zone,
                               ll_wall wall, int64_t *out);

/* ---- writing: each returns the end of what it wrote ---- */

char *ll_put_text(char *p, const char *text);
char *ll_put_digits(char *p, uint64_t v, int width); /* exactly width digits, zeros in front */
char *ll_put_number(char *p, uint64_t v);            /* as many digits as it has */

/* The part of a unit below the point, v / 10^digits < 1, in shown digits (cut, not rounded);
 * shown < 0: as many as are exact, at least -1 - shown of them. */
char *ll_put_fraction(char *p, uint32_t v, int digits, int shown);
char *ll_put_offset(char *p, int32_t offset_s, bool colon); /* +08:00 or +0800; cut to minutes */

#endif
