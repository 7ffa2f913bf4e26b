/* What is usual of the readings of one target, learnt from readings that are taken to be so, and
 * how far from it a series is (docs/spec/stream.md 5).
 *
 *     ll_runs r = { 0 };
 *     double  stat[LL_TESTS];
 *     ll_runs_step(&r, ll_usual_habit(usual, series), &reading, stat);
 *     for (int k = 0; k < LL_TESTS; k++) c[k] = ll_tail_surprise(&usual->tail[k], stat[k]);
 *
 * Each test is one number that grows as things get stranger; its surprise is minus the logarithm of
 * the share of usual readings at which it is as large. */
#ifndef LL_STREAM_USUAL_H
#define LL_STREAM_USUAL_H

#include <llapdiff/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ll_test {
    LL_TEST_READING, /* distance of a reading from its law */
    LL_TEST_CHANGE,  /* mean of the last distances, with their signs */
    LL_TEST_FAR,     /* the same of distances from forecasts made some time ago */
    LL_TEST_LEVEL,   /* mean of the last readings, against what the climate says */
    LL_TEST_STUCK,   /* equal readings one behind the other */
    LL_TEST_SILENT,  /* time since the last reading */
    LL_TESTS
} ll_test;

enum {
    LL_CHANGES = 2,
    LL_FARS = 1,
    LL_LEVELS_RUN = 1,
    LL_MEANS = LL_CHANGES + LL_FARS + LL_LEVELS_RUN
};

/* A row of one series. */
typedef struct ll_watch_row {
    int64_t time;
    double  y;   /* NaN: not read */
    double  x;   /* normal score of y in the law that what came before it gives; NaN: none */
    double  far; /* in the forecast that was made of it ll_watch_far before; NaN: none */
    double  u;   /* y through the chain */
} ll_watch_row;

/* What the distances of one series are like. */
typedef struct ll_habit {
    double sd, far_sd;                       /* of x, of far */
    double gap;                              /* ticks between readings */
    double mean[LL_MEANS], spread[LL_MEANS]; /* of the running means */
} ll_habit;

/* Where a series stands; nothing of it grows. */
typedef struct ll_runs {
    double  of[LL_MEANS], weight[LL_MEANS]; /* running means, and what they are made of, up to 1 */
    double  y;                              /* last reading */
    int64_t last;                           /* its time */
    int64_t equal; /* readings that equal it, itself counted; 0: none yet */
} ll_runs;

/* stat [LL_TESTS], NaN where a row says nothing. */
void ll_runs_step(ll_runs *r, const ll_habit *h, const ll_watch_row *in, double *stat);

/* Share of usual rows at which a statistic is at least v, by its logarithm: linear between knots,
 * and beyond the last exponential, as its own tail is. */
enum { LL_TAIL_KNOTS = 24 };
typedef struct ll_tail {
    int64_t n; /* knots; 0: nothing was learnt, and nothing surprises */
    double  v[LL_TAIL_KNOTS], c[LL_TAIL_KNOTS]; /* value, minus the logarithm of the share */
    double  scale;                              /* of the exponential */
    double  top, above; /* largest value seen; surprise of all that is larger, at least */
} ll_tail;

/* stat [n] is sorted. least: the smallest scale there can be. */
void   ll_tail_fit(ll_tail *t, double *stat, size_t n, double least);
double ll_tail_surprise(const ll_tail *t, double v); /* 0 for NaN */
double ll_tail_value(const ll_tail *t, double c);    /* the value of that surprise */

/* Of one target. */
typedef struct ll_usual {
    ll_tail   tail[LL_TESTS];
    double    limit[LL_TESTS]; /* surprises beyond this make an alarm */
    ll_habit *habit;           /* [n_series + 1], the last of all together; owned */
    int64_t   n_series;
    int64_t   rows; /* learnt from */
} ll_usual;

static inline const ll_habit *ll_usual_habit(const ll_usual *u, size_t series)
{
    return &u->habit[series < (size_t)u->n_series ? (int64_t)series : u->n_series];
}

/* What is so before anything was learnt: readings as the law says, `gap` ticks between them, limits
 * for that rate. */
llap_status ll_usual_init(ll_usual *u, int64_t n_series, int64_t gap, double rate);
void        ll_usual_deinit(ll_usual *u); /* { 0 } is fine */

/* Rows of one series, in order of time. */
typedef struct ll_usual_rows {
    const ll_watch_row *row; /* [n] */
    size_t              n, series;
} ll_usual_rows;

/* An alarm goes on until the largest surprise has been this far below its limit for a while: one
 * that hangs about the limit is one alarm. */
#define LL_USUAL_HOLD 1.0

/* rate: alarms a row, alarms that follow one another within `join` rows being one. */
llap_status ll_usual_learn(ll_usual *u, const ll_usual_rows *h, size_t n, double rate,
                           int64_t join);

/* By how much the largest surprise is beyond its limit, and of which test. */
double ll_usual_margin(const ll_usual *u, const double *stat, ll_test *which);

#endif
