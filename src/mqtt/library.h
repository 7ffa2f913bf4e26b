/* What is called in libmosquitto, as its manual has it: a table of functions that are found in the
 * library when a broker is named. Its binary interface is kept, so it is not needed to build;
 * tests/mqtt/library.c compares all of this with its header. */
#ifndef LL_MQTT_LIBRARY_H
#define LL_MQTT_LIBRARY_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>

struct mosquitto;

typedef struct ll_mosquitto_message {
    int   mid;
    char *topic;
    void *payload;
    int   payloadlen;
    int   qos;
    bool  retain;
} ll_mosquitto_message;

enum { /* their enum, which is passed as int */
       LL_MOSQ_SUCCESS = 0,
       LL_MOSQ_NOMEM = 1,
       LL_MOSQ_ERRNO = 14,
       LL_MOSQ_OPT_TCP_NODELAY = 11,
};

typedef void (*ll_mosq_on_connect)(struct mosquitto *, void *, int);
typedef void (*ll_mosq_on_subscribe)(struct mosquitto *, void *, int, int, const int *);
typedef int (*ll_mosq_password)(char *, int, int, void *);

#define LL_MOSQUITTO_MESSAGE(type) void (*)(struct mosquitto *, void *, const type *)

/* clang-format off */
#define LL_MOSQUITTO_FUNCTIONS(X) /* name behind mosquitto_, result, arguments */                  \
    X(lib_version,        int,                (int *, int *, int *))                               \
    X(lib_init,           int,                (void))                                              \
    X(new,                struct mosquitto *, (const char *, bool, void *))                        \
    X(destroy,            void,               (struct mosquitto *))                                \
    X(username_pw_set,    int,                (struct mosquitto *, const char *, const char *))    \
    X(tls_set,            int,                (struct mosquitto *, const char *, const char *, const char *, const char *, ll_mosq_password)) \
    X(int_option,         int,                (struct mosquitto *, int, int))                      \
    X(threaded_set,       int,                (struct mosquitto *, bool))                          \
    X(connect,            int,                (struct mosquitto *, const char *, int, int))        \
    X(disconnect,         int,                (struct mosquitto *))                                \
    X(subscribe,          int,                (struct mosquitto *, int *, const char *, int))      \
    X(socket,             int,                (struct mosquitto *))                                \
    X(want_write,         bool,               (struct mosquitto *))                                \
    X(loop_read,          int,                (struct mosquitto *, int))                           \
    X(loop_write,         int,                (struct mosquitto *, int))                           \
    X(loop_misc,          int,                (struct mosquitto *))                                \
    X(connect_callback_set, void,             (struct mosquitto *, ll_mosq_on_connect))            \
    X(subscribe_callback_set, void,           (struct mosquitto *, ll_mosq_on_subscribe))          \
    X(message_callback_set, void,             (struct mosquitto *, LL_MOSQUITTO_MESSAGE(ll_mosquitto_message))) \
    X(strerror,           const char *,       (int))                                               \
    X(connack_string,     const char *,       (int))
/* clang-format on */

#define LL_MOSQUITTO_FIELD(name, result, arguments) result(*name) arguments;
typedef struct ll_mosquitto_library {
    LL_MOSQUITTO_FUNCTIONS(LL_MOSQUITTO_FIELD)
} ll_mosquitto_library;

/* The table lasts until the program ends. file: NULL is the usual one. LLAP_EUNSUPPORTED: it is not
 * on this machine, or too old. */
llap_status ll_mosquitto_load(const char *file, const ll_mosquitto_library **out);

#endif
