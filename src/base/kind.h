/* What kind of values a variable has, found by looking at them:
 *
 *     ll_kind_look k = { 0 };
 *     for each series: ll_kind_start(&k), then ll_kind_add(&k, y) of every reading, in order
 *     ll_kind kind = ll_kind_found(&k);
 *     bool    never_negative = ll_kind_floored(&k, kind);
 *
 * What was never seen may still come: a temperature that stayed above 0 through all of training is
 * no reason to hold answers above 0. Only zeros that pile up are. */
#ifndef LL_BASE_KIND_H
#define LL_BASE_KIND_H

#include <stdbool.h>

typedef enum ll_kind {
    LL_KIND_ANY,
    LL_KIND_COUNT,    /* whole, not negative, with many zeros or as noisy as counts are */
    LL_KIND_WHOLE,    /* whole numbers otherwise */
    LL_KIND_SHARE,    /* within [0, 1], with some values near either end */
    LL_KIND_POSITIVE, /* not negative, with zeros piled up */
} ll_kind;
enum { LL_KINDS = LL_KIND_POSITIVE + 1 };

extern const char *const ll_kind_names[LL_KINDS + 1]; /* any, count, whole ..; closed by NULL */

/* What has been seen so far. */
typedef struct ll_kind_look {
    double n, sum, least, most;
    double zeros, fractions; /* values that are 0, and that are not whole */
    double bends, bend_sum;  /* of second differences: how many, sum of their squares */
    double last[2];          /* of the series, the latest first */
    int    n_last;
} ll_kind_look;

void ll_kind_start(ll_kind_look *k);         /* another series */
void ll_kind_add(ll_kind_look *k, double y); /* NaN: nothing */

/* Fewer than 20 values: any. Counts are whole, none negative, and more than 5 % zeros or mean below
 * 20 with second differences of at least 0.8 of a Poisson count's variance. */
ll_kind ll_kind_found(const ll_kind_look *k);

/* Is there a floor at 0 below the values? Shares, and positive ones: always. Others: none is
 * negative and more than 5 % are 0, or 1 % (ten at least) of values as noisy as counts. */
bool ll_kind_floored(const ll_kind_look *k, ll_kind kind);

/* Whether values look like percentages: within [0, 100], and reaching to 100 or near to both ends.
 * Nobody is bound by it: temperatures may look so too. */
bool ll_kind_percentage(const ll_kind_look *k, ll_kind kind);

/* "counts", "whole numbers" ..., for people. */
const char *ll_kind_words(ll_kind k);

#endif
