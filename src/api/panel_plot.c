/* The picture of a panel: of all entities, of some, on pages, or one of each in a folder. */
#include "folder.h"

#include "base/alloc.h"
#include "data/panel_pick.h"
#include "plot/inspect_plot.h"
#include "predict/view/only.h"

#include <llapdiff/panel.h>
#include <string.h>

/* Of a long list the overview, then LL_PLOT_LINES entities on a page. */
static llap_status draw_pages(const llap_panel *p, const char *path)
{
    ll_canvas  *c = NULL;
    bool       *keep = ll_new((size_t)p->n_entities + 1, sizeof *keep);
    llap_status st = keep == NULL ? LLAP_ENOMEM : ll_plot_inspect_page(p, path, &c);
    for (int64_t at = 0; st == LLAP_OK && at < p->n_entities; at += LL_PLOT_LINES) {
        llap_panel *page = NULL;
        for (int64_t e = 0; e < p->n_entities; e++) keep[e] = e >= at && e < at + LL_PLOT_LINES;
        st = ll_panel_pick(p, keep, &page);
        if (st == LLAP_OK) st = ll_plot_inspect_page(page, path, &c);
        llap_panel_destroy(page);
    }
    if (st == LLAP_OK) st = ll_canvas_commit(c);
    ll_canvas_destroy(c);
    ll_free(keep);
    return st;
}

static llap_status draw_folder(const llap_panel *p, const char *folder)
{
    bool         made, *keep = ll_new((size_t)p->n_entities + 1, sizeof *keep);
    const size_t room = ll_folder_room(strlen(folder));
    char        *path = ll_new(room, 1);
    llap_status  st = path == NULL || keep == NULL ? LLAP_ENOMEM : ll_folder_make(folder, &made);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        llap_panel *one = NULL;
        keep[e] = true;
        st = ll_panel_pick(p, keep, &one);
        keep[e] = false;
        ll_folder_file(folder, p->entity[e], e, path, room);
        if (st == LLAP_OK) st = ll_plot_inspect(one, path);
        llap_panel_destroy(one);
    }
    ll_free(path);
    ll_free(keep);
    return st;
}

static llap_status draw(const llap_panel *p, const char *path)
{
    ll_picture format;
    if (ll_folder_is(path)) return draw_folder(p, path);
    const llap_status st = ll_picture_of(path, &format);
    if (st != LLAP_OK) return st;
    return format == LL_PICTURE_PDF && p->n_entities > LL_PLOT_LINES ? draw_pages(p, path)
                                                                     : ll_plot_inspect(p, path);
}

llap_status llap_panel_plot_only(const llap_panel *p, const char *only, const char *path)
{
    llap_panel *some = NULL;
    if (only == NULL) return draw(p, path);
    bool       *keep = ll_new((size_t)p->n_entities + 1, sizeof *keep);
    llap_status st = keep == NULL ? LLAP_ENOMEM : ll_only_check(only, p);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
        keep[e] = ll_only_has(only, p->entity[e]);
    if (st == LLAP_OK) st = ll_panel_pick(p, keep, &some);
    if (st == LLAP_OK) st = draw(some, path);
    llap_panel_destroy(some);
    ll_free(keep);
    return st;
}

llap_status llap_panel_plot(const llap_panel *p, const char *path)
{
    return llap_panel_plot_only(p, NULL, path);
}
