/* Makes a panel from rows or single cells in any order.
 *
 *     ll_panel_builder *b;
 *     st = ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b);
 *     st = ll_panel_builder_var(b, "temp", 4, &v);             as often as needed
 *     st = ll_panel_builder_entity(b, "Paris", 5, &e);
 *     st = ll_panel_builder_row(b, e, time, values);           NaN = missing
 *     st = ll_panel_builder_cell(b, e, time, v, 21.5f);        or cell by cell
 *     st = ll_panel_builder_finish(b, &axis, &panel);
 *     ll_panel_builder_destroy(b);
 *
 * Rows of one entity and one time become one row, cell by cell: the last value that arrived stays,
 * and a missing cell never erases a value. Nothing is silent: ll_builder_counts says what came
 * unordered, twice or not finite.
 *
 * While building it holds 4 bytes per row beside the values and times of the panel to come (single
 * cells take 20 bytes each instead); rows that come unordered are sorted in place with 8 more. For
 * a packed panel (opts.pack) it holds no more than it may, and sorts on disk. */
#ifndef LL_DATA_PANEL_BUILDER_H
#define LL_DATA_PANEL_BUILDER_H

#include "data/panel.h"

typedef enum ll_duplicates {
    LL_DUPLICATES_LAST,  /* the last value stays; counted */
    LL_DUPLICATES_ERROR, /* LLAP_EFORMAT at the first value that is given twice */
} ll_duplicates;

typedef struct ll_builder_opts {
    ll_duplicates          duplicates;
    bool                   sort_vars;    /* variables in byte order; else in order of arrival */
    int64_t                max_entities; /* more is LLAP_ELIMIT; <= 0: no limit of ours */
    struct ll_pack_writer *pack; /* what does not fit into memory is sorted on disk, beside its
                                    path, and the panel is made there (pack.h); NULL: in memory.
                                    Borrowed until destroyed */
    int64_t memory;              /* with pack: bytes for rows, beside the names */
} ll_builder_opts;

#define LL_BUILDER_DEFAULT ((ll_builder_opts){ .duplicates = LL_DUPLICATES_LAST })

/* What the input was like. An arrival number counts the rows, or the cells, from 0 in the order in
 * which they were given; -1 is none. */
typedef struct ll_builder_counts {
    int64_t rows, cells;      /* given */
    int64_t unordered;        /* rows or cells earlier than one before them of the same entity */
    int64_t duplicate_cells;  /* values given twice or more often */
    int64_t merged_rows;      /* rows that fell together with an earlier one */
    int64_t not_finite;       /* infinite values, stored as missing */
    int64_t empty_entities;   /* named, but without a row; left out */
    int64_t first_unordered;  /* arrival number */
    int64_t first_duplicate;  /* arrival number of the value that came again */
    int64_t first_not_finite; /* arrival number */
} ll_builder_counts;

typedef struct ll_panel_builder ll_panel_builder;

/* Caller owns *out. */
llap_status ll_panel_builder_create(const ll_builder_opts *o, ll_panel_builder **out);
void        ll_panel_builder_destroy(ll_panel_builder *b); /* NULL is fine */

/* The number of a name, new or known. Variables may still be added after rows were. */
llap_status ll_panel_builder_entity(ll_panel_builder *b, const char *name, size_t len,
                                    uint32_t *id);
const char *ll_panel_builder_entity_name(const ll_panel_builder *b, uint32_t id); /* borrowed */
llap_status ll_panel_builder_var(ll_panel_builder *b, const char *name, size_t len, uint32_t *id);
const char *ll_panel_builder_var_name(const ll_panel_builder *b, uint32_t id); /* borrowed */
uint32_t    ll_panel_builder_n_vars(const ll_panel_builder *b);

/* Adds a row: values [number of variables so far], borrowed until return. */
llap_status ll_panel_builder_row(ll_panel_builder *b, uint32_t entity, int64_t time,
                                 const float *values);
/* Adds n rows of one entity: values [n,number of variables so far]. */
llap_status ll_panel_builder_rows(ll_panel_builder *b, uint32_t entity, int64_t n,
                                  const int64_t *time, const float *values);
/* Adds one cell. A NaN makes the row exist without a value. */
llap_status ll_panel_builder_cell(ll_panel_builder *b, uint32_t entity, int64_t time, uint32_t var,
                                  float value);

/* Shows every value that is not missing to see, which may change it: NaN makes it missing. For
 * what can be told only when all rows are there. */
llap_status ll_panel_builder_visit(ll_panel_builder *b,
                                   void (*see)(void *user, uint32_t var, float *x), void *user);

/* When an entity was seen; first > last without rows. */
typedef struct ll_builder_span {
    int64_t first, last, rows; /* rows, or cells */
} ll_builder_span;

/* The latest time of an entity so far; INT64_MIN: none. */
int64_t  ll_panel_builder_newest(const ll_panel_builder *b, uint32_t entity);
uint32_t ll_panel_builder_n_entities(const ll_panel_builder *b);
void     ll_panel_builder_spans(const ll_panel_builder *b, ll_builder_span *out); /* [n_entities] */
/* What came for entity e is now entity to[e]'s, [n_entities]. */
llap_status ll_panel_builder_join(ll_panel_builder *b, const uint32_t *to);

/* The columns of the panel: variable order[v] becomes column v. order [number of variables], each
 * once; copied. No variable may be added afterwards. Overrides sort_vars. */
llap_status ll_panel_builder_order(ll_panel_builder *b, const uint32_t *order);

/* Sets sort_vars, for readers that learn late how their variables come. */
void ll_panel_builder_sort_vars(ll_panel_builder *b);

/* What was counted so far; duplicates and merged rows are known after finish only, also when it
 * failed because of them. */
const ll_builder_counts *ll_panel_builder_counts(const ll_panel_builder *b);

/* Sorts, merges and hands over: caller owns *out. Borrows axis until return. The builder is then
 * used up and can only be destroyed. LLAP_ELIMIT: cells of so many variables at so many times that
 * hardly any cell of the panel would have a value. */
llap_status ll_panel_builder_finish(ll_panel_builder *b, const ll_axis *axis, llap_panel **out);

#endif
