/* The state of a training run on disk: everything that is needed to go on as if nothing had
 * happened. One safetensors file (base/safetensors.h):
 *
 *     metadata   llapdiff.state    "1"; a newer one is refused
 *                run.NAME          a fact about the run: another value is another run, but for
 *                                  those that may differ
 *                anchors           JSON {"anchors": [...]}: those fitted so far, as in a model file
 *                filling           JSON {"stage": ..., "score": ..., "filling": as in a model file}
 *     tensors    scale.i.X         F64, anchor.i.X F64: theirs (model/model.h)
 *                fill.X            those of the filling (model/fill_file.h)
 *                note/X            F64: further numbers that were found, by name
 *                STAGE/counts      I64, STAGE/scores F64: the loop's own numbers, ll_run_progress
 *                STAGE/now/X       every array of the stage's store, while the stage is running
 *                STAGE/best/X      its weights and their average where validation liked them best;
 *                                  of a finished stage what it ended with
 *
 * It is replaced atomically, so that whatever happens there is a whole one, old or new. */
#ifndef LL_TRAIN_RUN_STATE_H
#define LL_TRAIN_RUN_STATE_H

#include "nn/params.h"

/* What tells one run from another, in the order in which differences are named. */
typedef struct ll_run_fact {
    const char *name, *value;
    bool        may_differ; /* the run goes on, if not to the same bytes */
} ll_run_fact;

/* What the loop knows about a stage beside its arrays. All zero before the first step, but for what
 * ll_run_progress_start sets. */
typedef struct ll_run_progress {
    int64_t step;      /* steps done */
    int64_t best_step; /* steps done when the best weights were kept; -1: none yet */
    int64_t n_worse;   /* evaluations in a row that were no better */
    int64_t n_skipped; /* steps without an update, their loss or gradient not finite */
    int64_t n_summed;  /* steps in `sum` */
    int64_t finished;  /* 1: the stage is over */
    int64_t log_size;  /* bytes of the log that belong to this state */
    double  best;      /* score of the best weights */
    double  score;     /* of the last evaluation */
    double  sum;       /* of the losses since the last evaluation */
    double  least;     /* smallest mean of losses between two evaluations */
} ll_run_progress;

enum { LL_COUNTS = 7, LL_SCORES = 4 };

void ll_run_progress_start(ll_run_progress *g);

/* -------- copies of a store's weights -------- */

typedef struct ll_weights ll_weights; /* a copy of the parts MODEL and EMA of a store */

llap_status ll_weights_create(const ll_params *p, ll_weights **out); /* caller owns */
void        ll_weights_destroy(ll_weights *w);                       /* NULL is fine */
void        ll_weights_take(ll_weights *w, const ll_params *p);      /* store to copy */
void        ll_weights_give(const ll_weights *w, ll_params *p);      /* and back */

/* -------- writing -------- */

llap_status ll_state_writer(const ll_run_fact *fact, size_t n, ll_tensors_writer **out);
llap_status ll_state_add_progress(ll_tensors_writer *w, const char *stage, const ll_run_progress *g,
                                  void *room);
llap_status ll_state_add_store(ll_tensors_writer *w, const char *stage, const ll_params *p);
llap_status ll_state_add_weights(ll_tensors_writer *w, const char *stage, const ll_weights *x);

/* Further numbers; v is borrowed until the state is written, as all arrays are. */
llap_status ll_state_add_note(ll_tensors_writer *w, const char *name, const double *v, size_t n);
#define LL_STATE_ANCHORS "anchors" /* metadata */
#define LL_STATE_FILLING "filling"

enum { LL_PROGRESS_ROOM = 8 * (LL_COUNTS + LL_SCORES) }; /* bytes, aligned to 8 */

/* -------- reading; nothing has changed where one fails -------- */

/* Whether the file is the state of any training. */
bool ll_state_is(const char *path);

/* The file at path as a state of this run. LLAP_EINVAL: of another run; the detail names the first
 * fact that differs. Caller owns *out. */
llap_status ll_state_open(const char *path, const ll_run_fact *fact, size_t n, ll_tensors **out);
bool        ll_state_has(const ll_tensors *t, const char *stage);
llap_status ll_state_progress(const ll_tensors *t, const char *stage, ll_run_progress *g);

/* The name of the note that tensor x is, borrowed from it; NULL: it is none. */
const char *ll_state_note(const ll_tensor_info *x);

/* Bytes of the log that its stages know of; t may be NULL. */
int64_t     ll_state_log_size(const ll_tensors *t);
llap_status ll_state_store(const ll_tensors *t, const char *stage, ll_params *p);
llap_status ll_state_weights(const ll_tensors *t, const char *stage, ll_weights *x);

#endif
