/* Times from text: the shape that has a path of its own against the same text off that path. */
#include "base/time/time.h"
#include "base/time/timefmt.h"
#include "bench.h"

#include <string.h>

enum { N = 1 << 16 };

typedef struct text {
    char   bytes[LL_TIME_TEXT_MAX];
    size_t n;
} text;

static text    common[N], lower[N], milli[N], local[N];
static int64_t sink;

static void parse(const text *all, const ll_zone *zone)
{
    for (size_t i = 0; i < N; i++) {
        int64_t t = 0;
        (void)ll_time_parse(all[i].bytes, all[i].n, zone, LL_WALL_LATER, &t);
        sink += t & 1;
    }
}

static void parse_format(const ll_timefmt *f)
{
    for (size_t i = 0; i < N; i++) {
        int64_t t = 0;
        (void)ll_timefmt_parse(f, local[i].bytes, local[i].n, NULL, LL_WALL_LATER, &t);
        sink += t & 1;
    }
}

static void write_texts(void)
{
    uint64_t x = 1;
    for (size_t i = 0; i < N; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        const int64_t t = (int64_t)(x >> 33) * LL_NS_PER_S; /* 1970 .. 2038 */
        common[i].n = ll_time_format(t, NULL, 0, common[i].bytes);
        milli[i].n = ll_time_format(t, NULL, 3, milli[i].bytes);
        lower[i] = common[i];
        lower[i].bytes[10] = 't';
        local[i] = common[i];
        local[i].bytes[10] = ' ';
        local[i].n = 19;
    }
}

int main(void)
{
    ll_zone   *rome;
    ll_timefmt f;
    if (ll_zone_create("Europe/Rome", 11, NULL, &rome) != LLAP_OK ||
        ll_timefmt_init(&f, "%F %T", 5) != LLAP_OK) {
        fprintf(stderr, "%s\n", llap_error_detail());
        return 1;
    }
    write_texts();
    static double t[5][BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++) {
        BENCH_TIME(t[0][i], parse(common, NULL));
        BENCH_TIME(t[1][i], parse(lower, NULL));
        BENCH_TIME(t[2][i], parse(milli, NULL));
        BENCH_TIME(t[3][i], parse(local, rome));
        BENCH_TIME(t[4][i], parse_format(&f));
    }
    static const char *const names[] = { "2024-05-01T12:30:00Z",
                                         "2024-05-01t12:30:00Z (off the common path)",
                                         "2024-05-01T12:30:00.000Z",
                                         "2024-05-01 12:30:00 in Europe/Rome",
                                         "2024-05-01 12:30:00 as %F %T" };
    const double             base = bench_median(t[0]);
    for (int i = 0; i < 5; i++)
        printf("%-44s %6.1f ns each, %.2f\n", names[i], bench_median(t[i]) * 1e9 / N,
               bench_median(t[i]) / base);
    ll_zone_destroy(rome);
    return sink < 0;
}
