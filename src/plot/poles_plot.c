#include "plot/poles_plot.h"

#include "base/text.h"
#include "plot/canvas.h"
#include "plot/ticks.h"

#include <math.h>
#include <stdio.h>

enum {
    PAGE = 960,
    LEFT = 90,
    RIGHT = 36,
    TOP = 70,
    HIGH = 380, /* of the plane */
    STRIP = 44, /* of poles without a period */
    BELOW = 60,
    SMALL = 9,
    NORMAL = 11,
    TITLE = 15,
    LINE = 16,
    COLOURS = 2,
};

typedef struct span {
    double least, most; /* ticks */
} span;

typedef struct plane {
    const ll_pole_marks *set;
    int                  n_sets;
    const ll_axis       *axis;
    ll_canvas           *canvas;
    span                 life, period;
} plane;

static void widen(span *s, double x)
{
    if (!(x > 0 && x < HUGE_VAL)) return;
    if (s->least == 0 || x < s->least) s->least = x;
    if (x > s->most) s->most = x;
}

/* Some room on both sides; a single value gets a decade around it. */
static span with_margin(span s)
{
    if (s.least == 0) return (span){ 1, 10 };
    const double margin = fmax(pow(s.most / s.least, 0.06), s.most > s.least ? 1.2 : 3.2);
    return (span){ s.least / margin, s.most * margin };
}

static void measure(plane *p)
{
    for (int i = 0; i < p->n_sets; i++)
        for (int64_t k = 0; k < p->set[i].n; k++) {
            widen(&p->life, p->set[i].half_life[k]);
            widen(&p->period, p->set[i].period[k]);
        }
    p->life = with_margin(p->life);
    p->period = with_margin(p->period);
}

static double along(span s, double x) { return log(x / s.least) / log(s.most / s.least); }

/* Longer half-lives lie to the right, nearer to the imaginary axis; what never decays, on it. */
static double life_x(const plane *p, double half_life)
{
    return LEFT + (PAGE - LEFT - RIGHT) * fmin(along(p->life, half_life), 1);
}

/* Faster is higher, as in the plane of s. */
static double period_y(const plane *p, double period)
{
    if (!(period < HUGE_VAL)) return TOP + HIGH + STRIP / 2.0;
    return TOP + HIGH * along(p->period, period);
}

static void draw_axes(const plane *p)
{
    ll_canvas   *c = p->canvas;
    ll_tick      tick[LL_TICKS_MAX];
    const double foot = TOP + HIGH + STRIP, right = PAGE - RIGHT;
    int          n = ll_ticks_gap(p->axis, p->life.least, p->life.most, 0.08, tick);
    for (int i = 0; i < n; i++) {
        const double x = LEFT + (right - LEFT) * tick[i].at;
        ll_canvas_line(c, x, TOP, x, foot, 0.5, LL_COLOUR_PALE);
        ll_canvas_text(c, x, foot + 15, LL_TEXT_CENTRE, SMALL, LL_COLOUR_INK, tick[i].label);
    }
    n = ll_ticks_gap(p->axis, p->period.least, p->period.most, 0.05, tick);
    for (int i = 0; i < n; i++) {
        const double y = TOP + HIGH * tick[i].at;
        ll_canvas_line(c, LEFT, y, right, y, 0.5, LL_COLOUR_PALE);
        ll_canvas_text(c, LEFT - 6, y + 0.35 * SMALL, LL_TEXT_RIGHT, SMALL, LL_COLOUR_INK,
                       tick[i].label);
    }
    ll_canvas_text(c, LEFT - 6, TOP + HIGH + STRIP / 2.0 + 0.35 * SMALL, LL_TEXT_RIGHT, SMALL,
                   LL_COLOUR_INK, "none");
    ll_canvas_line(c, LEFT, TOP + HIGH, right, TOP + HIGH, 1, LL_COLOUR_LINE);
    ll_canvas_line(c, LEFT, foot, right, foot, 1, LL_COLOUR_LINE);
    ll_canvas_line(c, LEFT, TOP, LEFT, foot, 1, LL_COLOUR_LINE);
    ll_canvas_text(c, (LEFT + right) / 2, foot + 34, LL_TEXT_CENTRE, NORMAL, LL_COLOUR_GREY,
                   "half-life");
    ll_canvas_text(c, LEFT - 6, TOP - 10, LL_TEXT_RIGHT, NORMAL, LL_COLOUR_GREY, "period");
}

static ll_colour colour_of(int set)
{
    static const ll_colour colours[COLOURS] = { LL_COLOUR_BLUE, LL_COLOUR_ORANGE };
    return set < COLOURS ? colours[set] : LL_COLOUR_GREY;
}

static void draw_cross(ll_canvas *c, double x, double y, double size, ll_colour colour)
{
    ll_canvas_line(c, x - size, y - size, x + size, y + size, 1.6, colour);
    ll_canvas_line(c, x - size, y + size, x + size, y - size, 1.6, colour);
}

static void draw_poles(const plane *p, int set)
{
    const ll_pole_marks *s = &p->set[set];
    double               most = 0;
    for (int64_t k = 0; k < s->n; k++) most = fmax(most, s->energy[k]);
    for (int64_t k = 0; k < s->n; k++) {
        const double share = most > 0 ? s->energy[k] / most : 0.25;
        draw_cross(p->canvas, life_x(p, s->half_life[k]), period_y(p, s->period[k]),
                   2 + 6 * sqrt(fmax(share, 0)), colour_of(set));
    }
}

static void draw_names(const plane *p)
{
    double x = LEFT + 120;
    for (int i = 0; i < p->n_sets && x < PAGE - 160; i++) {
        const ll_text_shown name = ll_text_show(p->set[i].name);
        draw_cross(p->canvas, x, 28, 4, colour_of(i));
        ll_canvas_text(p->canvas, x + 10, 32, LL_TEXT_LEFT, NORMAL, LL_COLOUR_INK, name.text);
        x += 36 + ll_canvas_text_width(p->canvas, NORMAL, name.text);
    }
}

llap_status ll_plot_poles(const ll_pole_marks *set, int n_sets, const ll_axis *axis,
                          const char *path)
{
    plane       p = { .set = set, .n_sets = n_sets, .axis = axis };
    llap_status st = ll_canvas_create(path, PAGE, TOP + HIGH + STRIP + BELOW, &p.canvas);
    if (st != LLAP_OK) return st;
    measure(&p);
    ll_canvas_text(p.canvas, LEFT, 32, LL_TEXT_LEFT, TITLE, LL_COLOUR_INK, "Poles");
    draw_axes(&p);
    for (int i = n_sets - 1; i >= 0; i--) draw_poles(&p, i);
    draw_names(&p);
    st = ll_canvas_commit(p.canvas);
    ll_canvas_destroy(p.canvas);
    return st;
}
