/* The file of a stream: one safetensors file (base/safetensors.h), metadata
 *
 *     llapdiff.stream      "1"; a newer one is refused
 *     llapdiff.model       16 hexadecimal digits: a hash of the bytes of its model's file
 *     llapdiff.config      JSON: axis (kind, zone, format, unit, unit_ns), rows (kept at most),
 *                          counts (taken, late, dropped, repeated, cut)
 *     llapdiff.watch       JSON, of a stream that judges its rows: watching_file.c
 *     llapdiff.variables   JSON array of names
 *     llapdiff.entities    JSON array of names, in order of arrival
 *
 * and tensors, R rows of E entities, V variables
 *
 *     entity.rows      I64 [E]      how many rows each has; those of one lie behind another's
 *     entity.first     I64 [E]      time of its first row ever
 *     entity.newest    I64 [E]      time that its span is counted from
 *     entity.marks     U8  [E]      1 there was a row, 2 one that counts for the span
 *     row.time         I64 [R]      increasing within an entity
 *     row.value        F32 [R,V]    NaN: missing; never infinite
 *
 * What the anchors look at beside the values is made of them again. Equal streams give equal bytes.
 */
#include "stream/stream.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/rng/rng.h"
#include "base/safetensors.h"
#include "stream/watching.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

llap_status ll_stream_model_hash(const llap_model *m, char out[LL_STREAM_HASH + 1])
{
    char             *bytes = NULL;
    size_t            n = 0;
    const llap_status st = llap_model_save_memory(m, &bytes, &n);
    if (st == LLAP_OK) snprintf(out, LL_STREAM_HASH + 1, "%016" PRIx64, ll_hash(0, bytes, n));
    ll_free(bytes);
    return st;
}

static llap_status config_text(const llap_stream *s, char **text)
{
    ll_json_writer w = { .indent = 0 };
    size_t         n;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "axis", '{');
    ll_json_put_string(&w, "kind", s->axis.kind == LL_AXIS_CALENDAR ? "calendar" : "number");
    ll_json_put_string(&w, "zone", s->axis.zone);
    ll_json_put_string(&w, "format", s->axis.format);
    ll_json_put_string(&w, "unit", s->axis.unit);
    ll_json_put_int(&w, "unit_ns", s->axis.unit_ns);
    ll_json_close(&w, '}');
    ll_json_put_int(&w, "rows", s->shape.most);
    ll_json_open(&w, "counts", '{');
    ll_json_put_int(&w, "taken", s->counts.taken);
    ll_json_put_int(&w, "late", s->counts.late);
    ll_json_put_int(&w, "dropped", s->counts.dropped);
    ll_json_put_int(&w, "repeated", s->counts.repeated);
    ll_json_put_int(&w, "cut", s->counts.cut);
    ll_json_close(&w, '}');
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}

static llap_status put_metadata(ll_tensors_writer *w, const char *key, ll_json_writer *j)
{
    char       *text = NULL;
    size_t      n;
    llap_status st = ll_json_finish(j, &text, &n);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, key, text);
    ll_free(text);
    return st;
}

static llap_status put_names(ll_tensors_writer *w, const char *key, const char *const *name,
                             int64_t n)
{
    ll_json_writer j = { .indent = 0 };
    ll_json_open(&j, NULL, '[');
    for (int64_t i = 0; i < n; i++) ll_json_put_string(&j, NULL, name[i]);
    ll_json_close(&j, ']');
    return put_metadata(w, key, &j);
}

static llap_status write_metadata(const llap_stream *s, ll_tensors_writer *w)
{
    char        hash[LL_STREAM_HASH + 1], *config = NULL;
    llap_status st = ll_stream_model_hash(s->m, hash);
    if (st == LLAP_OK) st = config_text(s, &config);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.stream", LL_STREAM_FORMAT);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.model", hash);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, "llapdiff.config", config);
    if (st == LLAP_OK)
        st = put_names(w, "llapdiff.variables", (const char *const *)s->var, s->shape.n_vars);
    if (st == LLAP_OK) st = put_names(w, "llapdiff.entities", (const char *const *)s->name, s->n);
    ll_free(config);
    char *how = NULL;
    if (st == LLAP_OK && s->watch != NULL) st = ll_detect_how_text(&s->watch->how, &how);
    if (st == LLAP_OK && how != NULL) st = ll_tensors_writer_metadata(w, "llapdiff.watch", how);
    ll_free(how);
    return st;
}

/* The rows of all entities behind one another. */
typedef struct columns {
    int64_t *rows, *first, *newest, *time;
    uint8_t *marks;
    float   *value;
    int64_t  n;
} columns;

static void columns_deinit(columns *c)
{
    void *const arrays[] = { c->rows, c->first, c->newest, c->time, c->marks, c->value };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

static llap_status columns_init(columns *c, const llap_stream *s)
{
    const size_t E = (size_t)s->n, V = (size_t)s->shape.n_vars;
    for (int64_t i = 0; i < s->n; i++) c->n += s->past[i].n;
    c->rows = ll_new(E, sizeof *c->rows);
    c->first = ll_new(E, sizeof *c->first);
    c->newest = ll_new(E, sizeof *c->newest);
    c->marks = ll_new(E, sizeof *c->marks);
    c->time = ll_new((size_t)c->n, sizeof *c->time);
    c->value = ll_new((size_t)c->n, V * sizeof *c->value);
    if (c->rows == NULL || c->first == NULL || c->newest == NULL || c->marks == NULL ||
        c->time == NULL || c->value == NULL)
        return LLAP_ENOMEM;
    size_t at = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const ll_past *k = &s->past[i];
        const size_t   n = (size_t)k->n;
        c->rows[i] = k->n;
        c->first[i] = k->first;
        c->newest[i] = k->newest;
        c->marks[i] = (uint8_t)((k->any ? 1 : 0) + (k->begun ? 2 : 0));
        if (n == 0) continue;
        memcpy(c->time + at, k->time + k->from, n * sizeof *c->time);
        memcpy(c->value + at * V, k->value + (size_t)k->from * V, n * V * sizeof *c->value);
        at += n;
    }
    return LLAP_OK;
}

/* To the file, or where path is NULL to f. */
static llap_status save(const llap_stream *s, const char *path, FILE *f)
{
    const int64_t      E[1] = { s->n };
    ll_tensors_writer *w = NULL;
    columns            c = { 0 };
    ll_watch_tensors   watch = { 0 };
    llap_status        st = columns_init(&c, s);
    if (st == LLAP_OK) st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = write_metadata(s, w);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "entity.rows", LL_I64, 1, E, c.rows);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "entity.first", LL_I64, 1, E, c.first);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "entity.newest", LL_I64, 1, E, c.newest);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "entity.marks", LL_U8, 1, E, c.marks);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "row.time", LL_I64, 1, &c.n, c.time);
    const int64_t shape[2] = { c.n, s->shape.n_vars };
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "row.value", LL_F32, 2, shape, c.value);
    if (st == LLAP_OK && s->watch != NULL) st = ll_stream_watch_save(s, &watch, w);
    if (st == LLAP_OK)
        st = path != NULL ? ll_tensors_writer_save(w, ll_file_or_stdout(path))
                          : ll_tensors_writer_write(w, f);
    ll_tensors_writer_destroy(w);
    columns_deinit(&c);
    ll_watch_tensors_deinit(&watch);
    return st;
}

llap_status llap_stream_save(const llap_stream *s, const char *path) { return save(s, path, NULL); }

llap_status llap_stream_save_memory(const llap_stream *s, char **bytes, size_t *n)
{
    ll_memory_file to;
    llap_status    st = ll_memory_file_open(&to);
    if (st == LLAP_OK) st = save(s, NULL, to.stream);
    return ll_memory_file_close(&to, st, bytes, n);
}
