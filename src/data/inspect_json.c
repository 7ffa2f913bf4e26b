#include "base/json.h"
#include "data/clock.h"
#include "data/inspect.h"

/* Durations are told in seconds, or in the unit of an axis that has no other. */
static void put_duration(llap_json_writer *w, const char *key, int64_t ticks, const llap_axis *axis)
{
    const double per =
        axis->kind == LLAP_AXIS_NUMBER && axis->unit[0] == '\0' ? (double)axis->unit_ns : 1e9;
    llap_json_put_double(w, key, (double)ticks / per);
}

static void put_time(llap_json_writer *w, const char *key, int64_t t,
                     const llap_clock_writer *clock)
{
    char   text[LLAP_TIMEFMT_TEXT_MAX];
    size_t n;
    /* the file's own format may not hold every time; RFC 3339 does */
    llap_clock_writer plain = *clock;
    plain.formatted = plain.epoch = false;
    if (llap_clock_write(&plain, t, text, &n) == LLAP_OK) llap_json_put_string(w, key, text);
}

static void put_var(llap_json_writer *w, const char *name, const llap_inspect_var *v)
{
    llap_json_open(w, NULL, '{');
    llap_json_put_string(w, "name", name);
    llap_json_put_int(w, "observed", v->observed);
    llap_json_put_double(w, "coverage", v->coverage);
    llap_json_put_int(w, "entities", v->entities);
    llap_json_put_int(w, "constant_entities", v->constant_entities);
    llap_json_put_bool(w, "constant", v->constant);
    llap_json_put_int(w, "outliers", v->outliers);
    llap_json_put_double(w, "min", v->least);
    llap_json_put_double(w, "max", v->most);
    llap_json_put_double(w, "mean", v->mean);
    llap_json_put_double(w, "std", v->std);
    llap_json_open(w, "quartiles", '(');
    for (int q = 0; q < 3; q++) llap_json_put_double(w, NULL, v->quartile[q]);
    llap_json_close(w, ']');
    llap_json_close(w, '}');
}

static void put_gaps(llap_json_writer *w, const llap_gaps *g, const llap_axis *axis)
{
    llap_json_open(w, "gaps", '{');
    llap_json_put_int(w, "count", g->n);
    put_duration(w, "min", g->least, axis);
    put_duration(w, "median", g->median, axis);
    put_duration(w, "p95", g->p95, axis);
    put_duration(w, "max", g->most, axis);
    put_duration(w, "usual", g->usual, axis);
    llap_json_put_double(w, "usual_share", g->usual_share);
    llap_json_put_double(w, "multiple_share", g->multiple_share);
    llap_json_close(w, '}');
}

static void put_suggested(llap_json_writer *w, const llap_inspect *i, const llap_axis *axis)
{
    llap_json_open(w, "suggested", '{');
    put_duration(w, "grid", i->suggested.grid, axis);
    llap_json_put_double(w, "on_grid", i->suggested.regular);
    llap_json_put_int(w, "grid_points", i->suggested.points);
    put_duration(w, "context", i->suggested.context, axis);
    put_duration(w, "horizon", i->suggested.horizon, axis);
    llap_json_close(w, '}');
}

static void put_reading(llap_json_writer *w, const llap_csv_report *r)
{
    llap_json_open(w, "reading", '{');
    llap_json_open(w, "decision", '[');
    llap_json_put_string(w, NULL, r->decision[0]);
    llap_json_put_string(w, NULL, r->decision[1]);
    llap_json_close(w, ']');
    llap_json_put_int(w, "files", r->files);
    llap_json_put_int(w, "skipped_files", r->skipped_files);
    llap_json_put_int(w, "lines", r->lines);
    llap_json_put_int(w, "empty_lines", r->empty_lines);
    llap_json_put_int(w, "duplicates", r->rows.duplicate_cells);
    llap_json_put_int(w, "merged_rows", r->rows.merged_rows);
    llap_json_put_int(w, "unordered", r->rows.unordered);
    llap_json_put_int(w, "coded_missing", r->coded_missing);
    llap_json_put_int(w, "text_cells", r->text_cells);
    llap_json_put_int(w, "bad_cells", r->bad_cells);
    llap_json_put_int(w, "infinite_cells", r->infinite_cells);
    llap_json_put_int(w, "out_of_range", r->out_of_range);
    llap_json_close(w, '}');
}

static void put_time_axis(llap_json_writer *w, const llap_inspect *i,
                          const llap_clock_writer *clock)
{
    const llap_axis *axis = &clock->axis;
    llap_json_open(w, "time", '{');
    llap_json_put_string(w, "kind", axis->kind == LLAP_AXIS_NUMBER ? "number" : "calendar");
    if (axis->kind == LLAP_AXIS_NUMBER) llap_json_put_string(w, "unit", axis->unit);
    else llap_json_put_string(w, "zone", axis->zone);
    put_time(w, "first", i->first, clock);
    put_time(w, "last", i->last, clock);
    llap_json_close(w, '}');
}

llap_status llap_inspect_json(const llap_inspect *i, const llap_panel *p,
                              const llap_csv_report *report, int indent, char **text, size_t *n)
{
    *text = NULL;
    llap_clock_writer clock;
    llap_status       st = llap_clock_writer_init(&clock, &p->axis);
    if (st != LLAP_OK) {
        llap_clock_writer_deinit(&clock);
        return st;
    }
    llap_json_writer w = { .indent = indent };
    llap_json_open(&w, NULL, '{');
    llap_json_put_int(&w, "entities", i->entities);
    llap_json_put_int(&w, "variables", i->vars);
    llap_json_put_int(&w, "rows", i->rows);
    llap_json_put_int(&w, "empty_rows", i->empty_rows);
    llap_json_put_int(&w, "observed", i->observed);
    llap_json_put_int(&w, "filled", i->filled);
    llap_json_put_double(&w, "coverage", i->coverage);
    put_time_axis(&w, i, &clock);
    llap_json_open(&w, "rows_per_entity", '(');
    llap_json_put_int(&w, NULL, i->rows_least);
    llap_json_put_int(&w, NULL, i->rows_median);
    llap_json_put_int(&w, NULL, i->rows_most);
    llap_json_close(&w, ']');
    put_gaps(&w, &i->gaps, &p->axis);
    llap_json_open(&w, "timestamps", '{');
    llap_json_put_int(&w, "count", i->timestamps);
    llap_json_put_double(&w, "coverage_min", i->joint_least);
    llap_json_put_double(&w, "coverage_median", i->joint_median);
    llap_json_put_double(&w, "coverage_mean", i->joint_mean);
    llap_json_close(&w, '}');
    put_suggested(&w, i, &p->axis);
    llap_json_open(&w, "variable", '[');
    for (int64_t v = 0; v < i->vars; v++) put_var(&w, p->var[v], &i->var[v]);
    llap_json_close(&w, ']');
    if (report != NULL) put_reading(&w, report);
    llap_json_close(&w, '}');
    st = llap_json_finish(&w, text, n);
    llap_clock_writer_deinit(&clock);
    return st;
}
