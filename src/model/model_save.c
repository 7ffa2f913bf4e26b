/* Saving, the format of model.h. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "model/fill_file.h"
#include "model/model_parts.h"
#include "model/stack_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ll_model_axis_names[] = { "calendar", "number", NULL };

/* Absent where there are none. */
static void put_names(ll_json_writer *w, const char *key, const char *const *name, int64_t n)
{
    if (n == 0) return;
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_string(w, NULL, name[i]);
    ll_json_close(w, ']');
}

static llap_status config_text(const llap_model *m, char **text)
{
    const ll_model_frame *f = &m->frame;
    ll_json_writer        w = { .indent = 0 };
    size_t                n;
    assert(!f->by_entity || f->part != NULL);
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "size",
                       m->rival != NULL     ? LL_MODEL_SIZE_RIVAL
                       : m->stack != NULL   ? LL_MODEL_SIZE_STACK
                       : m->network == NULL ? LL_MODEL_SIZE_ANCHOR
                                            : ll_size_names[m->network->config.size]);
    ll_json_put_string(&w, "axis", ll_model_axis_names[f->axis]);
    ll_json_put_int(&w, "axis_unit", f->axis_unit);
    ll_json_put_int(&w, "unit", f->unit);
    ll_json_put_int(&w, "context", f->context);
    ll_json_put_int(&w, "horizon", f->horizon);
    ll_json_put_int(&w, "step", f->step);
    ll_json_put_int(&w, "gap", f->gap);
    ll_json_put_double(&w, "observed", f->observed);
    if (f->by_entity) {
        ll_json_open(&w, "parts", '(');
        for (int64_t i = 0; i < f->n_entities; i++) ll_json_put_int(&w, NULL, f->part[i]);
        ll_json_close(&w, ']');
    } else {
        ll_json_put_int(&w, "val_start", f->val_start);
        ll_json_put_int(&w, "test_start", f->test_start);
        if (f->has_times) {
            ll_json_open(&w, "part_times", '(');
            for (int i = 0; i < 6; i++) ll_json_put_int(&w, NULL, f->part_times[i / 2][i % 2]);
            ll_json_close(&w, ']');
        }
    }
    put_names(&w, "known", f->known, f->n_known);
    put_names(&w, "static", f->statics, f->n_statics);
    put_names(&w, "levels", f->levels, f->n_levels);
    ll_json_open(&w, "anchors", '[');
    for (int64_t i = 0; i < ll_model_n_anchors(m); i++) ll_anchor_write(&w, m->anchor[i]);
    ll_json_close(&w, ']');
    if (m->network != NULL) ll_network_write_config(&w, m->network);
    if (m->stack != NULL) ll_stack_write(&w, m->stack);
    if (m->rival != NULL) ll_rival_write(&w, m->rival);
    if (m->filling != NULL) ll_fill_write(&w, m->filling);
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}

static llap_status names_text(const char *const *names, int64_t count, char **text)
{
    ll_json_writer w = { .indent = 0 };
    size_t         n;
    ll_json_open(&w, NULL, '[');
    for (int64_t i = 0; i < count; i++) ll_json_put_string(&w, NULL, names[i]);
    ll_json_close(&w, ']');
    return ll_json_finish(&w, text, &n);
}

llap_status ll_model_write_metadata(const llap_model *m, ll_tensors_writer *w)
{
    char       *config = NULL, *variables = NULL, *entities = NULL;
    llap_status st = config_text(m, &config);
    if (st == LLAP_OK) st = names_text(m->frame.target, m->frame.n_targets, &variables);
    if (st == LLAP_OK) st = names_text(m->frame.entity, m->frame.n_entities, &entities);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.format", LL_MODEL_FORMAT);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.config", config);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.variables", variables);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.entities", entities);
    if (st == LLAP_OK && m->training != NULL)
        st = ll_tensors_writer_metadata(w, "llapdiff.training", m->training);
    if (st == LLAP_OK && m->run[0] != '\0')
        st = ll_tensors_writer_metadata(w, LL_MODEL_RUN_KEY, m->run);
    ll_free(config);
    ll_free(variables);
    ll_free(entities);
    return st;
}

llap_status llap_model_can_save(const char *path)
{
    return ll_file_can_write(ll_file_or_stdout(path));
}

/* Gives the tensors of a model to put. */
static llap_status write_model(const llap_model *m,
                               llap_status (*put)(ll_tensors_writer *w, void *user), void *user)
{
    ll_tensors_writer *w = NULL;
    llap_status        st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_model_write_metadata(m, w);
    for (int64_t i = 0; st == LLAP_OK && i < ll_model_n_anchors(m); i++)
        st = ll_anchor_save(m->anchor[i], i, w);
    if (st == LLAP_OK) st = ll_joint_save(m->joint, w);
    if (st == LLAP_OK && m->network != NULL) st = ll_network_save(m->network, w);
    if (st == LLAP_OK && m->rival != NULL) st = ll_rival_save(m->rival, w);
    ll_stack_tensors kept = { 0 };
    ll_fill_tensors  filled = { 0 };
    if (st == LLAP_OK && m->stack != NULL) st = ll_stack_save(m->stack, &m->frame, &kept, w);
    if (st == LLAP_OK && m->filling != NULL) st = ll_fill_save(m->filling, &filled, w);
    if (st == LLAP_OK) st = put(w, user);
    ll_tensors_writer_destroy(w);
    ll_stack_tensors_deinit(&kept);
    ll_fill_tensors_deinit(&filled);
    return st;
}

static llap_status put_file(ll_tensors_writer *w, void *path)
{
    return ll_tensors_writer_save(w, ll_file_or_stdout(path));
}

llap_status llap_model_save(const llap_model *m, const char *path)
{
    return write_model(m, put_file, (void *)(uintptr_t)path);
}

typedef struct block {
    char  *bytes;
    size_t n;
} block;

static llap_status put_memory(ll_tensors_writer *w, void *user)
{
    block         *to = user;
    ll_memory_file m;
    llap_status    st = ll_memory_file_open(&m);
    if (st == LLAP_OK) st = ll_tensors_writer_write(w, m.stream);
    return ll_memory_file_close(&m, st, &to->bytes, &to->n);
}

llap_status llap_model_save_memory(const llap_model *m, char **bytes, size_t *n)
{
    block             to = { 0 };
    const llap_status st = write_model(m, put_memory, &to);
    *bytes = to.bytes;
    *n = st == LLAP_OK ? to.n : 0;
    return st;
}
