/* A panel as the stack of a model sees it, and what the stack adds to the anchor's laws.
 *
 *     ll_stack_view v;
 *     st = ll_stack_view_init(&v, m, m->stack, p);
 *     if (st == LLAP_OK) st = ll_anchor_model_forecast(m->anchor[c], r, n);
 *     if (st == LLAP_OK) st = ll_stack_view_move(&v, c, r, entity, n, move);
 *     ... ll_anchor_quantile(m->anchor[c], e, &r[i].law[q], score) ...
 *     ll_stack_view_deinit(&v);                              { 0 } is fine */
#ifndef LL_PREDICT_VIEW_STACK_VIEW_H
#define LL_PREDICT_VIEW_STACK_VIEW_H

#include "data/panel.h"
#include "model/model.h"

typedef struct ll_stack_view {
    const llap_model  *m;
    const ll_stack    *stack;
    int64_t            n_series;
    ll_trace          *series; /* [entities of the panel,variables] */
    double            *start;
    int64_t           *known, *place;
    float             *statics;
    ll_stack_source    source;
    int                columns;
    ll_stack_answerer *answerer; /* made when it is first asked */
} ll_stack_view;

/* Where the panel has a variable of the stack: targets, inputs, known ones. */
typedef struct ll_stack_place {
    int64_t       var; /* -1: nowhere */
    ll_stack_turn turn;
    bool          vector; /* as long as what `by` has */
    int64_t       by;
} ll_stack_place;
ll_stack_place ll_stack_find(const llap_model *m, const ll_stack *s, int64_t c,
                             const llap_panel *p);

/* Its numbers, one for each row of entity e, NaN where there is none: readings, or their part of
 * vectors. Glitches are among them. */
void ll_stack_readings(const ll_stack_place *at, const llap_panel *p, int64_t e, double *out);

/* With names, layout, means and deviations of the stack; its members come into it with the first
 * answer. Variables that the panel does not have are missing. Borrows m and stack. */
llap_status ll_stack_view_init(ll_stack_view *v, const llap_model *m, const ll_stack *stack,
                               const llap_panel *p);
void        ll_stack_view_deinit(ll_stack_view *v);

/* A reading of a target as the stack sees it, and the normal score of such a value under a law. */
double ll_stack_value(const llap_model *m, const ll_stack *s, int64_t target, size_t series,
                      double y);
double ll_stack_value_score(const llap_model *m, const ll_stack *s, int64_t target,
                            const ll_law *law, double value);

/* The query that a law is about; entity of the panel. */
ll_stack_query ll_stack_view_query(const ll_stack_view *v, int64_t target, int64_t entity,
                                   double origin, double t, const ll_law *law);

/* Laws that the anchor has answered become the stack's: law.move points into move
 * [queries of all r,LL_LAW_LEVELS], the caller's. Beyond the trained horizon, and of entities that
 * a joint stack does not know, the anchor's stay. entity [n] of the panel. */
llap_status ll_stack_view_move(ll_stack_view *v, int64_t target, const ll_anchor_request *r,
                               const int64_t *entity, size_t n, double *move);

#endif
