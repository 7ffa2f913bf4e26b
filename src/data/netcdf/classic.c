#include "data/netcdf/classic.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/netcdf/driver.h"

#include <stdbool.h>

/* header   = "CDF" version numrecs list(10, dim) list(12, att) list(11, var)
 * list     = tag count item*, or 0 0 when empty
 * dim      = name length                        length 0: the record dimension
 * att      = name type count values             values padded to 4 bytes
 * var      = name count dim-id* list(12, att) type size begin
 * name     = count bytes                        padded to 4 bytes
 * Big-endian. Tags and types are 4 bytes, begin 4 in version 1 and 8 otherwise, other numbers 4, or
 * 8 in version 5. */
typedef struct header {
    const uint8_t *data;
    size_t         n, at;
    const char    *path;
    unsigned       version;
    uint64_t       n_records; /* UINT64_MAX: unknown, to be told from the size */
    uint64_t       n_dims, *dim;
    /* of the record variables: bytes of one record, the largest end, how many there are */
    uint64_t record_bytes, record_end, last_bytes, n_record_vars;
} header;

static llap_status damaged(const header *h, const char *what)
{
    return ll_fail(LLAP_EFORMAT, "%s: byte %zu: %s", h->path, h->at, what);
}

/* A number of 4 or 8 bytes. */
static llap_status take(header *h, size_t width, uint64_t *out)
{
    *out = 0;
    if (h->n - h->at < width) return damaged(h, "the header is cut short");
    for (size_t i = 0; i < width; i++) *out = *out << 8 | h->data[h->at + i];
    h->at += width;
    return LLAP_OK;
}

static llap_status take_count(header *h, uint64_t *out)
{
    return take(h, h->version == 5 ? 8 : 4, out);
}

/* Passes over count things of size bytes, padded to 4. */
static llap_status skip(header *h, uint64_t count, uint64_t size)
{
    const uint64_t left = h->n - h->at;
    if (count > left / size) return damaged(h, "the header is cut short");
    const uint64_t padded = (count * size + 3) / 4 * 4;
    if (padded > left) return damaged(h, "the header is cut short");
    h->at += (size_t)padded;
    return LLAP_OK;
}

static llap_status skip_name(header *h)
{
    uint64_t    n;
    llap_status st = take_count(h, &n);
    if (st != LLAP_OK) return st;
    if (n == 0 || n > LL_NC_NAME_MAX) return damaged(h, "a name is empty or longer than 256 bytes");
    return skip(h, n, 1);
}

static llap_status take_type(header *h, uint64_t *size)
{
    static const uint8_t bytes[] = { 0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8 };
    uint64_t             type;
    llap_status          st = take(h, 4, &type);
    if (st != LLAP_OK) return st;
    if (type < 1 || type > (h->version == 5 ? 11 : 6)) return damaged(h, "there is no such type");
    *size = bytes[type];
    return LLAP_OK;
}

/* How many items of what the tag says follow. Each takes at least 8 bytes. */
static llap_status take_list(header *h, uint64_t tag, uint64_t *count)
{
    uint64_t    found;
    llap_status st = take(h, 4, &found);
    if (st == LLAP_OK) st = take_count(h, count);
    if (st != LLAP_OK) return st;
    if (found == 0 && *count == 0) return LLAP_OK;
    if (found != tag) return damaged(h, "expected a list of dimensions, attributes or variables");
    if (*count > (h->n - h->at) / 8) return damaged(h, "a list is longer than the file");
    return LLAP_OK;
}

static llap_status check_dims(header *h)
{
    llap_status st = take_list(h, 10, &h->n_dims);
    if (st != LLAP_OK) return st;
    h->dim = ll_new((size_t)h->n_dims, sizeof *h->dim);
    if (h->dim == NULL) return LLAP_ENOMEM;
    bool records = false;
    for (uint64_t d = 0; d < h->n_dims && st == LLAP_OK; d++) {
        st = skip_name(h);
        if (st == LLAP_OK) st = take_count(h, &h->dim[d]);
        if (st == LLAP_OK && h->dim[d] == 0 && records)
            st = damaged(h, "there are two record dimensions");
        if (st == LLAP_OK && h->dim[d] > INT64_MAX) st = damaged(h, "a dimension is negative");
        records |= h->dim[d] == 0;
    }
    return st;
}

static llap_status check_atts(header *h)
{
    uint64_t    n;
    llap_status st = take_list(h, 12, &n);
    for (uint64_t a = 0; a < n && st == LLAP_OK; a++) {
        uint64_t size = 1, count = 0;
        st = skip_name(h);
        if (st == LLAP_OK) st = take_type(h, &size);
        if (st == LLAP_OK) st = take_count(h, &count);
        if (st == LLAP_OK) st = skip(h, count, size);
    }
    return st;
}

/* The dimensions of a variable: elements of it, or of one record of it. */
static llap_status check_shape(header *h, uint64_t *elements, bool *record)
{
    uint64_t    n;
    llap_status st = take_count(h, &n);
    if (st != LLAP_OK) return st;
    if (n > LL_NC_VAR_DIMS) return damaged(h, "a variable has more than 1024 dimensions");
    *elements = 1;
    *record = false;
    for (uint64_t i = 0; i < n && st == LLAP_OK; i++) {
        uint64_t d = 0;
        st = take_count(h, &d);
        if (st != LLAP_OK) return st;
        if (d >= h->n_dims) return damaged(h, "there is no such dimension");
        if (h->dim[d] == 0 && i > 0) return damaged(h, "the record dimension is not the first");
        if (h->dim[d] == 0) *record = true;
        else if (__builtin_mul_overflow(*elements, h->dim[d], elements))
            return damaged(h, "a variable has too many elements");
    }
    return st;
}

static llap_status cut_short(const header *h, uint64_t wanted)
{
    return ll_fail(LLAP_EFORMAT, "%s: is cut short: expected %llu bytes, found %zu", h->path,
                   (unsigned long long)wanted, h->n);
}

static llap_status check_var(header *h)
{
    uint64_t    elements = 0, size = 0, stored, begin, bytes, end;
    bool        record = false;
    llap_status st = skip_name(h);
    if (st == LLAP_OK) st = check_shape(h, &elements, &record);
    if (st == LLAP_OK) st = check_atts(h);
    if (st == LLAP_OK) st = take_type(h, &size);
    if (st == LLAP_OK) st = take_count(h, &stored); /* redundant, and wrong for large ones */
    if (st == LLAP_OK) st = take(h, h->version == 1 ? 4 : 8, &begin);
    if (st != LLAP_OK) return st;
    if (__builtin_mul_overflow(elements, size, &bytes) ||
        __builtin_add_overflow(begin, bytes, &end) || end > INT64_MAX - 4)
        return damaged(h, "a variable is larger than any file");
    if (!record) return end > h->n ? cut_short(h, end) : LLAP_OK;
    h->n_record_vars++;
    h->last_bytes = bytes;
    if (__builtin_add_overflow(h->record_bytes, (bytes + 3) / 4 * 4, &h->record_bytes))
        return damaged(h, "a record is larger than any file");
    if (end > h->record_end) h->record_end = end;
    return LLAP_OK;
}

static llap_status check_records(const header *h)
{
    if (h->n_record_vars == 0 || h->n_records == 0 || h->n_records == UINT64_MAX) return LLAP_OK;
    /* the only record variable is not padded */
    const uint64_t step = h->n_record_vars == 1 ? h->last_bytes : h->record_bytes;
    uint64_t       end;
    if (__builtin_mul_overflow(step, h->n_records - 1, &end) ||
        __builtin_add_overflow(end, h->record_end, &end))
        return damaged(h, "the records are larger than any file");
    return end > h->n ? cut_short(h, end) : LLAP_OK;
}

static llap_status check_header(header *h)
{
    if (h->n < 4 || (h->data[3] != 1 && h->data[3] != 2 && h->data[3] != 5))
        return damaged(h, "is not a version of NetCDF");
    h->version = h->data[3];
    h->at = 4;
    uint64_t    n_vars = 0;
    llap_status st = take_count(h, &h->n_records);
    if (h->version != 5 && h->n_records == UINT32_MAX) h->n_records = UINT64_MAX;
    if (st == LLAP_OK) st = check_dims(h);
    if (st == LLAP_OK) st = check_atts(h);
    if (st == LLAP_OK) st = take_list(h, 11, &n_vars);
    for (uint64_t v = 0; v < n_vars && st == LLAP_OK; v++) st = check_var(h);
    return st == LLAP_OK ? check_records(h) : st;
}

llap_status ll_nc_classic_check(const uint8_t *data, size_t n, const char *path)
{
    header            h = { .data = data, .n = n, .path = path };
    const llap_status st = check_header(&h);
    ll_free(h.dim);
    return st;
}
