#include "task/hide.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

static const float share = 0.3f;

void task_hide(const llap_panel *p, const int64_t *var, int64_t n_targets, uint64_t seed,
               uint8_t *hidden)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        const uint64_t id = llap_hash(0, p->entity[e], strlen(p->entity[e]));
        for (int64_t k = 0; k < n_targets; k++) {
            const char    *name = p->var[var[k]];
            const llap_rng r =
                llap_rng_make(seed, LLAP_STREAM_MASK, llap_hash(id, name, strlen(name)), 0, 0);
            for (int64_t row = p->start[e]; row < p->start[e + 1]; row++)
                hidden[row * n_targets + k] = llap_panel_observed(p, row, var[k]) &&
                                              llap_rng_uniform(&r, (uint64_t)p->time[row]) < share;
        }
    }
}

llap_status task_mask(const llap_panel *p, const int64_t *var, int64_t n_targets,
                      const uint8_t *hidden, llap_panel **out)
{
    llap_panel_draft d = { .axis = p->axis,
                           .n_entities = p->n_entities,
                           .n_vars = p->n_vars,
                           .entity = p->entity,
                           .var = p->var,
                           .start = p->start };
    llap_status      st = llap_panel_create(&d, out);
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

llap_part task_row_part(const llap_model *m, const llap_panel *p, int64_t entity, int64_t row)
{
    const llap_model_frame *f = &m->frame;
    if (f->by_entity) {
        const int64_t known = llap_model_entity(m, p->entity[entity]);
        return known < 0 ? LLAP_PART_TEST : (llap_part)f->part[known];
    }
    return p->time[row] < f->val_start    ? LLAP_PART_TRAIN
           : p->time[row] < f->test_start ? LLAP_PART_VAL
                                          : LLAP_PART_TEST;
}
