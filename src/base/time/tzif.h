/* Inside of zones, for zone.c, tzif.c and tzrule.c only: a zone is a table of spans of constant
 * offset. Rules that go on for ever are written out to the end of our times when the zone is made,
 * so that asking is one binary search. */
#ifndef LL_BASE_TIME_TZIF_H
#define LL_BASE_TIME_TZIF_H

#include "base/time/zone.h"

#define LL_TZ_KINDS_MAX 258 /* 256 of a file and two of its footer */

/* Years for which rules are written out: int64 nanoseconds and one on either side. */
#define LL_TZ_YEAR_FIRST 1676
#define LL_TZ_YEAR_LAST 2263
#define LL_TZ_RULE_SPANS (2 * (LL_TZ_YEAR_LAST - LL_TZ_YEAR_FIRST + 1))

typedef struct ll_tz_kind {
    int32_t offset_s;
    bool    dst;
    char    abbreviation[LL_ZONE_ABBREVIATION_MAX];
} ll_tz_kind;

typedef struct ll_tz_span {
    int64_t  from_s; /* until the next span's; strictly ascending */
    uint16_t kind;
} ll_tz_span;

struct ll_zone {
    char       name[LL_ZONE_NAME_MAX];
    size_t     n_kinds, n_spans;
    ll_tz_kind kinds[LL_TZ_KINDS_MAX];
    ll_tz_span spans[]; /* the first starts at INT64_MIN */
};

/* A zone with room for n_spans more than the one it begins with, which has kinds[0]. */
llap_status ll_tz_create(const char *name, size_t n_spans, ll_zone **out);

/* Appends the spans of a POSIX TZ string, text[0..n), behind those of z, for which there must be
 * room: 2 kinds and LL_TZ_RULE_SPANS spans. */
llap_status ll_tz_add_rule(ll_zone *z, const char *text, size_t n);

/* Copies the name of a kind, [A-Za-z0-9+-] of 1 to LL_ZONE_ABBREVIATION_MAX - 1 bytes. */
bool ll_tz_set_abbreviation(ll_tz_kind *k, const char *text, size_t n);

#endif
