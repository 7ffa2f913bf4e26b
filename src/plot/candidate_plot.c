#include "plot/candidate_plot.h"

#include "base/alloc.h"
#include "base/text.h"
#include "plot/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS = 6, LINES = 12 };                     /* that are drawn, and of each */
enum { LEFT = 64, TITLE = 46, LINE = 17, FOOT = 44 }; /* heights */
enum { DRIFT = 80, SCALE = 145, CALENDAR = 220, TERMS = 295, KAPPA = 360, FIELD = 410, RIGHT = 80 };

bool ll_candidates_has(const ll_json *line) { return ll_json_has(line, "fit"); }

static llap_status read_word(const ll_json *line, const char *key, size_t room, char *out)
{
    const char *word = "";
    if (!ll_json_has(line, key)) return LLAP_OK;
    const llap_status st = ll_json_string(line, key, &word);
    if (st == LLAP_OK) snprintf(out, room, "%s", word);
    return st;
}

static llap_status read_candidate(const ll_json *line, ll_candidate *x)
{
    llap_status st = read_word(line, "target", sizeof x->target, x->target);
    if (st == LLAP_OK) st = read_word(line, "curve", sizeof x->curve, x->curve);
    if (st == LLAP_OK) st = read_word(line, "drift", sizeof x->drift, x->drift);
    if (st == LLAP_OK) st = read_word(line, "scale", sizeof x->scale, x->scale);
    if (st == LLAP_OK && ll_json_has(line, "calendar"))
        st = ll_json_int(line, "calendar", 0, 1 << 20, &x->calendar);
    if (st == LLAP_OK && ll_json_has(line, "terms"))
        st = ll_json_int(line, "terms", 0, 1 << 20, &x->terms);
    if (st == LLAP_OK && ll_json_has(line, "kappa"))
        st = ll_json_double(line, "kappa", 0, HUGE_VAL, &x->kappa);
    if (st == LLAP_OK && ll_json_double(line, "score", -HUGE_VAL, HUGE_VAL, &x->score) != LLAP_OK)
        x->score = NAN;
    return st;
}

llap_status ll_candidates_add(ll_candidates *c, const ll_json *line)
{
    ll_candidate x = { .score = NAN, .kappa = NAN, .calendar = -1, .terms = -1 };
    if (!ll_json_has(line, "score")) return LLAP_OK;
    const llap_status st = read_candidate(line, &x);
    if (st != LLAP_OK || !isfinite(x.score)) return st;
    if (c->n == c->room) {
        const size_t  room = 2 * c->room + 32;
        ll_candidate *is = ll_new(room, sizeof *is);
        if (is == NULL) return LLAP_ENOMEM;
        if (c->n > 0) memcpy(is, c->is, c->n * sizeof *is);
        ll_free(c->is);
        c->is = is;
        c->room = room;
    }
    c->is[c->n++] = x;
    return LLAP_OK;
}

void ll_candidates_deinit(ll_candidates *c) { ll_free(c->is); }

/* Where the target of candidate i ends: those of one lie behind one another. */
static size_t end_of(const ll_candidates *c, size_t i)
{
    size_t to = i + 1;
    while (to < c->n && strcmp(c->is[to].target, c->is[i].target) == 0) to++;
    return to;
}

static size_t lines_of(size_t n) { return n < LINES ? n : LINES; }

double ll_candidates_height(const ll_candidates *c)
{
    double height = 0;
    int    n = 0;
    for (size_t i = 0; i < c->n && n < TARGETS; i = end_of(c, i), n++)
        height += TITLE + FOOT + LINE * (double)lines_of(end_of(c, i) - i);
    return height;
}

static int compare(const void *a, const void *b)
{
    const ll_candidate *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

static void put(ll_canvas *canvas, double x, double y, ll_colour colour, const char *text)
{
    ll_canvas_text(canvas, LEFT + x, y, LL_TEXT_LEFT, LL_CHART_SMALL, colour, text);
}

static void put_terms(ll_canvas *canvas, double x, double y, int64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%lld term%s", (long long)n, n == 1 ? "" : "s");
    put(canvas, x, y, LL_COLOUR_INK, n < 1 ? "-" : text);
}

static void draw_line(const ll_chart *f, const ll_candidate *x, double y, ll_colour colour)
{
    char         text[48];
    const double at = ll_chart_x(f, x->score);
    put(f->canvas, 0, y, LL_COLOUR_INK, x->curve);
    put(f->canvas, DRIFT, y, LL_COLOUR_INK, x->drift);
    put(f->canvas, SCALE, y, LL_COLOUR_INK, x->scale);
    put_terms(f->canvas, CALENDAR, y, x->calendar);
    put_terms(f->canvas, TERMS, y, x->terms);
    snprintf(text, sizeof text, "%.3g", x->kappa);
    put(f->canvas, KAPPA, y, LL_COLOUR_INK, isnan(x->kappa) ? "-" : text);
    ll_canvas_line(f->canvas, f->left, y - 3, at, y - 3, 1, LL_COLOUR_LINE);
    ll_canvas_dot(f->canvas, at, y - 3, 3, colour);
    snprintf(text, sizeof text, "%.4f", x->score);
    ll_canvas_text(f->canvas, at + 8, y, LL_TEXT_LEFT, LL_CHART_SMALL, colour, text);
}

/* The candidates [n] of one target, best first. */
static void draw_target(const ll_candidate *is, size_t n, ll_canvas *canvas, double top,
                        double page)
{
    const size_t lines = lines_of(n);
    char         title[160];
    ll_tick      tick[LL_TICKS_MAX];
    ll_chart     f = { .canvas = canvas,
                       .left = LEFT + FIELD,
                       .top = top + TITLE,
                       .width = page - LEFT - FIELD - RIGHT,
                       .height = LINE * (double)lines,
                       .x0 = is[0].score,
                       .x1 = is[lines - 1].score };
    const double wide = fmax(f.x1 - f.x0, 1e-3 * fabs(f.x0) + 1e-9);
    f.x0 -= 0.1 * wide;
    f.x1 = f.x0 + 1.2 * wide;
    const char *const name = ll_text_show(is[0].target).text;
    if (n > lines)
        snprintf(title, sizeof title, "%s: the best %zu of %zu anchors that were tried", name,
                 lines, n);
    else
        snprintf(title, sizeof title, "%s: %zu anchor%s that %s tried", name, n, n == 1 ? "" : "s",
                 n == 1 ? "was" : "were");
    ll_canvas_text(canvas, LEFT, top + 12, LL_TEXT_LEFT, LL_CHART_NORMAL, LL_COLOUR_INK, title);
    const char *const head[] = { "curve",
                                 "drift",
                                 "scale of",
                                 "calendar",
                                 "kernel",
                                 "kappa",
                                 "score on validation, less is better" };
    static const int  at[] = { 0, DRIFT, SCALE, CALENDAR, TERMS, KAPPA, FIELD };
    for (int k = 0; k < 7; k++) put(canvas, at[k], top + TITLE - 14, LL_COLOUR_GREY, head[k]);
    ll_chart_grid(&f, tick, ll_ticks_number(f.x0, f.x1 - f.x0, 6, tick), NULL, 0);
    for (size_t i = 0; i < lines; i++)
        draw_line(&f, &is[i], f.top + LINE * ((double)i + 0.7),
                  i == 0 ? LL_COLOUR_BLUE : LL_COLOUR_GREY);
}

void ll_candidates_draw(ll_candidates *c, ll_canvas *canvas, double top, double page)
{
    int n = 0;
    for (size_t i = 0, to; i < c->n && n < TARGETS; i = to, n++) {
        to = end_of(c, i);
        qsort(c->is + i, to - i, sizeof *c->is, compare);
        draw_target(c->is + i, to - i, canvas, top, page);
        top += TITLE + FOOT + LINE * (double)lines_of(to - i);
    }
}
