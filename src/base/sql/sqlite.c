/* Connections to files of SQLite. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/sql/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- failures ------------------------------------------------------------------------------- */

static bool is_full(int error) { return error == ENOSPC || error == EFBIG || error == EDQUOT; }

/* What the last call on the file failed with. */
static llap_status fail(ll_sql *db)
{
    const ll_sqlite_library *l = db->lite;
    const char              *words = l->errmsg(db->file);
    switch (l->extended_errcode(db->file) & 0xff) {
    case LL_SQLITE_NOMEM:
        return ll_sql_fail(db, LL_SQL_FINE, LLAP_ENOMEM, words);
    case LL_SQLITE_BUSY:
    case LL_SQLITE_LOCKED:
    case LL_SQLITE_PROTOCOL:
        return ll_sql_fail(db, LL_SQL_BUSY, LLAP_EUNAVAILABLE, words);
    case LL_SQLITE_FULL:
        return ll_sql_fail(db, LL_SQL_FULL, LLAP_EUNAVAILABLE, "the disk is full");
    case LL_SQLITE_IOERR:
        if (is_full(l->system_errno(db->file)))
            return ll_sql_fail(db, LL_SQL_FULL, LLAP_EUNAVAILABLE, "the disk is full");
        return ll_sql_fail(db, LL_SQL_LOST, LLAP_EUNAVAILABLE, words);
    case LL_SQLITE_CANTOPEN:
    case LL_SQLITE_READONLY:
    case LL_SQLITE_PERM:
        return ll_sql_fail(db, LL_SQL_LOST, LLAP_EUNAVAILABLE, words);
    case LL_SQLITE_CORRUPT:
    case LL_SQLITE_NOTADB:
        return ll_sql_fail(db, LL_SQL_FINE, LLAP_EFORMAT, words);
    case LL_SQLITE_AUTH:
        return ll_sql_fail(db, LL_SQL_FINE, LLAP_EINVAL, "expected a query that only reads");
    case LL_SQLITE_INTERRUPT:
        return ll_sql_fail_over(db);
    case LL_SQLITE_TOOBIG:
        return ll_sql_fail(db, LL_SQL_FINE, LLAP_ELIMIT, words);
    default:
        return ll_sql_fail(db, LL_SQL_FINE, LLAP_EINVAL, words);
    }
}

/* A file that was removed or replaced takes what is written and is never seen again. */
static llap_status check_moved(ll_sql *db)
{
    int moved = 0;
    if (db->lite->file_control(db->file, "main", LL_SQLITE_FCNTL_HAS_MOVED, &moved) ==
            LL_SQLITE_OK &&
        moved)
        return ll_sql_fail(db, LL_SQL_LOST, LLAP_EUNAVAILABLE,
                           "the file was removed, renamed or replaced");
    return LLAP_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Statements for reading do nothing else, whatever the file holds. */
static int authorize(void *user, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)user, (void)a, (void)b, (void)c, (void)d;
    return action == LL_SQLITE_READ || action == LL_SQLITE_SELECT || action == LL_SQLITE_FUNCTION ||
                   action == LL_SQLITE_RECURSIVE
               ? LL_SQLITE_OK
               : LL_SQLITE_DENY;
}

/* A relative path gets a folder in front: "file:..." and ":memory:" are files like others. */
static llap_status open_file(ll_sql *db)
{
    const bool   relative = db->target[0] != '/';
    const size_t n = strlen(db->target) + 3;
    char        *path = ll_new(n, 1);
    struct stat  s;
    llap_status  st = LLAP_OK;
    if (path == NULL) return LLAP_ENOMEM;
    snprintf(path, n, "%s%s", relative ? "./" : "", db->target);
    if (db->o.create) { /* only one that is new: closing another would drop the locks on it */
        const int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) (void)close(fd);
    }
    if (stat(path, &s) != 0)
        st = db->o.reading || db->o.create
                 ? ll_fail_errno(errno, "%s", db->name)
                 : ll_fail(LLAP_EUNAVAILABLE, "%s: the file is gone", db->name);
    else if (!S_ISREG(s.st_mode)) st = ll_fail(LLAP_EINVAL, "%s: is not a regular file", db->name);
    if (st == LLAP_OK) {
        const int mode = db->o.reading ? LL_SQLITE_OPEN_READONLY : LL_SQLITE_OPEN_READWRITE;
        const int rc = db->lite->open_v2(path, &db->file, mode | LL_SQLITE_OPEN_NOMUTEX, NULL);
        if (rc != LL_SQLITE_OK)
            st = db->file == NULL ? ll_fail(LLAP_ENOMEM, "%s: no memory", db->name) : fail(db);
    }
    ll_free(path);
    return st;
}

/* What is written is on the disk when the transaction ends, and readers do not wait for it. */
static llap_status make_durable(ll_sql *db)
{
    const ll_sql_value *row;
    llap_status         st = ll_sql_start(db, "PRAGMA journal_mode=WAL", NULL, 0);
    if (st == LLAP_OK) st = ll_sql_next(db, &row);
    if (st == LLAP_OK && (row == NULL || row[0].n != 3 || memcmp(row[0].text, "wal", 3) != 0))
        st = ll_fail(LLAP_EUNSUPPORTED,
                     "%s: a write-ahead log is not possible here: expected a file on a local disk",
                     db->name);
    ll_sql_finish(db);
    static const char *const more[] = { "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON",
                                        "PRAGMA journal_size_limit=67108864" };
    for (size_t i = 0; i < sizeof more / sizeof *more && st == LLAP_OK; i++)
        st = ll_sql_run(db, more[i], NULL, 0);
    return st;
}

static llap_status open_lite(ll_sql *db)
{
    llap_status st = ll_sqlite_load(db->o.library, db->name, &db->lite);
    if (st == LLAP_OK) st = open_file(db);
    if (st != LLAP_OK) return st;
    const ll_sqlite_library *l = db->lite;
    (void)l->busy_timeout(db->file, db->o.wait_ms);
    (void)l->db_config(db->file, LL_SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)l->db_config(db->file, LL_SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)l->limit(db->file, LL_SQLITE_LIMIT_ATTACHED, 0);
    if (!db->o.reading) return make_durable(db);
    (void)l->limit(db->file, LL_SQLITE_LIMIT_LENGTH, 64 << 20);
    (void)l->set_authorizer(db->file, authorize, NULL);
    return LLAP_OK;
}

static void close_lite(ll_sql *db)
{
    if (db->file == NULL) return;
    for (size_t i = 0; i < db->n_kept; i++) (void)db->lite->finalize(db->kept_statement[i]);
    if (db->statement != NULL && db->o.reading) (void)db->lite->finalize(db->statement);
    (void)db->lite->close(db->file);
}

/* ---- statements ----------------------------------------------------------------------------- */

static llap_status prepare(ll_sql *db, const char *text)
{
    for (size_t i = 0; i < db->n_kept; i++)
        if (db->kept[i] == text) {
            db->statement = db->kept_statement[i];
            return LLAP_OK;
        }
    const char *rest = NULL;
    if (strlen(text) >= INT_MAX / 2) return ll_fail(LLAP_ELIMIT, "%s: a query too long", db->name);
    if (db->lite->prepare_v2(db->file, text, -1, &db->statement, &rest) != LL_SQLITE_OK)
        return fail(db);
    if (db->statement == NULL || rest[strspn(rest, " \t\r\n;")] != '\0') {
        (void)db->lite->finalize(db->statement);
        db->statement = NULL;
        return ll_fail(LLAP_EINVAL, "%s: expected one statement", db->name);
    }
    if (db->o.reading) return LLAP_OK;
    if (db->n_kept == LL_SQL_KEPT_MAX) {
        (void)db->lite->finalize(db->statement);
        db->statement = NULL;
        return ll_fail(LLAP_ELIMIT, "%s: over %d statements", db->name, LL_SQL_KEPT_MAX);
    }
    db->kept[db->n_kept] = text;
    db->kept_statement[db->n_kept++] = db->statement;
    return LLAP_OK;
}

static llap_status bind(ll_sql *db, const ll_sql_value *v, size_t n)
{
    const ll_sqlite_library *l = db->lite;
    sqlite3_stmt            *s = db->statement;
    int                      rc = LL_SQLITE_OK;
    for (int i = 0; i < (int)n && rc == LL_SQLITE_OK; i++) {
        const char *text = v[i].text == NULL ? "" : v[i].text;
        switch (v[i].kind) {
        case LL_SQL_INTEGER:
            rc = l->bind_int64(s, i + 1, v[i].integer);
            break;
        case LL_SQL_REAL:
            rc = l->bind_double(s, i + 1, v[i].real);
            break;
        case LL_SQL_TEXT:
            rc = l->bind_text64(s, i + 1, text, v[i].n, NULL, 1);
            break;
        case LL_SQL_BYTES:
            rc = l->bind_blob64(s, i + 1, text, v[i].n, NULL);
            break;
        default:
            rc = l->bind_null(s, i + 1);
        }
    }
    return rc == LL_SQLITE_OK ? LLAP_OK : fail(db);
}

static llap_status start(ll_sql *db, const char *text, const ll_sql_value *param, size_t n)
{
    llap_status st = db->o.reading || db->in_transaction ? LLAP_OK : check_moved(db);
    if (st == LLAP_OK) st = prepare(db, text);
    if (st == LLAP_OK) st = bind(db, param, n);
    if (st == LLAP_OK) st = ll_sql_room(db, (size_t)db->lite->column_count(db->statement));
    return st;
}

static const char *column(const ll_sql *db, size_t i)
{
    const char *name = db->lite->column_name(db->statement, (int)i);
    return name == NULL ? "" : name;
}

static llap_status read_value(ll_sql *db, int i, ll_sql_value *v)
{
    const ll_sqlite_library *l = db->lite;
    sqlite3_stmt            *s = db->statement;
    const int                type = l->column_type(s, i);
    *v = (ll_sql_value){ .kind = LL_SQL_NULL };
    if (type == LL_SQLITE_INTEGER) *v = ll_sql_integer(l->column_int64(s, i));
    if (type == LL_SQLITE_FLOAT) *v = ll_sql_real(l->column_double(s, i));
    if (type != LL_SQLITE_TEXT && type != LL_SQLITE_BLOB) return LLAP_OK;
    const bool text = type == LL_SQLITE_TEXT;
    v->kind = text ? LL_SQL_TEXT : LL_SQL_BYTES;
    v->text = text ? (const char *)l->column_text(s, i) : l->column_blob(s, i);
    v->n = (size_t)l->column_bytes(s, i);
    if (v->text == NULL && v->n > 0) return ll_fail(LLAP_ENOMEM, "%s: no memory", db->name);
    if (v->text == NULL) v->text = "";
    return LLAP_OK;
}

static llap_status next(ll_sql *db, bool *end)
{
    const int rc = db->lite->step(db->statement);
    if (rc != LL_SQLITE_ROW && rc != LL_SQLITE_DONE) return fail(db);
    *end = rc == LL_SQLITE_DONE;
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < db->n_columns && !*end && st == LLAP_OK; i++)
        st = read_value(db, (int)i, &db->row[i]);
    return st;
}

static void finish(ll_sql *db)
{
    if (db->statement == NULL) return;
    if (db->o.reading) (void)db->lite->finalize(db->statement);
    else (void)db->lite->reset(db->statement);
    db->statement = NULL;
}

static llap_status fill(ll_sql *db, const ll_sql_table *t, ll_sql_more more, void *user)
{
    llap_status st = prepare(db, t->insert);
    while (st == LLAP_OK && more(user, db->row)) {
        st = bind(db, db->row, t->n_columns);
        if (st == LLAP_OK && db->lite->step(db->statement) != LL_SQLITE_DONE) st = fail(db);
        if (db->lite->reset(db->statement) != LL_SQLITE_OK && st == LLAP_OK) st = fail(db);
    }
    finish(db);
    return st;
}

static llap_status commit(ll_sql *db)
{
    llap_status st = check_moved(db);
    if (st == LLAP_OK) st = ll_sql_run(db, "COMMIT", NULL, 0);
    return st;
}

static int is_over(void *user) { return ll_sql_left(user) == 0; }

static llap_status limit(ll_sql *db)
{
    enum { STEPS = 1000 }; /* of its machine, between looks at the clock */
    db->lite->progress_handler(db->file, db->until == 0 ? 0 : STEPS, is_over, db);
    return LLAP_OK;
}

/* Some failures have rolled back by themselves. */
static bool rollback(ll_sql *db)
{
    if (db->lite->get_autocommit(db->file) != 0) return true;
    return ll_sql_run(db, "ROLLBACK", NULL, 0) == LLAP_OK;
}

const ll_sql_driver ll_sql_sqlite = {
    .open = open_lite,
    .close = close_lite,
    .start = start,
    .column = column,
    .next = next,
    .finish = finish,
    .fill = fill,
    .begin = "BEGIN IMMEDIATE",
    .commit = commit,
    .rollback = rollback,
    .limit = limit,
};
