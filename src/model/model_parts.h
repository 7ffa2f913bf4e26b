/* Inside the model file: shared by model_save.c, model_file.c, anchor_file.c and those who carry a
 * model's frame in other files. */
#ifndef LL_MODEL_MODEL_PARTS_H
#define LL_MODEL_MODEL_PARTS_H

#include "base/json/json.h"
#include "base/safetensors.h"
#include "model/model.h"

#define LL_MODEL_FORMAT "1"
#define LL_MODEL_RUN_KEY "llapdiff.run"
#define LL_MODEL_SIZE_ANCHOR "anchor" /* without networks; else ll_size_names */
#define LL_MODEL_SIZE_STACK "stack"
#define LL_MODEL_SIZE_RIVAL "rival"
extern const char *const ll_model_axis_names[]; /* of ll_axis_kind, closed by NULL */

static inline int64_t ll_model_n_anchors(const llap_model *m)
{
    return m->anchor == NULL ? 0 : m->frame.n_targets;
}

/* Anchor number i: its object within "anchors", its tensors. */
void        ll_anchor_write(ll_json_writer *w, const ll_anchor_model *a);
llap_status ll_anchor_save(const ll_anchor_model *a, int64_t i, ll_tensors_writer *w);
llap_status ll_anchor_load(const ll_tensors *t, const ll_json *config, int64_t i,
                           const ll_model_frame *f, ll_anchor_model **out); /* caller owns */
size_t      ll_anchor_tensors(const ll_anchor_model *a);                    /* how many */

/* The joint law: its tensor, whose name begins so; NULL: none. Loading gives m->joint. */
#define LL_JOINT_TENSORS "joint."
llap_status ll_joint_save(const ll_joint *j, ll_tensors_writer *w);
llap_status ll_joint_load(const ll_tensors *t, llap_model *m);

/* All metadata of a model file. */
llap_status ll_model_write_metadata(const llap_model *m, ll_tensors_writer *w);
/* A model of a file's metadata and anchors, without its networks. Caller owns *out and *config, the
 * latter also after a failure. */
llap_status ll_model_read(const ll_tensors *t, ll_json **config, llap_model **out);
/* The networks fit the frame. LLAP_EFORMAT says what does not. */
llap_status ll_model_check_network(const llap_model *m);

#endif
