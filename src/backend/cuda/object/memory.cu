// The device's memory and queue, its recordings, and the choice of the device.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/found.h"
#include "backend/cuda/object/staging.cuh"
#include "backend/cuda/object/wgmma.cuh"

#include <atomic>
#include <stdio.h>
#include <string.h>

static std::atomic<int> taken{ -1 }; // the process's device

static thread_local struct {
    llap_status status;
    char        text[LL_CUDA_TEXT];
    bool        entered;
    bool        follows[2]; // the last of the thread's queue, or of the one beside it, is a kernel
} own;

// The queue beside a thread's own one, made when it is needed.
static thread_local struct side_queue {
    cudaStream_t stream = NULL;
    cudaEvent_t  begun = NULL, done = NULL;
    bool         used = false; // work goes there now
    ~side_queue()
    {
        if (stream == NULL) return;
        (void)cudaEventDestroy(begun);
        (void)cudaEventDestroy(done);
        (void)cudaStreamDestroy(stream);
    }
} side;

cudaStream_t ll_cuda_queue() { return side.used ? side.stream : cudaStreamPerThread; }

void ll_cuda_break() { own.follows[side.used] = false; }

static int major_of()
{
    static const int major = [] {
        int n = 0;
        (void)cudaDeviceGetAttribute(&n, cudaDevAttrComputeCapabilityMajor, taken.load());
        return n;
    }();
    return major;
}

bool ll_cuda_comes_behind()
{
    const bool follows = own.follows[side.used];
    own.follows[side.used] = true;
    return follows && major_of() >= 9;
}

void ll_cuda_note_text(llap_status st, const char *text)
{
    if (own.status != LLAP_OK) return;
    own.status = st;
    snprintf(own.text, sizeof own.text, "cuda:%d: %s", taken.load(), text);
}

void ll_cuda_note(cudaError_t e, const char *what)
{
    if (e == cudaErrorMemoryAllocation) (void)cudaGetLastError(); // no fault of what comes next
    if (e == cudaSuccess || own.status != LLAP_OK) return;
    char text[LL_CUDA_TEXT];
    snprintf(text, sizeof text, "%s: %s", what, cudaGetErrorString(e));
    ll_cuda_note_text(e == cudaErrorMemoryAllocation ? LLAP_ENOMEM : LLAP_EIO, text);
}

void ll_cuda_enter()
{
    if (own.entered) return;
    ll_cuda_note(cudaSetDevice(taken.load()), "device");
    own.entered = true;
}

// What failed since the last time; the text stays for why.
static llap_status take_status()
{
    const llap_status st = own.status;
    own.status = LLAP_OK;
    return st;
}

static const char *why(void) { return own.text; }

static llap_status allocate(size_t n_bytes, void **out)
{
    *out = NULL;
    ll_cuda_enter();
    cudaError_t e = cudaMalloc(out, n_bytes == 0 ? 256 : n_bytes);
    if (e == cudaErrorMemoryAllocation) {
        char   text[LL_CUDA_TEXT];
        size_t left = 0, all = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&left, &all);
        snprintf(text, sizeof text, "out of memory: %.1f MiB asked for, %.1f of %.1f MiB free",
                 (double)n_bytes / 1048576.0, (double)left / 1048576.0, (double)all / 1048576.0);
        ll_cuda_note_text(LLAP_ENOMEM, text);
        return take_status();
    }
    ll_cuda_note(e, "allocation");
    ll_cuda_break();
    if (e == cudaSuccess)
        ll_cuda_note(cudaMemsetAsync(*out, 0, n_bytes == 0 ? 256 : n_bytes, LL_QUEUE), "zeros");
    return take_status();
}

static void release(void *p)
{
    ll_cuda_enter();
    ll_cuda_note(cudaStreamSynchronize(LL_QUEUE), "queue");
    (void)cudaFree(p);
}

static llap_status upload(void *to, const void *from, size_t n_bytes)
{
    ll_cuda_enter();
    ll_cuda_break();
    ll_cuda_note(ll_cuda_stage_up(to, from, n_bytes), "upload");
    return take_status();
}

static llap_status finish(void)
{
    ll_cuda_enter();
    ll_cuda_note(cudaStreamSynchronize(LL_QUEUE), "queue");
    return take_status();
}

static llap_status download(void *to, const void *from, size_t n_bytes)
{
    ll_cuda_enter();
    ll_cuda_break();
    ll_cuda_note(ll_cuda_stage_down(to, from, n_bytes), "download");
    return take_status();
}

static llap_status copy(void *to, const void *from, size_t n_bytes)
{
    ll_cuda_enter();
    ll_cuda_break();
    ll_cuda_note(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToDevice, LL_QUEUE), "copy");
    return take_status();
}

static llap_status clear(void *p, size_t n_bytes)
{
    ll_cuda_enter();
    ll_cuda_break();
    ll_cuda_note(cudaMemsetAsync(p, 0, n_bytes, LL_QUEUE), "zeros");
    return take_status();
}

static void make_side()
{
    if (side.stream != NULL) return;
    ll_cuda_note(cudaEventCreateWithFlags(&side.begun, cudaEventDisableTiming), "queue");
    ll_cuda_note(cudaEventCreateWithFlags(&side.done, cudaEventDisableTiming), "queue");
    ll_cuda_note(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking), "queue");
}

static llap_status aside(bool begin)
{
    ll_cuda_enter();
    make_side();
    side.used = begin && own.status == LLAP_OK;
    if (side.used) {
        ll_cuda_break();
        ll_cuda_note(cudaEventRecord(side.begun, cudaStreamPerThread), "queue");
        ll_cuda_note(cudaStreamWaitEvent(side.stream, side.begun, 0), "queue");
    }
    return take_status();
}

static llap_status join(void)
{
    side.used = false;
    ll_cuda_break();
    ll_cuda_note(cudaEventRecord(side.done, side.stream), "queue");
    ll_cuda_note(cudaStreamWaitEvent(cudaStreamPerThread, side.done, 0), "queue");
    return take_status();
}

static bool recording(void)
{
    cudaStreamCaptureStatus s = cudaStreamCaptureStatusNone;
    (void)cudaStreamIsCapturing(LL_QUEUE, &s);
    return s != cudaStreamCaptureStatusNone;
}

static llap_status record(void)
{
    ll_cuda_enter();
    ll_cuda_break();
    ll_cuda_note(cudaStreamBeginCapture(LL_QUEUE, cudaStreamCaptureModeThreadLocal), "recording");
    return take_status();
}

static llap_status recorded(void **out)
{
    cudaGraph_t     graph = NULL;
    cudaGraphExec_t made = NULL;
    *out = NULL;
    ll_cuda_break();
    ll_cuda_note(cudaStreamEndCapture(LL_QUEUE, &graph), "recording");
    if (graph != NULL) ll_cuda_note(cudaGraphInstantiate(&made, graph, 0), "recording");
    if (graph != NULL) (void)cudaGraphDestroy(graph);
    *out = made;
    return take_status();
}

static llap_status replay(void *recording)
{
    ll_cuda_enter();
    ll_cuda_break();
    ll_cuda_note(cudaGraphLaunch((cudaGraphExec_t)recording, LL_QUEUE), "replay");
    return take_status();
}

static void forget(void *recording)
{
    ll_cuda_enter();
    ll_cuda_note(cudaStreamSynchronize(LL_QUEUE), "queue");
    (void)cudaGraphExecDestroy((cudaGraphExec_t)recording);
}

static llap_status order(uint32_t *out, int64_t n, int64_t width, const struct ll_rng *r,
                         void *work)
{
    ll_cuda_order(out, n, width, r, (int32_t *)work);
    return take_status();
}

extern "C" const ll_memory ll_cuda_memory = { allocate,  release, upload,   download,
                                              copy,      clear,   order,    finish,
                                              recording, record,  recorded, replay,
                                              forget,    why,     aside,    join };

bool ll_cuda_wgmma_there() { return major_of() == 9; }

static llap_status look_at(int device, char text[LL_CUDA_TEXT])
{
    found             f = {};
    const cudaError_t e = cudaGetDeviceCount(&f.n);
    f.kind = e == cudaSuccess                   ? FOUND_GPUS
             : e == cudaErrorInsufficientDriver ? FOUND_OLD_DRIVER
             : e == cudaErrorNoDevice           ? FOUND_NONE
                                                : FOUND_ERROR;
    f.error = cudaGetErrorString(e);
    f.runtime = CUDART_VERSION;
    (void)cudaDriverGetVersion(&f.driver);
    if (f.kind == FOUND_GPUS && device < f.n) {
        (void)cudaDeviceGetAttribute(&f.major, cudaDevAttrComputeCapabilityMajor, device);
        (void)cudaDeviceGetAttribute(&f.minor, cudaDevAttrComputeCapabilityMinor, device);
    }
    return found_judge(&f, device, text);
}

extern "C" llap_status ll_cuda_take_device(int device, char text[LL_CUDA_TEXT])
{
    int none = -1;
    if (taken.load() < 0) {
        const llap_status st = look_at(device, text);
        if (st != LLAP_OK) return st;
        (void)taken.compare_exchange_strong(none, device);
    }
    if (taken.load() == device) return LLAP_OK;
    snprintf(text, LL_CUDA_TEXT, "this process computes on cuda:%d already", taken.load());
    return LLAP_EUNSUPPORTED;
}
