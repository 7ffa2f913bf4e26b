#include "read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct train_options {
    cli_read    read;
    const char *device, *precision;
    const char *target, *context, *horizon, *step, *output;
    int         entities, profile, size, view;
    int64_t     members, steps, batch, prefetch;
    const char *state, *log, *transform, *min, *max, *from, *config;
    double      save_every;
    bool        no_climate, link, resume;
} train_options;

static const cli_option options[] = {
    { "target", 't', CLI_STRING, "LIST", offsetof(train_options, target),
      "variables to forecast (default: all)", 0, 0 },
    { "context", 'c', CLI_STRING, "SPAN", offsetof(train_options, context),
      "how far to look back: 14d, or 336 steps", 0, 0 },
    { "horizon", 0, CLI_STRING, "SPAN", offsetof(train_options, horizon),
      "how far to look ahead: 48h, or 48 steps", 0, 0 },
    { "output", 'o', CLI_STRING, "FILE", offsetof(train_options, output), "the model file", 0, 0 },
    { "step", 0, CLI_STRING, "SPAN", offsetof(train_options, step),
      "between forecast times (default: the usual gap of the data)", 0, 0 },
    { "entities", 0, CLI_CHOICE, "joint|independent", offsetof(train_options, entities),
      "joint: test on later times; independent: test on entities never seen", 0, 0 },
    { "profile", 0, CLI_CHOICE, "default|reference", offsetof(train_options, profile),
      "networks on top of the anchor, or the paper's three stages", 0, 0 },
    { "size", 0, CLI_CHOICE, "small|tiny|anchor|paper", offsetof(train_options, size),
      "of the networks (default small); anchor: none, in seconds; reference: tiny or paper", 0, 0 },
    { "members", 0, CLI_INT, "N", offsetof(train_options, members),
      "networks that share the samples (default: as the size says)", 1, 64 },
    { "steps", 0, CLI_INT, "N", offsetof(train_options, steps),
      "of training each (default: by size and horizon)", 1, 1e9 },
    { "batch", 0, CLI_INT, "N", offsetof(train_options, batch), "rows of a step (default 128)", 1,
      1e6 },
    { "view", 0, CLI_CHOICE, "auto|joint|rows", offsetof(train_options, view),
      "all entities in one trajectory, or each by itself", 0, 0 },
    { "from", 0, CLI_STRING, "MODEL", offsetof(train_options, from),
      "start from the networks of this model", 0, 0 },
    { "config", 0, CLI_STRING, "FILE", offsetof(train_options, config),
      "JSON with options by name (context, steps, lr ...) and, under network, of the networks", 0,
      0 },
    { "transform", 0, CLI_STRING, "LIST", offsetof(train_options, transform),
      "none, log1p, asinh or yeo-johnson (default), for all targets or NAME=... each", 0, 0 },
    { "min", 0, CLI_STRING, "LIST", offsetof(train_options, min),
      "least value of answers, for all targets or NAME=... each", 0, 0 },
    { "max", 0, CLI_STRING, "LIST", offsetof(train_options, max), "largest value of answers", 0,
      0 },
    { "resume", 0, CLI_FLAG, NULL, offsetof(train_options, resume),
      "go on with a training that was interrupted, to the same model", 0, 0 },
    { "state", 0, CLI_STRING, "FILE", offsetof(train_options, state),
      "where its state is kept; none: nowhere (default: the model file and .state)", 0, 0 },
    { "save-every", 0, CLI_REAL, "SECONDS", offsetof(train_options, save_every),
      "between two states (default 60)", 1e-3, 1e9 },
    { "log", 0, CLI_STRING, "FILE", offsetof(train_options, log),
      "a JSON line for every evaluation", 0, 0 },
    { "prefetch", 0, CLI_INT, "N", offsetof(train_options, prefetch),
      "threads that make batches ready (default 1); results do not depend on it", 0, 64 },
    { "no-climate", 0, CLI_FLAG, NULL, offsetof(train_options, no_climate),
      "no calendar terms, even where validation likes them", 0, 0 },
    { "link", 0, CLI_FLAG, NULL, offsetof(train_options, link),
      "let entities learn of each other, where validation likes it (slower)", 0, 0 },
    { "device", 0, CLI_STRING, "DEVICE", offsetof(train_options, device),
      "where networks compute: cpu, cuda, cuda:N or auto (default cpu)", 0, 0 },
    { "precision", 0, CLI_STRING, "KIND", offsetof(train_options, precision),
      "of their products on a GPU: fp32, tf32 or bf16 (default fp32)", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

/* The state beside the model unless told; "none" is none. Caller frees *out. */
static llap_status state_path(const train_options *o, char **out)
{
    *out = NULL;
    if (o->state != NULL && strcmp(o->state, "none") == 0) return LLAP_OK;
    const size_t n = strlen(o->state != NULL ? o->state : o->output) + sizeof ".state";
    *out = malloc(n);
    if (*out == NULL) return LLAP_ENOMEM;
    if (o->state != NULL) snprintf(*out, n, "%s", o->state);
    else snprintf(*out, n, "%s.state", o->output);
    return LLAP_OK;
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const train_options *o = opts;
    if (o->output == NULL) return cli_usage("train", "--output FILE is needed");
    if (o->config == NULL && (o->context == NULL || o->horizon == NULL))
        return cli_usage("train", "--context and --horizon are needed");
    llap_panel *panel = NULL;
    llap_model *model = NULL;
    llap_bar   *bar = NULL;
    char       *text = NULL, *state = NULL;
    llap_status st = llap_model_can_save(o->output);
    if (st == LLAP_OK) st = state_path(o, &state);
    if (st == LLAP_OK) st = cli_read_panel(common, "train", &o->read, n, operands, &panel);
    if (st == LLAP_OK) {
        llap_train_opts how = LLAP_TRAIN_OPTS;
        how.target = o->target;
        how.context = o->context;
        how.horizon = o->horizon;
        how.step = o->step;
        how.split = o->entities == 1 ? "entity" : NULL;
        how.no_climate = o->no_climate;
        how.link = o->link;
        how.profile = o->profile == 1 ? "reference" : NULL;
        how.size = (const char *const[]){ NULL, "tiny", "anchor", "paper" }[o->size];
        how.view = (const char *const[]){ NULL, "joint", "rows" }[o->view];
        how.members = o->members;
        how.steps = o->steps;
        how.batch = o->batch;
        how.transform = o->transform;
        how.min = o->min;
        how.max = o->max;
        how.from = o->from;
        how.config = o->config;
        how.state = state;
        how.resume = o->resume;
        how.save_every = o->save_every;
        how.history = o->log;
        how.prefetch = o->prefetch == 0 ? -1 : o->prefetch;
        how.seed = common->seed;
        how.log = &common->log;
        how.device = o->device;
        how.precision = o->precision;
        how.progress = cli_progress(common, &bar);
        st = llap_train(panel, &how, &model);
        llap_bar_destroy(bar);
        if (st == LLAP_ECANCELLED && state != NULL && access(state, F_OK) == 0)
            fputs("llapdiff train: the same command with --resume goes on\n", stderr);
    }
    if (st == LLAP_OK) st = llap_model_save(model, o->output);
    if (st == LLAP_OK && state != NULL) (void)remove(state); /* the model is safe now */
    if (st == LLAP_OK) st = llap_model_describe(model, common->json, &text);
    if (st == LLAP_OK) fputs(text, stdout);
    if (st == LLAP_OK && common->json) putchar('\n');
    llap_text_free(text);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    free(state);
    return st;
}

extern const cli_command cmd_train;
const cli_command        cmd_train = {
           .name = "train",
           .operands = "DATA...",
           .summary = "fit a model to a data set",
           .text =
               "Reads the files, fits the stable-pole anchor of each target variable in seconds, trains\n"
                      "networks on what it leaves (minutes; --size anchor does without) and writes one model\n"
                      "file. Validation decides whether the networks answer. The first 70 % of the time fit, "
                      "the\n"
                      "next 10 % choose, the last 20 % are left for `llapdiff evaluate`. Prints what was "
                      "learned:\n"
                      "poles, half-lives, periods.",
           .example =
               "  llapdiff train air.csv --target PM2.5 --context 14d --horizon 48h -o air.safetensors",
           .options = options,
           .min_operands = 1,
           .max_operands = -1,
           .options_size = sizeof(train_options),
           .defaults = &(const train_options){ .prefetch = 1 },
           .run = run,
};
