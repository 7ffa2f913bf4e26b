/* Inside a run of training: shared by training.c (the loop), training_state.c (state and log) and
 * training_own.c (stages that go their own way). */
#ifndef LLAP_TASK_TRAINING_PARTS_H
#define LLAP_TASK_TRAINING_PARTS_H

#include "base/arena.h"
#include "task/training.h"

#include <stdio.h>
#include <time.h>

/* A stage that is over, as later states keep it. */
typedef struct ended {
    const char   *name;
    task_progress progress;
    task_weights *weights; /* NULL: it has none */
    double        seconds; /* that it took here; 0: it was over before */
    struct ended *next;    /* the one before it */
} ended;

/* Numbers kept by name, in the arena. */
typedef struct task_note {
    const char       *name;
    double           *v;
    size_t            n;
    struct task_note *next;
} task_note;

struct task_training {
    task_training_opts o; /* strings in the arena */
    task_fact         *fact;
    size_t             n_facts;
    llap_tensors      *old;   /* the state that was there; NULL: none */
    bool               other; /* it is of a run that differs, in what may */
    ended             *ended;
    task_note         *notes;
    FILE              *log;
    int64_t            log_size;
    double             saved; /* when a state was last attempted */
    llap_arena         arena;

    const llap_anchor_model *const *anchor; /* [n_anchors] fitted so far, borrowed */
    int64_t                         n_anchors;

    task_stage    own; /* that goes its own way; without params */
    task_progress at;  /* of it */
    double        began;
    bool          own_saved; /* there is a state of it */
};

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One line of the log: loss is the mean since the last. */
llap_status training_line(task_training *t, const task_stage *s, const task_progress *g,
                          double loss, bool better);

/* A state that cannot be written is said; training goes on and the state before it stays. */
llap_status training_save(task_training *t, const task_stage *s, task_progress *g,
                          const task_weights *best);

/* Bytes of a state with this store. */
size_t training_bytes(const task_training *t, const llap_params *p);

/* Somebody wants to stop: LLAP_ECANCELLED, with the state written. kept: there is one already. */
llap_status training_stopped(task_training *t, const task_stage *s, task_progress *g,
                             const task_weights *best, bool kept);

/* The stage is over, in the table and in states to come. Takes weights, also on failure. */
llap_status training_end(task_training *t, const char *name, const task_progress *g,
                         task_weights *weights, double seconds);

/* The notes of the state that was there. */
llap_status training_read_notes(task_training *t);

#endif
