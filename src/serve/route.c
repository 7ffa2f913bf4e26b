/* Which route a request takes, and whether its client may. */
#include "serve/route.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The path against "/v1/models/{model}/forecast"; *name [LL_NAME_MAX + 1] is the part in braces. */
static bool fits(const char *pattern, const char *path, char *name)
{
    const char *brace = strchr(pattern, '{');
    name[0] = '\0';
    if (brace == NULL) return strcmp(pattern, path) == 0;
    const size_t front = (size_t)(brace - pattern);
    if (strncmp(pattern, path, front) != 0) return false;
    const char  *rest = strchr(brace, '}') + 1;
    const size_t n = strcspn(path + front, "/");
    if (n > LL_NAME_MAX || strcmp(path + front + n, rest) != 0) return false;
    snprintf(name, LL_NAME_MAX + 1, "%.*s", (int)n, path + front);
    return ll_name_is_good(name);
}

static bool is_method(const ll_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

void ll_route_find(ll_request *r)
{
    char        name[LL_NAME_MAX + 1], allow[64] = "";
    const char *path = ll_page_find(r->path) >= 0 ? "/" : r->path;
    for (const ll_route *route = ll_routes; route->run != NULL; route++) {
        if (!fits(route->path, path, name)) continue;
        if (!is_method(route, r->method)) {
            const size_t n = strlen(allow);
            snprintf(allow + n, sizeof allow - n, "%s%s%s", n > 0 ? ", " : "", route->method,
                     strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
            continue;
        }
        r->route = route;
        r->name = ll_arena_strndup(&r->arena, name, strlen(name));
        if (r->name == NULL) ll_reply_failure(r, LLAP_ENOMEM);
        return;
    }
    if (allow[0] == '\0') {
        ll_reply_problem(r, 404, LLAP_ENOTFOUND, "nothing is here: /openapi.json lists what is");
        return;
    }
    const char *kept = ll_arena_strndup(&r->arena, allow, strlen(allow));
    ll_reply_problem(r, 405, LLAP_OK, "allowed here: %s", allow);
    if (kept != NULL) ll_reply_header(r, "Allow", kept);
}

/* "localhost:8080" without its port. */
static size_t host_length(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    return end != NULL ? (size_t)(end - host) + 1 : strcspn(host, ":");
}

static bool is_this_machine(const char *host, const char *address)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    const size_t             n = host_length(host);
    for (size_t i = 0; i < 3; i++)
        if (strlen(names[i]) == n && strncasecmp(host, names[i], n) == 0) return true;
    return strlen(address) == n && strncasecmp(host, address, n) == 0;
}

/* A page of another origin, in a browser on this machine, is not its user. */
static bool is_foreign(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");
    return host == NULL || at == NULL || strcasecmp(at + 3, host) != 0;
}

/* Without tokens: whoever reaches the port may read and write, but by a name of this machine. */
static void check_without(ll_request *r, const char *host, const char *origin)
{
    const llap_server *s = r->server;
    r->right = LL_RIGHT_WRITE;
    if (r->route->right == LL_RIGHT_ADMIN)
        ll_reply_problem(
            r, 403, LLAP_OK,
            "this needs a token with the right admin: start the server with tokens, or "
            "with page");
    else if (!s->o.insecure && host != NULL && !is_this_machine(host, s->o.address))
        ll_reply_problem(r, 403, LLAP_OK, "Host: expected a name of this machine");
    else if (origin != NULL && is_foreign(origin, host))
        ll_reply_problem(r, 403, LLAP_OK, "Origin: pages of other servers may not ask here");
}

static const char scheme[] = "Bearer ";

/* The token that the address of the page has. */
static bool is_of_page(ll_request *r, const char *authorization)
{
    const ll_tokens *t = r->server->page_token;
    if (t == NULL || authorization == NULL ||
        strncasecmp(authorization, scheme, sizeof scheme - 1) != 0 ||
        ll_tokens_find(t, authorization + sizeof scheme - 1) == NULL)
        return false;
    r->who = t->token[0].name;
    r->right = t->token[0].right;
    return true;
}

void ll_access_check(ll_request *r, const char *authorization, const char *host, const char *origin)
{
    llap_server *s = r->server;
    bool         open = false, known = false, may = false;
    (void)pthread_mutex_lock(&s->lock);
    if (s->tokens == NULL) {
        open = true;
    } else if (authorization != NULL &&
               strncasecmp(authorization, scheme, sizeof scheme - 1) == 0) {
        const ll_token *t = ll_tokens_find(s->tokens, authorization + sizeof scheme - 1);
        known = t != NULL;
        r->right = known ? t->right : LL_RIGHT_NONE;
        may = known && t->right >= r->route->right;
        if (known) r->who = ll_arena_strndup(&r->arena, t->name, strlen(t->name));
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (!known && is_of_page(r, authorization)) known = may = true, open = false;
    if (open) check_without(r, host, origin);
    else if (r->route->right == LL_RIGHT_NONE || may) return;
    else if (!known)
        ll_reply_problem(r, 401, LLAP_OK, "expected a header 'Authorization: Bearer TOKEN'");
    else ll_reply_problem(r, 403, LLAP_OK, "this token does not have the right to do that");
}

bool ll_route_takes(const ll_request *r)
{
    for (const char *const *t = r->route->takes; *t != NULL; t++)
        if (ll_type_is(r->content_type, *t)) return true;
    return false;
}

const char *ll_route_gives(ll_request *r)
{
    const char *text = "";
    for (const char *const *t = r->route->gives; *t != NULL && text != NULL; t++)
        text = ll_arena_printf(&r->arena, "%s%s%s", text, *text == '\0' ? "" : ", ", *t);
    return text == NULL ? "" : text;
}
