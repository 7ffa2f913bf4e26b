/* Models from the reference's artefacts, and back: the frame around model/artefacts.h. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "model/artefacts.h"
#include "model/model_parts.h"
#include "model/network_store.h"
#include "predict/view/span.h"

#include <llapdiff/artefacts.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the files ---- */

typedef struct path {
    char text[4096];
} path;

static path path_of(const char *folder, int artefact)
{
    path p;
    assert(artefact >= 0 && artefact < LL_ARTEFACT_COUNT);
    snprintf(p.text, sizeof p.text, "%s/%s.safetensors", folder, ll_artefact_names[artefact]);
    return p;
}

static void close_all(ll_artefacts *a)
{
    for (int i = 0; i < LL_ARTEFACT_COUNT; i++) ll_tensors_close(a->file[i]);
}

/* Only the denoiser must be there: without a VAE the latent is the identity, without a summarizer
 * there is no condition. */
static llap_status open_all(const char *folder, ll_artefacts *a)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < LL_ARTEFACT_COUNT && st == LLAP_OK; i++) {
        const path p = path_of(folder, i);
        st = ll_tensors_open(p.text, &a->file[i]);
        if (st == LLAP_ENOTFOUND && i != LL_ARTEFACT_DENOISER) st = LLAP_OK;
    }
    return st;
}

/* ---- names ---- */

typedef struct names {
    const char **at;
    int64_t      n;
    ll_arena     arena;
} names;

/* "a,b,c" as the option says; without, what1, what2, .. and a warning. */
static llap_status split_names(const char *list, const char *what, const char *option,
                               int64_t expected, const llap_log *log, names *out)
{
    out->at = ll_arena_new(&out->arena, (size_t)expected + 1, sizeof *out->at);
    if (out->at == NULL) return LLAP_ENOMEM;
    if (list == NULL && expected > 0)
        ll_logf(log, LLAP_LOG_WARNING, "no names of %s: they are called %s1 to %s%lld", option,
                what, what, (long long)expected);
    for (int64_t i = 0; i < expected; i++) {
        const char *end = list == NULL ? NULL : strchr(list, ',');
        out->at[i] = list == NULL
                         ? ll_arena_printf(&out->arena, "%s%lld", what, (long long)i + 1)
                         : ll_arena_strndup(&out->arena, list,
                                            end == NULL ? strlen(list) : (size_t)(end - list));
        if (out->at[i] == NULL) return LLAP_ENOMEM;
        if (list != NULL && (*out->at[i] == '\0' || (end == NULL) != (i + 1 == expected)))
            return ll_fail(LLAP_EINVAL, "%s: expected %lld names separated by commas", option,
                           (long long)expected);
        if (end != NULL) list = end + 1;
    }
    out->n = expected;
    return LLAP_OK;
}

static int64_t count_names(const char *list)
{
    int64_t n = list != NULL;
    for (; list != NULL && (list = strchr(list, ',')) != NULL; list++) n++;
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Models keep entities by name; the rows of the embedding follow theirs. */
static llap_status sort_entities(names *e, ll_network *n)
{
    const ll_param_info *p = ll_params_find(n->params, "vae.entity_emb.weight");
    const char         **sorted = ll_arena_new(&e->arena, (size_t)e->n, sizeof *sorted);
    if (sorted == NULL) return LLAP_ENOMEM;
    memcpy((void *)sorted, (const void *)e->at, (size_t)e->n * sizeof *sorted);
    qsort((void *)sorted, (size_t)e->n, sizeof *sorted, by_name);
    for (int64_t i = 1; i < e->n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return ll_fail(LLAP_EOPTION, "entities: '%s' is there twice",
                           ll_text_show(sorted[i]).text);
    if (p != NULL) {
        const size_t width = (size_t)(p->count / e->n) * sizeof(float);
        char        *rows = ll_arena_new(&e->arena, (size_t)e->n, width);
        if (rows == NULL) return LLAP_ENOMEM;
        for (int64_t i = 0; i < e->n; i++) {
            const char **at = bsearch(&e->at[i], sorted, (size_t)e->n, sizeof *sorted, by_name);
            assert(at != NULL);
            memcpy(rows + (size_t)(at - sorted) * width, (char *)p->data + (size_t)i * width,
                   width);
        }
        memcpy(p->data, rows, (size_t)e->n * width);
    }
    e->at = sorted;
    return LLAP_OK;
}

/* ---- the frame ---- */

#define NUMBER_UNIT INT64_C(1000000000) /* ticks per 1 of times that are plain numbers */

/* Rows of one step; without a step, times are plain numbers, one per row. */
static llap_status frame_of(const ll_network_config *c, const llap_import_opts *o,
                            ll_model_frame *f)
{
    const ll_axis axis = { .kind = LL_AXIS_CALENDAR };
    f->axis = o->step == NULL ? LL_AXIS_NUMBER : LL_AXIS_CALENDAR;
    f->axis_unit = o->step == NULL ? NUMBER_UNIT : 1;
    f->step = f->axis_unit;
    llap_status st =
        o->step == NULL ? LLAP_OK : ll_span_parse("step", o->step, &axis, INT64_MAX, &f->step);
    if (st == LLAP_OK && o->horizon == NULL)
        st = ll_fail(LLAP_EOPTION, "horizon: how many rows ahead the model was trained for");
    if (st == LLAP_OK) st = ll_span_parse("horizon", o->horizon, &axis, f->step, &f->horizon);
    f->unit = f->step;
    const int64_t rows = c->options.conditioning ? c->summarizer.context : 1; /* none looks back */
    if (st == LLAP_OK && __builtin_mul_overflow(rows, f->step, &f->context))
        st = ll_fail(LLAP_EOPTION, "step: too long for a context of %lld rows", (long long)rows);
    /* Nobody knows what it was trained on: all that it is shown is a test. */
    f->val_start = f->test_start = -INT64_MAX / 4;
    return st;
}

static llap_status import_foreign(const ll_artefacts *a, const llap_import_opts *o,
                                  const ll_network_config *c, llap_model **out)
{
    names          input = { 0 }, target = { 0 }, entity = { 0 };
    ll_network    *n = NULL;
    ll_model_frame f = { .n_targets = c->n_targets, .n_entities = c->n_entities };
    llap_status    st = frame_of(c, o, &f);
    if (st == LLAP_OK) st = split_names(o->inputs, "input", "inputs", c->n_inputs, o->log, &input);
    if (st == LLAP_OK)
        st = split_names(o->targets, "target", "targets", c->n_targets, o->log, &target);
    if (st == LLAP_OK)
        st = split_names(o->entities, "entity", "entities", c->n_entities, o->log, &entity);
    if (st == LLAP_OK) st = ll_network_create(c, (const char *const *)input.at, &n);
    if (st == LLAP_OK) st = ll_artefacts_load(a, n);
    if (st == LLAP_OK) st = sort_entities(&entity, n);
    f.target = (const char *const *)target.at;
    f.entity = (const char *const *)entity.at;
    if (st == LLAP_OK) st = ll_model_create(&f, NULL, out);
    if (st == LLAP_OK) {
        (*out)->network = n;
        if (a->file[LL_ARTEFACT_STATISTICS] == NULL)
            ll_logf(o->log, LLAP_LOG_WARNING,
                    "no statistics.safetensors: data must come with mean 0 and deviation 1");
    } else {
        ll_network_destroy(n);
    }
    ll_arena_deinit(&input.arena);
    ll_arena_deinit(&target.arena);
    ll_arena_deinit(&entity.arena);
    return st;
}

/* What was exported from a model has its frame with it. */
static llap_status import_own(const ll_artefacts *a, const ll_network_config *c, llap_model **out)
{
    const ll_tensors *t = a->file[LL_ARTEFACT_STATISTICS];
    ll_json          *config = NULL;
    const char      **input = NULL;
    size_t            n = 0;
    llap_status       st = ll_model_read(t, &config, out);
    if (st == LLAP_OK) st = ll_json_strings(config, "network.inputs", &input, &n);
    if (st == LLAP_OK) st = ll_network_create(c, (const char *const *)input, &(*out)->network);
    if (st == LLAP_OK) st = ll_artefacts_load(a, (*out)->network);
    if (st == LLAP_OK) st = ll_model_check_network(*out);
    ll_free((void *)input);
    ll_json_destroy(config);
    return st;
}

llap_status llap_model_import(const char *folder, const llap_import_opts *given, llap_model **out)
{
    *out = NULL;
    ll_artefacts      a = { 0 };
    ll_network_config c;
    llap_import_opts  o;
    llap_status       st = llap_options_resolve(llap_import_options(), given, &o, sizeof o);
    if (st != LLAP_OK) return st;
    const bool              stated = o.prediction == LLAP_IMPORT_PREDICTION_STATED;
    const ll_artefact_hints hints = {
        .heads = o.heads,
        .entities = count_names(o.entities),
        .context = o.context,
        .prediction =
            stated ? NULL : ll_option_word(llap_import_options(), "prediction", (int)o.prediction),
        .t_token = ll_option_word(llap_import_options(), "t_token", (int)o.t_token)
    };
    st = open_all(folder, &a);
    if (st == LLAP_OK) {
        const ll_tensors *own = a.file[LL_ARTEFACT_STATISTICS];
        st = ll_artefacts_config(&a, &hints, &c);
        if (st == LLAP_OK)
            st = own != NULL && ll_tensors_metadata(own, "llapdiff.config") != NULL
                     ? import_own(&a, &c, out)
                     : import_foreign(&a, &o, &c, out);
        if (st == LLAP_EFORMAT) st = ll_fail_in(st, "%s", folder);
    }
    close_all(&a);
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* ---- and back ---- */

static llap_status export_one(const llap_model *m, const char *folder, ll_artefact which)
{
    const path         p = path_of(folder, (int)which);
    ll_tensors_writer *w = NULL;
    llap_status        st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_artefact_save(m->network, which, w);
    if (st == LLAP_OK && which == LL_ARTEFACT_STATISTICS) st = ll_model_write_metadata(m, w);
    if (st == LLAP_OK) st = ll_tensors_writer_save(w, p.text);
    ll_tensors_writer_destroy(w);
    return st;
}

llap_status llap_model_export(const llap_model *m, const char *folder)
{
    if (m->network == NULL || m->network->config.profile != LL_PROFILE_REFERENCE)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "only a model of the reference profile has the reference's artefacts");
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return ll_fail(LLAP_EIO, "%s: cannot be made: %s", folder, strerror(errno));
    llap_status st = LLAP_OK;
    for (int i = 0; i < LL_ARTEFACT_COUNT && st == LLAP_OK; i++)
        if (ll_artefact_has(&m->network->config, (ll_artefact)i))
            st = export_one(m, folder, (ll_artefact)i);
    return st;
}
