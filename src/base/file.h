/* Files: read-only mapping, bounded reading, atomic writing. A path is bytes; "-" means nothing
 * special here (the callers that allow standard input or output say so). */
#ifndef LL_BASE_FILE_H
#define LL_BASE_FILE_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A regular file mapped read-only. An empty file has data == NULL and size == 0. Directories,
 * pipes and devices are refused without waiting for them. The bytes are the file's: whoever
 * shortens the file while it is mapped makes reads behind its new end fail with SIGBUS, so
 * programs that replace our files must do it by renaming, as ll_writer does. */
typedef struct ll_map {
    const uint8_t *data;
    size_t         size;
} ll_map;

llap_status ll_map_open(const char *path, ll_map *out); /* caller owns: ll_map_close */
void        ll_map_close(ll_map *m);                    /* { 0 } is fine, also twice */

/* Reads a whole file (or pipe) of at most max bytes; caller owns *out (ll_free), which carries a
 * NUL behind its *len bytes. LLAP_ELIMIT when there is more. */
llap_status ll_file_read(const char *path, size_t max, char **out, size_t *len);

/* Bytes that a new file at path could take, by what its folder's file system has left. */
llap_status ll_file_room(const char *path, uint64_t *n_bytes);

/* The path for callers that take "-" as standard output. */
const char *ll_file_or_stdout(const char *path);

/* Whether a file could be written there, before long work; leaves nothing behind. A pipe or device
 * is not opened: whoever reads it would see its end. */
llap_status ll_file_can_write(const char *path);

/* Atomic writing: everything goes to a temporary file beside the target, which commit renames over
 * it after fsync (and syncs the folder). Before commit the target is untouched; abort, or a crash,
 * leaves it so.
 *
 *     ll_writer w;
 *     llap_status st = ll_writer_open(path, &w);
 *     if (st == LLAP_OK) st = ll_writer_put(&w, bytes, n);      as often as needed
 *     if (st == LLAP_OK) st = ll_writer_commit(&w);
 *     ll_writer_abort(&w);                                      nothing left to do after commit
 *
 * The mode of an existing target is kept; a symbolic link is followed, not replaced. A target that
 * is a directory is refused at open; a pipe or device is written directly. So is /dev/stdout, from
 * where it stands, also where it is a file.
 *
 * A library that wants a path may write w.temporary itself, as long as it does not replace the
 * file, and close it before commit. */
typedef struct ll_writer {
    FILE *stream;    /* for fprintf; NULL when closed. A failed write is reported by commit. */
    char *path;      /* the target */
    char *temporary; /* NULL when writing directly */
} ll_writer;

llap_status ll_writer_open(const char *path, ll_writer *w);
llap_status ll_writer_put(ll_writer *w, const void *bytes, size_t n);
llap_status ll_writer_commit(ll_writer *w);
void        ll_writer_abort(ll_writer *w);

/* A stream into memory of alloc.h, so that limits of it count, and tests of what fails:
 *
 *     ll_memory_file m;
 *     llap_status st = ll_memory_file_open(&m);
 *     if (st == LLAP_OK) fprintf(m.stream, ...);
 *     st = ll_memory_file_close(&m, st, &text, &n);
 *
 * Once there is no more memory, writes fail: who writes much asks ferror now and then. */
typedef struct ll_memory_file {
    FILE  *stream; /* NULL: it could not be opened, or is closed */
    size_t n;      /* bytes so far, but for the last few, which the stream still holds */
    /* private */
    char  *text;
    size_t room;
} ll_memory_file;

llap_status ll_memory_file_open(ll_memory_file *m); /* m stays where it is until it is closed */
/* Where st says so and all was written: caller owns *text (ll_free), closed by a NUL behind its *n
 * bytes. Else *text is NULL. LLAP_ENOMEM: not all was written. */
llap_status ll_memory_file_close(ll_memory_file *m, llap_status st, char **text, size_t *n);

/* For tests. From now on every n-th commit fails as on a full disk, in whichever thread it comes
 * (0: none). Returns how many have failed since the last order. */
int64_t ll_writer_fail_every(int64_t n);

#endif
