/* Readings of a real broker: what they become, what is refused, and that none is lost, whoever is
 * killed or goes away. Kills: the first argument, 6 without one. */
#include "broker.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

static int kills = 6;

typedef struct world_of_broker {
    broker  b;
    program p;
    char    url[256], store[128], log[128];
} world_of_broker;

static world_of_broker make_all(const char *filter, const char *name)
{
    world_of_broker x = { .b = make_broker(name, "allow_anonymous true") };
    char            file[64];
    snprintf(x.url, sizeof x.url, "%s%s", x.b.url, filter);
    snprintf(file, sizeof file, "%s.db", name);
    snprintf(x.store, sizeof x.store, "%s", in_folder(file));
    snprintf(file, sizeof file, "%s.log", name);
    snprintf(x.log, sizeof x.log, "%s", in_folder(file));
    return x;
}

static void run_server(world_of_broker *x)
{
    char *argv[] = { "serve",  w.model_path, "--port", "0", "--store",
                     x->store, "--mqtt",     x->url,   NULL };
    x->p = run_program(argv, x->log);
}

static bool logged(const world_of_broker *x, const char *words)
{
    size_t     n;
    char      *text = read_all(x->log, &n);
    const bool yes = strstr(text, words) != NULL;
    free(text);
    return yes;
}

static reply history(int port)
{
    return ask(port, "GET", "/v1/streams/air/history?limit=1000000", "Accept: text/csv\r\n", NULL,
               0);
}

/* ---- what they become ----------------------------------------------------------------------- */

static void messages_are_readings(void **state)
{
    (void)state;
    world_of_broker x = make_all("ward/%23", "readings");
    broker_go(&x.b);
    run_server(&x);
    const int port = x.p.port;
    wait_for(port, "connected", 1);
    publish(&x.b, "ward/s000/v0", "2030-01-01T00:00:00Z,1.5");
    publish(&x.b, "ward/s000", "{\"time\": 1893459600, \"v0\": 2.5, \"battery\": 90}");
    publish(&x.b, "ward/s001/v0", "7");
    publish(&x.b, "ward/s001/battery", "{\"charge\": 90}");
    wait_for(port, "readings_total", 3);
    reply r = history(port);
    assert_non_null(strstr(r.body, "s000,2030-01-01T00:00:00Z,v0,1.5\n"));
    assert_non_null(strstr(r.body, "s000,2030-01-01T01:00:00Z,v0,2.5\n"));
    assert_non_null(strstr(r.body, ",v0,7\n"));
    forget_reply(&r);
    wait_for(port, "passed_total", 1);
    check_reply(ask(port, "GET", "/v1/streams/air/forecast", "", NULL, 0), 200, "2030-01-01T02");
    /* what the broker keeps for new subscribers is no new reading */
    publish_bytes(&x.b, "ward/s000/v0", "9", 1, true);
    wait_for(port, "readings_total", 4);
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    publish(&x.b, "ward/s000/v0", "2030-01-01T02:00:00Z,3.5"); /* nobody is there */
    run_server(&x);
    wait_for(x.p.port, "readings_total", 1);
    wait_for(x.p.port, "messages_total", 2);
    r = history(x.p.port);
    assert_non_null(strstr(r.body, "s000,2030-01-01T02:00:00Z,v0,3.5\n"));
    forget_reply(&r);
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    broker_end(&x.b);
}

static void what_cannot_be_read_is_counted(void **state)
{
    (void)state;
    static char     large[200000];
    world_of_broker x = make_all("ward/%2B/%23", "hostile");
    broker_go(&x.b);
    run_server(&x);
    const int port = x.p.port;
    wait_for(port, "connected", 1);
    memset(large, '[', sizeof large);
    publish(&x.b, "ward/s000/v0", "on");
    publish(&x.b, "ward/s000/v0", "{\"v0\":");
    publish_bytes(&x.b, "ward/s000/v0", "\0\1\2\377", 4, false);
    publish_bytes(&x.b, "ward/s000/v0", large, sizeof large, false);
    publish_bytes(&x.b, "ward/s000/v0", large, 5000, false);
    large[0] = '{';
    publish_bytes(&x.b, "ward/s000/v0", large, 5000, false);
    memset(large, 'x', 300);
    memcpy(large, "ward/", 5);
    large[300] = '\0';
    publish(&x.b, large, "{\"v0\": 1}");
    wait_for(port, "refused_total", 7);
    publish(&x.b, "ward/s000/v0", "1");
    wait_for(port, "readings_total", 1);
    assert_true(logged(&x, "'v0': expected a number, found 'on'"));
    for (int i = 0; i < 30; i++) publish(&x.b, "ward/s000/v0", "off");
    wait_for(port, "refused_total", 37);
    assert_true(logged(&x, "(further ones are only counted)"));
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    broker_end(&x.b);
}

/* Whoever may publish makes no series without end. */
static void entities_are_bounded(void **state)
{
    (void)state;
    world_of_broker x = make_all("ward/%23", "bounded");
    char *argv[] = { "serve", w.model_path, "--port",       "0", "--store", x.store, "--mqtt",
                     x.url,   "-q",         "--max-series", "3", NULL };
    broker_go(&x.b);
    x.p = run_program(argv, x.log);
    wait_for(x.p.port, "connected", 1);
    for (int i = 0; i < 6; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "ward/e%d/v0", i);
        publish(&x.b, topic, "1");
    }
    publish(&x.b, "ward/e1/v0", "2");
    wait_for(x.p.port, "readings_total", 4);
    wait_for(x.p.port, "refused_total", 3);
    assert_true(logged(&x, "entity 'e3': a stream has at most 3 series"));
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    broker_end(&x.b);
}

/* ---- nothing is lost ------------------------------------------------------------------------ */

static sqlite3 *lock_store(const char *path)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* One that came and is not on the disk is the broker's still. */
static void acknowledged_when_durable(void **state)
{
    (void)state;
    world_of_broker x = make_all("ward/%23", "durable");
    sqlite3        *db;
    broker_go(&x.b);
    run_server(&x);
    wait_for(x.p.port, "connected", 1);
    db = lock_store(x.store);
    publish(&x.b, "ward/s000/v0", "2030-01-01T00:00:00Z,1.5");
    wait_for(x.p.port, "messages_total", 1);
    (void)nanosleep(&(struct timespec){ 0, 300000000 }, NULL); /* time enough for a wrong answer */
    assert_true(metric(x.p.port, "readings_total") == 0);
    assert_int_equal(end_program(&x.p, SIGKILL), -1);
    (void)sqlite3_close(db); /* and lets go */
    run_server(&x);
    wait_for(x.p.port, "readings_total", 1);
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    run_server(&x); /* now it is not */
    wait_for(x.p.port, "connected", 1);
    publish(&x.b, "ward/s000/v0", "2030-01-01T01:00:00Z,2.5");
    wait_for(x.p.port, "readings_total", 1);
    assert_true(metric(x.p.port, "messages_total") == 1);
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    broker_end(&x.b);
}

/* A store that is locked for long, and a broker that is not there yet, goes, and comes back. */
static void it_goes_on_by_itself(void **state)
{
    (void)state;
    world_of_broker x = make_all("ward/%23", "goes");
    sqlite3        *db;
    run_server(&x); /* no broker */
    while (!logged(&x, "Connection refused: trying again"))
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    check_reply(ask(x.p.port, "GET", "/v2/health/live", "", NULL, 0), 200, NULL);
    broker_go(&x.b);
    wait_for(x.p.port, "connected", 1);
    assert_true(logged(&x, "/ward/#: goes on"));
    db = lock_store(x.store);
    publish(&x.b, "ward/s000/v0", "2030-01-01T00:00:00Z,1.5");
    while (!logged(&x, "database is locked: trying again"))
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    (void)sqlite3_close(db); /* and lets go */
    wait_for(x.p.port, "readings_total", 1);
    for (int i = 0; i < 3; i++) {
        broker_end(&x.b);
        while (metric(x.p.port, "connected") > 0)
            (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
        broker_go(&x.b);
        publish(&x.b, "ward/s000/v0", "5");
        wait_for(x.p.port, "readings_total", 2 + i);
    }
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    broker_end(&x.b);
}

typedef struct stream_of_readings {
    broker     *b;
    atomic_bool ending;
    int         n; /* the broker has acknowledged readings 0 .. n - 1 */
} stream_of_readings;

static double value_of(int i) { return (double)(i * 37 % 1000) / 8; }

static void *publish_all(void *user)
{
    stream_of_readings *s = user;
    for (; !s->ending; s->n++) {
        char topic[64], payload[64];
        snprintf(topic, sizeof topic, "ward/e%d/v0", s->n % 5);
        snprintf(payload, sizeof payload, "%lld,%g", 1700000000LL + 60LL * s->n, value_of(s->n));
        publish(s->b, topic, payload);
        (void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL); /* not more than are looked at */
    }
    return NULL;
}

/* Every reading that the broker took is there, with its value. */
static int check_all_there(int port, int n)
{
    reply r = history(port);
    int  *times = calloc((size_t)n + 1, sizeof *times), repeated = 0;
    for (char *line = strchr(r.body, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct tm t = { 0 };
        int       e;
        double    x;
        if (sscanf(line, "e%d,%d-%d-%dT%d:%d:%dZ,v0,%lf", &e, &t.tm_year, &t.tm_mon, &t.tm_mday,
                   &t.tm_hour, &t.tm_min, &t.tm_sec, &x) != 8)
            fail_msg("found %.60s", line);
        t.tm_year -= 1900;
        t.tm_mon--;
        const int i = (int)((timegm(&t) - 1700000000) / 60);
        assert_true(i >= 0 && i <= n && i % 5 == e);
        assert_true(x == value_of(i));
        times[i]++;
    }
    for (int i = 0; i < n; i++) {
        if (times[i] == 0) fail_msg("reading %d of %d is lost", i, n);
        repeated += times[i] - 1;
    }
    free(times);
    forget_reply(&r);
    return repeated;
}

static void nothing_is_lost(void **state)
{
    (void)state;
    world_of_broker    x = make_all("ward/%23", "kills");
    stream_of_readings s = { .b = &x.b };
    pthread_t          t;
    broker_go(&x.b);
    run_server(&x); /* the broker knows it from now on */
    wait_for(x.p.port, "connected", 1);
    assert_int_equal(pthread_create(&t, NULL, publish_all, &s), 0);
    srand(2);
    for (int k = 0; k < kills; k++) {
        (void)nanosleep(&(struct timespec){ 0, (50 + rand() % 250) * 1000000L }, NULL);
        if (k % 3 == 2) {
            broker_end(&x.b);
            (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
            broker_go(&x.b);
        } else {
            assert_int_equal(end_program(&x.p, SIGKILL), -1);
            run_server(&x);
        }
    }
    s.ending = true;
    (void)pthread_join(t, NULL);
    for (bool there = false; !there;) { /* until the last one is */
        const time_t at = 1700000000 + 60 * (time_t)(s.n - 1);
        struct tm    broken;
        char         path[128];
        strftime(path, sizeof path, "/v1/streams/air/history?from=%Y-%m-%dT%H:%M:%SZ",
                 gmtime_r(&at, &broken));
        reply r = ask(x.p.port, "GET", path, "Accept: text/csv\r\n", NULL, 0);
        there = strstr(r.body, ",v0,") != NULL;
        forget_reply(&r);
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
    const int repeated = check_all_there(x.p.port, s.n);
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    broker_end(&x.b);
    printf("%d times killed: %d readings published, all there, %d of them twice\n", kills, s.n,
           repeated);
}

/* Somebody else's word for the password, then ours, which the server finds by itself; encrypted, by
 * a certificate that we trust. */
static void who_may_and_who_is_it(void **state)
{
    (void)state;
    char            more[600], line[1000];
    world_of_broker x = make_all("ward/%23", "secure");
    snprintf(
        line, sizeof line,
        "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout broker.key -out "
        "broker.pem 2>openssl.log && mosquitto_passwd -c -b users me secret17 && echo wrong "
        ">password",
        folder);
    if (system(line) != 0) skip(); /* no openssl */
    snprintf(more, sizeof more,
             "allow_anonymous false\npassword_file %s\ncertfile %s\nkeyfile %s\n",
             in_folder("users"), in_folder("broker.pem"), in_folder("broker.key"));
    x.b = make_broker("secure", more);
    snprintf(x.url, sizeof x.url,
             "mqtts://me@127.0.0.1:%d/ward/%%23?cafile=%s/broker.pem&"
             "password_file=%s/password",
             x.b.port, folder, folder);
    broker_go(&x.b);
    run_server(&x);
    while (!logged(&x, "Connection Refused: not authorised.: trying again"))
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    snprintf(line, sizeof line, "echo secret17 >%s/password", folder);
    assert_int_equal(system(line), 0);
    wait_for(x.p.port, "connected", 1);
    snprintf(line, sizeof line,
             "mosquitto_pub -h 127.0.0.1 -p %d --cafile %s/broker.pem -u me -P secret17 -q 1 -t "
             "ward/s000/v0 -m 5",
             x.b.port, folder);
    if (system("command -v mosquitto_pub >/dev/null") == 0) {
        assert_int_equal(system(line), 0);
        wait_for(x.p.port, "readings_total", 1);
    }
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    assert_false(logged(&x, "secret17"));
    /* by a certificate that nobody vouches for */
    snprintf(x.url, sizeof x.url, "mqtts://me:secret17@127.0.0.1:%d/ward/%%23", x.b.port);
    run_server(&x);
    while (!logged(&x, "verify failed") && !logged(&x, "TLS error"))
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    assert_true(metric(x.p.port, "connected") == 0);
    assert_int_equal(end_program(&x.p, SIGTERM), 0);
    assert_false(logged(&x, "secret17"));
    broker_end(&x.b);
}

static void mistakes_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *mqtt, *store, *wrong;
        llap_status st;
    } table[] = {
        { "mqtt://127.0.0.1/#", NULL, "mqtt: needs a store", LLAP_EOPTION },
        { "127.0.0.1/#", "m.db", "mqtt: expected mqtt://HOST/TOPIC", LLAP_EOPTION },
        { "mqtt://127.0.0.1/#?stream=a%20b", "m.db", "mqtt: stream: expected letters",
          LLAP_EOPTION },
        { "mqtt://u@127.0.0.1/#?password_file=/nothere", "m.db", "/nothere", LLAP_ENOTFOUND },
        { "mqtts://127.0.0.1/#?cafile=/nothere", "m.db", "127.0.0.1:8883", LLAP_EUNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        llap_server *s = NULL;
        const char  *models[] = { w.model_path };
        CHECK_FAIL(llap_server_start(models, 1,
                                     &(llap_serve_opts){ .port = LLAP_ZERO,
                                                         .store = table[i].store == NULL
                                                                      ? NULL
                                                                      : in_folder(table[i].store),
                                                         .mqtt = table[i].mqtt },
                                     &s),
                   table[i].st, table[i].wrong);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) kills = atoi(argv[1]);
    if (access(BROKER, X_OK) != 0) {
        printf("skipped: no " BROKER "\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_readings), cmocka_unit_test(what_cannot_be_read_is_counted),
        cmocka_unit_test(entities_are_bounded),  cmocka_unit_test(acknowledged_when_durable),
        cmocka_unit_test(it_goes_on_by_itself),  cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(who_may_and_who_is_it), cmocka_unit_test(mistakes_are_said),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
