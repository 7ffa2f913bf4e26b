#include "score/hide.h"

#include "base/rng/rng.h"

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

llap_status ll_hide_mask(const llap_panel *p, const int64_t *var, int64_t n_targets,
                         const uint8_t *hidden, llap_panel **out)
{
    ll_panel_draft d = ll_panel_draft_of(p);
    llap_status    st = ll_panel_create(&d, out);
    if (st != LLAP_OK) return st;
    const int64_t cells = p->n_rows * p->n_vars;
    memcpy(d.time, p->time, (size_t)p->n_rows * sizeof *d.time);
    memcpy(d.value, p->value, (size_t)cells * sizeof *d.value);
    memcpy(d.observed, p->observed, (size_t)(cells + 63) / 64 * sizeof *d.observed);
    for (int64_t row = 0; row < p->n_rows; row++)
        for (int64_t k = 0; k < n_targets; k++) {
            if (!hidden[row * n_targets + k]) continue;
            const int64_t c = row * p->n_vars + var[k];
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
