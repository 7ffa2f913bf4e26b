/* What jobs do: they train a model, or score one. */
#include "serve/jobs.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* The values of the query outlive the request. */
static llap_status keep_arguments(ll_request *r, ll_job *k)
{
    for (size_t i = 0; i < r->n_arguments; i++) {
        const char *value = r->argument[i].value;
        r->argument[i].value = ll_arena_strndup(&k->text, value, strlen(value));
        if (r->argument[i].value == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

static llap_status make(ll_request *r, bool trains, ll_job **out)
{
    ll_job *k = *out = ll_new(1, sizeof *k);
    if (k == NULL) return LLAP_ENOMEM;
    (void)pthread_mutex_init(&k->lock, NULL);
    atomic_store(&k->holders, 1);
    k->server = r->server;
    k->right = r->route->right;
    k->log = ll_journal_log(r->server);
    k->trains = trains;
    snprintf(k->model, sizeof k->model, "%s", r->name);
    llap_status st = keep_arguments(r, k);
    if (st == LLAP_OK)
        st = ll_query_read(r, &(ll_asked){ { trains ? (void *)&k->train : &k->evaluate } });
    if (st == LLAP_OK) st = ll_set_of(r, ll_request_argument(r, "data"), &k->set);
    if (st == LLAP_OK) snprintf(k->data, sizeof k->data, "%s", k->set->name);
    return st;
}

llap_status ll_answer_train(ll_request *r)
{
    ll_job     *k = NULL;
    llap_status st = make(r, true, &k);
    if (st == LLAP_OK) {
        if (k->train.size == LLAP_TRAIN_SIZE_DEFAULT) k->train.size = LLAP_TRAIN_SIZE_ANCHOR;
        k->train.log = &k->log;
        k->train.progress = ll_job_progress(k);
        st = llap_trainer_create(k->set->panel, &k->train, &k->trainer);
    }
    if (st == LLAP_OK) return ll_jobs_add(r, k);
    ll_job_release(k);
    return st;
}

llap_status ll_answer_evaluate(ll_request *r)
{
    ll_job     *k = NULL;
    llap_status st = make(r, false, &k);
    if (st == LLAP_OK) st = ll_model_for(r, r->name, &k->scored);
    if (st == LLAP_OK) st = ll_set_check_words(k->set, k->scored->model);
    if (st == LLAP_OK) {
        k->evaluate.log = &k->log;
        k->evaluate.progress = ll_job_progress(k);
        return ll_jobs_add(r, k);
    }
    ll_job_release(k);
    return st;
}

static llap_status train(ll_job *k)
{
    llap_model *m = NULL;
    llap_status st = llap_trainer_run(k->trainer);
    if (st == LLAP_OK) st = llap_trainer_take(k->trainer, &m);
    if (st == LLAP_OK) st = ll_models_put(&k->server->models, k->model, m, NULL);
    return st;
}

static llap_status evaluate(ll_job *k)
{
    char       *json = NULL;
    llap_status st = llap_evaluate(k->scored->model, k->set->panel, &k->evaluate, NULL, &json);
    if (st != LLAP_OK) return st;
    (void)pthread_mutex_lock(&k->lock);
    k->n_result = strlen(json);
    k->result = ll_strndup(json, k->n_result);
    st = k->result == NULL ? LLAP_ENOMEM : LLAP_OK;
    (void)pthread_mutex_unlock(&k->lock);
    llap_text_free(json);
    return st;
}

llap_status ll_job_work(ll_job *k) { return k->trains ? train(k) : evaluate(k); }
