/* safetensors files: named arrays and a map of strings, one file per model.
 *
 * The format, little-endian throughout:
 *
 *     offset  size  meaning
 *     0       8     n, the length of the header (u64), at most LL_TENSORS_HEADER_MAX
 *     8       n     JSON object in UTF-8; begins with '{'; may end with spaces (0x20)
 *     8+n     rest  the data, row-major
 *
 *     {"__metadata__":{"key":"value"},
 *      "wq":{"dtype":"F32","shape":[64,32],"data_offsets":[0,8192]}}
 *
 * data_offsets are [begin,end) within the data. Tensors cover the data without holes or overlap,
 * also those of no elements (begin equals the end of another, or 0). A shape of [] is one element.
 * The format has no version; new dtypes are refused by name.
 *
 * We read a strict subset of it. Beyond the format's own rules, refused are: keys other than the
 * three, keys or names given twice, NUL characters, ranks over LL_TENSOR_RANK_MAX, sizes over
 * INT64_MAX, and data that does not lie on a multiple of its element size in the file. An empty
 * name is a name. Files are hostile until they have been read: whatever one holds, reading it takes
 * one block of memory no larger than the file and a fixed part, and time that grows with the bytes
 * of its header: seconds for the longest and worst.
 *
 * We write one canonical form: metadata first, its keys in bytewise order; tensors of larger
 * elements first, then bytewise by name, so that all are aligned; no white space but the padding
 * that puts the data on a multiple of 64 bytes. Equal content gives equal bytes. */
#ifndef LL_BASE_SAFETENSORS_H
#define LL_BASE_SAFETENSORS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LL_TENSORS_HEADER_MAX 100000000 /* bytes; the format's own limit */
#define LL_TENSOR_RANK_MAX 8

/* clang-format off */
#define LL_DTYPE_LIST(X) /* name, bytes per element */                                 \
    X(BOOL, 1) X(U8, 1) X(I8, 1) X(F8_E4M3, 1) X(F8_E5M2, 1)                             \
    X(I16, 2) X(U16, 2) X(F16, 2) X(BF16, 2)                                             \
    X(I32, 4) X(U32, 4) X(F32, 4)                                                        \
    X(I64, 8) X(U64, 8) X(F64, 8) X(C64, 8)
/* clang-format on */

typedef enum ll_dtype {
#define X(name, size) LL_##name,
    LL_DTYPE_LIST(X)
#undef X
        LL_DTYPE_COUNT
} ll_dtype;

const char *ll_dtype_name(ll_dtype d); /* "F32" */
size_t      ll_dtype_size(ll_dtype d); /* bytes per element */

/* The bytes that a tensor of this shape takes. LLAP_EINVAL, with the shape in the detail: a
 * negative dimension, a rank over the limit, or more than INT64_MAX bytes. */
llap_status ll_tensor_size(ll_dtype d, int rank, const int64_t *shape, size_t *n_bytes);

/* A shape as messages show it, "[64,32]"; a dimension below zero appears as '?'. */
typedef struct ll_shape_shown {
    char text[21 * LL_TENSOR_RANK_MAX + 3];
} ll_shape_shown;

ll_shape_shown ll_shape_show(int rank, const int64_t *shape);

/* ---- reading ----
 *
 *     ll_tensors *t;
 *     llap_status st = ll_tensors_open("model.safetensors", &t);
 *     ll_tensor_info wq;
 *     if (st == LLAP_OK)
 *         st = ll_tensors_require(t, "wq", LL_F32, 2, (int64_t[]){ 64, 32 }, &wq);
 *     if (st == LLAP_OK) use((const float *)wq.data, wq.n_elements);
 *     ll_tensors_close(t);
 */
typedef struct ll_tensors
    ll_tensors; /* a file that has been checked; immutable, shared by threads */

typedef struct ll_tensor_info {
    const char *name; /* borrows until ll_tensors_close, like data */
    ll_dtype    dtype;
    int         rank; /* 0: a single element */
    int64_t     shape[LL_TENSOR_RANK_MAX];
    const void *data; /* aligned to the element size */
    size_t      n_bytes;
    int64_t     n_elements;
} ll_tensor_info;

/* Maps and checks a file. On success the caller owns *out; else *out is NULL. LLAP_ENOTFOUND,
 * LLAP_EIO: cannot read. LLAP_EFORMAT: malformed, "FILE: tensor 'wq': shape [64,32] of F32 needs
 * 8192 bytes, data_offsets give 4096" or "FILE: header byte 17: expected ':', found 'x'" (counted
 * from 0 at the opening brace). LLAP_ENOMEM. */
llap_status ll_tensors_open(const char *path, ll_tensors **out);

/* The same for a file in memory; borrows bytes until ll_tensors_close. file is for messages.
 * Data is aligned if bytes is aligned to 8. */
llap_status ll_tensors_view(const void *bytes, size_t n, const char *file, ll_tensors **out);
void        ll_tensors_close(ll_tensors *t); /* NULL is fine */

/* The tensors in the order of their data; empty ones that lie at the same place by name. */
size_t         ll_tensors_count(const ll_tensors *t);
ll_tensor_info ll_tensors_at(const ll_tensors *t, size_t i);
bool           ll_tensors_find(const ll_tensors *t, const char *name, ll_tensor_info *out);

/* The tensor of this name, dtype and shape, where a dimension of -1 allows any. LLAP_EFORMAT:
 * "wq: expected F32 [64,64], found F32 [64,32]", or "..., found no such tensor". */
llap_status ll_tensors_require(const ll_tensors *t, const char *name, ll_dtype dtype, int rank,
                               const int64_t *shape, ll_tensor_info *out);

/* The metadata in bytewise order of the keys. The strings borrow until ll_tensors_close. */
typedef struct ll_metadata {
    const char *key, *value;
} ll_metadata;

size_t      ll_tensors_metadata_count(const ll_tensors *t);
ll_metadata ll_tensors_metadata_at(const ll_tensors *t, size_t i);
const char *ll_tensors_metadata(const ll_tensors *t, const char *key); /* NULL: absent */

/* ---- writing ----
 *
 *     ll_tensors_writer *w;
 *     llap_status st = ll_tensors_writer_create(&w);
 *     if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.format", "1");
 *     if (st == LLAP_OK) st = ll_tensors_writer_add(w, "wq", LL_F32, 2, shape, weights);
 *     if (st == LLAP_OK) st = ll_tensors_writer_save(w, "model.safetensors");
 *     ll_tensors_writer_destroy(w);
 */
typedef struct ll_tensors_writer ll_tensors_writer;

llap_status ll_tensors_writer_create(ll_tensors_writer **out); /* caller owns */
void        ll_tensors_writer_destroy(ll_tensors_writer *w);   /* NULL is fine */

/* Adds a tensor or a metadata pair. Strings are copied; data is borrowed until the last save (NULL
 * is fine for no elements). LLAP_EINVAL: no valid UTF-8, "__metadata__" as a tensor's name, a shape
 * that ll_tensor_size refuses, no data. LLAP_ELIMIT: over INT64_MAX bytes together. */
llap_status ll_tensors_writer_add(ll_tensors_writer *w, const char *name, ll_dtype dtype, int rank,
                                  const int64_t *shape, const void *data);
llap_status ll_tensors_writer_metadata(ll_tensors_writer *w, const char *key, const char *value);

/* Writes what was added, as often as wanted. LLAP_EINVAL: a name or key was added twice.
 * LLAP_ELIMIT: the header is over its limit. save replaces the file atomically (ll_writer);
 * write goes to an open stream, flushes it and leaves it open. */
llap_status ll_tensors_writer_save(ll_tensors_writer *w, const char *path);
llap_status ll_tensors_writer_write(ll_tensors_writer *w, FILE *stream);

#endif
