/* Requests as a client may send them, behind what libmicrohttpd takes apart: path, query, headers
 * and body, in the order in which the server looks at them. A reply with a status, or a panel.
 *
 *     METHOD PATH?NAME=VALUE&...
 *     Header: value
 *     (an empty line, then the body)
 *
 * %XX in the query are bytes. A header Tokens: gives the server a file of tokens. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/route.h"
#include "serve/streams.h"

#include <llapdiff/detect.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok) abort();
}

/* ---- taken apart ---- */

/* Cuts *at behind the first c, or at its end; the part in front of it. */
static char *cut(char **at, char c)
{
    char *part = *at, *end = strchr(part, c);
    *at = end == NULL ? part + strlen(part) : end + 1;
    if (end != NULL) *end = '\0';
    return part;
}

static void unescape(char *s)
{
    char *to = s;
    for (; *s != '\0'; s++) {
        char two[3] = { 0 };
        if (*s == '%' && s[1] != '\0' && s[2] != '\0') memcpy(two, s + 1, 2);
        const long byte = two[0] != '\0' ? strtol(two, NULL, 16) : 0;
        if (byte > 0 && byte < 256) *to++ = (char)byte, s += 2;
        else *to++ = *s;
    }
    *to = '\0';
}

static void take_query(ll_request *r, char *query)
{
    while (*query != '\0' && r->n_arguments < LL_ARGUMENTS_MAX) {
        char *value = cut(&query, '&');
        char *name = cut(&value, '=');
        unescape(name);
        unescape(value);
        if (ll_request_argument(r, name) != NULL) r->arguments_wrong = true;
        else r->argument[r->n_arguments++] = (ll_argument){ name, value };
    }
}

typedef struct heads {
    const char *authorization, *host, *origin, *tokens;
} heads;

static void take_header(ll_request *r, heads *h, char *line)
{
    char *value = line, *name = cut(&value, ':');
    while (*value == ' ') value++;
    const struct {
        const char *name, **to;
    } known[] = {
        { "Accept", &r->accept },
        { "Content-Type", &r->content_type },
        { "Content-Encoding", &r->content_encoding },
        { "Authorization", &h->authorization },
        { "Host", &h->host },
        { "Origin", &h->origin },
        { "Tokens", &h->tokens },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(known[i].name, name) == 0) *known[i].to = value;
    if (h->tokens == value)
        for (char *p = value; *p != '\0'; p++)
            if (*p == '|') *p = '\n';
}

/* ---- looked at ---- */

static void check_tokens(llap_server *s, const char *text)
{
    must((ll_tokens_parse(text, strlen(text), "tokens", &s->tokens) == LLAP_OK) ==
         (s->tokens != NULL));
    for (size_t i = 0; s->tokens != NULL && i < s->tokens->n; i++) {
        const ll_token *t = &s->tokens->token[i];
        must(t->right >= LL_RIGHT_READ && t->right <= LL_RIGHT_ADMIN && ll_name_is_good(t->name));
        must(strlen(t->secret) >= LL_TOKEN_MIN && ll_tokens_find(s->tokens, t->secret) != NULL);
    }
}

/* What a body or a query is to the route; options of its tables, all of them unset. */
static void read_it(ll_request *r)
{
    static char    room[3][2048];
    llap_read_opts how = { 0 };
    ll_asked       asked = { { NULL } };
    llap_panel    *p = NULL;
    bool           takes_data = false;
    memset(room, 0, sizeof room);
    for (size_t i = 0; i < 3; i++) asked.options[i] = room[i];
    for (size_t i = 0; i < 3 && r->route->parameters[i].table != NULL; i++)
        if (r->route->parameters[i].table == llap_read_options) {
            asked.options[i] = &how;
            takes_data = true;
        }
    (void)ll_alloc_limit(64 << 20);
    llap_status st = LLAP_OK;
    if (strcmp(r->route->id, "infer") == 0) st = ll_tensors_read(r);
    if (st == LLAP_OK)
        st = takes_data ? ll_body_read(r, &asked, &how, &p) : ll_query_read(r, &asked);
    (void)ll_alloc_limit(0);
    must(st != LLAP_OK || !takes_data || p != NULL);
    if (st != LLAP_OK) ll_reply_failure(r, st);
    must(st == LLAP_OK || (r->reply.status >= 400 && r->reply.body != NULL));
    llap_panel_destroy(p);
}

static void look(llap_server *s, ll_request *r, const heads *h)
{
    if (h->tokens != NULL) check_tokens(s, h->tokens);
    ll_route_find(r);
    must((r->route == NULL) == (r->reply.status != 0));
    if (r->reply.status == 0) ll_access_check(r, h->authorization, h->host, h->origin);
    if (r->reply.status != 0) return;
    must(r->route->right == LL_RIGHT_NONE || s->tokens == NULL || r->who != NULL);
    must(ll_accepts(r->accept, r->route->gives) >= -1 && *ll_route_gives(r) != '\0');
    if (r->route->takes == NULL || ll_route_takes(r)) read_it(r);
}

static llap_server *make_server(void)
{
    llap_server          *s = ll_new(1, sizeof *s);
    const llap_serve_opts o = {
        .max_body = 1, .max_memory = 64, .max_rows = 1000, .max_series = 100
    };
    must(s != NULL &&
         llap_options_resolve(llap_serve_options(), &o, &s->o, sizeof s->o) == LLAP_OK);
    s->o.address = "127.0.0.1";
    (void)pthread_mutex_init(&s->lock, NULL);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static llap_server *s;
    if (s == NULL) s = make_server();
    char       *text = ll_strndup((const char *)data, n), *at = text;
    ll_request *r = ll_new(1, sizeof *r);
    heads       h = { 0 };
    must(text != NULL && r != NULL);
    r->server = s;
    r->most = 1 << 20;
    char *query = cut(&at, '\n');
    r->method = cut(&query, ' ');
    r->path = cut(&query, '?');
    take_query(r, query);
    for (char *line = cut(&at, '\n'); *line != '\0'; line = cut(&at, '\n'))
        take_header(r, &h, line);
    const size_t from = (size_t)(at - text);
    r->n_body = from < n ? n - from : 0;
    r->room = r->n_body;
    r->body = ll_new(r->n_body, 1);
    must(r->body != NULL);
    memcpy(r->body, data + (n - r->n_body), r->n_body);
    atomic_store(&s->body_bytes, (int64_t)r->room);
    look(s, r, &h);
    must(atomic_load(&s->body_bytes) == (int64_t)r->room); /* no byte is lost count of */
    ll_request_done(r);
    if (!r->reply.fixed) ll_free(r->reply.body);
    ll_free(s->tokens);
    s->tokens = NULL;
    ll_free(r->body);
    ll_arena_deinit(&r->arena);
    ll_free(r);
    ll_free(text);
    return 0;
}
