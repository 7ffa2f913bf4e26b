/* Reads CSV text for tests and shows the panel in one line. */
#ifndef LLAP_TESTS_DATA_CSV_TEXT_H
#define LLAP_TESTS_DATA_CSV_TEXT_H

#include "panels.h"

static const int64_t second = 1000000000;

static inline llap_status read_text(const char *text, const ll_csv_opts *o, llap_panel **p,
                                    ll_csv_report *report)
{
    return ll_csv_read_memory("t.csv", text, strlen(text), o, p, report);
}

/* entity@time: values, in one line; times in seconds. */
static inline void show(const llap_panel *p, char *out, size_t room)
{
    size_t at = 0;
    out[0] = '\0';
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e]; r < p->start[e + 1] && at < room; r++) {
            at += (size_t)snprintf(out + at, room - at, "%s%s@%lld:", at == 0 ? "" : " ",
                                   p->entity[e], (long long)(p->time[r] / second));
            for (int64_t v = 0; v < p->n_vars && at < room; v++)
                if (ll_panel_observed(p, r, v))
                    at += (size_t)snprintf(out + at, room - at, "%s%g", v == 0 ? "" : ",",
                                           (double)p->value[r * p->n_vars + v]);
                else at += (size_t)snprintf(out + at, room - at, "%s-", v == 0 ? "" : ",");
        }
}

static inline void expect_opts(const char *text, const ll_csv_opts *o, const char *want)
{
    llap_panel *p = panel_of_opts(text, o);
    char        found[1024];
    show(p, found, sizeof found);
    assert_string_equal(found, want);
    llap_panel_destroy(p);
}

static inline void expect(const char *text, const char *want)
{
    expect_opts(text, &LL_CSV_DEFAULT, want);
}

#endif
