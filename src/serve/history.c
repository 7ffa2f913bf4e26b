/* What there was: readings of the store as JSON, CSV or a stream of Arrow. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/clock.h"
#include "predict/tables/answer.h"
#include "predict/tables/times.h"
#include "serve/columns.h"
#include "serve/streams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef enum form { AS_JSON, AS_CSV, AS_ARROW } form; /* as the route's types */

/* Names as words: places by the order in which they came. */
typedef struct names {
    const char **text;   /* [n] the request's */
    int32_t     *sorted; /* [n] by name */
    int32_t      n, room;
} names;

typedef struct history {
    ll_request            *r;
    const ll_axis         *axis;
    const ll_clock_writer *clock;
    form                   as;
    int64_t                n, most; /* readings */
    bool                   more;
    ll_memory_file         text; /* of JSON and CSV */

    int64_t *time; /* [room] the columns of Arrow */
    int32_t *entity, *variable;
    double  *value;
    size_t   room;
    names    entities, variables;
} history;

/* ---- the parameters ---- */

static llap_status read_time(const ll_axis *axis, const ll_request *r, const char *name,
                             int64_t *out)
{
    const char *text = ll_request_argument(r, name);
    if (text == NULL) return LLAP_OK;
    const llap_status st = ll_axis_time_read(axis, text, strlen(text), out);
    return st == LLAP_OK ? st : ll_fail_in(LLAP_EOPTION, "%s", name);
}

static llap_status read_most(const ll_request *r, int64_t *most)
{
    const char *text = ll_request_argument(r, "limit");
    char       *end = NULL;
    *most = 10000;
    if (text == NULL) return LLAP_OK;
    *most = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && *most >= 1 && *most <= 1000000
               ? LLAP_OK
               : ll_fail(LLAP_EOPTION, "limit: expected a number in 1..1000000, found '%s'",
                         ll_text_show(text).text);
}

/* ---- rows of text ---- */

/* What is written counts as it grows: names may have 255 bytes, and more in JSON. */
static llap_status check_text(history *h)
{
    if (ferror(h->text.stream)) return LLAP_ENOMEM;
    return h->text.n > LL_LARGE_BYTES ? ll_request_large(h->r) : LLAP_OK;
}

static void put_csv(FILE *f, const ll_store_found *found, int64_t i, const char *time)
{
    ll_csv_put_field(f, found->entity);
    fprintf(f, ",%s,", time);
    ll_csv_put_field(f, found->variable[i]);
    fprintf(f, ",%.9g\n", found->value[i]);
}

static llap_status put_json(FILE *f, const ll_store_found *found, int64_t i, const char *time,
                            bool first)
{
    ll_json_writer w = { 0 };
    char          *text = NULL, digits[32];
    size_t         n = 0;
    snprintf(digits, sizeof digits, "%.9g", found->value[i]);
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "entity", found->entity);
    ll_json_put_string(&w, "time", time);
    ll_json_put_string(&w, "variable", found->variable[i]);
    ll_json_put_double(&w, "value", strtod(digits, NULL));
    ll_json_close(&w, '}');
    const llap_status st = ll_json_finish(&w, &text, &n);
    if (st == LLAP_OK) fprintf(f, "%s%s", first ? "" : ",\n", text);
    ll_free(text);
    return st;
}

/* ---- rows of columns ---- */

/* The first of the sorted ones that is not below the name. */
static int32_t place_of(const names *all, const char *name)
{
    int32_t first = 0, end = all->n;
    while (first < end) {
        const int32_t middle = first + (end - first) / 2;
        if (strcmp(all->text[all->sorted[middle]], name) < 0) first = middle + 1;
        else end = middle;
    }
    return first;
}

static llap_status grow_names(names *all)
{
    if (all->n < all->room) return LLAP_OK;
    const size_t room = 2 * (size_t)all->room + 16;
    void        *text = ll_grow(all->text, room, sizeof *all->text);
    if (text != NULL) all->text = text;
    void *sorted = ll_grow(all->sorted, room, sizeof *all->sorted);
    if (sorted != NULL) all->sorted = sorted;
    if (text == NULL || sorted == NULL) return LLAP_ENOMEM;
    all->room = (int32_t)room;
    return LLAP_OK;
}

static llap_status word_of(ll_request *r, names *all, const char *name, int32_t *out)
{
    const int32_t at = place_of(all, name);
    if (at < all->n && strcmp(all->text[all->sorted[at]], name) == 0) {
        *out = all->sorted[at];
        return LLAP_OK;
    }
    llap_status st = grow_names(all);
    const char *kept = st == LLAP_OK ? ll_arena_strndup(&r->arena, name, strlen(name)) : NULL;
    if (kept == NULL) return LLAP_ENOMEM;
    memmove(all->sorted + at + 1, all->sorted + at, (size_t)(all->n - at) * sizeof *all->sorted);
    all->sorted[at] = *out = all->n;
    all->text[all->n++] = kept;
    return LLAP_OK;
}

static llap_status grow_columns(history *h)
{
    if ((size_t)h->n < h->room) return LLAP_OK;
    const size_t room = 2 * h->room + 1024;
    void        *time = ll_grow(h->time, room, sizeof *h->time);
    if (time != NULL) h->time = time;
    void *entity = ll_grow(h->entity, room, sizeof *h->entity);
    if (entity != NULL) h->entity = entity;
    void *variable = ll_grow(h->variable, room, sizeof *h->variable);
    if (variable != NULL) h->variable = variable;
    void *value = ll_grow(h->value, room, sizeof *h->value);
    if (value != NULL) h->value = value;
    if (time == NULL || entity == NULL || variable == NULL || value == NULL) return LLAP_ENOMEM;
    h->room = room;
    return LLAP_OK;
}

static llap_status put_cell(history *h, const ll_store_found *found, int64_t i)
{
    llap_status st = grow_columns(h);
    if (st == LLAP_OK) st = word_of(h->r, &h->entities, found->entity, &h->entity[h->n]);
    if (st == LLAP_OK) st = word_of(h->r, &h->variables, found->variable[i], &h->variable[h->n]);
    if (st != LLAP_OK) return st;
    h->time[h->n] = found->time;
    h->value[h->n] = found->value[i];
    return LLAP_OK;
}

static llap_status reply_arrow(history *h)
{
    assert(h->as == AS_ARROW && h->n <= h->most);
    const llap_time_axis axis = ll_axis_show(h->axis);
    ll_request          *r = h->r;
    char                *bytes = NULL;
    size_t               n = 0;
    ll_ipc_column        column[] = {
               ll_columns_words("entity", h->entity, h->entities.text, h->entities.n),
               { 0 },
               ll_columns_words("variable", h->variable, h->variables.text, h->variables.n),
               { .name = "value", .kind = LL_IPC_NUMBER, .cell = h->value, .stride = 1 },
    };
    llap_status st = ll_columns_time(r, &axis, "time", h->time, h->n, &column[1]);
    if (st == LLAP_OK) st = ll_ipc_write(column, sizeof column / sizeof *column, h->n, &bytes, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, LL_TYPE_ARROW, bytes, n);
    return st;
}

/* ---- the readings ---- */

static llap_status put_found(void *user, const ll_store_found *found)
{
    history    *h = user;
    char        time[LL_TIMEFMT_TEXT_MAX + 1];
    size_t      n_time = 0;
    llap_status st =
        h->as == AS_ARROW ? LLAP_OK : ll_clock_write(h->clock, found->time, time, &n_time);
    time[n_time] = '\0';
    for (int64_t i = 0; st == LLAP_OK && i < found->n; i++, h->n++) {
        if (h->n >= h->most) {
            h->more = true;
            return LLAP_ECANCELLED; /* enough */
        }
        if (h->as == AS_CSV) put_csv(h->text.stream, found, i, time);
        else if (h->as == AS_JSON) st = put_json(h->text.stream, found, i, time, h->n == 0);
        else st = put_cell(h, found, i);
        if (st == LLAP_OK && h->as != AS_ARROW) st = check_text(h);
    }
    return st;
}

static llap_status read_history(history *h, const char *stream)
{
    ll_request    *r = h->r;
    ll_store_range what = { stream, ll_request_argument(r, "entity"), INT64_MIN, INT64_MAX,
                            r->deadline };
    llap_status    st = read_most(r, &h->most);
    if (st == LLAP_OK && h->most > LL_LARGE_ROWS) st = ll_request_large(r);
    if (st == LLAP_OK) st = read_time(h->axis, r, "from", &what.from);
    if (st == LLAP_OK) st = read_time(h->axis, r, "to", &what.to);
    if (st == LLAP_OK) st = ll_store_read(r->server->streams->store, &what, put_found, h);
    return st == LLAP_ECANCELLED && h->more ? LLAP_OK : st;
}

static llap_status reply_text(history *h, const char *stream)
{
    ll_clock_writer clock;
    char           *text = NULL;
    size_t          n = 0;
    llap_status     st = ll_clock_writer_init(&clock, h->axis);
    if (st == LLAP_OK) st = ll_memory_file_open(&h->text);
    h->clock = &clock;
    if (st == LLAP_OK)
        fputs(h->as == AS_CSV ? "entity,time,variable,value\n" : "[", h->text.stream);
    if (st == LLAP_OK) st = read_history(h, stream);
    if (st == LLAP_OK && h->as == AS_JSON) fputs("]\n", h->text.stream);
    st = ll_memory_file_close(&h->text, st, &text, &n);
    ll_clock_writer_deinit(&clock);
    if (st == LLAP_OK)
        ll_reply_take(h->r, 200, h->as == AS_CSV ? "text/csv; charset=utf-8" : "application/json",
                      text, n);
    return st;
}

/* Its strings are the request's: the stream may be made anew meanwhile. */
llap_status ll_live_axis(ll_request *r, const ll_live *k, ll_axis *to)
{
    const ll_axis *from = &k->s->axis;
    *to = *from;
    to->zone = ll_arena_strndup(&r->arena, from->zone, strlen(from->zone));
    to->format = ll_arena_strndup(&r->arena, from->format, strlen(from->format));
    to->unit = ll_arena_strndup(&r->arena, from->unit, strlen(from->unit));
    return to->zone == NULL || to->format == NULL || to->unit == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status ll_answer_history(ll_request *r)
{
    llap_status st;
    ll_axis     axis = { 0 };
    ll_live    *k = ll_live_of(r, &st);
    history     h = { .r = r, .axis = &axis, .as = (form)ll_accepts(r->accept, r->route->gives) };
    if (st == LLAP_OK) st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK) st = ll_live_lock(k);
    if (st == LLAP_OK) {
        st = ll_live_settle(k, 0);
        if (st == LLAP_OK) st = ll_live_axis(r, k, &axis);
        (void)pthread_mutex_unlock(&k->lock);
    }
    if (st == LLAP_OK && h.as != AS_ARROW) st = reply_text(&h, k->name);
    else if (st == LLAP_OK) {
        st = read_history(&h, k->name);
        if (st == LLAP_OK) st = reply_arrow(&h);
    }
    void *const columns[] = { h.time,           h.entity,          h.variable,
                              h.value,          h.entities.text,   h.entities.sorted,
                              h.variables.text, h.variables.sorted };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) ll_free(columns[i]);
    return st;
}
