/* src/data/windows: from a panel to the tensors that the paper's networks see.
 *
 *   windows.h          this file: where contexts and queries lie
 *   split.h            which train, validate, test
 *   scaling.h          statistics of training
 *   examples.h         windows seen jointly or each by itself
 *   missing.h          cells hidden on purpose
 *   batch.h, loader.h  the tensors; an epoch of them
 *
 * May touch: base, base/rng, data. */

/* Windows: what a model learns from and answers about. A window is a stretch of context rows of one
 * entity and the query rows that follow it; nothing is copied, it only says where they lie.
 *
 *     ll_window_opts o = { .context_rows = 336, .horizon_rows = 24 };
 *     o.target = &pm25;
 *     o.n_targets = 1;
 *     ll_windows *w;
 *     st = ll_windows_create(panel, &o, &w);
 *     const ll_window *v = &w->at[i];           i = 0 .. w->n - 1
 *     int64_t c = v->first;                       context rows c .. c + v->n_context - 1
 *     int64_t q = ll_window_query(v);           query rows   q .. q + v->n_query - 1
 *     ll_windows_destroy(w);
 *
 * By rows, on a panel with a grid: exactly context_rows and horizon_rows of them, every stride.
 * By duration, on any panel: every row may end a context. The context is what lies less than
 * context_ns before it, itself included, and must be covered by the record; the queries are all
 * rows up to horizon_ns after it, at least one. Row numbers given beside durations are limits: the
 * latest context_rows, the first horizon_rows.
 *
 * A window is kept if at least one target is observed in its queries. Nothing is asked of the
 * context. Windows are listed entity by entity, then by time. */
#ifndef LL_DATA_WINDOWS_WINDOWS_H
#define LL_DATA_WINDOWS_WINDOWS_H

#include "data/panel.h"

typedef struct ll_window {
    int64_t first;     /* row of the panel; when padded the first that exists */
    int32_t entity;    /* of the panel */
    int32_t n_context; /* rows; fewer than asked for when padded, never 0 */
    int32_t n_query;   /* rows */
} ll_window;

typedef struct ll_window_opts {
    int64_t context_rows, horizon_rows; /* both >= 1; limits when there are durations, 0 for none */
    int64_t context_ns, horizon_ns;     /* 0: by rows; else both >= 1 */
    int64_t stride_rows;                /* by rows: from one window to the next; 0 is 1 */
    int64_t stride_ns;                  /* by duration: least time between two context ends */
    bool    pad; /* also contexts that begin before the record: shorter, at least one row */
    const int64_t *target; /* [n_targets] variables, borrowed until return */
    int64_t        n_targets;
} ll_window_opts;

typedef struct ll_windows {
    const llap_panel *panel; /* borrowed until destroyed */
    int64_t           n;
    const ll_window  *at;        /* [n] */
    int64_t           n_targets; /* as asked for */
    const int64_t    *target;    /* [n_targets] */
    int64_t           n_context; /* the most context rows a window may have; by rows context_rows */
    int64_t           n_query;   /* the most query rows; by rows horizon_rows */
    bool              by_rows;   /* every window has n_query queries */
    void             *owned;
} ll_windows;

/* Caller owns *out; it borrows panel until destroyed. An empty list is not an error here.
 * LLAP_EINVAL: sizes, no target, or a target that is no variable. LLAP_ELIMIT: over 2^32 - 2
 * windows. */
llap_status ll_windows_create(const llap_panel *panel, const ll_window_opts *o, ll_windows **out);
void        ll_windows_destroy(ll_windows *w); /* NULL is fine */

static inline int64_t ll_window_query(const ll_window *v) { return v->first + v->n_context; }

static inline int64_t ll_window_last(const ll_window *v)
{
    return v->first + v->n_context + v->n_query - 1;
}

/* Time of the last context row. */
static inline int64_t ll_window_end(const ll_windows *w, const ll_window *v)
{
    return w->panel->time[ll_window_query(v) - 1];
}

/* The context of a forecast of one entity from `origin`, whether a row lies there or not: the rows
 * up to origin that lie less than context_ns before it, the latest most_rows of them (0: all). It
 * has no queries, and no context (n_context 0) where the entity has no such row. */
ll_window ll_window_before(const llap_panel *p, int64_t entity, int64_t origin, int64_t context_ns,
                           int64_t most_rows);

/* Keeps the windows whose flag is set, [n], in their order. */
void ll_windows_keep(ll_windows *w, const uint8_t *flag);

/* Offsets of times from origin, which is not later than any, in units of unit_ns, rounded once to
 * float. */
void ll_time_offsets(const int64_t *time, int64_t n, int64_t origin, int64_t unit_ns, float *out);

#endif
