#include "task/training.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "nn/ahead.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A stage that is over, as later states keep it. */
typedef struct ended {
    const char   *name;
    task_progress progress;
    task_weights *weights;
    double        seconds; /* that it took here; 0: it was over before */
    struct ended *next;    /* the one before it */
} ended;

struct task_training {
    task_training_opts o; /* strings in the arena */
    task_fact         *fact;
    size_t             n_facts;
    llap_tensors      *old;   /* the state that was there; NULL: none */
    bool               other; /* it is of a run that differs, in what may */
    ended             *ended;
    FILE              *log;
    int64_t            log_size;
    double             saved; /* when a state was last attempted */
    llap_arena         arena;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

static llap_status log_line(task_training *t, const task_stage *s, const task_progress *g,
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
    llap_status st = llap_json_finish(&w, &text, &n);
    if (st == LLAP_OK && (fprintf(t->log, "%s\n", text) < 0 || fflush(t->log) != 0))
        st = llap_fail_errno(errno, "%s", t->o.log);
    if (st == LLAP_OK) t->log_size += (int64_t)n + 1;
    llap_free(text);
    return st;
}

/* -------- the state -------- */

static llap_status write_state(task_training *t, const task_stage *s, const task_progress *g,
                               const task_weights *best)
{
    llap_tensors_writer *w = NULL;
    llap_arena           rooms = { 0 };
    llap_status          st = llap_params_pull(s->params);
    if (st == LLAP_OK) st = task_state_writer(t->fact, t->n_facts, &w);
    for (const ended *e = t->ended; e != NULL && st == LLAP_OK; e = e->next) {
        void *room = llap_arena_new(&rooms, 1, TASK_PROGRESS_ROOM);
        st = room == NULL ? LLAP_ENOMEM : task_state_add_progress(w, e->name, &e->progress, room);
        if (st == LLAP_OK) st = task_state_add_weights(w, e->name, e->weights);
    }
    if (st == LLAP_OK && !g->finished) {
        void *room = llap_arena_new(&rooms, 1, TASK_PROGRESS_ROOM);
        st = room == NULL ? LLAP_ENOMEM : task_state_add_progress(w, s->name, g, room);
        if (st == LLAP_OK) st = task_state_add_store(w, s->name, s->params);
        if (st == LLAP_OK && g->best_step >= 0) st = task_state_add_weights(w, s->name, best);
    }
    if (st == LLAP_OK && t->log != NULL) (void)fsync(fileno(t->log)); /* lines before their state */
    if (st == LLAP_OK) st = llap_tensors_writer_save(w, t->o.state);
    llap_tensors_writer_destroy(w);
    llap_arena_deinit(&rooms);
    return st;
}

/* A state that cannot be written is said; training goes on and the state before it stays. */
static llap_status save(task_training *t, const task_stage *s, task_progress *g,
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

static size_t state_bytes(const task_training *t, const llap_params *p)
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
        if (t->o.resume)
            llap_logf(t->o.messages, LLAP_LOG_INFO, "%s: no state there, training from the start",
                      t->o.state);
        return LLAP_OK;
    }
    const llap_status st = task_state_open(t->o.state, t->fact, t->n_facts, &t->old);
    if (st == LLAP_OK) say_differences(t);
    return st;
}

llap_status task_training_create(const task_training_opts *o, const task_fact *fact, size_t n,
                                 task_training **out)
{
    *out = NULL;
    task_training *t = llap_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    llap_status st = copy_options(t, o, fact, n);
    if (st == LLAP_OK) st = open_state(t);
    if (st == LLAP_OK) st = open_log(t);
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

/* -------- one stage -------- */

typedef struct stage_run {
    task_training    *t;
    const task_stage *s;
    task_progress     g;
    task_weights     *best;
    int64_t           saved_step; /* of the last state written; -1: none */
    double            began;      /* when */
    int64_t           together;   /* steps that are handed over at once, */
    int64_t           most;       /* and how many that may become */
    bool              alone;      /* the next one by itself: it is not finite */
} stage_run;

static llap_status report(stage_run *r, double loss)
{
    const task_progress *g = &r->g;
    char                 note[96];
    int                  n = 0;
    if (!isnan(loss)) n = snprintf(note, sizeof note, "loss %.4g", loss);
    else note[0] = '\0';
    if (!isnan(g->score))
        snprintf(note + n, sizeof note - (size_t)n, "  val %.4g (best %.4g)", g->score, g->best);
    return llap_report(r->t->o.progress,
                       &(llap_progress_event){ r->s->name, g->step, r->s->n_steps, "steps", note });
}

/* A step too many. It has changed no weight, so the state is that after the one before it. */
static llap_status give_up(stage_run *r, const char *what)
{
    const task_stage *s = r->s;
    const char       *state = r->t->o.state;
    char              kept[LLAP_DETAIL_MAX] = "no state was kept; a smaller --lr may help";
    if (state != NULL && save(r->t, s, &r->g, r->best) == LLAP_OK) r->saved_step = r->g.step;
    if (r->saved_step >= 0)
        snprintf(kept, sizeof kept,
                 "the state after step %" PRId64
                 " is in %s; a smaller --lr may help, from there with --resume or, without that "
                 "file, from the start",
                 r->saved_step, state);
    return llap_fail(LLAP_ENUMERIC,
                     "%s: step %" PRId64 ": %s; %" PRId64
                     " such steps were skipped before it, no more are; %s",
                     s->name, r->g.step + 1, what, r->g.n_skipped, kept);
}

static llap_status not_finite(stage_run *r, double loss)
{
    const task_stage *s = r->s;
    const char       *known = isfinite(loss) ? "the gradient" : "the loss";
    char              what[512];
    snprintf(what, sizeof what, "%s is not finite", known);
    if (s->blame != NULL) {
        const llap_status st = s->blame(s->user, r->g.step, what, sizeof what);
        if (st == LLAP_ENOMEM) snprintf(what, sizeof what, "%s is not finite", known);
        else if (st != LLAP_OK) return st;
    }
    if (r->g.n_skipped >= s->max_skipped) return give_up(r, what);
    r->g.n_skipped++;
    llap_logf(r->t->o.messages, LLAP_LOG_WARNING,
              "%s: step %" PRId64 ": %s; the step is skipped (%" PRId64 " of %" PRId64 ")", s->name,
              r->g.step + 1, what, r->g.n_skipped, s->max_skipped);
    return LLAP_OK;
}

static llap_status count_step(stage_run *r, double loss, double norm)
{
    llap_status st = LLAP_OK;
    if (!isfinite(loss) || !isfinite(norm)) {
        st = not_finite(r, loss);
    } else {
        r->g.sum += loss;
        r->g.n_summed++;
    }
    r->g.step += st == LLAP_OK;
    return st;
}

/* No room for the copy of the store: one by one from now on. */
static void go_alone(stage_run *r)
{
    r->together = r->most = 1;
    llap_params_drop(r->s->params);
}

/* Scores, keeps what is better, writes the log. *stop: it gets no better. */
static llap_status evaluate(stage_run *r, bool *stop)
{
    const task_stage *s = r->s;
    task_progress    *g = &r->g;
    const double      loss = g->n_summed > 0 ? g->sum / (double)g->n_summed : NAN;
    const int64_t     every = s->eval_every > 0 ? s->eval_every : s->n_steps;
    const int64_t     number = (g->step + every - 1) / every;
    bool              better = false;
    llap_status       st = LLAP_OK;
    if (s->evaluate != NULL) st = s->evaluate(s->user, g->step, &g->score);
    if (st == LLAP_ENOMEM && r->most > 1) {
        go_alone(r);
        st = s->evaluate(s->user, g->step, &g->score);
    }
    if (st != LLAP_OK) return st;
    if (s->evaluate != NULL && number >= s->select_from)
        better = g->score < (1.0 - s->relative) * g->best - s->margin || /* inf - inf is not less */
                 (isinf(g->best) && isfinite(g->score));
    if (better) {
        st = llap_params_pull(s->params);
        if (st != LLAP_OK) return st;
        g->best = g->score;
        g->best_step = g->step;
        g->n_worse = 0;
        task_weights_take(r->best, s->params);
    } else if (s->evaluate != NULL && number >= s->patience_from && g->best_step >= 0) {
        g->n_worse++;
    }
    if (isfinite(g->least) && loss > 10.0 * g->least)
        llap_logf(r->t->o.messages, LLAP_LOG_WARNING,
                  "%s: diverging after step %" PRId64 ": the mean loss is %.4g, it was %.4g before",
                  s->name, g->step, loss, g->least);
    if (s->evaluate != NULL && !isfinite(g->score))
        llap_logf(r->t->o.messages, LLAP_LOG_WARNING,
                  "%s: the validation score after step %" PRId64 " is not finite", s->name,
                  g->step);
    g->least = fmin(g->least, loss);
    g->sum = 0.0;
    g->n_summed = 0;
    *stop = s->patience > 0 && g->n_worse >= s->patience;
    return log_line(r->t, s, g, loss, better);
}

/* -------- several steps before anyone looks -------- */

static const double AT_ONCE = 0.2; /* seconds that they should take: somebody may want to stop */

/* As many as there are before the next evaluation, state or the end. */
static int64_t n_together(const stage_run *r)
{
    const int64_t step = r->g.step;
    const int64_t at[] = { r->s->n_steps, r->s->eval_every, r->t->o.save_steps };
    int64_t       n = r->alone ? 1 : r->together;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] > 0 && at[i] - step % at[i] < n) n = at[i] - step % at[i];
    return n;
}

/* Hands n steps over, the numbers of which follow those made. */
static llap_status queue(stage_run *r, int64_t n)
{
    llap_status st = LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++)
        st = r->s->step(r->s->user, r->g.step + i, NULL, NULL);
    return st;
}

/* n steps, or as many of them as are finite: *made. */
static llap_status make_together(stage_run *r, int64_t n, double *loss, double *norm, int64_t *made)
{
    const task_stage *s = r->s;
    llap_status       st = queue(r, n);
    *made = 0;
    if (st == LLAP_OK) st = s->results(s->user, r->g.step, n, loss, norm);
    if (st != LLAP_OK) return st;
    while (*made < n && isfinite(loss[*made]) && isfinite(norm[*made])) (*made)++;
    r->alone = *made < n;
    if (!r->alone) return LLAP_OK;
    st = llap_params_back(s->params);
    return st == LLAP_OK ? queue(r, *made) : st;
}

/* The next steps, at least one unless it has to come alone. */
static llap_status make_steps(stage_run *r, double *loss, double *norm, int64_t *made)
{
    const task_stage *s = r->s;
    const double      start = now();
    const int64_t     n = n_together(r);
    llap_status       st = n > 1 ? llap_params_keep(s->params) : LLAP_OK;
    if (n > 1 && st == LLAP_OK) {
        st = make_together(r, n, loss, norm, made);
        if (st == LLAP_ENOMEM && llap_params_back(s->params) != LLAP_OK) return st;
    }
    if (st == LLAP_ENOMEM) go_alone(r);
    if (n == 1 || st == LLAP_ENOMEM) {
        r->alone = false;
        *made = 1;
        st = s->step(s->user, r->g.step, loss, norm);
    }
    const double took = now() - start;
    if (took < 0.5 * AT_ONCE && r->together < r->most) r->together *= 2;
    if (took > 2.0 * AT_ONCE && r->together > 1) r->together /= 2;
    return st;
}

/* Step by step to the end, from wherever the stage is. */
static llap_status run_steps(stage_run *r)
{
    const task_stage *s = r->s;
    task_training    *t = r->t;
    task_progress    *g = &r->g;
    bool              stop = false;
    llap_status       st = report(r, NAN);
    while (st == LLAP_OK && g->step < s->n_steps && !stop) {
        double  loss[LLAP_AHEAD] = { NAN }, norm[LLAP_AHEAD] = { 0.0 };
        int64_t made = 0;
        st = make_steps(r, loss, norm, &made);
        if (st != LLAP_OK) return llap_fail_in(st, "%s: step %" PRId64, s->name, g->step + 1);
        if (made == 0) continue; /* the first is not finite, and comes alone now */
        for (int64_t i = 0; i < made; i++) {
            st = count_step(r, loss[i], norm[i]);
            if (st != LLAP_OK) return st;
        }
        if (g->step == s->n_steps || (s->eval_every > 0 && g->step % s->eval_every == 0))
            st = evaluate(r, &stop);
        if (st != LLAP_OK) return st;
        const bool due = now() - t->saved >= t->o.save_every ||
                         (t->o.save_steps > 0 && g->step % t->o.save_steps == 0);
        if (due && !stop && g->step < s->n_steps && save(t, s, g, r->best) == LLAP_OK)
            r->saved_step = g->step;
        st = report(r, loss[made - 1]);
    }
    if (st == LLAP_OK || st != LLAP_ECANCELLED) return st;
    if (t->o.state == NULL)
        return llap_fail(st, "%s: stopped after step %" PRId64 "; no state was kept", s->name,
                         g->step);
    if (save(t, s, g, r->best) == LLAP_OK)
        return llap_fail(st,
                         "%s: stopped after step %" PRId64 " of %" PRId64
                         "; resume to go on, the state is in %s",
                         s->name, g->step, s->n_steps, t->o.state);
    return llap_fail(st, "%s: stopped after step %" PRId64 ", which could not be saved: %s",
                     s->name, g->step,
                     r->saved_step < 0 ? "nothing is kept" : "the state before it is");
}

/* What the state that was there says about this stage. */
static llap_status restore(stage_run *r)
{
    const task_stage *s = r->s;
    llap_tensors     *old = r->t->old;
    task_progress_start(&r->g);
    if (old == NULL || !task_state_has(old, s->name)) return LLAP_OK;
    llap_status st = task_state_progress(old, s->name, &r->g);
    if (st == LLAP_OK && !r->g.finished) st = task_state_store(old, s->name, s->params);
    if (st == LLAP_OK && (r->g.finished || r->g.best_step >= 0))
        st = task_state_weights(old, s->name, r->best);
    if (st != LLAP_OK) return llap_fail_in(st, "%s", r->t->o.state);
    if (r->g.finished) task_weights_give(r->best, s->params);
    st = llap_params_push(s->params);
    if (st == LLAP_OK && !r->g.finished) {
        r->saved_step = r->g.step;
        if (r->t->other) r->g.n_skipped = 0;
        llap_logf(r->t->o.messages, LLAP_LOG_INFO, "%s: going on after step %" PRId64, s->name,
                  r->g.step);
    }
    return st;
}

/* The stage becomes one that is over, with what it ended with. */
static llap_status end_stage(stage_run *r)
{
    task_training *t = r->t;
    ended         *e = llap_arena_new(&t->arena, 1, sizeof *e);
    const char    *name = llap_arena_strndup(&t->arena, r->s->name, strlen(r->s->name));
    if (e == NULL || name == NULL) return LLAP_ENOMEM;
    const bool was = r->g.finished != 0, chosen = r->g.best_step >= 0;
    if (!was && chosen) task_weights_give(r->best, r->s->params);
    llap_status st = was      ? LLAP_OK
                     : chosen ? llap_params_push(r->s->params)
                              : llap_params_pull(r->s->params);
    if (st != LLAP_OK) return st;
    if (!was && !chosen) task_weights_take(r->best, r->s->params);
    r->g.finished = 1;
    if (!was) r->g.log_size = t->log_size;
    *e = (ended){ .name = name,
                  .progress = r->g,
                  .weights = r->best,
                  .seconds = was ? 0.0 : now() - r->began,
                  .next = t->ended };
    r->best = NULL;
    t->ended = e;
    if (!was) (void)save(t, r->s, &r->g, NULL);
    return LLAP_OK;
}

task_stage task_stage_of(const task_recipe_stage *how)
{
    task_stage s = TASK_STAGE_DEFAULT;
    s.n_steps = how->steps;
    s.eval_every = how->check_every;
    s.patience = how->patience;
    s.patience_from = how->patience_from;
    s.max_skipped = how->max_skipped;
    return s;
}

llap_status task_training_stage(task_training *t, const task_stage *s, task_result *result)
{
    stage_run   r = { .t = t, .s = s, .saved_step = -1, .began = now(), .together = 1 };
    llap_status st = task_weights_create(s->params, &r.best);
    r.most = s->results == NULL ? 1 : LLAP_AHEAD;
    if (st == LLAP_OK) st = restore(&r);
    if (st == LLAP_OK && !r.g.finished) {
        st = task_training_room(t, t->o.state == NULL ? 0 : state_bytes(t, s->params));
        if (st == LLAP_EIO && t->ended != NULL) { /* what was trained so far is worth more */
            llap_logf(t->o.messages, LLAP_LOG_WARNING, "%s: %s", s->name, llap_error_detail());
            st = LLAP_OK;
        }
        t->saved = now();
        if (st == LLAP_OK) st = run_steps(&r);
    }
    if (st == LLAP_OK) st = end_stage(&r);
    if (st == LLAP_OK && result != NULL)
        *result = (task_result){ .n_steps = r.g.step,
                                 .best_step = r.g.best_step,
                                 .n_skipped = r.g.n_skipped,
                                 .score = s->evaluate == NULL ? NAN : r.g.best };
    task_weights_destroy(r.best);
    return st;
}

/* -------- the table -------- */

static void table_line(const llap_log *log, const ended *e)
{
    const task_progress *g = &e->progress;
    if (e->next != NULL) table_line(log, e->next);
    char best[32] = "the end", score[32] = "none", took[32] = "before";
    if (g->best_step >= 0) {
        snprintf(best, sizeof best, "%" PRId64, g->best_step);
        snprintf(score, sizeof score, "%.4f", g->best);
    }
    if (e->seconds > 0) snprintf(took, sizeof took, "%.1f s", e->seconds);
    llap_logf(log, LLAP_LOG_INFO, "%-12s %8" PRId64 " %10s %11s %8" PRId64 " %9s", e->name, g->step,
              best, score, g->n_skipped, took);
}

static void table_json(llap_json_writer *w, const ended *e)
{
    const task_progress *g = &e->progress;
    if (e->next != NULL) table_json(w, e->next);
    llap_json_open(w, NULL, '{');
    llap_json_put_string(w, "name", e->name);
    llap_json_put_int(w, "steps", g->step);
    if (g->best_step >= 0) llap_json_put_int(w, "best_after", g->best_step);
    else llap_json_put_null(w, "best_after"); /* the last weights */
    llap_json_put_double(w, "validation", g->best_step >= 0 ? g->best : NAN);
    llap_json_put_int(w, "skipped", g->n_skipped);
    llap_json_put_double(w, "seconds", e->seconds > 0 ? e->seconds : NAN);
    llap_json_close(w, '}');
}

llap_status task_training_table(const task_training *t, char **report)
{
    struct rusage    used = { 0 };
    size_t           n;
    llap_json_writer w = { 0 };
    const bool       known = getrusage(RUSAGE_SELF, &used) == 0;
    llap_json_open(&w, NULL, '{');
    llap_json_open(&w, "stages", '[');
    if (t->ended != NULL) table_json(&w, t->ended);
    llap_json_close(&w, ']');
    if (known) llap_json_put_int(&w, "peak_memory_bytes", (int64_t)used.ru_maxrss * 1024);
    llap_json_close(&w, '}');
    const llap_status st = llap_json_finish(&w, report, &n);
    if (t->ended == NULL) return st;
    llap_logf(t->o.messages, LLAP_LOG_INFO, "%-12s %8s %10s %11s %8s %9s", "stage", "steps",
              "best after", "validation", "skipped", "took");
    table_line(t->o.messages, t->ended);
    if (known)
        llap_logf(t->o.messages, LLAP_LOG_INFO, "peak memory %.2f GB",
                  (double)used.ru_maxrss * 1024e-9);
    return st;
}
