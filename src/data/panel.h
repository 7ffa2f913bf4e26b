/* The panel: what every reader makes and every window looks at. Ragged: each entity has its own
 * rows, at its own times.
 *
 *     for (int64_t e = 0; e < p->n_entities; e++)
 *         for (int64_t r = p->start[e]; r < p->start[e + 1]; r++)
 *             if (ll_panel_observed(p, r, v))
 *                 use(p->entity[e], p->time[r], p->value[r * p->n_vars + v]);
 *
 * The rows of all entities lie behind one another, so a window is a slice: rows r .. r+K-1 of one
 * entity are value + r * n_vars, [K,n_vars] row-major, with no copy.
 *
 * A cell is one of three things:
 *     observed   the bit is set, the value finite;
 *     filled     the bit is not set, the value finite (carried forward by the timeline);
 *     missing    the bit is not set, the value NaN.
 * So the two masks are kept apart and nothing stored is ever infinite.
 *
 * Memory: 4 bytes and 1 bit per cell, 8 bytes per row, the names. A panel is immutable once made
 * (panel_builder.h, timeline.h, or ll_panel_create), but for panel_append.h, and may be read by any
 * number of threads. */
#ifndef LL_DATA_PANEL_H
#define LL_DATA_PANEL_H

#include <llapdiff/panel.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ll_axis_kind {
    LL_AXIS_CALENDAR, /* time is nanoseconds since 1970-01-01T00:00:00Z */
    LL_AXIS_NUMBER,   /* time is a number of the file, times unit_ns, rounded */
} ll_axis_kind;

/* How times are to be read and written. The strings are never NULL. */
typedef struct ll_axis {
    ll_axis_kind kind;
    const char  *zone;   /* calendar: zone of the file, "UTC", "+08:00", "Asia/Shanghai";
                            "" when it gave none and was taken as UTC */
    const char *format;  /* calendar: strptime format of the file; "" is RFC 3339 */
    const char *unit;    /* number: "s", "min", "h", "d", ...; "" when unknown */
    int64_t     unit_ns; /* number: ticks of time per 1; 1e9 when the unit is unknown */
} ll_axis;

#define LL_AXIS_UTC \
    ((ll_axis){ .kind = LL_AXIS_CALENDAR, .zone = "UTC", .format = "", .unit = "", .unit_ns = 1 })

/* The same for callers outside; the strings are borrowed. */
llap_time_axis ll_axis_show(const ll_axis *a);

struct llap_panel {
    ll_axis            axis;
    int64_t            n_entities, n_vars, n_rows;
    const char *const *entity; /* [n_entities], strictly increasing in byte order */
    const char *const *var;    /* [n_vars], all different */
    const char *const *unit;   /* [n_vars], "" where unknown; NULL: of none is known */
    const int64_t     *start;  /* [n_entities + 1], first row of each entity; the last is n_rows */
    const int64_t     *time;   /* [n_rows], strictly increasing within an entity */
    const float       *value;  /* [n_rows,n_vars] */
    const uint64_t    *observed;  /* cell c = row * n_vars + var is bit c % 64 of word c / 64 */
    void              *owned;     /* the blocks behind the pointers above */
    void              *reading;   /* ll_csv_report of the files it came from, for inspection; owned,
                                     NULL: none */
    struct ll_panel_words *words; /* columns of words (panel_words.h); owned, NULL: none */
    const llap_panel      *whole; /* that this one has some entities of; borrowed, NULL: none */
    llap_panel_columns     view;  /* the same pointers for callers outside, set when it is made */
};

static inline bool ll_bit(const uint64_t *bits, int64_t i)
{
    return (bits[i >> 6] >> (i & 63)) & 1;
}

static inline bool ll_panel_observed(const llap_panel *p, int64_t row, int64_t var)
{
    return ll_bit(p->observed, row * p->n_vars + var);
}

/* Carried forward: has a value, but it was not measured at this time. */
static inline bool ll_panel_filled(const llap_panel *p, int64_t row, int64_t var)
{
    return !ll_panel_observed(p, row, var) && !isnan(p->value[row * p->n_vars + var]);
}

/* From one time to a later one: two may lie further apart than an int64 holds. */
static inline uint64_t ll_elapsed(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

/* Position of a name, -1 when there is none. Entities by bisection, variables one by one. */
int64_t ll_panel_find_entity(const llap_panel *p, const char *name);
int64_t ll_panel_find_entity_n(const llap_panel *p, const char *name, size_t n); /* its bytes */
int64_t ll_panel_find_var(const llap_panel *p, const char *name);

/* The row of an entity at that time, -1 when there is none; by bisection. */
int64_t ll_panel_find_row(const llap_panel *p, int64_t entity, int64_t time);
/* The first row of an entity after that time; behind its last row when there is none. */
int64_t ll_panel_row_after(const llap_panel *p, int64_t entity, int64_t time);

/* Gives the variables units, [n_vars], copied; before others see the panel. */
llap_status ll_panel_set_units(llap_panel *p, const char *const *unit);

/* Those of the same names in p. */
llap_status ll_panel_units_carry(const llap_panel *p, llap_panel *to);

int64_t ll_panel_count_observed(const llap_panel *p);

/* Is the variable the same in all rows of each entity, and different between them: age, size? */
bool ll_panel_is_static(const llap_panel *p, int64_t v);

/* Bytes that the panel holds on the heap, names included. */
size_t ll_panel_bytes(const llap_panel *p);

/* ---- making one directly, for code that knows the final shape --------------------------------
 *
 *     ll_panel_draft d = { .axis = axis, .n_entities = 2, .n_vars = 3, .entity = names,
 *                            .var = vars, .start = start };
 *     st = ll_panel_create(&d, &p);             fill d.time, d.value, d.observed, then
 *     st = ll_panel_check(p);                   if the source is not our own code
 *
 * Times start at 0, values at NaN, bits at 0. The caller keeps entities sorted, times increasing
 * and observed values finite, and writes nothing once others see the panel. */
typedef struct ll_panel_draft {
    ll_axis            axis; /* borrowed until ll_panel_create returns, as are the next five */
    int64_t            n_entities, n_vars;
    const char *const *entity;
    const char *const *var;
    const char *const *unit;     /* or NULL */
    const int64_t     *start;    /* [n_entities + 1], from 0 */
    int64_t           *time;     /* set by ll_panel_create: borrowed from the panel */
    float             *value;    /* likewise */
    uint64_t          *observed; /* likewise */
} ll_panel_draft;

/* A draft with the axis, the names and the rows of p, whose times and values are still to be set.
 */
ll_panel_draft ll_panel_draft_of(const llap_panel *p);

/* Copies names, axis and start. Caller owns *out. LLAP_EINVAL: sizes that cannot be. */
llap_status ll_panel_create(ll_panel_draft *d, llap_panel **out);

/* LLAP_EINVAL naming entity and variable when a promise of the struct above is broken. */
llap_status ll_panel_check(const llap_panel *p);

static inline void ll_bit_set(uint64_t *bits, int64_t i)
{
    bits[i >> 6] |= UINT64_C(1) << (i & 63);
}

/* Takes blocks made by ll_new or ll_grow (also when it fails): for the builder, which has
 * them already. observed is computed: every finite value is observed. */
llap_status ll_panel_adopt(ll_panel_draft *d, int64_t *time, float *value, llap_panel **out);

#endif
