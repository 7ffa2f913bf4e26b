/* Reading the file of a stream (stream_file.c has its format): hostile until it is read. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "stream/watching.h"

#include <math.h>
#include <string.h>

/* Metadata as a JSON document. Caller owns *out. */
static llap_status get_json(const ll_tensors *t, const char *key, ll_json **out)
{
    const char *text = ll_tensors_metadata(t, key);
    if (text == NULL)
        return ll_fail(LLAP_EFORMAT, "metadata '%s' is missing: not a stream of llapdiff", key);
    return ll_json_parse(text, strlen(text), key, NULL, out);
}

static llap_status check_of(const ll_tensors *t, const llap_model *m)
{
    char        hash[LL_STREAM_HASH + 1];
    const char *format = ll_tensors_metadata(t, "llapdiff.stream");
    const char *of = ll_tensors_metadata(t, "llapdiff.model");
    if (format == NULL || of == NULL)
        return ll_fail(LLAP_EFORMAT, "metadata '%s' is missing: not a stream of llapdiff",
                       format == NULL ? "llapdiff.stream" : "llapdiff.model");
    if (strcmp(format, LL_STREAM_FORMAT) != 0)
        return ll_fail(LLAP_EUNSUPPORTED, "stream format '%s': this version reads format %s",
                       ll_text_show(format).text, LL_STREAM_FORMAT);
    const llap_status st = ll_stream_model_hash(m, hash);
    if (st != LLAP_OK || strcmp(of, hash) == 0) return st;
    return ll_fail(LLAP_EFORMAT,
                   "the stream is of another model (%s, this one is %s): take its readings anew",
                   ll_text_show(of).text, hash);
}

static llap_status get_axis(const ll_json *j, const llap_model *m, ll_axis *a)
{
    static const char *const keys[] = { "kind", "zone", "format", "unit", "unit_ns", NULL };
    static const char *const kinds[] = { "calendar", "number", NULL };
    int                      kind = 0;
    llap_status              st = ll_json_keys(j, "axis", keys);
    *a = LL_AXIS_UTC;
    for (int i = 0; st == LLAP_OK && keys[i] != NULL; i++) {
        char path[32] = "axis.";
        st = ll_json_need(j, strcat(path, keys[i]));
    }
    if (st == LLAP_OK) st = ll_json_enum(j, "axis.kind", kinds, &kind);
    if (st == LLAP_OK) st = ll_json_string(j, "axis.zone", &a->zone);
    if (st == LLAP_OK) st = ll_json_string(j, "axis.format", &a->format);
    if (st == LLAP_OK) st = ll_json_string(j, "axis.unit", &a->unit);
    if (st == LLAP_OK) st = ll_json_int(j, "axis.unit_ns", 1, INT64_MAX, &a->unit_ns);
    if (st != LLAP_OK) return st;
    a->kind = kind == 0 ? LL_AXIS_CALENDAR : LL_AXIS_NUMBER;
    const bool fits = a->kind == m->frame.axis &&
                      (a->kind == LL_AXIS_CALENDAR || a->unit_ns == m->frame.axis_unit);
    return fits ? LLAP_OK : ll_json_fail(j, "axis", "not the kind of time that the model has");
}

static llap_status get_counts(const ll_json *j, llap_stream_counts *c)
{
    static const char *const keys[] = { "taken", "late", "dropped", "repeated", "cut", NULL };
    int64_t *const           to[] = { &c->taken, &c->late, &c->dropped, &c->repeated, &c->cut };
    llap_status              st = ll_json_keys(j, "counts", keys);
    for (int i = 0; st == LLAP_OK && keys[i] != NULL; i++) {
        char path[32] = "counts.";
        strcat(path, keys[i]);
        st = ll_json_need(j, path);
        if (st == LLAP_OK) st = ll_json_int(j, path, 0, INT64_MAX, to[i]);
    }
    return st;
}

/* An empty stream as the metadata says. */
static llap_status make(const llap_model *m, const ll_json *config, const ll_json *variables,
                        const llap_stream_opts *given, llap_stream **out)
{
    static const char *const keys[] = { "axis", "rows", "counts", NULL };
    llap_stream_opts         o = *given;
    const char             **var = NULL;
    size_t                   n = 0;
    ll_axis                  axis;
    llap_stream_counts       counts = { 0 };
    llap_status              st = ll_json_keys(config, "", keys);
    if (st == LLAP_OK) st = get_axis(config, m, &axis);
    if (st == LLAP_OK) st = ll_json_need(config, "rows");
    if (st == LLAP_OK) st = ll_json_int(config, "rows", 1, INT64_MAX, &o.rows);
    if (st == LLAP_OK) st = get_counts(config, &counts);
    if (st == LLAP_OK) st = ll_json_strings(variables, "", &var, &n);
    for (size_t i = 1; st == LLAP_OK && i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(var[i], var[k]) == 0)
                st = ll_fail(LLAP_EFORMAT, "llapdiff.variables: '%s' is there twice",
                             ll_text_show(var[i]).text);
    if (st == LLAP_OK) {
        st = ll_stream_make(m, &axis, (const char *const *)var, (int64_t)n, &o, out);
        if (st == LLAP_EINVAL) st = ll_fail_in(LLAP_EFORMAT, "llapdiff.variables");
    }
    if (st == LLAP_OK) (*out)->counts = counts;
    ll_free((void *)var);
    return st;
}

static llap_status add_entities(llap_stream *s, const ll_json *entities)
{
    const char **name = NULL;
    size_t       n = 0;
    llap_status  st = ll_json_strings(entities, "", &name, &n);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        int64_t at = -1;
        st = ll_stream_entity_of(s, name[i], strlen(name[i]), &at);
        if (st == LLAP_OK && at != (int64_t)i)
            st = ll_fail(LLAP_EFORMAT, "llapdiff.entities: '%s' is there twice",
                         ll_text_show(name[i]).text);
    }
    ll_free((void *)name);
    return st;
}

/* One entity's rows: increasing times, values that are finite or missing, no older than the span.
 */
static llap_status check_rows(const llap_stream *s, const ll_past *k, const int64_t *time,
                              const float *value, int64_t n)
{
    const int64_t V = s->shape.n_vars;
    for (int64_t r = 1; r < n; r++)
        if (time[r] <= time[r - 1])
            return ll_fail(LLAP_EFORMAT, "row.time: row %lld is not after the one before it",
                           (long long)r);
    for (int64_t i = 0; i < n * V; i++)
        if (isinf(value[i]))
            return ll_fail(LLAP_EFORMAT, "row.value: row %lld: expected a number or NaN",
                           (long long)(i / V));
    if (n > s->shape.most)
        return ll_fail(LLAP_EFORMAT, "entity.rows: expected at most %lld, found %lld",
                       (long long)s->shape.most, (long long)n);
    if (n > 0 && (!k->any || k->first > time[0]))
        return ll_fail(LLAP_EFORMAT, "entity.first: later than the first row that is kept");
    const bool old = n > 0 && k->begun && time[0] < k->newest &&
                     ll_elapsed(time[0], k->newest) > (uint64_t)s->shape.span;
    if (old) return ll_fail(LLAP_EFORMAT, "row.time: a row is older than what is kept");
    return LLAP_OK;
}

static llap_status fill_entity(llap_stream *s, int64_t i, const int64_t *time, const float *value,
                               int64_t n)
{
    ll_past      *k = &s->past[i];
    const ll_past told = *k;
    llap_status   st = check_rows(s, k, time, value, n);
    if (st == LLAP_OK) st = ll_past_reserve(k, &s->shape, n);
    k->any = k->begun = false; /* as rows come, and then as the file says */
    for (int64_t r = 0; st == LLAP_OK && r < n; r++) {
        ll_past_row row;
        st = ll_past_take(k, &s->shape, time[r], value + r * s->shape.n_vars, &row);
        if (st == LLAP_OK && (row.at != r || row.cut > 0))
            st = ll_fail(LLAP_EFORMAT, "row.time: rows that would not have been kept");
    }
    if (st == LLAP_OK && k->begun && (!told.begun || told.newest < k->newest))
        st = ll_fail(LLAP_EFORMAT, "entity.newest: earlier than a row that is kept");
    if (st != LLAP_OK) return ll_fail_in(st, "entity '%s'", ll_text_show(s->name[i]).text);
    k->any = told.any;
    k->begun = told.begun;
    k->first = told.first;
    k->newest = told.newest;
    return LLAP_OK;
}

static llap_status fill_stream(llap_stream *s, const ll_tensors *t)
{
    const int64_t  E = s->n, V = s->shape.n_vars;
    ll_tensor_info rows, first, newest, marks, time, value;
    const char    *how = ll_tensors_metadata(t, "llapdiff.watch");
    size_t         watch = 0;
    llap_status    st = ll_tensors_require(t, "entity.rows", LL_I64, 1, &E, &rows);
    if (st == LLAP_OK) st = ll_tensors_require(t, "entity.first", LL_I64, 1, &E, &first);
    if (st == LLAP_OK) st = ll_tensors_require(t, "entity.newest", LL_I64, 1, &E, &newest);
    if (st == LLAP_OK) st = ll_tensors_require(t, "entity.marks", LL_U8, 1, &E, &marks);
    if (st == LLAP_OK) st = ll_tensors_require(t, "row.time", LL_I64, 1, (int64_t[]){ -1 }, &time);
    if (st != LLAP_OK) return st;
    st = ll_tensors_require(t, "row.value", LL_F32, 2, (int64_t[]){ time.shape[0], V }, &value);
    if (st == LLAP_OK && how != NULL) st = ll_stream_watch_load(s, t, how, &watch);
    if (st == LLAP_OK && ll_tensors_count(t) != 6 + watch)
        st = ll_fail(LLAP_EFORMAT, "expected %zu tensors, found %zu", 6 + watch,
                     ll_tensors_count(t));
    int64_t at = 0;
    for (int64_t i = 0; st == LLAP_OK && i < E; i++) {
        const int64_t n = ((const int64_t *)rows.data)[i];
        const uint8_t mark = ((const uint8_t *)marks.data)[i];
        if (n < 0 || n > time.shape[0] - at)
            return ll_fail(LLAP_EFORMAT, "entity.rows: more rows than row.time has");
        if (mark > 3 || mark == 2)
            return ll_fail(LLAP_EFORMAT, "entity.marks: expected 0, 1 or 3, found %d", mark);
        s->past[i].any = mark > 0;
        s->past[i].begun = mark > 1;
        s->past[i].first = ((const int64_t *)first.data)[i];
        s->past[i].newest = ((const int64_t *)newest.data)[i];
        st = fill_entity(s, i, (const int64_t *)time.data + at, (const float *)value.data + at * V,
                         n);
        at += n;
    }
    s->latest = INT64_MIN;
    for (int64_t r = 0; st == LLAP_OK && r < time.shape[0]; r++)
        if (((const int64_t *)time.data)[r] > s->latest)
            s->latest = ((const int64_t *)time.data)[r];
    if (st == LLAP_OK && at != time.shape[0])
        st = ll_fail(LLAP_EFORMAT, "row.time: more rows than entity.rows counts");
    return st;
}

llap_status ll_stream_read(const llap_model *m, const ll_tensors *t, const llap_stream_opts *o,
                           llap_stream **out)
{
    ll_json    *config = NULL, *variables = NULL, *entities = NULL;
    llap_status st = check_of(t, m);
    *out = NULL;
    if (st == LLAP_OK) st = get_json(t, "llapdiff.config", &config);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.variables", &variables);
    if (st == LLAP_OK) st = get_json(t, "llapdiff.entities", &entities);
    if (st == LLAP_OK) st = make(m, config, variables, o, out);
    if (st == LLAP_OK) st = add_entities(*out, entities);
    if (st == LLAP_OK) st = fill_stream(*out, t);
    ll_json_destroy(config);
    ll_json_destroy(variables);
    ll_json_destroy(entities);
    if (st != LLAP_OK) {
        llap_stream_destroy(*out);
        *out = NULL;
    }
    return st;
}

llap_status llap_stream_restore_memory(const llap_model *m, const void *bytes, size_t n,
                                       const llap_stream_opts *o, llap_stream **out)
{
    ll_tensors *t = NULL;
    void       *copy = ll_new_aligned(n, 1); /* tensors want their place */
    *out = NULL;
    if (copy == NULL) return LLAP_ENOMEM;
    memcpy(copy, bytes, n);
    llap_status st = ll_tensors_view(copy, n, "the stream", &t);
    if (st == LLAP_OK) st = ll_stream_read(m, t, o, out);
    ll_tensors_close(t);
    ll_free(copy);
    return st;
}

llap_status llap_stream_restore(const llap_model *m, const char *path, const llap_stream_opts *o,
                                llap_stream **out)
{
    ll_tensors *t = NULL;
    *out = NULL;
    llap_status st = ll_tensors_open(path, &t);
    if (st != LLAP_OK) return st;
    st = ll_stream_read(m, t, o, out);
    ll_tensors_close(t);
    return st == LLAP_OK ? st : ll_fail_in(st, "%s", ll_text_show(path).text);
}
