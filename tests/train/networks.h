/* Networks of a size of seconds for tests: a panel, and what is trained on it. */
#ifndef LLAP_TESTS_TRAIN_NETWORKS_H
#define LLAP_TESTS_TRAIN_NETWORKS_H

#include "folder.h"

#include "base/rng/rng.h"
#include "data/panel_builder.h"
#include "model/model.h"

#define HOUR INT64_C(3600000000000)

enum { ENTITIES = 2, ROWS = 700, FEW = 144 };

#define QUICK                                                                      \
    "\"training\": { \"anchor\": { \"cycles\": 0, \"steps\": 30, \"rows\": 16 }, " \
    "\"networks\": { \"check_rows\": 16, \"final_rows\": 16 } }"

static llap_panel *panel;
static llap_model *joint, *rows;

/* A drift that both entities share, a cycle, noise; a fifth of the cells is missing. */
static llap_panel *make_panel(uint64_t n_rows)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    static double     drift[ROWS];
    const ll_rng      d = ll_rng_make(5, LL_STREAM_TEST, 99, 0, 0);
    for (uint64_t i = 1; i < ROWS; i++)
        drift[i] = 0.9 * drift[i - 1] + 0.4 * (double)ll_rng_normal(&d, i);
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "no2", 3, &v));
    CHECK_OK(ll_panel_builder_var(b, "wind", 4, &v));
    for (int k = 0; k < ENTITIES; k++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", k);
        CHECK_OK(ll_panel_builder_entity(b, name, strlen(name), &e));
        const ll_rng r = ll_rng_make(5, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        for (uint64_t i = 0; i < n_rows; i++) {
            const double x = 50 + 8 * (drift[i] + cos(0.26179938 * (double)i + k)) +
                             (double)ll_rng_normal(&r, 4 * i + 1);
            const float row[2] = { ll_rng_uniform(&r, 4 * i + 2) < 0.2f ? NAN : (float)x,
                                   ll_rng_normal(&r, 4 * i + 3) };
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static llap_train_opts how(llap_train_view view)
{
    llap_train_opts o = { 0 };
    o.target = "no2";
    o.context = "1d";
    o.horizon = "12";
    o.no_climate = 1; /* half the candidates to fit */
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.view = view;
    o.members = 2;
    o.steps = 3;
    o.batch = 8;
    o.config = in_folder("quick");
    return o;
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel(ROWS);
    write_text(in_folder("quick"), "{ " QUICK " }");
    const llap_train_opts a = how(LLAP_TRAIN_VIEW_JOINT), b = how(LLAP_TRAIN_VIEW_ROWS);
    CHECK_OK(llap_train(panel, &a, &joint));
    CHECK_OK(llap_train(panel, &b, &rows));
    /* So short a training would leave the answer to the anchor. */
    joint->network->config.features.answer_source = rows->network->config.features.answer_source =
        LL_ANSWER_BY_NETWORKS;
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(joint);
    llap_model_destroy(rows);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static void let_networks_fill(llap_model *m, int64_t first)
{
    m->network->config.features.fill_past = m->network->config.features.fill_both = first;
}

#endif
