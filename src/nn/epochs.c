#include "nn/epochs.h"

llap_status llap_epochs_init(llap_epochs *o, const llap_backend *backend, int64_t n, int64_t width)
{
    void             *near = NULL;
    const size_t      bytes = (size_t)(n * width) * sizeof *o->near + llap_order_work(n);
    const llap_status st = llap_near_alloc(backend, bytes, &near);
    *o = (llap_epochs){ .backend = backend, .n = n, .width = width, .near = near, .epoch = -1 };
    return st;
}

void llap_epochs_deinit(llap_epochs *o)
{
    if (o->near != NULL) llap_near_release(o->backend, o->near);
    o->near = NULL;
}

static llap_status make(llap_epochs *o, int64_t epoch)
{
    if (o->epoch == epoch || (o->epoch >= 0 && o->epoch_rng == NULL)) return LLAP_OK;
    llap_rng r;
    if (o->epoch_rng != NULL) r = o->epoch_rng(o->user, epoch);
    const llap_status st =
        llap_near_order(o->backend, o->near, o->n, o->width, o->epoch_rng == NULL ? NULL : &r,
                        o->near + o->n * o->width);
    o->epoch = st == LLAP_OK ? epoch : -1;
    return st;
}

llap_status llap_epochs_take(llap_epochs *o, int64_t first, int64_t count, void *near_index)
{
    const int64_t all = o->n * o->width;
    llap_status   st = LLAP_OK;
    for (int64_t done = 0, n; done < count && st == LLAP_OK; done += n) {
        const int64_t at = (first + done) % all, left = count - done;
        n = all - at < left ? all - at : left;
        st = make(o, (first + done) / all);
        if (st == LLAP_OK)
            st = llap_near_copy(o->backend, (uint32_t *)near_index + done, o->near + at,
                                (size_t)n * sizeof *o->near);
    }
    return st;
}
