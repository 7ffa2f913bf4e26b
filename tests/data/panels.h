/* Small panels from text, and the outside fixtures, for the tests of the data layer. */
#ifndef LLAP_TESTS_DATA_PANELS_H
#define LLAP_TESTS_DATA_PANELS_H

#include "check.h"

#include "data/csv/csv.h"

/* Reads CSV text with the options; the caller owns the panel. */
static inline llap_panel *panel_of_opts(const char *text, const ll_csv_opts *o)
{
    llap_panel *p;
    CHECK_OK(ll_csv_read_memory("t.csv", text, strlen(text), o, &p, NULL));
    CHECK_OK(ll_panel_check(p));
    return p;
}

static inline llap_panel *panel_of(const char *text)
{
    return panel_of_opts(text, &LL_CSV_DEFAULT);
}

/* A file of the data folder; skips the test where there is none. The path is good until the next
 * call. */
static inline const char *data_file(const char *name)
{
    static char path[1024];
    const char *data = getenv("LLAP_DATA");
    if (data == NULL) {
        print_message("LLAP_DATA is not set: skipped\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", data, name);
    return path;
}

/* Loads it; the caller owns the panel. */
static inline llap_panel *panel_of_file(const char *name, const ll_csv_opts *o)
{
    llap_panel *p;
    const char *path = data_file(name);
    CHECK_OK(ll_csv_read(&path, 1, o, &p, NULL));
    CHECK_OK(ll_panel_check(p));
    return p;
}

#endif
