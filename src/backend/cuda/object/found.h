/* What looking for a GPU found, and why it will not do: one line each. Without CUDA's headers, so
 * that it is tested on machines without a GPU too. */
#ifndef LL_BACKEND_CUDA_OBJECT_FOUND_H
#define LL_BACKEND_CUDA_OBJECT_FOUND_H

#include "backend/cuda/driver.h"

#include <stdio.h>

typedef enum found_kind { FOUND_GPUS, FOUND_OLD_DRIVER, FOUND_NONE, FOUND_ERROR } found_kind;

typedef struct found {
    found_kind  kind;
    const char *error;           /* CUDA's own words */
    int         n;               /* GPUs */
    int         driver, runtime; /* versions of CUDA: 13000 is 13.0; driver 0: there is none */
    int         major, minor;    /* of the GPU that is asked for */
} found;

/* LLAP_OK, or why not. Kernels have arguments of more than 4 KB, which drivers take from 530 on:
 * older ones do not know the runtime's CUDA either. */
static inline llap_status found_judge(const found *f, int device, char text[LL_CUDA_TEXT])
{
    const bool old =
        f->kind == FOUND_OLD_DRIVER || (f->kind == FOUND_ERROR && f->driver < f->runtime);
    text[0] = '\0';
    if (old && f->driver == 0) snprintf(text, LL_CUDA_TEXT, "no NVIDIA driver here (%s)", f->error);
    else if (old)
        snprintf(text, LL_CUDA_TEXT,
                 "the driver is too old: it supports CUDA %d.%d, needed is %d.%d", f->driver / 1000,
                 f->driver % 1000 / 10, f->runtime / 1000, f->runtime % 1000 / 10);
    else if (f->kind == FOUND_NONE || (f->kind == FOUND_GPUS && f->n == 0))
        snprintf(text, LL_CUDA_TEXT, "no NVIDIA GPU here (%s)", f->error);
    else if (f->kind == FOUND_ERROR)
        snprintf(text, LL_CUDA_TEXT, "the driver does not answer (%s)", f->error);
    else if (device >= f->n)
        snprintf(text, LL_CUDA_TEXT, "no such GPU: there %s %d", f->n == 1 ? "is" : "are", f->n);
    else if (f->major < 8)
        snprintf(text, LL_CUDA_TEXT, "the GPU is too old: compute capability %d.%d, needed is 8.0",
                 f->major, f->minor);
    else return LLAP_OK;
    return f->kind == FOUND_GPUS && f->n > 0 && device >= f->n ? LLAP_ENOTFOUND : LLAP_EUNSUPPORTED;
}

#endif
