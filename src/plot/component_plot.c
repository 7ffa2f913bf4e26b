#include "plot/component_plot.h"

#include "base/alloc.h"
#include "base/text.h"
#include "plot/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 960, HEAD = 84, LEFT = 24, BETWEEN = 30, LABELS = 52, TITLE = 28 };
enum { TALL = 150, SMALL = 74, APART = 26, FOOT = 40 }; /* heights of fields, and between them */

typedef struct page {
    const ll_component_plot *f;
    ll_zone                 *zone;
    ll_canvas               *canvas;
    int64_t                  first, n; /* of this page */
    int64_t                  pages, page;
    double                   width; /* of a column */
    double                  *x, *y; /* scratch: the longest series */
} page;

static bool is_log(const ll_component_series *s) { return strcmp(s->scale, "log") == 0; }

/* The numbers as they are drawn, in g->y. */
static const double *drawn(page *g, const ll_component_series *s, const double *value)
{
    for (int64_t i = 0; i < s->n; i++) g->y[i] = is_log(s) ? exp(value[i]) : value[i];
    return g->y;
}

typedef struct field {
    double      top, height;
    const char *title;
    bool        last; /* has the labels of the times */
} field;

static ll_chart make_chart(const page *g, int64_t column, const field *f,
                           const ll_component_series *s)
{
    ll_chart c = { .canvas = g->canvas,
                   .left = LEFT + (double)column * g->width + LABELS,
                   .width = g->width - LABELS - BETWEEN,
                   .top = f->top,
                   .height = f->height,
                   .x1 = 1 };
    if (s->n > 1) c.x1 = ll_chart_seconds(s->time[s->n - 1], s->time[0]);
    return c;
}

static void draw_frame(page *g, ll_chart *c, const field *f, const ll_component_series *s)
{
    ll_tick x[LL_TICKS_MAX], y[LL_TICKS_MAX];
    int     n_x = 0, n_y = 0;
    for (int most = c->height > 100 ? 6 : 4; n_y < 2 && most < 8; most++) /* one tells no scale */
        n_y = ll_ticks_number(c->y0, c->y1 - c->y0, most, y);
    if (f->last && s->n > 1)
        n_x = ll_ticks_time(&g->f->axis, g->zone, s->time[0],
                            (uint64_t)s->time[s->n - 1] - (uint64_t)s->time[0],
                            (int)fmin(fmax(c->width / 62, 2), LL_TICKS_MAX), x);
    ll_chart_grid(c, x, n_x, y, n_y);
    ll_canvas_text(g->canvas, c->left, c->top - 6, LL_TEXT_LEFT, LL_CHART_SMALL, LL_COLOUR_INK,
                   f->title);
    const double at = ll_chart_x(c, ll_chart_seconds(s->origin, s->n > 0 ? s->time[0] : 0));
    ll_canvas_line(g->canvas, at, c->top, at, c->top + c->height, 1, LL_COLOUR_GREY);
}

static void draw_sum(page *g, int64_t column, const field *f, const ll_component_series *s)
{
    ll_chart c = make_chart(g, column, f, s);
    ll_chart_range_begin(&c);
    ll_chart_range(&c, s->n, drawn(g, s, s->measured));
    ll_chart_range(&c, s->n, drawn(g, s, s->sum));
    ll_chart_range_end(&c);
    draw_frame(g, &c, f, s);
    ll_chart_dots(&c, s->n, g->x, drawn(g, s, s->measured), 1.6, LL_COLOUR_INK);
    ll_chart_line(&c, s->n, g->x, drawn(g, s, s->sum), 1.6, LL_COLOUR_BLUE);
}

static void draw_component(page *g, int64_t column, const field *f, const ll_component_series *s,
                           const double *value)
{
    ll_chart c = make_chart(g, column, f, s);
    ll_chart_range_begin(&c);
    ll_chart_range(&c, s->n, drawn(g, s, value));
    ll_chart_range_end(&c);
    draw_frame(g, &c, f, s);
    ll_chart_line(&c, s->n, g->x, drawn(g, s, value), 1.4, LL_COLOUR_ORANGE);
}

static void draw_series(page *g, int64_t column)
{
    const ll_component_series *s = &g->f->series[g->first + column];
    char                       text[240];
    for (int64_t i = 0; i < s->n; i++) g->x[i] = ll_chart_seconds(s->time[i], s->time[0]);
    snprintf(text, sizeof text, "%s%s%s", ll_text_show(s->entity).text,
             s->entity[0] == '\0' ? "" : ", ", ll_text_show(s->variable).text);
    ll_canvas_text(g->canvas, LEFT + (double)column * g->width + LABELS, HEAD, LL_TEXT_LEFT,
                   LL_CHART_NORMAL, LL_COLOUR_INK, text);
    if (is_log(s))
        snprintf(text, sizeof text, "measured and sum, in units of the data; the rest as factors");
    else if (strcmp(s->scale, "data") == 0)
        snprintf(text, sizeof text, "measured and sum, in units of the data");
    else snprintf(text, sizeof text, "measured and sum, on a bent scale (%s)", s->scale);
    field f = { .top = HEAD + TITLE, .height = TALL, .title = text };
    f.last = s->n_components == 0;
    draw_sum(g, column, &f, s);
    f.top += TALL + APART;
    f.height = SMALL;
    for (int64_t k = 0; k < s->n_components; k++, f.top += SMALL + APART) {
        snprintf(text, sizeof text, "%s%s", ll_text_show(s->name[k]).text,
                 is_log(s) && k > 0 ? " (factor)" : "");
        f.last = k + 1 == s->n_components;
        draw_component(g, column, &f, s, s->value[k]);
    }
}

static void draw_head(page *g)
{
    const ll_axis      *axis = &g->f->axis;
    const ll_text_shown zone = ll_text_show(axis->zone[0] == '\0' ? "UTC" : axis->zone);
    const ll_text_shown unit = ll_text_show(axis->unit);
    char                text[200];
    ll_canvas_text(g->canvas, LEFT, 30, LL_TEXT_LEFT, LL_CHART_TITLE, LL_COLOUR_INK,
                   "What the forecast is made of");
    int n = snprintf(text, sizeof text, "components add up; time (%s)",
                     axis->kind == LL_AXIS_CALENDAR ? zone.text
                     : unit.text[0] == '\0'         ? "as in the data"
                                                    : unit.text);
    if (g->pages > 1 && n > 0 && n < (int)sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, "; page %lld of %lld", (long long)g->page,
                 (long long)g->pages);
    else if (g->f->all > g->n && n > 0 && n < (int)sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, "; the first %lld of %lld series",
                 (long long)g->n, (long long)g->f->all);
    ll_canvas_text(g->canvas, PAGE - BETWEEN, 30, LL_TEXT_RIGHT, LL_CHART_SMALL, LL_COLOUR_GREY,
                   text);
    double x = LEFT;
    x = ll_chart_key(g->canvas, x, 54, LL_KEY_DOT, LL_COLOUR_INK, "measured");
    x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, LL_COLOUR_BLUE, "sum of the components");
    ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, LL_COLOUR_ORANGE, "component");
    if (g->n == 0)
        ll_canvas_text(g->canvas, LEFT, HEAD, LL_TEXT_LEFT, LL_CHART_NORMAL, LL_COLOUR_INK,
                       "nothing was asked for");
}

/* Fields of the series that has most of those on the page. */
static double lay_out(page *g)
{
    int64_t       fields = 0;
    const int64_t left = g->f->n - g->first;
    g->n = left < LL_COMPONENT_SERIES ? left : LL_COMPONENT_SERIES;
    g->width = (double)(PAGE - LEFT) / (double)(g->n > 0 ? g->n : 1);
    for (int64_t i = g->first; i < g->first + g->n; i++)
        if (g->f->series[i].n_components > fields) fields = g->f->series[i].n_components;
    return HEAD + TITLE + TALL + (double)fields * (SMALL + APART) + FOOT;
}

static llap_status make_room(page *g)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < g->f->n; i++)
        if (g->f->series[i].n > longest) longest = g->f->series[i].n;
    g->x = ll_new((size_t)longest, sizeof *g->x);
    g->y = ll_new((size_t)longest, sizeof *g->y);
    g->pages = (g->f->n + LL_COMPONENT_SERIES - 1) / LL_COMPONENT_SERIES;
    return g->x == NULL || g->y == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status ll_plot_components(const ll_component_plot *f, const char *path)
{
    page        g = { .f = f };
    const char *zone = f->axis.zone;
    double      height = lay_out(&g);
    llap_status st = make_room(&g);
    if (st == LLAP_OK && f->axis.kind == LL_AXIS_CALENDAR && zone[0] != '\0')
        st = ll_zone_create(zone, strlen(zone), NULL, &g.zone);
    if (st == LLAP_OK) st = ll_canvas_create(path, PAGE, height, &g.canvas);
    if (st == LLAP_OK && !ll_canvas_has_pages(g.canvas)) g.pages = 1;
    for (int64_t k = 0; st == LLAP_OK && (k == 0 || k < g.pages); k++) {
        g.page = k + 1;
        g.first = k * LL_COMPONENT_SERIES;
        height = lay_out(&g);
        if (k > 0) ll_canvas_next_page(g.canvas, PAGE, height);
        draw_head(&g);
        for (int64_t i = 0; i < g.n; i++) draw_series(&g, i);
    }
    if (st == LLAP_OK) st = ll_canvas_commit(g.canvas);
    ll_canvas_destroy(g.canvas);
    ll_zone_destroy(g.zone);
    ll_free(g.x);
    ll_free(g.y);
    return st;
}
