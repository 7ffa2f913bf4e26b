/* The picture of a panel: a map of which entity was observed when, and a histogram of the gaps
 * between rows.
 *
 *     st = ll_plot_inspect(panel, "air.png");
 *
 * The map has a line for each entity (beyond LL_PLOT_LINES, for several neighbours) and at most
 * LL_PLOT_COLUMNS columns of time. The colour of a field is the observed share of the cells of
 * its rows; a field without a row stays pale. */
#ifndef LL_PLOT_INSPECT_PLOT_H
#define LL_PLOT_INSPECT_PLOT_H

#include "data/gaps.h"
#include "plot/canvas.h"

#define LL_PLOT_LINES 60
#define LL_PLOT_COLUMNS 400
#define LL_PLOT_BARS 60

/* The numbers of the picture. */
typedef struct ll_coverage_map {
    int64_t  lines, columns; /* 0 and 0 without rows */
    int64_t  first;          /* time where column 0 begins */
    uint64_t width;          /* of a column, in ticks; a column holds its beginning, not its end */
    int64_t *rows;           /* [lines,columns] */
    int64_t *cells;          /* [lines,columns], observed ones */
} ll_coverage_map;

/* The line of an entity. */
int64_t ll_coverage_line(const ll_coverage_map *m, const llap_panel *p, int64_t entity);

/* Caller owns what is in *out (ll_coverage_deinit), also after a failure. */
llap_status ll_coverage_init(const llap_panel *p, const ll_gaps *g, ll_coverage_map *out);
void        ll_coverage_deinit(ll_coverage_map *m);

typedef struct ll_gap_bars { /* equal steps of the logarithm */
    double least, most;      /* ticks: left end of the first, right end of the last; 0 and 0
                                without gaps */
    int64_t count[LL_PLOT_BARS];
} ll_gap_bars;

void ll_gap_bars_fill(const llap_panel *p, const ll_gaps *g, ll_gap_bars *out);

/* Draws both. Errors as ll_canvas_create. */
llap_status ll_plot_inspect(const llap_panel *p, const char *path);
/* The same on a page of its own: of a picture that begins with it, where *canvas is NULL, else the
 * next of a PDF. The caller commits and destroys *canvas. */
llap_status ll_plot_inspect_page(const llap_panel *p, const char *path, ll_canvas **canvas);

#endif
