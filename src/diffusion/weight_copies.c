#include "diffusion/weight_copies.h"

#include "backend/device_memory.h"
#include "base/alloc.h"

#include <assert.h>
#include <string.h>

struct ll_weight_copies {
    ll_weight_copies    *next;
    const ll_param_info *of;
    bool                 half;
    void                *device_data;
};

/* The nearest bf16. */
static uint16_t half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return 0x7fc0;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* The numbers of a parameter, wherever its store has them, into x; rounded to bf16 in place. */
static llap_status fetch(const ll_params *home, const ll_param_info *p, bool half, float *x)
{
    assert(ll_params_real_bytes(home) == sizeof *x && (!half || p->elem == LL_REAL));
    const llap_status st =
        ll_device_get(ll_params_backend(home), x, p->device_data, (size_t)p->count * sizeof *x);
    for (int64_t i = 0; half && i < p->count; i++) ((uint16_t *)(void *)x)[i] = half_of(x[i]);
    return st;
}

llap_status ll_weight_copies_get(ll_weight_copies **all, const ll_backend *to,
                                 const ll_params *home, const ll_param_info *p, bool half,
                                 void **device_data)
{
    for (const ll_weight_copies *i = *all; i != NULL; i = i->next)
        if (i->of == p && i->half == half) {
            *device_data = i->device_data;
            return LLAP_OK;
        }
    const size_t      n = (size_t)p->count, n_bytes = n * (half ? 2 : sizeof(float));
    ll_weight_copies *made = ll_new(1, sizeof *made);
    float            *x = ll_new_aligned(n, sizeof *x);
    llap_status       st = made == NULL || x == NULL ? LLAP_ENOMEM : fetch(home, p, half, x);
    if (st == LLAP_OK) st = ll_device_alloc(to, n_bytes, &made->device_data);
    if (st == LLAP_OK) {
        *made = (ll_weight_copies){ *all, p, half, made->device_data };
        *all = made;
        *device_data = made->device_data;
        st = ll_device_put(to, made->device_data, x, n_bytes);
        if (st == LLAP_OK) st = ll_device_finish(to); /* x goes */
    } else {
        ll_free(made);
    }
    ll_free(x);
    return st;
}

void ll_weight_copies_release(ll_weight_copies *all, const ll_backend *to)
{
    while (all != NULL) {
        ll_weight_copies *next = all->next;
        ll_device_release(to, all->device_data);
        ll_free(all);
        all = next;
    }
}
