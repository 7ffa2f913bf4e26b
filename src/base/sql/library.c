#include "base/sql/library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

typedef struct symbol {
    const char *name;
    size_t      at; /* of the pointer in the table */
} symbol;

/* clang-format off */
#define SQLITE_SYMBOL(name, result, arguments) { "sqlite3_" #name, offsetof(ll_sqlite_library, name) },
#define PQ_SYMBOL(name, result, arguments)     { "PQ" #name, offsetof(ll_pq_library, name) },
/* clang-format on */
static const symbol sqlite_symbols[] = { LL_SQLITE_FUNCTIONS(SQLITE_SYMBOL) };
static const symbol pq_symbols[] = { LL_PQ_FUNCTIONS(PQ_SYMBOL) };

/* Finds all of them. The library stays loaded: others may hold threads and handlers of it. */
static llap_status find(const char *file, const char *what, const char *package, const symbol *s,
                        size_t n, void *table)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return ll_fail(LLAP_EUNSUPPORTED, "%s: needs %s: install the package %s (%s)", what, file,
                       package, dlerror());
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        void *at = dlsym(handle, s[i].name);
        if (at == NULL)
            st = ll_fail(LLAP_EUNSUPPORTED, "%s: %s has no %s: a newer one is needed", what, file,
                         s[i].name);
        memcpy((char *)table + s[i].at, &at, sizeof at);
    }
    (void)dlclose(handle);
    return st;
}

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

llap_status ll_sqlite_load(const char *file, const char *what, const ll_sqlite_library **out)
{
    static ll_sqlite_library library;
    static bool              loaded;
    llap_status              st = LLAP_OK;
    *out = &library;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (!loaded || file != NULL) {
        ll_sqlite_library found = { 0 };
        st = find(file == NULL ? "libsqlite3.so.0" : file, what, "libsqlite3-0", sqlite_symbols,
                  sizeof sqlite_symbols / sizeof *sqlite_symbols, &found);
        if (st == LLAP_OK && found.threadsafe() == 0)
            st = ll_fail(LLAP_EUNSUPPORTED, "%s: this libsqlite3 was built without threads", what);
        if (st == LLAP_OK && !loaded) library = found;
        loaded |= st == LLAP_OK;
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    return st;
}

llap_status ll_pq_load(const char *file, const char *what, const ll_pq_library **out)
{
    static ll_pq_library library;
    static bool          loaded;
    llap_status          st = LLAP_OK;
    *out = &library;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (!loaded || file != NULL) {
        ll_pq_library found = { 0 };
        st = find(file == NULL ? "libpq.so.5" : file, what, "libpq5", pq_symbols,
                  sizeof pq_symbols / sizeof *pq_symbols, &found);
        if (st == LLAP_OK && !loaded) library = found;
        loaded |= st == LLAP_OK;
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    return st;
}
