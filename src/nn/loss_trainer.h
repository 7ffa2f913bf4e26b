/* Training one loss: what is the same for every network that learns from batches of rows.
 *
 *     const ll_loss_trainer_opts o = { .backend = b, .n_threads = 2, .optim = LL_TRAIN_DEFAULT,
 *                                   .batch = 128, .user = me, .describe = loss_of,
 *                                   .start = draw_weights, .fill = fill_rows };
 *     ll_loss_trainer *t;
 *     st = ll_loss_trainer_create(&o, &t);
 *     for (step = 0; step < n && st == LLAP_OK; step++)
 *         st = ll_loss_trainer_step(t, step, lr, &loss, &norm);
 *     ll_loss_trainer_destroy(t);
 *
 * The trainer has the graph of the loss planned and bound, and parameters with the state of the
 * optimiser where the backend computes. On a backend with memory of its own (a device) it begins
 * with all data there, if the user can move it; where that is too much, the rows of each step are
 * copied; where that is too much, a batch goes in micro-batches whose gradients are added up
 * (nn/micro_batches.h). A step is a function of the parameters and its number alone.
 *
 * A fixed number of micro-batches may be asked for instead. Their gradients are then added as the
 * leaves of a tree (ranks/sum_tree.h), and several ranks share them out: each makes a subtree, so
 * that all of them end in the bytes that one process has. */
#ifndef LL_NN_LOSS_TRAINER_H
#define LL_NN_LOSS_TRAINER_H

#include "nn/session.h"
#include "ranks/ranks.h"

typedef struct ll_loss_trainer ll_loss_trainer;

typedef struct ll_loss_of { /* which loss is described */
    int64_t rows;           /* of the graph's inputs */
    bool    training;       /* else it is for validation: no dropout, no noise */
    bool    on_device;      /* rows are taken from tables in device memory */
    bool    micro;          /* rows are a part of a batch */
} ll_loss_of;

typedef struct ll_micro_batch { /* rows first .. first + rows - 1 of the batch of a step */
    int64_t step, first, rows;
    int64_t count; /* rows of the whole batch */
    int64_t room;  /* rows of the net; those behind the batch's count for nothing */
} ll_micro_batch;

typedef struct ll_loss_trainer_opts {
    const ll_backend *backend;
    int               n_threads;
    ll_train_attr     optim;
    int64_t           batch;         /* rows of a batch, at most */
    int64_t           micro_batches; /* of a batch: a power of two, at most batch; 0, 1: one, or as
                                        many as memory wants */
    const ll_ranks *ranks; /* that share them out, a power of two of at most so many; NULL:
                              every process makes all */
    void *user;            /* of the functions below */

    /* The loss; an output "loss" too. */
    ll_tensor *(*describe)(ll_graph *g, void *user, const ll_loss_of *what);
    /* The parameters as training begins with them. */
    llap_status (*start)(void *user, ll_params *p);
    /* Rows of the batch of a step; NULL: as many as opts say. */
    int64_t (*count)(void *user, int64_t step);
    /* The inputs of the net. Of a micro-batch *share, 1 unless it is set, is what its loss counts
     * for in the loss of the batch. */
    llap_status (*fill)(void *user, const ll_micro_batch *b, ll_session *net, double *share);
    /* From now on batches go in micro-batches of so many rows. NULL: nobody wants to know. */
    void (*split)(void *user, int64_t rows);

    /* Data in device memory; NULL: it cannot be moved. move may ask t for nets of validation.
     * LLAP_ENOMEM: there is no room; leave gives memory back, also after a failure to move. */
    llap_status (*move)(void *user, ll_loss_trainer *t);
    void (*leave)(void *user);
    llap_status (*place)(void *user, bool training, ll_session *net); /* binds it to a new net */
    /* Instead of fill: which rows the step takes. */
    llap_status (*take)(void *user, int64_t step, ll_session *net);
} ll_loss_trainer_opts;

/* The user is borrowed until the trainer is destroyed. Caller owns *out. */
llap_status ll_loss_trainer_create(const ll_loss_trainer_opts *o, ll_loss_trainer **out);
void ll_loss_trainer_destroy(ll_loss_trainer *t); /* NULL is fine; the data leaves the device */

ll_params *ll_loss_trainer_params(ll_loss_trainer *t); /* borrowed */
/* Rows that go at once: of a batch, or of a micro-batch; and whether the data is in device memory.
 */
int64_t ll_loss_trainer_rows(const ll_loss_trainer *t);
bool    ll_loss_trainer_on_device(const ll_loss_trainer *t);

/* Step number `step`, from 0; norm is of the gradient. loss NULL: nobody waits for the step; what
 * up to LL_ASYNC_RESULTS such steps came to, results says later, [n] each. */
llap_status ll_loss_trainer_step(ll_loss_trainer *t, int64_t step, double lr, double *loss,
                                 double *norm);
llap_status ll_loss_trainer_results(ll_loss_trainer *t, int64_t first, int64_t n, double *loss,
                                    double *norm);

/* After a step that came out not finite: what it was, as in nn/non_finite.h. */
llap_status ll_loss_trainer_find_non_finite(ll_loss_trainer *t, int64_t step, char *text,
                                            size_t size);

/* A net of the loss for validation of so many rows, of ll_loss_trainer_rows at most; the trainer
 * owns it, until the next call that makes nets. Where it is LLAP_ENOMEM,
 * ll_loss_trainer_save_memory asks for less memory from then on (LLAP_ENOMEM: for no less), and
 * the caller begins anew:
 *
 *     do st = check(t, ...);
 *     while (st == LLAP_ENOMEM && ll_loss_trainer_save_memory(t) == LLAP_OK); */
llap_status ll_loss_trainer_check_net(ll_loss_trainer *t, int64_t rows, ll_session **out);
llap_status ll_loss_trainer_save_memory(ll_loss_trainer *t);

#endif
