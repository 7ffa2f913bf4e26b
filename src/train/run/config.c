/* One JSON file that describes a run: the options of llap_train by name, under "network" any option
 * of the networks (model/network.h), under "training" any of how they are trained
 * (train/run/recipe.h). What the caller gave goes first. */
#include "train/run/config.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "train/run/recipe.h"

#include <stddef.h>
#include <string.h>

typedef enum kind { TEXT, WHOLE, REAL, FLAG } kind;

#define O(name) offsetof(llap_train_opts, name)
static const struct entry {
    const char *key;
    kind        kind;
    size_t      offset;
    double      low, high;
} entries[] = {
    { "target", TEXT, O(target), 0, 0 },
    { "context", TEXT, O(context), 0, 0 },
    { "horizon", TEXT, O(horizon), 0, 0 },
    { "step", TEXT, O(step), 0, 0 },
    { "split", TEXT, O(split), 0, 0 },
    { "parts", TEXT, O(parts), 0, 0 },
    { "shares", TEXT, O(shares), 0, 0 },
    { "profile", TEXT, O(profile), 0, 0 },
    { "size", TEXT, O(size), 0, 0 },
    { "view", TEXT, O(view), 0, 0 },
    { "transform", TEXT, O(transform), 0, 0 },
    { "min", TEXT, O(min), 0, 0 },
    { "max", TEXT, O(max), 0, 0 },
    { "from", TEXT, O(from), 0, 0 },
    { "members", WHOLE, O(members), 1, 64 },
    { "steps", WHOLE, O(steps), 1, 1e9 },
    { "batch", WHOLE, O(batch), 1, 1e6 },
    { "seed", WHOLE, O(seed), 0, 9e15 },
    { "lr", REAL, O(lr), 1e-9, 1 },
    { "no_climate", FLAG, O(no_climate), 0, 0 },
    { "link", FLAG, O(link), 0, 0 },
};
#undef O
enum { N = sizeof entries / sizeof *entries };

/* Takes the value of the file where the caller gave none. */
static llap_status take(const ll_json *j, const struct entry *e, llap_train_opts *o)
{
    static const llap_train_opts usual = LLAP_TRAIN_OPTS;
    const void                  *none = (const char *)&usual + e->offset;
    void                        *at = (char *)o + e->offset;
    const char                  *text;
    bool                         flag;
    llap_status                  st = LLAP_OK;
    if (!ll_json_has(j, e->key)) return st;
    switch (e->kind) {
    case TEXT:
        st = ll_json_string(j, e->key, &text);
        if (st == LLAP_OK && *(const char **)at == NULL) *(const char **)at = text;
        break;
    case WHOLE: {
        int64_t v = 0;
        st = ll_json_int(j, e->key, (int64_t)e->low, (int64_t)e->high, &v);
        if (st == LLAP_OK && *(int64_t *)at == *(const int64_t *)none) *(int64_t *)at = v;
        break;
    }
    case REAL: {
        double v = 0;
        st = ll_json_double(j, e->key, e->low, e->high, &v);
        if (st == LLAP_OK && *(double *)at == 0) *(double *)at = v;
        break;
    }
    case FLAG:
        st = ll_json_bool(j, e->key, &flag);
        if (st == LLAP_OK && flag) *(int *)at = 1;
        break;
    }
    return st;
}

/* Is it JSON, or the name of a file that has some? */
static bool is_text(const char *s) { return strchr("{[", s[strspn(s, " \t\r\n")]) != NULL; }

/* Text that is no file's: what is wrong in it is the caller's option of that name. */
static llap_status parse(const char *text, size_t n, const char *name, ll_json **out)
{
    const llap_status st = ll_json_parse(text, n, name, NULL, out);
    if (st == LLAP_OK) ll_json_fail_at(*out, LLAP_EOPTION);
    return st == LLAP_EFORMAT || st == LLAP_ELIMIT ? LLAP_EOPTION : st;
}

static llap_status put_text(ll_json_writer *w, const char *key, const char *text)
{
    ll_json          *j = NULL;
    const llap_status st = parse(text, strlen(text), key, &j);
    if (st == LLAP_OK) ll_json_put(w, key, j);
    ll_json_destroy(j);
    return st;
}

/* {"key": text}; the text is read by itself first, so that messages count from its beginning. */
static llap_status wrap(const char *key, const char *text, ll_json **out)
{
    ll_json_writer w = { 0 };
    char          *all = NULL;
    size_t         n = 0;
    ll_json_open(&w, NULL, '{');
    llap_status st = put_text(&w, key, text);
    ll_json_close(&w, '}');
    const llap_status written = ll_json_finish(&w, &all, &n);
    if (st == LLAP_OK) st = written;
    if (st == LLAP_OK) st = parse(all, n, key, out);
    ll_free(all);
    return st;
}

/* The object itself, or a file that has it under that key. */
static llap_status add_part(ll_json *config, const char *key, const char *given)
{
    ll_json *part = NULL;
    if (given == NULL) return LLAP_OK;
    llap_status st = is_text(given) ? wrap(key, given, &part) : ll_json_read(given, NULL, &part);
    if (st == LLAP_OK) st = ll_json_need(part, key);
    if (st == LLAP_OK) return ll_json_add(config, key, part);
    ll_json_destroy(part);
    return st;
}

static llap_status check_object(const ll_json *j, const char *key)
{
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = ll_json_part(j, key, &text, &n);
    if (st == LLAP_OK && text != NULL && *text != '{')
        st = ll_json_fail(j, key, "expected an object, found %s", ll_text_show(text).text);
    ll_free(text);
    return st;
}

static llap_status join(const llap_train_opts *o, ll_json **out)
{
    llap_status st = ll_json_parse("{}", 2, "options", NULL, out);
    if (st == LLAP_OK) st = add_part(*out, "network", o->network);
    if (st == LLAP_OK) st = add_part(*out, "training", o->training);
    return st;
}

llap_status ll_train_config(const llap_train_opts *o, llap_train_opts *out, ll_json **config)
{
    const char *keys[N + 3] = { "network", "training" };
    const bool  own = o->network != NULL || o->training != NULL;
    *out = *o;
    *config = NULL;
    if (own && o->config != NULL)
        return ll_fail(LLAP_EOPTION, "config: has its own network and training, give no others");
    if (!own && o->config == NULL) return LLAP_OK;
    for (int i = 0; i < N; i++) keys[i + 2] = entries[i].key;
    llap_status st = own                 ? join(o, config)
                     : *o->config == '{' ? parse(o->config, strlen(o->config), "config", config)
                                         : ll_json_read(o->config, NULL, config);
    if (st == LLAP_OK) st = ll_fields_only(*config, "", NULL, 0, keys);
    for (int i = 0; i < 2 && st == LLAP_OK; i++) st = check_object(*config, keys[i]);
    for (int i = 0; i < N && st == LLAP_OK; i++) st = take(*config, &entries[i], out);
    if (st != LLAP_OK) {
        ll_json_destroy(*config);
        *config = NULL;
    }
    return st;
}

static void write_options(ll_json_writer *w, const llap_train_opts *o)
{
    for (int i = 0; i < N; i++) {
        const void *at = (const char *)o + entries[i].offset;
        if (entries[i].kind == TEXT && *(const char *const *)at != NULL)
            ll_json_put_string(w, entries[i].key, *(const char *const *)at);
        if (entries[i].kind == WHOLE && *(const int64_t *)at != 0)
            ll_json_put_int(w, entries[i].key, *(const int64_t *)at);
        if (entries[i].kind == REAL && *(const double *)at != 0)
            ll_json_put_double(w, entries[i].key, *(const double *)at);
        if (entries[i].kind == FLAG && *(const int *)at != 0)
            ll_json_put_bool(w, entries[i].key, true);
    }
}

llap_status ll_train_options_text(const llap_train_opts *o, const ll_json *config,
                                  const ll_recipe *r, char **text)
{
    llap_train_opts all = *o;
    ll_json_writer  w = { 0 };
    char           *network = NULL;
    size_t          n = 0;
    /* Names of files say nothing elsewhere; who trained is in the frame. */
    if (all.parts != NULL) all.split = "entity";
    else if (all.shares == NULL) all.shares = "70,10,20";
    all.parts = all.from = NULL;
    llap_status st = config == NULL ? LLAP_OK : ll_json_part(config, "network", &network, &n);
    ll_json_open(&w, NULL, '{');
    write_options(&w, &all);
    if (st == LLAP_OK && network != NULL) st = put_text(&w, "network", network);
    ll_recipe_write(&w, r);
    ll_json_close(&w, '}');
    ll_free(network);
    *text = NULL;
    const llap_status written = ll_json_finish(&w, text, &n);
    return st == LLAP_OK ? written : st;
}

llap_status ll_train_options_keep(const llap_train_opts *o, const ll_json *config,
                                  const ll_recipe *r, llap_model *m)
{
    ll_free(m->training);
    return ll_train_options_text(o, config, r, &m->training);
}
