/* What goes its own way within a run: stages without a loop here, notes, anchors. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "model/fill_file.h"
#include "model/model_parts.h"
#include "train/run/run.h"
#include "train/run/run_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* -------- stages -------- */

llap_status ll_training_run_enter(ll_training_run *t, const ll_stage *s, bool *finished)
{
    assert(s->name != NULL && s->params == NULL);
    t->own = *s;
    t->own_saved = *finished = false;
    ll_run_progress_start(&t->at);
    t->began = t->saved = now();
    if (t->old == NULL || !ll_state_has(t->old, s->name)) return LLAP_OK;
    const llap_status st = ll_state_progress(t->old, s->name, &t->at);
    if (st != LLAP_OK) return ll_fail_in(st, "%s", t->o.state);
    *finished = t->at.finished != 0;
    if (*finished) return training_end(t, s->name, &t->at, NULL, 0.0);
    t->own_saved = true;
    ll_logf(t->o.messages, LLAP_LOG_INFO, "%s: going on after step %" PRId64, s->name, t->at.step);
    return LLAP_OK;
}

llap_status ll_training_run_line(ll_training_run *t)
{
    ll_run_progress *g = &t->at;
    const double     loss = g->n_summed > 0 ? g->sum / (double)g->n_summed : NAN;
    g->sum = 0.0;
    g->n_summed = 0;
    return training_line(t, &t->own, g, loss, false);
}

llap_status ll_training_run_at(ll_training_run *t, const ll_stage_at *at)
{
    const ll_stage  *s = &t->own;
    ll_run_progress *g = &t->at;
    llap_status      st = LLAP_OK;
    char             text[96];
    g->step = at->step;
    if (!isnan(at->loss)) g->sum += at->loss, g->n_summed++;
    if (at->line) st = ll_training_run_line(t);
    if (st != LLAP_OK) return st;
    if (now() - t->saved >= t->o.save_every && training_save(t, s, g, NULL) == LLAP_OK)
        t->own_saved = true;
    if (isnan(at->loss)) snprintf(text, sizeof text, "%.64s", at->note);
    else snprintf(text, sizeof text, "%.64s  loss %.4g", at->note, at->loss);
    st = ll_report(t->o.progress,
                   &(llap_progress_event){ s->name, at->step, s->n_steps, "steps", text });
    return st == LLAP_ECANCELLED ? training_stopped(t, s, g, NULL, t->own_saved) : st;
}

llap_status ll_training_run_leave(ll_training_run *t, double score)
{
    ll_run_progress *g = &t->at;
    assert(!g->finished); /* then leaving is not for it */
    g->step = t->own.n_steps;
    g->best_step = isnan(score) ? -1 : g->step;
    g->best = g->score = score;
    g->finished = 1;
    g->log_size = t->log_size;
    const llap_status st = training_end(t, t->own.name, g, NULL, now() - t->began);
    if (st == LLAP_OK) (void)training_save(t, &t->own, g, NULL);
    return st;
}

/* -------- notes -------- */

static ll_run_note *find_note(const ll_training_run *t, const char *name)
{
    ll_run_note *x = t->notes;
    while (x != NULL && strcmp(x->name, name) != 0) x = x->next;
    return x;
}

bool ll_training_run_find(const ll_training_run *t, const char *name, double *v, size_t n)
{
    const ll_run_note *x = find_note(t, name);
    if (x == NULL || x->n != n) return false;
    if (n > 0) memcpy(v, x->v, n * sizeof *v);
    return true;
}

llap_status ll_training_run_keep(ll_training_run *t, const char *name, const double *v, size_t n)
{
    ll_run_note *x = find_note(t, name);
    if (x == NULL) {
        x = ll_arena_new(&t->arena, 1, sizeof *x);
        const char *copy = ll_arena_strndup(&t->arena, name, strlen(name));
        if (x == NULL || copy == NULL) return LLAP_ENOMEM;
        *x = (ll_run_note){ .name = copy, .next = t->notes };
        t->notes = x;
    }
    if (x->v == NULL || x->n != n) {
        x->n = 0;
        x->v = ll_arena_new(&t->arena, n, sizeof *x->v);
        if (x->v == NULL) return LLAP_ENOMEM;
    }
    x->n = n;
    if (n > 0) memcpy(x->v, v, n * sizeof *v);
    return LLAP_OK;
}

void ll_training_run_forget(ll_training_run *t, const char *prefix)
{
    for (ll_run_note **x = &t->notes; *x != NULL;)
        if (strncmp((*x)->name, prefix, strlen(prefix)) == 0) *x = (*x)->next;
        else x = &(*x)->next;
}

llap_status training_read_notes(ll_training_run *t)
{
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < ll_tensors_count(t->old) && st == LLAP_OK; i++) {
        const ll_tensor_info x = ll_tensors_at(t->old, i);
        const char          *name = ll_state_note(&x);
        if (name != NULL) st = ll_training_run_keep(t, name, x.data, (size_t)x.n_elements);
    }
    return st;
}

void ll_training_run_save(ll_training_run *t, const char *what)
{
    ll_run_progress g = { .finished = 1 }; /* no stage is running */
    const ll_stage  s = { .name = what };
    (void)training_save(t, &s, &g, NULL);
}

/* -------- anchors -------- */

void ll_training_run_anchors(ll_training_run *t, ll_anchor_model *const *anchor, int64_t n)
{
    t->anchor = (const ll_anchor_model *const *)anchor;
    t->n_anchors = n;
}

llap_status ll_training_run_read_anchors(ll_training_run *t, const ll_model_frame *f,
                                         ll_anchor_model **anchor, int64_t *n)
{
    const char *text = t->old == NULL ? NULL : ll_tensors_metadata(t->old, LL_STATE_ANCHORS);
    ll_json    *j = NULL;
    *n = 0;
    if (text == NULL) return LLAP_OK;
    llap_status   st = ll_json_parse(text, strlen(text), "config", NULL, &j);
    const int64_t there = st == LLAP_OK ? (int64_t)ll_json_length(j, "anchors") : 0;
    for (; st == LLAP_OK && *n < f->n_targets && *n < there; *n += st == LLAP_OK)
        st = ll_anchor_load(t->old, j, *n, f, &anchor[*n]);
    ll_json_destroy(j);
    return st == LLAP_OK ? st : ll_fail_in(st, "%s", t->o.state);
}

/* -------- the filling -------- */

void ll_training_run_filling(ll_training_run *t, const ll_run_filling *at) { t->filling = *at; }

llap_status ll_training_run_read_filling(const ll_training_run *t, const ll_model_frame *f,
                                         ll_run_filling *at, ll_filling **out)
{
    const char *text = t->old == NULL ? NULL : ll_tensors_metadata(t->old, LL_STATE_FILLING);
    ll_json    *j = NULL;
    size_t      n_tensors = 0;
    int64_t     stage = 0;
    *at = (ll_run_filling){ 0 };
    *out = NULL;
    if (text == NULL) return LLAP_OK;
    llap_status st = ll_json_parse(text, strlen(text), "config", NULL, &j);
    if (st == LLAP_OK) st = ll_json_int(j, "stage", LL_FILLING_PLAIN, LL_FILLING_SETTLED, &stage);
    if (st == LLAP_OK && ll_json_has(j, "score"))
        st = ll_json_double(j, "score", -1e300, 1e300, &at->score);
    if (st == LLAP_OK && (stage < LL_FILLING_SETTLED || ll_json_has(j, "filling")))
        st = ll_fill_load(t->old, j, f, out, &n_tensors);
    ll_json_destroy(j);
    if (st != LLAP_OK) return ll_fail_in(st, "%s", t->o.state);
    at->stage = (ll_filling_stage)stage;
    at->filling = *out;
    return LLAP_OK;
}
