/* A page to draw on: rectangles, lines and text, written as PNG, SVG or PDF.
 *
 *     ll_canvas *c;
 *     llap_status  st = ll_canvas_create("air.svg", 960, 600, &c);
 *     ll_canvas_rect(c, 10, 10, 200, 80, LL_COLOUR_BLUE);
 *     ll_canvas_text(c, 110, 60, LL_TEXT_CENTRE, 12, LL_COLOUR_INK, "air");
 *     if (st == LLAP_OK) st = ll_canvas_commit(c);
 *     ll_canvas_destroy(c);
 *
 * Lengths are points (a PNG has two pixels to one), y grows downwards, the page starts white. An
 * error while drawing is kept and reported by commit; drawing on NULL does nothing. The same calls
 * give the same bytes. In an SVG the letters are outlines, so the words also stand in its
 * description, for search and for readers that speak.
 *
 * canvas.c alone sees cairo, which it loads on create; built without it, create answers
 * LLAP_EUNSUPPORTED (canvas_none.c). */
#ifndef LL_PLOT_CANVAS_H
#define LL_PLOT_CANVAS_H

#include "plot/picture.h"

#include <stdbool.h>

typedef struct ll_canvas ll_canvas;

/* The format is that of the path's end (plot/picture.h). The file appears, or is replaced, by
 * commit. Caller owns *out (ll_canvas_destroy); NULL on failure.
 * LLAP_EOPTION: no such format. LLAP_EUNSUPPORTED: no cairo. LLAP_EIO, LLAP_ENOTFOUND, LLAP_ENOMEM.
 */
llap_status ll_canvas_create(const char *path, double width, double height, ll_canvas **out);
llap_status ll_canvas_commit(ll_canvas *c);

/* Only a PDF has pages: ends this one and starts another, white, of that size. */
bool ll_canvas_has_pages(const ll_canvas *c);
void ll_canvas_next_page(ll_canvas *c, double width, double height);

void ll_canvas_destroy(ll_canvas *c); /* NULL is fine */

void ll_canvas_rect(ll_canvas *c, double x, double y, double w, double h, ll_colour colour);
void ll_canvas_line(ll_canvas *c, double x0, double y0, double x1, double y1, double width,
                    ll_colour colour);

/* Lines from point to point, n of them in xy [n,2]; and what they enclose. */
void ll_canvas_polyline(ll_canvas *c, const double *xy, int64_t n, double width, ll_colour colour);
void ll_canvas_polygon(ll_canvas *c, const double *xy, int64_t n, ll_colour colour);
void ll_canvas_dot(ll_canvas *c, double x, double y, double radius, ll_colour colour);

typedef enum ll_text_align { LL_TEXT_LEFT, LL_TEXT_CENTRE, LL_TEXT_RIGHT } ll_text_align;

/* One line of valid UTF-8 whose base line is y. */
void   ll_canvas_text(ll_canvas *c, double x, double y, ll_text_align align, double size,
                      ll_colour colour, const char *text);
double ll_canvas_text_width(ll_canvas *c, double size, const char *text);

#endif
