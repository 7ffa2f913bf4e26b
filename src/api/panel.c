/* Reading panels: the public options taken to those of the readers and of the timeline. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "data/csv.h"
#include "data/timeline.h"

#include <llapdiff/panel.h>
#include <string.h>

/* "a,b" to a list closed by NULL, in the arena. NULL stays NULL. */
static llap_status split_list(llap_arena *a, const char *text, const char *const **out)
{
    *out = NULL;
    if (text == NULL) return LLAP_OK;
    size_t n = 1;
    for (const char *p = text; *p != '\0'; p++) n += *p == ',';
    const char **list = llap_arena_new(a, n + 1, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    size_t k = 0;
    for (const char *p = text;;) {
        const size_t len = strcspn(p, ",");
        if (len > 0 && (list[k++] = llap_arena_strndup(a, p, len)) == NULL) return LLAP_ENOMEM;
        if (p[len] == '\0') break;
        p += len + 1;
    }
    *out = (const char *const *)list;
    return LLAP_OK;
}

static llap_status csv_opts(llap_arena *a, const llap_read_opts *o, llap_csv_opts *c)
{
    *c = LLAP_CSV_DEFAULT;
    c->entity = o->entity;
    c->time = o->time;
    c->variable = o->variable;
    c->value = o->value;
    c->time_format = o->time_format;
    c->time_unit = o->time_unit;
    c->zone = o->zone;
    c->separator = o->separator;
    c->decimal = o->decimal;
    c->log = o->log;
    llap_status st = split_list(a, o->columns, &c->columns);
    if (st == LLAP_OK) st = split_list(a, o->drop, &c->drop);
    if (st == LLAP_OK) st = split_list(a, o->missing, &c->missing);
    if (st == LLAP_OK) st = split_list(a, o->circular, &c->circular);
    if (st == LLAP_OK) st = split_list(a, o->coded, &c->coded);
    return st;
}

/* Which of the names, closed by NULL, the text is; NULL is the first. */
static llap_status choose(const char *what, const char *text, const char *const *names, int *out)
{
    *out = 0;
    if (text == NULL) return LLAP_OK;
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return LLAP_OK;
        }
    const char *near = llap_text_nearest(text, names);
    return llap_fail(LLAP_EINVAL, "%s: '%s' is none of %s, %s%s%s%s", what,
                     llap_text_show(text).text, names[0], names[1], names[2] ? ", ..." : "",
                     near ? "; did you mean " : "", near ? near : "");
}

static llap_status timeline_opts(const llap_read_opts *o, llap_timeline_opts *t)
{
    static const char *const bins[] = { "nearest", "floor", "exact", NULL };
    static const char *const aggs[] = { "mean", "last", NULL };
    int                      bin = 0, agg = 0;
    *t = LLAP_TIMELINE_DEFAULT;
    llap_status st = choose("bin", o->bin, bins, &bin);
    if (st == LLAP_OK) st = choose("agg", o->agg, aggs, &agg);
    t->bin = (llap_bin)bin;
    t->agg = (llap_agg)agg;
    if (st != LLAP_OK || o->grid == NULL || strcmp(o->grid, "none") == 0) return st;
    t->grid = strcmp(o->grid, "auto") == 0 ? LLAP_GRID_AUTO : LLAP_GRID_STEP;
    if (t->grid == LLAP_GRID_AUTO) return LLAP_OK;
    st = llap_duration_parse(o->grid, strlen(o->grid), &t->step);
    return st == LLAP_OK ? st : llap_fail_in(LLAP_EINVAL, "grid");
}

llap_status llap_panel_read(const char *const *paths, size_t n_paths, const llap_read_opts *o,
                            llap_panel **out)
{
    *out = NULL;
    llap_arena         arena = { 0 };
    llap_csv_opts      csv;
    llap_timeline_opts timeline;
    llap_csv_report   *report = llap_new(1, sizeof *report);
    llap_panel        *raw = NULL;
    llap_status        st = report == NULL ? LLAP_ENOMEM : csv_opts(&arena, o, &csv);
    if (st == LLAP_OK) st = timeline_opts(o, &timeline);
    if (st == LLAP_OK) st = llap_csv_read(paths, n_paths, &csv, &raw, report);
    if (st == LLAP_OK)
        for (int i = 0; i < 2; i++) llap_logf(o->log, LLAP_LOG_INFO, "%s", report->decision[i]);
    if (st == LLAP_OK && timeline.grid != LLAP_GRID_NONE) {
        st = llap_timeline_apply(raw, &timeline, out, NULL);
        llap_panel_destroy(raw);
    } else if (st == LLAP_OK) {
        *out = raw;
    }
    llap_arena_deinit(&arena);
    llap_free(report);
    return st;
}
