/* What a request says: arguments, types, time. */
#include "serve/request.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

int64_t ll_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

const char *ll_request_argument(const ll_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_arguments; i++)
        if (strcmp(r->argument[i].name, name) == 0) return r->argument[i].value;
    return NULL;
}

static int report(void *user, const llap_progress_event *e)
{
    const ll_request *r = user;
    (void)e;
    return ll_now() > r->deadline;
}

llap_progress ll_request_progress(ll_request *r)
{
    return (llap_progress){ .report = report, .user = r };
}

/* ---- what is held ---- */

llap_status ll_request_large(ll_request *r)
{
    if (r->route->where != LL_BY_WRITER || r->is_large) return LLAP_OK;
    r->is_large = !atomic_exchange(&r->server->large, true);
    return r->is_large ? LLAP_OK
                       : ll_fail(LLAP_EUNAVAILABLE, "another large request is at work: ask again");
}

/* Answers wait for their clients, so large ones count. */
void ll_request_done(ll_request *r)
{
    llap_server  *s = r->server;
    const int64_t n = r->reply.fixed || r->reply.n < LL_LARGE_BYTES ? 0 : (int64_t)r->reply.n;
    if (r->is_large) atomic_store(&s->large, false);
    r->is_large = false;
    if (n > 0 && atomic_fetch_add(&s->body_bytes, n) + n > s->o.max_memory << 20) {
        (void)atomic_fetch_sub(&s->body_bytes, n);
        ll_reply_problem(r, 503, LLAP_EUNAVAILABLE, "too many bytes wait for their clients");
    } else {
        r->n_held = n;
    }
}

/* ---- types ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool ll_type_is(const char *header, const char *type)
{
    const size_t n = strlen(type);
    if (header == NULL) return false;
    while (is_blank(*header)) header++;
    if (strncasecmp(header, type, n) != 0) return false;
    header += n;
    while (is_blank(*header)) header++;
    return *header == '\0' || *header == ';';
}

/* How well a range, "text/csv", "text/" and "*" or all, fits the type: 0 not, 3 exactly. */
static int fit(const char *range, size_t n, const char *type)
{
    const char *slash = strchr(type, '/');
    if (slash == NULL) return 0;
    if (n == 3 && memcmp(range, "*/*", 3) == 0) return 1;
    if (n == strlen(type) && strncasecmp(range, type, n) == 0) return 3;
    const size_t family = (size_t)(slash - type) + 1;
    return n == family + 1 && range[n - 1] == '*' && strncasecmp(range, type, family) == 0 ? 2 : 0;
}

/* The quality in ";q=0.5", 1 where there is none. */
static double quality(const char *from, const char *end)
{
    for (const char *p = from; p + 2 < end; p++)
        if (*p == ';') {
            const char *q = p + 1;
            while (q < end && is_blank(*q)) q++;
            if (q + 1 < end && (*q == 'q' || *q == 'Q') && q[1] == '=') return strtod(q + 2, NULL);
        }
    return 1;
}

/* What the header gives the type: the quality of the range that fits best; -1: none does. */
static double liking(const char *accept, const char *type)
{
    double liked = -1;
    int    best = 0;
    for (const char *p = accept; *p != '\0';) {
        const char *end = p + strcspn(p, ",");
        while (is_blank(*p)) p++;
        size_t n = 0;
        while (p + n < end && p[n] != ';' && !is_blank(p[n])) n++;
        const int fits = fit(p, n, type);
        if (fits > best) {
            best = fits;
            liked = quality(p + n, end);
        }
        p = *end == ',' ? end + 1 : end;
    }
    return liked;
}

int ll_accepts(const char *accept, const char *const *types)
{
    int    best = -1;
    double most = 0;
    if (accept == NULL || *accept == '\0') return 0;
    for (int i = 0; types[i] != NULL; i++) {
        const double q = liking(accept, types[i]);
        if (q > most) {
            most = q;
            best = i;
        }
    }
    return best;
}
