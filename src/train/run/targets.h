/* Which variables are forecast, and what is said about each: "PM2.5,TEMP" and "log1p" for all or
 * "PM2.5=log1p,TEMP=none". */
#ifndef LL_TRAIN_RUN_TARGETS_H
#define LL_TRAIN_RUN_TARGETS_H

#include "anchor/chain/chain.h"
#include "data/panel.h"
#include "model/model.h"

#include <llapdiff/model.h>

/* "a,b" to variables of the panel; NULL: all but categories and what never changes within an entity
 * and differs between them, which is said. Caller owns *out, also after a failure. LLAP_EINVAL
 * names one that is not there, or is given twice. */
llap_status ll_targets_parse(const llap_panel *p, const char *text, const llap_log *log,
                             int64_t **out, int64_t *n);

/* The known columns, "a,b", none of them a target: 0 to LL_KNOWN_COLUMNS of them. Where no target
 * is named they are not targets either: targets [*n_targets] then become fewer. Caller owns *out,
 * also after a failure. */
llap_status ll_known_parse(const llap_panel *p, const llap_train_opts *o, int64_t *target,
                           int64_t *n_targets, int64_t **out, int64_t *n);

/* "a,b" to variables of the panel that are looked at beside the targets var [n_targets]; NULL: all
 * others. Caller owns *out, also after a failure. LLAP_EINVAL names one that is not there, is given
 * twice or is a target. */
llap_status ll_inputs_parse(const llap_panel *p, const char *text, const int64_t *var,
                            int64_t n_targets, int64_t **out, int64_t *n);

/* Can transform, min, max and kind be read, and are they about targets? */
llap_status ll_targets_check(const llap_train_opts *o, const char *const *target, int64_t n);

/* Warns where the model that o->from names is of other targets. */
void ll_targets_compare(const llap_train_opts *o, const ll_model_frame *from,
                        const ll_model_frame *f);

/* What is said about one target; *out is left where nothing is. */
llap_status ll_target_transform(const char *text, const char *name, ll_transform *out);
/* "auto" is nothing said; *given: something was. */
llap_status ll_target_kind(const char *text, const char *name, ll_kind *out, bool *given);
llap_status ll_target_bound(const char *what, const char *text, const char *name, double *out);

#endif
