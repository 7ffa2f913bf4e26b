/* What a forecast of the anchor is made of, on the scale on which it adds up:
 *
 *     ll_component_list l;
 *     ll_component_list_init(&l, m, hours);
 *     st = ll_anchor_components(m, &r, ahead, n, &l, mean, NULL, sum, value);
 *     value[q * l.n + 0] + .. + value[q * l.n + l.n - 1] = sum[q]
 *
 * docs/spec/anchor.md 12. On the scale `data` the sum is the middle of the law itself, in data
 * units; of counts it is the mean. */
#ifndef LL_ANCHOR_COMPONENTS_H
#define LL_ANCHOR_COMPONENTS_H

#include "anchor/model.h"

typedef enum ll_component_kind {
    LL_COMPONENT_LEVEL,    /* of the series, of the window, of the drift */
    LL_COMPONENT_DAILY,    /* seasons: the climate's, and those of the kernel's cycles that have */
    LL_COMPONENT_WEEKLY,   /* such a period */
    LL_COMPONENT_ANNUAL,   /* */
    LL_COMPONENT_PERIOD,   /* a period in the place of the calendar */
    LL_COMPONENT_CYCLES,   /* further cycles of the kernel */
    LL_COMPONENT_HOLIDAYS, /* what is different because the day is one */
    LL_COMPONENT_INPUT,    /* a known column */
    LL_COMPONENT_OTHERS,   /* what other entities' readings add (linked series) */
    LL_COMPONENT_REST,     /* what is left of the last readings, and dies away */
} ll_component_kind;

typedef struct ll_component {
    ll_component_kind kind;
    int32_t           of; /* number of the period, or of the known column */
} ll_component;

/* In what components add up. */
typedef enum ll_component_scale {
    LL_SCALE_DATA,        /* data units */
    LL_SCALE_LOG,         /* log(y - origin): components are logarithms of factors */
    LL_SCALE_LOG1P,       /* log(1 + |y|) with the sign of y */
    LL_SCALE_ASINH,       /* asinh(y) */
    LL_SCALE_LOGIT,       /* of the share between the two bounds, bent or not */
    LL_SCALE_YEO_JOHNSON, /* bent; as wide as data units are at the mean of the series */
} ll_component_scale;

extern const char *const ll_component_scale_names[]; /* data, log ..; closed by NULL */

enum { LL_COMPONENTS_MAX = 9 + LL_PERIODS_MAX + LL_KNOWN_COLUMNS };

typedef struct ll_component_list {
    ll_component_scale scale;
    int32_t            n;
    ll_component       is[LL_COMPONENTS_MAX];
    int32_t            place[LL_ANCHOR_MAX_TERMS]; /* of each term of the kernel */
} ll_component_list;

/* hours: the unit of time is the hour of a calendar. */
void ll_component_list_init(ll_component_list *l, const ll_anchor_model *m, bool hours);

/* The mean of a law in data units. */
typedef double (*ll_law_mean)(const void *user, const ll_anchor_model *m, const ll_law *law);

/* At the queries of r, of which those up to the origin are given what was read until then. r->law
 * has room for all of them, and holds afterwards the laws of the series by itself; ahead [n_ahead]:
 * what ll_anchor_model_forecast has answered about the last n_ahead of them. mean is asked of
 * counts alone. sum [n_query], value [n_query,l->n]. */
llap_status ll_anchor_components(const ll_anchor_model *m, const ll_anchor_request *r,
                                 const ll_law *ahead, size_t n_ahead, const ll_component_list *l,
                                 ll_law_mean mean, const void *user, double *sum, double *value);

/* A reading on the scale; NaN stays. */
double ll_component_of(const ll_anchor_model *m, const ll_component_list *l, size_t series,
                       double y);

#endif
