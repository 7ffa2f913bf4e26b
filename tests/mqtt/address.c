/* Addresses of brokers. */
#include "mqtt/address.h"

#include "check.h"

static void are_taken_apart(void **state)
{
    (void)state;
    ll_mqtt_address a;
    CHECK_OK(ll_mqtt_address_init(&a, "mqtt://broker/ward/#"));
    assert_string_equal(a.host, "broker");
    assert_string_equal(a.filter, "ward/#");
    assert_int_equal(a.port, 1883);
    assert_null(a.user);
    assert_null(a.stream);
    assert_string_equal(a.name, "mqtt://broker:1883/ward/#");
    ll_mqtt_address_deinit(&a);
    CHECK_OK(ll_mqtt_address_init(
        &a,
        "mqtts://me:p%40s%3As@[::1]:77//a%20b/+/%23?stream=s&model=m&client=c%26d&columns=time,x"
        "&time=t&entity=e&cafile=/ca.pem"));
    assert_true(a.tls);
    assert_string_equal(a.host, "::1");
    assert_int_equal(a.port, 77);
    assert_string_equal(a.user, "me");
    assert_string_equal(a.password, "p@s:s");
    assert_string_equal(a.filter, "/a b/+/#");
    assert_string_equal(a.client, "c&d");
    assert_string_equal(a.columns, "time,x");
    assert_string_equal(a.cafile, "/ca.pem");
    assert_string_equal(a.name, "mqtts://::1:77//a b/+/#");
    ll_mqtt_address_deinit(&a);
    CHECK_OK(ll_mqtt_address_init(&a, "mqtts://h/#?password_file=x"));
    assert_int_equal(a.port, 8883);
    assert_string_equal(a.password_file, "x");
    ll_mqtt_address_deinit(&a);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } table[] = {
        { "http://h/a", "expected mqtt://HOST/TOPIC" },
        { "mqtt://", "no host given" },
        { "mqtt:///a", "no host given" },
        { "mqtt://[]/a", "no host given" },
        { "mqtt://[::1/a", "no host given" },
        { "mqtt://[::1]x/a", "no host given" },
        { "mqtt://h", "expected a topic" },
        { "mqtt://h/", "expected a topic" },
        { "mqtt://h/a+/b", "expected a topic" },
        { "mqtt://h/#/b", "expected a topic" },
        { "mqtt://h/a#", "expected a topic" },
        { "mqtt://h:0/a", "port: expected a number in 1..65535" },
        { "mqtt://h:65536/a", "port" },
        { "mqtt://h:+80/a", "port" },
        { "mqtt://h:/a", "port" },
        { "mqtt://h/a%", "topic: byte 2: % is followed by no code" },
        { "mqtt://h/a%ff", "topic: byte 2 is not UTF-8" },
        { "mqtt://h/a?steam=b", "found 'steam'" },
        { "mqtt://h/a?stream", "found 'stream'" },
        { "mqtt://h/a?stream=", "found 'stream'" },
        { "mqtt://h/a?stream=a&stream=b", "stream: is given twice" },
        { "mqtt://u:secret@h/a?password_file=b", "a password and password_file" },
        { "mqtt://u:p@secret@h/a", "@ in them as %40" },
        { "mqtt://u:secret/x@h/a", "expected user:password@host/TOPIC" },
        { "mqtt://u:secret?x@h/a", "expected user:password@host/TOPIC" },
        { "mqtt://u:1/a?secret@h/a", "expected user:password@host/TOPIC" },
        { "mqtt://u:secret:x@h/a", ": in them as %3A" },
        { "mqtt://u:secret%zz@h/a", "password: byte 7: % is followed by no code" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ll_mqtt_address a;
        CHECK_FAIL(ll_mqtt_address_init(&a, table[i].text), LLAP_EINVAL, table[i].wrong);
        assert_null(strstr(llap_error_detail(), "secret"));
        ll_mqtt_address_deinit(&a);
    }
}

static llap_status work(void *text)
{
    ll_mqtt_address   a;
    const llap_status st = ll_mqtt_address_init(&a, text);
    ll_mqtt_address_deinit(&a);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    check_every_failed_allocation(work, (void *)(uintptr_t) "mqtt://u:p@h/a?stream=b&client=c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_taken_apart),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
