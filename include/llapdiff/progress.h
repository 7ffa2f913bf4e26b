/* Progress of long work, and its cancellation. Long functions take an optional llap_progress in
 * their options and report through it; a non-zero answer stops the work with LLAP_ECANCELLED.
 *
 *     llap_bar *bar = NULL;
 *     llap_bar_create(stderr, &bar);              draws on a terminal, nothing elsewhere
 *     opts.progress = llap_bar_progress(bar);
 *     ...
 *     llap_bar_destroy(bar);                      ends the line */
#ifndef LLAPDIFF_PROGRESS_H
#define LLAPDIFF_PROGRESS_H

#include <llapdiff/status.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_progress_event {
    const char *stage; /* what is being done: "reading", "anchor" */
    int64_t     done;  /* of total, in unit */
    int64_t     total; /* 0 when unknown */
    const char *unit;  /* "rows", "steps"; NULL for none. "B": bytes, shown as kB, MB, GB */
    const char *note;  /* short text such as a loss, or NULL */
} llap_progress_event;

/* Called from the thread that does the work, often: it must be cheap. Non-zero cancels. */
typedef struct llap_progress {
    int (*report)(void *user, const llap_progress_event *event);
    void *user;
} llap_progress;

/* Whether a file is being written at the moment, which a program that ends in the midst of a long
 * step should wait for. May be asked from a signal handler. */
LLAP_API int llap_is_writing(void);

/* A bar with rate and time left, drawn on `to` when that is a terminal; otherwise it stays silent.
 * Work that ends within half a second is never drawn. Colour unless NO_COLOR is set or TERM is
 * "dumb". Caller owns *out; borrows `to` until destroy. */
typedef struct llap_bar llap_bar;

LLAP_API llap_status   llap_bar_create(FILE *to, llap_bar **out);
LLAP_API llap_progress llap_bar_progress(llap_bar *bar); /* borrows bar until destroy */
LLAP_API void          llap_bar_clear(llap_bar *bar);    /* wipes the line, before other output */
LLAP_API void          llap_bar_destroy(llap_bar *bar);  /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
