#include "plot/inspect_plot.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/time/time.h"
#include "data/pack.h"
#include "plot/canvas.h"
#include "plot/ticks.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* First and last time; false without rows. */
static bool span_of(const llap_panel *p, int64_t *first, int64_t *last)
{
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (p->start[e] == p->start[e + 1]) continue;
        if (p->time[p->start[e]] < *first) *first = p->time[p->start[e]];
        if (p->time[p->start[e + 1] - 1] > *last) *last = p->time[p->start[e + 1] - 1];
    }
    return p->n_rows > 0;
}

int64_t ll_coverage_line(const ll_coverage_map *m, const llap_panel *p, int64_t entity)
{
    return entity * m->lines / p->n_entities;
}

/* No narrower than the rows of a line are apart, or a dense series would look full of holes. */
static uint64_t column_width(const llap_panel *p, uint64_t span, const ll_gaps *g)
{
    const uint64_t sharing = (uint64_t)(p->n_entities / LL_PLOT_LINES + 1); /* a line */
    const uint64_t apart =
        g->usual_share >= 0.9 ? (uint64_t)g->usual : 2 * (uint64_t)g->median / sharing;
    const uint64_t least = span / LL_PLOT_COLUMNS + 1;
    return apart > least ? apart : least;
}

llap_status ll_coverage_init(const llap_panel *p, const ll_gaps *g, ll_coverage_map *out)
{
    int64_t last;
    *out = (ll_coverage_map){ 0 };
    if (!span_of(p, &out->first, &last)) return LLAP_OK;
    const uint64_t span = (uint64_t)last - (uint64_t)out->first;
    out->width = column_width(p, span, g);
    out->columns = (int64_t)(span / out->width) + 1;
    out->lines = p->n_entities < LL_PLOT_LINES ? p->n_entities : LL_PLOT_LINES;
    out->rows = ll_new((size_t)(out->lines * out->columns), sizeof *out->rows);
    out->cells = ll_new((size_t)(out->lines * out->columns), sizeof *out->cells);
    if (out->rows == NULL || out->cells == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            const uint64_t after = (uint64_t)p->time[r] - (uint64_t)out->first;
            const int64_t  at =
                ll_coverage_line(out, p, e) * out->columns + (int64_t)(after / out->width);
            out->rows[at]++;
            for (int64_t v = 0; v < p->n_vars; v++) out->cells[at] += ll_panel_observed(p, r, v);
        }
    return LLAP_OK;
}

void ll_coverage_deinit(ll_coverage_map *m)
{
    ll_free(m->rows);
    ll_free(m->cells);
    *m = (ll_coverage_map){ 0 };
}

void ll_gap_bars_fill(const llap_panel *p, const ll_gaps *g, ll_gap_bars *out)
{
    *out = (ll_gap_bars){ 0 };
    if (g->n == 0) return;
    const double margin = fmax(1.4, 4 / sqrt((double)g->most / (double)g->least));
    out->least = (double)g->least / margin;
    out->most = (double)g->most * margin;
    const double per = LL_PLOT_BARS / log(out->most / out->least);
    const double usual = log((double)g->usual / out->least) * per;
    const double aside = exp((usual - floor(usual) - 0.5) / per); /* the usual gap amid its bar */
    out->least *= aside;
    out->most *= aside;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e] + 1; r < p->start[e + 1]; r++) {
            const double gap = (double)((uint64_t)p->time[r] - (uint64_t)p->time[r - 1]);
            const double bar = floor(log(gap / out->least) * per);
            out->count[(int)fmin(fmax(bar, 0), LL_PLOT_BARS - 1)]++;
        }
}

/* ---- the page -------------------------------------------------------------------------------- */

enum {
    PAGE = 960,
    RIGHT = 36, /* margin: half of the last label */
    MAP_TOP = 70,
    BETWEEN = 116, /* from the map's foot to the histogram's head */
    BARS_HIGH = 180,
    BELOW = 56,
    NAME_MOST = 170, /* points of an entity's name */
    SMALL = 9,
    NORMAL = 11,
    TITLE = 15,
};

typedef struct page {
    const llap_panel *panel;
    ll_gaps           gaps;
    ll_coverage_map   map;
    ll_zone          *zone;
    ll_canvas        *canvas;
    double            left, width; /* of both pictures */
    double            line, foot;  /* of the map: height of a line, end */
    double            top;         /* of the histogram */
} page;

/* A name that fits, cut with dots where it is too long. */
static ll_text_shown fit_name(ll_canvas *c, const char *name, bool more)
{
    ll_text_shown s = ll_text_show(name);
    size_t        n = strlen(s.text);
    char          dots[] = " ...";
    if (more && n + sizeof dots <= sizeof s.text) memcpy(s.text + n, dots, sizeof dots);
    while (n > 0 && ll_canvas_text_width(c, SMALL, s.text) > NAME_MOST) {
        do n--; /* whole characters */
        while (n > 0 && ((unsigned char)s.text[n] & 0xc0) == 0x80);
        if (n + sizeof dots <= sizeof s.text) memcpy(s.text + n, dots, sizeof dots);
        else s.text[n] = '\0';
    }
    return s;
}

/* The name of a line: of its first entity. */
static ll_text_shown line_name(const page *g, int64_t line)
{
    const int64_t n = g->panel->n_entities, lines = g->map.lines;
    const int64_t e = (line * n + lines - 1) / lines; /* the first whose line it is */
    const bool    more = e + 1 < n && ll_coverage_line(&g->map, g->panel, e + 1) == line;
    return fit_name(g->canvas, g->panel->entity[e], more);
}

static void draw_names(page *g)
{
    double widest = 40; /* room for the counts of the histogram */
    for (int64_t l = 0; l < g->map.lines; l++)
        widest = fmax(widest, ll_canvas_text_width(g->canvas, SMALL, line_name(g, l).text));
    g->left = ceil(widest) + 24;
    g->width = PAGE - RIGHT - g->left;
    for (int64_t l = 0; l < g->map.lines; l++)
        ll_canvas_text(g->canvas, g->left - 6, MAP_TOP + ((double)l + 0.5) * g->line + 0.35 * SMALL,
                       LL_TEXT_RIGHT, SMALL, LL_COLOUR_INK, line_name(g, l).text);
}

static double column_x(const page *g, int64_t column)
{
    return round(2 * (g->left + g->width * (double)column / (double)g->map.columns)) / 2;
}

static ll_colour field_colour(const page *g, int64_t line, int64_t column)
{
    const int64_t at = line * g->map.columns + column;
    if (g->map.rows[at] == 0) return LL_COLOUR_PALE;
    const double all = (double)g->map.rows[at] * (double)g->panel->n_vars;
    const double share = all == 0 ? 0 : (double)g->map.cells[at] / all;
    return ll_colour_scale(floor(share * 50) / 50); /* steps: neighbours then share a rectangle */
}

static void draw_fields(const page *g)
{
    const double seam = g->line >= 8 ? 1 : 0;
    for (int64_t l = 0; l < g->map.lines; l++)
        for (int64_t c = 0, to; c < g->map.columns; c = to) {
            const ll_colour colour = field_colour(g, l, c);
            for (to = c + 1; to < g->map.columns && field_colour(g, l, to) == colour;) to++;
            ll_canvas_rect(g->canvas, column_x(g, c), MAP_TOP + (double)l * g->line,
                           column_x(g, to) - column_x(g, c), g->line - seam, colour);
        }
}

static void draw_legend(const page *g, double y)
{
    enum { SCALE = 100, BOX = 10 };
    ll_canvas  *c = g->canvas;
    const char *end = "100 % of cells observed";
    double      x = PAGE - RIGHT - ceil(ll_canvas_text_width(c, SMALL, end));
    ll_canvas_text(c, x, y, LL_TEXT_LEFT, SMALL, LL_COLOUR_GREY, end);
    x -= SCALE + 6;
    for (int i = 0; i < SCALE; i += 2)
        ll_canvas_rect(c, x + i, y - BOX + 1, 2, BOX, ll_colour_scale((double)i / (SCALE - 2)));
    ll_canvas_text(c, x - 5, y, LL_TEXT_RIGHT, SMALL, LL_COLOUR_GREY, "0 %");
    x -= 80;
    ll_canvas_rect(c, x, y - BOX + 1, BOX, BOX, LL_COLOUR_PALE);
    ll_canvas_text(c, x + BOX + 5, y, LL_TEXT_LEFT, SMALL, LL_COLOUR_GREY, "no row");
}

/* What the axis of time counts. */
static void time_title(const page *g, uint64_t length, char *text, size_t room)
{
    const ll_axis *a = &g->panel->axis;
    if (a->kind == LL_AXIS_NUMBER) {
        snprintf(text, room, a->unit[0] == '\0' ? "time" : "time (%s)", ll_text_show(a->unit).text);
    } else if (length < 2 * (uint64_t)LL_NS_PER_S) {
        char from[LL_TIME_TEXT_MAX];
        ll_time_format(g->map.first, g->zone, 0, from);
        snprintf(text, room, "seconds after %s", from);
    } else {
        snprintf(text, room, "time (%s)", a->zone[0] == '\0' ? "UTC" : ll_text_show(a->zone).text);
    }
}

static void draw_time_axis(const page *g)
{
    const uint64_t length = (uint64_t)g->map.columns * g->map.width;
    ll_tick        tick[LL_TICKS_MAX];
    char           title[160];
    const int      n = ll_ticks_time(&g->panel->axis, g->zone, g->map.first, length, 9, tick);
    for (int i = 0; i < n; i++) {
        const double x = g->left + tick[i].at * g->width;
        ll_canvas_line(g->canvas, x, g->foot, x, g->foot + 4, 1, LL_COLOUR_GREY);
        ll_canvas_text(g->canvas, x, g->foot + 15, LL_TEXT_CENTRE, SMALL, LL_COLOUR_INK,
                       tick[i].label);
    }
    time_title(g, length, title, sizeof title);
    ll_canvas_text(g->canvas, g->left + g->width / 2, g->foot + 32, LL_TEXT_CENTRE, NORMAL,
                   LL_COLOUR_GREY, title);
}

static void draw_map(page *g)
{
    const llap_panel *p = g->panel;
    char              text[160];
    draw_names(g);
    const double all = (double)p->n_rows * (double)p->n_vars;
    int n = snprintf(text, sizeof text, "%lld %s, %lld %s, %lld %s; %.1f %% of the cells observed",
                     (long long)p->n_entities, p->n_entities == 1 ? "entity" : "entities",
                     (long long)p->n_rows, p->n_rows == 1 ? "row" : "rows", (long long)p->n_vars,
                     p->n_vars == 1 ? "variable" : "variables",
                     all == 0 ? 0 : 100 * (double)ll_panel_count_observed(p) / all);
    if (p->n_entities > g->map.lines && g->map.lines > 0)
        snprintf(text + n, sizeof text - (size_t)n, "; about %.0f entities to a line",
                 (double)p->n_entities / (double)g->map.lines);
    ll_canvas_text(g->canvas, g->left, 32, LL_TEXT_LEFT, TITLE, LL_COLOUR_INK, "Coverage");
    ll_canvas_text(g->canvas, g->left, 54, LL_TEXT_LEFT, NORMAL, LL_COLOUR_GREY, text);
    draw_legend(g, 32);
    if (g->map.lines == 0) {
        ll_canvas_text(g->canvas, g->left, MAP_TOP + 24, LL_TEXT_LEFT, NORMAL, LL_COLOUR_INK,
                       "no rows");
        return;
    }
    draw_fields(g);
    draw_time_axis(g);
}

/* ---- the histogram --------------------------------------------------------------------------- */

/* Height of a count; a single gap is still a visible bar. */
static double count_y(const page *g, double decades, double count)
{
    return g->top + BARS_HIGH - BARS_HIGH * (log10(count) + 0.3) / (decades + 0.3);
}

static void draw_bars(const page *g, const ll_gap_bars *b, double decades)
{
    const double foot = g->top + BARS_HIGH;
    for (int d = 0; d <= (int)decades; d++) {
        char         label[24];
        const double y = count_y(g, decades, pow(10, d));
        snprintf(label, sizeof label, "%.0f", pow(10, d));
        ll_canvas_line(g->canvas, g->left, y, g->left + g->width, y, 0.5, LL_COLOUR_LINE);
        ll_canvas_text(g->canvas, g->left - 6, y + 0.35 * SMALL, LL_TEXT_RIGHT, SMALL,
                       LL_COLOUR_INK, label);
    }
    for (int i = 0; i < LL_PLOT_BARS; i++) {
        if (b->count[i] == 0) continue;
        const double x = round(g->left + g->width * i / LL_PLOT_BARS);
        const double to = round(g->left + g->width * (i + 1) / LL_PLOT_BARS);
        const double y = round(2 * count_y(g, decades, (double)b->count[i])) / 2;
        ll_canvas_rect(g->canvas, x, y, to - x - 1, foot - y, LL_COLOUR_BLUE);
    }
    ll_canvas_line(g->canvas, g->left, foot, g->left + g->width, foot, 1, LL_COLOUR_GREY);
}

/* The usual gap; of jittered times, where hardly two gaps are equal, the median. */
static void draw_usual(const page *g, const ll_gap_bars *b)
{
    const bool        usual = g->gaps.usual_share >= 0.05;
    const int64_t     gap = usual ? g->gaps.usual : g->gaps.median;
    const double      at = log((double)gap / b->least) / log(b->most / b->least);
    const double      x = g->left + at * g->width;
    const ll_gap_text shown = ll_gap_show(&g->panel->axis, gap);
    char              text[96];
    if (usual)
        snprintf(text, sizeof text, "usual gap: %s, %.1f %% of all", shown.text,
                 100 * g->gaps.usual_share);
    else snprintf(text, sizeof text, "median gap: %s; none is usual", shown.text);
    const double wide = ll_canvas_text_width(g->canvas, NORMAL, text) + 8;
    ll_canvas_rect(g->canvas, at < 0.6 ? x + 2 : x - 2 - wide, g->top - 2, wide, NORMAL + 4,
                   0xffffff); /* no line of the grid behind the words */
    ll_canvas_line(g->canvas, x, g->top, x, g->top + BARS_HIGH, 1.5, LL_COLOUR_ORANGE);
    ll_canvas_text(g->canvas, at < 0.6 ? x + 6 : x - 6, g->top + 9,
                   at < 0.6 ? LL_TEXT_LEFT : LL_TEXT_RIGHT, NORMAL, LL_COLOUR_ORANGE, text);
}

static void draw_gap_axis(const page *g, const ll_gap_bars *b)
{
    const double foot = g->top + BARS_HIGH;
    ll_tick      tick[LL_TICKS_MAX];
    const int    n = ll_ticks_gap(&g->panel->axis, b->least, b->most, 50 / g->width, tick);
    for (int i = 0; i < n; i++) {
        const double x = g->left + tick[i].at * g->width;
        ll_canvas_line(g->canvas, x, foot, x, foot + 4, 1, LL_COLOUR_GREY);
        ll_canvas_text(g->canvas, x, foot + 15, LL_TEXT_CENTRE, SMALL, LL_COLOUR_INK,
                       tick[i].label);
    }
    ll_canvas_text(g->canvas, g->left + g->width / 2, foot + 34, LL_TEXT_CENTRE, NORMAL,
                   LL_COLOUR_GREY, "length of the gap (log scale)");
}

static void draw_gaps(const page *g)
{
    const ll_axis *axis = &g->panel->axis;
    char           text[240];
    ll_gap_bars    bars;
    ll_gap_bars_fill(g->panel, &g->gaps, &bars);
    ll_canvas_text(g->canvas, g->left, g->top - 36, LL_TEXT_LEFT, TITLE, LL_COLOUR_INK,
                   "Gaps between rows of an entity");
    if (g->gaps.n == 0) {
        ll_canvas_text(g->canvas, g->left, g->top, LL_TEXT_LEFT, NORMAL, LL_COLOUR_INK,
                       "none: no entity has two rows");
        return;
    }
    snprintf(
        text, sizeof text,
        "number of gaps (log scale) by length; %lld in all, shortest %s, median %s, longest %s",
        (long long)g->gaps.n, ll_gap_show(axis, g->gaps.least).text,
        ll_gap_show(axis, g->gaps.median).text, ll_gap_show(axis, g->gaps.most).text);
    ll_canvas_text(g->canvas, g->left, g->top - 14, LL_TEXT_LEFT, NORMAL, LL_COLOUR_GREY, text);
    int64_t highest = 1;
    for (int i = 0; i < LL_PLOT_BARS; i++)
        if (bars.count[i] > highest) highest = bars.count[i];
    /* room above the bars for the word beside the usual gap */
    draw_bars(g, &bars, (log10((double)highest) + 0.3) * 1.12 - 0.3 + 0.1);
    draw_usual(g, &bars);
    draw_gap_axis(g, &bars);
}

llap_status ll_plot_inspect_page(const llap_panel *p, const char *path, ll_canvas **canvas)
{
    page        g = { .panel = p };
    const char *zone = p->axis.zone;
    ll_picture  format;
    llap_status st = ll_picture_of(path, &format);
    if (st == LLAP_OK) st = ll_panel_verify_all(p);
    if (st == LLAP_OK) st = ll_gaps_measure(p, &g.gaps);
    if (st == LLAP_OK) st = ll_coverage_init(p, &g.gaps, &g.map);
    if (st == LLAP_OK && p->axis.kind == LL_AXIS_CALENDAR && zone[0] != '\0')
        st = ll_zone_create(zone, strlen(zone), NULL, &g.zone);
    const double lines = (double)g.map.lines;
    g.line = fmin(fmax(floor(420 / fmax(lines, 1)), 11), 32);
    g.foot = MAP_TOP + fmax(lines, 1) * g.line;
    g.top = g.foot + BETWEEN;
    const double high = g.top + BARS_HIGH + BELOW;
    if (st == LLAP_OK && *canvas != NULL) ll_canvas_next_page(*canvas, PAGE, high);
    else if (st == LLAP_OK) st = ll_canvas_create(path, PAGE, high, canvas);
    if (st == LLAP_OK) {
        g.canvas = *canvas;
        draw_map(&g);
        draw_gaps(&g);
    }
    ll_zone_destroy(g.zone);
    ll_coverage_deinit(&g.map);
    return st;
}

llap_status ll_plot_inspect(const llap_panel *p, const char *path)
{
    ll_canvas  *c = NULL;
    llap_status st = ll_plot_inspect_page(p, path, &c);
    if (st == LLAP_OK) st = ll_canvas_commit(c);
    ll_canvas_destroy(c);
    return st;
}
