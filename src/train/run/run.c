#include "train/run/run.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "nn/async_results.h"
#include "train/run/recipe.h"
#include "train/run/run_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* -------- one stage -------- */

typedef struct stage_run {
    ll_training_run *t;
    const ll_stage  *s;
    ll_run_progress  g;
    ll_weights      *best;
    int64_t          saved_step; /* of the last state written; -1: none */
    double           began;      /* when */
    int64_t          together;   /* steps that are handed over at once, */
    int64_t          most;       /* and how many that may become */
    bool             alone;      /* the next one by itself: it is not finite */
    double           spent;      /* seconds of the steps measured, */
    int64_t          measured;   /* so many: not the first, for which much is made ready */
    bool             begun, told;
} stage_run;

static llap_status report(stage_run *r, double loss)
{
    const ll_run_progress *g = &r->g;
    char                   note[96];
    int                    n = 0;
    if (!isnan(loss)) n = snprintf(note, sizeof note, "loss %.4g", loss);
    else note[0] = '\0';
    if (!isnan(g->score))
        snprintf(note + n, sizeof note - (size_t)n, "  val %.4g (best %.4g)", g->score, g->best);
    return ll_report(r->t->o.progress,
                     &(llap_progress_event){ r->s->name, g->step, r->s->n_steps, "steps", note });
}

/* One non-finite step too many. It has changed no weight: the state is that after the step before
 * it. */
static llap_status give_up(stage_run *r, const char *what)
{
    const ll_stage *s = r->s;
    const char     *state = r->t->o.state;
    char            kept[LL_DETAIL_MAX] = "no state was kept; try a smaller `lr`";
    if (state != NULL && training_save(r->t, s, &r->g, r->best) == LLAP_OK)
        r->saved_step = r->g.step;
    if (r->saved_step >= 0)
        snprintf(kept, sizeof kept,
                 "the state after step %" PRId64
                 " is in %s; try a smaller `lr`: with `resume` from there, or from the start "
                 "without that file",
                 r->saved_step, state);
    return ll_fail(LLAP_ENUMERIC,
                   "%s: step %" PRId64 ": %s; %" PRId64
                   " such steps were skipped already, which is the limit; %s",
                   s->name, r->g.step + 1, what, r->g.n_skipped, kept);
}

/* Neither the best weights of the stage nor its last ones have a finite score. */
static bool has_diverged(const stage_run *r)
{
    return r->s->evaluate != NULL && r->g.best_step < 0 && !isfinite(r->g.score);
}

/* Nothing of the stage is worth going on with: the state is that before it. */
static llap_status give_up_stage(stage_run *r)
{
    const char *state = r->t->o.state;
    char        how[LL_DETAIL_MAX] = "try a smaller `lr`";
    r->g.finished = 1;
    (void)training_save(r->t, r->s, &r->g, NULL);
    if (state != NULL)
        snprintf(how, sizeof how,
                 "try a smaller `lr`: with `resume` this stage begins anew, without %s the "
                 "whole training",
                 state);
    return ll_fail(LLAP_ENUMERIC,
                   "%s: has diverged, no validation score was finite; its rate was %g: %s",
                   r->s->name, r->s->lr, how);
}

static llap_status not_finite(stage_run *r, double loss)
{
    const ll_stage *s = r->s;
    const char     *known = isfinite(loss) ? "the gradient" : "the loss";
    char            what[512];
    snprintf(what, sizeof what, "%s is not finite", known);
    if (s->find_non_finite != NULL) {
        const llap_status st = s->find_non_finite(s->user, r->g.step, what, sizeof what);
        if (st == LLAP_ENOMEM) snprintf(what, sizeof what, "%s is not finite", known);
        else if (st != LLAP_OK) return st;
    }
    if (r->g.n_skipped >= s->max_skipped) return give_up(r, what);
    r->g.n_skipped++;
    ll_logf(r->t->o.messages, LLAP_LOG_WARNING,
            "%s: step %" PRId64 ": %s; the step is skipped (%" PRId64 " of %" PRId64 ")", s->name,
            r->g.step + 1, what, r->g.n_skipped, s->max_skipped);
    return LLAP_OK;
}

static llap_status count_step(stage_run *r, double loss, double norm)
{
    assert(r->g.step < r->s->n_steps);
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
    assert(r->together <= r->most);
    r->together = r->most = 1;
    ll_params_drop(r->s->params);
}

/* It gets no better. */
static bool worn_out(const stage_run *r)
{
    return r->s->patience > 0 && r->g.n_worse >= r->s->patience;
}

/* Scores, keeps what is better, writes the log. */
static llap_status evaluate(stage_run *r)
{
    const ll_stage  *s = r->s;
    ll_run_progress *g = &r->g;
    const double     loss = g->n_summed > 0 ? g->sum / (double)g->n_summed : NAN;
    const int64_t    every = s->eval_every > 0 ? s->eval_every : s->n_steps;
    const int64_t    number = (g->step + every - 1) / every;
    assert(every > 0 && g->step <= s->n_steps);
    bool        better = false;
    llap_status st = LLAP_OK;
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
        st = ll_params_pull(s->params);
        if (st != LLAP_OK) return st;
        g->best = g->score;
        g->best_step = g->step;
        assert(isfinite(g->best));
        g->n_worse = 0;
        ll_weights_take(r->best, s->params);
    } else if (s->evaluate != NULL && number >= s->patience_from && g->best_step >= 0) {
        g->n_worse++;
    }
    if (isfinite(g->least) && loss > 10.0 * g->least)
        ll_logf(r->t->o.messages, LLAP_LOG_WARNING,
                "%s: diverging after step %" PRId64 ": the mean loss is %.4g, it was %.4g before",
                s->name, g->step, loss, g->least);
    if (s->evaluate != NULL && !isfinite(g->score))
        ll_logf(r->t->o.messages, LLAP_LOG_WARNING,
                "%s: the validation score after step %" PRId64 " is not finite", s->name, g->step);
    g->least = fmin(g->least, loss);
    g->sum = 0.0;
    g->n_summed = 0;
    return training_line(r->t, s, g, loss, better);
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
    assert(n >= 1 && n <= r->most);
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
    assert(r->s->results != NULL && n <= LL_ASYNC_RESULTS);
    const ll_stage *s = r->s;
    llap_status     st = queue(r, n);
    *made = 0;
    if (st == LLAP_OK) st = s->results(s->user, r->g.step, n, loss, norm);
    if (st != LLAP_OK) return st;
    while (*made < n && isfinite(loss[*made]) && isfinite(norm[*made])) (*made)++;
    r->alone = *made < n;
    assert(*made >= 0 && *made <= n);
    if (!r->alone) return LLAP_OK;
    st = ll_params_back(s->params);
    return st == LLAP_OK ? queue(r, *made) : st;
}

/* The next steps, at least one unless it has to come alone. */
static llap_status make_steps(stage_run *r, double *loss, double *norm, int64_t *made)
{
    const ll_stage *s = r->s;
    const double    start = now();
    const int64_t   n = n_together(r);
    llap_status     st = n > 1 ? ll_params_keep(s->params) : LLAP_OK;
    if (n > 1 && st == LLAP_OK) {
        st = make_together(r, n, loss, norm, made);
        if (st == LLAP_ENOMEM && ll_params_back(s->params) != LLAP_OK) return st;
    }
    if (st == LLAP_ENOMEM) go_alone(r);
    if (n == 1 || st == LLAP_ENOMEM) {
        r->alone = false;
        *made = 1;
        st = s->step(s->user, r->g.step, loss, norm);
    }
    const double took = now() - start;
    if (r->begun) r->spent += took, r->measured += *made;
    r->begun = true;
    if (took < 0.5 * AT_ONCE && r->together < r->most) r->together *= 2;
    if (took > 2.0 * AT_ONCE && r->together > 1) r->together /= 2;
    return st;
}

/* Is there an evaluation after so many steps? */
static bool is_look(const ll_stage *s, int64_t step)
{
    if (step == s->n_steps) return true;
    if (s->look != NULL) return s->look(s->user, step);
    return s->eval_every > 0 && step % s->eval_every == 0;
}

/* Once, after a few steps: how long they take here, where there are many. What is done does not
 * depend on it. */
static void say_time(stage_run *r)
{
    enum { FEW = 5, MANY = 100 };
    const ll_stage *s = r->s;
    if (r->told || s->rounds == 0 || s->n_steps < MANY || r->measured < FEW) return;
    const double each = r->spent / (double)r->measured,
                 left = each * ((double)s->n_steps * (double)s->rounds - (double)r->g.step);
    char more[48] = "";
    r->told = true;
    if (s->rounds > 1) snprintf(more, sizeof more, " for each of %lld", (long long)s->rounds);
    ll_logf(r->t->o.messages, LLAP_LOG_INFO,
            "%s: about %.2g minutes here, checks not counted: at most %lld steps%s of %.3g s; %s",
            s->name, left / 60.0, (long long)s->n_steps, more, each, s->compare);
}

/* Step by step to the end, from wherever the stage is. */
static llap_status run_steps(stage_run *r)
{
    const ll_stage  *s = r->s;
    ll_training_run *t = r->t;
    ll_run_progress *g = &r->g;
    llap_status      st = report(r, NAN);
    while (st == LLAP_OK && g->step < s->n_steps && !worn_out(r)) {
        double  loss[LL_ASYNC_RESULTS] = { NAN }, norm[LL_ASYNC_RESULTS] = { 0.0 };
        int64_t made = 0;
        st = make_steps(r, loss, norm, &made);
        if (st != LLAP_OK) return ll_fail_in(st, "%s: step %" PRId64, s->name, g->step + 1);
        if (made == 0) continue; /* the first is not finite, and comes alone now */
        assert(made <= LL_ASYNC_RESULTS && g->step + made <= s->n_steps);
        for (int64_t i = 0; i < made; i++) {
            st = count_step(r, loss[i], norm[i]);
            if (st != LLAP_OK) return st;
        }
        say_time(r);
        if (is_look(s, g->step)) st = evaluate(r);
        if (st != LLAP_OK) return st;
        const bool due = now() - t->saved >= t->o.save_every ||
                         (t->o.save_steps > 0 && g->step % t->o.save_steps == 0);
        if (due && !worn_out(r) && g->step < s->n_steps &&
            training_save(t, s, g, r->best) == LLAP_OK)
            r->saved_step = g->step;
        st = report(r, loss[made - 1]);
    }
    return st == LLAP_ECANCELLED ? training_stopped(t, s, g, r->best, r->saved_step >= 0) : st;
}

/* What the state that was there says about this stage. */
static llap_status restore(stage_run *r)
{
    const ll_stage *s = r->s;
    ll_tensors     *old = r->t->old;
    ll_run_progress_start(&r->g);
    if (old == NULL || !ll_state_has(old, s->name)) return LLAP_OK;
    llap_status st = ll_state_progress(old, s->name, &r->g);
    if (st == LLAP_OK && !r->g.finished) st = ll_state_store(old, s->name, s->params);
    if (st == LLAP_OK && (r->g.finished || r->g.best_step >= 0))
        st = ll_state_weights(old, s->name, r->best);
    if (st != LLAP_OK) return ll_fail_in(st, "%s", r->t->o.state);
    if (r->g.finished) ll_weights_give(r->best, s->params);
    st = ll_params_push(s->params);
    if (st == LLAP_OK && !r->g.finished) {
        r->saved_step = r->g.step;
        if (r->t->other) r->g.n_skipped = 0;
        ll_logf(r->t->o.messages, LLAP_LOG_INFO, "%s: going on after step %" PRId64, s->name,
                r->g.step);
    }
    return st;
}

/* The stage becomes one that is over, with what it ended with. */
static llap_status end_stage(stage_run *r)
{
    ll_training_run *t = r->t;
    const bool       was = r->g.finished != 0, chosen = r->g.best_step >= 0;
    assert(r->best != NULL);
    if (!was && chosen) ll_weights_give(r->best, r->s->params);
    llap_status st = was      ? LLAP_OK
                     : chosen ? ll_params_push(r->s->params)
                              : ll_params_pull(r->s->params);
    if (st != LLAP_OK) return st;
    if (!was && !chosen) ll_weights_take(r->best, r->s->params);
    r->g.finished = 1;
    if (!was) r->g.log_size = t->log_size;
    st = training_end(t, r->s->name, &r->g, r->best, was ? 0.0 : now() - r->began);
    r->best = NULL;
    if (st == LLAP_OK && !was) (void)training_save(t, r->s, &r->g, NULL);
    return st;
}

ll_stage ll_stage_of(const ll_recipe_stage *how)
{
    ll_stage s = LL_STAGE_DEFAULT;
    s.n_steps = how->steps;
    s.eval_every = how->check_every;
    s.patience = how->patience;
    s.patience_from = how->patience_from;
    s.max_skipped = how->max_skipped;
    s.lr = how->lr;
    return s;
}

void ll_stage_in_micro_batches(const llap_log *log, const char *stage, const ll_backend *backend,
                               int64_t batch, int64_t rows)
{
    assert(rows >= 1 && rows <= batch);
    ll_logf(log, LLAP_LOG_WARNING,
            "%s: %s: too little memory for batches of %" PRId64 ": split into %" PRId64
            " micro-batches",
            stage, backend->name, batch, (batch + rows - 1) / rows);
}

llap_status ll_training_run_stage(ll_training_run *t, const ll_stage *s, ll_stage_result *result)
{
    assert(s->name != NULL && s->params != NULL && s->step != NULL);
    stage_run   r = { .t = t, .s = s, .saved_step = -1, .began = now(), .together = 1 };
    llap_status st = ll_weights_create(s->params, &r.best);
    r.most = s->results == NULL ? 1 : LL_ASYNC_RESULTS;
    if (st == LLAP_OK) st = restore(&r);
    if (st == LLAP_OK && !r.g.finished) {
        st = ll_training_run_room(t, t->o.state == NULL ? 0 : training_bytes(t, s->params));
        if (st == LLAP_EIO && t->ended != NULL) { /* what was trained so far is worth more */
            ll_logf(t->o.messages, LLAP_LOG_WARNING, "%s: %s", s->name, llap_error_detail());
            st = LLAP_OK;
        }
        t->saved = now();
        if (st == LLAP_OK) st = run_steps(&r);
    }
    if (st == LLAP_OK) st = has_diverged(&r) ? give_up_stage(&r) : end_stage(&r);
    if (st == LLAP_OK && result != NULL)
        *result = (ll_stage_result){ .n_steps = r.g.step,
                                     .best_step = r.g.best_step,
                                     .n_skipped = r.g.n_skipped,
                                     .score = s->evaluate == NULL ? NAN : r.g.best };
    ll_weights_destroy(r.best);
    return st;
}

double ll_training_run_spent(const ll_training_run *t) { return now() - t->opened; }

/* -------- the table -------- */

static void table_line(const llap_log *log, const ended *e)
{
    const ll_run_progress *g = &e->progress;
    if (e->next != NULL) table_line(log, e->next);
    char best[32] = "the end", score[32] = "none", took[32] = "before";
    if (g->best_step >= 0) {
        snprintf(best, sizeof best, "%" PRId64, g->best_step);
        snprintf(score, sizeof score, "%.4f", g->best);
    }
    if (e->seconds > 0) snprintf(took, sizeof took, "%.1f s", e->seconds);
    ll_logf(log, LLAP_LOG_INFO, "%-12s %8" PRId64 " %10s %11s %8" PRId64 " %9s", e->name, g->step,
            best, score, g->n_skipped, took);
}

static void table_json(ll_json_writer *w, const ended *e)
{
    const ll_run_progress *g = &e->progress;
    if (e->next != NULL) table_json(w, e->next);
    assert(g->finished);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", e->name);
    ll_json_put_int(w, "steps", g->step);
    if (g->best_step >= 0) ll_json_put_int(w, "best_after", g->best_step);
    else ll_json_put_null(w, "best_after"); /* the last weights */
    ll_json_put_double(w, "validation", g->best_step >= 0 ? g->best : NAN);
    ll_json_put_int(w, "skipped", g->n_skipped);
    ll_json_put_double(w, "seconds", e->seconds > 0 ? e->seconds : NAN);
    ll_json_close(w, '}');
}

llap_status ll_training_run_table(const ll_training_run *t, char **report)
{
    struct rusage  used = { 0 };
    size_t         n;
    ll_json_writer w = { 0 };
    const bool     known = getrusage(RUSAGE_SELF, &used) == 0;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "stages", '[');
    if (t->ended != NULL) table_json(&w, t->ended);
    ll_json_close(&w, ']');
    if (known) ll_json_put_int(&w, "peak_memory_bytes", (int64_t)used.ru_maxrss * 1024);
    ll_json_close(&w, '}');
    const llap_status st = ll_json_finish(&w, report, &n);
    if (t->ended == NULL) return st;
    ll_logf(t->o.messages, LLAP_LOG_INFO, "%-12s %8s %10s %11s %8s %9s", "stage", "steps",
            "best after", "validation", "skipped", "took");
    table_line(t->o.messages, t->ended);
    if (known)
        ll_logf(t->o.messages, LLAP_LOG_INFO, "peak memory %.2f GB",
                (double)used.ru_maxrss * 1024e-9);
    return st;
}
