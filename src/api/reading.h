/* Inside src/api: reading data as options say, into memory or towards a packed panel. */
#ifndef LL_API_READING_H
#define LL_API_READING_H

#include "data/pack.h"

#include <llapdiff/arrow.h>
#include <llapdiff/panel.h>

typedef struct ll_reading {
    const char *const       *paths; /* [n_paths] */
    size_t                   n_paths;
    struct ArrowArrayStream *stream; /* instead of paths; released in any case */
    const char              *name;   /* instead of both: a CSV file in memory, */
    const void              *bytes;  /* [n_bytes] */
    size_t                   n_bytes;
    ll_pack_writer          *pack;   /* rows as they are go there when they are many; NULL: none */
    int64_t                  memory; /* with pack, bytes */
} ll_reading;

/* Caller owns *out. */
llap_status ll_read(const ll_reading *r, const llap_read_opts *given, llap_panel **out);

/* A packed panel, about which most options were settled when it was packed. */
llap_status ll_read_packed(const char *path, const llap_read_opts *given, llap_panel **out);

/* A panel that is there into a file, or into a folder of shards. */
llap_status ll_pack_panel(ll_pack_writer *w, const llap_panel *p);

#endif
