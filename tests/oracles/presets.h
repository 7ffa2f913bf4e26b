/* What is known about each data set of the paper, and about the files that stand for them: how to
 * read it, which timeline, windows, split and scaling it gets, and the constants of its training.
 * A table and nothing else; no other code knows a data set by name.
 *
 *     const ll_preset *s = ll_preset_find("bms_air");
 *     st = ll_preset_panel(s, paths, n_paths, NULL, &panel);
 *     st = ll_preset_windows(s, panel, 3, &windows);             the fourth horizon: 168
 *     st = ll_split_create(windows, &s->split, &split);
 *
 * A name followed by "/reference" is the construction of the published results, to the letter; the
 * name alone is the one recommended. */
#ifndef LL_TESTS_ORACLES_PRESETS_H
#define LL_TESTS_ORACLES_PRESETS_H

#include "data/csv/csv.h"
#include "data/timeline.h"
#include "data/windows/examples.h"
#include "data/windows/scaling.h"
#include "oracles/derive.h"

enum { LL_PRESET_HORIZONS = 4, LL_PRESET_TARGETS = 8 };

typedef struct ll_preset {
    const char *name;
    const char *about;
    /* reading; as in csv.h, NULL: nothing said */
    const char        *time_unit;
    const char *const *columns, *const *circular;
    double            valid_min; /* used when it is not above valid_max */
    double            valid_max;
    const char       *day_zone; /* zone whose midnights are the calendar days; NULL: UTC */
    const ll_derived *derived; /* what is made of the columns, before the timeline; NULL: nothing */
    int64_t           n_derived;
    ll_timeline_opts  timeline;
    /* windows: rows on a grid, or durations */
    const char     *target[LL_PRESET_TARGETS]; /* up to the first NULL */
    int64_t         context_rows, horizon_rows[LL_PRESET_HORIZONS];
    int64_t         context_ns, horizon_ns[LL_PRESET_HORIZONS];
    bool            pad;
    int64_t         unit_ns;     /* of time offsets */
    int64_t         season_rows; /* of the seasonal naive forecast; 0: none */
    ll_example_view view;
    ll_split_opts   split;
    ll_scale_by     scale;
    bool            own_rows; /* as in scaling.h */
    /* training, as published */
    int64_t batch_groups; /* distinct context ends (joint) or windows (independent) of a batch */
    int     latent;       /* d_z */
    double  min_snr;      /* gamma */
    double  summarizer_lr;
    bool    irregular; /* the published preset "irregular", else "base" */
} ll_preset;

int64_t          ll_preset_count(void);
const ll_preset *ll_preset_at(int64_t i);          /* static */
const ll_preset *ll_preset_find(const char *name); /* NULL: no such name */

/* Reads the files, derives, and applies the timeline. Caller owns *out. log may be NULL. */
llap_status ll_preset_panel(const ll_preset *s, const char *const *paths, size_t n_paths,
                            const llap_log *log, llap_panel **out);

/* The windows for horizon number h, 0 .. 3. Caller owns *out; it borrows panel until destroyed.
 * LLAP_EINVAL: no such horizon, or a panel without the target. */
llap_status ll_preset_windows(const ll_preset *s, const llap_panel *panel, int h, ll_windows **out);

#endif
