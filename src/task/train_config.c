/* One JSON file that describes a run: the options of llap_train by name, under "network" any option
 * of the networks (model/network.h), under "training" any of how they are trained (task/recipe.h).
 * What the caller gave goes first. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "task/train.h"

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
static llap_status take(const llap_json *j, const struct entry *e, llap_train_opts *o)
{
    static const llap_train_opts usual = LLAP_TRAIN_OPTS;
    const void                  *none = (const char *)&usual + e->offset;
    void                        *at = (char *)o + e->offset;
    const char                  *text;
    bool                         flag;
    llap_status                  st = LLAP_OK;
    if (!llap_json_has(j, e->key)) return st;
    switch (e->kind) {
    case TEXT:
        st = llap_json_string(j, e->key, &text);
        if (st == LLAP_OK && *(const char **)at == NULL) *(const char **)at = text;
        break;
    case WHOLE: {
        int64_t v = 0;
        st = llap_json_int(j, e->key, (int64_t)e->low, (int64_t)e->high, &v);
        if (st == LLAP_OK && *(int64_t *)at == *(const int64_t *)none) *(int64_t *)at = v;
        break;
    }
    case REAL: {
        double v = 0;
        st = llap_json_double(j, e->key, e->low, e->high, &v);
        if (st == LLAP_OK && *(double *)at == 0) *(double *)at = v;
        break;
    }
    case FLAG:
        st = llap_json_bool(j, e->key, &flag);
        if (st == LLAP_OK && flag) *(int *)at = 1;
        break;
    }
    return st;
}

/* Is it JSON, or the name of a file that has some? */
static bool is_text(const char *s) { return strchr("{[", s[strspn(s, " \t\r\n")]) != NULL; }

static llap_status put_text(llap_json_writer *w, const char *key, const char *text)
{
    llap_json        *j = NULL;
    const llap_status st = llap_json_parse(text, strlen(text), key, NULL, &j);
    if (st == LLAP_OK) llap_json_put(w, key, j);
    llap_json_destroy(j);
    return st;
}

/* What a file has under that key. */
static llap_status put_part(llap_json_writer *w, const char *key, const char *file)
{
    llap_json  *j = NULL;
    char       *part = NULL, place[LLAP_DETAIL_MAX];
    size_t      n = 0;
    llap_status st = llap_json_read(file, NULL, &j);
    if (st == LLAP_OK) st = llap_json_need(j, key);
    if (st == LLAP_OK) st = llap_json_part(j, key, &part, &n);
    if (st == LLAP_OK && *part != '{') {
        llap_json_place(j, key, place, sizeof place);
        st = llap_fail(LLAP_EFORMAT, "%s: '%s': expected an object, found %s", place, key,
                       llap_text_show(part).text);
    }
    if (st == LLAP_OK) st = put_text(w, key, part);
    llap_free(part);
    llap_json_destroy(j);
    return st;
}

static llap_status put_object(llap_json_writer *w, const char *key, const char *given)
{
    if (given == NULL) return LLAP_OK;
    return is_text(given) ? put_text(w, key, given) : put_part(w, key, given);
}

/* Both as one document. Each is read by itself first, so that messages count from its own
 * beginning. */
static llap_status join(const llap_train_opts *o, llap_json **out)
{
    llap_json_writer w = { 0 };
    char            *text = NULL;
    size_t           n = 0;
    llap_json_open(&w, NULL, '{');
    llap_status st = put_object(&w, "network", o->network);
    if (st == LLAP_OK) st = put_object(&w, "training", o->training);
    llap_json_close(&w, '}');
    const llap_status written = llap_json_finish(&w, &text, &n);
    if (st == LLAP_OK) st = written;
    if (st == LLAP_OK) st = llap_json_parse(text, n, "options", NULL, out);
    llap_free(text);
    return st;
}

/* One file that has all that is asked for, and nothing else of it, is the document: messages then
 * say where in it. *out stays NULL where it is not so. */
static llap_status take_file(const llap_train_opts *o, llap_json **out)
{
    const char *file = o->network != NULL ? o->network : o->training;
    if (is_text(file)) return LLAP_OK;
    llap_status st = llap_json_read(file, NULL, out);
    for (int i = 0; i < 2 && *out != NULL; i++) {
        const char *asked = i == 0 ? o->network : o->training;
        const char *key = i == 0 ? "network" : "training";
        if (llap_json_has(*out, key) && asked != NULL && strcmp(asked, file) == 0) continue;
        if (!llap_json_has(*out, key) && asked == NULL) continue;
        llap_json_destroy(*out);
        *out = NULL;
    }
    return st;
}

llap_status task_train_config(const llap_train_opts *o, llap_train_opts *out, llap_json **config)
{
    const char *keys[N + 3] = { "network", "training" };
    const bool  own = o->network != NULL || o->training != NULL;
    *out = *o;
    *config = NULL;
    if (own && o->config != NULL)
        return llap_fail(LLAP_EINVAL, "config: has its own network and training, give no others");
    if (own) {
        const llap_status st = take_file(o, config);
        return st == LLAP_OK && *config == NULL ? join(o, config) : st;
    }
    if (o->config == NULL) return LLAP_OK;
    for (int i = 0; i < N; i++) keys[i + 2] = entries[i].key;
    llap_status st = *o->config == '{'
                         ? llap_json_parse(o->config, strlen(o->config), "config", NULL, config)
                         : llap_json_read(o->config, NULL, config);
    if (st == LLAP_OK) st = llap_fields_only(*config, "", NULL, 0, keys);
    for (int i = 0; i < N && st == LLAP_OK; i++) st = take(*config, &entries[i], out);
    if (st != LLAP_OK) {
        llap_json_destroy(*config);
        *config = NULL;
    }
    return st;
}

static void write_options(llap_json_writer *w, const llap_train_opts *o)
{
    for (int i = 0; i < N; i++) {
        const void *at = (const char *)o + entries[i].offset;
        if (entries[i].kind == TEXT && *(const char *const *)at != NULL)
            llap_json_put_string(w, entries[i].key, *(const char *const *)at);
        if (entries[i].kind == WHOLE && *(const int64_t *)at != 0)
            llap_json_put_int(w, entries[i].key, *(const int64_t *)at);
        if (entries[i].kind == REAL && *(const double *)at != 0)
            llap_json_put_double(w, entries[i].key, *(const double *)at);
        if (entries[i].kind == FLAG && *(const int *)at != 0)
            llap_json_put_bool(w, entries[i].key, true);
    }
}

llap_status task_train_remember(const llap_train_opts *o, const llap_json *config,
                                const task_recipe *r, llap_model *m)
{
    llap_train_opts  all = *o;
    llap_json_writer w = { 0 };
    char            *network = NULL;
    size_t           n = 0;
    /* Names of files say nothing elsewhere; who trained is in the frame. */
    if (all.parts != NULL) all.split = "entity";
    all.parts = all.from = NULL;
    llap_status st = config == NULL ? LLAP_OK : llap_json_part(config, "network", &network, &n);
    llap_json_open(&w, NULL, '{');
    write_options(&w, &all);
    if (st == LLAP_OK) st = put_object(&w, "network", network);
    task_recipe_write(&w, r);
    llap_json_close(&w, '}');
    llap_free(network);
    llap_free(m->training);
    m->training = NULL;
    const llap_status written = llap_json_finish(&w, &m->training, &n);
    return st == LLAP_OK ? written : st;
}
