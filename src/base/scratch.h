/* Large arrays that may be bigger than the memory: a block on the heap, or beyond a limit a mapped
 * file without a name, which is gone when it is freed or the process ends.
 *
 *     llap_scratch s;
 *     st = llap_scratch_init(&s, n_bytes);      s.data, zeroed
 *     ... read or write some of it; llap_scratch_used(&s, so many bytes);
 *     llap_scratch_deinit(&s); */
#ifndef LLAP_BASE_SCRATCH_H
#define LLAP_BASE_SCRATCH_H

#include <llapdiff/status.h>
#include <stddef.h>

typedef struct llap_scratch {
    void  *data;
    size_t mapped; /* bytes of the file; 0: on the heap */
    size_t used;   /* since its pages were let go */
} llap_scratch;

/* The file lies in $TMPDIR, or /tmp. Its blocks are reserved first: LLAP_EIO says that the disk has
 * too little room, nothing fails later. */
llap_status llap_scratch_init(llap_scratch *s, size_t n_bytes);
void        llap_scratch_deinit(llap_scratch *s); /* { 0 } is fine */

/* So many bytes were looked at or written. After a quarter of the heap's limit all pages of the
 * file leave the memory of the process, which would otherwise grow to the size of the file; nothing
 * is lost, and what is looked at next comes back from the kernel's cache, or the disk. Not while
 * another thread works in it. */
void llap_scratch_used(llap_scratch *s, size_t n_bytes);

/* For tests: larger ones than so many bytes go to a file, of the whole process; the limit before.
 * It begins as 1 GiB. */
size_t llap_scratch_heap(size_t most);

#endif
