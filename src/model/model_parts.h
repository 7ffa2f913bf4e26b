/* Inside the model file: shared by model_file.c, anchor_file.c and those who carry a model's frame
 * in other files. */
#ifndef LLAP_MODEL_MODEL_PARTS_H
#define LLAP_MODEL_MODEL_PARTS_H

#include "base/json.h"
#include "base/safetensors.h"
#include "model/model.h"

/* Anchor number i: its object within "anchors", its tensors. */
void        llap_anchor_write(llap_json_writer *w, const llap_anchor_model *a);
llap_status llap_anchor_save(const llap_anchor_model *a, int64_t i, llap_tensors_writer *w);
llap_status llap_anchor_load(const llap_tensors *t, const llap_json *config, int64_t i,
                             const llap_model_frame *f, llap_anchor_model **out); /* caller owns */
size_t      llap_anchor_tensors(const llap_anchor_model *a);                      /* how many */

/* All metadata of a model file. */
llap_status llap_model_write_metadata(const llap_model *m, llap_tensors_writer *w);
/* A model of a file's metadata and anchors, without its networks. Caller owns *out and *config, the
 * latter also after a failure. */
llap_status llap_model_read(const llap_tensors *t, llap_json **config, llap_model **out);
/* The networks fit the frame. LLAP_EFORMAT says what does not. */
llap_status llap_model_check_network(const llap_model *m);

#endif
