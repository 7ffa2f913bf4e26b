/* llapdiff-golden [--ref] [--device D] [--precision P] [--threads N] [--known] [--patient]
 * DIR|FILE...: runs every golden case it knows and compares every tensor. */
#include "golden.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/ref/ref.h"
#include "base/error.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const golden_case cases[] = {
    { "c01_vae", golden_vae },
    { "c01_latent_stats", golden_latent_stats },
    { "c02_sum", golden_summarizer },
    { "c02_adapter", golden_adapter },
    { "c03_lap", golden_laplace },
    { "c04_adaln", golden_adaln },
    { "c04_transformer_block", golden_transformer },
    { "c04_cross_attn_block", golden_cross },
    { "c04_summary_pool", golden_summary_pool },
    { "c04_modal_block", golden_modal_block },
    { "c05_lapformer", golden_lapformer },
    { "c05_llapdiff", golden_denoiser },
    { "c06_sched", golden_scheduler },
    { "c07_gen", golden_generate },
    { "c08_minsnr_weights", golden_min_snr },
    { "c08_train_step", golden_train_step },
    { "c08_adamw_ema", golden_adamw },
    { "c08_lr_schedules", golden_schedules },
    { "c09_metrics", golden_metrics },
    { "c10_paper", golden_paper },
    { "c11_batch_pipeline", golden_pipeline },
    { "b01_dlinear", golden_dlinear },
    { "b02_patchtst", golden_patchtst },
    { "b03_mrdiff", golden_mrdiff },
    { "b04_timegrad", golden_timegrad },
    { "b05_mtan", golden_mtan },
    { "b06_tpatchgnn", golden_tpatchgnn },
    { "b07_contiformer", golden_contiformer },
    { "b08_neuralcde", golden_neuralcde },
    { "b09_csdi", golden_csdi },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void run_file(const char *path, const golden_opts *opts, int count[2])
{
    const int result = golden_run_file(path, cases, N_CASES, opts);
    if (result >= 0) count[result]++;
}

static int only_cases(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);
    return n > 12 && strcmp(e->d_name + n - 12, ".safetensors") == 0;
}

static void run_path(const char *path, const golden_opts *opts, int count[2])
{
    struct stat     info;
    struct dirent **entry = NULL;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        run_file(path, opts, count);
        return;
    }
    const int n = scandir(path, &entry, only_cases, alphasort);
    if (n <= 0) {
        printf("FAIL %s: no golden files\n", path);
        count[0]++;
    }
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name);
        run_file(file, opts, count);
        free(entry[i]);
    }
    free(entry);
}

static int usage(void)
{
    fprintf(stderr, "usage: llapdiff-golden [--ref] [--device D] [--precision P] [--threads N] "
                    "[--known] [--patient] DIR|FILE...\n"
                    "  --ref        compute in double precision with the reference backend\n"
                    "  --device D   compute on cuda, cuda:N, or auto (cpu)\n"
                    "  --precision P  on a GPU: fp32, tf32 or bf16, with tolerances of its own\n"
                    "  --threads N  of the cpu backend (1)\n"
                    "  --known      pass over files of cases that are not known\n"
                    "  --patient    with --ref, the case of the paper's size too: many minutes\n");
    return 2;
}

static bool precision_of(const char *name, ll_precision *out)
{
    for (int i = 0; ll_precision_names[i] != NULL; i++)
        if (strcmp(ll_precision_names[i], name) == 0) {
            *out = (ll_precision)i;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    static const struct option flags[] = { { "ref", no_argument, NULL, 'r' },
                                           { "device", required_argument, NULL, 'd' },
                                           { "threads", required_argument, NULL, 't' },
                                           { "known", no_argument, NULL, 'k' },
                                           { "patient", no_argument, NULL, 'p' },
                                           { "precision", required_argument, NULL, 'b' },
                                           { 0 } };
    golden_opts                opts = { .backend = &ll_backend_cpu, .n_threads = 1 };
    int                        count[2] = { 0, 0 }; /* failed, passed */
    const char                *device = "cpu";
    const ll_backend          *found = NULL;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        char *end = NULL;
        if (flag == 'r') opts.backend = &ll_backend_ref;
        else if (flag == 'd') device = optarg;
        else if (flag == 'k') opts.only_known = true;
        else if (flag == 'p') opts.patient = true;
        else if (flag == 'b' && precision_of(optarg, &opts.precision)) continue;
        else if (flag == 't') opts.n_threads = (int)strtol(optarg, &end, 10);
        else return usage();
        if (flag == 't' && (*end != '\0' || opts.n_threads < 1)) return usage();
    }
    if (optind == argc) return usage();
    if (ll_device_find(device, opts.precision, &found) != LLAP_OK) {
        fprintf(stderr, "llapdiff-golden: %s\n", llap_error_detail());
        return 1;
    }
    if (found != NULL) opts.backend = found;
    else opts.precision = LL_PRECISION_FP32;
    for (int i = optind; i < argc; i++) run_path(argv[i], &opts, count);
    printf("%d passed, %d failed\n", count[1], count[0]);
    return count[0] == 0 && count[1] > 0 ? 0 : 1;
}
