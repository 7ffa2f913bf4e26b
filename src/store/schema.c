/* Tables of the store. Version n is what the first n steps make: a database of an older one goes
 * through those that it lacks, in one transaction. Steps that have been released never change. */
#include "base/log.h"
#include "store/inner.h"

#include <inttypes.h>

/* clang-format off */
#define STREAMS  "CREATE TABLE llap_streams(id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, " \
                 "number BIGINT NOT NULL)"
#define STATES   "CREATE TABLE llap_states(stream BIGINT PRIMARY KEY REFERENCES llap_streams(id), " \
                 "after BIGINT NOT NULL, state BYTEA NOT NULL)"
#define APPENDS  "CREATE TABLE llap_appends(stream BIGINT NOT NULL REFERENCES llap_streams(id), " \
                 "number BIGINT NOT NULL, key TEXT NOT NULL, digest BIGINT NOT NULL, "            \
                 "arrived BIGINT NOT NULL, PRIMARY KEY(stream, number), UNIQUE(stream, key))"
/* place: 4096 times the row of the append, and the variable */
#define READINGS "CREATE TABLE llap_readings(stream BIGINT NOT NULL, number BIGINT NOT NULL, "    \
                 "place BIGINT NOT NULL, entity TEXT NOT NULL, time BIGINT NOT NULL, "            \
                 "variable TEXT NOT NULL, value DOUBLE PRECISION, PRIMARY KEY(stream, number, place))"
#define BY_TIME  "CREATE INDEX llap_readings_time ON llap_readings(stream, time, number, place)"

typedef struct step {
    int         version;
    const char *sqlite, *postgres;
} step;

static const step steps[] = {
    { 1, STREAMS, STREAMS },
    { 1, STATES, STATES },
    { 1, APPENDS, APPENDS },
    { 1, READINGS " WITHOUT ROWID", READINGS },
    { 2, BY_TIME, BY_TIME },
};

static const char lock_all[] = "SELECT COUNT(*) FROM pg_advisory_xact_lock(7811867540)";
static const char version_table[] = "CREATE TABLE llap_schema(version BIGINT NOT NULL)";
static const char sqlite_has[] = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'llap_schema'";
static const char postgres_has[] =
    "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'llap_schema' AND schemaname = current_schema()";
static const char version_of[] = "SELECT MAX(version) FROM llap_schema";
static const char no_version[] = "DELETE FROM llap_schema";
static const char set_version[] = "INSERT INTO llap_schema(version) VALUES($1)";
/* clang-format on */

/* 0: no tables yet. */
static llap_status find_version(ll_sql *db, int64_t *out)
{
    int64_t     tables = 0;
    llap_status st =
        ll_sql_ask(db, ll_sql_is_sqlite(db) ? sqlite_has : postgres_has, NULL, 0, &tables);
    *out = 0;
    if (st != LLAP_OK || tables == 0) return st;
    *out = -1;
    st = ll_sql_ask(db, version_of, NULL, 0, out);
    if (st == LLAP_OK && *out < 1)
        st = ll_fail(LLAP_EFORMAT, "%s: llap_schema: expected a version, found none",
                     ll_sql_name(db));
    if (st == LLAP_OK && *out > LL_STORE_VERSION)
        st = ll_fail(LLAP_EUNSUPPORTED,
                     "%s: is of version %" PRId64 ", expected at most %d: a newer llapdiff made it",
                     ll_sql_name(db), *out, LL_STORE_VERSION);
    return st;
}

static llap_status migrate(ll_sql *db, int64_t version)
{
    llap_status st = version == 0 ? ll_sql_run(db, version_table, NULL, 0) : LLAP_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && st == LLAP_OK; i++)
        if (steps[i].version > version)
            st =
                ll_sql_run(db, ll_sql_is_sqlite(db) ? steps[i].sqlite : steps[i].postgres, NULL, 0);
    const ll_sql_value now = ll_sql_integer(LL_STORE_VERSION);
    if (st == LLAP_OK) st = ll_sql_run(db, no_version, NULL, 0);
    if (st == LLAP_OK) st = ll_sql_run(db, set_version, &now, 1);
    return st;
}

llap_status ll_store_migrate(ll_sql *db, const llap_log *log)
{
    int64_t     version = 0;
    llap_status st = ll_sql_begin(db);
    if (st == LLAP_OK && !ll_sql_is_sqlite(db)) st = ll_sql_run(db, lock_all, NULL, 0);
    if (st == LLAP_OK) st = find_version(db, &version);
    if (st == LLAP_OK && version < LL_STORE_VERSION) st = migrate(db, version);
    if (st == LLAP_OK) st = ll_sql_commit(db);
    ll_sql_rollback(db);
    if (st == LLAP_OK && version > 0 && version < LL_STORE_VERSION)
        ll_logf(log, LLAP_LOG_INFO, "%s: from version %" PRId64 " to %d", ll_sql_name(db), version,
                LL_STORE_VERSION);
    return st;
}
