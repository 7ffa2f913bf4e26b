#define _GNU_SOURCE /* dladdr */
#include "backend/cuda/cuda.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const ll_precision_names[] = { "fp32", "tf32", "bf16", NULL };

/* Where the object lies, seen from the library this code is in: beside it; from a program of a
 * build or a bundle that has the library inside, bin/X -> lib/; from the extension of the Python
 * package, in the package llapdiff_cuda beside llapdiff. */
static const char *const places[] = { "llapdiff/llapdiff-cuda.so",
                                      "../lib/llapdiff/llapdiff-cuda.so",
                                      "../../lib/llapdiff/llapdiff-cuda.so",
                                      "../llapdiff_cuda/llapdiff-cuda.so" };

/* Caller owns it. */
static char *object_path(const char *place)
{
    Dl_info      info;
    const size_t n = strlen(place);
    if (dladdr((void *)(uintptr_t)ll_cuda_open, &info) == 0 || info.dli_fname == NULL)
        return ll_strndup(place, n);
    const char  *slash = strrchr(info.dli_fname, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - info.dli_fname) + 1;
    char        *path = ll_new(folder + n + 1, 1);
    if (path == NULL) return NULL;
    memcpy(path, info.dli_fname, folder);
    memcpy(path + folder, place, n);
    return path;
}

/* Never unloaded: the driver keeps threads and exit handlers. */
static void *load(const char *object)
{
    if (object != NULL) return dlopen(object, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *handle = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && handle == NULL; i++) {
        char *path = object_path(places[i]);
        if (path == NULL) return NULL;
        const bool there = access(path, R_OK) == 0;
        if (there) handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        ll_free(path);
        if (there) break;
    }
    return handle;
}

llap_status ll_cuda_open(const char *object, int device, ll_precision precision,
                         const ll_backend **out)
{
    char text[LL_CUDA_TEXT] = "";
    *out = NULL;
    void *handle = load(object);
    if (handle == NULL) {
        const char *why = dlerror();
        return ll_fail(LLAP_EUNSUPPORTED, "cuda: no GPU support here: %s",
                       why == NULL ? "the object llapdiff-cuda.so is not there" : why);
    }
    const ll_cuda_driver *driver = dlsym(handle, LL_CUDA_SYMBOL);
    if (driver == NULL || driver->abi != LL_CUDA_ABI || driver->op_count != LL_OP_COUNT) {
        (void)dlclose(handle);
        return ll_fail(LLAP_EUNSUPPORTED,
                       "cuda: the object llapdiff-cuda.so belongs to another version");
    }
    const llap_status st = driver->open(device, precision, out, text);
    return st == LLAP_OK ? st : ll_fail(st, "cuda:%d: %s", device, text);
}

bool ll_device_parse(const char *name, int *device, bool *automatic)
{
    *device = -1;
    *automatic = strcmp(name, "auto") == 0;
    if (*automatic || strcmp(name, "cpu") == 0) return true;
    if (strncmp(name, "cuda", 4) != 0) return false;
    *device = 0;
    if (name[4] == '\0') return true;
    char      *end = NULL;
    const long n = strtol(name + 5, &end, 10);
    if (name[4] != ':' || name[5] < '0' || name[5] > '9' || *end != '\0' || n > 255) return false;
    *device = (int)n;
    return true;
}

llap_status ll_device_find(const char *name, ll_precision precision, const ll_backend **out)
{
    int  device;
    bool automatic;
    *out = NULL;
    if (!ll_device_parse(name, &device, &automatic))
        return ll_fail(LLAP_EOPTION, "device: expected cpu, cuda, cuda:N or auto, found '%s'",
                       ll_text_show(name).text);
    if (device < 0 && !automatic) return LLAP_OK;
    const llap_status st = ll_cuda_open(NULL, device < 0 ? 0 : device, precision, out);
    return automatic ? LLAP_OK : st;
}
