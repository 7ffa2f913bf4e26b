#include "base/sql/url.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/percent.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char sqlite[] = "sqlite:";

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_postgres(const char *text)
{
    return begins(text, "postgresql://") || begins(text, "postgres://");
}

bool ll_sql_is_url(const char *text) { return begins(text, sqlite) || is_postgres(text); }

/* ---- parts of the text ---------------------------------------------------------------------- */

/* SELECT * FROM "schema"."name". Caller owns *out. */
static llap_status select_all(const char *table, char **out)
{
    static const char select[] = "SELECT * FROM \"";
    char             *to = *out = ll_new(sizeof select + 3 * strlen(table) + 2, 1);
    if (to == NULL) return LLAP_ENOMEM;
    if (*table == '\0') return ll_fail(LLAP_EINVAL, "table: no name given");
    memcpy(to, select, sizeof select - 1);
    to += sizeof select - 1;
    for (const char *p = table; *p != '\0'; p++) {
        if (*p == '"') *to++ = '"';
        if (*p == '.') *to++ = '"';
        *to++ = *p;
        if (*p == '.') *to++ = '"';
    }
    *to = '"';
    return LLAP_OK;
}

/* ---- the options behind the question mark --------------------------------------------------- */

/* what: 'q'uery, 't'able, 's'tream */
static llap_status set_query(ll_sql_url *u, char what, const char *value, size_t n)
{
    if (u->query != NULL || u->stream != NULL)
        return ll_fail(LLAP_EINVAL, "expected one query, table or stream, found two (& is %%26)");
    if (what == 'q') {
        const llap_status st = ll_percent_decode(value, n, "query", &u->query);
        return st != LLAP_OK || u->query[strspn(u->query, " \t\r\n")] != '\0'
                   ? st
                   : ll_fail(LLAP_EINVAL, "query: nothing is asked");
    }
    if (what == 's') {
        const llap_status st = ll_percent_decode(value, n, "stream", &u->stream);
        return st != LLAP_OK || *u->stream != '\0' ? st
                                                   : ll_fail(LLAP_EINVAL, "stream: no name given");
    }
    char       *table = NULL;
    llap_status st = ll_percent_decode(value, n, "table", &table);
    if (st == LLAP_OK) st = select_all(table, &u->query);
    ll_free(table);
    return st;
}

static bool is_ours(const char *name, size_t n)
{
    return (n == 5 && memcmp(name, "query", 5) == 0) || (n == 5 && memcmp(name, "table", 5) == 0) ||
           (n == 6 && memcmp(name, "stream", 6) == 0);
}

/* Takes query, table and stream; what is left goes behind `to`, which has room. */
static llap_status options(ll_sql_url *u, const char *text, char *to)
{
    char mark = '?';
    for (const char *p = text; *p != '\0';) {
        const size_t n = strcspn(p, "&"), name = strcspn(p, "=&");
        if (is_ours(p, name) && name < n) {
            const llap_status st = set_query(u, *p, p + name + 1, n - name - 1);
            if (st != LLAP_OK) return st;
        } else if (u->sqlite && n > 0) {
            char shown[64];
            snprintf(shown, sizeof shown, "%.*s", (int)(n < 40 ? n : 40), p);
            return ll_fail(LLAP_EINVAL,
                           "expected ?query=SELECT..., ?table=NAME or ?stream=NAME, found '%s'%s",
                           ll_text_show(shown).text, u->query == NULL ? "" : " (& is %26)");
        } else if (n > 0) {
            *to++ = mark;
            memcpy(to, p, n);
            to += n;
            mark = '&';
        }
        p += n + (p[n] == '&');
    }
    *to = '\0';
    return LLAP_OK;
}

/* ---- names for messages --------------------------------------------------------------------- */

/* Without user and password, which end at the last @ of the part in front of the path. */
static llap_status name_postgres(ll_sql_url *u)
{
    const char  *host = strstr(u->target, "://") + 3;
    const size_t all = strcspn(host, "?");
    const char  *begin = host;
    for (size_t i = 0; i < all; i++)
        if (host[i] == '@') begin = host + i + 1;
    const size_t n = all - (size_t)(begin - host);
    u->name = ll_new(sizeof "postgresql://" + n, 1);
    if (u->name == NULL) return LLAP_ENOMEM;
    snprintf(u->name, sizeof "postgresql://" + n, "postgresql://%.*s", (int)n, begin);
    return LLAP_OK;
}

static llap_status name_sqlite(ll_sql_url *u)
{
    const size_t n = strlen(u->target) + sizeof sqlite;
    u->name = ll_new(n, 1);
    if (u->name == NULL) return LLAP_ENOMEM;
    snprintf(u->name, n, "%s%s", sqlite, u->target);
    return LLAP_OK;
}

enum { ASKED = 80 }; /* bytes of a query that messages show */

static llap_status name_asked(ll_sql_url *u)
{
    const char  *query = u->query != NULL ? u->query : u->stream != NULL ? u->stream : "";
    const size_t n = strlen(u->name) + ASKED + 24;
    char        *to = u->asked = ll_new(n, 1);
    if (to == NULL) return LLAP_ENOMEM;
    to += snprintf(to, n, "%s", u->name);
    if (u->query == NULL && u->stream == NULL) return LLAP_OK;
    const size_t length = strlen(query),
                 cut = ll_utf8_prefix(query, length < ASKED ? length : ASKED);
    to += snprintf(to, 16, "%s '", u->stream != NULL ? " stream" : "");
    for (size_t i = 0; i < cut; i++)
        *to++ = (char)((unsigned char)query[i] < ' ' || query[i] == 0x7f ? ' ' : query[i]);
    snprintf(to, 8, cut < length ? "...'" : "'");
    return LLAP_OK;
}

static llap_status give_names(ll_sql_url *u)
{
    llap_status st = u->sqlite ? name_sqlite(u) : name_postgres(u);
    if (st == LLAP_OK) st = name_asked(u);
    return st;
}

/* libpq takes the first @ for the end of the user and shows what it cannot read: a password must
 * not get that far unless it is written as one. */
static llap_status check_secret(const char *target)
{
    const char  *begin = strstr(target, "://") + 3;
    const char  *at = strchr(begin, '@');
    const size_t n = at == NULL ? 0 : (size_t)(at - begin);
    bool         good = at == NULL || (strchr(at + 1, '@') == NULL && strcspn(begin, "/?#") > n &&
                               memchr(begin, ' ', n) == NULL);
    const char  *colon = memchr(begin, ':', n);
    good =
        good && (colon == NULL || memchr(colon + 1, ':', n - (size_t)(colon + 1 - begin)) == NULL);
    char             *unused = NULL;
    const llap_status st = ll_percent_decode(begin, strlen(begin), "", &unused);
    ll_free(unused);
    if (st == LLAP_ENOMEM) return st;
    good = good && st == LLAP_OK;
    return good ? LLAP_OK
                : ll_fail(LLAP_EINVAL,
                          "expected user:password@host, with %%40 for @, %%2F for /, "
                          "%%3F for ?, %%3A for : and %%25 for %% in user and password");
}

/* ---- the functions of the header ------------------------------------------------------------ */

llap_status ll_sql_url_init(ll_sql_url *u, const char *text)
{
    *u = (ll_sql_url){ .sqlite = begins(text, sqlite) };
    if (!ll_sql_is_url(text))
        return ll_fail(LLAP_EINVAL, "'%s': expected sqlite:FILE or postgresql://...",
                       ll_text_show(text).text);
    const char  *begin = u->sqlite ? text + sizeof sqlite - 1 : text;
    const size_t n = strcspn(begin, "?");
    llap_status  st = LLAP_OK;
    if (u->sqlite) {
        st = ll_percent_decode(begin, n, "file", &u->target);
        if (st == LLAP_OK && *u->target == '\0') st = ll_fail(LLAP_EINVAL, "no file given");
    } else {
        u->target = ll_new(strlen(text) + 1, 1);
        if (u->target == NULL) return LLAP_ENOMEM;
        memcpy(u->target, begin, n);
    }
    if (st == LLAP_OK && begin[n] == '?')
        st = options(u, begin + n + 1, u->target + strlen(u->target));
    if (st == LLAP_OK && !u->sqlite) st = check_secret(u->target);
    if (st == LLAP_OK) return give_names(u);
    /* a message must not show what stands in front of the host */
    return st == LLAP_ENOMEM ? st : ll_fail_in(st, u->sqlite ? "sqlite" : "postgresql");
}

llap_status ll_sql_url_file(ll_sql_url *u, const char *path)
{
    *u = (ll_sql_url){ .sqlite = true, .target = ll_strndup(path, strlen(path)) };
    if (u->target == NULL) return LLAP_ENOMEM;
    return *path == '\0' ? ll_fail(LLAP_EINVAL, "sqlite: no file given") : give_names(u);
}

void ll_sql_url_deinit(ll_sql_url *u)
{
    ll_free(u->target);
    ll_free(u->query);
    ll_free(u->stream);
    ll_free(u->name);
    ll_free(u->asked);
    *u = (ll_sql_url){ 0 };
}
