/* Inside the parameter store: shared by params.c and params_file.c. */
#ifndef LL_NN_STORE_H
#define LL_NN_STORE_H

#include "base/arena.h"
#include "nn/params.h"

struct ll_params {
    ll_arena        arena; /* names and tables */
    ll_param_info  *info;
    ll_init        *init;
    ll_param_info **sorted; /* by name */
    int             n;
    unsigned char  *block; /* all arrays */
    size_t          n_bytes;
    void           *device_data; /* the block's copy in the backend's memory; NULL: none */
    void           *kept;        /* of what runs work on, in device memory; NULL: none yet */
    size_t          real_bytes;

    const ll_backend *backend;
};

/* The array called HEADTAIL, or NULL. */
const ll_param_info *ll_store_beside(const ll_params *p, const char *head, const char *tail);

/* Which part a name of the store belongs to; LL_PARAMS_COUNT for "rng". */
ll_params_part ll_part_of(const char *name);

#endif
