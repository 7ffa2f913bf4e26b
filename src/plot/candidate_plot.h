/* What the anchor of each target was chosen among: a line for each candidate with what it is and
 * its score on validation, best first. Part of the picture of a training log (score_plot.h).
 *
 *     ll_candidates c = { 0 };
 *     st = ll_candidates_add(&c, line);            each line of the log, parsed
 *     height = ll_candidates_height(&c);
 *     ll_candidates_draw(&c, canvas, 84, 960);
 *     ll_candidates_deinit(&c); */
#ifndef LL_PLOT_CANDIDATE_PLOT_H
#define LL_PLOT_CANDIDATE_PLOT_H

#include "base/json/json.h"
#include "plot/canvas.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ll_candidate {
    char    target[64];
    char    curve[16], drift[16], scale[16];
    int64_t calendar, terms; /* terms of the calendar, or 0, and of the kernel; -1: not said */
    double  kappa, score;
} ll_candidate;

typedef struct ll_candidates {
    ll_candidate *is; /* [n], targets in the order of the log, each by score once drawn */
    size_t        n, room;
} ll_candidates;

/* Does the line belong to the fit of an anchor? Those with a score are candidates. */
bool ll_candidates_has(const ll_json *line);

/* Keeps the line if it has a score. LLAP_EFORMAT, LLAP_ENOMEM. */
llap_status ll_candidates_add(ll_candidates *c, const ll_json *line);
void        ll_candidates_deinit(ll_candidates *c);

/* In points, for all targets that are drawn; and how many of the targets those are. */
double ll_candidates_height(const ll_candidates *c);

/* From y = top on, as wide as the page. */
void ll_candidates_draw(ll_candidates *c, ll_canvas *canvas, double top, double page);

#endif
