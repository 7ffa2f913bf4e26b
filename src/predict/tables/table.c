#include "predict/tables/table.h"

#include "base/error.h"
#include "base/text.h"
#include "data/csv/sample.h"
#include "data/text/number.h"
#include "data/text/source.h"

#include <math.h>
#include <string.h>

enum { RECORD_MAX = 1 << 16 };

llap_status ll_table_open(ll_table *t, const char *path)
{
    *t = (ll_table){ 0 };
    llap_status st = ll_source_open(path, &t->source);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&t->tokens, t->source, RECORD_MAX);
    t->tokens.dialect = (ll_csv_dialect){ ',', '"', '\n', "" };
    t->placed = st != LLAP_OK;
    return st;
}

void ll_table_close(ll_table *t)
{
    ll_csv_tokens_deinit(&t->tokens);
    ll_source_close(t->source);
    *t = (ll_table){ 0 };
}

llap_status ll_table_next(ll_table *t)
{
    const llap_status st = ll_csv_tokens_next(&t->tokens);
    t->placed = st != LLAP_OK;
    return st;
}

llap_status ll_table_fail(const ll_table *t, const char *path, llap_status st)
{
    return st == LLAP_OK || st == LLAP_ENOMEM || t->placed
               ? st
               : ll_fail_in(st, "%s:%lld", ll_text_show(path).text, (long long)t->tokens.line);
}

bool ll_field_is(const ll_csv_field *f, const char *word)
{
    return f->len == strlen(word) && memcmp(f->text, word, f->len) == 0;
}

double ll_field_level(const ll_csv_field *f)
{
    double q;
    if (f->len < 2 || f->text[0] != 'q') return NAN;
    const ll_number_kind kind = ll_number_double(f->text + 1, f->len - 1, '.', &q);
    return kind == LL_NUMBER_FINITE && q > 0 && q < 1 ? q : (double)NAN;
}

llap_status ll_field_number(const ll_csv_field *f, double *out)
{
    const ll_csv_field x = ll_csv_trim(*f);
    if (ll_number_double(x.text, x.len, '.', out) != LL_NUMBER_NONE) return LLAP_OK;
    *out = NAN;
    if (ll_field_is(&x, "nan") || ll_field_is(&x, "-nan")) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "expected a number, found '%s'", ll_csv_show(*f).text);
}
