/* Finds the format of a column of times by trying: each candidate must read every cell. */
#include "base/error.h"
#include "data/csv/schema.h"
#include "data/text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Day first before month first: where both fit, the one whose times wander less is taken. */
static const char *const dates[] = {
    "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y",  "%m-%d-%Y",
    "%Y/%m/%d", "%Y.%m.%d", "%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%b %d %Y",
    "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%Y-%j",
};
static const char *const clocks[] = {
    "%H:%M:%S", "%H:%M", "%H.%M.%S", "%H.%M", "%I:%M:%S %p", "%I:%M %p", "%H:%M:%S.%f", "%H",
};
static const char *const joints[] = { " ", "T", ", " };
static const char *const packed[] = { "%Y%m%d",        "%Y%m%d%H",        "%Y%m%d%H%M",
                                      "%Y%m%d%H%M%S",  "%Y%m%dT%H%M%S",   "%Y%m%dT%H%M%SZ",
                                      "%Y%m%d %H%M%S", "%Y%m%d %H:%M:%S", "%Y%m%d %H:%M" };

enum {
    N_DATES = sizeof dates / sizeof dates[0],
    N_CLOCKS = sizeof clocks / sizeof clocks[0],
    N_JOINTS = sizeof joints / sizeof joints[0],
    N_PACKED = sizeof packed / sizeof packed[0]
};

/* One column, or two whose cells are joined by a blank. */
typedef struct cells {
    const ll_csv_sample *sample;
    size_t               first, column, second;
    bool                 two;
} cells;

/* The text of a record; false when it is missing. *fits is false when it is too long for a time. */
static bool text_of(const cells *c, size_t record, char out[128], size_t *n, bool *fits)
{
    const ll_csv_field a = ll_csv_cell(c->sample, record, c->column);
    const ll_csv_field b = c->two ? ll_csv_cell(c->sample, record, c->second) : a;
    if (ll_csv_is_missing_word(a) || ll_csv_is_missing_word(b)) return false;
    *fits = a.len < 60 && b.len < 60;
    if (!*fits) return true;
    memcpy(out, a.text, a.len);
    *n = a.len;
    if (c->two) {
        out[(*n)++] = ' ';
        memcpy(out + *n, b.text, b.len);
        *n += b.len;
    }
    out[*n] = '\0';
    return true;
}

/* Whether the format reads every cell, and how far the times wander. */
static bool fits_all(const cells *c, const char *format, const char *unit, double *wander)
{
    ll_clock clock;
    bool     ok = ll_clock_init(&clock, format, unit, NULL) == LLAP_OK, any = false;
    int64_t  before = 0, t;
    *wander = 0;
    for (size_t r = c->first; r < c->sample->n_records && ok; r++) {
        char   text[128];
        size_t n;
        if (!text_of(c, r, text, &n, &ok) || !ok) continue;
        ok = ll_clock_read(&clock, text, n, c->sample->decimal, &t) == LLAP_OK;
        if (ok && any) *wander += fabs((double)t - (double)before);
        before = t;
        any = true;
    }
    ll_clock_deinit(&clock);
    return ok && any;
}

static void take(ll_csv_timeguess *out, const char *format, const char *unit)
{
    snprintf(out->format, sizeof out->format, "%s", format);
    snprintf(out->unit, sizeof out->unit, "%s", unit);
}

/* The first text of the column; false: there is none, or it is too long for a time or without a
 * digit, which every format needs. */
static bool first_text(const cells *c, char text[128])
{
    for (size_t r = c->first; r < c->sample->n_records; r++) {
        size_t n;
        bool   fits;
        if (text_of(c, r, text, &n, &fits)) return fits && strpbrk(text, "0123456789") != NULL;
    }
    return false;
}

/* Whether text and format have the same marks: spares nearly all of the candidates a real try. */
static bool plausible(const char *format, const char *text)
{
    for (const char *mark = "/.:-,"; *mark != '\0'; mark++)
        if ((strchr(format, *mark) != NULL) != (strchr(text, *mark) != NULL)) return false;
    const bool words = strpbrk(text, "abcdefghijlnoprstuvyABCDEFGJLMNOPS") != NULL;
    return words == (strstr(format, "%b") != NULL || strstr(format, "%p") != NULL);
}

/* Takes the candidate if it fits better than the best so far. text is a cell of the column. */
static bool consider(const cells *c, const char *text, const char *format, double *best,
                     ll_csv_timeguess *out)
{
    double wander;
    if (!plausible(format, text) || !fits_all(c, format, NULL, &wander)) return false;
    /* rows in order of time wander many times as far when read the wrong way round; less than twice
     * as far tells nothing */
    const double far = fmax(wander, *best), near = fmin(wander, *best);
    const bool   doubt = *best >= 0 && far <= 2 * near;
    if (*best < 0 || wander < *best) {
        take(out, format, "");
        out->ambiguous = doubt;
        *best = wander;
    } else out->ambiguous = out->ambiguous || doubt;
    return true;
}

/* Dates without marks between their parts. Those of digits only might be mere numbers. */
static bool guess_packed(const cells *c, bool numbers, ll_csv_timeguess *out)
{
    double wander;
    for (size_t i = 0; i < N_PACKED; i++) {
        const bool marked = strpbrk(packed[i], "T ") != NULL;
        if ((!marked && !numbers) || !fits_all(c, packed[i], NULL, &wander)) continue;
        take(out, packed[i], "");
        return true;
    }
    return false;
}

/* Epochs have 9 digits and more: by their size they are s, ms, us or ns. Else a plain number. */
static bool guess_number(const cells *c, ll_csv_timeguess *out)
{
    double least = INFINITY, wander;
    if (!fits_all(c, "number", "ns", &wander)) return false;
    for (size_t r = c->first; r < c->sample->n_records; r++) {
        const ll_csv_field f = ll_csv_cell(c->sample, r, c->column);
        double             x;
        if (ll_number_double(f.text, f.len, c->sample->decimal, &x) == LL_NUMBER_FINITE)
            least = fmin(least, fabs(x));
    }
    if (least < 1e8 || isinf(least)) take(out, "number", "");
    else take(out, "epoch", least < 1e11 ? "s" : least < 1e14 ? "ms" : least < 1e17 ? "us" : "ns");
    return true;
}

static bool guess_date(const cells *c, const char *text, ll_csv_timeguess *out)
{
    double best = -1;
    for (size_t d = 0; d < N_DATES; d++) {
        (void)consider(c, text, dates[d], &best, out);
        for (size_t k = 0; k < N_CLOCKS; k++)
            for (size_t j = 0; j < N_JOINTS; j++) {
                char format[LL_CLOCK_TEXT];
                snprintf(format, sizeof format, "%s%s%s", dates[d], joints[j], clocks[k]);
                if (consider(c, text, format, &best, out)) break;
            }
    }
    return best >= 0;
}

bool ll_csv_guess_time(const ll_csv_sample *sample, size_t first, size_t column, bool numbers,
                       ll_csv_timeguess *out)
{
    const cells c = { sample, first, column, column, false };
    double      wander;
    char        text[128];
    *out = (ll_csv_timeguess){ 0 };
    if (!first_text(&c, text)) return false;
    if (fits_all(&c, "rfc3339", NULL, &wander)) {
        take(out, "rfc3339", "");
        return true;
    }
    if (numbers && fits_all(&c, "elapsed", NULL, &wander)) {
        take(out, "elapsed", "");
        return true;
    }
    if (guess_date(&c, text, out)) return true;
    return guess_packed(&c, numbers, out) || (numbers && guess_number(&c, out));
}

bool ll_csv_guess_date_and_time(const ll_csv_sample *sample, size_t first, size_t date,
                                size_t clock, ll_csv_timeguess *out)
{
    const cells c = { sample, first, date, clock, true };
    double      best = -1;
    char        text[128];
    *out = (ll_csv_timeguess){ 0 };
    if (!first_text(&c, text)) return false;
    for (size_t d = 0; d <= N_DATES; d++)
        for (size_t k = 0; k < N_CLOCKS; k++) {
            char format[LL_CLOCK_TEXT];
            snprintf(format, sizeof format, "%s %s", d < N_DATES ? dates[d] : "%Y%m%d", clocks[k]);
            (void)consider(&c, text, format, &best, out);
        }
    return best >= 0;
}
