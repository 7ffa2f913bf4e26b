#include "predict/view/static_table.h"

#include "base/error.h"
#include "base/text.h"
#include "data/clock.h"
#include "data/panel_words.h"
#include "data/text/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void ll_static_table_deinit(ll_static_table *t)
{
    ll_csv_statics_deinit(&t->file);
    ll_arena_deinit(&t->room);
    *t = (ll_static_table){ 0 };
}

bool ll_static_is_file(const char *text)
{
    static const char *const ends[] = { ".csv", ".tsv", ".gz" };
    const size_t             n = strlen(text);
    bool                     yes = strchr(text, '/') != NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t len = strlen(ends[i]);
        yes = yes || (n > len && strcmp(text + n - len, ends[i]) == 0);
    }
    return yes;
}

/* ---- from the file ---- */

static bool is_number(const char *word, double *x)
{
    const double most = 1e150; /* squares of larger ones overflow; none of them is a measurement */
    return ll_number_double(word, strlen(word), '.', x) == LL_NUMBER_FINITE && fabs(*x) <= most;
}

/* Column c of the file: its words, and its numbers; *bad: the first entity whose word is none. */
static llap_status take_file(ll_static_table *t, size_t c, int64_t n_entities, int64_t *bad)
{
    double *number = ll_arena_new(&t->room, (size_t)n_entities, sizeof *number);
    int64_t known = 0;
    if (number == NULL) return LLAP_ENOMEM;
    *bad = -1;
    for (int64_t e = 0; e < n_entities; e++) {
        const char *word = t->file.word[c][e];
        number[e] = NAN;
        if (word == NULL) continue;
        known++;
        if (!is_number(word, &number[e]) && *bad < 0) *bad = e;
    }
    t->name[t->n] = t->file.name[c];
    t->column[t->n++] = (ll_static_column){ .words = *bad >= 0 || known == 0,
                                            .number = number,
                                            .word = (const char *const *)t->file.word[c] };
    return LLAP_OK;
}

static llap_status too_many(size_t n)
{
    return ll_fail(LLAP_EOPTION, "static: %zu columns, more than %d", n, LL_STATIC_COLUMNS);
}

static llap_status init_file(ll_static_table *t, const llap_panel *p, const char *path)
{
    int64_t     bad;
    llap_status st = ll_csv_statics_read(path, p, &t->file);
    if (st != LLAP_OK) return ll_fail_in(st, "static");
    if (t->file.n > LL_STATIC_COLUMNS) return too_many(t->file.n);
    for (size_t c = 0; st == LLAP_OK && c < t->file.n; c++)
        st = take_file(t, c, p->n_entities, &bad);
    return st;
}

/* ---- from the data ---- */

static llap_status changes(const llap_panel *p, int64_t var, int64_t e, int64_t first, int64_t row)
{
    const float *value = p->value;
    char         shown[2][LL_NUMBER_PRINT];
    ll_number_print(value[first * p->n_vars + var], '.', shown[0]);
    ll_number_print(value[row * p->n_vars + var], '.', shown[1]);
    return ll_fail(LLAP_EINVAL, "static: '%s' changes: entity '%s': %s at %s, %s at %s",
                   ll_text_show(p->var[var]).text, ll_text_show(p->entity[e]).text, shown[0],
                   ll_clock_show(&p->axis, p->time[first]).text, shown[1],
                   ll_clock_show(&p->axis, p->time[row]).text);
}

static llap_status take_numbers(ll_static_table *t, const llap_panel *p, int64_t var)
{
    double *number = ll_arena_new(&t->room, (size_t)p->n_entities, sizeof *number);
    if (number == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t first = -1;
        number[e] = NAN;
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            if (!ll_panel_observed(p, r, var)) continue;
            const double x = (double)p->value[r * p->n_vars + var];
            if (first < 0) number[e] = x, first = r;
            if (x != number[e]) return changes(p, var, e, first, r);
        }
    }
    t->column[t->n++] = (ll_static_column){ .number = number };
    return LLAP_OK;
}

/* The column of the panel that has this name, of numbers or of words; *found: there is one. */
static llap_status take_panel(ll_static_table *t, const llap_panel *p, const char *name,
                              bool *found)
{
    const int64_t var = ll_panel_find_var(p, name), words = ll_panel_find_words(p, name);
    *found = var >= 0 || words >= 0;
    if (!*found) return LLAP_OK;
    t->name[t->n] = name;
    if (words < 0) return take_numbers(t, p, var); /* of codes the words are taken */
    if (p->words->changes[words] != NULL)
        return ll_fail(LLAP_EINVAL, "static: '%s' changes: %s", ll_text_show(name).text,
                       p->words->changes[words]);
    t->column[t->n++] =
        (ll_static_column){ .words = true, .word = (const char *const *)p->words->word[words] };
    return LLAP_OK;
}

static llap_status no_such_column(ll_static_table *t, const llap_panel *p, const char *name)
{
    const uint32_t n_words = p->words == NULL ? 0 : p->words->n;
    const char   **all = ll_arena_new(&t->room, (size_t)p->n_vars + n_words + 1, sizeof *all);
    if (all == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < p->n_vars; v++) all[v] = p->var[v];
    size_t n = (size_t)p->n_vars;
    for (uint32_t c = 0; c < n_words; c++) /* codes are variables, too */
        if (ll_panel_find_var(p, p->words->name[c]) < 0) all[n++] = p->words->name[c];
    const char *near = llap_text_nearest(name, (const char *const *)all);
    char        list[400] = "";
    size_t      at = 0;
    for (size_t i = 0; i < n && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 0 ? ", " : "",
                               ll_text_show(all[i]).text);
    return ll_fail(LLAP_EINVAL,
                   "static: the data has no column '%s'%s%s%s; its columns are %s; a file has a "
                   "'/' or ends in .csv",
                   ll_text_show(name).text, near != NULL ? " (did you mean '" : "",
                   near != NULL ? ll_text_show(near).text : "", near != NULL ? "'?)" : "", list);
}

static llap_status init_list(ll_static_table *t, const llap_panel *p, const char *text)
{
    llap_status st = LLAP_OK;
    for (const char *s = text; st == LLAP_OK && *s != '\0';) {
        const size_t len = strcspn(s, ",");
        const char  *name = ll_arena_strndup(&t->room, s, len);
        bool         found = false;
        if (name == NULL) return LLAP_ENOMEM;
        s += len + (s[len] == ',');
        if (t->n == LL_STATIC_COLUMNS) return too_many((size_t)t->n + 1);
        for (int32_t i = 0; i < t->n; i++)
            if (strcmp(t->name[i], name) == 0)
                return ll_fail(LLAP_EOPTION, "static: '%s' is given twice",
                               ll_text_show(name).text);
        st = take_panel(t, p, name, &found);
        if (st == LLAP_OK && !found) st = no_such_column(t, p, name);
    }
    if (st == LLAP_OK && t->n == 0) st = ll_fail(LLAP_EOPTION, "static: no name given");
    return st;
}

llap_status ll_static_table_init(ll_static_table *t, const llap_panel *p, const char *text)
{
    *t = (ll_static_table){ 0 };
    return ll_static_is_file(text) ? init_file(t, p, text) : init_list(t, p, text);
}

/* ---- found ---- */

/* Two entities share a word on average, at least, and not all of them one. */
static bool tells_kinds(const llap_panel *p, int64_t words)
{
    const char *const *word = (const char *const *)p->words->word[words];
    int64_t            known = 0, different = 0;
    if (p->words->changes[words] != NULL || word == NULL) return false;
    for (int64_t e = 0; e < p->n_entities; e++) {
        bool first = word[e] != NULL;
        known += first;
        for (int64_t b = 0; b < e && first; b++)
            first = word[b] == NULL || strcmp(word[b], word[e]) != 0;
        different += first;
        if (2 * different > p->n_entities) return false;
    }
    return different > 1 && 2 * different <= known;
}

static bool is_skipped(const llap_panel *p, const char *name, const int64_t *skip, int64_t n_skip)
{
    for (int64_t i = 0; i < n_skip; i++)
        if (strcmp(p->var[skip[i]], name) == 0) return true;
    return false;
}

llap_status ll_static_table_find(ll_static_table *t, const llap_panel *p, const int64_t *skip,
                                 int64_t n_skip)
{
    const uint32_t n_words = p->words == NULL ? 0 : p->words->n;
    llap_status    st = LLAP_OK;
    bool           found;
    *t = (ll_static_table){ 0 };
    for (int64_t v = 0; st == LLAP_OK && v < p->n_vars && t->n < LL_STATIC_COLUMNS; v++)
        if (ll_panel_find_words(p, p->var[v]) < 0 && !is_skipped(p, p->var[v], skip, n_skip) &&
            ll_panel_is_static(p, v))
            st = take_panel(t, p, p->var[v], &found);
    for (uint32_t c = 0; st == LLAP_OK && c < n_words && t->n < LL_STATIC_COLUMNS; c++)
        if (!is_skipped(p, p->words->name[c], skip, n_skip) && tells_kinds(p, c))
            st = take_panel(t, p, p->words->name[c], &found);
    return st;
}

/* ---- what a model asks for ---- */

/* The last column against what training had. */
static llap_status check_kind(const ll_static_table *t, const llap_panel *p, bool words,
                              int64_t bad)
{
    const ll_static_column *c = &t->column[t->n - 1];
    const char             *name = t->name[t->n - 1];
    if (words && c->word == NULL)
        return ll_fail(LLAP_EINVAL, "static: '%s': expected words, as in training, found numbers",
                       ll_text_show(name).text);
    if (!words && c->number == NULL)
        return ll_fail(LLAP_EINVAL, "static: '%s': expected numbers, as in training, found words",
                       ll_text_show(name).text);
    if (!words && bad >= 0)
        return ll_fail(LLAP_EFORMAT, "static: '%s' of entity '%s': expected a number, found '%s'",
                       ll_text_show(name).text, ll_text_show(p->entity[bad]).text,
                       ll_text_show(c->word[bad]).text);
    return LLAP_OK;
}

llap_status ll_static_table_for(ll_static_table *t, const llap_model *m, const llap_panel *p,
                                const char *path)
{
    const ll_statics *of = ll_model_statics(m);
    *t = (ll_static_table){ 0 };
    assert(of != NULL && of->n == m->frame.n_statics);
    llap_status st = path == NULL ? LLAP_OK : ll_csv_statics_read(path, p, &t->file);
    if (st != LLAP_OK) return ll_fail_in(st, "static");
    for (int32_t i = 0; st == LLAP_OK && i < of->n; i++) {
        const char *name = m->frame.statics[i];
        bool        found = false;
        int64_t     bad = -1;
        for (size_t c = 0; st == LLAP_OK && !found && c < t->file.n; c++)
            if (strcmp(t->file.name[c], name) == 0) {
                found = true;
                st = take_file(t, c, p->n_entities, &bad);
            }
        if (st == LLAP_OK && !found) st = take_panel(t, p, name, &found);
        if (st == LLAP_OK && found) st = check_kind(t, p, of->input[i].words, bad);
        if (st == LLAP_OK && !found) t->name[t->n++] = name; /* missing for all */
    }
    return st;
}
