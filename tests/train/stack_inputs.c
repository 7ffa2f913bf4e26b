/* What a stack looks at beside its targets: directions as vectors, glitches of inputs left out, and
 * known inputs at the times that are asked about. */
#include "sensors.h"

#include "base/alloc.h"
#include "predict/view/stack_view.h"
#include "train/stack/inputs.h"

#include <math.h>

enum { HOURS = 1500, AHEAD = 24 };

typedef struct made {
    bool  calm;   /* the wind has no speed */
    bool  glitch; /* the rain gauge reads 65535 now and then */
    float heat;   /* added to "heat" after the last load */
} made;

/* "load" goes by "heat", up or down as "mode" says: the anchor, which adds effects up, sees
 * neither. "dir" wanders over north; "dust" lies between 0 and 360 too. */
static llap_panel *make(made m)
{
    static const char *const name[] = {
        "load", "dir", "wind speed", "rain", "dust", "heat", "mode"
    };
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    const ll_rng      r = ll_rng_make(8, LL_STREAM_TEST, 0, 0, 0);
    double            heat = 0, dir = 0, dust = 180;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    for (int i = 0; i < 7; i++)
        if (!m.calm || i != 2) CHECK_OK(ll_panel_builder_var(b, name[i], strlen(name[i]), &v));
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (uint64_t i = 0; i < HOURS; i++) {
        const bool  ahead = i >= HOURS - AHEAD;
        const float mode = (i / 31) % 3 == 0 ? -1.0f : 1.0f;
        float       row[7];
        int         n = 0;
        heat = .95 * heat + .5 * (double)ll_rng_normal(&r, 5 * i);
        dir = fmod(dir + 360 + 30 * (double)ll_rng_normal(&r, 5 * i + 1), 360);
        dust = fmin(fmax(dust + 40 * (double)ll_rng_normal(&r, 5 * i + 2), 1), 359);
        const float rain = ll_rng_uniform(&r, 5 * i + 3) < .1f ? (float)(i % 13) : 0.0f;
        row[n++] = ahead ? NAN : 40 + 3 * mode * (float)heat + ll_rng_normal(&r, 5 * i + 4);
        row[n++] = (float)dir;
        if (!m.calm) row[n++] = 5;
        row[n++] = m.glitch && i % 400 == 300 ? 65535 : rain;
        row[n++] = (float)dust;
        row[n++] = (float)heat + (ahead ? m.heat : 0);
        row[n++] = mode;
        CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, row));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_train_opts options(void)
{
    return (llap_train_opts){ .size = LLAP_TRAIN_SIZE_ANCHOR,
                              .target = "load",
                              .context = "2d",
                              .horizon = "24",
                              .training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}}" };
}

static ll_stack *look(const llap_panel *p, llap_model **m)
{
    const llap_train_opts o = options();
    const int64_t         var = ll_panel_find_var(p, "load");
    ll_stack             *s;
    CHECK_OK(llap_train(p, &o, m));
    CHECK_OK(ll_stack_inputs(*m, p, &var, &(ll_stack_inputs_opts){ 0 }, &s));
    return s;
}

static const ll_stack_input *input(const ll_stack *s, const char *name, ll_stack_turn turn)
{
    for (int64_t i = 0; i < s->layout.inputs; i++)
        if (strcmp(s->input[i].name, name) == 0 && s->input[i].turn == turn) return &s->input[i];
    return NULL;
}

static void directions_are_vectors(void **state)
{
    (void)state;
    llap_panel *p = make((made){ 0 });
    llap_model *m;
    ll_stack   *s = look(p, &m);
    assert_int_equal(s->layout.inputs, 7); /* of six */
    assert_null(input(s, "dir", LL_STACK_STRAIGHT));
    assert_string_equal(input(s, "dir", LL_STACK_SINE)->by, "wind speed");
    const ll_stack_input *cosine = input(s, "dir", LL_STACK_COSINE);
    assert_non_null(cosine);
    assert_non_null(input(s, "dust", LL_STACK_STRAIGHT)); /* full circle, but never over north */
    double              *y = ll_new(HOURS, sizeof *y);
    const int64_t        c = 1 + (cosine - s->input);
    const ll_stack_place at = ll_stack_find(m, s, c, p);
    ll_stack_readings(&at, p, 0, y);
    for (int i = 0; i < HOURS; i++) {
        const double angle = (double)p->value[i * p->n_vars + 1] * 3.14159265358979323846 / 180;
        assert_true(fabs(y[i] - 5 * cos(angle)) < 1e-9);
    }
    ll_free(y);
    ll_stack_destroy(s);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void a_direction_without_a_speed_has_length_one(void **state)
{
    (void)state;
    llap_panel *p = make((made){ .calm = true });
    llap_model *m;
    ll_stack   *s = look(p, &m);
    assert_null(input(s, "dir", LL_STACK_SINE)->by);
    const double sd = s->sd[1 + (input(s, "dir", LL_STACK_SINE) - s->input)];
    assert_true(sd > .5 && sd < .9);
    ll_stack_destroy(s);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void glitches_of_inputs_are_left_out_and_rain_is_not(void **state)
{
    (void)state;
    llap_panel   *dry = make((made){ 0 }), *wet = make((made){ .glitch = true });
    llap_model   *m, *n;
    ll_stack     *s = look(dry, &m), *g = look(wet, &n);
    const int64_t c = 1 + (input(s, "rain", LL_STACK_STRAIGHT) - s->input);
    ll_stack_view v, w;
    assert_true(fabs(g->sd[c] / s->sd[c] - 1) < .05);
    CHECK_OK(ll_stack_view_init(&v, m, s, dry));
    CHECK_OK(ll_stack_view_init(&w, n, g, wet));
    assert_int_equal(v.series[c].n, HOURS); /* no shower is a glitch */
    assert_int_equal(w.series[c].n, HOURS - HOURS / 400);
    ll_stack_view_deinit(&v);
    ll_stack_view_deinit(&w);
    ll_stack_destroy(s);
    ll_stack_destroy(g);
    llap_model_destroy(m);
    llap_model_destroy(n);
    llap_panel_destroy(dry);
    llap_panel_destroy(wet);
}

/* Sixty columns of noise, the last of which has the change to come in it. */
static void of_many_variables_the_best_are_looked_at(void **state)
{
    (void)state;
    enum { MANY = 60, STEPS = 600 };
    ll_panel_builder *b;
    llap_panel       *p;
    llap_model       *m;
    uint32_t          v, e;
    const ll_rng      r = ll_rng_make(9, LL_STREAM_TEST, 0, 0, 0);
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "load", 4, &v));
    for (int i = 0; i < MANY; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", i);
        CHECK_OK(ll_panel_builder_var(b, name, strlen(name), &v));
    }
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (int i = 0; i < STEPS; i++) {
        float row[1 + MANY];
        row[0] = ll_rng_normal(&r, (uint64_t)i);
        for (int k = 0; k < MANY; k++)
            row[1 + k] = ll_rng_normal(&r, (uint64_t)(STEPS * (k + 2) + i));
        row[MANY] +=
            2 * ll_rng_normal(&r, (uint64_t)(i + 12)); /* what comes half a horizon later */
        CHECK_OK(ll_panel_builder_row(b, e, i * HOUR, row));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    ll_stack *s = look(p, &m);
    assert_int_equal(s->layout.inputs, 40);
    assert_non_null(input(s, "x59", LL_STACK_STRAIGHT));
    ll_stack_destroy(s);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* The median of the last hour. */
static double last_median(const llap_model *m, const llap_panel *p)
{
    const llap_forecast_opts o = { .quantiles = "0.5" };
    llap_answer             *a;
    CHECK_OK(llap_forecast(m, p, &o, &a));
    const double x = a->number[a->n_numbers * (a->n_rows - 1) + 1];
    llap_answer_destroy(a);
    return x;
}

static void members_see_known_inputs_ahead(void **state)
{
    (void)state;
    llap_panel     *p = make((made){ 0 }), *warm = make((made){ .heat = 2 });
    llap_train_opts o = options();
    llap_model     *m;
    o.size = LLAP_TRAIN_SIZE_STACK;
    o.known = "heat,mode";
    o.inputs = "heat";
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}, \"stack\": {\"rows\": 2000, "
                 "\"seeds\": 1, \"steps\": 220, \"batch\": 64}}";
    CHECK_OK(llap_train(p, &o, &m));
    assert_int_equal(m->stack->layout.known, 2);
    const bool up = p->value[p->n_rows * p->n_vars - 1] > 0;
    /* By the truth 3 a degree; so short a training sees a good part of it. */
    const double more = last_median(m, warm) - last_median(m, p);
    assert_true((up ? more : -more) > 2);
    llap_model_destroy(m);
    llap_panel_destroy(p);
    llap_panel_destroy(warm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_are_vectors),
        cmocka_unit_test(a_direction_without_a_speed_has_length_one),
        cmocka_unit_test(glitches_of_inputs_are_left_out_and_rain_is_not),
        cmocka_unit_test(of_many_variables_the_best_are_looked_at),
        cmocka_unit_test(members_see_known_inputs_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
