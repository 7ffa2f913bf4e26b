/* Reporting progress: one line in a loop,
 *
 *     st = ll_report(opts->progress, &(llap_progress_event){ "fit", i, n, "steps", NULL });
 *
 * LLAP_ECANCELLED when the caller wants to stop. progress->report may be NULL. The line itself is a
 * pure function of the event and two clocks, so that it can be tested. */
#ifndef LL_BASE_PROGRESS_H
#define LL_BASE_PROGRESS_H

#include <llapdiff/progress.h>
#include <stdbool.h>
#include <stddef.h>

llap_status ll_report(llap_progress progress, const llap_progress_event *event);

/* The bar's text for at most `columns` columns, `seconds` after the stage began. ASCII but for the
 * event's own texts; no line end, no colour. */
void ll_bar_line(const llap_progress_event *event, double seconds, int columns, char *out,
                 size_t size);

/* As llap_bar_create on a stream treated as a terminal of that width (tests). */
llap_status ll_bar_create_forced(FILE *to, int columns, bool colour, double delay_seconds,
                                 llap_bar **out);

#endif
