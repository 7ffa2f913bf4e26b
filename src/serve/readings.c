/* Readings that arrive. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "serve/streams.h"

#include <string.h>

static llap_status no_store(void)
{
    return ll_fail(LLAP_EINVAL, "streams need a store: start the server with `store`");
}

ll_live *ll_live_of(ll_request *r, llap_status *st)
{
    ll_live *k = r->server->streams == NULL ? NULL : ll_live_find(r->server, r->name);
    *st = LLAP_OK;
    if (r->server->streams == NULL) *st = no_store();
    else if (k == NULL)
        *st = ll_fail(LLAP_ENOTFOUND, "no stream '%s': its first readings make it", r->name);
    return k;
}

/* ---- readings ---- */

/* A stream remembers each of its series for ever. */
static llap_status check_series(const ll_live *k, const llap_panel *p)
{
    const int64_t      most = k->server->o.max_series;
    int64_t            n_vars = 0, n_new = 0, time;
    llap_stream_counts c = { 0 };
    while (llap_stream_variables(k->s)[n_vars] != NULL) n_vars++;
    llap_stream_count(k->s, &c);
    for (int64_t e = 0; e < p->n_entities; e++)
        n_new += !llap_stream_newest(k->s, p->entity[e], &time);
    return n_new == 0 || c.entities + n_new <= most / n_vars
               ? LLAP_OK
               : ll_fail(LLAP_ELIMIT,
                         "%lld new entities beside %lld: a stream has at most %lld series",
                         (long long)n_new, (long long)c.entities, (long long)most);
}

/* Times mean the same, and there is a variable of the stream. Locked. */
static llap_status check_panel(const ll_live *k, const llap_panel *p)
{
    const ll_axis *a = &k->s->axis, *b = &p->axis;
    if (a->kind != b->kind || (a->kind == LL_AXIS_NUMBER && a->unit_ns != b->unit_ns))
        return ll_fail(LLAP_EINVAL, "times are of another kind than those of the model '%s'",
                       k->model_name);
    for (const char *const *name = llap_stream_variables(k->s); *name != NULL; name++)
        for (int64_t v = 0; v < p->n_vars; v++)
            if (strcmp(p->var[v], *name) == 0) return check_series(k, p);
    return ll_fail(LLAP_EINVAL, "no column is a variable of the model, such as '%s'",
                   llap_stream_variables(k->s)[0]);
}

typedef struct rows {
    ll_store_row *row;
    double       *value;
    int64_t       n;
} rows;

static llap_status rows_of(const llap_panel *p, rows *out)
{
    const size_t V = (size_t)p->n_vars, R = (size_t)p->n_rows;
    out->row = ll_new(R, sizeof *out->row);
    out->value = ll_new(R * V, sizeof *out->value);
    out->n = p->n_rows;
    if (out->row == NULL || out->value == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t i = p->start[e]; i < p->start[e + 1]; i++) {
            double *value = out->value + (size_t)i * V;
            for (size_t v = 0; v < V; v++) value[v] = (double)p->value[(size_t)i * V + v];
            out->row[i] = (ll_store_row){ p->entity[e], p->time[i], value };
        }
    return LLAP_OK;
}

static llap_status put_receipt(ll_request *r, const ll_store_receipt *got, int64_t n_rows)
{
    ll_json_writer w = { 0 };
    char          *text = NULL;
    size_t         n = 0;
    ll_json_open(&w, NULL, '{');
    ll_json_put_int(&w, "number", got->number);
    ll_json_put_int(&w, "rows", n_rows);
    ll_json_put_bool(&w, "repeated", got->repeated);
    ll_json_close(&w, '}');
    const llap_status st = ll_json_finish(&w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    return st;
}

static llap_status append(ll_request *r, ll_live *k, const llap_panel *p)
{
    rows             all = { 0 };
    ll_store_receipt got = { 0 };
    const char      *key = r->idempotency_key;
    llap_status      st = LLAP_OK;
    if (p->n_rows == 0) st = ll_fail(LLAP_EINVAL, "no row in the body");
    if (st == LLAP_OK && key != NULL &&
        (*key == '\0' || strlen(key) > LL_STORE_NAME_MAX ||
         ll_utf8_prefix(key, strlen(key)) < strlen(key)))
        st = ll_fail(LLAP_EINVAL, "Idempotency-Key: expected 1 to %d bytes of UTF-8",
                     LL_STORE_NAME_MAX);
    if (st == LLAP_OK) st = rows_of(p, &all);
    if (st == LLAP_OK) {
        const ll_store_readings what = { k->name, key, p->var, p->n_vars, all.row, all.n };
        st = ll_store_append(r->server->streams->store, &what, &got);
    }
    ll_free(all.row);
    ll_free(all.value);
    if (st != LLAP_OK) return st;
    /* It is durable; whether the stream of the library takes it now or later is no matter. */
    if (ll_live_lock(k) == LLAP_OK) {
        if (ll_live_settle(k, got.number) != LLAP_OK)
            ll_journal(r->server, LLAP_LOG_WARNING, "stream", "%s: %s", k->name,
                       llap_error_detail());
        (void)pthread_mutex_unlock(&k->lock);
    }
    return put_receipt(r, &got, p->n_rows);
}

/* A few rows tell nothing about what marks a missing value, nor about kinds of columns, nor which
 * code a word has: that is the model's. */
llap_status ll_answer_readings(ll_request *r)
{
    if (r->server->streams == NULL) return no_store();
    const char    *model = ll_request_argument(r, "model");
    llap_log       log = ll_journal_log(r->server);
    llap_read_opts how = { .log = &log, .codes = LLAP_READ_CODES_KEEP };
    ll_served     *m = NULL;
    llap_panel    *p = NULL;
    ll_live       *k = NULL;
    llap_status    st = ll_live_model(r->server, r->name, model, &m);
    if (m != NULL) how.levels = llap_model_levels(m->model);
    if (st == LLAP_OK) st = ll_body_read(r, &(ll_asked){ { &how } }, &how, &p);
    ll_served_release(m);
    if (st == LLAP_OK) st = ll_live_make(r->server, r->name, model, &k);
    if (st == LLAP_OK) st = ll_live_lock(k);
    if (st == LLAP_OK) {
        st = ll_live_settle(k, 0);
        if (st == LLAP_OK) st = check_panel(k, p);
        (void)pthread_mutex_unlock(&k->lock);
    }
    if (st == LLAP_OK) st = append(r, k, p);
    llap_panel_destroy(p);
    return st;
}
