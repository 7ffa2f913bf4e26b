/* A page to draw on: rectangles, lines and text, written as PNG, SVG or PDF.
 *
 *     llap_canvas *c;
 *     llap_status  st = llap_canvas_create("air.svg", 960, 600, &c);
 *     llap_canvas_rect(c, 10, 10, 200, 80, LLAP_COLOUR_BLUE);
 *     llap_canvas_text(c, 110, 60, LLAP_TEXT_CENTRE, 12, LLAP_COLOUR_INK, "air");
 *     if (st == LLAP_OK) st = llap_canvas_commit(c);
 *     llap_canvas_destroy(c);
 *
 * Lengths are points (a PNG has two pixels to one), y grows downwards, the page starts white. An
 * error while drawing is kept and reported by commit; drawing on NULL does nothing. The same calls
 * give the same bytes. In an SVG the letters are outlines, so the words also stand in its
 * description, for search and for readers that speak.
 *
 * canvas.c alone sees cairo, which it loads on create; built without it, create answers
 * LLAP_EUNSUPPORTED (canvas_none.c). */
#ifndef LLAP_PLOT_CANVAS_H
#define LLAP_PLOT_CANVAS_H

#include "plot/picture.h"

typedef struct llap_canvas llap_canvas;

/* The format is that of the path's end (plot/picture.h). The file appears, or is replaced, by
 * commit. Caller owns *out (llap_canvas_destroy); NULL on failure.
 * LLAP_EOPTION: no such format. LLAP_EUNSUPPORTED: no cairo. LLAP_EIO, LLAP_ENOTFOUND, LLAP_ENOMEM.
 */
llap_status llap_canvas_create(const char *path, double width, double height, llap_canvas **out);
llap_status llap_canvas_commit(llap_canvas *c);
void        llap_canvas_destroy(llap_canvas *c); /* NULL is fine */

void llap_canvas_rect(llap_canvas *c, double x, double y, double w, double h, llap_colour colour);
void llap_canvas_line(llap_canvas *c, double x0, double y0, double x1, double y1, double width,
                      llap_colour colour);

/* Lines from point to point, n of them in xy [n,2]; and what they enclose. */
void llap_canvas_polyline(llap_canvas *c, const double *xy, int64_t n, double width,
                          llap_colour colour);
void llap_canvas_polygon(llap_canvas *c, const double *xy, int64_t n, llap_colour colour);
void llap_canvas_dot(llap_canvas *c, double x, double y, double radius, llap_colour colour);

typedef enum llap_text_align { LLAP_TEXT_LEFT, LLAP_TEXT_CENTRE, LLAP_TEXT_RIGHT } llap_text_align;

/* One line of valid UTF-8 whose base line is y. */
void   llap_canvas_text(llap_canvas *c, double x, double y, llap_text_align align, double size,
                        llap_colour colour, const char *text);
double llap_canvas_text_width(llap_canvas *c, double size, const char *text);

#endif
