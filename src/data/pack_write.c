/* Packing: rows to blocks, in pieces of a few hundred kilobytes. */
#include "data/pack_layout.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "data/pack_index.h"
#include "data/panel_blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

struct ll_pack_writer {
    char          *path;
    ll_writer      whole; /* the file, or `index` of a folder */
    ll_writer     *shard; /* [n_shards] of a folder */
    int64_t        n_shards, room_shards;
    bool           folder, made;  /* the folder was made by this writer */
    bool           begun, closed; /* its blocks: no row follows */
    ll_pack_header h;
    uint32_t      *sum; /* [n_blocks][LL_PACK_SECTIONS] */
    int64_t        n_blocks, room_blocks;

    int64_t   piece_rows; /* room of the three below, a multiple of 64 */
    int64_t   n;          /* rows in them */
    int64_t   in_block;   /* rows of the last block that are written */
    int64_t  *time;
    float    *value;
    uint64_t *observed;
};

const char *ll_pack_writer_path(const ll_pack_writer *w) { return w->path; }

bool ll_pack_writer_begun(const ll_pack_writer *w) { return w->begun; }

static llap_status folder_file(const ll_pack_writer *w, const char *name, ll_writer *out)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", w->path, name) >= (int)sizeof path)
        return ll_fail(LLAP_EINVAL, "%s: a path of over 4095 bytes", w->path);
    return ll_writer_open(path, out);
}

llap_status ll_pack_writer_open(const char *path, int64_t shard_rows, ll_pack_writer **out)
{
    ll_pack_writer *w = *out = ll_new(1, sizeof *w);
    if (w == NULL) return LLAP_ENOMEM;
    w->folder = shard_rows > 0;
    w->h.block_rows = LL_PACK_BLOCK_ROWS;
    if (w->folder) {
        w->h.shard_blocks = shard_rows / w->h.block_rows;
        if (w->h.shard_blocks == 0) w->h.shard_blocks = 1;
    }
    w->path = ll_strndup(path, strlen(path));
    llap_status st = w->path == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && w->folder) {
        w->made = mkdir(path, 0777) == 0;
        if (!w->made)
            st = errno == EEXIST
                     ? ll_fail(LLAP_EINVAL, "%s: is there already; shards go into a new folder",
                               path)
                     : ll_fail_errno(errno, "%s", path);
    }
    if (st == LLAP_OK)
        st = w->folder ? folder_file(w, "index", &w->whole) : ll_writer_open(path, &w->whole);
    if (st == LLAP_OK && w->whole.temporary == NULL)
        st = ll_fail(LLAP_EINVAL, "%s: is not a regular file", path);
    if (st == LLAP_OK) return LLAP_OK;
    ll_pack_writer_close(w);
    *out = NULL;
    return st;
}

void ll_pack_writer_close(ll_pack_writer *w)
{
    if (w == NULL) return;
    for (int64_t i = 0; i < w->n_shards; i++) ll_writer_abort(&w->shard[i]);
    ll_writer_abort(&w->whole);
    for (int64_t i = 0; w->made && i < w->n_shards; i++) { /* those that were committed */
        char path[4096], name[LL_PACK_SHARD_NAME];
        ll_pack_shard_name(i, name);
        if (snprintf(path, sizeof path, "%s/%s", w->path, name) < (int)sizeof path)
            (void)unlink(path);
    }
    if (w->made) (void)rmdir(w->path); /* stays where something else is in it */
    ll_free(w->shard);
    ll_free(w->sum);
    ll_free(w->time);
    ll_free(w->value);
    ll_free(w->observed);
    ll_free(w->path);
    ll_free(w);
}

llap_status ll_pack_writer_begin(ll_pack_writer *w, int64_t n_vars)
{
    assert(!w->begun && n_vars >= 0);
    w->begun = true;
    w->h.n_vars = n_vars;
    w->piece_rows = PIECE_BYTES / (8 + 4 * n_vars) / 64 * 64;
    if (w->piece_rows < 64) w->piece_rows = 64;
    if (w->piece_rows > w->h.block_rows) w->piece_rows = w->h.block_rows;
    while (w->h.block_rows % w->piece_rows != 0) w->piece_rows -= 64;
    w->time = ll_new((size_t)w->piece_rows, sizeof *w->time);
    w->value = ll_new((size_t)(w->piece_rows * n_vars), sizeof *w->value);
    w->observed = ll_new(ll_panel_bit_words(w->piece_rows * n_vars), sizeof *w->observed);
    return w->time == NULL || w->value == NULL || w->observed == NULL ? LLAP_ENOMEM : LLAP_OK;
}

/* ---- blocks ---- */

static int64_t stride(const ll_pack_writer *w)
{
    return ll_pack_place(LL_PACK_SECTIONS, w->h.block_rows, w->h.n_vars);
}

/* The file of a block, and where it begins there. */
static llap_status block_file(ll_pack_writer *w, int64_t b, int *fd, int64_t *at)
{
    if (!w->folder) {
        *fd = fileno(w->whole.stream);
        *at = LL_PACK_ALIGN + b * stride(w);
        return LLAP_OK;
    }
    const int64_t shard = b / w->h.shard_blocks;
    if (shard == w->n_shards) {
        char name[LL_PACK_SHARD_NAME];
        if (w->n_shards == w->room_shards) {
            const int64_t room = 2 * w->room_shards + 4;
            ll_writer    *more = ll_grow(w->shard, (size_t)room, sizeof *more);
            if (more == NULL) return LLAP_ENOMEM;
            w->shard = more;
            w->room_shards = room;
        }
        ll_pack_shard_name(shard, name);
        w->shard[shard] = (ll_writer){ 0 };
        const llap_status st = folder_file(w, name, &w->shard[shard]);
        if (st != LLAP_OK) return st;
        w->n_shards++;
    }
    *fd = fileno(w->shard[shard].stream);
    *at = (b - shard * w->h.shard_blocks) * stride(w);
    return LLAP_OK;
}

static llap_status write_at(const ll_pack_writer *w, int fd, const void *bytes, int64_t n,
                            int64_t at)
{
    const char *from = bytes;
    while (n > 0) {
        const ssize_t done = pwrite(fd, from, (size_t)n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return ll_fail_errno(done == 0 ? ENOSPC : errno, "%s", w->path);
        from += done, n -= done, at += done;
    }
    return LLAP_OK;
}

static llap_status more_blocks(ll_pack_writer *w)
{
    if (w->n_blocks == w->room_blocks) {
        const int64_t room = 2 * w->room_blocks + 16;
        uint32_t     *more = ll_grow(w->sum, (size_t)room * LL_PACK_SECTIONS, sizeof *more);
        if (more == NULL) return LLAP_ENOMEM;
        w->sum = more;
        w->room_blocks = room;
    }
    memset(w->sum + w->n_blocks++ * LL_PACK_SECTIONS, 0, LL_PACK_SECTIONS * sizeof *w->sum);
    w->in_block = 0;
    return LLAP_OK;
}

/* The rows of the piece to their three places. */
static llap_status flush_piece(ll_pack_writer *w)
{
    const void *const from[] = { w->time, w->value, w->observed };
    int               fd;
    int64_t           at;
    llap_status       st = LLAP_OK;
    if (w->n == 0) return LLAP_OK;
    if (w->n_blocks == 0 || w->in_block == w->h.block_rows) st = more_blocks(w);
    if (st == LLAP_OK) st = block_file(w, w->n_blocks - 1, &fd, &at);
    for (int s = 0; s < LL_PACK_SECTIONS && st == LLAP_OK; s++) {
        const int64_t n = ll_pack_section(s, w->n, w->h.n_vars);
        uint32_t     *sum = &w->sum[(w->n_blocks - 1) * LL_PACK_SECTIONS + s];
        *sum = ll_pack_crc(*sum, from[s], n);
        st = write_at(w, fd, from[s], n,
                      at + ll_pack_place(s, w->h.block_rows, w->h.n_vars) +
                          ll_pack_section(s, w->in_block, w->h.n_vars));
    }
    w->in_block += w->n;
    w->h.n_rows += w->n;
    w->n = 0;
    memset(w->observed, 0, ll_panel_bit_words(w->piece_rows * w->h.n_vars) * sizeof *w->observed);
    return st;
}

static llap_status put_row(ll_pack_writer *w, int64_t time, const float *values,
                           const uint64_t *bits, int64_t cell)
{
    const int64_t vars = w->h.n_vars, to = w->n * vars;
    w->time[w->n] = time;
    for (int64_t v = 0; v < vars; v++) {
        w->value[to + v] = values[v];
        if (bits == NULL ? !isnan(values[v]) : ll_bit(bits, cell + v))
            ll_bit_set(w->observed, to + v);
    }
    return ++w->n == w->piece_rows ? flush_piece(w) : LLAP_OK;
}

llap_status ll_pack_writer_row(ll_pack_writer *w, int64_t time, const float *values)
{
    return put_row(w, time, values, NULL, 0);
}

llap_status ll_pack_writer_rows_of(ll_pack_writer *w, const llap_panel *p)
{
    llap_status st = LLAP_OK;
    assert(p->n_vars == w->h.n_vars);
    for (int64_t r = 0; r < p->n_rows && st == LLAP_OK; r++)
        st = put_row(w, p->time[r], p->value + r * p->n_vars, p->observed, r * p->n_vars);
    return st;
}

/* ---- the end ---- */

static llap_status read_at(const ll_pack_writer *w, int fd, void *bytes, int64_t n, int64_t at)
{
    char *to = bytes;
    while (n > 0) {
        const ssize_t done = pread(fd, to, (size_t)n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return ll_fail_errno(done == 0 ? EIO : errno, "%s", w->path);
        to += done, n -= done, at += done;
    }
    return LLAP_OK;
}

/* The sections of a last block that is not full move down to where its size puts them. */
static llap_status close_block(ll_pack_writer *w)
{
    const int64_t vars = w->h.n_vars;
    int           fd;
    int64_t       at;
    llap_status   st = w->closed ? LLAP_OK : flush_piece(w);
    if (w->closed || st != LLAP_OK) return st;
    w->closed = true;
    w->h.block_bytes = ll_pack_block_bytes(w->h.n_rows, w->h.block_rows, vars);
    if (w->n_blocks == 0 || w->in_block == w->h.block_rows) return LLAP_OK;
    st = block_file(w, w->n_blocks - 1, &fd, &at);
    char *piece = ll_new(PIECE_BYTES, 1);
    if (st == LLAP_OK && piece == NULL) st = LLAP_ENOMEM;
    const int64_t now = w->in_block;
    for (int s = 1; s < LL_PACK_SECTIONS && st == LLAP_OK; s++) {
        const int64_t from = at + ll_pack_place(s, w->h.block_rows, vars),
                      to = at + ll_pack_place(s, now, vars), n = ll_pack_section(s, now, vars),
                      filled = ll_pack_pad(n);
        for (int64_t i = 0; i < filled && st == LLAP_OK; i += PIECE_BYTES) {
            const int64_t left = n - i,
                          have = left < 0             ? 0
                                 : left < PIECE_BYTES ? left
                                                      : PIECE_BYTES,
                          whole = filled - i < PIECE_BYTES ? filled - i : PIECE_BYTES;
            st = read_at(w, fd, piece, have, from + i);
            memset(piece + have, 0, (size_t)(whole - have));
            if (st == LLAP_OK) st = write_at(w, fd, piece, whole, to + i);
        }
    }
    ll_free(piece);
    if (st == LLAP_OK && ftruncate(fd, at + ll_pack_place(LL_PACK_SECTIONS, now, vars)) != 0)
        st = ll_fail_errno(errno, "%s", w->path);
    return st;
}

llap_status ll_pack_writer_panel(ll_pack_writer *w, ll_panel_draft *d, llap_panel **out)
{
    *out = NULL;
    ll_pack    *k = NULL;
    llap_status st = close_block(w);
    if (st != LLAP_OK) return st;
    assert(d->start[d->n_entities] == w->h.n_rows);
    int *fd = ll_new((size_t)w->n_shards + 1, sizeof *fd);
    if (fd == NULL) return LLAP_ENOMEM;
    fd[0] = fileno(w->whole.stream);
    for (int64_t i = 0; i < w->n_shards; i++) fd[i] = fileno(w->shard[i].stream);
    st = ll_pack_map(&w->h, w->path, fd, w->folder ? 0 : LL_PACK_ALIGN, w->sum, true, &k);
    ll_free(fd);
    return st == LLAP_OK ? ll_panel_of_pack(d, k, out) : st;
}

llap_status ll_pack_writer_commit(ll_pack_writer *w, const llap_panel *p)
{
    uint8_t     header[LL_PACK_HEADER];
    char       *bytes = NULL;
    llap_status st = close_block(w);
    if (st == LLAP_OK) st = ll_pack_index_make(&w->h, p, w->sum, w->n_blocks, &bytes);
    const int     fd = fileno(w->whole.stream);
    const int64_t at = LL_PACK_ALIGN + (w->folder ? 0 : w->h.block_bytes);
    if (st == LLAP_OK) {
        w->h.index_sum = ll_pack_crc(0, bytes, w->h.index_bytes);
        ll_pack_header_put(&w->h, header);
        st = write_at(w, fd, bytes, w->h.index_bytes, at);
    }
    if (st == LLAP_OK) st = write_at(w, fd, header, sizeof header, 0);
    ll_free(bytes);
    for (int64_t i = 0; i < w->n_shards && st == LLAP_OK; i++) st = ll_writer_commit(&w->shard[i]);
    if (st == LLAP_OK) st = ll_writer_commit(&w->whole);
    if (st == LLAP_OK) w->made = false; /* stays */
    return st;
}
