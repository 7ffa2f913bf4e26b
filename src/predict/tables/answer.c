/* Tables of results, and how they are written. */
#include "predict/tables/answer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/clock.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *copy(ll_arena *a, const char *s) { return ll_arena_strndup(a, s, strlen(s)); }

llap_status ll_copy_names(ll_arena *a, const char *const *name, int64_t n, const char *const **out)
{
    const char **list = ll_arena_new(a, (size_t)n, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        if ((list[i] = copy(a, name[i])) == NULL) return LLAP_ENOMEM;
    *out = list;
    return LLAP_OK;
}

static llap_status copy_axis(llap_answer *a, const ll_axis *axis)
{
    a->axis = *axis;
    a->axis.zone = copy(&a->arena, axis->zone);
    a->axis.format = copy(&a->arena, axis->format);
    a->axis.unit = copy(&a->arena, axis->unit);
    const bool ok = a->axis.zone != NULL && a->axis.format != NULL && a->axis.unit != NULL;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

llap_status ll_answer_name(llap_answer *a, const llap_panel *p, const char *const *target,
                           int64_t n_targets)
{
    llap_status st = ll_copy_names(&a->arena, p->entity, p->n_entities, &a->entity);
    if (st == LLAP_OK) st = ll_copy_names(&a->arena, target, n_targets, &a->target);
    if (st != LLAP_OK) return st;
    a->n_entities = p->n_entities;
    a->n_targets = n_targets;
    return copy_axis(a, &p->axis);
}

static llap_status copy_numbers(ll_arena *arena, const double *from, size_t n, double **to)
{
    *to = from == NULL ? NULL : ll_arena_new(arena, n, sizeof **to);
    if (from == NULL) return LLAP_OK;
    if (*to == NULL) return LLAP_ENOMEM;
    memcpy(*to, from, n * sizeof **to);
    return LLAP_OK;
}

llap_status ll_answer_name_as(llap_answer *a, const llap_answer *other)
{
    const size_t n = (size_t)(other->n_entities * other->n_targets);
    llap_status  st = ll_copy_names(&a->arena, other->entity, other->n_entities, &a->entity);
    if (st == LLAP_OK) st = ll_copy_names(&a->arena, other->target, other->n_targets, &a->target);
    if (st == LLAP_OK) st = copy_numbers(&a->arena, other->low, n, &a->low);
    if (st == LLAP_OK) st = copy_numbers(&a->arena, other->high, n, &a->high);
    if (st != LLAP_OK) return st;
    a->n_entities = other->n_entities;
    a->n_targets = other->n_targets;
    a->has_origin = other->has_origin;
    return copy_axis(a, &other->axis);
}

llap_status ll_answer_add_entity(llap_answer *a, const char *name)
{
    const size_t n = (size_t)a->n_entities;
    const char **all = ll_arena_new(&a->arena, n + 1, sizeof *all);
    if (all == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) all[i] = a->entity[i];
    all[n] = copy(&a->arena, name);
    if (all[n] == NULL) return LLAP_ENOMEM;
    a->entity = (const char *const *)all;
    a->n_entities++;
    return LLAP_OK;
}

/* A column that cannot grow stays as it is. */
static bool grow_64(int64_t **column, size_t room)
{
    int64_t *grown = ll_grow(*column, room, sizeof *grown);
    if (grown != NULL) *column = grown;
    return grown != NULL;
}

static bool grow_32(int32_t **column, size_t room)
{
    int32_t *grown = ll_grow(*column, room, sizeof *grown);
    if (grown != NULL) *column = grown;
    return grown != NULL;
}

llap_status ll_answer_grow(llap_answer *a, size_t room)
{
    ll_answer_rows *c = &a->rows;
    assert(room >= a->n_rows);
    if (!grow_64(&c->time, room) || !grow_64(&c->origin, room) || !grow_32(&c->entity, room) ||
        !grow_32(&c->target, room) || !grow_32(&c->sample, room) || !grow_32(&c->scenario, room))
        return LLAP_ENOMEM;
    uint8_t *observed = ll_grow(c->observed, room, sizeof *observed);
    if (observed == NULL) return LLAP_ENOMEM;
    c->observed = observed;
    double *number = ll_grow(a->number, room, (size_t)a->n_numbers * sizeof *number);
    if (number == NULL) return LLAP_ENOMEM;
    a->number = number;
    return LLAP_OK;
}

llap_status ll_answer_create_bare(ll_answer_kind kind, size_t n_rows, const double *quantile,
                                  int n_quantiles, llap_answer **out)
{
    *out = NULL;
    assert(n_quantiles >= 0 && n_quantiles <= LL_QUANTILES);
    assert((kind & LL_ANSWER_SAMPLES) == 0 || n_quantiles == 0);
    llap_answer *a = ll_new(1, sizeof *a);
    if (a == NULL) return LLAP_ENOMEM;
    a->kind = kind;
    a->n_rows = n_rows;
    a->n_quantiles = n_quantiles;
    a->n_numbers = (kind & LL_ANSWER_SAMPLES) != 0 ? 1 : 1 + n_quantiles;
    for (int i = 0; i < n_quantiles; i++) a->quantile[i] = quantile[i];
    const llap_status st = ll_answer_grow(a, n_rows);
    if (st != LLAP_OK) {
        llap_answer_destroy(a);
        return st;
    }
    memset(a->number, 0, n_rows * (size_t)a->n_numbers * sizeof *a->number);
    *out = a;
    return LLAP_OK;
}

llap_status ll_answer_create(ll_answer_kind kind, const llap_model *m, const llap_panel *p,
                             size_t n_rows, const double *quantile, int n_quantiles,
                             llap_answer **out)
{
    llap_status st = ll_answer_create_bare(kind, n_rows, quantile, n_quantiles, out);
    if (st == LLAP_OK) st = ll_answer_name(*out, p, m->frame.target, m->frame.n_targets);
    if (st == LLAP_OK) return st;
    llap_answer_destroy(*out);
    *out = NULL;
    return st;
}

void llap_answer_destroy(llap_answer *a)
{
    if (a == NULL) return;
    ll_free(a->rows.time);
    ll_free(a->rows.origin);
    ll_free(a->rows.entity);
    ll_free(a->rows.target);
    ll_free(a->rows.sample);
    ll_free(a->rows.scenario);
    ll_free(a->rows.observed);
    ll_free(a->number);
    ll_free(a->first);
    ll_arena_deinit(&a->arena);
    ll_free(a);
}

void ll_csv_put_field(FILE *f, const char *s)
{
    if (strpbrk(s, ",\"\r\n") == NULL) {
        fputs(s, f);
        return;
    }
    fputc('"', f);
    for (; *s != '\0'; s++) {
        if (*s == '"') fputc('"', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

/* "q0.025": all digits that it was given with, so that no two columns have one name. */
typedef struct quantile_name {
    char text[1 + LL_DOUBLE_TEXT];
} quantile_name;

static quantile_name name_quantile(double q)
{
    quantile_name s = { "q" };
    ll_text_double(q, s.text + 1);
    return s;
}

/* Whether the mean, or the draw, of row i lies outside the range of the training values: 1 or 0; -1
 * where that range is not known. */
static int outside(const llap_answer *a, size_t i)
{
    double       low, high;
    const double x = a->number[i * (size_t)a->n_numbers];
    if (!ll_answer_range(a, i, &low, &high)) return -1;
    return x < low || x > high;
}

/* CSV has a column for it only where there is something to say: most tables have none. */
static bool any_outside(const llap_answer *a)
{
    for (size_t i = 0; i < a->n_rows; i++)
        if (outside(a, i) == 1) return true;
    return false;
}

static void put_header(FILE *f, const llap_answer *a, bool marked)
{
    if (a->n_scenarios > 0) fputs("scenario,", f);
    fputs(a->has_origin ? "entity,origin,time,variable" : "entity,time,variable", f);
    if ((a->kind & LL_ANSWER_IMPUTATION) != 0) fputs(",observed", f);
    fputs((a->kind & LL_ANSWER_SAMPLES) != 0 ? ",sample,value" : ",mean", f);
    for (int i = 0; i < a->n_quantiles; i++) fprintf(f, ",%s", name_quantile(a->quantile[i]).text);
    fputs(marked ? ",outside\n" : "\n", f);
}

static llap_status put_rows(FILE *f, const llap_answer *a, bool marked,
                            const ll_clock_writer *clock)
{
    for (size_t i = 0; i < a->n_rows && !ferror(f); i++) { /* who closes it says what failed */
        const ll_answer_row r = ll_answer_row_at(a, i);
        char                text[2][LL_TIMEFMT_TEXT_MAX];
        size_t              n = 0, n_origin = 0;
        llap_status         st = ll_clock_write(clock, r.time, text[0], &n);
        if (st == LLAP_OK && a->has_origin)
            st = ll_clock_write(clock, r.origin, text[1], &n_origin);
        if (st != LLAP_OK) return st;
        assert(r.entity >= 0 && r.entity < a->n_entities && r.target < a->n_targets);
        if (a->n_scenarios > 0) {
            ll_csv_put_field(f, a->scenario[r.scenario]);
            fputc(',', f);
        }
        ll_csv_put_field(f, a->entity[r.entity]);
        if (a->has_origin) fprintf(f, ",%.*s", (int)n_origin, text[1]);
        fprintf(f, ",%.*s,", (int)n, text[0]);
        ll_csv_put_field(f, a->target[r.target]);
        if ((a->kind & LL_ANSWER_IMPUTATION) != 0) fprintf(f, ",%d", r.observed);
        if ((a->kind & LL_ANSWER_SAMPLES) != 0) fprintf(f, ",%d", r.sample);
        for (int k = 0; k < a->n_numbers; k++)
            fprintf(f, ",%.7g", a->number[i * (size_t)a->n_numbers + (size_t)k]);
        const int out = marked ? outside(a, i) : -1;
        if (out >= 0) fprintf(f, ",%d\n", out);
        else fputs(marked ? ",\n" : "\n", f);
    }
    return LLAP_OK;
}

static llap_status put_table(FILE *f, const llap_answer *a, const ll_clock_writer *clock)
{
    const bool marked = any_outside(a);
    put_header(f, a, marked);
    return put_rows(f, a, marked, clock);
}

llap_status llap_answer_can_write(const char *path)
{
    return ll_file_can_write(ll_file_or_stdout(path));
}

llap_status llap_answer_write(const llap_answer *a, const char *path)
{
    ll_clock_writer clock;
    ll_writer       w = { 0 };
    llap_status     st = ll_clock_writer_init(&clock, &a->axis);
    if (st == LLAP_OK) st = ll_writer_open(ll_file_or_stdout(path), &w);
    if (st == LLAP_OK) st = put_table(w.stream, a, &clock);
    if (st == LLAP_OK) st = ll_writer_commit(&w);
    ll_writer_abort(&w);
    ll_clock_writer_deinit(&clock);
    return st;
}

llap_status llap_answer_csv(const llap_answer *a, char **text, size_t *n)
{
    ll_clock_writer clock;
    ll_memory_file  to = { 0 };
    llap_status     st = ll_clock_writer_init(&clock, &a->axis);
    if (st == LLAP_OK) st = ll_memory_file_open(&to);
    if (st == LLAP_OK) st = put_table(to.stream, a, &clock);
    st = ll_memory_file_close(&to, st, text, n);
    ll_clock_writer_deinit(&clock);
    return st;
}

static llap_status put_time(ll_json_writer *w, const char *key, const ll_clock_writer *clock,
                            int64_t time)
{
    char              t[LL_TIMEFMT_TEXT_MAX + 1];
    size_t            n = 0;
    const llap_status st = ll_clock_write(clock, time, t, &n);
    t[n] = '\0';
    ll_json_put_string(w, key, t);
    return st;
}

llap_status llap_answer_json(const llap_answer *a, char **text)
{
    ll_clock_writer clock;
    ll_json_writer  w = { .indent = 1 };
    size_t          n_text;
    *text = NULL;
    llap_status st = ll_clock_writer_init(&clock, &a->axis);
    ll_json_open(&w, NULL, '[');
    for (size_t i = 0; st == LLAP_OK && i < a->n_rows; i++) {
        const ll_answer_row r = ll_answer_row_at(a, i);
        const double       *x = a->number + i * (size_t)a->n_numbers;
        ll_json_open(&w, NULL, '{');
        if (a->n_scenarios > 0) ll_json_put_string(&w, "scenario", a->scenario[r.scenario]);
        ll_json_put_string(&w, "entity", a->entity[r.entity]);
        if (a->has_origin) st = put_time(&w, "origin", &clock, r.origin);
        if (st == LLAP_OK) st = put_time(&w, "time", &clock, r.time);
        ll_json_put_string(&w, "variable", a->target[r.target]);
        if ((a->kind & LL_ANSWER_IMPUTATION) != 0) ll_json_put_bool(&w, "observed", r.observed);
        if ((a->kind & LL_ANSWER_SAMPLES) != 0) ll_json_put_int(&w, "sample", r.sample);
        ll_json_put_double(&w, (a->kind & LL_ANSWER_SAMPLES) != 0 ? "value" : "mean", x[0]);
        for (int k = 0; k < a->n_quantiles; k++)
            ll_json_put_double(&w, name_quantile(a->quantile[k]).text, x[1 + k]);
        if (outside(a, i) >= 0) ll_json_put_bool(&w, "outside", outside(a, i) == 1);
        ll_json_close(&w, '}');
    }
    ll_json_close(&w, ']');
    const llap_status end = ll_json_finish(&w, text, &n_text);
    ll_clock_writer_deinit(&clock);
    if (st == LLAP_OK) return end;
    ll_free(*text);
    *text = NULL;
    return st;
}
