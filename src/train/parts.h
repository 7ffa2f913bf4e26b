/* A file that says which entities train, validate and test: predefined splits of independent
 * entities.
 *
 *     entity,part
 *     132539,train
 *     132540,test
 *
 * CSV with a header that has these two columns, in any order and beside others; gzip is fine. A
 * part is train, validation (or val) or test. Entities of the data that the file does not name are
 * left out: they neither train nor test. Names that the data does not have are passed over and
 * counted.
 */
#ifndef LL_TRAIN_PARTS_H
#define LL_TRAIN_PARTS_H

#include "data/panel.h"

#include <llapdiff/log.h>
#include <stdint.h>

/* part [n_entities] becomes an ll_part each, LL_PART_PURGED where nothing is said. What was
 * left out goes to the log. LLAP_EFORMAT names file and line: a missing column, an unknown part, an
 * entity named twice. LLAP_EINVAL: it names no entity of the data. */
llap_status ll_parts_read(const char *path, const llap_panel *p, const llap_log *log,
                          uint8_t *part);

#endif
