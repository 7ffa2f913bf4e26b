/* The holidays that a training was told of, in the time of its anchors. */
#ifndef LL_TRAIN_HOLIDAYS_H
#define LL_TRAIN_HOLIDAYS_H

#include "anchor/chain/holidays.h"
#include "data/panel.h"

#include <llapdiff/model.h>

/* Days of o->holidays by the clock of the data's time zone; *out is NULL where there are none.
 * Caller owns it (ll_holidays_destroy). LLAP_EOPTION: no country, no file, no calendar. */
llap_status ll_train_holidays(const llap_panel *p, const llap_train_opts *o, ll_holiday_list **out);

#endif
