/* Inside the parameter store: shared by params.c and params_file.c. */
#ifndef LLAP_NN_STORE_H
#define LLAP_NN_STORE_H

#include "base/arena.h"
#include "nn/params.h"

struct llap_params {
    llap_arena        arena; /* names and tables */
    llap_param_info  *info;
    llap_init        *init;
    llap_param_info **sorted; /* by name */
    int               n;
    unsigned char    *block; /* all arrays */
    size_t            n_bytes;
    void             *near; /* the block's copy in the backend's memory; NULL: none */
    void             *kept; /* of what runs work on, in near memory; NULL: none yet */
    size_t            real_bytes;

    const llap_backend *backend;
};

/* The array called HEADTAIL, or NULL. */
const llap_param_info *llap_store_beside(const llap_params *p, const char *head, const char *tail);

/* Which part a name of the store belongs to; LLAP_PARAMS_COUNT for "rng". */
llap_params_part llap_part_of(const char *name);

#endif
