/* Opening packed panels: nothing in their files is believed before it was looked at. */
#include "data/pack_layout.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/clock.h"
#include "data/panel_blocks.h"
#include "data/panel_words.h"
#include "data/text/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct opening {
    char          *name;   /* of the file that has the index */
    const char    *folder; /* NULL: all in one file */
    int            fd;     /* of that file */
    int64_t        size;
    ll_pack_header h;
    ll_map         index;
    int           *shard; /* [n_shards] open files */
    int64_t        n_shards;
    const char    *text; /* of the index, not yet read */
    size_t         n_text;
} opening;

/* A folder's is its file `index`. Caller owns the result. */
static char *index_path(const char *path, bool *folder)
{
    struct stat s;
    *folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    const size_t n = strlen(path) + sizeof "/index";
    char        *name = ll_new(n, 1);
    if (name != NULL) snprintf(name, n, *folder ? "%s/index" : "%s", path);
    return name;
}

bool ll_pack_detect(const char *path)
{
    bool  folder;
    char  start[8];
    char *name = index_path(path, &folder);
    if (name == NULL) return false;
    struct stat s; /* pipes are not opened: their writers would find that nobody reads on */
    const bool  file = stat(name, &s) == 0 && S_ISREG(s.st_mode);
    const int   fd = file ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    const bool  is = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) &&
                    pread(fd, start, sizeof start, 0) == sizeof start &&
                    memcmp(start, "llappack", 8) == 0;
    if (fd >= 0) close(fd);
    ll_free(name);
    return is;
}

static llap_status open_file(const char *name, int *fd, int64_t *size)
{
    struct stat s;
    *fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &s) != 0) return ll_fail_errno(errno, "%s", name);
    if (!S_ISREG(s.st_mode)) return ll_fail(LLAP_EINVAL, "%s: is not a regular file", name);
    *size = s.st_size;
    return LLAP_OK;
}

static llap_status expect_size(const char *name, int64_t found, int64_t expected)
{
    if (found == expected) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "%s: has %lld bytes, expected %lld: %s", name, (long long)found,
                   (long long)expected, found < expected ? "it was cut" : "it was changed");
}

static llap_status read_header(opening *o)
{
    uint8_t       bytes[LL_PACK_HEADER];
    const ssize_t n = pread(o->fd, bytes, sizeof bytes, 0);
    if (n < 0) return ll_fail_errno(errno, "%s", o->name);
    llap_status st = ll_pack_header_get(bytes, (size_t)n, o->name, &o->h);
    if (st != LLAP_OK) return st;
    if ((o->h.shard_blocks > 0) != (o->folder != NULL))
        return ll_fail(LLAP_EFORMAT, "%s: %s", o->name,
                       o->folder != NULL ? "is a whole panel, in the place of the index of a folder"
                                         : "is the index of a folder of shards: give the folder");
    const int64_t blocks = o->folder != NULL ? 0 : o->h.block_bytes;
    int64_t       whole;
    if (__builtin_add_overflow(LL_PACK_ALIGN + blocks, o->h.index_bytes, &whole))
        return ll_fail(LLAP_EFORMAT, "%s: the header has sizes that cannot be", o->name);
    return expect_size(o->name, o->size, whole);
}

static llap_status map_index(opening *o)
{
    const int64_t at = LL_PACK_ALIGN + (o->folder != NULL ? 0 : o->h.block_bytes);
    if (o->h.index_bytes == 0) return ll_fail(LLAP_EFORMAT, "%s: has no index", o->name);
    void *p = mmap(NULL, (size_t)o->h.index_bytes, PROT_READ, MAP_PRIVATE, o->fd, at);
    if (p == MAP_FAILED) return ll_fail_errno(errno, "%s", o->name);
    o->index = (ll_map){ .data = p, .size = (size_t)o->h.index_bytes };
    if (ll_pack_crc(0, p, o->h.index_bytes) != o->h.index_sum)
        return ll_fail(LLAP_EFORMAT, "%s: the index was changed since it was packed", o->name);
    return LLAP_OK;
}

static llap_status open_shards(opening *o)
{
    if (o->folder == NULL) return LLAP_OK;
    const int64_t blocks = ll_pack_blocks(o->h.n_rows, o->h.block_rows);
    const int64_t n = ll_pack_blocks(blocks, o->h.shard_blocks);
    /* each block has a sum in the index, so there are no more shards than bytes of it */
    if (n > o->h.index_bytes) return ll_fail(LLAP_EFORMAT, "%s: more shards than can be", o->name);
    o->shard = ll_new((size_t)n, sizeof *o->shard);
    if (o->shard == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        char          path[4096], name[LL_PACK_SHARD_NAME];
        int64_t       size = 0;
        const int64_t first = i * o->h.shard_blocks * o->h.block_rows, left = o->h.n_rows - first,
                      rows = left / o->h.block_rows < o->h.shard_blocks
                                 ? left
                                 : o->h.shard_blocks * o->h.block_rows;
        ll_pack_shard_name(i, name);
        if (snprintf(path, sizeof path, "%s/%s", o->folder, name) >= (int)sizeof path)
            return ll_fail(LLAP_EINVAL, "%s: a path of over 4095 bytes", o->folder);
        st = open_file(path, &o->shard[o->n_shards++], &size);
        if (st == LLAP_ENOTFOUND)
            st = ll_fail(LLAP_EFORMAT, "%s: shard %lld of %lld is missing", path, (long long)i + 1,
                         (long long)n);
        if (st == LLAP_OK)
            st = expect_size(path, size, ll_pack_block_bytes(rows, o->h.block_rows, o->h.n_vars));
    }
    return st;
}

/* ---- the index ---- */

static llap_status next_text(opening *o, const char **out)
{
    const size_t n = strnlen(o->text, o->n_text);
    if (n == o->n_text) return ll_fail(LLAP_EFORMAT, "%s: the index ends within a name", o->name);
    if (ll_utf8_prefix(o->text, n) != n)
        return ll_fail(LLAP_EFORMAT, "%s: '%s' is not UTF-8", o->name, ll_text_show(o->text).text);
    *out = o->text;
    o->text += n + 1;
    o->n_text -= n + 1;
    return LLAP_OK;
}

static llap_status next_list(opening *o, int64_t n, const char **list)
{
    llap_status st = LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) st = next_text(o, &list[i]);
    return st;
}

static llap_status check_starts(const opening *o, const int64_t *start)
{
    bool ok = start[0] == 0 && start[o->h.n_entities] == o->h.n_rows;
    for (int64_t e = 0; e < o->h.n_entities; e++) ok = ok && start[e] <= start[e + 1];
    return ok ? LLAP_OK
              : ll_fail(LLAP_EFORMAT, "%s: the first rows of the entities do not increase",
                        o->name);
}

static llap_status check_names(const opening *o, const ll_panel_draft *d)
{
    ll_names    seen = { 0 };
    uint32_t    id;
    llap_status st = LLAP_OK;
    for (int64_t e = 1; e < d->n_entities && st == LLAP_OK; e++)
        if (strcmp(d->entity[e - 1], d->entity[e]) >= 0)
            st = ll_fail(LLAP_EFORMAT, "%s: entity '%s' is not sorted", o->name,
                         ll_text_show(d->entity[e]).text);
    for (int64_t v = 0; v < d->n_vars && st == LLAP_OK; v++) {
        st = ll_names_add(&seen, d->var[v], strlen(d->var[v]), &id);
        if (st == LLAP_OK && id != v)
            st = ll_fail(LLAP_EFORMAT, "%s: variable '%s' is there twice", o->name,
                         ll_text_show(d->var[v]).text);
    }
    ll_names_deinit(&seen);
    return st;
}

/* What writes times must be able to. */
static llap_status check_axis(const opening *o, const ll_axis *a)
{
    ll_clock_writer w;
    llap_status     st = ll_clock_writer_init(&w, a);
    ll_clock_writer_deinit(&w);
    return st == LLAP_OK || st == LLAP_ENOMEM ? st : ll_fail_in(LLAP_EFORMAT, "%s: axis", o->name);
}

static llap_status read_words(opening *o, llap_panel *p)
{
    if (o->h.n_words == 0) return LLAP_OK;
    llap_status     st = ll_panel_words_create(p, (uint32_t)o->h.n_words);
    ll_panel_words *w = p->words;
    const char     *text;
    for (uint32_t c = 0; st == LLAP_OK && c < w->n; c++) {
        if ((st = next_text(o, &text)) == LLAP_OK) st = ll_panel_words_put(w, text, &w->name[c]);
        if (st == LLAP_OK && (st = next_text(o, &text)) == LLAP_OK && *text != '\0')
            st = ll_panel_words_put(w, text, &w->changes[c]);
        for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
            if ((st = next_text(o, &text)) == LLAP_OK && *text != '\0')
                st = ll_panel_words_put(w, text + 1, &w->word[c][e]);
    }
    for (int64_t i = 0; st == LLAP_OK && i < o->h.n_levels; i++)
        if ((st = next_text(o, &text)) == LLAP_OK)
            st = ll_panel_words_level(w, (size_t)o->h.n_levels, text, NULL);
    return st;
}

/* Where the texts begin, when all numbers in front of them are there. */
static llap_status find_texts(opening *o, const int64_t **start, const uint32_t **sum)
{
    const int64_t blocks = ll_pack_blocks(o->h.n_rows, o->h.block_rows);
    int64_t       n;
    if (blocks > o->h.index_bytes ||
        (o->h.n_words > 0 && o->h.n_entities > o->h.index_bytes / o->h.n_words) ||
        (n = 8 * (o->h.n_entities + 1) + 12 * blocks) > o->h.index_bytes)
        return ll_fail(LLAP_EFORMAT, "%s: the index is too short", o->name);
    *start = (const int64_t *)(const void *)o->index.data;
    *sum = (const uint32_t *)(const void *)(o->index.data + 8 * (o->h.n_entities + 1));
    o->text = (const char *)o->index.data + n;
    o->n_text = o->index.size - (size_t)n;
    return LLAP_OK;
}

static llap_status read_index(opening *o, llap_panel **out)
{
    const uint32_t *sum = NULL;
    const int64_t   n_names = o->h.n_entities + 2 * o->h.n_vars;
    const char    **name = ll_new((size_t)n_names, sizeof *name);
    ll_panel_draft  d = { .n_entities = o->h.n_entities, .n_vars = o->h.n_vars };
    ll_pack        *k = NULL;
    llap_status     st = name == NULL ? LLAP_ENOMEM : find_texts(o, &d.start, &sum);
    const char    **var = name, **unit = name + o->h.n_vars, **entity = unit + o->h.n_vars;
    d.axis = (ll_axis){ .kind = o->h.axis_kind == 0 ? LL_AXIS_CALENDAR : LL_AXIS_NUMBER,
                        .unit_ns = o->h.unit_ns };
    if (st == LLAP_OK) st = next_text(o, &d.axis.zone);
    if (st == LLAP_OK) st = next_text(o, &d.axis.format);
    if (st == LLAP_OK) st = next_text(o, &d.axis.unit);
    if (st == LLAP_OK) st = check_axis(o, &d.axis);
    if (st == LLAP_OK) st = next_list(o, d.n_vars, var);
    if (st == LLAP_OK && o->h.flags & LL_PACK_HAS_UNITS) st = next_list(o, d.n_vars, unit);
    if (st == LLAP_OK) st = next_list(o, d.n_entities, entity);
    d.var = (const char *const *)var;
    d.entity = (const char *const *)entity;
    if (o->h.flags & LL_PACK_HAS_UNITS) d.unit = (const char *const *)unit;
    if (st == LLAP_OK) st = check_starts(o, d.start);
    if (st == LLAP_OK) st = check_names(o, &d);
    if (st == LLAP_OK)
        st = ll_pack_map(&o->h, o->name, o->folder != NULL ? o->shard : &o->fd,
                         o->folder != NULL ? 0 : LL_PACK_ALIGN, sum, false, &k);
    if (st == LLAP_OK) st = ll_panel_of_pack(&d, k, out);
    if (st == LLAP_OK) st = read_words(o, *out);
    if (st == LLAP_OK && o->n_text > 0)
        st = ll_fail(LLAP_EFORMAT, "%s: the index goes on behind its last name", o->name);
    ll_free(name);
    return st;
}

llap_status ll_pack_open(const char *path, llap_panel **out)
{
    *out = NULL;
    bool        folder;
    opening     o = { .fd = -1 };
    llap_panel *p = NULL;
    o.name = index_path(path, &folder);
    if (o.name == NULL) return LLAP_ENOMEM;
    if (folder) o.folder = path;
    llap_status st = open_file(o.name, &o.fd, &o.size);
    if (st == LLAP_OK) st = read_header(&o);
    if (st == LLAP_OK) st = map_index(&o);
    if (st == LLAP_OK) st = open_shards(&o);
    if (st == LLAP_OK) st = read_index(&o, &p);
    ll_map_close(&o.index);
    for (int64_t i = 0; i < o.n_shards; i++)
        if (o.shard[i] >= 0) close(o.shard[i]);
    if (o.fd >= 0) close(o.fd);
    ll_free(o.shard);
    ll_free(o.name);
    if (st == LLAP_OK) *out = p;
    else llap_panel_destroy(p);
    return st;
}
