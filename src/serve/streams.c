/* Streams: made, brought back, brought up to date, saved. */
#include "serve/streams.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/time/duration.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* SAVE_REPLAYED: what was read again at the start is not read once more by the next one, so that a
 * server that is killed again and again comes to its end. */
enum { SAVE_SECONDS = 30, SAVE_APPENDS = 20000, SAVE_REPLAYED = 100, KEEPER_MS = 100 };

/* ---- the state in the store: a line with the model's name, then the stream's file ---- */

static const char state_head[] = "llapdiff-serve 1 ";

llap_status ll_live_save(ll_live *k)
{
    char        head[LL_NAME_MAX + sizeof state_head + 2];
    char       *bytes = NULL, *all = NULL;
    size_t      n = 0;
    llap_status st = llap_stream_save_memory(k->s, &bytes, &n);
    const int   n_head = snprintf(head, sizeof head, "%s%s\n", state_head, k->model_name);
    if (st == LLAP_OK && (all = ll_new(n + (size_t)n_head, 1)) == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) {
        memcpy(all, head, (size_t)n_head);
        memcpy(all + n_head, bytes, n);
        st = ll_store_put_state(k->server->streams->store, k->name, k->taken, all,
                                n + (size_t)n_head);
    }
    if (st == LLAP_OK) k->saved = k->taken;
    llap_text_free(bytes);
    ll_free(all);
    return st;
}

/* Splits such a state. */
static llap_status state_parts(ll_live *k, const char *bytes, size_t n, const char **file,
                               size_t *n_file)
{
    const size_t head = sizeof state_head - 1;
    const char  *end = memchr(bytes, '\n', n < head + LL_NAME_MAX + 1 ? n : head + LL_NAME_MAX + 1);
    if (n < head || memcmp(bytes, state_head, head) != 0 || end == NULL)
        return ll_fail(LLAP_EFORMAT, "stream '%s': its state is none of a server", k->name);
    snprintf(k->model_name, sizeof k->model_name, "%.*s", (int)(end - bytes - (ptrdiff_t)head),
             bytes + head);
    *file = end + 1;
    *n_file = n - (size_t)(end + 1 - bytes);
    return ll_name_is_good(k->model_name)
               ? LLAP_OK
               : ll_fail(LLAP_EFORMAT, "stream '%s': its state names no model", k->name);
}

/* ---- a stream of the library ---- */

static void drop(ll_live *k)
{
    llap_stream_destroy(k->s);
    ll_served_release(k->model);
    k->s = NULL;
    k->model = NULL;
}

/* Where the model has no anchors, rows are not judged. */
static llap_status make_empty(ll_live *k)
{
    llap_status st = llap_stream_create(k->model->model, &(llap_stream_opts){ 0 }, &k->s);
    if (st == LLAP_OK) st = llap_stream_judge(k->s, &(llap_detect_opts){ 0 });
    if (st == LLAP_EUNSUPPORTED && k->s != NULL) st = LLAP_OK;
    k->taken = 0;
    k->saved = -1;
    return st;
}

/* From its state where that is of this model, else from all readings again. Locked. */
static llap_status bring_back(ll_live *k)
{
    ll_store   *store = k->server->streams->store;
    void       *bytes = NULL;
    const char *file = NULL;
    size_t      n = 0, n_file = 0;
    int64_t     after = 0;
    llap_status st = ll_store_get_state(store, k->name, &after, &bytes, &n);
    if (st == LLAP_OK) st = state_parts(k, bytes, n, &file, &n_file);
    if (st == LLAP_OK) k->model = ll_models_get(&k->server->models, k->model_name);
    if (st == LLAP_OK && k->model == NULL)
        st = ll_fail(LLAP_EUNAVAILABLE, "stream '%s' is of the model '%s', which is not served",
                     k->name, k->model_name);
    if (st == LLAP_OK) {
        st = llap_stream_restore_memory(k->model->model, file, n_file, &(llap_stream_opts){ 0 },
                                        &k->s);
        if (st == LLAP_OK) k->taken = k->saved = after;
        else if (st == LLAP_EFORMAT) st = make_empty(k); /* of the model before */
    }
    ll_free(bytes);
    if (st != LLAP_OK) drop(k);
    return st;
}

/* ---- what arrives ---- */

static llap_status take_row(ll_live *k, const char *entity, int64_t time,
                            const char *const *variable, const double *value, int64_t n)
{
    const char *const *name = llap_stream_variables(k->s);
    float              row[LL_STORE_VARIABLES_MAX];
    int64_t            n_vars = 0;
    bool               any = false;
    for (; name[n_vars] != NULL && n_vars < LL_STORE_VARIABLES_MAX; n_vars++) {
        row[n_vars] = NAN;
        for (int64_t i = 0; i < n; i++)
            if (strcmp(variable[i], name[n_vars]) == 0) row[n_vars] = (float)value[i], any = true;
    }
    return any ? llap_stream_take(k->s, entity, time, row, n_vars) : LLAP_OK;
}

/* Time has come to the newest row of all, so whoever is behind may be silent. */
static void look_at_clock(ll_live *k)
{
    int64_t newest;
    if (llap_stream_newest(k->s, NULL, &newest)) (void)llap_stream_clock(k->s, newest);
}

/* What was told when it came is not told again of a stream that was made anew. */
static void forget_alarms(ll_live *k)
{
    look_at_clock(k);
    llap_stream_forget_alarms(k->s);
}

static llap_status take_found(void *user, const ll_store_found *f)
{
    static const double nothing = (double)NAN; /* of a row in which all was missing */
    ll_live            *k = user;
    const bool          none = f->n == 0;
    if (k->taken <= k->told && f->number > k->told) forget_alarms(k);
    const llap_status st =
        take_row(k, f->entity, f->time, none ? llap_stream_variables(k->s) : f->variable,
                 none ? &nothing : f->value, none ? 1 : f->n);
    k->taken = f->number; /* what cannot be taken now cannot be later */
    return st == LLAP_ENOMEM ? st : LLAP_OK;
}

static llap_status take_arrival(ll_live *k, const ll_arrival *a)
{
    double      value[LL_STORE_VARIABLES_MAX];
    llap_status st = LLAP_OK;
    for (int64_t r = 0; st == LLAP_OK && r < a->n_rows; r++) {
        for (int64_t v = 0; v < a->n_variables; v++)
            value[v] = (double)a->value[r * a->n_variables + v];
        st = take_row(k, a->entity[r], a->time[r], a->variable, value, a->n_variables);
        if (st != LLAP_ENOMEM) st = LLAP_OK;
    }
    k->taken = a->number;
    return st;
}

static ll_arrival *next_arrival(ll_live *k)
{
    (void)pthread_mutex_lock(&k->arriving);
    ll_arrival *a = k->first;
    if (a != NULL) k->first = a->next;
    if (k->first == NULL) k->last = NULL;
    (void)pthread_mutex_unlock(&k->arriving);
    return a;
}

llap_status ll_live_settle(ll_live *k, int64_t number)
{
    ll_store   *store = k->server->streams->store;
    ll_served  *now = ll_models_get(&k->server->models, k->model_name);
    const bool  other = now != k->model;
    llap_status st = LLAP_OK;
    ll_served_release(now);
    if (other) drop(k); /* replaced, or removed */
    const bool fresh = k->s == NULL;
    if (fresh) st = bring_back(k);
    const int64_t before = k->taken;
    if (st == LLAP_OK && fresh) st = ll_store_replay(store, k->name, k->taken, take_found, k);
    if (st == LLAP_OK && fresh && k->taken <= k->told) forget_alarms(k);
    for (ll_arrival *a; st == LLAP_OK && (a = next_arrival(k)) != NULL; ll_free(a)) {
        if (a->number > k->taken + 1) st = ll_store_replay(store, k->name, k->taken, take_found, k);
        if (st == LLAP_OK && a->number == k->taken + 1) st = take_arrival(k, a);
    }
    if (st == LLAP_OK && k->taken < number)
        st = ll_store_replay(store, k->name, k->taken, take_found, k);
    if (st == LLAP_OK && k->taken > before) {
        k->changed = ll_now();
        look_at_clock(k);
        ll_live_tell_alarms(k);
    }
    if (st == LLAP_OK && k->taken > k->told) k->told = k->taken;
    /* begin anew: of an append that was read in part the rest would never be taken */
    if (st != LLAP_OK && k->s != NULL && (st != LLAP_EUNAVAILABLE || k->taken > before)) drop(k);
    return st;
}

/* One block: the node, pointers, times, values, texts. */
static ll_arrival *copy_of(const ll_store_readings *r, int64_t number)
{
    const size_t V = (size_t)r->n_variables, R = (size_t)r->n_rows;
    size_t       text = 0;
    for (size_t v = 0; v < V; v++) text += strlen(r->variable[v]) + 1;
    for (size_t i = 0; i < R; i++) text += strlen(r->row[i].entity) + 1;
    ll_arrival *a = ll_new(1, sizeof *a + (V + R) * sizeof(char *) + R * sizeof(int64_t) +
                                  R * V * sizeof(float) + text);
    if (a == NULL) return NULL;
    *a = (ll_arrival){ .number = number, .n_variables = r->n_variables, .n_rows = r->n_rows };
    a->variable = (const char **)(a + 1);
    a->entity = a->variable + V;
    a->time = (int64_t *)(a->entity + R);
    a->value = (float *)(a->time + R);
    char *to = (char *)(a->value + R * V);
    for (size_t v = 0; v < V; v++) {
        a->variable[v] = to;
        to = stpcpy(to, r->variable[v]) + 1;
    }
    for (size_t i = 0; i < R; i++) {
        a->entity[i] = to;
        a->time[i] = r->row[i].time;
        for (size_t v = 0; v < V; v++) a->value[i * V + v] = (float)r->row[i].value[v];
        to = stpcpy(to, r->row[i].entity) + 1;
    }
    return a;
}

/* The store tells of each append when it is durable. What finds no memory is read again later. */
static void on_stored(void *user, const ll_store_readings *r, int64_t number)
{
    ll_live    *k = ll_live_find(user, r->stream);
    ll_arrival *a = k == NULL ? NULL : copy_of(r, number);
    if (a == NULL) return;
    (void)pthread_mutex_lock(&k->arriving);
    if (k->last != NULL) k->last->next = a;
    else k->first = a;
    k->last = a;
    (void)pthread_mutex_unlock(&k->arriving);
}

/* ---- the list ---- */

ll_live *ll_live_find(llap_server *s, const char *name)
{
    ll_live *k;
    (void)pthread_mutex_lock(&s->streams->lock);
    for (k = s->streams->first; k != NULL && strcmp(k->name, name) != 0; k = k->next) {
    }
    (void)pthread_mutex_unlock(&s->streams->lock);
    return k;
}

llap_status ll_live_lock(ll_live *k)
{
    enum { SECONDS = 2 };
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS;
    return pthread_mutex_timedlock(&k->lock, &until) == 0
               ? LLAP_OK
               : ll_fail(LLAP_EUNAVAILABLE, "stream '%s' is being made anew of its readings",
                         k->name);
}

static ll_live *first_of(llap_server *s)
{
    (void)pthread_mutex_lock(&s->streams->lock);
    ll_live *k = s->streams->first;
    (void)pthread_mutex_unlock(&s->streams->lock);
    return k;
}

static ll_live *add(llap_server *s, const char *name)
{
    ll_live *k = ll_new(1, sizeof *k);
    if (k == NULL) return NULL;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->server = s;
    (void)pthread_mutex_init(&k->lock, NULL);
    (void)pthread_mutex_init(&k->arriving, NULL);
    return k;
}

static void show(ll_live *k)
{
    struct ll_streams *all = k->server->streams;
    (void)pthread_mutex_lock(&all->lock);
    k->next = all->first;
    all->first = k;
    (void)pthread_mutex_unlock(&all->lock);
}

static void destroy(ll_live *k)
{
    for (ll_arrival *a; (a = next_arrival(k)) != NULL;) ll_free(a);
    drop(k);
    (void)pthread_mutex_destroy(&k->lock);
    (void)pthread_mutex_destroy(&k->arriving);
    ll_free(k);
}

/* The model that is meant where none is named. */
static ll_served *usual_model(llap_server *s, const char *stream, const char *name)
{
    if (name != NULL) return ll_models_get(&s->models, name);
    ll_served *same = ll_models_get(&s->models, stream);
    if (same != NULL) return same;
    ll_served *only = ll_models_at(&s->models, 0), *second = ll_models_at(&s->models, 1);
    if (second != NULL) ll_served_release(only);
    ll_served_release(second);
    return second != NULL ? NULL : only;
}

/* One that another process has made is in the store, and not yet in the list. */
static llap_status find_in_store(llap_server *s, const char *name)
{
    int64_t     after;
    void       *bytes = NULL;
    const char *file;
    size_t      n = 0, n_file;
    llap_status st = ll_store_get_state(s->streams->store, name, &after, &bytes, &n);
    if (st == LLAP_ENOTFOUND) return LLAP_OK;
    ll_live *k = st == LLAP_OK ? add(s, name) : NULL;
    if (st == LLAP_OK && k == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = state_parts(k, bytes, n, &file, &n_file);
    if (st == LLAP_OK) show(k);
    else if (k != NULL) destroy(k);
    ll_free(bytes);
    return st;
}

llap_status ll_live_model(llap_server *s, const char *name, const char *model, ll_served **out)
{
    llap_status st = LLAP_OK;
    *out = NULL;
    (void)pthread_mutex_lock(&s->streams->making);
    if (ll_live_find(s, name) == NULL) st = find_in_store(s, name);
    (void)pthread_mutex_unlock(&s->streams->making);
    if (st != LLAP_OK) return st;
    ll_live *k = ll_live_find(s, name);
    if (k == NULL) {
        *out = usual_model(s, name, model);
        return LLAP_OK;
    }
    st = ll_live_lock(k);
    if (st != LLAP_OK) return st;
    *out = ll_models_get(&s->models, k->model_name);
    (void)pthread_mutex_unlock(&k->lock);
    return LLAP_OK;
}

static llap_status make_new(llap_server *s, const char *name, const char *model, ll_live **out)
{
    size_t n = 0;
    for (const ll_live *other = first_of(s); other != NULL; other = other->next) n++;
    if (n >= LL_STREAMS_MAX) return ll_fail(LLAP_ELIMIT, "there are %zu streams already", n);
    ll_live *k = add(s, name);
    if (k == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    k->model = usual_model(s, name, model);
    if (k->model == NULL)
        st = model != NULL ? ll_fail(LLAP_ENOTFOUND, "no model '%s'", model)
                           : ll_fail(LLAP_EINVAL,
                                     "the stream '%s' is new: the parameter model says "
                                     "of which model it is",
                                     name);
    if (st == LLAP_OK) snprintf(k->model_name, sizeof k->model_name, "%s", k->model->name);
    if (st == LLAP_OK) st = make_empty(k);
    if (st == LLAP_OK) st = ll_live_save(k);
    if (st == LLAP_OK) show(*out = k);
    else destroy(k);
    return st;
}

llap_status ll_live_make(llap_server *s, const char *name, const char *model, ll_live **out)
{
    llap_status st = LLAP_OK;
    (void)pthread_mutex_lock(&s->streams->making);
    *out = ll_live_find(s, name);
    if (*out == NULL) st = make_new(s, name, model, out);
    else if (model != NULL && strcmp((*out)->model_name, model) != 0)
        st = ll_fail(LLAP_EINVAL, "the stream '%s' is of the model '%s'", name, (*out)->model_name);
    (void)pthread_mutex_unlock(&s->streams->making);
    return st;
}

/* ---- start and end ---- */

static llap_status find_stream(void *user, const ll_store_stream *f)
{
    if (!ll_name_is_good(f->name) || f->state_after < 0) return LLAP_OK; /* of others */
    ll_live *k = add(user, f->name);
    if (k == NULL) return LLAP_ENOMEM;
    show(k);
    return LLAP_OK;
}

static int64_t wall_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Saves what has changed; forgets what is too old. */
static void keep(llap_server *s, ll_live *k, bool now)
{
    llap_status st = LLAP_OK;
    (void)pthread_mutex_lock(&k->lock);
    if (k->s != NULL) st = ll_live_settle(k, 0);
    const bool due =
        k->s != NULL && k->taken > k->saved && (now || k->taken - k->saved > SAVE_APPENDS);
    if (st == LLAP_OK && due) st = ll_live_save(k);
    (void)pthread_mutex_unlock(&k->lock);
    if (st == LLAP_OK && due && s->streams->keep > 0)
        st = ll_store_retain(s->streams->store, k->name, s->streams->keep, wall_clock(), NULL);
    if (st != LLAP_OK)
        ll_journal(s, LLAP_LOG_WARNING, "store", "%s: %s", k->name, llap_error_detail());
}

static void *keeper(void *user)
{
    llap_server *s = user;
    int64_t      last = ll_now();
    omp_set_num_threads(1); /* as the workers: a team would count with that of the job */
    while (!atomic_load(&s->streams->ended)) {
        const bool now = ll_now() - last > SAVE_SECONDS * INT64_C(1000000000);
        if (now) last = ll_now();
        for (ll_live *k = first_of(s); k != NULL; k = k->next) keep(s, k, now);
        ll_events_tick(s);
        (void)nanosleep(&(struct timespec){ 0, KEEPER_MS * 1000000 }, NULL);
    }
    return NULL;
}

llap_status ll_streams_start(llap_server *s)
{
    if (s->o.store == NULL) return LLAP_OK;
    struct ll_streams *all = s->streams = ll_new(1, sizeof *all);
    if (all == NULL) return LLAP_ENOMEM;
    (void)pthread_mutex_init(&all->lock, NULL);
    (void)pthread_mutex_init(&all->making, NULL);
    (void)pthread_mutex_init(&all->listening, NULL);
    s->library_log = ll_journal_log(s);
    const ll_store_opts o = { .stored = on_stored, .user = s, .log = &s->library_log };
    llap_status         st = LLAP_OK;
    if (s->o.keep != NULL) {
        st = ll_duration_parse(s->o.keep, strlen(s->o.keep), &all->keep);
        if (st == LLAP_OK && all->keep <= 0) st = ll_fail(LLAP_EFORMAT, "expected more than 0");
        if (st != LLAP_OK) st = ll_fail_in(LLAP_EOPTION, "keep");
    }
    if (st == LLAP_OK) st = ll_store_open(s->o.store, &o, &all->store);
    if (st == LLAP_OK) st = ll_store_list(all->store, find_stream, s);
    for (ll_live *k = all->first; st == LLAP_OK && k != NULL; k = k->next) {
        (void)pthread_mutex_lock(&k->lock);
        st = ll_live_settle(k, 0);
        if (st == LLAP_OK && k->taken - k->saved >= SAVE_REPLAYED) st = ll_live_save(k);
        (void)pthread_mutex_unlock(&k->lock);
        if (st == LLAP_OK) continue;
        ll_journal(s, LLAP_LOG_WARNING, "stream", "%s: %s", k->name, llap_error_detail());
        if (st != LLAP_ENOMEM) st = LLAP_OK; /* its model may come later */
    }
    if (st != LLAP_OK) return st;
    const int bad = pthread_create(&all->keeper, NULL, keeper, s);
    all->keeping = bad == 0;
    return bad == 0 ? LLAP_OK : ll_fail_errno(bad, "a thread that saves streams");
}

void ll_streams_stop(llap_server *s)
{
    struct ll_streams *all = s->streams;
    if (all == NULL) return;
    atomic_store(&all->ended, true);
    if (all->keeping) (void)pthread_join(all->keeper, NULL);
    for (ll_live *k = all->first, *next; k != NULL; k = next) {
        next = k->next;
        if (all->keeping) keep(s, k, true);
        destroy(k);
    }
    ll_store_close(all->store);
    (void)pthread_mutex_destroy(&all->lock);
    (void)pthread_mutex_destroy(&all->making);
    (void)pthread_mutex_destroy(&all->listening);
    ll_free(all);
    s->streams = NULL;
}
