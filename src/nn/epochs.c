#include "nn/epochs.h"

#include <assert.h>

llap_status ll_epochs_init(ll_epochs *o, const ll_backend *backend, int64_t n, int64_t width)
{
    void             *device_data = NULL;
    const size_t      bytes = (size_t)(n * width) * sizeof *o->device_data + ll_order_work(n);
    const llap_status st = ll_device_alloc(backend, bytes, &device_data);
    *o = (ll_epochs){
        .backend = backend, .n = n, .width = width, .device_data = device_data, .epoch = -1
    };
    return st;
}

void ll_epochs_deinit(ll_epochs *o)
{
    if (o->device_data != NULL) ll_device_release(o->backend, o->device_data);
    o->device_data = NULL;
}

static llap_status make(ll_epochs *o, int64_t epoch)
{
    assert(epoch >= 0);
    if (o->epoch == epoch || (o->epoch >= 0 && o->epoch_rng == NULL)) return LLAP_OK;
    ll_rng r;
    if (o->epoch_rng != NULL) r = o->epoch_rng(o->user, epoch);
    const llap_status st =
        ll_device_order(o->backend, o->device_data, o->n, o->width,
                        o->epoch_rng == NULL ? NULL : &r, o->device_data + o->n * o->width);
    o->epoch = st == LLAP_OK ? epoch : -1;
    return st;
}

llap_status ll_epochs_take(ll_epochs *o, int64_t first, int64_t count, void *device_index)
{
    const int64_t all = o->n * o->width;
    llap_status   st = LLAP_OK;
    assert(all > 0 && first >= 0);
    for (int64_t done = 0, n; done < count && st == LLAP_OK; done += n) {
        const int64_t at = (first + done) % all, left = count - done;
        n = all - at < left ? all - at : left;
        st = make(o, (first + done) / all);
        if (st == LLAP_OK)
            st = ll_device_copy(o->backend, (uint32_t *)device_index + done, o->device_data + at,
                                (size_t)n * sizeof *o->device_data);
    }
    return st;
}
