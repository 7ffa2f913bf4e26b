/* The object that is linked with MPI. */
#include "driver.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <time.h>

static int join(int *rank, int *size)
{
    int error = MPI_Init(NULL, NULL);
    if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return error == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, size) : error;
}

/* Waits without a processor: MPI's own waiting is polling, which takes it from the ranks that are
 * waited for where there are fewer processors than ranks. */
static int finish(int error, MPI_Request *request)
{
    enum { SHORT = 200, NAP = 50000, LONG_NAP = 1000000 }; /* polls, nanoseconds */
    int done = 0;
    for (long i = 0; error == MPI_SUCCESS && !done; i++) {
        error = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        const struct timespec nap = { .tv_nsec = i < 20 * SHORT ? NAP : LONG_NAP };
        if (!done && i >= SHORT) (void)nanosleep(&nap, NULL);
        else if (!done) (void)sched_yield();
    }
    return error;
}

/* In parts that an int can count. */
static int share(void *bytes, size_t n, int from)
{
    enum { PART = 1 << 30 };
    char *at = bytes;
    int   error = MPI_SUCCESS;
    while (n > 0 && error == MPI_SUCCESS) {
        const int   part = n < PART ? (int)n : PART;
        MPI_Request request;
        error = finish(MPI_Ibcast(at, part, MPI_BYTE, from, MPI_COMM_WORLD, &request), &request);
        at += part, n -= (size_t)part;
    }
    return error;
}

static int collect(const void *mine, void *all, size_t each)
{
    MPI_Request request;
    if (each > INT_MAX) return MPI_ERR_COUNT;
    return finish(MPI_Iallgather(mine, (int)each, MPI_BYTE, all, (int)each, MPI_BYTE,
                                 MPI_COMM_WORLD, &request),
                  &request);
}

static int exchange(const void *from, void *to, size_t each)
{
    MPI_Request request;
    if (each > INT_MAX) return MPI_ERR_COUNT;
    return finish(
        MPI_Ialltoall(from, (int)each, MPI_BYTE, to, (int)each, MPI_BYTE, MPI_COMM_WORLD, &request),
        &request);
}

static void wait(void)
{
    MPI_Request request;
    (void)finish(MPI_Ibarrier(MPI_COMM_WORLD, &request), &request);
}

static void leave(int code)
{
    if (code == 0) (void)MPI_Finalize();
    else (void)MPI_Abort(MPI_COMM_WORLD, code);
}

extern const ll_ranks_driver                                 llap_ranks_entry;
__attribute__((visibility("default"))) const ll_ranks_driver llap_ranks_entry = {
    LL_RANKS_ABI, join, share, collect, exchange, wait, leave
};
