/* Numbers as text, exactly: what is read is the float nearest to the decimal (ties to even), what
 * is written is the shortest decimal that reads back as the same float. No locale is consulted.
 *
 * A number is [+-] digits [point digits] [(e|E) [+-] digits] with a digit on at least one side of
 * the point, at most LL_NUMBER_TEXT bytes, and nothing around it. */
#ifndef LL_DATA_TEXT_NUMBER_H
#define LL_DATA_TEXT_NUMBER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "llap_number_recall takes the first bytes of a word");

enum {
    LL_NUMBER_TEXT = 400, /* longer is no number */
    LL_NUMBER_PRINT = 32, /* room for what the functions below write, NUL included */
};

typedef enum ll_number_kind {
    LL_NUMBER_NONE,     /* not a number */
    LL_NUMBER_FINITE,   /* *out is it */
    LL_NUMBER_INFINITE, /* inf, infinity in any case, or too large for the type; *out is +-inf */
} ll_number_kind;

/* decimal is the point: '.' or ','. "nan" is LL_NUMBER_NONE. */
ll_number_kind ll_number_float(const char *text, size_t n, char decimal, float *out);
ll_number_kind ll_number_double(const char *text, size_t n, char decimal, double *out);

/* Thousands set apart: 1,234.5 or 1.234,5, and with any point 1 234, 1'234 or 1_234 (blanks and
 * apostrophes of print too). One to three digits, not 0 alone in front, then three at a time behind
 * one and the same mark. Writes the number without its marks; returns its length, 0: it is not
 * written so. */
size_t ll_number_ungroup(const char *text, size_t n, char decimal, char out[LL_NUMBER_TEXT]);

/* Tables repeat themselves: most cells hold one of a few thousand short texts. A memory of the last
 * ones read makes them three times as fast to read (measured on bms_air: 2.5 ns against 7.8). For
 * one decimal point, one thread, finite numbers. { 0 } is an empty one. */
typedef struct ll_number_memory {
    struct {
        uint64_t text; /* up to 8 bytes, the rest 0; 0: nothing */
        float    value;
    } slot[4096];
} ll_number_memory;

/* ll_number_float, remembered. 8 bytes from text on may be read whatever n is. */
static inline ll_number_kind ll_number_recall(ll_number_memory *m, const char *text, size_t n,
                                              char decimal, float *out)
{
    if (n - 1 > 7) return ll_number_float(text, n, decimal, out);
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word &= UINT64_MAX >> (64 - 8 * n);
    const size_t at = (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    if (m->slot[at].text != word) {
        const ll_number_kind kind = ll_number_float(text, n, decimal, out);
        if (kind != LL_NUMBER_FINITE) return kind;
        m->slot[at].text = word;
        m->slot[at].value = *out;
    }
    *out = m->slot[at].value;
    return LL_NUMBER_FINITE;
}

/* The number times unit, rounded to the nearest integer (halves away from zero), computed in
 * integers. False: not a number, or out of range. */
bool ll_number_ticks(const char *text, size_t n, char decimal, int64_t unit, int64_t *out);

/* Writes the shortest text that reads back as the finite x; returns its length. */
size_t ll_number_print(float x, char decimal, char out[LL_NUMBER_PRINT]);

/* Writes ticks / unit so that ll_number_ticks gives ticks back; returns the length. unit > 0. */
size_t ll_number_print_ticks(int64_t ticks, int64_t unit, char decimal, char out[LL_NUMBER_PRINT]);

#endif
