#include "plot/chart.h"

#include <math.h>

double ll_chart_x(const ll_chart *c, double x)
{
    return c->left + c->width * (fmin(fmax(x, c->x0), c->x1) - c->x0) / (c->x1 - c->x0);
}

double ll_chart_y(const ll_chart *c, double y)
{
    return c->top + c->height * (c->y1 - fmin(fmax(y, c->y0), c->y1)) / (c->y1 - c->y0);
}

void ll_chart_grid(const ll_chart *c, const ll_tick *x, int n_x, const ll_tick *y, int n_y)
{
    const double foot = c->top + c->height;
    for (int i = 0; i < n_y; i++) {
        const double at = foot - y[i].at * c->height;
        ll_canvas_line(c->canvas, c->left, at, c->left + c->width, at, 0.5, LL_COLOUR_LINE);
        ll_canvas_text(c->canvas, c->left - 6, at + 0.35 * LL_CHART_SMALL, LL_TEXT_RIGHT,
                       LL_CHART_SMALL, LL_COLOUR_INK, y[i].label);
    }
    for (int i = 0; i < n_x; i++) {
        const double at = c->left + x[i].at * c->width;
        ll_canvas_line(c->canvas, at, foot, at, foot + 4, 1, LL_COLOUR_GREY);
        ll_canvas_text(c->canvas, at, foot + 15, LL_TEXT_CENTRE, LL_CHART_SMALL, LL_COLOUR_INK,
                       x[i].label);
    }
    ll_canvas_line(c->canvas, c->left, foot, c->left + c->width, foot, 1, LL_COLOUR_GREY);
}

double ll_chart_seconds(int64_t t, int64_t zero)
{
    const uint64_t apart = t < zero ? (uint64_t)zero - (uint64_t)t : (uint64_t)t - (uint64_t)zero;
    return (t < zero ? -1e-9 : 1e-9) * (double)apart;
}

double ll_chart_label_width(ll_canvas *c, const ll_tick *tick, int n)
{
    double widest = 0;
    for (int i = 0; i < n; i++)
        widest = fmax(widest, ll_canvas_text_width(c, LL_CHART_SMALL, tick[i].label));
    return widest;
}

void ll_chart_range_begin(ll_chart *c)
{
    c->y0 = INFINITY;
    c->y1 = -INFINITY;
}

void ll_chart_range(ll_chart *c, int64_t n, const double *y)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) continue;
        c->y0 = fmin(c->y0, y[i]);
        c->y1 = fmax(c->y1, y[i]);
    }
}

void ll_chart_range_end(ll_chart *c)
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

void ll_chart_line(const ll_chart *c, int64_t n, const double *x, const double *y, double width,
                   ll_colour colour)
{
    double  xy[2 * PAGE];
    int64_t k = 0;
    for (int64_t i = 0; i <= n; i++) {
        const bool there = i < n && isfinite(y[i]) && x[i] >= c->x0 && x[i] <= c->x1;
        if (there) {
            xy[2 * k] = ll_chart_x(c, x[i]);
            xy[2 * k + 1] = ll_chart_y(c, y[i]);
            k++;
        }
        if (there && k < PAGE) continue;
        ll_canvas_polyline(c->canvas, xy, k, width, colour);
        if (k == 1) ll_canvas_dot(c->canvas, xy[0], xy[1], 0.8 * width, colour); /* alone */
        if (k > 0) xy[0] = xy[2 * k - 2], xy[1] = xy[2 * k - 1];
        k = there ? 1 : 0;
    }
}

void ll_chart_dots(const ll_chart *c, int64_t n, const double *x, const double *y, double radius,
                   ll_colour colour)
{
    for (int64_t i = 0; i < n; i++)
        if (isfinite(y[i]) && x[i] >= c->x0 && x[i] <= c->x1 && y[i] >= c->y0 && y[i] <= c->y1)
            ll_canvas_dot(c->canvas, ll_chart_x(c, x[i]), ll_chart_y(c, y[i]), radius, colour);
}

/* There along the high ends, back along the low ones. */
static void put_band(const ll_chart *c, int64_t n, const double *x, const double *low,
                     const double *high, ll_colour colour)
{
    double xy[4 * PAGE];
    for (int64_t i = 0; i < n; i++) {
        const int64_t back = 2 * n - 1 - i;
        xy[2 * i] = xy[2 * back] = ll_chart_x(c, x[i]);
        xy[2 * i + 1] = ll_chart_y(c, high[i]);
        xy[2 * back + 1] = ll_chart_y(c, low[i]);
    }
    if (n > 1) ll_canvas_polygon(c->canvas, xy, 2 * n, colour);
    if (n == 1) ll_canvas_line(c->canvas, xy[0], xy[1], xy[0], xy[3], 3, colour);
}

void ll_chart_band(const ll_chart *c, int64_t n, const double *x, const double *low,
                   const double *high, ll_colour colour)
{
    for (int64_t i = 0, from = 0; i <= n; i++) {
        const bool there =
            i < n && isfinite(low[i]) && isfinite(high[i]) && x[i] >= c->x0 && x[i] <= c->x1;
        if (there && i - from < PAGE - 1) continue;
        put_band(c, i - from + there, x + from, low + from, high + from, colour);
        from = there ? i : i + 1;
    }
}

void ll_chart_stripe(const ll_chart *c, double from, double to, ll_colour colour)
{
    const double x = ll_chart_x(c, from);
    ll_canvas_rect(c->canvas, x, c->top, ll_chart_x(c, to) - x, c->height, colour);
}

double ll_chart_key(ll_canvas *c, double x, double y, ll_key kind, ll_colour colour,
                    const char *text)
{
    const double middle = y - 0.35 * LL_CHART_SMALL;
    if (kind == LL_KEY_LINE) ll_canvas_line(c, x, middle, x + 16, middle, 2, colour);
    if (kind == LL_KEY_BOX) ll_canvas_rect(c, x, y - 9, 16, 10, colour);
    if (kind == LL_KEY_DOT) ll_canvas_dot(c, x + 8, middle, 2, colour);
    ll_canvas_text(c, x + 21, y, LL_TEXT_LEFT, LL_CHART_SMALL, LL_COLOUR_GREY, text);
    return x + 21 + ll_canvas_text_width(c, LL_CHART_SMALL, text) + 16;
}
