/* Time zones: what a wall clock shows at an instant, and which instant a wall clock means.
 *
 *     llap_zone  *rome;
 *     llap_status st = llap_zone_create("Europe/Rome", 11, NULL, &rome);
 *     int32_t     east = llap_zone_at(rome, t_s).offset_s;                    UTC -> local
 *     st = llap_zone_resolve(rome, local_s, LLAP_WALL_ERROR, &east);          local -> UTC
 *     llap_zone_destroy(rome);
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
#ifndef LLAP_BASE_ZONE_H
#define LLAP_BASE_ZONE_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LLAP_ZONE_DATABASE "/usr/share/zoneinfo"
#define LLAP_ZONE_NAME_MAX 64         /* bytes of a name, the closing NUL included */
#define LLAP_ZONE_FILE_MAX 65536      /* bytes of a file of the database */
#define LLAP_ZONE_OFFSET_MAX 93600    /* 26 h: no offset is farther from UTC */
#define LLAP_ZONE_ABBREVIATION_MAX 11 /* bytes, the closing NUL included */

typedef struct llap_zone llap_zone;

/* Makes a zone from spec[0..n). database is the folder of the tz database, NULL for
 * LLAP_ZONE_DATABASE; it is read now and not kept open. Caller owns *out (llap_zone_destroy);
 * *out is NULL on failure.
 * LLAP_EINVAL: no such zone. LLAP_ENOTFOUND: no database. LLAP_EFORMAT: the file is
 * damaged. LLAP_EUNSUPPORTED: it counts leap seconds (the "right/" names). LLAP_EIO. LLAP_ENOMEM.
 */
llap_status llap_zone_create(const char *spec, size_t n, const char *database, llap_zone **out);
void        llap_zone_destroy(llap_zone *z); /* NULL is fine */

/* Makes a zone from the bytes of a TZif file (RFC 8536; versions 1 to 4, with the footer's rules
 * for times beyond the table). name is what llap_zone_name and messages say, at most
 * LLAP_ZONE_NAME_MAX - 1 bytes of it. The bytes are hostile until checked; borrowed until return.
 * Otherwise as llap_zone_create. */
llap_status llap_zone_decode(const uint8_t *data, size_t n, const char *name, llap_zone **out);

/* "UTC", "+05:30" or "Europe/Rome": llap_zone_create takes it back. A view into the zone. */
const char *llap_zone_name(const llap_zone *z);
bool        llap_zone_is_utc(const llap_zone *z); /* offset 0 at all times: written as Z */

typedef struct llap_zone_local {
    int32_t     offset_s;     /* local = UTC + offset */
    bool        dst;          /* as the database flags it; Irish winter is, with a smaller offset */
    const char *abbreviation; /* "CEST", "+0530"; a view into the zone */
} llap_zone_local;

llap_zone_local llap_zone_at(const llap_zone *z, int64_t t_s);

/* What to do with a wall time that the zone's clock shows twice (put back: a fold) or never (put
 * forward: a gap). Both have two readings: with the offset before the change and with the one after
 * it. In Europe/Rome, where 2:00 became 3:00 on 2024-03-31 and 3:00 became 2:00 on 2024-10-27:
 *
 *                         2024-03-31 02:30 (gap)      2024-10-27 02:30 (fold)
 *     LLAP_WALL_EARLIER   01:30+01:00 = 00:30 UTC     02:30+02:00 = 00:30 UTC
 *     LLAP_WALL_LATER     03:30+02:00 = 01:30 UTC     02:30+01:00 = 01:30 UTC
 *
 * The default is to refuse: guessing puts two measurements on one instant. */
typedef enum llap_wall {
    LLAP_WALL_ERROR, /* default */
    LLAP_WALL_EARLIER,
    LLAP_WALL_LATER
} llap_wall;

/* The offset with which local_s (|local_s| < 2^62) is to be read: UTC = local - offset.
 * LLAP_EFORMAT: a fold or gap, and wall is LLAP_WALL_ERROR. */
llap_status llap_zone_resolve(const llap_zone *z, int64_t local_s, llap_wall wall,
                              int32_t *offset_s);

#endif
