/* One alarm as a line for people, or as JSON. */
#ifndef LL_STREAM_ALARM_TEXT_H
#define LL_STREAM_ALARM_TEXT_H

#include "data/panel.h"

#include <llapdiff/detect.h>

/* Caller owns *text (ll_free). */
llap_status ll_alarm_json(const llap_alarm *a, const ll_axis *axis, char **text);

/* "2005-01-03T04:00:00Z  Rome  NO2  unusual  81 (expected 12 to 40), 3 rows"; caller owns *text
 * (ll_free). */
llap_status ll_alarm_line(const llap_alarm *a, const ll_axis *axis, char **text);

#endif
