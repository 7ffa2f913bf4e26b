/* src/backend/cuda: finds and loads the object that computes on an NVIDIA GPU. The object itself is
 * in object/: it is linked with CUDA and sees nothing of the library but headers.
 *
 *   cuda.h            this file
 *   driver.h, load.c  what library and object agree on; loading
 *   object/kernels.h  the kernels by op, one .cu for each family; object/attention/ those of
 * attention
 *
 * May touch: backend, base. */

/* Computing on an NVIDIA GPU: finds the object that does it and gives its backend.
 *
 *     const ll_backend *b;
 *     st = ll_device_find("cuda:0", LL_PRECISION_FP32, &b);        caller owns nothing
 *
 * The backend has memory of its own: see backend/device_memory.h. */
#ifndef LL_BACKEND_CUDA_CUDA_H
#define LL_BACKEND_CUDA_CUDA_H

#include "backend/cuda/driver.h"

extern const char *const ll_precision_names[]; /* "fp32", "tf32", "bf16", closed by NULL */

/* "cuda" or "cuda:N" -> N, "auto" and "cpu" -> -1; false: none of these. */
bool ll_device_parse(const char *name, int *device, bool *automatic);

/* "cpu": *out is NULL. "cuda", "cuda:N": the backend, or LLAP_EUNSUPPORTED with one line that says
 * what is missing. "auto": the GPU's where there is one, else NULL; never fails for want of one. */
llap_status ll_device_find(const char *name, ll_precision precision, const ll_backend **out);

/* The same from an object of that path, for tests. */
llap_status ll_cuda_open(const char *object, int device, ll_precision precision,
                         const ll_backend **out);

#endif
