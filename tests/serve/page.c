/* What the page asks for: its own files, data that is held by a name, charts and fans. */
#include "page.h"

#include <math.h>
#include <pthread.h>

/* ---- its files ---- */

static void files_of_the_page(void **state)
{
    (void)state;
    static const struct {
        const char *path, *type, *says;
    } files[] = {
        { "/", "text/html", "<script src=\"/main.js\" type=\"module\">" },
        { "/page.css", "text/css", "color-scheme" },
        { "/main.js", "text/javascript", "import" },
        { "/icon.svg", "image/svg+xml", "<svg" },
        { "/dygraph.js", "text/javascript", NULL },
    };
    llap_server *s = serve((llap_serve_opts){ 0 });
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        reply r = get(llap_server_port(s), files[i].path);
        assert_int_equal(r.status, 200);
        assert_non_null(strstr(r.head, files[i].type));
        assert_non_null(strstr(r.head, "Content-Security-Policy: default-src 'none'"));
        assert_null(strstr(r.head, "unsafe"));
        assert_true(files[i].says == NULL || strstr(r.body, files[i].says) != NULL);
        assert_null(strstr(r.body, "sourceMappingURL"));
        forget_reply(&r);
    }
    char page[256];
    (void)llap_server_page(s, page, sizeof page);
    assert_null(strstr(page, "token"));
    llap_server_stop(s);
}

/* ---- data ---- */

static void data_by_a_name(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ 0 });
    const int    port = llap_server_port(s);
    reply        inspected = ask(port, "POST", "/v1/inspect", csv_type, w.csv, w.n_csv);
    assert_int_equal(inspected.status, 200);
    assert_non_null(strstr(inspected.body, "\"understood\":[\"wide form"));
    assert_non_null(strstr(inspected.body, "\"rows\":"));
    check_reply(get(port, "/v1/data"), 200, "{\"data\":[]}");
    check_reply(put_data(port, "/v1/data/air"), 201, "\"name\":\"air\"");
    check_reply(put_data(port, "/v1/data/air"), 200, "\"entities\":[\"s000\",\"s001\"]");
    check_reply(get(port, "/v1/data/air"), 200, strstr(inspected.body, "\"understood\""));
    check_reply(get(port, "/v1/data"), 200, "\"entities\":2,\"variables\":1,");
    check_reply(ask(port, "PUT", "/v1/data/bad", csv_type, "time,x\n1,2,3\n", 13), 422,
                "expected 2 fields");
    check_reply(ask(port, "PUT", "/v1/data/bad", csv_type, "", 0), 422, "empty");
    check_reply(ask(port, "PUT", "/v1/data/bad?horizon=1h", csv_type, "time,x\n1,2\n", 11), 400,
                "no parameter 'horizon'");
    check_reply(ask(port, "PUT", "/v1/data/..", csv_type, "time,x\n1,2\n", 11), 404, NULL);
    check_reply(get(port, "/v1/data/bad"), 404, "no data set 'bad'");
    check_reply(ask(port, "DELETE", "/v1/data/air", "", NULL, 0), 204, NULL);
    check_reply(ask(port, "DELETE", "/v1/data/air", "", NULL, 0), 404, NULL);
    forget_reply(&inspected);
    llap_server_stop(s);
}

/* Each is small; together they are more than the server may hold. */
static void data_is_bounded(void **state)
{
    (void)state;
    char         path[64], *rows = malloc(4 << 20);
    int          status = 0, i = 0;
    size_t       n = (size_t)sprintf(rows, "time,x\n");
    llap_server *s = serve((llap_serve_opts){ .max_memory = 16, .max_rows = 200000 });
    const int    port = llap_server_port(s);
    for (int t = 0; t < 150000; t++) n += (size_t)sprintf(rows + n, "%d,%d\n", t, t % 7);
    for (; i < 64 && status != 413; i++) {
        snprintf(path, sizeof path, "/v1/data/d%d", i);
        reply r = ask(port, "PUT", path, csv_type, rows, n);
        status = r.status;
        if (status == 413) assert_non_null(strstr(r.body, "remove one"));
        else assert_int_equal(status, 201);
        forget_reply(&r);
    }
    assert_int_equal(status, 413);
    assert_true(i > 2);
    check_reply(ask(port, "PUT", "/v1/data/d0", csv_type, rows, n), 200, NULL); /* in its place */
    check_reply(ask(port, "DELETE", "/v1/data/d1", "", NULL, 0), 204, NULL);
    check_reply(ask(port, "PUT", path, csv_type, rows, n), 201, NULL);
    free(rows);
    llap_server_stop(s);
}

/* ---- charts ---- */

/* The numbers of `"key":[..]` behind `from`; null is NaN. */
static size_t numbers(const char *from, const char *key, double *out, size_t most)
{
    char name[64];
    snprintf(name, sizeof name, "\"%s\":[", key);
    const char *at = strstr(from, name);
    size_t      n = 0;
    assert_non_null(at);
    for (at += strlen(name); *at != ']' && n < most; n++) {
        char *end = NULL;
        out[n] = strncmp(at, "null", 4) == 0 ? NAN : strtod(at, &end);
        at = isnan(out[n]) ? at + 4 : end;
        at += *at == ',';
    }
    return n;
}

static void charts_are_the_data(void **state)
{
    (void)state;
    static double             time[4000], mean[4000], low[4000], high[4000];
    llap_server              *s = serve((llap_serve_opts){ 0 });
    const int                 port = llap_server_port(s);
    llap_panel               *p = the_panel();
    const llap_panel_columns *c = llap_panel_view(p);
    const int64_t             rows = c->first[2] - c->first[1];
    char                      path[256];
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    reply r = get(port, "/v1/data/air/chart?entity=s001&variable=v0&points=4000");
    assert_int_equal(r.status, 200);
    assert_int_equal(numbers(r.body, "time", time, 4000), rows);
    assert_int_equal(numbers(r.body, "mean", mean, 4000), rows);
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = c->first[1] + i;
        const double  y = (double)c->value[at];
        assert_true(fabs(time[i] - (double)c->time[at] / 1e6) < 1e-3);
        if (!llap_cell_observed(c, at, 0)) {
            assert_true(isnan(mean[i]));
            continue;
        }
        assert_true(fabs(mean[i] - y) <= 1e-6 * fabs(y));
        least = fmin(least, mean[i]);
        most = fmax(most, mean[i]);
    }
    forget_reply(&r);
    r = get(port, "/v1/data/air/chart?entity=s001&points=20");
    const size_t n = numbers(r.body, "time", time, 4000);
    assert_true(n > 10 && n <= 20);
    assert_int_equal(numbers(r.body, "low", low, 4000), n);
    assert_int_equal(numbers(r.body, "high", high, 4000), n);
    double least_point = INFINITY, most_point = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        least_point = fmin(least_point, low[i]); /* NaN is passed over */
        most_point = fmax(most_point, high[i]);
    }
    assert_true(least_point == least && most_point == most);
    forget_reply(&r);
    /* a part: within it, and a row more at each side */
    snprintf(path, sizeof path, "/v1/data/air/chart?entity=s001&from=%.0f&to=%.0f", time[5],
             time[8]);
    r = get(port, path);
    const size_t part = numbers(r.body, "time", low, 4000);
    assert_true(part > 2 && low[0] <= time[5] && low[1] >= time[5] && low[part - 1] >= time[8] &&
                low[part - 2] <= time[8]);
    forget_reply(&r);
    check_reply(get(port, "/v1/data/air/chart?from=2&to=1"), 400, "later than to");
    check_reply(get(port, "/v1/data/air/chart?from=now"), 400, "from");
    check_reply(get(port, "/v1/data/air/chart?to=1e300"), 400, "to");
    check_reply(get(port, "/v1/data/air/chart?points=0"), 400, "1..10000");
    check_reply(get(port, "/v1/data/air/chart?points=10001"), 400, "1..10000");
    check_reply(get(port, "/v1/data/air/chart?entity=s009"), 404, "no entity 's009'");
    check_reply(get(port, "/v1/data/air/chart?model=air"), 400, "one at a time");
    check_reply(get(port, "/v1/data/air/chart?model=none&entity=s000"), 404, "no model");
    check_reply(get(port, "/v1/data/none/chart"), 404, "no data set");
    check_reply(get(port, "/v1/data/air/coverage?points=10"), 200, "\"rows_are\":\"entities\"");
    check_reply(get(port, "/v1/data/air/coverage?points=10&entity=s000"), 200, "\"name\":\"v0\"");
    llap_panel_destroy(p);
    llap_server_stop(s);
}

static void same_numbers(const double *found, double want)
{
    if (!(fabs(*found - want) <= 1e-6 * fabs(want))) fail_msg("%.9g, not %.9g", *found, want);
}

static void fills_and_fans_are_those_of_the_library(void **state)
{
    (void)state;
    static double found[4000];
    llap_server  *s = serve((llap_serve_opts){ 0 });
    const int     port = llap_server_port(s);
    llap_panel   *p = the_panel();
    llap_answer  *a = NULL;
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    CHECK_OK(
        llap_impute(w.model, p, &(llap_impute_opts){ .only = "s000", .quantiles = "0.1,0.9" }, &a));
    const llap_answer_columns *c = llap_answer_view(a);
    for (int again = 0; again < 2; again++) { /* the second time from what was kept */
        reply       r = get(port, "/v1/data/air/chart?entity=s000&points=4000&model=air");
        const char *filled = r.status == 200 ? strstr(r.body, "\"filled\"") : NULL;
        assert_non_null(filled);
        assert_true(c->n_rows > 3);
        assert_int_equal(numbers(filled, "mean", found, 4000), c->n_rows);
        for (int64_t i = 0; i < c->n_rows; i++)
            same_numbers(found + i, c->number[i * c->n_numbers]);
        assert_int_equal(numbers(filled, "high", found, 4000), c->n_rows);
        for (int64_t i = 0; i < c->n_rows; i++)
            same_numbers(found + i, c->number[i * c->n_numbers + 2]);
        forget_reply(&r);
    }
    llap_answer_destroy(a);
    CHECK_OK(llap_forecast(
        w.model, p,
        &(llap_forecast_opts){
            .horizon = "5h", .quantiles = "0.2,0.8", .at = "2000-01-08T00:00:00Z", .only = "s001" },
        &a));
    c = llap_answer_view(a);
    reply r = get(port, "/v1/data/air/fan?model=air&entity=s001&horizon=5h&quantiles=0.2,0.8"
                        "&at=947289600000");
    assert_int_equal(r.status, 200);
    assert_int_equal(numbers(r.body, "mean", found, 4000), c->n_rows);
    for (int64_t i = 0; i < c->n_rows; i++) same_numbers(found + i, c->number[i * 3]);
    assert_non_null(strstr(r.body, "\"origin\":947289600000,"));
    forget_reply(&r);
    check_reply(get(port, "/v1/data/air/fan"), 400, "model");
    check_reply(get(port, "/v1/data/air/fan?model=air&horizon=long"), 400, "horizon");
    check_reply(get(port, "/v1/data/air/fan?model=air&device=cuda"), 400, "no parameter 'device'");
    check_reply(get(port, "/v1/data/air/fan?model=air&samples=10001"), 413, "at most 10000");
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    llap_server_stop(s);
}

/* What the store has is drawn as the data set of the same rows is. */
static void charts_reach_back(void **state)
{
    (void)state;
    static double time[4000], all[4000];
    const char   *past = "/v1/streams/ward/history/chart?entity=s001&variable=v0",
               *data = "/v1/data/air/chart?entity=s001&variable=v0";
    llap_server *s = serve((llap_serve_opts){ .store = in_folder("page.db") });
    const int    port = llap_server_port(s);
    char         path[2][256];
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    check_reply(ask(port, "POST", "/v1/streams/ward/readings", csv_type, w.csv, w.n_csv), 200,
                NULL);
    for (int points = 4; points < 4000; points *= 10) {
        snprintf(path[0], sizeof path[0], "%s&points=%d", past, points);
        snprintf(path[1], sizeof path[1], "%s&points=%d", data, points);
        reply found = get(port, path[0]), wanted = get(port, path[1]);
        if (found.status != 200) fail_msg("found %d: %s", found.status, found.body);
        assert_string_equal(strstr(found.body, "\"rows\""), strstr(wanted.body, "\"rows\""));
        forget_reply(&found);
        forget_reply(&wanted);
    }
    reply        r = get(port, "/v1/streams/ward/history/chart?entity=s001&points=4000");
    const size_t n = numbers(r.body, "time", all, 4000), from = n / 3, to = n / 2;
    forget_reply(&r);
    assert_true(n > 200);
    snprintf(path[0], sizeof path[0], "%s&from=%.17g&to=%.17g", past, all[from] - 0.5,
             all[to] + 0.5); /* a double has no nanoseconds of a year */
    r = get(port, path[0]);
    assert_int_equal(numbers(r.body, "time", time, 4000), to - from + 1);
    assert_memory_equal(time, all + from, (to - from + 1) * sizeof *time);
    forget_reply(&r);
    r = get(port, "/v1/streams/ward/chart?entity=s001&points=4000"); /* what forecasts look at */
    assert_true(numbers(r.body, "time", time, 4000) < n && time[0] > all[0]);
    forget_reply(&r);
    check_reply(get(port, "/v1/streams/ward/history/chart"), 400, "entity: there are several");
    check_reply(get(port, "/v1/streams/ward/history/chart?entity=s009"), 404, "no entity");
    check_reply(get(port, "/v1/streams/ward/history/chart?entity=s001&variable=x"), 404, "'x'");
    check_reply(get(port, "/v1/streams/ward/history/chart?entity=s001&from=2&to=1"), 400, "from");
    check_reply(get(port, "/v1/streams/ward/history/chart?entity=s001&points=0"), 400, "points");
    check_reply(get(port, "/v1/streams/none/history/chart"), 404, "no stream");
    llap_server_stop(s);
}

typedef struct asker {
    int         port, wrong;
    const char *path[2], *want[2];
} asker;

static void *ask_again(void *user)
{
    asker *a = user;
    for (int i = 0; i < 20; i++) {
        reply r = get(a->port, a->path[i % 2]);
        a->wrong += r.status != 200 || strcmp(r.body, a->want[i % 2]) != 0;
        forget_reply(&r);
    }
    return NULL;
}

/* Whose gaps were kept, or are just being filled by another, makes no difference. */
static void many_look_at_filled_gaps(void **state)
{
    (void)state;
    enum { THREADS = 6 };
    pthread_t    thread[THREADS];
    asker        a[THREADS];
    reply        want[2];
    const char  *path[] = { "/v1/data/air/chart?entity=s000&model=air",
                            "/v1/data/air/chart?entity=s001&model=air" };
    llap_server *s = serve((llap_serve_opts){ .workers = 4 });
    const int    port = llap_server_port(s);
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    for (int i = 0; i < 2; i++) {
        want[i] = get(port, path[i]);
        assert_int_equal(want[i].status, 200);
    }
    for (int i = 0; i < THREADS; i++) {
        const int one = i % 2;
        a[i] = (asker){ .port = port,
                        .path = { path[one], path[!one] },
                        .want = { want[one].body, want[!one].body } };
        assert_int_equal(pthread_create(&thread[i], NULL, ask_again, &a[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(thread[i], NULL);
        assert_int_equal(a[i].wrong, 0);
    }
    forget_reply(&want[0]);
    forget_reply(&want[1]);
    llap_server_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_page),
        cmocka_unit_test(data_by_a_name),
        cmocka_unit_test(data_is_bounded),
        cmocka_unit_test(charts_are_the_data),
        cmocka_unit_test(fills_and_fans_are_those_of_the_library),
        cmocka_unit_test(charts_reach_back),
        cmocka_unit_test(many_look_at_filled_gaps),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
