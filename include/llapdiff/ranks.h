/* Several processes that train one model together, started by a launcher: `mpirun -n 4 llapdiff
 * train ...`, or four processes of a program of one's own that do the same:
 *
 *     int rank, size;
 *     llap_status st = llap_ranks_join(&rank, &size);       0 and 1 where there is no launcher
 *     if (st == LLAP_OK) st = llap_train(panel, &how, &model);
 *     if (st == LLAP_OK && rank == 0) st = llap_model_save(model, "air.model");
 *     llap_ranks_leave(st == LLAP_OK ? 0 : 1);
 *
 * Every rank reads the same data and has the same model at the end, with the bytes that one process
 * alone would have given it. The members of a stack are shared out, and with micro_batches the
 * steps of diffusion networks; anchors are fitted by all.
 *
 * llap_forecast, llap_impute and llap_evaluate share out their work likewise: once joined, every
 * rank calls them with the same model, data and options, and every rank has the answer. Where a
 * call fails for all, rank 0 returns and the others wait for its llap_ranks_leave(1). */
#ifndef LLAPDIFF_RANKS_H
#define LLAPDIFF_RANKS_H

#include <llapdiff/export.h>
#include <llapdiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the processes that the launcher (OpenMPI) has started this one with, once a process.
 * LLAP_EUNSUPPORTED: there are several, and no MPI here. LLAP_EIO. */
LLAP_API llap_status llap_ranks_join(int *rank, int *size);

/* 0: waits until all leave; MPI cannot be joined again. Else ends all processes at once. Does
 * nothing where nothing was joined. */
LLAP_API void llap_ranks_leave(int code);

#ifdef __cplusplus
}
#endif

#endif
