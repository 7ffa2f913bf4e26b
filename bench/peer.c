/* Our side of compare_torch.py: makes a rig, runs it once, writes weights, inputs and results to a
 * file, says "ready", then runs again for every line of standard input and prints the seconds, by
 * the wall and of the processor.
 *
 *     peer step|forecast SIZE ROWS SAMPLES HORIZON LATENT FIRST THREADS FILE [dropout|forget]
 *     peer step|forecast .. FILE device DEVICE PRECISION
 *
 * A forecast finds the tables that the one before has kept, as all but a model's first do; with
 * "forget" it does not. Plans and packed weights are there either way. */
#include "backend/device_memory.h"
#include "base/error.h"
#include "bench.h"
#include "bench/rig.h"
#include "predict/device.h"

#include <llapdiff/bench.h>
#include <string.h>

static llap_status save(const ll_rig *r, const char *path)
{
    ll_tensors_writer *w = NULL;
    llap_status        st = ll_params_pull(ll_rig_params(r));
    if (st == LLAP_OK) st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_rig_export(r, w);
    if (st == LLAP_OK) st = ll_tensors_writer_save(w, path);
    ll_tensors_writer_destroy(w);
    return st;
}

static llap_status export_before_and_after(const ll_rig_opts *o, const char *path)
{
    /* A step changes its weights: a second, equal rig gives those it started from. */
    ll_rig     *r = NULL, *fresh = NULL;
    char        name[512];
    llap_status st = ll_rig_create(o, &r);
    if (st == LLAP_OK) st = ll_rig_run(r);
    if (st == LLAP_OK) st = ll_rig_create(o, &fresh);
    snprintf(name, sizeof name, "%s.after", path);
    if (st == LLAP_OK) st = save(r, name);
    if (st == LLAP_OK && o->what == LL_RIG_FORECAST) st = ll_rig_run(fresh);
    if (st == LLAP_OK) st = save(fresh, path);
    ll_rig_destroy(r);
    ll_rig_destroy(fresh);
    return st;
}

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 10) { /* `make bench` runs everything */
        puts("our side of bench/compare_torch.py, which has the figures");
        return argc > 1 ? 2 : 0;
    }
    ll_rig_opts o = { .what = strcmp(argv[1], "step") == 0 ? LL_RIG_STEP : LL_RIG_FORECAST,
                      .size = strcmp(argv[2], "paper") == 0 ? LL_RIG_PAPER : LL_RIG_SMALL,
                      .rows = atoi(argv[3]),
                      .samples = atoi(argv[4]),
                      .horizon = atoi(argv[5]),
                      .latent = atoi(argv[6]),
                      .first = atoi(argv[7]),
                      .n_threads = atoi(argv[8]),
                      .no_dropout = true };
    o.solver = o.size == LL_RIG_PAPER ? LL_SOLVER_DDIM : LL_SOLVER_DPMPP_2M;
    const char     *how = argc > 10 ? argv[10] : "";
    const bool      elsewhere = argc > 12 && strcmp(how, "device") == 0;
    const bool      forget = strcmp(how, "forget") == 0;
    ll_rig         *r = NULL;
    llap_bench_opts where = { 0 };
    llap_status     st =
        elsewhere ? llap_option_set(llap_bench_options(), &where, "precision", argv[12]) : LLAP_OK;
    if (st == LLAP_OK && elsewhere) st = ll_backend_choose(argv[11], where.precision, &o.backend);
    if (st == LLAP_OK) st = export_before_and_after(&o, argv[9]);
    o.no_dropout = strcmp(how, "dropout") != 0;
    if (st == LLAP_OK) st = ll_rig_create(&o, &r);
    for (int i = 0; i < 2 && st == LLAP_OK; i++) { /* then tables are there */
        if (forget) ll_rig_forget(r);
        st = ll_rig_run(r);
    }
    if (st == LLAP_OK)
        printf("ready %d steps, %.0f products, %.0f bytes\n", ll_rig_steps(r), ll_rig_products(r),
               (double)ll_rig_bytes(r));
    fflush(stdout);
    char line[16];
    while (st == LLAP_OK && fgets(line, sizeof line, stdin) != NULL) {
        double seconds;
        if (forget) ll_rig_forget(r);
        const double before = processor_time();
        BENCH_TIME(seconds, {
            st = ll_rig_run(r);
            if (st == LLAP_OK && elsewhere) st = ll_device_finish(o.backend);
        });
        printf("%.6f %.6f\n", seconds, processor_time() - before);
        fflush(stdout);
    }
    if (st != LLAP_OK) fprintf(stderr, "%s\n", llap_error_detail());
    ll_rig_destroy(r);
    return st == LLAP_OK ? 0 : 1;
}
