/* What a request brings: options in its query, data in its body. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/arrow_ipc/arrow_ipc.h"
#include "data/text/source.h"
#include "serve/request.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_MAX = 4096, READ_AT_ONCE = 1 << 16 };

/* ---- options ---- */

static bool is_among(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

static bool is_own(const ll_route *route, const char *name)
{
    for (const ll_own_parameter *p = route->own; p != NULL && p->name != NULL; p++)
        if (strcmp(p->name, name) == 0) return true;
    return false;
}

/* All that the route knows, for the message. */
static llap_status fail_unknown(const ll_route *route, const char *name)
{
    enum { MOST = 128 };
    const char *all[MOST + 1];
    size_t      n = 0;
    for (const ll_own_parameter *p = route->own; p != NULL && p->name != NULL && n < MOST; p++)
        all[n++] = p->name;
    for (size_t i = 0; i < 3 && route->parameters[i].table != NULL; i++)
        for (const char *const *k = route->parameters[i].name; *k != NULL && n < MOST; k++)
            all[n++] = *k;
    all[n] = NULL;
    const char *near = llap_text_nearest(name, all);
    return ll_fail(LLAP_EINVAL, "no parameter '%s'%s%s%s", ll_text_show(name).text,
                   near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "");
}

static llap_status set(const ll_request *r, const ll_asked *asked, const char *name,
                       const char *value)
{
    const ll_route *route = r->route;
    for (size_t i = 0; i < 3 && route->parameters[i].table != NULL; i++)
        if (is_among(route->parameters[i].name, name))
            return llap_option_set(route->parameters[i].table(), asked->options[i], name, value);
    return is_own(route, name) ? LLAP_OK : fail_unknown(route, name);
}

llap_status ll_query_read(ll_request *r, const ll_asked *asked)
{
    llap_status st = LLAP_OK;
    if (r->arguments_wrong)
        return ll_fail(LLAP_EINVAL,
                       "the query: expected at most %d different names with values, in UTF-8",
                       LL_ARGUMENTS_MAX);
    for (size_t i = 0; st == LLAP_OK && i < r->n_arguments; i++)
        st = set(r, asked, r->argument[i].name, r->argument[i].value);
    return st;
}

/* ---- the body ---- */

static bool is_gzip(const char *bytes, size_t n)
{
    return n > 1 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

static llap_status unpack(ll_request *r, char **out, size_t *n_out)
{
    const int64_t most = r->most;
    ll_source    *s = NULL;
    char         *to = NULL;
    size_t        at = 0, room = 0, got = 1;
    llap_status   st = ll_source_open_memory("the body", r->body, r->n_body, &s);
    while (st == LLAP_OK && got > 0) {
        if (room - at < READ_AT_ONCE) {
            char *more = ll_grow(to, room = 2 * room + READ_AT_ONCE, 1);
            if (more == NULL) st = LLAP_ENOMEM;
            else to = more;
        }
        if (st == LLAP_OK) st = ll_source_read(s, to + at, READ_AT_ONCE, &got);
        if (st == LLAP_OK) at += got;
        if (st == LLAP_OK && at > LL_LARGE_BYTES) st = ll_request_large(r);
        if (st == LLAP_OK && at > (size_t)most)
            st = ll_fail(LLAP_ELIMIT, "the body: more than %lld MB once it is unpacked",
                         (long long)(most >> 20));
    }
    ll_source_close(s);
    if (st == LLAP_OK && is_gzip(to, at)) st = ll_fail(LLAP_EFORMAT, "the body: packed twice");
    if (st == LLAP_OK) *out = to, *n_out = at;
    else ll_free(to);
    return st;
}

llap_status ll_body_unpack(ll_request *r)
{
    char  *text = NULL;
    size_t n = 0;
    if (!is_gzip(r->body, r->n_body)) {
        if (r->content_encoding != NULL && strcmp(r->content_encoding, "identity") != 0)
            return ll_fail(LLAP_EFORMAT, "the body: expected gzip, as its Content-Encoding says");
        return LLAP_OK;
    }
    const llap_status st = unpack(r, &text, &n);
    if (st != LLAP_OK) return st;
    ll_body_replace(r, text, n);
    r->content_encoding = NULL;
    return LLAP_OK;
}

void ll_body_replace(ll_request *r, char *text, size_t n)
{
    (void)atomic_fetch_add(&r->server->body_bytes, (int64_t)n - (int64_t)r->room);
    ll_free(r->body);
    r->body = text;
    r->n_body = r->room = n;
}

llap_status ll_body_parse(ll_request *r, ll_json **out)
{
    const ll_json_limits limits = { .n_bytes = (size_t)r->most,
                                    .n_values = ((size_t)r->server->o.max_memory << 20) / 64,
                                    .depth = 8 };
    return ll_json_parse(r->body, r->n_body, "the body", &limits, out);
}

/* ---- its data ---- */

static llap_status set_from_json(ll_request *r, const ll_asked *asked, const ll_json *j,
                                 const char *name)
{
    char        text[OPTION_MAX];
    llap_status st = ll_json_text(j, name, text, sizeof text);
    const char *kept = st == LLAP_OK ? ll_arena_strndup(&r->arena, text, strlen(text)) : NULL;
    if (st == LLAP_OK && kept == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK && ll_request_argument(r, name) != NULL)
        return ll_fail(LLAP_EINVAL, "'%s' stands in the query and in the body", name);
    return st == LLAP_OK ? set(r, asked, name, kept) : st;
}

/* Every name that the body may have is looked for, any other is an error. */
static llap_status json_options(ll_request *r, const ll_asked *asked, const ll_json *j)
{
    enum { MOST = 128 };
    const char *all[MOST + 1] = { "data" };
    size_t      n = 1;
    for (size_t i = 0; i < 3 && r->route->parameters[i].table != NULL; i++)
        for (const char *const *k = r->route->parameters[i].name; *k != NULL && n < MOST; k++)
            all[n++] = *k;
    llap_status st = ll_json_keys(j, "", all);
    if (st == LLAP_OK) st = ll_json_need(j, "data");
    for (size_t i = 1; st == LLAP_OK && i < n; i++)
        if (ll_json_has(j, all[i])) st = set_from_json(r, asked, j, all[i]);
    return st;
}

/* The table of a JSON body as CSV, in the place of the body. */
static llap_status json_to_csv(ll_request *r, const ll_asked *asked, llap_read_opts *how)
{
    ll_json    *j = NULL;
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = ll_body_parse(r, &j);
    if (st == LLAP_OK) st = json_options(r, asked, j);
    if (st == LLAP_OK && (how->separator != 0 || how->decimal != 0 || how->quote != 0 ||
                          how->comment != NULL || how->skip_lines != 0 || how->header != 0))
        st =
            ll_fail(LLAP_EINVAL, "separator, decimal, quote, comment, skip_lines and header are of "
                                 "CSV; JSON has none");
    if (st == LLAP_OK) st = ll_json_csv(j, "data", &text, &n);
    ll_json_destroy(j);
    if (st != LLAP_OK) return st;
    ll_body_replace(r, text, n);
    how->separator = ',';
    how->decimal = '.';
    how->header = LLAP_READ_HEADER_YES;
    how->comment = "";
    return LLAP_OK;
}

static llap_status check_size(const ll_request *r, const llap_panel *p)
{
    const llap_serve_opts *o = &r->server->o;
    llap_panel_sizes       s;
    llap_panel_size(p, &s);
    if (s.rows > o->max_rows)
        return ll_fail(LLAP_ELIMIT, "%lld rows, at most %lld are answered about at once",
                       (long long)s.rows, (long long)o->max_rows);
    if (s.entities > o->max_series / (s.variables > 0 ? s.variables : 1))
        return ll_fail(LLAP_ELIMIT,
                       "%lld entities with %lld variables, at most %lld series are "
                       "answered about at once",
                       (long long)s.entities, (long long)s.variables, (long long)o->max_series);
    return LLAP_OK;
}

llap_status ll_body_read(ll_request *r, const ll_asked *asked, llap_read_opts *how,
                         llap_panel **out)
{
    const char *name = ll_request_argument(r, "series");
    *out = NULL;
    llap_status st = ll_query_read(r, asked);
    if (st == LLAP_OK) st = ll_body_unpack(r);
    if (st == LLAP_OK && r->n_body > LL_LARGE_BYTES) st = ll_request_large(r);
    if (st == LLAP_OK && r->n_body == 0)
        st = ll_fail(LLAP_EFORMAT, "the body is empty: it has the data, as CSV, JSON or Arrow");
    if (st == LLAP_OK &&
        ll_type_is(r->content_type, LL_TYPE_ARROW) != ll_ipc_detect(r->body, r->n_body))
        st = ll_fail(LLAP_EFORMAT, "the body: expected %s, as its Content-Type says",
                     ll_type_is(r->content_type, LL_TYPE_ARROW) ? "a stream of Arrow" : "text");
    if (st == LLAP_OK && ll_type_is(r->content_type, "application/json"))
        st = json_to_csv(r, asked, how);
    if (st == LLAP_OK)
        st = llap_panel_read_memory(name == NULL || *name == '\0' ? "data" : name, r->body,
                                    r->n_body, how, out);
    if (st == LLAP_OK) st = check_size(r, *out);
    if (st != LLAP_OK) {
        llap_panel_destroy(*out);
        *out = NULL;
    }
    return st;
}
