#include "fill/hide.h"

#include "base/rng/rng.h"

#include <math.h>
#include <string.h>

/* Times at which a sensor is out: one after the other, each far behind the one before. */
typedef struct outages {
    ll_rng   rng;
    uint64_t next;
    double   from, until, every, unit, least, times; /* they last least .. least * times units */
} outages;

static double draw_length(outages *o)
{
    return o->unit * o->least * pow(o->times, (double)ll_rng_uniform(&o->rng, o->next++));
}

static void draw_outage(outages *o)
{
    const double wait = -log(1 - (double)ll_rng_uniform(&o->rng, o->next++));
    o->from = o->until + o->unit * o->every * wait;
    o->until = o->from + draw_length(o);
}

static bool is_out(outages *o, double t)
{
    while (t >= o->until) draw_outage(o);
    return t >= o->from;
}

/* Of sensor v of an entity, or with v = n_vars of all of them together. */
static outages outages_of(const ll_fill_table *t, const ll_fill_hiding *h, int64_t e, int64_t v,
                          double every)
{
    const double first = t->t[t->start[e]], last = t->t[t->start[e + 1] - 1];
    outages      o = { .rng = ll_rng_make(h->seed, LL_STREAM_MASK, (uint64_t)e, (uint32_t)v,
                                          LL_FILL_OUTAGES + 1),
                       .until = first,
                       .every = every,
                       .unit = h->unit,
                       .least = h->stays ? 3 : 6,
                       .times = h->stays ? 4 : 8 };
    if (!h->stays) {
        draw_outage(&o);
        return o;
    }
    const bool none = (double)ll_rng_uniform(&o.rng, o.next++) >= 64.0 / every; /* at most one */
    o.from = none ? INFINITY : first + (last - first) * (double)ll_rng_uniform(&o.rng, o.next++);
    o.until = o.from + draw_length(&o);
    o.every = INFINITY;
    return o;
}

static void hide_outages(const ll_fill_table *t, const ll_fill_hiding *h, int64_t e, int64_t v,
                         double every, uint8_t *hidden)
{
    outages o = outages_of(t, h, e, v, every);
    for (int64_t r = t->start[e]; r < t->start[e + 1]; r++) hidden[r] |= is_out(&o, t->t[r]);
}

/* Hours from one outage to the next: of a variable, of a whole row, and where rows alone are out.
 * Of a stay an outage happens with probability 64 hours by that: .4, .2 and .8. */
static double hours_between(const ll_fill_hiding *h, bool row)
{
    if (h->pattern == LL_FILL_ROWS) return h->stays ? 80 : 4 * 24;
    return (h->stays ? 160 : 8 * 24) * (row ? 2 : 1);
}

static void hide_sensor(const ll_fill_table *t, const ll_fill_hiding *h, int64_t e, int64_t v,
                        uint8_t *hidden)
{
    const float  share = h->pattern == LL_FILL_RANDOM ? 0.3f : 0.1f;
    const ll_rng any =
        ll_rng_make(h->seed, LL_STREAM_MASK, (uint64_t)e, (uint32_t)v, (uint32_t)h->pattern);
    for (int64_t r = t->start[e]; h->pattern != LL_FILL_ROWS && r < t->start[e + 1]; r++)
        hidden[r] = ll_rng_uniform(&any, (uint64_t)(r - t->start[e])) < share;
    if (h->pattern == LL_FILL_RANDOM) return;
    if (h->pattern == LL_FILL_OUTAGES) hide_outages(t, h, e, v, hours_between(h, false), hidden);
    hide_outages(t, h, e, t->n_vars, hours_between(h, true), hidden);
}

/* ---- dead sensors ---- */

static int64_t draw_below(const ll_rng *r, uint64_t *next, int64_t n)
{
    const int64_t i = (int64_t)((double)ll_rng_uniform(r, (*next)++) * (double)n);
    return i < n ? i : n - 1;
}

static int64_t draw_mortal(const ll_fill_table *t, const ll_fill_hiding *h, const ll_rng *r,
                           uint64_t *next)
{
    int64_t n = 0;
    for (int64_t v = 0; v < t->n_vars; v++) n += h->mortal == NULL || h->mortal[v];
    int64_t left = n == 0 ? 0 : draw_below(r, next, n);
    for (int64_t v = 0; v < t->n_vars && n > 0; v++)
        if ((h->mortal == NULL || h->mortal[v]) && left-- == 0) return v;
    return -1;
}

/* In each two weeks every eighth entity, one at least, loses a sensor; of stays all do, for good.
 */
static void hide_dead(const ll_fill_table *t, const ll_fill_hiding *h, uint8_t *hidden)
{
    const double span = 336 * h->unit;
    double       first = INFINITY, last = -INFINITY;
    for (int64_t r = 0; r < t->n_rows; r++)
        first = fmin(first, t->t[r]), last = fmax(last, t->t[r]);
    for (int64_t e = 0; h->stays && e < t->n_entities; e++) {
        const ll_rng  r = ll_rng_make(h->seed, LL_STREAM_MASK, (uint64_t)e, 0, LL_FILL_DEAD);
        uint64_t      next = 0;
        const int64_t v = draw_mortal(t, h, &r, &next);
        if (v < 0) return;
        memset(hidden + v * t->n_rows + t->start[e], 1, (size_t)(t->start[e + 1] - t->start[e]));
    }
    for (int64_t k = 0; !h->stays && first + (double)k * span <= last; k++) {
        const ll_rng  r = ll_rng_make(h->seed, LL_STREAM_MASK, (uint64_t)k, 1, LL_FILL_DEAD);
        uint64_t      next = 0;
        const int64_t times = h->deaths > 1 ? h->deaths : 1;
        for (int64_t i = 0; i < times * (1 + (t->n_entities - 1) / 8); i++) {
            const int64_t e = draw_below(&r, &next, t->n_entities),
                          v = draw_mortal(t, h, &r, &next);
            for (int64_t row = t->start[e]; v >= 0 && row < t->start[e + 1]; row++)
                if (floor((t->t[row] - first) / span) == (double)k) hidden[v * t->n_rows + row] = 1;
        }
    }
}

void ll_fill_hide(const ll_fill_table *t, const ll_fill_hiding *h, uint8_t *hidden)
{
    memset(hidden, 0, (size_t)(t->n_vars * t->n_rows));
    if (h->pattern == LL_FILL_DEAD) hide_dead(t, h, hidden);
    else
        for (int64_t e = 0; e < t->n_entities; e++)
            for (int64_t v = 0; t->start[e] < t->start[e + 1] && v < t->n_vars; v++)
                hide_sensor(t, h, e, v, hidden + v * t->n_rows);
    for (int64_t i = 0; i < t->n_vars * t->n_rows; i++)
        if (isnan(t->u[i])) hidden[i] = 0;
}
