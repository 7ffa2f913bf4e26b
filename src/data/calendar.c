#include "base/civil.h"
#include "data/timeline.h"

static const double two_pi = 6.28318530717958647692;

int llap_calendar_width(unsigned features) { return 2 * __builtin_popcount(features & 7u); }

static float *put(float *out, double share)
{
    *out++ = (float)sin(two_pi * share);
    *out++ = (float)cos(two_pi * share);
    return out;
}

void llap_calendar_features(const int64_t *time, int64_t n, const llap_zone *zone,
                            unsigned features, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        const llap_civil c = llap_civil_at(time[i], zone);
        const double     second = c.hour * 3600 + c.minute * 60 + c.second + 1e-9 * c.ns;
        if (features & LLAP_CALENDAR_HOUR) out = put(out, second / 86400);
        if (features & LLAP_CALENDAR_WEEKDAY) out = put(out, c.weekday / 7.0);
        if (features & LLAP_CALENDAR_YEARDAY)
            out = put(out, (c.yday - 1) / (llap_is_leap_year(c.year) ? 366.0 : 365.0));
    }
}
