/* src/base/sql: databases of SQLite and PostgreSQL, whose libraries are loaded when one is named.
 *
 *   url.h       "sqlite:air.db?query=SELECT..." taken apart
 *   sql.h       connections, statements, rows
 *   library.h   what is called in libsqlite3 and libpq
 *   driver.h    what either of them has to do: sqlite.c, postgres.c
 *
 * May touch: base.
 *
 *     ll_sql_url u;
 *     ll_sql    *db = NULL;
 *     llap_status st = ll_sql_url_init(&u, "sqlite:air.db");
 *     if (st == LLAP_OK) st = ll_sql_open(&u, &(ll_sql_opts){ 0 }, &db);
 *     if (st == LLAP_OK) st = ll_sql_start(db, "SELECT x FROM a WHERE t > $1", &from, 1);
 *     for (const ll_sql_value *row; st == LLAP_OK;) {
 *         st = ll_sql_next(db, &row);
 *         if (st != LLAP_OK || row == NULL) break;
 *         use(row[0].real);
 *     }
 *     ll_sql_close(db);
 *     ll_sql_url_deinit(&u);
 *
 * A connection belongs to one thread at a time and runs one statement at a time. Parameters are
 * $1, $2 ... in the order in which they first stand in the text. Texts are UTF-8.
 *
 * LLAP_EUNAVAILABLE: ll_sql_trouble_of says why. Every other failure is of the statement or of what
 * the database holds; the detail begins with the name of the database. */
#ifndef LL_BASE_SQL_SQL_H
#define LL_BASE_SQL_SQL_H

#include "base/sql/url.h"

#include <stdint.h>
#include <string.h>

typedef struct ll_sql ll_sql;

typedef struct ll_sql_opts {
    /* For statements of other people, on databases of other people: nothing can be changed, one
     * statement at a time, values as text where the database would print them exactly. */
    bool        reading;
    bool        create;  /* SQLite: makes the file where there is none, for its owner alone */
    int         wait_ms; /* for locks, and for a server to answer */
    const char *library; /* for tests: instead of libsqlite3.so.0, libpq.so.5 */
} ll_sql_opts;

/* What the last failure with LLAP_EUNAVAILABLE was. */
typedef enum ll_sql_trouble {
    LL_SQL_FINE,
    LL_SQL_LOST, /* the connection, or the file: only closing and opening again helps */
    LL_SQL_BUSY, /* somebody else's lock, or a conflict; the transaction is rolled back */
    LL_SQL_FULL, /* no room on the disk; likewise */
} ll_sql_trouble;

typedef enum ll_sql_kind {
    LL_SQL_NULL,
    LL_SQL_INTEGER,
    LL_SQL_REAL,
    LL_SQL_TEXT,
    LL_SQL_BYTES,
} ll_sql_kind;

typedef struct ll_sql_value {
    ll_sql_kind kind;
    int64_t     integer;
    double      real;
    const char *text; /* [n] of texts and bytes; not closed by a NUL */
    size_t      n;
} ll_sql_value;

static inline ll_sql_value ll_sql_integer(int64_t x)
{
    return (ll_sql_value){ .kind = LL_SQL_INTEGER, .integer = x };
}
static inline ll_sql_value ll_sql_real(double x)
{
    return (ll_sql_value){ .kind = LL_SQL_REAL, .real = x };
}
static inline ll_sql_value ll_sql_text(const char *s)
{
    return (ll_sql_value){ .kind = LL_SQL_TEXT, .text = s, .n = strlen(s) };
}
static inline ll_sql_value ll_sql_bytes(const void *p, size_t n)
{
    return (ll_sql_value){ .kind = LL_SQL_BYTES, .text = p, .n = n };
}

/* Caller owns *out. u is borrowed until return. LLAP_EUNSUPPORTED: no library. */
llap_status    ll_sql_open(const ll_sql_url *u, const ll_sql_opts *o, ll_sql **out);
void           ll_sql_close(ll_sql *db); /* NULL is fine */
const char    *ll_sql_name(const ll_sql *db);
bool           ll_sql_is_sqlite(const ll_sql *db);
ll_sql_trouble ll_sql_trouble_of(const ll_sql *db);

/* Statements end with LLAP_ECANCELLED once it is that time of CLOCK_MONOTONIC, in nanoseconds, also
 * those that find no row for long; 0: they take as long as they take. Between statements. */
llap_status ll_sql_until(ll_sql *db, int64_t until);

/* text is borrowed until the end of the rows; of a connection that is not for reading it has to
 * live as long as the connection, which keeps it prepared. param [n] is copied. */
llap_status ll_sql_start(ll_sql *db, const char *text, const ll_sql_value *param, size_t n);
size_t      ll_sql_n_columns(const ll_sql *db);
const char *ll_sql_column(const ll_sql *db, size_t i); /* name; borrowed until the end */
/* The next row [n_columns], borrowed until the next call; NULL at the end, which has finished the
 * statement, as a failure has. */
llap_status ll_sql_next(ll_sql *db, const ll_sql_value **row);
void        ll_sql_finish(ll_sql *db); /* before the end; also where nothing was started */

llap_status ll_sql_run(ll_sql *db, const char *text, const ll_sql_value *param, size_t n);
/* The integer of the first column of the first row; none: *out is as before. */
llap_status ll_sql_ask(ll_sql *db, const char *text, const ll_sql_value *param, size_t n,
                       int64_t *out);

/* Many rows: `next` fills value [n_columns] and says whether there was one more. */
typedef struct ll_sql_table {
    const char *insert; /* SQLite: INSERT ... VALUES($1, ...) */
    const char *copy;   /* PostgreSQL: COPY ... FROM STDIN (FORMAT binary) */
    size_t      n_columns;
} ll_sql_table;
typedef bool (*ll_sql_more)(void *user, ll_sql_value *value);
llap_status ll_sql_fill(ll_sql *db, const ll_sql_table *t, ll_sql_more next, void *user);

/* A transaction that writes: of SQLite one at a time. */
llap_status ll_sql_begin(ll_sql *db);
llap_status ll_sql_commit(ll_sql *db);
void        ll_sql_rollback(ll_sql *db); /* also where there is none */

#endif
