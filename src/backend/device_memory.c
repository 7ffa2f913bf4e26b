#include "backend/device_memory.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

llap_status ll_device_status(const ll_backend *b, llap_status st)
{
    return st == LLAP_OK ? st : ll_fail(st, "%s", b->memory->why());
}

llap_status ll_device_alloc(const ll_backend *b, size_t n_bytes, void **out)
{
    if (b->memory != NULL) return ll_device_status(b, b->memory->alloc(n_bytes, out));
    *out = ll_new_aligned(n_bytes, 1);
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

void ll_device_release(const ll_backend *b, void *p)
{
    if (b->memory == NULL) ll_free(p);
    else if (p != NULL) b->memory->release(p);
}

llap_status ll_device_put(const ll_backend *b, void *device_to, const void *from, size_t n_bytes)
{
    if (n_bytes == 0) return LLAP_OK;
    if (b->memory != NULL) return ll_device_status(b, b->memory->upload(device_to, from, n_bytes));
    memmove(device_to, from, n_bytes);
    return LLAP_OK;
}

llap_status ll_device_get(const ll_backend *b, void *to, const void *device_from, size_t n_bytes)
{
    if (n_bytes == 0) return LLAP_OK;
    if (b->memory != NULL)
        return ll_device_status(b, b->memory->download(to, device_from, n_bytes));
    memmove(to, device_from, n_bytes);
    return LLAP_OK;
}

llap_status ll_device_copy(const ll_backend *b, void *to, const void *from, size_t n_bytes)
{
    if (n_bytes == 0) return LLAP_OK;
    if (b->memory != NULL) return ll_device_status(b, b->memory->copy(to, from, n_bytes));
    memmove(to, from, n_bytes);
    return LLAP_OK;
}

llap_status ll_device_clear(const ll_backend *b, void *p, size_t n_bytes)
{
    if (b->memory != NULL) return ll_device_status(b, b->memory->clear(p, n_bytes));
    memset(p, 0, n_bytes);
    return LLAP_OK;
}

llap_status ll_device_order(const ll_backend *b, uint32_t *out, int64_t n, int64_t width,
                            const ll_rng *r, void *work)
{
    if (b->memory != NULL) return ll_device_status(b, b->memory->order(out, n, width, r, work));
    uint32_t *order = work;
    for (int64_t i = 0; i < n && r == NULL; i++) order[i] = (uint32_t)i;
    if (r != NULL) ll_rng_permute(r, (size_t)n, order);
    for (int64_t i = 0; i < n * width; i++)
        out[i] = order[i / width] * (uint32_t)width + (uint32_t)(i % width);
    return LLAP_OK;
}

llap_status ll_device_finish(const ll_backend *b)
{
    return b->memory == NULL ? LLAP_OK : ll_device_status(b, b->memory->finish());
}
