/* What is answered at once: health, lists, the document, the page; models that come and go. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/rng/rng.h"
#include "page/page.h"
#include "serve/streams.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static llap_status put_json(ll_request *r, int status, ll_json_writer *w)
{
    char             *text = NULL;
    size_t            n = 0;
    const llap_status st = ll_json_finish(w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, status, "application/json", text, n);
    return st;
}

/* ---- health ---- */

llap_status ll_answer_live(ll_request *r)
{
    static const char yes[] = "{\"live\":true}";
    ll_reply_fixed(r, 200, "application/json", yes, sizeof yes - 1);
    return LLAP_OK;
}

llap_status ll_answer_ready(ll_request *r)
{
    static const char yes[] = "{\"ready\":true}";
    const llap_status st =
        r->server->streams == NULL ? LLAP_OK : ll_store_check(r->server->streams->store);
    if (st != LLAP_OK) return st;
    ll_reply_fixed(r, 200, "application/json", yes, sizeof yes - 1);
    return LLAP_OK;
}

llap_status ll_answer_metrics(ll_request *r)
{
    char             *text = NULL;
    size_t            n = 0;
    const llap_status st = ll_metrics_text(r->server, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, "text/plain; version=0.0.4; charset=utf-8", text, n);
    return st;
}

llap_status ll_answer_openapi(ll_request *r)
{
    ll_reply_fixed(r, 200, "application/json", r->server->openapi, r->server->n_openapi);
    return LLAP_OK;
}

/* ---- the page ---- */

int ll_page_find(const char *path)
{
    for (int i = 0; ll_pages[i].path != NULL; i++)
        if (strcmp(ll_pages[i].path, path) == 0) return i;
    return -1;
}

llap_status ll_answer_page(ll_request *r)
{
    const int i = ll_page_find(r->path);
    char      etag[sizeof r->reply.etag];
    if (i < 0) return ll_fail(LLAP_ENOTFOUND, "nothing is here");
    const ll_page *p = &ll_pages[i];
    snprintf(etag, sizeof etag, "\"%016" PRIx64 "\"", ll_hash(0, p->bytes, p->n));
    const bool same = r->if_none_match != NULL && strstr(r->if_none_match, etag) != NULL;
    ll_reply_fixed(r, same ? 304 : 200, p->type, p->bytes, same ? 0 : p->n);
    memcpy(r->reply.etag, etag, sizeof etag);
    ll_reply_header(
        r, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    ll_reply_header(r, "Referrer-Policy", "no-referrer");
    ll_reply_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    return LLAP_OK;
}

/* ---- models ---- */

static void put_model(ll_json_writer *w, const ll_served *m)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, m->hash);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", m->name);
    ll_json_put_int(w, "bytes", (int64_t)m->n_bytes);
    ll_json_put_string(w, "hash", hash);
    ll_json_close(w, '}');
}

llap_status ll_answer_models(ll_request *r)
{
    ll_json_writer w = { 0 };
    ll_served     *m;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "models", '[');
    for (size_t i = 0; (m = ll_models_at(&r->server->models, i)) != NULL; i++) {
        put_model(&w, m);
        ll_served_release(m);
    }
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return put_json(r, 200, &w);
}

static llap_status no_model(const ll_request *r)
{
    return ll_fail(LLAP_ENOTFOUND, "no model '%s': GET /v1/models lists them", r->name);
}

llap_status ll_answer_model(ll_request *r)
{
    char      *text = NULL;
    ll_served *m = ll_models_get(&r->server->models, r->name);
    if (m == NULL) return no_model(r);
    const llap_status st = llap_model_describe(m->model, 1, &text);
    ll_served_release(m);
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, strlen(text));
    return st;
}

/* Requests that use the model before go on with it. */
llap_status ll_answer_put_model(ll_request *r)
{
    llap_model *m = NULL;
    bool        replaced = false;
    llap_status st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK && r->n_body == 0)
        st = ll_fail(LLAP_EFORMAT, "the body is empty: it is the file of a model");
    if (st == LLAP_OK) st = llap_model_load_memory(r->body, r->n_body, &m);
    if (st == LLAP_OK) st = ll_models_put(&r->server->models, r->name, m, &replaced);
    if (st != LLAP_OK) return st;
    ll_served *now = ll_models_get(&r->server->models, r->name);
    if (now == NULL) return no_model(r); /* removed meanwhile */
    ll_json_writer w = { 0 };
    put_model(&w, now);
    ll_served_release(now);
    ll_journal(r->server, LLAP_LOG_INFO, "model", "%s '%s'", replaced ? "replaced" : "added",
               r->name);
    return put_json(r, replaced ? 200 : 201, &w);
}

llap_status ll_answer_delete_model(ll_request *r)
{
    const llap_status st = ll_query_read(r, &(ll_asked){ 0 });
    if (st != LLAP_OK) return st;
    if (!ll_models_remove(&r->server->models, r->name)) return no_model(r);
    ll_journal(r->server, LLAP_LOG_INFO, "model", "removed '%s'", r->name);
    ll_reply_fixed(r, 204, NULL, NULL, 0);
    return LLAP_OK;
}
