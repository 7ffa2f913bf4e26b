#include "train/run/state.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char format_key[] = "llapdiff.state", format_value[] = "1";

void ll_run_progress_start(ll_run_progress *g)
{
    *g = (ll_run_progress){ .best_step = -1, .best = INFINITY, .score = NAN, .least = INFINITY };
}

/* -------- names and types -------- */

/* STAGE/PART/X; NULL: out of memory. */
static const char *name_of(ll_arena *a, const char *stage, const char *part, const char *x)
{
    assert(strchr(stage, '/') == NULL); /* it ends where the part begins */
    return ll_arena_printf(a, "%s/%s%s%s", stage, part, *x != '\0' ? "/" : "", x);
}

static ll_dtype dtype_of(const ll_params *p, const ll_param_info *i)
{
    if (i->elem == LL_INT) return LL_I32;
    return ll_params_real_bytes(p) == sizeof(double) ? LL_F64 : LL_F32;
}

static size_t bytes_of(const ll_params *p, const ll_param_info *i)
{
    return (size_t)i->count * ll_dtype_size(dtype_of(p, i));
}

static llap_status add(ll_tensors_writer *w, const char *stage, const char *part, const char *x,
                       ll_dtype dtype, int rank, const int64_t *shape, const void *data)
{
    ll_arena          a = { 0 };
    const char       *name = name_of(&a, stage, part, x);
    const llap_status st =
        name == NULL ? LLAP_ENOMEM : ll_tensors_writer_add(w, name, dtype, rank, shape, data);
    ll_arena_deinit(&a);
    return st;
}

static llap_status require(const ll_tensors *t, const char *stage, const char *part, const char *x,
                           ll_dtype dtype, int rank, const int64_t *shape, ll_tensor_info *out)
{
    ll_arena          a = { 0 };
    const char       *name = name_of(&a, stage, part, x);
    const llap_status st =
        name == NULL ? LLAP_ENOMEM : ll_tensors_require(t, name, dtype, rank, shape, out);
    ll_arena_deinit(&a);
    return st;
}

/* -------- copies of weights -------- */

typedef struct copy {
    const char *name; /* in the arena */
    ll_dtype    dtype;
    ll_shape    shape;
    size_t      n_bytes;
    void       *data; /* in the arena */
} copy;

struct ll_weights {
    ll_arena arena;
    copy    *copy;
    int      n;
};

/* Moments and the random state belong to the steps alone. */
static bool is_weight(const char *name)
{
    return strncmp(name, "adam.", 5) != 0 && strcmp(name, "rng") != 0;
}

static llap_status list_weights(ll_weights *w, const ll_params *p)
{
    w->copy = ll_arena_new(&w->arena, (size_t)ll_params_count(p), sizeof *w->copy);
    if (w->copy == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        if (!is_weight(x->name)) continue;
        copy *c = &w->copy[w->n++];
        assert(w->n <= ll_params_count(p) && x->count >= 0);
        *c = (copy){ .name = ll_arena_strndup(&w->arena, x->name, strlen(x->name)),
                     .dtype = dtype_of(p, x),
                     .shape = x->shape,
                     .n_bytes = bytes_of(p, x),
                     .data = ll_arena_new(&w->arena, bytes_of(p, x) / 4 + 1, 4) };
        if (c->name == NULL || c->data == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

llap_status ll_weights_create(const ll_params *p, ll_weights **out)
{
    *out = ll_new(1, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    const llap_status st = list_weights(*out, p);
    if (st == LLAP_OK) {
        ll_weights_take(*out, p);
    } else {
        ll_weights_destroy(*out);
        *out = NULL;
    }
    return st;
}

void ll_weights_destroy(ll_weights *w)
{
    if (w == NULL) return;
    ll_arena_deinit(&w->arena);
    ll_free(w);
}

void ll_weights_take(ll_weights *w, const ll_params *p)
{
    for (int i = 0; i < w->n; i++) {
        assert(bytes_of(p, ll_params_find(p, w->copy[i].name)) == w->copy[i].n_bytes);
        memcpy(w->copy[i].data, ll_params_find(p, w->copy[i].name)->data, w->copy[i].n_bytes);
    }
}

void ll_weights_give(const ll_weights *w, ll_params *p)
{
    for (int i = 0; i < w->n; i++) {
        assert(bytes_of(p, ll_params_find(p, w->copy[i].name)) == w->copy[i].n_bytes);
        memcpy(ll_params_find(p, w->copy[i].name)->data, w->copy[i].data, w->copy[i].n_bytes);
    }
}

/* -------- writing -------- */

llap_status ll_state_writer(const ll_run_fact *fact, size_t n, ll_tensors_writer **out)
{
    ll_arena           a = { 0 };
    ll_tensors_writer *w = NULL;
    llap_status        st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, format_key, format_value);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        const char *key = ll_arena_printf(&a, "run.%s", fact[i].name);
        st = key == NULL ? LLAP_ENOMEM : ll_tensors_writer_metadata(w, key, fact[i].value);
    }
    ll_arena_deinit(&a);
    if (st != LLAP_OK) ll_tensors_writer_destroy(w);
    *out = st == LLAP_OK ? w : NULL;
    return st;
}

llap_status ll_state_add_progress(ll_tensors_writer *w, const char *stage, const ll_run_progress *g,
                                  void *room)
{
    int64_t      *count = room;
    double       *score = (double *)(count + LL_COUNTS);
    const int64_t counts[LL_COUNTS] = { g->step,     g->best_step, g->n_worse, g->n_skipped,
                                        g->n_summed, g->finished,  g->log_size };
    const double  scores[LL_SCORES] = { g->best, g->score, g->sum, g->least };
    assert((uintptr_t)room % sizeof(int64_t) == 0);
    memcpy(count, counts, sizeof counts);
    memcpy(score, scores, sizeof scores);
    llap_status st = add(w, stage, "counts", "", LL_I64, 1, (int64_t[]){ LL_COUNTS }, count);
    if (st == LLAP_OK) st = add(w, stage, "scores", "", LL_F64, 1, (int64_t[]){ LL_SCORES }, score);
    return st;
}

llap_status ll_state_add_store(ll_tensors_writer *w, const char *stage, const ll_params *p)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_params_count(p) && st == LLAP_OK; i++) {
        const ll_param_info *x = ll_params_at(p, i);
        st = add(w, stage, "now", x->name, dtype_of(p, x), x->shape.rank, x->shape.dim, x->data);
    }
    return st;
}

llap_status ll_state_add_weights(ll_tensors_writer *w, const char *stage, const ll_weights *x)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < x->n && st == LLAP_OK; i++) {
        const copy *c = &x->copy[i];
        st = add(w, stage, "best", c->name, c->dtype, c->shape.rank, c->shape.dim, c->data);
    }
    return st;
}

static const char note_prefix[] = "note/";

llap_status ll_state_add_note(ll_tensors_writer *w, const char *name, const double *v, size_t n)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", note_prefix, name);
    return ll_tensors_writer_add(w, full, LL_F64, 1, (int64_t[]){ (int64_t)n }, v);
}

/* -------- reading -------- */

const char *ll_state_note(const ll_tensor_info *x)
{
    const size_t n = sizeof note_prefix - 1;
    const bool   is = strncmp(x->name, note_prefix, n) == 0 && x->dtype == LL_F64 && x->rank == 1;
    return is ? x->name + n : NULL;
}

static llap_status check_facts(const ll_tensors *t, const char *path, const ll_run_fact *fact,
                               size_t n)
{
    const char *format = ll_tensors_metadata(t, format_key);
    if (format == NULL) return ll_fail(LLAP_EFORMAT, "%s: is no state of a training", path);
    if (strcmp(format, format_value) != 0)
        return ll_fail(LLAP_EUNSUPPORTED, "%s: state of format %s, expected %s", path,
                       ll_text_show(format).text, format_value);
    for (size_t i = 0; i < n; i++) {
        char key[96];
        snprintf(key, sizeof key, "run.%s", fact[i].name);
        const char *found = ll_tensors_metadata(t, key);
        if (fact[i].may_differ) continue;
        if (found == NULL || strcmp(found, fact[i].value) != 0)
            return ll_fail(LLAP_EINVAL,
                           "%s: belongs to another training: its %s is %s, here it is %s", path,
                           fact[i].name, found == NULL ? "not known" : ll_text_show(found).text,
                           ll_text_show(fact[i].value).text);
    }
    return LLAP_OK;
}

bool ll_state_is(const char *path)
{
    ll_tensors *t = NULL;
    const bool  is =
        ll_tensors_open(path, &t) == LLAP_OK && ll_tensors_metadata(t, format_key) != NULL;
    ll_tensors_close(t);
    return is;
}

llap_status ll_state_open(const char *path, const ll_run_fact *fact, size_t n, ll_tensors **out)
{
    llap_status st = ll_tensors_open(path, out);
    if (st == LLAP_OK) st = check_facts(*out, path, fact, n);
    if (st != LLAP_OK) {
        ll_tensors_close(*out);
        *out = NULL;
    }
    return st;
}

bool ll_state_has(const ll_tensors *t, const char *stage)
{
    char           name[160];
    ll_tensor_info found;
    snprintf(name, sizeof name, "%s/counts", stage);
    return ll_tensors_find(t, name, &found);
}

llap_status ll_state_progress(const ll_tensors *t, const char *stage, ll_run_progress *g)
{
    ll_tensor_info counts, scores;
    llap_status st = require(t, stage, "counts", "", LL_I64, 1, (int64_t[]){ LL_COUNTS }, &counts);
    if (st == LLAP_OK)
        st = require(t, stage, "scores", "", LL_F64, 1, (int64_t[]){ LL_SCORES }, &scores);
    if (st != LLAP_OK) return st;
    const int64_t *c = counts.data;
    const double  *s = scores.data;
    for (int i = 0; i < LL_COUNTS; i++) /* the second: none yet */
        if (c[i] < (i == 1 ? -1 : 0))
            return ll_fail(LLAP_EFORMAT,
                           "'%s/counts': number %d: expected at least %d, found "
                           "%" PRId64,
                           stage, i, i == 1 ? -1 : 0, c[i]);
    *g = (ll_run_progress){ .step = c[0],
                            .best_step = c[1],
                            .n_worse = c[2],
                            .n_skipped = c[3],
                            .n_summed = c[4],
                            .finished = c[5],
                            .log_size = c[6],
                            .best = s[0],
                            .score = s[1],
                            .sum = s[2],
                            .least = s[3] };
    return LLAP_OK;
}

llap_status ll_state_store(const ll_tensors *t, const char *stage, ll_params *p)
{
    /* Once to check, once to copy. */
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < ll_params_count(p); i++) {
            const ll_param_info *x = ll_params_at(p, i);
            ll_tensor_info       found;
            const llap_status st = require(t, stage, "now", x->name, dtype_of(p, x), x->shape.rank,
                                           x->shape.dim, &found);
            if (st != LLAP_OK) return st;
            if (pass == 1 && found.n_bytes > 0) memcpy(x->data, found.data, found.n_bytes);
        }
    }
    return LLAP_OK;
}

llap_status ll_state_weights(const ll_tensors *t, const char *stage, ll_weights *x)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < x->n; i++) {
            const copy       *c = &x->copy[i];
            ll_tensor_info    found;
            const llap_status st =
                require(t, stage, "best", c->name, c->dtype, c->shape.rank, c->shape.dim, &found);
            if (st != LLAP_OK) return st;
            if (pass == 1 && found.n_bytes > 0) memcpy(c->data, found.data, found.n_bytes);
        }
    }
    return LLAP_OK;
}

int64_t ll_state_log_size(const ll_tensors *t)
{
    static const char tail[] = "/counts";
    int64_t           most = 0;
    for (size_t i = 0; t != NULL && i < ll_tensors_count(t); i++) {
        const ll_tensor_info x = ll_tensors_at(t, i);
        const size_t         n = strlen(x.name), k = sizeof tail - 1;
        ll_run_progress      g;
        char                 stage[128];
        if (n < k || n - k >= sizeof stage || strcmp(x.name + n - k, tail) != 0) continue;
        snprintf(stage, sizeof stage, "%.*s", (int)(n - k), x.name);
        if (ll_state_progress(t, stage, &g) == LLAP_OK && g.log_size > most) most = g.log_size;
    }
    return most;
}
