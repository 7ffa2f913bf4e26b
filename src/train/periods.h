/* What training is told about cycles that no calendar names. */
#ifndef LL_TRAIN_PERIODS_H
#define LL_TRAIN_PERIODS_H

#include "anchor/model.h"
#include "model/model.h"

/* "auto", "none" or at most three spans of two steps or more, "7d,24h", or "11.3" where times are
 * numbers; NULL: auto where times are numbers or readings come every 6 to 24 hours, else none.
 * LLAP_EOPTION says what is wrong. */
llap_status ll_train_periods(const char *text, const ll_model_frame *f, ll_anchor_model_opts *how);

#endif
