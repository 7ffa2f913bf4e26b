/* Who writes, and when. One thread at a time has the turn. Appends that arrive while a transaction
 * is on its way to the disk wait in line; the first of them then takes all of them into the next
 * one, so that the cost of a sync is shared by as many as there are. */
#include "base/alloc.h"
#include "store/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* ---- the line ------------------------------------------------------------------------------- */

static void line_up(ll_store *s, ll_store_turn *own)
{
    (void)pthread_cond_init(&own->wake, NULL);
    own->next = NULL;
    if (s->first == NULL) s->first = own;
    else s->last->next = own;
    s->last = own;
}

/* Until own has the turn, or somebody has done its work. Locked. */
static void wait_in_line(ll_store *s, ll_store_turn *own)
{
    line_up(s, own);
    if (!s->led) own->lead = s->led = true;
    while (!own->done && !own->lead) (void)pthread_cond_wait(&own->wake, &s->lock);
    assert(own->done || s->first == own);
}

/* Takes own and, of an append, the appends right behind it out of the line. Locked. */
static ll_store_turn *take_group(ll_store *s, ll_store_turn *own)
{
    ll_store_turn *end = own;
    int64_t        cells = 0;
    for (int n = 1; own->r != NULL && end->next != NULL && n < LL_STORE_GROUP_APPENDS; n++) {
        const ll_store_readings *r = end->next->r;
        if (r == NULL || (cells += r->n_rows * r->n_variables) > LL_STORE_GROUP_CELLS) break;
        end = end->next;
    }
    s->first = end->next;
    if (s->first == NULL) s->last = NULL;
    end->next = NULL;
    return own;
}

/* Passes the turn on. Locked. */
static void pass_on(ll_store *s)
{
    s->led = s->first != NULL;
    if (!s->led) return;
    s->first->lead = true;
    (void)pthread_cond_signal(&s->first->wake);
}

void ll_store_take_turn(ll_store *s, ll_store_turn *own)
{
    *own = (ll_store_turn){ .r = NULL };
    (void)pthread_mutex_lock(&s->lock);
    wait_in_line(s, own);
    (void)take_group(s, own);
    (void)pthread_mutex_unlock(&s->lock);
}

void ll_store_end_turn(ll_store *s, ll_store_turn *own)
{
    (void)pthread_mutex_lock(&s->lock);
    pass_on(s);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_cond_destroy(&own->wake);
}

/* ---- appends -------------------------------------------------------------------------------- */

/* The transaction, again while the database is gone. The thread has the turn. */
static llap_status write_list(ll_store *s, ll_store_turn *list)
{
    ll_store_wait wait = ll_store_wait_begin(s);
    for (;;) {
        ll_sql     *db;
        llap_status st = ll_store_writer(s, &db);
        if (st == LLAP_OK) st = ll_store_write(db, list);
        const ll_sql_trouble why = s->writer == NULL ? LL_SQL_LOST : ll_sql_trouble_of(s->writer);
        ll_store_writer_after(s, st);
        if (st == LLAP_OK || !ll_store_wait_more(s, &wait, st, why)) return st;
    }
}

static void keep_failure(ll_store_turn *t, llap_status st)
{
    t->st = st;
    snprintf(t->detail, sizeof t->detail, "%s", llap_error_detail());
}

/* What fails for another reason than that the database is gone fails for one of them, who must not
 * spoil it for the others. */
static void write_group(ll_store *s, ll_store_turn *group)
{
    llap_status st = write_list(s, group);
    if (st == LLAP_OK) return;
    if (st == LLAP_EUNAVAILABLE || group->next == NULL) {
        for (ll_store_turn *t = group; t != NULL; t = t->next) keep_failure(t, st);
        return;
    }
    for (ll_store_turn *t = group, *rest; t != NULL; t = rest) {
        rest = t->next;
        t->next = NULL;
        st = write_list(s, t);
        if (st != LLAP_OK) keep_failure(t, st);
        t->next = rest;
    }
}

/* In the order of their numbers, which is that of the list. */
static void tell(const ll_store *s, const ll_store_turn *group)
{
    for (const ll_store_turn *t = group; t != NULL && s->o.stored != NULL; t = t->next)
        if (t->st == LLAP_OK && !t->got.repeated) s->o.stored(s->o.user, t->r, t->got.number);
}

/* Locked. */
static void finish_group(ll_store *s, const ll_store_turn *own, ll_store_turn *group)
{
    bool committed = false;
    for (ll_store_turn *t = group, *rest; t != NULL; t = rest) {
        const bool fresh = t->st == LLAP_OK && !t->got.repeated;
        rest = t->next;
        s->counts.appends += fresh;
        s->counts.rows += fresh ? t->r->n_rows : 0;
        s->counts.repeated += t->st == LLAP_OK && t->got.repeated;
        committed |= fresh;
        t->done = true; /* it may return, and its stack be gone, once the lock is */
        if (t != own) (void)pthread_cond_signal(&t->wake);
    }
    s->counts.commits += committed;
}

static llap_status append(ll_store *s, ll_store_turn *own)
{
    (void)pthread_mutex_lock(&s->lock);
    wait_in_line(s, own);
    if (own->lead) {
        ll_store_turn *group = take_group(s, own);
        (void)pthread_mutex_unlock(&s->lock);
        write_group(s, group);
        tell(s, group);
        (void)pthread_mutex_lock(&s->lock);
        finish_group(s, own, group);
        pass_on(s);
    }
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_cond_destroy(&own->wake);
    return own->st == LLAP_OK ? LLAP_OK : ll_fail(own->st, "%s", own->detail);
}

/* ---- checks --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static llap_status check_variables(const ll_store_readings *r)
{
    if (r->n_variables < 1 || r->n_variables > LL_STORE_VARIABLES_MAX)
        return ll_fail(LLAP_ELIMIT, "variables: expected 1 to %d, found %" PRId64,
                       LL_STORE_VARIABLES_MAX, r->n_variables);
    for (int64_t v = 0; v < r->n_variables; v++) {
        const llap_status st = ll_store_check_name("variable", r->variable[v], false);
        if (st != LLAP_OK) return st;
    }
    llap_status  st = LLAP_OK;
    const size_t n = (size_t)r->n_variables;
    const char **sorted = ll_new(n, sizeof *sorted);
    if (sorted == NULL) return LLAP_ENOMEM;
    memcpy(sorted, r->variable, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t v = 1; v < n && st == LLAP_OK; v++)
        if (strcmp(sorted[v - 1], sorted[v]) == 0)
            st = ll_fail(LLAP_EINVAL, "variable '%s' is there twice", sorted[v]);
    ll_free(sorted);
    return st;
}

static llap_status check_rows(const ll_store_readings *r)
{
    if (r->n_rows < 1 || r->n_rows > LL_STORE_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "rows: expected 1 to %d, found %" PRId64, LL_STORE_ROWS_MAX,
                       r->n_rows);
    for (int64_t i = 0; i < r->n_rows; i++) {
        llap_status st = ll_store_check_name("entity", r->row[i].entity, true);
        for (int64_t v = 0; v < r->n_variables && st == LLAP_OK; v++)
            if (isinf(r->row[i].value[v]))
                st = ll_fail(LLAP_EINVAL, "variable '%s': expected a finite number, found %g",
                             r->variable[v], r->row[i].value[v]);
        if (st != LLAP_OK) return ll_fail_in(st, "row %" PRId64, i + 1);
    }
    return LLAP_OK;
}

/* Where the client gives no key we give one, so that we at least do not store it twice when the
 * answer of a commit gets lost. */
static llap_status give_key(ll_store_turn *t)
{
    unsigned char random[16];
    if (t->r->key != NULL) {
        t->key = t->r->key;
        return ll_store_check_name("key", t->key, false);
    }
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return ll_fail(LLAP_EIO, "no random numbers from the system");
    t->own_key[0] = '~';
    for (int i = 0; i < 16; i++) snprintf(t->own_key + 1 + 2 * i, 3, "%02x", random[i]);
    t->key = t->own_key;
    return LLAP_OK;
}

llap_status ll_store_append(ll_store *s, const ll_store_readings *r, ll_store_receipt *got)
{
    ll_store_turn own = { .r = r };
    llap_status   st = ll_store_check_name("stream", r->stream, false);
    if (st == LLAP_OK) st = check_variables(r);
    if (st == LLAP_OK) st = check_rows(r);
    if (st == LLAP_OK) st = give_key(&own);
    if (st != LLAP_OK) return st;
    own.digest = ll_store_digest(r);
    st = append(s, &own);
    if (got != NULL) *got = st == LLAP_OK ? own.got : (ll_store_receipt){ 0 };
    return st;
}

/* ---- other work ----------------------------------------------------------------------------- */

static llap_status in_transaction(ll_store *s, ll_store_work work, void *user)
{
    ll_sql     *db;
    llap_status st = ll_store_writer(s, &db);
    if (st != LLAP_OK) return st;
    st = ll_sql_begin(db);
    if (st == LLAP_OK) st = work(db, user);
    if (st == LLAP_OK) st = ll_sql_commit(db);
    ll_sql_rollback(db);
    return st;
}

llap_status ll_store_alone(ll_store *s, ll_store_work work, void *user)
{
    ll_store_turn own;
    ll_store_wait wait = ll_store_wait_begin(s);
    llap_status   st;
    ll_store_take_turn(s, &own);
    for (;;) {
        st = in_transaction(s, work, user);
        const ll_sql_trouble why = s->writer == NULL ? LL_SQL_LOST : ll_sql_trouble_of(s->writer);
        ll_store_writer_after(s, st);
        if (st == LLAP_OK || !ll_store_wait_more(s, &wait, st, why)) break;
    }
    ll_store_end_turn(s, &own);
    return st;
}

/* ---- opening -------------------------------------------------------------------------------- */

static llap_status open_first(ll_store *s, const char *url)
{
    llap_status st =
        ll_sql_is_url(url) ? ll_sql_url_init(&s->url, url) : ll_sql_url_file(&s->url, url);
    if (st == LLAP_OK && s->url.query != NULL)
        st = ll_fail(LLAP_EINVAL, "%s: a store has its own tables: expected no query or table",
                     s->url.name);
    ll_store_wait wait = ll_store_wait_begin(s);
    for (ll_sql *db; st == LLAP_OK;) {
        st = ll_store_writer(s, &db);
        if (!ll_store_wait_more(s, &wait, st, LL_SQL_LOST)) break;
        st = LLAP_OK;
    }
    return st;
}

llap_status ll_store_open(const char *url, const ll_store_opts *o, ll_store **out)
{
    *out = NULL;
    ll_store *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    if (o != NULL) s->o = *o;
    if (s->o.wait_ms <= 0) s->o.wait_ms = 5000;
    if (s->o.wait_ms > 3600000) s->o.wait_ms = 3600000;
    (void)pthread_mutex_init(&s->lock, NULL);
    const llap_status st = open_first(s, url);
    if (st == LLAP_OK) *out = s;
    else ll_store_close(s);
    return st;
}

void ll_store_close(ll_store *s)
{
    if (s == NULL) return;
    assert(s->first == NULL && !s->led);
    ll_sql_close(s->writer);
    for (size_t i = 0; i < s->n_readers; i++) ll_sql_close(s->reader[i]);
    ll_sql_url_deinit(&s->url);
    (void)pthread_mutex_destroy(&s->lock);
    ll_free(s);
}

void ll_store_count(ll_store *s, ll_store_counts *out)
{
    (void)pthread_mutex_lock(&s->lock);
    *out = s->counts;
    (void)pthread_mutex_unlock(&s->lock);
}
