/* Time zones: what a wall clock shows at an instant, and which instant a wall clock means.
 *
 *     ll_zone  *rome;
 *     llap_status st = ll_zone_create("Europe/Rome", 11, NULL, &rome);
 *     int32_t     east = ll_zone_at(rome, t_s).offset_s;                    UTC -> local
 *     st = ll_zone_resolve(rome, local_s, LL_WALL_ERROR, &east);          local -> UTC
 *     ll_zone_destroy(rome);
 *
 * A zone is written as
 *     UTC  GMT  Z                              UTC
 *     +05:30  +0530  +05  UTC+8  GMT-03:00     fixed, positive = east of Greenwich
 *     Europe/Rome                              a name of the system's tz database (package tzdata)
 * (the database's own Etc/GMT+8 lies eight hours WEST: POSIX counts the other way there).
 *
 * A zone is immutable after create: any number of threads may use it. Everywhere a NULL zone is
 * UTC. Seconds are since 1970-01-01T00:00:00, UTC or local as their name says; all results are
 * right for every instant of int64 nanoseconds (1677 .. 2262). */
#ifndef LL_BASE_TIME_ZONE_H
#define LL_BASE_TIME_ZONE_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_ZONE_DATABASE "/usr/share/zoneinfo"
#define LL_ZONE_NAME_MAX 64         /* bytes of a name, the closing NUL included */
#define LL_ZONE_FILE_MAX 65536      /* bytes of a file of the database */
#define LL_ZONE_OFFSET_MAX 93600    /* 26 h: no offset is farther from UTC */
#define LL_ZONE_ABBREVIATION_MAX 11 /* bytes, the closing NUL included */

typedef struct ll_zone ll_zone;

/* Makes a zone from spec[0..n). database is the folder of the tz database, NULL for
 * LL_ZONE_DATABASE; it is read now and not kept open. Caller owns *out (ll_zone_destroy);
 * *out is NULL on failure.
 * LLAP_EINVAL: no such zone. LLAP_ENOTFOUND: no database. LLAP_EFORMAT: the file is
 * damaged. LLAP_EUNSUPPORTED: it counts leap seconds (the "right/" names). LLAP_EIO. LLAP_ENOMEM.
 */
llap_status ll_zone_create(const char *spec, size_t n, const char *database, ll_zone **out);
void        ll_zone_destroy(ll_zone *z); /* NULL is fine */

/* Makes a zone from the bytes of a TZif file (RFC 8536; versions 1 to 4, with the footer's rules
 * for times beyond the table). name is what ll_zone_name and messages say, at most
 * LL_ZONE_NAME_MAX - 1 bytes of it. The bytes are hostile until checked; borrowed until return.
 * Otherwise as ll_zone_create. */
llap_status ll_zone_decode(const uint8_t *data, size_t n, const char *name, ll_zone **out);

/* "UTC", "+05:30" or "Europe/Rome": ll_zone_create takes it back. A view into the zone. */
const char *ll_zone_name(const ll_zone *z);
bool        ll_zone_is_utc(const ll_zone *z); /* offset 0 at all times: written as Z */

typedef struct ll_zone_local {
    int32_t     offset_s;     /* local = UTC + offset */
    bool        dst;          /* as the database flags it; Irish winter is, with a smaller offset */
    const char *abbreviation; /* "CEST", "+0530"; a view into the zone */
} ll_zone_local;

ll_zone_local ll_zone_at(const ll_zone *z, int64_t t_s);

/* What to do with a wall time that the zone's clock shows twice (put back: a fold) or never (put
 * forward: a gap). Both have two readings: with the offset before the change and with the one after
 * it. In Europe/Rome, where 2:00 became 3:00 on 2024-03-31 and 3:00 became 2:00 on 2024-10-27:
 *
 *                         2024-03-31 02:30 (gap)      2024-10-27 02:30 (fold)
 *     LL_WALL_EARLIER   01:30+01:00 = 00:30 UTC     02:30+02:00 = 00:30 UTC
 *     LL_WALL_LATER     03:30+02:00 = 01:30 UTC     02:30+01:00 = 01:30 UTC
 *
 * The default is to refuse: guessing puts two measurements on one instant. */
typedef enum ll_wall {
    LL_WALL_ERROR, /* default */
    LL_WALL_EARLIER,
    LL_WALL_LATER
} ll_wall;

/* The offset with which local_s (|local_s| < 2^62) is to be read: UTC = local - offset.
 * LLAP_EFORMAT: a fold or gap, and wall is LL_WALL_ERROR. */
llap_status ll_zone_resolve(const ll_zone *z, int64_t local_s, ll_wall wall, int32_t *offset_s);

#endif
