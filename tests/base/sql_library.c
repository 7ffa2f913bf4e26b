/* Our declarations of libsqlite3 and libpq are those of their headers. */
#include "base/sql/library.h"
#include "check.h"

#include <assert.h>
#include <libpq-fe.h>
#include <sqlite3.h>

/* Enums of libpq are passed as int. */
#define SAME(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define AS_SQLITE(name, result, arguments) \
    static_assert(SAME(*(ll_sqlite_library){ 0 }.name, sqlite3_##name), #name);
LL_SQLITE_FUNCTIONS(AS_SQLITE)
/* sqlite3_int64 and Oid are what we say */
static_assert(SAME(Oid, unsigned int) && SAME(sqlite3_int64, long long int), "types");
static_assert(sizeof(ConnStatusType) == sizeof(int) && sizeof(ExecStatusType) == sizeof(int),
              "enums");

#define PQ_IS(f, g) static_assert(SAME(*(ll_pq_library){ 0 }.f, g), #f)
PQ_IS(connectdbParams, PQconnectdbParams);
PQ_IS(finish, PQfinish);
PQ_IS(errorMessage, PQerrorMessage);
PQ_IS(serverVersion, PQserverVersion);
PQ_IS(setNoticeProcessor, PQsetNoticeProcessor);
PQ_IS(prepare, PQprepare);
PQ_IS(sendQueryParams, PQsendQueryParams);
PQ_IS(sendQueryPrepared, PQsendQueryPrepared);
PQ_IS(setSingleRowMode, PQsetSingleRowMode);
PQ_IS(getResult, PQgetResult);
PQ_IS(exec, PQexec);
PQ_IS(resultErrorField, PQresultErrorField);
PQ_IS(cmdStatus, PQcmdStatus);
PQ_IS(clear, PQclear);
PQ_IS(nfields, PQnfields);
PQ_IS(fname, PQfname);
PQ_IS(ftype, PQftype);
PQ_IS(getvalue, PQgetvalue);
PQ_IS(getlength, PQgetlength);
PQ_IS(getisnull, PQgetisnull);
PQ_IS(putCopyData, PQputCopyData);
PQ_IS(putCopyEnd, PQputCopyEnd);

static void constants_are_theirs(void **state)
{
    (void)state;
    static const int pairs[][2] = {
        { LL_SQLITE_OK, SQLITE_OK },
        { LL_SQLITE_PERM, SQLITE_PERM },
        { LL_SQLITE_BUSY, SQLITE_BUSY },
        { LL_SQLITE_LOCKED, SQLITE_LOCKED },
        { LL_SQLITE_NOMEM, SQLITE_NOMEM },
        { LL_SQLITE_READONLY, SQLITE_READONLY },
        { LL_SQLITE_INTERRUPT, SQLITE_INTERRUPT },
        { LL_SQLITE_IOERR, SQLITE_IOERR },
        { LL_SQLITE_CORRUPT, SQLITE_CORRUPT },
        { LL_SQLITE_FULL, SQLITE_FULL },
        { LL_SQLITE_CANTOPEN, SQLITE_CANTOPEN },
        { LL_SQLITE_PROTOCOL, SQLITE_PROTOCOL },
        { LL_SQLITE_TOOBIG, SQLITE_TOOBIG },
        { LL_SQLITE_AUTH, SQLITE_AUTH },
        { LL_SQLITE_NOTADB, SQLITE_NOTADB },
        { LL_SQLITE_ROW, SQLITE_ROW },
        { LL_SQLITE_DONE, SQLITE_DONE },
        { LL_SQLITE_INTEGER, SQLITE_INTEGER },
        { LL_SQLITE_FLOAT, SQLITE_FLOAT },
        { LL_SQLITE_TEXT, SQLITE_TEXT },
        { LL_SQLITE_BLOB, SQLITE_BLOB },
        { LL_SQLITE_OPEN_READONLY, SQLITE_OPEN_READONLY },
        { LL_SQLITE_OPEN_READWRITE, SQLITE_OPEN_READWRITE },
        { LL_SQLITE_OPEN_NOMUTEX, SQLITE_OPEN_NOMUTEX },
        { LL_SQLITE_FCNTL_HAS_MOVED, SQLITE_FCNTL_HAS_MOVED },
        { LL_SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_DEFENSIVE },
        { LL_SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_TRUSTED_SCHEMA },
        { LL_SQLITE_LIMIT_LENGTH, SQLITE_LIMIT_LENGTH },
        { LL_SQLITE_LIMIT_ATTACHED, SQLITE_LIMIT_ATTACHED },
        { LL_SQLITE_DENY, SQLITE_DENY },
        { LL_SQLITE_READ, SQLITE_READ },
        { LL_SQLITE_SELECT, SQLITE_SELECT },
        { LL_SQLITE_FUNCTION, SQLITE_FUNCTION },
        { LL_SQLITE_RECURSIVE, SQLITE_RECURSIVE },
        { 1, SQLITE_UTF8 },
        { LL_PQ_CONNECTION_OK, CONNECTION_OK },
        { LL_PQ_COMMAND_OK, PGRES_COMMAND_OK },
        { LL_PQ_TUPLES_OK, PGRES_TUPLES_OK },
        { LL_PQ_COPY_OUT, PGRES_COPY_OUT },
        { LL_PQ_COPY_IN, PGRES_COPY_IN },
        { LL_PQ_SINGLE_TUPLE, PGRES_SINGLE_TUPLE },
        { LL_PQ_DIAG_SQLSTATE, PG_DIAG_SQLSTATE },
        { LL_PQ_DIAG_MESSAGE_PRIMARY, PG_DIAG_MESSAGE_PRIMARY },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(pairs[i][0], pairs[i][1]);
}

static void libraries_are_found(void **state)
{
    (void)state;
    const ll_sqlite_library *lite;
    const ll_pq_library     *pq;
    CHECK_FAIL(ll_sqlite_load("libnothere.so.7", "air.db", &lite), LLAP_EUNSUPPORTED,
               "air.db: needs libnothere.so.7: install the package libsqlite3-0 (");
    CHECK_FAIL(ll_pq_load("libnothere.so.7", "db", &pq), LLAP_EUNSUPPORTED, "libpq5");
    CHECK_FAIL(ll_pq_load("libc.so.6", "db", &pq), LLAP_EUNSUPPORTED,
               "db: libc.so.6 has no PQconnectdbParams: a newer one is needed");
    CHECK_OK(ll_sqlite_load(NULL, "air.db", &lite));
    CHECK_OK(ll_pq_load(NULL, "db", &pq));
    assert_non_null(lite->open_v2);
    assert_non_null(pq->putCopyEnd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_theirs),
        cmocka_unit_test(libraries_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
