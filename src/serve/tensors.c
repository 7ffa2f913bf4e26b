/* The Open Inference Protocol (version 2, over HTTP): a window is a table, and a table is one
 * tensor of a dimension for each of its columns. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/clock.h"
#include "predict/tables/answer.h"
#include "serve/columns.h"

#include <llapdiff/description.h>
#include <llapdiff/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 4096, PATH_MAX_BYTES = 64 };

/* ---- what there is ---- */

static llap_status put_json(ll_request *r, ll_json_writer *w)
{
    char             *text = NULL;
    size_t            n = 0;
    const llap_status st = ll_json_finish(w, &text, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    return st;
}

llap_status ll_answer_server(ll_request *r)
{
    ll_json_writer w = { 0 };
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "name", "llapdiff");
    ll_json_put_string(&w, "version", llap_version());
    ll_json_open(&w, "extensions", '[');
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return put_json(r, &w);
}

static llap_status no_model(const ll_request *r)
{
    return ll_fail(LLAP_ENOTFOUND, "no model '%s': GET /v1/models lists them", r->name);
}

llap_status ll_answer_model_ready(ll_request *r)
{
    ll_json_writer w = { 0 };
    ll_served     *m = ll_models_get(&r->server->models, r->name);
    if (m == NULL) return no_model(r);
    ll_served_release(m);
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "name", r->name);
    ll_json_put_bool(&w, "ready", true);
    ll_json_close(&w, '}');
    return put_json(r, &w);
}

/* shape -1: as many as there are. */
static void put_tensor(ll_json_writer *w, const char *name, const char *type, int64_t n)
{
    ll_json_put_string(w, "name", name);
    ll_json_put_string(w, "datatype", type);
    ll_json_open(w, "shape", '[');
    ll_json_put_int(w, NULL, n);
    ll_json_close(w, ']');
}

static void put_metadata(ll_json_writer *w, const char *name, const char *type)
{
    ll_json_open(w, NULL, '{');
    put_tensor(w, name, type, -1);
    ll_json_close(w, '}');
}

llap_status ll_answer_model_metadata(ll_request *r)
{
    ll_json_writer    w = { 0 };
    llap_description *d = NULL;
    ll_served        *m = ll_models_get(&r->server->models, r->name);
    if (m == NULL) return no_model(r);
    const llap_status st = llap_description_create(m->model, &d);
    if (st != LLAP_OK) {
        ll_served_release(m);
        return st;
    }
    const llap_description_info *about = llap_description_about(d);
    const char                  *time = about->time_kind == LLAP_TIME_NUMBER ? "FP64" : "BYTES";
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "name", r->name);
    ll_json_put_string(&w, "platform", "llapdiff");
    ll_json_open(&w, "inputs", '[');
    put_metadata(&w, "entity", "BYTES");
    put_metadata(&w, "time", time);
    for (int64_t i = 0; i < about->n_targets; i++) put_metadata(&w, about->targets[i], "FP64");
    for (int64_t i = 0; i < about->n_known; i++) put_metadata(&w, about->known[i], "FP64");
    for (int64_t i = 0; i < about->n_statics; i++) put_metadata(&w, about->statics[i], "FP64");
    ll_json_close(&w, ']');
    ll_json_open(&w, "outputs", '[');
    put_metadata(&w, "entity", "BYTES");
    put_metadata(&w, "time", time);
    put_metadata(&w, "variable", "BYTES");
    put_metadata(&w, "mean", "FP64");
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    llap_description_destroy(d);
    ll_served_release(m);
    return put_json(r, &w);
}

/* ---- tensors of a request ---- */

typedef struct tensor {
    const char *name;
    char       *data; /* a JSON array */
    size_t      n_data, n;
} tensor;

/* Which values a type may have; null is a value that is missing. */
static bool fits(const char *type, const ll_json_counts *c)
{
    const size_t numbers = c->whole + c->reals;
    if (strcmp(type, "BYTES") == 0) return c->flags + numbers + c->objects == 0;
    if (strcmp(type, "BOOL") == 0) return c->strings + numbers + c->objects == 0;
    if (strncmp(type, "FP", 2) == 0) return c->strings + c->flags + c->objects == 0;
    return c->strings + c->flags + c->reals + c->objects == 0;
}

static const char *const datatypes[] = { "BOOL", "UINT8", "UINT16", "UINT32", "UINT64",
                                         "INT8", "INT16", "INT32",  "INT64",  "FP16",
                                         "FP32", "FP64",  "BYTES",  NULL };

/* The shape has one dimension, or others of 1 beside it: [n], [1,n], [n,1]. */
static llap_status check_shape(const ll_json *j, const char *path, size_t n)
{
    int64_t    *shape = NULL;
    size_t      n_shape = 0, large = 0, cells = 1;
    llap_status st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_ints(j, path, 0, INT32_MAX, &shape, &n_shape);
    for (size_t i = 0; st == LLAP_OK && i < n_shape; i++) {
        large += shape[i] != 1;
        if (large <= 1) cells *= (size_t)shape[i];
    }
    ll_free(shape);
    if (st != LLAP_OK) return st;
    if (n_shape == 0 || large > 1)
        return ll_json_fail(j, path, "expected one dimension, as a column of a table has");
    return cells == n ? LLAP_OK : ll_json_fail(j, path, "expected %zu values, found %zu", cells, n);
}

static llap_status read_tensor(const ll_json *j, size_t i, tensor *t)
{
    static const char *const keys[] = { "name", "shape", "datatype", "data", "parameters", NULL };
    char                     path[PATH_MAX_BYTES];
    int                      type = 0;
    ll_json_counts           c;
    llap_status              st;
    snprintf(path, sizeof path, "inputs[%zu]", i);
    st = ll_json_keys(j, path, keys);
    snprintf(path, sizeof path, "inputs[%zu].name", i);
    if (st == LLAP_OK) st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_string(j, path, &t->name);
    snprintf(path, sizeof path, "inputs[%zu].datatype", i);
    if (st == LLAP_OK) st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_enum(j, path, datatypes, &type);
    snprintf(path, sizeof path, "inputs[%zu].data", i);
    if (st == LLAP_OK) st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_flat(j, path, &t->data, &t->n_data, &c);
    if (st == LLAP_OK && !fits(datatypes[type], &c))
        st = ll_json_fail(j, path, "expected values of the type %s", datatypes[type]);
    if (st != LLAP_OK) return st;
    t->n = c.strings + c.whole + c.reals + c.flags + c.nulls;
    snprintf(path, sizeof path, "inputs[%zu].shape", i);
    return check_shape(j, path, t->n);
}

/* "{...}" without its braces; "" where it is not there or empty. */
static llap_status parameters(const ll_json *j, char **text, size_t *n)
{
    *text = NULL;
    *n = 0;
    if (!ll_json_has(j, "parameters")) return LLAP_OK;
    const llap_status st = ll_json_part(j, "parameters", text, n);
    if (st != LLAP_OK) return st;
    if (**text != '{') return ll_json_fail(j, "parameters", "expected an object");
    *n -= 2;
    return LLAP_OK;
}

/* {"data":{"name":[...],...},"horizon":"48h"}: the JSON of the routes of /v1. */
static llap_status write_table(ll_request *r, const tensor *t, size_t n, const char *more,
                               size_t n_more)
{
    char          *text = NULL;
    size_t         n_text = 0;
    ll_memory_file m;
    llap_status    st = ll_memory_file_open(&m);
    FILE          *f = m.stream;
    if (st != LLAP_OK) return st;
    fputs("{\"data\":{", f);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        ll_json_writer w = { 0 };
        char          *name = NULL;
        size_t         n_name = 0;
        ll_json_put_string(&w, NULL, t[i].name);
        st = ll_json_finish(&w, &name, &n_name);
        if (st == LLAP_OK) fprintf(f, "%s%s:", i > 0 ? "," : "", name);
        (void)fwrite(t[i].data, 1, t[i].n_data, f);
        ll_free(name);
    }
    fputs(n_more > 0 ? "}," : "}", f);
    if (n_more > 0) (void)fwrite(more + 1, 1, n_more, f);
    fputs("}", f);
    st = ll_memory_file_close(&m, st, &text, &n_text);
    if (st == LLAP_OK) ll_body_replace(r, text, n_text);
    return st;
}

static llap_status read_wanted(ll_request *r, const ll_json *j)
{
    static const char *const keys[] = { "name", "parameters", NULL };
    const size_t             n = ll_json_length(j, "outputs");
    llap_status              st = LLAP_OK;
    if (n > TENSORS_MAX) return ll_json_fail(j, "outputs", "at most %d", TENSORS_MAX);
    r->wanted = n == 0 ? NULL : ll_arena_new(&r->arena, n + 1, sizeof *r->wanted);
    if (n > 0 && r->wanted == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        char        path[PATH_MAX_BYTES];
        const char *name = NULL;
        snprintf(path, sizeof path, "outputs[%zu]", i);
        st = ll_json_keys(j, path, keys);
        snprintf(path, sizeof path, "outputs[%zu].name", i);
        if (st == LLAP_OK) st = ll_json_need(j, path);
        if (st == LLAP_OK) st = ll_json_string(j, path, &name);
        if (st != LLAP_OK) return st;
        r->wanted[i] = ll_arena_strndup(&r->arena, name, strlen(name));
        if (r->wanted[i] == NULL) st = LLAP_ENOMEM;
    }
    return st;
}

static llap_status read_request(ll_request *r, const ll_json *j)
{
    static const char *const keys[] = { "id", "parameters", "inputs", "outputs", NULL };
    const size_t             n = ll_json_length(j, "inputs");
    const char              *id = NULL;
    char                    *more = NULL;
    size_t                   n_more = 0;
    llap_status              st = ll_json_keys(j, "", keys);
    if (st == LLAP_OK && (n == 0 || n > TENSORS_MAX))
        st = ll_json_fail(j, "inputs", "expected 1 to %d tensors", TENSORS_MAX);
    if (st == LLAP_OK) st = ll_json_string(j, "id", &id);
    if (st == LLAP_OK && id != NULL &&
        (r->inference = ll_arena_strndup(&r->arena, id, strlen(id))) == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = read_wanted(r, j);
    tensor *t = st == LLAP_OK ? ll_new(n, sizeof *t) : NULL;
    if (st == LLAP_OK && t == NULL) st = LLAP_ENOMEM;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) st = read_tensor(j, i, &t[i]);
    if (st == LLAP_OK) st = parameters(j, &more, &n_more);
    if (st == LLAP_OK) st = write_table(r, t, n, more, n_more);
    for (size_t i = 0; t != NULL && i < n; i++) ll_free(t[i].data);
    ll_free(t);
    ll_free(more);
    return st;
}

llap_status ll_tensors_read(ll_request *r)
{
    ll_json    *j = NULL;
    llap_status st = ll_body_unpack(r);
    if (st == LLAP_OK) st = ll_body_parse(r, &j);
    if (st == LLAP_OK) st = read_request(r, j);
    ll_json_destroy(j);
    return st;
}

/* ---- tensors of an answer ---- */

static bool is_wanted(const ll_request *r, const char *name)
{
    if (r->wanted == NULL) return true;
    for (const char *const *w = r->wanted; *w != NULL; w++)
        if (strcmp(*w, name) == 0) return true;
    return false;
}

static void put_instant(ll_json_writer *w, const ll_clock_writer *clock, int64_t time,
                        llap_status *st)
{
    char   text[LL_TIMEFMT_TEXT_MAX + 1];
    size_t n = 0;
    if (*st == LLAP_OK) *st = ll_clock_write(clock, time, text, &n);
    text[n] = '\0';
    ll_json_put_string(w, NULL, text);
}

static llap_status put_values(ll_json_writer *w, const ll_ipc_column *c, int64_t n_rows,
                              const ll_clock_writer *clock)
{
    llap_status st = LLAP_OK;
    ll_json_open(w, "data", '[');
    for (int64_t i = 0; i < n_rows; i++) {
        const size_t k = (size_t)i * c->stride;
        switch (c->kind) {
        case LL_IPC_WORD:
            ll_json_put_string(w, NULL, c->text[((const int32_t *)c->cell)[k]]);
            break;
        case LL_IPC_INSTANT:
            put_instant(w, clock, ((const int64_t *)c->cell)[k], &st);
            break;
        case LL_IPC_INTEGER:
            ll_json_put_int(w, NULL, ((const int64_t *)c->cell)[k]);
            break;
        case LL_IPC_SMALL:
            ll_json_put_int(w, NULL, ((const int32_t *)c->cell)[k]);
            break;
        case LL_IPC_NUMBER:
            ll_json_put_double(w, NULL, ((const double *)c->cell)[k]);
            break;
        case LL_IPC_FLAG:
            if (((const uint8_t *)c->cell)[k] == 2) ll_json_put_null(w, NULL);
            else ll_json_put_bool(w, NULL, ((const uint8_t *)c->cell)[k] == 1);
            break;
        }
    }
    ll_json_close(w, ']');
    return st;
}

static llap_status put_columns(ll_request *r, ll_json_writer *w, const ll_table_columns *all,
                               const ll_clock_writer *clock)
{
    static const char *const type[] = {
        [LL_IPC_WORD] = "BYTES",  [LL_IPC_INSTANT] = "BYTES", [LL_IPC_INTEGER] = "INT64",
        [LL_IPC_SMALL] = "INT32", [LL_IPC_NUMBER] = "FP64",   [LL_IPC_FLAG] = "BOOL"
    };
    llap_status st = LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < all->n; i++) {
        const ll_ipc_column *c = &all->column[i];
        if (!is_wanted(r, c->name)) continue;
        ll_json_open(w, NULL, '{');
        put_tensor(w, c->name, type[c->kind], all->n_rows);
        st = put_values(w, c, all->n_rows, clock);
        ll_json_close(w, '}');
    }
    return st;
}

llap_status ll_reply_tensors(ll_request *r, const llap_answer *a)
{
    ll_table_columns all;
    ll_clock_writer  clock = { 0 };
    ll_json_writer   w = { 0 };
    char            *text = NULL;
    size_t           n = 0;
    llap_status      st = ll_answer_check(r, a);
    if (st == LLAP_OK) st = ll_columns_of(r, a, &all);
    if (st == LLAP_OK) st = ll_clock_writer_init(&clock, &a->axis);
    if (st != LLAP_OK) return st;
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "model_name", r->name);
    if (r->inference != NULL) ll_json_put_string(&w, "id", r->inference);
    ll_json_open(&w, "outputs", '[');
    st = put_columns(r, &w, &all, &clock);
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    const llap_status written = ll_json_finish(&w, &text, &n);
    ll_clock_writer_deinit(&clock);
    if (st == LLAP_OK) st = written;
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    else ll_free(text);
    return st;
}
