/* Numbers as text, exactly: what is read is the float nearest to the decimal (ties to even), what
 * is written is the shortest decimal that reads back as the same float. No locale is consulted.
 *
 * A number is [+-] digits [point digits] [(e|E) [+-] digits] with a digit on at least one side of
 * the point, at most LLAP_NUMBER_TEXT bytes, and nothing around it. */
#ifndef LLAP_DATA_NUMBER_H
#define LLAP_DATA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The number times unit, rounded to the nearest integer (halves away from zero), computed in
 * integers. False: not a number, or out of range. */
bool llap_number_ticks(const char *text, size_t n, char decimal, int64_t unit, int64_t *out);

/* Writes the shortest text that reads back as the finite x; returns its length. */
size_t llap_number_print(float x, char decimal, char out[LLAP_NUMBER_PRINT]);

/* Writes ticks / unit so that llap_number_ticks gives ticks back; returns the length. unit > 0. */
size_t llap_number_print_ticks(int64_t ticks, int64_t unit, char decimal,
                               char out[LLAP_NUMBER_PRINT]);

#endif
