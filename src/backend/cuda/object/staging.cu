// Copies between the caller's memory and the GPU's by way of pinned memory: small ones cost less
// than by the driver's own way, and their caller is not held while the GPU is at work. Large ones
// go that way, because it is not slower.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/staging.cuh"
#include "backend/cuda/object/staging.h"

#include <stdlib.h>
#include <string.h>

// Of one thread, as its queues are; made when it is needed, gone with the thread.
static thread_local struct ring {
    staging      place = {};
    char        *data = NULL;
    bool         refused = false; // no such memory: copies go as they come
    bool         marked[STAGING_PIECES] = {};
    cudaEvent_t  mark[STAGING_PIECES] = {}; // what was copied from or to a piece is done
    cudaStream_t queue = NULL;              // of the piece in use

    ~ring() { drop(); }

    void drop()
    {
        for (int i = 0; i < STAGING_PIECES; i++) {
            if (mark[i] != NULL) (void)cudaEventDestroy(mark[i]);
            mark[i] = NULL;
        }
        if (data != NULL) (void)cudaFreeHost(data); // waits for what still travels
        data = NULL;
    }
} ring;

static bool ready()
{
    if (ring.data != NULL) return true;
    if (ring.refused || getenv("LLAP_CUDA_UNSTAGED") != NULL) return false; // for comparisons
    cudaError_t e = cudaMallocHost((void **)&ring.data, STAGING_PIECES * STAGING_BYTES);
    for (int i = 0; i < STAGING_PIECES && e == cudaSuccess; i++)
        e = cudaEventCreateWithFlags(&ring.mark[i], cudaEventDisableTiming);
    if (e == cudaSuccess) return true;
    (void)cudaGetLastError();
    ring.drop();
    ring.refused = true;
    return false;
}

static bool goes_by_ring(size_t n_bytes) { return n_bytes <= STAGING_MOST && ready(); }

static bool is_recording()
{
    cudaStreamCaptureStatus s = cudaStreamCaptureStatusNone;
    (void)cudaStreamIsCapturing(LL_QUEUE, &s);
    return s != cudaStreamCaptureStatusNone;
}

static cudaError_t mark(int piece)
{
    ring.marked[piece] = true;
    return cudaEventRecord(ring.mark[piece], ring.queue);
}

// Room for so much on the queue in use; waits for what went there a round before.
static cudaError_t take(size_t n_bytes, staging_place *p)
{
    const cudaStream_t queue = LL_QUEUE;
    cudaError_t        e = cudaSuccess;
    *p = staging_take(&ring.place, n_bytes, queue != ring.queue);
    if (p->left >= 0) {
        e = mark(p->left);
        if (e == cudaSuccess && ring.marked[p->piece])
            e = cudaEventSynchronize(ring.mark[p->piece]);
    }
    ring.queue = queue;
    return e;
}

cudaError_t ll_cuda_stage_up(void *to, const void *from, size_t n_bytes)
{
    if (is_recording() || !goes_by_ring(n_bytes))
        return cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, LL_QUEUE);
    cudaError_t e = cudaSuccess;
    for (size_t done = 0; done < n_bytes && e == cudaSuccess;) {
        const size_t  n = n_bytes - done < STAGING_BYTES ? n_bytes - done : STAGING_BYTES;
        staging_place p;
        e = take(n, &p);
        if (e != cudaSuccess) break;
        memcpy(ring.data + p.offset, (const char *)from + done, n);
        e = cudaMemcpyAsync((char *)to + done, ring.data + p.offset, n, cudaMemcpyHostToDevice,
                            LL_QUEUE);
        done += n;
    }
    return e;
}

// Pieces on their way: all of the ring but the one that is emptied.
cudaError_t ll_cuda_stage_down(void *to, const void *from, size_t n_bytes)
{
    if (!goes_by_ring(n_bytes)) {
        cudaError_t e = cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToHost, LL_QUEUE);
        return e == cudaSuccess ? cudaStreamSynchronize(LL_QUEUE) : e;
    }
    enum { AHEAD = STAGING_PIECES - 1 };
    staging_place p[AHEAD];
    const size_t  pieces = (n_bytes + STAGING_BYTES - 1) / STAGING_BYTES;
    cudaError_t   e = cudaSuccess;
    for (size_t sent = 0, got = 0; got < pieces && e == cudaSuccess; got++) {
        for (; sent < pieces && sent < got + AHEAD && e == cudaSuccess; sent++) {
            const size_t at = sent * STAGING_BYTES;
            const size_t n = n_bytes - at < STAGING_BYTES ? n_bytes - at : STAGING_BYTES;
            e = take(n, &p[sent % AHEAD]);
            if (e != cudaSuccess) break;
            e = cudaMemcpyAsync(ring.data + p[sent % AHEAD].offset, (const char *)from + at, n,
                                cudaMemcpyDeviceToHost, LL_QUEUE);
            if (e == cudaSuccess) e = mark(p[sent % AHEAD].piece);
        }
        const size_t at = got * STAGING_BYTES;
        const size_t n = n_bytes - at < STAGING_BYTES ? n_bytes - at : STAGING_BYTES;
        if (e == cudaSuccess) e = cudaEventSynchronize(ring.mark[p[got % AHEAD].piece]);
        if (e == cudaSuccess) memcpy((char *)to + at, ring.data + p[got % AHEAD].offset, n);
    }
    return e;
}
