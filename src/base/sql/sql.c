#include "base/sql/sql.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sql/driver.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

llap_status ll_sql_room(ll_sql *db, size_t n_columns)
{
    db->n_columns = n_columns;
    if (n_columns > LL_SQL_COLUMNS_MAX)
        return ll_fail(LLAP_ELIMIT, "%s: %zu columns, at most %d are read", db->name, n_columns,
                       LL_SQL_COLUMNS_MAX);
    if (n_columns <= db->room) return LLAP_OK;
    void *row = ll_grow(db->row, n_columns, sizeof *db->row);
    if (row != NULL) db->row = row;
    void *type = ll_grow(db->type, n_columns, sizeof *db->type);
    if (type != NULL) db->type = type;
    void *time = ll_grow(db->time, n_columns, sizeof *db->time);
    if (time != NULL) db->time = time;
    if (row == NULL || type == NULL || time == NULL) return LLAP_ENOMEM;
    db->room = n_columns;
    return LLAP_OK;
}

llap_status ll_sql_fail(ll_sql *db, ll_sql_trouble trouble, llap_status st, const char *what)
{
    char   line[512];
    size_t n = 0;
    for (const char *p = what; *p != '\0' && n + 1 < sizeof line; p++) {
        const bool blank = (unsigned char)*p <= ' ';
        if (!blank) line[n++] = *p;
        else if (n > 0 && line[n - 1] != ' ') line[n++] = ' ';
    }
    while (n > 0 && line[n - 1] == ' ') n--;
    line[n] = '\0';
    db->trouble = trouble;
    return ll_fail(trouble == LL_SQL_FINE ? st : LLAP_EUNAVAILABLE, "%s: %s", db->name, line);
}

llap_status ll_sql_open(const ll_sql_url *u, const ll_sql_opts *o, ll_sql **out)
{
    ll_sql *db = *out = ll_new(1, sizeof *db);
    if (db == NULL) return LLAP_ENOMEM;
    db->o = *o;
    db->driver = u->sqlite ? &ll_sql_sqlite : &ll_sql_postgres;
    db->target = ll_strndup(u->target, strlen(u->target));
    db->name = ll_strndup(u->name, strlen(u->name));
    llap_status st = db->target == NULL || db->name == NULL ? LLAP_ENOMEM : db->driver->open(db);
    if (st == LLAP_OK) return st;
    ll_sql_close(db);
    *out = NULL;
    return st;
}

void ll_sql_close(ll_sql *db)
{
    if (db == NULL) return;
    db->driver->close(db);
    ll_free(db->target);
    ll_free(db->name);
    ll_free(db->row);
    ll_free(db->type);
    ll_free(db->time);
    ll_free(db);
}

const char    *ll_sql_name(const ll_sql *db) { return db->name; }
bool           ll_sql_is_sqlite(const ll_sql *db) { return db->driver == &ll_sql_sqlite; }
ll_sql_trouble ll_sql_trouble_of(const ll_sql *db) { return db->trouble; }
size_t         ll_sql_n_columns(const ll_sql *db) { return db->n_columns; }
const char    *ll_sql_column(const ll_sql *db, size_t i) { return db->driver->column(db, i); }

int64_t ll_sql_left(const ll_sql *db)
{
    struct timespec t;
    if (db->until == 0) return INT64_MAX;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    const int64_t now = (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    return db->until > now ? db->until - now : 0;
}

llap_status ll_sql_fail_over(ll_sql *db)
{
    return ll_sql_fail(db, LL_SQL_FINE, LLAP_ECANCELLED, "the statement's time is over");
}

llap_status ll_sql_until(ll_sql *db, int64_t until)
{
    const int64_t before = db->until;
    assert(!db->running);
    db->until = until;
    return until == before ? LLAP_OK : db->driver->limit(db);
}

llap_status ll_sql_start(ll_sql *db, const char *text, const ll_sql_value *param, size_t n)
{
    assert(!db->running);
    db->trouble = LL_SQL_FINE;
    const llap_status st = db->driver->start(db, text, param, n);
    db->running = st == LLAP_OK;
    if (st != LLAP_OK) db->driver->finish(db);
    return st;
}

llap_status ll_sql_next(ll_sql *db, const ll_sql_value **row)
{
    bool end = false;
    assert(db->running);
    llap_status st = db->driver->next(db, &end);
    if (st == LLAP_OK && ll_sql_left(db) == 0) st = ll_sql_fail_over(db);
    *row = st != LLAP_OK || end ? NULL : db->row;
    if (*row == NULL) ll_sql_finish(db);
    return st;
}

void ll_sql_finish(ll_sql *db)
{
    if (db->running) db->driver->finish(db);
    db->running = false;
}

llap_status ll_sql_ask(ll_sql *db, const char *text, const ll_sql_value *param, size_t n,
                       int64_t *out)
{
    const ll_sql_value *row;
    llap_status         st = ll_sql_start(db, text, param, n);
    if (st == LLAP_OK) st = ll_sql_next(db, &row);
    if (st != LLAP_OK || row == NULL) return st;
    if (row[0].kind == LL_SQL_INTEGER && out != NULL) *out = row[0].integer;
    /* to its end, where a statement that changes something says whether it could */
    while (st == LLAP_OK && row != NULL) st = ll_sql_next(db, &row);
    return st;
}

llap_status ll_sql_run(ll_sql *db, const char *text, const ll_sql_value *param, size_t n)
{
    return ll_sql_ask(db, text, param, n, NULL);
}

llap_status ll_sql_fill(ll_sql *db, const ll_sql_table *t, ll_sql_more next, void *user)
{
    db->trouble = LL_SQL_FINE;
    llap_status st = ll_sql_room(db, t->n_columns);
    return st == LLAP_OK ? db->driver->fill(db, t, next, user) : st;
}

llap_status ll_sql_begin(ll_sql *db)
{
    const llap_status st = ll_sql_run(db, db->driver->begin, NULL, 0);
    db->in_transaction = st == LLAP_OK;
    return st;
}

llap_status ll_sql_commit(ll_sql *db)
{
    assert(db->in_transaction);
    db->trouble = LL_SQL_FINE;
    const llap_status st = db->driver->commit(db);
    if (st == LLAP_OK) db->in_transaction = false;
    else ll_sql_rollback(db);
    return st;
}

void ll_sql_rollback(ll_sql *db)
{
    char                 detail[LL_DETAIL_MAX];
    const ll_sql_trouble why = db->trouble;
    if (!db->in_transaction) return;
    db->in_transaction = false;
    if (why == LL_SQL_LOST) return;
    snprintf(detail, sizeof detail, "%s", llap_error_detail());
    ll_sql_finish(db);
    /* one that cannot be rolled back would hold its locks: the connection is given up */
    db->trouble = db->driver->rollback(db) ? why : LL_SQL_LOST;
    (void)ll_fail(LLAP_EIO, "%s", detail);
}
