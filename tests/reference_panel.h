/* A small panel and how the reference profile is trained on it. */
#ifndef LLAP_TESTS_TASK_REFERENCE_PANEL_H
#define LLAP_TESTS_TASK_REFERENCE_PANEL_H

#include "check.h"

#include "data/panel.h"
#include "model/model.h"
#include "predict/tables/answer.h"

enum { N = 2, ROWS = 121, L = 12, QUERIES = 4, D = 2, C = 1, GROUPS = 5, TEN = 10, SEED = 3 };
#define HOUR INT64_C(3600000000000)

/* Two stations on a grid, two variables, some values missing. */
static llap_panel *make_panel(void)
{
    static const char *const entity[] = { "a", "b" }, *const var[] = { "v", "w" };
    static const int64_t start[] = { 0, ROWS, 2 * ROWS };
    ll_panel_draft       d = { .axis = LL_AXIS_UTC,
                               .n_entities = N,
                               .n_vars = D,
                               .entity = entity,
                               .var = var,
                               .start = start };
    llap_panel          *p;
    CHECK_OK(ll_panel_create(&d, &p));
    for (int64_t i = 0; i < N * ROWS; i++) {
        d.time[i] = i % ROWS * HOUR;
        for (int64_t v = 0; v < D; v++) {
            if ((i * 7 + v * 3) % 11 == 0) continue;
            d.value[i * D + v] = (float)(sin(0.26 * (double)i) + 0.3 * cos(1.7 * (double)(i + v)));
            ll_bit_set(d.observed, i * D + v);
        }
    }
    return p;
}

/* Resolved, for what is below llap_train. */
static llap_train_opts options(const char *history)
{
    llap_train_opts o = { 0 }, all;
    o.target = "v", o.context = "12", o.horizon = "4";
    o.profile = LLAP_TRAIN_PROFILE_REFERENCE;
    o.steps = 50; /* 16, 10 and 50 */
    o.batch = GROUPS;
    o.seed = SEED;
    o.history = history;
    CHECK_OK(llap_options_resolve(llap_train_options(), &o, &all, sizeof all));
    return all;
}

#endif
