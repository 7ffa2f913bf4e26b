/* The state and the log of a run: when they are opened, what is in them, when they are written. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "model/fill_file.h"
#include "model/model_parts.h"
#include "train/run/run.h"
#include "train/run/run_parts.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* -------- the log -------- */

/* Opens the log where the state left it: lines that came after it are written again. */
static llap_status open_log(ll_training_run *t)
{
    if (t->o.log == NULL) return LLAP_OK;
    const int64_t known = ll_state_log_size(t->old);
    t->log = fopen(t->o.log, known > 0 ? "r+e" : "we");
    if (t->log == NULL && known > 0 && errno == ENOENT) t->log = fopen(t->o.log, "we");
    if (t->log == NULL) return ll_fail_errno(errno, "%s", t->o.log);
    if (fseeko(t->log, 0, SEEK_END) == 0) t->log_size = ftello(t->log);
    if (t->log_size < known)
        ll_logf(t->o.messages, LLAP_LOG_WARNING,
                "%s: has %" PRId64 " bytes, the state expects %" PRId64 ": lines are missing",
                t->o.log, t->log_size, known);
    if (t->log_size > known) {
        if (ftruncate(fileno(t->log), known) != 0) return ll_fail_errno(errno, "%s", t->o.log);
        fseeko(t->log, known, SEEK_SET);
        t->log_size = known;
    }
    return LLAP_OK;
}

/* What cannot be written is said once: the training is worth more than its log. */
static void write_line(ll_training_run *t, const char *text, size_t n)
{
    assert(t->log != NULL && strlen(text) == n);
    if (fprintf(t->log, "%s\n", text) >= 0 && fflush(t->log) == 0) {
        t->log_size += (int64_t)n + 1;
        return;
    }
    (void)ll_fail_errno(errno, "%s", t->o.log);
    ll_logf(t->o.messages, LLAP_LOG_WARNING, "%s: training continues without a log",
            llap_error_detail());
    fclose(t->log);
    t->log = NULL;
}

llap_status training_line(ll_training_run *t, const ll_stage *s, const ll_run_progress *g,
                          double loss, bool better)
{
    if (t->log == NULL) return LLAP_OK;
    assert(s->name != NULL && g->step <= s->n_steps);
    char          *text = NULL;
    size_t         n = 0;
    ll_json_writer w = { 0 };
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "stage", s->name);
    ll_json_put_int(&w, "step", g->step);
    ll_json_put_int(&w, "of", s->n_steps);
    ll_json_put_double(&w, "loss", loss);
    if (s->evaluate != NULL) {
        ll_json_put_double(&w, "score", g->score);
        ll_json_put_double(&w, "best", g->best);
        ll_json_put_bool(&w, "better", better);
    }
    ll_json_put_int(&w, "skipped", g->n_skipped);
    if (s->fields != NULL) s->fields(s->user, &w);
    ll_json_close(&w, '}');
    const llap_status st = ll_json_finish(&w, &text, &n);
    if (st == LLAP_OK) write_line(t, text, n);
    ll_free(text);
    return st;
}

/* -------- the state -------- */

/* Those fitted so far, as a model file has them. */
static llap_status add_anchors(const ll_training_run *t, ll_tensors_writer *w)
{
    char          *text = NULL;
    size_t         n = 0;
    ll_json_writer json = { 0 };
    if (t->n_anchors == 0) return LLAP_OK;
    assert(t->anchor != NULL);
    ll_json_open(&json, NULL, '{');
    ll_json_open(&json, "anchors", '[');
    for (int64_t i = 0; i < t->n_anchors; i++) ll_anchor_write(&json, t->anchor[i]);
    ll_json_close(&json, ']');
    ll_json_close(&json, '}');
    llap_status st = ll_json_finish(&json, &text, &n);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, LL_STATE_ANCHORS, text);
    for (int64_t i = 0; i < t->n_anchors && st == LLAP_OK; i++)
        st = ll_anchor_save(t->anchor[i], i, w);
    ll_free(text);
    return st;
}

/* How far it is; kept: for the writer, until it is saved. */
static llap_status add_filling(const ll_training_run *t, ll_tensors_writer *w,
                               ll_fill_tensors *kept)
{
    char                 *text = NULL;
    size_t                n = 0;
    ll_json_writer        json = { 0 };
    const ll_run_filling *at = &t->filling;
    if (at->stage == LL_FILLING_NONE) return LLAP_OK;
    ll_json_open(&json, NULL, '{');
    ll_json_put_int(&json, "stage", (int64_t)at->stage);
    if (isfinite(at->score)) ll_json_put_double(&json, "score", at->score);
    if (at->filling != NULL) ll_fill_write(&json, at->filling);
    ll_json_close(&json, '}');
    llap_status st = ll_json_finish(&json, &text, &n);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, LL_STATE_FILLING, text);
    if (st == LLAP_OK && at->filling != NULL) st = ll_fill_save(at->filling, kept, w);
    ll_free(text);
    return st;
}

static llap_status add_stage(ll_tensors_writer *w, ll_arena *rooms, const char *name,
                             const ll_run_progress *g, const ll_weights *best)
{
    void       *room = ll_arena_new(rooms, 1, LL_PROGRESS_ROOM);
    llap_status st = room == NULL ? LLAP_ENOMEM : ll_state_add_progress(w, name, g, room);
    if (st == LLAP_OK && best != NULL) st = ll_state_add_weights(w, name, best);
    return st;
}

static llap_status write_state(ll_training_run *t, const ll_stage *s, const ll_run_progress *g,
                               const ll_weights *best)
{
    assert(g->finished || s->params == NULL || best != NULL);
    ll_tensors_writer *w = NULL;
    ll_arena           rooms = { 0 };
    ll_fill_tensors    fill = { 0 };
    llap_status        st = s->params == NULL ? LLAP_OK : ll_params_pull(s->params);
    if (st == LLAP_OK) st = ll_state_writer(t->fact, t->n_facts, &w);
    if (st == LLAP_OK) st = add_anchors(t, w);
    if (st == LLAP_OK) st = add_filling(t, w, &fill);
    for (const ll_run_note *x = t->notes; x != NULL && st == LLAP_OK; x = x->next)
        st = ll_state_add_note(w, x->name, x->v, x->n);
    for (const ended *e = t->ended; e != NULL && st == LLAP_OK; e = e->next)
        st = add_stage(w, &rooms, e->name, &e->progress, e->weights);
    if (st == LLAP_OK && !g->finished) {
        st = add_stage(w, &rooms, s->name, g, g->best_step >= 0 ? best : NULL);
        if (st == LLAP_OK && s->params != NULL) st = ll_state_add_store(w, s->name, s->params);
    }
    if (st == LLAP_OK && t->log != NULL) (void)fsync(fileno(t->log)); /* lines before their state */
    if (st == LLAP_OK) st = ll_tensors_writer_save(w, t->o.state);
    ll_tensors_writer_destroy(w);
    ll_fill_tensors_deinit(&fill);
    ll_arena_deinit(&rooms);
    return st;
}

llap_status training_save(ll_training_run *t, const ll_stage *s, ll_run_progress *g,
                          const ll_weights *best)
{
    if (t->o.state == NULL || t->o.reader) return LLAP_OK;
    t->saved = now();
    assert(g->step >= 0);
    g->log_size = t->log_size;
    const llap_status st = write_state(t, s, g, best);
    if (st != LLAP_OK)
        ll_logf(t->o.messages, LLAP_LOG_WARNING,
                "%s: the state after step %" PRId64 " is not saved: %s", s->name, g->step,
                llap_error_detail());
    return st;
}

llap_status training_stopped(ll_training_run *t, const ll_stage *s, ll_run_progress *g,
                             const ll_weights *best, bool kept)
{
    assert(!g->finished);
    if (t->o.state == NULL)
        return ll_fail(LLAP_ECANCELLED, "%s: stopped after step %" PRId64 "; no state was kept",
                       s->name, g->step);
    if (training_save(t, s, g, best) == LLAP_OK)
        return ll_fail(LLAP_ECANCELLED,
                       "%s: stopped after step %" PRId64 " of %" PRId64
                       "; resume to go on, the state is in %s",
                       s->name, g->step, s->n_steps, t->o.state);
    return ll_fail(LLAP_ECANCELLED,
                   "%s: stopped after step %" PRId64 "; its state could not be saved: %s", s->name,
                   g->step, kept ? "an earlier state is kept" : "nothing is kept");
}

#ifndef NDEBUG
static bool has_ended(const ll_training_run *t, const char *name)
{
    const ended *e = t->ended;
    while (e != NULL && strcmp(e->name, name) != 0) e = e->next;
    return e != NULL;
}
#endif

llap_status training_end(ll_training_run *t, const char *name, const ll_run_progress *g,
                         ll_weights *weights, double seconds)
{
    assert(!has_ended(t, name)); /* within a run no two are called the same */
    ended *e = ll_arena_new(&t->arena, 1, sizeof *e);
    name = ll_arena_strndup(&t->arena, name, strlen(name));
    if (e == NULL || name == NULL) {
        ll_weights_destroy(weights);
        return LLAP_ENOMEM;
    }
    *e = (ended){
        .name = name, .progress = *g, .weights = weights, .seconds = seconds, .next = t->ended
    };
    t->ended = e;
    return LLAP_OK;
}

size_t training_bytes(const ll_training_run *t, const ll_params *p)
{
    size_t n = 1 << 16; /* header */
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        n += (size_t)x->count * 8; /* now, and at most once more as the best */
    }
    ll_map m;
    if (ll_map_open(t->o.state, &m) == LLAP_OK) {
        n = n > m.size ? n : m.size;
        ll_map_close(&m);
    }
    return n;
}

llap_status ll_training_run_room(const ll_training_run *t, size_t n_bytes)
{
    if (t->o.state == NULL || t->o.reader) return LLAP_OK;
    uint64_t    n_free = 0;
    llap_status st = ll_file_room(t->o.state, &n_free);
    if (access(t->o.state, F_OK) != 0) n_bytes *= 2; /* the next one is written beside it */
    if (st == LLAP_OK && n_free < n_bytes)
        st = ll_fail(LLAP_EIO,
                     "%s: the state of training takes about %.1f MB, its folder has %.1f MB left",
                     t->o.state, 1e-6 * (double)n_bytes, 1e-6 * (double)n_free);
    return st;
}

/* -------- create, destroy -------- */

static llap_status copy_options(ll_training_run *t, const ll_training_run_opts *o,
                                const ll_run_fact *fact, size_t n)
{
    t->o = *o;
    t->fact = ll_arena_new(&t->arena, n, sizeof *t->fact);
    t->n_facts = n;
    bool ok = t->fact != NULL;
    if (o->state != NULL)
        ok = (t->o.state = ll_arena_strndup(&t->arena, o->state, strlen(o->state))) != NULL && ok;
    if (o->log != NULL)
        ok = (t->o.log = ll_arena_strndup(&t->arena, o->log, strlen(o->log))) != NULL && ok;
    if (o->run != NULL)
        ok = (t->o.run = ll_arena_strndup(&t->arena, o->run, strlen(o->run))) != NULL && ok;
    for (size_t i = 0; i < n && ok; i++) {
        t->fact[i].name = ll_arena_strndup(&t->arena, fact[i].name, strlen(fact[i].name));
        t->fact[i].value = ll_arena_strndup(&t->arena, fact[i].value, strlen(fact[i].value));
        t->fact[i].may_differ = fact[i].may_differ;
        ok = t->fact[i].name != NULL && t->fact[i].value != NULL;
    }
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* What is not as the state has it, though it may be. */
static void say_differences(ll_training_run *t)
{
    for (size_t i = 0; i < t->n_facts; i++) {
        char key[96];
        snprintf(key, sizeof key, "run.%s", t->fact[i].name);
        const char *was = t->fact[i].may_differ ? ll_tensors_metadata(t->old, key) : NULL;
        if (was == NULL || strcmp(was, t->fact[i].value) == 0) continue;
        t->other = true;
        ll_logf(t->o.messages, LLAP_LOG_WARNING,
                "%s: the %s was %s and is %s now: training continues, but its result "
                "differs from that of an uninterrupted one",
                t->o.state, t->fact[i].name, ll_text_show(was).text,
                ll_text_show(t->fact[i].value).text);
    }
}

static llap_status open_state(ll_training_run *t)
{
    if (t->o.state == NULL) return LLAP_OK;
    const bool there = access(t->o.state, F_OK) == 0;
    if (!t->o.resume && there && ll_state_is(t->o.state))
        return ll_fail(LLAP_EINVAL,
                       "%s: is the state of a training that was interrupted; resume it, or remove "
                       "the file to start anew",
                       t->o.state);
    if (!t->o.resume && there)
        return ll_fail(LLAP_EINVAL,
                       "%s: exists and is no state of a training; choose another file for `state`",
                       t->o.state);
    if (!there) {
        if (t->o.resume && !t->o.finished)
            ll_logf(t->o.messages, LLAP_LOG_INFO, "%s: no state there, training from the start",
                    t->o.state);
        return LLAP_OK;
    }
    const llap_status st = ll_state_open(t->o.state, t->fact, t->n_facts, &t->old);
    if (st == LLAP_OK) say_differences(t);
    return st == LLAP_OK ? training_read_notes(t) : st;
}

llap_status ll_training_run_create(const ll_training_run_opts *o, const ll_run_fact *fact, size_t n,
                                   ll_training_run **out)
{
    *out = NULL;
    ll_training_run *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    t->opened = now();
    llap_status st = copy_options(t, o, fact, n);
    if (st == LLAP_OK) st = open_state(t);
    if (st == LLAP_OK && !t->o.finished) st = open_log(t); /* else it is whole */
    if (st == LLAP_OK) *out = t;
    else ll_training_run_destroy(t);
    return st;
}

void ll_training_run_destroy(ll_training_run *t)
{
    if (t == NULL) return;
    for (ended *e = t->ended; e != NULL; e = e->next) ll_weights_destroy(e->weights);
    if (t->log != NULL) fclose(t->log);
    ll_tensors_close(t->old);
    ll_arena_deinit(&t->arena);
    ll_free(t);
}
