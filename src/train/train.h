/* llap_train and what llap_trainer needs of it. */
#ifndef LL_TRAIN_TRAIN_H
#define LL_TRAIN_TRAIN_H

#include <llapdiff/model.h>

/* What can be said about the options and the data before anything is fitted: LLAP_OK, or what
 * llap_train would refuse after the same look. */
llap_status ll_train_check(const llap_panel *panel, const llap_train_opts *o);

#endif
