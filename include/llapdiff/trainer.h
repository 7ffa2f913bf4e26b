/* Training as a thing that can be looked at, stopped from elsewhere, and continued.
 *
 *     llap_train_opts how = { .context = "14d", .horizon = "48h", .state = "air.state" };
 *     llap_trainer *t = NULL;
 *     llap_model   *m = NULL;
 *     llap_status   st = llap_trainer_create(panel, &how, &t);    refuses in milliseconds
 *     if (st == LLAP_OK) st = llap_trainer_run(t);                minutes
 *     if (st == LLAP_ECANCELLED) st = llap_trainer_run(t);        goes on
 *     if (st == LLAP_OK) st = llap_trainer_take(t, &m);
 *     llap_trainer_destroy(t);
 *
 * One thread runs it; any thread, or a signal handler, may call llap_trainer_stop meanwhile. */
#ifndef LLAPDIFF_TRAINER_H
#define LLAPDIFF_TRAINER_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_trainer llap_trainer;

/* Looks at options and data as far as is possible without training: targets, spans, split, device.
 * Copies the strings of o; borrows panel, o->log and what o->progress calls until destroyed. Caller
 * owns *out. */
LLAP_API llap_status llap_trainer_create(const llap_panel *panel, const llap_train_opts *o,
                                         llap_trainer **out);

/* Trains to the end, from where the last call was stopped if the options name a state file, else
 * from the beginning; either way to the same model. LLAP_ECANCELLED: stopped, or progress said so.
 * After LLAP_OK there is nothing left to do, and another call does nothing. */
LLAP_API llap_status llap_trainer_run(llap_trainer *t);

/* Asks the run that goes on, or else the next one, to end at its next report. */
LLAP_API void llap_trainer_stop(llap_trainer *t);

/* The model, once run has said LLAP_OK; LLAP_EINVAL before, and when it was taken. Caller owns
 * *out; t has it no more. */
LLAP_API llap_status llap_trainer_take(llap_trainer *t, llap_model **out);

/* NULL is fine. The state file stays: remove it once the model is saved. */
LLAP_API void llap_trainer_destroy(llap_trainer *t);

#ifdef __cplusplus
}
#endif

#endif
