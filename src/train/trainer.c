#include <llapdiff/trainer.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "train/train.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

struct llap_trainer {
    const llap_panel *panel;
    llap_train_opts   o;       /* its strings are the arena's; its progress is report() */
    llap_progress     outside; /* the caller's */
    ll_arena          arena;
    llap_model       *model; /* once trained, until taken */
    bool              done;
    atomic_bool       stop;
};

/* The caller is told of everything; who asks to stop does not matter. */
static int report(void *user, const llap_progress_event *event)
{
    llap_trainer *t = user;
    const int     said = t->outside.report == NULL ? 0 : t->outside.report(t->outside.user, event);
    return said != 0 || atomic_load(&t->stop);
}

static llap_status keep_strings(llap_trainer *t)
{
    for (const llap_option *o = llap_train_options(); o->name != NULL; o++) {
        const bool text = o->type == LLAP_OPTION_TEXT || o->type == LLAP_OPTION_LIST ||
                          o->type == LLAP_OPTION_FILE || o->type == LLAP_OPTION_JSON;
        const char **at = (const char **)((char *)&t->o + o->offset);
        if (!text || *at == NULL) continue;
        const size_t n = strlen(*at) + 1;
        char        *copy = ll_arena_new(&t->arena, n, 1);
        if (copy == NULL) return LLAP_ENOMEM;
        memcpy(copy, *at, n);
        *at = copy;
    }
    return LLAP_OK;
}

llap_status llap_trainer_create(const llap_panel *panel, const llap_train_opts *o,
                                llap_trainer **out)
{
    *out = NULL;
    llap_status st = ll_train_check(panel, o);
    if (st != LLAP_OK) return st;
    llap_trainer *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    *t = (llap_trainer){ .panel = panel, .o = *o, .outside = o->progress };
    t->o.progress = (llap_progress){ report, t };
    st = keep_strings(t);
    if (st == LLAP_OK) *out = t;
    else llap_trainer_destroy(t);
    return st;
}

llap_status llap_trainer_run(llap_trainer *t)
{
    if (t->done) return LLAP_OK;
    assert(t->model == NULL);
    const llap_status st = llap_train(t->panel, &t->o, &t->model);
    atomic_store(&t->stop, false);
    t->done = st == LLAP_OK;
    assert(t->done == (t->model != NULL));
    if (st == LLAP_ECANCELLED && t->o.state != NULL) t->o.resume = 1; /* its own state by now */
    return st;
}

void llap_trainer_stop(llap_trainer *t) { atomic_store(&t->stop, true); }

llap_status llap_trainer_take(llap_trainer *t, llap_model **out)
{
    *out = t->model;
    t->model = NULL;
    if (*out != NULL) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, t->done ? "the model was taken already"
                                        : "there is no model: training has not ended");
}

void llap_trainer_destroy(llap_trainer *t)
{
    if (t == NULL) return;
    llap_model_destroy(t->model);
    ll_arena_deinit(&t->arena);
    ll_free(t);
}
