#include "read.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct train_options {
    cli_read    read;
    const char *target, *context, *horizon, *step, *output;
    int         entities, profile, size, view;
    int64_t     members, steps, batch, prefetch;
    const char *state, *log, *transform, *min, *max, *from, *network, *training, *parts, *shares;
    double      save_every, lr;
    bool        no_climate, link, resume;
} train_options;

enum { ANCHOR = 2 }; /* of --size */

#define OPTIONS train_options
/* clang-format off */
static const cli_option options[] = {
    TEXT("target",       't', "LIST", target, "variables to forecast (default: all)"),
    TEXT("context",      'c', "SPAN", context, "how far to look back: 14d, or 336 steps"),
    TEXT("horizon",      0, "SPAN", horizon, "how far to look ahead: 48h, or 48 steps"),
    TEXT("output",       'o', "FILE", output, "the model file ('-': standard output, and nothing else there)"),
    TEXT("step",         0, "SPAN", step, "between forecast times (default: the usual gap of the data)"),
    CHOICE("entities",   0, "joint|independent", entities,
         "joint: test on later times; independent: test on entities never seen"),
    CHOICE("split",      0, "time|entity", entities, "the same in other words: what is left for testing"),
    TEXT("parts",        0, "FILE", parts,
         "CSV with the columns entity and part (train, validation, test): a split of independent entities"),
    TEXT("shares",       0, "LIST", shares,
         "of training, validation and test, by time or of independent entities (default 70,10,20)"),
    CHOICE("profile",    0, "default|reference", profile,
         "networks on top of the anchor, or the paper's three stages"),
    CHOICE("size",       0, "small|tiny|anchor|paper", size,
         "of the networks (default small); anchor: none, in seconds; reference: tiny or paper"),
    INT("members",       0, "N", members, 1, 64,
         "networks that share the samples (default: as the size says)"),
    INT("steps",         0, "N", steps, 1, 1e9, "of training each (default: by size and horizon)"),
    INT("batch",         0, "N", batch, 1, 1e6, "rows of a step (default: by size, 128 for small)"),
    CHOICE("view",       0, "auto|joint|entity|rows", view,
         "one trajectory is all entities, all targets of one, or each target by itself"),
    TEXT("from",         0, "MODEL", from, "start from the networks of this model"),
    REAL("lr",           0, "RATE", lr, 1e-9, 1, "learning rate (default: by size)"),
    TEXT("network",      0, "JSON", network,
         "further options of the networks, as an object, or a --config file that has them: \"network\": {...}"),
    TEXT("training",     0, "JSON", training,
         "further options of how anchors and networks are trained, likewise; `llapdiff info --json` shows all of a model"),
    TEXT("transform",    0, "LIST", transform,
         "none, log1p, asinh or yeo-johnson (default), for all targets or NAME=... each"),
    TEXT("min",          0, "LIST", min, "least value of answers, for all targets or NAME=... each"),
    TEXT("max",          0, "LIST", max, "largest value of answers"),
    FLAG("resume",       0, resume, "go on with a training that was interrupted, to the same model; one that is finished stays"),
    TEXT("state",        0, "FILE", state,
         "where its state is kept; none: nowhere (default: the model file and .state)"),
    REAL("save-every",   0, "SECONDS", save_every, 1e-3, 1e9, "between two states (default 60)"),
    TEXT("log",          0, "FILE", log, "a JSON line for every look at how training goes"),
    INT("prefetch",      0, "N", prefetch, 0, 64,
         "threads that make batches ready (default 1); results do not depend on it"),
    FLAG("no-climate",   0, no_climate, "no calendar terms, even where validation likes them"),
    FLAG("link",         0, link, "let entities learn of each other, where validation likes it (slower)"),
    CLI_READ_OPTIONS,
    { 0 },
};
/* clang-format on */

/* The state beside the model unless told; "none" is none. Caller frees *out. */
static llap_status state_path(const train_options *o, char **out)
{
    *out = NULL;
    if (o->state != NULL && strcmp(o->state, "none") == 0) return LLAP_OK;
    if (o->state == NULL && strcmp(o->output, "-") == 0) return LLAP_OK;
    const size_t n = strlen(o->state != NULL ? o->state : o->output) + sizeof ".state";
    *out = malloc(n);
    if (*out == NULL) return LLAP_ENOMEM;
    if (o->state != NULL) snprintf(*out, n, "%s", o->state);
    else snprintf(*out, n, "%s.state", o->output);
    return LLAP_OK;
}

static llap_train_opts opts_of(const cli_common *common, const train_options *o, const char *state)
{
    static const char *const sizes[] = { NULL, "tiny", "anchor", "paper" };
    static const char *const views[] = { NULL, "joint", "entity", "rows" };
    llap_train_opts          how = LLAP_TRAIN_OPTS;
    how.target = o->target;
    how.context = o->context;
    how.horizon = o->horizon;
    how.step = o->step;
    how.split = o->entities < 0 ? NULL : o->entities == 1 ? "entity" : "time";
    how.parts = o->parts;
    how.shares = o->shares;
    how.no_climate = o->no_climate;
    how.link = o->link;
    how.profile = o->profile == 1 ? "reference" : NULL;
    how.size = sizes[o->size];
    how.view = views[o->view];
    how.members = o->members;
    how.steps = o->steps;
    how.batch = o->batch;
    how.transform = o->transform;
    how.min = o->min;
    how.max = o->max;
    how.from = o->from;
    how.lr = o->lr;
    how.network = o->network;
    how.training = o->training;
    how.state = state;
    how.resume = o->resume;
    how.output = o->output;
    how.save_every = o->save_every;
    how.history = o->log;
    how.prefetch = o->prefetch == 0 ? -1 : o->prefetch;
    how.seed = common->seed;
    how.log = &common->log;
    how.device = common->device;
    how.precision = common->precision;
    return how;
}

static llap_status train(const cli_common *common, const train_options *o, const llap_panel *panel,
                         const char *state, llap_model **out)
{
    llap_train_opts how = opts_of(common, o, state);
    llap_bar       *bar = NULL;
    how.progress = cli_progress(common, &bar);
    cli_catch_signals();
    const llap_status st = llap_train(panel, &how, out);
    llap_bar_destroy(bar);
    if (st == LLAP_ECANCELLED && state != NULL && access(state, F_OK) == 0)
        fputs("llapdiff train: the same command with --resume goes on\n", stderr);
    return st;
}

/* An anchor alone is fitted without networks. */
static void say_idle(const cli_common *common, const train_options *o)
{
    const struct {
        bool        given;
        const char *name;
    } idle[] = {
        { o->members > 0, "members" }, { o->steps > 0, "steps" },   { o->batch > 0, "batch" },
        { o->view > 0, "view" },       { o->from != NULL, "from" }, { o->lr > 0, "lr" },
    };
    bool any = false;
    if (common->quiet || o->size != ANCHOR || o->profile == 1) return;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        if (!idle[i].given) continue;
        fprintf(stderr, "%s--%s", any ? ", " : "llapdiff train: nothing changes by ", idle[i].name);
        any = true;
    }
    if (any) fputs(": a model of size anchor has no networks\n", stderr);
}

/* The log takes nobody's place. */
static llap_status check_log(const train_options *o, const char *state)
{
    const char *other[] = { o->output, state, o->from };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (o->log != NULL && other[i] != NULL &&
            (strcmp(o->log, other[i]) == 0 || cli_same_file(o->log, other[i])))
            return cli_usage("train", "%s cannot be the log as well: take another name", other[i]);
    return LLAP_OK;
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const train_options *o = opts;
    if (o->output == NULL) return cli_usage("train", "--output FILE is needed");
    if (o->context == NULL || o->horizon == NULL)
        return cli_usage("train", "--context and --horizon are needed");
    if (o->from != NULL && strcmp(o->from, "-") == 0)
        return cli_usage("train", "--from is read more than once: it takes a file, not -");
    signal(SIGPIPE, SIG_IGN); /* what is trained outlives who reads about it */
    say_idle(common, o);
    llap_panel *panel = NULL;
    llap_model *model = NULL;
    char       *text = NULL, *state = NULL;
    char       *also[] = { (char *)o->parts, (char *)common->config, (char *)o->network,
                           (char *)o->training };
    llap_status st = cli_spare("train", o->output, n, operands);
    if (st == LLAP_OK) st = cli_spare("train", o->output, 4, also);
    if (st == LLAP_OK) st = cli_spare("train", o->log, n, operands);
    if (st == LLAP_OK) st = cli_spare("train", o->log, 4, also);
    if (st == LLAP_OK) st = state_path(o, &state);
    if (st == LLAP_OK && o->resume && state == NULL)
        st = cli_usage("train", "--resume goes on from a state: give --state FILE");
    if (st == LLAP_OK) st = check_log(o, state);
    if (st == LLAP_OK) st = llap_model_can_save(o->output);
    if (st == LLAP_OK) st = cli_read_panel(common, "train", &o->read, n, operands, &panel);
    if (st == LLAP_OK) st = train(common, o, panel, state, &model);
    if (st == LLAP_OK) st = llap_model_save(model, o->output);
    if (st == LLAP_OK && state != NULL && !cli_same_file(state, o->output))
        (void)remove(state); /* the model is safe now */
    if (st == LLAP_OK && strcmp(o->output, "-") != 0) {
        st = llap_model_describe(model, common->json, &text);
        if (st == LLAP_OK) cli_print_text(common, text);
    }
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    free(state);
    return st;
}

/* clang-format off */
const cli_command cmd_train = {
    .name = "train",
    .operands = "DATA...",
    .summary = "fit a model to a data set",
    .text =
        "Reads the files, fits the stable-pole anchor of each target variable in seconds,\n"
        "trains networks on what it leaves (minutes; --size anchor does without) and\n"
        "writes one model file. Validation decides whether the networks answer. The first\n"
        "70 % of the time fit, the next 10 % choose, the last 20 % are left for `llapdiff\n"
        "evaluate` (--shares). Prints what was learned: poles, half-lives, periods.",
    .example = "  llapdiff train air.csv --target PM2.5 --context 14d --horizon 48h -o air.safetensors",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .options_size = sizeof(train_options),
    .defaults = &(const train_options){ .prefetch = 1, .entities = -1 },
    .run = run,
};
/* clang-format on */
