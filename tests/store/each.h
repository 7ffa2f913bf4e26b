/* The databases that tests of the store run on: a file of SQLite, and a server of PostgreSQL where
 * there is one. A program includes this once; its
 * tests call store_url. */
#ifndef LLAP_TESTS_STORE_EACH_H
#define LLAP_TESTS_STORE_EACH_H

#include "postgres.h"
#include "store/store.h"

static postgres server;
static bool     on_server;

static inline const char *store_url(void) { return on_server ? server.url : in_folder("store.db"); }

static inline void sql_in_store(const char *text)
{
    ll_sql_url u;
    ll_sql    *db;
    CHECK_OK(on_server ? ll_sql_url_init(&u, server.url) : ll_sql_url_file(&u, store_url()));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .wait_ms = 5000 }, &db));
    CHECK_OK(ll_sql_run(db, text, NULL, 0));
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
}

static inline void clear_store(void)
{
    static const char *const table[] = { "schema", "readings", "appends", "states", "streams" };
    char                     command[128];
    for (int i = 0; on_server && i < 5; i++) {
        snprintf(command, sizeof command, "DROP TABLE IF EXISTS llap_%s CASCADE", table[i]);
        sql_in_store(command);
    }
    if (on_server) return;
    snprintf(command, sizeof command, "rm -f %s/store.db*", folder);
    assert_int_equal(system(command), 0);
}

/* The group on either; the server is made and ended around its part. */
static inline int run_on_each(const struct CMUnitTest *tests, size_t n)
{
    int failed = 0;
    (void)make_folder(NULL);
    failed += _cmocka_run_group_tests("sqlite", tests, n, NULL, NULL);
    on_server = postgres_make(&server, false);
    if (on_server) failed += _cmocka_run_group_tests("postgresql", tests, n, NULL, NULL);
    else printf("postgresql: skipped: it is not installed\n");
    postgres_end(&server, SIGQUIT);
    (void)remove_folder(NULL);
    return failed;
}

#endif
