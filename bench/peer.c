/* Our side of compare_torch.py: makes a rig, runs it once, writes weights, inputs and results to a
 * file, says "ready", then runs again for every line of standard input and prints the seconds, by
 * the wall and of the processor.
 *
 *     peer step|forecast SIZE ROWS SAMPLES HORIZON LATENT FIRST THREADS FILE [dropout|forget]
 *     peer step|forecast .. FILE device DEVICE PRECISION
 *
 * A forecast finds the tables that the one before has kept, as all but a model's first do; with
 * "forget" it does not. Plans and packed weights are there either way. */
#include "backend/near.h"
#include "base/error.h"
#include "bench.h"
#include "task/device.h"
#include "task/rig.h"

#include <string.h>

static llap_status save(const llap_rig *r, const char *path)
{
    llap_tensors_writer *w = NULL;
    llap_status          st = llap_params_pull(llap_rig_params(r));
    if (st == LLAP_OK) st = llap_tensors_writer_create(&w);
    if (st == LLAP_OK) st = llap_rig_export(r, w);
    if (st == LLAP_OK) st = llap_tensors_writer_save(w, path);
    llap_tensors_writer_destroy(w);
    return st;
}

static llap_status export_before_and_after(const llap_rig_opts *o, const char *path)
{
    /* A step changes its weights: a second, equal rig gives those it started from. */
    llap_rig   *r = NULL, *fresh = NULL;
    char        name[512];
    llap_status st = llap_rig_create(o, &r);
    if (st == LLAP_OK) st = llap_rig_run(r);
    if (st == LLAP_OK) st = llap_rig_create(o, &fresh);
    snprintf(name, sizeof name, "%s.after", path);
    if (st == LLAP_OK) st = save(r, name);
    if (st == LLAP_OK && o->what == LLAP_RIG_FORECAST) st = llap_rig_run(fresh);
    if (st == LLAP_OK) st = save(fresh, path);
    llap_rig_destroy(r);
    llap_rig_destroy(fresh);
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
    llap_rig_opts o = { .what = strcmp(argv[1], "step") == 0 ? LLAP_RIG_STEP : LLAP_RIG_FORECAST,
                        .size = strcmp(argv[2], "paper") == 0 ? LLAP_RIG_PAPER : LLAP_RIG_SMALL,
                        .rows = atoi(argv[3]),
                        .samples = atoi(argv[4]),
                        .horizon = atoi(argv[5]),
                        .latent = atoi(argv[6]),
                        .first = atoi(argv[7]),
                        .n_threads = atoi(argv[8]),
                        .no_dropout = true };
    o.solver = o.size == LLAP_RIG_PAPER ? LLAP_SOLVER_DDIM : LLAP_SOLVER_DPMPP_2M;
    const char *how = argc > 10 ? argv[10] : "";
    const bool  elsewhere = argc > 12 && strcmp(how, "device") == 0;
    const bool  forget = strcmp(how, "forget") == 0;
    llap_rig   *r = NULL;
    llap_status st = elsewhere ? task_device(argv[11], argv[12], &o.backend) : LLAP_OK;
    if (st == LLAP_OK) st = export_before_and_after(&o, argv[9]);
    o.no_dropout = strcmp(how, "dropout") != 0;
    if (st == LLAP_OK) st = llap_rig_create(&o, &r);
    for (int i = 0; i < 2 && st == LLAP_OK; i++) { /* then tables are there */
        if (forget) llap_rig_forget(r);
        st = llap_rig_run(r);
    }
    if (st == LLAP_OK)
        printf("ready %d steps, %.0f products, %.0f bytes\n", llap_rig_steps(r),
               llap_rig_products(r), (double)llap_rig_bytes(r));
    fflush(stdout);
    char line[16];
    while (st == LLAP_OK && fgets(line, sizeof line, stdin) != NULL) {
        double seconds;
        if (forget) llap_rig_forget(r);
        const double before = processor_time();
        BENCH_TIME(seconds, {
            st = llap_rig_run(r);
            if (st == LLAP_OK && elsewhere) st = llap_near_finish(o.backend);
        });
        printf("%.6f %.6f\n", seconds, processor_time() - before);
        fflush(stdout);
    }
    if (st != LLAP_OK) fprintf(stderr, "%s\n", llap_error_detail());
    llap_rig_destroy(r);
    return st == LLAP_OK ? 0 : 1;
}
