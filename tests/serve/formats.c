/* Data and answers in other clothes: streams of Arrow, and tensors of the Open Inference Protocol.
 * What is in them is what CSV has. */
#include "world.h"

#include <math.h>

#define ARROW "application/vnd.apache.arrow.stream"

static const char *const forecasting = "/v1/models/air/forecast?horizon=2h&quantiles=0.1,0.9";

/* The content of corpus/arrow_ipc/served.seed, which pyarrow wrote. */
static const char rows[] = "who,when,v0\na,2024-01-01T00:00:00Z,1.5\na,2024-01-01T01:00:00Z,\n"
                           "b,2024-01-01T00:00:00Z,-3\n";

static void arrow_comes_in(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ 0 });
    const int    port = llap_server_port(s);
    size_t       n;
    char        *stream = read_all(LLAP_CORPUS "/served.seed", &n);
    reply csv = ask(port, "POST", forecasting, "Content-Type: text/csv\r\nAccept: text/csv\r\n",
                    rows, sizeof rows - 1);
    reply arrow = ask(port, "POST", forecasting, "Content-Type: " ARROW "\r\nAccept: text/csv\r\n",
                      stream, n);
    assert_int_equal(csv.status, 200);
    if (arrow.status != 200) fail_msg("found %d: %s", arrow.status, arrow.body);
    assert_string_equal(arrow.body, csv.body);
    forget_reply(&csv);
    forget_reply(&arrow);
    check_reply(ask(port, "POST", forecasting, "Content-Type: " ARROW "\r\n", stream, n - 40), 422,
                "arrow: byte");
    check_reply(ask(port, "POST", forecasting, "Content-Type: text/csv\r\n", stream, n), 422,
                "Content-Type");
    check_reply(ask(port, "POST", forecasting, "Content-Type: " ARROW "\r\n", rows, 20), 422,
                "a stream of Arrow");
    check_reply(ask(port, "POST", "/v1/models/air/forecast?separator=,",
                    "Content-Type: " ARROW "\r\n", stream, n),
                400, "separator");
    free(stream);
    llap_server_stop(s);
}

/* An answer as a panel of the column of that name. */
static llap_panel *column_of(reply r, const char *name)
{
    llap_panel          *p = NULL;
    const llap_read_opts how = { .form = LLAP_TABLE_LONG,
                                 .value = name,
                                 .codes = LLAP_READ_CODES_KEEP };
    if (r.status != 200) fail_msg("found %d: %s", r.status, r.body);
    CHECK_OK(llap_panel_read_memory("data", r.body, r.n, &how, &p));
    forget_reply(&r);
    return p;
}

static void arrow_goes_out(void **state)
{
    (void)state;
    static const char *const paths[] = { "/v1/models/air/forecast?horizon=5h",
                                         "/v1/models/air/impute?quantiles=0.5" };
    llap_server             *s = serve((llap_serve_opts){ 0 });
    const int                port = llap_server_port(s);
    for (int i = 0; i < 2; i++) {
        llap_panel *found = column_of(post_csv(port, paths[i], ARROW), "mean"),
                   *wanted = column_of(post_csv(port, paths[i], "text/csv"), "mean");
        const llap_panel_columns *f = llap_panel_view(found), *c = llap_panel_view(wanted);
        assert_int_equal(f->n_entities, c->n_entities);
        assert_int_equal(f->n_rows, c->n_rows);
        assert_memory_equal(f->time, c->time, (size_t)c->n_rows * sizeof *c->time);
        for (int64_t k = 0; k < c->n_rows; k++) /* CSV has seven digits */
            assert_float_equal(f->value[k], c->value[k], 1e-5);
        llap_panel_destroy(found);
        llap_panel_destroy(wanted);
    }
    llap_server_stop(s);
}

static reply history(int port, const char *query, const char *accept)
{
    char path[128], header[128];
    snprintf(path, sizeof path, "/v1/streams/ward/history?%s", query);
    snprintf(header, sizeof header, "Accept: %s\r\n", accept);
    return ask(port, "GET", path, header, NULL, 0);
}

/* Rows that came in any order, of entities and variables in any order. */
static void history_in_each_form(void **state)
{
    (void)state;
    static const char        sent[] = "who,when,v0,other\nb,2024-01-01T03:00:00Z,1.5,-7\n"
                                      "a,2024-01-01T01:00:00Z,,0.1\nb,2024-01-01T01:00:00Z,3e-9,\n"
                                      "\"a \"\"1\"\"\",2024-01-01T02:00:00Z,-0.25,8\n";
    static const char *const queries[] = { "", "entity=b", "limit=3", "from=2024-01-01T02:00:00Z" };
    llap_server             *s = serve((llap_serve_opts){ .store = in_folder("formats.db") });
    const int                port = llap_server_port(s);
    check_reply(ask(port, "POST", "/v1/streams/ward/readings?entity=who&time=when",
                    "Content-Type: text/csv\r\n", sent, sizeof sent - 1),
                200, NULL);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        llap_panel *found = column_of(history(port, queries[i], ARROW), "value"),
                   *wanted = column_of(history(port, queries[i], "text/csv"), "value");
        const llap_panel_columns *f = llap_panel_view(found), *c = llap_panel_view(wanted);
        assert_int_equal(f->n_entities, c->n_entities);
        assert_int_equal(f->n_variables, c->n_variables);
        assert_int_equal(f->n_rows, c->n_rows);
        assert_memory_equal(f->time, c->time, (size_t)c->n_rows * sizeof *c->time);
        for (int64_t e = 0; e < c->n_entities; e++)
            assert_string_equal(f->entities[e], c->entities[e]);
        for (int64_t k = 0; k < c->n_rows * c->n_variables; k++)
            assert_true(f->value[k] == c->value[k] || (isnan(f->value[k]) && isnan(c->value[k])));
        llap_panel_destroy(found);
        llap_panel_destroy(wanted);
    }
    check_reply(history(port, "limit=2", "application/json"), 200,
                "[{\"entity\":\"a\",\"time\":\"2024-01-01T01:00:00Z\",\"variable\":\"other\","
                "\"value\":0.100000001},\n{\"entity\":\"b\"");
    check_reply(history(port, "entity=a%20%221%22", "application/json"), 200,
                "\"entity\":\"a \\\"1\\\"\"");
    reply r = history(port, "entity=none", ARROW); /* a schema and no row */
    assert_int_equal(r.status, 200);
    assert_true(r.n > 8 && memcmp(r.body, "\377\377\377\377", 4) == 0);
    forget_reply(&r);
    llap_server_stop(s);
}

static reply infer(int port, const char *body)
{
    return ask(port, "POST", "/v2/models/air/infer", "Content-Type: application/json\r\n", body,
               strlen(body));
}

#define WHO "{\"name\":\"who\",\"shape\":[3],\"datatype\":\"BYTES\",\"data\":[\"a\",\"a\",\"b\"]}"
#define WHEN                                                                                   \
    "{\"name\":\"when\",\"shape\":[3,1],\"datatype\":\"BYTES\",\"data\":[[\"2024-01-01T00:00:" \
    "00Z\"],"                                                                                  \
    "[\"2024-01-01T01:00:00Z\"],[\"2024-01-01T00:00:00Z\"]]}"
#define VALUES "{\"name\":\"v0\",\"shape\":[1,3],\"datatype\":\"FP32\",\"data\":[1.5,null,-3]}"
#define PARAMETERS "\"parameters\":{\"horizon\":\"2h\",\"quantiles\":\"0.1,0.9\"}"

/* The n-th number of column k of a CSV, counted from 0. */
static double cell(const char *csv, int64_t row, int column)
{
    for (; row >= 0; row--) csv = strchr(csv, '\n') + 1;
    for (; column > 0; column--) csv = strchr(csv, ',') + 1;
    return strtod(csv, NULL);
}

static void tensors(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ 0 });
    const int    port = llap_server_port(s);
    reply csv = ask(port, "POST", forecasting, "Content-Type: text/csv\r\nAccept: text/csv\r\n",
                    rows, sizeof rows - 1);
    reply r = infer(port, "{\"id\":\"7\",\"inputs\":[" WHO "," WHEN "," VALUES "]," PARAMETERS "}");
    assert_int_equal(csv.status, 200);
    if (r.status != 200) fail_msg("found %d: %s", r.status, r.body);
    assert_non_null(strstr(r.body, "{\"model_name\":\"air\",\"id\":\"7\",\"outputs\":[{"));
    const char *q =
        strstr(r.body, "\"name\":\"q0.9\",\"datatype\":\"FP64\",\"shape\":[4],\"data\":[");
    assert_non_null(q);
    q = strstr(q, "\"data\":[") + 8;
    for (int64_t i = 0; i < 4; i++, q = strchr(q, ',') + 1)
        assert_float_equal(strtod(q, NULL), cell(csv.body, i, 5), 1e-5);
    forget_reply(&csv);
    forget_reply(&r);
    r = infer(port, "{\"inputs\":[" WHO "," WHEN "," VALUES "],\"outputs\":[{\"name\":\"mean\"}]}");
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "\"mean\""));
    assert_null(strstr(r.body, "\"entity\""));
    forget_reply(&r);
    static const struct {
        const char *body, *says;
    } wrong[] = {
        { "{}", "expected 1 to" },
        { "{\"inputs\":[" WHO "],\"more\":1}", "more" },
        { "{\"inputs\":[" WHO "," WHO "]}", "duplicate" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\",\"data\":[1]}]}",
          "expected 2 values, found 1" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]"
          "}",
          "one dimension" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[2147483647,2147483647,2147483647],\"datatype\":"
          "\"FP32\",\"data\":[]}]}",
          "one dimension" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT8\",\"data\":[1.5]}]}",
          "values of the type INT8" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[{}]}]}",
          "values of the type BYTES" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP128\",\"data\":[1]}]}",
          "FP64" },
        { "{\"inputs\":[" WHO "," WHEN "," VALUES "],\"parameters\":[1]}", "expected an object" },
        { "{\"inputs\":[" WHO "," WHEN "," VALUES "],\"parameters\":{\"device\":\"cuda\"}}",
          "device" },
        { "{\"inputs\":[" WHO "," WHEN "," VALUES "],\"parameters\":{\"data\":{}}}", "duplicate" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        r = infer(port, wrong[i].body);
        if (r.status < 400 || r.status > 422 || strstr(r.body, wrong[i].says) == NULL)
            fail_msg("%s: found %d: %s", wrong[i].body, r.status, r.body);
        assert_non_null(strstr(r.body, "\"error\":\"")); /* as the protocol has it */
        forget_reply(&r);
    }
    llap_server_stop(s);
}

static void what_the_protocol_tells(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ 0 });
    const int    port = llap_server_port(s);
    check_reply(ask(port, "GET", "/v2", "", NULL, 0), 200, "{\"name\":\"llapdiff\",\"version\":\"");
    check_reply(ask(port, "GET", "/v2/models/air", "", NULL, 0), 200,
                "{\"name\":\"v0\",\"datatype\":\"FP64\",\"shape\":[-1]}");
    check_reply(ask(port, "GET", "/v2/models/air/ready", "", NULL, 0), 200,
                "{\"name\":\"air\",\"ready\":true}");
    check_reply(ask(port, "GET", "/v2/models/none/ready", "", NULL, 0), 404,
                "\"error\":\"no model");
    check_reply(ask(port, "GET", "/v2/models/none", "", NULL, 0), 404, NULL);
    llap_server_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrow_comes_in),          cmocka_unit_test(arrow_goes_out),
        cmocka_unit_test(history_in_each_form),    cmocka_unit_test(tensors),
        cmocka_unit_test(what_the_protocol_tells),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
