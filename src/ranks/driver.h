/* What the library and its MPI object agree on. The object is linked with MPI and loaded when a
 * launcher has started the process; it sees nothing of the library but headers. */
#ifndef LL_RANKS_DRIVER_H
#define LL_RANKS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define LL_RANKS_SYMBOL "llap_ranks_entry"
enum { LL_RANKS_ABI = 2 };

/* It moves bytes and adds nothing, so that no sum depends on it. Each answers 0, or a number of
 * MPI's. */
typedef struct ll_ranks_driver {
    int abi;
    int (*join)(int *rank, int *size);
    int (*share)(void *bytes, size_t n, int from);
    int (*collect)(const void *mine, void *all, size_t each); /* all [size,each], by rank */
    /* to [size,each]: what rank i has in its from [size,each] for this one */
    int (*exchange)(const void *from, void *to, size_t each);
    void (*wait)(void);      /* for all others */
    void (*leave)(int code); /* 0: when all do; else ends all processes at once */
} ll_ranks_driver;

#endif
