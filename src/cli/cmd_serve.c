#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

/* clang-format off */
#define SERVE(name, letter_, arg_) { .table = llap_serve_options, .option = name, .letter = letter_, .arg = arg_ }
static const cli_row rows[] = {
    SERVE("address", 0, "ADDRESS"),
    SERVE("port", 'p', "PORT"),
    SERVE("tokens", 0, "FILE"),
    SERVE("insecure", 0, NULL),
    SERVE("certificate", 0, "FILE"),
    SERVE("key", 0, "FILE"),
    SERVE("store", 0, "FILE|URL"),
    SERVE("keep", 0, "DURATION"),
    SERVE("page", 0, NULL),
    SERVE("mqtt", 0, "URL"),
    SERVE("max_body", 0, "MB"),
    SERVE("max_upload", 0, "MB"),
    SERVE("max_header", 0, "KB"),
    SERVE("max_rows", 0, "N"),
    SERVE("max_series", 0, "N"),
    SERVE("max_memory", 0, "MB"),
    SERVE("max_seconds", 0, "S"),
    SERVE("max_requests", 0, "N"),
    SERVE("max_connections", 0, "N"),
    SERVE("patience", 0, "S"),
    SERVE("workers", 0, "N"),
    SERVE("max_job_seconds", 0, "S"),
    { 0 },
};
/* clang-format on */

static volatile sig_atomic_t reload_asked;

static void on_hangup(int number)
{
    (void)number;
    reload_asked = 1;
}

/* One line each, in one piece. */
static void write_line(void *user, llap_log_level level, const char *line)
{
    (void)level;
    fprintf(user, "%s\n", line);
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    llap_serve_opts  o = *(const llap_serve_opts *)opts;
    const llap_log   log = { .level = common->log.level, .sink = write_line, .user = stderr };
    llap_server     *s = NULL;
    struct sigaction hangup = { .sa_handler = on_hangup, .sa_flags = SA_RESTART };
    o.log = &log;
    cli_catch_signals();
    sigemptyset(&hangup.sa_mask);
    sigaction(SIGHUP, &hangup, NULL);
    signal(SIGPIPE, SIG_IGN); /* a client that went away is no reason to go */
    cli_open_many_files();
    llap_status st = llap_server_start((const char *const *)operands, (size_t)n, &o, &s);
    if (st == LLAP_OK) {
        char page[512];
        (void)llap_server_page(s, page, sizeof page);
        printf("%d\n", llap_server_port(s)); /* for whoever asked for any */
        if (o.page) printf("%s\n", page);
        fflush(stdout);
        cli_notify("READY=1");
    }
    while (st == LLAP_OK && !cli_stop_asked()) {
        (void)nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
        if (!reload_asked) continue;
        reload_asked = 0;
        (void)llap_server_reload(s); /* what is wrong is in the log */
    }
    cli_notify("STOPPING=1");
    llap_server_stop(s);
    return st;
}

/* clang-format off */
const cli_command cmd_serve = {
    .name = "serve",
    .operands = "[MODEL...]",
    .summary = "answer over HTTP",
    .text =
        "Serves trained models: POST /v1/models/NAME/forecast, impute or detect with data\n"
        "as CSV or JSON (gzip too) gives what the program gives for it, as JSON or CSV.\n"
        "NAME is the file's without folder and .safetensors, or as NAME=FILE says. With\n"
        "--store POST /v1/streams/NAME/readings takes readings as they arrive, answered\n"
        "when they are durable, and GET .../forecast, history and events tell of them;\n"
        "--mqtt takes them from a broker too.\n"
        "/openapi.json lists everything, /metrics counts it, /v2/health/ready says that\n"
        "it is there. Listens on this machine alone unless --tokens says who else may\n"
        "come. Prints its port, and a JSON line for each request on standard error. At /\n"
        "is a page for browsers: data dropped there, training, charts, live streams; with\n"
        "--page its address is printed too, with a token that may train.\n"
        "SIGTERM ends it when what came is answered, SIGHUP reads tokens and certificate\n"
        "again.",
    .example = "  llapdiff serve air.safetensors --port 8080\n"
               "  curl --data-binary @air.csv -H 'Content-Type: text/csv' \\\n"
               "    'http://127.0.0.1:8080/v1/models/air/forecast?horizon=48h'",
    .min_operands = 0,
    .max_operands = -1,
    .rows = rows,
    .parts = { { llap_serve_options, 0 } },
    .options_size = sizeof(llap_serve_opts),
    .run = run,
};
/* clang-format on */
