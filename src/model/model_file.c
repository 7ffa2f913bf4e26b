/* Loading, the format of model.h; model_save.c saves. */
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

/* "anchor" without networks, "stack" with one, whatever draws beside it, else what the networks
 * say.
 */
static llap_status check_size(const ll_json *j)
{
    const char *size = NULL, *expected = LL_MODEL_SIZE_ANCHOR;
    const bool  stack = ll_json_has(j, "stack"), rival = ll_json_has(j, "rival");
    const bool  network = ll_json_has(j, "network") && !stack;
    if (stack) expected = LL_MODEL_SIZE_STACK;
    if (rival) expected = LL_MODEL_SIZE_RIVAL;
    llap_status st = ll_json_string(j, "size", &size);
    if (st == LLAP_OK && rival)
        for (int i = 0; i < 3 && st == LLAP_OK; i++) {
            static const char *const others[] = { "network", "stack", "filling" };
            if (ll_json_has(j, others[i]))
                st = ll_fail(LLAP_EFORMAT, "config: both 'rival' and '%s'", others[i]);
        }
    if (st == LLAP_OK && network) st = ll_json_need(j, "network.size");
    if (st == LLAP_OK && network) st = ll_json_string(j, "network.size", &expected);
    if (st == LLAP_OK && strcmp(size, expected) != 0)
        st = ll_fail(LLAP_EFORMAT, "config: 'size': expected \"%s\"%s, found \"%s\"", expected,
                     network ? " as the networks have"
                     : rival ? " as there is a rival"
                     : stack ? " as there is a stack"
                             : ", there are no networks",
                     size);
    return st;
}

/* First and last times of the parts, where the file has them. */
static llap_status get_times(const ll_json *j, ll_model_frame *f)
{
    int64_t *v = NULL;
    size_t   n = 0;
    if (f->by_entity || !ll_json_has(j, "part_times")) return LLAP_OK;
    llap_status st = ll_json_ints(j, "part_times", INT64_MIN, INT64_MAX, &v, &n);
    if (st == LLAP_OK && n != 6)
        st = ll_fail(LLAP_EFORMAT, "config: 'part_times': expected 6 numbers, found %zu", n);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) f->part_times[i / 2][i % 2] = v[i];
    f->has_times = st == LLAP_OK;
    ll_free(v);
    return st;
}

static llap_status get_frame(const ll_json *j, ll_model_frame *f)
{
    /* By time both borders are there, by entity the parts. */
    enum { PARTS = 10, NETWORK = PARTS + 3 }; /* the two borders between them */
    static const char *const keys[] = {
        "size",     "axis",    "axis_unit",  "unit",      "context",    "horizon", "step",  "gap",
        "observed", "anchors", "parts",      "val_start", "test_start", "network", "stack", "known",
        "static",   "filling", "part_times", "levels",    "rival",      NULL
    };
    int         axis = -1;
    llap_status st = ll_json_keys(j, "", keys);
    f->by_entity = ll_json_has(j, "parts");
    for (int i = 0; st == LLAP_OK && i < NETWORK; i++) {
        const bool borders = i > PARTS;
        if (i != PARTS && !(borders && f->by_entity)) st = ll_json_need(j, keys[i]);
        if (st == LLAP_OK && borders && f->by_entity && ll_json_has(j, keys[i]))
            st = ll_fail(LLAP_EFORMAT, "config: both 'parts' and '%s'", keys[i]);
    }
    if (st == LLAP_OK) st = ll_json_int(j, "val_start", INT64_MIN, INT64_MAX, &f->val_start);
    if (st == LLAP_OK) st = ll_json_int(j, "test_start", INT64_MIN, INT64_MAX, &f->test_start);
    if (st == LLAP_OK) st = get_times(j, f);
    if (st == LLAP_OK) st = check_size(j);
    if (st == LLAP_OK) st = ll_json_enum(j, "axis", ll_model_axis_names, &axis);
    if (st == LLAP_OK) st = ll_json_int(j, "axis_unit", 1, INT64_MAX, &f->axis_unit);
    if (st == LLAP_OK) st = ll_json_int(j, "unit", 1, INT64_MAX, &f->unit);
    if (st == LLAP_OK) st = ll_json_int(j, "context", 1, INT64_MAX, &f->context);
    if (st == LLAP_OK) st = ll_json_int(j, "horizon", 1, INT64_MAX, &f->horizon);
    if (st == LLAP_OK) st = ll_json_int(j, "step", 1, INT64_MAX, &f->step);
    if (st == LLAP_OK) st = ll_json_int(j, "gap", 0, INT64_MAX, &f->gap);
    if (st == LLAP_OK) st = ll_json_double(j, "observed", 0, 1, &f->observed);
    f->axis = (ll_axis_kind)axis;
    return st;
}

/* Caller owns *out. */
static llap_status get_parts(const ll_json *j, size_t n_entities, uint8_t **out)
{
    int64_t    *v = NULL;
    size_t      n = 0;
    llap_status st = ll_json_ints(j, "parts", 0, LL_PART_PURGED, &v, &n);
    if (st == LLAP_OK && n != n_entities)
        st = ll_fail(LLAP_EFORMAT, "config: 'parts': expected %zu numbers, found %zu", n_entities,
                     n);
    if (st == LLAP_OK && (*out = ll_new(n, 1)) == NULL) st = LLAP_ENOMEM;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) (*out)[i] = (uint8_t)v[i];
    ll_free(v);
    return st;
}

/* Metadata as a JSON document; caller owns *out. */
static llap_status get_json(const ll_tensors *t, const char *key, ll_json **out)
{
    const char *text = ll_tensors_metadata(t, key);
    if (text == NULL)
        return ll_fail(LLAP_EFORMAT, "metadata '%s' is missing: not a llapdiff model", key);
    return ll_json_parse(text, strlen(text), key, NULL, out);
}

/* Networks fit what they are asked about. */
llap_status ll_model_check_network(const llap_model *m)
{
    const ll_network_config *c = &m->network->config;
    if (c->n_targets != m->frame.n_targets)
        return ll_fail(LLAP_EFORMAT, "config: 'network.targets': expected %lld, found %lld",
                       (long long)m->frame.n_targets, (long long)c->n_targets);
    if (c->n_entities != m->frame.n_entities)
        return ll_fail(LLAP_EFORMAT, "config: 'network.entities': expected %lld, found %lld",
                       (long long)m->frame.n_entities, (long long)c->n_entities);
    const bool anchored = c->profile == LL_PROFILE_DEFAULT;
    if (anchored != (m->anchor != NULL))
        return ll_fail(LLAP_EFORMAT, "config: 'anchors': the %s profile has %s",
                       ll_profile_names[c->profile], anchored ? "one per target" : "none");
    return LLAP_OK;
}

/* The networks, from all tensors but the anchors', the stack's and the filling's; *n becomes the
 * number of theirs. */
static llap_status get_network(const ll_tensors *t, const ll_json *config, llap_model *m, size_t *n)
{
    static const char *const of[] = { "scale", "anchor" };
    ll_arena                 names = { 0 };
    const size_t             count = 2 * (size_t)ll_model_n_anchors(m);
    const char             **ignore = ll_arena_new(&names, count + 4, sizeof *ignore);
    llap_status              st = ignore == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < count; i++)
        if ((ignore[i] = ll_arena_printf(&names, "%s.%zu.", of[i % 2], i / 2)) == NULL)
            st = LLAP_ENOMEM;
    if (st == LLAP_OK) {
        ignore[count] = LL_JOINT_TENSORS;
        ignore[count + 1] = LL_STACK_TENSORS;
        ignore[count + 2] = LL_FILL_TENSORS;
    }
    if (st == LLAP_OK) st = ll_network_load(t, config, (const char *const *)ignore, &m->network, n);
    ll_arena_deinit(&names);
    return st == LLAP_OK ? ll_model_check_network(m) : st;
}

/* A stack has the static inputs that an anchor describes, all of them or none. */
static llap_status check_stack(const ll_json *config, const llap_model *m)
{
    const ll_statics *s = ll_model_statics(m);
    const int64_t     terms = s == NULL ? 0 : s->n_terms;
    const bool        draws = ll_stack_diffuses(&m->stack->diffusion);
    if (draws != (m->network != NULL))
        return ll_json_fail(config, "stack", "it has %s that draw, and the model has %s",
                            draws ? "networks" : "no networks", draws ? "none" : "some");
    if (m->stack->layout.statics == 0 || m->stack->layout.statics == terms) return LLAP_OK;
    return ll_json_fail(config, "stack.statics", "expected 0 or %lld, found %lld", (long long)terms,
                        (long long)m->stack->layout.statics);
}

/* Whatever is not part of the model must not be in its file. */
static llap_status check_count(const ll_tensors *t, const llap_model *m, size_t n)
{
    for (int64_t i = 0; i < ll_model_n_anchors(m); i++) n += ll_anchor_tensors(m->anchor[i]);
    n += m->joint != NULL;
    if (ll_tensors_count(t) == n) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "expected %zu tensors, found %zu", n, ll_tensors_count(t));
}

/* A list of names, each once; absent: none. Caller owns *names. */
static llap_status get_names(const ll_json *j, const char *key, size_t most, const char ***names,
                             int64_t *out)
{
    size_t n = 0;
    *names = NULL;
    if (!ll_json_has(j, key)) return LLAP_OK;
    llap_status st = ll_json_strings(j, key, names, &n);
    if (st == LLAP_OK && (n < 1 || n > most))
        st =
            ll_fail(LLAP_EFORMAT, "config: '%s': expected 1 to %zu names, found %zu", key, most, n);
    for (size_t i = 1; st == LLAP_OK && i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp((*names)[i], (*names)[k]) == 0)
                st = ll_fail(LLAP_EFORMAT, "config: '%s': '%s' is there twice", key, (*names)[i]);
    *out = (int64_t)n;
    return st;
}

static llap_status read_model(const ll_tensors *t, const ll_json *config, const char **target,
                              size_t n_targets, const char **entity, size_t n_entities,
                              llap_model **out)
{
    ll_model_frame f = { .n_targets = (int64_t)n_targets,
                         .n_entities = (int64_t)n_entities,
                         .target = (const char *const *)target,
                         .entity = (const char *const *)entity };
    llap_status    st = get_frame(config, &f);
    const size_t   found = ll_json_length(config, "anchors");
    const bool     rival = ll_json_has(config, "rival");
    const bool     none = found == 0 && (rival || ll_json_has(config, "network"));
    if (st == LLAP_OK && rival && found > 0)
        st = ll_fail(LLAP_EFORMAT, "config: 'rival': it has no anchors, found %zu", found);
    if (st == LLAP_OK && (n_targets == 0 || (found != n_targets && !none)))
        st = ll_fail(LLAP_EFORMAT, "expected an anchor for each of %zu variables, found %zu",
                     n_targets, found);
    for (size_t i = 1; st == LLAP_OK && i < n_entities; i++)
        if (strcmp(entity[i - 1], entity[i]) >= 0)
            st = ll_fail(LLAP_EFORMAT, "llapdiff.entities: '%s' is out of order", entity[i]);
    for (size_t i = 1; st == LLAP_OK && i < n_targets; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(target[i], target[k]) == 0)
                st = ll_fail(LLAP_EFORMAT, "llapdiff.variables: '%s' is there twice", target[i]);
    uint8_t     *part = NULL;
    const char **known = NULL, **statics = NULL, **levels = NULL;
    if (st == LLAP_OK) st = get_names(config, "known", LL_KNOWN_COLUMNS, &known, &f.n_known);
    if (st == LLAP_OK) st = get_names(config, "static", LL_STATIC_COLUMNS, &statics, &f.n_statics);
    if (st == LLAP_OK) st = get_names(config, "levels", LL_MODEL_LEVELS, &levels, &f.n_levels);
    f.levels = (const char *const *)levels;
    f.known = (const char *const *)known;
    f.statics = (const char *const *)statics;
    if (st == LLAP_OK && f.by_entity) st = get_parts(config, n_entities, &part);
    f.part = part;
    ll_anchor_model **anchor = st == LLAP_OK && !none ? ll_new(n_targets, sizeof *anchor) : NULL;
    if (st == LLAP_OK && !none && anchor == NULL) st = LLAP_ENOMEM;
    for (size_t i = 0; st == LLAP_OK && !none && i < n_targets; i++)
        st = ll_anchor_load(t, config, (int64_t)i, &f, &anchor[i]);
    if (st == LLAP_OK) {
        st = ll_model_create(&f, anchor, out);
    } else if (anchor != NULL) {
        for (size_t i = 0; i < n_targets; i++) ll_anchor_model_destroy(anchor[i]);
        ll_free(anchor);
    }
    ll_free(part);
    ll_free((void *)known);
    ll_free((void *)statics);
    ll_free((void *)levels);
    return st;
}

static llap_status check_format(const ll_tensors *t)
{
    const char *format = ll_tensors_metadata(t, "llapdiff.format");
    if (format == NULL)
        return ll_fail(LLAP_EFORMAT, "metadata 'llapdiff.format' is missing: not a llapdiff model");
    if (strcmp(format, LL_MODEL_FORMAT) == 0) return LLAP_OK;
    return ll_fail(LLAP_EUNSUPPORTED, "format '%s': this version reads format %s", format,
                   LL_MODEL_FORMAT);
}

/* Text for others to read, but it must be JSON. */
static llap_status get_training(const ll_tensors *t, llap_model *m)
{
    ll_json *j = NULL;
    if (ll_tensors_metadata(t, "llapdiff.training") == NULL) return LLAP_OK;
    const llap_status st = get_json(t, "llapdiff.training", &j);
    ll_json_destroy(j);
    if (st != LLAP_OK) return st;
    const char *text = ll_tensors_metadata(t, "llapdiff.training");
    m->training = ll_strndup(text, strlen(text));
    return m->training == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status get_run(const ll_tensors *t, llap_model *m)
{
    const char *text = ll_tensors_metadata(t, LL_MODEL_RUN_KEY);
    if (text == NULL) return LLAP_OK;
    if (strlen(text) != LL_MODEL_RUN || strspn(text, "0123456789abcdef") != LL_MODEL_RUN)
        return ll_fail(LLAP_EFORMAT, "metadata '%s': expected %d hexadecimal digits, found '%s'",
                       LL_MODEL_RUN_KEY, LL_MODEL_RUN, ll_text_show(text).text);
    memcpy(m->run, text, sizeof m->run);
    return LLAP_OK;
}

llap_status ll_model_read(const ll_tensors *t, ll_json **config, llap_model **out)
{
    ll_json     *variables = NULL, *entities = NULL;
    const char **target = NULL, **entity = NULL;
    size_t       n_targets = 0, n_entities = 0;
    *config = NULL;
    llap_status st = check_format(t);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.config", config);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.variables", &variables);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.entities", &entities);
    if (st == LLAP_OK) st = ll_json_strings(variables, "", &target, &n_targets);
    if (st == LLAP_OK) st = ll_json_strings(entities, "", &entity, &n_entities);
    if (st == LLAP_OK) st = read_model(t, *config, target, n_targets, entity, n_entities, out);
    if (st == LLAP_OK) st = get_training(t, *out);
    if (st == LLAP_OK) st = get_run(t, *out);
    ll_free((void *)target);
    ll_free((void *)entity);
    ll_json_destroy(variables);
    ll_json_destroy(entities);
    return st;
}

static llap_status load_checked(const ll_tensors *t, llap_model **out)
{
    ll_json    *config = NULL;
    size_t      n_network = 0;
    llap_status st = ll_model_read(t, &config, out);
    if (st == LLAP_OK && (*out)->anchor != NULL) st = ll_joint_load(t, *out);
    if (st == LLAP_OK && ll_json_has(config, "network"))
        st = get_network(t, config, *out, &n_network);
    if (st == LLAP_OK && ll_json_has(config, "rival"))
        st = ll_rival_load(t, config, (*out)->frame.n_targets, (*out)->frame.n_entities,
                           &(*out)->rival, &n_network);
    if (st == LLAP_OK && ll_json_has(config, "stack"))
        st = ll_stack_load(t, config, &(*out)->frame, &(*out)->stack, &n_network);
    if (st == LLAP_OK && (*out)->stack != NULL) st = check_stack(config, *out);
    if (st == LLAP_OK && ll_json_has(config, "filling") && (*out)->anchor != NULL)
        st = ll_fill_load(t, config, &(*out)->frame, &(*out)->filling, &n_network);
    if (st == LLAP_OK) st = check_count(t, *out, n_network);
    ll_json_destroy(config);
    if (st != LLAP_OK) {
        llap_model_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* bytes: what came through standard input, the caller's (ll_free); of a file NULL. */
static llap_status open_tensors(const char *path, char **bytes, size_t *n, ll_tensors **out)
{
    *bytes = NULL;
    *n = 0;
    if (strcmp(path, "-") != 0) return ll_tensors_open(path, out);
    const llap_status st = ll_file_read("/dev/stdin", SIZE_MAX, bytes, n);
    return st == LLAP_OK ? ll_tensors_view(*bytes, *n, "standard input", out) : st;
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

llap_status llap_model_load_memory(const void *bytes, size_t n, llap_model **out)
{
    *out = NULL;
    ll_tensors *t = NULL;
    void       *aligned = ll_new(n, 1);
    llap_status st = aligned == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && n > 0) memcpy(aligned, bytes, n);
    if (st == LLAP_OK) st = ll_tensors_view(aligned, n, "memory", &t);
    if (st == LLAP_OK) st = load_checked(t, out);
    ll_tensors_close(t);
    ll_free(aligned);
    return st;
}

llap_status llap_model_load(const char *path, llap_model **out)
{
    *out = NULL;
    ll_tensors *t = NULL;
    char       *bytes;
    size_t      n_bytes;
    llap_status st = open_tensors(path, &bytes, &n_bytes, &t);
    if (st == LLAP_EFORMAT && starts_as_text(path, bytes, n_bytes))
        st = ll_fail(st, "%s: is text, expected a model file as training makes them", path);
    else if (st == LLAP_EFORMAT) st = ll_fail(st, "%s: not a model file?", llap_error_detail());
    else if (st == LLAP_OK) {
        st = load_checked(t, out);
        if (st != LLAP_OK) st = ll_fail_in(st, "%s", path);
    }
    ll_tensors_close(t);
    ll_free(bytes);
    return st;
}
