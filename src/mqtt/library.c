#include "mqtt/library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef struct symbol {
    const char *name;
    size_t      at; /* of the pointer in the table */
} symbol;

/* clang-format off */
#define SYMBOL(name, result, arguments) { "mosquitto_" #name, offsetof(ll_mosquitto_library, name) },
/* clang-format on */
static const symbol symbols[] = { LL_MOSQUITTO_FUNCTIONS(SYMBOL) };

static llap_status find(const char *file, ll_mosquitto_library *out)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return ll_fail(LLAP_EUNSUPPORTED, "MQTT needs %s: install the package libmosquitto1 (%s)",
                       file, dlerror());
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols && st == LLAP_OK; i++) {
        void *at = dlsym(handle, symbols[i].name);
        if (at == NULL)
            st = ll_fail(LLAP_EUNSUPPORTED, "%s has no %s: a newer one is needed", file,
                         symbols[i].name);
        memcpy((char *)out + symbols[i].at, &at, sizeof at);
    }
    (void)dlclose(handle);
    return st;
}

llap_status ll_mosquitto_load(const char *file, const ll_mosquitto_library **out)
{
    static pthread_mutex_t      one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static ll_mosquitto_library library;
    static bool                 loaded;
    llap_status                 st = LLAP_OK;
    *out = &library;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (!loaded || file != NULL) {
        ll_mosquitto_library found = { 0 };
        int                  major = 0;
        st = find(file == NULL ? "libmosquitto.so.1" : file, &found);
        if (st == LLAP_OK) (void)found.lib_version(&major, NULL, NULL);
        if (st == LLAP_OK && major < 2)
            st = ll_fail(LLAP_EUNSUPPORTED, "MQTT: expected libmosquitto 2 or later, found %d",
                         major);
        if (st == LLAP_OK && !loaded) {
            library = found;
            (void)library.lib_init();
        }
        loaded |= st == LLAP_OK;
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    return st;
}
