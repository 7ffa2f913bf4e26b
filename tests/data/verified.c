/* Windows, splits, joint rows, batches, borders and naive scores against the verified tables. Run
 * with "long" it does every horizon of every panel, else one of each. */
#include "panels.h"

#include "oracles/naive.h"
#include "oracles/presets.h"

#include <time.h>

static bool everything;

typedef struct set {
    const char *counts, *scores; /* variant in the two tables */
    const char *preset, *file;
    bool        half;        /* values rounded to half precision, whatever the preset says */
    int         local_hours; /* of the border times */
} set;

static const set sets[] = {
    { .counts = "uci_air/builder_default",
      .scores = "uci_air/NO2/builder_default",
      .preset = "uci_air/reference",
      .file = "uci_air.csv.gz" },
    { .counts = "bms_air/min_coverage_0(recommended)",
      .scores = "bms_air/PM2.5/min_coverage_0",
      .preset = "bms_air",
      .file = "bms_air.csv.gz",
      .half = true,
      .local_hours = 8 },
    { .counts = "bms_air/min_coverage_0.6(builder default)",
      .scores = "bms_air/PM2.5/min_coverage_0.6",
      .preset = "bms_air/reference",
      .file = "bms_air.csv.gz",
      .local_hours = 8 },
    { .counts = "physionet/builder_default_253_patients",
      .scores = "physionet/HR/builder_default_253_patients",
      .preset = "physionet/reference",
      .file = "physionet2012_a.csv.gz" },
    { .counts = "physionet/hour_floor_binning_3703_patients",
      .scores = "physionet/HR/hour_floor_binning_3703_patients",
      .preset = "physionet/floor",
      .file = "physionet2012_a.csv.gz" },
};

static FILE *open_table(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/../paper/%s", getenv("LLAP_DATA"), name);
    FILE *f = fopen(path, "r");
    if (f == NULL) print_message("skipped: %s is not there\n", name);
    return f;
}

static void show_time(int64_t ns, int local_hours, char out[32])
{
    const time_t t = (time_t)(ns / 1000000000 + local_hours * 3600);
    struct tm    tm;
    gmtime_r(&t, &tm);
    strftime(out, 32, "%Y-%m-%dT%H:%M", &tm);
}

/* The columns of verified_counts.csv from windows on, as text. */
static void counts_line(const set *s, const ll_preset *preset, const ll_windows *w,
                        const ll_split *sp, char *out, size_t size)
{
    int n = snprintf(out, size, "%lld,%lld,%lld,%lld,%lld", (long long)w->n, (long long)sp->n[0],
                     (long long)sp->n[1], (long long)sp->n[2], (long long)sp->n[3]);
    if (preset->split.kind != LL_SPLIT_PURGED) {
        snprintf(out + n, size - (size_t)n, ",,,,,,,,,");
        return;
    }
    int64_t n_rows[3], n_batches[3];
    char    border[3][32];
    for (int k = 0; k < 3; k++) {
        ll_example_list *r;
        CHECK_OK(ll_example_list_create(w, sp, (ll_part)k, LL_VIEW_JOINT, &r));
        n_rows[k] = r->n_examples;
        n_batches[k] = ll_example_list_batches(r, preset->batch_groups);
        ll_example_list_destroy(r);
    }
    show_time(sp->last_target[LL_PART_TRAIN], s->local_hours, border[0]);
    show_time(sp->first_target[LL_PART_VAL], s->local_hours, border[1]);
    show_time(sp->first_target[LL_PART_TEST], s->local_hours, border[2]);
    snprintf(out + n, size - (size_t)n, ",%lld,%lld,%lld,%lld,%lld,%lld,%s,%s,%s",
             (long long)n_rows[0], (long long)n_rows[1], (long long)n_rows[2],
             (long long)n_batches[0], (long long)n_batches[1], (long long)n_batches[2], border[0],
             border[1], border[2]);
}

/* Lines "variant,...,horizon," of a table, one after another. */
static bool next_line(FILE *f, const char *variant, int64_t horizon, int column, char *line,
                      size_t size, const char **rest)
{
    while (fgets(line, (int)size, f) != NULL) {
        line[strcspn(line, "\r\n")] = 0;
        const size_t n = strlen(variant);
        if (strncmp(line, variant, n) != 0 || line[n] != ',') continue;
        const char *s = line + n + 1;
        for (int i = 0; i < column; i++) s = strchr(s, ',') + 1;
        char *end;
        if (strtoll(s, &end, 10) != horizon) continue;
        *rest = end + 1;
        return true;
    }
    return false;
}

static int check_counts(const set *s, const ll_preset *preset, int64_t horizon, const ll_windows *w,
                        const ll_split *sp)
{
    char        found[512], line[1024];
    const char *rest = NULL;
    FILE       *f = open_table("verified_counts.csv");
    if (f == NULL) return 0;
    counts_line(s, preset, w, sp, found, sizeof found);
    if (!next_line(f, s->counts, horizon, 1, line, sizeof line, &rest))
        fail_msg("%s: no horizon %lld", s->counts, (long long)horizon);
    if (strcmp(rest, found) != 0)
        fail_msg("%s, %lld:\nexpected %s\nfound    %s", s->counts, (long long)horizon, rest, found);
    fclose(f);
    return 1;
}

static double score_of(const ll_score *score, const char *name, const char *metric)
{
    for (int k = 0; k < LL_NAIVE_COUNT; k++)
        if (strcmp(ll_naive_name((ll_naive)k), name) == 0)
            return strcmp(metric, "MAE") == 0   ? score[k].mae
                   : strcmp(metric, "MSE") == 0 ? score[k].mse
                                                : score[k].crps;
    fail_msg("no naive forecast '%s'", name);
    return NAN;
}

/* Values are printed with four digits and must be equal; those of the floor-binned patients have
 * three. */
static bool same_score(const set *s, double x, const char *text)
{
    char found[32];
    snprintf(found, sizeof found, strstr(s->scores, "floor") ? "%.3f0" : "%.4f", x);
    return strcmp(found, text) == 0;
}

static int check_scores(const set *s, int64_t horizon, const ll_score *score)
{
    char        line[1024], name[64], metric[16], text[32];
    const char *rest = NULL;
    int         n = 0, wrong = 0;
    FILE       *f = open_table("verified_naive_references.csv");
    if (f == NULL) return 0;
    while (next_line(f, s->scores, horizon, 0, line, sizeof line, &rest)) {
        assert_int_equal(sscanf(rest, "%63[^,],%15[^,],%31s", name, metric, text), 3);
        const double x = score_of(score, name, metric);
        if (!same_score(s, x, text)) {
            print_error("%s, %lld, %s %s: expected %s, found %.7f\n", s->scores, (long long)horizon,
                        name, metric, text, x);
            wrong++;
        }
        n++;
    }
    fclose(f);
    assert_true(n >= 8);
    assert_int_equal(wrong, 0);
    return n;
}

static int64_t joint_rows(const ll_windows *w, const ll_split *sp, ll_part part)
{
    ll_example_list *r;
    CHECK_OK(ll_example_list_create(w, sp, part, LL_VIEW_JOINT, &r));
    const int64_t n = r->n_examples;
    ll_example_list_destroy(r);
    return n;
}

/* What the text of the protocol adds to the tables, at the longest horizon. */
static void check_text(const ll_preset *preset, const ll_windows *w, const ll_split *sp,
                       const ll_score *score)
{
    if (strcmp(preset->name, "uci_air/reference") == 0)
        assert_int_equal(score[LL_NAIVE_MEAN].n, 287903);
    if (strcmp(preset->name, "physionet/reference") == 0) { /* all patients share one clock */
        assert_int_equal(joint_rows(w, sp, LL_PART_TRAIN), 12);
        assert_int_equal(joint_rows(w, sp, LL_PART_VAL), 8);
        assert_int_equal(joint_rows(w, sp, LL_PART_TEST), 11);
    }
}

static void check_horizon(const set *s, const ll_preset *preset, const llap_panel *p, int h,
                          int *n_counts, int *n_scores)
{
    const int64_t       horizon = preset->horizon_rows[h];
    ll_scaling_opts     co = LL_SCALING_DEFAULT;
    const ll_naive_opts no = { .part = LL_PART_TEST,
                               .period_rows = preset->season_rows,
                               .own_unseen = true };
    ll_windows         *w;
    ll_split           *sp;
    ll_scaling         *sc;
    ll_scaled          *x;
    ll_score            score[LL_NAIVE_COUNT];
    co.by = preset->scale;
    co.own_rows = preset->own_rows;
    CHECK_OK(ll_preset_windows(preset, p, h, &w));
    CHECK_OK(ll_split_create(w, &preset->split, &sp));
    *n_counts += check_counts(s, preset, horizon, w, sp);
    CHECK_OK(ll_scaling_create(w, sp, &co, &sc));
    CHECK_OK(ll_scaled_create(p, sc, &x));
    CHECK_OK(ll_naive_scores(w, sp, x, &no, score));
    *n_scores += check_scores(s, horizon, score);
    if (h == 3) check_text(preset, w, sp, score);
    ll_scaled_destroy(x);
    ll_scaling_destroy(sc);
    ll_split_destroy(sp);
    ll_windows_destroy(w);
}

static void check_set(const set *s)
{
    ll_preset   preset = *ll_preset_find(s->preset);
    const char *path = data_file(s->file);
    int         n_counts = 0, n_scores = 0;
    llap_panel *p;
    preset.timeline.half = preset.timeline.half || s->half;
    CHECK_OK(ll_preset_panel(&preset, &path, 1, NULL, &p));
    for (int h = everything ? 0 : 3; h < 4; h++)
        check_horizon(s, &preset, p, h, &n_counts, &n_scores);
    print_message("%s: %lld entities, %lld variables, equal: %d lines of counts, %d scores\n",
                  s->counts, (long long)p->n_entities, (long long)p->n_vars, n_counts, n_scores);
    llap_panel_destroy(p);
}

static void uci(void **state)
{
    (void)state;
    check_set(&sets[0]);
}
static void bms(void **state)
{
    (void)state;
    check_set(&sets[1]);
}
static void bms_filtered(void **state)
{
    (void)state;
    check_set(&sets[2]);
}
static void patients(void **state)
{
    (void)state;
    check_set(&sets[3]);
}
static void patients_floor(void **state)
{
    (void)state;
    check_set(&sets[4]);
}

int main(int argc, char **argv)
{
    everything = argc > 1 && strcmp(argv[1], "long") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uci),
        cmocka_unit_test(bms),
        cmocka_unit_test(bms_filtered),
        cmocka_unit_test(patients),
        cmocka_unit_test(patients_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
