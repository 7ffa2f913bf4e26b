/* The seasons of the seasonal opponents. */
#include "base/error.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "predict/view/span.h"
#include "score/opponents.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void add(ll_seasons *out, const char *text, int64_t ticks)
{
    assert(out->n < LL_SEASONS && ticks > 0);
    snprintf(out->name[out->n], LL_SEASON_NAME, "seasonal_%s", text);
    out->ticks[out->n++] = ticks;
}

/* What calendars have, where steps are short enough to see it. */
static void add_usual(const ll_model_frame *frame, ll_seasons *out)
{
    if (frame->axis != LL_AXIS_CALENDAR) return;
    if (frame->step <= 12 * LL_NS_PER_HOUR) add(out, "24h", LL_NS_PER_DAY);
    if (frame->step <= LL_NS_PER_DAY) add(out, "7d", 7 * LL_NS_PER_DAY);
}

static llap_status add_given(const char *text, const ll_model_frame *frame, const ll_axis *axis,
                             ll_seasons *out)
{
    int64_t           ticks;
    const llap_status st = ll_span_parse("season", text, axis, frame->step, &ticks);
    if (st != LLAP_OK) return st;
    if (out->n == LL_SEASONS) return ll_fail(LLAP_EOPTION, "season: more than %d", LL_SEASONS);
    if (ticks < frame->step)
        return ll_fail(LLAP_EOPTION, "season: '%s' is shorter than a step of the data",
                       ll_text_show(text).text);
    for (int i = 0; i < out->n; i++)
        if (out->ticks[i] == ticks)
            return ll_fail(LLAP_EOPTION, "season: '%s' is there twice", ll_text_show(text).text);
    add(out, text, ticks);
    return LLAP_OK;
}

llap_status ll_seasons_parse(const char *text, const ll_model_frame *frame, const ll_axis *axis,
                             ll_seasons *out)
{
    enum { LONGEST = LL_SEASON_NAME - (int)sizeof "seasonal_" };
    *out = (ll_seasons){ 0 };
    if (text == NULL) {
        add_usual(frame, out);
        return LLAP_OK;
    }
    llap_status st = LLAP_OK;
    for (const char *from = text;; from++) {
        char         one[LONGEST + 1];
        const size_t n = strcspn(from, ",");
        if (n > LONGEST)
            return ll_fail(LLAP_EOPTION, "season: expected spans such as 24h,7d, found '%s'",
                           ll_text_show(text).text);
        memcpy(one, from, n);
        one[n] = '\0';
        st = add_given(one, frame, axis, out);
        from += n;
        if (st != LLAP_OK || *from == '\0') return st;
    }
}

llap_status ll_seasons_check(const ll_seasons *s, const ll_model_frame *frame, const llap_panel *p)
{
    uint64_t span = 0; /* of the entity that was watched longest */
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t first = p->start[e], end = p->start[e + 1];
        if (end == first) continue;
        const uint64_t own = ll_elapsed(p->time[first], p->time[end - 1]);
        span = own > span ? own : span;
    }
    for (int i = 0; i < s->n; i++)
        if ((uint64_t)s->ticks[i] > span)
            return ll_fail(
                LLAP_EOPTION, "season: '%s' is longer than the data, which spans %s",
                s->name[i] + strlen("seasonal_"),
                ll_span_list_of(frame, &(double){ (double)span / (double)frame->unit }, 1).text);
    return LLAP_OK;
}
