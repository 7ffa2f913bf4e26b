/* Questions about data in the request: forecast, impute, detect. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/columns.h"

#include <llapdiff/detect.h>
#include <string.h>

static const char *const tables[] = { "application/json", "text/csv", LL_TYPE_ARROW, NULL };

static ll_served *model_of(ll_request *r)
{
    ll_served *m = ll_models_get(&r->server->models, r->name);
    if (m == NULL)
        ll_reply_problem(r, 404, LLAP_ENOTFOUND, "no model '%s': GET /v1/models lists them",
                         r->name);
    return m;
}

llap_status ll_answer_check(const ll_request *r, const llap_answer *a)
{
    const int64_t n = llap_answer_view(a)->n_rows;
    if (n > r->server->o.max_rows)
        return ll_fail(LLAP_ELIMIT, "an answer of %lld rows, at most %lld are given at once",
                       (long long)n, (long long)r->server->o.max_rows);
    return ll_now() > r->deadline ? LLAP_ECANCELLED : LLAP_OK;
}

llap_status ll_reply_answer(ll_request *r, const llap_answer *a)
{
    const int   type = ll_accepts(r->accept, tables);
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = ll_answer_check(r, a);
    if (st == LLAP_OK && type == 2) return ll_reply_arrow(r, a);
    if (st == LLAP_OK) st = type == 1 ? llap_answer_csv(a, &text, &n) : llap_answer_json(a, &text);
    if (st != LLAP_OK) return st;
    if (type == 1) ll_reply_take(r, 200, "text/csv; charset=utf-8", text, n);
    else ll_reply_take(r, 200, "application/json", text, strlen(text));
    return LLAP_OK;
}

/* How data is read: times and words as in the training data, messages to the log. */
static llap_read_opts reading(const ll_served *m, const llap_log *log)
{
    return (llap_read_opts){ .levels = llap_model_levels(m->model), .log = log };
}

/* Answers have a row for each query: what one may ask is bounded before it is worked on. */
llap_status ll_check_samples(int64_t samples)
{
    enum { SAMPLES_MAX = 10000 };
    return samples > SAMPLES_MAX
               ? ll_fail(LLAP_ELIMIT, "samples: at most %d are drawn at once", SAMPLES_MAX)
               : LLAP_OK;
}

/* reply: how the answer is said; first: what is done with the body before it is read. */
static llap_status forecast(ll_request *r, llap_status (*first)(ll_request *),
                            llap_status (*reply)(ll_request *, const llap_answer *))
{
    ll_served *m = model_of(r);
    if (m == NULL) return LLAP_OK;
    llap_log           log = ll_journal_log(r->server);
    llap_forecast_opts o = { .log = &log, .progress = ll_request_progress(r) };
    llap_read_opts     how = reading(m, &log);
    llap_panel        *p = NULL;
    llap_answer       *a = NULL;
    llap_status        st = first == NULL ? LLAP_OK : first(r);
    if (st == LLAP_OK) st = ll_body_read(r, &(ll_asked){ { &o, &how } }, &how, &p);
    if (st == LLAP_OK) st = ll_check_samples(o.samples);
    if (st == LLAP_OK) st = llap_forecast(m->model, p, &o, &a);
    if (st == LLAP_OK) st = reply(r, a);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    ll_served_release(m);
    return st;
}

llap_status ll_answer_forecast(ll_request *r) { return forecast(r, NULL, ll_reply_answer); }

llap_status ll_answer_infer(ll_request *r)
{
    return forecast(r, ll_tensors_read, ll_reply_tensors);
}

llap_status ll_answer_impute(ll_request *r)
{
    ll_served *m = model_of(r);
    if (m == NULL) return LLAP_OK;
    llap_log         log = ll_journal_log(r->server);
    llap_impute_opts o = { .log = &log, .progress = ll_request_progress(r) };
    llap_read_opts   how = reading(m, &log);
    llap_panel      *p = NULL;
    llap_answer     *a = NULL;
    llap_status      st = ll_body_read(r, &(ll_asked){ { &o, &how } }, &how, &p);
    if (st == LLAP_OK) st = ll_check_samples(o.samples);
    if (st == LLAP_OK) st = llap_impute(m->model, p, &o, &a);
    if (st == LLAP_OK) st = ll_reply_answer(r, a);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    ll_served_release(m);
    return st;
}

llap_status ll_answer_detect(ll_request *r)
{
    ll_served *m = model_of(r);
    if (m == NULL) return LLAP_OK;
    llap_log         log = ll_journal_log(r->server);
    llap_detect_opts o = { .log = &log, .progress = ll_request_progress(r) };
    llap_read_opts   how = reading(m, &log);
    llap_panel      *p = NULL;
    llap_detection  *d = NULL;
    char            *text = NULL;
    const bool       plain = ll_accepts(r->accept, r->route->gives) == 1;
    llap_status      st = ll_body_read(r, &(ll_asked){ { &o, &how } }, &how, &p);
    if (st == LLAP_OK) st = llap_detect(m->model, p, &o, &d);
    if (st == LLAP_OK) st = plain ? llap_detection_text(d, &text) : llap_detection_json(d, &text);
    if (st == LLAP_OK)
        ll_reply_take(r, 200, plain ? "text/plain; charset=utf-8" : "application/json", text,
                      strlen(text));
    llap_detection_destroy(d);
    llap_panel_destroy(p);
    ll_served_release(m);
    return st;
}
