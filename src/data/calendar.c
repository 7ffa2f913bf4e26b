#include "base/time/civil.h"
#include "data/timeline.h"

static const double two_pi = 6.28318530717958647692;

int ll_calendar_width(unsigned features) { return 2 * __builtin_popcount(features & 7u); }

static float *put(float *out, double share)
{
    *out++ = (float)sin(two_pi * share);
    *out++ = (float)cos(two_pi * share);
    return out;
}

void ll_calendar_features(const int64_t *time, int64_t n, const ll_zone *zone, unsigned features,
                          float *out)
{
    for (int64_t i = 0; i < n; i++) {
        const ll_civil c = ll_civil_at(time[i], zone);
        const double   second = c.hour * 3600 + c.minute * 60 + c.second + 1e-9 * c.ns;
        if (features & LL_CALENDAR_HOUR) out = put(out, second / 86400);
        if (features & LL_CALENDAR_WEEKDAY) out = put(out, c.weekday / 7.0);
        if (features & LL_CALENDAR_YEARDAY)
            out = put(out, (c.yday - 1) / (ll_is_leap_year(c.year) ? 366.0 : 365.0));
    }
}
