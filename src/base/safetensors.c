#include "base/safetensors.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/safetensors_scan.h"
#include "base/sort.h"
#include "base/text.h"

#include <assert.h>
#include <string.h>

/* ---- dtypes and shapes ---- */

static const struct {
    const char *name;
    size_t      size;
} dtypes[LL_DTYPE_COUNT] = {
#define X(name, size) [LL_##name] = { #name, size },
    LL_DTYPE_LIST(X)
#undef X
};

const char *ll_dtype_name(ll_dtype d) { return dtypes[d].name; }
size_t      ll_dtype_size(ll_dtype d) { return dtypes[d].size; }

ll_shape_shown ll_shape_show(int rank, const int64_t *shape)
{
    ll_shape_shown out = { "[" };
    size_t         used = 1;
    for (int i = 0; i < rank; i++) {
        const char *comma = i > 0 ? "," : "";
        char       *p = out.text + used;
        if (shape[i] < 0) snprintf(p, 3, "%s?", comma);
        else snprintf(p, 22, "%s%lld", comma, (long long)shape[i]);
        used += strlen(p);
    }
    memcpy(out.text + used, "]", 2);
    return out;
}

llap_status ll_tensor_size(ll_dtype d, int rank, const int64_t *shape, size_t *n_bytes)
{
    if (rank < 0 || rank > LL_TENSOR_RANK_MAX)
        return ll_fail(LLAP_EINVAL, "rank %d, expected 0..%d", rank, LL_TENSOR_RANK_MAX);
    int64_t n = (int64_t)ll_dtype_size(d);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n))
            return ll_fail(LLAP_EINVAL, "shape %s of %s does not fit in memory",
                           ll_shape_show(rank, shape).text, ll_dtype_name(d));
    *n_bytes = (size_t)n;
    return LLAP_OK;
}

/* ---- the handle ---- */

/* What the shortest entry of a header costs in the file,
 *     "":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}     and    "":""
 * and a comma, pays for what it costs in memory: an entry, its two places in orders and a NUL; a
 * place and two NULs. Hence a handle is never larger than a fixed part and the file. */
typedef struct entry {
    int64_t  begin; /* within the data */
    int64_t  n_bytes;
    uint32_t name;  /* offset in strings */
    uint32_t shape; /* offset of its '[' in the header */
    uint8_t  dtype, rank;
} entry;

static_assert(sizeof(entry) + 2 * sizeof(uint32_t) + 1 <= 50, "larger than its text in the file");
static_assert(LL_TENSORS_HEADER_MAX < UINT32_MAX, "offsets in the header are 32 bits");
static_assert(LL_DTYPE_COUNT <= UINT8_MAX && LL_TENSOR_RANK_MAX <= UINT8_MAX, "");

struct ll_tensors {
    ll_map         map;    /* empty when the caller owns the bytes */
    const char    *header; /* its text */
    size_t         n_header;
    const uint8_t *data;
    size_t         n_tensors, n_metadata;
    /* In the same block as this struct: */
    entry    *tensors;  /* as the header has them */
    uint32_t *by_place; /* indices of tensors in order of (begin, n_bytes, name) */
    uint32_t *by_name;  /* in order of name */
    uint32_t *metadata; /* offsets in strings of the keys, in order; the value follows its NUL */
    char     *strings;  /* names, keys and values, each closed by NUL */
};

static const char *name_of(const ll_tensors *t, uint32_t i)
{
    return t->strings + t->tensors[i].name;
}

/* ---- the header ---- */

#define METADATA "__metadata__"

/* One walk over the header: the first, t == NULL, checks each entry and counts; the second, with
 * room for just that, keeps them. */
typedef struct walk {
    ll_header   s;
    size_t      n_data;
    ll_tensors *t;
    size_t      n_tensors, n_metadata, n_strings;
    bool        metadata_seen;
    char        start[sizeof METADATA + 1]; /* of the last string in the first walk */
} walk;

/* Reads a string and keeps it behind the others. Where it is short, it can be compared. */
static const char *keep_string(walk *w)
{
    char        *out = w->t != NULL ? w->t->strings + w->n_strings : w->start;
    const size_t room = w->t != NULL ? SIZE_MAX : sizeof w->start;
    w->n_strings += ll_header_string(&w->s, out, room) + 1;
    return out;
}

/* The tensor whose name stands at this place of the header. */
static ll_text_shown tensor_at(const walk *w, size_t at)
{
    /* As if failed before: it must not report what the name itself may have wrong. */
    ll_header again = { .text = w->s.text, .n = w->s.n, .at = at, .st = LLAP_EFORMAT };
    char      name[sizeof(ll_text_shown)];
    ll_header_string(&again, name, sizeof name);
    return ll_text_show(name);
}

static int read_shape(ll_header *s, int64_t shape[LL_TENSOR_RANK_MAX])
{
    ll_header_take(s, '[');
    int rank = 0;
    for (; ll_header_more(s, ']', (size_t)rank); rank++) {
        if (rank == LL_TENSOR_RANK_MAX) {
            ll_header_fail(s, "header byte %zu: more than %d dimensions", s->at,
                           LL_TENSOR_RANK_MAX);
            break;
        }
        shape[rank] = ll_header_number(s);
    }
    return rank;
}

static uint8_t read_dtype(walk *w, size_t name_at)
{
    char name[16];
    ll_header_string(&w->s, name, sizeof name);
    uint8_t d = 0;
    while (d < LL_DTYPE_COUNT && strcmp(name, dtypes[d].name) != 0) d++;
    if (d < LL_DTYPE_COUNT) return d;
    ll_header_fail(&w->s, "tensor '%s': unknown dtype '%s'", tensor_at(w, name_at).text,
                   ll_text_show(name).text);
    return 0;
}

/* What the three values of a tensor must be to each other and to the file. */
static void check_tensor(walk *w, const entry *e, const int64_t *shape, int64_t end, size_t name_at)
{
    const ll_dtype    d = (ll_dtype)e->dtype;
    const size_t      size = ll_dtype_size(d);
    const size_t      place = sizeof(uint64_t) + w->s.n + (size_t)e->begin;
    size_t            need = 0;
    const llap_status st = ll_tensor_size(d, e->rank, shape, &need);
    if (st != LLAP_OK)
        ll_header_fail(&w->s, "tensor '%s': %s", tensor_at(w, name_at).text, llap_error_detail());
    else if (end < e->begin || (size_t)end > w->n_data)
        ll_header_fail(&w->s,
                       "tensor '%s': data_offsets [%lld,%lld] are not within %zu bytes of data",
                       tensor_at(w, name_at).text, (long long)e->begin, (long long)end, w->n_data);
    else if (need != (size_t)e->n_bytes)
        ll_header_fail(&w->s, "tensor '%s': shape %s of %s needs %zu bytes, data_offsets give %lld",
                       tensor_at(w, name_at).text, ll_shape_show(e->rank, shape).text,
                       ll_dtype_name(d), need, (long long)e->n_bytes);
    else if (place % size != 0)
        ll_header_fail(&w->s,
                       "tensor '%s': data of %s at byte %zu of the file, not a multiple of %zu",
                       tensor_at(w, name_at).text, ll_dtype_name(d), place, size);
}

/* {"dtype":...,"shape":...,"data_offsets":...} in any order. */
static void read_tensor(walk *w, uint32_t name, size_t name_at)
{
    enum { DTYPE, SHAPE, OFFSETS, N_KEYS };
    static const char *const keys[] = { "dtype", "shape", "data_offsets" };
    ll_header               *s = &w->s;
    bool                     seen[N_KEYS] = { false };
    entry                    e = { .name = name };
    int64_t                  shape[LL_TENSOR_RANK_MAX] = { 0 }, end = 0;
    ll_header_take(s, '{');
    for (size_t i = 0; ll_header_more(s, '}', i); i++) {
        char key[16];
        ll_header_string(s, key, sizeof key);
        ll_header_take(s, ':');
        int k = 0;
        while (k < N_KEYS && strcmp(key, keys[k]) != 0) k++;
        if (k == N_KEYS) {
            ll_header_fail(s, "tensor '%s': unknown key '%s'", tensor_at(w, name_at).text,
                           ll_text_show(key).text);
            return;
        }
        if (seen[k])
            ll_header_fail(s, "tensor '%s': '%s' given twice", tensor_at(w, name_at).text, keys[k]);
        seen[k] = true;
        if (k == DTYPE) {
            e.dtype = read_dtype(w, name_at);
        } else if (k == SHAPE) {
            e.shape = (uint32_t)s->at;
            e.rank = (uint8_t)read_shape(s, shape);
        } else {
            ll_header_take(s, '[');
            e.begin = ll_header_number(s);
            ll_header_take(s, ',');
            end = ll_header_number(s);
            ll_header_take(s, ']');
            e.n_bytes = end - e.begin;
        }
    }
    for (int k = 0; k < N_KEYS; k++)
        if (!seen[k])
            ll_header_fail(s, "tensor '%s': no '%s'", tensor_at(w, name_at).text, keys[k]);
    if (s->st == LLAP_OK) check_tensor(w, &e, shape, end, name_at);
    if (w->t != NULL) w->t->tensors[w->n_tensors] = e;
    w->n_tensors++;
}

static void read_metadata(walk *w)
{
    ll_header *s = &w->s;
    if (w->metadata_seen) ll_header_fail(s, "'" METADATA "' given twice");
    w->metadata_seen = true;
    ll_header_take(s, '{');
    for (size_t i = 0; ll_header_more(s, '}', i); i++) {
        if (w->t != NULL) w->t->metadata[w->n_metadata] = (uint32_t)w->n_strings;
        w->n_metadata++;
        keep_string(w);
        ll_header_take(s, ':');
        keep_string(w);
    }
}

static void read_header(walk *w)
{
    ll_header *s = &w->s;
    ll_header_take(s, '{');
    for (size_t i = 0; ll_header_more(s, '}', i); i++) {
        const size_t name_at = s->at;
        const size_t name = w->n_strings;
        const bool   metadata = strcmp(keep_string(w), METADATA) == 0;
        ll_header_take(s, ':');
        if (metadata) {
            w->n_strings = name; /* not kept; the handle has room for it behind the last string */
            read_metadata(w);
        } else {
            read_tensor(w, (uint32_t)name, name_at);
        }
    }
    ll_header_end(s);
}

/* ---- orders ---- */

static unsigned name_digit(const void *ctx, uint32_t i, size_t depth)
{
    return (unsigned char)name_of(ctx, i)[depth];
}

static unsigned key_digit(const void *ctx, uint32_t at, size_t depth)
{
    const ll_tensors *t = ctx;
    return (unsigned char)t->strings[at + depth];
}

/* begin and n_bytes from their highest byte on, then the name. */
static unsigned place_digit(const void *ctx, uint32_t i, size_t depth)
{
    const ll_tensors *t = ctx;
    if (depth >= 16) return name_digit(ctx, i, depth - 16);
    const int64_t v = depth < 8 ? t->tensors[i].begin : t->tensors[i].n_bytes;
    return 1 + ((unsigned)(v >> (56 - 8 * (depth % 8))) & 0xff);
}

static llap_status order_names(ll_tensors *t, const char *file)
{
    for (uint32_t i = 0; i < t->n_tensors; i++) t->by_name[i] = i;
    ll_radix_sort(t->by_name, t->n_tensors, name_digit, t);
    for (size_t i = 1; i < t->n_tensors; i++) {
        const char *name = name_of(t, t->by_name[i]);
        if (strcmp(name, name_of(t, t->by_name[i - 1])) == 0)
            return ll_fail(LLAP_EFORMAT, "%s: tensor '%s' given twice", file,
                           ll_text_show(name).text);
    }
    ll_radix_sort(t->metadata, t->n_metadata, key_digit, t);
    for (size_t i = 1; i < t->n_metadata; i++) {
        const char *key = t->strings + t->metadata[i];
        if (strcmp(key, t->strings + t->metadata[i - 1]) == 0)
            return ll_fail(LLAP_EFORMAT, "%s: metadata '%s' given twice", file,
                           ll_text_show(key).text);
    }
    return LLAP_OK;
}

/* Sorts the tensors by place, where each must begin where the one before ends. */
static llap_status order_places(ll_tensors *t, size_t n_data, const char *file)
{
    for (uint32_t i = 0; i < t->n_tensors; i++) t->by_place[i] = i;
    ll_radix_sort(t->by_place, t->n_tensors, place_digit, t);
    int64_t end = 0;
    for (size_t i = 0; i < t->n_tensors; i++) {
        const entry *e = &t->tensors[t->by_place[i]];
        const char  *name = t->strings + e->name;
        if (e->begin < end)
            return ll_fail(
                LLAP_EFORMAT, "%s: tensor '%s': its data [%lld,%lld) overlaps tensor '%s'", file,
                ll_text_show(name).text, (long long)e->begin, (long long)(e->begin + e->n_bytes),
                ll_text_show(name_of(t, t->by_place[i - 1])).text);
        if (e->begin > end)
            return ll_fail(LLAP_EFORMAT, "%s: tensor '%s': %lld bytes of no tensor in front of it",
                           file, ll_text_show(name).text, (long long)(e->begin - end));
        end = e->begin + e->n_bytes;
    }
    if ((size_t)end != n_data)
        return ll_fail(LLAP_EFORMAT, "%s: %zu bytes of no tensor at the end", file,
                       n_data - (size_t)end);
    return LLAP_OK;
}

/* ---- opening ---- */

/* Finds header and data. */
static llap_status find_parts(const uint8_t *bytes, size_t n, walk *w, const uint8_t **data)
{
    uint64_t n_header = 0;
    if (n < sizeof n_header)
        return ll_fail(LLAP_EFORMAT, "%s: %zu bytes, too short for a safetensors file", w->s.file,
                       n);
    for (int i = 7; i >= 0; i--) n_header = n_header << 8 | bytes[i];
    const size_t left = n - sizeof n_header;
    if (n_header > LL_TENSORS_HEADER_MAX)
        return ll_fail(LLAP_EFORMAT, "%s: header of %llu bytes, the limit is %d", w->s.file,
                       (unsigned long long)n_header, LL_TENSORS_HEADER_MAX);
    if (n_header > left)
        return ll_fail(LLAP_EFORMAT, "%s: header of %llu bytes, but only %zu follow", w->s.file,
                       (unsigned long long)n_header, left);
    w->s.text = (const char *)bytes + sizeof n_header;
    w->s.n = (size_t)n_header;
    w->n_data = left - w->s.n;
    *data = bytes + sizeof n_header + w->s.n;
    /* The scanner skips white space, which the format does not allow here. */
    if (w->s.n == 0 || w->s.text[0] != '{')
        return ll_fail(LLAP_EFORMAT, "%s: header byte 0: expected '{'", w->s.file);
    const size_t valid = ll_utf8_prefix(w->s.text, w->s.n);
    if (valid < w->s.n)
        return ll_fail(LLAP_EFORMAT, "%s: header byte %zu: invalid UTF-8", w->s.file, valid);
    return LLAP_OK;
}

/* One block with room for what the first walk counted. */
static ll_tensors *new_handle(const walk *w)
{
    const size_t n = w->n_tensors, m = w->n_metadata;
    const size_t n_words = 2 * n + m;
    uint8_t *block = ll_new(1, sizeof(ll_tensors) + n * sizeof(entry) + n_words * sizeof(uint32_t) +
                                   w->n_strings + sizeof METADATA);
    if (block == NULL) return NULL;
    ll_tensors *t = (ll_tensors *)(void *)block;
    t->n_tensors = n;
    t->n_metadata = m;
    t->tensors = (entry *)(void *)(block + sizeof *t);
    t->by_place = (uint32_t *)(void *)(t->tensors + n);
    t->by_name = t->by_place + n;
    t->metadata = t->by_name + n;
    t->strings = (char *)(t->metadata + m);
    return t;
}

llap_status ll_tensors_view(const void *bytes, size_t n, const char *file, ll_tensors **out)
{
    *out = NULL;
    const uint8_t *data = NULL;
    walk           first = { .s.file = file };
    llap_status    st = find_parts(bytes, n, &first, &data);
    if (st != LLAP_OK) return st;
    walk second = first;
    read_header(&first);
    if (first.s.st != LLAP_OK) return first.s.st;
    ll_tensors *t = new_handle(&first);
    if (t == NULL) return LLAP_ENOMEM;
    second.t = t;
    read_header(&second);
    t->header = first.s.text;
    t->n_header = first.s.n;
    t->data = data;
    st = order_names(t, file);
    if (st == LLAP_OK) st = order_places(t, first.n_data, file);
    if (st == LLAP_OK) *out = t;
    else ll_tensors_close(t);
    return st;
}

llap_status ll_tensors_open(const char *path, ll_tensors **out)
{
    *out = NULL;
    ll_map      map;
    llap_status st = ll_map_open(path, &map);
    if (st == LLAP_OK) st = ll_tensors_view(map.data, map.size, path, out);
    if (st == LLAP_OK) (*out)->map = map;
    else ll_map_close(&map);
    return st;
}

void ll_tensors_close(ll_tensors *t)
{
    if (t != NULL) ll_map_close(&t->map);
    ll_free(t);
}

/* ---- looking ---- */

static ll_tensor_info info_of(const ll_tensors *t, const entry *e)
{
    ll_tensor_info info = {
        .name = t->strings + e->name,
        .dtype = (ll_dtype)e->dtype,
        .data = t->data + e->begin,
        .n_bytes = (size_t)e->n_bytes,
        .n_elements = e->n_bytes / (int64_t)dtypes[e->dtype].size,
    };
    ll_header s = { .text = t->header, .n = t->n_header, .at = e->shape };
    info.rank = read_shape(&s, info.shape);
    return info;
}

size_t ll_tensors_count(const ll_tensors *t) { return t->n_tensors; }

ll_tensor_info ll_tensors_at(const ll_tensors *t, size_t i)
{
    return info_of(t, &t->tensors[t->by_place[i]]);
}

bool ll_tensors_find(const ll_tensors *t, const char *name, ll_tensor_info *out)
{
    for (size_t low = 0, high = t->n_tensors; low < high;) {
        const size_t   middle = low + (high - low) / 2;
        const uint32_t i = t->by_name[middle];
        const int      c = strcmp(name, name_of(t, i));
        if (c == 0) {
            *out = info_of(t, &t->tensors[i]);
            return true;
        }
        if (c < 0) high = middle;
        else low = middle + 1;
    }
    return false;
}

llap_status ll_tensors_require(const ll_tensors *t, const char *name, ll_dtype dtype, int rank,
                               const int64_t *shape, ll_tensor_info *out)
{
    const ll_shape_shown wanted = ll_shape_show(rank, shape);
    if (!ll_tensors_find(t, name, out))
        return ll_fail(LLAP_EFORMAT, "%s: expected %s %s, found no such tensor",
                       ll_text_show(name).text, ll_dtype_name(dtype), wanted.text);
    bool same = out->dtype == dtype && out->rank == rank;
    for (int i = 0; same && i < rank; i++) same = shape[i] < 0 || shape[i] == out->shape[i];
    if (same) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "%s: expected %s %s, found %s %s", ll_text_show(name).text,
                   ll_dtype_name(dtype), wanted.text, ll_dtype_name(out->dtype),
                   ll_shape_show(out->rank, out->shape).text);
}

size_t ll_tensors_metadata_count(const ll_tensors *t) { return t->n_metadata; }

ll_metadata ll_tensors_metadata_at(const ll_tensors *t, size_t i)
{
    const char *key = t->strings + t->metadata[i];
    return (ll_metadata){ key, key + strlen(key) + 1 };
}

const char *ll_tensors_metadata(const ll_tensors *t, const char *key)
{
    for (size_t low = 0, high = t->n_metadata; low < high;) {
        const size_t      middle = low + (high - low) / 2;
        const ll_metadata m = ll_tensors_metadata_at(t, middle);
        const int         c = strcmp(key, m.key);
        if (c == 0) return m.value;
        if (c < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}
