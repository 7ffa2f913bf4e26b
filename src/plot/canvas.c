#include "plot/canvas.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

#include <assert.h>
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <dlfcn.h>
#include <string.h>

/* Cairo and what it brings take longer to load than the whole program to start: it is loaded when
 * a picture is wanted, and called through this table. */
#define CALLS(X)                           \
    X(cairo_arc)                           \
    X(cairo_close_path)                    \
    X(cairo_create)                        \
    X(cairo_destroy)                       \
    X(cairo_fill)                          \
    X(cairo_font_options_create)           \
    X(cairo_font_options_destroy)          \
    X(cairo_font_options_set_antialias)    \
    X(cairo_font_options_set_hint_metrics) \
    X(cairo_font_options_set_hint_style)   \
    X(cairo_image_surface_create)          \
    X(cairo_line_to)                       \
    X(cairo_move_to)                       \
    X(cairo_paint)                         \
    X(cairo_pdf_surface_create_for_stream) \
    X(cairo_pdf_surface_set_metadata)      \
    X(cairo_pdf_surface_set_size)          \
    X(cairo_rectangle)                     \
    X(cairo_scale)                         \
    X(cairo_select_font_face)              \
    X(cairo_set_antialias)                 \
    X(cairo_set_font_options)              \
    X(cairo_set_font_size)                 \
    X(cairo_set_line_join)                 \
    X(cairo_set_line_width)                \
    X(cairo_set_source_rgb)                \
    X(cairo_show_page)                     \
    X(cairo_show_text)                     \
    X(cairo_status)                        \
    X(cairo_status_to_string)              \
    X(cairo_stroke)                        \
    X(cairo_surface_destroy)               \
    X(cairo_surface_finish)                \
    X(cairo_surface_status)                \
    X(cairo_surface_write_to_png_stream)   \
    X(cairo_svg_surface_create_for_stream) \
    X(cairo_text_extents)

typedef struct calls {
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
} calls;

typedef struct bytes { /* grows; lost memory is noted by the canvas */
    char  *data;
    size_t n, room;
} bytes;

struct ll_canvas {
    calls            call;
    ll_picture       format;
    ll_writer        writer;
    llap_status      st; /* of our own part: the first failure stays */
    bytes            out, words;
    cairo_surface_t *surface;
    cairo_t         *cairo;
};

/* ---- making ---------------------------------------------------------------------------------- */

/* The library stays loaded: the fonts that it has found are kept for the next picture. */
static llap_status load(calls *out)
{
    void *lib = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (lib == NULL) return ll_fail(LLAP_EUNSUPPORTED, "no pictures: %s", dlerror());
    const char *lacking = NULL;
    void       *found;
#define X(name)                         \
    found = dlsym(lib, #name);          \
    if (found == NULL) lacking = #name; \
    memcpy(&out->name, &found, sizeof found);
    CALLS(X)
#undef X
    dlclose(lib);
    if (lacking == NULL) return LLAP_OK;
    return ll_fail(LLAP_EUNSUPPORTED, "no pictures: cairo lacks %s", lacking);
}

static void append(ll_canvas *c, bytes *b, const void *data, size_t n)
{
    if (c->st != LLAP_OK) return;
    if (b->room - b->n <= n) { /* a NUL follows */
        const size_t room = 2 * (b->n + n) + 4096;
        char        *grown = ll_grow(b->data, room, 1);
        if (grown == NULL) {
            c->st = LLAP_ENOMEM;
            return;
        }
        b->data = grown;
        b->room = room;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
    b->data[b->n] = '\0';
}

static cairo_status_t take(void *user, const unsigned char *data, unsigned n)
{
    ll_canvas *c = user;
    append(c, &c->out, data, n);
    return c->st == LLAP_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static llap_status status_of(const ll_canvas *c)
{
    if (c->st != LLAP_OK) return c->st;
    cairo_status_t s = c->call.cairo_surface_status(c->surface);
    if (s == CAIRO_STATUS_SUCCESS) s = c->call.cairo_status(c->cairo);
    if (s == CAIRO_STATUS_SUCCESS) return LLAP_OK;
    return ll_fail(s == CAIRO_STATUS_NO_MEMORY ? LLAP_ENOMEM : LLAP_EIO, "%s: cairo: %s",
                   c->writer.path, c->call.cairo_status_to_string(s));
}

/* Letters are placed alike in all formats: nothing is rounded to pixels. */
static void choose_font(ll_canvas *c)
{
    cairo_font_options_t *o = c->call.cairo_font_options_create();
    c->call.cairo_font_options_set_antialias(o, CAIRO_ANTIALIAS_GRAY);
    c->call.cairo_font_options_set_hint_style(o, CAIRO_HINT_STYLE_NONE);
    c->call.cairo_font_options_set_hint_metrics(o, CAIRO_HINT_METRICS_OFF);
    c->call.cairo_set_font_options(c->cairo, o);
    c->call.cairo_font_options_destroy(o);
    c->call.cairo_select_font_face(c->cairo, "sans", CAIRO_FONT_SLANT_NORMAL,
                                   CAIRO_FONT_WEIGHT_NORMAL);
}

static void paint_white(ll_canvas *c)
{
    c->call.cairo_set_source_rgb(c->cairo, 1, 1, 1);
    c->call.cairo_paint(c->cairo);
}

static void start(ll_canvas *c, double width, double height)
{
    const double pixels = c->format == LL_PICTURE_PNG ? 2 : 1; /* of a point */
    if (c->format == LL_PICTURE_PNG) {
        c->surface = c->call.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(width * pixels),
                                                        (int)(height * pixels));
    } else if (c->format == LL_PICTURE_SVG) {
        c->surface = c->call.cairo_svg_surface_create_for_stream(take, c, width, height);
    } else {
        c->surface = c->call.cairo_pdf_surface_create_for_stream(take, c, width, height);
        /* the same picture is the same file, whenever it is drawn */
        c->call.cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                               "1970-01-01T00:00:00Z");
    }
    c->cairo = c->call.cairo_create(c->surface);
    c->call.cairo_scale(c->cairo, pixels, pixels);
    paint_white(c);
    choose_font(c);
}

llap_status ll_canvas_create(const char *path, double width, double height, ll_canvas **out)
{
    *out = NULL;
    ll_picture  format;
    llap_status st = ll_picture_of(path, &format);
    if (st != LLAP_OK) return st;
    ll_canvas *c = ll_new(1, sizeof *c);
    if (c == NULL) return LLAP_ENOMEM;
    c->format = format;
    st = load(&c->call);
    if (st == LLAP_OK) st = ll_writer_open(path, &c->writer);
    if (st == LLAP_OK) {
        start(c, width, height);
        st = status_of(c);
    }
    if (st == LLAP_OK) *out = c;
    else ll_canvas_destroy(c);
    return st;
}

bool ll_canvas_has_pages(const ll_canvas *c) { return c != NULL && c->format == LL_PICTURE_PDF; }

void ll_canvas_next_page(ll_canvas *c, double width, double height)
{
    if (c == NULL) return;
    assert(c->format == LL_PICTURE_PDF);
    c->call.cairo_show_page(c->cairo);
    c->call.cairo_pdf_surface_set_size(c->surface, width, height);
    paint_white(c);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void set_colour(ll_canvas *c, ll_colour colour)
{
    c->call.cairo_set_source_rgb(c->cairo, (double)(colour >> 16 & 255) / 255,
                                 (double)(colour >> 8 & 255) / 255, (double)(colour & 255) / 255);
}

/* Without smoothing: neighbours meet without a seam. */
void ll_canvas_rect(ll_canvas *c, double x, double y, double w, double h, ll_colour colour)
{
    if (c == NULL) return;
    set_colour(c, colour);
    c->call.cairo_set_antialias(c->cairo, CAIRO_ANTIALIAS_NONE);
    c->call.cairo_rectangle(c->cairo, x, y, w, h);
    c->call.cairo_fill(c->cairo);
    c->call.cairo_set_antialias(c->cairo, CAIRO_ANTIALIAS_DEFAULT);
}

void ll_canvas_line(ll_canvas *c, double x0, double y0, double x1, double y1, double width,
                    ll_colour colour)
{
    if (c == NULL) return;
    set_colour(c, colour);
    c->call.cairo_set_line_width(c->cairo, width);
    c->call.cairo_move_to(c->cairo, x0, y0);
    c->call.cairo_line_to(c->cairo, x1, y1);
    c->call.cairo_stroke(c->cairo);
}

static void trace(ll_canvas *c, const double *xy, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        (i == 0 ? c->call.cairo_move_to : c->call.cairo_line_to)(c->cairo, xy[2 * i],
                                                                 xy[2 * i + 1]);
}

void ll_canvas_polyline(ll_canvas *c, const double *xy, int64_t n, double width, ll_colour colour)
{
    if (c == NULL || n < 2) return;
    set_colour(c, colour);
    c->call.cairo_set_line_width(c->cairo, width);
    c->call.cairo_set_line_join(c->cairo, CAIRO_LINE_JOIN_ROUND); /* no spikes at sharp turns */
    trace(c, xy, n);
    c->call.cairo_stroke(c->cairo);
}

void ll_canvas_polygon(ll_canvas *c, const double *xy, int64_t n, ll_colour colour)
{
    if (c == NULL || n < 3) return;
    set_colour(c, colour);
    trace(c, xy, n);
    c->call.cairo_close_path(c->cairo);
    c->call.cairo_fill(c->cairo);
}

void ll_canvas_dot(ll_canvas *c, double x, double y, double radius, ll_colour colour)
{
    if (c == NULL) return;
    set_colour(c, colour);
    c->call.cairo_arc(c->cairo, x, y, radius, 0, 6.283185307179586);
    c->call.cairo_fill(c->cairo);
}

double ll_canvas_text_width(ll_canvas *c, double size, const char *text)
{
    if (c == NULL) return 0;
    cairo_text_extents_t e;
    c->call.cairo_set_font_size(c->cairo, size);
    c->call.cairo_text_extents(c->cairo, text, &e);
    return e.x_advance;
}

static void note_word(ll_canvas *c, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<') append(c, &c->words, "&lt;", 4);
        else if (*text == '&') append(c, &c->words, "&amp;", 5);
        else if (*text == '>') append(c, &c->words, "&gt;", 4);
        else append(c, &c->words, text, 1);
    }
    append(c, &c->words, "\n", 1);
}

void ll_canvas_text(ll_canvas *c, double x, double y, ll_text_align align, double size,
                    ll_colour colour, const char *text)
{
    if (c == NULL) return;
    const double width = ll_canvas_text_width(c, size, text);
    const double part = align == LL_TEXT_LEFT ? 0 : align == LL_TEXT_CENTRE ? 0.5 : 1;
    set_colour(c, colour);
    c->call.cairo_move_to(c->cairo, x - part * width, y);
    c->call.cairo_show_text(c->cairo, text);
    if (c->format == LL_PICTURE_SVG) note_word(c, text);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The words behind the root's tag; and cairo numbers its pages through the life of the process,
 * which is no business of the file's. */
static llap_status put_svg(ll_canvas *c)
{
    static const char page[] = "<g id=\"surface";
    const char       *text = c->out.data;
    const char       *root = strstr(text, "<svg");
    const char       *body = root == NULL ? NULL : strchr(root, '>');
    const char       *number = body == NULL ? NULL : strstr(body, page);
    if (body == NULL) return ll_fail(LLAP_EIO, "%s: cairo wrote no SVG", c->writer.path);
    body++;
    llap_status st = ll_writer_put(&c->writer, text, (size_t)(body - text));
    if (st == LLAP_OK) st = ll_writer_put(&c->writer, "\n<desc>\n", 8);
    if (st == LLAP_OK && c->words.n > 0) st = ll_writer_put(&c->writer, c->words.data, c->words.n);
    if (st == LLAP_OK) st = ll_writer_put(&c->writer, "</desc>", 7);
    if (st == LLAP_OK && number != NULL) {
        number += sizeof page - 1;
        st = ll_writer_put(&c->writer, body, (size_t)(number - body));
        body = number + strspn(number, "0123456789");
    }
    if (st != LLAP_OK) return st;
    return ll_writer_put(&c->writer, body, c->out.n - (size_t)(body - text));
}

llap_status ll_canvas_commit(ll_canvas *c)
{
    llap_status st = status_of(c);
    if (st != LLAP_OK) return st;
    if (c->format == LL_PICTURE_PNG)
        (void)c->call.cairo_surface_write_to_png_stream(c->surface, take, c);
    else c->call.cairo_surface_finish(c->surface);
    st = status_of(c);
    if (st == LLAP_OK && c->out.n == 0)
        st = ll_fail(LLAP_EIO, "%s: cairo wrote nothing", c->writer.path);
    if (st == LLAP_OK)
        st = c->format == LL_PICTURE_SVG ? put_svg(c)
                                         : ll_writer_put(&c->writer, c->out.data, c->out.n);
    return st == LLAP_OK ? ll_writer_commit(&c->writer) : st;
}

void ll_canvas_destroy(ll_canvas *c)
{
    if (c == NULL) return;
    if (c->cairo != NULL) c->call.cairo_destroy(c->cairo);
    if (c->surface != NULL) c->call.cairo_surface_destroy(c->surface); /* may still call take */
    ll_writer_abort(&c->writer);
    ll_free(c->out.data);
    ll_free(c->words.data);
    ll_free(c);
}
