/* src/rivals/feed: the nine models as one kind of thing: what each takes of a window, its loss, and
 * how it is asked. A model is a row of a table (feed.c); whoever trains or asks one knows nothing
 * else of it.
 *
 *   feed.h       this file
 *   inputs.h     for the rows of the table: their inputs in a session
 *   quantiles.c  models that answer with quantiles, and DLinear and PatchTST among them
 *   tokens.c     T-PatchGNN and ContiFormer; splines.c: Neural CDE
 *   csdi.c, timegrad.c, mrdiff.c, mtan.c:
 *                models that draw
 *
 * May touch: base, base/json, base/rng, backend, graph, nn, rivals. */

/* A task is a model, its options and the sizes of its windows; an example is one window on
 * training's scale. Nothing here knows a panel.
 *
 *     ll_rival_task k = { .kind = ll_rival_named("dlinear"), ... };
 *     st = ll_rival_task_check(&k);
 *     ll_tensor *loss = ll_rival_loss(g, &k, B);                   the graph of training, inputs
 * and all st = ll_rival_fill(&k, &example, row, net);                    a window's share of the
 * inputs ll_rival_vary(&k, &turn, row, net);                          and what is drawn for a step
 *
 *     for (int i = 0; i < ll_rival_nets(&k); i++) ... ll_rival_describe(g[i], &k, i, N) ...
 *     st = ll_rival_draw(&k, nets, N, seed, rows, out);              answers of N rows
 *
 * Letters: K rows of context, H cells that are asked about, F variables of which the first C are
 * the targets. docs/spec/rivals.md 13 says what each model sees. */
#ifndef LL_RIVALS_FEED_FEED_H
#define LL_RIVALS_FEED_FEED_H

#include "nn/session.h"
#include "rivals/options.h"

enum {
    LL_RIVAL_ROWS = 4096,                 /* most of context and horizon each */
    LL_RIVAL_VARS = 4096,                 /* most variables */
    LL_RIVAL_NETS = LL_MRDIFF_STAGES + 1, /* most sessions that answers need */
    LL_RIVAL_CALENDAR = 6,                /* numbers of a time */
};

typedef struct ll_rival_task {
    const ll_rival *kind;
    ll_rival_config config;
    ll_rival_data   data;                    /* K and H */
    int64_t         targets, vars, calendar; /* C, F; numbers of the calendar of a time, or 0 */
    double          context, horizon;        /* in steps of the data */
} ll_rival_task;

/* Sizes and options that cannot be are LLAP_EINVAL, whoever they come from. */
llap_status ll_rival_task_check(const ll_rival_task *k);

bool ll_rival_on_grid(const ll_rival_task *k); /* rows lie on the grid of steps that ends at the
                                                  origin; else where they were read */
bool ll_rival_draws(const ll_rival_task *k);   /* else it answers with quantiles */
bool ll_rival_fills(const ll_rival_task *k);   /* it can be asked with part of the horizon seen */
/* Numbers that one row answers a query with: quantiles in increasing order, or 1: a draw, or a
 * point. */
int64_t ll_rival_members(const ll_rival_task *k);

/* Times count in steps: a context of a regular grid begins at 0, its last row is at context - 1,
 * and so is the origin. */
typedef struct ll_rival_example {
    float *x, *m;    /* [K,F] values, 0 where nothing was observed; what was. Rows that are not
                        there come first */
    float *at, *row; /* [K] times; 1: there is a row. Before the first one its time is repeated */
    float *calendar; /* [K,calendar] */
    float *lead;     /* [H] times of the queries behind the origin; the last one is repeated */
    float *asked;    /* [H] 1: a query */
    float *query;    /* [H,calendar] */
    float *y, *seen; /* [H,F] what came true, to learn from, or what was read, to fill around; 0 */
    uint64_t id;     /* what draws are keyed by */
    void    *block;
} ll_rival_example;

llap_status ll_rival_example_init(ll_rival_example *e, const ll_rival_task *k); /* all 0 */
void        ll_rival_example_clear(ll_rival_example *e, const ll_rival_task *k);
void        ll_rival_example_deinit(ll_rival_example *e); /* { 0 } is fine */

/* -------- training -------- */

/* The loss of B examples, an output "loss" too. */
ll_tensor *ll_rival_loss(ll_graph *g, const ll_rival_task *k, int64_t B);
/* After ll_params_init. */
void ll_rival_start(const ll_rival_task *k, ll_params *p);

/* What an example has of the inputs of a loss or of the nets below: those that the session has. */
llap_status ll_rival_fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                          ll_session *net);

typedef struct ll_rival_turn { /* a step of training */
    uint64_t seed;
    int64_t  step, epoch;
} ll_rival_turn;
/* What is drawn for an example in that step; after fill. What is scored counts the cells that the
 * loss is a mean of, so that parts of a batch can be weighed. */
llap_status ll_rival_vary(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                          int64_t row, ll_session *net);
double      ll_rival_scored(const ll_rival_task *k, const ll_rival_example *e);

/* -------- answers -------- */

int  ll_rival_nets(const ll_rival_task *k);
void ll_rival_describe(ll_graph *g, const ll_rival_task *k, int i, int64_t N); /* with outputs */

typedef struct ll_rival_row { /* what a draw is keyed by */
    uint64_t id;
    uint32_t sample;
} ll_rival_row;

/* Answers of N rows that were filled in, out [N,H,C,members], on training's scale. A row does not
 * depend on the others. */
llap_status ll_rival_draw(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                          const ll_rival_row *row, float *out);

#endif
