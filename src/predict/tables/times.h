/* Times that people write: one, or a file of them. */
#ifndef LL_PREDICT_TABLES_TIMES_H
#define LL_PREDICT_TABLES_TIMES_H

#include "data/clock.h"
#include "data/panel.h"
#include <llapdiff/model.h>

/* Reads times as the data writes its own, or as RFC 3339. Caller owns what is in *r, also after a
 * failure. */
typedef struct ll_axis_reader {
    ll_clock clock[2];
    int      n;
} ll_axis_reader;
llap_status ll_axis_reader_init(ll_axis_reader *r, const ll_axis *axis);
void        ll_axis_reader_deinit(ll_axis_reader *r); /* { 0 } is fine */
llap_status ll_axis_reader_read(ll_axis_reader *r, const char *text, size_t n, int64_t *out);

/* One time of that kind. */
llap_status ll_axis_time_read(const ll_axis *axis, const char *text, size_t n, int64_t *out);

/* The same of a panel. LLAP_EOPTION names what. */
llap_status ll_panel_time_parse(const llap_panel *p, const char *what, const char *text,
                                int64_t *at);

/* Times that are asked about. A file has them in a column time, or one a line; in a column entity
 * where they differ, in a column origin where they are asked from several times. Or they are given
 * as numbers. Caller owns what is in *out (ll_free(out->at)), also after a failure. */
typedef struct ll_query_time {
    int64_t time, entity; /* entity of the panel; -1: all */
    int64_t origin;       /* where there are any */
    int64_t line;         /* of the file; of numbers the place from 0 */
} ll_query_time;
typedef struct ll_query_times {
    const char    *path; /* borrowed; NULL: numbers */
    ll_query_time *at;   /* [n] */
    size_t         n;
    bool           has_origins;
} ll_query_times;
llap_status ll_query_times_read(const llap_panel *p, const char *path, ll_query_times *out);
llap_status ll_query_times_take(const llap_panel *p, const llap_query_times *given,
                                ll_query_times *out);

/* Where one of them stands, for messages: "times: FILE:7", "query: number 6"; without one (NULL)
 * where all do. */
typedef struct ll_query_place {
    char text[160];
} ll_query_place;
ll_query_place ll_query_times_place(const ll_query_times *t, const ll_query_time *at);

/* The panel with rows at these times too, of missing cells; and which of its rows are among them,
 * asked [n_rows]. Caller owns both (llap_panel_destroy, ll_free). */
llap_status ll_query_times_rows(const llap_panel *p, const ll_query_times *t, llap_panel **out,
                                uint8_t **asked);

/* The entity of that name, of n bytes. LLAP_EINVAL: there is none. */
llap_status ll_panel_need_entity(const llap_panel *p, const char *name, size_t n, int64_t *out);

#endif
