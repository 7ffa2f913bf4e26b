#include "plot/fan_plot.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "base/text.h"
#include "plot/chart.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 960, HEAD = 84, LEFT = 24, BETWEEN = 36, TITLE_ROOM = 24, FOOT_ROOM = 50 };

static const ll_colour band_colour[LL_FAN_BANDS] = { 0xd9e8f3, 0xaed0e6, 0x7bb4d8, 0x4b98c6 };
static const ll_colour scenario_colour[LL_FAN_SCENARIOS] = {
    LL_COLOUR_BLUE, LL_COLOUR_AMBER, LL_COLOUR_GREEN, LL_COLOUR_PINK, LL_COLOUR_SKY, LL_COLOUR_GREY,
};
static const ll_colour missing_colour = 0xf0f0f0, range_colour = 0xcc79a7;

typedef struct page {
    const ll_fans *f;
    ll_zone       *zone;
    ll_canvas     *canvas;
    const ll_fan  *fan; /* [n] of this page, of all the one at first */
    int64_t        first, n, columns, rows;
    double         field_width, field_height; /* with title and labels */
    double        *x, *y;                     /* scratch: twice the longest series */
} page;

/* ---- one field ------------------------------------------------------------------------------- */

/* The stretch of time that the field shows. */
static void field_span(const ll_fan *fan, int64_t *first, int64_t *last)
{
    *first = fan->n_seen > 0 ? fan->seen_time[0] : INT64_MAX;
    *last = fan->n_seen > 0 ? fan->seen_time[fan->n_seen - 1] : INT64_MIN;
    if (fan->n > 0 && fan->time[0] < *first) *first = fan->time[0];
    if (fan->n > 0 && fan->time[fan->n - 1] > *last) *last = fan->time[fan->n - 1];
    if (fan->first < fan->last) *first = fan->first, *last = fan->last;
    if (*first > *last) *first = *last = 0;
    if (*first == *last) *last = *first + 1;
}

/* Median time between measurements, in seconds; infinite where there are too few to tell. */
static double usual_gap(page *g, const ll_fan *fan)
{
    int64_t m = 0;
    for (int64_t i = 1; i < fan->n_seen; i++)
        g->y[m++] = ll_chart_seconds(fan->seen_time[i], fan->seen_time[i - 1]);
    if (m < 3) return INFINITY;
    ll_sort_doubles(g->y, (size_t)m);
    return g->y[m / 2];
}

static bool is_hole(double gap, double usual) { return gap > 2.5 * usual; }

/* A forecast that knows nothing of its series: grey up to its origin, and the reason. */
static void draw_silence(const ll_chart *c, double origin)
{
    const char *text = "nothing measured here";
    ll_chart_stripe(c, c->x0, origin, missing_colour);
    const double middle = 0.5 * (c->left + ll_chart_x(c, origin));
    if (ll_chart_x(c, origin) - c->left > ll_canvas_text_width(c->canvas, LL_CHART_SMALL, text))
        ll_canvas_text(c->canvas, middle, c->top + 0.5 * c->height, LL_TEXT_CENTRE, LL_CHART_SMALL,
                       LL_COLOUR_GREY, text);
}

/* Grey where nothing was measured for much longer than usual; of a record with filled gaps also
 * before the first and after the last measurement. */
static void draw_missing(const ll_chart *c, const ll_fan *fan, int64_t zero, double usual,
                         bool ends)
{
    if (!ends && fan->n_seen == 0) draw_silence(c, ll_chart_seconds(fan->origin, zero));
    for (int64_t i = ends ? 0 : 1; i < fan->n_seen + (ends ? 1 : 0); i++) {
        const double from = i == 0 ? c->x0 : ll_chart_seconds(fan->seen_time[i - 1], zero);
        const double to = i == fan->n_seen ? c->x1 : ll_chart_seconds(fan->seen_time[i], zero);
        if (is_hole(to - from, usual))
            ll_chart_stripe(c, i == 0 ? from : from + 0.5 * usual,
                            i == fan->n_seen ? to : to - 0.5 * usual, missing_colour);
    }
}

/* The measured values of one side of the origin: a line, broken where it would cross a hole, and
 * dots unless they are too many to be told apart. */
static void draw_seen(page *g, const ll_chart *c, const ll_fan *fan, int64_t zero, double usual,
                      bool after, ll_colour colour)
{
    int64_t n = 0, before = -1;
    for (int64_t i = 0; i < fan->n_seen; i++) {
        if ((fan->seen_time[i] > fan->origin) != after) continue;
        const double x = ll_chart_seconds(fan->seen_time[i], zero);
        if (before >= 0 && is_hole(x - g->x[before], usual)) g->x[n] = x, g->y[n++] = NAN;
        g->x[n] = x;
        g->y[n] = fan->seen[i];
        before = n++;
    }
    ll_chart_line(c, n, g->x, g->y, 1, colour);
    if ((double)fan->n_seen < c->width / 4) ll_chart_dots(c, n, g->x, g->y, 1.6, colour);
}

static void fill_times(page *g, const ll_fan *fan, int64_t zero)
{
    for (int64_t i = 0; i < fan->n; i++) g->x[i] = ll_chart_seconds(fan->time[i], zero);
}

static int64_t scenarios_drawn(const ll_fans *f)
{
    return f->n_scenarios < LL_FAN_SCENARIOS ? f->n_scenarios : LL_FAN_SCENARIOS;
}

static void draw_scenarios(page *g, const ll_chart *c, const ll_fan *fan)
{
    for (int64_t k = 0; k < scenarios_drawn(g->f); k++) {
        const ll_fan_scenario *s = &fan->scenario[k];
        if (s->low != NULL) ll_chart_line(c, fan->n, g->x, s->low, 0.7, scenario_colour[k]);
        if (s->high != NULL) ll_chart_line(c, fan->n, g->x, s->high, 0.7, scenario_colour[k]);
        ll_chart_line(c, fan->n, g->x, s->middle, 1.8, scenario_colour[k]);
    }
}

static void draw_answer(page *g, const ll_chart *c, const ll_fan *fan, int64_t zero)
{
    fill_times(g, fan, zero);
    if (fan->scenario != NULL) {
        draw_scenarios(g, c, fan);
        return;
    }
    for (int b = 0; b < g->f->n_bands; b++)
        if (fan->low[b] != NULL)
            ll_chart_band(c, fan->n, g->x, fan->low[b], fan->high[b], band_colour[b]);
    for (int64_t p = 0; p < fan->n_paths; p++)
        ll_chart_line(c, fan->n, g->x, fan->path + p * fan->n, 0.6, band_colour[2]);
    if (fan->middle != NULL) ll_chart_line(c, fan->n, g->x, fan->middle, 1.6, LL_COLOUR_BLUE);
}

/* Lines where the range of training ends, for answers beyond it. */
static void draw_range(const ll_chart *c, const ll_fan *fan)
{
    for (int i = 0; i < 2; i++)
        if (fan->beyond[i]) {
            const double x[] = { c->x0, c->x1 }, y[] = { fan->range[i], fan->range[i] };
            ll_chart_line(c, 2, x, y, 1, range_colour);
        }
}

static bool any_outside(const page *g)
{
    for (int64_t i = 0; i < g->n; i++)
        if (g->fan[i].beyond[0] || g->fan[i].beyond[1]) return true;
    return false;
}

static void field_range(const page *g, ll_chart *c, const ll_fan *fan)
{
    ll_chart_range_begin(c);
    ll_chart_range(c, fan->n_seen, fan->seen);
    for (int i = 0; i < 2; i++)
        if (fan->beyond[i]) ll_chart_range(c, 1, &fan->range[i]);
    for (int b = 0; b < g->f->n_bands; b++)
        if (fan->low[b] != NULL) {
            ll_chart_range(c, fan->n, fan->low[b]);
            ll_chart_range(c, fan->n, fan->high[b]);
        }
    for (int64_t k = 0; fan->scenario != NULL && k < scenarios_drawn(g->f); k++) {
        const ll_fan_scenario *s = &fan->scenario[k];
        ll_chart_range(c, fan->n, s->middle);
        if (s->low != NULL) ll_chart_range(c, fan->n, s->low);
        if (s->high != NULL) ll_chart_range(c, fan->n, s->high);
    }
    if (fan->n_paths > 0) ll_chart_range(c, fan->n_paths * fan->n, fan->path);
    if (fan->middle != NULL) ll_chart_range(c, fan->n, fan->middle);
    ll_chart_range_end(c);
}

/* A title that fits, cut with dots. */
static void draw_title(page *g, const ll_chart *c, const ll_fan *fan)
{
    char   text[240];
    size_t n =
        (size_t)snprintf(text, sizeof text, "%s%s%s", ll_text_show(fan->entity).text,
                         fan->entity[0] == '\0' ? "" : ", ", ll_text_show(fan->variable).text);
    if (n >= sizeof text) n = sizeof text - 1;
    while (n > 4 && ll_canvas_text_width(g->canvas, LL_CHART_NORMAL, text) > c->width) {
        do n--; /* whole characters */
        while (n > 4 && ((unsigned char)text[n] & 0xc0) == 0x80);
        memcpy(text + n - 3, "...", 4);
    }
    ll_canvas_text(g->canvas, c->left, c->top - 8, LL_TEXT_LEFT, LL_CHART_NORMAL, LL_COLOUR_INK,
                   text);
}

static void draw_field(page *g, int64_t i)
{
    const ll_fan *fan = &g->fan[i];
    ll_chart      c = { .canvas = g->canvas,
                        .top = HEAD + (double)(i / g->columns) * g->field_height + TITLE_ROOM,
                        .height = g->field_height - TITLE_ROOM - FOOT_ROOM };
    ll_tick       x[LL_TICKS_MAX], y[LL_TICKS_MAX];
    int64_t       first, last;
    const double  usual = usual_gap(g, fan);
    field_range(g, &c, fan);
    field_span(fan, &first, &last);
    const int n_y = ll_ticks_number(c.y0, c.y1 - c.y0, c.height > 150 ? 7 : 5, y);
    c.left = LEFT + (double)(i % g->columns) * g->field_width +
             ceil(fmax(ll_chart_label_width(g->canvas, y, n_y), 24)) + 8;
    c.width = LEFT + (double)(i % g->columns + 1) * g->field_width - BETWEEN - c.left;
    const uint64_t length = (uint64_t)last - (uint64_t)first;
    const int      n_x = ll_ticks_time(&g->f->axis, g->zone, first, length,
                                       (int)fmin(fmax(c.width / 62, 2), LL_TICKS_MAX), x);
    c.x0 = 0;
    c.x1 = ll_chart_seconds(last, first);
    draw_title(g, &c, fan);
    draw_missing(&c, fan, first, usual, g->f->kind == LL_FAN_IMPUTATION);
    ll_chart_grid(&c, x, n_x, y, n_y);
    draw_answer(g, &c, fan, first);
    draw_range(&c, fan);
    draw_seen(g, &c, fan, first, usual, false, LL_COLOUR_INK);
    if (g->f->kind != LL_FAN_FORECAST) return;
    draw_seen(g, &c, fan, first, usual, true, LL_COLOUR_ORANGE);
    const double at = ll_chart_x(&c, ll_chart_seconds(fan->origin, first));
    ll_canvas_line(g->canvas, at, c.top, at, c.top + c.height, 1, LL_COLOUR_GREY);
}

/* ---- the page -------------------------------------------------------------------------------- */

static bool any_truth(const page *g)
{
    for (int64_t i = 0; i < g->n; i++) {
        const ll_fan *fan = &g->fan[i];
        if (fan->n_seen > 0 && fan->seen_time[fan->n_seen - 1] > fan->origin) return true;
    }
    return false;
}

/* Every variable's name ends in its unit, " (ppb)" or " [ppb]". */
static bool units_named(const page *g)
{
    for (int64_t i = 0; i < g->n; i++) {
        const char  *name = g->fan[i].variable;
        const size_t n = strlen(name);
        const char   end = n < 4 ? '\0' : name[n - 1];
        const char *open = end == ')' ? strrchr(name, '(') : end == ']' ? strrchr(name, '[') : NULL;
        if (open == NULL || open == name || open[-1] != ' ') return false;
    }
    return g->n > 0;
}

/* The names of the scenarios, and what their lines are. */
static double draw_scenario_keys(page *g, double x)
{
    const ll_fans *f = g->f;
    char           text[160];
    for (int64_t k = 0; k < scenarios_drawn(f); k++)
        x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, scenario_colour[k],
                         ll_text_show(f->scenarios[k]).text);
    if (f->n_scenarios > LL_FAN_SCENARIOS)
        snprintf(text, sizeof text, "the first %d of %lld scenarios", LL_FAN_SCENARIOS,
                 (long long)f->n_scenarios);
    else if (f->n_bands > 0)
        snprintf(text, sizeof text, "%s, and %.3g %% between thin lines", f->middle,
                 100 * f->cover[0]);
    else return x;
    ll_canvas_text(g->canvas, x, 54, LL_TEXT_LEFT, LL_CHART_SMALL, LL_COLOUR_GREY, text);
    return x + ll_canvas_text_width(g->canvas, LL_CHART_SMALL, text) + 16;
}

static void draw_head(page *g)
{
    const ll_fans      *f = g->f;
    const bool          forecast = f->kind == LL_FAN_FORECAST;
    const ll_text_shown zone = ll_text_show(f->axis.zone[0] == '\0' ? "UTC" : f->axis.zone);
    const ll_text_shown unit = ll_text_show(f->axis.unit);
    char                text[200];
    ll_canvas_text(g->canvas, LEFT, 30, LL_TEXT_LEFT, LL_CHART_TITLE, LL_COLOUR_INK,
                   forecast ? "Forecast" : "Filled gaps");
    snprintf(text, sizeof text, "%stime (%s)",
             units_named(g) ? "" : "values in units of the data; ",
             f->axis.kind == LL_AXIS_CALENDAR ? zone.text
             : unit.text[0] == '\0'           ? "as in the data"
                                              : unit.text);
    if (f->n > g->n) {
        const size_t n = strlen(text);
        if (f->n_fans < f->n || !ll_canvas_has_pages(g->canvas))
            snprintf(text + n, sizeof text - n, "; the first %lld of %lld series", (long long)g->n,
                     (long long)f->n);
        else
            snprintf(text + n, sizeof text - n, "; series %lld to %lld of %lld",
                     (long long)g->first + 1, (long long)(g->first + g->n), (long long)f->n);
    }
    ll_canvas_text(g->canvas, PAGE - BETWEEN, 30, LL_TEXT_RIGHT, LL_CHART_SMALL, LL_COLOUR_GREY,
                   text);
    double x = LEFT;
    x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, LL_COLOUR_INK, "measured");
    if (forecast && any_truth(g))
        x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, LL_COLOUR_ORANGE, "measured later");
    if (f->n_scenarios > 0) x = draw_scenario_keys(g, x);
    else if (f->middle != NULL)
        x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, LL_COLOUR_BLUE, f->middle);
    for (int b = f->n_bands - 1; f->n_scenarios == 0 && b >= 0; b--) {
        snprintf(text, sizeof text, "%.3g %%", 100 * f->cover[b]);
        x = ll_chart_key(g->canvas, x, 54, LL_KEY_BOX, band_colour[b], text);
    }
    if (g->n > 0 && g->fan[0].n_paths > 0)
        x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, band_colour[2], "paths");
    if (any_outside(g))
        x = ll_chart_key(g->canvas, x, 54, LL_KEY_LINE, range_colour, "end of the training range");
    ll_chart_key(g->canvas, x, 54, LL_KEY_BOX, missing_colour, "no measurement");
}

/* The page that begins with series number first. */
static void lay_out(page *g, int64_t first)
{
    const int64_t left = g->f->n_fans - first;
    g->first = first;
    g->fan = g->f->fan + first;
    g->n = left < LL_FAN_FIELDS ? left : LL_FAN_FIELDS;
    g->columns = g->n <= 3 ? 1 : g->n <= 8 ? 2 : 3;
    g->rows = g->n == 0 ? 1 : (g->n + g->columns - 1) / g->columns;
    g->field_width = (double)(PAGE - LEFT) / (double)g->columns;
    g->field_height = g->n <= 1 ? 340 : 230;
}

static double height_of(const page *g) { return HEAD + (double)g->rows * g->field_height; }

static llap_status make_room(page *g)
{
    int64_t most = 1;
    for (int64_t i = 0; i < g->f->n_fans; i++) {
        if (g->f->fan[i].n > most) most = g->f->fan[i].n;
        if (g->f->fan[i].n_seen > most) most = g->f->fan[i].n_seen;
    }
    g->x = ll_new(2 * (size_t)most, sizeof *g->x);
    g->y = ll_new(2 * (size_t)most, sizeof *g->y);
    return g->x == NULL || g->y == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static void draw_page(page *g)
{
    draw_head(g);
    for (int64_t i = 0; i < g->n; i++) draw_field(g, i);
    if (g->n == 0)
        ll_canvas_text(g->canvas, LEFT, HEAD + 24, LL_TEXT_LEFT, LL_CHART_NORMAL, LL_COLOUR_INK,
                       "nothing was asked for");
}

llap_status ll_plot_fans(const ll_fans *f, const char *path)
{
    page        g = { .f = f };
    const char *zone = f->axis.zone;
    lay_out(&g, 0);
    llap_status st = make_room(&g);
    if (st == LLAP_OK && f->axis.kind == LL_AXIS_CALENDAR && zone[0] != '\0')
        st = ll_zone_create(zone, strlen(zone), NULL, &g.zone);
    if (st == LLAP_OK) st = ll_canvas_create(path, PAGE, height_of(&g), &g.canvas);
    if (st == LLAP_OK) {
        draw_page(&g);
        while (ll_canvas_has_pages(g.canvas) && g.first + g.n < f->n_fans) {
            lay_out(&g, g.first + g.n);
            ll_canvas_next_page(g.canvas, PAGE, height_of(&g));
            draw_page(&g);
        }
        st = ll_canvas_commit(g.canvas);
    }
    ll_canvas_destroy(g.canvas);
    ll_zone_destroy(g.zone);
    ll_free(g.x);
    ll_free(g.y);
    return st;
}
