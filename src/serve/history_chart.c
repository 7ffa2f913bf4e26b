/* The stored readings of a series in as many points as a screen shows, however many there are: they
 * are read one by one, and two rows a point are what is kept. */
#include "base/error.h"
#include "base/text.h"
#include "serve/charts.h"
#include "serve/decimate.h"
#include "serve/streams.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct series {
    const char  *entity, *variable; /* the request's */
    ll_axis      axis;
    int64_t      first, last; /* of the entity */
    int64_t      from, to, points;
    int64_t      n; /* rows within */
    ll_decimated rows, stretches;
} series;

/* ---- which one ---- */

/* The one that is named, or the only one; locked. */
static llap_status choose(ll_request *r, const ll_live *k, series *s)
{
    const char *const *variable = llap_stream_variables(k->s);
    llap_stream_counts c = { 0 };
    llap_stream_count(k->s, &c);
    s->entity = ll_request_argument(r, "entity");
    s->variable = ll_request_argument(r, "variable");
    if (s->entity == NULL && c.entities == 1) s->entity = llap_stream_entity(k->s, 0);
    if (s->variable == NULL && variable[1] == NULL) s->variable = variable[0];
    if (s->entity == NULL || s->variable == NULL)
        return ll_fail(LLAP_EINVAL, "%s: there are several: one is drawn at a time",
                       s->entity == NULL ? "entity" : "variable");
    while (*variable != NULL && strcmp(*variable, s->variable) != 0) variable++;
    if (*variable == NULL)
        return ll_fail(LLAP_ENOTFOUND, "no variable '%s'", ll_text_show(s->variable).text);
    if (!llap_stream_newest(k->s, s->entity, &s->last))
        return ll_fail(LLAP_ENOTFOUND, "no entity '%s'", ll_text_show(s->entity).text);
    s->entity = ll_arena_strndup(&r->arena, s->entity, strlen(s->entity));
    s->variable = ll_arena_strndup(&r->arena, s->variable, strlen(s->variable));
    return s->entity == NULL || s->variable == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status note_first(void *user, const ll_store_found *found)
{
    *(int64_t *)user = found->time;
    return LLAP_ECANCELLED; /* enough */
}

/* Where it begins, and the part of it that is asked for. */
static llap_status find_window(ll_request *r, const ll_live *k, series *s)
{
    const ll_store_range all = { k->name, s->entity, INT64_MIN, s->last, r->deadline };
    ll_store            *store = r->server->streams->store;
    int64_t              first = s->last;
    llap_status          st = ll_store_read(store, &all, note_first, &first);
    if (st == LLAP_ECANCELLED && first < s->last) st = LLAP_OK;
    s->first = s->from = first;
    s->to = s->last;
    if (st == LLAP_OK) st = ll_charts_read_time(r, "from", &s->axis, &s->from);
    if (st == LLAP_OK) st = ll_charts_read_time(r, "to", &s->axis, &s->to);
    if (st == LLAP_OK) st = ll_charts_read_points(r, &s->points);
    if (st == LLAP_OK && s->from > s->to) st = ll_fail(LLAP_EOPTION, "from: later than to");
    return st;
}

/* ---- its rows ---- */

static llap_status take(void *user, const ll_store_found *found)
{
    series *s = user;
    double  y = NAN;
    assert(found->time >= s->from && found->time <= s->to);
    for (int64_t i = 0; i < found->n; i++)
        if (strcmp(found->variable[i], s->variable) == 0) y = found->value[i];
    if (s->n < 2 * s->points) ll_decimate_add(&s->rows, found->time, y, y, y);
    ll_decimate_add(&s->stretches, found->time, y, y, y);
    s->n++;
    return LLAP_OK;
}

/* Few rows stay as they are: how many there are is known at the end. */
static llap_status read_rows(ll_request *r, const ll_live *k, series *s)
{
    const ll_store_range within = { k->name, s->entity, s->from,
                                    s->to < INT64_MAX ? s->to + 1 : s->to, r->deadline };
    llap_status          st = ll_decimate_begin(&s->rows, s->from, s->to, 2 * s->points, s->points);
    if (st == LLAP_OK) st = ll_decimate_begin(&s->stretches, s->from, s->to, INT64_MAX, s->points);
    return st == LLAP_OK ? ll_store_read(r->server->streams->store, &within, take, s) : st;
}

static llap_status reply(ll_request *r, series *s)
{
    ll_json_writer w = { 0 };
    ll_json_open(&w, NULL, '{');
    ll_charts_put_axis(&w, &s->axis);
    ll_json_put_double(&w, "usual_gap", 0);
    ll_json_open(&w, "series", '[');
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "entity", s->entity);
    ll_json_put_string(&w, "variable", s->variable);
    ll_json_put_int(&w, "rows", s->n);
    ll_charts_put_time(&w, "first", &s->axis, s->first);
    ll_charts_put_time(&w, "last", &s->axis, s->last);
    ll_charts_put_points(&w, "points", &s->axis, s->n <= 2 * s->points ? &s->rows : &s->stretches,
                         false);
    ll_json_close(&w, '}');
    ll_json_close(&w, ']');
    ll_json_put_bool(&w, "more", false);
    ll_json_close(&w, '}');
    return ll_charts_reply(r, &w, LLAP_OK);
}

llap_status ll_answer_history_chart(ll_request *r)
{
    llap_status st;
    series      s = { 0 };
    ll_live    *k = ll_live_of(r, &st);
    if (st == LLAP_OK) st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK) st = ll_live_lock(k);
    if (st == LLAP_OK) {
        st = ll_live_settle(k, 0);
        if (st == LLAP_OK) st = ll_live_axis(r, k, &s.axis);
        if (st == LLAP_OK) st = choose(r, k, &s);
        (void)pthread_mutex_unlock(&k->lock);
    }
    if (st == LLAP_OK) st = find_window(r, k, &s);
    if (st == LLAP_OK) st = read_rows(r, k, &s);
    if (st == LLAP_OK) st = reply(r, &s);
    ll_decimate_deinit(&s.rows);
    ll_decimate_deinit(&s.stretches);
    return st;
}
