/* A made-up network of sensors, and what is read from an evaluation. */
#ifndef LLAP_TESTS_TASK_SENSORS_H
#define LLAP_TESTS_TASK_SENSORS_H

#include "check.h"

#include "base/json/json.h"
#include "base/rng/rng.h"
#include "data/panel_builder.h"
#include "model/model.h"
#include "predict/tables/answer.h"

#define HOUR INT64_C(3600000000000)

enum { ENTITIES = 3, ROWS = 1200 };

/* A slow drift and a daily cycle, measured with noise; a fifth of the cells is missing. */
static inline llap_panel *make_rows_on(const ll_axis *axis, const char *first, const char *second,
                                       int n_entities, uint64_t n_rows)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, first, strlen(first), &v));
    CHECK_OK(ll_panel_builder_var(b, second, strlen(second), &v));
    for (int k = 0; k < n_entities; k++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", k);
        CHECK_OK(ll_panel_builder_entity(b, name, strlen(name), &e));
        const ll_rng r = ll_rng_make(5, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        double       drift = 0;
        for (uint64_t i = 0; i < n_rows; i++) {
            drift = 0.98 * drift + 0.2 * (double)ll_rng_normal(&r, 4 * i);
            const double x = 50 + 10 * k + 8 * (drift + cos(0.2617993878 * (double)i + k)) +
                             (double)ll_rng_normal(&r, 4 * i + 1);
            const float row[2] = { ll_rng_uniform(&r, 4 * i + 2) < 0.2f ? NAN : (float)x,
                                   ll_rng_normal(&r, 4 * i + 3) };
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, axis, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static inline llap_panel *make_panel_on(const ll_axis *axis, const char *first, const char *second,
                                        int n_entities)
{
    return make_rows_on(axis, first, second, n_entities, ROWS);
}

static inline llap_panel *make_panel(const char *first, const char *second, int n_entities)
{
    return make_panel_on(&LL_AXIS_UTC, first, second, n_entities);
}

/* An anchor of "no2", fitted in a moment. The caller destroys it. */
static inline llap_model *train_anchor(const llap_panel *p)
{
    llap_train_opts o = { 0 };
    llap_model     *m;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "no2";
    o.context = "2d";
    o.horizon = "24";
    o.training = "{\"anchor\": {\"steps\": 60, \"rows\": 24}}";
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

/* A number of one forecaster of the first target: score(j, "climatology", "crps"). */
static inline double score(const ll_json *j, const char *name, const char *what)
{
    const size_t n = ll_json_length(j, "targets[0].scores");
    for (size_t i = 0; i < n; i++) {
        char        path[128];
        const char *found = "";
        double      v = NAN;
        snprintf(path, sizeof path, "targets[0].scores[%zu].name", i);
        CHECK_OK(ll_json_string(j, path, &found));
        if (strcmp(found, name) != 0) continue;
        snprintf(path, sizeof path, "targets[0].scores[%zu].%s", i, what);
        CHECK_OK(ll_json_need(j, path));
        CHECK_OK(ll_json_double(j, path, -HUGE_VAL, HUGE_VAL, &v));
        return v;
    }
    fail_msg("no forecaster '%s'", name);
    return NAN;
}

static inline ll_json *evaluate(const llap_model *m, const llap_panel *p,
                                const llap_evaluate_opts *o)
{
    char    *text;
    ll_json *j;
    CHECK_OK(llap_evaluate(m, p, o, NULL, &text));
    CHECK_OK(ll_json_parse(text, strlen(text), "scores", NULL, &j));
    llap_text_free(text);
    return j;
}

#endif
