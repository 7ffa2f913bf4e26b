/* The object that is linked with MPI. */
#include "driver.h"

#include <limits.h>
#include <mpi.h>

static int join(int *rank, int *size)
{
    int error = MPI_Init(NULL, NULL);
    if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return error == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, size) : error;
}

/* In parts that an int can count. */
static int share(void *bytes, size_t n, int from)
{
    enum { PART = 1 << 30 };
    char *at = bytes;
    int   error = MPI_SUCCESS;
    while (n > 0 && error == MPI_SUCCESS) {
        const int part = n < PART ? (int)n : PART;
        error = MPI_Bcast(at, part, MPI_BYTE, from, MPI_COMM_WORLD);
        at += part, n -= (size_t)part;
    }
    return error;
}

static int collect(const void *mine, void *all, size_t each)
{
    if (each > INT_MAX) return MPI_ERR_COUNT;
    return MPI_Allgather(mine, (int)each, MPI_BYTE, all, (int)each, MPI_BYTE, MPI_COMM_WORLD);
}

static int exchange(const void *from, void *to, size_t each)
{
    if (each > INT_MAX) return MPI_ERR_COUNT;
    return MPI_Alltoall(from, (int)each, MPI_BYTE, to, (int)each, MPI_BYTE, MPI_COMM_WORLD);
}

static void wait(void) { (void)MPI_Barrier(MPI_COMM_WORLD); }

static void leave(int code)
{
    if (code == 0) (void)MPI_Finalize();
    else (void)MPI_Abort(MPI_COMM_WORLD, code);
}

extern const ll_ranks_driver                                 llap_ranks_entry;
__attribute__((visibility("default"))) const ll_ranks_driver llap_ranks_entry = {
    LL_RANKS_ABI, join, share, collect, exchange, wait, leave
};
