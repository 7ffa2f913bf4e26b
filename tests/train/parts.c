/* Files that say who trains, validates and tests. */
#include "sensors.h"

#include "data/windows/split.h"
#include "model/model.h"
#include "train/parts.h"

#include <unistd.h>

enum { PATIENTS = 9 };

static llap_panel   *panel; /* entities s0 .. s8 */
static char          file[] = "/tmp/llap-parts-XXXXXX";
static const char    ALL[] = "part,age,entity\n"
                             "train,71,s0\ntrain,65,s1\ntest,80,s2\ntrain,1,s3\nvalidation,2,s4\n"
                             "val,3,s5\ntest,4,s7\ntest,4,\"s8\"\ntrain,5,elsewhere\n";
static const uint8_t PARTS[PATIENTS] = { LL_PART_TRAIN,  LL_PART_TRAIN, LL_PART_TEST,
                                         LL_PART_TRAIN,  LL_PART_VAL,   LL_PART_VAL,
                                         LL_PART_PURGED, LL_PART_TEST,  LL_PART_TEST };

static int set_up(void **state)
{
    (void)state;
    const int fd = mkstemp(file);
    panel = make_panel("x", "y", PATIENTS);
    return fd < 0 || close(fd) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    llap_panel_destroy(panel);
    return unlink(file);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void check_refused(const char *text, llap_status want, const char *message)
{
    uint8_t part[PATIENTS];
    write_file(text);
    assert_int_equal(ll_parts_read(file, panel, NULL, part), want);
    assert_non_null(strstr(llap_error_detail(), message));
    assert_non_null(strstr(llap_error_detail(), file));
}

static void refuses(void **state)
{
    (void)state;
    check_refused("entity,who\ns0,train\n", LLAP_EFORMAT,
                  ":1: expected a header with the columns entity and part, found 'entity'");
    check_refused("s0,train\n", LLAP_EFORMAT, ":1: expected a header");
    check_refused("entity,part\ns0,train\n\ns1,Test\n", LLAP_EFORMAT,
                  ":4: part: expected train, validation or test, found 'Test'");
    check_refused("entity,part\ns0,train\ns1\n", LLAP_EFORMAT, ":3: expected 2 fields, found 1");
    check_refused("entity,part\ns0,train\ns0,train\n", LLAP_EFORMAT,
                  ":3: entity 's0' is given twice");
    check_refused("entity,part\nt0,train\n", LLAP_EINVAL,
                  "names no entity of the data, which has 's0' and others");
    check_refused("", LLAP_EINVAL, "names no entity");
    uint8_t part[PATIENTS];
    assert_int_equal(ll_parts_read("/nowhere/parts.csv", panel, NULL, part), LLAP_ENOTFOUND);
}

static llap_status read_all(void *user) { return ll_parts_read(file, panel, NULL, user); }

static void reads(void **state)
{
    (void)state;
    uint8_t part[PATIENTS];
    write_file(ALL);
    CHECK_OK(read_all(part));
    assert_memory_equal(part, PARTS, sizeof part);
    check_every_failed_allocation(read_all, part);
}

static llap_train_opts how(void)
{
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "x";
    o.context = "2d";
    o.horizon = "12";
    o.parts = file;
    return o;
}

/* The model keeps the parts, through its file, and evaluation goes by them. */
static void trains_by_them(void **state)
{
    (void)state;
    llap_train_opts    o = how();
    llap_model        *m = NULL;
    llap_evaluate_opts e = { 0 };
    char              *text = NULL;
    write_file(ALL);
    CHECK_OK(llap_train(panel, &o, &m));
    CHECK_OK(llap_model_save(m, file));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(file, &m));
    assert_true(m->frame.by_entity);
    assert_memory_equal(m->frame.part, PARTS, sizeof PARTS);
    e.by = LLAP_EVALUATE_BY_ENTITY;
    e.samples = 4;
    e.bootstrap = LLAP_ZERO;
    CHECK_OK(llap_evaluate(m, panel, &e, &text, NULL));
    for (int k = 0; k < PATIENTS; k++) {
        const char name[] = { '\n', 's', (char)('0' + k), ' ', '\0' };
        assert_int_equal(strstr(text, name) != NULL, PARTS[k] == LL_PART_TEST);
    }
    llap_text_free(text);
    llap_model_destroy(m);
}

static void says_what_is_missing(void **state)
{
    (void)state;
    llap_train_opts o = how();
    llap_model     *m = NULL;
    write_file("entity,part\ns0,train\ns1,test\n");
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EINVAL);
    assert_non_null(strstr(llap_error_detail(), "no entity for validation that has a window"));
    o.split = LLAP_TRAIN_SPLIT_TIME;
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EOPTION);
    assert_string_equal(llap_error_detail(),
                        "parts: assigns entities to parts, but split is 'time'");
}

/* Shares in any unit, of times or entities; the model keeps them. */
static void takes_shares(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",         "70,10",     "70,10,20,1",
                                         "70,0,30",  "70,-10,40", "a,b,c",
                                         "nan,1,1",  "inf,1,1",   "1e308,1e308,1",
                                         "70;10;20", "1,1,1e-30" };
    llap_train_opts          o = how();
    llap_model              *m = NULL;
    int64_t                  test[3];
    o.parts = NULL;
    o.training = "{\"anchor\": {\"steps\": 3}}";
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.shares = wrong[i];
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "shares: expected three numbers");
    }
    for (int i = 0; i < 3; i++) {
        o.shares = i == 0 ? NULL : i == 1 ? "7,1,2" : "2,1,3";
        CHECK_OK(llap_train(panel, &o, &m));
        test[i] = m->frame.test_start;
        assert_non_null(strstr(m->training, i == 0   ? "\"shares\":\"70,10,20\""
                                            : i == 1 ? "\"shares\":\"7,1,2\""
                                                     : "\"shares\":\"2,1,3\""));
        llap_model_destroy(m);
    }
    assert_true(test[0] == test[1] && test[2] < test[0]);
    o.split = LLAP_TRAIN_SPLIT_ENTITY;
    o.shares = "1,1,1";
    CHECK_OK(llap_train(panel, &o, &m));
    int n[LL_PART_COUNT] = { 0 };
    for (int k = 0; k < PATIENTS; k++) n[m->frame.part[k]]++;
    for (int k = 0; k <= LL_PART_TEST; k++) assert_int_equal(n[k], PATIENTS / 3);
    llap_model_destroy(m);
    o.parts = file;
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "shares: cannot be given with parts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),        cmocka_unit_test(reads),
        cmocka_unit_test(trains_by_them), cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(takes_shares),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
