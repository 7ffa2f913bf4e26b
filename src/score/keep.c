#include "score/keep.h"

#include "base/alloc.h"
#include "base/text.h"
#include "predict/tables/answer.h"
#include "score/metric.h"

#include <assert.h>
#include <math.h>

static void put_number(FILE *f, double x)
{
    char text[LL_DOUBLE_TEXT];
    fputc(',', f);
    if (isnan(x)) return;
    ll_text_double(x, text);
    fputs(text, f);
}

static void put_header(const ll_keep *k)
{
    FILE *f = k->out.stream;
    fputs(k->what == LL_KEEP_GAPS ? "entity,time,variable,truth"
                                  : "entity,origin,time,variable,truth",
          f);
    fputs(k->what == LL_KEEP_SAMPLES ? ",sample,value" : ",mean", f);
    for (int i = 0; i < k->n_levels; i++) {
        char text[LL_DOUBLE_TEXT];
        ll_text_double(k->level[i], text);
        fprintf(f, ",q%s", text);
    }
    fputc('\n', f);
}

llap_status ll_keep_open(ll_keep *k, const llap_model *m, const llap_panel *panel, const char *path,
                         ll_keep_what what)
{
    *k = (ll_keep){ .m = m, .panel = panel, .what = what };
    llap_status st =
        what == LL_KEEP_SAMPLES ? LLAP_OK : ll_quantiles_parse(NULL, k->level, &k->n_levels);
    if (st == LLAP_OK) st = ll_clock_writer_init(&k->clock, &panel->axis);
    if (st == LLAP_OK) st = ll_writer_open(path, &k->out);
    if (st == LLAP_OK) put_header(k);
    return st;
}

static llap_status put_time(const ll_keep *k, int64_t time)
{
    char              text[LL_TIMEFMT_TEXT_MAX];
    size_t            n = 0;
    const llap_status st = ll_clock_write(&k->clock, time, text, &n);
    if (st == LLAP_OK) fprintf(k->out.stream, ",%.*s", (int)n, text);
    return st;
}

/* Entity, origin, time, variable and truth. */
static llap_status put_place(const ll_keep *k, const ll_forecast_window *w, int64_t q,
                             int64_t target, double truth)
{
    FILE       *f = k->out.stream;
    llap_status st = LLAP_OK;
    ll_csv_put_field(f, k->panel->entity[w->entity]);
    if (k->what != LL_KEEP_GAPS) st = put_time(k, w->origin);
    if (st == LLAP_OK) st = put_time(k, w->time[q]);
    fputc(',', f);
    ll_csv_put_field(f, k->m->frame.target[target]);
    put_number(f, truth);
    return st;
}

llap_status ll_keep_cell(ll_keep *k, int64_t entity, int64_t row, int64_t var)
{
    const llap_panel *p = k->panel;
    FILE             *f = k->out.stream;
    assert(k->what == LL_KEEP_GAPS && row >= p->start[entity] && row < p->start[entity + 1]);
    ll_csv_put_field(f, p->entity[entity]);
    const llap_status st = put_time(k, p->time[row]);
    fputc(',', f);
    ll_csv_put_field(f, p->var[var]);
    put_number(f, (double)p->value[row * p->n_vars + var]);
    for (int i = 0; i <= k->n_levels; i++) fputc(',', f);
    fputc('\n', f);
    return st;
}

/* Mean and quantiles of the members of a query, as they are scored. */
static void put_quantiles(const ll_keep *k, const ll_forecast_members *a, int64_t q, int64_t h)
{
    int64_t    n = 0;
    const bool drawn = a->drawn && (a->law == NULL || !a->law[q]);
    for (int64_t i = 0; i < a->n; i++) {
        const double x = a->value[a->constant ? i : i * h + q];
        if (!isnan(x)) k->x[n++] = x;
    }
    metric_sort(k->x, n);
    put_number(k->out.stream, n == 0 ? (double)NAN : metric_mean(k->x, n));
    for (int i = 0; i < k->n_levels; i++) {
        double x = n == 0 ? (double)NAN : metric_quantile(k->x, n, k->level[i], drawn);
        if (n > 0 && isnan(x)) x = k->x[k->level[i] < 0.5 ? 0 : n - 1]; /* as far as they reach */
        put_number(k->out.stream, x);
    }
    fputc('\n', k->out.stream);
}

static llap_status put_window(const ll_keep *k, const ll_forecast_window *w,
                              const ll_forecast_members *a, int64_t target, const double *truth)
{
    const int64_t n = k->what == LL_KEEP_SAMPLES ? a->n : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < w->n_query; q++) {
            if (k->what == LL_KEEP_GAPS && isnan(truth[q])) continue;
            const llap_status st = put_place(k, w, q, target, truth[q]);
            if (st != LLAP_OK) return st;
            if (k->what != LL_KEEP_SAMPLES) {
                put_quantiles(k, a, q, w->n_query);
                continue;
            }
            fprintf(k->out.stream, ",%lld", (long long)i);
            put_number(k->out.stream, a->value[a->constant ? i : i * w->n_query + q]);
            fputc('\n', k->out.stream);
        }
    return LLAP_OK;
}

llap_status ll_keep_see(void *self, const scoring_block *b)
{
    ll_keep    *k = self;
    llap_status st = LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < b->n * b->n_targets; i++) {
        const ll_forecast_members *a = &b->answer[i];
        if (a->n > k->room) {
            double *x = ll_grow(k->x, (size_t)a->n, sizeof *x);
            if (x == NULL) return LLAP_ENOMEM;
            k->x = x;
            k->room = a->n;
        }
        st = put_window(k, &b->w[i / b->n_targets], a, i % b->n_targets, b->truth + i * b->n_query);
    }
    return st;
}

llap_status ll_keep_close(ll_keep *k, llap_status st)
{
    if (st == LLAP_OK && k->out.stream != NULL) st = ll_writer_commit(&k->out);
    ll_writer_abort(&k->out);
    ll_clock_writer_deinit(&k->clock);
    ll_free(k->x);
    *k = (ll_keep){ 0 };
    return st;
}
