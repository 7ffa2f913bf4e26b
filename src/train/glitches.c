#include "train/glitches.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "data/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 3 };

/* "65535 at 2024-01-01T00:00:00Z (a)" */
static void show(char *list, size_t room, const llap_panel *p, int64_t e, int64_t row, double y)
{
    const size_t at = strlen(list);
    snprintf(list + at, room - at, "%s%g at %s%s%s%s", at == 0 ? "" : ", ", y,
             ll_clock_show(&p->axis, p->time[row]).text, p->n_entities > 1 ? " (" : "",
             p->n_entities > 1 ? ll_text_show(p->entity[e]).text : "",
             p->n_entities > 1 ? ")" : "");
}

llap_status ll_train_say_glitches(const llap_log *log, const llap_panel *p, int64_t var,
                                  const ll_chain *c)
{
    int64_t longest = 0, found = 0;
    char    list[480] = "";
    for (int64_t e = 0; e < p->n_entities; e++)
        longest = p->start[e + 1] - p->start[e] > longest ? p->start[e + 1] - p->start[e] : longest;
    double *y = ll_new((size_t)longest, sizeof *y);
    bool   *drop = ll_new((size_t)longest, sizeof *drop);
    for (int64_t e = 0; y != NULL && drop != NULL && e < p->n_entities; e++) {
        const int64_t first = p->start[e], n = p->start[e + 1] - first;
        for (int64_t r = 0; r < n; r++)
            y[r] = ll_panel_observed(p, first + r, var)
                       ? (double)p->value[(first + r) * p->n_vars + var]
                       : NAN;
        ll_chain_mark(c, (size_t)e, y, (size_t)n, drop);
        for (int64_t r = 0; r < n; r++)
            if (drop[r] && found++ < SHOWN) show(list, sizeof list, p, e, first + r, y[r]);
    }
    const llap_status st = y == NULL || drop == NULL ? LLAP_ENOMEM : LLAP_OK;
    ll_free(y);
    ll_free(drop);
    if (found > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "%s: readings far from all around them, which count as missing: %lld (%s%s); "
                "`glitches` keep keeps them",
                ll_text_show(p->var[var]).text, (long long)found, list,
                found > SHOWN ? ", ..." : "");
    return st;
}
