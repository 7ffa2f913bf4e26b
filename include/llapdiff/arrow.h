/* Panels from tables in memory, by the Arrow C data interface: what pandas, polars, DuckDB, R and
 * others hand over without a copy and without a library.
 *
 *     struct ArrowArrayStream stream;
 *     export_table(table, &stream);                      the other library's part
 *     llap_read_opts how = { 0 };
 *     llap_panel    *panel = NULL;
 *     llap_status    st = llap_panel_from_arrow(&stream, &how, &panel);
 *
 * The three structs are those of the interface, which any library may define: they stand here so
 * that no Arrow header is needed. */
#ifndef LLAPDIFF_ARROW_H
#define LLAPDIFF_ARROW_H

#include <llapdiff/panel.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char          *format, *name, *metadata;
    int64_t              flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t             length, null_count, offset, n_buffers, n_children;
    const void        **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* Reads a table of any number of batches into a panel. The rules are those of llap_panel_read, so
 * that a table and the CSV file written of it become the same panel: wide or long form, with or
 * without a column of entities, found by names and content or told by the options. Rows are counted
 * from 1 in messages, "frame:7: column 2 'y': ...".
 *
 *   time       timestamps and dates of any unit. One with a zone is that instant, and the panel has
 *              that zone; one without is in `zone`, else as UTC. Also text, numbers, durations.
 *   values     integers, floats (16, 32, 64 bits), booleans (0 and 1); text that reads as a number.
 *              Null and NaN are missing; `codes` looks for -9999 and the like, as in files.
 *   entities   text of any layout, dictionaries, integers.
 *
 * Columns of decimals, lists and others are refused by name; `drop` leaves them out. Options about
 * text (separator, decimal, quote, header, skip_lines) are LLAP_EOPTION.
 *
 * Takes the stream: it is released in any case. The interface does not tell how long buffers are,
 * so a producer that lies about them cannot be found out; lengths, offsets, indices and types are
 * checked. LLAP_EFORMAT: the content. LLAP_EIO: the producer failed, with its words. Caller owns
 * *out. */
LLAP_API llap_status llap_panel_from_arrow(struct ArrowArrayStream *stream, const llap_read_opts *o,
                                           llap_panel **out);

/* The same into a packed panel (llap_panel_pack): the stream's rows need not fit into memory. */
LLAP_API llap_status llap_panel_pack_arrow(struct ArrowArrayStream *stream, const llap_read_opts *o,
                                           const llap_pack_opts *how, const char *to,
                                           llap_panel_sizes *made);

#ifdef __cplusplus
}
#endif

#endif
