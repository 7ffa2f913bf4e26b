#include "base/progress.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct llap_bar {
    FILE  *to;
    int    columns; /* 0: silent */
    bool   colour;
    bool   drawn;     /* the cursor stands behind a drawn bar */
    double delay;     /* seconds before a stage is drawn at all */
    double began;     /* of the stage, on the monotonic clock */
    double last;      /* time of the last drawing */
    double base;      /* done when the stage began: work that was resumed does not start at 0 */
    char   stage[64]; /* whose events came last */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

llap_status ll_report(llap_progress progress, const llap_progress_event *event)
{
    if (progress.report == NULL || progress.report(progress.user, event) == 0) return LLAP_OK;
    return ll_fail(LLAP_ECANCELLED, "%s: stopped at %lld of %lld", event->stage,
                   (long long)event->done, (long long)event->total);
}

/* ---- the line ---- */

/* 0.42, 12.3, 123, 12.3k, 4.5M: at most four characters of number. */
static void format_count(double x, char *out, size_t size)
{
    static const char *const prefix[] = { "", "k", "M", "G", "T" };
    size_t                   p = 0;
    while (x >= 999.5 && p + 1 < sizeof prefix / sizeof *prefix) {
        x /= 1000;
        p++;
    }
    const int digits = x >= 99.95 || (p == 0 && x == floor(x)) ? 0 : x >= 9.995 ? 1 : 2;
    snprintf(out, size, "%.*f%s", digits, x, prefix[p]);
}

static void format_seconds(double s, char *out, size_t size)
{
    const long t = s < 1e7 ? lround(s) : 10000000L;
    if (t >= 86400) snprintf(out, size, "%ldd%02ldh", t / 86400, t / 3600 % 24);
    else if (t >= 3600) snprintf(out, size, "%ldh%02ldm", t / 3600, t / 60 % 60);
    else snprintf(out, size, "%ld:%02ld", t / 60, t % 60);
}

/* "  12.3k rows/s  0:42 left  loss 0.3" */
static void format_tail(const llap_progress_event *e, double seconds, char *out, size_t size)
{
    char         number[32], left[32] = "", rate[96] = "";
    const double done = (double)e->done, total = (double)e->total;
    if (done > 0 && seconds > 0) {
        const char *unit = e->unit == NULL ? "" : e->unit;
        format_count(done / seconds, number, sizeof number);
        snprintf(rate, sizeof rate, "  %s%s%s/s", number, strcmp(unit, "B") == 0 ? "" : " ", unit);
        if (total > done) {
            format_seconds(seconds * (total - done) / done, number, sizeof number);
            snprintf(left, sizeof left, "  %s left", number);
        }
    }
    snprintf(out, size, "%s%s%s%s", rate, left, e->note == NULL ? "" : "  ",
             e->note == NULL ? "" : e->note);
}

void ll_bar_line(const llap_progress_event *e, double seconds, int columns, char *out, size_t size)
{
    char         tail[256], bar[64], amount[32];
    const double share =
        e->total > 0 ? fmin(fmax((double)e->done / (double)e->total, 0.0), 1.0) : -1.0;
    format_tail(e, seconds, tail, sizeof tail);
    if (share >= 0) {
        const int room = columns - (int)strlen(e->stage) - (int)strlen(tail) - 10;
        const int width = room > 30 ? 30 : room < 0 ? 0 : room;
        const int full = (int)(share * width);
        bar[0] = '\0';
        if (width >= 4)
            snprintf(bar, sizeof bar, " [%.*s%.*s]", full, "##############################",
                     width - full, "..............................");
        snprintf(amount, sizeof amount, " %3.0f%%", floor(100 * share));
    } else {
        char number[24];
        bar[0] = '\0';
        format_count((double)e->done, number, sizeof number);
        snprintf(amount, sizeof amount, " %s", number);
    }
    snprintf(out, size, "%s%s%s%s", e->stage, bar, amount, tail);
    if (columns > 0 && (size_t)columns < strlen(out)) out[columns] = '\0';
}

/* ---- drawing ---- */

static int bar_report(void *user, const llap_progress_event *e)
{
    llap_bar    *b = user;
    const double t = now();
    if (strncmp(b->stage, e->stage, sizeof b->stage - 1) != 0) { /* a new stage: a new line */
        if (b->drawn) fputc('\n', b->to);
        b->drawn = false;
        snprintf(b->stage, sizeof b->stage, "%s", e->stage);
        b->began = b->last = t;
        b->base = (double)e->done;
    }
    const bool complete = e->total > 0 && e->done >= e->total;
    if (t - b->began < b->delay || (!complete && b->drawn && t - b->last < 0.1)) return 0;
    char line[512];
    /* as if all of it had gone at the pace of what was done here */
    const double done = (double)e->done, fresh = done - b->base;
    const double seconds = (t - b->began) * (fresh > 0 && b->base > 0 ? done / fresh : 1);
    ll_bar_line(e, seconds, b->columns - 1, line, sizeof line);
    fprintf(b->to, "\r%s%s%s\033[K", b->colour ? "\033[36m" : "", line, b->colour ? "\033[0m" : "");
    fflush(b->to);
    b->drawn = true;
    b->last = t;
    return 0;
}

llap_status ll_bar_create_forced(FILE *to, int columns, bool colour, double delay_seconds,
                                 llap_bar **out)
{
    *out = ll_new(1, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    **out = (llap_bar){ .to = to, .columns = columns, .colour = colour, .delay = delay_seconds };
    return LLAP_OK;
}

llap_status llap_bar_create(FILE *to, llap_bar **out)
{
    int         columns = 0;
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    const bool  dumb = term == NULL || strcmp(term, "dumb") == 0;
    if (isatty(fileno(to))) {
        struct winsize w;
        columns = ioctl(fileno(to), TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
    }
    return ll_bar_create_forced(to, columns, !dumb && (no_colour == NULL || *no_colour == '\0'),
                                0.5, out);
}

llap_progress llap_bar_progress(llap_bar *bar)
{
    return (llap_progress){ .report = bar->columns > 0 ? bar_report : NULL, .user = bar };
}

void llap_bar_clear(llap_bar *bar)
{
    if (bar->drawn) fputs("\r\033[K", bar->to);
    bar->drawn = false;
}

void llap_bar_destroy(llap_bar *bar)
{
    if (bar != NULL && bar->drawn) fputc('\n', bar->to);
    ll_free(bar);
}
