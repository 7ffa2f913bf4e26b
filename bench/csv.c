/* Reading CSV: seconds, megabytes a second, and the panel against the memory it took.
 *
 *     csv air.csv [more files]          bench/csv_pandas.py is what to compare with
 *
 * Without a file it reads a panel of its own making. */
#include "data/csv/csv.h"
#include "bench.h"

#include <string.h>
#include <sys/resource.h>

static char  *text;
static size_t n_text;

/* 400000 rows of 12 variables with one decimal, like a year of 46 stations. */
static void make_text(void)
{
    enum { ROWS = 400000, VARS = 12 };
    text = malloc((size_t)ROWS * 120);
    char *p = text + sprintf(text, "entity,time,a,b,c,d,e,f,g,h,i,j,k,l\n");
    for (int r = 0; r < ROWS; r++) {
        p += sprintf(p, "s%02d,2021-%02d-%02dT%02d:00:00Z", r / 8760, 1 + r / 730 % 12,
                     1 + r / 24 % 28, r % 24);
        for (int v = 0; v < VARS; v++)
            p += sprintf(p, ",%d.%d", (r * 7 + v * 131) % 1000, (r + v) % 10);
        *p++ = '\n';
    }
    n_text = (size_t)(p - text);
}

static llap_status load(const char *const *paths, size_t n, int threads, llap_panel **p)
{
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.threads = threads;
    if (n > 0) return ll_csv_read(paths, n, &o, p, NULL);
    return ll_csv_read_memory("made", text, n_text, &o, p, NULL);
}

int main(int argc, char **argv)
{
    static const int threads[] = { 1, 2, 0 };
    double           t[3][BENCH_REPEATS];
    if (argc < 2) make_text();
    for (int r = 0; r < BENCH_REPEATS; r++)
        for (int k = 0; k < 3; k++) {
            llap_panel *p;
            llap_status st = LLAP_OK;
            BENCH_TIME(t[k][r],
                       st = load((const char *const *)argv + 1, (size_t)argc - 1, threads[k], &p));
            if (st != LLAP_OK) {
                fprintf(stderr, "error: %s\n", llap_error_detail());
                return 1;
            }
            if (r == 0 && k == 0) {
                struct rusage u;
                getrusage(RUSAGE_SELF, &u);
                printf("%lld rows of %lld variables: panel %zu kB, process %ld kB at most\n",
                       (long long)p->n_rows, (long long)p->n_vars, ll_panel_bytes(p) / 1024,
                       u.ru_maxrss);
            }
            llap_panel_destroy(p);
        }
    for (int k = 0; k < 3; k++)
        printf("%d threads (0: all): %.4f s\n", threads[k], bench_median(t[k]));
    free(text);
    return 0;
}
