/* Arrays on the heap or in a mapped file: the same to whoever uses them. */
#include "check.h"

#include "base/scratch.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/llap-scratch-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int n_files(void)
{
    DIR *d = opendir(folder);
    int  n = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void heap_and_file_are_zeroed_and_hold_what_is_written(void **state)
{
    (void)state;
    enum { N = 3 << 20 };
    for (int mapped = 0; mapped < 2; mapped++) {
        ll_scratch   s;
        const size_t usual = ll_scratch_heap(mapped ? N - 1 : N);
        CHECK_OK(ll_scratch_init(&s, N));
        (void)ll_scratch_heap(usual);
        assert_int_equal(s.mapped, mapped ? N : 0);
        unsigned char *x = s.data;
        for (size_t i = 0; i < N; i++) assert_true(x[i] == 0);
        for (size_t i = 0; i < N; i++) x[i] = (unsigned char)(i * 7);
        for (size_t i = 0; i < N; i++) assert_true(x[i] == (unsigned char)(i * 7));
        assert_int_equal(n_files(), 0); /* a killed run leaves nothing behind */
        ll_scratch_deinit(&s);
        assert_null(s.data);
        ll_scratch_deinit(&s);
    }
}

/* Pages of files in the memory of this process, in bytes. */
static size_t resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long  size = 0, all = 0, of_files = 0;
    if (f == NULL) return 0;
    assert_int_equal(fscanf(f, "%ld %ld %ld", &size, &all, &of_files), 3);
    fclose(f);
    return (size_t)of_files * (size_t)sysconf(_SC_PAGESIZE);
}

/* What was looked at leaves the memory of the process, and comes back. */
static void a_file_does_not_fill_the_memory(void **state)
{
    (void)state;
    enum { N = 48 << 20, PIECE = 1 << 16, KEEP = 4 << 20 };
    ll_scratch   s;
    const size_t usual = ll_scratch_heap(4 * KEEP);
    CHECK_OK(ll_scratch_init(&s, N));
    const size_t   before = resident();
    unsigned char *x = s.data;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < N; i += PIECE) {
            for (size_t k = i; k < i + PIECE; k += 512) {
                if (pass == 0) x[k] = (unsigned char)(k >> 9);
                else assert_true(x[k] == (unsigned char)(k >> 9));
            }
            ll_scratch_used(&s, PIECE);
            assert_true(resident() < before + KEEP + (1 << 20));
        }
    (void)ll_scratch_heap(usual);
    ll_scratch_deinit(&s);
}

/* Room is reserved at once: no bus error later. */
static void too_little_room_is_said_at_once(void **state)
{
    (void)state;
    ll_scratch          s;
    const struct rlimit was = { RLIM_INFINITY, RLIM_INFINITY }, small = { 1 << 20, RLIM_INFINITY };
    const size_t        usual = ll_scratch_heap(0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK_FAIL(ll_scratch_init(&s, 8 << 20), LLAP_EIO, "8 MB of scratch");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_null(s.data);
    assert_int_equal(n_files(), 0);
    setenv("TMPDIR", "/nowhere", 1);
    CHECK_FAIL(ll_scratch_init(&s, 8 << 20), LLAP_ENOTFOUND, "/nowhere/llapdiff-");
    setenv("TMPDIR", folder, 1);
    (void)ll_scratch_heap(usual);
}

static llap_status take(void *user)
{
    (void)user;
    ll_scratch        s;
    const llap_status st = ll_scratch_init(&s, 1000);
    ll_scratch_deinit(&s);
    return st;
}

static void failed_allocations(void **state)
{
    (void)state;
    check_every_failed_allocation(take, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_and_file_are_zeroed_and_hold_what_is_written),
        cmocka_unit_test(a_file_does_not_fill_the_memory),
        cmocka_unit_test(too_little_room_is_said_at_once),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
