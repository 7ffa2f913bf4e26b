#include "fill/need.h"

#include <math.h>

void ll_fill_need_of(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                     uint8_t mark, uint8_t *need)
{
    const int64_t n = t->n_rows;
    int32_t       around[LL_FILL_LOOK];
    int           count = -1; /* of around; not yet known */
    for (int64_t x = 0; x < f->n_vars; x++) {
        if (x == v || isnan(t->u[x * n + row])) continue;
        if (count < 0) count = ll_fill_around(f, t, v, row, around);
        for (int i = 0; i < count; i++) need[x * n + around[i]] |= mark;
    }
    for (int64_t k = 0; k < f->n_near; k++) {
        const int32_t there = t->same[row * f->n_near + k];
        if (there < 0 || isnan(t->u[v * n + there])) continue;
        if (count < 0) count = ll_fill_around(f, t, v, row, around);
        for (int i = 0; i < count; i++) {
            const int32_t r = t->same[around[i] * f->n_near + k];
            if (r >= 0) need[v * n + r] |= mark;
        }
    }
}

void ll_fill_need_before(const ll_filling *f, const ll_fill_table *t, uint8_t *need)
{
    for (int64_t i = 0; i < f->n_vars * t->n_rows; i++)
        if ((need[i] & LL_FILL_NEED_1) && isnan(t->u[i]))
            ll_fill_need_of(f, t, i / t->n_rows, i % t->n_rows, LL_FILL_NEED_0, need);
}

void ll_fill_need_unrest(const ll_filling *f, const ll_fill_table *t, uint8_t *need)
{
    for (int64_t v = 0; v < f->n_vars; v++)
        for (int64_t r = 0; f->target[v] >= 0 && r < t->n_rows; r++)
            if (!isnan(t->u[v * t->n_rows + r])) ll_fill_need_of(f, t, v, r, LL_FILL_NEED_1, need);
}
