/* Packed panels: the same panel as in memory, whatever little memory sorting may take; nothing that
 * was changed, cut or lost goes unseen. */
#include "check.h"

#include "base/rng/rng.h"
#include "data/csv/csv.h"
#include "data/pack_layout.h"
#include "data/panel_append.h"
#include "data/panel_builder.h"
#include "data/panel_words.h"
#include "panel_equal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { VARS = 3, ENTITIES = 9 };

static char folder[] = "/tmp/llap-pack-XXXXXX";
static char path[64], other[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(path, sizeof path, "%s/a.panel", folder);
    snprintf(other, sizeof other, "%s/b.panel", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

/* Rows, or cells, in any order, many of them twice. */
static llap_panel *build(uint64_t seed, int n, bool cells, ll_pack_writer *w,
                         ll_builder_counts *counts)
{
    const ll_rng          rng = ll_rng_make(seed, LL_STREAM_TEST, 0, 0, 0);
    const ll_builder_opts o = { .pack = w, .memory = 2000, .sort_vars = seed % 2 };
    ll_panel_builder     *b;
    llap_panel           *p;
    uint32_t              id;
    uint64_t              k = 0;
    CHECK_OK(ll_panel_builder_create(&o, &b));
    for (int i = 0; i < n; i++) {
        /* variables come late */
        if (i % 40 == 0 && i / 40 < VARS) CHECK_OK(ll_panel_builder_var(b, &"zxy"[i / 40], 1, &id));
        const int     vars = i / 40 < VARS ? i / 40 + 1 : VARS;
        const int64_t time = (int64_t)(ll_rng_uniform(&rng, k++) * 60);
        float         x[VARS];
        for (int v = 0; v < VARS; v++) x[v] = (float)ll_rng_uniform(&rng, k++);
        for (int v = 0; v < VARS; v++) x[v] = x[v] < 0.3f ? NAN : x[v];
        const int e = (int)(ll_rng_uniform(&rng, k++) * ENTITIES);
        CHECK_OK(ll_panel_builder_entity(b, &"hbfadgcie"[e], 1, &id));
        if (cells) CHECK_OK(ll_panel_builder_cell(b, id, time, (uint32_t)(i % vars), x[0]));
        else CHECK_OK(ll_panel_builder_row(b, id, time, x));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    *counts = *ll_panel_builder_counts(b);
    ll_panel_builder_destroy(b);
    return p;
}

static void sorting_on_disk_is_sorting_in_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        const bool        cells = seed % 3 == 0;
        const int         n = 100 + (int)seed * 40;
        ll_builder_counts here, there;
        ll_pack_writer   *w;
        llap_panel       *mapped, *again, *p = build(seed, n, cells, NULL, &here);
        CHECK_OK(ll_pack_writer_open(path, 0, &w));
        mapped = build(seed, n, cells, w, &there);
        assert_true(ll_pack_writer_begun(w));
        assert_true(panel_equal(p, mapped));
        CHECK_OK(ll_pack_writer_commit(w, mapped));
        ll_pack_writer_close(w);
        CHECK_OK(ll_pack_open(path, &again));
        CHECK_OK(ll_panel_verify_all(again));
        assert_true(panel_equal(p, again));
        assert_int_equal(here.duplicate_cells, there.duplicate_cells);
        assert_int_equal(here.unordered, there.unordered);
        if (!cells) {
            assert_int_equal(here.merged_rows, there.merged_rows);
            assert_int_equal(here.first_duplicate, there.first_duplicate);
        }
        llap_panel_destroy(p);
        llap_panel_destroy(mapped);
        llap_panel_destroy(again);
    }
}

/* What a panel has beside its rows. */
/* Parts that overlap in time, as files of one series may: the later part has the last word,
 * whatever the parts are called. */
static llap_panel *join_parts(bool cells, ll_pack_writer *w, ll_builder_counts *counts)
{
    const ll_builder_opts o = { .pack = w, .memory = 2000 };
    ll_panel_builder     *b;
    llap_panel           *p;
    uint32_t              var, id[3], all;
    CHECK_OK(ll_panel_builder_create(&o, &b));
    CHECK_OK(ll_panel_builder_var(b, "x", 1, &var));
    for (int part = 0; part < 3; part++) {
        CHECK_OK(ll_panel_builder_entity(b, &"cab"[part], 1, &id[part]));
        for (int i = 0; i < 90; i++) {
            const int   k = i * 7 % 90;
            const float x = (float)(100 * part + k);
            if (cells) CHECK_OK(ll_panel_builder_cell(b, id[part], k + 10 * part, var, x));
            else CHECK_OK(ll_panel_builder_row(b, id[part], k + 10 * part, &x));
        }
    }
    CHECK_OK(ll_panel_builder_entity(b, "all", 3, &all));
    CHECK_OK(ll_panel_builder_join(b, (const uint32_t[]){ all, all, all, all }));
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    *counts = *ll_panel_builder_counts(b);
    ll_panel_builder_destroy(b);
    return p;
}

static void parts_of_one_series_in_their_order(void **state)
{
    (void)state;
    for (int cells = 0; cells < 2; cells++) {
        ll_builder_counts here, there;
        ll_pack_writer   *w;
        llap_panel       *mapped, *p = join_parts(cells, NULL, &here);
        CHECK_OK(ll_pack_writer_open(path, 0, &w));
        mapped = join_parts(cells, w, &there);
        assert_true(panel_equal(p, mapped));
        assert_int_equal(here.merged_rows, there.merged_rows);
        assert_int_equal(here.duplicate_cells, there.duplicate_cells);
        llap_panel_destroy(mapped);
        llap_panel_destroy(p);
        ll_pack_writer_close(w);
    }
}

static llap_panel *with_words(void)
{
    static const char csv[] = "entity,time,kind,temp [degC]\n"
                              "b,2024-01-01 00:00,oak,1\nb,2024-01-01 01:00,oak,\n"
                              "a,2024-01-01 00:30,elm,-3.5\na,2024-01-01 02:00,elm,7\n";
    ll_csv_opts       o = LL_CSV_DEFAULT;
    llap_panel       *p;
    o.text = LL_CSV_TEXT_CODE;
    CHECK_OK(ll_csv_read_memory("t.csv", csv, strlen(csv), &o, &p, NULL));
    return p;
}

static void write_panel(const llap_panel *p, const char *to)
{
    ll_pack_writer *w;
    CHECK_OK(ll_pack_writer_open(to, 0, &w));
    CHECK_OK(ll_pack_writer_begin(w, p->n_vars));
    CHECK_OK(ll_pack_writer_rows_of(w, p));
    CHECK_OK(ll_pack_writer_commit(w, p));
    ll_pack_writer_close(w);
}

static void words_units_and_levels_are_kept(void **state)
{
    (void)state;
    llap_panel *p = with_words(), *again;
    write_panel(p, path);
    CHECK_OK(ll_pack_open(path, &again));
    assert_true(panel_equal(p, again));
    assert_int_equal(p->words->n, again->words->n);
    for (uint32_t c = 0; c < p->words->n; c++)
        for (int64_t e = 0; e < p->n_entities; e++)
            assert_string_equal(p->words->word[c][e], again->words->word[c][e]);
    assert_int_equal(p->words->n_levels, again->words->n_levels);
    for (size_t i = 0; i < p->words->n_levels; i++)
        assert_string_equal(p->words->level[i], again->words->level[i]);
    for (int64_t v = 0; p->unit != NULL && v < p->n_vars; v++)
        assert_string_equal(p->unit[v], again->unit[v]);
    /* it grows as others do, in memory, and the file stays */
    CHECK_OK(ll_panel_append(again, p, NULL));
    assert_true(panel_equal(p, again));
    llap_panel_destroy(p);
    llap_panel_destroy(again);
}

static void panels_without_anything_are_panels(void **state)
{
    (void)state;
    const int64_t  start[1] = { 0 };
    ll_panel_draft d = { .axis = LL_AXIS_UTC, .start = start };
    llap_panel    *p, *again;
    CHECK_OK(ll_panel_create(&d, &p));
    write_panel(p, path);
    CHECK_OK(ll_pack_open(path, &again));
    CHECK_OK(ll_panel_verify_all(again));
    assert_true(panel_equal(p, again));
    llap_panel_destroy(p);
    llap_panel_destroy(again);
}

/* More than a block, one file and shards. */
static void shards_are_one_panel(void **state)
{
    (void)state;
    const int64_t   n = LL_PACK_BLOCK_ROWS * 2 + 777, start[] = { 0, n / 3, n };
    const char     *names[] = { "a", "b" };
    ll_panel_draft  d = { .axis = LL_AXIS_UTC,
                          .n_entities = 2,
                          .n_vars = 1,
                          .entity = names,
                          .var = names,
                          .start = start };
    llap_panel     *p, *again;
    ll_pack_writer *w;
    CHECK_OK(ll_panel_create(&d, &p));
    for (int64_t r = 0; r < n; r++) {
        d.time[r] = r;
        if (r % 5 == 0) continue;
        d.value[r] = (float)(r % 1000);
        ll_bit_set(d.observed, r);
    }
    CHECK_OK(ll_pack_writer_open(other, LL_PACK_BLOCK_ROWS, &w));
    CHECK_OK(ll_pack_writer_begin(w, 1));
    CHECK_OK(ll_pack_writer_rows_of(w, p));
    CHECK_OK(ll_pack_writer_commit(w, p));
    ll_pack_writer_close(w);
    CHECK_OK(ll_pack_open(other, &again));
    CHECK_OK(ll_panel_verify(again, n - 1, n));
    CHECK_OK(ll_panel_verify_all(again));
    assert_true(panel_equal(p, again));
    llap_panel_destroy(again);
    CHECK_FAIL(ll_pack_writer_open(other, LL_PACK_BLOCK_ROWS, &w), LLAP_EINVAL, "is there already");
    char shard[96];
    snprintf(shard, sizeof shard, "%s/00001.rows", other);
    struct stat s;
    assert_int_equal(stat(shard, &s), 0);
    assert_int_equal(truncate(shard, s.st_size - 1), 0);
    CHECK_FAIL(ll_pack_open(other, &again), LLAP_EFORMAT, "it was cut");
    assert_int_equal(unlink(shard), 0);
    CHECK_FAIL(ll_pack_open(other, &again), LLAP_EFORMAT, "shard 2 of 3 is missing");
    llap_panel_destroy(p);
}

/* Every byte that means something is under a sum. */
static void any_changed_byte_is_found(void **state)
{
    (void)state;
    llap_panel *p = with_words(), *again;
    struct stat s;
    write_panel(p, path);
    assert_int_equal(stat(path, &s), 0);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int64_t at = 0; at < s.st_size; at++) {
        /* the zeros that fill sections up mean nothing */
        if (at >= 160 && at < s.st_size - 256 && at % LL_PACK_ALIGN >= 40) continue;
        char was, now;
        assert_int_equal(pread(fd, &was, 1, at), 1);
        now = (char)(was ^ 16);
        assert_int_equal(pwrite(fd, &now, 1, at), 1);
        llap_status st = ll_pack_open(path, &again);
        const bool  opened = st == LLAP_OK;
        if (opened && at % 2 == 0) st = llap_panel_view(again) == NULL ? LLAP_EFORMAT : LLAP_OK;
        else if (opened) st = ll_panel_verify_all(again);
        assert_true(st == LLAP_EFORMAT || (st == LLAP_OK && panel_equal(p, again)));
        llap_panel_destroy(again);
        assert_int_equal(pwrite(fd, &was, 1, at), 1);
    }
    close(fd);
    for (int64_t size = s.st_size; size-- > s.st_size - 3;) {
        assert_int_equal(truncate(path, size), 0);
        CHECK_FAIL(ll_pack_open(path, &again), LLAP_EFORMAT, "it was cut");
    }
    assert_int_equal(truncate(path, 100), 0);
    CHECK_FAIL(ll_pack_open(path, &again), LLAP_EFORMAT, "is no packed panel");
    llap_panel_destroy(p);
}

/* Sums are right, and what they are of cannot be. */
static void bits_behind_the_last_cell(void **state)
{
    (void)state;
    llap_panel    *p = with_words(), *again;
    ll_pack_header h;
    uint8_t        header[LL_PACK_HEADER];
    uint32_t       sum;
    uint64_t       bits;
    char           index[4096];
    write_panel(p, path);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    CHECK_OK(ll_pack_header_get(header, sizeof header, "a", &h));
    const int64_t at = LL_PACK_ALIGN + ll_pack_place(LL_PACK_OBSERVED, h.n_rows, h.n_vars),
                  behind = LL_PACK_ALIGN + h.block_bytes;
    assert_true(h.index_bytes <= (int64_t)sizeof index && h.n_rows * h.n_vars < 64);
    assert_int_equal(pread(fd, index, (size_t)h.index_bytes, behind), h.index_bytes);
    assert_int_equal(pread(fd, &bits, 8, at), 8);
    bits |= UINT64_C(1) << (h.n_rows * h.n_vars);
    sum = ll_pack_crc(0, &bits, 8);
    memcpy(index + 8 * (h.n_entities + 1) + 8, &sum, sizeof sum);
    h.index_sum = ll_pack_crc(0, index, h.index_bytes);
    ll_pack_header_put(&h, header);
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    assert_int_equal(pwrite(fd, index, (size_t)h.index_bytes, behind), h.index_bytes);
    assert_int_equal(pwrite(fd, &bits, 8, at), 8);
    CHECK_OK(ll_pack_open(path, &again));
    CHECK_FAIL(ll_panel_verify_all(again), LLAP_EFORMAT, "behind the last cell");
    llap_panel_destroy(again);
    llap_panel_destroy(p);
    close(fd);
    /* more columns of words than are counted */
    h.index_bytes = INT64_C(1) << 40;
    h.n_words = INT64_C(1) << 32;
    ll_pack_header_put(&h, header);
    CHECK_FAIL(ll_pack_header_get(header, sizeof header, "a", &h), LLAP_EFORMAT, "cannot be");
}

static llap_status all_of_it(void *user)
{
    const llap_panel *p = user;
    ll_pack_writer   *w = NULL;
    llap_panel       *again = NULL;
    llap_status       st = ll_pack_writer_open(path, 0, &w);
    if (st == LLAP_OK) st = ll_pack_writer_begin(w, p->n_vars);
    if (st == LLAP_OK) st = ll_pack_writer_rows_of(w, p);
    if (st == LLAP_OK) st = ll_pack_writer_commit(w, p);
    ll_pack_writer_close(w);
    if (st == LLAP_OK) st = ll_pack_open(path, &again);
    llap_panel_destroy(again);
    return st;
}

static llap_status sort_some(void *user)
{
    ll_pack_writer   *w = NULL;
    ll_panel_builder *b = NULL;
    llap_panel       *p = NULL;
    uint32_t          id;
    ll_builder_opts   o = { .memory = 1000 };
    llap_status       st = ll_pack_writer_open(path, 0, &w);
    (void)user;
    o.pack = w;
    if (st == LLAP_OK) st = ll_panel_builder_create(&o, &b);
    if (st == LLAP_OK) st = ll_panel_builder_var(b, "x", 1, &id);
    for (int i = 0; i < 300 && st == LLAP_OK; i++) {
        const float x = 1;
        st = ll_panel_builder_entity(b, &"cab"[i % 3], 1, &id);
        if (st == LLAP_OK) st = ll_panel_builder_row(b, id, i * 7 % 50, &x);
    }
    if (st == LLAP_OK) st = ll_panel_builder_finish(b, &LL_AXIS_UTC, &p);
    if (st == LLAP_OK) st = ll_pack_writer_commit(w, p);
    llap_panel_destroy(p);
    ll_panel_builder_destroy(b);
    ll_pack_writer_close(w);
    return st;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    llap_panel *p = with_words();
    check_every_failed_allocation(all_of_it, p);
    check_every_failed_allocation(sort_some, NULL);
    llap_panel_destroy(p);
}

/* Whoever writes into a pipe has one reader, who must be the one that reads it all: here the writer
 * still waits for it. */
static atomic_bool opened;

static void *write_to_pipe(void *user)
{
    const int fd = open(user, O_WRONLY | O_CLOEXEC);
    atomic_store(&opened, true);
    return fd >= 0 && close(fd) == 0 ? user : NULL;
}

static void a_pipe_is_not_opened_to_find_out_what_it_is(void **state)
{
    (void)state;
    char      pipe[64];
    pthread_t writer;
    void     *done = NULL;
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_to_pipe, pipe), 0);
    (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    assert_false(ll_pack_detect(pipe));
    (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    assert_false(atomic_load(&opened));
    const int fd = open(pipe, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pthread_join(writer, &done), 0);
    assert_non_null(done);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_on_disk_is_sorting_in_memory),
        cmocka_unit_test(parts_of_one_series_in_their_order),
        cmocka_unit_test(words_units_and_levels_are_kept),
        cmocka_unit_test(panels_without_anything_are_panels),
        cmocka_unit_test(shards_are_one_panel),
        cmocka_unit_test(any_changed_byte_is_found),
        cmocka_unit_test(bits_behind_the_last_cell),
        cmocka_unit_test(failed_allocations_leave_nothing),
        cmocka_unit_test(a_pipe_is_not_opened_to_find_out_what_it_is),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
