/* What is answered: texts, and problems (RFC 9457) of the one status list. */
#include "base/alloc.h"
#include "base/json/json.h"
#include "base/text.h"
#include "serve/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void forget(ll_reply *p)
{
    if (!p->fixed) ll_free(p->body);
    *p = (ll_reply){ 0 };
}

void ll_reply_take(ll_request *r, int status, const char *type, char *text, size_t n)
{
    forget(&r->reply);
    r->reply = (ll_reply){ .status = status, .type = type, .body = text, .n = n };
}

void ll_reply_fixed(ll_request *r, int status, const char *type, const char *text, size_t n)
{
    forget(&r->reply);
    r->reply =
        (ll_reply){ .status = status, .type = type, .body = (char *)text, .n = n, .fixed = true };
}

void ll_reply_header(ll_request *r, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof r->reply.header / sizeof *r->reply.header; i++)
        if (r->reply.header[i][0] == NULL) {
            r->reply.header[i][0] = name;
            r->reply.header[i][1] = value;
            return;
        }
}

/* Of what has no code in the list. */
static const char *title(int status)
{
    static const struct {
        int         status;
        const char *text;
    } is[] = {
        { 401, "unauthorized" },      { 403, "forbidden" },
        { 404, "not found" },         { 405, "method not allowed" },
        { 406, "not acceptable" },    { 409, "conflict" },
        { 413, "over a limit" },      { 415, "unsupported media type" },
        { 429, "too many requests" }, { 503, "not available now" },
        { 400, "bad request" },       { 500, "internal error" },
    };
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        if (is[i].status == status) return is[i].text;
    return "failed";
}

void ll_reply_problem(ll_request *r, int status, llap_status code, const char *fmt, ...)
{
    static const char out_of_memory[] =
        "{\"title\":\"out of memory\",\"status\":503,\"code\":\"LLAP_ENOMEM\"}";
    char           detail[LL_PROBLEM_MAX];
    char          *text = NULL;
    size_t         n = 0;
    ll_json_writer w = { 0 };
    va_list        args;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof detail, fmt, args);
    va_end(args);
    detail[ll_utf8_prefix(detail, strlen(detail))] = '\0'; /* cut within a character, perhaps */
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "title", code != LLAP_OK ? llap_status_text(code) : title(status));
    ll_json_put_int(&w, "status", status);
    if (code != LLAP_OK) ll_json_put_string(&w, "code", llap_status_name(code));
    if (detail[0] != '\0') ll_json_put_string(&w, "detail", detail);
    if (strncmp(r->path, "/v2", 3) == 0) /* as the Open Inference Protocol has it */
        ll_json_put_string(&w, "error", detail[0] != '\0' ? detail : title(status));
    ll_json_close(&w, '}');
    if (ll_json_finish(&w, &text, &n) == LLAP_OK)
        ll_reply_take(r, status, "application/problem+json", text, n);
    else
        ll_reply_fixed(r, 503, "application/problem+json", out_of_memory, sizeof out_of_memory - 1);
    if (r->reply.status == 503) ll_reply_header(r, "Retry-After", "1");
    if (status == 401) ll_reply_header(r, "WWW-Authenticate", "Bearer");
}

void ll_reply_failure(ll_request *r, llap_status st)
{
    char detail[LL_PROBLEM_MAX];
    snprintf(detail, sizeof detail, "%s", llap_error_detail());
    ll_reply_problem(r, llap_status_http(st), st, "%s", detail);
}
