/* What must not be guessed about numbers, because a wrong guess would not be seen. */
#include "base/error.h"
#include "data/csv/marks.h"
#include "data/csv/schema.h"
#include "data/csv/variables.h"
#include "data/text/names.h"

typedef struct search {
    ll_csv_schema       *s;
    const char          *file;
    const ll_csv_sample *sample;
    size_t               first;
    const ll_csv_opts   *o;
} search;

static bool is_numeric(const search *f, size_t c)
{
    const ll_csv_role role = f->s->column[c].role;
    return role == LL_CSV_VALUE || (role == LL_CSV_NUMBER && !f->s->is_long);
}

static bool is_wanted(const search *f, size_t c)
{
    return f->s->column[c].role == LL_CSV_VALUE || ll_csv_is_wanted(f->o, f->s->column[c].name);
}

static llap_status refuse(const search *f, size_t record, size_t c, const char *what)
{
    f->s->refusal = ll_arena_printf(&f->s->text, "%s:%lld: column %zu '%s': %s", f->file,
                                    (long long)f->sample->record[record].line, c + 1,
                                    ll_text_show(f->s->column[c].name).text, what);
    return f->s->refusal == NULL ? LLAP_ENOMEM : LLAP_OK;
}

/* Whether 1.234 is 1234 or 1.234: shown by the column itself, by the others, or, where fields are
 * not parted by semicolons, by the usage that a point is a point. */
static llap_status check_marks(const search *f, size_t c, bool shown)
{
    const ll_csv_votes v = ll_csv_count_votes(f->sample, f->first, c);
    const size_t       unclear = v.point_or_thousands + v.comma_or_thousands;
    if (unclear == 0 || v.point + v.comma > 0) return LLAP_OK;
    const bool both = v.point_or_thousands > 0 && v.comma_or_thousands > 0;
    if (shown && !both) return LLAP_OK;
    if (v.comma_or_thousands == 0 && f->sample->dialect.separator != ';') return LLAP_OK;
    char               what[320];
    float              with_point, with_comma;
    const ll_csv_field cell = ll_csv_cell(f->sample, v.first_unclear, c);
    (void)ll_csv_number(cell, '.', &with_point);
    (void)ll_csv_number(cell, ',', &with_comma);
    snprintf(what, sizeof what,
             "'%s' may be %g or %g, and no other cell shows which: say the point (`decimal`)",
             ll_csv_show(cell).text, (double)with_point, (double)with_comma);
    return refuse(f, v.first_unclear, c, what);
}

/* Whether a column that would be left out is one of numbers that cannot be read: those of the other
 * decimal point, or with something around them. */
static llap_status check_words(const search *f, size_t c)
{
    size_t     numeric = 0, words = 0, other = 0, where[2] = { 0 };
    const char point = f->s->decimal == ',' ? '.' : ',';
    for (size_t r = f->first; r < f->sample->n_records; r++) {
        const ll_csv_field cell = ll_csv_cell(f->sample, r, c);
        if (ll_csv_means_missing(f->o, cell)) continue;
        words++;
        if (!ll_csv_looks_numeric(cell, f->s->decimal)) continue;
        if (numeric < 2) where[numeric] = r;
        numeric++;
        other += ll_csv_is_number(cell, point);
    }
    if (numeric * 2 <= words) return LLAP_OK;
    const bool two = numeric > 1;
    char       what[480];
    snprintf(what, sizeof what, "'%s'%s%s%s look%s like %s, but %s",
             ll_csv_show(ll_csv_cell(f->sample, where[0], c)).text, two ? ", '" : "",
             two ? ll_csv_show(ll_csv_cell(f->sample, where[1], c)).text : "", two ? "'" : "",
             two ? "" : "s", two ? "numbers" : "a number",
             other * 2 <= numeric ? "something stands beside the digits: name what means missing "
                                    "(`missing`), leave the column out (`drop`) or take it for "
                                    "words (`coded`)"
             : f->s->decimal == ','
                 ? "cannot be read with a decimal comma: say the point (`decimal`) or leave the "
                   "column out (`drop`)"
                 : "cannot be read with a decimal point: say the point (`decimal`) or leave the "
                   "column out (`drop`)");
    return refuse(f, where[0], c, what);
}

/* Whether the words of a column are a category: two to o->few_words, each twice on average. */
static llap_status look_at_words(const search *f, size_t c)
{
    ll_names    seen = { 0 };
    size_t      n = 0;
    llap_status st = LLAP_OK;
    for (size_t r = f->first; r < f->sample->n_records && st == LLAP_OK; r++) {
        const ll_csv_field cell = ll_csv_cell(f->sample, r, c);
        uint32_t           id;
        if (ll_csv_is_missing_word(cell)) continue;
        st = ll_names_add(&seen, cell.text, cell.len, &id);
        n++;
        if (seen.n > f->o->few_words) break;
    }
    f->s->column[c].few = seen.n >= 2 && seen.n <= f->o->few_words && n >= 2 * (size_t)seen.n;
    ll_names_deinit(&seen);
    return st;
}

/* 1,5 in a table without time and header: one number or two. */
static llap_status check_lone(const search *f)
{
    const ll_csv_record *r = &f->sample->record[0];
    if (f->o->start == NULL || f->o->separator != '\0' || f->s->header || r->n != 2 ||
        f->sample->dialect.separator != ',' || r->field[0].quoted || r->field[1].quoted)
        return LLAP_OK;
    char what[320];
    snprintf(what, sizeof what,
             "'%s,%s' may be one number or two: say what is between fields (`separator`), ; where "
             "it is one",
             ll_csv_show(ll_csv_cell(f->sample, 0, 0)).text,
             ll_csv_show(ll_csv_cell(f->sample, 0, 1)).text);
    return refuse(f, 0, 0, what);
}

llap_status ll_csv_find_refusal(ll_csv_schema *s, const char *file, const ll_csv_sample *sample,
                                size_t first, const ll_csv_opts *o)
{
    const search f = { s, file, sample, first, o };
    bool         shown = o->decimal != '\0' || !ll_csv_may_hold_commas(sample);
    const bool   look = !shown;
    for (size_t c = 0; c < s->n_columns && !shown; c++) {
        if (!is_numeric(&f, c)) continue;
        const ll_csv_votes v = ll_csv_count_votes(sample, first, c);
        shown = v.point + v.comma > 0;
    }
    llap_status st = check_lone(&f);
    for (size_t c = 0; c < s->n_columns && st == LLAP_OK && s->refusal == NULL; c++) {
        if (!is_wanted(&f, c)) continue;
        if (look && is_numeric(&f, c)) st = check_marks(&f, c, shown);
        if (s->column[c].role == LL_CSV_WORDS && o->text == LL_CSV_TEXT_AUTO &&
            !ll_csv_is_made_of_words(o, s->column[c].name)) {
            st = check_words(&f, c);
            if (st == LLAP_OK && o->few_words > 0) st = look_at_words(&f, c);
        }
    }
    return st;
}
