/* src/page: files that a server hands out from memory: the page at "/".
 *
 *   page.c    their list
 *
 * May touch: nothing. */
#ifndef LL_PAGE_PAGE_H
#define LL_PAGE_PAGE_H

#include <stddef.h>

/* A file. The server adds what every one has: ETag, Content-Security-Policy (nothing but this
 * server's own scripts, styles, images and answers), no sniffing of types. */
typedef struct ll_page {
    const char *path;  /* "/", "/page.js"; NULL ends the list */
    const char *type;  /* "text/html; charset=utf-8" */
    const void *bytes; /* static */
    size_t      n;
} ll_page;

extern const ll_page ll_pages[];

#endif
