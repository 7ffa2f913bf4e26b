/* A trained model and what it answers.
 *
 *     llap_train_opts how = { .target = "PM2.5", .context = "14d", .horizon = "48h" };
 *     llap_model *m = NULL;
 *     llap_status st = llap_train(panel, &how, &m);
 *     if (st == LLAP_OK) st = llap_model_save(m, "air.safetensors");
 *     llap_answer *a = NULL;
 *     llap_forecast_opts ask = { 0 };
 *     if (st == LLAP_OK) st = llap_forecast(m, panel, &ask, &a);
 *     if (st == LLAP_OK) st = llap_answer_write(a, "forecast.csv");
 *     llap_answer_destroy(a);
 *     llap_model_destroy(m);
 *
 * { 0 } is the default of every options struct; <llapdiff/options.h> has names, ranges and defaults
 * as tables. Strings in options are borrowed until the call returns. A model is immutable: any
 * number of threads may ask it. */
#ifndef LLAPDIFF_MODEL_H
#define LLAPDIFF_MODEL_H

#include <llapdiff/answer.h>
#include <llapdiff/log.h>
#include <llapdiff/options.h>
#include <llapdiff/panel.h>
#include <llapdiff/progress.h>
#include <llapdiff/status.h>
#include <llapdiff/text.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_model llap_model;

/* ---- training ---- */

typedef enum llap_train_split {
    LLAP_TRAIN_SPLIT_DEFAULT, /* entity where parts are given, else time */
    LLAP_TRAIN_SPLIT_TIME,    /* "time": later times are left for testing (purged) */
    LLAP_TRAIN_SPLIT_ENTITY,  /* "entity": entities never seen are */
} llap_train_split;

typedef enum llap_train_profile {
    LLAP_TRAIN_PROFILE_DEFAULT,
    LLAP_TRAIN_PROFILE_ANCHORED,  /* "default": networks on top of the anchors */
    LLAP_TRAIN_PROFILE_REFERENCE, /* "reference": the paper's three stages */
} llap_train_profile;

typedef enum llap_train_size {
    LLAP_TRAIN_SIZE_DEFAULT, /* stack; small where an option that only networks have is given; of
                              * the reference profile tiny */
    LLAP_TRAIN_SIZE_SMALL,   /* "small" */
    LLAP_TRAIN_SIZE_TINY,    /* "tiny" */
    LLAP_TRAIN_SIZE_ANCHOR,  /* "anchor": no networks */
    LLAP_TRAIN_SIZE_PAPER,   /* "paper", of the reference profile */
    LLAP_TRAIN_SIZE_STACK,   /* "stack": a pool of quantile networks around the anchor */
} llap_train_size;

typedef enum llap_train_view {
    LLAP_TRAIN_VIEW_DEFAULT,
    LLAP_TRAIN_VIEW_AUTO,   /* "auto" */
    LLAP_TRAIN_VIEW_JOINT,  /* "joint": a trajectory is all entities, */
    LLAP_TRAIN_VIEW_ENTITY, /* "entity": all targets of one, */
    LLAP_TRAIN_VIEW_ROWS,   /* "rows": each target by itself */
} llap_train_view;

typedef enum llap_train_glitches {
    LLAP_TRAIN_GLITCHES_DEFAULT,
    LLAP_TRAIN_GLITCHES_DROP, /* "drop", the default: readings far from all around them are missing
                               */
    LLAP_TRAIN_GLITCHES_KEEP, /* "keep": they are readings */
} llap_train_glitches;

typedef enum llap_train_rival_config {
    LLAP_TRAIN_RIVAL_CONFIG_DEFAULT, /* native */
    LLAP_TRAIN_RIVAL_CONFIG_NATIVE,  /* at its own strength */
    LLAP_TRAIN_RIVAL_CONFIG_ADAPTER, /* the small form that the paper compared itself with */
} llap_train_rival_config;

typedef enum llap_train_diffusion {
    LLAP_TRAIN_DIFFUSION_DEFAULT,
    LLAP_TRAIN_DIFFUSION_NO,    /* "no", the default: quantile networks alone */
    LLAP_TRAIN_DIFFUSION_TINY,  /* "tiny", "small": diffusion networks of that size beside them */
    LLAP_TRAIN_DIFFUSION_SMALL, /* small: a quarter of an hour on two cores */
} llap_train_diffusion;

typedef struct llap_train_opts {
    const char *target;  /* variables, separated by commas; NULL: all */
    const char *context; /* duration looked back, "14d", or steps, "336" */
    const char *horizon; /* duration looked ahead, or steps */
    const char *step;    /* between default queries: duration, or usual gaps of the data, the
                            default being one */
    llap_train_split split;
    int64_t          seed;       /* 0: 1; LLAP_ZERO: 0 */
    int              no_climate; /* never fit calendar terms */

    llap_train_glitches glitches;
    /* cycles that no calendar names: "auto" looks for them, "none"; or spans, "7d,24h", and where
     * times are numbers such numbers, "11.3". NULL: auto where times are numbers or
     * readings come every 6 to 24 hours, which may go by the week; else none */
    const char *periods;
    int         link; /* let entities learn of each other where validation prefers it: forecasts
                       * of one then look at all, which costs time; up to 32 entities */
    const llap_log *log;
    llap_progress   progress;
    /* networks on top of the anchors */
    llap_train_size size;
    llap_train_view view;
    int64_t         members; /* networks that share the samples; 0: as the size says, as are */
    int64_t         steps;   /* of training a member */
    int64_t         batch;   /* rows of a step */
    double          lr;      /* learning rate */
    /* training that is never lost: an interrupted one (progress answers non-zero, or the process is
     * killed) goes on from its state to the same model */
    const char *state; /* file of the state; NULL: none. It stays when training is done: remove
                          it once the model is saved */
    int                resume; /* go on with that state; without, one that is there is refused */
    double             save_every; /* seconds between states; 0: 60 */
    const char        *history;    /* file of JSON lines, as the user guide says; NULL: none */
    llap_train_profile profile;
    int64_t            prefetch; /* threads that make batches ready; 0: one, LLAP_ZERO: none. Those
                                    of the default profile are made within a step, in less than 1 %
                                    of it */
    /* of targets: one for all, "log1p", or for each, "PM2.5=log1p,TEMP=none" */
    const char *transform; /* "none"; "log1p", "asinh" of values in their own unit; "yeo-johnson" of
                              standardised ones (the power is chosen); NULL: yeo-johnson */
    const char *min, *max; /* answers are held within: "PM2.5=0"; NULL: not */
    const char *from;      /* model file whose networks training starts from; NULL: fresh ones */
    const char *device;    /* where networks compute: "cpu", "cuda", "cuda:1", "auto"; NULL: cpu */
    llap_gpu_precision precision; /* of their products on a GPU */
    const char *config; /* JSON file (or the text itself, from its '{' on) with any option that the
                           result depends on by its name (in_run in llap_train_options()), used
                           where none is given here, under "network" any option of the networks,
                           under "training" any of how they are trained (what a model has of them:
                           llap_model_describe); NULL: none */
    const char *parts;  /* CSV file with the columns entity and part (train, validation, test):
                           who fits, who chooses, who is left for llap_evaluate; entities that it
                           does not name are left out. Means split by entity. NULL: they are
                           drawn by seed, as many as shares says */
    /* JSON objects, what a config has under these names, or the file of such a config; where there
     * is no config. NULL: none */
    const char *network, *training;
    const char *shares; /* of training, validation and test, by time or of the entities, in any
                           unit: "70,10,20"; NULL: these */
    const char *output; /* file that the model will be saved to, which is the caller's to do. With
                           resume, a model of this very training that is there already is the
                           answer, and nothing is trained. NULL: not known */
    const char *inputs; /* of size stack: variables that are looked at beside the targets, separated
                           by commas; NULL: all */
    /* of targets, as transform is: what kind of values they have. "count" (whole, not negative),
     * "whole", "share" (within [0, 1], or min and max), "positive" (not negative), "any" (none of
     * these), "auto": found by looking at the training part. NULL: auto */
    const char *kind;
    const char *known; /* columns that are given for the future too, separated by commas: rows later
                          than the last target may hold them alone. They are used where they gain
                          1 % on validation; NULL: none */
    const char *holidays; /* code of a country ("DE"), or CSV file of dates: days on which the
                             calendar's week does not hold; NULL: none */
    const char *statics;  /* option `static`: numbers and categories of an entity that never change.
                             A CSV file with one row an entity (text with a '/', or that ends in
                             .csv, .tsv or .gz), or columns of the data, separated by commas.
                             Words are categories, also of columns that a panel read from CSV left
                             out; numbers are numbers. NULL: none */
    /* of size stack: are diffusion networks trained too? Validation says which weight they get
     * beside the quantile networks, if any */
    llap_train_diffusion diffusion;
    /* how long training may take here, "10m": before networks train a few steps of them are timed,
     * and where all would take longer fewer are trained, or shorter, or none, in this order. The
     * log and the model name the options that train the same; a state keeps what was chosen. NULL:
     * all are trained, and more than ten minutes are a warning */
    const char *budget;
    /* Instead of anchors and networks of ours a published model, on the same windows, scales and
     * split, with early stopping by CRPS: "dlinear", "patchtst", "mrdiff", "timegrad", "mtan",
     * "tpatchgnn", "contiformer", "neuralcde", "csdi". steps, batch, lr and training (its "rival")
     * are then its own. NULL: none */
    const char *rival;
    const char
        *rival_options; /* JSON object, or text of one: its options by name; NULL: those of */
    llap_train_rival_config rival_config;
    /* Of diffusion networks and the reference's stages: a batch goes in so many parts, a power of
     * two of at most batch, whose gradients are added in a fixed order, so that as many processes
     * can share them out (<llapdiff/ranks.h>). The model is that of whole batches but for rounding
     * and for what dropout draws. 0: 1 */
    int64_t micro_batches;
} llap_train_opts;

/* Fits for each target a stable-pole Gaussian process with its scales and calibration, in seconds,
 * and trains networks on what it leaves, in minutes (size). Uses the first 70 % of the time for
 * fitting and the next 10 % for choices, unless told (shares); the last 20 % are left for
 * llap_evaluate. Caller owns
 * *out. A training that is stopped from elsewhere, or goes on later: <llapdiff/trainer.h>. */
LLAP_API llap_status llap_train(const llap_panel *panel, const llap_train_opts *o,
                                llap_model **out);

/* ---- the file ---- */

/* Replaces the file as a whole. "-": standard output. */
LLAP_API llap_status llap_model_save(const llap_model *m, const char *path);
/* Whether a model could be saved there, before hours of training; leaves nothing behind. */
LLAP_API llap_status llap_model_can_save(const char *path);
/* "-": standard input. Caller owns *out. LLAP_EFORMAT: not a model, or of a newer format. */
LLAP_API llap_status llap_model_load(const char *path, llap_model **out);
LLAP_API void        llap_model_destroy(llap_model *m); /* NULL is fine */

/* The words of the training data that were read as codes, for llap_read_opts: closed by NULL,
 * borrowed until the model is destroyed. */
LLAP_API const char *const *llap_model_levels(const llap_model *m);

/* The bytes that the file would have. Caller owns *bytes (llap_text_free). */
LLAP_API llap_status llap_model_save_memory(const llap_model *m, char **bytes, size_t *n);
/* A model of such bytes, which are borrowed until it returns. Caller owns *out. */
LLAP_API llap_status llap_model_load_memory(const void *bytes, size_t n, llap_model **out);

/* What the model is, for people or as JSON: targets, spans, who answers, poles with half-lives and
 * periods; in the JSON of one just trained also the stages of its training. Caller owns *text
 * (llap_text_free). */
LLAP_API llap_status llap_model_describe(const llap_model *m, int json, char **text);

/* ---- poles ---- */

typedef struct llap_pole_opts {
    const char *target; /* only its anchor; NULL: all */
    double      noise;  /* where in the reverse process networks are asked: 1 noise, LLAP_ZERO data;
                           0: half way */
    int     base;       /* the poles of a network's parameters, without any history */
    int64_t channel;    /* latent channel whose residues count, from 1; 0: the first */
    int64_t transfer;   /* so many values of the transfer function G(i omega); 0: none */
    int64_t impulse;    /* so many values of the impulse response over the horizon; 0: none */
    int     realisation; /* the state-space form with real 2 x 2 blocks */
    /* With a panel, the window whose history moves the poles of networks: */
    const char *entity; /* NULL: the first; joint networks look at all */
    const char *at;     /* its end, a time; NULL: the last row of the entity */
} llap_pole_opts;

/* The poles of each anchor's kernel and of each network: rate, frequency, half-life, period,
 * energy. With a panel (or NULL) also those of networks given the history of a window, and what all
 * become from reading to reading over the panel's gaps: multiplier, log-pole and its second-order
 * approximation. A table, or JSON; caller owns *text (llap_text_free). */
LLAP_API llap_status llap_model_poles(const llap_model *m, const llap_panel *panel,
                                      const llap_pole_opts *o, int json, char **text);
/* A picture of the pole plane: .png, .svg or .pdf. Replaces the file as a whole. */
LLAP_API llap_status llap_model_poles_plot(const llap_model *m, const llap_panel *panel,
                                           const llap_pole_opts *o, const char *path);

/* ---- asking ---- */

/* What is added up, path by path, instead of being answered one by one. */
typedef enum llap_forecast_total {
    LLAP_FORECAST_TOTAL_DEFAULT,  /* nothing */
    LLAP_FORECAST_TOTAL_HORIZON,  /* "horizon": the times of each entity; the row has the last */
    LLAP_FORECAST_TOTAL_ENTITIES, /* "entities": all of them at each time that all are asked about,
                                   * as the entity `total` */
    LLAP_FORECAST_TOTAL_BOTH,     /* "both" */
} llap_forecast_total;

/* Values of the known inputs after the time of the forecast, in the place of those of the data. A
 * scenario of one entity, which the data does not have, holds for all of its entities. */
typedef struct llap_scenario {
    const char       *name;   /* that the answer gives it */
    const llap_panel *known;  /* columns that are no known inputs are not looked at */
    const char       *source; /* where it comes from, for messages; NULL: not known */
} llap_scenario;

/* Times to ask about, as numbers: what a file of times says (option `times`). Number k is about
 * time[k]. Borrowed until the call returns. */
typedef struct llap_query_times {
    size_t             n;
    const int64_t     *time;   /* [n] ticks of the panel's axis, in any order */
    const char *const *entity; /* [n] whom it is asked of; NULL: of all, also where one is NULL */
    const int64_t     *origin; /* [n] when it is asked: later rows are not looked at; NULL: as `at`
                                * says. Forecasts alone have origins */
} llap_query_times;

typedef struct llap_forecast_opts {
    const char *only;    /* entities, separated by commas, with * and ? as in names of files; others
                            are    looked at but not forecast. NULL: all */
    const char *at;      /* time of the forecast; NULL: the last row of each entity */
    const char *horizon; /* duration, or steps of training; NULL: that of training */
    const char *step;    /* between queries, the same; NULL: that of training */
    const char *quantiles;    /* "0.1,0.5,0.9"; NULL: 0.025,0.1,0.25,0.5,0.75,0.9,0.975 */
    int64_t     samples;      /* joint sample paths that quantiles are made of; 0: 200. A model of
                               * size anchor knows its quantiles and needs none */
    int64_t             seed; /* 0: 1; LLAP_ZERO: 0 */
    const llap_log     *log;
    llap_forecast_total total; /* sums over the horizon, over entities, or both */
    const char *every; /* a backtest: forecasts this far apart, from `at` (NULL: the beginning
                        * of the part left for testing) up to the last row */
    const char *times; /* file of the times to forecast: a column time, entity where they differ,
                        * and origin where they are asked from several times (rows after it are
                        * not looked at); instead of horizon and step */
    int         keep_samples; /* the answer is the paths instead of their quantiles */
    const char *device; /* where networks compute: "cpu", "cuda", "cuda:1", "auto"; NULL: cpu */
    llap_gpu_precision       precision; /* of their products on a GPU */
    llap_progress            progress;
    const llap_model *const *with;  /* further models of the same targets and spans that answer */
    int64_t              n_with;    /* together with this one, each an equal share of the samples */
    const llap_scenario *scenarios; /* one answer each, from the same draws: what differs, differs
                                     * by the scenario. Each entity is asked from one time */
    int64_t     n_scenarios;        /* 0: the data as it is */
    const char *statics; /* option `static`: CSV file with one row an entity, of static inputs;
                          * NULL: columns of the data, by the names that they had in training */
    const llap_query_times *query; /* in the place of times, horizon and step; NULL: these */
} llap_forecast_opts;

/* Forecasts every target of every entity. Where the data differs from that of training (new
 * entities, another scale, interval or share of holes) a warning goes to the log; where a target is
 * not among its columns, LLAP_EINVAL names them. LLAP_ECANCELLED: progress said so. Caller owns
 * *out. Whoever asks again and again keeps a sampler (<llapdiff/sampler.h>). */
LLAP_API llap_status llap_forecast(const llap_model *m, const llap_panel *panel,
                                   const llap_forecast_opts *o, llap_answer **out);

typedef struct llap_impute_opts {
    const char     *quantiles; /* as above */
    int             causal;    /* from the past only; else from both sides */
    int             all;       /* answer observed cells too; else missing ones only */
    const llap_log *log;
    llap_progress   progress;
    int64_t         samples; /* draws of each cell that quantiles of networks are made of; 0: 48. An
                              * anchor knows its quantiles and needs none */
    int     keep_samples;    /* the answer is the draws instead of their quantiles */
    int64_t seed;            /* 0: 1; LLAP_ZERO: 0 */
    const char
        *times;         /* file of the times to answer about, instead of the missing cells: as
                         * llap_forecast_opts has it. What was measured then stays, also without all */
    const char *device; /* where networks compute: "cpu", "cuda", "cuda:1", "auto"; NULL: cpu */
    llap_gpu_precision      precision; /* of their products on a GPU */
    const char             *statics;   /* option `static`, as llap_forecast_opts has it */
    const llap_query_times *query;     /* in the place of times; NULL: these */
    const char             *only;      /* entities, as llap_forecast_opts has it; NULL: all */
} llap_impute_opts;

/* Fills the missing cells of the target variables at the panel's own rows, or at given times. Draws
 * of the anchor are joint within a gap, not from one gap to the next; where all sensors fill, over
 * the targets of a row, too; those of networks within a window, which from the past alone is one
 * time. Caller owns *out. */
LLAP_API llap_status llap_impute(const llap_model *m, const llap_panel *panel,
                                 const llap_impute_opts *o, llap_answer **out);

/* Draws a training log (loss and score, stage by stage) or what llap_evaluate says as JSON
 * (calibration: the histogram of the probability integral transform, and reliability). The text
 * itself, or the file that has it ("-": standard input). PNG, SVG or PDF as the path ends. */
LLAP_API llap_status llap_plot_scores(const char *text, const char *path);
LLAP_API llap_status llap_plot_log(const char *log, const char *path);
/* Whether a picture could be drawn there, before long work; leaves nothing behind. */
LLAP_API llap_status llap_plot_can_save(const char *path);

typedef enum llap_evaluate_task {
    LLAP_EVALUATE_TASK_DEFAULT,
    LLAP_EVALUATE_TASK_FORECAST, /* "forecast", the default */
    LLAP_EVALUATE_TASK_IMPUTE,   /* "impute" */
} llap_evaluate_task;

typedef enum llap_evaluate_part {
    LLAP_EVALUATE_PART_DEFAULT,
    LLAP_EVALUATE_PART_TEST,  /* "test", the default */
    LLAP_EVALUATE_PART_VAL,   /* "val" */
    LLAP_EVALUATE_PART_TRAIN, /* "train" */
} llap_evaluate_part;

typedef enum llap_evaluate_by {
    LLAP_EVALUATE_BY_DEFAULT,
    LLAP_EVALUATE_BY_ALL,      /* "all": no finer table, the default */
    LLAP_EVALUATE_BY_STEP,     /* "step" */
    LLAP_EVALUATE_BY_VARIABLE, /* "variable" */
    LLAP_EVALUATE_BY_ENTITY,   /* "entity" */
} llap_evaluate_by;

typedef enum llap_evaluate_gaps { /* what is hidden, of all columns but known and static ones */
                                  LLAP_EVALUATE_GAPS_DEFAULT,
                                  LLAP_EVALUATE_GAPS_RANDOM,  /* "random": 30 % of all values, the
                                                                 default */
                                  LLAP_EVALUATE_GAPS_OUTAGES, /* "outages": single variables and
                                                                 whole rows for 6 to 48 hours */
                                  LLAP_EVALUATE_GAPS_ROWS, /* "rows": whole rows for 6 to 48 hours
                                                            */
                                  LLAP_EVALUATE_GAPS_DEAD, /* "dead": one target of an entity for
                                                              two weeks */
} llap_evaluate_gaps;

typedef struct llap_evaluate_opts {
    llap_evaluate_task task;
    llap_evaluate_part part;
    const char *stride;  /* one forecast of an entity in each such span is scored; NULL: 23 steps */
    llap_evaluate_by by; /* a finer table */
    int64_t          samples;   /* drawn per forecast; 0: 200, enough for 95 % intervals */
    int64_t          bootstrap; /* draws for intervals of differences; 0: 1000, LLAP_ZERO: none */
    int64_t          seed;      /* 0: 1; LLAP_ZERO: 0 */
    int              units;     /* the table in the units of the data, not in standard deviations */
    int paper; /* also CRPS and MSE as the paper's tables have them: 25 samples, 200 pairs */
    const llap_log *log;
    llap_progress   progress;
    const char     *device; /* where networks compute: "cpu", "cuda", "cuda:1", "auto"; NULL: cpu */
    llap_gpu_precision       precision; /* of their products on a GPU */
    const llap_model *const *with;      /* as above; their split must be the same */
    int64_t                  n_with;
    const char              *windows; /* CSV file of what each window scored; NULL: none */
    const char *season;  /* of the seasonal opponents: "24h,7d", or numbers of steps; NULL: a day
                          * and a week where times are a calendar and steps short enough */
    const char *against; /* other models, "a.safetensors,b.safetensors", with the same targets,
                          * horizon and split, scored beside the model on the same windows; or a
                          * CSV file of somebody's forecasts, scored beside it on the windows
                          * that it covers: entity, origin, time, variable, and value, or sample and
                          * value, or quantiles q0.1,... */
    const char *keep; /* CSV file for the model's forecasts of the scored windows: entity, origin,
                       * time, variable, truth, mean, quantiles; against reads it */
    int                 keep_samples; /* keep the samples in the place of mean and quantiles */
    llap_forecast_total total;  /* score sums, as llap_forecast answers them, where all of their
                                 * values were observed; a score in deviations is that of the mean */
    const char        *statics; /* option `static`, as llap_forecast_opts has it */
    llap_evaluate_gaps gaps;    /* of task impute */
    const char        *hidden;  /* CSV file of the values that are hidden instead: entity, time,
                                 * variable, as keep lists them; others are passed over */
    const char *only;           /* entities, as llap_forecast_opts has it; NULL: all */
} llap_evaluate_opts;

/* Scores the model and the opponents that any model has to beat on the same windows: CRPS (fair, of
 * all pairs of samples), squared and absolute error, coverage, and by how much the model is better,
 * with the 95 % interval of a paired bootstrap over days. As a table, or as JSON with everything
 * else: quantile losses, widths, PIT, energy score, by step, in the units of the data. To impute is
 * to hide values as `gaps` says and to fill them, from both sides and from the past; stride,
 * samples and with are then refused, against has no column origin, and keep lists the hidden
 * values: entity, time, variable, truth, mean, quantiles (empty of columns that are not filled).
 * Either of table and json may be NULL: not wanted. Caller owns both texts (llap_text_free). */
LLAP_API llap_status llap_evaluate(const llap_model *m, const llap_panel *panel,
                                   const llap_evaluate_opts *o, char **table, char **json);

#ifdef __cplusplus
}
#endif

#endif
