/* A model for tests of the public headers: two targets, anchors alone. */
#ifndef LLAP_TESTS_API_MODEL_H
#define LLAP_TESTS_API_MODEL_H

#include "check_status.h"

#include <llapdiff/llapdiff.h>

static llap_panel *panel;
static llap_model *model;

/* step: NULL leaves it to training. */
static int train_model(int64_t n_rows, const char *horizon, const char *step)
{
    llap_synth_sizes how = { 0 };
    llap_train_opts  train = { 0 };
    how.entities = 3;
    how.variables = 2;
    how.rows = n_rows;
    train.context = "2d";
    train.horizon = horizon;
    train.step = step;
    train.size = LLAP_TRAIN_SIZE_ANCHOR;
    train.training = "{\"anchor\": {\"steps\": 30}}";
    CHECK_OK(llap_panel_synth(&how, &panel));
    CHECK_OK(llap_train(panel, &train, &model));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return 0;
}

#endif
