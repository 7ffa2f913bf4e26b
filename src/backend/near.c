#include "backend/near.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

llap_status llap_near_status(const llap_backend *b, llap_status st)
{
    return st == LLAP_OK ? st : llap_fail(st, "%s", b->memory->why());
}

llap_status llap_near_alloc(const llap_backend *b, size_t n_bytes, void **out)
{
    if (b->memory != NULL) return llap_near_status(b, b->memory->alloc(n_bytes, out));
    *out = llap_new_aligned(n_bytes, 1);
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

void llap_near_release(const llap_backend *b, void *p)
{
    if (b->memory == NULL) llap_free(p);
    else if (p != NULL) b->memory->release(p);
}

llap_status llap_near_put(const llap_backend *b, void *near_to, const void *from, size_t n_bytes)
{
    if (n_bytes == 0) return LLAP_OK;
    if (b->memory != NULL) return llap_near_status(b, b->memory->upload(near_to, from, n_bytes));
    memmove(near_to, from, n_bytes);
    return LLAP_OK;
}

llap_status llap_near_get(const llap_backend *b, void *to, const void *near_from, size_t n_bytes)
{
    if (n_bytes == 0) return LLAP_OK;
    if (b->memory != NULL) return llap_near_status(b, b->memory->download(to, near_from, n_bytes));
    memmove(to, near_from, n_bytes);
    return LLAP_OK;
}

llap_status llap_near_copy(const llap_backend *b, void *to, const void *from, size_t n_bytes)
{
    if (n_bytes == 0) return LLAP_OK;
    if (b->memory != NULL) return llap_near_status(b, b->memory->copy(to, from, n_bytes));
    memmove(to, from, n_bytes);
    return LLAP_OK;
}

llap_status llap_near_clear(const llap_backend *b, void *p, size_t n_bytes)
{
    if (b->memory != NULL) return llap_near_status(b, b->memory->clear(p, n_bytes));
    memset(p, 0, n_bytes);
    return LLAP_OK;
}

llap_status llap_near_order(const llap_backend *b, uint32_t *out, int64_t n, int64_t width,
                            const llap_rng *r, void *work)
{
    if (b->memory != NULL) return llap_near_status(b, b->memory->order(out, n, width, r, work));
    uint32_t *order = work;
    for (int64_t i = 0; i < n && r == NULL; i++) order[i] = (uint32_t)i;
    if (r != NULL) llap_rng_permute(r, (size_t)n, order);
    for (int64_t i = 0; i < n * width; i++)
        out[i] = order[i / width] * (uint32_t)width + (uint32_t)(i % width);
    return LLAP_OK;
}

llap_status llap_near_finish(const llap_backend *b)
{
    return b->memory == NULL ? LLAP_OK : llap_near_status(b, b->memory->finish());
}
