/* Times that people write: one, or a file of them. */
#include "predict/tables/times.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"
#include "base/text.h"
#include "data/clock.h"
#include "data/csv/token.h"
#include "data/text/source.h"
#include "predict/tables/answer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_MAX = 1 << 16 };

/* ---- one ---- */

static llap_status clock_of(const ll_axis *axis, bool own, ll_clock *c)
{
    const bool number = axis->kind == LL_AXIS_NUMBER,
               epoch = strncmp(axis->format, "epoch ", 6) == 0;
    const char *format = number ? "number" : !own ? "rfc3339" : epoch ? "epoch" : axis->format;
    const char *unit = number && *axis->unit ? axis->unit : own && epoch ? axis->format + 6 : NULL;
    return ll_clock_init(c, format, unit, !number && *axis->zone ? axis->zone : NULL);
}

llap_status ll_axis_reader_init(ll_axis_reader *r, const ll_axis *axis)
{
    llap_status st = LLAP_OK;
    *r = (ll_axis_reader){ 0 };
    for (int own = *axis->format != '\0'; own >= 0 && st == LLAP_OK; own--)
        st = clock_of(axis, own == 1, &r->clock[r->n++]);
    return st;
}

void ll_axis_reader_deinit(ll_axis_reader *r)
{
    for (int i = 0; i < r->n; i++) ll_clock_deinit(&r->clock[i]);
    *r = (ll_axis_reader){ 0 };
}

llap_status ll_axis_reader_read(ll_axis_reader *r, const char *text, size_t n, int64_t *out)
{
    llap_status st = LLAP_EFORMAT;
    assert(r->n > 0);
    for (int i = 0; i < r->n && st != LLAP_OK; i++)
        st = ll_clock_read(&r->clock[i], text, n, '.', out);
    return st;
}

llap_status ll_axis_time_read(const ll_axis *axis, const char *text, size_t n, int64_t *out)
{
    ll_axis_reader r;
    llap_status    st = ll_axis_reader_init(&r, axis);
    if (st == LLAP_OK) st = ll_axis_reader_read(&r, text, n, out);
    ll_axis_reader_deinit(&r);
    return st;
}

llap_status ll_panel_time_parse(const llap_panel *p, const char *what, const char *text,
                                int64_t *at)
{
    const llap_status st = ll_axis_time_read(&p->axis, text, strlen(text), at);
    return st == LLAP_OK || st == LLAP_ENOMEM ? st : ll_fail_in(LLAP_EOPTION, "%s", what);
}

/* ---- a file of times: a column `time`, or one time a line; a column `entity` if they differ ----
 */

enum { TIME, ENTITY, ORIGIN, TIME_COLUMNS };
static const char *const time_column[TIME_COLUMNS] = { "time", "entity", "origin" };

typedef struct time_file {
    ll_query_times *out;
    size_t          room;
    int             column[TIME_COLUMNS]; /* -1: none */
    ll_axis_reader  clock;
} time_file;

static bool field_is(const ll_csv_field *f, const char *word)
{
    return f->len == strlen(word) && memcmp(f->text, word, f->len) == 0;
}

static bool read_header(const ll_csv_tokens *t, time_file *f)
{
    for (int i = 0; i < (int)t->n_fields; i++)
        for (int k = 0; k < TIME_COLUMNS; k++)
            if (field_is(&t->field[i], time_column[k])) f->column[k] = i;
    if (f->column[TIME] < 0 && t->n_fields == 1) f->column[TIME] = 0;
    f->out->has_origins = f->column[ORIGIN] >= 0;
    return field_is(&t->field[f->column[TIME] < 0 ? 0 : f->column[TIME]], "time");
}

/* One of the two times of a line. */
static llap_status read_one(const ll_csv_tokens *t, time_file *f, int which, int64_t *out)
{
    const ll_csv_field *x = &t->field[f->column[which]];
    const llap_status   st = ll_axis_reader_read(&f->clock, x->text, x->len, out);
    return st == LLAP_OK || !f->out->has_origins
               ? st
               : ll_fail_in(st, "column '%s'", time_column[which]);
}

static llap_status read_line(const llap_panel *p, const ll_csv_tokens *t, time_file *f)
{
    int last = 0;
    for (int k = 0; k < TIME_COLUMNS; k++)
        if (f->column[k] > last) last = f->column[k];
    assert(f->column[TIME] >= 0);
    if ((size_t)last >= t->n_fields)
        return ll_fail(LLAP_EFORMAT, "expected %d fields, found %zu", last + 1, t->n_fields);
    if (f->out->n == f->room) {
        const size_t   room = 2 * f->room + 64;
        ll_query_time *grown = ll_grow(f->out->at, room, sizeof *grown);
        if (grown == NULL) return LLAP_ENOMEM;
        f->out->at = grown;
        f->room = room;
    }
    ll_query_time *a = &f->out->at[f->out->n++];
    *a = (ll_query_time){ .entity = -1, .line = t->line };
    llap_status st = read_one(t, f, TIME, &a->time);
    if (st == LLAP_OK && f->out->has_origins) st = read_one(t, f, ORIGIN, &a->origin);
    if (st == LLAP_OK && f->out->has_origins && a->time <= a->origin)
        st = ll_fail(LLAP_EINVAL, "the time does not come after its origin");
    if (st != LLAP_OK || f->column[ENTITY] < 0) return st;
    const ll_csv_field *entity = &t->field[f->column[ENTITY]];
    return ll_panel_need_entity(p, entity->text, entity->len, &a->entity);
}

static llap_status read_tokens(const llap_panel *p, ll_csv_tokens *t, const char *path,
                               time_file *f)
{
    t->dialect = (ll_csv_dialect){ ',', '"', '\n', "" };
    llap_status st = ll_csv_tokens_next(t);
    bool        line = st == LLAP_OK && t->n_fields > 0 && !read_header(t, f);
    if (st == LLAP_OK && t->n_fields > 0 && f->column[TIME] < 0)
        return ll_fail(LLAP_EFORMAT, "times: %s: expected a column 'time'",
                       ll_text_show(path).text);
    for (; st == LLAP_OK && t->n_fields > 0; line = true) {
        if (line) st = read_line(p, t, f);
        if (st != LLAP_OK)
            return ll_fail_in(st, "times: %s:%lld", ll_text_show(path).text, (long long)t->line);
        st = ll_csv_tokens_next(t);
    }
    if (st == LLAP_OK && f->out->n == 0)
        st = ll_fail(LLAP_EFORMAT, "times: %s: no time in it", ll_text_show(path).text);
    return st;
}

llap_status ll_query_times_read(const llap_panel *p, const char *path, ll_query_times *out)
{
    ll_source    *source = NULL;
    ll_csv_tokens tokens = { 0 };
    time_file     f = { .out = out, .column = { -1, -1, -1 } };
    *out = (ll_query_times){ .path = path };
    llap_status st = ll_axis_reader_init(&f.clock, &p->axis);
    if (st == LLAP_OK) st = ll_source_open(path, &source);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&tokens, source, RECORD_MAX);
    if (st == LLAP_OK) st = read_tokens(p, &tokens, path, &f);
    ll_axis_reader_deinit(&f.clock);
    ll_csv_tokens_deinit(&tokens);
    ll_source_close(source);
    return st;
}

/* ---- numbers ---- */

llap_status ll_query_times_take(const llap_panel *p, const llap_query_times *given,
                                ll_query_times *out)
{
    *out = (ll_query_times){ .has_origins = given->origin != NULL };
    if (given->n == 0 || given->time == NULL)
        return ll_fail(LLAP_EOPTION, "query: expected at least one time");
    out->at = ll_new(given->n, sizeof *out->at);
    if (out->at == NULL) return LLAP_ENOMEM;
    for (size_t k = 0; k < given->n; k++) {
        const char    *name = given->entity == NULL ? NULL : given->entity[k];
        ll_query_time *a = &out->at[out->n++];
        *a = (ll_query_time){ .time = given->time[k], .entity = -1, .line = (int64_t)k };
        if (out->has_origins) a->origin = given->origin[k];
        llap_status st = LLAP_OK;
        if (out->has_origins && a->time <= a->origin)
            st = ll_fail(LLAP_EINVAL, "the time does not come after its origin");
        if (st == LLAP_OK && name != NULL)
            st = ll_panel_need_entity(p, name, strlen(name), &a->entity);
        if (st != LLAP_OK) return ll_fail_in(st, "%s", ll_query_times_place(out, a).text);
    }
    return LLAP_OK;
}

ll_query_place ll_query_times_place(const ll_query_times *t, const ll_query_time *at)
{
    ll_query_place place;
    const size_t   room = sizeof place.text;
    const int64_t  line = at == NULL ? 0 : at->line;
    if (t->path == NULL && at == NULL) snprintf(place.text, room, "query");
    else if (t->path == NULL) snprintf(place.text, room, "query: number %lld", (long long)line);
    else if (at == NULL) snprintf(place.text, room, "times: %s", ll_text_show(t->path).text);
    else snprintf(place.text, room, "times: %s:%lld", ll_text_show(t->path).text, (long long)line);
    return place;
}

/* ---- rows at such times ---- */

/* Row and asked times of entity e in order, each once: into time and asked; returns how many. time
 * has room for all. */
static int64_t merge(const llap_panel *p, const ll_query_times *t, int64_t e, int64_t *wanted,
                     int64_t *time, uint8_t *asked)
{
    int64_t n = 0, n_wanted = 0, w = 0;
    for (size_t k = 0; k < t->n; k++)
        if (t->at[k].entity < 0 || t->at[k].entity == e) wanted[n_wanted++] = t->at[k].time;
    ll_sort_ints(wanted, (size_t)n_wanted);
    for (int64_t r = p->start[e]; r < p->start[e + 1] || w < n_wanted; n++) {
        const bool row = r < p->start[e + 1] && (w == n_wanted || p->time[r] <= wanted[w]);
        time[n] = row ? p->time[r++] : wanted[w];
        asked[n] = w < n_wanted && wanted[w] == time[n];
        while (w < n_wanted && wanted[w] == time[n]) w++;
    }
    return n;
}

/* The cells of p, at their times; others stay missing. */
static void copy_rows(const llap_panel *p, const int64_t *start, ll_panel_draft *d)
{
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e], to = start[e]; r < p->start[e + 1]; r++, to++) {
            while (d->time[to] < p->time[r]) to++;
            assert(to < start[e + 1] && d->time[to] == p->time[r]);
            for (int64_t v = 0; v < p->n_vars; v++) {
                d->value[to * p->n_vars + v] = p->value[r * p->n_vars + v];
                if (ll_panel_observed(p, r, v)) ll_bit_set(d->observed, to * p->n_vars + v);
            }
        }
}

llap_status ll_query_times_rows(const llap_panel *p, const ll_query_times *t, llap_panel **out,
                                uint8_t **asked)
{
    size_t most = 0, of_all = 0;
    *out = NULL;
    *asked = NULL;
    for (size_t k = 0; k < t->n; k++) of_all += t->at[k].entity < 0;
    if (__builtin_mul_overflow(of_all, (size_t)p->n_entities, &most) ||
        __builtin_add_overflow(most, t->n - of_all, &most) || most > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "times: more than %d rows", LL_ANSWER_ROWS_MAX);
    most += (size_t)p->n_rows;
    int64_t    *start = ll_new((size_t)p->n_entities + 1, sizeof *start);
    int64_t    *time = ll_new(most, sizeof *time), *wanted = ll_new(t->n, sizeof *wanted);
    llap_status st = start == NULL || time == NULL || wanted == NULL ? LLAP_ENOMEM : LLAP_OK;
    *asked = ll_new(most, 1);
    if (*asked == NULL) st = LLAP_ENOMEM;
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
        start[e + 1] = start[e] + merge(p, t, e, wanted, time + start[e], *asked + start[e]);
    ll_panel_draft d = ll_panel_draft_of(p);
    d.start = start;
    if (st == LLAP_OK) st = ll_panel_create(&d, out);
    if (st == LLAP_OK) {
        memcpy(d.time, time, (size_t)start[p->n_entities] * sizeof *time);
        copy_rows(p, start, &d);
    } else {
        ll_free(*asked);
        *asked = NULL;
    }
    ll_free(start);
    ll_free(time);
    ll_free(wanted);
    return st;
}

llap_status ll_panel_need_entity(const llap_panel *p, const char *name, size_t n, int64_t *out)
{
    char start[256]; /* enough to show */
    *out = ll_panel_find_entity_n(p, name, n);
    if (*out >= 0) return LLAP_OK;
    snprintf(start, sizeof start, "%.*s", (int)(n < sizeof start ? n : sizeof start), name);
    return ll_fail(LLAP_EINVAL, "the data has no entity '%s'", ll_text_show(start).text);
}
