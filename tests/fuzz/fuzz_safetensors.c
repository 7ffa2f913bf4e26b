/* The safetensors reader on arbitrary bytes: it takes no more memory than the file; what it accepts
 * can be touched, is in order, and survives being written and read again, the second time byte for
 * byte. */
#include "base/alloc.h"
#include "base/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok) abort();
}

/* Walks all that t says it holds; the same for equal contents. */
static uint64_t walk(const llap_tensors *t)
{
    uint64_t    sum = 0;
    const char *end = NULL;
    for (size_t i = 0; i < llap_tensors_count(t); i++) {
        const llap_tensor_info x = llap_tensors_at(t, i);
        const uint8_t         *bytes = x.data;
        size_t                 n_bytes = 0;
        llap_tensor_info       y;
        must(end == NULL || end == (const char *)x.data);
        end = (const char *)x.data + x.n_bytes;
        must(llap_tensor_size(x.dtype, x.rank, x.shape, &n_bytes) == LLAP_OK);
        must(n_bytes == x.n_bytes && n_bytes == (size_t)x.n_elements * llap_dtype_size(x.dtype));
        must(llap_tensors_find(t, x.name, &y) && y.data == x.data && y.name == x.name);
        must(llap_tensors_require(t, x.name, x.dtype, x.rank, x.shape, &y) == LLAP_OK);
        uint64_t part = (uint64_t)x.dtype * 31 + (uint64_t)x.rank;
        for (size_t k = 0; k < x.n_bytes; k++) part = part * 33 + bytes[k];
        for (const char *p = x.name; *p != '\0'; p++) part = part * 33 + (uint8_t)*p;
        sum += part; /* the order of tensors may change on writing */
    }
    const char *last = NULL;
    for (size_t i = 0; i < llap_tensors_metadata_count(t); i++) {
        const llap_metadata m = llap_tensors_metadata_at(t, i);
        must(last == NULL || strcmp(last, m.key) < 0);
        must(llap_tensors_metadata(t, m.key) == m.value);
        for (const char *p = m.key; *p != '\0'; p++) sum = sum * 33 + (uint8_t)*p;
        for (const char *p = m.value; *p != '\0'; p++) sum = sum * 33 + (uint8_t)*p;
        last = m.key;
    }
    return sum;
}

static void write_again(const llap_tensors *t, char **bytes, size_t *n)
{
    llap_tensors_writer *w;
    must(llap_tensors_writer_create(&w) == LLAP_OK);
    for (size_t i = llap_tensors_count(t); i > 0; i--) {
        const llap_tensor_info x = llap_tensors_at(t, i - 1);
        must(llap_tensors_writer_add(w, x.name, x.dtype, x.rank, x.shape, x.data) == LLAP_OK);
    }
    for (size_t i = 0; i < llap_tensors_metadata_count(t); i++) {
        const llap_metadata m = llap_tensors_metadata_at(t, i);
        must(llap_tensors_writer_metadata(w, m.key, m.value) == LLAP_OK);
    }
    FILE *f = open_memstream(bytes, n);
    must(f != NULL && llap_tensors_writer_write(w, f) == LLAP_OK && fclose(f) == 0);
    llap_tensors_writer_destroy(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    llap_tensors     *t, *again;
    const int64_t     before = llap_alloc_bytes();
    const llap_status st = llap_tensors_view(data, n, "input", &t);
    must(llap_alloc_bytes() - before <= 256 + (int64_t)n);
    must((st == LLAP_OK) == (t != NULL) && (st == LLAP_OK || st == LLAP_EFORMAT));
    if (t == NULL) return 0;
    char  *first, *second;
    size_t n_first, n_second;
    write_again(t, &first, &n_first);
    must(llap_tensors_view(first, n_first, "first", &again) == LLAP_OK);
    must(walk(t) == walk(again));
    write_again(again, &second, &n_second);
    must(n_first == n_second && memcmp(first, second, n_first) == 0);
    llap_tensors_close(again);
    llap_tensors_close(t);
    free(first);
    free(second);
    return 0;
}
