/* How long the program takes to say something: `llapdiff --help`, and `llapdiff info` on a model of
 * the paper's size, warm, beside a program that does nothing. Wall-clock time from fork to exit,
 * which a busy machine stretches, and time of the processor, which it stretches less. */
#include "bench.h"

#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct took {
    double wall, cpu; /* seconds */
} took;

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static took run(char *const *argv)
{
    struct rusage used;
    int           status = 1;
    const double  start = bench_now();
    const pid_t   pid = fork();
    if (pid == 0) {
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0) {
        fprintf(stderr, "start: %s failed\n", argv[0]);
        exit(1);
    }
    return (took){ bench_now() - start, seconds(used.ru_utime) + seconds(used.ru_stime) };
}

static void print(const char *what, double wall[BENCH_REPEATS], double cpu[BENCH_REPEATS])
{
    const double middle = bench_median(wall); /* sorts */
    printf("%-26s %6.1f ms (least %.1f), of the processor %.1f\n", what, 1e3 * middle,
           1e3 * wall[0], 1e3 * bench_median(cpu));
}

int main(int argc, char **argv)
{
    (void)argc;
    char  program[4096], make[4096], model[] = "/tmp/llap-start-XXXXXX";
    char *folder = dirname(argv[0]);
    snprintf(program, sizeof program, "%s/../llapdiff", folder);
    snprintf(make, sizeof make, "%s/load", folder);
    const int fd = mkstemp(model);
    if (fd < 0) return 1;
    close(fd);
    (void)run((char *[]){ make, model, NULL }); /* writes a model of the paper's size */

    enum { KINDS = 3 };
    static const char *const what[KINDS] = { "nothing", "--help", "info, paper size (84 MB)" };
    char *const nothing[] = { "/bin/true", NULL }, *const help[] = { program, "--help", NULL };
    char *const info[] = { program, "info", model, NULL }, *const *const line[KINDS] = { nothing,
                                                                                         help,
                                                                                         info };
    double wall[KINDS][BENCH_REPEATS], cpu[KINDS][BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++)
        for (int k = 0; k < KINDS; k++) {
            const took t = run(line[k]);
            wall[k][i] = t.wall;
            cpu[k][i] = t.cpu;
        }
    for (int k = 0; k < KINDS; k++) print(what[k], wall[k], cpu[k]);
    unlink(model);
    return 0;
}
