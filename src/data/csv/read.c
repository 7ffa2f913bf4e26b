#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "data/csv/codes.h"
#include "data/csv/files.h"
#include "data/csv/reader.h"
#include "data/csv/table.h"
#include "data/text/number.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct load {
    ll_csv_reader      reader;
    ll_csv_report      report;
    ll_csv_codes       codes;
    const ll_csv_opts *o;
} load;

/* ---- telling -------------------------------------------------------------------------------- */

static void warn(load *l, const char *fmt, ...) LLAP_PRINTF(2, 3);

static void warn(load *l, const char *fmt, ...)
{
    char    text[LL_LOG_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    l->report.warnings++;
    ll_logf(l->o->log, LLAP_LOG_WARNING, "%s", text);
}

/* Appends to a line of the report; what does not fit is cut. */
static void say(char line[LL_CSV_TEXT_MAX], const char *fmt, ...) LLAP_PRINTF(2, 3);

static void say(char line[LL_CSV_TEXT_MAX], const char *fmt, ...)
{
    const size_t at = strlen(line);
    va_list      args;
    va_start(args, fmt);
    vsnprintf(line + at, LL_CSV_TEXT_MAX - at, fmt, args);
    va_end(args);
}

static const char *separator_name(char c)
{
    switch (c) {
    case ',':
        return "comma";
    case ';':
        return "semicolon";
    case '\t':
        return "tab";
    case '|':
        return "bar";
    case ' ':
        return "blanks";
    default:
        return "own separator";
    }
}

/* The first line of the decision: how the text is written. */
static void say_dialect(load *l)
{
    const ll_csv_schema *s = &l->reader.schema;
    if (l->reader.is_table) {
        say(l->report.decision[0], "%s form", s->is_long ? "long" : "wide");
        return;
    }
    say(l->report.decision[0], "%s form, %s between fields, decimal %s, %s header%s",
        s->is_long ? "long" : "wide", separator_name(s->dialect.separator),
        s->decimal == ',' ? "comma" : "point", s->header ? "a" : "no",
        s->commented ? " in a comment" : "");
    if (s->n_front > 0) say(l->report.decision[0], ", %zu lines in front of it", s->n_front);
}

/* The second line: what the columns are. */
static void say_columns(load *l)
{
    const ll_csv_schema *s = &l->reader.schema;
    char                *line = l->report.decision[1];
    say(line, "time: ");
    for (int part = 0; part < s->n_time; part++)
        for (size_t c = 0; c < s->n_columns; c++)
            if (s->column[c].role == LL_CSV_TIME && s->column[c].part == part)
                say(line, "%s%s", part == 0 ? "" : " + ", s->column[c].name);
    if (s->n_time == 0) say(line, "counted from %s on, written", l->o->start);
    say(line, " as %s%s%s%s", s->time_format, s->time_unit[0] == '\0' ? "" : " in ", s->time_unit,
        s->ambiguous ? " (or day and month the other way round?)" : "");
    const char *entity = NULL;
    for (size_t c = 0; c < s->n_columns; c++)
        if (s->column[c].role == LL_CSV_ENTITY) entity = s->column[c].name;
    say(line, "; entity: %s",
        entity != NULL       ? entity
        : l->reader.is_table ? "none, one series"
                             : "the name of the file");
    bool first = true;
    for (size_t c = 0; c < s->n_columns; c++) {
        const ll_csv_role role = s->column[c].role;
        const bool        named = s->header && (role == LL_CSV_COUNTER || role == LL_CSV_WORDS ||
                                         (role == LL_CSV_NOTHING && s->is_long));
        const bool        coded = l->o->text > LL_CSV_TEXT_IGNORE || s->column[c].few;
        if (!named || (role == LL_CSV_WORDS && coded)) continue;
        say(line, "%s%s", first ? "; not numbers: " : ", ", s->column[c].name);
        first = false;
    }
}

/* Which columns hold codes, and of which words. */
static llap_status say_codes(load *l)
{
    const ll_csv_variables *vs = &l->reader.variables;
    for (uint32_t i = 0; i < vs->source.n; i++) {
        uint32_t *order;
        if (vs->variable[i].how != LL_CSV_CODE) continue;
        const ll_names *words = &vs->words[vs->variable[i].var];
        if (ll_names_sorted(words, &order) != LLAP_OK) return LLAP_ENOMEM;
        say(l->report.decision[1], "; words as codes: %s (", vs->source.name[i]);
        bool given = false;
        for (const char *const *level = l->o->levels; level != NULL && *level != NULL; level++)
            given = given || ll_csv_level_word(*level, ll_csv_variables_name(vs, i)) != NULL;
        if (given) say(l->report.decision[1], "as in training");
        for (uint32_t k = 0; k < words->n && k < 20 && !given; k++)
            say(l->report.decision[1], "%s%u %s", k == 0 ? "" : ", ", k, words->name[order[k]]);
        say(l->report.decision[1], words->n > 20 && !given ? ", ...)" : ")");
        ll_free(order);
    }
    return LLAP_OK;
}

/* What is known only at the end. */
static void say_result(load *l, const llap_panel *p)
{
    char *line = l->report.decision[0];
    if (l->report.comment_lines > 0)
        say(line, "; lines of comment: %lld", (long long)l->report.comment_lines);
    if (l->report.header_lines > 0)
        say(line, "; headers that come again: %lld", (long long)l->report.header_lines);
    if (l->report.grouped_cells > 0)
        say(line, "; numbers with thousands set apart: %lld", (long long)l->report.grouped_cells);
    say(line, "; missing: empty, NA and the like");
    for (size_t i = 0; i < l->codes.n; i++) {
        char text[LL_NUMBER_PRINT];
        ll_number_print(l->codes.code[i], '.', text);
        say(line, ", %s", text);
    }
    line = l->report.decision[1];
    if (p->axis.kind == LL_AXIS_CALENDAR)
        say(line, "; zone: %s",
            p->axis.zone[0] == '\0' ? "none given, taken as UTC" : p->axis.zone);
    say(line, "; %lld variables:", (long long)p->n_vars);
    for (int64_t v = 0; v < p->n_vars; v++) {
        const char *unit = p->unit == NULL ? "" : p->unit[v];
        say(line, "%s %s", v == 0 ? "" : ",", p->var[v]);
        if (unit[0] != '\0') say(line, " (%s)", unit);
    }
}

static void warn_count(load *l, int64_t n, int64_t first, const char *what)
{
    char place[512];
    if (n == 0) return;
    ll_csv_reader_place(&l->reader, first, place);
    warn(l, "%s: %s (%lld times, here first)", place, what, (long long)n);
}

/* One word an entity, and not one for all. */
static bool never_changes(const load *l, uint32_t variable)
{
    const ll_word_notes *w = &l->reader.words;
    const char          *one = NULL;
    if (variable >= w->n || w->column[variable].changes) return false;
    for (uint32_t e = 0; e < w->column[variable].n_entities; e++) {
        const char *word = w->column[variable].entity[e].word;
        if (word == NULL) continue;
        if (one != NULL && strcmp(one, word) != 0) return true;
        one = word;
    }
    return false;
}

static void warn_about(load *l)
{
    const ll_builder_counts *c = &l->report.rows;
    warn_count(l, c->duplicate_cells, c->first_duplicate,
               "a value given twice for one entity and time; the last one stays");
    warn_count(l, c->unordered, c->first_unordered, "the time goes back; rows were sorted");
    if (l->report.summary_lines > 0)
        warn(l, "lines at the end that sum up, left out: %lld; the first: %s",
             (long long)l->report.summary_lines, l->reader.first_summary);
    const ll_csv_variables *vs = &l->reader.variables;
    for (uint32_t i = 0; i < vs->source.n; i++)
        if (vs->variable[i].n_words > 0 && vs->variable[i].how == LL_CSV_COUNT)
            warn(l, "column '%s': %lld words left out%s", vs->source.name[i],
                 (long long)vs->variable[i].n_words,
                 never_changes(l, i) ? ", the same all along: may be a static input" : "");
    if (l->report.strange_words > 0)
        warn(l, "%lld words that training has not seen; taken as missing",
             (long long)l->report.strange_words);
    if (vs->bad_cells > 0)
        warn(l, "%s: %lld cells cannot be read; taken as missing (here first)", l->reader.first_bad,
             (long long)vs->bad_cells);
    if (vs->infinite_cells > 0)
        warn(l, "%s: %lld cells are infinite or too large; taken as missing (here first)",
             l->reader.first_infinite, (long long)vs->infinite_cells);
    if (vs->out_of_range > 0)
        warn(l, "%s: %lld cells are out of the valid range; taken as missing (here first)",
             l->reader.first_outside, (long long)vs->out_of_range);
    const ll_clock *clock = &l->reader.clock;
    if (clock->zoned && clock->unzoned)
        warn(l, "some times name a zone, others do not; those are taken as %s: say which (zone)",
             clock->zone == NULL ? "UTC" : ll_zone_name(clock->zone));
}

/* ---- reading -------------------------------------------------------------------------------- */

static void say_first(load *l)
{
    const char *path = l->reader.path;
    say_dialect(l);
    say_columns(l);
    if (l->reader.schema.ambiguous)
        warn(l, "%s: day and month can be read either way; taken as %s: give the format", path,
             l->reader.schema.time_format);
    if (l->reader.schema.renamed != NULL)
        warn(l, "%s: a name stands twice in the header; the later column is '%s'", path,
             l->reader.schema.renamed);
}

static llap_status enter(load *l, const char *path, ll_source *source)
{
    const bool        first = !l->reader.ready;
    const llap_status st = ll_csv_reader_enter(&l->reader, path, source);
    if (st == LLAP_OK && first) say_first(l);
    return st;
}

static llap_status read_source(load *l, const ll_csv_file *file, ll_source *source)
{
    llap_status st = enter(l, file->path, source);
    if (st != LLAP_OK && st != LLAP_ENOMEM && file->in_folder) {
        warn(l, "left out: %s", llap_error_detail());
        l->report.skipped_files++;
        st = LLAP_OK;
    } else if (st == LLAP_OK) {
        st = ll_csv_reader_records(&l->reader);
        l->report.files++;
    }
    ll_csv_reader_leave(&l->reader);
    return st;
}

static llap_status read_file(load *l, const ll_csv_file *file)
{
    ll_source  *source;
    llap_status st = ll_source_open(file->path, &source);
    if (st != LLAP_OK) return st;
    st = read_source(l, file, source);
    ll_source_close(source);
    return st;
}

/* Lets the file that looks most like the others decide, where it is not the first. */
static llap_status follow(load *l, const ll_csv_file *lead)
{
    ll_source  *source;
    llap_status st = ll_source_open(lead->path, &source);
    if (st != LLAP_OK) return st;
    st = enter(l, lead->path, source);
    ll_csv_reader_leave(&l->reader);
    ll_source_close(source);
    return st;
}

static llap_status erase_codes(load *l, ll_panel_builder *b)
{
    const ll_csv_variables *vs = &l->reader.variables;
    if (l->o->no_codes || vs->suspects == 0) return LLAP_OK;
    unsigned char *skip = ll_new(ll_panel_builder_n_vars(b), 1);
    if (skip == NULL) return LLAP_ENOMEM;
    for (uint32_t i = 0; i < vs->source.n; i++) {
        const ll_csv_variable *v = &vs->variable[i];
        if (v->how == LL_CSV_CODE || v->how == LL_CSV_CIRCULAR)
            memset(skip + v->var, 1, ll_csv_variables_width(vs, i));
    }
    const llap_status st = ll_csv_erase_codes(b, skip, &l->codes);
    ll_free(skip);
    return st;
}

static llap_status finish(load *l, ll_panel_builder *b, llap_panel **out)
{
    ll_csv_variables *vs = &l->reader.variables;
    uint32_t         *order = NULL;
    llap_status       st = ll_csv_variables_check(vs);
    if (st == LLAP_OK && l->reader.arrivals == 0)
        st = ll_fail(LLAP_EFORMAT, "%s: no line of data", l->reader.path);
    if (st == LLAP_OK && ll_panel_builder_n_vars(b) == 0)
        st = ll_fail(LLAP_EFORMAT, "%s: no column of numbers", l->reader.path);
    if (st == LLAP_OK) st = ll_csv_reader_check_folds(&l->reader);
    char joined[512] = "";
    if (st == LLAP_OK) st = ll_csv_reader_join(&l->reader, joined);
    if (st == LLAP_OK) st = erase_codes(l, b);
    if (st == LLAP_OK)
        st = ll_csv_rank_words(b, vs->words, vs->n_words, l->o->levels, &l->report.strange_words);
    if (st == LLAP_OK) st = ll_csv_variables_order(vs, &order);
    if (st == LLAP_OK && order != NULL) st = ll_panel_builder_order(b, order);
    /* the variables of the long form come in the order of the rows, which must not matter */
    if (l->reader.settled.form == LL_CSV_LONG) ll_panel_builder_sort_vars(b);
    ll_free(order);
    if (st != LLAP_OK) return st;
    const ll_axis axis = ll_clock_axis(&l->reader.clock);
    st = ll_panel_builder_finish(b, &axis, out);
    l->report.rows = *ll_panel_builder_counts(b);
    if (st == LLAP_EFORMAT && l->report.rows.first_duplicate >= 0) {
        char place[512];
        ll_csv_reader_place(&l->reader, l->report.rows.first_duplicate, place);
        return ll_fail_in(st, "%s", place);
    }
    if (st == LLAP_OK) st = ll_csv_reader_words(&l->reader, *out);
    if (st == LLAP_OK) st = ll_csv_reader_units(&l->reader, *out);
    if (st == LLAP_OK) st = say_codes(l);
    if (st != LLAP_OK) {
        llap_panel_destroy(*out);
        *out = NULL;
        return st;
    }
    l->report.text_cells += vs->text_cells;
    l->report.grouped_cells = vs->grouped_cells;
    l->report.bad_cells = vs->bad_cells;
    l->report.infinite_cells = vs->infinite_cells;
    l->report.out_of_range = vs->out_of_range;
    l->report.coded_missing = vs->missing_numbers + l->codes.n_cells;
    say_result(l, *out);
    if (joined[0] != '\0' && l->o->join == LL_AUTO && l->o->entity == NULL) warn(l, "%s", joined);
    warn_about(l);
    return LLAP_OK;
}

static llap_status read_files(load *l, const ll_csv_files *files, ll_source *source)
{
    llap_status st = LLAP_OK;
    if (files->lead > 0) st = follow(l, &files->file[files->lead]);
    for (size_t i = 0; i < files->n && st == LLAP_OK; i++)
        st = source != NULL ? read_source(l, &files->file[i], source)
                            : read_file(l, &files->file[i]);
    return st;
}

static llap_status read_table(load *l, const ll_csv_table *t, ll_source *name)
{
    ll_csv_sample sample = { .decimal = '.' };
    llap_status   st = t->sample(t->user, &sample);
    if (st == LLAP_OK) st = ll_csv_reader_enter_table(&l->reader, name, &sample);
    ll_csv_sample_deinit(&sample);
    if (st == LLAP_OK) say_first(l);
    if (st == LLAP_OK) st = ll_csv_reader_bind(&l->reader);
    if (st == LLAP_OK) st = t->rows(t->user, &l->reader);
    l->report.files++;
    return st;
}

/* source: instead of the files' paths, or the name of the table; NULL otherwise. */
static llap_status read_all(const ll_csv_files *files, const ll_csv_table *table, ll_source *source,
                            const ll_csv_opts *o, llap_panel **out, ll_csv_report *report)
{
    load                 *l = ll_new(1, sizeof *l);
    ll_panel_builder     *b = NULL;
    const ll_builder_opts build = { .duplicates = o->duplicates,
                                    .max_entities = o->max_entities,
                                    .pack = o->pack,
                                    .memory = o->memory };
    if (l == NULL) return LLAP_ENOMEM;
    l->o = o;
    llap_status st = ll_panel_builder_create(&build, &b);
    if (st == LLAP_OK) st = ll_csv_reader_init(&l->reader, o, b, &l->report);
    if (st == LLAP_OK)
        st = table != NULL ? read_table(l, table, source) : read_files(l, files, source);
    if (st == LLAP_OK) st = finish(l, b, out);
    if (report != NULL) *report = l->report;
    ll_csv_reader_deinit(&l->reader);
    ll_panel_builder_destroy(b);
    ll_free(l);
    return st;
}

llap_status ll_csv_read(const char *const *paths, size_t n_paths, const ll_csv_opts *o,
                        llap_panel **out, ll_csv_report *report)
{
    *out = NULL;
    ll_csv_files files;
    llap_status  st = ll_csv_files_init(&files, paths, n_paths);
    if (st == LLAP_OK) st = read_all(&files, NULL, NULL, o, out, report);
    ll_csv_files_deinit(&files);
    return st;
}

llap_status ll_csv_read_memory(const char *name, const void *data, size_t n, const ll_csv_opts *o,
                               llap_panel **out, ll_csv_report *report)
{
    *out = NULL;
    ll_source  *source;
    llap_status st = ll_source_open_memory(name, data, n, &source);
    if (st != LLAP_OK) return st;
    ll_csv_file        file = { name, false };
    const ll_csv_files files = { .file = &file, .n = 1 };
    st = read_all(&files, NULL, source, o, out, report);
    ll_source_close(source);
    return st;
}

llap_status ll_csv_read_table(const ll_csv_table *t, const ll_csv_opts *o, llap_panel **out,
                              ll_csv_report *report)
{
    *out = NULL;
    ll_source  *name;
    llap_status st = ll_source_open_memory(t->name, "", 0, &name);
    if (st != LLAP_OK) return st;
    st = read_all(NULL, t, name, o, out, report);
    ll_source_close(name);
    return st;
}
