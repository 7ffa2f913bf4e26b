/* For the rows of the table of feed.c: the functions of one model, and how they write its inputs.
 * Inputs have the axis of rows first and are named in `describe`, `loss` and `fill` alike; a
 * session that has no use for one is passed over. */
#ifndef LL_RIVALS_FEED_INPUTS_H
#define LL_RIVALS_FEED_INPUTS_H

#include "base/rng/rng.h"
#include "rivals/feed/feed.h"

typedef struct ll_rival_feed {
    const char *name;
    bool (*on_grid)(const ll_rival_task *k);
    bool fills;
    /* What options and sizes must agree on beside ll_rival_check; NULL: nothing. */
    llap_status (*check)(const ll_rival_task *k);
    ll_rival_head (*head)(const ll_rival_task *k); /* NULL: it draws */
    /* A model with a head: [B,H,C] or [B,H,C,Q]. */
    ll_tensor *(*answer)(ll_graph *g, const ll_rival_task *k, int64_t B, bool training);
    /* A model that draws: */
    ll_tensor *(*loss)(ll_graph *g, const ll_rival_task *k, int64_t B);
    llap_status (*vary)(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                        int64_t row, ll_session *net);
    int (*nets)(const ll_rival_task *k);
    void (*describe)(ll_graph *g, const ll_rival_task *k, int i, int64_t N);
    llap_status (*draw)(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                        const ll_rival_row *row, float *out);
    /* All models: */
    llap_status (*fill)(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net);
} ll_rival_feed;

extern const ll_rival_feed ll_feed_dlinear, ll_feed_patchtst, ll_feed_tpatchgnn,
    ll_feed_contiformer, ll_feed_neuralcde, ll_feed_csdi, ll_feed_timegrad, ll_feed_mrdiff,
    ll_feed_mtan;

/* -------- inputs -------- */

/* Room of one row of an input: n numbers each; NULL where the session has no use for it. */
float *ll_feed_row(ll_session *net, const char *name, int64_t row, int64_t n);
/* Copies n numbers there. */
void ll_feed_put(ll_session *net, const char *name, int64_t row, const float *from, int64_t n);
/* Columns first .. first + n - 1 of from [rows,width]. */
void ll_feed_columns(ll_session *net, const char *name, int64_t row, const float *from,
                     int64_t rows, int64_t width, int64_t n);
/* The same of the context, the holes of values filled (ll_fill_forward): "x" and "m", [K,n]. */
void ll_feed_filled(const ll_rival_task *k, const ll_rival_example *e, int64_t n, int64_t row,
                    ll_session *net);

/* One clock for context and queries, 0 to 1 on a regular grid. */
float  ll_feed_clock(const ll_rival_task *k, double at);
double ll_feed_query_time(const ll_rival_task *k,
                          double               lead); /* a query's time as those of rows */

/* Features of a query: how far ahead, in horizons, and the calendar: [H,1 + calendar]. */
int64_t ll_feed_features(const ll_rival_task *k);
void    ll_feed_put_features(const ll_rival_task *k, const ll_rival_example *e, const char *name,
                             int64_t row, ll_session *net);

ll_tensor *ll_feed_calendar(ll_graph *g, const ll_rival_task *k,
                            int64_t B); /* "calendar"; or NULL */

/* -------- draws -------- */

/* Numbers of a row for a use, part of it, of a step of training. */
void ll_feed_normals(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use, int64_t n,
                     float *out); /* out may be NULL */
void ll_feed_uniforms(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use, int64_t n,
                      float *out);
/* A step of a noise process: 0 .. n - 1. */
int32_t ll_feed_step(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use, int64_t n);
/* Normals of a sample, step `step` of its making. */
void ll_feed_noise(uint64_t seed, const ll_rival_row *row, int64_t step, int64_t n, float *out);

/* Which cells of context and horizon [K + H,F] are shown for this step of training; what was seen
 * and is not shown is to be found. Half of the time that is the horizon; else a share, drawn anew,
 * of all that was seen from cell `from` on. */
void ll_feed_hide(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                  int64_t from, float *shown);

/* One ancestral step from t to t - 1 given estimates of the clean values, n numbers; noise is not
 * looked at for t = 0. */
void ll_feed_ancestral(const ll_noise_steps *s, int64_t t, int64_t n, const float *x0,
                       const float *noise, float *x);

static inline double ll_feed_dropout(double p, bool training) { return training ? p : 0.0; }

#endif
