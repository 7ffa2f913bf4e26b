/* Inside a training run: shared by run.c (the loop), open.c and save.c (state and log) and custom.c
 * (stages with a loop of their own). */
#ifndef LL_TRAIN_RUN_RUN_PARTS_H
#define LL_TRAIN_RUN_RUN_PARTS_H

#include "base/arena.h"
#include "train/run/run.h"

#include <stdio.h>
#include <time.h>

/* A stage that is over, as later states keep it. */
typedef struct ended {
    const char     *name;
    ll_run_progress progress;
    ll_weights     *weights; /* NULL: it has none */
    double          seconds; /* that it took here; 0: it was over before */
    struct ended   *next;    /* the one before it */
} ended;

/* Numbers kept by name, in the arena. */
typedef struct ll_run_note {
    const char         *name;
    double             *v;
    size_t              n;
    struct ll_run_note *next;
} ll_run_note;

struct ll_training_run {
    ll_training_run_opts o; /* strings in the arena */
    ll_run_fact         *fact;
    size_t               n_facts;
    ll_tensors          *old;   /* the state that was there; NULL: none */
    bool                 other; /* it is of a run that differs, in what may */
    ended               *ended;
    ll_run_note         *notes;
    FILE                *log;
    int64_t              log_size;
    double               opened; /* when */
    double               saved;  /* when a state was last attempted */
    ll_arena             arena;

    const ll_anchor_model *const *anchor; /* [n_anchors] fitted so far, borrowed */
    int64_t                       n_anchors;
    ll_run_filling                filling; /* borrowed */

    ll_stage        own; /* that goes its own way; without params */
    ll_run_progress at;  /* of it */
    double          began;
    bool            own_saved; /* there is a state of it */
};

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One line of the log: loss is the mean since the last. */
llap_status training_line(ll_training_run *t, const ll_stage *s, const ll_run_progress *g,
                          double loss, bool better);

/* A state that cannot be written is said; training goes on and the state before it stays. */
llap_status training_save(ll_training_run *t, const ll_stage *s, ll_run_progress *g,
                          const ll_weights *best);

/* Bytes of a state with this store. */
size_t training_bytes(const ll_training_run *t, const ll_params *p);

/* Somebody wants to stop: LLAP_ECANCELLED, with the state written. kept: there is one already. */
llap_status training_stopped(ll_training_run *t, const ll_stage *s, ll_run_progress *g,
                             const ll_weights *best, bool kept);

/* The stage is over, in the table and in states to come. Takes weights, also on failure. */
llap_status training_end(ll_training_run *t, const char *name, const ll_run_progress *g,
                         ll_weights *weights, double seconds);

/* The notes of the state that was there. */
llap_status training_read_notes(ll_training_run *t);

#endif
