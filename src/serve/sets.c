/* Data sets: what they are like, kept and forgotten. */
#include "serve/sets.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/panel_words.h"

#include <llapdiff/inspection.h>
#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

void ll_set_release(ll_set *k)
{
    if (k == NULL || atomic_fetch_sub(&k->holders, 1) > 1) return;
    if (k->of != NULL) {
        (void)pthread_mutex_lock(&k->of->lock);
        k->of->n_bytes -= (int64_t)k->n_bytes;
        (void)pthread_mutex_unlock(&k->of->lock);
    }
    llap_answer_destroy(k->filled);
    llap_panel_destroy(k->panel);
    (void)pthread_mutex_destroy(&k->filling);
    ll_free(k->filled_entity);
    ll_free(k->about);
    ll_free(k);
}

static size_t place(const struct ll_sets *all, const char *name)
{
    size_t i = 0;
    while (i < all->n && strcmp(all->set[i]->name, name) != 0) i++;
    return i;
}

ll_set *ll_sets_get(llap_server *s, const char *name)
{
    struct ll_sets *all = s->sets;
    (void)pthread_mutex_lock(&all->lock);
    const size_t i = place(all, name);
    ll_set      *k = i < all->n ? all->set[i] : NULL;
    if (k != NULL) atomic_fetch_add(&k->holders, 1);
    (void)pthread_mutex_unlock(&all->lock);
    return k;
}

/* Takes k, also after a failure; one of that name before is replaced. */
static llap_status put(llap_server *s, ll_set *k, bool *replaced)
{
    struct ll_sets *all = s->sets;
    ll_set         *gone = NULL;
    llap_status     st = LLAP_OK;
    const int64_t   most = s->o.max_memory << 20;
    (void)pthread_mutex_lock(&all->lock);
    const size_t i = place(all, k->name);
    /* of one that a job still uses nothing is given back */
    const bool    unused = i < all->n && atomic_load(&all->set[i]->holders) == 1;
    const int64_t before = unused ? (int64_t)all->set[i]->n_bytes : 0;
    if (i == LL_SETS_MAX)
        st = ll_fail(LLAP_ELIMIT, "there are %d data sets already: remove one", LL_SETS_MAX);
    else if (all->n_bytes - before + (int64_t)k->n_bytes > most)
        st = ll_fail(LLAP_ELIMIT, "data sets would take more than %lld MB: remove one",
                     (long long)s->o.max_memory);
    *replaced = i < all->n;
    if (st == LLAP_OK) {
        gone = *replaced ? all->set[i] : NULL;
        all->set[i] = k;
        all->n += !*replaced;
        all->n_bytes += (int64_t)k->n_bytes;
        k->of = all;
    }
    (void)pthread_mutex_unlock(&all->lock);
    ll_set_release(st == LLAP_OK ? gone : k);
    return st;
}

static bool take_away(llap_server *s, const char *name)
{
    struct ll_sets *all = s->sets;
    ll_set         *gone = NULL;
    (void)pthread_mutex_lock(&all->lock);
    const size_t i = place(all, name);
    if (i < all->n) {
        gone = all->set[i];
        all->set[i] = all->set[--all->n];
    }
    (void)pthread_mutex_unlock(&all->lock);
    ll_set_release(gone);
    return gone != NULL;
}

llap_status ll_sets_start(llap_server *s)
{
    s->sets = ll_new(1, sizeof *s->sets);
    if (s->sets == NULL) return LLAP_ENOMEM;
    (void)pthread_mutex_init(&s->sets->lock, NULL);
    return LLAP_OK;
}

void ll_sets_stop(llap_server *s)
{
    if (s->sets == NULL) return;
    for (size_t i = 0; i < s->sets->n; i++) ll_set_release(s->sets->set[i]);
    (void)pthread_mutex_destroy(&s->sets->lock);
    ll_free(s->sets);
    s->sets = NULL;
}

/* ---- what a request names ---- */

llap_status ll_set_of(const ll_request *r, const char *name, ll_set **out)
{
    *out = name == NULL ? NULL : ll_sets_get(r->server, name);
    if (*out != NULL) return LLAP_OK;
    if (name == NULL) return ll_fail(LLAP_EINVAL, "the parameter data names a data set");
    return ll_fail(LLAP_ENOTFOUND, "no data set '%s': PUT /v1/data/NAME makes one",
                   ll_text_show(name).text);
}

llap_status ll_model_for(const ll_request *r, const char *name, ll_served **out)
{
    *out = name == NULL ? NULL : ll_models_get(&r->server->models, name);
    if (*out != NULL) return LLAP_OK;
    if (name == NULL) return ll_fail(LLAP_EINVAL, "the parameter model names a model");
    return ll_fail(LLAP_ENOTFOUND, "no model '%s': GET /v1/models lists them",
                   ll_text_show(name).text);
}

llap_status ll_set_check_words(const ll_set *k, const llap_model *m)
{
    const char *const    *level = llap_model_levels(m);
    const ll_panel_words *w = k->panel->words;
    size_t                n = 0;
    bool                  same = true;
    for (; level != NULL && level[n] != NULL; n++)
        same = same && w != NULL && n < w->n_levels && strcmp(level[n], w->level[n]) == 0;
    if (n == 0 || (same && n == w->n_levels)) return LLAP_OK;
    return ll_fail(LLAP_EINVAL,
                   "the words in this data set have other codes than those of the model: send the "
                   "data with the request");
}

/* ---- what it is like ---- */

typedef struct notes {
    char   text[4096]; /* lines */
    size_t n;
} notes;

static void note(void *user, llap_log_level level, const char *message)
{
    notes    *all = user;
    const int n = snprintf(all->text + all->n, sizeof all->text - all->n, "%s%s\n",
                           level == LLAP_LOG_WARNING ? "warning: " : "", message);
    if (n > 0 && (size_t)n < sizeof all->text - all->n) all->n += (size_t)n;
    else all->text[all->n] = '\0';
}

static void put_notes(ll_json_writer *w, notes *all)
{
    ll_json_open(w, "understood", '[');
    for (char *line = all->text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        ll_json_put_string(w, NULL, line);
    }
    ll_json_close(w, ']');
}

static void put_names(ll_json_writer *w, const char *key, const char *const *name, int64_t n)
{
    enum { NAMES_MAX = 10000 };
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n && i < NAMES_MAX; i++) ll_json_put_string(w, NULL, name[i]);
    ll_json_close(w, ']');
}

static llap_status about(const char *name, const llap_panel *p, notes *said, char **text, size_t *n)
{
    ll_json_writer w = { 0 };
    char          *inspected = NULL;
    ll_json       *j = NULL;
    llap_status    st = llap_panel_inspect(p, 1, &inspected);
    if (st == LLAP_OK) st = ll_json_parse(inspected, strlen(inspected), "inspection", NULL, &j);
    llap_text_free(inspected);
    if (st != LLAP_OK) return st;
    ll_json_open(&w, NULL, '{');
    if (name != NULL) ll_json_put_string(&w, "name", name);
    ll_json_put_int(&w, "bytes", (int64_t)ll_panel_bytes(p));
    put_notes(&w, said);
    put_names(&w, "entities", p->entity, p->n_entities);
    put_names(&w, "variables", p->var, p->n_vars);
    ll_json_put(&w, "inspection", j);
    ll_json_close(&w, '}');
    ll_json_destroy(j);
    return ll_json_finish(&w, text, n);
}

static llap_status read_body(ll_request *r, notes *said, llap_panel **out)
{
    const llap_log log = { .level = LLAP_LOG_INFO, .sink = note, .user = said };
    llap_read_opts how = { .log = &log };
    return ll_body_read(r, &(ll_asked){ { &how } }, &how, out);
}

llap_status ll_answer_inspect(ll_request *r)
{
    notes       said = { 0 };
    llap_panel *p = NULL;
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = read_body(r, &said, &p);
    if (st == LLAP_OK) st = about(NULL, p, &said, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    llap_panel_destroy(p);
    return st;
}

/* Takes p, also after a failure. */
static llap_status make(const char *name, llap_panel *p, notes *said, ll_set **out)
{
    size_t           n;
    llap_inspection *i = NULL;
    ll_set          *k = ll_new(1, sizeof *k);
    if (k == NULL) {
        llap_panel_destroy(p);
        return LLAP_ENOMEM;
    }
    (void)pthread_mutex_init(&k->filling, NULL);
    atomic_store(&k->holders, 1);
    snprintf(k->name, sizeof k->name, "%s", name);
    k->panel = p;
    llap_status st = about(name, p, said, &k->about, &n);
    if (st == LLAP_OK) st = llap_inspection_create(p, &i);
    if (st == LLAP_OK) {
        k->usual_gap = llap_inspection_about(i)->gap_usual;
        k->n_bytes = ll_panel_bytes(p) + n;
        *out = k;
    } else {
        ll_set_release(k);
    }
    llap_inspection_destroy(i);
    return st;
}

llap_status ll_answer_put_set(ll_request *r)
{
    notes       said = { 0 };
    llap_panel *p = NULL;
    ll_set     *k = NULL;
    bool        replaced = false;
    char       *text = NULL;
    llap_status st = read_body(r, &said, &p);
    if (st == LLAP_OK && p->n_rows == 0) {
        llap_panel_destroy(p);
        return ll_fail(LLAP_EINVAL, "no row in the body");
    }
    if (st == LLAP_OK) st = make(r->name, p, &said, &k);
    if (st == LLAP_OK && (text = ll_strndup(k->about, strlen(k->about))) == NULL) {
        ll_set_release(k);
        return LLAP_ENOMEM;
    }
    if (st == LLAP_OK) st = put(r->server, k, &replaced);
    if (st == LLAP_OK)
        ll_reply_take(r, replaced ? 200 : 201, "application/json", text, strlen(text));
    else ll_free(text);
    return st;
}

llap_status ll_answer_sets(ll_request *r)
{
    struct ll_sets *all = r->server->sets;
    ll_json_writer  w = { 0 };
    char           *text = NULL;
    size_t          n = 0;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "data", '[');
    (void)pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->n; i++) {
        const ll_set *k = all->set[i];
        ll_json_open(&w, NULL, '{');
        ll_json_put_string(&w, "name", k->name);
        ll_json_put_int(&w, "bytes", (int64_t)k->n_bytes);
        ll_json_put_int(&w, "entities", k->panel->n_entities);
        ll_json_put_int(&w, "variables", k->panel->n_vars);
        ll_json_put_int(&w, "rows", k->panel->n_rows);
        ll_json_close(&w, '}');
    }
    (void)pthread_mutex_unlock(&all->lock);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    const llap_status st = ll_json_finish(&w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    return st;
}

llap_status ll_answer_set(ll_request *r)
{
    ll_set     *k = NULL;
    char       *text = NULL;
    llap_status st = ll_set_of(r, r->name, &k);
    if (st == LLAP_OK && (text = ll_strndup(k->about, strlen(k->about))) == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, strlen(text));
    ll_set_release(k);
    return st;
}

llap_status ll_answer_delete_set(ll_request *r)
{
    const llap_status st = ll_query_read(r, &(ll_asked){ 0 });
    if (st != LLAP_OK) return st;
    if (!take_away(r->server, r->name)) return ll_fail(LLAP_ENOTFOUND, "no data set '%s'", r->name);
    ll_reply_fixed(r, 204, NULL, NULL, 0);
    return LLAP_OK;
}
