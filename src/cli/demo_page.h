/* The demo's report: one HTML file with the pictures inside. */
#ifndef LL_CLI_DEMO_PAGE_H
#define LL_CLI_DEMO_PAGE_H

#include "cli.h"

typedef struct demo_part {
    const char *title, *text; /* text: a sentence or two of HTML */
    const char *svg;          /* file of the picture, or NULL */
    const char *table;        /* plain text, or NULL */
} demo_part;

/* Replaces the file as a whole. LLAP_EIO after saying why. */
llap_status demo_page_write(const char *path, const demo_part *part, int n);

#endif
