/* Curves and calibration: what is drawn, seen through the SVG's description and its shapes. */
#include "check.h"

#include "base/file.h"
#include "plot/score_plot.h"

#include <unistd.h>

static char folder[] = "/tmp/llap-scores-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(path, sizeof path, "%s/p.svg", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++) n++;
    return n;
}

/* Draws it and hands the SVG over; NULL without cairo. */
static char *draw(const char *text)
{
    char             *svg = NULL;
    size_t            n;
    const llap_status st = ll_plot_text(text, strlen(text), "t", path);
    if (st == LLAP_EUNSUPPORTED) return NULL;
    CHECK_OK(st);
    CHECK_OK(ll_file_read(path, 1 << 22, &svg, &n));
    unlink(path);
    return svg;
}

static void every_stage_has_two_fields(void **state)
{
    (void)state;
    char *svg = draw("{\"stage\":\"vae\",\"step\":1,\"loss\":4.0}\n"
                     "{\"stage\":\"vae\",\"step\":2,\"loss\":null}\n"
                     "{\"stage\":\"vae\",\"step\":3,\"loss\":2.0,\"score\":0.5}\n"
                     "{\"stage\":\"member.0\",\"step\":1,\"loss\":1.0}\n"
                     "{\"stage\":\"member.0\",\"st"); /* still being written */
    if (svg == NULL) return;
    assert_int_equal(count(svg, "\nvae: loss\n"), 1);
    assert_int_equal(count(svg, "\nvae: score\n"), 1);
    assert_int_equal(count(svg, "\nmember.0: loss\n"), 1);
    assert_int_equal(count(svg, "\nstep\n"), 4); /* an axis each */
    assert_int_equal(count(svg, "\nloss (running mean)\n"), 1);
    assert_int_equal(count(svg, "\nscore on validation\n"), 1);
    ll_free(svg);
}

static void an_anchor_shows_what_was_tried_best_first(void **state)
{
    (void)state;
    static const char line[] = "{\"stage\":\"anchor\",\"step\":%d,\"loss\":%s,\"target\":\"%s\","
                               "\"fit\":\"kernel.%d\"%s}\n";
    char              text[8192];
    int               n = 0;
    for (int k = 0; k < 14; k++) { /* two more than are shown */
        char more[200];
        snprintf(more, sizeof more,
                 ",\"score\":0.%d,\"kappa\":4.0,\"calendar\":%d,\"terms\":7,\"curve\":\"log\","
                 "\"drift\":\"level\",\"scale\":\"window\"",
                 50 - k, k == 13 ? 23 : 0);
        n += snprintf(text + n, sizeof text - (size_t)n, line, 2 * k + 1, "0.7", "no2", k, "");
        n += snprintf(text + n, sizeof text - (size_t)n, line, 2 * k + 2, "null", "no2", k, more);
    }
    snprintf(text + n, sizeof text - (size_t)n, line, 40, "null", "o3", 0, ",\"score\":0.25");
    char *svg = draw(text);
    if (svg == NULL) return;
    assert_int_equal(count(svg, "\nno2: the best 12 of 14 anchors that were tried\n"), 1);
    assert_int_equal(count(svg, "\no3: 1 anchor that was tried\n"), 1);
    assert_int_equal(count(svg, "\n0.3700\n"), 1);
    assert_int_equal(count(svg, "\n0.4900\n"), 0); /* the worst but one */
    assert_int_equal(count(svg, "\n23 terms\n"), 1);
    assert_true(strstr(svg, "\n0.3700\n") < strstr(svg, "\n0.3800\n"));
    assert_int_equal(count(svg, ": loss\n"), 0);
    ll_free(svg);
}

static void every_target_has_bars_and_dots(void **state)
{
    (void)state;
    char *svg = draw("{\"targets\":[{\"name\":\"no2\",\"scores\":[{\"pit\":[0.2,0.3,0.5]}]},"
                     "{\"name\":\"o3\",\"scores\":[{\"pit\":[0.5,0.5]}]}]}");
    if (svg == NULL) return;
    assert_int_equal(count(svg, "\nno2: PIT\n"), 1);
    assert_int_equal(count(svg, "\no3: reliability\n"), 1);
    assert_int_equal(count(svg, "\nprobability forecast\n"), 2);
    assert_int_equal(count(svg, "\ncalibrated\n"), 1);
    ll_free(svg);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "", "no step" },
        { "time,a\n1,2\n", "t:1: neither" },
        { "{\"step\":1,\"loss\":2}\n[]x\n", "t:2: neither" },
        { "{\"stage\":1}\n", "t:1: neither" },
        { "{\"targets\":[]}", "without targets" },
        { "{\"targets\":[{\"name\":\"a\"}]}", "pit" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAIL(ll_plot_text(bad[i].text, strlen(bad[i].text), "t", path), LLAP_EFORMAT,
                   bad[i].message);
    CHECK_FAIL(ll_plot_text("{}", 2, "t", "p.gif"), LLAP_EOPTION, ".png");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_has_two_fields),
        cmocka_unit_test(an_anchor_shows_what_was_tried_best_first),
        cmocka_unit_test(every_target_has_bars_and_dots),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
