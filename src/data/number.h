/* Numbers as text, exactly: what is read is the float nearest to the decimal (ties to even), what
 * is written is the shortest decimal that reads back as the same float. No locale is consulted.
 *
 * A number is [+-] digits [point digits] [(e|E) [+-] digits] with a digit on at least one side of
 * the point, at most LLAP_NUMBER_TEXT bytes, and nothing around it. */
#ifndef LLAP_DATA_NUMBER_H
#define LLAP_DATA_NUMBER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "llap_number_quick reads bytes as words");

enum {
    LLAP_NUMBER_TEXT = 400, /* longer is no number */
    LLAP_NUMBER_PRINT = 32, /* room for what the functions below write, NUL included */
};

typedef enum llap_number_kind {
    LLAP_NUMBER_NONE,     /* not a number */
    LLAP_NUMBER_FINITE,   /* *out is it */
    LLAP_NUMBER_INFINITE, /* inf, infinity in any case, or too large for the type; *out is +-inf */
} llap_number_kind;

/* decimal is the point: '.' or ','. "nan" is LLAP_NUMBER_NONE. */
llap_number_kind llap_number_float(const char *text, size_t n, char decimal, float *out);
llap_number_kind llap_number_double(const char *text, size_t n, char decimal, double *out);

/* The quick way to most numbers: true, and *out as llap_number_float has it, or false and nothing
 * is said. 8 bytes from text on may be read whatever n is. Numbers of at most 8 characters behind
 * the sign, without exponent, in one word and without a loop: tables are full of them, and their
 * lengths cannot be predicted. */
static inline bool llap_number_quick(const char *text, size_t n, char decimal, float *out)
{
#define LLAP_EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))
    static const double tenth[] = { 1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7 };
    const size_t        negative = *text == '-', len = n - negative;
    if (len - 1 > 7) return false; /* also 0 */
    uint64_t w;
    memcpy(&w, text + negative, sizeof w);
    /* the digits to the high end, the first one lowest (little-endian), zeros in front */
    w = w << (64 - 8 * len) | LLAP_EACH_BYTE('0') >> 4 * len >> 4 * len;
    const uint64_t x = w ^ LLAP_EACH_BYTE((uint64_t)(unsigned char)decimal);
    const uint64_t hit = (x - LLAP_EACH_BYTE(1)) & ~x & LLAP_EACH_BYTE(0x80);
    /* take the point out, if there is one, and close the gap from the left */
    const uint64_t has_point = 0 - (uint64_t)(hit != 0);
    const unsigned at = (unsigned)__builtin_ctzll(hit | UINT64_C(1) << 63) & ~7u;
    const uint64_t before = ((UINT64_C(1) << at) - 1) & has_point;
    const unsigned n_fraction = (7 - at / 8) & (unsigned)has_point;
    w = (w & ~(before | (UINT64_C(0xff) << at & has_point))) | (w & before) << 8 |
        ('0' & has_point);
    const uint64_t d = w - LLAP_EACH_BYTE('0');
    if ((((w & LLAP_EACH_BYTE(0xf0)) ^ LLAP_EACH_BYTE('0')) |
         ((d + LLAP_EACH_BYTE(6)) & LLAP_EACH_BYTE(0xf0))) != 0 ||
        (hit != 0 && len == 1))
        return false;
    /* eight digits to a number in three products */
    const uint64_t pairs = d * 10 + (d >> 8);
    const uint64_t whole =
        ((pairs & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
         (pairs >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
        32;
    /* The product is within two ulps of the number, so its float is the nearest one unless a border
     * between two floats lies that near. */
    const double value = (double)(uint32_t)whole * tenth[n_fraction];
    uint64_t     bits;
    memcpy(&bits, &value, sizeof bits);
    if (((bits + 2) & 0x1fffffff) - 0x10000000 <= 4) return false;
    bits |= (uint64_t)negative << 63;
    double signed_value;
    memcpy(&signed_value, &bits, sizeof bits);
    *out = (float)signed_value;
    return true;
#undef LLAP_EACH_BYTE
}

/* The number times unit, rounded to the nearest integer (halves away from zero), computed in
 * integers. False: not a number, or out of range. */
bool llap_number_ticks(const char *text, size_t n, char decimal, int64_t unit, int64_t *out);

/* Writes the shortest text that reads back as the finite x; returns its length. */
size_t llap_number_print(float x, char decimal, char out[LLAP_NUMBER_PRINT]);

/* Writes ticks / unit so that llap_number_ticks gives ticks back; returns the length. unit > 0. */
size_t llap_number_print_ticks(int64_t ticks, int64_t unit, char decimal,
                               char out[LLAP_NUMBER_PRINT]);

#endif
