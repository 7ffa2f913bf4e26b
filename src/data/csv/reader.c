#include "data/csv/reader.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/csv/bulk.h"
#include "data/csv/files.h"
#include "data/text/number.h"

#include <stdio.h>

static const char *file_name(const ll_csv_reader *r) { return ll_source_name(r->tokens.source); }

llap_status ll_csv_reader_fail(const ll_csv_reader *r, size_t column, llap_status st)
{
    return ll_fail_in(st, "%s:%lld: column %zu '%s'", file_name(r), (long long)r->tokens.line,
                      column + 1, ll_text_show(r->schema.column[column].name).text);
}

/* ---- cells ---------------------------------------------------------------------------------- */

llap_status ll_csv_reader_entity(ll_csv_reader *r, ll_csv_field f)
{
    f = ll_csv_trim(f);
    if (f.len == r->entity_len && memcmp(f.text, r->entity_text, f.len) == 0) return LLAP_OK;
    if (f.len == 0 && !f.quoted)
        return ll_csv_reader_fail(
            r, r->entity_column,
            ll_fail(LLAP_EFORMAT, "expected the name of an entity, found nothing"));
    const llap_status st = ll_panel_builder_entity(r->builder, f.text, f.len, &r->entity);
    if (st != LLAP_OK) return ll_csv_reader_fail(r, r->entity_column, st);
    r->entity_len = f.len <= sizeof r->entity_text ? f.len : SIZE_MAX;
    if (r->entity_len != SIZE_MAX) memcpy(r->entity_text, f.text, f.len);
    return LLAP_OK;
}

/* A line of separators only, as spreadsheets leave them below the table. */
static bool all_empty(const ll_csv_tokens *t)
{
    for (size_t i = 0; i < t->n_fields; i++)
        if (t->field[i].quoted || ll_csv_trim(t->field[i]).len > 0) return false;
    return true;
}

/* Too few fields is a mistake, too many as well unless they are empty. */
static llap_status check_fields(const ll_csv_reader *r)
{
    const ll_csv_tokens *t = &r->tokens;
    bool                 ok = t->n_fields >= r->schema.n_columns;
    for (size_t i = r->schema.n_columns; i < t->n_fields && ok; i++)
        ok = ll_csv_trim(t->field[i]).len == 0;
    if (ok) return LLAP_OK;
    const bool more = t->n_fields > r->schema.n_columns, comma = t->dialect.separator == ',';
    return ll_fail(LLAP_EFORMAT, "%s:%lld: expected %zu fields, found %zu%s", file_name(r),
                   (long long)t->line, r->schema.n_columns, t->n_fields,
                   more && comma ? ": decimal commas? then another separator or quotes" : "");
}

/* ---- records -------------------------------------------------------------------------------- */

static llap_status after_row(ll_csv_reader *r)
{
    if (r->o->unordered_is_error && ll_panel_builder_counts(r->builder)->unordered > 0)
        return ll_fail(LLAP_EFORMAT, "%s:%lld: the time goes back", file_name(r),
                       (long long)r->tokens.line);
    return ll_csv_reader_note_place(r);
}

static void note_cell(const ll_csv_reader *r, size_t column, char place[256])
{
    snprintf(place, 256, "%s:%lld: column %zu '%s'", file_name(r), (long long)r->tokens.line,
             column + 1, ll_text_show(r->schema.column[column].name).text);
}

/* Of a column of words, also where they are numbers. */
static llap_status note_word(ll_csv_reader *r, size_t column, uint32_t id, const double *number)
{
    char         room[LL_DOUBLE_TEXT];
    ll_csv_field word;
    if (number != NULL)
        word = (ll_csv_field){ room, (uint32_t)ll_text_double(*number, room), false };
    else word = ll_csv_trim(r->tokens.field[column]);
    return ll_word_notes_add(&r->words, id, r->entity, word.text, word.len, r->arrivals);
}

/* Reads a value and keeps the places where one was first taken as missing. number: what the cell
 * holds, where it is no text; else NULL. */
static llap_status read_value(ll_csv_reader *r, size_t column, uint32_t id, const double *number,
                              float *x)
{
    const ll_csv_variables *vs = &r->variables;
    const int64_t           bad = vs->bad_cells, infinite = vs->infinite_cells;
    const int64_t           outside = vs->out_of_range, words = vs->variable[id].n_words;
    const llap_status       st = number != NULL
                                     ? ll_csv_variables_number(&r->variables, id, *number, x)
                                     : ll_csv_variables_read(&r->variables, id, r->tokens.field[column],
                                                             r->schema.decimal, x);
    if (st != LLAP_OK) return ll_csv_reader_fail(r, column, st);
    if (bad == 0 && vs->bad_cells > 0) note_cell(r, column, r->first_bad);
    if (infinite == 0 && vs->infinite_cells > 0) note_cell(r, column, r->first_infinite);
    if (outside == 0 && vs->out_of_range > 0) note_cell(r, column, r->first_outside);
    return vs->variable[id].n_words == words ? LLAP_OK : note_word(r, column, id, number);
}

llap_status ll_csv_reader_cell(ll_csv_reader *r, const ll_csv_use *use)
{
    const ll_csv_field f = r->tokens.field[use->column];
    if (use->nothing) {
        r->report->text_cells += ll_csv_trim(f).len > 0;
        return LLAP_OK;
    }
    return read_value(r, use->column, use->variable, NULL, r->row + use->var);
}

llap_status ll_csv_reader_number(ll_csv_reader *r, const ll_csv_use *use, double number)
{
    return read_value(r, use->column, use->variable, &number, r->row + use->var);
}

llap_status ll_csv_reader_put(ll_csv_reader *r, int64_t time)
{
    const llap_status st = ll_panel_builder_row(r->builder, r->entity, time, r->row);
    return st == LLAP_OK ? after_row(r) : st;
}

llap_status ll_csv_reader_rows(ll_csv_reader *r, int64_t n, const int64_t *time,
                               const float *values)
{
    llap_status st = ll_panel_builder_rows(r->builder, r->entity, n, time, values);
    if (st == LLAP_OK) st = ll_csv_reader_note_place(r);
    r->arrivals += n - 1;
    return st;
}

llap_status ll_csv_reader_row(ll_csv_reader *r, ll_csv_field entity, int64_t time,
                              const float *values)
{
    llap_status st = LLAP_OK;
    if (r->entity_column < r->schema.n_columns) st = ll_csv_reader_entity(r, entity);
    if (st == LLAP_OK) st = ll_panel_builder_row(r->builder, r->entity, time, values);
    return st == LLAP_OK ? after_row(r) : st;
}

static llap_status read_wide(ll_csv_reader *r, int64_t time)
{
    for (uint32_t v = 0; v < r->n_row; v++) r->row[v] = NAN;
    for (const ll_csv_use *use = r->use; use < r->use + r->n_use; use++) {
        const llap_status st = ll_csv_reader_cell(r, use);
        if (st != LLAP_OK) return st;
    }
    return ll_csv_reader_put(r, time);
}

static bool is_read(const ll_csv_variable *v) { return v->how > LL_CSV_COUNT; }

static llap_status fail_renamed(const ll_csv_reader *r, uint32_t a, uint32_t b)
{
    const ll_names *source = &r->variables.source;
    return ll_fail(LLAP_EINVAL, "%s: columns: '%s' and '%s' would be one variable", r->path,
                   ll_text_show(source->name[a]).text, ll_text_show(source->name[b]).text);
}

/* Files may have different names for one variable, but not one file two. */
static llap_status check_renamed_long(ll_csv_reader *r, uint32_t id)
{
    const ll_csv_variables *vs = &r->variables;
    ll_csv_variable        *v = &vs->variable[id];
    if (vs->o->columns == NULL || v->path == r->path || !is_read(v)) return LLAP_OK;
    v->path = r->path;
    for (uint32_t i = 0; i < vs->source.n; i++) {
        const ll_csv_variable *other = &vs->variable[i];
        if (i != id && other->path == r->path && other->var == v->var)
            return fail_renamed(r, i, id);
    }
    return LLAP_OK;
}

llap_status ll_csv_reader_long(ll_csv_reader *r, int64_t time, const double *number)
{
    const ll_csv_field name = ll_csv_trim(r->tokens.field[r->variable_column]);
    if (name.len == 0 && !name.quoted)
        return ll_csv_reader_fail(
            r, r->variable_column,
            ll_fail(LLAP_EFORMAT, "expected the name of a variable, found nothing"));
    uint32_t    id;
    llap_status st = ll_csv_variables_find(&r->variables, name.text, name.len, LL_CSV_VALUES, &id);
    if (st != LLAP_OK) return ll_csv_reader_fail(r, r->variable_column, st);
    st = check_renamed_long(r, id);
    if (st != LLAP_OK) return st;
    float x[2] = { NAN, NAN };
    st = read_value(r, r->value_column, id, number, x);
    if (st != LLAP_OK) return st;
    const uint32_t width = ll_csv_variables_width(&r->variables, id);
    for (uint32_t k = 0; k < width && st == LLAP_OK; k++) {
        st = ll_panel_builder_cell(r->builder, r->entity, time, r->variables.variable[id].var + k,
                                   x[k]);
        if (st == LLAP_OK) st = after_row(r);
    }
    return st;
}

/* *timed: its time could be read, so that it is a row, right or wrong. */
static llap_status take_record(ll_csv_reader *r, bool *timed)
{
    int64_t     time[2] = { 0, 0 };
    bool        no_time = false;
    llap_status st = r->tokens.n_fields == r->schema.n_columns ? LLAP_OK : check_fields(r);
    if (st != LLAP_OK && all_empty(&r->tokens)) no_time = true;
    else if (st == LLAP_OK) st = ll_csv_reader_time(r, time, &no_time);
    if (no_time && all_empty(&r->tokens)) {
        r->report->empty_lines++;
        return LLAP_OK;
    }
    if (st == LLAP_OK && no_time)
        st = ll_csv_reader_fail(r, r->time_column[0],
                                ll_fail(LLAP_EFORMAT, "expected a time, found nothing"));
    *timed = st == LLAP_OK;
    if (st == LLAP_OK && r->entity_column < r->schema.n_columns)
        st = ll_csv_reader_entity(r, r->tokens.field[r->entity_column]);
    if (st == LLAP_OK && r->schema.n_time == 0) st = ll_csv_reader_count_time(r, time);
    else if (st == LLAP_OK && time[1] != time[0]) st = ll_csv_reader_choose_time(r, time);
    if (st != LLAP_OK) return st;
    return r->schema.is_long ? ll_csv_reader_long(r, time[0], NULL) : read_wide(r, time[0]);
}

/* The header once more, where files were joined by hand. */
static bool is_header_again(const ll_csv_reader *r)
{
    if (!r->schema.header || r->tokens.n_fields != r->schema.n_columns) return false;
    for (size_t c = 0; c < r->schema.n_columns; c++) {
        const ll_csv_field f = ll_csv_trim(r->tokens.field[c]);
        const char        *name = r->schema.column[c].name;
        if (r->schema.column[c].named &&
            (strlen(name) != f.len || memcmp(name, f.text, f.len) != 0))
            return false;
    }
    return true;
}

/* A line that may sum up the file is a mistake unless nothing but its like comes behind it. */
llap_status ll_csv_reader_record(ll_csv_reader *r)
{
    const int64_t arrivals = r->arrivals;
    bool          timed = false;
    llap_status   st = take_record(r, &timed);
    if (st == LLAP_OK && (r->n_held == 0 || r->arrivals == arrivals)) return LLAP_OK;
    if (st != LLAP_OK && st != LLAP_EFORMAT) return st;
    if (st == LLAP_EFORMAT && !timed && is_header_again(r)) {
        r->report->header_lines++;
        return LLAP_OK;
    }
    if (st == LLAP_EFORMAT && !timed && r->n_held < LL_CSV_SUMMARY_MAX &&
        ll_csv_is_summary(r->tokens.field, r->tokens.n_fields, r->schema.n_columns)) {
        if (r->n_held++ == 0) snprintf(r->held, sizeof r->held, "%s", llap_error_detail());
        return LLAP_OK;
    }
    return r->n_held == 0 ? st : ll_fail(LLAP_EFORMAT, "%s", r->held);
}

/* ---- a file --------------------------------------------------------------------------------- */

/* What the first file decided holds for the others: form, roles by name, format of the time. */
static llap_status settle(ll_csv_reader *r)
{
    const ll_csv_schema *s = &r->schema;
    ll_csv_opts         *o = &r->settled;
    const char          *part[LL_CLOCK_PARTS_MAX] = { 0 };
    bool                 ok = true;
    o->form = s->is_long ? LL_CSV_LONG : LL_CSV_WIDE;
    if (!s->commented) o->header = s->header ? LL_YES : LL_NO;
    o->entity = "";
    for (size_t c = 0; c < s->n_columns && ok; c++) {
        const char *name = ll_arena_strndup(&r->text, s->column[c].name, strlen(s->column[c].name));
        ok = name != NULL;
        if (s->column[c].role == LL_CSV_ENTITY) o->entity = name;
        if (s->column[c].role == LL_CSV_VARIABLE) o->variable = name;
        if (s->column[c].role == LL_CSV_VALUE) o->value = name;
        if (s->column[c].role == LL_CSV_TIME) part[s->column[c].part] = name;
    }
    o->time = part[0];
    for (int i = 1; i < s->n_time && ok; i++) {
        o->time = ll_arena_printf(&r->text, "%s+%s", o->time, part[i]);
        ok = o->time != NULL;
    }
    if (!ok) return LLAP_ENOMEM;
    o->time_format = ll_arena_strndup(&r->text, s->time_format, strlen(s->time_format));
    o->time_unit = ll_arena_strndup(&r->text, s->time_unit, strlen(s->time_unit));
    if (o->time_format == NULL || o->time_unit == NULL) return LLAP_ENOMEM;
    if (s->time_unit[0] == '\0') o->time_unit = NULL;
    llap_status st = ll_clock_init(&r->clock, o->time_format, o->time_unit, o->zone);
    r->clock.wall = o->wall;
    if (st == LLAP_OK && o->start != NULL)
        st = ll_clock_read(&r->clock, o->start, strlen(o->start), '.', &r->start);
    return st == LLAP_EFORMAT ? ll_fail_in(LLAP_EOPTION, "start") : st;
}

/* The same of columns. */
static llap_status check_renamed(const ll_csv_reader *r)
{
    const ll_csv_variable *v = r->variables.variable;
    for (size_t i = 1; r->variables.o->columns != NULL && i < r->n_use; i++)
        for (size_t k = 0; k < i; k++) {
            const ll_csv_use *a = &r->use[k], *b = &r->use[i];
            if (!a->nothing && !b->nothing && a->var == b->var && is_read(&v[a->variable]) &&
                is_read(&v[b->variable]))
                return fail_renamed(r, a->variable, b->variable);
        }
    return LLAP_OK;
}

static llap_status note_part(ll_csv_reader *r)
{
    uint64_t columns = r->n_use;
    for (size_t i = 0; i < r->n_use; i++) /* in any order */
        columns +=
            ((uint64_t)r->use[i].variable + 1) * UINT64_C(0x9e3779b97f4a7c15) * !r->use[i].nothing;
    if (r->n_parts == r->part_capacity) {
        ll_csv_part *larger = ll_grow(r->part, r->part_capacity * 2 + 16, sizeof *larger);
        if (larger == NULL) return LLAP_ENOMEM;
        r->part = larger;
        r->part_capacity = r->part_capacity * 2 + 16;
    }
    r->part[r->n_parts++] = (ll_csv_part){ r->entity, columns, r->path };
    return LLAP_OK;
}

/* Columns to variables, and the entity that the file's name gives. */
llap_status ll_csv_reader_bind(ll_csv_reader *r)
{
    const ll_csv_schema *s = &r->schema;
    llap_status          st = LLAP_OK;
    if (s->refusal != NULL) return ll_fail(LLAP_EFORMAT, "%s", s->refusal);
    r->empty_before = -1;
    r->entity_column = s->n_columns;
    r->entity_len = SIZE_MAX;
    r->n_use = 0;
    r->use = ll_new(s->n_columns, sizeof *r->use);
    if (r->use == NULL) return LLAP_ENOMEM;
    for (size_t c = 0; c < s->n_columns && st == LLAP_OK; c++) {
        const ll_csv_role role = s->column[c].role;
        if (role == LL_CSV_ENTITY) r->entity_column = c;
        if (role == LL_CSV_VARIABLE) r->variable_column = c;
        if (role == LL_CSV_VALUE) r->value_column = c;
        if (role == LL_CSV_TIME) r->time_column[s->column[c].part] = c;
        if (role == LL_CSV_NOTHING)
            r->use[r->n_use++] = (ll_csv_use){ .column = (uint32_t)c, .nothing = true };
        if (role > LL_CSV_COUNTER) continue;
        const ll_csv_treatment likely = role == LL_CSV_NUMBER  ? LL_CSV_VALUES
                                        : role != LL_CSV_WORDS ? LL_CSV_SKIP
                                        : s->column[c].few     ? LL_CSV_CODE
                                                               : LL_CSV_COUNT;
        uint32_t               id;
        st = ll_csv_variables_find(&r->variables, s->column[c].name, strlen(s->column[c].name),
                                   likely, &id);
        if (st != LLAP_OK) break;
        ll_csv_variable *v = &r->variables.variable[id];
        const char      *unit = s->column[c].unit;
        if (v->unit == NULL && unit[0] != '\0') {
            v->unit = ll_arena_strndup(&r->text, unit, strlen(unit));
            if (v->unit == NULL) return LLAP_ENOMEM;
        }
        if (v->how == LL_CSV_SKIP) continue;
        r->use[r->n_use++] = (ll_csv_use){ .column = (uint32_t)c,
                                           .variable = id,
                                           .var = v->var,
                                           .plain = r->variables.plain && v->how == LL_CSV_VALUES };
    }
    if (st == LLAP_OK) st = check_renamed(r);
    const uint32_t n_vars = ll_panel_builder_n_vars(r->builder);
    if (st == LLAP_OK && (n_vars > r->n_row || r->row == NULL)) {
        float *larger = ll_grow(r->row, n_vars, sizeof *larger);
        if (larger == NULL) return LLAP_ENOMEM;
        r->row = larger;
        r->n_row = n_vars;
    }
    if (st != LLAP_OK || r->entity_column < s->n_columns) return st;
    const char *stem;
    size_t      len;
    const bool  named = r->is_table && r->o->series != NULL;
    ll_csv_stem(named                                      ? r->o->series
                : r->is_table || strcmp(r->path, "-") == 0 ? "series"
                                                           : r->path,
                &stem, &len);
    st = ll_panel_builder_entity(r->builder, stem, len, &r->entity);
    return st == LLAP_OK ? note_part(r) : st;
}

/* What the columns are, from the first records. */
static llap_status learn(ll_csv_reader *r, const ll_csv_sample *sample)
{
    const char *name = ll_source_name(r->tokens.source);
    llap_status st = ll_csv_schema_init(&r->schema, name, sample, &r->settled);
    if (st == LLAP_OK && !r->ready) st = settle(r);
    r->ready = r->ready || st == LLAP_OK;
    return st;
}

llap_status ll_csv_reader_enter(ll_csv_reader *r, const char *path, ll_source *source)
{
    const char   *text;
    size_t        n;
    bool          all;
    ll_csv_sample sample = { 0 };
    r->path = path;
    llap_status st = ll_csv_tokens_init(&r->tokens, source, r->o->max_line);
    if (st == LLAP_OK) st = ll_csv_tokens_peek(&r->tokens, &text, &n, &all);
    if (st == LLAP_OK)
        st = ll_csv_sample_init(&sample, ll_source_name(source), text, n, all, &r->settled);
    if (st == LLAP_OK) st = learn(r, &sample);
    ll_csv_sample_deinit(&sample);
    r->tokens.dialect = r->schema.dialect;
    return st;
}

llap_status ll_csv_reader_enter_table(ll_csv_reader *r, ll_source *name,
                                      const ll_csv_sample *sample)
{
    r->path = ll_source_name(name);
    r->is_table = true;
    r->tokens.source = name;
    return learn(r, sample);
}

void ll_csv_reader_end_records(ll_csv_reader *r)
{
    if (r->n_held > 0 && r->report->summary_lines == 0)
        snprintf(r->first_summary, sizeof r->first_summary, "%s", r->held);
    r->report->summary_lines += r->n_held;
    r->n_held = 0;
}

llap_status ll_csv_reader_records(ll_csv_reader *r)
{
    int64_t     n = 0; /* records of data read one by one */
    llap_status st = ll_csv_reader_bind(r);
    while (st == LLAP_OK) {
        /* tried again now and then, for quotes and oddities may stop */
        if (n % 4096 == 1) st = ll_csv_bulk_read(r);
        if (st == LLAP_OK) st = ll_csv_tokens_next(&r->tokens);
        if (st != LLAP_OK || r->tokens.n_fields == 0) break;
        if (r->tokens.line <= r->o->skip_lines) continue;
        r->report->lines++;
        if (r->tokens.line < r->schema.first_line) continue;
        st = ll_csv_reader_record(r);
        n++;
    }
    ll_csv_reader_end_records(r);
    r->report->empty_lines += r->tokens.skipped_lines;
    r->report->comment_lines += r->tokens.comment_lines;
    return st;
}

void ll_csv_reader_leave(ll_csv_reader *r)
{
    ll_csv_tokens_deinit(&r->tokens);
    ll_csv_schema_deinit(&r->schema);
    ll_free(r->use);
    r->use = NULL;
}

llap_status ll_csv_reader_init(ll_csv_reader *r, const ll_csv_opts *o, ll_panel_builder *builder,
                               ll_csv_report *report)
{
    *r = (ll_csv_reader){ .o = o, .settled = *o, .builder = builder, .report = report };
    return ll_csv_variables_init(&r->variables, o, builder);
}

void ll_csv_reader_deinit(ll_csv_reader *r)
{
    ll_csv_reader_leave(r);
    ll_csv_variables_deinit(&r->variables);
    ll_word_notes_deinit(&r->words);
    ll_clock_deinit(&r->clock);
    ll_arena_deinit(&r->text);
    ll_free(r->place);
    ll_free(r->row);
    ll_free(r->counted);
    ll_free(r->fold);
    ll_free(r->part);
    *r = (ll_csv_reader){ 0 };
}
