/* Training and scoring as jobs: what they give, what is refused, who may, and that they end. */
#include "page.h"

#include <sys/stat.h>

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
    check_reply(as_page(s, "DELETE", "/v1/jobs/2"), 200, "\"state\":\"cancelled\""); /* it waits */
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

/* Some 8 MB of a panel. */
static char *wide_csv(size_t *n)
{
    enum { COLUMNS = 20, ROWS = 100000 };
    char *csv = malloc(ROWS * (2 * COLUMNS + 16) + 1000), *to = csv + sprintf(csv, "time");
    for (int v = 0; v < COLUMNS; v++) to += sprintf(to, ",v%d", v);
    for (int r = 0; r < ROWS; r++) {
        to += sprintf(to, "\n%d", r);
        for (int v = 0; v < COLUMNS; v++) to = memcpy(to, ",1", 2), to += 2;
    }
    *n = (size_t)(to - csv);
    return csv;
}

/* Data that was removed while a job uses it counts until the job is over, and no longer. */
static void what_jobs_hold_counts(void **state)
{
    (void)state;
    size_t       n;
    char        *csv = wide_csv(&n), path[32];
    llap_server *s = serve((llap_serve_opts){ .page = 1, .max_memory = 64 });
    const int    port = llap_server_port(s);
    int          status = 201, k = 0;
    check_reply(put_data(port, "/v1/data/air"), 201, NULL);
    while (status == 201 && k < 60) {
        snprintf(path, sizeof path, "/v1/data/d%d", k++);
        reply r = ask(port, "PUT", path, csv_type, csv, n);
        status = r.status;
        forget_reply(&r);
    }
    assert_int_equal(status, 413);
    check_reply(as_page(s, "POST", endless), 202, NULL);
    check_reply(as_page(s, "POST", "/v1/models/air/evaluate?data=d0"), 202, "\"job\":\"2\"");
    check_reply(ask(port, "DELETE", "/v1/data/d0", "", NULL, 0), 204, NULL);
    check_reply(ask(port, "PUT", "/v1/data/d0", csv_type, csv, n), 413, "data sets would take");
    check_reply(as_page(s, "DELETE", "/v1/jobs/1"), 200, NULL);
    check_reply(as_page(s, "DELETE", "/v1/jobs/2"), 200, NULL);
    for (status = 413; status == 413;) {
        reply r = ask(port, "PUT", "/v1/data/d0", csv_type, csv, n);
        status = r.status;
        forget_reply(&r);
    }
    assert_int_equal(status, 201);
    check_reply(get(port, "/v1/jobs/2"), 200, "\"data\":\"d0\"");
    free(csv);
    llap_server_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_trained_and_scored),
        cmocka_unit_test(jobs_that_cannot_be),
        cmocka_unit_test(jobs_are_cancelled),
        cmocka_unit_test(jobs_are_bounded),
        cmocka_unit_test(what_jobs_hold_counts),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
