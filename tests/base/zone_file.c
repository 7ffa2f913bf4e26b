/* Zones from the bytes of TZif files: their versions, damage, rules. */
#include "detail.h"

#include "base/time/time.h"
#include "base/time/zone.h"

#include <sys/stat.h>
#include <unistd.h>

typedef struct bytes {
    uint8_t p[4096];
    size_t  n;
} bytes;

static void put(bytes *b, const void *p, size_t n)
{
    assert_true(b->n + n <= sizeof b->p);
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_int(bytes *b, int64_t v, int size)
{
    for (int i = size; i-- > 0;) put(b, &(uint8_t){ (uint8_t)((uint64_t)v >> (8 * i)) }, 1);
}

typedef struct span {
    int64_t from;
    uint8_t kind;
} span;

typedef struct kind {
    int32_t offset;
    uint8_t dst, name;
} kind;

typedef struct image {
    char        version;
    size_t      n_spans, n_kinds, n_chars;
    span        spans[8];
    kind        kinds[3];
    const char *chars;
    const char *footer; /* NULL: none */
} image;

static void put_block(bytes *b, const image *m, int time_bytes)
{
    put(b, "TZif", 4);
    put_int(b, m->version, 1);
    for (int i = 0; i < 15; i++) put_int(b, 0, 1);
    const size_t counts[] = { 0, 0, 0, m->n_spans, m->n_kinds, m->n_chars };
    for (int i = 0; i < 6; i++) put_int(b, (int64_t)counts[i], 4);
    for (size_t i = 0; i < m->n_spans; i++) put_int(b, m->spans[i].from, time_bytes);
    for (size_t i = 0; i < m->n_spans; i++) put_int(b, m->spans[i].kind, 1);
    for (size_t i = 0; i < m->n_kinds; i++) {
        put_int(b, m->kinds[i].offset, 4);
        put_int(b, m->kinds[i].dst, 1);
        put_int(b, m->kinds[i].name, 1);
    }
    put(b, m->chars, m->n_chars);
}

static bytes encode(const image *m)
{
    bytes b = { .n = 0 };
    put_block(&b, m, 4);
    if (m->version != 0) put_block(&b, m, 8);
    if (m->footer != NULL) put(&b, m->footer, strlen(m->footer));
    return b;
}

static const image model = { .version = '2',
                             .n_spans = 2,
                             .n_kinds = 2,
                             .n_chars = 8,
                             .spans = { { 0, 1 }, { 1000000, 0 } },
                             .kinds = { { 3600, 0, 0 }, { 7200, 1, 4 } },
                             .chars = "CET\0XYZ",
                             .footer = "\nCET-1CEST,M3.5.0,M10.5.0/3\n" };

static llap_status decode(const image *m, ll_zone **z)
{
    const bytes b = encode(m);
    /* On the heap to the byte, so that the sanitizers see a step too far. */
    uint8_t *exact = ll_new(b.n, 1);
    memcpy(exact, b.p, b.n);
    const llap_status st = ll_zone_decode(exact, b.n, "Test/Zone", z);
    ll_free(exact);
    return st;
}

static void files_of_all_versions_are_read(void **state)
{
    (void)state;
    static const char versions[] = { 0, '2', '3', '4' };
    for (size_t i = 0; i < sizeof versions; i++) {
        image m = model;
        m.version = versions[i];
        if (m.version == 0) m.footer = NULL;
        ll_zone *z;
        CHECK_OK(decode(&m, &z));
        assert_string_equal(ll_zone_name(z), "Test/Zone");
        assert_int_equal(ll_zone_at(z, -1).offset_s, 3600);
        assert_int_equal(ll_zone_at(z, 0).offset_s, 7200);
        assert_string_equal(ll_zone_at(z, 999999).abbreviation, "XYZ");
        assert_int_equal(ll_zone_at(z, 1000000).offset_s, 3600);
        assert_int_equal(ll_zone_at(z, 1719828000).offset_s, m.version == 0 ? 3600 : 7200);
        ll_zone_destroy(z);
    }
    image m = model;
    m.footer = "\n\n";
    ll_zone *z;
    CHECK_OK(decode(&m, &z));
    assert_int_equal(ll_zone_at(z, 1719828000).offset_s, 3600);
    ll_zone_destroy(z);
}

static void check_damage(const image *m, llap_status code, const char *detail)
{
    ll_zone *z;
    check_detail(decode(m, &z), code, detail);
    assert_null(z);
}

static void damaged_files_say_what_is_wrong(void **state)
{
    (void)state;
#define FILE_ "time zone file Test/Zone: "
    image m = model;
    m.version = '1';
    check_damage(&m, LLAP_EFORMAT, FILE_ "unknown version");
    m = model;
    m.n_kinds = 0;
    m.n_spans = 0;
    check_damage(&m, LLAP_EFORMAT, FILE_ "expected 1 to 256 local time types");
    m = model;
    m.spans[1].from = 0;
    check_damage(&m, LLAP_EFORMAT, FILE_ "its transition times do not ascend");
    m = model;
    m.spans[0].from = INT64_MIN;
    check_damage(&m, LLAP_EFORMAT, FILE_ "its transition times do not ascend");
    m = model;
    m.spans[1].kind = 2;
    check_damage(&m, LLAP_EFORMAT, FILE_ "a transition has no local time type");
    const kind bad_kinds[] = {
        { 93601, 0, 0 }, { -93601, 0, 0 }, { 0, 2, 0 }, { 0, 0, 8 }, { 0, 0, 3 }
    };
    for (size_t i = 0; i < sizeof bad_kinds / sizeof *bad_kinds; i++) {
        m = model;
        m.kinds[1] = bad_kinds[i];
        check_damage(&m, LLAP_EFORMAT, FILE_ "a local time type is malformed");
    }
    m = model;
    m.n_chars = 7; /* the last name loses its end */
    check_damage(&m, LLAP_EFORMAT, FILE_ "a local time type is malformed");
    m.chars = "C\nT\0XYZ";
    m.n_chars = 8;
    check_damage(&m, LLAP_EFORMAT, FILE_ "a local time type is malformed");
    m.chars = "ABCDEFGHIJK";
    m.n_chars = 12;
    check_damage(&m, LLAP_EFORMAT, FILE_ "a local time type is malformed");
    const char *const bad_footers[] = { NULL, "", "\n", "CET-1\n", "\nCET-1" };
    for (size_t i = 0; i < sizeof bad_footers / sizeof *bad_footers; i++) {
        m = model;
        m.footer = bad_footers[i];
        check_damage(&m, LLAP_EFORMAT, FILE_ "expected a footer between two newlines");
    }
}

static void every_cut_and_every_flip_is_survived(void **state)
{
    (void)state;
    const bytes whole = encode(&model);
    ll_zone    *z;
    for (size_t n = 0; n < whole.n; n++) {
        uint8_t *cut = ll_new(n, 1);
        memcpy(cut, whole.p, n);
        assert_int_not_equal(ll_zone_decode(n > 0 ? cut : NULL, n, "cut", &z), LLAP_OK);
        ll_free(cut);
    }
    for (size_t i = 0; i < whole.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes b = whole;
            b.p[i] ^= (uint8_t)(1 << bit);
            if (ll_zone_decode(b.p, b.n, "flip", &z) != LLAP_OK) continue;
            int32_t offset_s;
            for (int64_t t = -93600 * 2; t < 93600 * 2; t += 1800)
                CHECK_OK(ll_zone_resolve(z, t, LL_WALL_LATER, &offset_s));
            ll_zone_destroy(z);
        }
    /* Counts far beyond the bytes, and what we do not do. */
    for (int count = 0; count < 6; count++) {
        bytes b = whole;
        memset(b.p + 20 + 4 * count, 0xff, 4);
        check_detail(ll_zone_decode(b.p, b.n, "x", &z), LLAP_EFORMAT,
                     "time zone file x: its counts ask for more bytes than it has");
    }
    bytes right = { .n = 0 };
    put_block(&right, &(image){ .n_kinds = 1, .n_chars = 4, .chars = "UTC" }, 4);
    right.p[31] = 1;
    put_int(&right, 0, 8);
    check_detail(ll_zone_decode(right.p, right.n, "right/UTC", &z), LLAP_EUNSUPPORTED,
                 "time zone file right/UTC: counts leap seconds, which our times do not");
    static uint8_t large[LL_ZONE_FILE_MAX + 1];
    check_detail(ll_zone_decode(large, sizeof large, "x", &z), LLAP_ELIMIT,
                 "time zone file x: expected at most 65536 bytes, found 65537");
    memcpy(large, "TZif", 4);
    large[38] = 1; /* 257 kinds */
    large[39] = 1;
    check_detail(ll_zone_decode(large, 10000, "x", &z), LLAP_EFORMAT,
                 "time zone file x: expected 1 to 256 local time types");
}

/* ---- rules ---- */

static void rules_are_followed(void **state)
{
    (void)state;
    static const struct {
        const char *footer, *utc;
        int32_t     offset_s;
        const char *abbreviation;
    } rows[] = {
        { "EST5EDT,M3.2.0,M11.1.0", "2024-03-10T06:59:59Z", -18000, "EST" },
        { "EST5EDT,M3.2.0,M11.1.0", "2024-03-10T07:00:00Z", -14400, "EDT" },
        { "EST5EDT,M3.2.0,M11.1.0", "2024-11-03T05:59:59Z", -14400, "EDT" },
        { "EST5EDT,M3.2.0,M11.1.0", "2024-11-03T06:00:00Z", -18000, "EST" },
        { "<-0330>+3:30:00<-0230>,J60/-1:30:15,300/+167", "2024-03-01T01:59:44Z", -12600, "-0330" },
        { "<-0330>+3:30:00<-0230>,J60/-1:30:15,300/+167", "2024-03-01T01:59:45Z", -9000, "-0230" },
        { "<-0330>+3:30:00<-0230>,J60/-1:30:15,300/+167", "2023-03-01T01:59:45Z", -9000, "-0230" },
        { "AAA0BBB,J59/0,300", "2024-02-28T00:00:00Z", 3600, "BBB" },
        { "AAA0BBB,J59/0,300", "2023-02-27T23:59:59Z", 0, "AAA" },
        { "AAA0BBB,59/0,300", "2024-02-28T23:59:59Z", 0, "AAA" },
        { "AAA0BBB,59/0,300", "2024-02-29T00:00:00Z", 3600, "BBB" },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", "2024-01-01T00:00:00Z", 0, "GMT" },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", "2024-07-01T00:00:00Z", 3600, "IST" },
        { "EST5EDT,0/0,J365/25", "2024-01-01T05:00:00Z", -14400, "EDT" }, /* all year */
        { "EST5EDT,0/0,J365/25", "2023-12-31T23:00:00Z", -14400, "EDT" },
        { "AAA0BBB,J100/2,J100/3", "2024-07-01T00:00:00Z", 0, "AAA" }, /* never */
        { "JST-9", "2024-01-01T00:00:00Z", 32400, "JST" },
        { "JST-9", "1700-01-01T00:00:00Z", 32400, "JST" },
        { "EST5EDT,M3.2.0,M11.1.0", "1677-09-21T00:12:44Z", -14400, "EDT" },
        { "EST5EDT,M3.2.0,M11.1.0", "2262-04-11T23:47:16Z", -14400, "EDT" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char footer[80];
        snprintf(footer, sizeof footer, "\n%s\n", rows[i].footer);
        image m = { .version = '3', .n_kinds = 1, .n_chars = 4, .chars = "LMT", .footer = footer };
        ll_zone *z;
        int64_t  t;
        CHECK_OK(decode(&m, &z));
        CHECK_OK(ll_time_parse(rows[i].utc, strlen(rows[i].utc), NULL, LL_WALL_ERROR, &t));
        const ll_zone_local l = ll_zone_at(z, ll_floor_s(t));
        if (l.offset_s != rows[i].offset_s || strcmp(l.abbreviation, rows[i].abbreviation) != 0)
            fail_msg("%s at %s: found %d %s", rows[i].footer, rows[i].utc, l.offset_s,
                     l.abbreviation);
        ll_zone_destroy(z);
    }
}

static void bad_rules_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *detail;
    } rows[] = {
        { "5", "at position 1: expected the name of a zone, found '5'" },
        { "{}5", "at position 1: expected the name of a zone, found '{}5'" },
        { "[]5", "at position 1: expected the name of a zone, found '[]5'" },
        { "<AB", "at position 1: expected the name of a zone, found '<AB'" },
        { "<A B>5", "at position 1: expected the name of a zone, found '<A B>5'" },
        { "EST", "at position 4: expected hours 0..24, found the end" },
        { "EST25", "at position 4: expected hours 0..24, found '25'" },
        { "EST5:6", "at position 6: expected minutes 00..59, found '6'" },
        { "EST5:06:7", "at position 9: expected seconds 00..59, found '7'" },
        { "EST5,M3.2.0,M11.1.0",
          "at position 5: expected the name of a zone, found ',M3.2.0,M11.1.0'" },
        { "EST5EDT", "at position 8: expected hours 0..24, found the end" },
        { "EST5EDT4", "at position 9: expected ',' and the date of a change, found the end" },
        { "EST5EDT,M3.2.0",
          "at position 15: expected ',' and the date of a change, found the end" },
        { "EST5EDT,M13.2.0,J1", "at position 10: expected month 1..12, found '13.2.0,J1'" },
        { "EST5EDT,M3,J1", "at position 11: expected '.', found ',J1'" },
        { "EST5EDT,M3.6.0,J1", "at position 12: expected week 1..5, found '6.0,J1'" },
        { "EST5EDT,M3.5,J1", "at position 13: expected '.', found ',J1'" },
        { "EST5EDT,M3.5.7,J1", "at position 14: expected weekday 0..6, found '7,J1'" },
        { "EST5EDT,J0,J1", "at position 10: expected day 1..365, found '0,J1'" },
        { "EST5EDT,366,J1", "at position 9: expected day 0..365, found '366,J1'" },
        { "EST5EDT,J1/168,J1", "at position 12: expected hours 0..167, found '168,J1'" },
        { "EST5EDT,J1,J2x", "at position 14: expected the end, found 'x'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char footer[80], detail[200];
        snprintf(footer, sizeof footer, "\n%s\n", rows[i].rule);
        snprintf(detail, sizeof detail, FILE_ "rule '%s' %s", rows[i].rule, rows[i].detail);
        image m = model;
        m.footer = footer;
        check_damage(&m, LLAP_EFORMAT, detail);
    }
}

/* Clocks no country has: several changes within two days. */
static void crowded_changes_are_resolved(void **state)
{
    (void)state;
    const image m = {
        .n_spans = 6,
        .n_kinds = 3,
        .n_chars = 4,
        .spans = { { 0, 1 }, { 7200, 0 }, { 10800, 1 }, { 14400, 2 }, { 90000, 0 }, { 200000, 1 } },
        .kinds = { { 0, 0, 0 }, { 7200, 1, 0 }, { -7200, 1, 0 } },
        .chars = "ABC"
    };
    ll_zone *z;
    CHECK_OK(decode(&m, &z));
    for (int64_t t = -100000; t < 300000; t += 60) {
        const int64_t local_s = t + ll_zone_at(z, t).offset_s;
        int32_t       early, late;
        CHECK_OK(ll_zone_resolve(z, local_s, LL_WALL_EARLIER, &early));
        CHECK_OK(ll_zone_resolve(z, local_s, LL_WALL_LATER, &late));
        assert_true(local_s - early <= t && t <= local_s - late);
        assert_int_equal(ll_zone_at(z, local_s - early).offset_s, early);
        assert_int_equal(ll_zone_at(z, local_s - late).offset_s, late);
    }
    ll_zone_destroy(z);
}

static void a_database_may_lie_elsewhere(void **state)
{
    (void)state;
    char folder[] = "/tmp/llap_zone_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/Own", folder);
    const bytes b = encode(&model);
    FILE       *f = fopen(path, "wb");
    assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
    fclose(f);
    ll_zone *z;
    CHECK_OK(ll_zone_create("Own", 3, folder, &z));
    assert_string_equal(ll_zone_name(z), "Own");
    ll_zone_destroy(z);
    CHECK_FAIL(ll_zone_create("Other", 5, folder, &z), LLAP_EINVAL,
               "time zone 'Other': not in the time zone database /tmp/llap_zone_");
    f = fopen(path, "wb");
    fclose(f);
    check_detail(ll_zone_create("Own", 3, folder, &z), LLAP_EFORMAT,
                 "time zone file Own: expected a header that starts with TZif");
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_all_versions_are_read),
        cmocka_unit_test(damaged_files_say_what_is_wrong),
        cmocka_unit_test(every_cut_and_every_flip_is_survived),
        cmocka_unit_test(rules_are_followed),
        cmocka_unit_test(bad_rules_say_what_is_wrong),
        cmocka_unit_test(crowded_changes_are_resolved),
        cmocka_unit_test(a_database_may_lie_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
