/* Where to compute, as options say it. */
#ifndef LL_PREDICT_DEVICE_H
#define LL_PREDICT_DEVICE_H

#include "backend/backend.h"

#include <llapdiff/options.h>

/* device: "cpu", "cuda", "cuda:N", "auto"; NULL: cpu. The precision is that of products on a GPU.
 * LLAP_EOPTION for other words, LLAP_EUNSUPPORTED where there is no such GPU. */
llap_status ll_backend_choose(const char *device, llap_gpu_precision precision,
                              const ll_backend **out);

#endif
