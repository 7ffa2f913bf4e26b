/* Inside of zones, for zone.c, tzif.c and tzrule.c only: a zone is a table of spans of constant
 * offset. Rules that go on for ever are written out to the end of our times when the zone is made,
 * so that asking is one binary search. */
#ifndef LLAP_BASE_TZIF_H
#define LLAP_BASE_TZIF_H

#include "base/zone.h"

#define LLAP_TZ_KINDS_MAX 258 /* 256 of a file and two of its footer */

/* Years for which rules are written out: int64 nanoseconds and one on either side. */
#define LLAP_TZ_YEAR_FIRST 1676
#define LLAP_TZ_YEAR_LAST 2263
#define LLAP_TZ_RULE_SPANS (2 * (LLAP_TZ_YEAR_LAST - LLAP_TZ_YEAR_FIRST + 1))

typedef struct llap_tz_kind {
    int32_t offset_s;
    bool    dst;
    char    abbreviation[LLAP_ZONE_ABBREVIATION_MAX];
} llap_tz_kind;

typedef struct llap_tz_span {
    int64_t  from_s; /* until the next span's; strictly ascending */
    uint16_t kind;
} llap_tz_span;

struct llap_zone {
    char         name[LLAP_ZONE_NAME_MAX];
    size_t       n_kinds, n_spans;
    llap_tz_kind kinds[LLAP_TZ_KINDS_MAX];
    llap_tz_span spans[]; /* the first starts at INT64_MIN */
};

/* A zone with room for n_spans more than the one it begins with, which has kinds[0]. */
llap_status llap_tz_create(const char *name, size_t n_spans, llap_zone **out);

/* Appends the spans of a POSIX TZ string, text[0..n), behind those of z, for which there must be
 * room: 2 kinds and LLAP_TZ_RULE_SPANS spans. */
llap_status llap_tz_add_rule(llap_zone *z, const char *text, size_t n);

/* Copies the name of a kind, [A-Za-z0-9+-] of 1 to LLAP_ZONE_ABBREVIATION_MAX - 1 bytes. */
bool llap_tz_set_abbreviation(llap_tz_kind *k, const char *text, size_t n);

#endif
