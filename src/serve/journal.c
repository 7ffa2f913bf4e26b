/* What is said of requests: lines of JSON, and counters for /metrics. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "serve/feed.h"
#include "serve/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- lines ---- */

static void begin(ll_json_writer *w, llap_log_level level, const char *event)
{
    char            text[64];
    struct timespec now;
    struct tm       t;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &t);
    const size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(text + n, sizeof text - n, ".%03ldZ", now.tv_nsec / 1000000);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "time", text);
    ll_json_put_string(w, "level", llap_log_level_name(level));
    ll_json_put_string(w, "event", event);
}

static void end(const llap_server *s, llap_log_level level, ll_json_writer *w)
{
    char  *text = NULL;
    size_t n = 0;
    ll_json_close(w, '}');
    if (ll_json_finish(w, &text, &n) == LLAP_OK) s->o.log->sink(s->o.log->user, level, text);
    ll_free(text);
}

static bool is_wanted(const llap_server *s, llap_log_level level)
{
    return s->o.log != NULL && s->o.log->sink != NULL && level <= s->o.log->level;
}

void ll_journal(llap_server *s, llap_log_level level, const char *event, const char *fmt, ...)
{
    char           text[LL_PROBLEM_MAX];
    ll_json_writer w = { 0 };
    va_list        args;
    if (!is_wanted(s, level)) return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text[ll_utf8_prefix(text, strlen(text))] = '\0';
    begin(&w, level, event);
    ll_json_put_string(&w, "message", text);
    end(s, level, &w);
}

static void take_message(void *user, llap_log_level level, const char *message)
{
    ll_journal(user, level, "library", "%s", message);
}

llap_log ll_journal_log(llap_server *s)
{
    return (llap_log){ .level = LLAP_LOG_WARNING, .sink = take_message, .user = s };
}

static void write_request(llap_server *s, const ll_request *r, double seconds)
{
    const llap_log_level level = r->reply.status >= 500 ? LLAP_LOG_WARNING : LLAP_LOG_INFO;
    ll_json_writer       w = { 0 };
    if (!is_wanted(s, level)) return;
    begin(&w, level, "request");
    ll_json_put_int(&w, "number", (int64_t)r->number);
    ll_json_put_string(&w, "client", r->client);
    if (r->who != NULL) ll_json_put_string(&w, "who", r->who);
    ll_json_put_string(&w, "method", ll_text_show(r->method).text);
    ll_json_put_string(&w, "path", ll_text_show(r->path).text);
    ll_json_put_int(&w, "status", r->reply.status);
    ll_json_put_int(&w, "bytes_in", (int64_t)r->n_bytes);
    ll_json_put_int(&w, "bytes_out", (int64_t)r->reply.n);
    ll_json_put_double(&w, "seconds", (double)(int64_t)(seconds * 1e6) / 1e6);
    end(s, level, &w);
}

/* ---- counters ---- */

static const double bucket[LL_SECONDS_BUCKETS] = {
    0.001, 0.005, 0.02, 0.1, 0.25, 1, 2.5, 10, 30, 60
};

void ll_journal_request(llap_server *s, const ll_request *r)
{
    const double seconds = (double)(ll_now() - r->begun) * 1e-9;
    ll_counters *c = &s->counters;
    (void)pthread_mutex_lock(&c->lock);
    c->bytes_in += (int64_t)r->n_bytes;
    c->bytes_out += (int64_t)r->reply.n;
    if (r->route == NULL) {
        c->refused++;
    } else {
        ll_route_counts *k = &c->route[r->route - ll_routes];
        const int        digit = r->reply.status / 100;
        k->answered[digit < LL_CLASSES ? digit : 0]++;
        k->seconds += seconds;
        for (size_t i = 0; i < LL_SECONDS_BUCKETS; i++) k->within[i] += seconds <= bucket[i];
    }
    (void)pthread_mutex_unlock(&c->lock);
    write_request(s, r, seconds);
}

static void head(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP llapdiff_%s %s\n# TYPE llapdiff_%s %s\n", name, help, name, type);
}

static void one(FILE *f, const char *name, const char *type, const char *help, double value)
{
    head(f, name, type, help);
    fprintf(f, "llapdiff_%s %.17g\n", name, value);
}

static void put_routes(FILE *f, const ll_counters *c)
{
    head(f, "requests_total", "counter", "Requests by route and first digit of the status.");
    for (size_t i = 0; ll_routes[i].run != NULL; i++)
        for (int k = 1; k < LL_CLASSES; k++)
            if (c->route[i].answered[k] > 0)
                fprintf(f, "llapdiff_requests_total{route=\"%s\",status=\"%dxx\"} %lld\n",
                        ll_routes[i].id, k, (long long)c->route[i].answered[k]);
    head(f, "request_seconds", "histogram",
         "From the first byte of a request to the last of its answer.");
    for (size_t i = 0; ll_routes[i].run != NULL; i++) {
        const ll_route_counts *k = &c->route[i];
        int64_t                all = 0;
        for (int d = 0; d < LL_CLASSES; d++) all += k->answered[d];
        if (all == 0) continue;
        for (size_t b = 0; b < LL_SECONDS_BUCKETS; b++)
            fprintf(f, "llapdiff_request_seconds_bucket{route=\"%s\",le=\"%g\"} %lld\n",
                    ll_routes[i].id, bucket[b], (long long)k->within[b]);
        fprintf(f,
                "llapdiff_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %lld\n"
                "llapdiff_request_seconds_sum{route=\"%s\"} %.9g\n"
                "llapdiff_request_seconds_count{route=\"%s\"} %lld\n",
                ll_routes[i].id, (long long)all, ll_routes[i].id, k->seconds, ll_routes[i].id,
                (long long)all);
    }
}

static int64_t waiting(ll_workers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const int64_t n = w->n;
    (void)pthread_mutex_unlock(&w->lock);
    return n;
}

static double memory_bytes(void)
{
    long long pages = 0;
    FILE     *f = fopen("/proc/self/statm", "re");
    if (f == NULL) return 0;
    if (fscanf(f, "%*s %lld", &pages) != 1) pages = 0;
    (void)fclose(f);
    return (double)pages * 4096;
}

static void put_feed(FILE *f, llap_server *s)
{
    ll_feed_counts c;
    if (!ll_feed_count(s, &c)) return;
    one(f, "mqtt_connected", "gauge", "Whether the broker sends.", c.ready);
    one(f, "mqtt_messages_total", "counter", "Messages that came.", (double)c.messages);
    one(f, "mqtt_readings_total", "counter", "Rows of them that are durable.", (double)c.readings);
    one(f, "mqtt_passed_total", "counter", "Messages of no variable of the model, or retained.",
        (double)c.passed);
    one(f, "mqtt_refused_total", "counter", "Messages that cannot be read.", (double)c.refused);
}

static void put_all(FILE *f, llap_server *s)
{
    int64_t connections = 0;
    (void)pthread_mutex_lock(&s->lock);
    for (const ll_connection *k = s->connections; k != NULL; k = k->next) connections++;
    (void)pthread_mutex_unlock(&s->lock);
    one(f, "connections", "gauge", "Open connections.", (double)connections);
    one(f, "requests_open", "gauge", "Requests that are not yet answered.",
        (double)atomic_load(&s->requests));
    one(f, "requests_working", "gauge", "Requests that wait for a worker or are worked on.",
        (double)(waiting(&s->workers) + (s->streams != NULL ? waiting(&s->writers) : 0)));
    one(f, "body_bytes", "gauge", "Memory of the bodies of requests.",
        (double)atomic_load(&s->body_bytes));
    one(f, "memory_bytes", "gauge", "Memory of the process.", memory_bytes());
    (void)pthread_mutex_lock(&s->models.lock);
    const size_t n_models = s->models.n;
    (void)pthread_mutex_unlock(&s->models.lock);
    one(f, "models", "gauge", "Models that are served.", (double)n_models);
    (void)pthread_mutex_lock(&s->counters.lock);
    const ll_counters *c = &s->counters;
    one(f, "received_bytes_total", "counter", "Bytes of bodies received.", (double)c->bytes_in);
    one(f, "sent_bytes_total", "counter", "Bytes of bodies sent.", (double)c->bytes_out);
    one(f, "refused_total", "counter", "Requests for what is not there.", (double)c->refused);
    one(f, "cut_total", "counter", "Connections of clients that were too slow.", (double)c->cut);
    put_routes(f, c);
    (void)pthread_mutex_unlock(&s->counters.lock);
}

llap_status ll_metrics_text(llap_server *s, char **text, size_t *n)
{
    ll_memory_file    m;
    const llap_status st = ll_memory_file_open(&m);
    if (st == LLAP_OK) put_all(m.stream, s);
    if (st == LLAP_OK) put_feed(m.stream, s);
    return ll_memory_file_close(&m, st, text, n);
}
