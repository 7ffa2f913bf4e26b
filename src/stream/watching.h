/* A stream that judges its rows: what is usual of every target, and where every series stands. */
#ifndef LL_STREAM_WATCHING_H
#define LL_STREAM_WATCHING_H

#include "stream/learn.h"
#include "stream/stream.h"

typedef struct ll_stream_watch {
    ll_detect_how how;
    int64_t       n_targets;
    ll_usual     *usual; /* [n_targets] */
    /* By entity, room for them: */
    int64_t         room;
    ll_watched     *series; /* [room,n_targets] */
    llap_judgement *last;   /* [room,n_targets] of the newest row judged */
    int64_t        *judged; /* [room] time of that row, */
    bool           *any;    /* [room] where there is one */
    /* Begun and ended since they were last forgotten: */
    llap_alarm *alarm;
    int64_t     n_alarms, alarms_room;
} ll_stream_watch;

llap_status ll_stream_watch_create(const llap_model *m, const ll_detect_how *how,
                                   ll_stream_watch **out);
void        ll_stream_watch_destroy(ll_stream_watch *w); /* NULL is fine */
llap_status ll_stream_watch_grow(ll_stream_watch *w, int64_t entities);
size_t      ll_stream_watch_bytes(const ll_stream_watch *w); /* of an entity */

/* Rows are kept as much longer as they may come late, and as forecasts are made before. */
void ll_stream_widen(llap_stream *s, const ll_detect_how *how);

/* The stream takes w, or it is destroyed. */
llap_status ll_stream_start_watch(llap_stream *s, ll_stream_watch *w);

/* Judges the rows of entity i that have waited long enough. */
llap_status ll_stream_judge_rows(llap_stream *s, int64_t i);

/* In the file: tensors that are the caller's until it is written. */
struct ll_tensors;
struct ll_tensors_writer;
typedef struct ll_watch_tensors {
    double  *numbers, *usual, *habit;
    int64_t *integers, *judged;
} ll_watch_tensors;
llap_status ll_stream_watch_save(const llap_stream *s, ll_watch_tensors *t,
                                 struct ll_tensors_writer *w);
void        ll_watch_tensors_deinit(ll_watch_tensors *t);
/* Of a stream whose entities are there. *n: how many tensors it has. */
llap_status ll_stream_watch_load(llap_stream *s, const struct ll_tensors *t, const char *how,
                                 size_t *n);
/* Its options in the configuration; caller owns *text (ll_free). */
llap_status ll_detect_how_text(const ll_detect_how *how, char **text);

#endif
