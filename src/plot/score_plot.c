#include "plot/score_plot.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "plot/candidate_plot.h"
#include "plot/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS = 12, PAGE = 960, HEAD = 84, LEFT = 64, RIGHT = 26, ABOVE = 28, BELOW = 46 };

/* ---- the page ---- */

/* Title, and below head fields in two columns (one: a single one). */
static llap_status open_page(const char *path, const char *title, const char *subtitle, double head,
                             int n, ll_canvas **out)
{
    const int   rows = n == 1 ? 1 : (n + 1) / 2;
    llap_status st = ll_canvas_create(path, PAGE, head + rows * 270.0 + 10, out);
    if (st != LLAP_OK) return st;
    ll_canvas_text(*out, LEFT, 30, LL_TEXT_LEFT, LL_CHART_TITLE, LL_COLOUR_INK, title);
    ll_canvas_text(*out, LEFT, 50, LL_TEXT_LEFT, LL_CHART_NORMAL, LL_COLOUR_GREY,
                   ll_text_show(subtitle).text);
    return LLAP_OK;
}

/* Field i of n below head with its title and axes; the numbers at its borders are the caller's. */
static ll_chart field(ll_canvas *canvas, double head, int i, int n, double x0, double x1, double y0,
                      double y1)
{
    const int    columns = n == 1 ? 1 : 2;
    const double wide = (double)PAGE / columns;
    return (ll_chart){ .canvas = canvas,
                       .left = LEFT + i % columns * wide,
                       .top = head + ABOVE + i / columns * 270.0,
                       .width = wide - LEFT - RIGHT,
                       .height = 270 - ABOVE - BELOW,
                       .x0 = x0,
                       .x1 = x1 > x0 ? x1 : x0 + 1,
                       .y0 = y0,
                       .y1 = y1 > y0 ? y1 : y0 + 1 };
}

static void axes(const ll_chart *c, const char *title, const char *x_name, const char *y_name)
{
    ll_tick   x[LL_TICKS_MAX], y[LL_TICKS_MAX];
    const int n_x = ll_ticks_number(c->x0, c->x1 - c->x0, (int)(c->width / 60), x);
    const int n_y = ll_ticks_number(c->y0, c->y1 - c->y0, 6, y);
    ll_chart_grid(c, x, n_x, y, n_y);
    ll_canvas_text(c->canvas, c->left, c->top - 10, LL_TEXT_LEFT, LL_CHART_NORMAL, LL_COLOUR_INK,
                   title);
    ll_canvas_text(c->canvas, c->left + c->width, c->top - 10, LL_TEXT_RIGHT, LL_CHART_SMALL,
                   LL_COLOUR_GREY, y_name);
    ll_canvas_text(c->canvas, c->left + c->width / 2, c->top + c->height + 31, LL_TEXT_CENTRE,
                   LL_CHART_SMALL, LL_COLOUR_GREY, x_name);
}

/* ---- curves ---- */

typedef struct stage {
    char    name[64];
    size_t  n, room;
    double *step, *loss, *score; /* [n]; score NaN: none at that step */
} stage;

typedef struct curves {
    stage         stage[FIELDS / 2];
    int           n;
    ll_candidates anchors; /* in the place of curves of their own: every fit is another descent */
} curves;

static void curves_deinit(curves *c)
{
    for (int i = 0; i < c->n; i++) ll_free(c->stage[i].step);
    ll_candidates_deinit(&c->anchors);
}

static stage *find_stage(curves *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->stage[i].name, name) == 0) return &c->stage[i];
    if (c->n == FIELDS / 2) return NULL; /* further ones are not drawn */
    stage *s = &c->stage[c->n++];
    *s = (stage){ 0 };
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

/* The three arrays lie behind one another. */
static llap_status grow(stage *s)
{
    if (s->n < s->room) return LLAP_OK;
    const size_t room = 2 * s->room + 256;
    double      *block = ll_new(3 * room, sizeof *block);
    if (block == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < s->n; i++) {
        block[i] = s->step[i];
        block[room + i] = s->loss[i];
        block[2 * room + i] = s->score[i];
    }
    ll_free(s->step);
    s->step = block;
    s->loss = block + room;
    s->score = block + 2 * room;
    s->room = room;
    return LLAP_OK;
}

static llap_status add_line(curves *c, const ll_json *j)
{
    const char *name = "training";
    double      step = NAN, loss = NAN, score = NAN;
    llap_status st = ll_json_string(j, "stage", &name);
    if (st == LLAP_OK) st = ll_json_double(j, "step", 0, HUGE_VAL, &step);
    if (st == LLAP_OK && ll_json_has(j, "loss")) /* null where it was not finite */
        if (ll_json_double(j, "loss", -HUGE_VAL, HUGE_VAL, &loss) != LLAP_OK) loss = NAN;
    if (st == LLAP_OK && ll_json_has(j, "score"))
        if (ll_json_double(j, "score", -HUGE_VAL, HUGE_VAL, &score) != LLAP_OK) score = NAN;
    if (st == LLAP_OK && ll_candidates_has(j)) return ll_candidates_add(&c->anchors, j);
    if (st != LLAP_OK || isnan(step)) return st;
    stage *s = find_stage(c, name);
    if (s == NULL) return LLAP_OK;
    if ((st = grow(s)) != LLAP_OK) return st;
    s->step[s->n] = step;
    s->loss[s->n] = loss;
    s->score[s->n++] = score;
    return LLAP_OK;
}

static llap_status read_curves(const char *text, size_t n, const char *name, curves *c)
{
    llap_status st = LLAP_OK;
    long long   line = 1;
    for (size_t at = 0, len; st == LLAP_OK && at < n; at += len + 1, line++) {
        const char *end = memchr(text + at, '\n', n - at);
        len = end == NULL ? n - at : (size_t)(end - (text + at));
        if (end == NULL && at > 0) break; /* a line that was still being written */
        if (len == 0) continue;
        ll_json *j = NULL;
        st = ll_json_parse(text + at, len, name, NULL, &j);
        if (st == LLAP_OK) st = add_line(c, j);
        ll_json_destroy(j);
        if (st == LLAP_EFORMAT)
            st = ll_fail(LLAP_EFORMAT,
                         "%s:%lld: neither a line of a training log nor an evaluation as JSON",
                         ll_text_show(name).text, line);
    }
    if (st == LLAP_OK && c->n == 0 && c->anchors.n == 0)
        st = ll_fail(LLAP_EFORMAT, "%s: no step of a training in it", ll_text_show(name).text);
    return st;
}

/* Losses of single steps are noisy: a running mean over a fiftieth of the stage. It replaces them.
 */
static void smooth(stage *s)
{
    const double keep = 1 - 1 / fmax(1, (double)s->n / 50);
    double       mean = NAN;
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->loss[i])) continue;
        mean = isnan(mean) ? s->loss[i] : keep * mean + (1 - keep) * s->loss[i];
        s->loss[i] = mean;
    }
}

/* Its loss, and beside it the score: they are on scales of their own. */
static void draw_stage(ll_canvas *canvas, double head, int i, int n, stage *s)
{
    const double first = s->step[0], last = s->step[s->n - 1];
    char         title[96];
    smooth(s);
    for (int k = 0; k < 2; k++) {
        const double *y = k == 0 ? s->loss : s->score;
        ll_chart      c = field(canvas, head, 2 * i + k, n, first, last, 0, 1);
        ll_chart_range_begin(&c);
        ll_chart_range(&c, (int64_t)s->n, y);
        ll_chart_range_end(&c);
        snprintf(title, sizeof title, "%s: %s", s->name, k == 0 ? "loss" : "score");
        axes(&c, title, "step", "");
        if (k == 0) ll_chart_line(&c, (int64_t)s->n, s->step, y, 1.3, LL_COLOUR_BLUE);
        else ll_chart_dots(&c, (int64_t)s->n, s->step, y, 2.4, LL_COLOUR_ORANGE);
    }
}

static void draw_keys(ll_canvas *canvas)
{
    const double x =
        ll_chart_key(canvas, LEFT, 72, LL_KEY_LINE, LL_COLOUR_BLUE, "loss (running mean)");
    ll_chart_key(canvas, x, 72, LL_KEY_DOT, LL_COLOUR_ORANGE, "score on validation");
}

static llap_status plot_curves(const char *text, size_t n, const char *name, const char *path)
{
    curves      *c = ll_new(1, sizeof *c);
    ll_canvas   *canvas = NULL;
    llap_status  st = c == NULL ? LLAP_ENOMEM : read_curves(text, n, name, c);
    const double head = HEAD + (st == LLAP_OK ? ll_candidates_height(&c->anchors) : 0);
    const char  *slash = strrchr(name, '/');
    if (st == LLAP_OK)
        st = open_page(path, "Training", slash == NULL ? name : slash + 1, head, 2 * c->n, &canvas);
    if (st == LLAP_OK) {
        ll_candidates_draw(&c->anchors, canvas, HEAD - (c->n == 0 ? 12 : 0), PAGE);
        if (c->n > 0) draw_keys(canvas);
        for (int i = 0; i < c->n; i++) draw_stage(canvas, head, i, 2 * c->n, &c->stage[i]);
        st = ll_canvas_commit(canvas);
    }
    ll_canvas_destroy(canvas);
    if (c != NULL) curves_deinit(c);
    ll_free(c);
    return st;
}

/* ---- calibration ---- */

static void draw_pit(ll_canvas *canvas, int i, int n, const char *title, const double *share,
                     size_t bins)
{
    double most = 2.0 / (double)bins;
    for (size_t k = 0; k < bins; k++) most = fmax(most, 1.05 * share[k]);
    const ll_chart c = field(canvas, HEAD, i, n, 0, 1, 0, most * (double)bins);
    axes(&c, title, "place of the truth within the forecast", "density");
    for (size_t k = 0; k < bins; k++) {
        const double x = ll_chart_x(&c, (double)k / (double)bins);
        const double y = ll_chart_y(&c, share[k] * (double)bins);
        ll_canvas_rect(canvas, x, y, c.width / (double)bins - 1, c.top + c.height - y,
                       LL_COLOUR_BLUE);
    }
    ll_chart_line(&c, 2, (const double[]){ 0, 1 }, (double[]){ 1, 1 }, 1.5, LL_COLOUR_ORANGE);
}

/* How often the truth lies below the quantile p, for the edges p of the bins. */
static void draw_reliability(ll_canvas *canvas, int i, int n, const char *title,
                             const double *share, size_t bins)
{
    const ll_chart c = field(canvas, HEAD, i, n, 0, 1, 0, 1);
    double         below = 0;
    axes(&c, title, "probability forecast", "share of truths below");
    ll_chart_line(&c, 2, (const double[]){ 0, 1 }, (double[]){ 0, 1 }, 1.5, LL_COLOUR_ORANGE);
    for (size_t k = 0; k <= bins; k++) {
        const double p = (double)k / (double)bins;
        ll_chart_dots(&c, 1, &p, &(double){ fmin(below, 1) }, 2.4, LL_COLOUR_BLUE);
        if (k < bins) below += share[k];
    }
}

/* A row of two fields. */
static llap_status draw_target(ll_canvas *canvas, const ll_json *j, int i, int n)
{
    char        key[64], title[160];
    const char *name = "";
    double     *share = NULL;
    size_t      bins = 0;
    snprintf(key, sizeof key, "targets[%d].name", i);
    llap_status st = ll_json_string(j, key, &name);
    snprintf(key, sizeof key, "targets[%d].scores[0].pit", i);
    if (st == LLAP_OK) st = ll_json_need(j, key);
    if (st == LLAP_OK) st = ll_json_doubles(j, key, 0, 1, &share, &bins);
    if (st == LLAP_OK && bins > 0) {
        snprintf(title, sizeof title, "%s: PIT", ll_text_show(name).text);
        draw_pit(canvas, 2 * i, 2 * n, title, share, bins);
        snprintf(title, sizeof title, "%s: reliability", ll_text_show(name).text);
        draw_reliability(canvas, 2 * i + 1, 2 * n, title, share, bins);
    }
    ll_free(share);
    return st;
}

static llap_status plot_calibration(const ll_json *j, const char *name, const char *path)
{
    const size_t all = ll_json_length(j, "targets");
    const int    n = all < FIELDS / 2 ? (int)all : FIELDS / 2;
    ll_canvas   *canvas = NULL;
    if (n == 0)
        return ll_fail(LLAP_EFORMAT, "%s: an evaluation without targets", ll_text_show(name).text);
    llap_status st = open_page(path, "Calibration",
                               "on the orange lines where the forecast's probabilities are right",
                               HEAD, 2 * n, &canvas);
    if (st == LLAP_OK) {
        const double x = ll_chart_key(canvas, LEFT, 72, LL_KEY_BOX, LL_COLOUR_BLUE, "model");
        ll_chart_key(canvas, x, 72, LL_KEY_LINE, LL_COLOUR_ORANGE, "calibrated");
    }
    for (int i = 0; st == LLAP_OK && i < n; i++) st = draw_target(canvas, j, i, n);
    if (st == LLAP_OK) st = ll_canvas_commit(canvas);
    ll_canvas_destroy(canvas);
    return st;
}

llap_status ll_plot_text(const char *text, size_t n, const char *name, const char *path)
{
    ll_picture  format;
    ll_json    *j = NULL;
    llap_status st = ll_picture_of(path, &format);
    if (st != LLAP_OK) return st;
    if (ll_json_parse(text, n, name, NULL, &j) == LLAP_OK && ll_json_has(j, "targets"))
        st = plot_calibration(j, name, path);
    else st = plot_curves(text, n, name, path);
    ll_json_destroy(j);
    return st;
}
