/* Takes a device's memory away, for what happens when there is little left. */
#ifndef LLAP_TESTS_HOG_H
#define LLAP_TESTS_HOG_H

#include "check.h"

#include "backend/backend.h"

typedef struct hog { /* of the device's memory */
    const llap_backend *b;
    void               *at[4096];
    int                 n;
} hog;

static inline bool hog_take(hog *h, size_t n_bytes)
{
    assert_true(h->n < 4096);
    const bool ok = h->b->memory->alloc(n_bytes, &h->at[h->n]) == LLAP_OK;
    h->n += ok;
    return ok;
}

/* All but so many bytes. */
static inline void hog_all_but(hog *h, size_t left)
{
    void *room = NULL;
    CHECK_OK(h->b->memory->alloc(left, &room));
    for (size_t size = (size_t)1 << 36; size >= (size_t)1 << 21; size /= 2)
        while (hog_take(h, size)) {
        }
    h->b->memory->release(room);
    CHECK_OK(h->b->memory->finish());
}

static inline void hog_release(hog *h)
{
    while (h->n > 0) h->b->memory->release(h->at[--h->n]);
}

#endif
