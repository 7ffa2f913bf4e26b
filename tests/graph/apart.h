/* The cpu backend with memory of its own, as a GPU has it: copies are real, and a pointer of the
 * wrong side fails the test. For what plans and runs do around kernels. */
#ifndef LLAP_TESTS_APART_H
#define LLAP_TESTS_APART_H

#include "check.h"

#include "backend/cpu/cpu.h"

enum { APART_BLOCKS = 4096 };

static struct {
    char  *at[APART_BLOCKS];
    size_t size[APART_BLOCKS];
    int    n_uploads, n_downloads;
    size_t limit; /* bytes that one allocation may have; 0: any */
} apart_state;

static bool apart_owns(const void *p, size_t n)
{
    for (int i = 0; i < APART_BLOCKS; i++) {
        const char *at = apart_state.at[i];
        if (at != NULL && (const char *)p >= at && (const char *)p + n <= at + apart_state.size[i])
            return true;
    }
    return false;
}

static llap_status apart_alloc(size_t n, void **out)
{
    *out = NULL;
    if (apart_state.limit > 0 && n > apart_state.limit) return LLAP_ENOMEM;
    *out = llap_new_aligned(n + 1, 1);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < APART_BLOCKS; i++) {
        if (apart_state.at[i] != NULL) continue;
        apart_state.at[i] = *out;
        apart_state.size[i] = n + 1;
        return LLAP_OK;
    }
    fail_msg("too many blocks");
    return LLAP_ENOMEM;
}

static void apart_release(void *p)
{
    for (int i = 0; i < APART_BLOCKS; i++)
        if (apart_state.at[i] == p) apart_state.at[i] = NULL;
    llap_free(p);
}

static llap_status apart_upload(void *to, const void *from, size_t n)
{
    assert_true(apart_owns(to, n) && !apart_owns(from, n));
    apart_state.n_uploads++;
    memcpy(to, from, n);
    return LLAP_OK;
}

static llap_status apart_download(void *to, const void *from, size_t n)
{
    assert_true(apart_owns(from, n) && !apart_owns(to, n));
    apart_state.n_downloads++;
    memcpy(to, from, n);
    return LLAP_OK;
}

static llap_status apart_copy(void *to, const void *from, size_t n)
{
    assert_true(apart_owns(from, n) && apart_owns(to, n));
    memmove(to, from, n);
    return LLAP_OK;
}

static llap_status apart_clear(void *p, size_t n)
{
    assert_true(apart_owns(p, n));
    memset(p, 0, n);
    return LLAP_OK;
}

static llap_status apart_finish(void) { return LLAP_OK; }
static const char *apart_why(void) { return "out of memory"; }

static const llap_memory apart_memory = { .alloc = apart_alloc,
                                          .release = apart_release,
                                          .upload = apart_upload,
                                          .download = apart_download,
                                          .copy = apart_copy,
                                          .clear = apart_clear,
                                          .finish = apart_finish,
                                          .why = apart_why };

static inline llap_backend apart_backend(void)
{
    llap_backend b = llap_backend_cpu;
    b.name = "apart";
    b.memory = &apart_memory;
    return b;
}

#endif
