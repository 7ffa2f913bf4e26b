/* Large arrays that may be bigger than the memory: a block on the heap, or beyond a limit a mapped
 * file without a name, which is gone when it is freed or the process ends.
 *
 *     ll_scratch s;
 *     st = ll_scratch_init(&s, n_bytes);      s.data, zeroed
 *     ... read or write some of it; ll_scratch_used(&s, so many bytes);
 *     ll_scratch_deinit(&s); */
#ifndef LL_BASE_SCRATCH_H
#define LL_BASE_SCRATCH_H

#include <llapdiff/status.h>
#include <stddef.h>

typedef struct ll_scratch {
    void  *data;
    size_t mapped; /* bytes of the file; 0: on the heap */
    size_t used;   /* since its pages were let go */
} ll_scratch;

/* The file lies in $TMPDIR, or /tmp. Its blocks are reserved first: LLAP_EIO says that the disk has
 * too little room, nothing fails later. */
llap_status ll_scratch_init(ll_scratch *s, size_t n_bytes);
void        ll_scratch_deinit(ll_scratch *s); /* { 0 } is fine */

/* So many bytes were looked at or written. After a quarter of the heap's limit all pages of the
 * file leave the memory of the process, which would otherwise grow to the size of the file; nothing
 * is lost, and what is looked at next comes back from the kernel's cache, or the disk. Not while
 * another thread works in it. */
void ll_scratch_used(ll_scratch *s, size_t n_bytes);

/* For tests: larger ones than so many bytes go to a file, of the whole process; the limit before.
 * It begins as 1 GiB. */
size_t ll_scratch_heap(size_t most);

#endif
