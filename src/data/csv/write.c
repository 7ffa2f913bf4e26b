#include "data/csv/write.h"

#include "base/error.h"
#include "base/file.h"
#include "data/clock.h"
#include "data/text/number.h"

#include <string.h>

typedef struct names { /* of the columns that are no variables */
    const char *entity, *time, *variable, *value;
} names;

/* The first candidate that no variable is called. */
static const char *free_name(const llap_panel *p, const char *const *candidates)
{
    while (candidates[1] != NULL && ll_panel_find_var(p, candidates[0]) >= 0) candidates++;
    return candidates[0];
}

/* A column of numbers is called after its unit, so that the reader knows it. */
static names choose_names(const llap_panel *p)
{
    static const char *const units[][3] = { { "s", "seconds", NULL },
                                            { "min", "minutes", NULL },
                                            { "h", "hours", NULL },
                                            { "d", "days", NULL } };
    static const char *const times[] = { "time", "timestamp", "datetime", "time_", NULL };
    static const char *const entities[] = { "entity", "entity_id", "station", "entity__", NULL };
    names n = { free_name(p, entities), free_name(p, times), "variable", "value" };
    if (p->axis.kind != LL_AXIS_NUMBER) return n;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(p->axis.unit, units[i][0]) == 0 && ll_panel_find_var(p, units[i][1]) < 0)
            n.time = units[i][1];
    return n;
}

typedef struct output {
    const llap_panel *p;
    FILE             *f;
    char              separator, decimal;
    bool              filled;
    ll_clock_writer   clock;
    char              time[LL_TIMEFMT_TEXT_MAX]; /* of the row being written */
    size_t            time_len;
} output;

/* A field, in quotes where it needs them. */
static void put_text(const output *o, const char *text, size_t n)
{
    bool quote =
        n == 0 || text[0] == ' ' || text[n - 1] == ' ' || text[0] == '\t' || text[n - 1] == '\t';
    /* nor is it taken for a comment */
    if (n > 0) quote = quote || text[0] == '#' || text[0] == '%' || text[0] == '/';
    for (size_t i = 0; i < n && !quote; i++)
        quote = text[i] == o->separator || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
    if (!quote) {
        fwrite(text, 1, n, o->f);
        return;
    }
    putc('"', o->f);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"') putc('"', o->f);
        putc(text[i], o->f);
    }
    putc('"', o->f);
}

static void put_name(const output *o, const char *name) { put_text(o, name, strlen(name)); }

static void put_value(const output *o, int64_t row, int64_t var)
{
    char text[LL_NUMBER_PRINT];
    if (!ll_panel_observed(o->p, row, var) && !(o->filled && ll_panel_filled(o->p, row, var)))
        return;
    const size_t n = ll_number_print(o->p->value[row * o->p->n_vars + var], o->decimal, text);
    put_text(o, text, n);
}

static void put_row_start(const output *o, int64_t entity)
{
    put_name(o, o->p->entity[entity]);
    putc(o->separator, o->f);
    put_text(o, o->time, o->time_len);
}

static void put_wide(const output *o, int64_t entity, int64_t row)
{
    put_row_start(o, entity);
    for (int64_t v = 0; v < o->p->n_vars; v++) {
        putc(o->separator, o->f);
        put_value(o, row, v);
    }
    putc('\n', o->f);
}

static void put_cell(const output *o, int64_t entity, int64_t row, int64_t var)
{
    put_row_start(o, entity);
    putc(o->separator, o->f);
    put_name(o, o->p->var[var]);
    putc(o->separator, o->f);
    put_value(o, row, var);
    putc('\n', o->f);
}

static bool ever_written(const output *o, int64_t var)
{
    for (int64_t r = 0; r < o->p->n_rows; r++)
        if (ll_panel_observed(o->p, r, var) || (o->filled && ll_panel_filled(o->p, r, var)))
            return true;
    return false;
}

static void put_long(const output *o, int64_t entity, int64_t row)
{
    bool any = false;
    for (int64_t v = 0; v < o->p->n_vars; v++) {
        const bool has =
            ll_panel_observed(o->p, row, v) || (o->filled && ll_panel_filled(o->p, row, v));
        if (!has && (row > 0 || ever_written(o, v))) continue;
        put_cell(o, entity, row, v);
        any = true;
    }
    if (!any && o->p->n_vars > 0) put_cell(o, entity, row, 0);
}

static void put_header(const output *o, bool is_long)
{
    const names n = choose_names(o->p);
    put_name(o, n.entity);
    putc(o->separator, o->f);
    put_name(o, n.time);
    const char *const rest[] = { n.variable, n.value };
    const int64_t     n_rest = is_long ? 2 : o->p->n_vars;
    for (int64_t i = 0; i < n_rest; i++) {
        putc(o->separator, o->f);
        put_name(o, is_long ? rest[i] : o->p->var[i]);
    }
    putc('\n', o->f);
}

/* Times that are numbers have the point of the numbers. */
static void swap_point(output *o)
{
    char *point = memchr(o->time, '.', o->time_len);
    if (point != NULL) *point = o->decimal;
}

static llap_status put_panel(output *o, bool is_long)
{
    const bool numeric = o->p->axis.kind == LL_AXIS_NUMBER || o->clock.epoch;
    put_header(o, is_long);
    for (int64_t e = 0; e < o->p->n_entities; e++)
        for (int64_t r = o->p->start[e]; r < o->p->start[e + 1]; r++) {
            const llap_status st = ll_clock_write(&o->clock, o->p->time[r], o->time, &o->time_len);
            if (st != LLAP_OK) return ll_fail_in(st, "entity '%s'", o->p->entity[e]);
            if (numeric) swap_point(o);
            if (is_long) put_long(o, e, r);
            else put_wide(o, e, r);
        }
    return LLAP_OK;
}

static char or_else(char c, char otherwise) { return c == '\0' ? otherwise : c; }

static llap_status check_opts(const ll_csv_write_opts *o)
{
    const char separator = or_else(o->separator, ','), decimal = or_else(o->decimal, '.');
    if (separator == '"' || separator == '\n' || separator == '\r' || separator == ' ' ||
        (separator == decimal && decimal == '.'))
        return ll_fail(LLAP_EINVAL, "csv: '%c' cannot separate fields", separator);
    if (decimal != '.' && decimal != ',')
        return ll_fail(LLAP_EINVAL, "csv: expected a decimal point or comma, found '%c'", decimal);
    return LLAP_OK;
}

llap_status ll_csv_write(const llap_panel *p, const char *path, const ll_csv_write_opts *opts)
{
    llap_status st = check_opts(opts);
    if (st != LLAP_OK) return st;
    output    o = { .p = p,
                    .separator = or_else(opts->separator, ','),
                    .decimal = or_else(opts->decimal, '.'),
                    .filled = opts->filled };
    ll_writer w;
    st = ll_clock_writer_init(&o.clock, &p->axis);
    if (st == LLAP_OK) {
        st = ll_writer_open(path, &w);
        o.f = w.stream;
        if (st == LLAP_OK) {
            st = put_panel(&o, opts->form == LL_CSV_LONG);
            if (st != LLAP_OK) st = ll_fail_in(st, "%s", path);
        }
        if (st == LLAP_OK) st = ll_writer_commit(&w);
        ll_writer_abort(&w);
    }
    ll_clock_writer_deinit(&o.clock);
    return st;
}
