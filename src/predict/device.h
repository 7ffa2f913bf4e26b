/* Where to compute, as options say it. */
#ifndef LL_PREDICT_DEVICE_H
#define LL_PREDICT_DEVICE_H

#include "backend/backend.h"

/* device: "cpu", "cuda", "cuda:N", "auto"; precision on a GPU: "fp32", "tf32", "bf16"; NULL: cpu
 * and fp32. LLAP_EOPTION for other words, LLAP_EUNSUPPORTED where there is no such GPU. */
llap_status ll_backend_choose(const char *device, const char *precision, const ll_backend **out);

#endif
