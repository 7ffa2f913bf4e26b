/* Known inputs: numbers, flags and categories that are given for the future too (a forecast of the
 * temperature, a planned price). What they explain is a mean function that is taken off a series
 * together with its climate, docs/spec/anchor.md 2.14:
 *
 *     u  -> u = (u - climate_e(t) - sum_j beta_j column_j(x(t), t)) / r_s
 *
 *     ll_known *k;                                 of a fitted chain, or of a file
 *     ll_inputs *in = NULL;
 *     st = ll_inputs_create(k, t, raw, n, &in);    one series: gaps filled, trailing means made
 *     mean = ll_known_effect(k, in, t), var = ll_known_doubt(k, in, t);
 *     ll_inputs_destroy(in);
 *
 * Columns of a number: a natural cubic spline with up to six knots, alone and times the daily sin
 * and cos (k = 1, 2), and, where validation wants them, the same of its mean over the day before.
 * Flags and categories: 0 or 1 for each of their values. */
#ifndef LL_ANCHOR_CHAIN_KNOWN_H
#define LL_ANCHOR_CHAIN_KNOWN_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_KNOWN_COLUMNS = 32, LL_KNOWN_INPUTS = 64, LL_KNOWN_KNOTS = 6, LL_KNOWN_LEVELS = 8 };
/* Terms of one input at most: spline columns times 1 and four of the day, of it and its mean. */
enum { LL_KNOWN_TERMS = 2 * 5 * (LL_KNOWN_KNOTS - 1) };

typedef enum ll_known_kind {
    LL_KNOWN_NUMBER,
    LL_KNOWN_FLAG, /* 1 where the column has the value `level`: of a 0/1 column, or a category */
} ll_known_kind;

/* One input. Missing values of it are filled from what it usually is at that time and from how it
 * was last: x = usual(t) + (x_0 - usual(t_0)) phi^(t - t_0). */
typedef struct ll_known_input {
    int32_t       column; /* of the data's known columns */
    ll_known_kind kind;
    double        level;
    int32_t       n_knots;              /* of a number: 2 (a straight line) .. 6 */
    double        knot[LL_KNOWN_KNOTS]; /* strictly increasing */
    bool          slow;                 /* its mean over the day before has an effect too */
    int32_t       n_usual;              /* terms of ll_climate_terms: 1, 11 or 23 */
    double        usual[23];
    double        phi; /* what is left of a deviation after one unit of time, 0 .. 1 */
    double        var; /* of deviations */
} ll_known_input;

typedef enum ll_weighting { LL_WEIGHTING_PLAIN, LL_WEIGHTING_WHITENED } ll_weighting;

/* Saved whole with a chain. */
typedef struct ll_known {
    int32_t         n_columns; /* of the data */
    int32_t         n;         /* inputs */
    ll_known_input *input;     /* [n] owned */
    bool            daily;     /* effects of numbers change over the day, and there are slow ones */
    bool            constant;  /* the first term is 1: the chain has no climate */
    ll_weighting    weighting;
    int32_t         n_terms;
    double         *beta; /* [n_terms] owned; NULL: not fitted yet */
} ll_known;

/* The inputs of one series, without gaps. */
typedef struct ll_inputs {
    size_t  n, rows;
    double *t;               /* [rows] not decreasing */
    double *x, *var;         /* [n,rows] value, and variance of what was filled in; 0: known */
    double *slow, *slow_var; /* [n,rows] of the mean over the day up to it */
} ll_inputs;

/* raw [n_columns,rows], NaN: missing. Caller owns *out. */
llap_status ll_inputs_create(const ll_known *k, const double *t, const double *raw, size_t rows,
                             ll_inputs **out);
void        ll_inputs_destroy(ll_inputs *in); /* NULL is fine */

/* Whether a value of a column is taken as it is: where it is a category, one of training; a number,
 * not far outside their range. Other values count as missing. NaN: no. */
bool ll_known_takes(const ll_known *k, int32_t column, double raw);

/* What the inputs add to the climate at time t (in NULL: none of them is known at any time), and
 * the variance of that where inputs were filled in. one < 0: all inputs, else that one alone. */
double ll_known_effect(const ll_known *k, const ll_inputs *in, double t, int one);
double ll_known_doubt(const ll_known *k, const ll_inputs *in, double t);
/* The effect of input i if it were at its mean over training: the effect of an input by itself is
 * what differs from this. *flat: the part of it that does not change over the day. 0 of flags. */
double ll_known_at_mean(const ll_known *k, int32_t i, double t, double *flat);

/* The terms at time t, [n_terms], as beta has them. */
void ll_known_terms(const ll_known *k, const ll_inputs *in, double t, double *out);
/* Their number, and the weight of each in a ridge. */
int32_t ll_known_count(const ll_known *k);
double  ll_known_penalty(const ll_known *k, int32_t term);

/* Columns of a number, [n_knots - 1]. */
void ll_spline_columns(const double *knot, int32_t n_knots, double x, double *out);

const char *ll_weighting_name(ll_weighting w); /* plain or whitened */
bool        ll_known_slow(const ll_known *k);  /* means over a day have an effect */

void        ll_known_destroy(ll_known *k); /* NULL is fine */
llap_status ll_known_copy(const ll_known *k, ll_known **out);

/* What each column of training is like: kinds, knots, what is usual. raw [n_series] of
 * [n_columns,stride[e]], of which the first rows[e] train; daily: t is hours of a calendar. Columns
 * that never change give no input. Caller owns *out, whose n may be 0. */
typedef struct ll_known_data {
    size_t               n_series;
    const double *const *t;   /* [n_series] */
    const double *const *raw; /* [n_series] */
    const size_t        *rows, *stride;
    int32_t              n_columns;
} ll_known_data;
llap_status ll_known_fit_inputs(const ll_known_data *d, bool daily, ll_known **out);

#endif
