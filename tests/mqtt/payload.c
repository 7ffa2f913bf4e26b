/* Messages to rows: which entity, variable and time; and what is none. */
#include "mqtt/payload.h"

#include "check.h"

#include <math.h>

static const char *const     two[] = { "pulse", "spo2", NULL };
static const int64_t         now = 1714564800123456789, second = 1000000000;
static const ll_payload_form ward = { .filter = "ward/#", .variable = two, .n_variables = 2 };

/* "entity seconds pulse spo2", "passed", or the failure's name and detail. */
static const char *read_as(const ll_payload_form *f, const char *topic, const char *payload)
{
    static char     text[2000];
    double          value[2];
    ll_payload_row  row = { .value = value };
    ll_payload_kind kind;
    char           *copy = malloc(strlen(payload)); /* nothing may be read behind its end */
    memcpy(copy, payload, strlen(payload));
    const llap_status st = ll_payload_read(f, topic, copy, strlen(payload), now, &row, &kind);
    free(copy);
    if (st != LLAP_OK) {
        snprintf(text, sizeof text, "%s %s", llap_status_name(st), llap_error_detail());
        return text;
    }
    if (kind == LL_PAYLOAD_OTHER) return "passed";
    size_t n =
        (size_t)snprintf(text, sizeof text, "%s %s", row.entity, row.time == now ? "now" : "");
    if (row.time != now)
        n += (size_t)snprintf(text + n, sizeof text - n, "%.9g", (double)row.time / (double)second);
    for (int64_t v = 0; v < f->n_variables; v++)
        n += isnan(value[v]) ? (size_t)snprintf(text + n, sizeof text - n, " -")
                             : (size_t)snprintf(text + n, sizeof text - n, " %.9g", value[v]);
    return text;
}

#define IS(f, topic, payload, wanted) assert_string_equal(read_as(f, topic, payload), wanted)
#define FAILS(f, topic, payload, wanted) assert_non_null(strstr(read_as(f, topic, payload), wanted))

static void topics_name_entities_and_variables(void **state)
{
    (void)state;
    ll_payload_form f = ward;
    IS(&f, "ward/bed 4/pulse", "71", "bed 4 now 71 -");
    IS(&f, "ward/north/bed 4/spo2", " 97.5\r\n", "north/bed 4 now - 97.5");
    IS(&f, "ward/pulse", "71", "series now 71 -");
    IS(&f, "ward/bed 4/other", "71", "passed");
    IS(&f, "ward", "{\"pulse\": 1}", "series now 1 -");
    IS(&f, "ward/bed 4", "{\"pulse\": 1}", "bed 4 now 1 -");
    FAILS(&f, "word/bed 4/pulse", "71", "LLAP_EFORMAT topic 'word/bed 4/pulse': the topic is none");
    f.filter = "+/vitals/+";
    IS(&f, "bed 4/vitals/pulse", "71", "bed 4 now 71 -");
    IS(&f, "bed 4/vitals/all", "{\"spo2\": 99}", "bed 4/all now - 99");
    FAILS(&f, "bed 4/vitals", "71", "is none of '+/vitals/+'");
    FAILS(&f, "bed 4/vitals/pulse/x", "71", "is none of");
    FAILS(&f, "bed 4/other/pulse", "71", "is none of");
    f.filter = "#";
    IS(&f, "a/pulse", "71", "a now 71 -");
    f.filter = "a/pulse"; /* no wildcard */
    IS(&f, "a/pulse", "71", "series now 71 -");
    FAILS(&f, "a/pulse/", "71", "is none of");
    f.filter = "w/+/#";
    IS(&f, "w/1", "{\"pulse\": 1}", "1 now 1 -");
    IS(&f, "w/1/2/3", "{\"pulse\": 1}", "1/2/3 now 1 -");
    f.n_variables = 1; /* the only one need not be named */
    IS(&f, "w/1/2", "71", "1/2 now 71");
    IS(&f, "w/1/pulse", "71", "1 now 71");
    char topic[400] = "w/";
    memset(topic + 2, 'x', 256);
    FAILS(&f, topic, "71", "LLAP_ELIMIT");
    topic[2 + 255] = '\0';
    assert_null(strstr(read_as(&f, topic, "71"), "LLAP"));
    FAILS(&f, "w/\xff", "71", "not UTF-8");
}

static void lines_and_numbers(void **state)
{
    (void)state;
    ll_payload_form f = ward;
    IS(&f, "ward/a/pulse", "2024-05-01T12:00:00Z,71", "a 1.7145648e+09 71 -");
    IS(&f, "ward/a/pulse", "2024-05-01 14:00:00+02:00 , 71 ", "a 1.7145648e+09 71 -");
    IS(&f, "ward/a/pulse", "1714564800,71", "a 1.7145648e+09 71 -");
    IS(&f, "ward/a/pulse", "1714564800000,71", "a 1.7145648e+09 71 -");
    IS(&f, "ward/a/pulse", "1714564800000000000,71", "a 1.7145648e+09 71 -");
    IS(&f, "ward/a/pulse", ",71", "a now 71 -");
    IS(&f, "ward/a/pulse", "1.5,", "a 1.5 - -");
    IS(&f, "ward/a/pulse", "NA", "a now - -");
    IS(&f, "ward/a/pulse", "1e400", "a now - -"); /* as everywhere: infinite is missing */
    IS(&f, "ward/a/pulse", "0.1", "a now 0.100000001 -");
    IS(&f, "ward/a/pulse", "", "passed");
    FAILS(&f, "ward/a/pulse", "on", "'pulse': expected a number, found 'on'");
    FAILS(&f, "ward/a/pulse", "yesterday,71", "time 'yesterday'");
    FAILS(&f, "ward/a/pulse", "1,2,3", "expected TIME,VALUE, found 3 fields");
    FAILS(&f, "ward/a/pulse", "1e30,2", "out of range");
    FAILS(&f, "ward/a/pulse", "7\xff", "not text in UTF-8");
    f.columns = "time, bed,spo2,pulse,other";
    f.entity = "bed";
    IS(&f, "ward/a", "1714564800,b,97,71,x", "b 1.7145648e+09 71 97");
    IS(&f, "ward/a", ",,,71,", "series now 71 -");
    FAILS(&f, "ward/a", "71", "expected 5 fields, found 1");
}

static void objects(void **state)
{
    (void)state;
    ll_payload_form f = ward;
    IS(&f, "ward/a", "{\"time\": \"2024-05-01T12:00:00Z\", \"pulse\": 71, \"unit\": {\"a\": []}}",
       "a 1.7145648e+09 71 -");
    IS(&f, "ward/a", "{\"time\": 1714564800.25, \"pulse\": \"71\", \"spo2\": null}",
       "a 1.7145648e+09 71 -");
    IS(&f, "ward/a", " {\"entity\": \"b\", \"spo2\": true} ", "b now - 1");
    IS(&f, "ward/a", "{\"entity\": 7, \"pulse\": 1.5}", "7 now 1.5 -");
    IS(&f, "ward/a/pulse", "{\"value\": 71, \"time\": null}", "a now 71 -");
    IS(&f, "ward/a", "{\"value\": 71}", "passed");
    IS(&f, "ward/a", "{}", "passed");
    FAILS(&f, "ward/a", "{\"pulse\": [1]}", "'pulse': expected a number, found an array or object");
    FAILS(&f, "ward/a", "{\"pulse\": \"unavailable\"}", "found 'unavailable'");
    FAILS(&f, "ward/a", "{\"time\": {}, \"pulse\": 1}", "'time': expected a time");
    FAILS(&f, "ward/a", "{\"pulse\": 1, \"pulse\": 2}", "duplicate");
    FAILS(&f, "ward/a", "{\"pulse\": 1", "payload");
    FAILS(&f, "ward/a", "{\"entity\": \"\\u0000\", \"pulse\": 1}", "LLAP_EFORMAT");
    f.time = "ts";
    IS(&f, "ward/a", "{\"time\": 5, \"ts\": 1714564800, \"pulse\": 1}", "a 1.7145648e+09 1 -");
    char deep[4000] = "{\"x\":", *to = deep + 5;
    for (int i = 0; i < 1000; i++) *to++ = '[';
    FAILS(&f, "ward/a", deep, "LLAP_");
}

static void times_that_are_numbers(void **state)
{
    (void)state;
    ll_payload_form f = ward;
    f.is_number = true;
    f.unit_ns = second;
    IS(&f, "ward/a/pulse", "12.5,71", "a 12.5 71 -");
    IS(&f, "ward/a", "{\"time\": 12, \"pulse\": 1}", "a 12 1 -");
    FAILS(&f, "ward/a/pulse", "71", "no time, and those of the model are numbers");
    FAILS(&f, "ward/a/pulse", "2024-05-01,71", "expected a time that is a number");
}

static void long_ones(void **state)
{
    (void)state;
    char           *text = calloc(1, LL_PAYLOAD_MOST + 2);
    double          value[2];
    ll_payload_row  row = { .value = value };
    ll_payload_kind kind;
    memset(text, '1', LL_PAYLOAD_MOST + 1);
    CHECK_FAIL(ll_payload_read(&ward, "ward/a/pulse", text, LL_PAYLOAD_MOST + 1, now, &row, &kind),
               LLAP_ELIMIT, "a payload of 65537 bytes, at most 65536 are read");
    CHECK_FAIL(ll_payload_read(&ward, "ward/a/pulse", text, LL_PAYLOAD_MOST, now, &row, &kind),
               LLAP_EFORMAT, "expected a number");
    free(text);
}

static llap_status work(void *payload)
{
    double          value[2];
    ll_payload_row  row = { .value = value };
    ll_payload_kind kind;
    return ll_payload_read(&ward, "ward/a/pulse", payload, strlen(payload), now, &row, &kind);
}

static void failing_allocations(void **state)
{
    (void)state;
    check_every_failed_allocation(work, (void *)(uintptr_t) "{\"time\": 7, \"pulse\": 1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_name_entities_and_variables),
        cmocka_unit_test(lines_and_numbers),
        cmocka_unit_test(objects),
        cmocka_unit_test(times_that_are_numbers),
        cmocka_unit_test(long_ones),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
