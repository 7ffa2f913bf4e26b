/* Reading panels: the public options taken to those of the readers and of the timeline. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/time/duration.h"
#include "data/arrow/arrow.h"
#include "data/arrow_ipc/arrow_ipc.h"
#include "data/clock.h"
#include "data/csv/csv.h"
#include "data/csv/write.h"
#include "data/netcdf/netcdf.h"
#include "data/panel_merge.h"
#include "data/sql/sql.h"
#include "data/synth/synth.h"
#include "data/synth/weather.h"
#include "data/timeline.h"
#include "reading.h"
#include "store/store.h"

#include <assert.h>
#include <llapdiff/panel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "a,b" to a list closed by NULL, in the arena. NULL stays NULL. */
static llap_status split_list(ll_arena *a, const char *text, const char *const **out)
{
    *out = NULL;
    if (text == NULL) return LLAP_OK;
    size_t n = 1;
    for (const char *p = text; *p != '\0'; p++) n += *p == ',';
    const char **list = ll_arena_new(a, n + 1, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    size_t k = 0;
    for (const char *p = text;;) {
        const size_t len = strcspn(p, ",");
        if (len > 0 && (list[k++] = ll_arena_strndup(a, p, len)) == NULL) return LLAP_ENOMEM;
        if (p[len] == '\0') break;
        p += len + 1;
    }
    *out = (const char *const *)list;
    return LLAP_OK;
}

/* The options that choose among words; resolved, each has a value above 0 or is found out. */
static void csv_choices(const llap_read_opts *o, ll_csv_opts *c)
{
    assert(o->words > 0 && o->duplicates > 0 && o->twice > 0);
    c->form = (ll_csv_form)o->form;
    c->header = (ll_choice)o->header;
    c->join = (ll_choice)o->join;
    c->no_codes = o->codes == LLAP_READ_CODES_KEEP;
    c->text = o->words == LLAP_READ_WORDS_AUTO
                  ? LL_CSV_TEXT_AUTO
                  : (ll_csv_text)(o->words - LLAP_READ_WORDS_IGNORE + LL_CSV_TEXT_IGNORE);
    c->few_words = 20;
    c->levels = o->levels;
    c->bad_is_missing = o->bad == LLAP_READ_BAD_MISSING;
    c->duplicates = (ll_duplicates)(o->duplicates - LLAP_READ_DUPLICATES_LAST);
    c->unordered_is_error = o->unordered == LLAP_READ_UNORDERED_ERROR;
    c->infer_wall = o->twice == LLAP_READ_TWICE_INFER;
    if (!c->infer_wall) c->wall = (ll_wall)(o->twice - LLAP_READ_TWICE_ERROR);
}

/* Both ends of what tables without a time need. */
static llap_status count_rows(const llap_read_opts *o, ll_csv_opts *c)
{
    if (o->start == NULL && o->row_every == NULL) return LLAP_OK;
    if (o->start == NULL || o->row_every == NULL)
        return ll_fail(LLAP_EINVAL, "`start` and `row_every` are given together: the time of the "
                                    "first row, and how far apart rows are");
    if (o->time != NULL)
        return ll_fail(LLAP_EINVAL,
                       "`start` is for tables without a time column, `time` names one");
    c->start = o->start;
    llap_status st = ll_duration_parse(o->row_every, strlen(o->row_every), &c->row_every);
    if (st == LLAP_OK && c->row_every <= 0)
        st = ll_fail(LLAP_EINVAL, "expected a duration above 0, found '%s'",
                     ll_text_show(o->row_every).text);
    return st == LLAP_OK ? st : ll_fail_in(LLAP_EOPTION, "row_every");
}

static llap_status csv_opts(ll_arena *a, const llap_read_opts *o, ll_csv_opts *c)
{
    *c = LL_CSV_DEFAULT;
    c->entity = o->entity;
    c->time = o->time;
    c->variable = o->variable;
    c->value = o->value;
    c->time_format = o->time_format;
    c->time_unit = o->time_unit;
    c->zone = o->zone;
    c->separator = o->separator;
    c->decimal = o->decimal;
    c->skip_lines = o->skip_lines;
    c->comment = o->comment;
    c->quote = o->quote;
    c->log = o->log;
    csv_choices(o, c);
    llap_status st = LLAP_OK;
    if (o->decimal != 0 && o->decimal != '.' && o->decimal != ',')
        st = ll_fail(LLAP_EOPTION, "decimal: expected . or ',', found '%c'", o->decimal);
    if (st == LLAP_OK && o->comment != NULL && strlen(o->comment) > 2)
        st = ll_fail(LLAP_EOPTION, "comment: expected one or two characters, found '%s'",
                     ll_text_show(o->comment).text);
    if (st == LLAP_OK && o->columns != NULL && o->columns[strspn(o->columns, ",")] == '\0')
        st = ll_fail(LLAP_EOPTION, "columns: no name given");
    if (st == LLAP_OK) st = count_rows(o, c);
    if (st == LLAP_OK) st = split_list(a, o->columns, &c->columns);
    if (st == LLAP_OK) st = split_list(a, o->drop, &c->drop);
    if (st == LLAP_OK) st = split_list(a, o->missing, &c->missing);
    if (st == LLAP_OK) st = split_list(a, o->circular, &c->circular);
    if (st == LLAP_OK) st = split_list(a, o->coded, &c->coded);
    return st;
}

static llap_status timeline_opts(const llap_read_opts *o, ll_timeline_opts *t)
{
    llap_status st = LLAP_OK;
    const bool  forward = o->fill == LLAP_READ_FILL_FORWARD;
    assert(o->bin > 0 && o->agg > 0);
    *t = LL_TIMELINE_DEFAULT;
    t->bin = (ll_bin)(o->bin - LLAP_READ_BIN_NEAREST);
    t->agg = (ll_agg)(o->agg - LLAP_READ_AGG_MEAN);
    t->fill = forward ? LL_FILL_GRID : LL_FILL_NONE;
    t->columns =
        o->columns_kept == LLAP_READ_COLUMNS_KEPT_COMMON ? LL_COLUMNS_COMMON : LL_COLUMNS_ALL;
    t->half = o->half == LLAP_READ_HALF_YES;
    t->row_min = o->row_min;
    t->row_min_filled = forward;
    if (o->grid == NULL || strcmp(o->grid, "none") == 0) return st;
    t->grid = strcmp(o->grid, "auto") == 0 ? LL_GRID_AUTO : LL_GRID_STEP;
    if (t->grid == LL_GRID_AUTO) return LLAP_OK;
    st = ll_duration_parse(o->grid, strlen(o->grid), &t->step);
    if (st == LLAP_OK && t->step <= 0)
        st = ll_fail(LLAP_EINVAL, "expected a duration above 0, found '%s'",
                     ll_text_show(o->grid).text);
    return st == LLAP_OK ? st : ll_fail_in(LLAP_EOPTION, "grid");
}

/* What is said about times, each by itself, before any file is opened. */
static llap_status check_times(const llap_read_opts *o)
{
    const bool epoch = o->time_format != NULL && strcmp(o->time_format, "epoch") == 0;
    const struct {
        const char *name, *value, *format, *unit, *zone;
    } said[] = {
        { "time_format", o->time_format, o->time_format, NULL, NULL },
        { "time_unit", o->time_unit, epoch ? "epoch" : "number", o->time_unit, NULL },
        { "zone", o->zone, "rfc3339", NULL, o->zone },
    };
    llap_status st = LLAP_OK;
    for (int i = 0; i < 3 && st == LLAP_OK; i++) {
        ll_clock c = { 0 };
        if (said[i].value != NULL)
            st = ll_clock_init(&c, said[i].format, said[i].unit, said[i].zone);
        ll_clock_deinit(&c);
        if (st == LLAP_EINVAL || st == LLAP_EFORMAT || st == LLAP_ELIMIT)
            st = ll_fail_in(LLAP_EOPTION, "%s", said[i].name);
    }
    return st;
}

/* What only texts need. */
static llap_status refuse_csv_options(const llap_read_opts *given)
{
    static const char *const text_only[] = {
        "variable", "value", "time_format", "time_unit",  "zone",    "twice", "separator",
        "decimal",  "quote", "form",        "header",     "codes",   "words", "bad",
        "circular", "coded", "unordered",   "skip_lines", "comment", "start", "row_every"
    };
    for (size_t i = 0; i < sizeof text_only / sizeof *text_only; i++)
        if (llap_option_given(llap_option_find(llap_read_options(), text_only[i]), given))
            return ll_fail(LLAP_EINVAL, "%s: is for CSV; a NetCDF file says this itself",
                           text_only[i]);
    return LLAP_OK;
}

static llap_status read_netcdf(const char *const *paths, size_t n, const llap_read_opts *o,
                               const ll_csv_opts *csv, llap_panel **out)
{
    ll_netcdf_opts nc = LL_NETCDF_DEFAULT;
    nc.columns = csv->columns;
    nc.time = o->time;
    nc.station = o->entity;
    nc.duplicates = csv->duplicates;
    nc.log = o->log;
    llap_status st = refuse_csv_options(o);
    if (st != LLAP_OK) return st;
    if (n == 1 && csv->drop == NULL && csv->missing == NULL)
        return ll_netcdf_read(paths[0], &nc, out, NULL);
    llap_panel **part = ll_new(n, sizeof *part);
    if (part == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        st = ll_netcdf_read(paths[i], &nc, &part[i], NULL);
    const ll_merge_opts how = { csv->duplicates, csv->drop, csv->missing };
    if (st == LLAP_OK) st = ll_panels_merge((const llap_panel *const *)part, n, &how, out);
    for (size_t i = 0; i < n; i++) llap_panel_destroy(part[i]);
    ll_free(part);
    return st;
}

/* Says what was decided, and gives the report to the panel. */
static llap_status finish_report(llap_status st, const llap_log *log, ll_csv_report *report,
                                 llap_panel **out)
{
    for (int i = 0; st == LLAP_OK && i < 2; i++)
        ll_logf(log, LLAP_LOG_INFO, "%s", report->decision[i]);
    if (st == LLAP_OK) (*out)->reading = report;
    else ll_free(report);
    return st;
}

/* What a table that is no text has no use for. */
static llap_status refuse_text_options(const llap_read_opts *given, const char *what)
{
    static const char *const text_only[] = { "separator", "decimal",    "quote",
                                             "header",    "skip_lines", "comment",
                                             "join",      "start",      "row_every" };
    for (size_t i = 0; i < sizeof text_only / sizeof *text_only; i++)
        if (llap_option_given(llap_option_find(llap_read_options(), text_only[i]), given))
            return ll_fail(LLAP_EOPTION, "%s: is for CSV; %s has none", text_only[i], what);
    return LLAP_OK;
}

/* What a database answers, or the readings of a stream in it. */
static llap_status read_database(const char *address, const llap_read_opts *o,
                                 const ll_csv_opts *csv, llap_panel **out)
{
    ll_sql_url     u;
    char          *query = NULL;
    ll_csv_report *report = NULL;
    llap_status    st = refuse_text_options(o, "a database");
    if (st != LLAP_OK) return st;
    st = ll_sql_url_init(&u, address);
    if (st == LLAP_OK && u.stream != NULL) st = ll_store_query(u.stream, &query);
    if (st == LLAP_OK && (report = ll_new(1, sizeof *report)) == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK)
        st = ll_sql_read(&(ll_sql_source){ &u, query, query != NULL }, csv, out, report);
    ll_free(query);
    ll_sql_url_deinit(&u);
    return finish_report(st, o->log, report, out);
}

/* Databases have no others beside them. */
static llap_status check_alone(const char *const *paths, size_t n)
{
    for (size_t i = 0; n > 1 && i < n; i++)
        if (ll_sql_is_url(paths[i]))
            return ll_fail(LLAP_EINVAL,
                           "source %zu is a database, and has no others beside it: "
                           "join them in its query",
                           i + 1);
    return LLAP_OK;
}

/* Files of NetCDF, or of CSV. */
static llap_status read_files(const char *const *paths, size_t n, const llap_read_opts *o,
                              const ll_csv_opts *csv, llap_panel **out)
{
    size_t      n_netcdf = 0;
    llap_status st = check_alone(paths, n);
    if (st == LLAP_OK && n == 1 && ll_sql_is_url(paths[0]))
        return read_database(paths[0], o, csv, out);
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        if (strcmp(paths[i], "-") != 0 && ll_pack_detect(paths[i]))
            return n == 1 ? ll_read_packed(paths[0], o, out)
                          : ll_fail(LLAP_EINVAL,
                                    "%s: is a packed panel, and has no others beside it: pack all "
                                    "of the files together",
                                    paths[i]);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        bool yes = false;
        /* what cannot be looked into, folders say, is left to the reader of CSV and its message */
        if (strcmp(paths[i], "-") != 0) (void)ll_netcdf_detect(paths[i], &yes);
        if (yes && n_netcdf++ != i)
            st = ll_fail(LLAP_EINVAL,
                         "%s: is NetCDF, the other files are not: read them separately", paths[i]);
    }
    if (st != LLAP_OK) return st;
    if (n_netcdf > 0 && n_netcdf < n)
        return ll_fail(LLAP_EINVAL, "%s: is not NetCDF, the other files are: read them separately",
                       paths[n_netcdf]);
    if (n_netcdf > 0) return read_netcdf(paths, n, o, csv, out);
    ll_csv_report *report = ll_new(1, sizeof *report);
    if (report == NULL) return LLAP_ENOMEM;
    return finish_report(ll_csv_read(paths, n, csv, out, report), o->log, report, out);
}

/* Takes the stream. */
static llap_status read_stream(struct ArrowArrayStream *stream, const llap_read_opts *given,
                               const ll_csv_opts *csv, llap_panel **out)
{
    ll_csv_report *report = ll_new(1, sizeof *report);
    llap_status st = report == NULL ? LLAP_ENOMEM : refuse_text_options(given, "a table in memory");
    if (st == LLAP_OK) st = ll_arrow_read(stream, csv, out, report);
    return finish_report(st, given->log, report, out);
}

/* Of a file that is in memory already: CSV, or a stream of Arrow. */
static llap_status read_bytes(const ll_reading *r, const llap_read_opts *o, const ll_csv_opts *csv,
                              llap_panel **out)
{
    if (ll_ipc_detect(r->bytes, r->n_bytes)) {
        struct ArrowArrayStream stream;
        ll_csv_opts             named = *csv;
        named.series = r->name;
        llap_status st = ll_ipc_open(r->bytes, r->n_bytes, &stream);
        if (st == LLAP_OK) st = read_stream(&stream, o, &named, out);
        if (stream.release != NULL) stream.release(&stream); /* options were wrong */
        return st;
    }
    ll_csv_report *report = ll_new(1, sizeof *report);
    if (report == NULL) return LLAP_ENOMEM;
    const llap_status st = ll_csv_read_memory(r->name, r->bytes, r->n_bytes, csv, out, report);
    return finish_report(st, o->log, report, out);
}

/* A grid loses values, which nobody should have to find out. */
static llap_status apply_timeline(llap_panel *raw, const ll_timeline_opts *t, const llap_log *log,
                                  llap_panel **out)
{
    ll_timeline_counts counts;
    const llap_status  st = ll_timeline_apply(raw, t, out, &counts);
    if (st != LLAP_OK) return st;
    if (counts.off_grid_cells > 0)
        ll_logf(log, LLAP_LOG_WARNING, "grid: %lld values lie off it and were left out",
                (long long)counts.off_grid_cells);
    if (counts.merged_cells > 0)
        ll_logf(log, LLAP_LOG_INFO, "grid: %lld values went into one with others (%s)",
                (long long)counts.merged_cells, t->agg == LL_AGG_MEAN ? "mean" : "last");
    if (counts.filled_cells > 0)
        ll_logf(log, LLAP_LOG_INFO, "fill: %lld cells carry the value before them",
                (long long)counts.filled_cells);
    if (counts.dropped_rows + counts.dropped_entities + counts.dropped_vars > 0)
        ll_logf(log, LLAP_LOG_WARNING, "left out: %lld %s, %lld %s, %lld %s",
                (long long)counts.dropped_rows, counts.dropped_rows == 1 ? "row" : "rows",
                (long long)counts.dropped_entities,
                counts.dropped_entities == 1 ? "entity" : "entities",
                (long long)counts.dropped_vars,
                counts.dropped_vars == 1 ? "variable" : "variables");
    if (counts.half_overflows > 0)
        ll_logf(log, LLAP_LOG_WARNING, "half: %lld values are too large for it, now missing",
                (long long)counts.half_overflows);
    (*out)->reading = raw->reading;
    raw->reading = NULL;
    return LLAP_OK;
}

llap_status ll_read(const ll_reading *r, const llap_read_opts *given, llap_panel **out)
{
    *out = NULL;
    ll_arena         arena = { 0 };
    llap_read_opts   o;
    ll_csv_opts      csv;
    ll_timeline_opts timeline = LL_TIMELINE_DEFAULT;
    llap_panel      *raw = NULL;
    llap_status      st = llap_options_resolve(llap_read_options(), given, &o, sizeof o);
    if (st == LLAP_OK) st = csv_opts(&arena, &o, &csv);
    if (st == LLAP_OK) st = check_times(&o);
    if (st == LLAP_OK) st = timeline_opts(&o, &timeline);
    csv.pack = r->pack;
    csv.memory = r->memory;
    if (st == LLAP_OK)
        st = r->stream != NULL ? read_stream(r->stream, given, &csv, &raw)
             : r->name != NULL ? read_bytes(r, given, &csv, &raw)
                               : read_files(r->paths, r->n_paths, given, &csv, &raw);
    if (r->stream != NULL && r->stream->release != NULL) r->stream->release(r->stream);
    const bool asked = timeline.grid != LL_GRID_NONE || timeline.fill != LL_FILL_NONE ||
                       timeline.columns != LL_COLUMNS_ALL || timeline.half || timeline.row_min > 0;
    if (st == LLAP_OK && asked) {
        st = apply_timeline(raw, &timeline, o.log, out);
        llap_panel_destroy(raw);
    } else if (st == LLAP_OK) {
        *out = raw;
    }
    ll_arena_deinit(&arena);
    return st;
}

llap_status llap_panel_read(const char *const *paths, size_t n_paths, const llap_read_opts *given,
                            llap_panel **out)
{
    return ll_read(&(ll_reading){ .paths = paths, .n_paths = n_paths }, given, out);
}

llap_status llap_panel_read_memory(const char *name, const void *bytes, size_t n,
                                   const llap_read_opts *given, llap_panel **out)
{
    return ll_read(&(ll_reading){ .name = name, .bytes = bytes, .n_bytes = n }, given, out);
}

llap_status llap_panel_from_arrow(struct ArrowArrayStream *stream, const llap_read_opts *given,
                                  llap_panel **out)
{
    return ll_read(&(ll_reading){ .stream = stream }, given, out);
}

static llap_status write_packed(const llap_panel *p, const char *path)
{
    ll_pack_writer *w;
    llap_status     st = ll_pack_writer_open(path, 0, &w);
    if (st == LLAP_OK) st = ll_pack_panel(w, p);
    ll_pack_writer_close(w);
    return st;
}

llap_status llap_panel_write_as(const llap_panel *p, const char *path, llap_table_form form)
{
    const size_t n = strlen(path);
    if (n > 6 && strcmp(path + n - 6, ".panel") == 0)
        return form == LLAP_TABLE_DEFAULT
                   ? write_packed(p, path)
                   : ll_fail(LLAP_EOPTION, "form: '%s': a packed panel has none", path);
    const llap_status st = ll_panel_verify_all(p);
    if (st != LLAP_OK) return st;
    if (n > 3 && strcmp(path + n - 3, ".nc") == 0)
        return form == LLAP_TABLE_DEFAULT
                   ? ll_netcdf_write(p, path, &LL_NETCDF_DEFAULT)
                   : ll_fail(LLAP_EOPTION, "form: '%s': NetCDF has none", path);
    ll_csv_write_opts o = LL_CSV_WRITE_DEFAULT;
    if (form == LLAP_TABLE_LONG) o.form = LL_CSV_LONG;
    return ll_csv_write(p, ll_file_or_stdout(path), &o);
}

llap_status llap_panel_write(const llap_panel *p, const char *path)
{
    return llap_panel_write_as(p, path, LLAP_TABLE_DEFAULT);
}

llap_status llap_panel_synth(const llap_synth_sizes *given, llap_panel **out)
{
    *out = NULL;
    llap_synth_sizes o;
    llap_status      st = llap_options_resolve(llap_synth_options(), given, &o, sizeof o);
    if (st != LLAP_OK) return st;
    if (o.kind == LLAP_SYNTH_KIND_WEATHER && o.variables != 0 && o.variables != 2)
        return ll_fail(LLAP_EOPTION, "variables: weather has 2, found %lld",
                       (long long)o.variables);
    if (o.kind == LLAP_SYNTH_KIND_WEATHER)
        return ll_weather_panel(&(ll_weather_opts){ o.entities, o.rows, (uint64_t)o.seed }, out);
    ll_synth_opts so = LL_SYNTH_DEFAULT;
    ll_synth     *s = NULL;
    so.n_entities = o.entities;
    so.n_vars = o.variables > 0 ? o.variables : 3;
    so.n_rows = o.rows;
    so.seed = (uint64_t)o.seed;
    st = ll_synth_create(&so, &s);
    if (st == LLAP_OK) st = ll_synth_panel(s, out);
    ll_synth_destroy(s);
    return st;
}
