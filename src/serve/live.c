/* Questions about streams: forecasts, lists, events. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "serve/streams.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS_MAX = 4 << 20, SIGN_OF_LIFE_S = 15, ENTITIES_MAX = 50 };

/* ---- forecasts ---- */

llap_status ll_live_copy(ll_live *k, llap_panel **p, ll_served **m)
{
    llap_status st = ll_live_lock(k);
    if (st != LLAP_OK) return st;
    st = ll_live_settle(k, 0);
    if (st == LLAP_OK) st = llap_stream_panel(k->s, NULL, p);
    if (st == LLAP_OK) *m = ll_models_get(&k->server->models, k->model_name);
    if (st == LLAP_OK && *m != k->model) { /* replaced in between: that of the stream */
        ll_served_release(*m);
        *m = k->model;
        (void)atomic_fetch_add(&(*m)->holders, 1);
    }
    (void)pthread_mutex_unlock(&k->lock);
    return st;
}

llap_status ll_answer_stream_forecast(ll_request *r)
{
    llap_status        st;
    llap_log           log = ll_journal_log(r->server);
    llap_forecast_opts o = { .log = &log, .progress = ll_request_progress(r) };
    llap_panel        *p = NULL;
    llap_answer       *a = NULL;
    ll_served         *m = NULL;
    ll_live           *k = ll_live_of(r, &st);
    if (st == LLAP_OK) st = ll_query_read(r, &(ll_asked){ { &o } });
    if (st == LLAP_OK) st = ll_check_samples(o.samples);
    if (st == LLAP_OK) st = ll_live_copy(k, &p, &m);
    if (st == LLAP_OK) st = llap_forecast(m->model, p, &o, &a);
    if (st == LLAP_OK) st = ll_reply_answer(r, a);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    ll_served_release(m);
    return st;
}

/* ---- lists ---- */

/* One that is being made anew has a name. */
static void put_stream(ll_json_writer *w, ll_live *k)
{
    llap_stream_counts c = { 0 };
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", k->name);
    if (ll_live_lock(k) != LLAP_OK) {
        ll_json_put_bool(w, "ready", false);
        ll_json_close(w, '}');
        return;
    }
    if (k->s != NULL) llap_stream_count(k->s, &c);
    ll_json_put_string(w, "model", k->model_name);
    ll_json_put_bool(w, "ready", k->s != NULL);
    ll_json_put_int(w, "appends", k->taken);
    ll_json_put_int(w, "entities", c.entities);
    ll_json_put_int(w, "rows", c.rows);
    (void)pthread_mutex_unlock(&k->lock);
    ll_json_close(w, '}');
}

static llap_status put_text(ll_request *r, int status, ll_json_writer *w)
{
    char             *text = NULL;
    size_t            n = 0;
    const llap_status st = ll_json_finish(w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, status, "application/json", text, n);
    return st;
}

llap_status ll_answer_streams(ll_request *r)
{
    struct ll_streams *all = r->server->streams;
    ll_json_writer     w = { 0 };
    ll_live           *k = NULL;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "streams", '[');
    if (all != NULL) {
        (void)pthread_mutex_lock(&all->lock);
        k = all->first;
        (void)pthread_mutex_unlock(&all->lock);
    }
    for (; k != NULL; k = k->next) put_stream(&w, k);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return put_text(r, 200, &w);
}

llap_status ll_answer_stream(ll_request *r)
{
    llap_status    st;
    ll_json_writer w = { 0 };
    ll_live       *k = ll_live_of(r, &st);
    if (st != LLAP_OK) return st;
    put_stream(&w, k);
    return put_text(r, 200, &w);
}

/* ---- events ---- */

static size_t waiting(const ll_listener *l)
{
    assert(l->at <= l->n && l->n <= l->room);
    return l->n - l->at;
}

/* What all listeners have not fetched counts among the bodies. */
static bool make_room(ll_listener *l, size_t n)
{
    llap_server *s = l->of->server;
    if (l->at > 0) {
        memmove(l->text, l->text + l->at, waiting(l));
        l->n = waiting(l);
        l->at = 0;
    }
    if (l->n + n <= l->room) return true;
    const size_t  room = 2 * (l->n + n);
    const int64_t held = atomic_load(&s->body_bytes) + (int64_t)(room - l->room);
    char         *more =
        l->n + n > EVENTS_MAX || held > s->o.max_memory << 20 ? NULL : ll_grow(l->text, room, 1);
    if (more == NULL) return false;
    (void)atomic_fetch_add(&s->body_bytes, (int64_t)(room - l->room));
    l->text = more;
    l->room = room;
    return true;
}

static void push(ll_listener *l, const char *text, size_t n)
{
    if (l->ended) return;
    if (waiting(l) == 0) l->since = ll_now(), l->moved = 0;
    if (l->n + n > l->room && !make_room(l, n)) {
        l->ended = true; /* it does not fetch them, or there is no memory */
        return;
    }
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

static void forget_listener(ll_listener *l)
{
    (void)atomic_fetch_sub(&l->of->server->body_bytes, (int64_t)l->room);
    ll_free(l->text);
    ll_free(l);
}

/* Locked: somebody looks again. */
static void wake(const llap_server *s, ll_listener *l)
{
    if (!l->asleep) return;
    l->asleep = false;
    s->mhd->resume_connection(l->connection);
}

/* JSON has no line ends but between its tokens. */
void ll_live_tell(ll_live *k, const char *what, const char *json, bool forecasts)
{
    struct ll_streams *all = k->server->streams;
    char               head[64];
    const int          n = snprintf(head, sizeof head, "event: %s\ndata: ", what);
    (void)pthread_mutex_lock(&all->listening);
    for (ll_listener *l = k->listener; l != NULL; l = l->next) {
        if (forecasts && !l->forecasts) continue;
        push(l, head, (size_t)n);
        for (const char *p = json; *p != '\0' && !l->ended;) {
            const size_t line = strcspn(p, "\n");
            push(l, p, line);
            p += line + (p[line] == '\n');
        }
        push(l, "\n\n", 2);
        wake(k->server, l);
    }
    (void)pthread_mutex_unlock(&all->listening);
}

void ll_live_tell_alarms(ll_live *k)
{
    int64_t           n = 0;
    const llap_alarm *a = llap_stream_alarms(k->s, &n);
    for (int64_t i = 0; i < n; i++) {
        char *text = NULL;
        if (llap_stream_alarm_text(k->s, &a[i], 1, &text) == LLAP_OK)
            ll_live_tell(k, "alarm", text, false);
        llap_text_free(text);
    }
    if (n > 0) llap_stream_forget_alarms(k->s);
}

static bool has_listeners(ll_live *k)
{
    bool any = false;
    (void)pthread_mutex_lock(&k->server->streams->listening);
    for (const ll_listener *l = k->listener; l != NULL; l = l->next) any |= l->forecasts;
    (void)pthread_mutex_unlock(&k->server->streams->listening);
    return any;
}

/* The usual forecast of all entities, where they are few. */
static void tell_forecast(ll_live *k)
{
    llap_panel  *p = NULL;
    llap_answer *a = NULL;
    ll_served   *m = NULL;
    char        *text = NULL;
    (void)pthread_mutex_lock(&k->lock);
    const bool due = k->changed != 0 && k->s != NULL;
    k->changed = 0;
    (void)pthread_mutex_unlock(&k->lock);
    llap_panel_sizes size = { 0 };
    if (!due || !has_listeners(k) || ll_live_copy(k, &p, &m) != LLAP_OK) return;
    llap_panel_size(p, &size);
    if (size.entities > 0 && size.entities <= ENTITIES_MAX &&
        llap_forecast(m->model, p, &(llap_forecast_opts){ 0 }, &a) == LLAP_OK &&
        llap_answer_json(a, &text) == LLAP_OK)
        ll_live_tell(k, "forecast", text, true);
    llap_text_free(text);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    ll_served_release(m);
}

/* Its connection is closed in so many seconds, whether it fetches the rest or not. */
static void cut(llap_server *s, ll_listener *l, int64_t seconds)
{
    (void)pthread_mutex_lock(&s->lock);
    if (l->from != NULL && l->from->phase == LL_PHASE_WORK) {
        l->from->phase = LL_PHASE_REPLY;
        l->from->since = ll_now() - (s->o.patience - seconds) * INT64_C(1000000000);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* Those who do not fetch what they are told are sent away. */
static void look_after(llap_server *s, ll_live *k, bool sign)
{
    (void)pthread_mutex_lock(&s->streams->listening);
    for (ll_listener *l = k->listener; l != NULL; l = l->next) {
        if (sign) push(l, ": here\n\n", 8);
        const int64_t may = s->o.patience + l->moved / LL_SLOWEST;
        if (waiting(l) > 0 && ll_now() - l->since > may * INT64_C(1000000000)) l->ended = true;
        if (l->ended) cut(s, l, 0);
        if (waiting(l) > 0 || l->ended) wake(s, l);
    }
    (void)pthread_mutex_unlock(&s->streams->listening);
}

void ll_events_tick(llap_server *s)
{
    static const int64_t second = INT64_C(1000000000);
    struct ll_streams   *all = s->streams;
    const int64_t        now = ll_now();
    const bool           sign = now - all->signed_at > SIGN_OF_LIFE_S * second;
    (void)pthread_mutex_lock(&all->lock);
    ll_live *k = all->first;
    (void)pthread_mutex_unlock(&all->lock);
    if (sign) all->signed_at = now;
    const bool again = now - all->told_at > second;
    if (again) all->told_at = now;
    for (; k != NULL; k = k->next) {
        if (again) tell_forecast(k);
        look_after(s, k, sign);
    }
}

void ll_streams_hush(llap_server *s)
{
    if (s->streams == NULL) return;
    (void)pthread_mutex_lock(&s->streams->lock);
    ll_live *k = s->streams->first;
    (void)pthread_mutex_unlock(&s->streams->lock);
    (void)pthread_mutex_lock(&s->streams->listening);
    for (; k != NULL; k = k->next)
        for (ll_listener *l = k->listener; l != NULL; l = l->next) {
            l->ended = true;
            cut(s, l, 1);
            wake(s, l);
        }
    (void)pthread_mutex_unlock(&s->streams->listening);
}

/* The daemon asks for more: it sleeps where there is none. */
static ssize_t fetch(void *user, uint64_t at, char *to, size_t room)
{
    ll_listener *l = user;
    llap_server *s = l->of->server;
    ssize_t      n = 0;
    (void)at;
    (void)pthread_mutex_lock(&s->streams->listening);
    if (l->ended || atomic_load(&s->stopping)) {
        n = LL_MHD_CONTENT_READER_END_OF_STREAM;
    } else if (waiting(l) > 0) {
        n = (ssize_t)(waiting(l) < room ? waiting(l) : room);
        memcpy(to, l->text + l->at, (size_t)n);
        l->at += (size_t)n;
        l->moved += n;
        if (waiting(l) == 0) l->n = l->at = 0;
    } else {
        l->asleep = true;
        s->mhd->suspend_connection(l->connection);
    }
    (void)pthread_mutex_unlock(&s->streams->listening);
    return n;
}

static void leave(void *user)
{
    ll_listener       *l = user;
    struct ll_streams *all = l->of->server->streams;
    (void)pthread_mutex_lock(&all->listening);
    for (ll_listener **at = &l->of->listener; *at != NULL; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    all->n_listeners--;
    (void)pthread_mutex_unlock(&all->listening);
    forget_listener(l);
}

llap_status ll_answer_events(ll_request *r)
{
    static const char  hello[] = ": llapdiff\nretry: 2000\n\n";
    llap_status        st;
    ll_live           *k = ll_live_of(r, &st);
    struct ll_streams *all = r->server->streams;
    if (st == LLAP_OK) st = ll_query_read(r, &(ll_asked){ 0 });
    if (st != LLAP_OK) return st;
    const char  *forecasts = ll_request_argument(r, "forecasts");
    ll_listener *l = ll_new(1, sizeof *l);
    if (l == NULL) return LLAP_ENOMEM;
    l->of = k;
    l->connection = r->connection;
    l->from = r->from;
    l->forecasts = forecasts == NULL || strcmp(forecasts, "false") != 0;
    push(l, hello, sizeof hello - 1);
    (void)pthread_mutex_lock(&all->listening);
    const bool room = all->n_listeners < r->server->o.max_requests;
    if (room) {
        l->next = k->listener;
        k->listener = l;
        all->n_listeners++;
    }
    (void)pthread_mutex_unlock(&all->listening);
    if (!room) {
        forget_listener(l);
        return ll_fail(LLAP_EUNAVAILABLE, "%lld listen already",
                       (long long)r->server->o.max_requests);
    }
    ll_reply_fixed(r, 200, "text/event-stream", NULL, 0);
    r->reply.reader = fetch;
    r->reply.reader_end = leave;
    r->reply.body = (char *)l;
    return LLAP_OK;
}
