/* Requests of the page, and the data that it would drop. */
#ifndef LLAP_TESTS_SERVE_PAGE_H
#define LLAP_TESTS_SERVE_PAGE_H

#include "world.h"

static const char csv_type[] = "Content-Type: text/csv\r\n";

static inline reply get(int port, const char *path) { return ask(port, "GET", path, "", NULL, 0); }

static inline reply put_data(int port, const char *path)
{
    return ask(port, "PUT", path, csv_type, w.csv, w.n_csv);
}

/* With the token of the page. */
static inline reply as_page(const llap_server *s, const char *method, const char *path)
{
    char page[256], header[512];
    assert_true(llap_server_page(s, page, sizeof page) < sizeof page);
    const char *token = strstr(page, "#token=");
    assert_non_null(token);
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token + 7);
    return ask(llap_server_port(s), method, path, header, strcmp(method, "POST") == 0 ? "" : NULL,
               0);
}

static inline llap_panel *the_panel(void)
{
    llap_panel *p = NULL;
    CHECK_OK(llap_panel_read_memory("data", w.csv, w.n_csv, &(llap_read_opts){ 0 }, &p));
    return p;
}

#endif
