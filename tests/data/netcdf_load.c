/* How the object with libnetcdf is found, and what is said when it is not. */
#include "netcdf_make.h"

#include "data/netcdf/load.h"

#include <pthread.h>

static const char *self; /* this program */

static const char *some_file(void)
{
    begin("some.nc");
    dim("time", 2), var("time", NC_INT, "time"), text("time", "units", "s since 1970-01-01");
    var("x", NC_FLOAT, "time"), PUT("time", 0, 1), PUT("x", 1, 2);
    return end();
}

static void a_missing_object_names_the_packages(void **state)
{
    (void)state;
    const char    *file = some_file();
    ll_netcdf_opts o = LL_NETCDF_DEFAULT;
    EXPECT_FAIL(file, o, LLAP_EUNSUPPORTED,
                "some.nc: no NetCDF support here: install the packages "
                "libnetcdf19 and libudunits2-0");
    assert_non_null(strstr(llap_error_detail(), "llapdiff/llapdiff-netcdf.so"));
    assert_null(strchr(llap_error_detail(), '\n'));
    llap_panel *p;
    o.object = LLAP_NETCDF_OBJECT;
    CHECK_OK(ll_netcdf_read(file, &o, &p, NULL));
    o.object = "/no/such/object.so";
    EXPECT_FAIL(file, o, LLAP_EUNSUPPORTED, "/no/such/object.so");
    CHECK_FAIL(ll_netcdf_write(p, file, &o), LLAP_EUNSUPPORTED, "libnetcdf19");
    llap_panel_destroy(p);
    o.object = "libm.so.6";
    EXPECT_FAIL(file, o, LLAP_EUNSUPPORTED, "libm.so.6 belongs to another version of the library");
}

/* A copy of this program beside a folder llapdiff/ finds the object there without being told. */
static void the_object_lies_beside_the_library(void **state)
{
    (void)state;
    char command[2000];
    snprintf(command, sizeof command,
             "mkdir %s/llapdiff && ln -s '%s' %s/llapdiff/ && cp '%s' %s/copy && %s/copy %s",
             folder, LLAP_NETCDF_OBJECT, folder, self, folder, folder, some_file());
    assert_int_equal(system(command), 0);
}

static void *read_often(void *user)
{
    const ll_netcdf_opts o = defaults();
    for (int i = 0; i < 20; i++) {
        llap_panel *p = NULL;
        if (ll_netcdf_read(user, &o, &p, NULL) != LLAP_OK || p->n_rows != 2) return user;
        llap_panel_destroy(p);
    }
    return NULL;
}

static void threads_wait_for_one_another(void **state)
{
    (void)state;
    const char *file = some_file();
    pthread_t   thread[4];
    void       *failed;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_often, (void *)(uintptr_t)file), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
}

static llap_status load(void *user)
{
    (void)user;
    const ll_nc_driver *nc_driver;
    const llap_status   st = ll_netcdf_load(NULL, "x", &nc_driver);
    return st == LLAP_EUNSUPPORTED ? LLAP_OK : st; /* it is not there */
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(load, NULL);
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 2) { /* the copy */
        llap_panel *p;
        CHECK_OK(ll_netcdf_read(argv[1], &LL_NETCDF_DEFAULT, &p, NULL));
        llap_panel_destroy(p);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_object_names_the_packages),
        cmocka_unit_test(the_object_lies_beside_the_library),
        cmocka_unit_test(threads_wait_for_one_another),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
