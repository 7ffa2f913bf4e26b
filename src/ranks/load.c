#define _GNU_SOURCE /* dladdr */
#include "ranks/ranks.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ranks/driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
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

void ll_ranks_part(const ll_ranks *r, int64_t n, int64_t *first, int64_t *end)
{
    const int64_t size = r == NULL ? 1 : r->size, rank = r == NULL ? 0 : r->rank;
    assert(n >= 0 && n <= INT64_MAX / size - size);
    *first = n * rank / size;
    *end = n * (rank + 1) / size;
}

llap_status ll_ranks_spread(const ll_ranks *r, void *x, int64_t n, size_t each)
{
    llap_status st = LLAP_OK;
    for (int i = 0; r != NULL && i < r->size && st == LLAP_OK; i++) {
        const ll_ranks that = { .rank = i, .size = r->size };
        int64_t        first, end;
        ll_ranks_part(&that, n, &first, &end);
        st = ll_ranks_share(r, (char *)x + (size_t)first * each, (size_t)(end - first) * each, i);
    }
    return st;
}

/* ---- sums ---- */

llap_status ll_ranks_adder_init(ll_ranks_adder *a, const ll_ranks *r, size_t n)
{
    enum { MOST = 1 << 16 }; /* numbers of a piece: the room stays small */
    *a = (ll_ranks_adder){ 0 };
    if (r == NULL) return LLAP_OK;
    const size_t size = (size_t)r->size, fair = (n + size - 1) / size;
    a->each = fair < MOST ? fair : MOST;
    a->from = ll_new(size * a->each, sizeof *a->from);
    a->to = ll_new(size * a->each, sizeof *a->to);
    if (a->from == NULL || a->to == NULL) return LLAP_ENOMEM;
    return ll_sum_tree_init(&a->tree, a->each, r->size);
}

void ll_ranks_adder_deinit(ll_ranks_adder *a)
{
    ll_free(a->from);
    ll_free(a->to);
    ll_sum_tree_deinit(&a->tree);
    *a = (ll_ranks_adder){ 0 };
}

/* Of x [n], at most size pieces. Rank i adds piece i of all ranks, then all have all sums. */
static llap_status add_pieces(ll_ranks_adder *a, const ll_ranks *r, float *x, size_t n, int present)
{
    const size_t bytes = a->each * sizeof *x, all = (size_t)r->size * a->each;
    memcpy(a->from, x, n * sizeof *x);
    memset(a->from + n, 0, (all - n) * sizeof *x);
    int error = driver->exchange(a->from, a->to, bytes);
    ll_sum_tree_clear(&a->tree);
    for (int i = 0; i < present; i++) ll_sum_tree_add(&a->tree, a->to + (size_t)i * a->each);
    if (error == 0) error = driver->collect(ll_sum_tree_get(&a->tree), a->from, bytes);
    if (error != 0)
        return ll_fail(LLAP_EIO, "ranks: sums could not be exchanged (error %d)", error);
    memcpy(x, a->from, n * sizeof *x);
    return LLAP_OK;
}

llap_status ll_ranks_add(ll_ranks_adder *a, const ll_ranks *r, float *x, size_t n, int present)
{
    llap_status st = LLAP_OK;
    if (r == NULL) return LLAP_OK;
    assert(present >= 1 && present <= r->size && (n == 0 || a->each > 0));
    const size_t most = (size_t)r->size * a->each;
    for (size_t at = 0; at < n && st == LLAP_OK; at += most)
        st = add_pieces(a, r, x + at, n - at < most ? n - at : most, present);
    return st;
}

/* ---- failures ---- */

/* *who: the first rank that has failed; -1: none. */
static llap_status meet(const ll_ranks *r, llap_status st, int *who)
{
    char     detail[LL_DETAIL_MAX];
    int32_t *all = ll_new((size_t)r->size, sizeof *all), mine = (int32_t)st;
    *who = -1;
    if (all == NULL) return LLAP_ENOMEM; /* this process ends, and with it all */
    snprintf(detail, sizeof detail, "%s", st == LLAP_OK ? "" : llap_error_detail());
    const int error = driver->collect(&mine, all, sizeof mine);
    for (int i = r->size - 1; i >= 0 && error == 0; i--)
        if (all[i] != LLAP_OK) *who = i, mine = all[i];
    ll_free(all);
    if (error != 0) return ll_fail(LLAP_EIO, "ranks: rank %d could not be heard", r->rank);
    if (*who < 0) return LLAP_OK;
    st = ll_ranks_share(r, detail, sizeof detail, *who);
    return st == LLAP_OK ? ll_fail((llap_status)mine, "%s", detail) : st;
}

llap_status ll_ranks_settle(const ll_ranks *r, llap_status st)
{
    int who;
    return r == NULL ? st : meet(r, st, &who);
}

llap_status ll_ranks_end_together(const ll_ranks *r, llap_status st)
{
    int who = -1;
    if (r == NULL) return st;
    st = meet(r, st, &who);
    if (who < 0) return st;
    if (r->rank > 0) driver->wait();
    return who == 0 ? st : ll_fail_in(st, "rank %d of %d", who, r->size);
}

llap_status ll_ranks_agree(const ll_ranks *r, uint64_t number, const char *what)
{
    if (r == NULL) return LLAP_OK;
    int         other = 0;
    uint64_t   *all = ll_new((size_t)r->size, sizeof *all);
    llap_status st = all == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && driver->collect(&number, all, sizeof number) != 0)
        st = ll_fail(LLAP_EIO, "ranks: rank %d could not be heard", r->rank);
    for (int i = r->size - 1; st == LLAP_OK && i > 0; i--)
        if (all[i] != all[0]) other = i;
    ll_free(all);
    if (st != LLAP_OK || other == 0) return st;
    if (r->rank > 0) driver->wait();
    return ll_fail(LLAP_EINVAL, "rank %d of %d has %s than rank 0", other, r->size, what);
}
