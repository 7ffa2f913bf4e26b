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
static uint64_t walk(const ll_tensors *t)
{
    uint64_t    sum = 0;
    const char *end = NULL;
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        const ll_tensor_info x = ll_tensors_at(t, i);
        const uint8_t       *bytes = x.data;
        size_t               n_bytes = 0;
        ll_tensor_info       y;
        must(end == NULL || end == (const char *)x.data);
        end = (const char *)x.data + x.n_bytes;
        must(ll_tensor_size(x.dtype, x.rank, x.shape, &n_bytes) == LLAP_OK);
        must(n_bytes == x.n_bytes && n_bytes == (size_t)x.n_elements * ll_dtype_size(x.dtype));
        must(ll_tensors_find(t, x.name, &y) && y.data == x.data && y.name == x.name);
        must(ll_tensors_require(t, x.name, x.dtype, x.rank, x.shape, &y) == LLAP_OK);
        uint64_t part = (uint64_t)x.dtype * 31 + (uint64_t)x.rank;
        for (size_t k = 0; k < x.n_bytes; k++) part = part * 33 + bytes[k];
        for (const char *p = x.name; *p != '\0'; p++) part = part * 33 + (uint8_t)*p;
        sum += part; /* the order of tensors may change on writing */
    }
    const char *last = NULL;
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        must(last == NULL || strcmp(last, m.key) < 0);
        must(ll_tensors_metadata(t, m.key) == m.value);
        for (const char *p = m.key; *p != '\0'; p++) sum = sum * 33 + (uint8_t)*p;
        for (const char *p = m.value; *p != '\0'; p++) sum = sum * 33 + (uint8_t)*p;
        last = m.key;
    }
    return sum;
}

static void write_again(const ll_tensors *t, char **bytes, size_t *n)
{
    ll_tensors_writer *w;
    must(ll_tensors_writer_create(&w) == LLAP_OK);
    for (size_t i = ll_tensors_count(t); i > 0; i--) {
        const ll_tensor_info x = ll_tensors_at(t, i - 1);
        must(ll_tensors_writer_add(w, x.name, x.dtype, x.rank, x.shape, x.data) == LLAP_OK);
    }
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        must(ll_tensors_writer_metadata(w, m.key, m.value) == LLAP_OK);
    }
    FILE *f = open_memstream(bytes, n);
    must(f != NULL && ll_tensors_writer_write(w, f) == LLAP_OK && fclose(f) == 0);
    ll_tensors_writer_destroy(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ll_tensors       *t, *again;
    const int64_t     before = ll_alloc_bytes();
    const llap_status st = ll_tensors_view(data, n, "input", &t);
    must(ll_alloc_bytes() - before <= 256 + (int64_t)n);
    must((st == LLAP_OK) == (t != NULL) && (st == LLAP_OK || st == LLAP_EFORMAT));
    if (t == NULL) return 0;
    char  *first, *second;
    size_t n_first, n_second;
    write_again(t, &first, &n_first);
    must(ll_tensors_view(first, n_first, "first", &again) == LLAP_OK);
    must(walk(t) == walk(again));
    write_again(again, &second, &n_second);
    must(n_first == n_second && memcmp(first, second, n_first) == 0);
    ll_tensors_close(again);
    ll_tensors_close(t);
    free(first);
    free(second);
    return 0;
}
