#include "score/gaps/hide.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "base/time/civil.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const float share = 0.3f;

void ll_hide_readings(const llap_panel *p, const int64_t *var, int64_t n_targets, uint64_t seed,
                      uint8_t *hidden)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        const uint64_t id = ll_hash(0, p->entity[e], strlen(p->entity[e]));
        for (int64_t k = 0; k < n_targets; k++) {
            const char  *name = p->var[var[k]];
            const ll_rng r =
                ll_rng_make(seed, LL_STREAM_MASK, ll_hash(id, name, strlen(name)), 0, 0);
            for (int64_t row = p->start[e]; row < p->start[e + 1]; row++)
                hidden[row * n_targets + k] = ll_panel_observed(p, row, var[k]) &&
                                              ll_rng_uniform(&r, (uint64_t)p->time[row]) < share;
        }
    }
}

/* Columns that are lost like sensors, in their order: not those that are known beforehand. */
static int64_t list_columns(const llap_model *m, const llap_panel *p, int64_t *column)
{
    const ll_model_frame *f = &m->frame;
    int64_t               n = 0;
    for (int64_t v = 0; v < p->n_vars; v++) {
        bool given = false;
        for (int64_t i = 0; i < f->n_known; i++) given |= strcmp(p->var[v], f->known[i]) == 0;
        for (int64_t i = 0; i < f->n_statics; i++) given |= strcmp(p->var[v], f->statics[i]) == 0;
        if (!given) column[n++] = v;
    }
    return n;
}

/* Times and readings of the columns as a table. */
typedef struct sensors {
    ll_fill_table t;
    double       *time, *u;
    uint8_t      *hidden, *mortal;
} sensors;

static void sensors_deinit(sensors *s)
{
    void *const arrays[] = { s->time, s->u, s->hidden, s->mortal };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

static llap_status sensors_init(sensors *s, const llap_model *m, const llap_panel *p,
                                const int64_t *target, const int64_t *column, int64_t n)
{
    const size_t rows = (size_t)p->n_rows;
    *s = (sensors){ .time = ll_new(rows, sizeof *s->time),
                    .u = ll_new(rows * (size_t)n, sizeof *s->u),
                    .hidden = ll_new(rows, (size_t)n),
                    .mortal = ll_new((size_t)n, 1) };
    if (!s->time || !s->u || !s->hidden || !s->mortal) return LLAP_ENOMEM;
    for (int64_t r = 0; r < p->n_rows; r++) s->time[r] = ll_model_time(m, p->time[r]);
    for (int64_t v = 0; v < n; v++) {
        for (int64_t k = 0; k < m->frame.n_targets; k++) s->mortal[v] |= target[k] == column[v];
        for (int64_t r = 0; r < p->n_rows; r++)
            s->u[v * p->n_rows + r] = ll_panel_observed(p, r, column[v]) ? 0 : NAN;
    }
    s->t = (ll_fill_table){ .n_entities = p->n_entities,
                            .n_rows = p->n_rows,
                            .n_vars = n,
                            .start = p->start,
                            .t = s->time,
                            .u = s->u };
    return LLAP_OK;
}

ll_fill_hiding ll_hiding_of(const llap_model *m, ll_fill_pattern pattern, uint64_t seed)
{
    const ll_model_frame *f = &m->frame;
    const double          unit = (double)f->unit, step = (double)f->step;
    const bool            day = f->axis == LL_AXIS_CALENDAR && f->step <= 6 * LL_NS_PER_HOUR;
    return (ll_fill_hiding){ .pattern = pattern,
                             .unit = (day ? (double)LL_NS_PER_HOUR : step) / unit,
                             .stays = f->by_entity,
                             .seed = seed };
}

llap_status ll_hide_gaps(const llap_model *m, const llap_panel *p, const int64_t *target,
                         ll_fill_pattern pattern, uint64_t seed, uint8_t *hidden)
{
    ll_fill_hiding h = ll_hiding_of(m, pattern, seed);
    sensors        s = { 0 };
    int64_t       *column = ll_new((size_t)p->n_vars, sizeof *column);
    if (column == NULL) return LLAP_ENOMEM;
    const int64_t n = list_columns(m, p, column);
    llap_status   st = sensors_init(&s, m, p, target, column, n);
    h.mortal = s.mortal;
    if (st == LLAP_OK && pattern == LL_FILL_RANDOM) ll_hide_readings(p, column, n, seed, s.hidden);
    else if (st == LLAP_OK) ll_fill_hide(&s.t, &h, s.hidden);
    for (int64_t i = 0; st == LLAP_OK && i < n * p->n_rows; i++) {
        const int64_t r = pattern == LL_FILL_RANDOM ? i / n : i % p->n_rows;
        const int64_t v = pattern == LL_FILL_RANDOM ? i % n : i / p->n_rows;
        hidden[r * p->n_vars + column[v]] = s.hidden[i];
    }
    sensors_deinit(&s);
    ll_free(column);
    return st;
}

llap_status ll_hide_mask(const llap_panel *p, const int64_t *var, int64_t n, const uint8_t *hidden,
                         llap_panel **out)
{
    ll_panel_draft d = ll_panel_draft_of(p);
    llap_status    st = ll_panel_create(&d, out);
    if (st != LLAP_OK) return st;
    const int64_t cells = p->n_rows * p->n_vars;
    memcpy(d.time, p->time, (size_t)p->n_rows * sizeof *d.time);
    memcpy(d.value, p->value, (size_t)cells * sizeof *d.value);
    memcpy(d.observed, p->observed, (size_t)(cells + 63) / 64 * sizeof *d.observed);
    for (int64_t i = 0; i < p->n_rows * n; i++) {
        if (!hidden[i]) continue;
        const int64_t c = i / n * p->n_vars + (var == NULL ? i % n : var[i % n]);
        d.value[c] = NAN;
        d.observed[c >> 6] &= ~(UINT64_C(1) << (c & 63));
    }
    return LLAP_OK;
}

ll_part ll_row_part(const llap_model *m, const llap_panel *p, int64_t entity, int64_t row)
{
    const ll_model_frame *f = &m->frame;
    if (f->by_entity) {
        const int64_t known = ll_model_entity_of(m, p, entity);
        return known < 0 ? LL_PART_TEST : (ll_part)f->part[known];
    }
    assert(row >= p->start[entity] && row < p->start[entity + 1]);
    return p->time[row] < f->val_start    ? LL_PART_TRAIN
           : p->time[row] < f->test_start ? LL_PART_VAL
                                          : LL_PART_TEST;
}
