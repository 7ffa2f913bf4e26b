#include "plot/canvas.h"

#include "base/error.h"

#include <stddef.h>

/* Stands in for canvas.c where cairo was not found: no canvas is ever made. */

llap_status ll_canvas_create(const char *path, double width, double height, ll_canvas **out)
{
    (void)width, (void)height;
    *out = NULL;
    ll_picture  format;
    llap_status st = ll_picture_of(path, &format);
    if (st != LLAP_OK) return st;
    return ll_fail(LLAP_EUNSUPPORTED, "%s: no pictures: built without cairo", path);
}

llap_status ll_canvas_commit(ll_canvas *c)
{
    (void)c;
    return ll_fail(LLAP_EUNSUPPORTED, "no pictures: built without cairo");
}

bool ll_canvas_has_pages(const ll_canvas *c)
{
    (void)c;
    return false;
}

void ll_canvas_next_page(ll_canvas *c, double width, double height)
{
    (void)c, (void)width, (void)height;
}

void ll_canvas_destroy(ll_canvas *c) { (void)c; }

void ll_canvas_rect(ll_canvas *c, double x, double y, double w, double h, ll_colour colour)
{
    (void)c, (void)x, (void)y, (void)w, (void)h, (void)colour;
}

void ll_canvas_line(ll_canvas *c, double x0, double y0, double x1, double y1, double width,
                    ll_colour colour)
{
    (void)c, (void)x0, (void)y0, (void)x1, (void)y1, (void)width, (void)colour;
}

void ll_canvas_polyline(ll_canvas *c, const double *xy, int64_t n, double width, ll_colour colour)
{
    (void)c, (void)xy, (void)n, (void)width, (void)colour;
}

void ll_canvas_polygon(ll_canvas *c, const double *xy, int64_t n, ll_colour colour)
{
    (void)c, (void)xy, (void)n, (void)colour;
}

void ll_canvas_dot(ll_canvas *c, double x, double y, double radius, ll_colour colour)
{
    (void)c, (void)x, (void)y, (void)radius, (void)colour;
}

void ll_canvas_text(ll_canvas *c, double x, double y, ll_text_align align, double size,
                    ll_colour colour, const char *text)
{
    (void)c, (void)x, (void)y, (void)align, (void)size, (void)colour, (void)text;
}

double ll_canvas_text_width(ll_canvas *c, double size, const char *text)
{
    (void)c, (void)size, (void)text;
    return 0;
}
