/* A whole training that is stopped again and again while a third of its states cannot be written:
 * the same model as an undisturbed one. */
#ifndef LLAP_TESTS_TASK_LOSSLESS_H
#define LLAP_TESTS_TASK_LOSSLESS_H

#include "folder.h"

#include "base/file.h"
#include "model/model.h"

static int stop_in_a_while(void *user, const llap_progress_event *e)
{
    assert_true(e->total > 0); /* every stage knows how many steps */
    return --*(int *)user == 0;
}

static void save_trained(const llap_panel *p, const llap_train_opts *o, const char *path)
{
    llap_model *m;
    CHECK_OK(llap_train(p, o, &m));
    CHECK_OK(llap_model_save(m, path));
    llap_model_destroy(m);
}

/* every: steps between two stops */
static void check_lossless(const llap_panel *p, llap_train_opts o, int every)
{
    const char *whole = in_folder("lossless-whole"), *other = in_folder("lossless-other");
    const char *state = in_folder("lossless.state");
    llap_status st = LLAP_ECANCELLED;
    llap_model *m = NULL;
    int64_t     n_failed = 0;
    int         n_stops = 0;
    save_trained(p, &o, whole);
    o.state = state;
    o.save_every = 1e-9;
    o.resume = 1;
    for (int i = 0; st == LLAP_ECANCELLED && i < 200; i++) {
        int left = every + i;
        o.progress = (llap_progress){ stop_in_a_while, &left };
        (void)ll_writer_fail_every(3);
        st = llap_train(p, &o, &m);
        n_failed += ll_writer_fail_every(0);
        n_stops += st == LLAP_ECANCELLED;
    }
    CHECK_OK(st);
    CHECK_OK(llap_model_save(m, other));
    llap_model_destroy(m);
    assert_true(n_stops > 1);
    assert_true(n_failed > 3);
    check_same_file(whole, other);
    unlink(state);
}

#endif
