/* Our declarations of libmosquitto are those of its header. */
#include "mqtt/library.h"
#include "check.h"

#include <assert.h>
#include <mosquitto.h>

#define SAME(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define IS(f) static_assert(SAME(*(ll_mosquitto_library){ 0 }.f, mosquitto_##f), #f)
IS(lib_version);
IS(lib_init);
IS(new);
IS(destroy);
IS(username_pw_set);
IS(tls_set);
IS(threaded_set);
IS(connect);
IS(disconnect);
IS(subscribe);
IS(socket);
IS(want_write);
IS(loop_read);
IS(loop_write);
IS(loop_misc);
IS(connect_callback_set);
IS(subscribe_callback_set);
IS(strerror);
IS(connack_string);
/* theirs has an enum in the place of an int; ours has our name of the message */
static_assert(SAME(mosquitto_int_option, int(struct mosquitto *, enum mosq_opt_t, int)) &&
                  sizeof(enum mosq_opt_t) == sizeof(int),
              "int_option");
static_assert(SAME(mosquitto_message_callback_set,
                   void(struct mosquitto *, LL_MOSQUITTO_MESSAGE(struct mosquitto_message))),
              "message_callback_set");
#define FIELD(name)                                                                         \
    static_assert(                                                                          \
        offsetof(ll_mosquitto_message, name) == offsetof(struct mosquitto_message, name) && \
            SAME(((ll_mosquitto_message *)0)->name, ((struct mosquitto_message *)0)->name), \
        #name)
FIELD(mid);
FIELD(topic);
FIELD(payload);
FIELD(payloadlen);
FIELD(qos);
FIELD(retain);
static_assert(sizeof(ll_mosquitto_message) == sizeof(struct mosquitto_message), "message");
static_assert(LL_MOSQ_SUCCESS == (int)MOSQ_ERR_SUCCESS && LL_MOSQ_NOMEM == (int)MOSQ_ERR_NOMEM &&
                  LL_MOSQ_ERRNO == (int)MOSQ_ERR_ERRNO &&
                  LL_MOSQ_OPT_TCP_NODELAY == (int)MOSQ_OPT_TCP_NODELAY,
              "constants");

static void the_library_is_found(void **state)
{
    (void)state;
    const ll_mosquitto_library *lib;
    CHECK_FAIL(ll_mosquitto_load("libnothere.so.7", &lib), LLAP_EUNSUPPORTED,
               "MQTT needs libnothere.so.7: install the package libmosquitto1 (");
    CHECK_FAIL(ll_mosquitto_load("libc.so.6", &lib), LLAP_EUNSUPPORTED,
               "libc.so.6 has no mosquitto_lib_version: a newer one is needed");
    CHECK_OK(ll_mosquitto_load(NULL, &lib));
    assert_non_null(lib->loop_misc);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_library_is_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
