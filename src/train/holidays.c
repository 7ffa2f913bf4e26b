#include "train/holidays.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/time/civil.h"
#include "base/time/holidays.h"
#include "base/time/zone.h"

#include <assert.h>
#include <string.h>

/* Hours since 1970-01-01T00:00Z at which a day begins by the clock of the zone. */
static llap_status begins(const ll_zone *zone, int32_t day, double *out)
{
    const int64_t     local = (int64_t)day * LL_S_PER_DAY;
    int32_t           east = 0;
    const llap_status st = ll_zone_resolve(zone, local, LL_WALL_EARLIER, &east);
    *out = (double)(local - east) / 3600.0;
    return st;
}

static double hours_to_sunday(int32_t day)
{
    const int32_t weekday = ((day + 3) % 7 + 7) % 7; /* 0: Monday; 1970-01-01 was a Thursday */
    return 24.0 * (weekday >= 3 ? 6 - weekday : -1 - weekday);
}

llap_status ll_train_holidays(const llap_panel *p, const llap_train_opts *o, ll_holiday_list **out)
{
    int32_t *day = NULL;
    size_t   n = 0;
    ll_zone *zone = NULL;
    *out = NULL;
    if (o->holidays == NULL) return LLAP_OK;
    if (p->axis.kind != LL_AXIS_CALENDAR)
        return ll_fail(LLAP_EOPTION, "holidays: the times of the data are numbers, not dates");
    llap_status st = ll_holidays_read(o->holidays, &day, &n);
    if (st == LLAP_OK && *p->axis.zone != '\0')
        st = ll_zone_create(p->axis.zone, strlen(p->axis.zone), NULL, &zone);
    if (st == LLAP_OK) st = ll_holidays_create(n, out);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        struct ll_holiday *d = &(*out)->day[i];
        d->shift = hours_to_sunday(day[i]);
        st = begins(zone, day[i], &d->start);
        if (st == LLAP_OK) st = begins(zone, day[i] + 1, &d->end);
    }
    ll_zone_destroy(zone);
    ll_free(day);
    if (st == LLAP_OK) return st;
    ll_holidays_destroy(*out);
    *out = NULL;
    return st;
}
