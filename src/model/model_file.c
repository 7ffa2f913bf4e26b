/* Saving and loading, the format of model.h. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "model/model_parts.h"

#include <stdio.h>
#include <string.h>

#define FORMAT "1"

static const char run_key[] = "llapdiff.run";

static const char *const axis_names[] = { "calendar", "number", NULL };
#define SIZE_ANCHOR "anchor" /* without networks; else llap_size_names */

/* ---- saving ---- */

static int64_t n_anchors(const llap_model *m) { return m->anchor == NULL ? 0 : m->frame.n_targets; }

static llap_status config_text(const llap_model *m, char **text)
{
    const llap_model_frame *f = &m->frame;
    llap_json_writer        w = { .indent = 0 };
    size_t                  n;
    llap_json_open(&w, NULL, '{');
    llap_json_put_string(
        &w, "size", m->network == NULL ? SIZE_ANCHOR : llap_size_names[m->network->config.size]);
    llap_json_put_string(&w, "axis", axis_names[f->axis]);
    llap_json_put_int(&w, "axis_unit", f->axis_unit);
    llap_json_put_int(&w, "unit", f->unit);
    llap_json_put_int(&w, "context", f->context);
    llap_json_put_int(&w, "horizon", f->horizon);
    llap_json_put_int(&w, "step", f->step);
    llap_json_put_int(&w, "gap", f->gap);
    llap_json_put_double(&w, "observed", f->observed);
    if (f->by_entity) {
        llap_json_open(&w, "parts", '(');
        for (int64_t i = 0; i < f->n_entities; i++) llap_json_put_int(&w, NULL, f->part[i]);
        llap_json_close(&w, ']');
    } else {
        llap_json_put_int(&w, "val_start", f->val_start);
        llap_json_put_int(&w, "test_start", f->test_start);
    }
    llap_json_open(&w, "anchors", '[');
    for (int64_t i = 0; i < n_anchors(m); i++) llap_anchor_write(&w, m->anchor[i]);
    llap_json_close(&w, ']');
    if (m->network != NULL) llap_network_write_config(&w, m->network);
    llap_json_close(&w, '}');
    return llap_json_finish(&w, text, &n);
}

static llap_status names_text(const char *const *names, int64_t count, char **text)
{
    llap_json_writer w = { .indent = 0 };
    size_t           n;
    llap_json_open(&w, NULL, '[');
    for (int64_t i = 0; i < count; i++) llap_json_put_string(&w, NULL, names[i]);
    llap_json_close(&w, ']');
    return llap_json_finish(&w, text, &n);
}

llap_status llap_model_write_metadata(const llap_model *m, llap_tensors_writer *w)
{
    char       *config = NULL, *variables = NULL, *entities = NULL;
    llap_status st = config_text(m, &config);
    if (st == LLAP_OK) st = names_text(m->frame.target, m->frame.n_targets, &variables);
    if (st == LLAP_OK) st = names_text(m->frame.entity, m->frame.n_entities, &entities);
    if (st == LLAP_OK) st = llap_tensors_writer_metadata(w, "llapdiff.format", FORMAT);
    if (st == LLAP_OK) st = llap_tensors_writer_metadata(w, "llapdiff.config", config);
    if (st == LLAP_OK) st = llap_tensors_writer_metadata(w, "llapdiff.variables", variables);
    if (st == LLAP_OK) st = llap_tensors_writer_metadata(w, "llapdiff.entities", entities);
    if (st == LLAP_OK && m->training != NULL)
        st = llap_tensors_writer_metadata(w, "llapdiff.training", m->training);
    if (st == LLAP_OK && m->run[0] != '\0') st = llap_tensors_writer_metadata(w, run_key, m->run);
    llap_free(config);
    llap_free(variables);
    llap_free(entities);
    return st;
}

llap_status llap_model_can_save(const char *path)
{
    return llap_file_can_write(llap_file_or_stdout(path));
}

llap_status llap_model_save(const llap_model *m, const char *path)
{
    llap_tensors_writer *w = NULL;
    llap_status          st = llap_tensors_writer_create(&w);
    if (st == LLAP_OK) st = llap_model_write_metadata(m, w);
    for (int64_t i = 0; st == LLAP_OK && i < n_anchors(m); i++)
        st = llap_anchor_save(m->anchor[i], i, w);
    if (st == LLAP_OK && m->network != NULL) st = llap_network_save(m->network, w);
    if (st == LLAP_OK) st = llap_tensors_writer_save(w, llap_file_or_stdout(path));
    llap_tensors_writer_destroy(w);
    return st;
}

/* ---- loading ---- */

/* "anchor" without networks, else what the networks say. */
static llap_status check_size(const llap_json *j)
{
    const char *size = NULL, *expected = SIZE_ANCHOR;
    const bool  network = llap_json_has(j, "network");
    llap_status st = llap_json_string(j, "size", &size);
    if (st == LLAP_OK && network) st = llap_json_need(j, "network.size");
    if (st == LLAP_OK && network) st = llap_json_string(j, "network.size", &expected);
    if (st == LLAP_OK && strcmp(size, expected) != 0)
        st = llap_fail(LLAP_EFORMAT, "config: 'size': expected \"%s\"%s, found \"%s\"", expected,
                       network ? " as the networks have" : ", there are no networks", size);
    return st;
}

static llap_status get_frame(const llap_json *j, llap_model_frame *f)
{
    /* By time both borders are there, by entity the parts. */
    enum { PARTS = 10, NETWORK = PARTS + 3 }; /* the two borders between them */
    static const char *const keys[] = { "size",    "axis",      "axis_unit",  "unit",     "context",
                                        "horizon", "step",      "gap",        "observed", "anchors",
                                        "parts",   "val_start", "test_start", "network",  NULL };
    int                      axis = -1;
    llap_status              st = llap_json_keys(j, "", keys);
    f->by_entity = llap_json_has(j, "parts");
    for (int i = 0; st == LLAP_OK && i < NETWORK; i++) {
        const bool borders = i > PARTS;
        if (i != PARTS && !(borders && f->by_entity)) st = llap_json_need(j, keys[i]);
        if (st == LLAP_OK && borders && f->by_entity && llap_json_has(j, keys[i]))
            st = llap_fail(LLAP_EFORMAT, "config: both 'parts' and '%s'", keys[i]);
    }
    if (st == LLAP_OK) st = llap_json_int(j, "val_start", INT64_MIN, INT64_MAX, &f->val_start);
    if (st == LLAP_OK) st = llap_json_int(j, "test_start", INT64_MIN, INT64_MAX, &f->test_start);
    if (st == LLAP_OK) st = check_size(j);
    if (st == LLAP_OK) st = llap_json_enum(j, "axis", axis_names, &axis);
    if (st == LLAP_OK) st = llap_json_int(j, "axis_unit", 1, INT64_MAX, &f->axis_unit);
    if (st == LLAP_OK) st = llap_json_int(j, "unit", 1, INT64_MAX, &f->unit);
    if (st == LLAP_OK) st = llap_json_int(j, "context", 1, INT64_MAX, &f->context);
    if (st == LLAP_OK) st = llap_json_int(j, "horizon", 1, INT64_MAX, &f->horizon);
    if (st == LLAP_OK) st = llap_json_int(j, "step", 1, INT64_MAX, &f->step);
    if (st == LLAP_OK) st = llap_json_int(j, "gap", 0, INT64_MAX, &f->gap);
    if (st == LLAP_OK) st = llap_json_double(j, "observed", 0, 1, &f->observed);
    f->axis = (llap_axis_kind)axis;
    return st;
}

/* Caller owns *out. */
static llap_status get_parts(const llap_json *j, size_t n_entities, uint8_t **out)
{
    int64_t    *v = NULL;
    size_t      n = 0;
    llap_status st = llap_json_ints(j, "parts", 0, LLAP_PART_PURGED, &v, &n);
    if (st == LLAP_OK && n != n_entities)
        st = llap_fail(LLAP_EFORMAT, "config: 'parts': expected %zu numbers, found %zu", n_entities,
                       n);
    if (st == LLAP_OK && (*out = llap_new(n, 1)) == NULL) st = LLAP_ENOMEM;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) (*out)[i] = (uint8_t)v[i];
    llap_free(v);
    return st;
}

/* Metadata as a JSON document; caller owns *out. */
static llap_status get_json(const llap_tensors *t, const char *key, llap_json **out)
{
    const char *text = llap_tensors_metadata(t, key);
    if (text == NULL)
        return llap_fail(LLAP_EFORMAT, "metadata '%s' is missing: not a llapdiff model", key);
    return llap_json_parse(text, strlen(text), key, NULL, out);
}

/* Networks fit what they are asked about. */
llap_status llap_model_check_network(const llap_model *m)
{
    const llap_network_config *c = &m->network->config;
    if (c->n_targets != m->frame.n_targets)
        return llap_fail(LLAP_EFORMAT, "config: 'network.targets': expected %lld, found %lld",
                         (long long)m->frame.n_targets, (long long)c->n_targets);
    if (c->n_entities != m->frame.n_entities)
        return llap_fail(LLAP_EFORMAT, "config: 'network.entities': expected %lld, found %lld",
                         (long long)m->frame.n_entities, (long long)c->n_entities);
    const bool anchored = c->profile == LLAP_PROFILE_DEFAULT;
    if (anchored != (m->anchor != NULL))
        return llap_fail(LLAP_EFORMAT, "config: 'anchors': the %s profile has %s",
                         llap_profile_names[c->profile], anchored ? "one per target" : "none");
    return LLAP_OK;
}

/* The networks, from all tensors but the anchors'; *n becomes the number of theirs. */
static llap_status get_network(const llap_tensors *t, const llap_json *config, llap_model *m,
                               size_t *n)
{
    static const char *const of[] = { "scale", "anchor" };
    llap_arena               names = { 0 };
    const size_t             count = 2 * (size_t)n_anchors(m);
    const char             **ignore = llap_arena_new(&names, count + 1, sizeof *ignore);
    llap_status              st = ignore == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < count; i++)
        if ((ignore[i] = llap_arena_printf(&names, "%s.%zu.", of[i % 2], i / 2)) == NULL)
            st = LLAP_ENOMEM;
    if (st == LLAP_OK)
        st = llap_network_load(t, config, (const char *const *)ignore, &m->network, n);
    llap_arena_deinit(&names);
    return st == LLAP_OK ? llap_model_check_network(m) : st;
}

/* Whatever is not part of the model must not be in its file. */
static llap_status check_count(const llap_tensors *t, const llap_model *m, size_t n)
{
    for (int64_t i = 0; i < n_anchors(m); i++) n += llap_anchor_tensors(m->anchor[i]);
    if (llap_tensors_count(t) == n) return LLAP_OK;
    return llap_fail(LLAP_EFORMAT, "expected %zu tensors, found %zu", n, llap_tensors_count(t));
}

static llap_status read_model(const llap_tensors *t, const llap_json *config, const char **target,
                              size_t n_targets, const char **entity, size_t n_entities,
                              llap_model **out)
{
    llap_model_frame f = { .n_targets = (int64_t)n_targets,
                           .n_entities = (int64_t)n_entities,
                           .target = (const char *const *)target,
                           .entity = (const char *const *)entity };
    llap_status      st = get_frame(config, &f);
    const size_t     found = llap_json_length(config, "anchors");
    const bool       none = found == 0 && llap_json_has(config, "network");
    if (st == LLAP_OK && (n_targets == 0 || (found != n_targets && !none)))
        st = llap_fail(LLAP_EFORMAT, "expected an anchor for each of %zu variables, found %zu",
                       n_targets, found);
    for (size_t i = 1; st == LLAP_OK && i < n_entities; i++)
        if (strcmp(entity[i - 1], entity[i]) >= 0)
            st = llap_fail(LLAP_EFORMAT, "llapdiff.entities: '%s' is out of order", entity[i]);
    for (size_t i = 1; st == LLAP_OK && i < n_targets; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(target[i], target[k]) == 0)
                st = llap_fail(LLAP_EFORMAT, "llapdiff.variables: '%s' is there twice", target[i]);
    uint8_t *part = NULL;
    if (st == LLAP_OK && f.by_entity) st = get_parts(config, n_entities, &part);
    f.part = part;
    llap_anchor_model **anchor =
        st == LLAP_OK && !none ? llap_new(n_targets, sizeof *anchor) : NULL;
    if (st == LLAP_OK && !none && anchor == NULL) st = LLAP_ENOMEM;
    for (size_t i = 0; st == LLAP_OK && !none && i < n_targets; i++)
        st = llap_anchor_load(t, config, (int64_t)i, &f, &anchor[i]);
    if (st == LLAP_OK) {
        st = llap_model_create(&f, anchor, out);
    } else if (anchor != NULL) {
        for (size_t i = 0; i < n_targets; i++) llap_anchor_model_destroy(anchor[i]);
        llap_free(anchor);
    }
    llap_free(part);
    return st;
}

static llap_status check_format(const llap_tensors *t)
{
    const char *format = llap_tensors_metadata(t, "llapdiff.format");
    if (format == NULL)
        return llap_fail(LLAP_EFORMAT,
                         "metadata 'llapdiff.format' is missing: not a llapdiff model");
    if (strcmp(format, FORMAT) == 0) return LLAP_OK;
    return llap_fail(LLAP_EUNSUPPORTED, "format '%s': this version reads format %s", format,
                     FORMAT);
}

/* Text for others to read, but it must be JSON. */
static llap_status get_training(const llap_tensors *t, llap_model *m)
{
    llap_json *j = NULL;
    if (llap_tensors_metadata(t, "llapdiff.training") == NULL) return LLAP_OK;
    const llap_status st = get_json(t, "llapdiff.training", &j);
    llap_json_destroy(j);
    if (st != LLAP_OK) return st;
    const char *text = llap_tensors_metadata(t, "llapdiff.training");
    m->training = llap_strndup(text, strlen(text));
    return m->training == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status get_run(const llap_tensors *t, llap_model *m)
{
    const char *text = llap_tensors_metadata(t, run_key);
    if (text == NULL) return LLAP_OK;
    if (strlen(text) != LLAP_MODEL_RUN || strspn(text, "0123456789abcdef") != LLAP_MODEL_RUN)
        return llap_fail(LLAP_EFORMAT, "metadata '%s': expected %d hexadecimal digits, found '%s'",
                         run_key, LLAP_MODEL_RUN, llap_text_show(text).text);
    memcpy(m->run, text, sizeof m->run);
    return LLAP_OK;
}

llap_status llap_model_read(const llap_tensors *t, llap_json **config, llap_model **out)
{
    llap_json   *variables = NULL, *entities = NULL;
    const char **target = NULL, **entity = NULL;
    size_t       n_targets = 0, n_entities = 0;
    *config = NULL;
    llap_status st = check_format(t);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.config", config);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.variables", &variables);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.entities", &entities);
    if (st == LLAP_OK) st = llap_json_strings(variables, "", &target, &n_targets);
    if (st == LLAP_OK) st = llap_json_strings(entities, "", &entity, &n_entities);
    if (st == LLAP_OK) st = read_model(t, *config, target, n_targets, entity, n_entities, out);
    if (st == LLAP_OK) st = get_training(t, *out);
    if (st == LLAP_OK) st = get_run(t, *out);
    llap_free((void *)target);
    llap_free((void *)entity);
    llap_json_destroy(variables);
    llap_json_destroy(entities);
    return st;
}

static llap_status load_checked(const llap_tensors *t, llap_model **out)
{
    llap_json  *config = NULL;
    size_t      n_network = 0;
    llap_status st = llap_model_read(t, &config, out);
    if (st == LLAP_OK && llap_json_has(config, "network"))
        st = get_network(t, config, *out, &n_network);
    if (st == LLAP_OK) st = check_count(t, *out, n_network);
    llap_json_destroy(config);
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* bytes: what came through standard input, the caller's (llap_free); of a file NULL. */
static llap_status open_tensors(const char *path, char **bytes, size_t *n, llap_tensors **out)
{
    *bytes = NULL;
    *n = 0;
    if (strcmp(path, "-") != 0) return llap_tensors_open(path, out);
    const llap_status st = llap_file_read("/dev/stdin", SIZE_MAX, bytes, n);
    return st == LLAP_OK ? llap_tensors_view(*bytes, *n, "standard input", out) : st;
}

/* People give a CSV for the model: the length that its first bytes would mean says little. */
static bool starts_as_text(const char *path, const char *bytes, size_t n_bytes)
{
    char   first[8];
    size_t n = n_bytes < sizeof first ? n_bytes : sizeof first;
    FILE  *f = bytes == NULL ? fopen(path, "rbe") : NULL;
    if (n > 0) memcpy(first, bytes, n);
    if (f != NULL) {
        n = fread(first, 1, sizeof first, f);
        fclose(f);
    }
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)first[i] < ' ' && memchr("\t\r\n", first[i], 3) == NULL) return false;
    return n > 0;
}

llap_status llap_model_load(const char *path, llap_model **out)
{
    *out = NULL;
    llap_tensors *t = NULL;
    char         *bytes;
    size_t        n_bytes;
    llap_status   st = open_tensors(path, &bytes, &n_bytes, &t);
    if (st == LLAP_EFORMAT && starts_as_text(path, bytes, n_bytes))
        st = llap_fail(st, "%s: is text, expected a model file as training makes them", path);
    else if (st == LLAP_EFORMAT) st = llap_fail(st, "%s: not a model file?", llap_error_detail());
    else if (st == LLAP_OK) {
        st = load_checked(t, out);
        if (st != LLAP_OK) st = llap_fail_in(st, "%s", path);
    }
    llap_tensors_close(t);
    llap_free(bytes);
    return st;
}
