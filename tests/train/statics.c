/* Static inputs from a file, or from columns of the data, to answers about entities that training
 * has not seen. */
#include "folder.h"
#include "saved.h"
#include "sensors.h"

#include "data/csv/csv.h"
#include "predict/view/stack_view.h"
#include "predict/view/static_view.h"

#include <llapdiff/stream.h>

enum { SHOPS = 40, NEW = 10, DAYS = 120 };

static double level_of(int e) /* 2, 8, 32 or 128 by kind */
{
    static const double level[] = { 2, 8, 32, 128 };
    const ll_rng        r = ll_rng_make(5, LL_STREAM_TEST, 7, 0, 0);
    return level[e % 4] * exp(.1 * (double)ll_rng_normal(&r, (uint64_t)e));
}

static const char *kind_of(int e)
{
    static const char *const kinds[] = { "kiosk", "shop", "market", "centre" };
    return kinds[e % 4];
}

/* Rows of shops first .. last - 1 as CSV with the columns kind and area; n rows of each. */
static void write_rows(const char *name, int first, int last, int n)
{
    FILE        *f = fopen(in_folder(name), "w");
    const ll_rng r = ll_rng_make(6, LL_STREAM_TEST, 0, 0, 0);
    fprintf(f, "entity,time,kind,area,sales\n");
    for (int e = first; e < last; e++) {
        double x = 0;
        for (int i = 0; i < n; i++) {
            x = .7 * x + .2 * (double)ll_rng_normal(&r, (uint64_t)(e * DAYS + i));
            fprintf(f, "s%02d,%d,%s,%d,%.4f\n", e, 1704067200 + 86400 * (DAYS - n + i), kind_of(e),
                    100 + e % 4, level_of(e) * exp(x));
        }
    }
    fclose(f);
}

static void write_table(const char *name, int first, int last)
{
    FILE *f = fopen(in_folder(name), "w");
    fprintf(f, "entity,kind,area\n");
    for (int e = first; e < last; e++) fprintf(f, "s%02d,%s,%d\n", e, kind_of(e), 100 + e % 4);
    fclose(f);
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");
    fputs(text, f);
    fclose(f);
}

static llap_panel *read_panel(const char *name, const char *const *columns)
{
    ll_csv_opts       o = LL_CSV_DEFAULT;
    const char *const path = in_folder(name);
    llap_panel       *p = NULL;
    o.columns = columns;
    CHECK_OK(ll_csv_read(&path, 1, &o, &p, NULL));
    return p;
}

/* What was warned of. */
static char heard[4096];

static void hear(void *user, llap_log_level level, const char *text)
{
    (void)user;
    if (level == LLAP_LOG_INFO) return;
    strncat(heard, text, sizeof heard - strlen(heard) - 2);
    strcat(heard, "\n");
}

static const llap_log ears = { .level = LLAP_LOG_INFO, .sink = hear };

static llap_panel *old, *strangers;
static llap_model *model; /* by a file, split by time */
static char        table[512], new_table[512];

static llap_train_opts options(const char *statics)
{
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "sales";
    o.statics = statics;
    o.context = "14d";
    o.horizon = "7";
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 24}}";
    return o;
}

static llap_model *train_with(const char *statics, llap_train_split split)
{
    llap_train_opts o = options(statics);
    llap_model     *m = NULL;
    o.split = split;
    CHECK_OK(llap_train(old, &o, &m));
    return m;
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    write_rows("old.csv", 0, SHOPS, DAYS);
    write_rows("new.csv", SHOPS, SHOPS + NEW, 1);
    write_table("shops.csv", 0, SHOPS);
    write_table("new_shops.csv", SHOPS, SHOPS + NEW);
    snprintf(table, sizeof table, "%s", in_folder("shops.csv"));
    snprintf(new_table, sizeof new_table, "%s", in_folder("new_shops.csv"));
    old = read_panel("old.csv", NULL);
    strangers = read_panel("new.csv", NULL);
    model = train_with(table, LLAP_TRAIN_SPLIT_TIME);
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(old);
    llap_panel_destroy(strangers);
    return remove_folder(state);
}

enum { MOST = 7 * (SHOPS + NEW) };

/* Medians of the forecasts of a panel, in order of its entities; returns how many. */
static size_t ask(const llap_model *m, const llap_panel *p, const char *statics, double *out)
{
    llap_forecast_opts o = { .quantiles = "0.5", .statics = statics, .log = &ears };
    llap_answer       *a = NULL;
    heard[0] = '\0';
    CHECK_OK(llap_forecast(m, p, &o, &a));
    const size_t n = a->n_rows;
    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) out[i] = a->number[2 * i + 1];
    llap_answer_destroy(a);
    return n;
}

/* Mean absolute error of the logarithms of medians, against the level. */
static double off(const double *median, int first, int n)
{
    double sum = 0;
    for (int e = 0; e < n; e++)
        for (int q = 0; q < 7; q++)
            sum += fabs(log(fmax(median[7 * e + q], 1e-3) / level_of(first + e)));
    return sum / (7 * n);
}

static void a_file_tells_the_level_of_new_entities(void **state)
{
    (void)state;
    llap_model *without = train_with("none", LLAP_TRAIN_SPLIT_TIME);
    double      with[MOST], none[MOST], seen[2][MOST];
    assert_int_equal(model->frame.n_statics, 2);
    assert_non_null(model->anchor[0]->chain->statics);
    assert_int_equal(ask(model, strangers, new_table, with), 7 * NEW);
    assert_non_null(strstr(heard, "that their static inputs tell"));
    assert_int_equal(ask(without, strangers, NULL, none), 7 * NEW);
    if (!(off(with, SHOPS, NEW) < .5 * off(none, SHOPS, NEW)))
        fail_msg("off by %g with, %g without", off(with, SHOPS, NEW), off(none, SHOPS, NEW));
    /* entities that training has seen are none of their business */
    const size_t n = ask(model, old, NULL, seen[0]);
    assert_int_equal(ask(without, old, NULL, seen[1]), n);
    assert_memory_equal(seen[0], seen[1], n * sizeof **seen);
    llap_model_destroy(without);
}

static void columns_of_the_data_are_the_same(void **state)
{
    (void)state;
    llap_model  *listed = train_with("kind,area", LLAP_TRAIN_SPLIT_TIME);
    double       file[MOST], list[MOST];
    const size_t n = ask(model, strangers, new_table, file);
    assert_int_equal(ask(listed, strangers, NULL, list), n); /* found by their names */
    assert_memory_equal(file, list, n * sizeof *file);
    llap_model_destroy(listed);
}

static void what_is_missing_or_new_is_warned_of(void **state)
{
    (void)state;
    double told[MOST], none[MOST], odd[MOST];
    (void)ask(model, strangers, new_table, told);
    write_text("odd.csv",
               "area,entity,kind\n101,s40,stall\n,s41,NA\n7000,s42,market\n,elsewhere,x\n");
    (void)ask(model, strangers, in_folder("odd.csv"), odd);
    assert_non_null(strstr(heard, "'kind' of entity 's40': training has not seen 'stall'"));
    assert_non_null(strstr(heard, "'kind' is missing for 8 of 10 entities"));
    assert_non_null(strstr(heard, "'area' of 1 of 10 entities"));
    llap_panel *bare = read_panel("new.csv", (const char *const[]){ "sales", NULL });
    (void)ask(model, bare, NULL, none);
    assert_non_null(strstr(heard, "'kind' is missing for 10 of 10 entities"));
    for (int q = 0; q < 7; q++) assert_true(none[q] != told[q]);
    llap_panel_destroy(bare);
}

static void validation_takes_them_where_entities_are_split(void **state)
{
    (void)state;
    llap_model *with = train_with(table, LLAP_TRAIN_SPLIT_ENTITY);
    llap_model *none = train_with("none", LLAP_TRAIN_SPLIT_ENTITY);
    assert_non_null(with->anchor[0]->chain->statics);
    assert_true(with->anchor[0]->chain->statics->every);
    assert_true(with->anchor[0]->valid_crps < .99 * none->anchor[0]->valid_crps);
    const llap_evaluate_opts o = { .bootstrap = LLAP_ZERO };
    ll_json                 *a = evaluate(with, old, &o), *b = evaluate(none, old, &o);
    const double             crps = score(a, "model", "crps"), pooled = score(b, "model", "crps");
    if (!(crps < pooled)) fail_msg("CRPS %g with, %g without", crps, pooled);
    double told[MOST], all[MOST];
    (void)ask(with, strangers, new_table, told); /* nor are these among its entities */
    (void)ask(none, strangers, NULL, all);
    assert_true(off(told, SHOPS, NEW) < .8 * off(all, SHOPS, NEW));
    ll_json_destroy(a);
    ll_json_destroy(b);
    llap_model_destroy(with);
    llap_model_destroy(none);
}

/* A stream of rows of entities that training has not seen. */
static void streams_answer_the_same(void **state)
{
    (void)state;
    llap_forecast_opts o = { .quantiles = "0.5", .statics = new_table };
    llap_answer       *live = NULL, *batch = NULL;
    llap_stream       *s = NULL;
    const double       level = 0.5;
    double             q = 0;
    CHECK_OK(llap_stream_create(model, &(llap_stream_opts){ .like = strangers }, &s));
    CHECK_OK(llap_stream_take_panel(s, strangers));
    CHECK_OK(llap_stream_forecast(s, &o, &live));
    CHECK_OK(llap_forecast(model, strangers, &o, &batch));
    assert_int_equal(live->n_rows, batch->n_rows);
    assert_memory_equal(live->number, batch->number,
                        batch->n_rows * (size_t)batch->n_numbers * sizeof *batch->number);
    CHECK_FAIL(llap_stream_quantiles(s, "s43", "sales", batch->rows.time, 1, &level, 1, &q),
               LLAP_EUNSUPPORTED, "ask for a forecast"); /* a table says what it does not know */
    llap_answer_destroy(live);
    llap_answer_destroy(batch);
    llap_stream_destroy(s);
}

static void gaps_of_new_entities_are_filled(void **state)
{
    (void)state;
    const llap_impute_opts o = { .statics = new_table, .quantiles = "0.5" };
    llap_answer           *a = NULL;
    write_text("gap.csv", "entity,time,kind,area,sales\ns43,1704067200,centre,103,\n"
                          "s43,1704153600,centre,103,\ns40,1704067200,kiosk,100,\n"
                          "s40,1704153600,kiosk,100,\n");
    llap_panel *p = read_panel("gap.csv", NULL);
    CHECK_OK(llap_impute(model, p, &o, &a));
    assert_int_equal(a->n_rows, 4);
    assert_true(a->number[1] > .5 && a->number[1] < 8); /* s40: about 2 */
    assert_true(a->number[2 * 2 + 1] > 40);             /* s43: about 128 */
    llap_answer_destroy(a);
    llap_panel_destroy(p);
}

static void a_saved_model_answers_the_same(void **state)
{
    (void)state;
    const llap_train_split split[] = { LLAP_TRAIN_SPLIT_TIME, LLAP_TRAIN_SPLIT_ENTITY };
    for (int k = 0; k < 2; k++) {
        llap_model *m = train_with("kind", split[k]), *again = NULL;
        double      one[MOST], two[MOST];
        char       *text = NULL;
        CHECK_OK(llap_model_save(m, in_folder("m")));
        CHECK_OK(llap_model_load(in_folder("m"), &again));
        const size_t n = ask(m, strangers, NULL, one);
        assert_int_equal(ask(again, strangers, NULL, two), n);
        assert_memory_equal(one, two, n * sizeof *one);
        CHECK_OK(llap_model_describe(again, 1, &text));
        assert_non_null(strstr(text, "\"static\": [\"kind\"]"));
        llap_text_free(text);
        llap_model_destroy(m);
        llap_model_destroy(again);
    }
}

static void expect(const char *statics, llap_status code, const char *part)
{
    const llap_train_opts o = options(statics);
    llap_model           *m = NULL;
    CHECK_FAIL(llap_train(old, &o, &m), code, part);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a = NULL;
    write_text("twice.csv", "entity,kind\ns00,x\ns01,y\ns00,z\n");
    expect(in_folder("twice.csv"), LLAP_EFORMAT,
           "twice.csv:4: entity 's00' is given twice, first in line 2");
    write_text("short.csv", "entity,kind,area\ns00,x,1\ns01,y\n");
    expect(in_folder("short.csv"), LLAP_EFORMAT, "short.csv:3: expected 3 fields, found 2");
    write_text("others.csv", "entity,kind\nt00,x\n");
    expect(in_folder("others.csv"), LLAP_EINVAL, "names no entity of the data");
    write_text("alone.csv", "entity\ns00\n");
    expect(in_folder("alone.csv"), LLAP_EFORMAT, "found 1 fields");
    expect("none.csv", LLAP_ENOTFOUND, "none.csv");
    expect("kid", LLAP_EINVAL, "no column 'kid' (did you mean 'kind'?)");
    expect("kind,kind", LLAP_EOPTION, "'kind' is given twice");
    expect("sales", LLAP_EINVAL, "'sales' changes: entity 's00'");
    o.statics = "kind";
    CHECK_FAIL(llap_forecast(model, strangers, &o, &a), LLAP_EOPTION, "expected a file");
    write_text("words.csv", "entity,kind,area\ns40,kiosk,wide\n");
    o.statics = in_folder("words.csv");
    CHECK_FAIL(llap_forecast(model, strangers, &o, &a), LLAP_EFORMAT,
               "'area' of entity 's40': expected a number, found 'wide'");
    llap_model *without = train_with("none", LLAP_TRAIN_SPLIT_TIME);
    CHECK_FAIL(llap_forecast(without, strangers, &o, &a), LLAP_EOPTION, "without static inputs");
    llap_model_destroy(without);
}

/* A message has the entity, where both values are, and the values. */
static void what_changes_is_no_static_input(void **state)
{
    (void)state;
    llap_train_opts o = options("kind");
    llap_model     *m = NULL;
    write_text("moved.csv", "entity,time,kind,area,sales\na,0,x,1,5\nb,0,y,2,6\na,86400,x,1,7\n"
                            "b,86400,z,3,8\n");
    llap_panel *p = read_panel("moved.csv", NULL);
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_EINVAL, "'kind' changes: entity 'b': 'y' in ");
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_EINVAL, "moved.csv:3, 'z' in ");
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_EINVAL, "moved.csv:5");
    o.statics = "area";
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_EINVAL, "'area' changes: entity 'b': 2 at ");
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_EINVAL, ", 3 at ");
    llap_panel_destroy(p);
}

/* Saves what no training makes and loads it again. */
static void expect_refused(const char *part)
{
    llap_model *again = NULL;
    CHECK_OK(llap_model_save(model, in_folder("bad")));
    CHECK_FAIL(llap_model_load(in_folder("bad"), &again), LLAP_EFORMAT, part);
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    ll_chain        *c = model->anchor[0]->chain;
    ll_statics      *s = c->statics;
    ll_static_input *kind = &s->input[0], *area = &s->input[1], was = *area;
    const double     loose = c->loose[0], share = kind->share[0], error = s->level.error;
    char *const      level = kind->level[0];
    assert_true(kind->words && !area->words);
    kind->level[0] = kind->level[1];
    expect_refused("out of order");
    kind->level[0] = level;
    kind->share[0] = 2;
    expect_refused("shares");
    kind->share[0] = share;
    area->mean = area->high + 1;
    expect_refused("within low and high");
    *area = was;
    area->sd = -1;
    expect_refused("sd");
    *area = was;
    c->loose[0] = -1;
    expect_refused("loose");
    c->loose[0] = loose;
    s->level.error = 1e300;
    expect_refused("static.error");
    s->level.error = error;
    model->frame.n_statics = 1;
    expect_refused("expected 1 inputs, found 2");
    model->frame.n_statics = 2;
    s->level.beta[0] = 1e300; /* any number: answers stay finite */
    double      far[MOST];
    llap_model *again = NULL;
    CHECK_OK(llap_model_save(model, in_folder("far")));
    CHECK_OK(llap_model_load(in_folder("far"), &again));
    const size_t n = ask(again, strangers, new_table, far);
    for (size_t i = 0; i < n; i++) assert_true(isfinite(far[i]));
    llap_model_destroy(again);
}

/* What the stack sees of the entities of a panel is what the table says, of those of training also
 * where the table is not there any more; a file keeps it. */
static void a_stack_is_told_of_entities(void **state)
{
    (void)state;
    llap_train_opts o = options(table);
    llap_model     *trained, *m;
    ll_static_view  more;
    ll_stack_view   seen, fresh;
    o.size = LLAP_TRAIN_SIZE_STACK;
    o.split = LLAP_TRAIN_SPLIT_ENTITY;
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 24}, \"stack\": {\"rows\": 1200, "
                 "\"seeds\": 1, \"steps\": 15, \"batch\": 64}}";
    CHECK_OK(llap_train(old, &o, &trained));
    CHECK_OK(llap_model_save(trained, in_folder("told.safetensors")));
    llap_model_destroy(trained);
    CHECK_OK(llap_model_load(in_folder("told.safetensors"), &m));
    const size_t terms = (size_t)m->stack->layout.statics;
    assert_int_equal(terms, ll_model_statics(m)->n_terms);
    assert_int_equal(terms, 5); /* four kinds, and the area */
    CHECK_OK(ll_stack_view_init(&seen, m, m->stack, old));
    CHECK_OK(ll_static_view_init(&more, m, strangers, new_table, NULL));
    CHECK_OK(ll_stack_view_init(&fresh, more.m, m->stack, strangers));
    for (int e = 0; e < NEW; e++) { /* shops of a kind are alike, others differ */
        const float *x = fresh.statics + (size_t)e * terms;
        const int    alike = (SHOPS + e) % 4;
        assert_memory_equal(x, seen.statics + (size_t)alike * terms, terms * sizeof *x);
        assert_memory_not_equal(x, seen.statics + (size_t)(alike + 1) * terms, terms * sizeof *x);
    }
    ll_stack_view_deinit(&seen);
    ll_stack_view_deinit(&fresh);
    ll_static_view_deinit(&more);
    check_refused(m, in_folder("hostile"), "\\\"statics\\\":5", "\\\"statics\\\":6");
    llap_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_tells_the_level_of_new_entities),
        cmocka_unit_test(columns_of_the_data_are_the_same),
        cmocka_unit_test(what_is_missing_or_new_is_warned_of),
        cmocka_unit_test(validation_takes_them_where_entities_are_split),
        cmocka_unit_test(streams_answer_the_same),
        cmocka_unit_test(gaps_of_new_entities_are_filled),
        cmocka_unit_test(a_saved_model_answers_the_same),
        cmocka_unit_test(a_stack_is_told_of_entities),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(what_changes_is_no_static_input),
        cmocka_unit_test(hostile_files_are_refused), /* the last: it leaves the model odd */
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
