/* The state and the log of a run: when they are opened, what is in them, when they are written. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "model/model_parts.h"
#include "task/training_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* -------- the log -------- */

/* Opens the log where the state left it: lines that came after it are written again. */
static llap_status open_log(task_training *t)
{
    if (t->o.log == NULL) return LLAP_OK;
    const int64_t known = task_state_log_size(t->old);
    t->log = fopen(t->o.log, known > 0 ? "r+e" : "we");
    if (t->log == NULL && known > 0 && errno == ENOENT) t->log = fopen(t->o.log, "we");
    if (t->log == NULL) return llap_fail_errno(errno, "%s", t->o.log);
    if (fseeko(t->log, 0, SEEK_END) == 0) t->log_size = ftello(t->log);
    if (t->log_size < known)
        llap_logf(t->o.messages, LLAP_LOG_WARNING,
                  "%s: has %" PRId64 " bytes where the state knows of %" PRId64
                  ": lines are missing",
                  t->o.log, t->log_size, known);
    if (t->log_size > known) {
        if (ftruncate(fileno(t->log), known) != 0) return llap_fail_errno(errno, "%s", t->o.log);
        fseeko(t->log, known, SEEK_SET);
        t->log_size = known;
    }
    return LLAP_OK;
}

/* What cannot be written is said once: the training is worth more than its log. */
static void write_line(task_training *t, const char *text, size_t n)
{
    if (fprintf(t->log, "%s\n", text) >= 0 && fflush(t->log) == 0) {
        t->log_size += (int64_t)n + 1;
        return;
    }
    (void)llap_fail_errno(errno, "%s", t->o.log);
    llap_logf(t->o.messages, LLAP_LOG_WARNING,
              "%s: the training goes on, without lines from here on", llap_error_detail());
    fclose(t->log);
    t->log = NULL;
}

llap_status training_line(task_training *t, const task_stage *s, const task_progress *g,
                          double loss, bool better)
{
    if (t->log == NULL) return LLAP_OK;
    char            *text = NULL;
    size_t           n = 0;
    llap_json_writer w = { 0 };
    llap_json_open(&w, NULL, '{');
    llap_json_put_string(&w, "stage", s->name);
    llap_json_put_int(&w, "step", g->step);
    llap_json_put_int(&w, "of", s->n_steps);
    llap_json_put_double(&w, "loss", loss);
    if (s->evaluate != NULL) {
        llap_json_put_double(&w, "score", g->score);
        llap_json_put_double(&w, "best", g->best);
        llap_json_put_bool(&w, "better", better);
    }
    llap_json_put_int(&w, "skipped", g->n_skipped);
    if (s->fields != NULL) s->fields(s->user, &w);
    llap_json_close(&w, '}');
    const llap_status st = llap_json_finish(&w, &text, &n);
    if (st == LLAP_OK) write_line(t, text, n);
    llap_free(text);
    return st;
}

/* -------- the state -------- */

/* Those fitted so far, as a model file has them. */
static llap_status add_anchors(const task_training *t, llap_tensors_writer *w)
{
    char            *text = NULL;
    size_t           n = 0;
    llap_json_writer json = { 0 };
    if (t->n_anchors == 0) return LLAP_OK;
    llap_json_open(&json, NULL, '{');
    llap_json_open(&json, "anchors", '[');
    for (int64_t i = 0; i < t->n_anchors; i++) llap_anchor_write(&json, t->anchor[i]);
    llap_json_close(&json, ']');
    llap_json_close(&json, '}');
    llap_status st = llap_json_finish(&json, &text, &n);
    if (st == LLAP_OK) st = llap_tensors_writer_metadata(w, TASK_STATE_ANCHORS, text);
    for (int64_t i = 0; i < t->n_anchors && st == LLAP_OK; i++)
        st = llap_anchor_save(t->anchor[i], i, w);
    llap_free(text);
    return st;
}

static llap_status add_stage(llap_tensors_writer *w, llap_arena *rooms, const char *name,
                             const task_progress *g, const task_weights *best)
{
    void       *room = llap_arena_new(rooms, 1, TASK_PROGRESS_ROOM);
    llap_status st = room == NULL ? LLAP_ENOMEM : task_state_add_progress(w, name, g, room);
    if (st == LLAP_OK && best != NULL) st = task_state_add_weights(w, name, best);
    return st;
}

static llap_status write_state(task_training *t, const task_stage *s, const task_progress *g,
                               const task_weights *best)
{
    llap_tensors_writer *w = NULL;
    llap_arena           rooms = { 0 };
    llap_status          st = s->params == NULL ? LLAP_OK : llap_params_pull(s->params);
    if (st == LLAP_OK) st = task_state_writer(t->fact, t->n_facts, &w);
    if (st == LLAP_OK) st = add_anchors(t, w);
    for (const task_note *x = t->notes; x != NULL && st == LLAP_OK; x = x->next)
        st = task_state_add_note(w, x->name, x->v, x->n);
    for (const ended *e = t->ended; e != NULL && st == LLAP_OK; e = e->next)
        st = add_stage(w, &rooms, e->name, &e->progress, e->weights);
    if (st == LLAP_OK && !g->finished) {
        st = add_stage(w, &rooms, s->name, g, g->best_step >= 0 ? best : NULL);
        if (st == LLAP_OK && s->params != NULL) st = task_state_add_store(w, s->name, s->params);
    }
    if (st == LLAP_OK && t->log != NULL) (void)fsync(fileno(t->log)); /* lines before their state */
    if (st == LLAP_OK) st = llap_tensors_writer_save(w, t->o.state);
    llap_tensors_writer_destroy(w);
    llap_arena_deinit(&rooms);
    return st;
}

llap_status training_save(task_training *t, const task_stage *s, task_progress *g,
                          const task_weights *best)
{
    if (t->o.state == NULL) return LLAP_OK;
    t->saved = now();
    g->log_size = t->log_size;
    const llap_status st = write_state(t, s, g, best);
    if (st != LLAP_OK)
        llap_logf(t->o.messages, LLAP_LOG_WARNING,
                  "%s: the state after step %" PRId64 " is not saved: %s", s->name, g->step,
                  llap_error_detail());
    return st;
}

llap_status training_stopped(task_training *t, const task_stage *s, task_progress *g,
                             const task_weights *best, bool kept)
{
    if (t->o.state == NULL)
        return llap_fail(LLAP_ECANCELLED, "%s: stopped after step %" PRId64 "; no state was kept",
                         s->name, g->step);
    if (training_save(t, s, g, best) == LLAP_OK)
        return llap_fail(LLAP_ECANCELLED,
                         "%s: stopped after step %" PRId64 " of %" PRId64
                         "; resume to go on, the state is in %s",
                         s->name, g->step, s->n_steps, t->o.state);
    return llap_fail(LLAP_ECANCELLED,
                     "%s: stopped after step %" PRId64 ", which could not be saved: %s", s->name,
                     g->step, kept ? "the state before it is" : "nothing is kept");
}

llap_status training_end(task_training *t, const char *name, const task_progress *g,
                         task_weights *weights, double seconds)
{
    ended *e = llap_arena_new(&t->arena, 1, sizeof *e);
    name = llap_arena_strndup(&t->arena, name, strlen(name));
    if (e == NULL || name == NULL) {
        task_weights_destroy(weights);
        return LLAP_ENOMEM;
    }
    *e = (ended){
        .name = name, .progress = *g, .weights = weights, .seconds = seconds, .next = t->ended
    };
    t->ended = e;
    return LLAP_OK;
}

size_t training_bytes(const task_training *t, const llap_params *p)
{
    size_t n = 1 << 16; /* header */
    for (int i = 0; i < llap_params_count(p); i++) {
        const llap_param_info *x = llap_params_at(p, i);
        n += (size_t)x->count * 8; /* now, and at most once more as the best */
    }
    llap_map m;
    if (llap_map_open(t->o.state, &m) == LLAP_OK) {
        n = n > m.size ? n : m.size;
        llap_map_close(&m);
    }
    return n;
}

llap_status task_training_room(const task_training *t, size_t n_bytes)
{
    if (t->o.state == NULL) return LLAP_OK;
    uint64_t    n_free = 0;
    llap_status st = llap_file_room(t->o.state, &n_free);
    if (access(t->o.state, F_OK) != 0) n_bytes *= 2; /* the next one is written beside it */
    if (st == LLAP_OK && n_free < n_bytes)
        st = llap_fail(LLAP_EIO,
                       "%s: the state of training takes about %.1f MB, its folder has %.1f MB left",
                       t->o.state, 1e-6 * (double)n_bytes, 1e-6 * (double)n_free);
    return st;
}

/* -------- create, destroy -------- */

static llap_status copy_options(task_training *t, const task_training_opts *o,
                                const task_fact *fact, size_t n)
{
    t->o = *o;
    t->fact = llap_arena_new(&t->arena, n, sizeof *t->fact);
    t->n_facts = n;
    bool ok = t->fact != NULL;
    if (o->state != NULL)
        ok = (t->o.state = llap_arena_strndup(&t->arena, o->state, strlen(o->state))) != NULL && ok;
    if (o->log != NULL)
        ok = (t->o.log = llap_arena_strndup(&t->arena, o->log, strlen(o->log))) != NULL && ok;
    if (o->run != NULL)
        ok = (t->o.run = llap_arena_strndup(&t->arena, o->run, strlen(o->run))) != NULL && ok;
    for (size_t i = 0; i < n && ok; i++) {
        t->fact[i].name = llap_arena_strndup(&t->arena, fact[i].name, strlen(fact[i].name));
        t->fact[i].value = llap_arena_strndup(&t->arena, fact[i].value, strlen(fact[i].value));
        t->fact[i].may_differ = fact[i].may_differ;
        ok = t->fact[i].name != NULL && t->fact[i].value != NULL;
    }
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* What is not as the state has it, though it may be. */
static void say_differences(task_training *t)
{
    for (size_t i = 0; i < t->n_facts; i++) {
        char key[96];
        snprintf(key, sizeof key, "run.%s", t->fact[i].name);
        const char *was = t->fact[i].may_differ ? llap_tensors_metadata(t->old, key) : NULL;
        if (was == NULL || strcmp(was, t->fact[i].value) == 0) continue;
        t->other = true;
        llap_logf(t->o.messages, LLAP_LOG_WARNING,
                  "%s: the %s was %s and is %s now: the training goes on, but not to the same "
                  "numbers as in one go",
                  t->o.state, t->fact[i].name, llap_text_show(was).text,
                  llap_text_show(t->fact[i].value).text);
    }
}

static llap_status open_state(task_training *t)
{
    if (t->o.state == NULL) return LLAP_OK;
    const bool there = access(t->o.state, F_OK) == 0;
    if (!t->o.resume && there && task_state_is(t->o.state))
        return llap_fail(
            LLAP_EINVAL,
            "%s: is the state of a training that was interrupted; resume it, or remove "
            "the file to start anew",
            t->o.state);
    if (!t->o.resume && there)
        return llap_fail(LLAP_EINVAL,
                         "%s: is there already and no state of a training; take another name for "
                         "--state",
                         t->o.state);
    if (!there) {
        if (t->o.resume && !t->o.finished)
            llap_logf(t->o.messages, LLAP_LOG_INFO, "%s: no state there, training from the start",
                      t->o.state);
        return LLAP_OK;
    }
    const llap_status st = task_state_open(t->o.state, t->fact, t->n_facts, &t->old);
    if (st == LLAP_OK) say_differences(t);
    return st == LLAP_OK ? training_read_notes(t) : st;
}

llap_status task_training_create(const task_training_opts *o, const task_fact *fact, size_t n,
                                 task_training **out)
{
    *out = NULL;
    task_training *t = llap_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    llap_status st = copy_options(t, o, fact, n);
    if (st == LLAP_OK) st = open_state(t);
    if (st == LLAP_OK && !t->o.finished) st = open_log(t); /* else it is whole */
    if (st == LLAP_OK) *out = t;
    else task_training_destroy(t);
    return st;
}

void task_training_destroy(task_training *t)
{
    if (t == NULL) return;
    for (ended *e = t->ended; e != NULL; e = e->next) task_weights_destroy(e->weights);
    if (t->log != NULL) fclose(t->log);
    llap_tensors_close(t->old);
    llap_arena_deinit(&t->arena);
    llap_free(t);
}
