/* How networks are trained: every number of it by its name, under "training" of a configuration,
 * and kept with the model.
 *
 *     ll_recipe r = what size and data suggest;
 *     st = ll_recipe_read(config, &r);       what the caller wants otherwise
 *     ll_recipe_write(w, &r);                for the model and for the state of a run */
#ifndef LL_TRAIN_RUN_RECIPE_H
#define LL_TRAIN_RUN_RECIPE_H

#include "base/json/json.h"
#include "model/network.h"
#include "networks/summarizer.h"
#include "networks/vae.h"
#include "nn/optim.h"
#include "residual/features.h"

/* The anchor of a target (anchor/fit.h). */
typedef struct ll_recipe_anchor {
    int64_t steps, rows; /* rows: windows a step */
    double  lr, lr_late; /* step size, and after `late` of the steps */
    double  late, clip;
    double  nu_floor, var_floor; /* least variances of readings and of answers */
    double  kappa;               /* of the window's level; 0: 4 or 200, by validation */
    int64_t cycles;              /* of any length, tried beside the clock's; 0: none are */
    int64_t valid_rows;          /* windows that choices are made on, at most */
    int64_t points; /* readings that contexts of more than twice as many are thinned to; 0: none */
    bool    one_climate; /* entities are a sample: they share a climate and tell nothing of each
                            other; not of a configuration */
} ll_recipe_anchor;

/* What all stages have. Checks are looks at validation. */
typedef struct ll_recipe_stage {
    int64_t       steps, check_every; /* check_every: steps between checks */
    int64_t       patience;           /* stop after so many checks without gain; 0: never */
    int64_t       patience_from;      /* check, from 1, that is the first to count against it */
    int64_t       max_skipped;        /* steps that may come out not finite */
    double        lr;
    ll_train_attr optim;
} ll_recipe_stage;

/* A member of the default profile. Rows are evenly spread over those there are. */
typedef struct ll_recipe_networks {
    ll_recipe_stage  stage;
    int64_t          warmup;   /* steps */
    double           lr_least; /* share of the rate that is left at the end */
    ll_feature_noise vary;     /* but noise and drop, which the networks' features.augment says */
    int64_t          rows;     /* of training, at most */
    int64_t          check_rows, check_samples, check_steps;
    int64_t          final_rows, final_samples; /* for spread and answer source */
    /* Validation of fewer days may be of another season: networks then answer alone only where they
     * are better than with the anchor by this share of CRPS. */
    double guard_days, guard_price;
    double fill_gain, fill_errors; /* share of CRPS, and standard errors, by which networks must be
                                    * better than the anchor to fill gaps */
} ll_recipe_networks;

#define LL_RECIPE_STACK \
    ((ll_recipe_stack){ \
        .rows = 40000, .seeds = 4, .steps = 1800, .batch = 512, .patience = 4, .shrink = 0.01 })

#define LL_RECIPE_MARGINS .guard_days = 60, .guard_price = 0.05, .fill_gain = 0.01, .fill_errors = 2

/* The reference's stages. */
typedef struct ll_recipe_stack {
    int64_t rows;         /* of training, drawn from all that there are */
    int64_t seeds;        /* networks of a fold */
    int64_t steps, batch; /* of a member, at most; rows of a step */
    int64_t patience;     /* stop after so many looks without gain */
    double  shrink;       /* of the pool's weights towards equal ones */
} ll_recipe_stack;

typedef struct ll_recipe_vae {
    ll_recipe_stage    stage;
    int64_t            epoch;       /* steps that its schedules count as one */
    int64_t            select_from; /* check, from 1, that is the first to be kept */
    double             relative;    /* better is by more than this share */
    ll_vae_loss_config loss;
} ll_recipe_vae;

typedef struct ll_recipe_summarizer {
    ll_recipe_stage           stage;
    double                    margin; /* better is by more than this */
    ll_summarizer_loss_config loss;
} ll_recipe_summarizer;

typedef struct ll_recipe_denoiser {
    ll_recipe_stage stage;
    double          warmup;   /* share of the steps */
    double          lr_first; /* least share of the rate while it warms up */
    int64_t         rows;     /* of training, at most */
} ll_recipe_denoiser;

/* A published model. Epochs are of its own batch size. */
typedef enum ll_rival_schedule {
    LL_RIVAL_CONSTANT, /* behind the warm-up, as the next ones */
    LL_RIVAL_COSINE,   /* down to a hundredth */
    LL_RIVAL_CYCLE,    /* up from a 25th, then down to a ten thousandth by a cosine */
    LL_RIVAL_TENTHS,   /* a tenth from 3/4 of the steps on, a hundredth from 9/10 */
} ll_rival_schedule;

typedef struct ll_recipe_rival {
    ll_recipe_stage   stage;
    ll_rival_schedule schedule;
    double            warmup;        /* share of the steps */
    int64_t           batch, rows;   /* of a step; windows of an epoch, at most */
    int64_t           check_rows;    /* of validation, evenly spread, at most */
    int64_t           check_samples; /* of those that draw */
} ll_recipe_rival;

typedef struct ll_recipe_data {
    bool    shuffle;     /* batches in a new order each epoch; else in order of time */
    int64_t val_batches; /* of validation, evenly spread, at most */
} ll_recipe_data;

enum { LL_MAX_SKIPPED = 8 };

typedef struct ll_recipe {
    ll_profile           profile; /* which of these it uses */
    bool                 alone;   /* size anchor or stack: no diffusion networks */
    bool                 stacked; /* size stack */
    bool                 rival;   /* a published model, by `published` alone */
    ll_recipe_anchor     anchor;
    ll_recipe_networks   networks;
    ll_recipe_stack      stack;
    ll_recipe_rival      published;
    ll_recipe_data       data;
    ll_recipe_vae        vae;
    ll_recipe_summarizer summarizer;
    ll_recipe_denoiser   denoiser;
} ll_recipe;

ll_recipe_anchor ll_recipe_anchor_usual(void);

/* Takes what is under "training"; config may be NULL. LLAP_EFORMAT names a key that is unknown, of
 * the other profile, of networks where there are none, misread or out of range; LLAP_EOPTION where
 * it was no file. */
llap_status ll_recipe_read(const ll_json *config, ll_recipe *r);

/* The caller's own steps and rate (0: none) are those of the recipe; of the reference, the steps of
 * its denoiser and the rate of each stage. LLAP_EOPTION: both were given and differ. */
llap_status ll_recipe_agrees(const ll_recipe *r, int64_t steps, double lr);

/* "training": {...}, all that the profile uses. */
void ll_recipe_write(ll_json_writer *w, const ll_recipe *r);

#endif
