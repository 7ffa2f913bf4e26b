/* Pictures of what training and evaluation wrote: curves of losses and scores, and calibration.
 *
 *     st = ll_plot_text(text, n, "run.log", "curves.png");
 *
 * The text is a training log (a JSON object a line: stage, step, loss, perhaps score) or what
 * `evaluate --json` prints. Curves: a
 * cell for each stage; of anchors, what was tried and how it scored (candidate_plot.h).
 * Calibration: a cell with the histogram of the probability integral transform (flat where
 * calibrated) and one with the reliability (on the diagonal where calibrated) for each target. */
#ifndef LL_PLOT_SCORE_PLOT_H
#define LL_PLOT_SCORE_PLOT_H

#include <llapdiff/status.h>
#include <stddef.h>

/* name is for messages. LLAP_EFORMAT: neither of the two. Errors else as ll_canvas_create. */
llap_status ll_plot_text(const char *text, size_t n, const char *name, const char *path);

#endif
