#include "folder.h"

#include "base/file.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static llap_status write_text(const char *path, const char *text)
{
    ll_writer   w;
    llap_status st = ll_writer_open(path, &w);
    if (st == LLAP_OK) st = ll_writer_put(&w, text, strlen(text));
    if (st == LLAP_OK) st = ll_writer_commit(&w);
    ll_writer_abort(&w);
    return st;
}

static void expect_text(const char *path, const char *text)
{
    ll_map m;
    CHECK_OK(ll_map_open(path, &m));
    assert_int_equal(m.size, strlen(text));
    if (m.size > 0) assert_memory_equal(m.data, text, m.size);
    ll_map_close(&m);
    ll_map_close(&m);
    char  *buf;
    size_t n;
    CHECK_OK(ll_file_read(path, 100, &buf, &n));
    assert_string_equal(buf, text);
    ll_free(buf);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    CHECK_OK(write_text(in_folder("a"), "hello"));
    expect_text(in_folder("a"), "hello");
    CHECK_OK(write_text(in_folder("a"), ""));
    expect_text(in_folder("a"), "");
    struct stat s;
    assert_int_equal(stat(in_folder("a"), &s), 0);
    const mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(s.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(files_in_folder(), 1);
}

static void an_abandoned_write_changes_nothing(void **state)
{
    (void)state;
    CHECK_OK(write_text(in_folder("a"), "old"));
    ll_writer w;
    CHECK_OK(ll_writer_open(in_folder("a"), &w));
    CHECK_OK(ll_writer_put(&w, "new", 3));
    expect_text(in_folder("a"), "old");
    ll_writer_abort(&w);
    ll_writer_abort(&w);
    expect_text(in_folder("a"), "old");
    assert_int_equal(files_in_folder(), 1);
}

static void others_may_write_the_temporary_file(void **state)
{
    (void)state;
    ll_writer w;
    CHECK_OK(write_text(in_folder("a"), "old"));
    CHECK_OK(ll_writer_open(in_folder("a"), &w));
    FILE *f = fopen(w.temporary, "wb");
    assert_non_null(f);
    fputs("by another", f);
    fclose(f);
    expect_text(in_folder("a"), "old");
    CHECK_OK(ll_writer_commit(&w));
    expect_text(in_folder("a"), "by another");
    assert_int_equal(files_in_folder(), 1);
}

static void mode_and_links_are_kept(void **state)
{
    (void)state;
    CHECK_OK(write_text(in_folder("a"), "old"));
    assert_int_equal(chmod(in_folder("a"), 0640), 0);
    assert_int_equal(symlink("a", in_folder("link")), 0);
    CHECK_OK(write_text(in_folder("link"), "new"));
    expect_text(in_folder("a"), "new");
    struct stat s;
    assert_int_equal(lstat(in_folder("link"), &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(stat(in_folder("a"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    unlink(in_folder("link"));
}

static void bad_targets_are_named(void **state)
{
    (void)state;
    ll_writer w;
    CHECK_FAIL(ll_writer_open(folder, &w), LLAP_EINVAL, "is a directory");
    CHECK_FAIL(ll_writer_open("", &w), LLAP_EOPTION, "empty");
    CHECK_FAIL(ll_writer_open(in_folder("no/such/x"), &w), LLAP_ENOTFOUND, "no/such/x");
    CHECK_FAIL(write_text("/dev/full", "x"), LLAP_EIO, "No space left");
    CHECK_OK(write_text("/dev/null", "x"));
}

/* Nothing is left, and nobody who reads a pipe is told that it has ended. */
static void whether_a_file_could_be_written(void **state)
{
    (void)state;
    const int before = files_in_folder();
    CHECK_OK(ll_file_can_write(in_folder("new")));
    CHECK_OK(ll_file_can_write("/dev/null"));
    CHECK_FAIL(ll_file_can_write(folder), LLAP_EINVAL, "is a directory");
    CHECK_FAIL(ll_file_can_write(in_folder("no/such/x")), LLAP_ENOTFOUND, "no/such/x");
    assert_int_equal(files_in_folder(), before);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    CHECK_OK(ll_file_can_write(in_folder("pipe"))); /* does not wait for a reader either */
    unlink(in_folder("pipe"));
}

static void bad_sources_are_named(void **state)
{
    (void)state;
    ll_map m;
    char  *buf;
    size_t n;
    CHECK_FAIL(ll_map_open(in_folder("none"), &m), LLAP_ENOTFOUND, "none: No such file");
    CHECK_FAIL(ll_map_open(folder, &m), LLAP_EINVAL, "is a directory");
    CHECK_FAIL(ll_file_read(in_folder("none"), 10, &buf, &n), LLAP_ENOTFOUND, "none");
    CHECK_FAIL(ll_file_read(folder, 10, &buf, &n), LLAP_EIO, "Is a directory");
    assert_null(buf);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    CHECK_FAIL(ll_map_open(in_folder("pipe"), &m), LLAP_EINVAL, "not a regular file");
    unlink(in_folder("pipe"));
    CHECK_OK(write_text(in_folder("a"), "12345"));
    CHECK_FAIL(ll_file_read(in_folder("a"), 4, &buf, &n), LLAP_ELIMIT, "more than the 4 bytes");
    assert_int_equal(n, 0);
}

static llap_status write_and_read(void *user)
{
    llap_status st = write_text(user, "text");
    char       *buf = NULL;
    size_t      n;
    if (st == LLAP_OK) st = ll_file_read(user, 100, &buf, &n);
    ll_free(buf);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(write_and_read, (void *)(uintptr_t)in_folder("a"));
    assert_int_equal(files_in_folder(), 1);
}

/* Text of n lines of a hundred bytes. */
static llap_status write_lines(int n, char **text, size_t *n_text)
{
    ll_memory_file m;
    llap_status    st = ll_memory_file_open(&m);
    for (int i = 0; st == LLAP_OK && i < n; i++) fprintf(m.stream, "%99d\n", i);
    return ll_memory_file_close(&m, st, text, n_text);
}

static llap_status write_and_forget(void *user)
{
    char             *text = NULL;
    size_t            n;
    const llap_status st = write_lines(*(const int *)user, &text, &n);
    ll_free(text);
    return st;
}

static void what_goes_into_memory(void **state)
{
    (void)state;
    char  *text = NULL;
    size_t n;
    int    lines = 1000;
    CHECK_OK(write_lines(0, &text, &n));
    assert_int_equal(n, 0);
    assert_string_equal(text, "");
    ll_free(text);
    CHECK_OK(write_lines(lines, &text, &n));
    assert_int_equal(n, 100 * lines);
    assert_int_equal(strlen(text), n);
    for (int i = 0; i < lines; i++) assert_int_equal(strtol(text + 100 * i, NULL, 10), i);
    ll_free(text);
    check_every_failed_allocation(write_and_forget, &lines);
    (void)ll_alloc_limit(20000); /* what it holds counts */
    CHECK_FAIL(write_lines(lines, &text, &n), LLAP_ENOMEM, "out of memory");
    assert_true(ll_alloc_limit(0));
    assert_null(text);
    assert_int_equal(n, 0);
    assert_int_equal(ll_memory_file_close(&(ll_memory_file){ 0 }, LLAP_EIO, &text, &n), LLAP_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_into_memory),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(an_abandoned_write_changes_nothing),
        cmocka_unit_test(others_may_write_the_temporary_file),
        cmocka_unit_test(mode_and_links_are_kept),
        cmocka_unit_test(bad_targets_are_named),
        cmocka_unit_test(whether_a_file_could_be_written),
        cmocka_unit_test(bad_sources_are_named),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
