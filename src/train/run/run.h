/* src/train/run: the loop that every stage of every training goes through, and the state from which
 * it goes on.
 *
 *   run.h                this file: stages, steps, checks (run.c); custom.c for stages with a loop
 *                        of their own
 *   facts.h              what tells a run from another, as open.c lists it
 *   state.h              the state file; save.c says when it is read and written
 *   open.c               the run that the options of llap_train describe: its facts, its state, its
 *                        room
 *   recipe.h             every number of a training
 *   budget.h             how long it may take, and what is left out for it
 *   config.h, targets.h  the JSON that describes a run; what is said about each target
 *
 * May touch: base, base/json, base/time, base/rng, backend, backend/cpu, graph, nn, data,
 * data/windows, anchor, anchor/chain, residual, stack, fill, model, predict, ranks. */

/* Training that is never lost: the loop that all stages of all profiles go through.
 *
 *     ll_training_run *t;
 *     st = ll_training_run_create(&opts, facts, n_facts, &t);
 *     if (st == LLAP_OK) st = ll_training_run_stage(t, &vae, NULL);            each to its end
 *     if (st == LLAP_OK) st = ll_training_run_stage(t, &denoiser, &result);
 *     ll_training_run_destroy(t);
 *
 * A stage is data: a store that holds everything its steps change, how many steps, and functions
 * that make one step and score the result. A step is a function of the store, the seed and its
 * number alone; so the number is the position in the data, and a run that was interrupted ends in
 * the same bytes as one that was not.
 *
 * The loop evaluates every so many steps, keeps the weights that scored best and puts them back at
 * the end, and stops early when they get no better. It writes the state (train/run/state.h) at
 * intervals, after every stage and when it is asked to stop; a state that cannot be written is a
 * warning, the one before it stays. A step whose loss or gradient is not finite changes nothing
 * (nn/optim.h); so many are skipped and counted, with one more the state is written and it is
 * LLAP_ENUMERIC. A run that goes on in another way, with a smaller rate, counts anew.
 *
 * On a GPU several steps are handed over before anyone asks how they went. Where one of them was
 * not finite, the store goes back to what it was before them, and the steps are made again up to
 * that one, which is then looked at alone: the result is that of one step after the other. */
#ifndef LL_TRAIN_RUN_RUN_H
#define LL_TRAIN_RUN_RUN_H

#include "base/json/json.h"
#include "model/model.h"
#include "model/network.h"
#include "train/run/recipe.h"
#include "train/run/state.h"

#include <llapdiff/model.h>

typedef struct ll_stage {
    const char *name;   /* "vae"; within a run no two are equal */
    ll_params  *params; /* filled as the first step finds it */
    void       *user;
    int64_t     n_steps;
    int64_t     eval_every; /* steps between evaluations, and lines of the log; 0: at the end */
    /* Instead of eval_every: is there an evaluation after so many steps? NULL: as it says. */
    bool (*look)(void *user, int64_t step);
    int64_t patience;         /* stop after so many evaluations in a row without a better one; 0:
                                 never */
    int64_t patience_from;    /* evaluation, from 1, that is the first to count against it */
    int64_t select_from;      /* evaluation, from 1, that is the first to be kept */
    double  margin, relative; /* better is score < (1 - relative) best - margin */
    int64_t max_skipped;      /* steps that may come out not finite */
    double  lr;               /* for messages */
    /* Stages like this one from here on, itself included, for a message of how long they take here;
     * 0: none is wanted. compare: what is known without them, and how to do with less. */
    int64_t     rounds;
    const char *compare;

    /* Step number step, from 0. grad_norm of NaN or infinity: nothing was updated. loss NULL: the
     * step is handed over and nobody waits for it. */
    llap_status (*step)(void *user, int64_t step, double *loss, double *grad_norm);

    /* What n steps from first on, at most LL_ASYNC_RESULTS that nobody waited for, came to; [n]
     * each. NULL: each step is waited for. */
    llap_status (*results)(void *user, int64_t first, int64_t n, double *loss, double *grad_norm);

    /* Score of the weights in the store after `step` steps, lower is better. NULL: the last weights
     * are the result. */
    llap_status (*evaluate)(void *user, int64_t step, double *score);

    /* Further members of the log's line, after an evaluation. NULL: none. */
    void (*fields)(void *user, ll_json_writer *w);

    /* What was not finite in the step just made, "gradient of 'encoder.mu.weight'; windows ...".
     * text holds what is known, "the loss is not finite"; it is for what is found, or to add to.
     * NULL: nobody knows more. */
    llap_status (*find_non_finite)(void *user, int64_t step, char *text, size_t size);
} ll_stage;

#define LL_STAGE_DEFAULT ((ll_stage){ .patience_from = 1, .select_from = 1, .max_skipped = 8 })

/* With steps, checks and patience of a recipe; the rest is the caller's to set. */
ll_stage ll_stage_of(const ll_recipe_stage *how);

/* Warns that there is no room for a batch at once: it goes in so many rows, the last ones fewer. */
void ll_stage_in_micro_batches(const llap_log *log, const char *stage, const ll_backend *backend,
                               int64_t batch, int64_t rows);

typedef struct ll_stage_result {
    int64_t n_steps;   /* made, with those of an earlier run */
    int64_t best_step; /* after how many steps the weights were kept; -1: at the end, nothing was to
                          be chosen from */
    int64_t n_skipped;
    double  score; /* of the weights kept; NaN without evaluation */
} ll_stage_result;

typedef struct ll_training_run_opts {
    const char     *state;      /* file; NULL: none is written */
    bool            reader;     /* of several ranks one that reads the state and never writes it */
    bool            resume;     /* go on with the state, if there is one */
    double          save_every; /* seconds between states */
    int64_t         save_steps; /* steps between states; 0: by the clock alone */
    const char     *log;        /* file of JSON lines; NULL: none */
    const char     *run;        /* what tells it from others, kept in its model; NULL: nothing */
    bool            finished;   /* its model is there already: nothing is to be done */
    const llap_log *messages;
    llap_progress   progress; /* non-zero: finish the step, save, LLAP_ECANCELLED */
} ll_training_run_opts;

typedef struct ll_training_run ll_training_run;

/* Facts say which run this is: options, sizes, a hash of the data. Strings are copied. With resume
 * the state is read and checked; without, one that is there already is refused, since it may hold
 * hours of somebody's work. Caller owns *out. */
llap_status ll_training_run_create(const ll_training_run_opts *o, const ll_run_fact *fact, size_t n,
                                   ll_training_run **out);
void        ll_training_run_destroy(ll_training_run *t);     /* NULL is fine; the state stays */
double      ll_training_run_spent(const ll_training_run *t); /* seconds since it was created */

/* What a run of llap_train does. */
typedef struct ll_run_job {
    const ll_network_config *network; /* NULL: anchors alone */
    const ll_recipe         *recipe;
    const char *text; /* its options as the model will keep them (ll_train_options_text) */
} ll_run_job;

/* The run of llap_train: its facts are the options, the configuration, the recipe and hashes of the
 * data, of a split that was given and of a model that it starts from.
 * *finished: the model that it ends in, where an earlier run has come to its end (o->output); else
 * NULL. The caller owns both. */
llap_status ll_training_run_open(const llap_panel *p, const llap_train_opts *o,
                                 const ll_model_frame *f, const ll_run_job *job,
                                 ll_training_run **out, llap_model **finished);
/* The model is of the run that its own options (m->training) describe: where a budget left
 * something out, of that which was asked for the rest. */
/* Which training it is: data and options, text as ll_train_options_text has them. */
llap_status ll_training_run_name(const llap_panel *p, const llap_train_opts *o,
                                 const ll_model_frame *f, const char *text,
                                 char name[LL_MODEL_RUN + 1]);
llap_status ll_training_run_sign(const llap_panel *p, const llap_train_opts *o, llap_model *m);

/* Brings the stage to its end, from wherever it is: its store then holds the result. result may be
 * NULL. LLAP_ECANCELLED, LLAP_ENUMERIC: see above. */
llap_status ll_training_run_stage(ll_training_run *t, const ll_stage *s, ll_stage_result *result);

/* -------- what goes its own way --------
 *
 * The fit of anchors is no loop of equal steps. It is a stage all the same: it has a bar, lines in
 * the log and a row in the table, and whatever it has found is in the next state, as notes (numbers
 * by name) or as an anchor. A later run finds it there and need not find it again.
 *
 *     st = ll_training_run_enter(t, &stage, &finished);          its name, n_steps, fields
 *     if (st == LLAP_OK && !finished)
 *         for (...) st = ll_training_run_at(t, &at);                  after each step
 *     if (st == LLAP_OK && !finished) st = ll_training_run_leave(t, score); */

/* *finished: it was over before, and ll_training_run_leave is not for it. */
llap_status ll_training_run_enter(ll_training_run *t, const ll_stage *s, bool *finished);
/* So many steps are made; the loss of the last may be NaN. Draws the bar, with the note, and writes
 * a state when it is time. LLAP_ECANCELLED: as of a stage. */
typedef struct ll_stage_at {
    int64_t     step;
    double      loss;
    const char *note;
    bool        line; /* one in the log, too */
} ll_stage_at;
llap_status ll_training_run_at(ll_training_run *t, const ll_stage_at *at);
/* A line of the log now, with the stage's fields; its loss is the mean since the one before. */
llap_status ll_training_run_line(ll_training_run *t);
/* It is over: the state is written. score: for the table. */
llap_status ll_training_run_leave(ll_training_run *t, double score);

/* Numbers under a name, of this run or of the one before it. False: there are none, or not n. */
bool        ll_training_run_find(const ll_training_run *t, const char *name, double *v, size_t n);
llap_status ll_training_run_keep(ll_training_run *t, const char *name, const double *v, size_t n);
void        ll_training_run_forget(ll_training_run *t, const char *prefix); /* names beginning so */
/* Writes the state between two stages; `what` was done, for the warning if that fails. */
void ll_training_run_save(ll_training_run *t, const char *what);

/* The first n anchors are fitted and belong to the state; borrowed until the next call or the end
 * of the run. */
void ll_training_run_anchors(ll_training_run *t, ll_anchor_model *const *anchor, int64_t n);
/* Those of the state that was there, *n of them, into anchor [f->n_targets]; the caller owns them,
 * also after a failure. */
llap_status ll_training_run_read_anchors(ll_training_run *t, const ll_model_frame *f,
                                         ll_anchor_model **anchor, int64_t *n);

/* How far the filling is: the fit without curves is there, or the better of both, or it is settled
 * who fills, by which there may be none. */
typedef enum ll_filling_stage {
    LL_FILLING_NONE,
    LL_FILLING_PLAIN,
    LL_FILLING_FITTED,
    LL_FILLING_SETTLED
} ll_filling_stage;
typedef struct ll_run_filling {
    ll_filling_stage  stage;
    double            score; /* of the plain one, on validation */
    const ll_filling *filling;
} ll_run_filling;

/* It is in the states from then on; the filling is borrowed until the next call or the end of the
 * run. */
void ll_training_run_filling(ll_training_run *t, const ll_run_filling *at);
/* What the state that was there had; the caller owns *out, which is at->filling. LLAP_EFORMAT: it
 * is damaged. */
llap_status ll_training_run_read_filling(const ll_training_run *t, const ll_model_frame *f,
                                         ll_run_filling *at, ll_filling **out);

/* A table of the stages so far, and the most memory that the process had: to the messages, and as
 * a JSON object. Caller owns *report (ll_free). */
llap_status ll_training_run_table(const ll_training_run *t, char **report);

/* Is there room on the disk for states of n_bytes, one beside the one before it? LLAP_EIO says how
 * much is missing. Stages ask for themselves; of a later one it is a warning. */
llap_status ll_training_run_room(const ll_training_run *t, size_t n_bytes);

/* The same for all stages of a run to come, before anything is trained. */
typedef struct ll_stage_size { /* numbers */
    size_t kept;               /* of the result: weights and their averages */
    size_t changed;            /* by its steps: moments too */
} ll_stage_size;
llap_status ll_training_run_reserve(const ll_training_run *t, const ll_stage_size *stage, int n);

/* Numbers of the trained parameters whose names begin so. */
size_t ll_training_run_weights(const ll_params *p, const char *prefix);

#endif
