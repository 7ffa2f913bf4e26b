/* A field with two axes to draw numbers in: the part that all charts share.
 *
 *     ll_chart c = { .canvas = canvas, .left = 60, .top = 40, .width = 400, .height = 200,
 *                      .x0 = 0, .x1 = 24, .y0 = -1, .y1 = 1 };
 *     ll_chart_grid(&c, NULL, 0, ticks_y, n_y);
 *     ll_chart_band(&c, n, x, low, high, LL_COLOUR_PALE);
 *     ll_chart_line(&c, n, x, y, 1.5, LL_COLOUR_BLUE);
 *
 * What lies outside the field is cut off at its border; lines and bands end where a number is not
 * finite and go on behind it. */
#ifndef LL_PLOT_CHART_H
#define LL_PLOT_CHART_H

#include "plot/canvas.h"
#include "plot/ticks.h"

typedef struct ll_chart {
    ll_canvas *canvas;
    double     left, top, width, height; /* of the field, in points */
    double     x0, x1, y0, y1;           /* the numbers at its borders; y1 at the top */
} ll_chart;

enum { LL_CHART_SMALL = 9, LL_CHART_NORMAL = 11, LL_CHART_TITLE = 15 }; /* letters */

double ll_chart_x(const ll_chart *c, double x);
double ll_chart_y(const ll_chart *c, double y);

/* Lines of the grid with their labels: vertical ones at x, horizontal ones at y; and the foot. */
void ll_chart_grid(const ll_chart *c, const ll_tick *x, int n_x, const ll_tick *y, int n_y);

/* Seconds from zero to t, in ticks, which may lie further apart than an int64 holds. */
double ll_chart_seconds(int64_t t, int64_t zero);

/* Widest label of an axis, in points. */
double ll_chart_label_width(ll_canvas *c, const ll_tick *tick, int n);

/* Makes room: y0 and y1 from the finite ones of n numbers, widened; call for each set of numbers,
 * then ll_chart_range_end. */
void ll_chart_range(ll_chart *c, int64_t n, const double *y);
void ll_chart_range_begin(ll_chart *c);
void ll_chart_range_end(ll_chart *c);

void ll_chart_line(const ll_chart *c, int64_t n, const double *x, const double *y, double width,
                   ll_colour colour);
void ll_chart_dots(const ll_chart *c, int64_t n, const double *x, const double *y, double radius,
                   ll_colour colour);
void ll_chart_band(const ll_chart *c, int64_t n, const double *x, const double *low,
                   const double *high, ll_colour colour);
/* The whole height between two x. */
void ll_chart_stripe(const ll_chart *c, double from, double to, ll_colour colour);

/* Entries of a legend on one line from x on; each call returns where the next one starts. */
typedef enum ll_key { LL_KEY_LINE, LL_KEY_BOX, LL_KEY_DOT } ll_key;
double ll_chart_key(ll_canvas *c, double x, double y, ll_key kind, ll_colour colour,
                    const char *text);

#endif
