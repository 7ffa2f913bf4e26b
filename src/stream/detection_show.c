/* What was detected, for people and as JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/clock.h"
#include "stream/alarm_text.h"
#include "stream/detection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *llap_condition_name(llap_condition c)
{
    static const char *const names[] = { "normal", "unusual", "drifting", "stuck", "silent" };
    return c >= LLAP_CONDITION_NORMAL && c <= LLAP_CONDITION_SILENT ? names[c] : "unknown";
}

/* A time as the data writes it; "?" where their format has no room for it. */
static ll_clock_shown shown(const ll_clock_writer *c, int64_t time)
{
    ll_clock_shown s = { "?" };
    size_t         n = 1;
    if (ll_clock_write(c, time, s.text, &n) == LLAP_OK) s.text[n] = '\0';
    return s;
}

/* ---- JSON ---- */

static void put_time(ll_json_writer *w, const char *key, const ll_clock_writer *c, int64_t time)
{
    ll_json_put_string(w, key, shown(c, time).text);
}

static void put_alarm(ll_json_writer *w, const llap_alarm *a, const ll_clock_writer *c)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "entity", a->entity);
    ll_json_put_string(w, "variable", a->variable);
    ll_json_put_string(w, "condition", llap_condition_name(a->condition));
    put_time(w, "time", c, a->time);
    put_time(w, "from", c, a->from);
    put_time(w, "to", c, a->to);
    ll_json_put_int(w, "rows", a->rows);
    ll_json_put_bool(w, "open", a->open);
    put_time(w, "peak", c, a->peak.time);
    ll_json_put_double(w, "value", a->peak.value);
    ll_json_put_double(w, "expected", a->peak.expected);
    ll_json_put_double(w, "low", a->peak.low);
    ll_json_put_double(w, "high", a->peak.high);
    ll_json_put_double(w, "p", a->peak.p);
    ll_json_put_double(w, "surprise", a->peak.surprise);
    ll_json_put_double(w, "margin", a->peak.margin);
    ll_json_close(w, '}');
}

llap_status ll_alarm_json(const llap_alarm *a, const ll_axis *axis, char **text)
{
    ll_json_writer  w = { .indent = 0 };
    ll_clock_writer c;
    size_t          n;
    *text = NULL;
    llap_status st = ll_clock_writer_init(&c, axis);
    if (st == LLAP_OK) {
        put_alarm(&w, a, &c);
        st = ll_json_finish(&w, text, &n);
    }
    ll_clock_writer_deinit(&c);
    return st;
}

llap_status llap_detection_json(const llap_detection *d, char **text)
{
    ll_json_writer  w = { .indent = 2 };
    ll_clock_writer c;
    size_t          n;
    *text = NULL;
    llap_status st = ll_clock_writer_init(&c, &d->axis);
    if (st == LLAP_OK) {
        ll_json_open(&w, NULL, '{');
        ll_json_put_int(&w, "entities", d->info.entities);
        ll_json_put_int(&w, "variables", d->info.variables);
        ll_json_put_int(&w, "learnt", d->info.learnt);
        ll_json_put_int(&w, "judged", d->info.judged);
        put_time(&w, "from", &c, d->info.from);
        ll_json_put_double(&w, "rate_wanted", d->info.wanted);
        ll_json_put_double(&w, "rate_found", d->info.found);
        ll_json_open(&w, "alarms", '[');
        for (int64_t i = 0; i < d->info.alarms; i++) put_alarm(&w, &d->alarm[i], &c);
        ll_json_close(&w, ']');
        ll_json_close(&w, '}');
        st = ll_json_finish(&w, text, &n);
    }
    ll_clock_writer_deinit(&c);
    return st;
}

/* ---- text ---- */

/* What was read and what would have been usual; of silence how long it is. */
static void put_peak(FILE *f, const llap_alarm *a)
{
    const llap_judgement *j = &a->peak;
    if (isnan(j->value)) return;
    fprintf(f, "%.6g", j->value);
    if (isfinite(j->expected))
        fprintf(f, ", expected %.6g, usual %.6g to %.6g", j->expected, j->low, j->high);
}

static void put_line(FILE *f, const llap_alarm *a, const ll_clock_writer *c, int wide, int wider)
{
    fprintf(f, "%-20s  %-20s  %-*s  %-*s  %-8s  %5lld  ", shown(c, a->from).text,
            shown(c, a->to).text, wide, ll_text_show(a->entity).text, wider,
            ll_text_show(a->variable).text, llap_condition_name(a->condition), (long long)a->rows);
    put_peak(f, a);
    fputc('\n', f);
}

static void put_alarm_line(FILE *f, const llap_alarm *a, const ll_clock_writer *c)
{
    fprintf(f, "%s  %s  %s  %s%s  ", shown(c, a->open ? a->time : a->to).text,
            ll_text_show(a->entity).text, ll_text_show(a->variable).text,
            llap_condition_name(a->condition), a->open ? "" : " ended");
    if (a->condition == LLAP_CONDITION_SILENT) fprintf(f, "since %s", shown(c, a->from).text);
    else put_peak(f, a);
    if (!a->open) fprintf(f, ", %lld rows", (long long)a->rows);
}

llap_status ll_alarm_line(const llap_alarm *a, const ll_axis *axis, char **text)
{
    ll_clock_writer c;
    size_t          n;
    ll_memory_file  to = { 0 };
    llap_status     st = ll_clock_writer_init(&c, axis);
    if (st == LLAP_OK) st = ll_memory_file_open(&to);
    if (st == LLAP_OK) put_alarm_line(to.stream, a, &c);
    st = ll_memory_file_close(&to, st, text, &n);
    ll_clock_writer_deinit(&c);
    return st;
}

static int width_of(const char *text, int width)
{
    const int n = (int)strlen(ll_text_show(text).text);
    return n > width ? n : width;
}

static void put_detection(FILE *f, const llap_detection *d, const ll_clock_writer *c)
{
    int wide = 6, wider = 8;
    fprintf(f,
            "%lld alarms in %lld readings from %s on: %.3g of 1000, wanted %.3g where all is well "
            "(learnt from %lld)\n",
            (long long)d->info.alarms, (long long)d->info.judged, shown(c, d->info.from).text,
            1e3 * d->info.found, 1e3 * d->info.wanted, (long long)d->info.learnt);
    for (int64_t i = 0; i < d->info.alarms; i++) {
        wide = width_of(d->alarm[i].entity, wide);
        wider = width_of(d->alarm[i].variable, wider);
    }
    if (d->info.alarms > 0)
        fprintf(f, "%-20s  %-20s  %-*s  %-*s  %-8s  %5s  %s\n", "from", "to", wide, "entity", wider,
                "variable", "what", "rows", "at its oddest");
    for (int64_t i = 0; i < d->info.alarms; i++) put_line(f, &d->alarm[i], c, wide, wider);
}

llap_status llap_detection_text(const llap_detection *d, char **text)
{
    ll_clock_writer c;
    size_t          n;
    ll_memory_file  to = { 0 };
    llap_status     st = ll_clock_writer_init(&c, &d->axis);
    if (st == LLAP_OK) st = ll_memory_file_open(&to);
    if (st == LLAP_OK) put_detection(to.stream, d, &c);
    st = ll_memory_file_close(&to, st, text, &n);
    ll_clock_writer_deinit(&c);
    return st;
}
