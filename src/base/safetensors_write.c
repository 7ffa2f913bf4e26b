#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "base/sort.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

typedef struct item {
    const char *name; /* or key */
    const char *value;
    const void *data;
    size_t      n_bytes;
    int64_t     shape[LL_TENSOR_RANK_MAX];
    int         rank;
    ll_dtype    dtype;
} item;

typedef struct list {
    item     *items;
    uint32_t *order; /* indices of items, canonical once sorted */
    size_t    n, room;
} list;

struct ll_tensors_writer {
    list     tensors, metadata;
    int64_t  n_data;
    ll_arena strings;
};

llap_status ll_tensors_writer_create(ll_tensors_writer **out)
{
    *out = ll_new(1, sizeof **out);
    return *out != NULL ? LLAP_OK : LLAP_ENOMEM;
}

void ll_tensors_writer_destroy(ll_tensors_writer *w)
{
    if (w == NULL) return;
    for (int i = 0; i < 2; i++) {
        list *l = i == 0 ? &w->tensors : &w->metadata;
        ll_free(l->items);
        ll_free(l->order);
    }
    ll_arena_deinit(&w->strings);
    ll_free(w);
}

/* ---- collecting ---- */

/* Room for one more item. */
static llap_status make_room(list *l)
{
    if (l->n < l->room) return LLAP_OK;
    const size_t room = l->room == 0 ? 16 : 2 * l->room;
    item        *items = ll_grow(l->items, room, sizeof *items);
    if (items == NULL) return LLAP_ENOMEM;
    l->items = items;
    uint32_t *order = ll_grow(l->order, room, sizeof *order);
    if (order == NULL) return LLAP_ENOMEM;
    l->order = order;
    l->room = room;
    return LLAP_OK;
}

/* A checked copy of a string; what names its role. */
static llap_status copy_string(ll_tensors_writer *w, const char *s, const char *what,
                               const char **out)
{
    const size_t n = strlen(s), valid = ll_utf8_prefix(s, n);
    if (valid < n)
        return ll_fail(LLAP_EINVAL, "%s '%s': invalid UTF-8 at byte %zu", what,
                       ll_text_show(s).text, valid);
    *out = ll_arena_strndup(&w->strings, s, n);
    return *out != NULL ? LLAP_OK : LLAP_ENOMEM;
}

llap_status ll_tensors_writer_add(ll_tensors_writer *w, const char *name, ll_dtype dtype, int rank,
                                  const int64_t *shape, const void *data)
{
    if (strcmp(name, "__metadata__") == 0)
        return ll_fail(LLAP_EINVAL, "tensor '__metadata__': the name is reserved");
    item        it = { .data = data, .rank = rank, .dtype = dtype };
    int64_t     n_data = 0;
    llap_status st = ll_tensor_size(dtype, rank, shape, &it.n_bytes);
    if (st != LLAP_OK) return ll_fail_in(st, "tensor '%s'", ll_text_show(name).text);
    if (data == NULL && it.n_bytes > 0)
        return ll_fail(LLAP_EINVAL, "tensor '%s': no data", ll_text_show(name).text);
    if (__builtin_add_overflow(w->n_data, (int64_t)it.n_bytes, &n_data))
        return ll_fail(LLAP_ELIMIT, "tensor '%s': more than %lld bytes of data together",
                       ll_text_show(name).text, (long long)INT64_MAX);
    for (int i = 0; i < rank; i++) it.shape[i] = shape[i];
    st = make_room(&w->tensors);
    if (st == LLAP_OK) st = copy_string(w, name, "tensor name", &it.name);
    if (st != LLAP_OK) return st;
    w->tensors.items[w->tensors.n++] = it;
    w->n_data = n_data;
    return LLAP_OK;
}

llap_status ll_tensors_writer_metadata(ll_tensors_writer *w, const char *key, const char *value)
{
    item        it = { 0 };
    llap_status st = make_room(&w->metadata);
    if (st == LLAP_OK) st = copy_string(w, key, "metadata key", &it.name);
    if (st == LLAP_OK) st = copy_string(w, value, "metadata value", &it.value);
    if (st == LLAP_OK) w->metadata.items[w->metadata.n++] = it;
    return st;
}

/* ---- the canonical order ---- */

/* Larger elements first, then bytewise by name. All metadata has the same size. */
static unsigned item_digit(const void *ctx, uint32_t i, size_t depth)
{
    const list *l = ctx;
    const item *it = &l->items[i];
    if (depth == 0) return 256 - (unsigned)ll_dtype_size(it->dtype);
    return (unsigned char)it->name[depth - 1];
}

static unsigned name_digit(const void *ctx, uint32_t i, size_t depth)
{
    const list *l = ctx;
    return (unsigned char)l->items[i].name[depth];
}

static llap_status sort_list(list *l, const char *what)
{
    for (uint32_t i = 0; i < l->n; i++) l->order[i] = i;
    ll_radix_sort(l->order, l->n, name_digit, l);
    for (size_t i = 1; i < l->n; i++) {
        const char *name = l->items[l->order[i]].name;
        if (strcmp(name, l->items[l->order[i - 1]].name) == 0)
            return ll_fail(LLAP_EINVAL, "%s '%s' added twice", what, ll_text_show(name).text);
    }
    ll_radix_sort(l->order, l->n, item_digit, l);
    return LLAP_OK;
}

/* ---- the header ---- */

/* The header is put twice: first without out, to learn its length. */
typedef struct text {
    char  *out;
    size_t n;
} text;

static void put(text *t, const char *s, size_t n)
{
    if (t->out != NULL) memcpy(t->out + t->n, s, n);
    t->n += n;
}

static void put_text(text *t, const char *s) { put(t, s, strlen(s)); }

/* A string in quotes; only what JSON demands is escaped. */
static void put_string(text *t, const char *s)
{
    put_text(t, "\"");
    for (;;) {
        size_t plain = 0;
        while ((unsigned char)s[plain] >= 0x20 && s[plain] != '"' && s[plain] != '\\') plain++;
        put(t, s, plain);
        s += plain;
        if (*s == '\0') break;
        char escape[12];
        if (*s == '"' || *s == '\\') snprintf(escape, sizeof escape, "\\%c", *s);
        else snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*s);
        put_text(t, escape);
        s++;
    }
    put_text(t, "\"");
}

static void put_tensor(text *t, const item *it, size_t begin)
{
    char offsets[64];
    snprintf(offsets, sizeof offsets, "%zu,%zu]}", begin, begin + it->n_bytes);
    put_string(t, it->name);
    put_text(t, ":{\"dtype\":\"");
    put_text(t, ll_dtype_name(it->dtype));
    put_text(t, "\",\"shape\":");
    put_text(t, ll_shape_show(it->rank, it->shape).text);
    put_text(t, ",\"data_offsets\":[");
    put_text(t, offsets);
}

static void put_header(text *t, const ll_tensors_writer *w)
{
    const list *l = &w->metadata;
    put_text(t, "{");
    for (size_t i = 0; i < l->n; i++) {
        put_text(t, i == 0 ? "\"__metadata__\":{" : ",");
        put_string(t, l->items[l->order[i]].name);
        put_text(t, ":");
        put_string(t, l->items[l->order[i]].value);
    }
    const char *comma = l->n > 0 ? "}," : "";
    l = &w->tensors;
    for (size_t i = 0, begin = 0; i < l->n; i++) {
        const item *it = &l->items[l->order[i]];
        put_text(t, comma);
        comma = ",";
        put_tensor(t, it, begin);
        begin += it->n_bytes;
    }
    put_text(t, l->n == 0 && w->metadata.n > 0 ? "}}" : "}");
}

/* The length of the header and the header, padded with spaces so that the data begins on a
 * multiple of LL_ALIGN: mapped files then feed vector code directly. */
static llap_status make_header(const ll_tensors_writer *w, char **out, size_t *n)
{
    text measure = { 0 };
    put_header(&measure, w);
    *n = (8 + measure.n + LL_ALIGN - 1) / LL_ALIGN * LL_ALIGN;
    const size_t n_header = *n - 8;
    if (n_header > LL_TENSORS_HEADER_MAX)
        return ll_fail(LLAP_ELIMIT, "header of %zu bytes, the limit is %d", n_header,
                       LL_TENSORS_HEADER_MAX);
    *out = ll_new(*n, 1);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < 8; i++) (*out)[i] = (char)(n_header >> (8 * i) & 0xff);
    text t = { *out, 8 };
    put_header(&t, w);
    memset(*out + t.n, ' ', *n - t.n);
    return LLAP_OK;
}

/* ---- writing ---- */

llap_status ll_tensors_writer_write(ll_tensors_writer *w, FILE *stream)
{
    char       *header = NULL;
    size_t      n = 0;
    llap_status st = sort_list(&w->tensors, "tensor");
    if (st == LLAP_OK) st = sort_list(&w->metadata, "metadata key");
    if (st == LLAP_OK) st = make_header(w, &header, &n);
    if (st != LLAP_OK) return st;
    fwrite(header, 1, n, stream);
    for (size_t i = 0; i < w->tensors.n; i++) {
        const item *it = &w->tensors.items[w->tensors.order[i]];
        if (it->n_bytes > 0) fwrite(it->data, 1, it->n_bytes, stream);
    }
    ll_free(header);
    (void)fflush(stream); /* a failed write leaves its mark in the stream, and its errno */
    return ferror(stream) ? ll_fail_errno(errno, "cannot write tensors") : LLAP_OK;
}

llap_status ll_tensors_writer_save(ll_tensors_writer *w, const char *path)
{
    ll_writer   file;
    llap_status st = ll_writer_open(path, &file);
    if (st != LLAP_OK) return st;
    st = ll_tensors_writer_write(w, file.stream);
    if (st == LLAP_OK) st = ll_writer_commit(&file);
    else st = ll_fail_in(st, "%s", path);
    ll_writer_abort(&file);
    return st;
}
