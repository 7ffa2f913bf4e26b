/* A model made ready to be asked again and again by one caller: it keeps what llap_forecast makes
 * anew each time, the plans of the networks and their memory (on a GPU also the weights there).
 *
 *     llap_sampler *s = NULL;
 *     llap_status st = llap_sampler_create(model, NULL, LLAP_GPU_DEFAULT, &s);
 *     while (st == LLAP_OK && wait_for_data(&panel)) {
 *         llap_answer *a = NULL;
 *         st = llap_sampler_forecast(s, panel, &ask, &a);
 *         ...
 *     }
 *     llap_sampler_destroy(s);
 *
 * The answers are those of llap_forecast, byte for byte. A model is shared by any number of
 * threads; a sampler belongs to one at a time, so that each thread has its own. */
#ifndef LLAPDIFF_SAMPLER_H
#define LLAPDIFF_SAMPLER_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_sampler llap_sampler;

/* device and precision as in llap_forecast_opts. Borrows m until destroyed. Caller owns *out. */
LLAP_API llap_status llap_sampler_create(const llap_model *m, const char *device,
                                         llap_gpu_precision precision, llap_sampler **out);

/* llap_forecast, but for device and precision of o, which are the sampler's. The panels of two
 * calls need not have anything to do with each other. Caller owns *out. */
LLAP_API llap_status llap_sampler_forecast(llap_sampler *s, const llap_panel *panel,
                                           const llap_forecast_opts *o, llap_answer **out);

LLAP_API void llap_sampler_destroy(llap_sampler *s); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
