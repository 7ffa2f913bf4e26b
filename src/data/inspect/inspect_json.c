#include "base/json/json.h"
#include "data/clock.h"
#include "data/inspect/inspect.h"

/* Durations are told in seconds, or in the unit of an axis that has no other. */
static void put_duration(ll_json_writer *w, const char *key, int64_t ticks, const ll_axis *axis)
{
    const double per =
        axis->kind == LL_AXIS_NUMBER && axis->unit[0] == '\0' ? (double)axis->unit_ns : 1e9;
    ll_json_put_double(w, key, (double)ticks / per);
}

static void put_time(ll_json_writer *w, const char *key, int64_t t, const ll_clock_writer *clock)
{
    char   text[LL_TIMEFMT_TEXT_MAX];
    size_t n;
    /* the file's own format may not hold every time; RFC 3339 does */
    ll_clock_writer plain = *clock;
    plain.formatted = plain.epoch = false;
    if (ll_clock_write(&plain, t, text, &n) == LLAP_OK) ll_json_put_string(w, key, text);
}

static void put_var(ll_json_writer *w, const char *name, const ll_inspect_var *v)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", name);
    ll_json_put_int(w, "observed", v->observed);
    ll_json_put_double(w, "coverage", v->coverage);
    ll_json_put_int(w, "entities", v->entities);
    ll_json_put_int(w, "constant_entities", v->constant_entities);
    ll_json_put_bool(w, "constant", v->constant);
    ll_json_put_int(w, "outliers", v->outliers);
    ll_json_put_string(w, "kind", ll_kind_names[v->kind]);
    ll_json_put_bool(w, "percentage", v->percentage);
    ll_json_put_double(w, "min", v->least);
    ll_json_put_double(w, "max", v->most);
    ll_json_put_double(w, "mean", v->mean);
    ll_json_put_double(w, "std", v->std);
    ll_json_open(w, "quartiles", '(');
    for (int q = 0; q < 3; q++) ll_json_put_double(w, NULL, v->quartile[q]);
    ll_json_close(w, ']');
    ll_json_close(w, '}');
}

static void put_gaps(ll_json_writer *w, const ll_gaps *g, const ll_axis *axis)
{
    ll_json_open(w, "gaps", '{');
    ll_json_put_int(w, "count", g->n);
    put_duration(w, "min", g->least, axis);
    put_duration(w, "median", g->median, axis);
    put_duration(w, "p95", g->p95, axis);
    put_duration(w, "max", g->most, axis);
    put_duration(w, "usual", g->usual, axis);
    ll_json_put_double(w, "usual_share", g->usual_share);
    ll_json_put_double(w, "multiple_share", g->multiple_share);
    ll_json_close(w, '}');
}

static void put_suggested(ll_json_writer *w, const ll_inspect *i, const ll_axis *axis)
{
    ll_json_open(w, "suggested", '{');
    put_duration(w, "grid", i->suggested.grid, axis);
    ll_json_put_double(w, "on_grid", i->suggested.regular);
    ll_json_put_int(w, "grid_points", i->suggested.points);
    put_duration(w, "context", i->suggested.context, axis);
    put_duration(w, "horizon", i->suggested.horizon, axis);
    ll_json_close(w, '}');
}

static void put_reading(ll_json_writer *w, const ll_csv_report *r)
{
    ll_json_open(w, "reading", '{');
    ll_json_open(w, "decision", '[');
    ll_json_put_string(w, NULL, r->decision[0]);
    ll_json_put_string(w, NULL, r->decision[1]);
    ll_json_close(w, ']');
    ll_json_put_int(w, "files", r->files);
    ll_json_put_int(w, "skipped_files", r->skipped_files);
    ll_json_put_int(w, "lines", r->lines);
    ll_json_put_int(w, "empty_lines", r->empty_lines);
    ll_json_put_int(w, "duplicates", r->rows.duplicate_cells);
    ll_json_put_int(w, "merged_rows", r->rows.merged_rows);
    ll_json_put_int(w, "unordered", r->rows.unordered);
    ll_json_put_int(w, "coded_missing", r->coded_missing);
    ll_json_put_int(w, "text_cells", r->text_cells);
    ll_json_put_int(w, "bad_cells", r->bad_cells);
    ll_json_put_int(w, "infinite_cells", r->infinite_cells);
    ll_json_put_int(w, "out_of_range", r->out_of_range);
    ll_json_close(w, '}');
}

static void put_time_axis(ll_json_writer *w, const ll_inspect *i, const ll_clock_writer *clock)
{
    const ll_axis *axis = &clock->axis;
    ll_json_open(w, "time", '{');
    ll_json_put_string(w, "kind", axis->kind == LL_AXIS_NUMBER ? "number" : "calendar");
    if (axis->kind == LL_AXIS_NUMBER) ll_json_put_string(w, "unit", axis->unit);
    else ll_json_put_string(w, "zone", axis->zone);
    put_time(w, "first", i->first, clock);
    put_time(w, "last", i->last, clock);
    ll_json_close(w, '}');
}

llap_status ll_inspect_json(const ll_inspect *i, const llap_panel *p, const ll_csv_report *report,
                            int indent, char **text, size_t *n)
{
    *text = NULL;
    ll_clock_writer clock;
    llap_status     st = ll_clock_writer_init(&clock, &p->axis);
    if (st != LLAP_OK) {
        ll_clock_writer_deinit(&clock);
        return st;
    }
    ll_json_writer w = { .indent = indent };
    ll_json_open(&w, NULL, '{');
    ll_json_put_int(&w, "entities", i->entities);
    ll_json_put_int(&w, "variables", i->vars);
    ll_json_put_int(&w, "rows", i->rows);
    ll_json_put_int(&w, "empty_rows", i->empty_rows);
    ll_json_put_int(&w, "observed", i->observed);
    ll_json_put_int(&w, "filled", i->filled);
    ll_json_put_double(&w, "coverage", i->coverage);
    put_time_axis(&w, i, &clock);
    ll_json_open(&w, "rows_per_entity", '(');
    ll_json_put_int(&w, NULL, i->rows_least);
    ll_json_put_int(&w, NULL, i->rows_median);
    ll_json_put_int(&w, NULL, i->rows_most);
    ll_json_close(&w, ']');
    put_gaps(&w, &i->gaps, &p->axis);
    ll_json_open(&w, "timestamps", '{');
    ll_json_put_int(&w, "count", i->timestamps);
    ll_json_put_double(&w, "coverage_min", i->joint_least);
    ll_json_put_double(&w, "coverage_median", i->joint_median);
    ll_json_put_double(&w, "coverage_mean", i->joint_mean);
    ll_json_close(&w, '}');
    put_suggested(&w, i, &p->axis);
    ll_json_open(&w, "variable", '[');
    for (int64_t v = 0; v < i->vars; v++) put_var(&w, p->var[v], &i->var[v]);
    ll_json_close(&w, ']');
    if (report != NULL) put_reading(&w, report);
    ll_json_close(&w, '}');
    st = ll_json_finish(&w, text, n);
    ll_clock_writer_deinit(&clock);
    return st;
}
