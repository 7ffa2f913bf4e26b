#include "base/sql/url.h"

#include "base/alloc.h"
#include "base/error.h"
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

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Caller owns *out. what: for messages. */
static llap_status decode(const char *text, size_t n, const char *what, char **out)
{
    char *to = *out = ll_new(n + 1, 1);
    if (to == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            const int a = i + 1 < n ? digit(text[i + 1]) : -1;
            const int b = i + 2 < n ? digit(text[i + 2]) : -1;
            if (a < 0 || b < 0 || a + b == 0)
                return ll_fail(LLAP_EINVAL, "%s: byte %zu: %% is followed by no code: write %%25",
                               what, i + 1);
            c = 16 * a + b;
            i += 2;
        }
        *to++ = (char)c;
    }
    const size_t length = (size_t)(to - *out);
    if (ll_utf8_prefix(*out, length) < length)
        return ll_fail(LLAP_EINVAL, "%s: byte %zu is not UTF-8: write %% as %%25", what,
                       ll_utf8_prefix(*out, length) + 1);
    return LLAP_OK;
}

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

static llap_status set_query(ll_sql_url *u, bool is_table, const char *value, size_t n)
{
    if (u->query != NULL)
        return ll_fail(LLAP_EINVAL, "expected one query or table, found two (& is %%26)");
    if (!is_table) {
        const llap_status st = decode(value, n, "query", &u->query);
        return st != LLAP_OK || u->query[strspn(u->query, " \t\r\n")] != '\0'
                   ? st
                   : ll_fail(LLAP_EINVAL, "query: nothing is asked");
    }
    char       *table = NULL;
    llap_status st = decode(value, n, "table", &table);
    if (st == LLAP_OK) st = select_all(table, &u->query);
    ll_free(table);
    return st;
}

/* Takes query and table; what is left goes behind `to`, which has room. */
static llap_status options(ll_sql_url *u, const char *text, char *to)
{
    char mark = '?';
    for (const char *p = text; *p != '\0';) {
        const size_t n = strcspn(p, "&"), name = strcspn(p, "=&");
        const bool   query = name == 5 && memcmp(p, "query", 5) == 0;
        const bool   table = name == 5 && memcmp(p, "table", 5) == 0;
        if ((query || table) && name < n) {
            const llap_status st = set_query(u, table, p + name + 1, n - name - 1);
            if (st != LLAP_OK) return st;
        } else if (u->sqlite && n > 0) {
            char shown[64];
            snprintf(shown, sizeof shown, "%.*s", (int)(n < 40 ? n : 40), p);
            return ll_fail(LLAP_EINVAL, "expected ?query=SELECT... or ?table=NAME, found '%s'%s",
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
    const char  *query = u->query == NULL ? "" : u->query;
    const size_t n = strlen(u->name) + ASKED + 16;
    char        *to = u->asked = ll_new(n, 1);
    if (to == NULL) return LLAP_ENOMEM;
    to += snprintf(to, n, "%s", u->name);
    if (u->query == NULL) return LLAP_OK;
    const size_t length = strlen(query),
                 cut = ll_utf8_prefix(query, length < ASKED ? length : ASKED);
    *to++ = ' ';
    *to++ = '\'';
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
        st = decode(begin, n, "file", &u->target);
        if (st == LLAP_OK && *u->target == '\0') st = ll_fail(LLAP_EINVAL, "no file given");
    } else {
        u->target = ll_new(strlen(text) + 1, 1);
        if (u->target == NULL) return LLAP_ENOMEM;
        memcpy(u->target, begin, n);
    }
    if (st == LLAP_OK && begin[n] == '?')
        st = options(u, begin + n + 1, u->target + strlen(u->target));
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
    ll_free(u->name);
    ll_free(u->asked);
    *u = (ll_sql_url){ 0 };
}
