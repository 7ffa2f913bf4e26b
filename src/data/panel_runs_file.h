/* Inside panel_runs.c and panel_runs_merge.c: where a run lies in the file. */
#ifndef LL_DATA_PANEL_RUNS_FILE_H
#define LL_DATA_PANEL_RUNS_FILE_H

#include "data/panel_runs.h"

/* Rows by entity, time and arrival: uint32 entity [n], uint32 arrival [n], int64 time [n], float
 * value [n,stride]. */
typedef struct ll_row_run {
    int64_t at;
    int64_t n, stride;
    int64_t arrivals; /* rows, or cells, that came before */
    bool    of_cells; /* of whose arrivals only the first of each row is kept */
} ll_row_run;

struct ll_row_runs {
    const char      *name; /* for messages; borrowed from the writer */
    int              fd;
    int64_t          end;
    ll_row_run      *run;
    size_t           n, room;
    ll_builder_span *span; /* [n_spans] of the entities in all runs */
    uint32_t         n_spans;
};

static inline int64_t ll_row_run_times(const ll_row_run *r, int64_t row)
{
    return r->at + 8 * r->n + 8 * row;
}
static inline int64_t ll_row_run_values(const ll_row_run *r, int64_t row)
{
    return r->at + 16 * r->n + 4 * row * r->stride;
}

llap_status ll_row_runs_write(const ll_row_runs *r, const void *bytes, size_t n, int64_t at);
llap_status ll_row_runs_read(const ll_row_runs *r, void *bytes, size_t n, int64_t at);

#endif
