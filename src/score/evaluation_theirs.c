/* Somebody's forecasts beside the model's. */
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "predict/view/frame.h"
#include "score/evaluation.h"
#include "score/gaps/hidden_gaps.h"

llap_status evaluation_take_theirs(const scoring_input *in, evaluation *e, ll_against *theirs,
                                   ll_forecast_window *list, int64_t *n)
{
    const int64_t all = *n;
    int64_t       kept = 0;
    const int64_t span = e->impute ? ll_hidden_gaps_span(&e->m->frame) : 0;
    llap_status   st = ll_against_init(theirs, e->theirs, e->m, e->panel, span);
    for (int64_t i = 0; st == LLAP_OK && i < all; i++)
        if (ll_against_covers(theirs, &list[i], in)) list[kept++] = list[i];
    if (st != LLAP_OK) return st;
    e->n_uncovered = all - kept;
    *n = kept;
    if (kept == 0) {
        char text[256] = "";
        ll_frame_name_windows(&e->m->frame, &list[0].origin, 1, text, sizeof text);
        return ll_fail(LLAP_EINVAL,
                       "against: %s covers none of the %lld windows: it must answer all values of "
                       "a window%s; `keep` writes what is asked%s",
                       ll_text_show(e->theirs).text, (long long)all, text,
                       e->impute ? "" : ", `stride` 1 asks from every row");
    }
    if (kept < all)
        ll_logf(in->ask.log, LLAP_LOG_WARNING,
                "%s covers %lld of %lld windows: all are scored on these",
                ll_text_show(e->theirs).text, (long long)kept, (long long)all);
    return LLAP_OK;
}
