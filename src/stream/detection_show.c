/* What was detected, for people and as JSON. */
#include "base/alloc.h"
#include "base/error.h"
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

/* ---- JSON ---- */

static void put_time(ll_json_writer *w, const char *key, const ll_axis *axis, int64_t time)
{
    ll_json_put_string(w, key, ll_clock_show(axis, time).text);
}

void ll_alarm_json(ll_json_writer *w, const char *key, const llap_alarm *a, const ll_axis *axis)
{
    ll_json_open(w, key, '{');
    ll_json_put_string(w, "entity", a->entity);
    ll_json_put_string(w, "variable", a->variable);
    ll_json_put_string(w, "condition", llap_condition_name(a->condition));
    put_time(w, "time", axis, a->time);
    put_time(w, "from", axis, a->from);
    put_time(w, "to", axis, a->to);
    ll_json_put_int(w, "rows", a->rows);
    ll_json_put_bool(w, "open", a->open);
    put_time(w, "peak", axis, a->peak.time);
    ll_json_put_double(w, "value", a->peak.value);
    ll_json_put_double(w, "expected", a->peak.expected);
    ll_json_put_double(w, "low", a->peak.low);
    ll_json_put_double(w, "high", a->peak.high);
    ll_json_put_double(w, "p", a->peak.p);
    ll_json_put_double(w, "surprise", a->peak.surprise);
    ll_json_put_double(w, "margin", a->peak.margin);
    ll_json_close(w, '}');
}

llap_status llap_detection_json(const llap_detection *d, char **text)
{
    ll_json_writer w = { .indent = 2 };
    size_t         n;
    ll_json_open(&w, NULL, '{');
    ll_json_put_int(&w, "entities", d->info.entities);
    ll_json_put_int(&w, "variables", d->info.variables);
    ll_json_put_int(&w, "learnt", d->info.learnt);
    ll_json_put_int(&w, "judged", d->info.judged);
    put_time(&w, "from", &d->axis, d->info.from);
    ll_json_put_double(&w, "rate_wanted", d->info.wanted);
    ll_json_put_double(&w, "rate_found", d->info.found);
    ll_json_open(&w, "alarms", '[');
    for (int64_t i = 0; i < d->info.alarms; i++) ll_alarm_json(&w, NULL, &d->alarm[i], &d->axis);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
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

static void put_line(FILE *f, const llap_alarm *a, const ll_axis *axis, int wide, int wider)
{
    fprintf(f, "%-20s  %-20s  %-*s  %-*s  %-8s  %5lld  ", ll_clock_show(axis, a->from).text,
            ll_clock_show(axis, a->to).text, wide, ll_text_show(a->entity).text, wider,
            ll_text_show(a->variable).text, llap_condition_name(a->condition), (long long)a->rows);
    put_peak(f, a);
    fputc('\n', f);
}

/* Closes the stream; caller owns *text. */
static llap_status finish(FILE *f, char **buffer, const size_t *n, char **text)
{
    const bool ok = fclose(f) == 0;
    *text = ok ? ll_strndup(*buffer, *n) : NULL;
    free(*buffer); /* of open_memstream */
    return *text == NULL ? ll_fail(LLAP_ENOMEM, "no memory for a text") : LLAP_OK;
}

llap_status ll_alarm_line(const llap_alarm *a, const ll_axis *axis, char **text)
{
    char  *buffer = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&buffer, &n);
    *text = NULL;
    if (f == NULL) return ll_fail(LLAP_ENOMEM, "no memory for a text");
    fprintf(f, "%s  %s  %s  %s%s  ", ll_clock_show(axis, a->open ? a->time : a->to).text,
            ll_text_show(a->entity).text, ll_text_show(a->variable).text,
            llap_condition_name(a->condition), a->open ? "" : " ended");
    if (a->condition == LLAP_CONDITION_SILENT)
        fprintf(f, "since %s", ll_clock_show(axis, a->from).text);
    else put_peak(f, a);
    if (!a->open) fprintf(f, ", %lld rows", (long long)a->rows);
    return finish(f, &buffer, &n, text);
}

static int width_of(const char *text, int width)
{
    const int n = (int)strlen(ll_text_show(text).text);
    return n > width ? n : width;
}

llap_status llap_detection_text(const llap_detection *d, char **text)
{
    char  *buffer = NULL;
    size_t n = 0;
    int    wide = 6, wider = 8;
    FILE  *f = open_memstream(&buffer, &n);
    *text = NULL;
    if (f == NULL) return ll_fail(LLAP_ENOMEM, "no memory for a text");
    fprintf(f,
            "%lld alarms in %lld readings from %s on: %.3g of 1000, wanted %.3g where all is well "
            "(learnt from %lld)\n",
            (long long)d->info.alarms, (long long)d->info.judged,
            ll_clock_show(&d->axis, d->info.from).text, 1e3 * d->info.found, 1e3 * d->info.wanted,
            (long long)d->info.learnt);
    for (int64_t i = 0; i < d->info.alarms; i++) {
        wide = width_of(d->alarm[i].entity, wide);
        wider = width_of(d->alarm[i].variable, wider);
    }
    if (d->info.alarms > 0)
        fprintf(f, "%-20s  %-20s  %-*s  %-*s  %-8s  %5s  %s\n", "from", "to", wide, "entity", wider,
                "variable", "what", "rows", "at its oddest");
    for (int64_t i = 0; i < d->info.alarms; i++) put_line(f, &d->alarm[i], &d->axis, wide, wider);
    return finish(f, &buffer, &n, text);
}
