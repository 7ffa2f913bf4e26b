#include "base/rng/rng.h"
#include "fill/fit.h"

#include <math.h>

/* Times at which a sensor is out: one after the other, each far behind the one before. */
typedef struct outages {
    ll_rng   rng;
    uint64_t next;
    double   from, until, every, unit;
} outages;

static void draw_outage(outages *o)
{
    const double wait = -log(1 - (double)ll_rng_uniform(&o->rng, o->next++));
    const double part = (double)ll_rng_uniform(&o->rng, o->next++);
    o->from = o->until + o->unit * o->every * wait;
    o->until = o->from + o->unit * 6 * pow(8, part);
}

static bool is_out(outages *o, double t)
{
    while (t >= o->until) draw_outage(o);
    return t >= o->from;
}

static outages outages_of(uint64_t seed, int64_t entity, int64_t v, double start, double unit,
                          double every)
{
    outages o = { .rng = ll_rng_make(seed, LL_STREAM_MASK, (uint64_t)entity, (uint32_t)v, 2),
                  .until = start,
                  .every = every,
                  .unit = unit };
    draw_outage(&o);
    return o;
}

void ll_fill_hide(const ll_fill_table *t, double unit, ll_fill_pattern p, uint64_t seed,
                  uint8_t *hidden)
{
    const float share = p == LL_FILL_RANDOM ? 0.3f : 0.1f;
    for (int64_t e = 0; e < t->n_entities; e++) {
        const int64_t first = t->start[e], end = t->start[e + 1];
        for (int64_t v = 0; first < end && v < t->n_vars; v++) {
            const ll_rng any =
                ll_rng_make(seed, LL_STREAM_MASK, (uint64_t)e, (uint32_t)v, (uint32_t)p);
            outages own = outages_of(seed, e, v, t->t[first], unit, 8 * 24);
            outages row = outages_of(seed, e, t->n_vars, t->t[first], unit, 16 * 24);
            for (int64_t r = first; r < end; r++) {
                bool out = ll_rng_uniform(&any, (uint64_t)(r - first)) < share;
                if (p == LL_FILL_OUTAGES) {
                    out |= is_out(&own, t->t[r]);
                    out |= is_out(&row, t->t[r]);
                }
                hidden[v * t->n_rows + r] = out && !isnan(t->u[v * t->n_rows + r]);
            }
        }
    }
}
