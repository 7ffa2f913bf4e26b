/* A series that is watched: what is said of each row, and alarms that follow one another as one
 * event. */
#ifndef LL_STREAM_WATCH_H
#define LL_STREAM_WATCH_H

#include "anchor/model.h"
#include "stream/usual.h"

#include <llapdiff/detect.h>

/* What all series of a target have in common. */
typedef struct ll_watching {
    const ll_usual        *usual;
    const ll_anchor_model *anchor;
    double                 rate;
    int64_t                join; /* rows without an alarm that end an event */
} ll_watching;

/* Saved with the stream. */
typedef struct ll_watched {
    ll_runs    runs;
    double     eased; /* the limits are this much further away: what alarms so far have taught */
    bool       open;  /* an event has begun and not ended */
    int64_t    quiet; /* rows without an alarm since its last one */
    llap_alarm alarm; /* names are the caller's */
    double     peak;  /* margin of its oddest row */
    int64_t    rows, alarms; /* judged, events so far */
} ll_watched;

/* The normal score of y in the law, in the middle of what the law holds at y where that is more
 * than nothing: whole numbers, bounds. */
double ll_reading_score(const ll_anchor_model *a, const ll_law *law, double y);

/* Takes a row in. law: of its reading, NULL where there is none. out->begun: an event began with
 * this row; out->ended: one has ended before it, w->alarm is it until the next row. */
typedef struct ll_watch_step {
    llap_judgement judged;
    bool           begun, ended;
    llap_alarm     end; /* the event that ended */
} ll_watch_step;
void ll_watched_take(ll_watched *w, const ll_watching *of, size_t series, const ll_watch_row *in,
                     const ll_law *law, ll_watch_step *out);

/* It is now `now`, after the last row: an event begins where that is unusually long; else nothing
 * happens. */
void ll_watched_clock(ll_watched *w, const ll_watching *of, size_t series, int64_t now,
                      ll_watch_step *out);

#endif
