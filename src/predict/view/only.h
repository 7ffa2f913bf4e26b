/* Which entities are asked about: a list of names, with * and ? as in names of files. */
#ifndef LL_PREDICT_VIEW_ONLY_H
#define LL_PREDICT_VIEW_ONLY_H

#include "data/panel.h"

/* NULL: all of them are. */
bool ll_only_has(const char *list, const char *name);

/* LLAP_EINVAL: a name of the list is none of the panel; the detail lists some that are. */
llap_status ll_only_check(const char *list, const llap_panel *p);

#endif
