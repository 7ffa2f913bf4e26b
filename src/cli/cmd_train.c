#include "read.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct train_options {
    llap_train_opts train;
    llap_read_opts  read;
} train_options;

#define OPTIONS train_options
/* clang-format off */
static const char *const entities[] = { "", [LLAP_TRAIN_SPLIT_TIME] = "joint", [LLAP_TRAIN_SPLIT_ENTITY] = "independent", NULL };

static const llap_option own[] = { /* the split in other words */
    { "entities", LLAP_OPTION_WORD, offsetof(train_options, train.split), NULL,
      "joint: test on later times; independent: test on entities never seen", 0, 0, entities, 0 },
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .table = llap_train_options, .option = "target", .letter = 't' },
    { .table = llap_train_options, .option = "context", .letter = 'c', .arg = "SPAN" },
    { .table = llap_train_options, .option = "horizon", .arg = "SPAN" },
    { .table = llap_train_options, .option = "output", .letter = 'o', .help = "the model file ('-': standard output, and nothing else there)" },
    { .table = llap_train_options, .option = "size" },
    { .table = llap_train_options, .option = "budget", .arg = "DURATION" },
    { .table = llap_train_options, .option = "known" },
    { .table = llap_train_options, .option = "static", .arg = "FILE|LIST" },
    { .table = llap_train_options, .option = "holidays", .arg = "COUNTRY|FILE" },
    { .table = llap_train_options, .option = "inputs" },
    { .table = llap_train_options, .option = "step", .arg = "SPAN" },
    { .table = llap_train_options, .option = "min" },
    { .table = llap_train_options, .option = "max" },
    { .table = llap_train_options, .option = "kind" },
    { .table = llap_train_options, .option = "glitches" },
    { .table = llap_train_options, .option = "shares" },
    { .table = llap_train_options, .option = "split", .help = "the same as --entities, by its other name" },
    { .option = "entities" },
    { .table = llap_train_options, .option = "parts" },
    { .table = llap_train_options, .option = "periods" },
    { .table = llap_train_options, .option = "no_climate" },
    { .table = llap_train_options, .option = "link" },
    { .table = llap_train_options, .option = "transform" },
    { .table = llap_train_options, .option = "resume" },
    { .table = llap_train_options, .option = "state", .help = "file that keeps the state of a training; none: keep no state (default: the model file and .state)" },
    { .table = llap_train_options, .option = "save_every", .arg = "SECONDS" },
    { .table = llap_train_options, .option = "history", .name = "log" },
    { .table = llap_train_options, .option = "profile" },
    { .table = llap_train_options, .option = "from", .arg = "MODEL" },
    { .table = llap_train_options, .option = "diffusion" },
    { .table = llap_train_options, .option = "rival", .arg = "MODEL" },
    { .table = llap_train_options, .option = "rival_config" },
    { .table = llap_train_options, .option = "rival_options", .arg = "JSON" },
    { .table = llap_train_options, .option = "members" },
    { .table = llap_train_options, .option = "steps" },
    { .table = llap_train_options, .option = "batch" },
    { .table = llap_train_options, .option = "micro_batches" },
    { .table = llap_train_options, .option = "lr", .arg = "RATE" },
    { .table = llap_train_options, .option = "view" },
    { .table = llap_train_options, .option = "network",
      .help = "further options of the networks, as an object, or a --config file that has them: \"network\": {...}" },
    { .table = llap_train_options, .option = "training",
      .help = "further options of how anchors and networks are trained, likewise; `llapdiff info --json` shows all of a model" },
    { .table = llap_train_options, .option = "prefetch" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

/* The state beside the model unless told; "none" is none. Caller frees *out. */
static llap_status state_path(const llap_train_opts *o, char **out)
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

static llap_status train(const cli_common *common, const llap_train_opts *o,
                         const llap_panel *panel, const char *state, llap_model **out)
{
    llap_train_opts how = *o;
    llap_bar       *bar = NULL;
    how.state = state;
    how.log = &common->log;
    how.progress = cli_progress(common, &bar);
    cli_catch_signals();
    const llap_status st = llap_train(panel, &how, out);
    llap_bar_destroy(bar);
    if (st == LLAP_ECANCELLED && state != NULL && access(state, F_OK) == 0)
        fputs("llapdiff train: the same command with --resume goes on\n", stderr);
    return st;
}

/* An anchor alone is fitted without networks. */
static void say_idle(const cli_common *common, const llap_train_opts *o)
{
    static const char *const idle[] = { "members", "steps", "batch", "micro_batches",
                                        "view",    "from",  "lr" };
    bool                     any = false;
    const bool               stack = o->size == LLAP_TRAIN_SIZE_STACK;
    if (common->quiet || (o->size != LLAP_TRAIN_SIZE_ANCHOR && !stack) || o->rival != NULL ||
        o->profile == LLAP_TRAIN_PROFILE_REFERENCE || o->diffusion > LLAP_TRAIN_DIFFUSION_NO)
        return;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        if (!llap_option_given(llap_option_find(llap_train_options(), idle[i]), o)) continue;
        fprintf(stderr, "%s--%s", any ? ", " : "llapdiff train: ", idle[i]);
        any = true;
    }
    if (any)
        fprintf(stderr, ": no effect, a model of size %s\n",
                stack ? "stack trains its networks by `training.stack`" : "anchor has no networks");
}

/* The log takes nobody's place. */
static llap_status check_log(const llap_train_opts *o, const char *state)
{
    const char *other[] = { o->output, state, o->from };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (o->history != NULL && other[i] != NULL &&
            (strcmp(o->history, other[i]) == 0 || cli_same_file(o->history, other[i])))
            return cli_usage("train", "%s cannot be the log as well: choose another file",
                             other[i]);
    return LLAP_OK;
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const train_options   *all = opts;
    const llap_train_opts *o = &all->train;
    int                    rank;
    if (o->output == NULL) return cli_usage("train", "--output FILE is needed");
    if (o->context == NULL || o->horizon == NULL)
        return cli_usage("train", "--context and --horizon are needed");
    if (o->from != NULL && strcmp(o->from, "-") == 0)
        return cli_usage("train", "--from is read more than once: give a file, not -");
    signal(SIGPIPE, SIG_IGN); /* what is trained outlives who reads about it */
    cli_common  quiet;
    llap_status st = cli_join(&common, &quiet, &rank);
    if (st != LLAP_OK) return st;
    say_idle(common, o);
    llap_panel *panel = NULL;
    llap_model *model = NULL;
    char       *text = NULL, *state = NULL;
    char       *also[] = { (char *)o->parts, (char *)common->config, (char *)o->network,
                           (char *)o->training };
    st = cli_spare("train", o->output, n, operands);
    if (st == LLAP_OK) st = cli_spare("train", o->output, 4, also);
    if (st == LLAP_OK) st = cli_spare("train", o->history, n, operands);
    if (st == LLAP_OK) st = cli_spare("train", o->history, 4, also);
    if (st == LLAP_OK) st = state_path(o, &state);
    if (st == LLAP_OK && o->resume && state == NULL)
        st = cli_usage("train", "--resume continues from a state: give --state FILE");
    if (st == LLAP_OK) st = check_log(o, state);
    if (st == LLAP_OK) st = llap_model_can_save(o->output);
    if (st == LLAP_OK) st = cli_read_panel(common, &all->read, n, operands, &panel);
    if (st == LLAP_OK) st = train(common, o, panel, state, &model);
    if (st == LLAP_OK && rank == 0) st = llap_model_save(model, o->output);
    if (st == LLAP_OK && rank == 0 && state != NULL && !cli_same_file(state, o->output))
        (void)remove(state); /* the model is safe now */
    if (st == LLAP_OK && rank == 0 && strcmp(o->output, "-") != 0) {
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
        "trains quantile networks around it that see the other columns and entities\n"
        "(minutes; --size anchor does without) and writes one model file. Answers about\n"
        "times that they have not seen decide who answers. The first 70 % of the time\n"
        "fit, the next 10 % choose, the last 20 % are left for `llapdiff evaluate`\n"
        "(--shares). Prints what was learned: poles, half-lives, periods, weights.",
    .example = "  llapdiff train air.csv --target PM2.5 --context 14d --horizon 48h -o air.safetensors",
    .min_operands = 1,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_train_options, offsetof(OPTIONS, train) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(train_options),
    .run = run,
};
/* clang-format on */
