#include "serve/library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

typedef struct symbol {
    const char *name;
    size_t      at; /* of the pointer in the table */
} symbol;

#define SYMBOL(name, result, arguments) { "MHD_" #name, offsetof(ll_mhd_library, name) },
static const symbol symbols[] = { LL_MHD_FUNCTIONS(SYMBOL) };

/* Finds all of them. The library stays loaded: it has threads of its own. */
static llap_status find(const char *file, ll_mhd_library *out)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "a server needs %s: install the package libmicrohttpd12 (%s)", file,
                       dlerror());
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

llap_status ll_mhd_load(const char *file, const ll_mhd_library **out)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static ll_mhd_library  library;
    static bool            loaded;
    llap_status            st = LLAP_OK;
    *out = &library;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (!loaded || file != NULL) {
        ll_mhd_library found = { 0 };
        st = find(file == NULL ? "libmicrohttpd.so.12" : file, &found);
        if (st == LLAP_OK && !loaded) library = found;
        loaded |= st == LLAP_OK;
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    return st;
}
