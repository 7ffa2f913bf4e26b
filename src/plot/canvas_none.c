#include "plot/canvas.h"

#include "base/error.h"

#include <stddef.h>

/* Stands in for canvas.c where cairo was not found: no canvas is ever made. */

llap_status llap_canvas_create(const char *path, double width, double height, llap_canvas **out)
{
    (void)width, (void)height;
    *out = NULL;
    llap_picture format;
    llap_status  st = llap_picture_of(path, &format);
    if (st != LLAP_OK) return st;
    return llap_fail(LLAP_EUNSUPPORTED, "%s: no pictures: built without cairo", path);
}

llap_status llap_canvas_commit(llap_canvas *c)
{
    (void)c;
    return llap_fail(LLAP_EUNSUPPORTED, "no pictures: built without cairo");
}

void llap_canvas_destroy(llap_canvas *c) { (void)c; }

void llap_canvas_rect(llap_canvas *c, double x, double y, double w, double h, llap_colour colour)
{
    (void)c, (void)x, (void)y, (void)w, (void)h, (void)colour;
}

void llap_canvas_line(llap_canvas *c, double x0, double y0, double x1, double y1, double width,
                      llap_colour colour)
{
    (void)c, (void)x0, (void)y0, (void)x1, (void)y1, (void)width, (void)colour;
}

void llap_canvas_polyline(llap_canvas *c, const double *xy, int64_t n, double width,
                          llap_colour colour)
{
    (void)c, (void)xy, (void)n, (void)width, (void)colour;
}

void llap_canvas_polygon(llap_canvas *c, const double *xy, int64_t n, llap_colour colour)
{
    (void)c, (void)xy, (void)n, (void)colour;
}

void llap_canvas_dot(llap_canvas *c, double x, double y, double radius, llap_colour colour)
{
    (void)c, (void)x, (void)y, (void)radius, (void)colour;
}

void llap_canvas_text(llap_canvas *c, double x, double y, llap_text_align align, double size,
                      llap_colour colour, const char *text)
{
    (void)c, (void)x, (void)y, (void)align, (void)size, (void)colour, (void)text;
}

double llap_canvas_text_width(llap_canvas *c, double size, const char *text)
{
    (void)c, (void)size, (void)text;
    return 0;
}
