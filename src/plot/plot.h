/* src/plot: pictures. canvas.c alone sees cairo, which it loads when a picture is wanted.
 *
 *   canvas.h        a page with rectangles, lines and text
 *   ticks.h, chart.h, picture.h:
 *                   marks of an axis; a field with axes; formats and colours
 *   inspect_plot.h  coverage and gaps of a panel
 *   fan_plot.h      forecasts and filled gaps
 *   component_plot.h  what forecasts are made of
 *   score_plot.h    training curves, calibration
 *   candidate_plot.h  the anchors that a training tried
 *   poles_plot.h    poles
 *
 * May touch: base, base/json, base/time, data, data/inspect. */
