/* Forecasts as fans: times, and a row of values for each quantile. */
#include "serve/charts.h"
#include "serve/streams.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put_fan(ll_json_writer *w, const llap_answer_columns *a, const ll_axis *axis, int64_t f,
                    int32_t v)
{
    const int64_t first = a->first[f], last = a->first[f + 1];
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "entity", a->entities[a->entity[first]]);
    ll_json_put_string(w, "variable", a->variables[v]);
    ll_charts_put_time(w, "origin", axis, a->origin[first]);
    ll_json_open(w, "time", '(');
    for (int64_t i = first; i < last; i++)
        if (a->variable[i] == v) ll_charts_put_time(w, NULL, axis, a->time[i]);
    ll_json_close(w, ']');
    for (int64_t q = 0; q < a->n_numbers; q++) {
        if (q == 0) ll_json_open(w, "mean", '(');
        else ll_json_open(w, NULL, '(');
        for (int64_t i = first; i < last; i++)
            if (a->variable[i] == v) ll_charts_put_number(w, a->number[i * a->n_numbers + q]);
        ll_json_close(w, ']');
        if (q == 0) ll_json_open(w, "values", '[');
    }
    ll_json_close(w, ']');
    ll_json_close(w, '}');
}

static llap_status write_fans(ll_request *r, const llap_answer *answer, const ll_axis *axis)
{
    const llap_answer_columns *a = llap_answer_view(answer);
    const char                *variable = ll_request_argument(r, "variable");
    const char                *entity = ll_request_argument(r, "entity");
    ll_json_writer             w = { 0 };
    ll_json_open(&w, NULL, '{');
    ll_charts_put_axis(&w, axis);
    ll_json_open(&w, "quantiles", '(');
    for (int64_t q = 0; q < a->n_quantiles; q++) ll_json_put_double(&w, NULL, a->quantiles[q]);
    ll_json_close(&w, ']');
    ll_json_open(&w, "fans", '[');
    for (int64_t f = 0; f < a->n_forecasts; f++) {
        if (a->first[f] == a->first[f + 1] ||
            (entity != NULL && strcmp(a->entities[a->entity[a->first[f]]], entity) != 0))
            continue;
        for (int32_t v = 0; v < a->n_variables; v++)
            if (variable == NULL || strcmp(variable, a->variables[v]) == 0)
                put_fan(&w, a, axis, f, v);
    }
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return ll_charts_reply(r, &w, LLAP_OK);
}

/* A time as the library's options have it. */
static const char *option_time(ll_request *r, const ll_axis *axis, int64_t t)
{
    if (axis->kind != LL_AXIS_CALENDAR)
        return ll_arena_printf(&r->arena, "%.17g", (double)t / (double)axis->unit_ns);
    struct tm    when;
    int64_t      rest = t % INT64_C(1000000000);
    const time_t seconds = (time_t)(t / INT64_C(1000000000) - (rest < 0));
    if (rest < 0) rest += INT64_C(1000000000);
    if (gmtime_r(&seconds, &when) == NULL) return NULL;
    return ll_arena_printf(&r->arena, "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", when.tm_year + 1900,
                           when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec,
                           (long long)rest);
}

static llap_status forecast(ll_request *r, const llap_panel *p, const ll_served *m,
                            llap_forecast_opts *o)
{
    int64_t      at = INT64_MIN;
    llap_answer *a = NULL;
    llap_status  st = ll_charts_read_time(r, "at", &p->axis, &at);
    o->only = ll_charts_only(ll_request_argument(r, "entity"));
    if (st == LLAP_OK && at != INT64_MIN && (o->at = option_time(r, &p->axis, at)) == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = ll_check_samples(o->samples);
    if (st == LLAP_OK) st = llap_forecast(m->model, p, o, &a);
    if (st == LLAP_OK) st = ll_answer_check(r, a);
    if (st == LLAP_OK) st = write_fans(r, a, &p->axis);
    llap_answer_destroy(a);
    return st;
}

llap_status ll_answer_set_fan(ll_request *r)
{
    llap_log           log = ll_journal_log(r->server);
    llap_forecast_opts o = { .log = &log, .progress = ll_request_progress(r) };
    ll_set            *k = NULL;
    ll_served         *m = NULL;
    llap_status        st = ll_query_read(r, &(ll_asked){ { &o } });
    if (st == LLAP_OK) st = ll_set_of(r, r->name, &k);
    if (st == LLAP_OK) st = ll_model_for(r, ll_request_argument(r, "model"), &m);
    if (st == LLAP_OK) st = ll_set_check_words(k, m->model);
    if (st == LLAP_OK) st = forecast(r, k->panel, m, &o);
    ll_served_release(m);
    ll_set_release(k);
    return st;
}

llap_status ll_answer_stream_fan(ll_request *r)
{
    llap_status        st;
    llap_log           log = ll_journal_log(r->server);
    llap_forecast_opts o = { .log = &log, .progress = ll_request_progress(r) };
    llap_panel        *p = NULL;
    ll_served         *m = NULL;
    ll_live           *k = ll_live_of(r, &st);
    if (st == LLAP_OK) st = ll_query_read(r, &(ll_asked){ { &o } });
    if (st == LLAP_OK) st = ll_live_copy(k, &p, &m);
    if (st == LLAP_OK) st = forecast(r, p, m, &o);
    llap_panel_destroy(p);
    ll_served_release(m);
    return st;
}
