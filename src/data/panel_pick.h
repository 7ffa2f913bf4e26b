/* Some entities of a panel, as a panel of their own. */
#ifndef LL_DATA_PANEL_PICK_H
#define LL_DATA_PANEL_PICK_H

#include "data/panel.h"

/* Those that keep [n_entities] says, with all their rows, names and units; columns of words and
 * what is known of files stay behind. Caller owns *out. */
llap_status ll_panel_pick(const llap_panel *p, const bool *keep, llap_panel **out);

#endif
