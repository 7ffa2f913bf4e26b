/* Our declarations of libmicrohttpd are those of its header. */
#include "serve/library.h"

#include "check.h"

#include <assert.h>
#include <microhttpd.h>

#define SAME(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define IS(f) static_assert(SAME(*(ll_mhd_library){ 0 }.f, MHD_##f), #f)
IS(quiesce_daemon);
IS(stop_daemon);
IS(get_version);
IS(is_feature_supported);
IS(lookup_connection_value);
IS(queue_response);
IS(suspend_connection);
IS(resume_connection);
IS(create_response_from_callback);
IS(create_response_from_buffer);
IS(create_response_from_buffer_with_free_callback);
IS(destroy_response);
IS(add_response_header);
static_assert(SAME(ll_mhd_access, MHD_AccessHandlerCallback), "access");
static_assert(SAME(ll_mhd_reader, MHD_ContentReaderCallback), "reader");
static_assert(SAME(ll_mhd_each, MHD_KeyValueIteratorN), "each");
static_assert(sizeof(ll_mhd_option) == sizeof(struct MHD_OptionItem) &&
                  offsetof(ll_mhd_option, value) == offsetof(struct MHD_OptionItem, value) &&
                  offsetof(ll_mhd_option, pointer) == offsetof(struct MHD_OptionItem, ptr_value),
              "options");

static void constants_are_theirs(void **state)
{
    (void)state;
    static const int pairs[][2] = {
        { LL_MHD_NO, MHD_NO },
        { LL_MHD_YES, MHD_YES },
        { LL_MHD_USE_TLS, MHD_USE_TLS },
        { LL_MHD_USE_INTERNAL_POLLING_THREAD, MHD_USE_INTERNAL_POLLING_THREAD },
        { LL_MHD_USE_ITC, MHD_USE_ITC },
        { LL_MHD_ALLOW_SUSPEND_RESUME, MHD_ALLOW_SUSPEND_RESUME },
        { LL_MHD_USE_AUTO, MHD_USE_AUTO },
        { LL_MHD_OPTION_END, MHD_OPTION_END },
        { LL_MHD_OPTION_CONNECTION_MEMORY_LIMIT, MHD_OPTION_CONNECTION_MEMORY_LIMIT },
        { LL_MHD_OPTION_CONNECTION_LIMIT, MHD_OPTION_CONNECTION_LIMIT },
        { LL_MHD_OPTION_NOTIFY_COMPLETED, MHD_OPTION_NOTIFY_COMPLETED },
        { LL_MHD_OPTION_HTTPS_MEM_KEY, MHD_OPTION_HTTPS_MEM_KEY },
        { LL_MHD_OPTION_HTTPS_MEM_CERT, MHD_OPTION_HTTPS_MEM_CERT },
        { LL_MHD_OPTION_HTTPS_PRIORITIES, MHD_OPTION_HTTPS_PRIORITIES },
        { LL_MHD_OPTION_LISTEN_SOCKET, MHD_OPTION_LISTEN_SOCKET },
        { LL_MHD_OPTION_ARRAY, MHD_OPTION_ARRAY },
        { LL_MHD_OPTION_NOTIFY_CONNECTION, MHD_OPTION_NOTIFY_CONNECTION },
        { LL_MHD_OPTION_STRICT_FOR_CLIENT, MHD_OPTION_STRICT_FOR_CLIENT },
        { LL_MHD_HEADER_KIND, MHD_HEADER_KIND },
        { LL_MHD_GET_ARGUMENT_KIND, MHD_GET_ARGUMENT_KIND },
        { LL_MHD_CONNECTION_NOTIFY_STARTED, MHD_CONNECTION_NOTIFY_STARTED },
        { LL_MHD_CONNECTION_INFO_CLIENT_ADDRESS, MHD_CONNECTION_INFO_CLIENT_ADDRESS },
        { LL_MHD_CONNECTION_INFO_DAEMON, MHD_CONNECTION_INFO_DAEMON },
        { LL_MHD_CONNECTION_INFO_CONNECTION_FD, MHD_CONNECTION_INFO_CONNECTION_FD },
        { LL_MHD_CONNECTION_INFO_SOCKET_CONTEXT, MHD_CONNECTION_INFO_SOCKET_CONTEXT },
        { LL_MHD_DAEMON_INFO_CURRENT_CONNECTIONS, MHD_DAEMON_INFO_CURRENT_CONNECTIONS },
        { LL_MHD_RESPMEM_PERSISTENT, MHD_RESPMEM_PERSISTENT },
        { LL_MHD_FEATURE_TLS, MHD_FEATURE_TLS },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1]) fail_msg("constant %zu is %d", i, pairs[i][1]);
    assert_true(LL_MHD_CONTENT_READER_END_OF_STREAM == MHD_CONTENT_READER_END_OF_STREAM);
    assert_true(LL_MHD_SIZE_UNKNOWN == MHD_SIZE_UNKNOWN);
}

static void a_library_that_is_not_there(void **state)
{
    (void)state;
    const ll_mhd_library *mhd;
    CHECK_FAIL(ll_mhd_load("libnone.so.1", &mhd), LLAP_EUNSUPPORTED, "install the package");
    CHECK_OK(ll_mhd_load(NULL, &mhd));
    assert_non_null(mhd->get_version());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_theirs),
        cmocka_unit_test(a_library_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
