#include "data/csv/schema.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/time/time.h"
#include "data/csv/header.h"
#include "data/csv/marks.h"
#include "data/csv/words.h"
#include "data/text/names.h"
#include "data/text/number.h"

#include <stdio.h>

enum { MANY_COLUMNS = 64 }; /* guessing formats is slow: nobody has the time column behind these */

/* ---- what cells are like -------------------------------------------------------------------- */

typedef struct finder { /* what the steps below share */
    ll_csv_schema       *s;
    const ll_csv_sample *sample;
    const ll_csv_opts   *o;
    const char          *file;
    size_t               first; /* first record of data */
} finder;

typedef struct content {
    size_t numbers, words, distinct; /* distinct: whole numbers that differ from the one before */
    bool   whole;                    /* all numbers are */
} content;

static bool is_number(const finder *f, ll_csv_field cell)
{
    return ll_csv_is_number(cell, f->s->decimal);
}

static content look_at(const finder *f, size_t column)
{
    content c = { .whole = true };
    for (size_t r = f->first; r < f->sample->n_records; r++) {
        const ll_csv_field cell = ll_csv_cell(f->sample, r, column);
        if (ll_csv_means_missing(f->o, cell)) continue;
        if (!is_number(f, cell)) c.words++;
        else c.numbers++;
        c.whole = c.whole && memchr(cell.text, f->s->decimal, cell.len) == NULL;
    }
    return c;
}

static bool same_cell(const finder *f, size_t r, size_t q, size_t column)
{
    const ll_csv_field a = ll_csv_cell(f->sample, r, column);
    const ll_csv_field b = ll_csv_cell(f->sample, q, column);
    return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

/* What follows compares all pairs of records, so looks at the first few only. */
static size_t few_records(const finder *f)
{
    return f->sample->n_records < f->first + 200 ? f->sample->n_records : f->first + 200;
}

/* No two cells alike: such a column may number the lines and name no entity. */
static bool all_differ(const finder *f, size_t column)
{
    const size_t end = few_records(f);
    if (end < f->first + 20) return false;
    for (size_t r = f->first; r < end; r++)
        for (size_t q = f->first; q < r; q++)
            if (same_cell(f, r, q, column)) return false;
    return true;
}

/* Two records of one time (and variable, in long form): there must be several entities. */
static bool times_repeat(const finder *f)
{
    const size_t end = few_records(f);
    for (size_t r = f->first; r < end; r++)
        for (size_t q = f->first; q < r; q++) {
            bool same = true;
            for (size_t c = 0; c < f->s->n_columns && same; c++) {
                const ll_csv_role role = f->s->column[c].role;
                if (role == LL_CSV_TIME || role == LL_CSV_VARIABLE) same = same_cell(f, r, q, c);
            }
            if (same) return true;
        }
    return false;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Names that come again get _2, _3, ... */
static llap_status name_column(finder *f, const ll_csv_header *h, ll_names *seen, size_t c)
{
    uint32_t       id;
    ll_csv_schema *s = f->s;
    const char    *given = h->name[c], *name = NULL;
    if (given != NULL) name = ll_arena_strndup(&s->text, given, strlen(given));
    else name = ll_arena_printf(&s->text, "c%zu", c + 1);
    for (int again = 2; name != NULL && ll_names_find(seen, name, strlen(name), &id); again++)
        name = ll_arena_printf(&s->text, "%s_%d", given == NULL ? "" : given, again);
    if (name != NULL && given != NULL && strcmp(name, given) != 0) s->renamed = name;
    s->column[c].name = name;
    s->column[c].named = given != NULL;
    s->column[c].unit = ll_arena_strndup(&s->text, h->unit[c], strlen(h->unit[c]));
    if (name == NULL || s->column[c].unit == NULL) return LLAP_ENOMEM;
    return ll_names_add(seen, name, strlen(name), &id);
}

static llap_status name_columns(finder *f)
{
    ll_csv_schema *s = f->s;
    ll_csv_header  h;
    llap_status    st = ll_csv_header_init(&h, f->sample, f->o);
    s->header = h.any;
    s->commented = h.commented;
    s->n_front = f->sample->n_front;
    s->first_line = h.first_line;
    f->first = h.first;
    s->n_columns = h.n_columns;
    if (st == LLAP_OK) s->column = ll_arena_new(&s->text, s->n_columns, sizeof *s->column);
    if (s->column == NULL) st = LLAP_ENOMEM;
    ll_names seen = { 0 };
    for (size_t c = 0; c < s->n_columns && st == LLAP_OK; c++) st = name_column(f, &h, &seen, c);
    ll_names_deinit(&seen);
    ll_csv_header_deinit(&h);
    for (size_t c = 0; c < s->n_columns && st == LLAP_OK; c++) {
        const content cells = look_at(f, c);
        if (cells.words > cells.numbers) s->column[c].role = LL_CSV_WORDS;
        if (!s->column[c].named && s->header && cells.words + cells.numbers == 0)
            s->column[c].role = LL_CSV_NOTHING;
    }
    return st;
}

/* ---- finding by name ------------------------------------------------------------------------ */

static llap_status fail_columns(const finder *f, llap_status code, const char *what)
{
    char   list[600];
    size_t at = 0;
    list[0] = '\0';
    for (size_t c = 0; c < f->s->n_columns && at < sizeof list; c++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s'%s'", c == 0 ? "" : ", ",
                               ll_text_show(f->s->column[c].name).text);
    return ll_fail(code, "%s: %s; its columns are %s", f->file, what, list);
}

static llap_status find_named(const finder *f, const char *name, size_t n, size_t *out)
{
    for (size_t c = 0; c < f->s->n_columns; c++)
        if (strlen(f->s->column[c].name) == n && memcmp(f->s->column[c].name, name, n) == 0) {
            *out = c;
            return LLAP_OK;
        }
    char what[160];
    snprintf(what, sizeof what, "has no column '%.*s'", (int)(n < 100 ? n : 100), name);
    return fail_columns(f, LLAP_EINVAL, what);
}

/* The column with the best word of the list, not having a role yet; n_columns: none. */
static size_t find_word(const finder *f, const char *const *words)
{
    size_t best = f->s->n_columns;
    int    best_index = -1;
    for (size_t c = 0; c < f->s->n_columns; c++) {
        const ll_csv_role role = f->s->column[c].role;
        const int         index = ll_csv_word(f->s->column[c].name, words);
        if (index < 0 || (role != LL_CSV_NUMBER && role != LL_CSV_WORDS)) continue;
        if (best_index < 0 || index < best_index) best = c, best_index = index;
    }
    return best;
}

/* ---- time ----------------------------------------------------------------------------------- */

static void set_time(finder *f, const size_t *columns, int n, const ll_csv_timeguess *guess)
{
    ll_csv_schema *s = f->s;
    for (int i = 0; i < n; i++)
        s->column[columns[i]].role = LL_CSV_TIME, s->column[columns[i]].part = i;
    s->n_time = n;
    s->ambiguous = guess->ambiguous;
    snprintf(s->time_format, sizeof s->time_format, "%s",
             f->o->time_format != NULL ? f->o->time_format : guess->format);
    snprintf(s->time_unit, sizeof s->time_unit, "%s",
             f->o->time_unit != NULL ? f->o->time_unit : guess->unit);
}

static bool guess_format(const finder *f, const ll_csv_sample *sample, const size_t *columns, int n,
                         ll_csv_timeguess *guess)
{
    if (n == 1) return ll_csv_guess_time(sample, f->first, columns[0], true, guess);
    return ll_csv_guess_date_and_time(sample, f->first, columns[0], columns[1], guess);
}

/* No format reads all of the cells: says which cell is the first that none of those reads that
 * read the cells before it. */
static llap_status fail_time(const finder *f, const size_t *columns, int n)
{
    ll_csv_sample    part = *f->sample;
    ll_csv_timeguess guess, before = { 0 };
    size_t           good = f->first, bad = f->sample->n_records; /* records read, not read */
    while (bad - good > 1) {
        part.n_records = good + (bad - good) / 2;
        if (guess_format(f, &part, columns, n, &guess)) good = part.n_records, before = guess;
        else bad = part.n_records;
    }
    char what[480], place[160];
    snprintf(place, sizeof place, "column %zu '%s'", columns[0] + 1,
             ll_text_show(f->s->column[columns[0]].name).text);
    snprintf(what, sizeof what, "'%s%s%s'",
             ll_csv_show(ll_csv_cell(f->sample, good, columns[0])).text, n == 2 ? " " : "",
             n == 2 ? ll_csv_show(ll_csv_cell(f->sample, good, columns[1])).text : "");
    const long long    line = (long long)f->sample->record[good].line;
    const ll_csv_field cell = ll_csv_cell(f->sample, good, columns[0]);
    int64_t            t;
    if (n == 1 && ll_time_parse(cell.text, cell.len, NULL, LL_WALL_LATER, &t) == LLAP_ELIMIT)
        return ll_fail_in(LLAP_ELIMIT, "%s:%lld: %s", f->file, line, place);
    if (before.format[0] != '\0')
        return ll_fail(LLAP_EFORMAT,
                       "%s:%lld: %s: expected a time (%s in the lines before), found %s", f->file,
                       line, place, before.format, what);
    return ll_fail(LLAP_EFORMAT,
                   "%s:%lld: %s: cannot tell how the time is written (%s); give its format",
                   f->file, line, place, what);
}

/* Finds the format of columns that are the time, where it was not given. */
static llap_status format_time(finder *f, const size_t *columns, int n)
{
    ll_csv_timeguess guess = { .format = "parts" };
    bool             found = f->o->time_format != NULL || n > 2;
    if (!found) found = guess_format(f, f->sample, columns, n, &guess);
    if (!found && n == 2 && ll_csv_word(f->s->column[columns[0]].name, ll_csv_part_words[0]) >= 0) {
        snprintf(guess.format, sizeof guess.format, "parts");
        found = true;
    }
    if (!found && f->sample->n_records == f->first) {
        if (!f->sample->broken) return ll_fail(LLAP_EFORMAT, "%s: has no line of data", f->file);
        snprintf(guess.format, sizeof guess.format, "number"); /* reading will not get that far */
        found = true;
    }
    if (!found) return fail_time(f, columns, n);
    if (strcmp(guess.format, "number") == 0)
        snprintf(guess.unit, sizeof guess.unit, "%s",
                 ll_csv_unit_of(f->s->column[columns[0]].name));
    set_time(f, columns, n, &guess);
    return LLAP_OK;
}

/* "Date+Time": columns joined by '+', unless one has that very name. */
static llap_status time_by_option(finder *f)
{
    size_t      columns[LL_CLOCK_PARTS_MAX];
    int         n = 0;
    const char *name = f->o->time;
    for (size_t c = 0; c < f->s->n_columns; c++)
        if (strcmp(f->s->column[c].name, name) == 0) return format_time(f, &c, 1);
    for (;;) {
        const char       *plus = strchr(name, '+');
        const size_t      len = plus == NULL ? strlen(name) : (size_t)(plus - name);
        const llap_status st = find_named(f, name, len, &columns[n]);
        if (st != LLAP_OK) return st;
        n++;
        if (plus == NULL) break;
        if (n == LL_CLOCK_PARTS_MAX)
            return ll_fail(LLAP_EOPTION, "time: columns '%s': more than %d", f->o->time,
                           LL_CLOCK_PARTS_MAX);
        name = plus + 1;
    }
    return format_time(f, columns, n);
}

/* year, month, day, ... by name, each in a column of its own; how many in a row are there. */
static int find_parts(const finder *f, size_t columns[LL_CLOCK_PARTS_MAX])
{
    int         n = 0;
    ll_csv_role role[LL_CLOCK_PARTS_MAX];
    for (; n < LL_CLOCK_PARTS_MAX; n++) {
        columns[n] = find_word(f, ll_csv_part_words[n]);
        if (columns[n] == f->s->n_columns) break;
        role[n] = f->s->column[columns[n]].role;
        f->s->column[columns[n]].role = LL_CSV_TIME;
    }
    for (int i = 0; i < n; i++) f->s->column[columns[i]].role = role[i];
    return n;
}

/* Without a header: the first columns may be 2017 01 31 23. */
static int find_bare_parts(const finder *f)
{
    static const double low[] = { 1700, 1, 1, 0 }, high[] = { 2262, 12, 31, 24 };
    int                 n = 0;
    for (; n < 4 && (size_t)n < f->s->n_columns; n++)
        for (size_t r = f->first; r < f->sample->n_records; r++) {
            const ll_csv_field cell = ll_csv_cell(f->sample, r, (size_t)n);
            double             x;
            if (ll_number_double(cell.text, cell.len, '.', &x) != LL_NUMBER_FINITE || x < low[n] ||
                x > high[n] || memchr(cell.text, '.', cell.len) != NULL)
                return n;
        }
    return n;
}

/* A column of clock times beside one of dates, whatever it is called; n_columns: none. */
static size_t find_clock(const finder *f, size_t date, ll_csv_timeguess *guess)
{
    const size_t n = f->s->n_columns;
    for (size_t c = 0; c < n && c < MANY_COLUMNS; c++)
        if (c != date && f->s->column[c].role == LL_CSV_WORDS &&
            ll_csv_guess_date_and_time(f->sample, f->first, date, c, guess))
            return c;
    return n;
}

static llap_status find_time(finder *f)
{
    if (f->o->start != NULL) { /* there is none: rows are counted */
        snprintf(f->s->time_format, sizeof f->s->time_format, "rfc3339");
        return LLAP_OK;
    }
    if (f->o->time != NULL) return time_by_option(f);
    ll_csv_timeguess guess, beside;
    size_t           columns[LL_CLOCK_PARTS_MAX];
    const size_t     none = f->s->n_columns;
    /* a date and a clock */
    columns[0] = find_word(f, ll_csv_date_words);
    columns[1] = find_word(f, ll_csv_clock_words);
    if (columns[0] != none && columns[1] != none && columns[0] != columns[1] &&
        ll_csv_guess_date_and_time(f->sample, f->first, columns[0], columns[1], &guess)) {
        set_time(f, columns, 2, &guess);
        return LLAP_OK;
    }
    if (columns[0] != none && (columns[1] = find_clock(f, columns[0], &guess)) != none) {
        set_time(f, columns, 2, &guess);
        return LLAP_OK;
    }
    /* one column that says so, or parts that do */
    columns[0] = find_word(f, ll_csv_time_words);
    const int n_parts = columns[0] == none ? find_parts(f, columns) : 0;
    if (n_parts >= 2) {
        guess = (ll_csv_timeguess){ .format = "parts" };
        set_time(f, columns, n_parts, &guess);
        return LLAP_OK;
    }
    if (columns[0] != none && n_parts == 0) return format_time(f, columns, 1);
    /* one column that looks like it */
    for (size_t c = 0; c < none && c < MANY_COLUMNS; c++)
        if (f->s->column[c].role == LL_CSV_WORDS &&
            ll_csv_guess_time(f->sample, f->first, c, false, &guess)) {
            columns[0] = c;
            const size_t clock = find_clock(f, c, &beside);
            if (clock != none) columns[1] = clock, guess = beside;
            set_time(f, columns, clock != none ? 2 : 1, &guess);
            return LLAP_OK;
        }
    if (!f->s->header && find_bare_parts(f) >= 3) {
        const int n = find_bare_parts(f);
        for (int i = 0; i < n; i++) columns[i] = (size_t)i;
        guess = (ll_csv_timeguess){ .format = "parts" };
        set_time(f, columns, n, &guess);
        return LLAP_OK;
    }
    return fail_columns(
        f, LLAP_EFORMAT,
        none == 1 ? "no time column found, and one column only: name the separator "
                    "(`separator`), or say when the rows begin and how far apart "
                    "they are (`start`, `row_every`)"
                  : "no time column found: name it (`time`), or say when the rows begin and "
                    "how far apart they are (`start`, `row_every`)");
}

/* ---- the others ----------------------------------------------------------------------------- */

/* The column of entities by its name or by words in front of the time; n_columns: none. numbering:
 * whether columns will do whose cells all differ, which may number the lines instead. */
static size_t guess_entity(const finder *f, bool numbering)
{
    static const char *const id[] = { "id", NULL };
    const size_t             none = f->s->n_columns, c = find_word(f, ll_csv_entity_words);
    /* an id may number the rows; all other words of the list mean what they say, however many
     * entities there are */
    if (c != none && (numbering || ll_csv_word(f->s->column[c].name, id) < 0 || !all_differ(f, c)))
        return c;
    for (size_t k = 0; k < none && f->s->column[k].role != LL_CSV_TIME; k++)
        if (f->s->column[k].role == LL_CSV_WORDS && (numbering || !all_differ(f, k))) return k;
    return none;
}

static llap_status find_entity(finder *f)
{
    size_t c = f->s->n_columns;
    if (f->o->entity != NULL) {
        if (f->o->entity[0] == '\0') return LLAP_OK;
        const llap_status st = find_named(f, f->o->entity, strlen(f->o->entity), &c);
        if (st != LLAP_OK) return st;
    } else {
        c = guess_entity(f, false);
        /* files in order of time, of more entities than were looked at, have no name twice */
        if (c == f->s->n_columns && times_repeat(f)) c = guess_entity(f, true);
        if (c == f->s->n_columns) return LLAP_OK;
    }
    f->s->column[c].role = LL_CSV_ENTITY;
    return LLAP_OK;
}

/* The column that an option names, or a word of the list; n_columns: none. */
static llap_status find_either(const finder *f, const char *name, const char *const *words,
                               size_t *out)
{
    if (name != NULL) return find_named(f, name, strlen(name), out);
    *out = find_word(f, words);
    return LLAP_OK;
}

static llap_status find_form(finder *f)
{
    if (f->o->form == LL_CSV_WIDE) return LLAP_OK;
    const size_t none = f->s->n_columns;
    size_t       variable = none, value = none;
    llap_status  st = find_either(f, f->o->variable, ll_csv_variable_words, &variable);
    if (st == LLAP_OK) st = find_either(f, f->o->value, ll_csv_value_words, &value);
    if (st != LLAP_OK) return st;
    const bool asked = f->o->form == LL_CSV_LONG || f->o->variable != NULL || f->o->value != NULL;
    if (variable == none || value == none) {
        if (!asked) return LLAP_OK;
        return fail_columns(f, LLAP_EINVAL,
                            variable == none ? "long form, but which column has the variables?"
                                             : "long form, but which column has the values?");
    }
    if (!asked && f->s->column[variable].role != LL_CSV_WORDS && f->sample->n_records > f->first)
        return LLAP_OK;
    f->s->is_long = true;
    f->s->column[variable].role = LL_CSV_VARIABLE;
    f->s->column[value].role = LL_CSV_VALUE;
    return LLAP_OK;
}

/* What is left: columns that number the lines; in long form everything. */
static void set_rest(finder *f)
{
    for (size_t c = 0; c < f->s->n_columns; c++) {
        ll_csv_role *role = &f->s->column[c].role;
        if (*role != LL_CSV_NUMBER && *role != LL_CSV_WORDS) continue;
        const char *name = f->s->header ? f->s->column[c].name : "x";
        const bool  unnamed = f->s->header && !f->s->column[c].named;
        if (f->s->is_long) *role = LL_CSV_NOTHING;
        else if (*role == LL_CSV_NUMBER &&
                 ll_csv_word(unnamed ? "" : name, ll_csv_counter_words) >= 0 &&
                 look_at(f, c).whole && all_differ(f, c))
            *role = LL_CSV_COUNTER;
    }
}

llap_status ll_csv_schema_init(ll_csv_schema *s, const char *name, const ll_csv_sample *sample,
                               const ll_csv_opts *o)
{
    *s = (ll_csv_schema){ .dialect = sample->dialect, .decimal = sample->decimal };
    finder      f = { s, sample, o, name, 0 };
    llap_status st = name_columns(&f);
    if (st == LLAP_OK) st = find_time(&f);
    if (st == LLAP_OK) st = find_form(&f);
    if (st == LLAP_OK) st = find_entity(&f);
    if (st == LLAP_OK) set_rest(&f);
    return st == LLAP_OK ? ll_csv_find_refusal(s, name, sample, f.first, o) : st;
}

void ll_csv_schema_deinit(ll_csv_schema *s)
{
    ll_arena_deinit(&s->text);
    *s = (ll_csv_schema){ 0 };
}
