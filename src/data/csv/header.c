#include "data/csv/header.h"

#include "base/time/time.h"
#include "data/csv/marks.h"
#include "data/csv/schema.h"
#include "data/csv/words.h"

#include <ctype.h>

enum { MANY_COLUMNS = 64 }; /* no header is told by what comes behind these */

static ll_csv_field cell_of(const ll_csv_record *r, size_t column)
{
    static char        nothing[] = "";
    const ll_csv_field none = { nothing, 0, false };
    return column < r->n ? ll_csv_trim(r->field[column]) : none;
}

static bool is_word(const ll_csv_sample *s, ll_csv_field cell)
{
    return !ll_csv_is_missing_word(cell) && !ll_csv_is_number(cell, s->decimal);
}

/* More numbers than words from the record on. */
static bool holds_numbers(const ll_csv_sample *s, size_t first, size_t column)
{
    size_t numbers = 0, words = 0;
    for (size_t r = first; r < s->n_records; r++) {
        const ll_csv_field cell = ll_csv_cell(s, r, column);
        if (ll_csv_is_missing_word(cell)) continue;
        if (ll_csv_is_number(cell, s->decimal)) numbers++;
        else words++;
    }
    return numbers > words;
}

/* The times of the column are written so that the cell above them is none. */
static bool is_above_times(const ll_csv_sample *s, size_t first, size_t column, ll_csv_field cell)
{
    ll_csv_timeguess guess;
    ll_clock         clock;
    int64_t          t;
    if (!ll_csv_guess_time(s, first, column, true, &guess) ||
        ll_time_parse(cell.text, cell.len, NULL, LL_WALL_EARLIER, &t) == LLAP_OK)
        return false;
    const bool reads = ll_clock_init(&clock, guess.format, guess.unit, NULL) == LLAP_OK &&
                       ll_clock_read(&clock, cell.text, cell.len, '.', &t) == LLAP_OK;
    ll_clock_deinit(&clock);
    return !reads;
}

/* A record is a header when a cell of it is a word above a column of numbers or times, or when it
 * names a time column. */
static bool is_header(const ll_csv_sample *s, const ll_csv_record *r, size_t first)
{
    for (size_t c = 0; c < r->n && c < MANY_COLUMNS; c++) {
        const ll_csv_field cell = cell_of(r, c);
        char               name[64];
        if (!is_word(s, cell)) continue;
        snprintf(name, sizeof name, "%.*s", (int)(cell.len < 63 ? cell.len : 63), cell.text);
        if (ll_csv_word(name, ll_csv_time_words) >= 0 || holds_numbers(s, first, c) ||
            is_above_times(s, first, c, cell))
            return true;
    }
    return false;
}

/* Words only, over numbers: a second line of header. */
static bool goes_on(const ll_csv_sample *s, const ll_csv_record *r, size_t first)
{
    bool over_numbers = false;
    if (first >= s->n_records) return false;
    for (size_t c = 0; c < r->n && c < MANY_COLUMNS; c++) {
        const ll_csv_field cell = cell_of(r, c);
        if (cell.len == 0) continue;
        if (ll_csv_is_number(cell, s->decimal)) return false;
        if (isdigit((unsigned char)cell.text[0]) && cell.len > 5) return false; /* a time */
        over_numbers = over_numbers || (is_word(s, cell) && holds_numbers(s, first, c));
    }
    return over_numbers;
}

/* The first line spans several columns of the second: it has holes, or says a name twice. */
static bool spans(const ll_csv_record *over, const ll_csv_record *under)
{
    for (size_t c = 0; c < over->n; c++) {
        const ll_csv_field a = cell_of(over, c);
        if (a.len == 0 && cell_of(under, c).len > 0) return true;
        for (size_t k = 0; k < c && c < MANY_COLUMNS && a.len > 0; k++) {
            const ll_csv_field b = cell_of(over, k);
            if (a.len == b.len && memcmp(a.text, b.text, a.len) == 0) return true;
        }
    }
    return false;
}

static const char *copy(ll_csv_header *h, ll_csv_field cell)
{
    return ll_arena_strndup(&h->text, cell.text, cell.len);
}

/* "[m/s]" and "(m/s)" are m/s; "-" is none. */
static ll_csv_field unit_in(ll_csv_field cell)
{
    if (cell.len >= 2 && ((cell.text[0] == '[' && cell.text[cell.len - 1] == ']') ||
                          (cell.text[0] == '(' && cell.text[cell.len - 1] == ')')))
        cell.text++, cell.len -= 2;
    if (ll_csv_is_missing_word(cell)) cell.len = 0;
    return cell;
}

/* Names and units; over: a line above the names, units: one below; NULL: none. shift: columns in
 * front that the header leaves out. */
static llap_status set_names(ll_csv_header *h, const ll_csv_record *over,
                             const ll_csv_record *names, const ll_csv_record *units, size_t shift)
{
    ll_csv_field span = { NULL, 0, false };
    for (size_t c = 0; c < h->n_columns; c++) {
        const bool         none = names == NULL || c < shift;
        const ll_csv_field name =
            none ? cell_of(&(ll_csv_record){ 0 }, 0) : cell_of(names, c - shift);
        if (over != NULL && cell_of(over, c).len > 0) span = cell_of(over, c);
        const bool joined = over != NULL && span.len > 0 && cell_of(over, 0).text != span.text;
        if (joined && name.len > 0)
            h->name[c] = ll_arena_printf(&h->text, "%.*s %.*s", (int)span.len, span.text,
                                         (int)name.len, name.text);
        else h->name[c] = copy(h, name.len == 0 && over != NULL ? cell_of(over, c) : name);
        h->unit[c] = units == NULL ? "" : copy(h, unit_in(cell_of(units, c)));
        if (h->name[c] == NULL || h->unit[c] == NULL) return LLAP_ENOMEM;
        if (h->name[c][0] == '\0' && !name.quoted) h->name[c] = NULL;
    }
    return LLAP_OK;
}

/* How many columns there are, given what the header and most records have; *shift: how many the
 * header leaves out in front, as tables of R do. */
static size_t count_columns(const ll_csv_sample *s, const ll_csv_record *names, size_t first,
                            size_t *shift)
{
    const size_t usual = ll_csv_usual_fields(s, first);
    size_t       n = names->n;
    *shift = 0;
    while (n > usual && usual > 0 && cell_of(names, n - 1).len == 0) n--;
    bool filled = false;
    for (size_t r = first; r < s->n_records; r++) {
        if (s->record[r].n != names->n + 1) return n;
        filled = filled || ll_csv_cell(s, r, names->n).len > 0;
    }
    /* among commas, a field too many is a decimal comma */
    *shift = filled && s->dialect.separator != ',';
    return *shift > 0 ? usual : n;
}

llap_status ll_csv_header_init(ll_csv_header *h, const ll_csv_sample *s, const ll_csv_opts *o)
{
    *h = (ll_csv_header){ 0 };
    const ll_csv_record *names = &s->record[0], *over = NULL, *units = NULL;
    size_t               shift = 0;
    h->any = o->header == LL_YES || (o->header == LL_AUTO && is_header(s, names, 1));
    if (o->header == LL_AUTO && !h->any && s->n_records == 1 && s->n_columns > 1)
        h->any = !ll_csv_is_number(ll_csv_cell(s, 0, s->n_columns - 1), s->decimal);
    h->first = h->any;
    if (h->any && goes_on(s, &s->record[h->first], 2)) {
        h->first = 2;
        if (spans(names, &s->record[1])) over = names, names = &s->record[1];
        else units = &s->record[1];
    } else if (!h->any && o->header == LL_AUTO && s->n_above > 0 && is_header(s, &s->above[0], 0)) {
        h->any = h->commented = true;
        names = &s->above[0];
        if (s->n_above == 2) units = &s->above[1];
    } else if (!h->any && o->header == LL_AUTO && s->n_above == 2 &&
               is_header(s, &s->above[1], 0)) {
        h->any = h->commented = true;
        names = &s->above[1];
    }
    h->n_columns = h->any ? count_columns(s, names, h->first, &shift) : names->n;
    h->first_line =
        h->first < s->n_records ? s->record[h->first].line : s->record[s->n_records - 1].line + 1;
    h->name = ll_arena_new(&h->text, h->n_columns, sizeof *h->name);
    h->unit = ll_arena_new(&h->text, h->n_columns, sizeof *h->unit);
    if (h->name == NULL || h->unit == NULL) return LLAP_ENOMEM;
    return set_names(h, over, h->any ? names : NULL, units, shift);
}

void ll_csv_header_deinit(ll_csv_header *h)
{
    ll_arena_deinit(&h->text);
    *h = (ll_csv_header){ 0 };
}
