/* What was detected as a picture: rows and alarms to the series of plot/alarm_plot.h. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "plot/alarm_plot.h"
#include "stream/detection.h"

#include <stdlib.h>
#include <string.h>

typedef struct choice { /* a series, by its alarms */
    int64_t entity, target, alarms;
} choice;

static int by_alarms(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->alarms != y->alarms) return x->alarms > y->alarms ? -1 : 1;
    if (x->entity != y->entity) return x->entity < y->entity ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* Names are the detection's own, so that pointers tell them apart. */
static bool is_of(const llap_detection *d, const llap_alarm *a, const choice *c)
{
    return a->entity == d->entity[c->entity] && a->variable == d->target[c->target];
}

static llap_status take_series(ll_arena *arena, const llap_detection *d, const choice *c,
                               ll_alarm_series *out)
{
    int64_t               n;
    const llap_judgement *row = llap_detection_rows(d, c->entity, c->target, &n);
    int64_t              *time = ll_arena_new(arena, (size_t)n, sizeof *time);
    double               *number = ll_arena_new(arena, (size_t)n, 3 * sizeof *number);
    ll_alarm_stripe      *stripe = ll_arena_new(arena, (size_t)c->alarms, sizeof *stripe);
    if (time == NULL || number == NULL || stripe == NULL) return LLAP_ENOMEM;
    *out = (ll_alarm_series){ .entity = d->entity[c->entity],
                              .variable = d->target[c->target],
                              .n = n,
                              .time = time,
                              .value = number,
                              .low = number + n,
                              .high = number + 2 * n,
                              .stripe = stripe };
    for (int64_t i = 0; i < n; i++) {
        time[i] = row[i].time;
        number[i] = row[i].value;
        number[n + i] = row[i].low;
        number[2 * n + i] = row[i].high;
    }
    for (int64_t i = 0; i < d->info.alarms; i++)
        if (is_of(d, &d->alarm[i], c))
            stripe[out->n_stripes++] = (ll_alarm_stripe){ d->alarm[i].from, d->alarm[i].to,
                                                          (int)d->alarm[i].condition - 1 };
    return LLAP_OK;
}

/* All series that were judged, those with most alarms first; caller owns *out. */
static llap_status choose(const llap_detection *d, choice **out, int64_t *n)
{
    *n = 0;
    *out = ll_new((size_t)d->info.entities, (size_t)d->info.variables * sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < d->info.entities; e++)
        for (int64_t c = 0; c < d->info.variables; c++) {
            choice  one = { e, c, 0 };
            int64_t rows;
            (void)llap_detection_rows(d, e, c, &rows);
            for (int64_t i = 0; i < d->info.alarms; i++) one.alarms += is_of(d, &d->alarm[i], &one);
            if (rows > 0) (*out)[(*n)++] = one;
        }
    qsort(*out, (size_t)*n, sizeof **out, by_alarms);
    return LLAP_OK;
}

llap_status llap_detection_plot(const llap_detection *d, const char *path)
{
    const char *kinds[LL_ALARM_KINDS];
    if (d->row == NULL) return ll_fail(LLAP_EINVAL, "the rows of the detection were not kept");
    for (int k = 0; k < LL_ALARM_KINDS; k++)
        kinds[k] = llap_condition_name((llap_condition)(k + 1));
    ll_alarm_series series[LL_ALARM_SERIES];
    ll_alarm_plot   f = {
          .axis = d->axis, .series = series, .kinds = kinds, .n_kinds = LL_ALARM_KINDS
    };
    ll_arena    arena = { 0 };
    choice     *all = NULL;
    llap_status st = choose(d, &all, &f.of);
    for (int64_t i = 0; st == LLAP_OK && i < f.of && f.n < LL_ALARM_SERIES; i++)
        if (all[i].alarms > 0 || i == 0) st = take_series(&arena, d, &all[i], &series[f.n++]);
    if (st == LLAP_OK) st = ll_plot_alarms(&f, path);
    ll_arena_deinit(&arena);
    ll_free(all);
    return st;
}
