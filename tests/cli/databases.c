/* Every command that takes data gives for a database what it gives for a CSV file of the same rows,
 * byte by byte: a file of SQLite, a server of PostgreSQL where there is one, the readings of a
 * store in either. */
#include "postgres.h"

#include "base/time/time.h"
#include "store/store.h"

#include <math.h>

static postgres server;

/* Runs a line of the shell in the test's folder, in which $FROM and $TO are these. */
static int shell(const char *line, const char *from, const char *to)
{
    char text[2000];
    (void)setenv("FROM", from, 1);
    (void)setenv("TO", to, 1);
    snprintf(text, sizeof text, "cd %s && PATH=%s:$PATH && %s", folder, LLAP_PROGRAMS, line);
    return system(text);
}

/* The rows of data.csv: "entity,time,v0". */
static void each_row(void (*put)(void *, const char *entity, const char *time, const char *value),
                     void *user)
{
    char  line[256];
    FILE *f = fopen(in_folder("data.csv"), "r");
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "entity,time,v0\n");
    while (fgets(line, sizeof line, f) != NULL) {
        char *time = strchr(line, ','), *value = strchr(time + 1, ',');
        *time = *value = value[1 + strcspn(value + 1, "\n")] = '\0';
        put(user, line, time + 1, value + 1);
    }
    fclose(f);
}

static void put_row(void *user, const char *entity, const char *time, const char *value)
{
    const ll_sql_value v[] = { ll_sql_text(entity), ll_sql_text(time),
                               *value == '\0' ? (ll_sql_value){ 0 } : ll_sql_real(atof(value)) };
    CHECK_OK(ll_sql_run(user, "INSERT INTO air(entity, time, v0) VALUES($1, $2, $3)", v, 3));
}

static void make_table(const char *address)
{
    ll_sql_url u;
    ll_sql    *db;
    CHECK_OK(ll_sql_url_init(&u, address));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .create = true, .wait_ms = 5000 }, &db));
    CHECK_OK(
        ll_sql_run(db, "CREATE TABLE air(entity TEXT, time TEXT, v0 DOUBLE PRECISION)", NULL, 0));
    CHECK_OK(ll_sql_begin(db));
    each_row(put_row, db);
    CHECK_OK(ll_sql_commit(db));
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
}

static void put_reading(void *user, const char *entity, const char *time, const char *value)
{
    static const char *const v0[] = { "v0" };
    const double             x = *value == '\0' ? (double)NAN : (double)strtof(value, NULL);
    int64_t                  t;
    CHECK_OK(ll_time_parse(time, strlen(time), NULL, LL_WALL_ERROR, &t));
    const ll_store_row      row = { entity, t, &x };
    const ll_store_readings r = { "it's a ward", NULL, v0, 1, &row, 1 };
    CHECK_OK(ll_store_append(user, &r, NULL));
}

static void make_store(const char *address)
{
    ll_store *s;
    CHECK_OK(ll_store_open(address, NULL, &s));
    each_row(put_reading, s);
    ll_store_close(s);
}

#define FORECAST "llapdiff forecast m.safetensors \"$FROM\" -q -o $TO"
#define TRAIN                                                                             \
    "llapdiff train \"$FROM\" -c 2d --horizon 6h --size anchor --training '{\"anchor\": " \
    "{\"steps\": 20}}' -q -o $TO"

/* Each command about data.csv and about the address. */
static void check_commands(const char *address)
{
    static const char *const command[] = {
        TRAIN,
        "llapdiff inspect \"$FROM\" -q | grep -v '^read: ' >$TO", /* a header is a line too */
        "llapdiff pack \"$FROM\" -q -o $TO",
        FORECAST,
        "llapdiff impute m.safetensors \"$FROM\" -q -o $TO",
        "llapdiff evaluate --json m.safetensors \"$FROM\" -q >$TO",
        "llapdiff detect --json m.safetensors \"$FROM\" -q >$TO",
        ("printf 'entity,time,v0\\ns000,2000-02-01T00:00:00Z,999\\n' | llapdiff watch "
         "m.safetensors "
         "--history \"$FROM\" --json -q - | grep s000 >$TO"),
    };
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
        const bool  packed = i == 2; /* known by its name */
        const char *wanted = packed ? "wanted.panel" : "wanted", *found = packed ? "x.panel" : "x";
        assert_int_equal(shell(command[i], "data.csv", wanted), 0);
        assert_int_equal(shell(command[i], address, found), 0);
        if (shell("cmp $FROM $TO", wanted, found) != 0) fail_msg("%s of %s", command[i], address);
    }
}

static void of_one(const char *address)
{
    char        text[700];
    const char *mark = strchr(address, '?') == NULL ? "?" : "&";
    make_table(address);
    snprintf(text, sizeof text, "%s%stable=air", address, mark);
    check_commands(text);
    snprintf(text, sizeof text, "%s%squery=SELECT * FROM air ORDER BY v0", address, mark);
    check_commands(text);
    make_store(address);
    snprintf(text, sizeof text, "%s%sstream=it's%%20a%%20ward", address, mark);
    assert_int_equal(shell(FORECAST, "data.csv", "wanted"), 0);
    assert_int_equal(shell(FORECAST, text, "x"), 0);
    assert_int_equal(shell("cmp x wanted", "", ""), 0);
    assert_int_equal(shell(TRAIN, text, "n.safetensors"), 0);
    assert_int_equal(shell("llapdiff forecast n.safetensors \"$FROM\" -q -o $TO", text, "x"), 0);
}

static void sqlite(void **state)
{
    char address[300];
    (void)state;
    snprintf(address, sizeof address, "sqlite:%s", in_folder("a.db"));
    of_one(address);
    assert_int_equal(
        shell("! llapdiff inspect 'sqlite:a.db?query=DELETE FROM air' -q 2>$TO", "", "err"), 0);
    assert_int_equal(shell("grep -q 'a query that only reads' err", "", ""), 0);
    assert_int_equal(shell("! llapdiff inspect 'sqlite:a.db?stream=none' -q 2>$TO", "", "err"), 0);
    assert_int_equal(shell("grep -q 'no line of data' err", "", ""), 0);
}

static void on_a_server(void **state)
{
    (void)state;
    if (!postgres_make(&server, false)) skip();
    of_one(server.url);
    postgres_end(&server, SIGQUIT);
}

static int begin(void **state)
{
    if (make_folder(state) != 0) return 1;
    (void)chmod(folder, 0755);
    return shell("llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -o $FROM",
                 "data.csv", "") != 0 ||
           shell(TRAIN, "data.csv", "m.safetensors") != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sqlite), cmocka_unit_test(on_a_server) };
    return cmocka_run_group_tests(tests, begin, remove_folder);
}
