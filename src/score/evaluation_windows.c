#include "base/file.h"
#include "data/clock.h"
#include "predict/forecaster.h"
#include "predict/tables/answer.h"
#include "score/evaluation.h"

#include <assert.h>

static void put_header(FILE *f, const evaluation *e)
{
    fputs("entity,origin,variable,values", f);
    for (int i = 0; i < e->n; i++) fprintf(f, ",%s_crps,%s_mse", e->name[i], e->name[i]);
    fputc('\n', f);
}

static llap_status put_windows(FILE *f, const evaluation *e, const ll_forecast_window *w,
                               const ll_clock_writer *clock)
{
    const scoring *s = &e->s;
    assert(s->window != NULL);
    for (int64_t at = 0; at < s->n_windows; at++)
        for (int64_t k = 0; k < s->n_targets; k++) {
            char         time[LL_TIMEFMT_TEXT_MAX];
            size_t       n = 0;
            const double values = scoring_window(s, 0, k, at)->n;
            if (values == 0) continue;
            const llap_status st = ll_clock_write(clock, w[at].origin, time, &n);
            if (st != LLAP_OK) return st;
            ll_csv_put_field(f, e->panel->entity[w[at].entity]);
            fprintf(f, ",%.*s,", (int)n, time);
            ll_csv_put_field(f, e->m->frame.target[k]);
            fprintf(f, ",%.0f", values);
            for (int i = 0; i < e->n; i++) {
                const scoring_sum *x = scoring_window(s, i, k, at);
                assert(x->n == values);
                fprintf(f, ",%.9g,%.9g", x->z.crps / x->n, x->z.se / x->n);
            }
            fputc('\n', f);
        }
    return LLAP_OK;
}

llap_status evaluation_windows(const evaluation *e, const ll_forecast_window *w, const char *path)
{
    ll_clock_writer clock;
    ll_writer       out = { 0 };
    llap_status     st = ll_clock_writer_init(&clock, &e->panel->axis);
    if (st == LLAP_OK) st = ll_writer_open(path, &out);
    if (st == LLAP_OK) {
        put_header(out.stream, e);
        st = put_windows(out.stream, e, w, &clock);
    }
    if (st == LLAP_OK) st = ll_writer_commit(&out);
    ll_writer_abort(&out);
    ll_clock_writer_deinit(&clock);
    return st;
}
