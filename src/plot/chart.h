/* A field with two axes to draw numbers in: the part that all charts share.
 *
 *     llap_chart c = { .canvas = canvas, .left = 60, .top = 40, .width = 400, .height = 200,
 *                      .x0 = 0, .x1 = 24, .y0 = -1, .y1 = 1 };
 *     llap_chart_grid(&c, NULL, 0, ticks_y, n_y);
 *     llap_chart_band(&c, n, x, low, high, LLAP_COLOUR_PALE);
 *     llap_chart_line(&c, n, x, y, 1.5, LLAP_COLOUR_BLUE);
 *
 * What lies outside the field is cut off at its border; lines and bands end where a number is not
 * finite and go on behind it. */
#ifndef LLAP_PLOT_CHART_H
#define LLAP_PLOT_CHART_H

#include "plot/canvas.h"
#include "plot/ticks.h"

typedef struct llap_chart {
    llap_canvas *canvas;
    double       left, top, width, height; /* of the field, in points */
    double       x0, x1, y0, y1;           /* the numbers at its borders; y1 at the top */
} llap_chart;

enum { LLAP_CHART_SMALL = 9, LLAP_CHART_NORMAL = 11, LLAP_CHART_TITLE = 15 }; /* letters */

double llap_chart_x(const llap_chart *c, double x);
double llap_chart_y(const llap_chart *c, double y);

/* Lines of the grid with their labels: vertical ones at x, horizontal ones at y; and the foot. */
void llap_chart_grid(const llap_chart *c, const llap_tick *x, int n_x, const llap_tick *y, int n_y);
/* Names of the axes; NULL: none. */
void llap_chart_names(const llap_chart *c, const char *x, const char *y);

/* Widest label of an axis, in points. */
double llap_chart_label_width(llap_canvas *c, const llap_tick *tick, int n);

/* Makes room: y0 and y1 from the finite ones of n numbers, widened; call for each set of numbers,
 * then llap_chart_range_end. */
void llap_chart_range(llap_chart *c, int64_t n, const double *y);
void llap_chart_range_begin(llap_chart *c);
void llap_chart_range_end(llap_chart *c);

void llap_chart_line(const llap_chart *c, int64_t n, const double *x, const double *y, double width,
                     llap_colour colour);
void llap_chart_dots(const llap_chart *c, int64_t n, const double *x, const double *y,
                     double radius, llap_colour colour);
void llap_chart_band(const llap_chart *c, int64_t n, const double *x, const double *low,
                     const double *high, llap_colour colour);
/* The whole height between two x. */
void llap_chart_stripe(const llap_chart *c, double from, double to, llap_colour colour);

/* Entries of a legend on one line from x on; each call returns where the next one starts. */
typedef enum llap_key { LLAP_KEY_LINE, LLAP_KEY_BOX, LLAP_KEY_DOT } llap_key;
double llap_chart_key(llap_canvas *c, double x, double y, llap_key kind, llap_colour colour,
                      const char *text);

#endif
