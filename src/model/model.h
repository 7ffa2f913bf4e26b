/* src/model: a trained model and its file.
 *
 *   model.h      this file: frame, anchors, networks; the file format
 *   model_save.c, model_file.c, anchor_file.c:
 *                saving and loading
 *   joint_file.c joint laws in it
 *   stack_file.h the stack (src/stack) in the file
 *   fill_file.h  the filling (src/fill) in the file
 *   rival.h      a published model in the file
 *   network.h    the container of the networks: configuration, sizes, tensors
 *   artefacts.h  the reference implementation's files
 *
 * May touch: base, base/json, base/time, base/rng, backend, graph, nn, data, data/windows,
 * anchor, anchor/chain, joint, networks, diffusion, residual, stack, fill, rivals, rivals/feed. */

/* A trained model: what it answers about, how it saw the data, and the fitted parts. Immutable and
 * shared by threads. It holds one anchor per target variable and, unless its size is `anchor`, the
 * networks (model/network.h). The `reference` profile has no anchors. A published model (rival.h)
 * has neither anchors nor networks.
 *
 * The file is one safetensors file (base/safetensors.h). Metadata:
 *     llapdiff.format      "1"; a newer one is refused
 *     llapdiff.config      JSON: size, time axis and its unit, context, horizon, step, what
 *                          training has seen, per target the numbers of its anchor, "network" or
 *                          "stack" (stack_file.h), "rival" (rival.h, which is then the model
 *                          alone), "filling" (fill_file.h); the names of columns: "known", "static"
 *     llapdiff.variables   JSON array of the target names
 *     llapdiff.entities    JSON array of the entity names seen in training
 *     llapdiff.training    JSON: a configuration for another training like it; may be absent
 *     llapdiff.run         16 hexadecimal digits: which training it is of, data and options; may be
 *                          absent
 *
 * Tensors for target number i, all F64, [entities + 1] with everything pooled in the last row:
 *     scale.i.mean, scale.i.std        of the first link of the chain
 *     scale.i.low, high, glitch        range of training and limits of glitches; absent where
 *                                      values are clipped, as in files of before
 *     scale.i.y_mean, y_std            of the values, where mean and std are of their logarithms
 *     scale.i.climate                  [entities + 1,terms], or [1,terms] where all have one;
 *                                      absent without a climate
 *     scale.i.loose                    variances of levels that static inputs told
 *     anchor.i.loadings                [entities,rank], absent where entities are not linked
 *     anchor.i.known                   [terms], effects of known inputs, absent without
 *     anchor.i.static_level, static_spread
 *                                      [1 + terms], ridges of static inputs, absent without
 *     anchor.i.near_past, near_both    [entities,entities], absent where gaps are filled by each
 *                                      alone
 *
 * and those of the networks, which network.h lists. Of all targets together, series number e C + c
 * for entity e and target c, or c alone where entities are independent; both absent where no series
 * moves with another:
 *     joint.correlation    F64 [series,series], up to LL_JOINT_DENSE series
 *     joint.loading        F64 [series,factors], for more
 *
 * There is no clock time in it: equal training gives equal bytes. Loading treats the file as
 * hostile: whatever is missing, unknown, wrong-shaped, contradictory or not finite is refused by
 * name. */
#ifndef LL_MODEL_MODEL_H
#define LL_MODEL_MODEL_H

#include "anchor/model.h"
#include "base/arena.h"
#include "data/windows/split.h"
#include "fill/fill.h"
#include "joint/joint.h"
#include "model/network.h"
#include "model/rival.h"
#include "stack/stack.h"

#include <llapdiff/model.h>

/* Everything but the fitted numbers. Times and spans are ticks of the panel (nanoseconds). */
typedef struct ll_model_frame {
    int64_t            n_targets, n_entities;
    const char *const *target; /* names */
    const char *const *entity;
    ll_axis_kind       axis;
    int64_t            axis_unit; /* ticks per 1 of a number axis; 1 for calendars */
    int64_t            unit;      /* ticks per unit of the anchor's time */
    int64_t            context;   /* ticks looked back */
    int64_t            horizon;   /* ticks looked ahead in training */
    int64_t            step;      /* ticks from one default query to the next */
    int64_t            gap;       /* usual ticks between rows of training */
    double             observed;  /* share of the target cells of training that were observed */
    /* What training has seen: windows are parted by the time of their targets, or by entity. */
    bool               by_entity;
    int64_t            val_start, test_start; /* by time */
    bool               has_times;             /* by time: are the next ones known? */
    int64_t            part_times[3][2];      /* first and last row of training, validation, test */
    const uint8_t     *part;                  /* by entity: [n_entities] an ll_part */
    int64_t            n_known;
    const char *const *known; /* [n_known] columns that are given for the future too */
    int64_t            n_statics;
    const char *const *statics; /* [n_statics] what never changes of an entity */
    int64_t            n_levels;
    const char *const *levels; /* [n_levels] codes of words of the data, "variable=word" in order */
} ll_model_frame;

enum { LL_MODEL_RUN = 16, LL_MODEL_LEVELS = 4096 /* at most */ };

struct llap_model {
    const char *const *levels;   /* those of the frame, closed by NULL */
    ll_model_frame     frame;    /* names in the arena */
    ll_anchor_model  **anchor;   /* [n_targets], owned; NULL in the `reference` profile */
    ll_joint          *joint;    /* owned; NULL: no series moves with another */
    ll_network        *network;  /* owned; NULL: size `anchor` */
    ll_stack          *stack;    /* owned; NULL: none. Beside anchors, without networks */
    ll_rival_model    *rival;    /* owned; NULL: none. Then there is nothing else */
    ll_filling        *filling;  /* owned; NULL: the anchors fill gaps, or networks */
    char              *training; /* JSON text, see above; owned (ll_free), NULL: not known */
    char              *report;   /* JSON text, of the training just made: stages, seconds, memory;
                                    owned (ll_free), not in the file */
    char run[LL_MODEL_RUN + 1];  /* see above; "": not known */
    /* Entities of one panel that training has not seen (predict/view/static_view.h), in byte order;
     * borrowed, not in the file: */
    int64_t            n_more;
    const char *const *more;
    const float       *more_statics; /* [n_more,stack->layout.statics]; NULL: none */
    ll_arena           arena;
};

/* Copies frame; takes the anchors [n_targets] (also on failure: they are then destroyed), or NULL.
 * Caller owns *out (llap_model_destroy) and may give it a network: m->network = net. */
llap_status ll_model_create(const ll_model_frame *frame, ll_anchor_model **anchor,
                            llap_model **out);

/* Index of an entity or target by name; -1: unknown. */
int64_t ll_model_entity(const llap_model *m, const char *name);
int64_t ll_model_target(const llap_model *m, const char *name);

/* The same of an entity of a panel. A model of one series does not ask what the only series of a
 * panel is called. */
int64_t ll_model_entity_of(const llap_model *m, const llap_panel *p, int64_t entity);

/* The series of an entity in the chains of the anchors; of an unknown one that which its static
 * inputs tell (n_entities or more), or SIZE_MAX, that of all together. */
size_t ll_model_series(const llap_model *m, const char *name);
size_t ll_model_series_of(const llap_model *m, const llap_panel *p, int64_t entity);

/* The static inputs of the first anchor that uses them; NULL: none does. */
const ll_statics *ll_model_statics(const llap_model *m);

/* Series of the joint law: of every entity and target, or of every target where entities are
 * independent, which then share one law. */
static inline size_t ll_model_joint_series(const ll_model_frame *f)
{
    return (size_t)(f->by_entity ? f->n_targets : f->n_targets * f->n_entities);
}

/* Time of a panel in the anchor's unit. */
static inline double ll_model_time(const llap_model *m, int64_t tick)
{
    return (double)tick / (double)m->frame.unit;
}

#endif
