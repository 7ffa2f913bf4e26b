/* One transaction of appends. */
#include "base/alloc.h"
#include "base/text.h"
#include "store/inner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEYS_AT_ONCE = 15 };

static const char add_stream[] =
    "INSERT INTO llap_streams(id, name, number) "
    "SELECT COALESCE(MAX(id), 0) + 1, $1, 0 FROM llap_streams WHERE true "
    "ON CONFLICT(name) DO UPDATE SET number = llap_streams.number";
static const char find_stream[] = "SELECT id, number FROM llap_streams WHERE name = $1";
static const char set_number[] = "UPDATE llap_streams SET number = $1 WHERE id = $2";
static const char find_keys[] =
    "SELECT key, number, digest FROM llap_appends WHERE stream = $1 AND key IN "
    "($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
static const ll_sql_table appends = {
    .insert = "INSERT INTO llap_appends(stream, number, key, digest, arrived) "
              "VALUES($1, $2, $3, $4, $5)",
    .copy = "COPY llap_appends(stream, number, key, digest, arrived) FROM STDIN (FORMAT binary)",
    .n_columns = 5,
};
static const ll_sql_table readings = {
    .insert = "INSERT INTO llap_readings(stream, number, place, entity, time, variable, value) "
              "VALUES($1, $2, $3, $4, $5, $6, $7)",
    .copy = "COPY llap_readings(stream, number, place, entity, time, variable, value) "
            "FROM STDIN (FORMAT binary)",
    .n_columns = 7,
};

/* ---- names and content ---------------------------------------------------------------------- */

llap_status ll_store_check_name(const char *what, const char *name, bool may_be_empty)
{
    const size_t n = name == NULL ? 0 : strlen(name);
    if (n == 0 && !(may_be_empty && name != NULL))
        return ll_fail(LLAP_EINVAL, "%s: expected a name, found none", what);
    if (n > LL_STORE_NAME_MAX)
        return ll_fail(LLAP_ELIMIT, "%s '%s': expected at most %d bytes, found %zu", what,
                       ll_text_show(name).text, LL_STORE_NAME_MAX, n);
    if (ll_utf8_prefix(name, n) < n)
        return ll_fail(LLAP_EINVAL, "%s '%s': is not UTF-8", what, ll_text_show(name).text);
    return LLAP_OK;
}

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

uint64_t ll_store_digest(const ll_store_readings *r)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t v = 0; v < r->n_variables; v++)
        h = mix(h, r->variable[v], strlen(r->variable[v]) + 1);
    for (int64_t i = 0; i < r->n_rows; i++) {
        const ll_store_row *row = &r->row[i];
        h = mix(h, row->entity, strlen(row->entity) + 1);
        h = mix(h, &row->time, sizeof row->time);
        for (int64_t v = 0; v < r->n_variables; v++) {
            const double x = isnan(row->value[v]) ? (double)NAN : row->value[v];
            h = mix(h, &x, sizeof x);
        }
    }
    return h;
}

/* ---- streams -------------------------------------------------------------------------------- */

typedef struct stream {
    const char *name;
    int64_t     id, number, before;
} stream;

typedef struct transaction {
    ll_sql        *db;
    ll_store_turn *list;
    stream        *stream; /* [n_streams] by name */
    size_t         n_streams;
    int64_t        now;

    /* where `fill` is */
    const ll_store_turn *turn;
    int64_t              row, variable;
    bool                 any; /* of the row */
} transaction;

llap_status ll_store_stream_of(ll_sql *db, const char *name, int64_t *id, int64_t *number)
{
    const ll_sql_value  which = ll_sql_text(name);
    const ll_sql_value *row;
    llap_status         st = ll_sql_run(db, add_stream, &which, 1);
    *id = *number = -1;
    if (st == LLAP_OK) st = ll_sql_start(db, find_stream, &which, 1);
    if (st == LLAP_OK) st = ll_sql_next(db, &row);
    if (st != LLAP_OK || row == NULL) return st;
    *id = row[0].integer;
    *number = row[1].integer;
    ll_sql_finish(db);
    return *id < 1 || *number < 0 || *number == INT64_MAX
               ? ll_fail(LLAP_EFORMAT, "%s: llap_streams: '%s' has no id and number",
                         ll_sql_name(db), name)
               : LLAP_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const stream *)a)->name, ((const stream *)b)->name);
}

/* Always in the same order, so that two processes never wait for each other. */
static llap_status lock_streams(transaction *t)
{
    size_t n = 0;
    for (const ll_store_turn *p = t->list; p != NULL; p = p->next)
        t->stream[n++].name = p->r->stream;
    qsort(t->stream, n, sizeof *t->stream, by_name);
    for (size_t i = 0; i < n; i++)
        if (t->n_streams == 0 || by_name(&t->stream[t->n_streams - 1], &t->stream[i]) != 0)
            t->stream[t->n_streams++].name = t->stream[i].name;
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < t->n_streams && st == LLAP_OK; i++) {
        stream *s = &t->stream[i];
        st = ll_store_stream_of(t->db, s->name, &s->id, &s->number);
        s->before = s->number;
    }
    for (ll_store_turn *p = t->list; p != NULL; p = p->next)
        p->stream = (size_t)((stream *)bsearch(&(stream){ .name = p->r->stream }, t->stream,
                                               t->n_streams, sizeof *t->stream, by_name) -
                             t->stream);
    return st;
}

/* ---- which are there already ---------------------------------------------------------------- */

static void refuse(ll_store_turn *p)
{
    p->st = ll_fail(LLAP_EINVAL, "stream '%s': key '%s' came before with other readings",
                    ll_text_show(p->r->stream).text, ll_text_show(p->key).text);
    snprintf(p->detail, sizeof p->detail, "%s", llap_error_detail());
}

static void found_before(ll_store_turn *p, int64_t number, uint64_t digest)
{
    if (digest != p->digest) {
        refuse(p);
        return;
    }
    /* our own attempt, of whose end nothing was heard */
    p->got.repeated = number != p->tried_number;
    p->got.number = number;
}

/* Looks for n keys of one stream, those of turn[0..n). */
static llap_status find_some(transaction *t, ll_store_turn **turn, size_t n)
{
    ll_sql_value v[1 + KEYS_AT_ONCE];
    v[0] = ll_sql_integer(t->stream[turn[0]->stream].id);
    for (size_t i = 0; i < KEYS_AT_ONCE; i++) v[1 + i] = ll_sql_text(turn[i < n ? i : n - 1]->key);
    llap_status st = ll_sql_start(t->db, find_keys, v, 1 + KEYS_AT_ONCE);
    for (const ll_sql_value *row = v; st == LLAP_OK && row != NULL;) {
        st = ll_sql_next(t->db, &row);
        for (size_t i = 0; st == LLAP_OK && row != NULL && i < n; i++)
            if (row[0].n == strlen(turn[i]->key) &&
                memcmp(row[0].text, turn[i]->key, row[0].n) == 0)
                found_before(turn[i], row[1].integer, (uint64_t)row[2].integer);
    }
    return st;
}

static llap_status find_known(transaction *t)
{
    ll_store_turn *some[KEYS_AT_ONCE];
    llap_status    st = LLAP_OK;
    for (size_t s = 0; s < t->n_streams && st == LLAP_OK; s++) {
        size_t n = 0;
        if (t->stream[s].number == 0) continue; /* a new one */
        for (ll_store_turn *p = t->list; p != NULL && st == LLAP_OK; p = p->next) {
            if (p->stream != s) continue;
            some[n++] = p;
            if (n == KEYS_AT_ONCE) st = find_some(t, some, n), n = 0;
        }
        if (st == LLAP_OK && n > 0) st = find_some(t, some, n);
    }
    return st;
}

/* Numbers for those that are new; the same key twice in one transaction is one append. */
static void number_all(transaction *t)
{
    for (ll_store_turn *p = t->list; p != NULL; p = p->next) {
        if (p->st != LLAP_OK || p->got.number != 0) continue;
        ll_store_turn *q = t->list;
        while (q != p && (q->stream != p->stream || strcmp(q->key, p->key) != 0)) q = q->next;
        if (q != p && q->st == LLAP_OK) {
            p->tried_number = 0;
            found_before(p, q->got.number, q->digest);
        } else {
            p->got.number = p->tried_number = ++t->stream[p->stream].number;
            p->stored = true;
        }
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool next_append(void *user, ll_sql_value *v)
{
    transaction *t = user;
    while (t->turn != NULL && !t->turn->stored) t->turn = t->turn->next;
    if (t->turn == NULL) return false;
    v[0] = ll_sql_integer(t->stream[t->turn->stream].id);
    v[1] = ll_sql_integer(t->turn->got.number);
    v[2] = ll_sql_text(t->turn->key);
    v[3] = ll_sql_integer((int64_t)t->turn->digest);
    v[4] = ll_sql_integer(t->now);
    t->turn = t->turn->next;
    return true;
}

static void put_reading(const transaction *t, const char *variable, double value, ll_sql_value *v)
{
    const ll_store_row *row = &t->turn->r->row[t->row];
    v[0] = ll_sql_integer(t->stream[t->turn->stream].id);
    v[1] = ll_sql_integer(t->turn->got.number);
    v[2] = ll_sql_integer(t->row * LL_STORE_VARIABLES_MAX + t->variable);
    v[3] = ll_sql_text(row->entity);
    v[4] = ll_sql_integer(row->time);
    v[5] = ll_sql_text(variable);
    v[6] = isnan(value) ? (ll_sql_value){ .kind = LL_SQL_NULL }
                        : ll_sql_real(value + 0.0); /* -0 is 0 */
}

/* Each reading; a row in which all is missing has one without name and value. */
static bool next_reading(void *user, ll_sql_value *v)
{
    transaction *t = user;
    for (; t->turn != NULL; t->turn = t->turn->next, t->row = 0) {
        const ll_store_readings *r = t->turn->r;
        for (; t->turn->stored && t->row < r->n_rows; t->row++, t->variable = 0, t->any = false) {
            for (; t->variable < r->n_variables; t->variable++) {
                const double x = r->row[t->row].value[t->variable];
                if (isnan(x)) continue;
                put_reading(t, r->variable[t->variable], x, v);
                t->variable++;
                return t->any = true;
            }
            if (t->any) continue;
            t->variable = 0;
            put_reading(t, "", (double)NAN, v);
            t->variable = r->n_variables;
            return t->any = true;
        }
    }
    return false;
}

static llap_status write_all(transaction *t)
{
    llap_status st = LLAP_OK;
    t->turn = t->list;
    st = ll_sql_fill(t->db, &appends, next_append, t);
    t->turn = t->list;
    t->row = t->variable = 0;
    t->any = false;
    if (st == LLAP_OK) st = ll_sql_fill(t->db, &readings, next_reading, t);
    for (size_t i = 0; i < t->n_streams && st == LLAP_OK; i++) {
        const ll_sql_value v[] = { ll_sql_integer(t->stream[i].number),
                                   ll_sql_integer(t->stream[i].id) };
        if (t->stream[i].number > t->stream[i].before) st = ll_sql_run(t->db, set_number, v, 2);
    }
    return st;
}

llap_status ll_store_write(ll_sql *db, ll_store_turn *list)
{
    transaction     t = { .db = db, .list = list };
    size_t          n = 0;
    struct timespec now;
    bool            any = false;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    t.now = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    for (ll_store_turn *p = list; p != NULL; p = p->next, n++) {
        p->got = (ll_store_receipt){ 0 };
        p->stored = false;
        p->st = LLAP_OK;
    }
    t.stream = ll_new(n, sizeof *t.stream);
    if (t.stream == NULL) return LLAP_ENOMEM;
    llap_status st = ll_sql_begin(db);
    if (st == LLAP_OK) st = lock_streams(&t);
    if (st == LLAP_OK) st = find_known(&t);
    if (st == LLAP_OK) number_all(&t);
    for (ll_store_turn *p = list; p != NULL; p = p->next) any |= p->stored;
    if (st == LLAP_OK && any) st = write_all(&t);
    if (st == LLAP_OK && any) st = ll_sql_commit(db);
    ll_sql_rollback(db);
    ll_free(t.stream);
    return st;
}
