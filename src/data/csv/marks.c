#include "data/csv/marks.h"

#include <assert.h>
#include <ctype.h>

ll_number_kind ll_csv_number(ll_csv_field f, char decimal, float *out)
{
    const ll_number_kind kind = ll_number_float(f.text, f.len, decimal, out);
    char                 plain[LL_NUMBER_TEXT];
    if (kind != LL_NUMBER_NONE) return kind;
    const size_t n = ll_number_ungroup(f.text, f.len, decimal, plain);
    return n == 0 ? LL_NUMBER_NONE : ll_number_float(plain, n, decimal, out);
}

/* ---- the decimal point ---------------------------------------------------------------------- */

/* 18.30 */
static bool is_clock(ll_csv_field f)
{
    const char *t = f.text;
    if (f.len == 4 && t[1] == '.') return isdigit((unsigned char)t[0]) && t[2] < '6';
    return f.len == 5 && t[2] == '.' && (t[0] < '2' || (t[0] == '2' && t[1] < '4')) && t[3] < '6';
}

static void vote(ll_csv_votes *v, ll_csv_field f, size_t record)
{
    const bool has_point = memchr(f.text, '.', f.len) != NULL;
    const bool has_comma = memchr(f.text, ',', f.len) != NULL;
    if (!has_point && !has_comma) return;
    const bool point = ll_csv_is_number(f, '.'), comma = ll_csv_is_number(f, ',');
    if (point && comma) {
        if (v->point_or_thousands + v->comma_or_thousands == 0) v->first_unclear = record;
        if (has_point) v->point_or_thousands++;
        else v->comma_or_thousands++;
    } else if (point) {
        v->clock = v->clock && is_clock(f);
        v->point++;
    } else if (comma) {
        v->comma++;
    }
}

ll_csv_votes ll_csv_count_votes(const ll_csv_sample *s, size_t first, size_t column)
{
    ll_csv_votes v = { .clock = true };
    for (size_t r = first; r < s->n_records; r++) vote(&v, ll_csv_cell(s, r, column), r);
    return v;
}

bool ll_csv_may_hold_commas(const ll_csv_sample *s)
{
    if (s->dialect.separator != ',') return true;
    for (size_t r = 0; r < s->n_records; r++)
        for (size_t c = 0; c < s->record[r].n; c++)
            if (s->record[r].field[c].quoted) return true;
    return false;
}

char ll_csv_find_decimal(const ll_csv_sample *s)
{
    size_t point = 0, comma = 0, clocks = 0, unclear_point = 0, unclear_comma = 0;
    if (!ll_csv_may_hold_commas(s)) return '.';
    for (size_t c = 0; c < s->n_columns; c++) {
        const ll_csv_votes v = ll_csv_count_votes(s, 0, c);
        if (v.comma > v.point) comma++;
        else if (v.point > 0 && v.clock) clocks++;
        else if (v.point > 0) point++;
        unclear_point += v.point_or_thousands;
        unclear_comma += v.comma_or_thousands;
    }
    if (point != comma) return comma > point ? ',' : '.';
    if (point + clocks > 0 || s->dialect.separator == ',') return '.';
    return unclear_comma > unclear_point ? ',' : '.';
}

/* ---- words that might be numbers ------------------------------------------------------------ */

/* Takes one of the words off an end of the field. */
static bool strip(ll_csv_field *f, const char *const *words, bool front)
{
    for (; *words != NULL; words++) {
        const uint32_t len = (uint32_t)strlen(*words);
        if (f->len <= len) continue;
        if (memcmp(front ? f->text : f->text + f->len - len, *words, len) != 0) continue;
        if (front) f->text += len;
        f->len -= len;
        return true;
    }
    return false;
}

bool ll_csv_looks_numeric(ll_csv_field f, char decimal)
{
    static const char *const front[] = { "$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "<", ">",
                                         "~", "EUR",          "USD",      "CHF",      "(", NULL };
    static const char *const back[] = { "%",
                                        "\xe2\x80\xb0",
                                        "$",
                                        "\xe2\x82\xac",
                                        "\xc2\xa3",
                                        "\xc2\xa5",
                                        "-",
                                        "EUR",
                                        "USD",
                                        "CHF",
                                        ")",
                                        "\xc2\xb0"
                                        "C",
                                        "\xc2\xb0"
                                        "F",
                                        "\xc2\xb0",
                                        "mm",
                                        "kW",
                                        "kWh",
                                        "MW",
                                        "hPa",
                                        "m/s",
                                        "kg",
                                        "W",
                                        "V",
                                        NULL };
    f.quoted = false;
    f = ll_csv_trim(f);
    while (strip(&f, front, true)) f = ll_csv_trim(f);
    while (strip(&f, back, false)) f = ll_csv_trim(f);
    assert(f.len > 0 || f.text != NULL);
    return ll_csv_is_number(f, decimal) || ll_csv_is_number(f, decimal == ',' ? '.' : ',');
}
