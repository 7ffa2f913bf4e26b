/* One alarm as a line for people, or as JSON. */
#ifndef LL_STREAM_ALARM_TEXT_H
#define LL_STREAM_ALARM_TEXT_H

#include "base/json/json.h"
#include "data/panel.h"

#include <llapdiff/detect.h>

/* key as of the writer. */
void ll_alarm_json(ll_json_writer *w, const char *key, const llap_alarm *a, const ll_axis *axis);

/* "2005-01-03T04:00:00Z  Rome  NO2  unusual  81 (expected 12 to 40), 3 rows"; caller owns *text
 * (ll_free). */
llap_status ll_alarm_line(const llap_alarm *a, const ll_axis *axis, char **text);

#endif
