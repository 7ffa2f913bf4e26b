#include "read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct watch_options {
    llap_detect_opts ask;
    llap_read_opts   read;
    const char      *history, *state, *mqtt;
    int              fail, clock;
} watch_options;

#define OPTIONS watch_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, history, "rows that came before: what is usual is learnt from them"),
    CLI_OWN(FILE, state, "go on from this file, and leave it for the next time"),
    CLI_OWN(TEXT, mqtt, "rows are messages of a broker: mqtt://HOST/ward/#, until a signal ends it"),
    CLI_OWN(FLAG, clock, "times are those of this computer's clock: who is silent is known while no line comes"),
    CLI_OWN(FLAG, fail, "exit with 4 where there were alarms"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .option = "history", .arg = "DATA" },
    { .option = "state" },
    { .option = "mqtt", .arg = "URL" },
    { .table = llap_detect_options, .option = "rate", .letter = 'r', .arg = "SHARE" },
    { .table = llap_detect_options, .option = "join", .name = "alarm-gap", .arg = "ROWS" },
    { .table = llap_detect_options, .option = "late", .arg = "DURATION" },
    { .option = "clock" },
    { .option = "fail" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

enum { WAIT_MS = 500, PAUSE_MS = 2000, SAVE_EVERY_S = 60, ROOM = 1 << 16, LINE_MOST = 2 << 20 };

/* What a run looks at. */
typedef struct watcher {
    const cli_common    *common;
    const watch_options *o;
    llap_stream         *s;
    llap_stream_lines   *lines;
    llap_broker         *broker;                  /* NULL: rows are lines */
    int64_t              newest;                  /* of all entities */
    bool                 any, good, alarms, away; /* away: it was said that the broker is */
    int64_t              bad;
    time_t               saved;
} watcher;

static llap_status print_alarms(watcher *w)
{
    int64_t           n = 0;
    const llap_alarm *a = llap_stream_alarms(w->s, &n);
    llap_status       st = LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) {
        char *text = NULL;
        st = llap_stream_alarm_text(w->s, &a[i], w->common->json, &text);
        if (st == LLAP_OK) puts(text);
        llap_text_free(text);
    }
    if (n > 0) {
        w->alarms = true;
        llap_stream_forget_alarms(w->s);
        fflush(stdout); /* whoever reads a pipe wants it now */
    }
    return st;
}

/* Time has come to the newest row of all, so whoever is behind may be silent. */
static llap_status tick(watcher *w)
{
    int64_t newest;
    if (!llap_stream_newest(w->s, NULL, &newest) || (w->any && newest <= w->newest)) return LLAP_OK;
    w->newest = newest;
    w->any = true;
    return llap_stream_clock(w->s, newest);
}

/* A line that is no row is said and passed over; without a first line nothing can be read. */
static llap_status take_line(watcher *w, const char *text, size_t n)
{
    llap_status st = llap_stream_line(w->lines, text, n);
    if ((st == LLAP_EFORMAT || st == LLAP_ELIMIT || st == LLAP_EINVAL) && w->good) {
        char spelt[CLI_MESSAGE];
        cli_spell(&cmd_watch, llap_error_detail(), spelt, sizeof spelt);
        fprintf(stderr, "warning: %s\n", spelt);
        w->bad++;
        return LLAP_OK;
    }
    w->good = w->good || (st == LLAP_OK && n > 0 && text[0] != '\n' && text[0] != '\r');
    if (st == LLAP_OK) st = tick(w);
    return st == LLAP_OK ? print_alarms(w) : st;
}

static llap_status save(watcher *w, bool now)
{
    const time_t t = time(NULL);
    if (w->o->state == NULL || (!now && t - w->saved < SAVE_EVERY_S)) return LLAP_OK;
    w->saved = t;
    return llap_stream_save(w->s, w->o->state);
}

static llap_status on_idle(watcher *w)
{
    struct timespec t;
    llap_status     st = save(w, false);
    if (st != LLAP_OK || !w->o->clock) return st;
    clock_gettime(CLOCK_REALTIME, &t);
    st = llap_stream_clock(w->s, (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec);
    return st == LLAP_OK ? print_alarms(w) : st;
}

/* Lines of what lies in text[0..n); *taken bytes are done with. */
static llap_status take_lines(watcher *w, const char *text, size_t n, size_t *taken)
{
    llap_status st = LLAP_OK;
    *taken = 0;
    while (st == LLAP_OK) {
        const char *end = memchr(text + *taken, '\n', n - *taken);
        if (end == NULL) break;
        const size_t length = (size_t)(end - (text + *taken)) + 1;
        st = take_line(w, text + *taken, length);
        *taken += length;
    }
    return st;
}

/* What came so far is kept, but the run has failed. */
static void end_early(const char *name, const char *why)
{
    fprintf(stderr, "llapdiff watch: %s: %s\n", name, why);
    cli_exit_code = llap_status_exit_code(LLAP_EIO);
}

/* Reads to the end, or until a signal asks to stop. */
static llap_status read_all(watcher *w, int fd, const char *name)
{
    size_t      room = ROOM, n = 0;
    char       *text = malloc(room);
    llap_status st = text == NULL ? LLAP_ENOMEM : LLAP_OK;
    while (st == LLAP_OK && !cli_stop_asked()) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        const int     ready = poll(&p, 1, WAIT_MS);
        size_t        taken;
        if (ready == 0) st = on_idle(w);
        if (ready <= 0) continue;
        const ssize_t got = read(fd, text + n, room - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) end_early(name, strerror(errno));
        if (got <= 0) break;
        n += (size_t)got;
        st = take_lines(w, text, n, &taken);
        memmove(text, text + taken, n -= taken);
        if (st == LLAP_OK) st = save(w, false);
        if (n < room) continue;
        char *more = room < LINE_MOST ? realloc(text, room *= 2) : NULL;
        if (more == NULL) {
            end_early(name, "a line of over 2 MB");
            n = 0;
            break;
        }
        text = more;
    }
    if (st == LLAP_OK && n > 0 && !cli_stop_asked()) st = take_line(w, text, n);
    free(text);
    return st;
}

/* ---- messages ---- */

static llap_status wait_for_broker(watcher *w)
{
    if (!w->away) fprintf(stderr, "llapdiff watch: %s: trying again\n", llap_error_detail());
    w->away = true;
    for (int ms = 0; ms < PAUSE_MS && !cli_stop_asked(); ms += 100)
        (void)nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
    return LLAP_OK;
}

/* What came is acknowledged when its alarms are printed and its rows are kept. */
static llap_status take_messages(watcher *w)
{
    int64_t     n = 0;
    llap_status st = llap_broker_take(w->broker, WAIT_MS, &n);
    if (st == LLAP_EUNAVAILABLE) return wait_for_broker(w);
    if (st == LLAP_OK) w->away = false;
    if (st == LLAP_OK && n == 0) return on_idle(w);
    if (st == LLAP_OK) st = tick(w);
    if (st == LLAP_OK) st = print_alarms(w);
    if (st == LLAP_OK) st = save(w, true);
    if (st == LLAP_OK) st = llap_broker_acknowledge(w->broker);
    return st == LLAP_EUNAVAILABLE ? wait_for_broker(w) : st;
}

static llap_status read_broker(watcher *w)
{
    llap_broker_counts c;
    llap_status st = llap_broker_open(w->s, w->o->mqtt, w->o->state, &w->common->log, &w->broker);
    while (st == LLAP_OK && !cli_stop_asked()) st = take_messages(w);
    if (w->broker == NULL) return st;
    llap_broker_count(w->broker, &c);
    if (c.refused > 0 && !w->common->quiet)
        fprintf(stderr, "%lld messages were no rows and were passed over\n", (long long)c.refused);
    llap_broker_close(w->broker);
    return st;
}

/* No further run comes that rows could wait for. */
static llap_status settle(watcher *w)
{
    const llap_status st = llap_stream_settle(w->s);
    return st == LLAP_OK ? print_alarms(w) : st;
}

/* From its state, or from its history, or from nothing. */
static llap_status begin(watcher *w, const llap_model *m)
{
    const watch_options *o = w->o;
    llap_stream_opts     how = { .log = &w->common->log };
    llap_detect_opts     ask = o->ask;
    llap_panel          *p = NULL;
    llap_bar            *bar = NULL;
    ask.log = &w->common->log;
    if (o->state != NULL && access(o->state, F_OK) == 0) {
        if (o->history != NULL || ask.rate > 0 || ask.join > 0 || ask.late != NULL)
            return cli_usage("watch",
                             "--state: '%s' is there, and what is usual with it; remove "
                             "it to begin anew",
                             o->state);
        return llap_stream_restore(m, o->state, &how, &w->s);
    }
    llap_read_opts read = o->read;
    char          *path = (char *)o->history;
    read.levels = llap_model_levels(m);
    llap_status st = LLAP_OK;
    if (o->history != NULL) st = cli_read_panel(w->common, &read, 1, &path, &p);
    how.like = p;
    if (st == LLAP_OK) st = llap_stream_create(m, &how, &w->s);
    if (st == LLAP_OK && p != NULL) {
        ask.progress = cli_progress(w->common, &bar);
        st = llap_stream_learn(w->s, p, &ask);
        llap_bar_destroy(bar);
    } else if (st == LLAP_OK) {
        st = llap_stream_judge(w->s, &ask);
    }
    llap_panel_destroy(p);
    return st;
}

static llap_status open_file(const char *name, int *fd)
{
    *fd = open(name, O_RDONLY | O_CLOEXEC);
    if (*fd >= 0) return LLAP_OK;
    fprintf(stderr, "llapdiff watch: %s: %s\n", name, strerror(errno));
    return LLAP_EIO; /* main has nothing to add */
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const char *name = n > 1 ? operands[1] : "-";
    watcher     w = { .common = common, .o = opts, .saved = time(NULL) };
    llap_model *model = NULL;
    int         fd = STDIN_FILENO;
    llap_status st = cli_spare("watch", w.o->state, n, operands);
    if (st == LLAP_OK && w.o->mqtt != NULL && n > 1)
        st = cli_usage("watch", "--mqtt: rows come from the broker, not from '%s'", operands[1]);
    cli_catch_signals();
    if (st == LLAP_OK) st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK && strcmp(name, "-") != 0) st = open_file(name, &fd);
    if (st == LLAP_OK) st = begin(&w, model);
    if (st == LLAP_OK) st = llap_stream_lines_create(w.s, &w.o->read, &w.lines);
    if (st == LLAP_OK) st = w.o->mqtt != NULL ? read_broker(&w) : read_all(&w, fd, name);
    if (st == LLAP_OK && w.o->state == NULL) st = settle(&w);
    if (st == LLAP_OK) st = save(&w, true);
    if (w.bad > 0 && !common->quiet)
        fprintf(stderr, "%lld lines were no rows and were passed over\n", (long long)w.bad);
    if (w.alarms && w.o->fail && cli_exit_code == 0) cli_exit_code = CLI_ALARMS;
    llap_stream_lines_destroy(w.lines);
    llap_stream_destroy(w.s);
    llap_model_destroy(model);
    if (fd > STDIN_FILENO) close(fd);
    return st;
}

/* clang-format off */
const cli_command cmd_watch = {
    .name = "watch",
    .operands = "MODEL [FILE|-]",
    .summary = "alarms about rows as they arrive",
    .text =
        "Reads rows as lines of CSV, the names of columns first, from standard input or\n"
        "a file, and prints a line for each alarm when it begins and when it ends (with\n"
        "--json an object). What is usual is learnt from --history; without it readings\n"
        "are judged by the model's laws alone. A row may come late: it is put in its\n"
        "place, and judged where --late lets the others wait for it; the last ones are\n"
        "judged at the end. With --state nothing is lost between one run and the next,\n"
        "which goes on where it ended, and rows that wait do so until then.\n"
        "Lines that are no rows are said and passed over.\n"
        "With --mqtt rows are messages of a broker, as llapdiff serve takes them\n"
        "(docs/serve.md), acknowledged when their alarms are printed and, with --state,\n"
        "their rows are kept: what comes meanwhile waits at the broker.\n"
        "Exit code 0, with --fail 4 where there were alarms: fit for cron.",
    .example = "  tail -n +1 -f air.csv | llapdiff watch air.safetensors --history past.csv --json -",
    .min_operands = 1,
    .max_operands = 2,
    .rows = rows,
    .own = own,
    .parts = { { llap_detect_options, offsetof(OPTIONS, ask) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(watch_options),
    .run = run,
};
/* clang-format on */
