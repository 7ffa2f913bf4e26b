/* src/page: files that a server hands out from memory: the page at "/".
 *
 *   index.html   its frame; page.css how it looks; icon.svg
 *   main.js      views, token, light and dark
 *   data.js      a file that is dropped: how it was understood, training
 *   model.js     a model: forecasts, poles, scores
 *   live.js      a stream: small multiples, alarms as they come
 *   chart.js     a series with zoom and pan, by dygraphs; fan.js draws it, plots.js draws the rest
 *   api.js       requests to the server; dom.js elements, numbers, tables
 *   embed.cmake  makes their list in C when the library is built
 *
 * May touch: nothing. */
#ifndef LL_PAGE_PAGE_H
#define LL_PAGE_PAGE_H

#include <stddef.h>

/* A file. The server adds what every one has: ETag, Content-Security-Policy (nothing but this
 * server's own scripts, styles, images and answers), no sniffing of types. */
typedef struct ll_page {
    const char *path;  /* "/", "/main.js"; NULL ends the list */
    const char *type;  /* "text/html; charset=utf-8" */
    const void *bytes; /* static */
    size_t      n;
} ll_page;

extern const ll_page ll_pages[];

#endif
