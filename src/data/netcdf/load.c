#define _GNU_SOURCE /* dladdr */
#include "data/netcdf/load.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "data/netcdf/classic.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OBJECT "llapdiff/llapdiff-netcdf.so"

/* ---- loading -------------------------------------------------------------------------------- */

/* The object that belongs to the library this code is in. Caller owns it. */
static char *object_path(void)
{
    Dl_info info;
    if (dladdr((void *)(uintptr_t)ll_netcdf_load, &info) == 0 || info.dli_fname == NULL)
        return ll_strndup(OBJECT, strlen(OBJECT));
    const char  *slash = strrchr(info.dli_fname, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - info.dli_fname) + 1;
    char        *path = ll_new(folder + sizeof OBJECT, 1);
    if (path == NULL) return NULL;
    memcpy(path, info.dli_fname, folder);
    memcpy(path + folder, OBJECT, sizeof OBJECT);
    return path;
}

static llap_status load(const char *object, const char *what, const ll_nc_driver **out)
{
    /* Never unloaded: HDF5 and curl leave exit handlers behind. Loading again is only counting. */
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "%s: no NetCDF support here: install the packages libnetcdf19 and "
                       "libudunits2-0, or build with libnetcdf-dev and libudunits2-dev (%s)",
                       what, dlerror());
    *out = dlsym(handle, LL_NC_SYMBOL);
    const bool fits = *out != NULL && (*out)->abi == LL_NC_ABI;
    (void)dlclose(handle);
    if (fits) return LLAP_OK;
    *out = NULL;
    return ll_fail(LLAP_EUNSUPPORTED, "%s: %s belongs to another version of the library", what,
                   object);
}

llap_status ll_netcdf_load(const char *object, const char *what, const ll_nc_driver **out)
{
    *out = NULL;
    if (object != NULL) return load(object, what, out);
    char *path = object_path();
    if (path == NULL) return LLAP_ENOMEM;
    const llap_status st = load(path, what, out);
    ll_free(path);
    return st;
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* The absolute path, so that libnetcdf never takes a name for an address on the net. Caller owns
 * *out, made by malloc. */
static llap_status real_path(const char *path, char **out)
{
    *out = realpath(path, NULL);
    if (*out == NULL) return ll_fail_errno(errno, "%s", path);
    struct stat s;
    llap_status st = LLAP_OK;
    if (stat(*out, &s) != 0) st = ll_fail_errno(errno, "%s", path);
    else if (S_ISDIR(s.st_mode))
        st = ll_fail(LLAP_EINVAL, "%s: is a directory, expected a file", path);
    else if (!S_ISREG(s.st_mode))
        st = ll_fail(LLAP_EINVAL, "%s: is not a regular file, and NetCDF needs one", path);
    if (st != LLAP_OK) {
        free(*out);
        *out = NULL;
    }
    return st;
}

static bool has_magic(FILE *f)
{
    static const unsigned char hdf5[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
    unsigned char              b[8];
    /* HDF5 may begin behind a block of 512, 1024, ... bytes of the user's */
    for (long at = 0; at < 1L << 20; at = at == 0 ? 512 : 2 * at) {
        if (fseek(f, at, SEEK_SET) != 0) return false;
        const size_t n = fread(b, 1, sizeof b, f);
        if (at == 0 && n >= 4 && memcmp(b, "CDF", 3) == 0 && (b[3] == 1 || b[3] == 2 || b[3] == 5))
            return true;
        if (n < sizeof b) return false;
        if (memcmp(b, hdf5, sizeof b) == 0) return true;
    }
    return false;
}

static llap_status detect(const char *real, const char *path, bool *yes)
{
    FILE *f = fopen(real, "rbe");
    if (f == NULL) return ll_fail_errno(errno, "%s", path);
    *yes = has_magic(f);
    fclose(f);
    return LLAP_OK;
}

llap_status ll_netcdf_detect(const char *path, bool *yes)
{
    *yes = false;
    char             *real = NULL;
    const llap_status st = real_path(path, &real);
    const llap_status found = st == LLAP_OK ? detect(real, path, yes) : st;
    free(real);
    return found;
}

static llap_status check_header(const char *real, const char *path)
{
    ll_map      m;
    llap_status st = ll_map_open(real, &m);
    if (st == LLAP_OK && m.size >= 3 && memcmp(m.data, "CDF", 3) == 0)
        st = ll_nc_classic_check(m.data, m.size, path);
    ll_map_close(&m);
    return st;
}

/* ---- the public functions ------------------------------------------------------------------- */

llap_status ll_netcdf_read(const char *path, const ll_netcdf_opts *o, llap_panel **out,
                           ll_netcdf_counts *counts)
{
    *out = NULL;
    if (counts != NULL) *counts = (ll_netcdf_counts){ 0 };
    const ll_nc_driver *nc = NULL;
    char               *real = NULL;
    bool                yes = false;
    llap_status         st = real_path(path, &real);
    if (st == LLAP_OK) st = detect(real, path, &yes);
    if (st == LLAP_OK && !yes)
        st = ll_fail(LLAP_EFORMAT, "%s: is not a NetCDF file: expected CDF or HDF5 at its start",
                     path);
    if (st == LLAP_OK) st = check_header(real, path);
    if (st == LLAP_OK) st = ll_netcdf_load(o->object, path, &nc);
    if (st == LLAP_OK) {
        nc->lock();
        st = ll_netcdf_read_with(nc, real, path, o, out, counts);
        nc->unlock();
    }
    free(real);
    return st;
}

llap_status ll_netcdf_write(const llap_panel *p, const char *path, const ll_netcdf_opts *o)
{
    const ll_nc_driver *nc;
    ll_writer           w = { 0 };
    llap_status         st = ll_netcdf_load(o->object, path, &nc);
    if (st == LLAP_OK) st = ll_writer_open(path, &w);
    if (st == LLAP_OK && w.temporary == NULL)
        st = ll_fail(LLAP_EINVAL, "%s: is not a regular file, and NetCDF needs one", path);
    if (st == LLAP_OK) {
        char *real = realpath(w.temporary, NULL);
        if (real == NULL) st = ll_fail_errno(errno, "%s", path);
        if (real != NULL) {
            nc->lock();
            st = ll_netcdf_write_with(nc, p, real, path, o);
            nc->unlock();
        }
        free(real);
    }
    if (st == LLAP_OK) st = ll_writer_commit(&w);
    ll_writer_abort(&w);
    return st;
}
