#include "base/file.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <llapdiff/progress.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- reading ---- */

llap_status ll_map_open(const char *path, ll_map *out)
{
    *out = (ll_map){ 0 };
    /* O_NONBLOCK: opening a pipe that nobody writes must not wait. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return ll_fail_errno(errno, "%s", path);
    llap_status st = LLAP_OK;
    struct stat s;
    if (fstat(fd, &s) != 0) st = ll_fail_errno(errno, "%s", path);
    else if (S_ISDIR(s.st_mode))
        st = ll_fail(LLAP_EINVAL, "%s: is a directory, expected a file", path);
    else if (!S_ISREG(s.st_mode)) st = ll_fail(LLAP_EINVAL, "%s: is not a regular file", path);
    else if (s.st_size > 0) {
        void *p = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) st = ll_fail_errno(errno, "%s", path);
        else *out = (ll_map){ .data = p, .size = (size_t)s.st_size };
    }
    close(fd);
    return st;
}

void ll_map_close(ll_map *m)
{
    if (m->data != NULL) munmap((void *)(uintptr_t)m->data, m->size);
    *m = (ll_map){ 0 };
}

static llap_status read_all(FILE *f, const char *path, size_t max, char **buf, size_t *len)
{
    for (size_t room = 0;;) {
        if (*len == room) {
            room = room == 0 ? 4096 : 2 * room;
            char *grown = ll_grow(*buf, room + 1, 1);
            if (grown == NULL) return LLAP_ENOMEM;
            *buf = grown;
        }
        const size_t n = fread(*buf + *len, 1, room - *len, f);
        *len += n;
        if (*len > max)
            return ll_fail(LLAP_ELIMIT, "%s: more than the %zu bytes allowed", path, max);
        if (n == 0) break;
    }
    (*buf)[*len] = '\0';
    return ferror(f) ? ll_fail_errno(errno, "%s", path) : LLAP_OK;
}

llap_status ll_file_read(const char *path, size_t max, char **out, size_t *len)
{
    *out = NULL;
    *len = 0;
    FILE *f = fopen(path, "rbe");
    if (f == NULL) return ll_fail_errno(errno, "%s", path);
    char             *buf = NULL;
    const llap_status st = read_all(f, path, max, &buf, len);
    fclose(f);
    if (st == LLAP_OK) {
        *out = buf;
    } else {
        *len = 0;
        ll_free(buf);
    }
    return st;
}

llap_status ll_file_room(const char *path, uint64_t *n_bytes)
{
    const char    *slash = strrchr(path, '/');
    char          *folder = slash == NULL   ? ll_strndup(".", 1)
                            : slash == path ? ll_strndup("/", 1)
                                            : ll_strndup(path, (size_t)(slash - path));
    struct statvfs v;
    llap_status    st = folder == NULL ? LLAP_ENOMEM : LLAP_OK;
    *n_bytes = 0;
    if (st == LLAP_OK && statvfs(folder, &v) != 0) st = ll_fail_errno(errno, "%s", folder);
    if (st == LLAP_OK) *n_bytes = (uint64_t)v.f_bavail * (uint64_t)v.f_frsize;
    ll_free(folder);
    return st;
}

/* ---- atomic writing ---- */

/* The file that path finally names, so that a link stays a link; a new file names itself. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    char *copy = real != NULL ? ll_strndup(real, strlen(real)) : ll_strndup(path, strlen(path));
    free(real);
    return copy;
}

/* 0666 less the process's umask, read without changing it (changing it would race with threads). */
static mode_t default_mode(void)
{
    unsigned mask = 022;
    FILE    *f = fopen("/proc/self/status", "re");
    char     line[256];
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "Umask: %o", &mask) == 1) break;
    if (f != NULL) fclose(f);
    return 0666 & ~(mode_t)mask;
}

static atomic_int writing; /* temporary files that are there now */

int llap_is_writing(void) { return atomic_load(&writing) > 0; }

static llap_status open_temporary(ll_writer *w, mode_t mode)
{
    const size_t n = strlen(w->path) + sizeof ".XXXXXX";
    w->temporary = ll_new(n, 1);
    if (w->temporary == NULL) return LLAP_ENOMEM;
    snprintf(w->temporary, n, "%s.XXXXXX", w->path);
    atomic_fetch_add(&writing, 1); /* before there is one */
    const int fd = mkstemp(w->temporary);
    if (fd < 0) {
        const int err = errno;
        atomic_fetch_sub(&writing, 1);
        ll_free(w->temporary);
        w->temporary = NULL;
        return ll_fail_errno(err, "%s: cannot create a file in its folder", w->path);
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fchmod(fd, mode);
    w->stream = fdopen(fd, "wb");
    if (w->stream == NULL) {
        const int err = errno;
        close(fd);
        return ll_fail_errno(err, "%s", w->path);
    }
    return LLAP_OK;
}

/* Whatever standard output is, with its place in it: a file opened by its name a second time would
 * be replaced, and what others write to it, before or after us, lost. */
static llap_status open_stdout(ll_writer *w)
{
    const int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    w->stream = fd < 0 ? NULL : fdopen(fd, "wb");
    if (w->stream != NULL) return LLAP_OK;
    const int err = errno;
    if (fd >= 0) close(fd);
    return ll_fail_errno(err, "standard output");
}

llap_status ll_writer_open(const char *path, ll_writer *w)
{
    *w = (ll_writer){ 0 };
    if (*path == '\0') return ll_fail(LLAP_EOPTION, "the output path is empty");
    const bool to_stdout = strcmp(path, "/dev/stdout") == 0;
    w->path = to_stdout ? ll_strndup(path, strlen(path)) : resolve(path);
    if (w->path == NULL) return LLAP_ENOMEM;
    if (to_stdout) {
        const llap_status opened = open_stdout(w);
        if (opened != LLAP_OK) ll_writer_abort(w);
        return opened;
    }
    struct stat s;
    const bool  exists = stat(w->path, &s) == 0;
    llap_status st = LLAP_OK;
    if (exists && S_ISDIR(s.st_mode)) {
        st = ll_fail(LLAP_EINVAL, "%s: is a directory, expected a file to write", path);
    } else if (exists && !S_ISREG(s.st_mode)) {
        w->stream = fopen(w->path, "wbe");
        if (w->stream == NULL) st = ll_fail_errno(errno, "%s", path);
    } else if (exists && access(w->path, W_OK) != 0) {
        st = ll_fail_errno(errno, "%s", path);
    } else {
        st = open_temporary(w, exists ? s.st_mode & 0777 : default_mode());
    }
    if (st != LLAP_OK) ll_writer_abort(w);
    return st;
}

const char *ll_file_or_stdout(const char *path)
{
    return strcmp(path, "-") == 0 ? "/dev/stdout" : path;
}

llap_status ll_file_can_write(const char *path)
{
    struct stat s;
    ll_writer   w;
    if (strcmp(path, "/dev/stdout") == 0) return LLAP_OK; /* open already, whoever owns it */
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        return access(path, W_OK) == 0 ? LLAP_OK : ll_fail_errno(errno, "%s", path);
    const llap_status st = ll_writer_open(path, &w);
    ll_writer_abort(&w);
    return st;
}

llap_status ll_writer_put(ll_writer *w, const void *bytes, size_t n)
{
    if (n > 0 && fwrite(bytes, 1, n, w->stream) != n) return ll_fail_errno(errno, "%s", w->path);
    return LLAP_OK;
}

/* Makes a rename in the folder of path durable. Some file systems cannot sync a folder; the
 * rename has happened by then, so that is no failure. */
static void sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    char  kept = '\0';
    if (slash != NULL) {
        slash += slash == path; /* "/name": the folder is "/" */
        kept = *slash;
        *slash = '\0';
    }
    const int fd = open(slash != NULL ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    if (slash != NULL) *slash = kept;
}

static atomic_int_fast64_t fail_every, n_commits, n_failed;

int64_t ll_writer_fail_every(int64_t n)
{
    fail_every = n;
    n_commits = 0;
    return atomic_exchange(&n_failed, 0);
}

static bool told_to_fail(void)
{
    const int64_t n = fail_every;
    if (n == 0 || (atomic_fetch_add(&n_commits, 1) + 1) % n != 0) return false;
    atomic_fetch_add(&n_failed, 1);
    errno = ENOSPC;
    return true;
}

llap_status ll_writer_commit(ll_writer *w)
{
    const bool atomic = w->temporary != NULL;
    bool       ok = ferror(w->stream) == 0;
    if (!ok) { /* why an earlier write failed is gone: what it left tells again */
        clearerr(w->stream);
        errno = 0;
        if (fflush(w->stream) == 0 || errno == 0) errno = EIO;
    }
    ok = ok && fflush(w->stream) == 0 && !told_to_fail();
    if (ok && atomic) ok = fsync(fileno(w->stream)) == 0;
    int err = errno;
    if (fclose(w->stream) != 0 && ok) {
        ok = false;
        err = errno;
    }
    w->stream = NULL;
    if (ok && atomic && rename(w->temporary, w->path) != 0) {
        ok = false;
        err = errno;
    }
    const llap_status st = ok ? LLAP_OK : ll_fail_errno(err, "%s", w->path);
    if (ok && atomic) {
        ll_free(w->temporary);
        w->temporary = NULL;
        atomic_fetch_sub(&writing, 1);
        sync_folder(w->path);
    }
    ll_writer_abort(w);
    return st;
}

void ll_writer_abort(ll_writer *w)
{
    if (w->stream != NULL) fclose(w->stream);
    if (w->temporary != NULL) {
        unlink(w->temporary);
        atomic_fetch_sub(&writing, 1);
    }
    ll_free(w->temporary);
    ll_free(w->path);
    *w = (ll_writer){ 0 };
}
