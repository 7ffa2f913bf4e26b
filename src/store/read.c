/* Readings back, row by row. */
#include "base/alloc.h"
#include "store/inner.h"

#include <assert.h>
#include <stdio.h>

/* clang-format off */
#define WHAT "SELECT number, place, entity, time, variable, value FROM llap_readings " \
             "WHERE stream = (SELECT id FROM llap_streams WHERE name = $1) "
static const char by_time[] = WHAT "AND time >= $2 AND time < $3 ORDER BY time, number, place";
static const char of_entity[] =
    WHAT "AND time >= $2 AND time < $3 AND entity = $4 ORDER BY time, number, place";
static const char by_number[] = WHAT "AND number > $2 ORDER BY number, place";
/* clang-format on */

/* The row that is being put together. */
typedef struct row {
    ll_store_each  each;
    void          *user;
    int64_t        place; /* of the row in its append; -1: none yet */
    ll_store_found found;
    bool           given; /* at least one row was */
    char           entity[LL_STORE_NAME_MAX + 1];
    char (*name)[LL_STORE_NAME_MAX + 1]; /* [LL_STORE_VARIABLES_MAX] grown as needed */
    const char **variable;
    double      *value;
    size_t       room;
} row;

static llap_status give(row *r)
{
    if (r->place < 0) return LLAP_OK;
    for (int64_t v = 0; v < r->found.n; v++) r->variable[v] = r->name[v];
    r->found.entity = r->entity;
    r->found.variable = r->variable;
    r->found.value = r->value;
    r->place = -1;
    r->given = true;
    return r->each(r->user, &r->found);
}

static llap_status make_room(row *r)
{
    if ((size_t)r->found.n < r->room) return LLAP_OK;
    const size_t room = 2 * r->room + 8;
    void        *name = ll_grow(r->name, room, sizeof *r->name);
    if (name != NULL) r->name = name;
    void *variable = ll_grow(r->variable, room, sizeof *r->variable);
    if (variable != NULL) r->variable = variable;
    void *value = ll_grow(r->value, room, sizeof *r->value);
    if (value != NULL) r->value = value;
    if (name == NULL || variable == NULL || value == NULL) return LLAP_ENOMEM;
    r->room = room;
    return LLAP_OK;
}

/* What another program may have put there. */
static bool is_ours(const ll_sql_value *v)
{
    return v[0].kind == LL_SQL_INTEGER && v[1].kind == LL_SQL_INTEGER && v[1].integer >= 0 &&
           v[2].kind == LL_SQL_TEXT && v[2].n <= LL_STORE_NAME_MAX &&
           memchr(v[2].text, 0, v[2].n) == NULL && v[3].kind == LL_SQL_INTEGER &&
           v[4].kind == LL_SQL_TEXT && v[4].n <= LL_STORE_NAME_MAX &&
           memchr(v[4].text, 0, v[4].n) == NULL &&
           (v[5].kind == LL_SQL_REAL || v[5].kind == LL_SQL_NULL);
}

static llap_status take(ll_sql *db, row *r, const ll_sql_value *v)
{
    if (!is_ours(v))
        return ll_fail(LLAP_EFORMAT, "%s: llap_readings: a row that no store has written",
                       ll_sql_name(db));
    const int64_t place = v[1].integer / LL_STORE_VARIABLES_MAX;
    llap_status   st = LLAP_OK;
    if (r->place != place || r->found.number != v[0].integer) {
        st = give(r);
        r->place = place;
        r->found = (ll_store_found){ .number = v[0].integer, .time = v[3].integer };
        snprintf(r->entity, sizeof r->entity, "%.*s", (int)v[2].n, v[2].text);
    }
    if (v[5].kind == LL_SQL_NULL || st != LLAP_OK) return st;
    st = make_room(r);
    if (st != LLAP_OK) return st;
    snprintf(r->name[r->found.n], sizeof *r->name, "%.*s", (int)v[4].n, v[4].text);
    r->value[r->found.n++] = v[5].real;
    return LLAP_OK;
}

typedef struct statement {
    const char         *text;
    const ll_sql_value *param; /* [n] */
    size_t              n;
    int64_t             until;
} statement;

static llap_status read_once(ll_sql *db, const statement *s, row *r)
{
    const ll_sql_value *const param = s->param;
    llap_status               st = ll_sql_until(db, s->until);
    if (st == LLAP_OK) st = ll_sql_start(db, s->text, param, s->n);
    for (const ll_sql_value *v = param; st == LLAP_OK && v != NULL;) {
        st = ll_sql_next(db, &v);
        if (st == LLAP_OK && v != NULL) st = take(db, r, v);
    }
    if (st == LLAP_OK) st = give(r);
    return st == LLAP_OK ? ll_sql_until(db, 0) : st;
}

static llap_status read_rows(ll_store *s, const statement *what, ll_store_each each, void *user)
{
    row           r = { .each = each, .user = user, .place = -1 };
    ll_store_wait wait = ll_store_wait_begin(s);
    llap_status   st;
    for (;;) {
        ll_sql        *db;
        ll_sql_trouble why = LL_SQL_LOST;
        st = ll_store_reader(s, &db);
        if (st == LLAP_OK) {
            st = read_once(db, what, &r);
            why = ll_sql_trouble_of(db);
        }
        ll_store_reader_back(s, db, st);
        /* what was given cannot be taken back */
        if (st == LLAP_OK || r.given || !ll_store_wait_more(s, &wait, st, why)) break;
        r.place = -1;
    }
    ll_free(r.name);
    ll_free(r.variable);
    ll_free(r.value);
    return st;
}

llap_status ll_store_read(ll_store *s, const ll_store_range *what, ll_store_each each, void *user)
{
    const char *entity = what->entity;
    llap_status st = ll_store_check_name("stream", what->stream, false);
    if (st == LLAP_OK && entity != NULL) st = ll_store_check_name("entity", entity, true);
    if (st != LLAP_OK) return st;
    const ll_sql_value v[] = { ll_sql_text(what->stream), ll_sql_integer(what->from),
                               ll_sql_integer(what->to),
                               ll_sql_text(entity == NULL ? "" : entity) };
    const statement    all = { by_time, v, 3, what->until }, one = { of_entity, v, 4, what->until };
    return read_rows(s, entity == NULL ? &all : &one, each, user);
}

llap_status ll_store_replay(ll_store *s, const char *stream, int64_t after, ll_store_each each,
                            void *user)
{
    const llap_status st = ll_store_check_name("stream", stream, false);
    if (st != LLAP_OK) return st;
    const ll_sql_value v[] = { ll_sql_text(stream), ll_sql_integer(after) };
    return read_rows(s, &(statement){ by_number, v, 2, 0 }, each, user);
}

/* A row in which all is missing is one of the first variable, missing. */
/* clang-format off */
static const char *const query[] = { /* parentheses: clang takes pieces of one for a lost comma */
    ("SELECT entity, time, CASE variable WHEN '' THEN usual ELSE variable END AS variable, value "
    "FROM llap_readings CROSS JOIN (SELECT variable AS usual FROM llap_readings WHERE variable <> '' "
    "AND stream = (SELECT id FROM llap_streams WHERE name = '"),
    ("') ORDER BY number, place LIMIT 1) AS u WHERE stream = (SELECT id FROM llap_streams WHERE name = '"),
    "') ORDER BY time, number, place" };
/* clang-format on */

llap_status ll_store_query(const char *stream, char **out)
{
    *out = NULL;
    const llap_status st = ll_store_check_name("stream", stream, false);
    if (st != LLAP_OK) return st;
    size_t n = 4 * strlen(stream) + 1;
    for (int i = 0; i < 3; i++) n += strlen(query[i]);
    char *to = *out = ll_new(n, 1);
    if (to == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < 3; i++) {
        to = stpcpy(to, query[i]);
        for (const char *p = stream; *p != '\0' && i < 2; p++) {
            if (*p == '\'') *to++ = '\'';
            *to++ = *p;
        }
    }
    return LLAP_OK;
}
