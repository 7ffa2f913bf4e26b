/* src/data/synth: made-up panels.
 *
 *   synth.h    this file: oscillators
 *   weather.h  the stations of the demo
 *
 * May touch: base, base/rng, data. */

/* Panels made up from known parameters: for tests, the demo, and to know how good one can get.
 *
 *     ll_synth *s;
 *     llap_panel *p;
 *     st = ll_synth_create(&LL_SYNTH_DEFAULT, &s);         the truth
 *     st = ll_synth_panel(s, &p);                            what was measured of it
 *     ll_synth_destroy(s);
 *
 * Variable v of entity e at time t (hours) is
 *
 *     level + season cos(2 pi t / period + phase) + sum_m load_m s_m(t) + sum_k o_k(t) + noise
 *
 * s_m are modes shared by all entities and variables, o_k modes of this one alone: noise-driven
 * damped oscillators, Gaussian processes with covariance power exp(-rho |t|) cos(omega t). All of
 * it is Gaussian, so what the observed context says about the queries is known exactly
 * (tests/oracles/synth_oracle.h).
 *
 * Measured are rows about every step, each moved by up to jitter steps; rows are lost one by one
 * and in gaps, cells are lost, and some sensors die. */
#ifndef LL_DATA_SYNTH_SYNTH_H
#define LL_DATA_SYNTH_SYNTH_H

#include "data/panel.h"

typedef struct ll_synth_opts {
    int64_t  n_entities, n_vars, n_rows; /* rows before any are lost, per entity */
    int      n_shared, n_own;            /* modes; own ones per entity and variable */
    double   step_hours;
    double   jitter;                 /* in steps, 0 .. < 0.5 */
    double   min_period, max_period; /* hours, of the modes */
    double   min_life, max_life;     /* hours until a mode has decayed by e */
    double   season_period, season;  /* hours; largest amplitude */
    double   noise;                  /* deviation of a measurement */
    double   row_loss, cell_loss;    /* probabilities */
    double   gap_start, gap_rows;    /* probability that a gap starts at a row; its mean length */
    double   dead;                   /* share of sensors that fall silent at some time */
    uint64_t seed;
} ll_synth_opts;

#define LL_SYNTH_DEFAULT                   \
    ((ll_synth_opts){ .n_entities = 6,     \
                      .n_vars = 3,         \
                      .n_rows = 2000,      \
                      .n_shared = 2,       \
                      .n_own = 1,          \
                      .step_hours = 1,     \
                      .jitter = 0.2,       \
                      .min_period = 12,    \
                      .max_period = 96,    \
                      .min_life = 24,      \
                      .max_life = 200,     \
                      .season_period = 24, \
                      .season = 1,         \
                      .noise = 0.1,        \
                      .row_loss = 0.1,     \
                      .cell_loss = 0.1,    \
                      .gap_start = 0.005,  \
                      .gap_rows = 12,      \
                      .dead = 0.1,         \
                      .seed = 1 })

typedef struct ll_synth_mode {
    double rho, omega; /* per hour, radians per hour */
    double power;      /* variance */
} ll_synth_mode;

typedef struct ll_synth {
    ll_synth_opts  o;
    ll_synth_mode *shared;                 /* [n_shared], power 1 */
    ll_synth_mode *own;                    /* [n_entities,n_vars,n_own] */
    double        *load;                   /* [n_entities,n_vars,n_shared] */
    double        *level, *season, *phase; /* [n_entities,n_vars] */
} ll_synth;

/* Caller owns *out. LLAP_EINVAL: an option out of range. */
llap_status ll_synth_create(const ll_synth_opts *o, ll_synth **out);
void        ll_synth_destroy(ll_synth *s); /* NULL is fine */

/* Times are nanoseconds from 2000-01-01. Entities are "s000", ..., variables "v0", ... Caller owns
 * *out. */
llap_status ll_synth_panel(const ll_synth *s, llap_panel **out);

/* What is expected of a variable at a time. */
typedef struct ll_synth_point {
    int64_t entity, var;
    double  hours;
} ll_synth_point;

double ll_synth_mean(const ll_synth *s, const ll_synth_point *a);

/* Hours of a time of such a panel. */
double ll_synth_hours(int64_t time);

#endif
