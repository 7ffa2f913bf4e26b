/* The tables of the use cases, and how options and a config become the options of a training. */
#include "check.h"

#include "base/options.h"
#include "train/run/config.h"
#include "train/run/recipe.h"
#include "train/train.h"

#include <llapdiff/artefacts.h>
#include <llapdiff/bench.h>

/* Of every table: no name and no field twice, defaults that can be set and hold. */
static void check_table(const llap_option *table, size_t size)
{
    char none[1024] = { 0 }, resolved[1024];
    assert_true(size <= sizeof none);
    CHECK_OK(llap_options_resolve(table, none, resolved, size));
    for (const llap_option *o = table; o->name != NULL; o++) {
        assert_ptr_equal(llap_option_find(table, o->name), o);
        assert_true(o->offset < size && *o->help != '\0');
        for (const llap_option *p = table; p < o; p++) assert_true(p->offset != o->offset);
        if (o->usual == NULL) continue;
        char set[1024] = { 0 }, text[128];
        CHECK_OK(llap_option_set(table, set, o->name, o->usual));
        llap_option_text(o, set, text, sizeof text);
        assert_string_equal(text, o->usual);
        assert_null(strstr(o->help, "(default"));
    }
}

static void tables_are_sound(void **state)
{
    (void)state;
    check_table(llap_train_options(), sizeof(llap_train_opts));
    check_table(llap_forecast_options(), sizeof(llap_forecast_opts));
    check_table(llap_impute_options(), sizeof(llap_impute_opts));
    check_table(llap_evaluate_options(), sizeof(llap_evaluate_opts));
    check_table(llap_pole_options(), sizeof(llap_pole_opts));
    check_table(llap_import_options(), sizeof(llap_import_opts));
    check_table(llap_bench_options(), sizeof(llap_bench_opts));
}

static llap_train_opts read_config(llap_train_opts o, const char *config)
{
    llap_train_opts out;
    ll_json        *j = NULL;
    o.config = config;
    CHECK_OK(ll_train_config(&o, &out, &j));
    ll_json_destroy(j);
    return out;
}

/* What the caller gives is not overridden, also where it is the default or 0. */
static void the_caller_goes_first(void **state)
{
    (void)state;
    static const char config[] = "{ \"seed\": 7, \"size\": \"tiny\", \"view\": \"rows\", "
                                 "\"split\": \"entity\", \"steps\": 5, \"link\": true }";
    llap_train_opts   o = { 0 };
    assert_true(read_config(o, NULL).seed == 1 && read_config(o, config).seed == 7);
    assert_int_equal(read_config(o, "{ \"seed\": 0 }").seed, 0);
    assert_int_equal(read_config(o, config).size, LLAP_TRAIN_SIZE_TINY);
    assert_true(read_config(o, config).steps == 5 && read_config(o, config).link);
    o.seed = 1;
    o.size = LLAP_TRAIN_SIZE_SMALL;
    o.view = LLAP_TRAIN_VIEW_AUTO;
    o.split = LLAP_TRAIN_SPLIT_TIME;
    const llap_train_opts all = read_config(o, config);
    assert_int_equal(all.seed, 1);
    assert_int_equal(all.size, LLAP_TRAIN_SIZE_SMALL);
    assert_int_equal(all.view, LLAP_TRAIN_VIEW_AUTO);
    assert_int_equal(all.split, LLAP_TRAIN_SPLIT_TIME);
    assert_int_equal(all.steps, 5);
    o.seed = LLAP_ZERO;
    assert_int_equal(read_config(o, config).seed, 0);
}

static void a_config_is_read_strictly(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        { "{ \"seeed\": 1 }", "unknown key 'seeed', did you mean 'seed'?" },
        { "{ \"device\": \"cpu\" }", "unknown key 'device'" }, /* it changes no result */
        { "{ \"seed\": \"one\" }", "'seed': expected an integer" },
        { "{ \"members\": 65 }", "'members': expected an integer in 1..64" },
        { "{ \"size\": \"huge\" }", "'size': expected" },
        { "{ \"link\": 1 }", "'link': expected" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const llap_train_opts o = { .config = wrong[i][0] };
        llap_train_opts       out;
        ll_json              *j = NULL;
        CHECK_FAIL(ll_train_config(&o, &out, &j), LLAP_EOPTION, wrong[i][1]);
        assert_null(j);
    }
}

/* The options that a model keeps are a config for the same options again; defaults are not said. */
static void what_is_kept_reads_back(void **state)
{
    (void)state;
    const ll_recipe       recipe = { .alone = true, .anchor = ll_recipe_anchor_usual() };
    const llap_train_opts o = { .target = "a,b",
                                .context = "2d",
                                .seed = LLAP_ZERO,
                                .size = LLAP_TRAIN_SIZE_SMALL,
                                .view = LLAP_TRAIN_VIEW_AUTO,
                                .profile = LLAP_TRAIN_PROFILE_ANCHORED,
                                .split = LLAP_TRAIN_SPLIT_TIME,
                                .lr = 0.001,
                                .no_climate = 1,
                                .device = "cpu",
                                .history = "log" };
    llap_train_opts       all;
    ll_json              *j = NULL;
    char                 *text = NULL;
    CHECK_OK(ll_train_config(&o, &all, &j));
    CHECK_OK(ll_train_options_text(&all, j, &recipe, &text));
    const char *training = strstr(text, ",\"training\"");
    assert_non_null(training);
    text[training - text] = '\0';
    assert_string_equal(text, "{\"target\":\"a,b\",\"context\":\"2d\",\"split\":\"time\","
                              "\"shares\":\"70,10,20\",\"size\":\"small\",\"seed\":0,"
                              "\"lr\":0.001,\"no_climate\":true");
    char config[512];
    snprintf(config, sizeof config, "%s}", text);
    /* Nobody says a size: the stack, unless an option is of networks. */
    assert_int_equal(read_config((llap_train_opts){ 0 }, "{}").size, LLAP_TRAIN_SIZE_STACK);
    assert_int_equal(read_config((llap_train_opts){ .members = 2 }, "{}").size,
                     LLAP_TRAIN_SIZE_SMALL);
    assert_int_equal(read_config((llap_train_opts){ 0 }, "{ \"network\": {} }").size,
                     LLAP_TRAIN_SIZE_SMALL);
    const llap_train_opts again = read_config((llap_train_opts){ 0 }, config);
    assert_true(again.seed == 0 && again.lr == 0.001 && again.no_climate == 1);
    assert_int_equal(again.split, LLAP_TRAIN_SPLIT_TIME);
    assert_string_equal(read_config((llap_train_opts){ .target = "c" }, config).target, "c");
    ll_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(the_caller_goes_first),
        cmocka_unit_test(a_config_is_read_strictly),
        cmocka_unit_test(what_is_kept_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
