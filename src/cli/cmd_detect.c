#include "read.h"

typedef struct detect_options {
    llap_detect_opts ask;
    llap_read_opts   read;
    const char      *plot;
    int              fail;
} detect_options;

#define OPTIONS detect_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, plot, "draw what was read, what was usual, and the alarms: .png, .svg or .pdf"),
    CLI_OWN(FLAG, fail, "exit with 4 where there are alarms"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .table = llap_detect_options, .option = "rate", .letter = 'r', .arg = "SHARE" },
    { .table = llap_detect_options, .option = "from", .arg = "TIME" },
    { .table = llap_detect_options, .option = "only", .arg = "ENTITIES", .joins = true },
    { .table = llap_detect_options, .option = "join", .name = "alarm-gap", .arg = "ROWS" },
    { .option = "fail" },
    { .option = "plot" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const detect_options *o = opts;
    llap_detect_opts      ask = o->ask;
    llap_panel           *panel = NULL;
    llap_model           *model = NULL;
    llap_detection       *found = NULL;
    llap_bar             *bar = NULL;
    char                 *text = NULL;
    ask.log = &common->log;
    ask.rows = o->plot != NULL;
    llap_status st = o->plot != NULL ? llap_plot_can_save(o->plot) : LLAP_OK;
    if (st == LLAP_OK) st = cli_spare("detect", o->plot, n, operands);
    if (st == LLAP_OK) st = cli_open(common, &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) {
        ask.progress = cli_progress(common, &bar);
        st = llap_detect(model, panel, &ask, &found);
        llap_bar_destroy(bar);
    }
    cli_catch_signals();
    if (st == LLAP_OK && o->plot != NULL) st = llap_detection_plot(found, o->plot);
    if (st == LLAP_OK)
        st = common->json ? llap_detection_json(found, &text) : llap_detection_text(found, &text);
    if (st == LLAP_OK) {
        cli_print_text(common, text);
        if (o->fail && llap_detection_about(found)->alarms > 0) cli_exit_code = CLI_ALARMS;
    }
    llap_detection_destroy(found);
    llap_panel_destroy(panel);
    llap_model_destroy(model);
    return st;
}

/* clang-format off */
const cli_command cmd_detect = {
    .name = "detect",
    .operands = "MODEL DATA...",
    .summary = "readings, drifts and silences that are unusual",
    .text =
        "Judges every reading by the law that the model gives of it from what came\n"
        "before, and every series by the run of its readings: unusual (far from its\n"
        "law), drifting (to one side again and again), stuck (equal readings), silent.\n"
        "What is usual is learnt from the rows before --from, so that as many alarms\n"
        "are raised as --rate wants where all is well; how many there were is printed.\n"
        "Alarms that follow one another are one event.",
    .example = "  llapdiff detect air.safetensors air.csv --rate 0.0005 --plot alarms.svg",
    .min_operands = 2,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_detect_options, offsetof(OPTIONS, ask) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(detect_options),
    .run = run,
};
/* clang-format on */
