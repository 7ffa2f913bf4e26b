/* A panel as the filling of a model sees it, and the anchor's laws of gaps as the filling has them.
 *
 *     ll_fill_view v;
 *     st = ll_fill_view_init(&v, m, p);
 *     if (st == LLAP_OK) st = ll_anchor_model_fill(m->anchor[c], r, n, LL_ANCHOR_BOTH);
 *     if (st == LLAP_OK) st = ll_fill_view_move(&v, c, r, entity, n, move);
 *     ... ll_anchor_quantile(m->anchor[c], e, &r[i].law[q], score) ...
 *     ll_fill_view_deinit(&v);                              { 0 } is fine */
#ifndef LL_PREDICT_VIEW_FILL_VIEW_H
#define LL_PREDICT_VIEW_FILL_VIEW_H

#include "data/panel.h"
#include "fill/draw.h"
#include "model/model.h"

/* Rows of a panel as a table. */
typedef struct ll_fill_rows {
    ll_fill_table table; /* without an index; its arrays are those below */
    int64_t      *start, *entity, *known;
    int64_t      *row; /* [n_rows] of the panel */
    double       *t, *u;
} ll_fill_rows;

/* keep [n_rows of p]: which rows; NULL: all. scaled: as f's scales have them, else as measured.
 * Variables that the panel does not have are not read. Also after a failure to be deinited. */
llap_status ll_fill_rows_init(ll_fill_rows *r, const ll_filling *f, const llap_model *m,
                              const llap_panel *p, const uint8_t *keep, bool scaled);
void        ll_fill_rows_deinit(ll_fill_rows *r); /* { 0 } is fine */

typedef struct ll_fill_view {
    const llap_model *m;
    const ll_filling *f;
    const llap_panel *p;
    ll_fill_rows      rows;
    double           *full;  /* [n_vars,n_rows] after the first pass; made when it is asked */
    const uint8_t    *asked; /* [n_rows of the panel,n_targets] cells that will be asked about;
                                NULL: any. The caller's to set, before anything is asked */
    llap_progress progress;  /* of that; the caller's to set */
    ll_fill_draws draws;     /* of ll_fill_view_draw */
} ll_fill_view;

/* Borrows m, f and p. A model without a filling: a view that moves nothing. */
llap_status ll_fill_view_init(ll_fill_view *v, const llap_model *m, const ll_filling *f,
                              const llap_panel *p);
void        ll_fill_view_deinit(ll_fill_view *v);

/* Laws of missing cells that the anchor has answered from both sides become the filling's, of
 * targets that it answers about: law.move points into move [queries of all r,LL_LAW_LEVELS], the
 * caller's. entity [n] of the panel. */
llap_status ll_fill_view_move(ll_fill_view *v, int64_t target, const ll_anchor_request *r,
                              const int64_t *entity, size_t n, double *move);

/* Whether it answers about a target; f may be NULL. */
bool ll_fill_view_answers(const ll_filling *f, int64_t target);

/* Medians of a target's cells in rows first .. end - 1 of the panel, y [end - first]; NaN where no
 * other sensor is read, or they are read themselves. */
llap_status ll_fill_view_values(ll_fill_view *v, int64_t target, int64_t first, int64_t end,
                                double *y);

/* Draws of the cells that it fills, wanted [n_rows of the panel,n_targets], joint over gaps and
 * targets: then ranks 0 .. n_samples - 1 of a cell's draws, which say the quantile that each takes;
 * NULL: it is none of them. */
llap_status    ll_fill_view_draw(ll_fill_view *v, const uint8_t *wanted, int64_t n_samples,
                                 uint64_t seed);
const int32_t *ll_fill_view_ranks(const ll_fill_view *v, int64_t target, int64_t entity, double t);

#endif
