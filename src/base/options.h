/* Writing tables of options (<llapdiff/options.h>). A function that takes options works with a copy
 * in which numbers and words are what holds:
 *
 *     llap_forecast_opts o;
 *     st = llap_options_resolve(llap_forecast_options(), given, &o, sizeof o);
 *     for (int64_t i = 0; i < o.samples; i++) ...                  200 where none was given
 */
#ifndef LL_BASE_OPTIONS_H
#define LL_BASE_OPTIONS_H

#include <llapdiff/options.h>
#include <stddef.h>

/* The word of a value; "" for the default. */
const char *ll_option_word(const llap_option *table, const char *name, int value);

/* Rows of a table whose fields are those of OPTIONS. The result depends on all but OPTION_ASIDE. */
/* clang-format off */
#define OPTION_OF(kind, field, ...)                   { #field, LLAP_OPTION_##kind, offsetof(OPTIONS, field), __VA_ARGS__ }
/* A name that is no C identifier of a field: static. */
#define OPTION_NAMED(kind, name, field, help)         { name, LLAP_OPTION_##kind, offsetof(OPTIONS, field), NULL, help, 0, 0, NULL, 1 }
#define OPTION_TEXT(kind, field, usual, help)         OPTION_OF(kind, field, usual, help, 0, 0, NULL, 1)
#define OPTION_INTEGER(field, usual, low, high, help) OPTION_OF(INTEGER, field, usual, help, low, high, NULL, 1)
#define OPTION_REAL(field, usual, low, high, help)    OPTION_OF(REAL, field, usual, help, low, high, NULL, 1)
#define OPTION_WORD(field, usual, words, help)        OPTION_OF(WORD, field, usual, help, 0, 0, words, 1)
#define OPTION_FLAG(field, help)                      OPTION_OF(FLAG, field, NULL, help, 0, 0, NULL, 1)
#define OPTION_ASIDE(kind, field, usual, low, high, words, help) OPTION_OF(kind, field, usual, help, low, high, words, 0)

#define OPTION_SEED        OPTION_INTEGER(seed, "1", 0, 9e18, "seed of all random numbers")
#define OPTIONS_OF_DEVICE                                                                                             \
    OPTION_ASIDE(TEXT, device, "cpu", 0, 0, NULL, "where networks compute: cpu, cuda, cuda:N or auto"),               \
    OPTION_ASIDE(WORD, precision, "fp32", 0, 0, ll_gpu_precision_words, "of their products on a GPU: fp32, tf32 or bf16")
#define OPTION_END         { NULL, LLAP_OPTION_TEXT, 0, NULL, NULL, 0, 0, NULL, 0 }
/* clang-format on */

extern const char *const ll_gpu_precision_words[];

#endif
