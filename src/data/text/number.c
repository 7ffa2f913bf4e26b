#define _GNU_SOURCE /* strtod_l */
#include "data/text/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* value = (negative ? -1 : 1) * mantissa * 10^exponent, exact when all_digits. */
typedef struct scanned {
    uint64_t mantissa; /* the first 19 significant digits */
    int      exponent;
    bool     negative, all_digits;
} scanned;

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* (e|E) [+-] digits up to end. Saturates: 10^99999 is infinite anyway. */
static bool scan_exponent(const char *p, const char *end, int *exponent)
{
    bool negative = false;
    p++;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == end) return false;
    int e = 0;
    for (; p < end; p++) {
        if (!is_digit(*p)) return false;
        if (e < 99999) e = e * 10 + (*p - '0');
    }
    *exponent += negative ? -e : e;
    return true;
}

static inline bool scan(const char *p, size_t n, char decimal, scanned *out)
{
    const char *end = p + n;
    if (n > LL_NUMBER_TEXT) return false;
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    uint64_t    w = 0;
    const char *first = p;
    while (p < end && is_digit(*p)) w = w * 10 + (uint64_t)(*p++ - '0');
    ptrdiff_t n_digits = p - first;
    int       exponent = 0;
    if (p < end && *p == decimal) {
        const char *fraction = ++p;
        while (p < end && is_digit(*p)) w = w * 10 + (uint64_t)(*p++ - '0');
        exponent = (int)(fraction - p);
        n_digits += p - fraction;
    }
    if (n_digits == 0) return false;
    if (p < end && ((*p | 0x20) != 'e' || !scan_exponent(p, end, &exponent))) return false;
    /* more than 19 digits wrap around, unless they are zeros in front: the slow path decides */
    *out = (scanned){ w, exponent, negative, n_digits <= 19 };
    return true;
}

static const double power_of_ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Both factors are exact doubles, so the one operation rounds correctly (Clinger 1990). */
static bool fast_double(const scanned *s, double *out)
{
    if (!s->all_digits || s->mantissa >> 53 != 0 || s->exponent < -22 || s->exponent > 22)
        return false;
    const double w = (double)s->mantissa;
    const double x =
        s->exponent < 0 ? w / power_of_ten[-s->exponent] : w * power_of_ten[s->exponent];
    *out = s->negative ? -x : x;
    return true;
}

/* The text in the C locale, with a point. n <= LL_NUMBER_TEXT. */
static void to_c(const char *text, size_t n, char decimal, char out[LL_NUMBER_TEXT + 1])
{
    memcpy(out, text, n);
    out[n] = '\0';
    char *point = memchr(out, decimal, n);
    if (point != NULL) *point = '.';
}

static ll_number_kind infinite_word(const char *text, size_t n, double *sign)
{
    *sign = 1;
    if (n > 0 && (*text == '-' || *text == '+')) {
        if (*text == '-') *sign = -1;
        text++;
        n--;
    }
    const bool yes = (n == 3 && strncasecmp(text, "inf", 3) == 0) ||
                     (n == 8 && strncasecmp(text, "infinity", 8) == 0);
    return yes ? LL_NUMBER_INFINITE : LL_NUMBER_NONE;
}

ll_number_kind ll_number_double(const char *text, size_t n, char decimal, double *out)
{
    scanned s;
    if (!scan(text, n, decimal, &s)) {
        double               sign;
        const ll_number_kind kind = infinite_word(text, n, &sign);
        *out = sign * HUGE_VAL;
        return kind;
    }
    if (fast_double(&s, out)) return LL_NUMBER_FINITE;
    char c_text[LL_NUMBER_TEXT + 1];
    to_c(text, n, decimal, c_text);
    *out = strtod_l(c_text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    return isinf(*out) ? LL_NUMBER_INFINITE : LL_NUMBER_FINITE;
}

ll_number_kind ll_number_float(const char *text, size_t n, char decimal, float *out)
{
    scanned s;
    if (!scan(text, n, decimal, &s)) {
        double               sign;
        const ll_number_kind kind = infinite_word(text, n, &sign);
        *out = (float)sign * HUGE_VALF;
        return kind;
    }
    double d;
    if (fast_double(&s, &d)) {
        /* Rounding twice goes wrong only where the double lies half way between two floats while
         * the decimal did not; here d is 0 or between 1e-22 and 1e38, so a normal float. */
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        if ((bits & 0x1fffffff) != 0x10000000 || s.exponent == 0) {
            *out = (float)d;
            return LL_NUMBER_FINITE;
        }
    }
    char c_text[LL_NUMBER_TEXT + 1];
    to_c(text, n, decimal, c_text);
    *out = strtof_l(c_text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    return isinf(*out) ? LL_NUMBER_INFINITE : LL_NUMBER_FINITE;
}

/* ---- thousands ------------------------------------------------------------------------------ */

/* The bytes of the mark between thousands at p; 0: there is none. */
static size_t mark_length(const char *p, const char *end, char decimal)
{
    static const char *const marks[] = {
        " ", "'", "_", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x99"
    };
    if (p == end) return 0;
    if (*p == (decimal == ',' ? '.' : ',')) return 1;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const size_t len = strlen(marks[i]);
        if ((size_t)(end - p) >= len && memcmp(p, marks[i], len) == 0) return len;
    }
    return 0;
}

static size_t count_digits(const char *p, const char *end)
{
    size_t n = 0;
    while (p + n < end && is_digit(p[n])) n++;
    return n;
}

size_t ll_number_ungroup(const char *text, size_t n, char decimal, char out[LL_NUMBER_TEXT])
{
    const char *p = text, *const end = text + n;
    size_t at = 0;
    if (n < 5 || n > LL_NUMBER_TEXT) return 0;
    if (*p == '-' || *p == '+') out[at++] = *p++;
    const size_t head = count_digits(p, end);
    const char  *mark = p + head;
    const size_t len = mark_length(mark, end, decimal);
    if (head == 0 || head > 3 || *p == '0' || len == 0) return 0;
    memcpy(out + at, p, head);
    at += head;
    for (p = mark; (size_t)(end - p) >= len && memcmp(p, mark, len) == 0; p += len + 3, at += 3) {
        if (count_digits(p + len, end) != 3) return 0;
        memcpy(out + at, p + len, 3);
    }
    if (p < end && *p != decimal) return 0;
    if (count_digits(p + (p < end), end) != (size_t)(end - p) - (p < end)) return 0;
    memcpy(out + at, p, (size_t)(end - p));
    return at + (size_t)(end - p);
}

/* ---- integers ------------------------------------------------------------------------------- */

typedef unsigned __int128 uint128;

/* The digit at the place of 10^position, 0 outside of what is written. */
typedef struct digits {
    char    digit[LL_NUMBER_TEXT];
    int64_t n, exponent; /* digit[n - 1] stands at 10^exponent */
    bool    negative;
} digits;

static bool scan_digits(const char *text, size_t n, char decimal, digits *d)
{
    scanned s;
    if (!scan(text, n, decimal, &s)) return false;
    d->n = 0;
    d->exponent = s.exponent;
    d->negative = s.negative;
    for (size_t i = 0; i < n && (text[i] | 0x20) != 'e'; i++)
        if (is_digit(text[i]) && (d->n > 0 || text[i] != '0'))
            d->digit[d->n++] = (char)(text[i] - '0');
    return true;
}

static unsigned digit_at(const digits *d, int64_t position)
{
    const int64_t i = d->n - 1 - (position - d->exponent);
    return i < 0 || i >= d->n ? 0 : (unsigned)d->digit[i];
}

bool ll_number_ticks(const char *text, size_t n, char decimal, int64_t unit, int64_t *out)
{
    digits d;
    if (unit <= 0 || !scan_digits(text, n, decimal, &d)) return false;
    const int64_t top = d.n + d.exponent; /* the value is below 10^top */
    if (d.n > 0 && top > 19) return false;
    uint128 whole = 0, fraction = 0, scale = 1;
    for (int64_t p = top - 1; p >= 0; p--) whole = whole * 10 + digit_at(&d, p);
    for (int64_t p = -1; p >= -18; p--) { /* 10^-18 of a unit is less than half a tick */
        fraction = fraction * 10 + digit_at(&d, p);
        scale *= 10;
    }
    const uint128 u = (uint64_t)unit;
    const uint128 ticks = whole * u + (2 * fraction * u + scale) / (2 * scale);
    if (ticks > (uint64_t)INT64_MAX + d.negative) return false;
    *out = d.negative ? (int64_t)(0 - (uint64_t)ticks) : (int64_t)ticks;
    return true;
}

/* ---- writing -------------------------------------------------------------------------------- */

static size_t put_unsigned(uint64_t x, char *out)
{
    char   back[20];
    size_t n = 0;
    do back[n++] = (char)('0' + x % 10);
    while ((x /= 10) > 0);
    for (size_t i = 0; i < n; i++) out[i] = back[n - 1 - i];
    return n;
}

/* n_digits digits d.ddd times 10^exponent, laid out plainly where that is short. */
static size_t lay_out(bool negative, const char *digit, int n_digits, int exponent, char decimal,
                      char *out)
{
    char *p = out;
    while (n_digits > 1 && digit[n_digits - 1] == '0') n_digits--;
    if (negative) *p++ = '-';
    if (exponent >= 0 && exponent < 9) {
        for (int i = 0; i <= exponent || i < n_digits; i++) {
            if (i == exponent + 1) *p++ = decimal;
            *p++ = i < n_digits ? digit[i] : '0';
        }
    } else if (exponent < 0 && exponent >= -5) {
        *p++ = '0';
        *p++ = decimal;
        for (int i = -1; i > exponent; i--) *p++ = '0';
        for (int i = 0; i < n_digits; i++) *p++ = digit[i];
    } else {
        *p++ = digit[0];
        if (n_digits > 1) *p++ = decimal;
        for (int i = 1; i < n_digits; i++) *p++ = digit[i];
        *p++ = 'e';
        if (exponent < 0) *p++ = '-';
        p += put_unsigned((uint64_t)(exponent < 0 ? -exponent : exponent), p);
    }
    *p = '\0';
    return (size_t)(p - out);
}

/* x rounded to n_digits significant digits; x > 0 is a float, so double leaves room to spare. */
static int round_to(double x, int n_digits, char *digit)
{
    int    exponent = (int)floor(log10(x));
    double scaled = x * pow(10, n_digits - 1 - exponent);
    if (isinf(pow(10, n_digits - 1 - exponent)))
        scaled = x * 1e22 * pow(10, n_digits - 23 - exponent);
    uint64_t w = (uint64_t)llrint(scaled);
    /* log10 may be off by one next to a power of ten, and rounding may carry */
    char         text[20];
    const size_t n = put_unsigned(w, text);
    exponent += (int)n - n_digits;
    memcpy(digit, text, n);
    memset(digit + n, '0', 20 - n);
    return exponent;
}

size_t ll_number_print(float x, char decimal, char out[LL_NUMBER_PRINT])
{
    if (x == 0) return lay_out(signbit(x), "0", 1, 0, decimal, out);
    const double size = fabs((double)x);
    size_t       n = 0;
    for (int n_digits = 1; n_digits <= 17; n_digits++) {
        char      digit[20];
        float     back;
        const int exponent = round_to(size, n_digits, digit);
        n = lay_out(signbit(x), digit, n_digits, exponent, decimal, out);
        if (ll_number_float(out, n, decimal, &back) == LL_NUMBER_FINITE && back == x) break;
    }
    return n;
}

size_t ll_number_print_ticks(int64_t ticks, int64_t unit, char decimal, char out[LL_NUMBER_PRINT])
{
    char          *p = out;
    const uint64_t size = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks, u = (uint64_t)unit;
    if (ticks < 0) *p++ = '-';
    p += put_unsigned(size / u, p);
    uint64_t rest = size % u, precision = 1;
    if (rest > 0) *p++ = decimal;
    /* as many digits as tell one tick from the next; the last one is rounded */
    while (rest > 0) {
        const uint128 next = (uint128)rest * 10;
        uint64_t      digit = (uint64_t)(next / u);
        rest = (uint64_t)(next % u);
        const bool last = precision >= u;
        /* cutting leaves an error below 1 / (10 precision) of a unit: less than a tenth tick */
        *p++ = (char)('0' + digit);
        if (last) break;
        precision *= 10;
    }
    *p = '\0';
    return (size_t)(p - out);
}
