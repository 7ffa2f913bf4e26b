/* A made-up panel from file to forecast, with a report to look at. Like every command it uses the
 * public library alone, so it works wherever the program does. */
#include "demo_page.h"
#include "read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct demo_options {
    llap_train_opts train; /* seed and device of everything */
    int             size;
    int64_t         rows;
} demo_options;

enum { SIZE_TINY = 1, SIZE_ANCHOR };

#define OPTIONS demo_options
/* clang-format off */
static const char *const sizes[] = { "", [SIZE_TINY] = "tiny", [SIZE_ANCHOR] = "anchor", NULL };

static const llap_option own[] = {
    CLI_OWN_WORD(size, "tiny", sizes,
         "what to train: a small network too, half a minute, or the anchor alone, seconds"),
    CLI_OWN_INTEGER(rows, "5000", 400, 100000, "hourly rows of a station"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .option = "size" },
    { .option = "rows" },
    { 0 },
};
/* clang-format on */

static const char target[] = "temperature (degC)";

typedef struct demo {
    const cli_common *common;
    const char       *folder;
    llap_panel       *panel;
    llap_model       *model;
    char             *about, *scores, *json; /* json: the scores too */
    bool              pictures;
    bool              alone; /* the anchor is */
    llap_train_opts   how;   /* with the seed and device of everything */
    int64_t           rows;
    char              at[64];   /* from where it forecasts */
    char              seed[40]; /* " --seed 7" of the report's commands, where one was given */
} demo;

enum { STATIONS = 5, STEPS = 700, PATHS = 1000 };

static const char *in_folder(const demo *d, const char *name)
{
    static char path[8][4096];
    static int  turn;
    char       *p = path[turn = (turn + 1) % 8];
    snprintf(p, sizeof path[0], "%s/%s", d->folder, name);
    return p;
}

static llap_status make_folder(const char *folder)
{
    struct stat s;
    if (mkdir(folder, 0777) == 0) return LLAP_OK;
    const bool there = errno == EEXIST;
    if (there && stat(folder, &s) == 0 && S_ISDIR(s.st_mode)) return LLAP_OK;
    fprintf(stderr, "llapdiff demo: %s: %s\n", folder,
            there ? "is a file, expected a folder" : strerror(errno));
    return LLAP_EIO;
}

static bool has_pictures(void)
{
    const llap_feature *f = NULL;
    const size_t        n = llap_features(&f);
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, "pictures") == 0) return f[i].enabled != 0;
    return false;
}

/* From here on everything is as the commands of the report find it: in the file. */
static llap_status make_data(demo *d)
{
    const llap_synth_sizes made = {
        .entities = STATIONS, .rows = d->rows, .seed = d->how.seed, .kind = LLAP_SYNTH_KIND_WEATHER
    };
    const char          *file = in_folder(d, "weather.csv");
    const llap_read_opts as_it_is = { 0 };
    llap_panel          *panel = NULL;
    llap_status          st = llap_panel_synth(&made, &panel);
    if (st == LLAP_OK) st = llap_panel_write(panel, file);
    llap_panel_destroy(panel);
    if (st == LLAP_OK) st = llap_panel_read(&file, 1, &as_it_is, &d->panel);
    if (st == LLAP_OK) st = llap_panel_inspect(d->panel, 0, &d->about);
    if (st == LLAP_OK && d->pictures) st = llap_panel_plot(d->panel, in_folder(d, "coverage.svg"));
    return st;
}

static llap_status learn(demo *d)
{
    llap_bar       *bar = NULL;
    llap_train_opts how = d->how;
    how.target = target;
    how.context = "7d";
    how.horizon = "24h";
    how.size = d->alone ? LLAP_TRAIN_SIZE_ANCHOR : LLAP_TRAIN_SIZE_TINY;
    if (!d->alone)
        how.steps = STEPS; /* of the network: about where it has understood the pressure */
    how.history = in_folder(d, "train.log");
    how.progress = cli_progress(d->common, &bar);
    llap_status st = llap_train(d->panel, &how, &d->model);
    llap_bar_destroy(bar);
    if (st == LLAP_OK) st = llap_model_save(d->model, in_folder(d, "weather.safetensors"));
    return st;
}

/* From a day before the end, so that one sees what came. */
static llap_status forecast(demo *d)
{
    llap_panel_sizes   size;
    llap_forecast_opts ask = { .seed = d->how.seed, .device = d->how.device };
    llap_answer       *a = NULL;
    llap_bar          *bar = NULL;
    llap_panel_size(d->panel, &size);
    const time_t t = (time_t)(size.last / 1000000000) - 86400;
    struct tm    parts;
    gmtime_r(&t, &parts);
    strftime(d->at, sizeof d->at, "%Y-%m-%dT%H:%M:%SZ", &parts);
    ask.at = d->at;
    ask.samples = PATHS; /* so that the bands are smooth */
    ask.progress = cli_progress(d->common, &bar);
    llap_status st = llap_forecast(d->model, d->panel, &ask, &a);
    llap_bar_destroy(bar);
    if (st == LLAP_OK) st = llap_answer_write(a, in_folder(d, "forecast.csv"));
    if (st == LLAP_OK && d->pictures)
        st = llap_answer_plot(a, d->panel, in_folder(d, "forecast.svg"));
    llap_answer_destroy(a);
    return st;
}

static llap_status impute(demo *d)
{
    llap_impute_opts ask = { .seed = d->how.seed,
                             .device = d->how.device,
                             .precision = d->how.precision };
    const char      *file = in_folder(d, "weather.csv");
    llap_read_opts   read = { .grid = "1h" }; /* so that lost rows are rows again */
    llap_panel      *grid = NULL;
    llap_answer     *a = NULL;
    llap_bar        *bar = NULL;
    llap_status      st = llap_panel_read(&file, 1, &read, &grid);
    ask.progress = cli_progress(d->common, &bar);
    if (st == LLAP_OK) st = llap_impute(d->model, grid, &ask, &a);
    llap_bar_destroy(bar);
    if (st == LLAP_OK) st = llap_answer_write(a, in_folder(d, "filled.csv"));
    if (st == LLAP_OK && d->pictures) st = llap_answer_plot(a, grid, in_folder(d, "filled.svg"));
    llap_answer_destroy(a);
    llap_panel_destroy(grid);
    return st;
}

static llap_status evaluate(demo *d)
{
    llap_bar          *bar = NULL;
    llap_evaluate_opts how = { .seed = d->how.seed, .device = d->how.device };
    how.progress = cli_progress(d->common, &bar);
    llap_status st = llap_evaluate(d->model, d->panel, &how, &d->scores, &d->json);
    llap_bar_destroy(bar);
    if (st == LLAP_OK && d->pictures)
        st = llap_plot_scores(d->json, in_folder(d, "calibration.svg"));
    return st;
}

enum { PARTS = 6, TEXT = 1024 };

/* What a part of the report says: commands that make its picture, given the folder, and words. */
static void write_texts(const demo *d, char text[PARTS][TEXT])
{
    const char *seed = d->seed;
    snprintf(text[0], TEXT,
             "<code>llapdiff synth --kind weather --entities %d --rows %lld%s -o weather.csv</code>"
             "<br><code>llapdiff inspect weather.csv --plot coverage.svg</code>",
             STATIONS, (long long)d->rows, seed);
    int n = snprintf(text[1], TEXT,
                     "<code>llapdiff train weather.csv --target '%s' --context 7d --horizon 24h "
                     "--size %s --log train.log%s",
                     target, d->alone ? "anchor" : "tiny", seed);
    if (!d->alone) n += snprintf(text[1] + n, TEXT - (size_t)n, " --steps %d", STEPS);
    snprintf(text[1] + n, TEXT - (size_t)n,
             " -o weather.safetensors</code><br><code>llapdiff plot train.log -o training.svg"
             "</code><br>The anchor first, the one of those tried that validation likes best%s.",
             d->alone ? ""
                      : ", then a small network on what it leaves, if validation is better for it");
    snprintf(text[2], TEXT,
             "<code>llapdiff forecast weather.safetensors weather.csv --at %s --samples %d%s "
             "--plot forecast.svg -o forecast.csv</code><br>A day ahead, made a day before the "
             "record ends, so that what came (orange) can be seen.",
             d->at, PATHS, seed);
    snprintf(text[3], TEXT,
             "<code>llapdiff impute weather.safetensors weather.csv --grid 1h%s --plot filled.svg "
             "-o filled.csv</code>",
             seed);
    snprintf(text[4], TEXT,
             "<code>llapdiff evaluate weather.safetensors weather.csv%s --plot calibration.svg"
             "</code><br>On times that training has not seen, beside what any model has to beat.",
             seed);
    snprintf(text[5], TEXT,
             "<code>llapdiff poles weather.safetensors --plot poles.svg</code><br>The half-lives "
             "and periods behind the forecasts.");
}

static llap_status report(const demo *d)
{
    static const char *const title[PARTS] = { "The data",        "Training",
                                              "What comes next", "What was missing",
                                              "Is it any good?", "What was learned" };
    static const char *const name[PARTS] = { "coverage.svg", "training.svg",    "forecast.svg",
                                             "filled.svg",   "calibration.svg", "poles.svg" };
    char                     path[PARTS][4096], text[PARTS][TEXT];
    demo_part                part[PARTS];
    const llap_pole_opts     poles = { 0 };
    llap_status              st = LLAP_OK;
    write_texts(d, text);
    for (int i = 0; i < PARTS; i++) {
        snprintf(path[i], sizeof path[i], "%s", in_folder(d, name[i]));
        part[i] = (demo_part){ .title = title[i],
                               .text = text[i],
                               .svg = d->pictures ? path[i] : NULL,
                               .table = i == 0   ? d->about
                                        : i == 4 ? d->scores
                                                 : NULL };
    }
    if (d->pictures) st = llap_model_poles_plot(d->model, NULL, &poles, path[5]);
    if (d->pictures && st == LLAP_OK) st = llap_plot_log(in_folder(d, "train.log"), path[1]);
    if (st == LLAP_OK) st = demo_page_write(in_folder(d, "report.html"), part, PARTS);
    return st;
}

/* The line of the table with the least CRPS among the opponents, the anchor not counted; NULL:
 * none. */
static const char *best_opponent(const char *s)
{
    const char *best = NULL;
    double      least = HUGE_VAL;
    for (; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
        char   name[64];
        double crps;
        if (s[0] != ' ' || sscanf(s, " %63s %lf", name, &crps) != 2) continue;
        if (strcmp(name, "model") == 0 || strcmp(name, "anchor") == 0 || crps >= least) continue;
        least = crps;
        best = s;
    }
    return best;
}

/* The line that starts with these words behind the end of another; NULL: none. */
static const char *line_of(const char *table, const char *start)
{
    const char *at = strstr(table, start);
    return at == NULL ? NULL : at + 1;
}

static void print_line(const char *before, const char *line)
{
    if (line != NULL) printf("%-10s%.*s\n", before, (int)strcspn(line, "\n"), line);
}

/* Scores and where everything is, in ten lines. */
static void summary(const demo *d, double seconds)
{
    llap_panel_sizes size;
    llap_panel_size(d->panel, &size);
    printf("data      %lld rows of %lld weather stations, with jitter, holes and a dead one (seed "
           "%s)\n",
           (long long)size.rows, (long long)size.entities, cli_seed(llap_train_options(), &d->how));
    const char *header = strchr(d->scores, '\n');
    print_line("scores", d->scores);
    print_line("", header == NULL ? NULL : header + 1);
    print_line("", line_of(d->scores, "\n  model "));
    print_line("", line_of(d->scores, "\n  anchor "));
    print_line("", best_opponent(d->scores));
    printf("tables    %s, filled.csv\n", in_folder(d, "forecast.csv"));
    printf("model     %s\n", in_folder(d, "weather.safetensors"));
    printf("time      %.0f seconds\n", seconds);
    printf("report    %s\n", in_folder(d, "report.html"));
}

static void summary_json(const demo *d, double seconds)
{
    printf("{\"report\": ");
    cli_json_string(in_folder(d, "report.html"));
    printf(", \"seconds\": %.1f, \"seed\": %s, \"scores\": %s}\n", seconds,
           cli_seed(llap_train_options(), &d->how), d->json);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const double start = now();
    demo_options o;
    if (llap_options_resolve(own, opts, &o, sizeof o) != LLAP_OK) return LLAP_EOPTION;
    demo d = { .common = common,
               .folder = n > 0 ? operands[0] : "llapdiff-demo",
               .alone = o.size == SIZE_ANCHOR,
               .rows = o.rows,
               .how = o.train };
    if (llap_option_given(llap_option_find(llap_train_options(), "seed"), &o.train))
        snprintf(d.seed, sizeof d.seed, " --seed %s", cli_seed(llap_train_options(), &o.train));
    llap_status st = make_folder(d.folder);
    if (st != LLAP_OK) return st;
    d.pictures = has_pictures();
    cli_catch_signals();
    st = make_data(&d);
    if (st == LLAP_OK) st = learn(&d);
    if (st == LLAP_OK) st = forecast(&d);
    if (st == LLAP_OK) st = impute(&d);
    if (st == LLAP_OK) st = evaluate(&d);
    if (st == LLAP_OK) st = report(&d);
    if (st == LLAP_OK && common->json) summary_json(&d, now() - start);
    if (st == LLAP_OK && !common->json) summary(&d, now() - start);
    llap_text_free(d.about);
    llap_text_free(d.scores);
    llap_text_free(d.json);
    llap_model_destroy(d.model);
    llap_panel_destroy(d.panel);
    return st;
}

/* clang-format off */
const cli_command cmd_demo = {
    .name = "demo",
    .operands = "[FOLDER]",
    .summary = "the whole way on made-up data, with a report",
    .text =
        "Makes up an irregular panel of weather stations, trains, forecasts, fills gaps, scores\n"
        "beside opponents, draws, and writes report.html with everything inside into\n"
        "FOLDER (default llapdiff-demo), beside the files themselves.",
    .example = "  llapdiff demo && xdg-open llapdiff-demo/report.html",
    .max_operands = 1,
    .rows = rows,
    .own = own,
    .parts = { { llap_train_options, offsetof(OPTIONS, train) } },
    .options_size = sizeof(demo_options),
    .run = run,
};
/* clang-format on */
