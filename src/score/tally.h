/* Sums of scores over many values. A forecast of one window goes in with what came true; tallies
 * add up; means, shares and widths come out. Everything is a double, so adding is one loop, and
 * whoever adds in a fixed order gets the same bytes for any number of threads. */
#ifndef LL_SCORE_TALLY_H
#define LL_SCORE_TALLY_H

#include "predict/forecaster.h"
#include "score/readings.h"

enum {
    TALLY_LEVELS = 3,   /* central intervals */
    TALLY_PINBALLS = 9, /* 0.1 .. 0.9 */
    TALLY_BINS = 20,    /* of the PIT */
    TALLY_PATHS = 50,   /* of the energy score: so many first ones */
    TALLY_PAPER = 25,   /* members of the paper's tables, and drawn pairs of them */
    TALLY_PAIRS = 200
};

extern const double tally_level[TALLY_LEVELS]; /* 0.5, 0.8, 0.95 */

/* Sums on one scale. */
typedef struct tally_scale {
    double crps;
    double ae_mean, ae_median, se; /* errors of mean and median, squared error of the mean */
    double error;                  /* truth - mean */
    double variance;               /* of the members */
    double size;                   /* |truth| */
    double pinball[TALLY_PINBALLS];
    double n_interval[TALLY_LEVELS]; /* values whose members reach that far */
    double inside[TALLY_LEVELS], width[TALLY_LEVELS];
} tally_scale;

typedef struct tally {
    double      n;            /* values */
    double      n_unanswered; /* values that were not scored: no member was finite */
    tally_scale z, y;         /* in standard deviations of training, in data units */
    double      pit[TALLY_BINS];
    double      n_energy, energy; /* windows whose members are paths; standard deviations */
    /* As the paper's tables: 25 samples, the distances of 200 drawn pairs of them, error of their
     * mean; points by their absolute error. In standard deviations. */
    double paper_crps, paper_ae, paper_se;
} tally;

/* What is kept of every lead or entity, in standard deviations. */
typedef struct tally_brief {
    double n, crps, ae, se; /* of the mean */
    double n_interval, inside80, width80;
} tally_brief;

void tally_add(tally *t, const tally *more);
void tally_brief_add(tally_brief *t, const tally_brief *more);

/* One window and target. */
typedef struct tally_case {
    int64_t               n_query;
    const double         *truth; /* [n_query] data units, NaN: not scored */
    const ll_score_scale *scale;
    const int32_t        *bin;      /* [n_query] lead of each, for the briefs; NULL: none */
    uint64_t              id, seed; /* of draws: places among equals, pairs */
} tally_case;

/* Scratch of one thread for forecasts of up to so many members and queries. */
typedef struct tally_room {
    double *numbers;
    int64_t n_members, n_query;
} tally_room;
llap_status tally_room_init(tally_room *r, int64_t n_members, int64_t n_query);
void        tally_room_deinit(tally_room *r); /* { 0 } is fine */

/* Adds to *out, and to lead[bin] where lead is not NULL. */
void tally_forecast(const tally_case *c, const ll_forecast_members *f, const tally_room *room,
                    tally *out, tally_brief *lead);

#endif
