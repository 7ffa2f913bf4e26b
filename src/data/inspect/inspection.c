/* What a panel is like, for callers outside: numbers, text, JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time/duration.h"
#include "data/clock.h"
#include "data/inspect/inspect.h"

#include <llapdiff/inspection.h>
#include <stdio.h>
#include <stdlib.h>

struct llap_inspection {
    const llap_panel         *p; /* borrowed */
    ll_inspect               *numbers;
    llap_inspection_info      info;
    llap_inspection_variable *var; /* [n_variables] */
};

static llap_inspection_info info_of(const ll_inspect *i)
{
    return (llap_inspection_info){ .n_entities = i->entities,
                                   .n_variables = i->vars,
                                   .n_rows = i->rows,
                                   .first = i->first,
                                   .last = i->last,
                                   .rows_least = i->rows_least,
                                   .rows_median = i->rows_median,
                                   .rows_most = i->rows_most,
                                   .observed = i->observed,
                                   .filled = i->filled,
                                   .coverage = i->coverage,
                                   .empty_rows = i->empty_rows,
                                   .timestamps = i->timestamps,
                                   .joint_least = i->joint_least,
                                   .joint_mean = i->joint_mean,
                                   .joint_median = i->joint_median,
                                   .n_gaps = i->gaps.n,
                                   .gap_least = i->gaps.least,
                                   .gap_median = i->gaps.median,
                                   .gap_p95 = i->gaps.p95,
                                   .gap_most = i->gaps.most,
                                   .gap_usual = i->gaps.usual,
                                   .gap_usual_share = i->gaps.usual_share,
                                   .gap_multiple_share = i->gaps.multiple_share,
                                   .grid = i->suggested.grid,
                                   .grid_share = i->suggested.regular,
                                   .grid_points = i->suggested.points,
                                   .context = i->suggested.context,
                                   .horizon = i->suggested.horizon };
}

static void add_reading(const ll_csv_report *r, llap_inspection_info *f)
{
    f->n_files = r->files;
    f->n_lines = r->lines;
    f->empty_lines = r->empty_lines;
    f->duplicate_cells = r->rows.duplicate_cells;
    f->unordered_rows = r->rows.unordered;
    f->coded_missing = r->coded_missing;
    f->infinite_cells = r->infinite_cells;
    f->text_cells = r->text_cells;
    f->bad_cells = r->bad_cells;
}

static llap_inspection_variable variable_of(const ll_inspect_var *v, const char *name)
{
    return (
        llap_inspection_variable){ .name = name,
                                   .observed = v->observed,
                                   .coverage = v->coverage,
                                   .entities = v->entities,
                                   .constant_entities = v->constant_entities,
                                   .constant = v->constant,
                                   .outliers = v->outliers,
                                   .least = v->least,
                                   .most = v->most,
                                   .mean = v->mean,
                                   .std = v->std,
                                   .quartile = { v->quartile[0], v->quartile[1], v->quartile[2] },
                                   .kind = ll_kind_names[v->kind],
                                   .percentage = v->percentage };
}

llap_status llap_inspection_create(const llap_panel *p, llap_inspection **out)
{
    *out = NULL;
    llap_inspection *i = ll_new(1, sizeof *i);
    if (i == NULL) return LLAP_ENOMEM;
    i->p = p;
    i->var = ll_new((size_t)p->n_vars, sizeof *i->var);
    llap_status st = i->var == NULL ? LLAP_ENOMEM : ll_inspect_create(p, &i->numbers);
    if (st != LLAP_OK) {
        llap_inspection_destroy(i);
        return st;
    }
    i->info = info_of(i->numbers);
    if (p->reading != NULL) add_reading(p->reading, &i->info);
    for (int64_t v = 0; v < p->n_vars; v++) i->var[v] = variable_of(&i->numbers->var[v], p->var[v]);
    *out = i;
    return LLAP_OK;
}

void llap_inspection_destroy(llap_inspection *i)
{
    if (i == NULL) return;
    ll_inspect_destroy(i->numbers);
    ll_free(i->var);
    ll_free(i);
}

const llap_inspection_info *llap_inspection_about(const llap_inspection *i) { return &i->info; }

const llap_inspection_variable *llap_inspection_at(const llap_inspection *i, int64_t variable)
{
    return variable < 0 || variable >= i->info.n_variables ? NULL : &i->var[variable];
}

/* ---- text and JSON ---- */

typedef struct shown {
    char text[LL_TIMEFMT_TEXT_MAX + 1];
} shown;

static shown time_text(const ll_clock_writer *w, int64_t t)
{
    shown  s;
    size_t n = 0;
    if (ll_clock_write(w, t, s.text, &n) != LLAP_OK) n = 0;
    s.text[n] = '\0';
    return s;
}

/* A gap: a duration, to the second where it is a minute or more (people read this), or a number
 * where the axis has no unit of time. */
static shown span_text(const llap_panel *p, int64_t ticks)
{
    const int64_t second = INT64_C(1000000000);
    shown         s;
    if (p->axis.kind == LL_AXIS_CALENDAR || *p->axis.unit != '\0')
        ll_duration_format(ticks < 60 * second ? ticks : (ticks + second / 2) / second * second,
                           s.text);
    else snprintf(s.text, sizeof s.text, "%g", (double)ticks / (double)p->axis.unit_ns);
    return s;
}

static void print_inspect(FILE *f, const ll_inspect *i, const llap_panel *p,
                          const ll_clock_writer *w)
{
    fprintf(f, "%lld %s, %lld %s (%lld to %lld each), %lld %s, %s to %s\n", (long long)i->entities,
            i->entities == 1 ? "entity" : "entities", (long long)i->rows,
            i->rows == 1 ? "row" : "rows", (long long)i->rows_least, (long long)i->rows_most,
            (long long)i->vars, i->vars == 1 ? "variable" : "variables",
            time_text(w, i->first).text, time_text(w, i->last).text);
    fprintf(f, "gaps: least %s, median %s, 95 %% %s, most %s; %.1f %% are %s\n",
            span_text(p, i->gaps.least).text, span_text(p, i->gaps.median).text,
            span_text(p, i->gaps.p95).text, span_text(p, i->gaps.most).text,
            100 * i->gaps.usual_share, span_text(p, i->gaps.usual).text);
    fprintf(f,
            "observed: %.1f %% of the cells; per timestamp %.1f %% at least, %.1f %% on average; "
            "%lld rows without a value\n",
            100 * i->coverage, 100 * i->joint_least, 100 * i->joint_mean, (long long)i->empty_rows);
    const ll_csv_report *r = p->reading;
    if (r != NULL)
        fprintf(f,
                "read: %lld lines of %lld %s (%lld empty); %lld values given twice, %lld rows "
                "out of order, %lld codes for missing, %lld infinite, %lld words left out\n",
                (long long)r->lines, (long long)r->files, r->files == 1 ? "file" : "files",
                (long long)r->empty_lines, (long long)r->rows.duplicate_cells,
                (long long)r->rows.unordered, (long long)r->coded_missing,
                (long long)r->infinite_cells, (long long)r->text_cells);
    const bool spans = i->suggested.horizon > 0;
    fprintf(f, "suggested: grid %s (%.1f %% of the rows lie on it), context %s, horizon %s\n",
            i->suggested.grid > 0 ? span_text(p, i->suggested.grid).text : "none",
            100 * i->suggested.regular, spans ? span_text(p, i->suggested.context).text : "none",
            spans ? span_text(p, i->suggested.horizon).text : "none");
    if (!spans)
        fprintf(f,
                "too short for a training: no context and horizon leave windows for all parts\n");
    else
        fprintf(f, "try: llapdiff train DATA --context %s --horizon %s%s%s -o MODEL\n",
                span_text(p, i->suggested.context).text, span_text(p, i->suggested.horizon).text,
                i->suggested.even ? " --shares 50,25,25" : "",
                i->suggested.apart ? " --split entity" : "");
    if (i->suggested.apart)
        fprintf(f, "entities do not overlap in time: --split entity tests on some that training "
                   "has not seen\n");
    fprintf(f, "\n  %-20s %9s %11s %11s %11s %11s %8s\n", "variable", "observed", "least", "median",
            "most", "deviation", "outliers");
    for (int64_t v = 0; v < i->vars; v++) {
        const ll_inspect_var *x = &i->var[v];
        fprintf(f, "  %-20s %8.1f%% %11.4g %11.4g %11.4g %11.4g %8lld%s%s%s%s\n",
                ll_text_show(p->var[v]).text, 100 * x->coverage, x->least, x->quartile[1], x->most,
                x->std, (long long)x->outliers, x->constant ? "  constant" : "",
                x->kind == LL_KIND_ANY ? "" : "  ",
                x->kind == LL_KIND_ANY ? "" : ll_kind_words(x->kind),
                x->percentage ? "  percentages?" : "");
    }
    for (int64_t v = 0; v < i->vars; v++) {
        const ll_text_shown name = ll_text_show(p->var[v]);
        if (i->var[v].percentage)
            fprintf(f,
                    "%s: if these are percentages, train with --min %s=0 --max "
                    "%s=100\n",
                    name.text, name.text, name.text);
    }
}

llap_status llap_inspection_text(const llap_inspection *i, char **text)
{
    ll_clock_writer w = { 0 };
    size_t          n;
    ll_memory_file  to;
    llap_status     st = ll_memory_file_open(&to);
    if (st == LLAP_OK) st = ll_clock_writer_init(&w, &i->p->axis);
    if (st == LLAP_OK) print_inspect(to.stream, i->numbers, i->p, &w);
    st = ll_memory_file_close(&to, st, text, &n);
    ll_clock_writer_deinit(&w);
    return st;
}

llap_status llap_inspection_json(const llap_inspection *i, char **text)
{
    size_t n = 0;
    return ll_inspect_json(i->numbers, i->p, i->p->reading, 2, text, &n);
}

llap_status llap_panel_inspect(const llap_panel *p, int json, char **text)
{
    llap_inspection *i = NULL;
    *text = NULL;
    llap_status st = llap_inspection_create(p, &i);
    if (st == LLAP_OK) st = json ? llap_inspection_json(i, text) : llap_inspection_text(i, text);
    llap_inspection_destroy(i);
    return st;
}
