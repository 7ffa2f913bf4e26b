#include "model/brought.h"

#include "backend/near.h"
#include "base/alloc.h"

#include <string.h>

struct llap_brought {
    llap_brought          *next;
    const llap_param_info *of;
    bool                   half;
    void                  *near;
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
static llap_status fetch(const llap_params *home, const llap_param_info *p, bool half, float *x)
{
    const llap_status st =
        llap_near_get(llap_params_backend(home), x, p->near, (size_t)p->count * sizeof *x);
    for (int64_t i = 0; half && i < p->count; i++) ((uint16_t *)(void *)x)[i] = half_of(x[i]);
    return st;
}

llap_status llap_bring(llap_brought **all, const llap_backend *to, const llap_params *home,
                       const llap_param_info *p, bool half, void **near)
{
    for (const llap_brought *i = *all; i != NULL; i = i->next)
        if (i->of == p && i->half == half) {
            *near = i->near;
            return LLAP_OK;
        }
    const size_t  n = (size_t)p->count, n_bytes = n * (half ? 2 : sizeof(float));
    llap_brought *made = llap_new(1, sizeof *made);
    float        *x = llap_new_aligned(n, sizeof *x);
    llap_status   st = made == NULL || x == NULL ? LLAP_ENOMEM : fetch(home, p, half, x);
    if (st == LLAP_OK) st = llap_near_alloc(to, n_bytes, &made->near);
    if (st == LLAP_OK) {
        *made = (llap_brought){ *all, p, half, made->near };
        *all = made;
        *near = made->near;
        st = llap_near_put(to, made->near, x, n_bytes);
        if (st == LLAP_OK) st = llap_near_finish(to); /* x goes */
    } else {
        llap_free(made);
    }
    llap_free(x);
    return st;
}

void llap_brought_release(llap_brought *all, const llap_backend *to)
{
    while (all != NULL) {
        llap_brought *next = all->next;
        llap_near_release(to, all->near);
        llap_free(all);
        all = next;
    }
}
