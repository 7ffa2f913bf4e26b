/* The state of a training run on disk: everything that is needed to go on as if nothing had
 * happened. One safetensors file (base/safetensors.h):
 *
 *     metadata   llapdiff.state    "1"; a newer one is refused
 *                run.NAME          a fact about the run: another value is another run, but for
 *                                  those that may differ
 *                anchors           JSON {"anchors": [...]}: those fitted so far, as in a model file
 *     tensors    scale.i.X         F64, anchor.i.X F64: theirs (model/model.h)
 *                note/X            F64: further numbers that were found, by name
 *                STAGE/counts      I64, STAGE/scores F64: the loop's own numbers, task_progress
 *                STAGE/now/X       every array of the stage's store, while the stage is running
 *                STAGE/best/X      its weights and their average where validation liked them best;
 *                                  of a finished stage what it ended with
 *
 * It is replaced atomically, so that whatever happens there is a whole one, old or new. */
#ifndef LLAP_TASK_STATE_H
#define LLAP_TASK_STATE_H

#include "nn/params.h"

/* What tells one run from another, in the order in which differences are named. */
typedef struct task_fact {
    const char *name, *value;
    bool        may_differ; /* the run goes on, if not to the same bytes */
} task_fact;

/* What the loop knows about a stage beside its arrays. All zero before the first step, but for what
 * task_progress_start sets. */
typedef struct task_progress {
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
} task_progress;

enum { TASK_COUNTS = 7, TASK_SCORES = 4 };

void task_progress_start(task_progress *g);

/* -------- copies of a store's weights -------- */

typedef struct task_weights task_weights; /* a copy of the parts MODEL and EMA of a store */

llap_status task_weights_create(const llap_params *p, task_weights **out); /* caller owns */
void        task_weights_destroy(task_weights *w);                         /* NULL is fine */
void        task_weights_take(task_weights *w, const llap_params *p);      /* store to copy */
void        task_weights_give(const task_weights *w, llap_params *p);      /* and back */

/* -------- writing -------- */

llap_status task_state_writer(const task_fact *fact, size_t n, llap_tensors_writer **out);
llap_status task_state_add_progress(llap_tensors_writer *w, const char *stage,
                                    const task_progress *g, void *room);
llap_status task_state_add_store(llap_tensors_writer *w, const char *stage, const llap_params *p);
llap_status task_state_add_weights(llap_tensors_writer *w, const char *stage,
                                   const task_weights *x);

/* Further numbers; v is borrowed until the state is written, as all arrays are. */
llap_status task_state_add_note(llap_tensors_writer *w, const char *name, const double *v,
                                size_t n);
#define TASK_STATE_ANCHORS "anchors" /* metadata */

enum { TASK_PROGRESS_ROOM = 8 * (TASK_COUNTS + TASK_SCORES) }; /* bytes, aligned to 8 */

/* -------- reading; nothing has changed where one fails -------- */

/* Whether the file is the state of any training. */
bool task_state_is(const char *path);

/* The file at path as a state of this run. LLAP_EINVAL: of another run; the detail names the first
 * fact that differs. Caller owns *out. */
llap_status task_state_open(const char *path, const task_fact *fact, size_t n, llap_tensors **out);
bool        task_state_has(const llap_tensors *t, const char *stage);
llap_status task_state_progress(const llap_tensors *t, const char *stage, task_progress *g);

/* The name of the note that tensor x is, borrowed from it; NULL: it is none. */
const char *task_state_note(const llap_tensor_info *x);

/* Bytes of the log that its stages know of; t may be NULL. */
int64_t     task_state_log_size(const llap_tensors *t);
llap_status task_state_store(const llap_tensors *t, const char *stage, llap_params *p);
llap_status task_state_weights(const llap_tensors *t, const char *stage, task_weights *x);

#endif
