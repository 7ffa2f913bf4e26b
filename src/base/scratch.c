#include "base/scratch.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static llap_status map_file(ll_scratch *s, size_t n_bytes)
{
    const char *folder = getenv("TMPDIR");
    char        path[4096];
    snprintf(path, sizeof path, "%s/llapdiff-XXXXXX",
             folder != NULL && *folder != '\0' ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0) return ll_fail_errno(errno, "%s", path);
    (void)unlink(path);
    int   err = posix_fallocate(fd, 0, (off_t)n_bytes);
    void *data = MAP_FAILED;
    if (err == 0) {
        data = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        err = data == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (err != 0) return ll_fail_errno(err, "%s: %.0f MB of scratch", path, 1e-6 * (double)n_bytes);
    *s = (ll_scratch){ .data = data, .mapped = n_bytes };
    return LLAP_OK;
}

static _Atomic size_t heap_max = (size_t)1 << 30;

size_t ll_scratch_heap(size_t most) { return atomic_exchange(&heap_max, most); }

llap_status ll_scratch_init(ll_scratch *s, size_t n_bytes)
{
    *s = (ll_scratch){ 0 };
    if (n_bytes > heap_max) return map_file(s, n_bytes);
    s->data = ll_new_aligned(n_bytes, 1);
    return s->data != NULL ? LLAP_OK : LLAP_ENOMEM;
}

void ll_scratch_used(ll_scratch *s, size_t n_bytes)
{
    s->used += n_bytes;
    if (s->mapped == 0 || s->used < heap_max / 4) return;
    (void)madvise(s->data, s->mapped, MADV_DONTNEED); /* of a shared file: from this process only */
    s->used = 0;
}

void ll_scratch_deinit(ll_scratch *s)
{
    if (s->mapped > 0) munmap(s->data, s->mapped);
    else ll_free(s->data);
    *s = (ll_scratch){ 0 };
}
