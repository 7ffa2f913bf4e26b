/* What a model is as numbers: what llap_model_describe writes as text.
 *
 *     llap_description *d = NULL;
 *     llap_status       st = llap_description_create(model, &d);
 *     printf("%s answer\n", llap_description_about(d)->answers);
 *     llap_description_destroy(d);
 *
 * Spans are ticks of the data. Immutable; all pointers are borrowed until it is destroyed. The
 * structs may grow at their ends, so programs use the pointers and make no copies by size. */
#ifndef LLAPDIFF_DESCRIPTION_H
#define LLAPDIFF_DESCRIPTION_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_description llap_description;

/* Borrows m until destroyed. Caller owns *out. */
LLAP_API llap_status llap_description_create(const llap_model *m, llap_description **out);
LLAP_API void        llap_description_destroy(llap_description *d); /* NULL is fine */

typedef struct llap_description_info {
    const char        *size;    /* "anchor", "tiny", "small", ... */
    const char        *profile; /* "default", "reference"; NULL: it has no networks */
    const char        *answers; /* "networks", "anchor", "both", "stack": as validation decided */
    int64_t            n_targets, n_entities;
    const char *const *targets;  /* [n_targets] names */
    const char *const *entities; /* [n_entities] names, those of training */
    int64_t            context, horizon, step;
    llap_time_kind     time_kind;    /* of the data */
    int64_t            time_unit_ns; /* number axes: ticks of 1; 1 of calendars */
    int64_t            gap;          /* usual one between rows of training */
    double             observed;     /* share of the target cells of training */
    /* what training has seen: by time, or by entity */
    int     by_entity;
    int64_t val_start, test_start;              /* by time: where the two later parts begin */
    int64_t n_train, n_val, n_test, n_left_out; /* by entity: how many are in each */
    /* networks; all 0 without */
    int64_t     n_members, n_parameters; /* parameters of all members together */
    int64_t     n_poles, width, n_blocks, n_channels;
    const char *prediction, *solver;  /* "v", "x0", "eps"; NULL without networks */
    int64_t     n_steps, steps_asked; /* of sampling: made, and asked for */
    int         steps_gathered;
    /* JSON texts, or NULL: what training was told and chose; how it went, of one just made */
    const char        *run, *report;
    int64_t            n_known;
    const char *const *known; /* [n_known] columns that are given for the future too */
    int64_t            n_statics;
    const char *const *statics; /* [n_statics] numbers and categories that never change */
} llap_description_info;

LLAP_API const llap_description_info *llap_description_about(const llap_description *d);

typedef struct llap_description_target {
    const char   *name;
    int           has_anchor; /* 0: all below is 0 */
    double        validation_crps;
    const char   *transform;     /* "none" (lambda 1), "log", "log1p", "asinh", "yeo-johnson" */
    double        lambda;        /* power of yeo-johnson */
    int64_t       climate_terms; /* 0: no climate */
    double        noise_variance;
    int64_t       joint_rank;      /* factors that link entities; 0: none */
    int           fills_by_others; /* gaps are filled with the help of other entities */
    int64_t       n_terms;         /* of the kernel; columns [n_terms], in the model's unit */
    const double *variance, *rho, *omega;
    const double *half_life, *period; /* infinite: none */
    const char   *curve;   /* of the chain: "tails", "log", "logit", "counts"; "clipped": of 0.1 */
    int           clipped; /* no answer lies outside the range of training: train again */
    const char   *drift;   /* beside the poles: "none", "level", "slope" */
    const char   *scale;   /* of the answers' spread: "window", "innovation" */
    const char   *climate; /* "weekly profile", "calendar climate", "climate of periods", "no
                            * climate" */
    int64_t       n_periods;
    const double *periods;  /* [n_periods] cycles that no calendar names, in the model's unit */
    const char   *kind;     /* of values: "any", "count", "whole", "share", "positive" */
    int           whole;    /* answers are whole numbers */
    double        min, max; /* answers are held within; infinite: no bound */
    const char   *known;    /* known inputs that it uses, "a, b"; "": none */
    const char   *known_weighting; /* "plain", "whitened"; NULL: it uses none */
    const char   *statics; /* static inputs tell the level "of every entity", or "of new entities";
                            * NULL: of none */
    double static_error,
        static_apart; /* variance of the level of an entity left out: with them, and
                       * by the mean alone; of its logarithm where static_log */
    int static_log;
} llap_description_target;

/* NULL: there is no such target. */
LLAP_API const llap_description_target *llap_description_at(const llap_description *d,
                                                            int64_t                 target);

/* For people, and JSON. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_description_text(const llap_description *d, char **text);
LLAP_API llap_status llap_description_json(const llap_description *d, char **text);

#ifdef __cplusplus
}
#endif

#endif
