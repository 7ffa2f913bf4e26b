/* What the page asks for: its own files, data that is held by a name, charts, fans, training and
 * scoring as jobs; their limits, their rights, and that they can be cancelled. */
#include "world.h"

#include <math.h>
#include <sys/stat.h>

static const char csv_type[] = "Content-Type: text/csv\r\n";

static reply get(int port, const char *path) { return ask(port, "GET", path, "", NULL, 0); }

static reply put_data(int port, const char *path)
{
    return ask(port, "PUT", path, csv_type, w.csv, w.n_csv);
}

/* With the token of the page. */
static reply as_page(const llap_server *s, const char *method, const char *path)
{
    char page[256], header[512];
    assert_true(llap_server_page(s, page, sizeof page) < sizeof page);
    const char *token = strstr(page, "#token=");
    assert_non_null(token);
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token + 7);
    return ask(llap_server_port(s), method, path, header, strcmp(method, "POST") == 0 ? "" : NULL,
               0);
}

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

static llap_panel *the_panel(void)
{
    llap_panel *p = NULL;
    CHECK_OK(llap_panel_read_memory("data", w.csv, w.n_csv, &(llap_read_opts){ 0 }, &p));
    return p;
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
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    llap_server_stop(s);
}

/* ---- jobs ---- */

/* Until its state is one of these words; its reply is the caller's. */
static reply wait_for(int port, const char *job, const char *state)
{
    char  path[64], want[64];
    reply r = { 0 };
    snprintf(path, sizeof path, "/v1/jobs/%s", job);
    snprintf(want, sizeof want, "\"state\":\"%s\"", state);
    for (;;) {
        r = get(port, path);
        assert_int_equal(r.status, 200);
        if (strstr(r.body, want) != NULL) return r;
        if (strstr(r.body, "\"state\":\"waits\"") == NULL &&
            strstr(r.body, "\"state\":\"runs\"") == NULL)
            fail_msg("expected it to be %s: %s", state, r.body);
        forget_reply(&r);
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
}

static void a_model_is_trained_and_scored(void **state)
{
    (void)state;
    const llap_train_opts how = { .context = "2d",
                                  .horizon = "6h",
                                  .size = LLAP_TRAIN_SIZE_ANCHOR };
    llap_server          *s = serve((llap_serve_opts){ .page = 1 });
    const int             port = llap_server_port(s);
    llap_panel           *p = the_panel();
    llap_model           *m = NULL;
    llap_answer          *a = NULL;
    char                 *csv = NULL, *json = NULL;
    size_t                n = 0;
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    check_reply(as_page(s, "POST", "/v1/models/new/train?data=air&context=2d&horizon=6h"), 202,
                "\"job\":\"1\",\"does\":\"train\"");
    check_reply(get(port, "/v2/health/live"), 200, NULL); /* others are answered */
    reply r = wait_for(port, "1", "done");
    forget_reply(&r);
    check_reply(get(port, "/v1/models"), 200, "\"name\":\"new\"");
    CHECK_OK(llap_train(p, &how, &m));
    CHECK_OK(llap_forecast(m, p, &(llap_forecast_opts){ 0 }, &a));
    CHECK_OK(llap_answer_csv(a, &csv, &n));
    r = post_csv(port, "/v1/models/new/forecast", "text/csv");
    assert_int_equal(r.n, n);
    assert_memory_equal(r.body, csv, n);
    forget_reply(&r);
    check_reply(
        ask(port, "POST", "/v1/models/new/evaluate?data=air&bootstrap=0&by=step", "", "", 0), 202,
        "\"does\":\"evaluate\"");
    r = wait_for(port, "2", "done");
    forget_reply(&r);
    CHECK_OK(llap_evaluate(
        m, p, &(llap_evaluate_opts){ .bootstrap = LLAP_ZERO, .by = LLAP_EVALUATE_BY_STEP }, NULL,
        &json));
    r = get(port, "/v1/jobs/2/result");
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, json);
    forget_reply(&r);
    check_reply(get(port, "/v1/jobs"), 200, "\"job\":\"2\"");
    check_reply(get(port, "/v1/jobs/1/result"), 404, "no result");
    check_reply(get(port, "/v1/jobs/3"), 404, "no job '3'");
    llap_text_free(csv);
    llap_text_free(json);
    llap_answer_destroy(a);
    llap_model_destroy(m);
    llap_panel_destroy(p);
    llap_server_stop(s);
}

static void jobs_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int         status;
        const char *says;
    } cases[] = {
        { "/v1/models/new/train?data=air&context=2d", 400, "horizon" },
        { "/v1/models/new/train?data=none&context=2d&horizon=6h", 404, "no data set 'none'" },
        { "/v1/models/new/train?context=2d&horizon=6h", 400, "data" },
        { "/v1/models/new/train?data=air&context=2d&horizon=6h&target=v9", 400, "v9" },
        { "/v1/models/new/train?data=air&context=2d&horizon=6h&size=huge", 400, "size" },
        { "/v1/models/new/train?data=air&context=2d&horizon=6h&state=/tmp/x", 400,
          "no parameter 'state'" },
        { "/v1/models/new/train?data=air&context=2d&horizon=6h&holidays=/etc/passwd", 400,
          "no parameter 'holidays'" },
        { "/v1/models/new/train?data=air&context=2d&horizon=6h&config=/etc/passwd", 400,
          "no parameter 'config'" },
        { "/v1/models/.new/train?data=air&context=2d&horizon=6h", 404, "nothing is here" },
        { "/v1/models/none/evaluate?data=air", 404, "no model 'none'" },
        { "/v1/models/air/evaluate?data=none", 404, "no data set" },
        { "/v1/models/air/evaluate?data=air&keep=/tmp/x", 400, "no parameter 'keep'" },
    };
    llap_server *s = serve((llap_serve_opts){ .page = 1 });
    const int    port = llap_server_port(s);
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_reply(as_page(s, "POST", cases[i].path), cases[i].status, cases[i].says);
    check_reply(get(port, "/v1/jobs"), 200, "{\"jobs\":[]}");
    check_reply(ask(port, "POST", "/v1/models/new/train?data=air&context=2d&horizon=6h", "", "", 0),
                403, "admin");
    check_reply(ask(port, "POST", "/v1/models/new/train?data=air&context=2d&horizon=6h",
                    "Authorization: Bearer 0123456789abcdef\r\n", "", 0),
                403, "admin");
    llap_server_stop(s);
}

/* Hours of training, were it not cancelled. */
static const char endless[] =
    "/v1/models/slow/train?data=air&context=2d&horizon=6h&size=small&steps=1000000";

static void jobs_are_cancelled(void **state)
{
    (void)state;
    const char       *tokens = in_folder("tokens");
    FILE             *f = fopen(tokens, "w");
    static const char read_only[] = "Authorization: Bearer readreadreadread\r\n",
                      writer[] = "Authorization: Bearer writewritewrite1\r\n",
                      admin[] = "Authorization: Bearer adminadminadmin1\r\n";
    fputs("a read readreadreadread\nb write writewritewrite1\nc admin adminadminadmin1\n", f);
    fclose(f);
    assert_int_equal(chmod(tokens, 0600), 0);
    llap_server *s = serve((llap_serve_opts){ .tokens = tokens, .page = 1 });
    const int    port = llap_server_port(s);
    char         headers[256];
    snprintf(headers, sizeof headers, "%s%s", csv_type, writer);
    check_reply(ask(port, "PUT", "/v1/data/air", headers, w.csv, w.n_csv), 201, NULL);
    snprintf(headers, sizeof headers, "%s%s", csv_type, read_only);
    check_reply(ask(port, "PUT", "/v1/data/air", headers, w.csv, w.n_csv), 403, "right");
    check_reply(ask(port, "POST", endless, writer, "", 0), 403, "right");
    check_reply(ask(port, "POST", endless, admin, "", 0), 202, "\"job\":\"1\"");
    check_reply(ask(port, "POST", endless, admin, "", 0), 202, "\"state\":\"waits\"");
    check_reply(ask(port, "POST", "/v1/models/air/evaluate?data=air", writer, "", 0), 202, NULL);
    check_reply(ask(port, "GET", "/v1/jobs/2", read_only, NULL, 0), 200, "waits");
    check_reply(ask(port, "DELETE", "/v1/jobs/1", read_only, NULL, 0), 403, "right");
    check_reply(ask(port, "DELETE", "/v1/jobs/1", writer, NULL, 0), 403, "admin");
    check_reply(ask(port, "DELETE", "/v1/jobs/3", writer, NULL, 0), 200, NULL);
    check_reply(as_page(s, "DELETE", "/v1/jobs/2"), 200, NULL);
    check_reply(ask(port, "DELETE", "/v1/jobs/1", admin, NULL, 0), 200, NULL);
    for (int job = 1; job <= 3; job++) {
        char path[32];
        snprintf(path, sizeof path, "/v1/jobs/%d", job);
        for (bool over = false; !over;) {
            reply r = ask(port, "GET", path, read_only, NULL, 0);
            over = strstr(r.body, "\"state\":\"cancelled\"") != NULL;
            assert_null(strstr(r.body, "\"state\":\"done\""));
            assert_null(strstr(r.body, "\"state\":\"failed\""));
            forget_reply(&r);
        }
    }
    reply r = ask(port, "GET", "/v1/models", read_only, NULL, 0);
    assert_null(strstr(r.body, "slow"));
    forget_reply(&r);
    /* and a server ends that trains */
    check_reply(ask(port, "POST", endless, admin, "", 0), 202, NULL);
    llap_server_stop(s);
}

static void jobs_are_bounded(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .page = 1, .max_job_seconds = 1 });
    const int    port = llap_server_port(s);
    int          status = 202, n = 0;
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    for (; status == 202 && n < 100; n++) {
        reply r = as_page(s, "POST", endless);
        status = r.status;
        forget_reply(&r);
    }
    assert_int_equal(status, 503);
    assert_true(n >= 16);
    reply r = wait_for(port, "1", "failed");
    assert_non_null(strstr(r.body, "takes longer than 1 s"));
    assert_non_null(strstr(r.body, "LLAP_ELIMIT"));
    forget_reply(&r);
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
        cmocka_unit_test(a_model_is_trained_and_scored),
        cmocka_unit_test(jobs_that_cannot_be),
        cmocka_unit_test(jobs_are_cancelled),
        cmocka_unit_test(jobs_are_bounded),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
