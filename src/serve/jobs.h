/* Jobs: training and scoring, which take longer than a request may. One runs at a time, in a thread
 * of its own, so that requests are answered meanwhile; who asked looks again by its number. */
#ifndef LL_SERVE_JOBS_H
#define LL_SERVE_JOBS_H

#include "serve/sets.h"

#include <llapdiff/trainer.h>

typedef enum ll_job_state {
    LL_JOB_WAITS,
    LL_JOB_RUNS,
    LL_JOB_DONE,
    LL_JOB_FAILED,
    LL_JOB_CANCELLED,
} ll_job_state;

typedef struct ll_job {
    struct ll_job *next;
    llap_server   *server;
    atomic_int     holders;
    atomic_bool    cancel;
    char           number[24], model[LL_NAME_MAX + 1], data[LL_NAME_MAX + 1];
    bool           trains; /* else it scores */
    ll_right       right;  /* who may cancel it */
    ll_arena       text;   /* of the options */

    llap_train_opts    train;
    llap_evaluate_opts evaluate;
    llap_log           log;

    /* What it works with; NULL once it is over, so that what is kept of it is small. Of its thread
     * while it runs. */
    ll_set       *set;
    llap_trainer *trainer;
    ll_served    *scored;

    pthread_mutex_t lock; /* of the next ones, and of what it works with when it begins and ends */
    ll_job_state    state;
    char            stage[64], note[128], unit[16];
    int64_t         done, total;
    int64_t         made, began, ended; /* ll_now */
    llap_status     status;
    char            detail[512];
    char           *result; /* JSON; NULL: none */
    size_t          n_result;
} ll_job;

struct ll_jobs {
    pthread_mutex_t lock; /* of the list */
    pthread_cond_t  more;
    ll_job         *first; /* by number; those that ended are kept for a while */
    int64_t         number;
    bool            ending;
    pthread_t       thread;
    bool            running;
};

llap_status ll_jobs_start(llap_server *s);
/* Cancels what runs and waits. */
void ll_jobs_stop(llap_server *s); /* NULL jobs are fine */

void ll_job_release(ll_job *k);
/* Looks at the data and the options, so that what cannot be is refused at once. Takes k's
 * reference, also after a failure. LLAP_EUNAVAILABLE: too many wait. */
llap_status ll_jobs_add(ll_request *r, ll_job *k);
/* Does the work: LLAP_OK, or what failed. job_work.c */
llap_status ll_job_work(ll_job *k);
/* Reports of the work; non-zero: it is to end. */
llap_progress ll_job_progress(ll_job *k);

llap_status ll_answer_train(ll_request *r);
llap_status ll_answer_evaluate(ll_request *r);
llap_status ll_answer_jobs(ll_request *r);
llap_status ll_answer_job(ll_request *r);
llap_status ll_answer_job_result(ll_request *r);
llap_status ll_answer_delete_job(ll_request *r);

#endif
