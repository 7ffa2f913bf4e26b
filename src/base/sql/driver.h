/* The two kinds of connections. Not for other folders. */
#ifndef LL_BASE_SQL_DRIVER_H
#define LL_BASE_SQL_DRIVER_H

#include "base/sql/library.h"
#include "base/sql/sql.h"

enum { LL_SQL_COLUMNS_MAX = 1 << 15, LL_SQL_KEPT_MAX = 48 };

typedef struct ll_sql_driver {
    llap_status (*open)(ll_sql *db);
    void (*close)(ll_sql *db); /* also of what was not opened */
    llap_status (*start)(ll_sql *db, const char *text, const ll_sql_value *param, size_t n);
    const char *(*column)(const ll_sql *db, size_t i);
    llap_status (*next)(ll_sql *db, bool *end); /* sets db->row */
    void (*finish)(ll_sql *db);
    llap_status (*fill)(ll_sql *db, const ll_sql_table *t, ll_sql_more next, void *user);
    const char *begin;
    llap_status (*commit)(ll_sql *db);
    bool (*rollback)(ll_sql *db);     /* whether it could */
    llap_status (*limit)(ll_sql *db); /* statements end at db->until from now on */
} ll_sql_driver;

extern const ll_sql_driver ll_sql_sqlite, ll_sql_postgres;

struct ll_sql {
    const ll_sql_driver *driver;
    ll_sql_opts          o;
    char                *target, *name;
    ll_sql_trouble       trouble;
    bool                 in_transaction, running; /* running: rows are being read */
    int64_t              until;                   /* ll_sql_until; 0: no such time */

    ll_sql_value *row; /* [room] of the row read last */
    size_t        n_columns, room;

    /* SQLite */
    const ll_sqlite_library *lite;
    sqlite3                 *file;
    sqlite3_stmt            *statement;
    /* PostgreSQL */
    const ll_pq_library *pq;
    PGconn              *server;
    PGresult            *result;         /* of the row read last */
    bool                 waiting, first; /* it was not given yet; it is a row, and not the end */
    unsigned int        *type;           /* [room] of the columns */
    char (*time)[64];                    /* [room] times rewritten */

    const char   *kept[LL_SQL_KEPT_MAX]; /* texts that are prepared, known by their address */
    sqlite3_stmt *kept_statement[LL_SQL_KEPT_MAX];
    size_t        n_kept;
};

/* Room for the columns of a statement. */
llap_status ll_sql_room(ll_sql *db, size_t n_columns);

/* Nanoseconds until then, 0: it is over; INT64_MAX where there is no such time. */
int64_t ll_sql_left(const ll_sql *db);
/* LLAP_ECANCELLED: it is over. */
llap_status ll_sql_fail_over(ll_sql *db);

/* LLAP_EUNAVAILABLE with its reason; ": what" of many lines becomes one. */
llap_status ll_sql_fail(ll_sql *db, ll_sql_trouble trouble, llap_status st, const char *what);

#endif
