#include "diffusion/prepared_denoiser.h"

#include "base/alloc.h"
#include "base/error.h"
#include "diffusion/denoiser_loop.h"
#include "diffusion/denoiser_steps.h"

#include <assert.h>
#include <string.h>

struct ll_prepared_denoiser {
    ll_denoiser_steps        *steps;   /* one of the two */
    ll_denoiser_loop         *planned; /* is there */
    ll_prepared_denoiser_opts o;
    ll_points                 list;     /* of steps */
    double                    products; /* of the planned loop */
};

void ll_prepared_denoiser_destroy(ll_prepared_denoiser *d)
{
    if (d == NULL) return;
    ll_denoiser_steps_destroy(d->steps);
    ll_denoiser_loop_destroy(d->planned);
    ll_points_deinit(&d->list);
    ll_free(d);
}

static llap_status copy_points(const ll_points *from, ll_points *to)
{
    to->at = ll_new((size_t)from->n, sizeof *to->at);
    if (to->at == NULL) return LLAP_ENOMEM;
    memcpy(to->at, from->at, (size_t)from->n * sizeof *to->at);
    to->n = from->n;
    return LLAP_OK;
}

llap_status ll_prepared_denoiser_create(const ll_denoiser_config *c, const ll_params *params,
                                        const ll_prepared_denoiser_opts *o, const ll_points *list,
                                        ll_prepared_denoiser **out)
{
    *out = NULL;
    if (list->n < 1) return ll_fail(LLAP_EINVAL, "sampler: the list of steps is empty");
    ll_prepared_denoiser *d = ll_new(1, sizeof *d);
    if (d == NULL) return LLAP_ENOMEM;
    *d = (ll_prepared_denoiser){ .o = *o };
    llap_status st;
    if (o->backend->memory != NULL && !o->whole && ll_denoiser_loop_takes(&o->sampler)) {
        st = ll_denoiser_loop_create(c, params, o, list, &d->planned);
    } else {
        st = copy_points(list, &d->list);
        if (st == LLAP_OK) st = ll_denoiser_steps_create(c, params, o, &d->steps);
    }
    if (st == LLAP_OK) *out = d;
    else ll_prepared_denoiser_destroy(d);
    return st;
}

llap_status ll_prepared_denoiser_sample(ll_prepared_denoiser             *d,
                                        const ll_prepared_denoiser_batch *w, const ll_sample_io *io,
                                        float *out)
{
    assert((d->steps == NULL) != (d->planned == NULL));
    if (d->planned != NULL) {
        d->products += ll_denoiser_loop_products(d->planned);
        return ll_denoiser_loop_sample(d->planned, w, io, out);
    }
    if (io->keep != NULL && !d->o.kept)
        return ll_fail(LLAP_EUNSUPPORTED, "sampler: inpainting was not asked for");
    const ll_predictor p = ll_denoiser_steps_predictor(d->steps);
    const llap_status  st = ll_denoiser_steps_windows(d->steps, w);
    return st == LLAP_OK ? ll_sample(&d->o.sampler, &d->list, d->o.extent, &p, io, out) : st;
}

void ll_prepared_denoiser_forget(ll_prepared_denoiser *d)
{
    if (d->steps != NULL) ll_denoiser_steps_forget(d->steps);
}

double ll_prepared_denoiser_products(const ll_prepared_denoiser *d)
{
    return d->planned != NULL ? d->products : ll_denoiser_steps_products(d->steps);
}

size_t ll_prepared_denoiser_bytes(const ll_prepared_denoiser *d)
{
    return d->planned != NULL ? ll_denoiser_loop_bytes(d->planned)
                              : ll_denoiser_steps_bytes(d->steps);
}
