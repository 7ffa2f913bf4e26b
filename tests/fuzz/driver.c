/* Runs a fuzz target without a fuzzing engine: every seed as it is, then a fixed number of mutated
 * seeds, the same ones on every machine. Any compiler, any sanitizer. With clang, the `fuzz` preset
 * links the same targets with libFuzzer instead, for the long runs.
 *
 *     fuzz_NAME [-n COUNT] [-s SEED] FOLDER-OR-FILE...
 *
 * When a sanitizer ends the run, the input that did it is left in ./crash-input. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/rng/rng.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Present only under a sanitizer. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

enum { INPUT_MAX_BYTES = 1 << 16, MAX_SEEDS = 4096 };

typedef struct seed {
    char  *bytes;
    size_t n;
} seed;

static seed    seeds[MAX_SEEDS];
static size_t  n_seeds;
static uint8_t input[INPUT_MAX_BYTES];
static size_t  n_input;

static void save_input(void)
{
    FILE *f = fopen("crash-input", "wb");
    if (f == NULL) return;
    fwrite(input, 1, n_input, f);
    fclose(f);
    fprintf(stderr, "the input is in ./crash-input (%zu bytes)\n", n_input);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_seeds(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    if (S_ISDIR(s.st_mode)) {
        struct dirent **names;
        const int       n = scandir(path, &names, NULL, by_name);
        for (int i = 0; i < n; i++) {
            char child[4096];
            snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
            if (names[i]->d_name[0] != '.') add_seeds(child);
            free(names[i]);
        }
        if (n >= 0) free(names);
    } else if (n_seeds < MAX_SEEDS) {
        seed *k = &seeds[n_seeds];
        if (ll_file_read(path, INPUT_MAX_BYTES, &k->bytes, &k->n) == LLAP_OK) n_seeds++;
    }
}

/* One random edit of the input; r is drawn at *at, which moves on. */
static void mutate(const ll_rng *r, uint64_t *at)
{
    static const uint8_t odd[] = { 0,   1,   9,   '\n', ' ',  '"',  ',',  '-',  '0',
                                   '9', ':', 'T', 'Z',  '\\', 0x7f, 0x80, 0xc3, 0xff };
    const uint64_t       kind = ll_rng_below(r, (*at)++, 8);
    const size_t         p = ll_rng_below(r, (*at)++, n_input + 1);
    const size_t         most = 1 + ll_rng_below(r, (*at)++, 64);
    const size_t         len = ll_rng_below(r, (*at)++, most);
    const size_t         cut = len < n_input - p ? len : n_input - p;
    const uint8_t        byte = (uint8_t)ll_rng_below(r, (*at)++, 256);
    if (kind == 0 && p < n_input) {
        input[p] ^= (uint8_t)(1u << (byte % 8));
    } else if (kind == 1 && p < n_input) {
        input[p] = byte;
    } else if (kind == 2 && p < n_input) {
        input[p] = odd[byte % sizeof odd];
    } else if (kind == 3) { /* delete */
        memmove(input + p, input + p + cut, n_input - p - cut);
        n_input -= cut;
    } else if (kind == 4 && n_input + len <= INPUT_MAX_BYTES) { /* insert */
        memmove(input + p + len, input + p, n_input - p);
        memset(input + p, odd[byte % sizeof odd], len);
        n_input += len;
    } else if (kind == 5 && n_input + cut <= INPUT_MAX_BYTES) { /* repeat a piece */
        memmove(input + p + cut, input + p, n_input - p);
        n_input += cut;
    } else if (kind == 6) { /* a piece of another seed */
        const seed  *k = &seeds[ll_rng_below(r, (*at)++, n_seeds)];
        const size_t from = ll_rng_below(r, (*at)++, k->n + 1);
        const size_t n = len < k->n - from ? len : k->n - from;
        if (p + n <= INPUT_MAX_BYTES) {
            memcpy(input + p, k->bytes + from, n);
            if (p + n > n_input) n_input = p + n;
        }
    } else if (kind == 7) { /* change a digit, keep it a digit */
        for (size_t i = p; i < n_input; i++)
            if (input[i] >= '0' && input[i] <= '9') {
                input[i] = (uint8_t)('0' + byte % 10);
                break;
            }
    }
}

int main(int argc, char **argv)
{
    uint64_t count = 20000, seed_number = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
            seed_number = strtoull(argv[++i], NULL, 10);
        else add_seeds(argv[i]);
    }
    if (n_seeds == 0) {
        fprintf(stderr, "no seeds: nothing to run\n");
        return 1;
    }
    if (__sanitizer_set_death_callback != NULL) __sanitizer_set_death_callback(save_input);
    for (uint64_t i = 0; i < n_seeds + count; i++) {
        const ll_rng r = ll_rng_make(seed_number, LL_STREAM_TEST, i, 0, 0);
        uint64_t     at = 0;
        const seed  *k = &seeds[i < n_seeds ? i : ll_rng_below(&r, at++, n_seeds)];
        memcpy(input, k->bytes, k->n);
        n_input = k->n;
        if (i >= n_seeds)
            for (uint64_t m = 1 + ll_rng_below(&r, at++, 6); m > 0; m--) mutate(&r, &at);
        /* A copy of exactly that length, so that reading behind its end is seen. */
        uint8_t *exact = ll_new(n_input, 1);
        if (exact == NULL) return 1;
        memcpy(exact, input, n_input);
        (void)LLVMFuzzerTestOneInput(exact, n_input);
        ll_free(exact);
    }
    printf("%zu seeds and %llu mutations of them: nothing found\n", n_seeds,
           (unsigned long long)count);
    for (size_t i = 0; i < n_seeds; i++) ll_free(seeds[i].bytes);
    return 0;
}
