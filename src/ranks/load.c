#define _GNU_SOURCE /* dladdr */
#include "ranks/ranks.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ranks/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT "llapdiff/llapdiff-mpi.so"

/* MPI is one of a process, and so is this. */
static const ll_ranks_driver *driver;
static ll_ranks               joined;

const ll_ranks *ll_ranks_joined(void) { return joined.size > 1 ? &joined : NULL; }

/* Beside the library that this code is in. Caller owns it. */
static char *object_path(void)
{
    Dl_info info;
    if (dladdr((void *)(uintptr_t)ll_ranks_joined, &info) == 0 || info.dli_fname == NULL)
        return ll_strndup(OBJECT, strlen(OBJECT));
    const char  *slash = strrchr(info.dli_fname, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - info.dli_fname) + 1;
    char        *path = ll_new(folder + sizeof OBJECT, 1);
    if (path == NULL) return NULL;
    memcpy(path, info.dli_fname, folder);
    memcpy(path + folder, OBJECT, sizeof OBJECT);
    return path;
}

/* Never unloaded: MPI keeps threads and exit handlers. */
static llap_status load(void)
{
    char *path = object_path();
    if (path == NULL) return LLAP_ENOMEM;
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    ll_free(path);
    if (handle == NULL)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "ranks: no MPI support here: install the package libopenmpi3, or build with "
                       "libopenmpi-dev (%s)",
                       dlerror());
    driver = dlsym(handle, LL_RANKS_SYMBOL);
    if (driver != NULL && driver->abi == LL_RANKS_ABI) return LLAP_OK;
    driver = NULL;
    return ll_fail(LLAP_EUNSUPPORTED,
                   "ranks: the object llapdiff-mpi.so belongs to another version");
}

llap_status llap_ranks_join(int *rank, int *size)
{
    *rank = 0;
    *size = 1;
    const char *launched = getenv("OMPI_COMM_WORLD_SIZE");
    if (driver == NULL && (launched == NULL || atoi(launched) < 2)) return LLAP_OK;
    if (driver == NULL) {
        const llap_status st = load();
        if (st != LLAP_OK) return st;
        const int error = driver->join(&joined.rank, &joined.size);
        if (error != 0) return ll_fail(LLAP_EIO, "ranks: MPI could not begin (error %d)", error);
    }
    *rank = joined.rank;
    *size = joined.size;
    return LLAP_OK;
}

void llap_ranks_leave(int code)
{
    if (driver != NULL) driver->leave(code);
    joined = (ll_ranks){ 0 };
}

llap_status ll_ranks_share(const ll_ranks *r, void *bytes, size_t n, int from)
{
    if (r == NULL) return LLAP_OK;
    const int error = driver->share(bytes, n, from);
    return error == 0 ? LLAP_OK
                      : ll_fail(LLAP_EIO, "ranks: rank %d could not share %zu bytes (error %d)",
                                from, n, error);
}

llap_status ll_ranks_agree(const ll_ranks *r, uint64_t number, const char *what)
{
    if (r == NULL) return LLAP_OK;
    int         other = 0;
    uint64_t   *all = ll_new((size_t)r->size, sizeof *all);
    llap_status st = all == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && driver->gather(number, all) != 0)
        st = ll_fail(LLAP_EIO, "ranks: rank %d could not be heard", r->rank);
    for (int i = r->size - 1; st == LLAP_OK && i > 0; i--)
        if (all[i] != all[0]) other = i;
    ll_free(all);
    if (st != LLAP_OK || other == 0) return st;
    if (r->rank > 0) driver->wait();
    return ll_fail(LLAP_EINVAL, "rank %d of %d has %s than rank 0", other, r->size, what);
}
