/* Connections to servers of PostgreSQL. Own statements have values in binary form, those of other
 * people as text. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/sql/driver.h"

#include <stdio.h>
#include <stdlib.h>

enum { /* of pg_type */
       BOOL = 16,
       BYTEA = 17,
       INT8 = 20,
       INT4 = 23,
       TEXT = 25,
       FLOAT8 = 701,
       VARCHAR = 1043,
       TIMESTAMPTZ = 1184,
};
enum { PARAMS = 16, COPY_BUFFER = 64 << 10 };

/* ---- failures ------------------------------------------------------------------------------- */

/* Why a statement failed, from its SQLSTATE. */
static ll_sql_trouble trouble_of(const char *state)
{
    static const struct {
        const char    *begin;
        ll_sql_trouble why;
    } table[] = {
        { "08", LL_SQL_LOST },    /* connections */
        { "57P", LL_SQL_LOST },   /* shut down, restarting */
        { "25006", LL_SQL_LOST }, /* read-only: another server is the first one now */
        { "53100", LL_SQL_FULL }, { "53", LL_SQL_BUSY }, /* other resources */
        { "40", LL_SQL_BUSY },                           /* conflicts of transactions */
        { "23505", LL_SQL_BUSY }, /* another one has put the same key; it is seen next time */
        { "55P03", LL_SQL_BUSY }, /* a lock was not had in time */
        { "57014", LL_SQL_BUSY }, /* stopped by a time limit */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strncmp(state, table[i].begin, strlen(table[i].begin)) == 0) return table[i].why;
    return LL_SQL_FINE;
}

static llap_status fail_connection(ll_sql *db)
{
    const char *words = db->pq->errorMessage(db->server);
    return ll_sql_fail(db, LL_SQL_LOST, LLAP_EUNAVAILABLE,
                       *words == '\0' ? "the connection was closed" : words);
}

/* r may be NULL. */
static llap_status fail(ll_sql *db, const PGresult *r)
{
    const ll_pq_library *pq = db->pq;
    const char          *state = r == NULL ? NULL : pq->resultErrorField(r, LL_PQ_DIAG_SQLSTATE);
    if (pq->status(db->server) != LL_PQ_CONNECTION_OK || state == NULL) return fail_connection(db);
    const char          *words = pq->resultErrorField(r, LL_PQ_DIAG_MESSAGE_PRIMARY);
    const ll_sql_trouble why = trouble_of(state);
    if (strcmp(state, "57014") == 0 && ll_sql_left(db) == 0) return ll_sql_fail_over(db);
    return ll_sql_fail(db, db->o.reading && strcmp(state, "25006") == 0 ? LL_SQL_FINE : why,
                       strncmp(state, "XX", 2) == 0 ? LLAP_EFORMAT : LLAP_EINVAL,
                       words == NULL ? state : words);
}

/* Runs one command without rows; *said (or NULL) is what it was, "COMMIT". */
static llap_status command(ll_sql *db, const char *text, int wanted, char said[16])
{
    PGresult   *r = db->pq->exec(db->server, text);
    llap_status st = LLAP_OK;
    if (r == NULL || db->pq->resultStatus(r) != wanted) st = fail(db, r);
    else if (said != NULL) snprintf(said, 16, "%s", db->pq->cmdStatus(r));
    db->pq->clear(r);
    return st;
}

/* ---- opening -------------------------------------------------------------------------------- */

static void say_nothing(void *user, const char *words) { (void)user, (void)words; }

static llap_status settle(ll_sql *db)
{
    char text[256];
    if (db->o.reading)
        return command(
            db,
            "SET default_transaction_read_only = on; SET datestyle = 'ISO'; "
            "SET timezone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex'; "
            "SET standard_conforming_strings = on",
            LL_PQ_COMMAND_OK, NULL);
    snprintf(text, sizeof text, "SET lock_timeout = %d", db->o.wait_ms);
    llap_status st = command(db, text, LL_PQ_COMMAND_OK, NULL);
    /* a commit that is answered is on the disk; stronger settings of the server stay */
    if (st == LLAP_OK)
        st = command(db,
                     "SELECT set_config('synchronous_commit', 'on', false) "
                     "WHERE current_setting('synchronous_commit') = 'off'",
                     LL_PQ_TUPLES_OK, NULL);
    return st;
}

static llap_status open_server(ll_sql *db)
{
    char seconds[16], milliseconds[16];
    snprintf(seconds, sizeof seconds, "%d",
             db->o.wait_ms < 2000 ? 2 : (db->o.wait_ms + 999) / 1000);
    snprintf(milliseconds, sizeof milliseconds, "%d", db->o.wait_ms);
    /* what stands in the address overrides what is in front of it */
    const char *const name[] = { "connect_timeout",
                                 "tcp_user_timeout",
                                 "keepalives_idle",
                                 "application_name",
                                 "dbname",
                                 "client_encoding",
                                 NULL };
    const char *const value[] = {
        seconds, milliseconds, "30", "llapdiff", db->target, "UTF8", NULL
    };
    llap_status st = ll_pq_load(db->o.library, db->name, &db->pq);
    if (st != LLAP_OK) return st;
    db->server = db->pq->connectdbParams(name, value, 1);
    if (db->server == NULL) return ll_fail(LLAP_ENOMEM, "%s: no memory", db->name);
    if (db->pq->status(db->server) != LL_PQ_CONNECTION_OK) return fail_connection(db);
    (void)db->pq->setNoticeProcessor(db->server, say_nothing, NULL);
    if (db->pq->serverVersion(db->server) < 90600)
        return ll_fail(LLAP_EUNSUPPORTED, "%s: expected PostgreSQL 9.6 or later, found %d",
                       db->name, db->pq->serverVersion(db->server));
    return settle(db);
}

static void close_server(ll_sql *db)
{
    if (db->server == NULL) return;
    db->pq->clear(db->result);
    db->pq->finish(db->server);
}

/* ---- statements ----------------------------------------------------------------------------- */

static void put_big(char *to, uint64_t x, int n_bytes)
{
    for (int i = n_bytes - 1; i >= 0; i--, x >>= 8) to[i] = (char)(x & 0xff);
}

static uint64_t get_big(const char *from, int n_bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < n_bytes; i++) x = x << 8 | (unsigned char)from[i];
    return x;
}

/* The bytes of a value, in `room` where it is a number; NULL of a missing one. */
static const char *binary(const ll_sql_value *v, char room[8], int *n)
{
    uint64_t bits = (uint64_t)v->integer;
    *n = 8;
    if (v->kind == LL_SQL_REAL) memcpy(&bits, &v->real, sizeof bits);
    put_big(room, bits, 8);
    if (v->kind == LL_SQL_INTEGER || v->kind == LL_SQL_REAL) return room;
    *n = (int)v->n;
    return v->kind == LL_SQL_NULL ? NULL : v->text == NULL ? "" : v->text;
}

static unsigned int type_of(ll_sql_kind kind)
{
    static const unsigned int type[] = { 0, INT8, FLOAT8, TEXT, BYTEA };
    return type[kind];
}

/* The name under which the server keeps the statement. */
static llap_status prepare(ll_sql *db, const char *text, const ll_sql_value *v, size_t n,
                           char name[16])
{
    size_t i = 0;
    while (i < db->n_kept && db->kept[i] != text) i++;
    snprintf(name, 16, "llap%zu", i);
    if (i < db->n_kept) return LLAP_OK;
    if (i == LL_SQL_KEPT_MAX)
        return ll_fail(LLAP_ELIMIT, "%s: over %d statements", db->name, LL_SQL_KEPT_MAX);
    unsigned int type[PARAMS];
    for (size_t k = 0; k < n; k++) type[k] = type_of(v[k].kind);
    PGresult         *r = db->pq->prepare(db->server, name, text, (int)n, type);
    const llap_status st =
        r != NULL && db->pq->resultStatus(r) == LL_PQ_COMMAND_OK ? LLAP_OK : fail(db, r);
    db->pq->clear(r);
    if (st == LLAP_OK) db->kept[db->n_kept++] = text;
    return st;
}

static llap_status send(ll_sql *db, const char *text, const ll_sql_value *v, size_t n)
{
    const char *value[PARAMS];
    char        room[PARAMS][8], name[16];
    int         length[PARAMS], form[PARAMS], sent;
    if (db->o.reading) {
        sent = db->pq->sendQueryParams(db->server, text, 0, NULL, NULL, NULL, NULL, 0);
    } else {
        if (n > PARAMS) return ll_fail(LLAP_ELIMIT, "%s: over %d parameters", db->name, PARAMS);
        for (size_t i = 0; i < n; i++) {
            value[i] = binary(&v[i], room[i], &length[i]);
            form[i] = 1;
        }
        const llap_status st = prepare(db, text, v, n, name);
        if (st != LLAP_OK) return st;
        sent = db->pq->sendQueryPrepared(db->server, name, (int)n, value, length, form, 1);
    }
    if (sent == 0 || db->pq->setSingleRowMode(db->server) == 0) return fail_connection(db);
    return LLAP_OK;
}

/* Takes the next result; *row says whether there is one in it. */
static llap_status receive(ll_sql *db, bool *row)
{
    const ll_pq_library *pq = db->pq;
    pq->clear(db->result);
    db->result = pq->getResult(db->server);
    const int status = db->result == NULL ? -1 : pq->resultStatus(db->result);
    *row = status == LL_PQ_SINGLE_TUPLE;
    if (*row || status == LL_PQ_TUPLES_OK) return LLAP_OK;
    if (status == LL_PQ_COMMAND_OK && !db->o.reading) return LLAP_OK;
    if (status == LL_PQ_COMMAND_OK || status == LL_PQ_COPY_IN || status == LL_PQ_COPY_OUT)
        return ll_sql_fail(db, status == LL_PQ_COMMAND_OK ? LL_SQL_FINE : LL_SQL_LOST, LLAP_EINVAL,
                           "expected a query that gives rows");
    return fail(db, db->result);
}

static llap_status start(ll_sql *db, const char *text, const ll_sql_value *param, size_t n)
{
    llap_status st = send(db, text, param, n);
    if (st == LLAP_OK) st = receive(db, &db->first);
    if (st != LLAP_OK) return st;
    db->waiting = true;
    st = ll_sql_room(db, (size_t)db->pq->nfields(db->result));
    for (size_t i = 0; i < db->n_columns && st == LLAP_OK; i++)
        db->type[i] = db->pq->ftype(db->result, (int)i);
    return st;
}

static const char *column(const ll_sql *db, size_t i)
{
    const char *name = db->result == NULL ? NULL : db->pq->fname(db->result, (int)i);
    return name == NULL ? "" : name;
}

/* ---- values --------------------------------------------------------------------------------- */

/* "2024-01-31 12:00:00.5+00" as RFC 3339 has it. */
static void rewrite_time(ll_sql_value *v, char room[64])
{
    if (v->n < 22 || v->n >= 64 || v->text[10] != ' ' || memcmp(v->text + v->n - 3, "+00", 3) != 0)
        return;
    memcpy(room, v->text, v->n);
    room[10] = 'T';
    room[v->n - 3] = 'Z';
    v->text = room;
    v->n -= 2;
}

static void read_text(ll_sql *db, size_t i, ll_sql_value *v)
{
    v->kind = db->type[i] == BYTEA ? LL_SQL_BYTES : LL_SQL_TEXT;
    if (db->type[i] == INT8 || db->type[i] == INT4) *v = ll_sql_integer(strtoll(v->text, NULL, 10));
    if (db->type[i] == BOOL) *v = ll_sql_integer(v->text[0] == 't');
    if (db->type[i] == TIMESTAMPTZ) rewrite_time(v, db->time[i]);
}

static llap_status read_binary(ll_sql *db, size_t i, ll_sql_value *v)
{
    const unsigned int type = db->type[i];
    const bool         wide = (type == INT8 || type == FLOAT8) && v->n == 8;
    if (type == TEXT || type == VARCHAR || type == BYTEA) {
        v->kind = type == BYTEA ? LL_SQL_BYTES : LL_SQL_TEXT;
        return LLAP_OK;
    }
    if (!wide && (type != INT4 || v->n != 4) && (type != BOOL || v->n != 1))
        return ll_fail(LLAP_EFORMAT, "%s: column '%s' is of type %u: made by another program?",
                       db->name, column(db, i), type);
    const uint64_t bits = get_big(v->text, (int)v->n);
    v->kind = type == FLOAT8 ? LL_SQL_REAL : LL_SQL_INTEGER;
    v->integer = type == INT4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    if (type == FLOAT8) memcpy(&v->real, &bits, sizeof v->real);
    return LLAP_OK;
}

static llap_status next(ll_sql *db, bool *end)
{
    bool        row = db->first;
    llap_status st = db->waiting ? LLAP_OK : receive(db, &row);
    db->waiting = false;
    *end = !row;
    for (size_t i = 0; i < db->n_columns && row && st == LLAP_OK; i++) {
        ll_sql_value *v = &db->row[i];
        *v = (ll_sql_value){ .kind = LL_SQL_NULL };
        if (db->pq->getisnull(db->result, 0, (int)i)) continue;
        v->text = db->pq->getvalue(db->result, 0, (int)i);
        v->n = (size_t)db->pq->getlength(db->result, 0, (int)i);
        if (db->o.reading) read_text(db, i, v);
        else st = read_binary(db, i, v);
    }
    return st;
}

/* What is left of the statement is received and forgotten. */
static void finish(ll_sql *db)
{
    db->waiting = false;
    db->pq->clear(db->result);
    db->result = NULL;
    if (db->trouble == LL_SQL_LOST) return;
    for (PGresult *r; (r = db->pq->getResult(db->server)) != NULL;) db->pq->clear(r);
}

/* ---- many rows ------------------------------------------------------------------------------ */

typedef struct copy {
    ll_sql *db;
    char   *buffer; /* [COPY_BUFFER] */
    size_t  n;
    bool    failed;
} copy;

static void put(copy *c, const void *bytes, size_t n)
{
    if (n > COPY_BUFFER - c->n) {
        c->failed |= c->db->pq->putCopyData(c->db->server, c->buffer, (int)c->n) != 1;
        c->n = 0;
    }
    if (n > COPY_BUFFER) {
        c->failed |= c->db->pq->putCopyData(c->db->server, bytes, (int)n) != 1;
        return;
    }
    if (n > 0) memcpy(c->buffer + c->n, bytes, n);
    c->n += n;
}

static void put_number(copy *c, uint64_t x, int n_bytes)
{
    char room[8];
    put_big(room, x, n_bytes);
    put(c, room, (size_t)n_bytes);
}

static llap_status fill(ll_sql *db, const ll_sql_table *t, ll_sql_more more, void *user)
{
    static const char header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
    copy              c = { .db = db, .buffer = ll_new(COPY_BUFFER, 1) };
    if (c.buffer == NULL) return LLAP_ENOMEM;
    llap_status st = command(db, t->copy, LL_PQ_COPY_IN, NULL);
    if (st == LLAP_OK) put(&c, header, sizeof header);
    while (st == LLAP_OK && !c.failed && more(user, db->row)) {
        put_number(&c, t->n_columns, 2);
        for (size_t i = 0; i < t->n_columns; i++) {
            char        room[8];
            int         n;
            const char *bytes = binary(&db->row[i], room, &n);
            put_number(&c, bytes == NULL ? UINT32_MAX : (uint64_t)n, 4);
            if (bytes != NULL) put(&c, bytes, (size_t)n);
        }
    }
    if (st == LLAP_OK) {
        put_number(&c, UINT16_MAX, 2);
        c.failed |= c.n > 0 && db->pq->putCopyData(db->server, c.buffer, (int)c.n) != 1;
        c.failed |= db->pq->putCopyEnd(db->server, NULL) != 1;
        PGresult *r = db->pq->getResult(db->server);
        if (c.failed || r == NULL || db->pq->resultStatus(r) != LL_PQ_COMMAND_OK) st = fail(db, r);
        db->pq->clear(r);
        finish(db);
    }
    ll_free(c.buffer);
    return st;
}

/* An answer other than COMMIT is none: the transaction had failed before. */
static llap_status commit(ll_sql *db)
{
    char              said[16] = "";
    const llap_status st = command(db, "COMMIT", LL_PQ_COMMAND_OK, said);
    if (st != LLAP_OK || strcmp(said, "COMMIT") == 0) return st;
    return ll_sql_fail(db, LL_SQL_BUSY, LLAP_EUNAVAILABLE, "the transaction was rolled back");
}

static bool rollback(ll_sql *db)
{
    return command(db, "ROLLBACK", LL_PQ_COMMAND_OK, NULL) == LLAP_OK;
}

/* The server's clock begins with each statement, and may not be the first to say that it is over.
 */
static llap_status limit(ll_sql *db)
{
    char          text[64];
    const int64_t left = ll_sql_left(db) / 1000000 + 2;
    snprintf(text, sizeof text, "SET statement_timeout = %lld",
             db->until == 0     ? 0LL
             : left < INT32_MAX ? (long long)left
                                : INT32_MAX);
    return command(db, text, LL_PQ_COMMAND_OK, NULL);
}

const ll_sql_driver ll_sql_postgres = {
    .open = open_server,
    .close = close_server,
    .start = start,
    .column = column,
    .next = next,
    .finish = finish,
    .fill = fill,
    .begin = "BEGIN",
    .commit = commit,
    .rollback = rollback,
    .limit = limit,
};
