/* Nothing is acknowledged before it is durable, so that what was published with QoS 1 comes again
 * after the server was killed, or the connection lost in between; and is then stored again, as a
 * repeated row, which changes nothing. What cannot be read is counted and acknowledged: it would
 * come again for ever. */
#include "serve/feed.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "mqtt/mqtt.h"
#include "serve/streams.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WAIT_MS = 200, PAUSE_MIN_MS = 250, PAUSE_MAX_MS = 10000, TOLD_MOST = 20 };

struct ll_feed {
    llap_server    *server;
    ll_mqtt_address address;
    ll_mqtt_client *client;
    ll_live        *stream; /* NULL: not made yet */
    pthread_t       thread;
    bool            running;
    atomic_bool     stopping;
    int64_t         pause_ms, told_refused;
    const char     *away; /* what the log knows to be: mqtt, store; NULL: nothing */
    pthread_mutex_t lock; /* of the counts */
    ll_feed_counts  counts;

    /* of the messages at hand */
    ll_arena        arena;
    ll_payload_form form;
    ll_store_row   *row; /* [n_rows] */
    int64_t         n_rows;
};

static const char mqtt[] = "mqtt", store[] = "store";

static void count(struct ll_feed *f, int64_t *what, int64_t n)
{
    (void)pthread_mutex_lock(&f->lock);
    *what += n;
    (void)pthread_mutex_unlock(&f->lock);
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* What failed is told once, until it goes on. */
static void wait_after(struct ll_feed *f, const char *what)
{
    if (f->away != what)
        ll_journal(f->server, LLAP_LOG_WARNING, what, "%s: trying again", llap_error_detail());
    f->away = what;
    for (int64_t ms = 0; ms < f->pause_ms && !atomic_load(&f->stopping); ms += 50)
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    f->pause_ms = 2 * f->pause_ms < PAUSE_MAX_MS ? 2 * f->pause_ms : PAUSE_MAX_MS;
}

static void goes_on(struct ll_feed *f, const char *what, const char *name)
{
    if (f->away != what) return;
    ll_journal(f->server, LLAP_LOG_WARNING, what, "%s: goes on", name);
    f->away = NULL;
    f->pause_ms = PAUSE_MIN_MS;
}

/* ---- messages to rows ----------------------------------------------------------------------- */

/* The names of the model's variables, and what its times are. Locked. */
static llap_status copy_form(struct ll_feed *f, const llap_stream *s)
{
    const char *const *name = llap_stream_variables(s);
    int64_t            n = 0;
    while (name[n] != NULL) n++;
    const char **copy = ll_arena_new(&f->arena, (size_t)n, sizeof *copy);
    for (int64_t v = 0; copy != NULL && v < n; v++)
        if ((copy[v] = ll_arena_strndup(&f->arena, name[v], strlen(name[v]))) == NULL) copy = NULL;
    if (copy == NULL) return LLAP_ENOMEM;
    f->form = (ll_payload_form){ .filter = f->address.filter,
                                 .columns = f->address.columns,
                                 .time = f->address.time,
                                 .entity = f->address.entity,
                                 .variable = copy,
                                 .n_variables = n,
                                 .is_number = s->axis.kind == LL_AXIS_NUMBER,
                                 .unit_ns = s->axis.unit_ns };
    return LLAP_OK;
}

/* LLAP_EUNAVAILABLE: its model is not served now. */
static llap_status find_stream(struct ll_feed *f)
{
    llap_status st = LLAP_OK;
    ll_arena_deinit(&f->arena);
    if (f->stream == NULL)
        st = ll_live_make(f->server, f->address.stream, f->address.model, &f->stream);
    if (st == LLAP_ENOTFOUND) st = ll_fail(LLAP_EUNAVAILABLE, "%s", llap_error_detail());
    if (st != LLAP_OK) return st;
    (void)pthread_mutex_lock(&f->stream->lock);
    st = ll_live_settle(f->stream, 0);
    if (st == LLAP_OK) st = copy_form(f, f->stream->s);
    (void)pthread_mutex_unlock(&f->stream->lock);
    return st;
}

static int64_t wall_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void refuse(struct ll_feed *f)
{
    count(f, &f->counts.refused, 1);
    if (f->told_refused++ < TOLD_MOST)
        ll_journal(f->server, LLAP_LOG_WARNING, "mqtt", "%s%s", llap_error_detail(),
                   f->told_refused == TOLD_MOST ? " (further ones are only counted)" : "");
}

static llap_status take_message(struct ll_feed *f, const ll_mqtt_message *m)
{
    ll_payload_row  row;
    ll_payload_kind kind = LL_PAYLOAD_OTHER;
    row.value = ll_arena_new(&f->arena, (size_t)f->form.n_variables, sizeof *row.value);
    if (row.value == NULL) return LLAP_ENOMEM;
    llap_status st = m->retained ? LLAP_OK
                                 : ll_payload_read(&f->form, m->topic, m->payload, m->n,
                                                   wall_clock(), &row, &kind);
    if (st == LLAP_ENOMEM) return st;
    if (st != LLAP_OK) refuse(f);
    else if (kind == LL_PAYLOAD_OTHER) count(f, &f->counts.passed, 1);
    if (st != LLAP_OK || kind == LL_PAYLOAD_OTHER) return LLAP_OK;
    const char *entity = ll_arena_strndup(&f->arena, row.entity, strlen(row.entity));
    if (entity == NULL) return LLAP_ENOMEM;
    f->row[f->n_rows++] = (ll_store_row){ entity, row.time, row.value };
    return LLAP_OK;
}

static bool is_among(const ll_store_row *row, int64_t n, const char *entity)
{
    while (n > 0 && strcmp(row[n - 1].entity, entity) != 0) n--;
    return n > 0;
}

/* A stream remembers each of its series for ever, so whoever may publish must not make them without
 * end. */
static llap_status bound_entities(struct ll_feed *f)
{
    llap_stream_counts c;
    int64_t            n = 0, time;
    const int64_t      most = f->server->o.max_series / f->form.n_variables;
    (void)pthread_mutex_lock(&f->stream->lock);
    const llap_stream *s = f->stream->s;
    llap_status        st = LLAP_OK;
    if (s == NULL) st = ll_fail(LLAP_EUNAVAILABLE, "%s: its model is away", f->address.stream);
    else llap_stream_count(s, &c);
    for (int64_t i = 0; i < f->n_rows && st == LLAP_OK; i++) {
        const char *entity = f->row[i].entity;
        const bool  known = llap_stream_newest(s, entity, &time) || is_among(f->row, n, entity);
        if (!known && c.entities >= most) {
            (void)ll_fail(LLAP_ELIMIT, "entity '%s': a stream has at most %lld series",
                          ll_text_show(entity).text, (long long)f->server->o.max_series);
            refuse(f);
            continue;
        }
        c.entities += !known;
        f->row[n++] = f->row[i];
    }
    (void)pthread_mutex_unlock(&f->stream->lock);
    if (st == LLAP_OK) f->n_rows = n;
    return st;
}

static llap_status take_messages(struct ll_feed *f, const ll_mqtt_message *m, size_t n)
{
    llap_status st = find_stream(f);
    f->n_rows = 0;
    if (st == LLAP_OK) f->row = ll_arena_new(&f->arena, n, sizeof *f->row);
    if (st == LLAP_OK && f->row == NULL) st = LLAP_ENOMEM;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) st = take_message(f, &m[i]);
    return st == LLAP_OK ? bound_entities(f) : st;
}

/* ---- rows to the store ---------------------------------------------------------------------- */

static llap_status append(struct ll_feed *f, const ll_store_row *row, int64_t n)
{
    const ll_store_readings what = { f->address.stream,   NULL, f->form.variable,
                                     f->form.n_variables, row,  n };
    ll_store_receipt        got = { 0 };
    const llap_status       st = ll_store_append(f->server->streams->store, &what, &got);
    if (st != LLAP_OK) return st;
    count(f, &f->counts.readings, n);
    (void)pthread_mutex_lock(&f->stream->lock);
    if (ll_live_settle(f->stream, got.number) != LLAP_OK)
        ll_journal(f->server, LLAP_LOG_WARNING, "stream", "%s: %s", f->address.stream,
                   llap_error_detail());
    (void)pthread_mutex_unlock(&f->stream->lock);
    return LLAP_OK;
}

/* Until all of them are durable; LLAP_ECANCELLED: the server stops, and they come again. */
static llap_status store_rows(struct ll_feed *f)
{
    llap_status st = f->n_rows == 0 ? LLAP_OK : append(f, f->row, f->n_rows);
    for (; st == LLAP_EUNAVAILABLE || st == LLAP_ENOMEM; st = append(f, f->row, f->n_rows)) {
        wait_after(f, store);
        if (atomic_load(&f->stopping)) return ll_fail(LLAP_ECANCELLED, "stopped");
    }
    if (st == LLAP_OK) return st;
    /* one that the store cannot take must not stand in the way of the others */
    for (int64_t i = 0; i < f->n_rows; i++) {
        while ((st = append(f, &f->row[i], 1)) == LLAP_EUNAVAILABLE || st == LLAP_ENOMEM) {
            wait_after(f, store);
            if (atomic_load(&f->stopping)) return ll_fail(LLAP_ECANCELLED, "stopped");
        }
        if (st != LLAP_OK) refuse(f);
    }
    return LLAP_OK;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void turn(struct ll_feed *f)
{
    const ll_mqtt_message *m;
    size_t                 n;
    const bool             before = ll_mqtt_is_ready(f->client);
    llap_status            st = ll_mqtt_receive(f->client, WAIT_MS, &m, &n);
    const bool             ready = ll_mqtt_is_ready(f->client);
    if (st == LLAP_OK && ready && !before)
        ll_journal(f->server, LLAP_LOG_INFO, "mqtt", "%s: connected", f->address.name);
    (void)pthread_mutex_lock(&f->lock);
    f->counts.ready = ready;
    f->counts.messages += st == LLAP_OK ? (int64_t)n : 0;
    (void)pthread_mutex_unlock(&f->lock);
    if (st != LLAP_OK) {
        wait_after(f, mqtt);
        return;
    }
    if (ready) goes_on(f, mqtt, f->address.name);
    if (n == 0) return;
    st = take_messages(f, m, n);
    if (st == LLAP_OK) st = store_rows(f);
    if (st == LLAP_OK) {
        goes_on(f, store, f->address.stream);
        st = ll_mqtt_acknowledge(f->client);
    }
    if (st == LLAP_OK) return;
    ll_mqtt_drop(f->client); /* they come again */
    wait_after(f, mqtt);
}

static void *feed(void *user)
{
    struct ll_feed *f = user;
    sigset_t        pipe;
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE); /* a broker that went away */
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    omp_set_num_threads(1); /* as the workers */
    while (!atomic_load(&f->stopping)) turn(f);
    return NULL;
}

/* ---- start and end -------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, const char *text)
{
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h * UINT64_C(0x9e3779b97f4a7c15);
}

/* The name of the one model, where no stream was named. */
static llap_status name_stream(struct ll_feed *f)
{
    if (f->address.stream == NULL) {
        ll_served  *only = ll_models_at(&f->server->models, 0);
        ll_served  *second = ll_models_at(&f->server->models, 1);
        const char *name = f->address.model != NULL         ? f->address.model
                           : only != NULL && second == NULL ? only->name
                                                            : NULL;
        if (name != NULL) f->address.stream = ll_strndup(name, strlen(name));
        const bool missing = name != NULL && f->address.stream == NULL;
        ll_served_release(only);
        ll_served_release(second);
        if (missing) return LLAP_ENOMEM;
        if (name == NULL)
            return ll_fail(LLAP_EINVAL, "several models: say ?stream=NAME, and &model=NAME where "
                                        "it has another name");
    }
    return ll_name_is_good(f->address.stream)
               ? LLAP_OK
               : ll_fail(LLAP_EINVAL,
                         "stream: expected letters, digits, '.', '_' and '-', found '%s'",
                         ll_text_show(f->address.stream).text);
}

static llap_status prepare(struct ll_feed *f)
{
    llap_server *s = f->server;
    char         id[32];
    llap_status  st = ll_mqtt_address_init(&f->address, s->o.mqtt);
    if (st == LLAP_OK && s->streams == NULL)
        st = ll_fail(LLAP_EINVAL, "needs a store for what comes: give `store`");
    if (st == LLAP_OK) st = name_stream(f);
    if (st == LLAP_OK) st = find_stream(f);
    if (st == LLAP_EUNAVAILABLE) st = LLAP_OK; /* its model may come later */
    if (st == LLAP_EINVAL) return ll_fail_in(LLAP_EOPTION, "mqtt");
    if (st != LLAP_OK) return st;
    /* the same name after a restart, another one for another stream, topic or store */
    const uint64_t h = mix(mix(mix(0, f->address.stream), f->address.filter), s->o.store);
    snprintf(id, sizeof id, "llapdiff-%012llx", (unsigned long long)(h >> 16));
    return ll_mqtt_open(&f->address, id, &f->stopping, NULL, &f->client);
}

llap_status ll_feed_start(llap_server *s)
{
    if (s->o.mqtt == NULL) return LLAP_OK;
    struct ll_feed *f = s->feed = ll_new(1, sizeof *f);
    if (f == NULL) return LLAP_ENOMEM;
    f->server = s;
    f->pause_ms = PAUSE_MIN_MS;
    (void)pthread_mutex_init(&f->lock, NULL);
    llap_status st = prepare(f);
    if (st != LLAP_OK) return st;
    const int bad = pthread_create(&f->thread, NULL, feed, f);
    f->running = bad == 0;
    return bad == 0 ? LLAP_OK : ll_fail_errno(bad, "a thread");
}

void ll_feed_stop(llap_server *s)
{
    struct ll_feed *f = s->feed;
    if (f == NULL) return;
    atomic_store(&f->stopping, true);
    if (f->running) (void)pthread_join(f->thread, NULL);
    ll_mqtt_close(f->client);
    ll_mqtt_address_deinit(&f->address);
    ll_arena_deinit(&f->arena);
    (void)pthread_mutex_destroy(&f->lock);
    ll_free(f);
    s->feed = NULL;
}

bool ll_feed_count(llap_server *s, ll_feed_counts *out)
{
    if (s->feed == NULL) return false;
    (void)pthread_mutex_lock(&s->feed->lock);
    *out = s->feed->counts;
    (void)pthread_mutex_unlock(&s->feed->lock);
    return true;
}
