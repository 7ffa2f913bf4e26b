/* A batch: the tensors that the networks see, for a number of examples (examples.h): B of N
 * slots each.
 *
 *     ll_batch b = { 0 };
 *     st = ll_batch_fill(&b, examples, scaled, &opts, list, n);   also again, with others
 *     ll_batch_deinit(&b);
 *
 * loader.h goes through a whole part of the data, ahead in the background. All tensors are
 * row-major and lie in one block that the batch owns and reuses. Slots of absent entities are 0
 * everywhere. Contexts shorter than L stand at the end of the context axis: before them value, mask
 * and offset are 0. Query lists shorter than H stand at the beginning: after them value and mask
 * are 0 and the last offset is repeated.
 *
 * ll_batch_ask makes the same tensors for forecasts, whose windows are cut at an origin of the
 * caller's choice and whose queries are times, not rows. Both put a context into its slot by the
 * same code: what a network was trained on is what it is asked about. */
#ifndef LL_DATA_WINDOWS_BATCH_H
#define LL_DATA_WINDOWS_BATCH_H

#include "base/time/civil.h"
#include "data/windows/examples.h"
#include "data/windows/scaling.h"

typedef enum ll_diff {
    LL_DIFF_NONE,
    LL_DIFF_PLAIN,  /* V[k] - V[k-1], missing as 0 */
    LL_DIFF_MASKED, /* only where both are observed, else 0 */
} ll_diff;

typedef struct ll_batch_opts {
    int64_t  unit_ns;    /* time unit of all offsets */
    ll_diff  diff;       /* whether dV is wanted, and how */
    bool     from_first; /* query offsets from the first query instead of the context end */
    double   hide_rate;  /* share of observed context cells to hide, missing.h */
    uint64_t hide_seed;
} ll_batch_opts;

#define LL_BATCH_DEFAULT ((ll_batch_opts){ .unit_ns = LL_NS_PER_HOUR, .hide_seed = 1337 })

#define LL_NO_WINDOW UINT32_MAX

typedef struct ll_batch {
    int64_t   n_examples, n_slots;   /* B, N */
    int64_t   n_context, n_query;    /* L, H: of the windows by rows, else the most of this batch */
    int64_t   n_features, n_targets; /* D, C */
    float    *v;                     /* [B,N,L,D] scaled context, missing 0 */
    float    *dv;          /* [B,N,L,D] first difference along L, first 0; NULL unless asked for */
    float    *y;           /* [B,N,H,C] scaled targets, missing 0 */
    uint8_t  *x_obs;       /* [B,N,L,D] observed and not hidden */
    uint8_t  *y_obs;       /* [B,N,H,C] observed */
    uint8_t  *entity_mask; /* [B,N] the slot holds a window */
    uint8_t  *valid;       /* [B,N] and has at least one observed context cell */
    float    *delta_t;     /* [B,N,L] from the first context row */
    float    *delta_t_y;   /* [B,N,H] from the last context row */
    float    *tau;     /* [B,H] query offsets of the example: those of its valid slots; else 0 */
    uint8_t  *any_obs; /* [B,H] a valid slot has an observed target there */
    uint32_t *window;  /* [B,N] number of the window, LL_NO_WINDOW */
    uint64_t *id;      /* [B] ll_example_list_id */
    int64_t  *end;     /* [B] time of the context end */
    void     *block;
    size_t    n_bytes; /* of the tensors above */
    size_t    capacity;
} ll_batch;

/* Fills b with n examples of r. x is the scaled panel that r's windows look at. LLAP_ELIMIT:
 * tensors of more than 2^62 bytes. LLAP_ENOMEM; b then stays valid. */
llap_status ll_batch_fill(ll_batch *b, const ll_example_list *r, const ll_scaled *x,
                          const ll_batch_opts *o, const int64_t *example, int64_t n);

/* An example that is asked about. Nothing after origin is looked at, except where `observed`. */
typedef struct ll_batch_query {
    const ll_window *slot; /* [n_slots] ll_window_before(.., origin, ..); entity -1: absent */
    int64_t          origin;
    const int64_t   *time; /* [n_query] not before origin, increasing */
    int64_t          n_query;
    uint64_t         id;
    bool             observed; /* y and y_obs have what the panel holds at these times; else 0 */
} ll_batch_query;

/* Fills b with n examples of that many slots, cut from p and scaled by s, whose statistics are
 * those of p's entities. tau has the offsets of an example even where no slot is valid, any_obs
 * counts slots that are not, window is LL_NO_WINDOW. Otherwise as ll_batch_fill. */
llap_status ll_batch_ask(ll_batch *b, const llap_panel *p, const ll_scaling *s,
                         const ll_batch_opts *o, int64_t n_slots, const ll_batch_query *query,
                         int64_t n);

/* Makes an empty batch of the shape set in b (B .. C, dv if with_diff), all 0, no windows, for
 * tensors that come from elsewhere; then ll_batch_check. */
llap_status ll_batch_shape(ll_batch *b, bool with_diff);

/* Makes tensors from elsewhere usable: values that are not finite or not observed become 0, their
 * masks too; valid, tau and any_obs are computed. LLAP_EINVAL naming example and slot: query
 * offsets that are not finite, decrease by more than 1e-6, or differ among the valid slots of one
 * (by more than 1e-5 of the value + 1e-6). */
llap_status ll_batch_check(ll_batch *b);

/* Examples first .. first + n - 1 of it, borrowed until b changes; not to be filled or deinit. */
ll_batch ll_batch_view(const ll_batch *b, int64_t first, int64_t n);

void ll_batch_deinit(ll_batch *b); /* then empty and usable again */

#endif
