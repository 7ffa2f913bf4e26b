/* The options of the use cases, each in one line: flags, help, configuration files, checks, the
 * facts of a run and what a model keeps of its training follow from these tables. */
#include "base/options.h"

#include <llapdiff/artefacts.h>
#include <llapdiff/bench.h>
#include <llapdiff/detect.h>
#include <llapdiff/model.h>
#include <llapdiff/serve.h>

/* clang-format off */

/* ---- training ---- */

static const char *const splits[] = { "", [LLAP_TRAIN_SPLIT_TIME] = "time", [LLAP_TRAIN_SPLIT_ENTITY] = "entity", NULL };
static const char *const profiles[] = { "", [LLAP_TRAIN_PROFILE_ANCHORED] = "default", [LLAP_TRAIN_PROFILE_REFERENCE] = "reference", NULL };
static const char *const sizes[] = {
    "", [LLAP_TRAIN_SIZE_SMALL] = "small", [LLAP_TRAIN_SIZE_TINY] = "tiny", [LLAP_TRAIN_SIZE_ANCHOR] = "anchor", [LLAP_TRAIN_SIZE_PAPER] = "paper",
    [LLAP_TRAIN_SIZE_STACK] = "stack", NULL,
};
static const char *const views[] = {
    "", [LLAP_TRAIN_VIEW_AUTO] = "auto", [LLAP_TRAIN_VIEW_JOINT] = "joint", [LLAP_TRAIN_VIEW_ENTITY] = "entity", [LLAP_TRAIN_VIEW_ROWS] = "rows", NULL,
};

static const char *const glitches[] = {
    "", [LLAP_TRAIN_GLITCHES_DROP] = "drop", [LLAP_TRAIN_GLITCHES_KEEP] = "keep", NULL,
};

static const char *const diffusion[] = {
    "", [LLAP_TRAIN_DIFFUSION_NO] = "no", [LLAP_TRAIN_DIFFUSION_TINY] = "tiny", [LLAP_TRAIN_DIFFUSION_SMALL] = "small", NULL,
};

static const char *const rival_configs[] = {
    "", [LLAP_TRAIN_RIVAL_CONFIG_NATIVE] = "native", [LLAP_TRAIN_RIVAL_CONFIG_ADAPTER] = "adapter", NULL,
};

/* A model keeps them in this order. */
#define OPTIONS llap_train_opts
static const llap_option train_options[] = {
    OPTION_TEXT(LIST, target, NULL, "variables to forecast (default: all)"),
    OPTION_TEXT(LIST, known, NULL, "columns that are given for the future too: forecasts of the weather, plans, prices"),
    OPTION_NAMED(TEXT, "static", statics, "numbers and categories of an entity that never change: a CSV file (a / in it, or .csv, .tsv, .gz at its end) with one row an entity, or columns of the data; none: none (default: columns of the data that never change within an entity, where they help)"),
    OPTION_TEXT(TEXT, holidays, NULL, "public holidays: a country, such as DE or US, or a CSV file of dates"),
    OPTION_TEXT(LIST, inputs, NULL, "variables that the stack looks at beside the targets (default: all)"),
    OPTION_TEXT(TEXT, context, NULL, "how far to look back: 14d, or 336 steps"),
    OPTION_TEXT(TEXT, horizon, NULL, "how far to look ahead: 48h, or 48 steps"),
    OPTION_TEXT(TEXT, step, NULL, "time between forecasts (default: the usual gap of the data)"),
    OPTION_WORD(split, NULL, splits, "what the test part holds out: later times, or whole entities (default: time; with parts: entity)"),
    OPTION_TEXT(FILE, parts, NULL, "CSV with the columns entity and part (train, validation, test): a split of independent entities"),
    OPTION_TEXT(LIST, shares, "70,10,20", "percentages of training, validation and test, of the time or of the entities"),
    OPTION_WORD(profile, "default", profiles, "networks on top of the anchor, or the paper's three stages"),
    OPTION_WORD(size, NULL, sizes, "what is trained (default: stack): anchor, the process alone, in seconds; stack, quantile networks around it; tiny, small, diffusion networks on top of it; reference profile: tiny, paper"),
    OPTION_WORD(diffusion, "no", diffusion, "size stack: diffusion networks of that size as one more member, with the weight that validation gives them, if any"),
    OPTION_WORD(view, "auto", views, "what an example holds: all entities (joint), all targets of one entity, or one target (rows)"),
    OPTION_TEXT(LIST, transform, "yeo-johnson", "none, log1p, asinh or yeo-johnson, for all targets or NAME=... each"),
    OPTION_TEXT(LIST, min, NULL, "least value of answers, for all targets or NAME=... each"),
    OPTION_TEXT(LIST, max, NULL, "largest value of answers"),
    OPTION_TEXT(LIST, kind, "auto", "of values: count, whole, share, positive, any, or auto: found by looking; NAME=... each"),
    OPTION_WORD(glitches, NULL, glitches, "single readings far from all around them: missing, or kept (default: drop)"),
    OPTION_TEXT(FILE, from, NULL, "start from the networks of this model"),
    OPTION_INTEGER(members, NULL, 1, 64, "networks that share the samples (default: as the size says)"),
    OPTION_INTEGER(steps, NULL, 1, 1e9, "training steps of each network (default: by size and horizon)"),
    OPTION_INTEGER(batch, NULL, 1, 1e6, "examples of a training step (default: by size, 128 for small)"),
    OPTION_INTEGER(micro_batches, NULL, 1, 1 << 20, "parts of a batch, a power of two, that as many processes of mpirun share out; their gradients are added in a fixed order (default: whole batches)"),
    OPTION_SEED,
    OPTION_REAL(lr, NULL, 1e-9, 1e30, "learning rate (default: by size)"),
    OPTION_FLAG(no_climate, "no calendar terms, even where validation is better with them"),
    OPTION_TEXT(LIST, periods, NULL, "cycles beside those of the calendar: auto (look for them), none, or spans such as 7d,24h or 11.3 (default: auto where times are numbers or readings come once a day)"),
    OPTION_FLAG(link, "forecast entities jointly, where validation is better for it (slower)"),
    OPTION_TEXT(JSON, network, NULL, "further options of the networks, as an object, or a file that has them: \"network\": {...}"),
    OPTION_TEXT(JSON, training, NULL, "further options of how anchors and networks are trained, likewise"),
    OPTION_TEXT(TEXT, rival, NULL, "a published model instead of ours: dlinear, patchtst, mrdiff, timegrad, mtan, tpatchgnn, contiformer, neuralcde, csdi"),
    OPTION_WORD(rival_config, "native", rival_configs, "its options: native, at its own strength; adapter, the small form that the paper compared itself with"),
    OPTION_TEXT(TEXT, rival_options, NULL, "further options of it, as a JSON object: {\"kernel\": 9}"),
    OPTION_ASIDE(TEXT, budget, NULL, 0, 0, NULL,
         "time that training may take here, such as 10m: a few steps are timed, and networks that do not fit are fewer, shorter or left out (default: all are trained)"),
    OPTION_ASIDE(FLAG, resume, NULL, 0, 0, NULL,
         "continue an interrupted training, to the same model; a finished one is not repeated"),
    OPTION_ASIDE(FILE, state, NULL, 0, 0, NULL, "file that keeps the state of a training"),
    OPTION_ASIDE(REAL, save_every, "60", 1e-9, 1e9, NULL, "time between two saved states"),
    OPTION_ASIDE(FILE, history, NULL, 0, 0, NULL, "log of the training: a JSON line for every check"),
    OPTION_ASIDE(INTEGER, prefetch, "1", 0, 64, NULL, "threads that prepare batches; results do not depend on it"),
    OPTION_ASIDE(JSON, config, NULL, 0, 0, NULL, "further options, as a JSON object"),
    OPTION_ASIDE(FILE, output, NULL, 0, 0, NULL, "the model file"),
    OPTIONS_OF_DEVICE,
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_train_options(void) { return train_options; }

/* ---- asking ---- */

#define QUANTILES "0.025,0.1,0.25,0.5,0.75,0.9,0.975"

static const char *const totals[] = {
    "", [LLAP_FORECAST_TOTAL_HORIZON] = "horizon", [LLAP_FORECAST_TOTAL_ENTITIES] = "entities", [LLAP_FORECAST_TOTAL_BOTH] = "both", NULL,
};

#define OPTIONS llap_forecast_opts
static const llap_option forecast_options[] = {
    OPTION_TEXT(LIST, only, NULL, "entities to forecast, such as a,b or 'north*' (default: all)"),
    OPTION_TEXT(TEXT, at, NULL, "forecast from this time (default: the last row of each entity)"),
    OPTION_TEXT(TEXT, every, NULL, "backtest: a forecast in every such span, from the time `at` on (default: the start of the test part)"),
    OPTION_TEXT(FILE, times, NULL, "the times to forecast: a column time, entity where they differ, origin where they are asked from several times"),
    OPTION_TEXT(TEXT, horizon, NULL, "how far ahead (default: as trained)"),
    OPTION_TEXT(TEXT, step, NULL, "between forecast times (default: as trained)"),
    OPTION_TEXT(LIST, quantiles, QUANTILES, "of the answer, between 0 and 1"),
    OPTION_INTEGER(samples, "200", 1, 1e6, "number of sample paths; size anchor needs none for its quantiles"),
    OPTION_FLAG(keep_samples, "write the paths instead of their quantiles"),
    OPTION_NAMED(FILE, "static", statics, "CSV with one row an entity, of numbers and categories that never change, for entities that training has not seen"),
    OPTION_WORD(total, NULL, totals, "sums instead of each value: over the horizon, over all entities at each time, or both"),
    OPTION_SEED,
    OPTIONS_OF_DEVICE,
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_forecast_options(void) { return forecast_options; }

#define OPTIONS llap_impute_opts
static const llap_option impute_options[] = {
    OPTION_TEXT(LIST, only, NULL, "entities to answer about, such as a,b or 'north*' (default: all); the others may still help to fill"),
    OPTION_FLAG(causal, "from the past only (default: from both sides)"),
    OPTION_FLAG(all, "write observed cells too, as they were measured"),
    OPTION_TEXT(FILE, times, NULL, "the times to answer about, instead of missing cells: a column time, and entity where they differ"),
    OPTION_TEXT(LIST, quantiles, QUANTILES, "of the answer, between 0 and 1"),
    OPTION_INTEGER(samples, "48", 1, 1e6, "draws of a cell; size anchor needs none for its quantiles"),
    OPTION_FLAG(keep_samples, "write the draws instead of their quantiles"),
    OPTION_NAMED(FILE, "static", statics, "CSV with one row an entity, of numbers and categories that never change, for entities that training has not seen"),
    OPTION_SEED,
    OPTIONS_OF_DEVICE,
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_impute_options(void) { return impute_options; }

static const char *const tasks[] = { "", [LLAP_EVALUATE_TASK_FORECAST] = "forecast", [LLAP_EVALUATE_TASK_IMPUTE] = "impute", NULL };
static const char *const parts[] = { "", [LLAP_EVALUATE_PART_TEST] = "test", [LLAP_EVALUATE_PART_VAL] = "val", [LLAP_EVALUATE_PART_TRAIN] = "train", NULL };
static const char *const tables[] = {
    "", [LLAP_EVALUATE_BY_ALL] = "all", [LLAP_EVALUATE_BY_STEP] = "step", [LLAP_EVALUATE_BY_VARIABLE] = "variable", [LLAP_EVALUATE_BY_ENTITY] = "entity", NULL,
};

static const char *const gaps[] = {
    "", [LLAP_EVALUATE_GAPS_RANDOM] = "random", [LLAP_EVALUATE_GAPS_OUTAGES] = "outages", [LLAP_EVALUATE_GAPS_ROWS] = "rows", [LLAP_EVALUATE_GAPS_DEAD] = "dead", NULL,
};

#define OPTIONS llap_evaluate_opts
static const llap_option evaluate_options[] = {
    OPTION_TEXT(LIST, only, NULL, "entities to score, such as a,b or 'north*' (default: all)"),
    OPTION_WORD(task, "forecast", tasks, "score forecasts, or the filling of gaps made on purpose"),
    OPTION_WORD(gaps, "random", gaps, "what --task impute hides: 30 % of all values, outages of variables and rows, whole rows, or a dead sensor"),
    OPTION_TEXT(FILE, hidden, NULL, "CSV of the values that --task impute hides instead: entity, time, variable"),
    OPTION_WORD(part, "test", parts, "which part of the data to score"),
    OPTION_TEXT(TEXT, stride, NULL, "score one forecast of an entity in each such span (default: 23 steps)"),
    OPTION_INTEGER(samples, "200", 2, 100000, "samples drawn per forecast"),
    OPTION_WORD(total, NULL, totals, "score sums: over the horizon, over all entities at each time, or both; deviations are those of their mean"),
    OPTION_WORD(by, "all", tables, "also CRPS for each step, variable or entity"),
    OPTION_TEXT(LIST, season, NULL, "of the seasonal opponents, such as 24h,7d (default: a day and a week, where steps are short enough)"),
    OPTION_INTEGER(bootstrap, "1000", 0, 1000000, "draws behind the intervals of differences; 0: no intervals"),
    OPTION_FLAG(units, "the table in the units of the data, not in standard deviations of training"),
    OPTION_FLAG(paper, "also CRPS and MSE as the paper's tables have them (25 samples, 200 pairs)"),
    OPTION_ASIDE(FILE, windows, NULL, 0, 0, NULL,
         "write what every window scored, as CSV: CRPS and squared error of model and opponents"),
    OPTION_TEXT(FILE, against, NULL, "score other models, too, a.safetensors,b.safetensors; or the forecasts or fills of a CSV: entity, origin (of forecasts), time, variable, and value, or quantiles q0.1,..., or sample and value"),
    OPTION_NAMED(FILE, "static", statics, "CSV with one row an entity, of numbers and categories that never change, for entities that training has not seen"),
    OPTION_ASIDE(FILE, keep, NULL, 0, 0, NULL, "write the scored forecasts, or hidden values and what fills them, as CSV: entity, origin, time, variable, truth, mean, quantiles"),
    OPTION_ASIDE(FLAG, keep_samples, NULL, 0, 0, NULL, "keep their samples instead of mean and quantiles"),
    OPTION_SEED,
    OPTIONS_OF_DEVICE,
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_evaluate_options(void) { return evaluate_options; }

#define OPTIONS llap_pole_opts
static const llap_option pole_options[] = {
    OPTION_TEXT(TEXT, target, NULL, "only the anchor of this variable"),
    OPTION_REAL(noise, "0.5", 0, 1, "noise level at which networks are asked: 1 is noise, 0 data"),
    OPTION_TEXT(TEXT, entity, NULL, "whose history moves the poles of networks (default: the first)"),
    OPTION_TEXT(TEXT, at, NULL, "where that history ends (default: the entity's last row)"),
    OPTION_FLAG(base, "the poles of a network's parameters, without any history"),
    OPTION_INTEGER(channel, "1", 1, 65536, "latent channel of the residues"),
    OPTION_INTEGER(transfer, NULL, 1, 1e6, "N values of the transfer function G(i omega)"),
    OPTION_INTEGER(impulse, NULL, 1, 1e6, "N values of the impulse response over the horizon"),
    OPTION_FLAG(realisation, "the state-space form (A, B, C) of real blocks"),
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_pole_options(void) { return pole_options; }

#define OPTIONS llap_detect_opts
static const llap_option detect_options[] = {
    OPTION_REAL(rate, "0.001", 1e-7, 0.1, "alarms wanted where all is well, as a share of readings"),
    OPTION_TEXT(TEXT, from, NULL, "time from which readings are judged; what is usual is learnt before it (default: the part left for testing)"),
    OPTION_INTEGER(join, "6", 1, 1e6, "usual rows that end an alarm; those that follow sooner are one"),
    OPTION_TEXT(LIST, only, NULL, "entities to judge, with * and ?"),
    OPTION_TEXT(TEXT, late, NULL, "readings are judged when one this much later has come, so that earlier ones still can: 10min"),
    OPTION_ASIDE(FLAG, rows, NULL, 0, 0, NULL, "keep what is said of every row"),
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_detect_options(void) { return detect_options; }

/* ---- artefacts ---- */

static const char *const predictions[] = {
    "", [LLAP_IMPORT_PREDICTION_STATED] = "stated", [LLAP_IMPORT_PREDICTION_V] = "v", [LLAP_IMPORT_PREDICTION_X0] = "x0", [LLAP_IMPORT_PREDICTION_EPS] = "eps", NULL,
};
static const char *const t_tokens[] = {
    "", [LLAP_IMPORT_T_TOKEN_BOTH] = "both", [LLAP_IMPORT_T_TOKEN_RESIDUAL] = "residual", [LLAP_IMPORT_T_TOKEN_BIAS] = "bias", NULL,
};

#define OPTIONS llap_import_opts
static const llap_option import_options[] = {
    OPTION_TEXT(TEXT, horizon, NULL, "how far ahead it was trained for: 168 rows, or 7d"),
    OPTION_TEXT(TEXT, step, NULL, "time between rows, such as 1h (default: times are plain numbers)"),
    OPTION_TEXT(LIST, targets, NULL, "names of the target variables, in their order"),
    OPTION_TEXT(LIST, inputs, NULL, "names of the features of the history, in their order"),
    OPTION_TEXT(LIST, entities, NULL, "names of the entities, in the order of their embedding"),
    OPTION_WORD(prediction, "stated", predictions, "what the denoiser predicts, where its file does not say it"),
    OPTION_WORD(t_token, "both", t_tokens, "how the summarizer uses differences, where it has them"),
    OPTION_INTEGER(heads, "4", 1, 1024, "number of attention heads"),
    OPTION_INTEGER(context, NULL, 1, 1e6, "rows of the context, where no tensor tells (default: as many as tokens)"),
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_import_options(void) { return import_options; }

/* ---- a server ---- */

#define OPTIONS llap_serve_opts
static const llap_option serve_options[] = {
    OPTION_TEXT(TEXT, address, "127.0.0.1", "address to listen on; others than this machine's own need tokens, or insecure"),
    OPTION_INTEGER(port, "8080", 0, 65535, "port; 0: any that is free"),
    OPTION_TEXT(FILE, tokens, NULL, "file of who may do what: lines of a name, read, write or admin, and a token of 16 characters or more"),
    OPTION_FLAG(insecure, "anyone who reaches the port may read and write"),
    OPTION_TEXT(FILE, certificate, NULL, "PEM file: HTTPS, with its key"),
    OPTION_TEXT(FILE, key, NULL, "PEM file of the certificate's key"),
    OPTION_TEXT(TEXT, store, NULL, "where readings that arrive are kept: a file of SQLite, or postgresql://..."),
    OPTION_TEXT(TEXT, keep, NULL, "how long readings are kept: 90d (default: for ever)"),
    OPTION_FLAG(page, "print the address of the page with a token of this run that may train models"),
    OPTION_TEXT(TEXT, mqtt, NULL, "broker and topic of further readings: mqtt://HOST/ward/#?stream=NAME; needs a store"),
    OPTION_INTEGER(max_body, "64", 1, 4096, "MB of a request, also once it is unpacked"),
    OPTION_INTEGER(max_upload, "512", 1, 65536, "MB of a model that is uploaded"),
    OPTION_INTEGER(max_header, "16", 4, 1024, "kB of request line and headers"),
    OPTION_INTEGER(max_rows, "1000000", 1, 1e9, "rows of a request"),
    OPTION_INTEGER(max_series, "10000", 1, 1e9, "entities by variables of a request"),
    OPTION_INTEGER(max_memory, "1024", 16, 1e7, "MB that one request may take while it is answered, and that all may send at once"),
    OPTION_INTEGER(max_seconds, "60", 1, 86400, "time that a request may be worked on"),
    OPTION_INTEGER(max_requests, "256", 1, 1e6, "requests that wait or are worked on"),
    OPTION_INTEGER(max_connections, "1000", 1, 1e6, "connections"),
    OPTION_INTEGER(patience, "30", 1, 86400, "seconds for a request to arrive or an answer to be fetched, beside what 16 kB a second take"),
    OPTION_INTEGER(workers, NULL, 1, 4096, "threads that answer (default: one for each processor)"),
    OPTION_INTEGER(max_job_seconds, "3600", 1, 1e7, "time that training or scoring may take"),
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_serve_options(void) { return serve_options; }

/* ---- measuring ---- */

static const char *const bench_sizes[] = { "", [LLAP_BENCH_SIZE_TINY] = "tiny", [LLAP_BENCH_SIZE_SMALL] = "small", [LLAP_BENCH_SIZE_PAPER] = "paper", NULL };

#define OPTIONS llap_bench_opts
static const llap_option bench_options[] = {
    OPTION_WORD(size, "small", bench_sizes, "network: of the default profile (tiny, small), or the reference at the paper's size"),
    OPTION_TEXT(TEXT, only, NULL, "measurements whose name contains TEXT"),
    OPTION_INTEGER(batch, NULL, 1, 4096, "windows of a forward pass and of a training step (default 128, paper 10)"),
    OPTION_INTEGER(samples, "25", 1, 10000, "samples of a forecast"),
    OPTION_INTEGER(horizon, "168", 1, 100000, "query times of a forecast"),
    OPTION_INTEGER(threads, NULL, 1, 4096, "threads to use (default: one per processor); results do not depend on it"),
    OPTION_REAL(seconds, "2", 0, 3600, "about how long each measurement may take; at least three runs"),
    OPTIONS_OF_DEVICE,
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_bench_options(void) { return bench_options; }
/* clang-format on */
