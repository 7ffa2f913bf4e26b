/* The run that the options of llap_train describe: what tells it from others, where it keeps its
 * state, and what room that takes. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/rng/rng.h"
#include "base/text.h"
#include "base/time/holidays.h"
#include "data/panel.h"
#include "data/panel_words.h"
#include "predict/device.h"
#include "predict/view/meet.h"
#include "predict/view/static_table.h"
#include "ranks/ranks.h"
#include "train/run/facts.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* What is in the file, whatever it is called; 0 without one, or through standard input. */
static llap_status hash_file(const char *path, uint64_t *out)
{
    ll_map m;
    *out = 0;
    if (path == NULL || strcmp(path, "-") == 0) return LLAP_OK;
    const llap_status st = ll_map_open(path, &m);
    if (st != LLAP_OK) return st;
    *out = ll_hash(0, m.data, m.size);
    ll_map_close(&m);
    return LLAP_OK;
}

static void add_number(ll_fact_list *l, const char *name, double value)
{
    char digits[LL_DOUBLE_TEXT];
    ll_text_double(value, digits);
    ll_facts_addf(l, name, "%s", digits);
}

/* A resolved option: the same whether a default was given or left to us. */
static void add_option(ll_fact_list *l, const llap_option *o, const llap_train_opts *options)
{
    const void  *at = (const char *)options + o->offset;
    const double number = o->type == LLAP_OPTION_INTEGER ? (double)*(const int64_t *)at
                          : o->type == LLAP_OPTION_REAL  ? *(const double *)at
                                                         : 0;
    switch (o->type) {
    case LLAP_OPTION_INTEGER:
    case LLAP_OPTION_REAL:
        if (number != 0 || o->usual != NULL) add_number(l, o->name, number);
        else ll_facts_add(l, o->name, "the default");
        break;
    case LLAP_OPTION_FLAG:
        ll_facts_add(l, o->name, *(const int *)at != 0 ? "true" : "false");
        break;
    case LLAP_OPTION_WORD:
        ll_facts_add(l, o->name, llap_option_given(o, options) ? o->words[*(const int *)at] : NULL);
        break;
    default:
        ll_facts_add(l, o->name, *(const char *const *)at);
    }
}

static void add_rates(ll_fact_list *l, const ll_recipe *r)
{
    if (r->rival) ll_facts_addf(l, "learning rate", "%.15g", r->published.stage.lr);
    else if (r->profile == LL_PROFILE_DEFAULT)
        ll_facts_addf(l, "learning rate", "%.15g", r->networks.stage.lr);
    else
        ll_facts_addf(l, "learning rate", "%.15g, %.15g, %.15g", r->vae.stage.lr,
                      r->summarizer.stage.lr, r->denoiser.stage.lr);
    ll_facts_may_differ(l); /* a smaller one, after too large a one */
}

/* Devices of one name give the same numbers. */
static const char *name_of(const ll_backend *backend)
{
    const bool tiles = backend == &ll_backend_cpu && strcmp(ll_cpu_instructions(), "amx") == 0;
    return tiles ? "cpu (amx)" : backend->name;
}

/* The options that the run depends on. Files count by their content (add_files), size and rate by
 * what they resolve to (the networks, add_rates). */
static void add_options(ll_fact_list *l, const llap_train_opts *o, const ll_network_config *c)
{
    for (const llap_option *k = llap_train_options(); k->name != NULL; k++) {
        const bool file = k->type == LLAP_OPTION_FILE || k->type == LLAP_OPTION_JSON;
        if (!k->in_run || file || strcmp(k->name, "lr") == 0) continue;
        if (strcmp(k->name, "micro_batches") == 0 && o->micro_batches == 0)
            continue; /* as before */
        if (strcmp(k->name, "size") == 0)
            ll_facts_add(l, k->name,
                         o->rival != NULL                   ? "rival"
                         : o->size == LLAP_TRAIN_SIZE_STACK ? "stack"
                         : c != NULL                        ? ll_size_names[c->size]
                                                            : "anchor");
        else add_option(l, k, o);
    }
}

/* The dates that were given as a file. */
static llap_status hash_holidays(const llap_train_opts *o, uint64_t *out)
{
    const bool file = o->holidays != NULL && !ll_holidays_is_country(o->holidays);
    return hash_file(file ? o->holidays : NULL, out);
}

/* Static inputs: the file, or the words of the data, which are none of its values. 0: there are
 * none. */
static llap_status hash_statics(const llap_panel *p, const llap_train_opts *o, uint64_t *out)
{
    *out = 0;
    if (o->statics == NULL) return LLAP_OK;
    if (ll_static_is_file(o->statics)) return hash_file(o->statics, out);
    for (uint32_t c = 0; p->words != NULL && c < p->words->n; c++)
        for (int64_t e = 0; e < p->n_entities; e++) {
            const char *word = p->words->word[c][e];
            *out = ll_hash(*out, word == NULL ? "" : word, word == NULL ? 1 : strlen(word));
        }
    return LLAP_OK;
}

/* Hashes of the data, of a split that was given and of a model that it starts from. */
static llap_status add_files(ll_fact_list *l, const llap_panel *p, const llap_train_opts *o,
                             const ll_model_frame *f)
{
    uint64_t    started = 0, dates = 0, statics = 0;
    llap_status st = hash_file(o->from, &started);
    if (st == LLAP_OK) st = hash_holidays(o, &dates);
    const uint64_t           hash[] = { ll_panel_hash(p),
                              o->parts == NULL ? 0 : ll_hash(0, f->part, (size_t)f->n_entities),
                                        started, dates };
    static const char *const name[] = { "data", "parts", "from", "dates of holidays" };
    for (int i = 0; i < 4; i++) ll_facts_addf(l, name[i], "%016" PRIx64, hash[i]);
    if (st == LLAP_OK) st = hash_statics(p, o, &statics);
    if (st == LLAP_OK && o->statics != NULL)
        ll_facts_addf(l, "static inputs", "%016" PRIx64, statics);
    return st;
}

/* The configuration of the networks, and the recipe but for its rates. */
static llap_status add_objects(ll_fact_list *l, const ll_network_config *c, const ll_recipe *r)
{
    ll_recipe   rest = *r;
    llap_status st = LLAP_OK;
    rest.networks.stage.lr = rest.vae.stage.lr = rest.published.stage.lr = 0;
    rest.summarizer.stage.lr = rest.denoiser.stage.lr = 0;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        ll_json_writer w = { 0 };
        char          *text = NULL;
        size_t         n = 0;
        ll_json_open(&w, NULL, '{');
        if (i == 0 && c != NULL) ll_network_config_write(&w, c);
        if (i == 1) ll_recipe_write(&w, &rest);
        ll_json_close(&w, '}');
        st = ll_json_finish(&w, &text, &n);
        const char *kept = st == LLAP_OK ? ll_arena_strndup(&l->arena, text, n) : NULL;
        if (st == LLAP_OK && kept == NULL) st = LLAP_ENOMEM;
        if (st == LLAP_OK) ll_facts_add(l, i == 0 ? "network" : "training", kept);
        ll_free(text);
    }
    return st;
}

static llap_status list_facts(ll_fact_list *l, const llap_panel *p, const llap_train_opts *o,
                              const ll_model_frame *f, const ll_network_config *c,
                              const ll_recipe *r)
{
    const ll_backend *backend = NULL;
    add_options(l, o, c);
    add_rates(l, r);
    llap_status st = add_files(l, p, o, f);
    if (st == LLAP_OK) st = add_objects(l, c, r);
    if (st == LLAP_OK) st = ll_backend_choose(o->device, o->precision, &backend);
    if (st == LLAP_OK) ll_facts_add(l, "device", name_of(backend));
    ll_facts_may_differ(l);
    return st == LLAP_OK ? l->status : st;
}

/* ---- is it done? ---- */

/* A name for the run: a hash of what the model says of its training, and of what it does not say:
 * the data, the parts of entities, the model that it starts from. */
llap_status ll_training_run_name(const llap_panel *p, const llap_train_opts *o,
                                 const ll_model_frame *f, const char *text,
                                 char name[LL_MODEL_RUN + 1])
{
    uint64_t    from, dates = 0, statics = 0;
    llap_status st = hash_file(o->from, &from);
    if (st == LLAP_OK) st = hash_holidays(o, &dates);
    if (st == LLAP_OK) st = hash_statics(p, o, &statics);
    uint64_t       h = ll_hash(from, text, strlen(text));
    const uint64_t data = ll_panel_hash(p);
    h = ll_hash(h, &data, sizeof data);
    if (f->by_entity) h = ll_hash(h, f->part, (size_t)f->n_entities);
    if (dates != 0) h = ll_hash(h, &dates, sizeof dates);
    if (statics != 0) h = ll_hash(h, &statics, sizeof statics);
    snprintf(name, LL_MODEL_RUN + 1, "%016" PRIx64, h);
    return st;
}

llap_status ll_training_run_sign(const llap_panel *p, const llap_train_opts *o, llap_model *m)
{
    return ll_training_run_name(p, o, &m->frame, m->training, m->run);
}

/* Are they the same but for what a budget decides? */
static bool same_but_for_size(const ll_json *a, const ll_json *b)
{
    static const char *const decided =
        ",size,members,steps,batch,micro_batches,lr,view,inputs,diffusion,network,";
    bool same = true;
    for (const llap_option *o = llap_train_options(); o->name != NULL && same; o++) {
        char  *left = NULL, *right = NULL, key[64];
        size_t n;
        snprintf(key, sizeof key, ",%s,", o->name);
        if (!o->in_run || strstr(decided, key) != NULL) continue;
        const char *path = strcmp(o->name, "training") == 0 ? "training.anchor" : o->name;
        same = ll_json_part(a, path, &left, &n) == LLAP_OK &&
               ll_json_part(b, path, &right, &n) == LLAP_OK && (left == NULL) == (right == NULL) &&
               (left == NULL || strcmp(left, right) == 0);
        ll_free(left);
        ll_free(right);
    }
    return same;
}

/* Is it what a budget has made of these options? */
static bool is_within_budget(const llap_panel *p, const llap_train_opts *o, const ll_model_frame *f,
                             const char *text, const llap_model *m)
{
    char     name[LL_MODEL_RUN + 1];
    ll_json *own = NULL, *asked = NULL;
    if (o->budget == NULL || ll_training_run_name(p, o, f, m->training, name) != LLAP_OK ||
        strcmp(name, m->run) != 0)
        return false;
    const bool same =
        ll_json_parse(m->training, strlen(m->training), "model", NULL, &own) == LLAP_OK &&
        ll_json_parse(text, strlen(text), "options", NULL, &asked) == LLAP_OK &&
        same_but_for_size(own, asked);
    ll_json_destroy(own);
    ll_json_destroy(asked);
    return same;
}

/* Loads the model at the output if it is of this run. Any other file there is the caller's to
 * overwrite. */
static llap_status find_finished(const llap_panel *p, const llap_train_opts *o,
                                 const ll_model_frame *f, const char *text, const char *run,
                                 llap_model **out)
{
    *out = NULL;
    if (!o->resume || o->output == NULL || strcmp(o->output, "-") == 0) return LLAP_OK;
    const llap_status st = llap_model_load(o->output, out);
    if (st == LLAP_ENOMEM) return st;
    if (st != LLAP_OK) return LLAP_OK;
    if (strcmp((*out)->run, run) == 0 || is_within_budget(p, o, f, text, *out)) {
        ll_logf(o->log, LLAP_LOG_INFO,
                "%s: this training is finished: its model is taken; without `resume` it is trained "
                "again",
                o->output);
        return LLAP_OK;
    }
    ll_logf(o->log, LLAP_LOG_INFO, "%s: is the model of another training", o->output);
    llap_model_destroy(*out);
    *out = NULL;
    return LLAP_OK;
}

/* Whether other ranks go on from the same state. They look before any of them writes. */
static llap_status meet_ranks(const llap_train_opts *o, llap_status st, bool finished)
{
    const ll_ranks *r = ll_ranks_joined();
    uint64_t        state = 0;
    if (r == NULL) return st;
    if (st == LLAP_OK && o->resume && o->state != NULL && access(o->state, F_OK) == 0)
        st = hash_file(o->state, &state);
    st = ll_ranks_end_together(r, st);
    return st == LLAP_OK
               ? ll_ranks_agree(r, finished ? ~state : state, "another state to go on from")
               : st;
}

llap_status ll_training_run_open(const llap_panel *p, const llap_train_opts *o,
                                 const ll_model_frame *f, const ll_run_job *job,
                                 ll_training_run **out, llap_model **finished)
{
    ll_fact_list         l = { 0 };
    char                 run[LL_MODEL_RUN + 1];
    const ll_ranks      *ranks = ll_ranks_joined();
    ll_training_run_opts how = { .state = o->state,
                                 .reader = ranks != NULL && ranks->rank > 0,
                                 .resume = o->resume != 0,
                                 .save_every = o->save_every,
                                 .log = o->history,
                                 .run = run,
                                 .messages = o->log,
                                 .progress = o->progress };
    *out = NULL;
    *finished = NULL;
    llap_status st = list_facts(&l, p, o, f, job->network, job->recipe);
    if (st == LLAP_OK) st = ll_training_run_name(p, o, f, job->text, run);
    if (st == LLAP_OK) st = find_finished(p, o, f, job->text, run, finished);
    how.finished = *finished != NULL;
    if (st == LLAP_OK) st = ll_training_run_create(&how, l.fact, l.n, out);
    ll_facts_deinit(&l);
    st = meet_ranks(o, st, how.finished);
    if (st == LLAP_OK) return st;
    ll_training_run_destroy(*out);
    *out = NULL;
    llap_model_destroy(*finished);
    *finished = NULL;
    return st;
}

/* ---- room for its states ---- */

size_t ll_training_run_weights(const ll_params *p, const char *prefix)
{
    size_t n = 0;
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        if (x->leaf == LL_LEAF_PARAM && strncmp(x->name, prefix, strlen(prefix)) == 0)
            n += (size_t)x->count;
    }
    return n;
}

llap_status ll_training_run_reserve(const ll_training_run *t, const ll_stage_size *stage, int n)
{
    size_t before = 0, most = 0;
    for (int i = 0; i < n;
         i++) { /* the store, its best, and what the stages before it ended with */
        const size_t now = stage[i].changed + stage[i].kept + before;
        most = now > most ? now : most;
        before += stage[i].kept;
    }
    return ll_training_run_room(t, most * sizeof(float));
}
