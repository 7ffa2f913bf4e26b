#include "csv_text.h"
#include "panel_equal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- forms and dialects ---- */

static void forms_are_told_apart(void **state)
{
    (void)state;
    expect("entity,time,x,y\nb,1,2,3\na,1,4,\n", "a@1:4,- b@1:2,3");
    expect("time,x\n1,2\n3,4\n", "t@1:2 t@3:4");
    expect("entity,time,variable,value\na,1,y,5\na,1,x,4\nb,2,y,6\n", "a@1:4,5 b@2:-,6");
    expect("Time,Parameter,Value\n00:07,HR,73\n25:30,GCS,15\n", "t@420:-,73 t@91800:15,-");
    expect("x,when,station\n1,2020-01-01,s1\n2,2020-01-02,s1\n", "s1@1577836800:1 s1@1577923200:2");
    expect("name;ds;y\ns;2020-01-01;1,5\ns;2020-01-02;2\n", "s@1577836800:1.5 s@1577923200:2");
    const ll_csv_opts wide = { .form = LL_CSV_WIDE,
                               .valid_min = -INFINITY,
                               .valid_max = INFINITY,
                               .max_line = 1000,
                               .text = LL_CSV_TEXT_CODE };
    expect_opts("Time,Parameter,Value\n1,HR,73\n2,GCS,15\n", &wide, "t@1:1,73 t@2:0,15");
}

static void dialects_are_told_apart(void **state)
{
    (void)state;
    expect("time;x;y\n1;1,5;2\n2;3;4,25\n", "t@1:1.5,2 t@2:3,4.25");
    expect("time\tx\n1\t1.5\n", "t@1:1.5");
    expect("time|x\n1|1.5\n", "t@1:1.5");
    expect("time   x  \n  1  1.5\n", "t@1:1.5");
    expect("\xef\xbb\xbftime,x\r\n1,1.5\r\n", "t@1:1.5");
    expect("time,x\r1,1.5\r2,3", "t@1:1.5 t@2:3");
    expect("\"time\",\"x,y\"\n\"1\",\"1.5\"\n", "t@1:1.5");
    expect("time,x\n1,\"1,5\"\n2,\"2,25\"\n", "t@1:1.5 t@2:2.25");
    expect("time,x\n1,\"0,125\"\n2,\"0,250\"\n", "t@1:0.125 t@2:0.25");
    expect("time, x\n1, 1.5 \n", "t@1:1.5");
    expect("time;x;;\n1;2;;\n;;;\n\n2;3;;\n;;;;;\n", "t@1:2 t@2:3");
    expect("2020-01-01,5\n2020-01-02,6\n", "t@1577836800:5 t@1577923200:6");
    expect("2017 01 31 23 5\n2017 02 01 00 6\n", "t@1485903600:5 t@1485907200:6");
    expect("time,7,8\n1,2,3\n", "t@1:2,3");
    llap_panel *p = panel_of("time;T \xb0"
                             "C;\xc3\xa9\n1;2;3\n"); /* Latin-1 and UTF-8 */
    assert_string_equal(p->var[0], "T \xc2\xb0"
                                   "C");
    assert_string_equal(p->var[1], "\xc3\xa9");
    llap_panel_destroy(p);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.skip_lines = 2;
    expect_opts("some title\nmore, of; it\ntime,x\n1,2\n", &o, "t@1:2");
    o = LL_CSV_DEFAULT;
    o.separator = ':', o.header = LL_NO, o.time = "c2", o.quote = '\'';
    expect_opts("4:'1'\n5:2\n", &o, "t@1:4 t@2:5");
}

/* In the first lines of shuffled rows no entity need come twice. */
static void many_entities_are_still_entities(void **state)
{
    (void)state;
    char text[16384], *p = text + sprintf(text, "station,time,x\n");
    for (int i = 0; i < 300; i++) p += sprintf(p, "s%d,%d,1\n", i, i % 3);
    llap_panel *q = panel_of(text);
    assert_int_equal(q->n_entities, 300);
    llap_panel_destroy(q);
    p = text + sprintf(text, "id,time,x\n");
    for (int i = 0; i < 300; i++) p += sprintf(p, "%d,%d,1\n", i + 1, i);
    q = panel_of(text);
    assert_int_equal(q->n_entities, 1);
    assert_int_equal(q->n_vars, 1);
    llap_panel_destroy(q);
    /* in order of time: no name twice, but times that are; numbers and words alike */
    for (int form = 0; form < 3; form++) {
        p = text + sprintf(text, "%s", form < 2 ? "id,time,x\n" : "who,time,x\n");
        for (int i = 0; i < 600; i++)
            p += sprintf(p, "%s%d,%d,1\n", form > 0 ? "p" : "", i % 300, i / 300);
        q = panel_of(text);
        assert_int_equal(q->n_entities, 300);
        assert_int_equal(q->n_rows, 600);
        llap_panel_destroy(q);
    }
    /* the lines of the long form are numbered, its times repeat: still one entity */
    p = text + sprintf(text, "id,time,variable,value\n");
    for (int i = 0; i < 300; i++) p += sprintf(p, "%d,%d,%c,1\n", i, i / 2, "ab"[i % 2]);
    q = panel_of(text);
    assert_int_equal(q->n_entities, 1);
    assert_int_equal(q->n_rows, 150);
    llap_panel_destroy(q);
}

/* ---- times ---- */

static void times_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header, *cell, *cell2;
        int64_t     t_s;
        const char *zone;
    } cases[] = {
        { "time", "2004-03-10T18:00:00Z", "2004-03-10T19:00:00Z", 1078941600, "UTC" },
        { "time", "2004-03-10T18:00:00+08:00", "2004-03-10T19:00:00+08:00", 1078912800, "+08:00" },
        { "time", "2004-03-10T18:00:00+08:00", "2004-03-10T19:00:00+07:00", 1078912800, "UTC" },
        { "timestamp", "2004-03-10 18:00", "2004-03-10 19:00", 1078941600, "" },
        { "date", "2004-03-10", "2004-03-11", 1078876800, "" },
        { "date", "10/03/2004", "13/03/2004", 1078876800, "" },
        { "date", "03/10/2004", "03/13/2004", 1078876800, "" },
        { "date", "10.03.2004 18:00", "11.03.2004 18:00", 1078941600, "" },
        { "date", "10-Mar-2004", "11-Mar-2004", 1078876800, "" },
        { "date", "20040310", "20040311", 1078876800, "" },
        { "date", "2004031018", "2004031019", 1078941600, "" },
        { "date", "20040310T180000", "20040310T190000", 1078941600, "" },
        { "time", "1078941600", "1078945200", 1078941600, "UTC" },
        { "time", "1078941600000", "1078945200000", 1078941600, "UTC" },
        { "time", "1078941600000000000", "1078945200000000000", 1078941600, "UTC" },
        { "time", "12.5", "13", 12, "" },
        { "hours", "1.5", "2", 5400, "" },
        { "time (min)", "2", "3", 120, "" },
        { "Time", "01:30", "47:59", 5400, "" },
        { "Time", "01:30:15", "47:59:00", 5415, "" },
        { "date;time", "10/03/2004;18.00.00", "13/03/2004;19.00.00", 1078941600, "" },
        { "Datum;Uhrzeit", "10.03.2004;18:00", "13.03.2004;19:00", 1078941600, "" },
        { "Fecha;Cuando", "10/03/2004;18:00", "13/03/2004;19:00", 1078941600, "" },
        { "Messtag;Messzeit", "10.03.2004;18:00", "13.03.2004;19:00", 1078941600, "" },
        { "Date;Hour", "2004-03-10;18", "2004-03-10;19", 1078941600, "" },
        { "year;month;day;hour", "2004;3;10;18", "2004;3;10;24", 1078941600, "" },
        { "YYYY;MM", "2004;3", "2004;4", 1078099200, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s;x\n%s;1\n%s;2\n", cases[i].header, cases[i].cell,
                 cases[i].cell2);
        llap_panel *p = panel_of(text);
        if (p->time[0] / second != cases[i].t_s)
            fail_msg("%s: expected %lld, found %lld", cases[i].cell, (long long)cases[i].t_s,
                     (long long)(p->time[0] / second));
        assert_string_equal(p->axis.zone, cases[i].zone);
        assert_int_equal(p->n_rows, 2);
        llap_panel_destroy(p);
    }
}

static void times_are_read_as_told(void **state)
{
    (void)state;
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.zone = "Asia/Shanghai";
    expect_opts("time,x\n2013-03-01 00:00,1\n", &o, "t@1362067200:1");
    expect_opts("year,month,day,hour,x\n2013,3,1,0,1\n", &o, "t@1362067200:1");
    expect_opts("time,x\n2013-03-01T00:00:00Z,1\n", &o, "t@1362096000:1");
    o = LL_CSV_DEFAULT;
    o.time_format = "%m/%d/%Y";
    expect_opts("date,x\n03/10/2004,1\n", &o, "t@1078876800:1");
    o = LL_CSV_DEFAULT;
    o.time = "c+b", o.time_format = "%Y %H:%M %d %m";
    o.time_format = "%Y-%m-%d %H:%M";
    expect_opts("b,c,x\n18:00,2004-03-10,1\n", &o, "t@1078941600:1");
    o = LL_CSV_DEFAULT;
    o.time_format = "number", o.time_unit = "0.5h";
    expect_opts("time,x\n3,1\n", &o, "t@5400:1");
    o.time_format = "epoch", o.time_unit = "ms";
    expect_opts("time,x\n3000,1\n", &o, "t@3:1");
    llap_panel *p;
    o.time_unit = "parsec";
    CHECK_FAIL(read_text("time,x\n3000,1\n", &o, &p, NULL), LLAP_EINVAL, "parsec");
    o = LL_CSV_DEFAULT;
    o.zone = "Mars/Base";
    CHECK_FAIL(read_text("time,x\n2013-03-01,1\n", &o, &p, NULL), LLAP_EINVAL, "Mars/Base");
    o = LL_CSV_DEFAULT;
    o.time_format = "sundial";
    CHECK_FAIL(read_text("time,x\n1,1\n", &o, &p, NULL), LLAP_EINVAL, "sundial");
    assert_null(p);
}

/* ---- cells ---- */

static void missing_cells_are_known(void **state)
{
    (void)state;
    expect("time,x,y\n1,NA,nan\n2,,NULL\n3,-,1\n4,?,#N/A\n5,5,N/A\n",
           "t@1:-,- t@2:-,- t@3:-,1 t@4:-,- t@5:5,-");
    ll_csv_opts       o = LL_CSV_DEFAULT;
    const char *const words[] = { "Calm", "-1", NULL };
    o.missing = words;
    expect_opts("time,x,y\n1,calm,-1.0\n2,2,3\n", &o, "t@1:-,- t@2:2,3");
    o = LL_CSV_DEFAULT;
    o.valid_min = 0, o.valid_max = 100;
    expect_opts("time,x\n1,-0.5\n2,0\n3,100\n4,101\n", &o, "t@1:- t@2:0 t@3:100 t@4:-");
}

static void codes_for_missing_are_found(void **state)
{
    (void)state;
    static const char text[] =
        "time,x,y\n1,-200,3\n2,1.5,-200\n3,-200,900\n4,2,500\n5,-200,400\n6,3,1\n";
    expect(text, "t@1:-,3 t@2:1.5,- t@3:-,900 t@4:2,500 t@5:-,400 t@6:3,1");
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.no_codes = true;
    expect_opts(text, &o, "t@1:-200,3 t@2:1.5,-200 t@3:-200,900 t@4:2,500 t@5:-200,400 t@6:3,1");
    /* twice is no habit; and among values of its size it is one of them */
    expect("time,x\n1,-200\n2,1\n3,-200\n4,2\n5,3\n", "t@1:-200 t@2:1 t@3:-200 t@4:2 t@5:3");
    expect("time,x\n1,-200\n2,-150\n3,-200\n4,100\n5,-200\n",
           "t@1:-200 t@2:-150 t@3:-200 t@4:100 t@5:-200");
    llap_panel   *p;
    ll_csv_report report;
    CHECK_OK(read_text(text, &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(report.coded_missing, 4);
    assert_non_null(strstr(report.decision[0], "-200"));
    llap_panel_destroy(p);
}

static void columns_are_chosen_and_renamed(void **state)
{
    (void)state;
    static const char text[] = "time,x,y,z=w\n1,2,3,4\n";
    ll_csv_opts       o = LL_CSV_DEFAULT;
    o.columns = (const char *const[]){ "z=w", "new=x", NULL };
    llap_panel *p = panel_of_opts(text, &o);
    assert_int_equal(p->n_vars, 2);
    assert_string_equal(p->var[0], "z=w");
    assert_string_equal(p->var[1], "new");
    assert_true(p->value[0] == 4 && p->value[1] == 2);
    llap_panel_destroy(p);
    o.columns = (const char *const[]){ "x", "nope", NULL };
    CHECK_FAIL(read_text(text, &o, &p, NULL), LLAP_EINVAL,
               "no variable 'nope'; there are 'x', 'y', 'z=w'");
    o = LL_CSV_DEFAULT;
    o.drop = (const char *const[]){ "y", NULL };
    expect_opts(text, &o, "t@1:2,4");
    o.drop = (const char *const[]){ "q", NULL };
    CHECK_FAIL(read_text(text, &o, &p, NULL), LLAP_EINVAL, "no variable 'q'");
    o = LL_CSV_DEFAULT;
    o.columns = (const char *const[]){ "y", "x", NULL };
    expect_opts("time,variable,value\n1,x,1\n1,y,2\n1,z,3\n", &o, "t@1:2,1");
    o = LL_CSV_DEFAULT;
    o.entity = "y";
    expect_opts(text, &o, "3@1:2,4");
    o.entity = "", o.time = "x";
    expect_opts("entity,x,y\n5,1,2\n", &o, "t@1:5,2");
}

static void words_are_left_out_or_coded(void **state)
{
    (void)state;
    static const char text[] = "time,wd,x\n1,NNE,1\n2,W,2\n3,NA,3\n4,E,4\n";
    llap_panel       *p;
    ll_csv_report     report;
    CHECK_OK(read_text(text, &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(p->n_vars, 1);
    assert_int_equal(report.text_cells, 3);
    assert_int_equal(report.warnings, 1);
    llap_panel_destroy(p);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.text = LL_CSV_TEXT_CODE;
    expect_opts(text, &o, "t@1:1,1 t@2:2,2 t@3:-,3 t@4:0,4");
    o.text = LL_CSV_TEXT_ERROR;
    CHECK_FAIL(read_text(text, &o, &p, NULL), LLAP_EFORMAT,
               "t.csv:2: column 2 'wd': expected a number, found 'NNE'");
    o = LL_CSV_DEFAULT;
    o.circular = (const char *const[]){ "wd", NULL };
    p = panel_of_opts(text, &o);
    assert_int_equal(p->n_vars, 3);
    assert_string_equal(p->var[0], "wd_sin");
    assert_string_equal(p->var[1], "wd_cos");
    assert_true(fabsf(p->value[0] - 0.38268343f) < 1e-7f &&
                fabsf(p->value[1] - 0.92387953f) < 1e-7f);
    assert_true(fabsf(p->value[3] + 1) < 1e-7f && isnan(p->value[6]));
    llap_panel_destroy(p);
    o.circular = (const char *const[]){ "d", NULL };
    p = panel_of_opts("time,d\n1,90\n", &o);
    assert_true(fabsf(p->value[0] - 1) < 1e-7f && fabsf(p->value[1]) < 1e-7f);
    llap_panel_destroy(p);
}

/* Rows that are usual and rows that are not, in any mixture, read by any number of threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    enum { LINES = 120000 };
    char *text = malloc((size_t)LINES * 80), *p = text;
    p += sprintf(p, "entity,time,x,y,z\n");
    for (int i = 0; i < LINES; i++) {
        const int  t = i % 9000;
        const bool odd = i % 7001 == 7000;
        if (odd && i % 3 == 0) p += sprintf(p, "\n,,,,\n");
        if (odd && i % 3 == 1) p += sprintf(p, "\"e,%d\",%d,1,2,inf\n", i / 9000, t + 100000);
        if (i % 4001 == 0) p += sprintf(p, " e%d , %d, NA,?,-9999,\n", i / 9000, t + 200000);
        p += sprintf(p, "e%d,%d,%d.%d,,%d%s\n", i / 9000, t, i * 31 % 977, i % 10,
                     i * 17 % 1013 - 300, i > LINES / 2 ? "\r" : "");
    }
    llap_panel   *want, *found;
    ll_csv_report a, b;
    ll_csv_opts   o = LL_CSV_DEFAULT;
    o.valid_min = -1e30; /* a range keeps every row from being usual */
    CHECK_OK(ll_csv_read_memory("t.csv", text, (size_t)(p - text), &o, &want, &a));
    for (int threads = 1; threads <= 9; threads += 2) {
        o = LL_CSV_DEFAULT;
        o.threads = threads;
        CHECK_OK(ll_csv_read_memory("t.csv", text, (size_t)(p - text), &o, &found, &b));
        assert_true(panel_equal(want, found));
        assert_int_equal(a.lines, b.lines);
        assert_int_equal(a.empty_lines, b.empty_lines);
        assert_int_equal(a.infinite_cells, b.infinite_cells);
        assert_int_equal(a.rows.unordered, b.rows.unordered);
        assert_int_equal(a.rows.first_unordered, b.rows.first_unordered);
        assert_int_equal(a.warnings, b.warnings);
        llap_panel_destroy(found);
    }
    llap_panel_destroy(want);
    /* a mistake has its line, wherever it is */
    int64_t line = 1;
    for (char *q = text; q < p; q++) line += *q == '\n';
    p += sprintf(p, "e0,1,2,oops,3\n");
    char place[64];
    snprintf(place, sizeof place, "t.csv:%lld: column 4 'y'", (long long)line);
    CHECK_FAIL(ll_csv_read_memory("t.csv", text, (size_t)(p - text), &o, &found, NULL),
               LLAP_EFORMAT, place);
    free(text);
}

/* ---- files ---- */

static char folder[] = "/tmp/llap-csv-XXXXXX";

static const char *put_file(const char *name, const char *text)
{
    static char paths[8][256];
    static int  turn;
    char       *path = paths[turn = (turn + 1) % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    fputs(text, f);
    fclose(f);
    return path;
}

static void files_become_one_panel(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    const char   *paths[] = { put_file("s2.csv", "time,x\n1,5\n"),
                              put_file("s1.txt", "time;y\n1;1,5\n") };
    llap_panel   *p;
    ll_csv_report report;
    char          found[256];
    CHECK_OK(ll_csv_read(paths, 2, &LL_CSV_DEFAULT, &p, &report));
    show(p, found, sizeof found);
    assert_string_equal(found, "s1@1:-,1.5 s2@1:5,-");
    assert_int_equal(report.files, 2);
    llap_panel_destroy(p);
    /* a folder: what does not fit is left out */
    put_file("README.txt", "nothing to see here\n");
    put_file(".hidden", "time,x\n1,2\n");
    const char *all = folder;
    CHECK_OK(ll_csv_read(&all, 1, &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(p->n_entities, 2);
    assert_int_equal(report.skipped_files, 1);
    llap_panel_destroy(p);
    const char *bad[] = { paths[0], put_file("README.txt", "nothing to see here\n") };
    CHECK_FAIL(ll_csv_read(bad, 2, &LL_CSV_DEFAULT, &p, NULL), LLAP_EINVAL,
               "README.txt: has no column 'time'");
    /* standard input */
    const int saved = dup(STDIN_FILENO), fd = open(paths[0], O_RDONLY);
    dup2(fd, STDIN_FILENO);
    CHECK_OK(ll_csv_read((const char *[]){ "-" }, 1, &LL_CSV_DEFAULT, &p, &report));
    dup2(saved, STDIN_FILENO);
    close(fd);
    close(saved);
    assert_string_equal(p->entity[0], "series");
    llap_panel_destroy(p);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s/* %s/.hidden", folder, folder);
    assert_int_equal(system(command), 0);
    CHECK_FAIL(ll_csv_read(&all, 1, &LL_CSV_DEFAULT, &p, &report), LLAP_EINVAL,
               "a folder without files");
    rmdir(folder);
}

/* ---- the originals and the canonical files ---- */

static void the_originals_load_as_they_are(void **state)
{
    (void)state;
    llap_panel *uci = panel_of_file("uci_air.csv.gz", &LL_CSV_DEFAULT);
    llap_panel *raw = panel_of_file("raw/AirQualityUCI.csv", &LL_CSV_DEFAULT);
    assert_int_equal(raw->n_rows, 9357);
    assert_int_equal(raw->n_vars, 13);
    assert_memory_equal(raw->time, uci->time, 9357 * sizeof *raw->time);
    assert_memory_equal(raw->observed, uci->observed, 9357 * 13 / 8);
    for (int64_t i = 0; i < 9357 * 13; i++)
        assert_true(raw->value[i] == uci->value[i] ||
                    (isnan(raw->value[i]) && isnan(uci->value[i])));
    llap_panel_destroy(raw);
    llap_panel_destroy(uci);

    const char   *records = data_file("raw/physionet2012_set-a");
    ll_csv_report report;
    ll_csv_opts   o = LL_CSV_DEFAULT;
    o.valid_min = 0, o.drop = (const char *const[]){ "RecordID", NULL };
    CHECK_OK(ll_csv_read(&records, 1, &o, &raw, &report));
    assert_int_equal(raw->n_entities, 20);
    assert_int_equal(report.files, 20);
    assert_int_equal(report.skipped_files, 1);
    o = LL_CSV_DEFAULT;
    o.time_unit = "min";
    llap_panel *all = panel_of_file("physionet2012_a.csv.gz", &o);
    for (int64_t e = 0; e < raw->n_entities; e++) {
        const int64_t f = ll_panel_find_entity(all, raw->entity[e]);
        assert_true(f >= 0);
        assert_int_equal(raw->start[e + 1] - raw->start[e], all->start[f + 1] - all->start[f]);
        for (int64_t i = 0; i < raw->start[e + 1] - raw->start[e]; i++) {
            const int64_t r = raw->start[e] + i, s = all->start[f] + i;
            assert_int_equal(raw->time[r], all->time[s]);
            for (int64_t v = 0; v < raw->n_vars; v++) {
                const int64_t u = ll_panel_find_var(all, raw->var[v]);
                assert_int_equal(ll_panel_observed(raw, r, v), ll_panel_observed(all, s, u));
                if (ll_panel_observed(raw, r, v))
                    assert_true(raw->value[r * raw->n_vars + v] == all->value[s * all->n_vars + u]);
            }
        }
    }
    llap_panel_destroy(raw);
    llap_panel_destroy(all);
    llap_panel *isd = panel_of_file("raw/isd_lite", &LL_CSV_DEFAULT);
    assert_int_equal(isd->n_entities, 2);
    assert_int_equal(isd->n_rows, 11368);
    llap_panel_destroy(isd);
}

static void the_canonical_files_load_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t     entities, rows, vars, observed;
    } files[] = {
        { "uci_air", 1, 9357, 13, 104940 },
        { "bms_air", 12, 420768, 12, 4975189 },
        { "physionet2012_a", 4000, 299262, 41, 1747995 },
        { "metar_us", 25, 277082, 7, 1620209 },
        { "metar_uk", 5, 79484, 6, 452566 },
        { "noaa_isd_lite", 13, 78231, 7, 380793 },
        { "us_equity", 222, 441928, 5, 2209640 },
        { "crypto", 118, 119348, 5, 596736 },
        { "ghcn_sporadic", 1202, 375490, 5, 413541 },
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.csv.gz", files[i].name);
        const char   *path = data_file(name);
        llap_panel   *p;
        ll_csv_report report;
        CHECK_OK(ll_csv_read(&path, 1, &LL_CSV_DEFAULT, &p, &report));
        assert_int_equal(p->n_entities, files[i].entities);
        assert_int_equal(p->n_rows, files[i].rows);
        assert_int_equal(p->n_vars, files[i].vars);
        assert_int_equal(ll_panel_count_observed(p), files[i].observed);
        assert_int_equal(report.warnings, 0);
        assert_int_equal(report.coded_missing, 0);
        const double ideal = (double)p->n_rows * (8 + (double)p->n_vars * (4 + 1.0 / 8));
        assert_true((double)ll_panel_bytes(p) < 1.3 * ideal);
        llap_panel_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_told_apart),
        cmocka_unit_test(dialects_are_told_apart),
        cmocka_unit_test(many_entities_are_still_entities),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(times_are_read_as_told),
        cmocka_unit_test(missing_cells_are_known),
        cmocka_unit_test(codes_for_missing_are_found),
        cmocka_unit_test(columns_are_chosen_and_renamed),
        cmocka_unit_test(words_are_left_out_or_coded),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(files_become_one_panel),
        cmocka_unit_test(the_originals_load_as_they_are),
        cmocka_unit_test(the_canonical_files_load_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
