/* What is called in libsqlite3 and libpq, as their manuals have it: tables of functions that are
 * found in the libraries when the first database is named. Both keep their binary interface, so
 * neither is needed to build; tests/base/sql_library.c compares all of this with their headers. Not
 * for other folders. */
#ifndef LL_BASE_SQL_LIBRARY_H
#define LL_BASE_SQL_LIBRARY_H

#include <llapdiff/status.h>
#include <stddef.h>
#include <stdint.h>

/* ---- libsqlite3 ---- */

typedef struct sqlite3      sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum {
    LL_SQLITE_OK = 0,
    LL_SQLITE_PERM = 3,
    LL_SQLITE_BUSY = 5,
    LL_SQLITE_LOCKED = 6,
    LL_SQLITE_NOMEM = 7,
    LL_SQLITE_READONLY = 8,
    LL_SQLITE_INTERRUPT = 9,
    LL_SQLITE_IOERR = 10,
    LL_SQLITE_CORRUPT = 11,
    LL_SQLITE_FULL = 13,
    LL_SQLITE_CANTOPEN = 14,
    LL_SQLITE_PROTOCOL = 15,
    LL_SQLITE_TOOBIG = 18,
    LL_SQLITE_AUTH = 23,
    LL_SQLITE_NOTADB = 26,
    LL_SQLITE_ROW = 100,
    LL_SQLITE_DONE = 101,
    LL_SQLITE_INTEGER = 1,
    LL_SQLITE_FLOAT = 2,
    LL_SQLITE_TEXT = 3,
    LL_SQLITE_BLOB = 4,
    LL_SQLITE_OPEN_READONLY = 1,
    LL_SQLITE_OPEN_READWRITE = 2,
    LL_SQLITE_OPEN_NOMUTEX = 0x8000,
    LL_SQLITE_FCNTL_HAS_MOVED = 20,
    LL_SQLITE_DBCONFIG_DEFENSIVE = 1010,
    LL_SQLITE_DBCONFIG_TRUSTED_SCHEMA = 1017,
    LL_SQLITE_LIMIT_LENGTH = 0,
    LL_SQLITE_LIMIT_ATTACHED = 7,
    LL_SQLITE_DENY = 1,
    LL_SQLITE_READ = 20,
    LL_SQLITE_SELECT = 21,
    LL_SQLITE_FUNCTION = 31,
    LL_SQLITE_RECURSIVE = 33,
};

typedef int (*ll_sqlite_authorize)(void *, int, const char *, const char *, const char *,
                                   const char *);

/* clang-format off */
#define LL_SQLITE_FUNCTIONS(X) /* name behind sqlite3_, result, arguments */                       \
    X(threadsafe,        int,             (void))                                                  \
    X(open_v2,           int,             (const char *, sqlite3 **, int, const char *))           \
    X(close,             int,             (sqlite3 *))                                             \
    X(errmsg,            const char *,    (sqlite3 *))                                             \
    X(extended_errcode,  int,             (sqlite3 *))                                             \
    X(system_errno,      int,             (sqlite3 *))                                             \
    X(busy_timeout,      int,             (sqlite3 *, int))                                        \
    X(db_config,         int,             (sqlite3 *, int, ...))                                   \
    X(limit,             int,             (sqlite3 *, int, int))                                   \
    X(file_control,      int,             (sqlite3 *, const char *, int, void *))                  \
    X(get_autocommit,    int,             (sqlite3 *))                                             \
    X(set_authorizer,    int,             (sqlite3 *, ll_sqlite_authorize, void *))                \
    X(progress_handler,  void,            (sqlite3 *, int, int (*)(void *), void *))                \
    X(prepare_v2,        int,             (sqlite3 *, const char *, int, sqlite3_stmt **, const char **)) \
    X(step,              int,             (sqlite3_stmt *))                                        \
    X(reset,             int,             (sqlite3_stmt *))                                        \
    X(finalize,          int,             (sqlite3_stmt *))                                        \
    X(bind_null,         int,             (sqlite3_stmt *, int))                                   \
    X(bind_int64,        int,             (sqlite3_stmt *, int, long long))                        \
    X(bind_double,       int,             (sqlite3_stmt *, int, double))                           \
    X(bind_text64,       int,             (sqlite3_stmt *, int, const char *, unsigned long long, void (*)(void *), unsigned char)) \
    X(bind_blob64,       int,             (sqlite3_stmt *, int, const void *, unsigned long long, void (*)(void *))) \
    X(column_count,      int,             (sqlite3_stmt *))                                        \
    X(column_name,       const char *,    (sqlite3_stmt *, int))                                   \
    X(column_type,       int,             (sqlite3_stmt *, int))                                   \
    X(column_int64,      long long,       (sqlite3_stmt *, int))                                   \
    X(column_double,     double,          (sqlite3_stmt *, int))                                   \
    X(column_text,       const unsigned char *, (sqlite3_stmt *, int))                             \
    X(column_blob,       const void *,    (sqlite3_stmt *, int))                                   \
    X(column_bytes,      int,             (sqlite3_stmt *, int))

/* ---- libpq ---- */

typedef struct pg_conn   PGconn;
typedef struct pg_result PGresult;

enum {
    LL_PQ_CONNECTION_OK = 0,
    LL_PQ_COMMAND_OK = 1,
    LL_PQ_TUPLES_OK = 2,
    LL_PQ_COPY_OUT = 3,
    LL_PQ_COPY_IN = 4,
    LL_PQ_SINGLE_TUPLE = 9,
    LL_PQ_DIAG_SQLSTATE = 'C',
    LL_PQ_DIAG_MESSAGE_PRIMARY = 'M',
};

typedef void (*ll_pq_notice)(void *, const char *);

#define LL_PQ_FUNCTIONS(X) /* name behind PQ, result, arguments */                                 \
    X(connectdbParams,   PGconn *,        (const char *const *, const char *const *, int))         \
    X(finish,            void,            (PGconn *))                                              \
    X(status,            int,             (const PGconn *))                                        \
    X(errorMessage,      char *,          (const PGconn *))                                        \
    X(serverVersion,     int,             (const PGconn *))                                        \
    X(setNoticeProcessor, ll_pq_notice,   (PGconn *, ll_pq_notice, void *))                        \
    X(prepare,           PGresult *,      (PGconn *, const char *, const char *, int, const unsigned int *)) \
    X(sendQueryParams,   int,             (PGconn *, const char *, int, const unsigned int *, const char *const *, const int *, const int *, int)) \
    X(sendQueryPrepared, int,             (PGconn *, const char *, int, const char *const *, const int *, const int *, int)) \
    X(setSingleRowMode,  int,             (PGconn *))                                              \
    X(getResult,         PGresult *,      (PGconn *))                                              \
    X(exec,              PGresult *,      (PGconn *, const char *))                                \
    X(resultStatus,      int,             (const PGresult *))                                      \
    X(resultErrorField,  char *,          (const PGresult *, int))                                 \
    X(cmdStatus,         char *,          (PGresult *))                                            \
    X(clear,             void,            (PGresult *))                                            \
    X(nfields,           int,             (const PGresult *))                                      \
    X(fname,             char *,          (const PGresult *, int))                                 \
    X(ftype,             unsigned int,    (const PGresult *, int))                                 \
    X(getvalue,          char *,          (const PGresult *, int, int))                            \
    X(getlength,         int,             (const PGresult *, int, int))                            \
    X(getisnull,         int,             (const PGresult *, int, int))                            \
    X(putCopyData,       int,             (PGconn *, const char *, int))                           \
    X(putCopyEnd,        int,             (PGconn *, const char *))
/* clang-format on */

#define LL_SQL_FIELD(name, result, arguments) result(*name) arguments;
typedef struct ll_sqlite_library {
    LL_SQLITE_FUNCTIONS(LL_SQL_FIELD)
} ll_sqlite_library;
typedef struct ll_pq_library {
    LL_PQ_FUNCTIONS(LL_SQL_FIELD)
} ll_pq_library;

/* file: NULL is the usual one. The tables last until the program ends. what: for messages. */
llap_status ll_sqlite_load(const char *file, const char *what, const ll_sqlite_library **out);
llap_status ll_pq_load(const char *file, const char *what, const ll_pq_library **out);

#endif
