/* What is called in libmicrohttpd, as its manual has it: a table of functions that are found in the
 * library when a server starts. Its binary interface is kept, so it is not needed to build;
 * tests/serve/library.c compares all of this with its header. */
#ifndef LL_SERVE_LIBRARY_H
#define LL_SERVE_LIBRARY_H

#include <llapdiff/status.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

enum {
    LL_MHD_NO = 0,
    LL_MHD_YES = 1,
    LL_MHD_USE_TLS = 2,
    LL_MHD_USE_INTERNAL_POLLING_THREAD = 8,
    LL_MHD_USE_ITC = 1024,
    LL_MHD_ALLOW_SUSPEND_RESUME = 8192 | LL_MHD_USE_ITC,
    LL_MHD_USE_AUTO = 65536,
    LL_MHD_OPTION_END = 0,
    LL_MHD_OPTION_CONNECTION_MEMORY_LIMIT = 1, /* size_t */
    LL_MHD_OPTION_CONNECTION_LIMIT = 2,        /* unsigned */
    LL_MHD_OPTION_NOTIFY_COMPLETED = 4,        /* function, pointer */
    LL_MHD_OPTION_HTTPS_MEM_KEY = 8,
    LL_MHD_OPTION_HTTPS_MEM_CERT = 9,
    LL_MHD_OPTION_HTTPS_PRIORITIES = 11,
    LL_MHD_OPTION_LISTEN_SOCKET = 12, /* int */
    LL_MHD_OPTION_ARRAY = 15,
    LL_MHD_OPTION_NOTIFY_CONNECTION = 27, /* function, pointer */
    LL_MHD_OPTION_STRICT_FOR_CLIENT = 29, /* int */
    LL_MHD_HEADER_KIND = 1,
    LL_MHD_GET_ARGUMENT_KIND = 8,
    LL_MHD_CONNECTION_NOTIFY_STARTED = 0,
    LL_MHD_CONNECTION_INFO_CLIENT_ADDRESS = 2,
    LL_MHD_CONNECTION_INFO_DAEMON = 5,
    LL_MHD_CONNECTION_INFO_CONNECTION_FD = 6,
    LL_MHD_CONNECTION_INFO_SOCKET_CONTEXT = 7,
    LL_MHD_DAEMON_INFO_CURRENT_CONNECTIONS = 4,
    LL_MHD_RESPMEM_PERSISTENT = 0,
    LL_MHD_FEATURE_TLS = 2,
};
#define LL_MHD_CONTENT_READER_END_OF_STREAM ((ssize_t)-1)
#define LL_MHD_SIZE_UNKNOWN ((uint64_t)-1)

/* Their enums are passed as unsigned int. */
typedef unsigned int (*ll_mhd_accept)(void *, const void *, unsigned int);
typedef unsigned int (*ll_mhd_access)(void *, struct MHD_Connection *, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *n_upload, void **request);
typedef unsigned int (*ll_mhd_each)(void *, unsigned int kind, const char *key, size_t n_key,
                                    const char *value, size_t n_value);
typedef ssize_t (*ll_mhd_reader)(void *, uint64_t at, char *to, size_t room);
typedef void (*ll_mhd_free)(void *);

typedef struct ll_mhd_option {
    unsigned int option;
    intptr_t     value;
    void        *pointer;
} ll_mhd_option;

/* clang-format off */
#define LL_MHD_FUNCTIONS(X) /* name behind MHD_, result, arguments */                              \
    X(start_daemon,      struct MHD_Daemon *,   (unsigned int, uint16_t, ll_mhd_accept, void *, ll_mhd_access, void *, ...)) \
    X(quiesce_daemon,    int,                   (struct MHD_Daemon *))                             \
    X(stop_daemon,       void,                  (struct MHD_Daemon *))                             \
    X(get_daemon_info,   const void *,          (struct MHD_Daemon *, unsigned int, ...))          \
    X(get_version,       const char *,          (void))                                            \
    X(is_feature_supported, unsigned int,       (unsigned int))                                    \
    X(get_connection_info, const void *,        (struct MHD_Connection *, unsigned int, ...))      \
    X(get_connection_values_n, int,             (struct MHD_Connection *, unsigned int, ll_mhd_each, void *)) \
    X(lookup_connection_value, const char *,    (struct MHD_Connection *, unsigned int, const char *)) \
    X(queue_response,    unsigned int,          (struct MHD_Connection *, unsigned int, struct MHD_Response *)) \
    X(suspend_connection, void,                 (struct MHD_Connection *))                         \
    X(resume_connection, void,                  (struct MHD_Connection *))                         \
    X(create_response_from_callback, struct MHD_Response *, (uint64_t, size_t, ll_mhd_reader, void *, ll_mhd_free)) \
    X(create_response_from_buffer, struct MHD_Response *, (size_t, void *, unsigned int))          \
    X(create_response_from_buffer_with_free_callback, struct MHD_Response *, (size_t, void *, ll_mhd_free)) \
    X(destroy_response,  void,                  (struct MHD_Response *))                           \
    X(add_response_header, unsigned int,        (struct MHD_Response *, const char *, const char *))
/* clang-format on */

#define LL_MHD_FIELD(name, result, arguments) result(*name) arguments;
typedef struct ll_mhd_library {
    LL_MHD_FUNCTIONS(LL_MHD_FIELD)
} ll_mhd_library;

/* The table lasts until the program ends. file: NULL is the usual one. LLAP_EUNSUPPORTED: it is not
 * on this machine, or too old. */
llap_status ll_mhd_load(const char *file, const ll_mhd_library **out);

#endif
