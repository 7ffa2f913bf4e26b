#include "plot/chart.h"

#include <math.h>

double llap_chart_x(const llap_chart *c, double x)
{
    return c->left + c->width * (fmin(fmax(x, c->x0), c->x1) - c->x0) / (c->x1 - c->x0);
}

double llap_chart_y(const llap_chart *c, double y)
{
    return c->top + c->height * (c->y1 - fmin(fmax(y, c->y0), c->y1)) / (c->y1 - c->y0);
}

void llap_chart_grid(const llap_chart *c, const llap_tick *x, int n_x, const llap_tick *y, int n_y)
{
    const double foot = c->top + c->height;
    for (int i = 0; i < n_y; i++) {
        const double at = foot - y[i].at * c->height;
        llap_canvas_line(c->canvas, c->left, at, c->left + c->width, at, 0.5, LLAP_COLOUR_LINE);
        llap_canvas_text(c->canvas, c->left - 6, at + 0.35 * LLAP_CHART_SMALL, LLAP_TEXT_RIGHT,
                         LLAP_CHART_SMALL, LLAP_COLOUR_INK, y[i].label);
    }
    for (int i = 0; i < n_x; i++) {
        const double at = c->left + x[i].at * c->width;
        llap_canvas_line(c->canvas, at, foot, at, foot + 4, 1, LLAP_COLOUR_GREY);
        llap_canvas_text(c->canvas, at, foot + 15, LLAP_TEXT_CENTRE, LLAP_CHART_SMALL,
                         LLAP_COLOUR_INK, x[i].label);
    }
    llap_canvas_line(c->canvas, c->left, foot, c->left + c->width, foot, 1, LLAP_COLOUR_GREY);
}

void llap_chart_names(const llap_chart *c, const char *x, const char *y)
{
    if (x != NULL)
        llap_canvas_text(c->canvas, c->left + c->width / 2, c->top + c->height + 32,
                         LLAP_TEXT_CENTRE, LLAP_CHART_NORMAL, LLAP_COLOUR_GREY, x);
    if (y != NULL)
        llap_canvas_text(c->canvas, c->left, c->top - 10, LLAP_TEXT_LEFT, LLAP_CHART_NORMAL,
                         LLAP_COLOUR_GREY, y);
}

double llap_chart_label_width(llap_canvas *c, const llap_tick *tick, int n)
{
    double widest = 0;
    for (int i = 0; i < n; i++)
        widest = fmax(widest, llap_canvas_text_width(c, LLAP_CHART_SMALL, tick[i].label));
    return widest;
}

void llap_chart_range_begin(llap_chart *c)
{
    c->y0 = INFINITY;
    c->y1 = -INFINITY;
}

void llap_chart_range(llap_chart *c, int64_t n, const double *y)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) continue;
        c->y0 = fmin(c->y0, y[i]);
        c->y1 = fmax(c->y1, y[i]);
    }
}

void llap_chart_range_end(llap_chart *c)
{
    if (c->y0 > c->y1) c->y0 = 0, c->y1 = 1; /* nothing there */
    const double room =
        c->y1 > c->y0 ? 0.05 * (c->y1 - c->y0) : fmax(0.05 * fabs(c->y0), 0.5); /* one number */
    c->y0 -= room;
    c->y1 += room;
}

/* Calls draw with the points of each stretch of finite numbers, a page of them at a time; the
 * last point of a page is the first of the next. */
enum { PAGE = 512 };

void llap_chart_line(const llap_chart *c, int64_t n, const double *x, const double *y, double width,
                     llap_colour colour)
{
    double  xy[2 * PAGE];
    int64_t k = 0;
    for (int64_t i = 0; i <= n; i++) {
        const bool there = i < n && isfinite(y[i]) && x[i] >= c->x0 && x[i] <= c->x1;
        if (there) {
            xy[2 * k] = llap_chart_x(c, x[i]);
            xy[2 * k + 1] = llap_chart_y(c, y[i]);
            k++;
        }
        if (there && k < PAGE) continue;
        llap_canvas_polyline(c->canvas, xy, k, width, colour);
        if (k == 1) llap_canvas_dot(c->canvas, xy[0], xy[1], 0.8 * width, colour); /* alone */
        if (k > 0) xy[0] = xy[2 * k - 2], xy[1] = xy[2 * k - 1];
        k = there ? 1 : 0;
    }
}

void llap_chart_dots(const llap_chart *c, int64_t n, const double *x, const double *y,
                     double radius, llap_colour colour)
{
    for (int64_t i = 0; i < n; i++)
        if (isfinite(y[i]) && x[i] >= c->x0 && x[i] <= c->x1 && y[i] >= c->y0 && y[i] <= c->y1)
            llap_canvas_dot(c->canvas, llap_chart_x(c, x[i]), llap_chart_y(c, y[i]), radius,
                            colour);
}

/* There along the high ends, back along the low ones. */
static void put_band(const llap_chart *c, int64_t n, const double *x, const double *low,
                     const double *high, llap_colour colour)
{
    double xy[4 * PAGE];
    for (int64_t i = 0; i < n; i++) {
        const int64_t back = 2 * n - 1 - i;
        xy[2 * i] = xy[2 * back] = llap_chart_x(c, x[i]);
        xy[2 * i + 1] = llap_chart_y(c, high[i]);
        xy[2 * back + 1] = llap_chart_y(c, low[i]);
    }
    if (n > 1) llap_canvas_polygon(c->canvas, xy, 2 * n, colour);
    if (n == 1) llap_canvas_line(c->canvas, xy[0], xy[1], xy[0], xy[3], 3, colour);
}

void llap_chart_band(const llap_chart *c, int64_t n, const double *x, const double *low,
                     const double *high, llap_colour colour)
{
    for (int64_t i = 0, from = 0; i <= n; i++) {
        const bool there =
            i < n && isfinite(low[i]) && isfinite(high[i]) && x[i] >= c->x0 && x[i] <= c->x1;
        if (there && i - from < PAGE - 1) continue;
        put_band(c, i - from + there, x + from, low + from, high + from, colour);
        from = there ? i : i + 1;
    }
}

void llap_chart_stripe(const llap_chart *c, double from, double to, llap_colour colour)
{
    const double x = llap_chart_x(c, from);
    llap_canvas_rect(c->canvas, x, c->top, llap_chart_x(c, to) - x, c->height, colour);
}

double llap_chart_key(llap_canvas *c, double x, double y, llap_key kind, llap_colour colour,
                      const char *text)
{
    const double middle = y - 0.35 * LLAP_CHART_SMALL;
    if (kind == LLAP_KEY_LINE) llap_canvas_line(c, x, middle, x + 16, middle, 2, colour);
    if (kind == LLAP_KEY_BOX) llap_canvas_rect(c, x, y - 9, 16, 10, colour);
    if (kind == LLAP_KEY_DOT) llap_canvas_dot(c, x + 8, middle, 2, colour);
    llap_canvas_text(c, x + 21, y, LLAP_TEXT_LEFT, LLAP_CHART_SMALL, LLAP_COLOUR_GREY, text);
    return x + 21 + llap_canvas_text_width(c, LLAP_CHART_SMALL, text) + 16;
}
