/* One JSON file that describes a run: the options of llap_train by name, under "network" any option
 * of the networks (model/network.h), under "training" any of how they are trained
 * (train/run/recipe.h). What the caller gave goes first. */
#include "train/run/config.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/fields.h"
#include "base/options.h"
#include "base/text.h"
#include "ranks/ranks.h"
#include "train/run/recipe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The value of the file as text: the file's own, or in digits. */
static llap_status value_of(const ll_json *j, const llap_option *o, char digits[LL_DOUBLE_TEXT],
                            const char **text)
{
    bool        flag = false;
    int         word = 0;
    int64_t     whole = 0;
    double      real = 0;
    llap_status st;
    *text = digits;
    switch (o->type) {
    case LLAP_OPTION_FLAG:
        st = ll_json_bool(j, o->name, &flag);
        *text = flag ? "true" : "false";
        return st;
    case LLAP_OPTION_WORD:
        st = ll_json_enum(j, o->name, o->words + 1, &word);
        *text = o->words[1 + word];
        return st;
    case LLAP_OPTION_INTEGER:
        st = ll_json_int(j, o->name, (int64_t)o->low, (int64_t)o->high, &whole);
        snprintf(digits, LL_DOUBLE_TEXT, "%lld", (long long)whole);
        return st;
    case LLAP_OPTION_REAL:
        st = ll_json_double(j, o->name, o->low, o->high, &real);
        ll_text_double(real, digits);
        return st;
    default:
        return ll_json_string(j, o->name, text);
    }
}

/* Takes the value of the file where the caller gave none. */
static llap_status take(const ll_json *j, const llap_option *o, llap_train_opts *out)
{
    char        digits[LL_DOUBLE_TEXT];
    const char *text;
    if (o->type == LLAP_OPTION_JSON || !ll_json_has(j, o->name)) return LLAP_OK;
    const llap_status st = value_of(j, o, digits, &text);
    if (st != LLAP_OK || llap_option_given(o, out)) return st;
    return llap_option_set(llap_train_options(), out, o->name, text);
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

/* Keys of a config: what a run depends on. */
static llap_status check_keys(const ll_json *config)
{
    enum { MOST = 64 };
    const char *keys[MOST + 1] = { NULL };
    int         n = 0;
    for (const llap_option *o = llap_train_options(); o->name != NULL && n < MOST; o++)
        if (o->in_run) keys[n++] = o->name;
    assert(n < MOST);
    llap_status st = ll_fields_only(config, "", NULL, 0, keys);
    if (st == LLAP_OK) st = check_object(config, "network");
    return st == LLAP_OK ? check_object(config, "training") : st;
}

/* The caller's options, and those of the file that the caller did not give. */
static llap_status merge(const llap_train_opts *o, llap_train_opts *out, ll_json **config)
{
    const bool own = o->network != NULL || o->training != NULL;
    *out = *o;
    *config = NULL;
    if (own && o->config != NULL)
        return ll_fail(LLAP_EOPTION,
                       "config: it has network or training options: give them in one place only");
    if (!own && o->config == NULL) return LLAP_OK;
    llap_status st = own                 ? join(o, config)
                     : *o->config == '{' ? parse(o->config, strlen(o->config), "config", config)
                                         : ll_json_read(o->config, NULL, config);
    if (st == LLAP_OK) st = check_keys(*config);
    for (const llap_option *k = llap_train_options(); k->name != NULL && st == LLAP_OK; k++)
        if (k->in_run) st = take(*config, k, out);
    return st;
}

/* What is trained where nobody says it: the stack, or, with an option that only networks have,
 * those. */
static llap_train_size usual_size(const llap_train_opts *given, const ll_json *config)
{
    static const char *const of_networks[] = { "view",          "members", "steps", "batch",
                                               "micro_batches", "lr",      "from",  "network" };
    bool                     any = config != NULL && ll_json_has(config, "network");
    for (size_t i = 0; i < sizeof of_networks / sizeof *of_networks; i++)
        any =
            any || llap_option_given(llap_option_find(llap_train_options(), of_networks[i]), given);
    return any ? LLAP_TRAIN_SIZE_SMALL : LLAP_TRAIN_SIZE_STACK;
}

llap_status ll_train_config(const llap_train_opts *o, llap_train_opts *out, ll_json **config)
{
    llap_train_opts merged;
    llap_status     st = merge(o, &merged, config);
    if (st == LLAP_OK) st = llap_options_resolve(llap_train_options(), &merged, out, sizeof *out);
    if (st == LLAP_OK && out->micro_batches == 1) out->micro_batches = 0; /* a whole batch is one */
    if (st == LLAP_OK && out->size == LLAP_TRAIN_SIZE_DEFAULT &&
        out->profile != LLAP_TRAIN_PROFILE_REFERENCE && out->rival == NULL)
        out->size = usual_size(&merged, *config);
    if (st != LLAP_OK) {
        ll_json_destroy(*config);
        *config = NULL;
    }
    return st;
}

/* The lowest bit alone. */
static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

llap_status ll_train_micro_batches(const llap_train_opts *o, int64_t batch)
{
    const ll_ranks *r = ll_ranks_joined();
    const int64_t   n = o->micro_batches, size = r == NULL ? 1 : r->size;
    llap_status     st = LLAP_OK;
    if (n <= 1) return LLAP_OK;
    if (!is_power_of_two(n) || n > batch)
        st =
            ll_fail(LLAP_EOPTION,
                    "micro_batches: expected a power of two of at most %lld, the batch, found %lld",
                    (long long)batch, (long long)n);
    else if (!is_power_of_two(size) || size > n)
        st = ll_fail(LLAP_EOPTION,
                     "micro_batches: %lld cannot be shared out to %lld processes: start a power of "
                     "two of at most %lld",
                     (long long)n, (long long)size, (long long)n);
    return ll_ranks_end_together(r, st);
}

/* Resolved options as a config: what is the default anyway is left out, but for the seed. */
static void write_options(ll_json_writer *w, const llap_train_opts *options)
{
    for (const llap_option *o = llap_train_options(); o->name != NULL; o++) {
        const void *at = (const char *)options + o->offset;
        const bool  number = o->type == LLAP_OPTION_INTEGER || o->type == LLAP_OPTION_REAL;
        const bool  known = number && o->usual != NULL;
        if (!o->in_run || (!known && !llap_option_given(o, options))) continue;
        if (o->type == LLAP_OPTION_JSON) continue; /* the caller of this has them */
        if (o->type == LLAP_OPTION_INTEGER) {
            ll_json_put_int(w, o->name, *(const int64_t *)at);
        } else if (o->type == LLAP_OPTION_REAL) {
            ll_json_put_double(w, o->name, *(const double *)at);
        } else if (o->type == LLAP_OPTION_FLAG) {
            ll_json_put_bool(w, o->name, true);
        } else if (o->type == LLAP_OPTION_WORD) {
            const char *word = o->words[*(const int *)at];
            if (o->usual == NULL || strcmp(word, o->usual) != 0)
                ll_json_put_string(w, o->name, word);
        } else {
            ll_json_put_string(w, o->name, *(const char *const *)at);
        }
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
    if (all.parts != NULL) all.split = LLAP_TRAIN_SPLIT_ENTITY;
    else if (all.shares == NULL)
        all.shares = llap_option_find(llap_train_options(), "shares")->usual;
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
