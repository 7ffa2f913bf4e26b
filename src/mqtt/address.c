#include "mqtt/address.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/percent.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER_MOST = 1024, PORT = 1883, PORT_TLS = 8883 };

static const char scheme[] = "mqtt://", scheme_tls[] = "mqtts://";

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- the options behind the question mark --------------------------------------------------- */

static char **option_of(ll_mqtt_address *a, const char *name, size_t n)
{
    const struct {
        const char *name;
        char      **value;
    } table[] = {
        { "stream", &a->stream }, { "model", &a->model },
        { "client", &a->client }, { "columns", &a->columns },
        { "time", &a->time },     { "entity", &a->entity },
        { "cafile", &a->cafile }, { "password_file", &a->password_file },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0)
            return table[i].value;
    return NULL;
}

static llap_status options(ll_mqtt_address *a, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "&"), name = strcspn(text, "=&");
        char       **value = option_of(a, text, name);
        char         shown[32];
        snprintf(shown, sizeof shown, "%.*s", (int)(name < 31 ? name : 31), text);
        if (value == NULL || name == n || name + 1 == n)
            return ll_fail(
                LLAP_EINVAL,
                "expected stream=, model=, client=, columns=, time=, entity=, cafile= or "
                "password_file= and a value, found '%s'",
                ll_text_show(shown).text);
        if (*value != NULL) return ll_fail(LLAP_EINVAL, "%s: is given twice", shown);
        const llap_status st = ll_percent_decode(text + name + 1, n - name - 1, shown, value);
        if (st != LLAP_OK) return st;
        text += n + (text[n] == '&');
    }
    return a->password == NULL || a->password_file == NULL
               ? LLAP_OK
               : ll_fail(LLAP_EINVAL, "a password and password_file are given");
}

/* ---- broker and topic ----------------------------------------------------------------------- */

/* Levels are separated by /; + and # stand alone in theirs, # in the last one. */
static llap_status check_filter(const char *filter)
{
    bool good = *filter != '\0' && strlen(filter) <= FILTER_MOST;
    for (const char *p = filter; good && *p != '\0';) {
        const size_t n = strcspn(p, "/");
        const bool   plus = memchr(p, '+', n) != NULL, hash = memchr(p, '#', n) != NULL;
        good = (!plus || n == 1) && (!hash || (n == 1 && p[n] == '\0'));
        p += n + (p[n] == '/');
    }
    return good
               ? LLAP_OK
               : ll_fail(LLAP_EINVAL,
                         "expected a topic of at most %d bytes behind the host, with + for a level "
                         "or # for the rest",
                         FILTER_MOST);
}

static llap_status read_port(ll_mqtt_address *a, const char *text, size_t n)
{
    char copy[8] = "", *end = copy;
    long port = 0;
    if (n < sizeof copy) {
        memcpy(copy, text, n);
        port = strtol(copy, &end, 10);
    }
    if (n == 0 || n >= sizeof copy || *end != '\0' || copy[0] < '0' || copy[0] > '9' || port < 1 ||
        port > 65535)
        return ll_fail(LLAP_EINVAL, "port: expected a number in 1..65535");
    a->port = (int)port;
    return LLAP_OK;
}

static llap_status read_user(ll_mqtt_address *a, const char *text, size_t n)
{
    const char  *colon = memchr(text, ':', n);
    const size_t user = colon == NULL ? n : (size_t)(colon - text);
    if (colon != NULL && memchr(colon + 1, ':', n - user - 1) != NULL)
        return ll_fail(LLAP_EINVAL, "expected user:password@host, : in them as %%3A");
    llap_status st = ll_percent_decode(text, user, "user", &a->user);
    if (st == LLAP_OK && colon != NULL)
        st = ll_percent_decode(colon + 1, n - user - 1, "password", &a->password);
    return st;
}

/* [user[:password]@]host[:port], n bytes. */
static llap_status read_broker(ll_mqtt_address *a, const char *text, size_t n)
{
    const char *at = memchr(text, '@', n);
    llap_status st = LLAP_OK;
    if (at != NULL) {
        st = read_user(a, text, (size_t)(at - text));
        n -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    if (st == LLAP_OK && memchr(text, '@', n) != NULL)
        st = ll_fail(LLAP_EINVAL, "expected user:password@host, @ in them as %%40");
    const bool   six = n > 0 && text[0] == '['; /* [::1] */
    const char  *end = six ? memchr(text, ']', n) : memchr(text, ':', n);
    const size_t host = end == NULL ? n : (size_t)(end - text) + six;
    if (st == LLAP_OK && (host <= (six ? 2 : 0) || (six && end == NULL)))
        st = ll_fail(LLAP_EINVAL, "no host given");
    if (st == LLAP_OK) st = ll_percent_decode(text + six, host - 2 * (size_t)six, "host", &a->host);
    a->port = a->tls ? PORT_TLS : PORT;
    if (st != LLAP_OK || host == n) return st;
    return text[host] == ':' ? read_port(a, text + host + 1, n - host - 1)
                             : ll_fail(LLAP_EINVAL, "no host given");
}

static llap_status give_name(ll_mqtt_address *a)
{
    const size_t n = strlen(a->host) + strlen(a->filter) + 32;
    a->name = ll_new(n, 1);
    if (a->name == NULL) return LLAP_ENOMEM;
    snprintf(a->name, n, "%s%s:%d/%s", a->tls ? scheme_tls : scheme, a->host, a->port, a->filter);
    return LLAP_OK;
}

static llap_status take_apart(ll_mqtt_address *a, const char *text)
{
    const char *mark = strchr(text, '?');
    /* a password with one of these would be taken for a host, and shown */
    const char *at = strrchr(text, '@');
    if (at != NULL && strcspn(text, "/?") < (size_t)(at - text))
        return ll_fail(LLAP_EINVAL,
                       "expected user:password@host/TOPIC, with %%2F for /, %%3F for ? "
                       "and %%40 for @ in user and password, %%40 for @ elsewhere");
    const size_t all = mark == NULL ? strlen(text) : (size_t)(mark - text);
    const char  *slash = memchr(text, '/', all);
    const size_t broker = slash == NULL ? all : (size_t)(slash - text);
    llap_status  st = read_broker(a, text, broker);
    if (st == LLAP_OK)
        st = ll_percent_decode(slash == NULL ? "" : slash + 1, slash == NULL ? 0 : all - broker - 1,
                               "topic", &a->filter);
    if (st == LLAP_OK) st = check_filter(a->filter);
    if (st == LLAP_OK && mark != NULL) st = options(a, mark + 1);
    return st == LLAP_OK ? give_name(a) : st;
}

llap_status ll_mqtt_address_init(ll_mqtt_address *a, const char *text)
{
    *a = (ll_mqtt_address){ .tls = begins(text, scheme_tls) };
    if (!a->tls && !begins(text, scheme))
        return ll_fail(LLAP_EINVAL, "expected mqtt://HOST/TOPIC or mqtts://HOST/TOPIC");
    return take_apart(a, text + (a->tls ? sizeof scheme_tls : sizeof scheme) - 1);
}

void ll_mqtt_address_deinit(ll_mqtt_address *a)
{
    char *const all[] = { a->host,   a->user,   a->password,     a->filter,  a->name,
                          a->stream, a->model,  a->client,       a->columns, a->time,
                          a->entity, a->cafile, a->password_file };
    if (a->password != NULL) memset(a->password, 0, strlen(a->password));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ll_free(all[i]);
    *a = (ll_mqtt_address){ 0 };
}
