/* The cells of a column in one batch.
 *
 *     ll_arrow_column c;
 *     st = ll_arrow_column_init(&c, &type, array, first, n);
 *     for (int64_t i = 0; i < n; i++)
 *         if (ll_arrow_present(&c, i)) use(ll_arrow_number(&c, i));
 *     ll_arrow_column_deinit(&c);
 *
 * Borrows the array until deinit. Texts point into its buffers. */
#ifndef LL_DATA_ARROW_COLUMN_H
#define LL_DATA_ARROW_COLUMN_H

#include "data/arrow/type.h"
#include "data/csv/token.h"

typedef struct ll_arrow_column {
    ll_arrow_type      type;
    int64_t            first;        /* cell i lies at first + i */
    const uint8_t     *valid;        /* bits; NULL: all are */
    const void        *index, *data; /* index: of a dictionary, whose values are data */
    const void        *bytes;        /* of text */
    const void *const *views;        /* further buffers of views */
    int64_t            n_views;
    int64_t            n_values;    /* of a dictionary */
    int64_t            first_value; /* lies at */
    const uint8_t     *valid_value; /* bits of a dictionary */
    ll_csv_field      *value;       /* [n_values] texts of a dictionary, checked; NULL: none */
} ll_arrow_column;

enum { LL_ARROW_CELL = 64 }; /* room for the text of a cell that is no text */

/* The cells first .. first + n - 1 of the array. LLAP_EFORMAT: sizes that cannot be, buffers that
 * are not there, a dictionary of bad texts. The caller owns *c, also after a failure. */
llap_status ll_arrow_column_init(ll_arrow_column *c, const ll_arrow_type *t,
                                 const struct ArrowArray *a, int64_t first, int64_t n);
void        ll_arrow_column_deinit(ll_arrow_column *c); /* { 0 } is fine */

/* Whether cell i has a value. Indices that are outside of the dictionary count as present. */
bool ll_arrow_present(const ll_arrow_column *c, int64_t i);

/* Of present cells. */
double      ll_arrow_number(const ll_arrow_column *c, int64_t i);  /* of numbers, no dictionary */
int64_t     ll_arrow_integer(const ll_arrow_column *c, int64_t i); /* as it is stored */
llap_status ll_arrow_ticks(const ll_arrow_column *c, int64_t i, int64_t *out); /* of times */

/* The cells from i on where they are doubles, all present and no dictionary; else NULL. */
static inline const double *ll_arrow_doubles(const ll_arrow_column *c, int64_t i)
{
    const bool plain =
        c->type.kind == LL_ARROW_F64 && c->type.index == LL_ARROW_NULL && c->valid == NULL;
    return plain ? (const double *)c->data + c->first + i : NULL;
}

/* The same of times that are stored as int64_t. */
static inline const int64_t *ll_arrow_plain_ticks(const ll_arrow_column *c, int64_t i)
{
    const bool wide = c->type.kind == LL_ARROW_TIMESTAMP || c->type.kind == LL_ARROW_DATE_MS;
    return wide && c->type.index == LL_ARROW_NULL && c->valid == NULL
               ? (const int64_t *)c->data + c->first + i
               : NULL;
}

/* The place in a dictionary as it is stored, of one that has no missing cells and small numbers,
 * which most have; -1 otherwise. */
static inline int64_t ll_arrow_plain_place(const ll_arrow_column *c, int64_t i)
{
    if (c->value == NULL || c->valid != NULL || c->valid_value != NULL) return -1;
    if (c->type.index == LL_ARROW_I32) return ((const int32_t *)c->index)[c->first + i];
    if (c->type.index == LL_ARROW_U32) return ((const uint32_t *)c->index)[c->first + i];
    return c->type.index == LL_ARROW_I8 ? ((const int8_t *)c->index)[c->first + i] : -1;
}

/* The cell as CSV would have it; empty where there is none. room is used unless it is text.
 * LLAP_EFORMAT: bytes that are no text, an index outside of the dictionary. */
llap_status ll_arrow_text(const ll_arrow_column *c, int64_t i, char room[LL_ARROW_CELL],
                          ll_csv_field *out);

#endif
