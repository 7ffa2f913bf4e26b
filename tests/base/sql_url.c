/* Addresses of databases. */
#include "base/sql/url.h"
#include "check.h"

static void is(const char *text, const char *target, const char *query, const char *name,
               const char *asked)
{
    ll_sql_url u;
    CHECK_OK(ll_sql_url_init(&u, text));
    assert_string_equal(u.target, target);
    if (query == NULL) assert_null(u.query);
    else assert_string_equal(u.query, query);
    assert_string_equal(u.name, name);
    assert_string_equal(u.asked, asked);
    ll_sql_url_deinit(&u);
}

static void addresses_are_taken_apart(void **state)
{
    (void)state;
    is("sqlite:air.db", "air.db", NULL, "sqlite:air.db", "sqlite:air.db");
    is("sqlite:/a b/%3F%20.db?query=SELECT * FROM a WHERE b LIKE '%25x' %26 1=1", "/a b/? .db",
       "SELECT * FROM a WHERE b LIKE '%x' & 1=1", "sqlite:/a b/? .db",
       "sqlite:/a b/? .db 'SELECT * FROM a WHERE b LIKE '%x' & 1=1'");
    is("sqlite:air.db?table=a", "air.db", "SELECT * FROM \"a\"", "sqlite:air.db",
       "sqlite:air.db 'SELECT * FROM \"a\"'");
    is("sqlite:air.db?table=main.a\"; DROP", "air.db", "SELECT * FROM \"main\".\"a\"\"; DROP\"",
       "sqlite:air.db", "sqlite:air.db 'SELECT * FROM \"main\".\"a\"\"; DROP\"'");
    is("postgresql://u:p%40ss@host:77/db?sslmode=require&query=SELECT%201&options=-c%20x%3D1",
       "postgresql://u:p%40ss@host:77/db?sslmode=require&options=-c%20x%3D1", "SELECT 1",
       "postgresql://host:77/db", "postgresql://host:77/db 'SELECT 1'");
    is("postgres://u:p%40ss@host?query=SELECT 1", "postgres://u:p%40ss@host", "SELECT 1",
       "postgresql://host", "postgresql://host 'SELECT 1'");
    is("postgresql://host/d?password=a%20b&query=SELECT '%40'",
       "postgresql://host/d?password=a%20b", "SELECT '@'", "postgresql://host/d",
       "postgresql://host/d 'SELECT '@''");
    is("postgresql:///db", "postgresql:///db", NULL, "postgresql:///db", "postgresql:///db");
    is("sqlite:a?query=SELECT\n\t1234567890123456789012345678901234567890123456789012345678901234"
       "5678901234567890",
       "a",
       "SELECT\n\t12345678901234567890123456789012345678901234567890123456789012345678901234567890",
       "sqlite:a",
       "sqlite:a 'SELECT  123456789012345678901234567890123456789012345678901234567890123456789012"
       "...'");
    assert_false(ll_sql_is_url("sqlite.csv"));
    assert_false(ll_sql_is_url("postgresql:x"));
}

static void streams_are_named(void **state)
{
    (void)state;
    ll_sql_url u;
    CHECK_OK(ll_sql_url_init(&u, "sqlite:ward.db?stream=a%20b"));
    assert_null(u.query);
    assert_string_equal(u.stream, "a b");
    assert_string_equal(u.asked, "sqlite:ward.db stream 'a b'");
    ll_sql_url_deinit(&u);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } table[] = {
        { "air.csv", "expected sqlite:FILE or postgresql://" },
        { "sqlite:", "sqlite: no file given" },
        { "sqlite:?query=SELECT 1", "sqlite: no file given" },
        { "sqlite:a?query=", "query: nothing is asked" },
        { "sqlite:a?table=", "table: no name given" },
        { "sqlite:a?stream=", "stream: no name given" },
        { "sqlite:a?query=SELECT 1&table=a", "expected one query, table or stream, found two" },
        { "sqlite:a?stream=s&table=a", "expected one query, table or stream, found two" },
        { "sqlite:a?query=SELECT 5 % 3", "query: byte 10: % is followed by no code: write %25" },
        { "sqlite:a?query=SELECT '%00'", "query: byte 9: % is followed by no code" },
        { "sqlite:a?query=SELECT '%ff'", "query: byte 9 is not UTF-8: write % as %25" },
        { "sqlite:a?tabel=b", "?table=NAME or ?stream=NAME, found 'tabel=b'" },
        { "sqlite:a?query=SELECT 1&2", "found '2' (& is %26)" },
        { "postgresql://u:secret@h/d?query=%", "postgresql: query: byte 1" },
        /* libpq would show these, or parts of them */
        { "postgresql://u:p@secret@h/d", "postgresql: expected user:password@host, with %40" },
        { "postgresql://u:secret/x@h/d", "expected user:password@host" },
        { "postgresql://u:secret?x@h/d", "expected user:password@host" },
        { "postgresql://u:secret#x@h/d", "expected user:password@host" },
        { "postgresql://u:secret x@h/d", "expected user:password@host" },
        { "postgresql://u:secret:x@h/d", "expected user:password@host" },
        { "postgresql://u:secret%zz@h/d", "expected user:password@host" },
        { "postgresql://u@h/d?password=secret%00", "expected user:password@host" },
        { "postgresql://h/d?password=secret@x", "expected user:password@host" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ll_sql_url u;
        CHECK_FAIL(ll_sql_url_init(&u, table[i].text), LLAP_EINVAL, table[i].wrong);
        assert_null(strstr(llap_error_detail(), "secret"));
        ll_sql_url_deinit(&u);
    }
}

static llap_status work(void *text)
{
    ll_sql_url  u;
    llap_status st = ll_sql_url_init(&u, text);
    ll_sql_url_deinit(&u);
    if (st == LLAP_OK) st = ll_sql_url_file(&u, "a.db");
    if (st == LLAP_OK) ll_sql_url_deinit(&u);
    else if (st == LLAP_ENOMEM) ll_sql_url_deinit(&u);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    check_every_failed_allocation(work, (void *)(uintptr_t) "sqlite:a?table=b.c");
    check_every_failed_allocation(work, (void *)(uintptr_t) "sqlite:a?stream=b");
    check_every_failed_allocation(work, (void *)(uintptr_t) "postgresql://h/d?a=b&query=c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(streams_are_named),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
