/* The document of the routes (OpenAPI 3.1), made of their table and of the options' tables. */
#include "base/json/json.h"
#include "serve/request.h"

#include <llapdiff/version.h>
#include <stdio.h>
#include <string.h>

/* JSON that is written down already. */
static void put_text(ll_json_writer *w, const char *key, const char *json)
{
    ll_json *j = NULL;
    if (ll_json_parse(json, strlen(json), "schema", NULL, &j) == LLAP_OK) ll_json_put(w, key, j);
    else ll_json_put_null(w, key);
    ll_json_destroy(j);
}

/* ---- options ---- */

static void put_words(ll_json_writer *w, const char *const *words)
{
    ll_json_open(w, "enum", '[');
    for (int i = 1; words[i] != NULL; i++) ll_json_put_string(w, NULL, words[i]);
    ll_json_close(w, ']');
}

static void put_schema(ll_json_writer *w, const llap_option *o)
{
    ll_json_open(w, "schema", '{');
    switch (o->type) {
    case LLAP_OPTION_INTEGER:
        ll_json_put_string(w, "type", "integer");
        ll_json_put_int(w, "minimum", (int64_t)o->low);
        ll_json_put_int(w, "maximum",
                        o->high < 9e15 ? (int64_t)o->high : INT64_C(9007199254740991));
        break;
    case LLAP_OPTION_REAL:
        ll_json_put_string(w, "type", "number");
        ll_json_put_double(w, "minimum", o->low);
        ll_json_put_double(w, "maximum", o->high);
        break;
    case LLAP_OPTION_FLAG:
        ll_json_put_string(w, "type", "boolean");
        break;
    case LLAP_OPTION_WORD:
        ll_json_put_string(w, "type", "string");
        put_words(w, o->words);
        break;
    default:
        ll_json_put_string(w, "type", "string");
        ll_json_put_int(w, "maxLength", 4095);
        break;
    }
    ll_json_close(w, '}');
}

static void put_option(ll_json_writer *w, const llap_option *o)
{
    char help[512];
    snprintf(help, sizeof help, o->usual != NULL ? "%s (default: %s)" : "%s", o->help, o->usual);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", o->name);
    ll_json_put_string(w, "in", "query");
    ll_json_put_string(w, "description", help);
    put_schema(w, o);
    ll_json_close(w, '}');
}

static void put_own(ll_json_writer *w, const ll_own_parameter *p)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", p->name);
    ll_json_put_string(w, "in", "query");
    ll_json_put_string(w, "description", p->help);
    put_text(w, "schema", p->schema);
    ll_json_close(w, '}');
}

static void put_name(ll_json_writer *w, const char *path)
{
    const char *brace = strchr(path, '{');
    char        name[32];
    if (brace == NULL) return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(brace + 1, "}"), brace + 1);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", name);
    ll_json_put_string(w, "in", "path");
    ll_json_put_bool(w, "required", true);
    put_text(w, "schema",
             "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9][A-Za-z0-9._-]*$\",\"maxLength\":64}");
    ll_json_close(w, '}');
}

static void put_parameters(ll_json_writer *w, const ll_route *r)
{
    ll_json_open(w, "parameters", '[');
    put_name(w, r->path);
    for (const ll_own_parameter *p = r->own; p != NULL && p->name != NULL; p++) put_own(w, p);
    for (size_t i = 0; i < 3 && r->parameters[i].table != NULL; i++)
        for (const char *const *k = r->parameters[i].name; *k != NULL; k++)
            put_option(w, llap_option_find(r->parameters[i].table(), *k));
    ll_json_close(w, ']');
}

/* ---- a route ---- */

/* The keys of a JSON body: its data, and the parameters of the query. */
static const char table[] =
    "{\"type\":\"object\",\"required\":[\"data\"],\"properties\":{\"data\":{\"type\":\"object\","
    "\"minProperties\":1,\"additionalProperties\":{\"type\":\"array\",\"items\":{\"type\":["
    "\"number\","
    "\"string\",\"null\",\"boolean\"]}},\"description\":\"a table by columns: a time, the entity "
    "where there are several, values\"}}}";

static void put_content(ll_json_writer *w, const char *const *types, const char *json_schema)
{
    ll_json_open(w, "content", '{');
    for (; *types != NULL; types++) {
        const bool is_json = strcmp(*types, "application/json") == 0;
        ll_json_open(w, *types, '{');
        if (is_json && json_schema != NULL) put_text(w, "schema", json_schema);
        else put_text(w, "schema", "{\"type\":\"string\"}");
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

static void put_reply(ll_json_writer *w, const ll_route *r, int status)
{
    char code[8];
    snprintf(code, sizeof code, "%d", status);
    ll_json_open(w, code, '{');
    ll_json_put_string(w, "description", r->summary);
    if (status != 204) put_content(w, r->gives, r->schema);
    ll_json_close(w, '}');
}

static void put_replies(ll_json_writer *w, const ll_route *r)
{
    static const char *const problem[] = { "application/problem+json", NULL }, *const page[] = {
        "text/html", NULL
    };
    ll_json_open(w, "responses", '{');
    if (r->made != 204) put_reply(w, r, 200);
    if (r->made != 0) put_reply(w, r, r->made);
    ll_json_open(w, "414", '{'); /* libmicrohttpd's own, before anything is known of the request */
    ll_json_put_string(w, "description", "the request line does not fit into max_header");
    put_content(w, page, NULL);
    ll_json_close(w, '}');
    ll_json_open(w, "431", '{');
    ll_json_put_string(w, "description", "the headers do not fit into max_header");
    put_content(w, page, NULL);
    ll_json_close(w, '}');
    ll_json_open(w, "default", '{');
    ll_json_put_string(w, "description", "what is wrong (RFC 9457)");
    ll_json_open(w, "content", '{');
    ll_json_open(w, *problem, '{');
    put_text(w, "schema", "{\"$ref\":\"#/components/schemas/Problem\"}");
    ll_json_close(w, '}');
    ll_json_close(w, '}');
    ll_json_close(w, '}');
    ll_json_close(w, '}');
}

static void put_route(ll_json_writer *w, const ll_route *r)
{
    static const char *const rights[] = { "nobody's", "read", "write", "admin" };
    char                     method[8], text[256];
    size_t                   n = 0;
    for (; r->method[n] != '\0' && n + 1 < sizeof method; n++)
        method[n] = (char)(r->method[n] | 32);
    method[n] = '\0';
    snprintf(text, sizeof text, "Right: %s.", rights[r->right]);
    ll_json_open(w, method, '{');
    ll_json_put_string(w, "operationId", r->id);
    ll_json_put_string(w, "summary", r->summary);
    ll_json_put_string(w, "description", text);
    if (r->right == LL_RIGHT_NONE) put_text(w, "security", "[]");
    put_parameters(w, r);
    if (r->takes != NULL) {
        ll_json_open(w, "requestBody", '{');
        ll_json_put_bool(w, "required", true);
        put_content(w, r->takes, r->takes_schema != NULL ? r->takes_schema : table);
        ll_json_close(w, '}');
    }
    put_replies(w, r);
    ll_json_close(w, '}');
}

/* ---- the document ---- */

static bool is_first_of_its_path(const ll_route *r)
{
    for (const ll_route *k = ll_routes; k < r; k++)
        if (strcmp(k->path, r->path) == 0) return false;
    return true;
}

static void put_paths(ll_json_writer *w)
{
    ll_json_open(w, "paths", '{');
    for (const ll_route *r = ll_routes; r->run != NULL; r++) {
        if (!is_first_of_its_path(r)) continue;
        ll_json_open(w, r->path, '{');
        for (const ll_route *k = r; k->run != NULL; k++)
            if (strcmp(k->path, r->path) == 0) put_route(w, k);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

llap_status ll_openapi_text(char **text, size_t *n)
{
    ll_json_writer w = { .indent = 1 };
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "openapi", "3.1.0");
    ll_json_open(&w, "info", '{');
    ll_json_put_string(&w, "title", "llapdiff");
    ll_json_put_string(&w, "version", llap_version());
    ll_json_put_string(&w, "description",
                       "Forecasts, filled gaps and alarms of irregular time series.");
    ll_json_close(&w, '}');
    put_paths(&w);
    put_text(&w, "components",
             "{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
             "\"schemas\":{\"Problem\":{\"type\":\"object\",\"required\":[\"title\",\"status\"],"
             "\"properties\":{\"title\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
             "\"code\":{\"type\":\"string\"},\"detail\":{\"type\":\"string\"}}}}}");
    put_text(&w, "security", "[{\"token\":[]},{}]");
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, n);
}
