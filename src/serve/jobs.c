/* The list of jobs, the thread that works on them, and what is said of them. */
#include "serve/jobs.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"

#include <assert.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { JOBS_KEPT = 64, JOBS_WAITING = 16 };

static const int64_t second = INT64_C(1000000000);

/* ---- one job ---- */

/* Lets go of what it worked with. */
static void let_go(ll_job *k)
{
    (void)pthread_mutex_lock(&k->lock);
    llap_trainer *trainer = k->trainer;
    ll_served    *scored = k->scored;
    ll_set       *set = k->set;
    k->trainer = NULL;
    k->scored = NULL;
    k->set = NULL;
    (void)pthread_mutex_unlock(&k->lock);
    llap_trainer_destroy(trainer);
    ll_served_release(scored);
    ll_set_release(set);
}

void ll_job_release(ll_job *k)
{
    if (k == NULL || atomic_fetch_sub(&k->holders, 1) > 1) return;
    let_go(k);
    ll_arena_deinit(&k->text);
    (void)pthread_mutex_destroy(&k->lock);
    ll_free(k->result);
    ll_free(k);
}

static ll_job_state state_of(ll_job *k)
{
    (void)pthread_mutex_lock(&k->lock);
    const ll_job_state state = k->state;
    (void)pthread_mutex_unlock(&k->lock);
    return state;
}

static bool is_over(ll_job_state state) { return state >= LL_JOB_DONE; }

static int report(void *user, const llap_progress_event *e)
{
    ll_job *k = user;
    (void)pthread_mutex_lock(&k->lock);
    snprintf(k->stage, sizeof k->stage, "%s", e->stage == NULL ? "" : e->stage);
    snprintf(k->note, sizeof k->note, "%s", e->note == NULL ? "" : e->note);
    snprintf(k->unit, sizeof k->unit, "%s", e->unit == NULL ? "" : e->unit);
    k->done = e->done;
    k->total = e->total;
    const bool late = ll_now() - k->began > k->server->o.max_job_seconds * second;
    (void)pthread_mutex_unlock(&k->lock);
    return late || atomic_load(&k->cancel);
}

llap_progress ll_job_progress(ll_job *k) { return (llap_progress){ .report = report, .user = k }; }

/* Locked. */
static void close_with(ll_job *k, llap_status st)
{
    const llap_server *s = k->server;
    assert(!is_over(k->state));
    k->ended = ll_now();
    k->status = st;
    k->state = st == LLAP_OK ? LL_JOB_DONE : LL_JOB_FAILED;
    if (st != LLAP_OK) snprintf(k->detail, sizeof k->detail, "%s", llap_error_detail());
    if (st == LLAP_ECANCELLED && atomic_load(&k->cancel)) {
        k->state = LL_JOB_CANCELLED;
        snprintf(k->detail, sizeof k->detail, "cancelled");
    } else if (st == LLAP_ECANCELLED) {
        k->status = LLAP_ELIMIT;
        snprintf(k->detail, sizeof k->detail, "takes longer than %lld s",
                 (long long)s->o.max_job_seconds);
    }
    k->detail[ll_utf8_prefix(k->detail, strlen(k->detail))] = '\0';
}

static void end(ll_job *k, llap_status st)
{
    (void)pthread_mutex_lock(&k->lock);
    close_with(k, st);
    (void)pthread_mutex_unlock(&k->lock);
    let_go(k);
}

/* One that waits is over at once, one that runs at its next report. */
static void cancel(ll_job *k)
{
    (void)pthread_mutex_lock(&k->lock);
    atomic_store(&k->cancel, true);
    const bool waits = k->state == LL_JOB_WAITS;
    if (waits) close_with(k, LLAP_ECANCELLED);
    else if (k->trainer != NULL) llap_trainer_stop(k->trainer);
    (void)pthread_mutex_unlock(&k->lock);
    if (waits) let_go(k);
}

/* ---- the thread ---- */

/* false: it was cancelled in between. */
static bool begin(ll_job *k)
{
    (void)pthread_mutex_lock(&k->lock);
    const bool waits = k->state == LL_JOB_WAITS;
    if (waits) {
        k->began = ll_now();
        k->state = LL_JOB_RUNS;
    }
    (void)pthread_mutex_unlock(&k->lock);
    return waits;
}

static void work(ll_job *k)
{
    const int64_t mb = k->server->o.max_memory;
    if (!begin(k)) return;
    (void)ll_alloc_limit_team(mb << 20);
    llap_status st = ll_job_work(k);
    if (ll_alloc_limit(0) && st == LLAP_ENOMEM)
        st = ll_fail(LLAP_ELIMIT, "needs more than %lld MB of memory", (long long)mb);
    end(k, st);
    ll_journal(k->server, LLAP_LOG_INFO, "job", "%s %s of '%s' with '%s': %s", k->number,
               k->trains ? "training" : "scoring", k->model, k->data,
               st == LLAP_OK ? "done" : k->detail);
}

/* The next that waits; NULL: the server ends. Held. */
static ll_job *next(struct ll_jobs *all)
{
    ll_job *k = NULL;
    (void)pthread_mutex_lock(&all->lock);
    while (!all->ending) {
        for (k = all->first; k != NULL && state_of(k) != LL_JOB_WAITS; k = k->next) {
        }
        if (k != NULL) break;
        (void)pthread_cond_wait(&all->more, &all->lock);
    }
    if (k != NULL) atomic_fetch_add(&k->holders, 1);
    (void)pthread_mutex_unlock(&all->lock);
    return k;
}

/* One processor is left to requests. */
static void *run(void *user)
{
    llap_server *s = user;
    ll_job      *k;
    const long   n = sysconf(_SC_NPROCESSORS_ONLN);
    omp_set_num_threads(n > 2 ? (int)n - 1 : 1);
    while ((k = next(s->jobs)) != NULL) {
        work(k);
        ll_job_release(k);
    }
    return NULL;
}

llap_status ll_jobs_start(llap_server *s)
{
    pthread_attr_t  a;
    struct ll_jobs *all = s->jobs = ll_new(1, sizeof *all);
    if (all == NULL) return LLAP_ENOMEM;
    (void)pthread_mutex_init(&all->lock, NULL);
    (void)pthread_cond_init(&all->more, NULL);
    (void)pthread_attr_init(&a);
    (void)pthread_attr_setstacksize(&a, 8 << 20);
    const int bad = pthread_create(&all->thread, &a, run, s);
    (void)pthread_attr_destroy(&a);
    all->running = bad == 0;
    return bad == 0 ? LLAP_OK : ll_fail_errno(bad, "a thread for jobs");
}

void ll_jobs_stop(llap_server *s)
{
    struct ll_jobs *all = s->jobs;
    if (all == NULL) return;
    (void)pthread_mutex_lock(&all->lock);
    all->ending = true;
    for (ll_job *k = all->first; k != NULL; k = k->next) atomic_store(&k->cancel, true);
    (void)pthread_cond_broadcast(&all->more);
    (void)pthread_mutex_unlock(&all->lock);
    if (all->running) (void)pthread_join(all->thread, NULL);
    for (ll_job *k = all->first, *after; k != NULL; k = after) {
        after = k->next;
        ll_job_release(k);
    }
    (void)pthread_cond_destroy(&all->more);
    (void)pthread_mutex_destroy(&all->lock);
    ll_free(all);
    s->jobs = NULL;
}

/* ---- the list ---- */

/* Forgets the oldest that ended, where there are too many. Locked. */
static void forget_one(struct ll_jobs *all)
{
    size_t n = 0;
    for (ll_job *k = all->first; k != NULL; k = k->next) n++;
    if (n < JOBS_KEPT) return;
    for (ll_job **at = &all->first; *at != NULL; at = &(*at)->next)
        if (is_over(state_of(*at))) {
            ll_job *gone = *at;
            *at = gone->next;
            ll_job_release(gone);
            return;
        }
}

static void put_job(ll_json_writer *w, ll_job *k);

static llap_status reply_job(ll_request *r, int status, ll_job *k)
{
    ll_json_writer w = { 0 };
    char          *text = NULL;
    size_t         n = 0;
    put_job(&w, k);
    const llap_status st = ll_json_finish(&w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, status, "application/json", text, n);
    return st;
}

llap_status ll_jobs_add(ll_request *r, ll_job *k)
{
    struct ll_jobs *all = r->server->jobs;
    size_t          waiting = 0;
    ll_job        **at = &all->first;
    k->made = ll_now();
    atomic_fetch_add(&k->holders, 1); /* ours, for the answer */
    (void)pthread_mutex_lock(&all->lock);
    forget_one(all);
    for (; *at != NULL; at = &(*at)->next) waiting += state_of(*at) == LL_JOB_WAITS;
    const bool room = waiting < JOBS_WAITING && !all->ending;
    if (room) {
        snprintf(k->number, sizeof k->number, "%lld", (long long)++all->number);
        *at = k;
        (void)pthread_cond_signal(&all->more);
    }
    (void)pthread_mutex_unlock(&all->lock);
    llap_status st = room ? reply_job(r, 202, k)
                          : ll_fail(LLAP_EUNAVAILABLE, "%d jobs wait already", JOBS_WAITING);
    if (!room) ll_job_release(k);
    ll_job_release(k);
    return st;
}

static llap_status job_of(const ll_request *r, ll_job **out)
{
    struct ll_jobs *all = r->server->jobs;
    (void)pthread_mutex_lock(&all->lock);
    for (*out = all->first; *out != NULL && strcmp((*out)->number, r->name) != 0;)
        *out = (*out)->next;
    if (*out != NULL) atomic_fetch_add(&(*out)->holders, 1);
    (void)pthread_mutex_unlock(&all->lock);
    return *out != NULL ? LLAP_OK : ll_fail(LLAP_ENOTFOUND, "no job '%s'", r->name);
}

/* ---- what is said of them ---- */

static void put_job(ll_json_writer *w, ll_job *k)
{
    static const char *const word[] = { "waits", "runs", "done", "failed", "cancelled" };
    (void)pthread_mutex_lock(&k->lock);
    const int64_t until = k->ended != 0 ? k->ended : ll_now();
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "job", k->number);
    ll_json_put_string(w, "does", k->trains ? "train" : "evaluate");
    ll_json_put_string(w, "model", k->model);
    ll_json_put_string(w, "data", k->data);
    ll_json_put_string(w, "state", word[k->state]);
    ll_json_put_string(w, "stage", k->stage);
    ll_json_put_int(w, "done", k->done);
    ll_json_put_int(w, "total", k->total);
    ll_json_put_string(w, "unit", k->unit);
    ll_json_put_string(w, "note", k->note);
    ll_json_put_double(w, "seconds",
                       k->began == 0 ? 0 : (double)((until - k->began) / 1000000) / 1e3);
    if (is_over(k->state) && k->status != LLAP_OK) {
        ll_json_put_string(w, "detail", k->detail);
        ll_json_put_string(w, "code", llap_status_name(k->status));
    }
    ll_json_close(w, '}');
    (void)pthread_mutex_unlock(&k->lock);
}

llap_status ll_answer_jobs(ll_request *r)
{
    struct ll_jobs *all = r->server->jobs;
    ll_json_writer  w = { 0 };
    char           *text = NULL;
    size_t          n = 0;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "jobs", '[');
    (void)pthread_mutex_lock(&all->lock);
    for (ll_job *k = all->first; k != NULL; k = k->next) put_job(&w, k);
    (void)pthread_mutex_unlock(&all->lock);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    const llap_status st = ll_json_finish(&w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    return st;
}

llap_status ll_answer_job(ll_request *r)
{
    ll_job     *k = NULL;
    llap_status st = job_of(r, &k);
    if (st == LLAP_OK) st = reply_job(r, 200, k);
    ll_job_release(k);
    return st;
}

llap_status ll_answer_job_result(ll_request *r)
{
    ll_job     *k = NULL;
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = job_of(r, &k);
    if (st != LLAP_OK) return st;
    (void)pthread_mutex_lock(&k->lock);
    const bool there = k->result != NULL;
    if (there) text = ll_strndup(k->result, n = k->n_result);
    (void)pthread_mutex_unlock(&k->lock);
    ll_job_release(k);
    if (!there) return ll_fail(LLAP_ENOTFOUND, "the job '%s' has no result", r->name);
    if (text == NULL) return LLAP_ENOMEM;
    ll_reply_take(r, 200, "application/json", text, n);
    return LLAP_OK;
}

llap_status ll_answer_delete_job(ll_request *r)
{
    ll_job     *k = NULL;
    llap_status st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK) st = job_of(r, &k);
    if (st != LLAP_OK) return st;
    if (r->right < k->right) {
        ll_reply_problem(r, 403, LLAP_OK, "this needs a token with the right admin");
    } else {
        cancel(k);
        st = reply_job(r, 200, k);
    }
    ll_job_release(k);
    return st;
}
