#include "plot/alarm_plot.h"

#include "base/alloc.h"
#include "base/text.h"
#include "plot/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PAGE = 960,
    HEAD = 78,
    LEFT = 24,
    LABELS = 52,
    RIGHT = 30,
    TALL = 130,
    APART = 40,
    FOOT = 24
};

static const ll_colour stripe_colour[LL_ALARM_KINDS] = { LL_COLOUR_ORANGE, LL_COLOUR_AMBER,
                                                         LL_COLOUR_PINK, LL_COLOUR_GREY };

typedef struct page {
    const ll_alarm_plot *f;
    ll_zone             *zone;
    ll_canvas           *canvas;
    double              *x; /* [longest series] */
} page;

static ll_chart make_chart(const page *g, const ll_alarm_series *s, double top)
{
    ll_chart c = { .canvas = g->canvas,
                   .left = LEFT + LABELS,
                   .width = PAGE - LEFT - LABELS - RIGHT,
                   .top = top,
                   .height = TALL,
                   .x1 = 1 };
    if (s->n > 1) c.x1 = ll_chart_seconds(s->time[s->n - 1], s->time[0]);
    ll_chart_range_begin(&c);
    ll_chart_range(&c, s->n, s->value);
    ll_chart_range_end(&c);
    return c;
}

/* At least two points wide, so that a single reading is seen. */
static void draw_stripes(const ll_chart *c, const ll_alarm_series *s)
{
    const double least = 2 * (c->x1 - c->x0) / c->width;
    for (int64_t i = 0; i < s->n_stripes; i++) {
        const ll_alarm_stripe *a = &s->stripe[i];
        const double           from = ll_chart_seconds(a->from, s->time[0]);
        const double           to = ll_chart_seconds(a->to, s->time[0]);
        const double           more = fmax(0, 0.5 * (least - (to - from)));
        ll_chart_stripe(c, from - more, to + more, stripe_colour[a->kind]);
    }
}

static void draw_series(page *g, const ll_alarm_series *s, double top)
{
    ll_tick  x[LL_TICKS_MAX], y[LL_TICKS_MAX];
    char     text[240];
    ll_chart c = make_chart(g, s, top);
    int      n_x = 0;
    for (int64_t i = 0; i < s->n; i++) g->x[i] = ll_chart_seconds(s->time[i], s->time[0]);
    const int n_y = ll_ticks_number(c.y0, c.y1 - c.y0, 5, y);
    if (s->n > 1)
        n_x = ll_ticks_time(&g->f->axis, g->zone, s->time[0],
                            (uint64_t)s->time[s->n - 1] - (uint64_t)s->time[0], 12, x);
    draw_stripes(&c, s);
    ll_chart_band(&c, s->n, g->x, s->low, s->high, LL_COLOUR_PALE);
    ll_chart_grid(&c, x, n_x, y, n_y);
    ll_chart_dots(&c, s->n, g->x, s->value, 1.2, LL_COLOUR_BLUE);
    snprintf(text, sizeof text, "%s%s%s", ll_text_show(s->entity).text,
             s->entity[0] == '\0' ? "" : ", ", ll_text_show(s->variable).text);
    ll_canvas_text(g->canvas, c.left, top - 6, LL_TEXT_LEFT, LL_CHART_SMALL, LL_COLOUR_INK, text);
}

static void draw_head(page *g)
{
    char   text[160] = "";
    double x = LEFT;
    ll_canvas_text(g->canvas, LEFT, 30, LL_TEXT_LEFT, LL_CHART_TITLE, LL_COLOUR_INK,
                   "What was unusual");
    if (g->f->of > g->f->n)
        snprintf(text, sizeof text, "the %lld of %lld series with most alarms", (long long)g->f->n,
                 (long long)g->f->of);
    ll_canvas_text(g->canvas, PAGE - RIGHT, 30, LL_TEXT_RIGHT, LL_CHART_SMALL, LL_COLOUR_GREY,
                   text);
    x = ll_chart_key(g->canvas, x, 50, LL_KEY_DOT, LL_COLOUR_BLUE, "measured");
    x = ll_chart_key(g->canvas, x, 50, LL_KEY_BOX, LL_COLOUR_PALE, "usual");
    for (int k = 0; k < g->f->n_kinds; k++)
        x = ll_chart_key(g->canvas, x, 50, LL_KEY_BOX, stripe_colour[k], g->f->kinds[k]);
}

llap_status ll_plot_alarms(const ll_alarm_plot *f, const char *path)
{
    page        g = { .f = f };
    const char *zone = f->axis.zone;
    int64_t     longest = 1;
    for (int64_t i = 0; i < f->n; i++)
        if (f->series[i].n > longest) longest = f->series[i].n;
    g.x = ll_new((size_t)longest, sizeof *g.x);
    llap_status st = g.x == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && f->axis.kind == LL_AXIS_CALENDAR && zone[0] != '\0')
        st = ll_zone_create(zone, strlen(zone), NULL, &g.zone);
    const double height = HEAD + FOOT + (double)(f->n > 0 ? f->n : 1) * (TALL + APART);
    if (st == LLAP_OK) st = ll_canvas_create(path, PAGE, height, &g.canvas);
    if (st == LLAP_OK) {
        draw_head(&g);
        for (int64_t i = 0; i < f->n; i++)
            draw_series(&g, &f->series[i], HEAD + 14 + (double)i * (TALL + APART));
        st = ll_canvas_commit(g.canvas);
    }
    ll_canvas_destroy(g.canvas);
    ll_zone_destroy(g.zone);
    ll_free(g.x);
    return st;
}
