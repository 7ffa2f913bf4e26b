/* src/stream: readings that arrive one by one (<llapdiff/stream.h>), what is unusual about them
 * (<llapdiff/detect.h>).
 *
 *   past.h               the rows that are kept of one entity
 *   stream.c             entities by name, taking rows, answering from what is kept
 *   stream_file.c        the file: format, saving; stream_restore.c: reading it
 *   usual.h, learn.h     what is usual, and tests of what is not
 *   score.h, watch.h     the law of a reading, a series that is watched, alarms as events
 *   watching.h           a stream that judges; its file: watching_file.c
 *   detection.h          detect.c, detection_show.c: the rows of a panel
 *   lines.c              rows as lines of CSV
 *
 * docs/spec/stream.md has the rules.
 *
 * May touch: base, base/json, base/time, base/rng, backend, data, data/windows, anchor,
 * anchor/chain, stack, fill, rivals, rivals/feed, model, predict, predict/tables, predict/view. */
#ifndef LL_STREAM_STREAM_H
#define LL_STREAM_STREAM_H

#include "base/arena.h"
#include "model/model.h"
#include "stream/past.h"

#include <llapdiff/sampler.h>
#include <llapdiff/stream.h>

struct llap_stream {
    const llap_model *m;
    ll_axis           axis;         /* its strings, and the names of variables, are in the arena */
    ll_past_shape     shape;        /* of every entity */
    const char      **var;          /* [n_vars + 1], closed by NULL */
    int64_t          *target;       /* [n_targets] which variable it is */
    int64_t           most;         /* entities */
    bool              first_counts; /* answers depend on the time of an entity's first row */
    llap_log          log;
    llap_sampler     *sampler; /* NULL: nothing was asked yet */

    int64_t                 n, room;
    ll_past                *past;   /* [n] in order of arrival */
    char                  **name;   /* [n] */
    int64_t                *sorted; /* [n] by name */
    llap_stream_counts      counts; /* but entities, rows and bytes */
    int64_t                 latest; /* time of the newest row of all */
    struct ll_stream_watch *watch;  /* NULL: rows are not judged */
    ll_arena                arena;
};

/* The file; its format is in stream_file.c. */
#define LL_STREAM_FORMAT "1"
enum { LL_STREAM_HASH = 16 };
struct ll_tensors;
llap_status ll_stream_read(const llap_model *m, const struct ll_tensors *t,
                           const llap_stream_opts *o, llap_stream **out);
llap_status ll_stream_model_hash(const llap_model *m, char out[LL_STREAM_HASH + 1]);

/* An empty stream of these variables [n_vars]. Caller owns *out. */
llap_status ll_stream_make(const llap_model *m, const ll_axis *axis, const char *const *var,
                           int64_t n_vars, const llap_stream_opts *o, llap_stream **out);

/* What is kept of entity i, as a panel of its own; *before: rows of it in front of those. */
llap_status ll_stream_panel_of(const llap_stream *s, int64_t i, llap_panel **out, int64_t *before);

/* The entity of that name, a new one where there is none. */
llap_status ll_stream_entity_of(llap_stream *s, const char *name, size_t len, int64_t *out);
int64_t     ll_stream_find(const llap_stream *s, const char *name, size_t len); /* -1: none */

#endif
