#include "data/text/source.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PACKED_BYTES = 64 * 1024 };

struct ll_source {
    char                *name;
    int                  fd; /* -1: memory */
    const unsigned char *memory;
    size_t               left; /* bytes of memory not yet read */

    bool           packed;    /* gzip */
    bool           inflating; /* the stream below is initialised */
    bool           in_member; /* of a gzip file, which may have several */
    z_stream       stream;
    unsigned char *raw;   /* [PACKED_BYTES] bytes read ahead: the magic, or packed data */
    size_t         n_raw; /* unread bytes at raw + raw_at */
    size_t         raw_at;
};

static void *zlib_new(void *unused, uInt n, uInt size)
{
    (void)unused;
    return ll_new(n, size);
}

static void zlib_free(void *unused, void *p)
{
    (void)unused;
    ll_free(p);
}

const char *ll_source_name(const ll_source *s) { return s->name; }

void ll_source_close(ll_source *s)
{
    if (s == NULL) return;
    if (s->inflating) inflateEnd(&s->stream);
    if (s->fd > STDIN_FILENO) close(s->fd);
    ll_free(s->raw);
    ll_free(s->name);
    ll_free(s);
}

/* Bytes as they lie in the file; fewer than max only at its end. */
static llap_status read_plain(ll_source *s, void *to, size_t max, size_t *n)
{
    *n = 0;
    if (s->fd < 0) {
        *n = s->left < max ? s->left : max;
        if (*n > 0) memcpy(to, s->memory, *n);
        s->memory += *n;
        s->left -= *n;
        return LLAP_OK;
    }
    while (*n < max) {
        const ssize_t got = read(s->fd, (char *)to + *n, max - *n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ll_fail_errno(errno, "%s", s->name);
        if (got == 0) break;
        *n += (size_t)got;
    }
    return LLAP_OK;
}

/* Looks at the first bytes, and gets zlib ready when they are gzip's. */
static llap_status look_inside(ll_source *s)
{
    const unsigned char *head = s->memory;
    size_t               n = s->left;
    if (s->fd >= 0) {
        s->raw = ll_new(PACKED_BYTES, 1);
        if (s->raw == NULL) return LLAP_ENOMEM;
        const llap_status st = read_plain(s, s->raw, PACKED_BYTES, &s->n_raw);
        if (st != LLAP_OK) return st;
        head = s->raw;
        n = s->n_raw;
    }
    s->packed = n >= 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (!s->packed) return LLAP_OK;
    if (s->raw == NULL) s->raw = ll_new(PACKED_BYTES, 1);
    if (s->raw == NULL) return LLAP_ENOMEM;
    s->stream.zalloc = zlib_new;
    s->stream.zfree = zlib_free;
    if (inflateInit2(&s->stream, 15 + 16) != Z_OK) return LLAP_ENOMEM;
    s->inflating = true;
    return LLAP_OK;
}

static llap_status open_source(const char *name, int fd, const void *data, size_t n,
                               ll_source **out)
{
    ll_source *s = *out = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->fd = fd;
    s->memory = data;
    s->left = n;
    s->name = ll_strndup(name, strlen(name));
    llap_status st = s->name == NULL ? LLAP_ENOMEM : look_inside(s);
    if (st != LLAP_OK) {
        s->fd = -1; /* the caller's to close */
        ll_source_close(s);
        *out = NULL;
    }
    return st;
}

llap_status ll_source_open(const char *path, ll_source **out)
{
    *out = NULL;
    if (strcmp(path, "-") == 0) return open_source("standard input", STDIN_FILENO, NULL, 0, out);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ll_fail_errno(errno, "%s", path);
    struct stat info;
    llap_status st = LLAP_OK;
    if (fstat(fd, &info) != 0) st = ll_fail_errno(errno, "%s", path);
    else if (S_ISDIR(info.st_mode)) st = ll_fail(LLAP_EINVAL, "%s: is a directory", path);
    if (st == LLAP_OK) st = open_source(path, fd, NULL, 0, out);
    if (st != LLAP_OK) close(fd);
    return st;
}

llap_status ll_source_open_memory(const char *name, const void *data, size_t n, ll_source **out)
{
    return open_source(name, -1, data, n, out);
}

/* Hands out what was read ahead, then the file itself. */
static llap_status read_through(ll_source *s, void *to, size_t max, size_t *n)
{
    const size_t ahead = s->n_raw < max ? s->n_raw : max;
    if (ahead > 0) memcpy(to, s->raw + s->raw_at, ahead);
    s->raw_at += ahead;
    s->n_raw -= ahead;
    *n = 0;
    llap_status st = ahead < max ? read_plain(s, (char *)to + ahead, max - ahead, n) : LLAP_OK;
    *n += ahead;
    return st;
}

static llap_status refill(ll_source *s)
{
    s->raw_at = 0;
    return read_plain(s, s->raw, PACKED_BYTES, &s->n_raw);
}

/* One call of inflate on what is there; the end of a member leads to the next one. */
static llap_status inflate_some(ll_source *s)
{
    z_stream *z = &s->stream;
    z->next_in = s->raw + s->raw_at;
    z->avail_in = (uInt)s->n_raw;
    s->in_member = true;
    const int rc = inflate(z, Z_NO_FLUSH);
    s->raw_at += s->n_raw - z->avail_in;
    s->n_raw = z->avail_in;
    if (rc == Z_STREAM_END) {
        s->in_member = false;
        return inflateReset(z) == Z_OK ? LLAP_OK : LLAP_ENOMEM;
    }
    if (rc == Z_MEM_ERROR) return LLAP_ENOMEM; /* detail set by ll_new */
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return ll_fail(LLAP_EFORMAT, "%s: damaged gzip data: %s", s->name,
                       z->msg == NULL ? "unknown reason" : z->msg);
    return LLAP_OK;
}

llap_status ll_source_read(ll_source *s, void *to, size_t max, size_t *n)
{
    if (!s->packed) return read_through(s, to, max, n);
    z_stream *z = &s->stream;
    z->next_out = to;
    z->avail_out = max > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)max;
    const uInt  asked = z->avail_out;
    llap_status st = LLAP_OK;
    while (st == LLAP_OK && z->avail_out > 0) {
        if (s->n_raw == 0) st = refill(s);
        if (st == LLAP_OK && s->n_raw == 0) {
            if (s->in_member) st = ll_fail(LLAP_EFORMAT, "%s: gzip data ends too early", s->name);
            break;
        }
        if (st == LLAP_OK) st = inflate_some(s);
    }
    *n = asked - z->avail_out;
    return st;
}
