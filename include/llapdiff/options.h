/* Options by name. Every options struct has a table that says of each option its name, type, range,
 * default and meaning; flags, forms, configuration files and manuals can be made of it, and the
 * library itself checks, reads and writes options by it.
 *
 *     llap_train_opts how = { 0 };                                  the default of every struct
 *     llap_status     st = llap_option_set(llap_train_options(), &how, "horizon", "48h");
 *     if (st == LLAP_OK) st = llap_option_set(llap_train_options(), &how, "size", "tiny");
 *     for (const llap_option *o = llap_train_options(); o->name != NULL; o++) {
 *         char text[256];
 *         llap_option_text(o, &how, text, sizeof text);
 *         printf("%s = %s: %s\n", o->name, text, o->help);
 *     }
 *
 * A field that is 0 or NULL was not given: its default holds. Where 0 itself is a value, and not
 * the default, LLAP_ZERO gives it: `how.seed = LLAP_ZERO` is the seed 0, as the text "0" is.
 * Callbacks, logs and models are fields without a row in the table. */
#ifndef LLAPDIFF_OPTIONS_H
#define LLAPDIFF_OPTIONS_H

#include <llapdiff/export.h>
#include <llapdiff/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLAP_ZERO (-1) /* a 0 that is given, in a number whose default is another */

typedef enum llap_option_type {
    LLAP_OPTION_TEXT,    /* const char * */
    LLAP_OPTION_LIST,    /* const char *, parts separated by commas */
    LLAP_OPTION_FILE,    /* const char *, a path */
    LLAP_OPTION_JSON,    /* const char *, a JSON object or the path of a file that has it */
    LLAP_OPTION_CHAR,    /* char; as text one character, or "tab" */
    LLAP_OPTION_WORD,    /* an enum whose 0 is the default; as text one of the words */
    LLAP_OPTION_INTEGER, /* int64_t in low .. high */
    LLAP_OPTION_REAL,    /* double in low .. high */
    LLAP_OPTION_FLAG,    /* int, 0 or 1; as text "true" or "false" */
} llap_option_type;

typedef struct llap_option {
    const char        *name; /* of the field, and in JSON; NULL ends a table */
    llap_option_type   type;
    size_t             offset; /* of the field in its struct */
    const char        *usual;  /* the default as text; NULL: there is none, or help tells it */
    const char        *help;   /* one line, without the default */
    double             low, high;
    const char *const *words;  /* by the enum's values, closed by NULL; words[0] is "" */
    int                in_run; /* the result depends on it: with another value it is another run */
} llap_option;

/* Of products on a GPU, in several structs. */
typedef enum llap_gpu_precision {
    LLAP_GPU_DEFAULT,
    LLAP_GPU_FP32, /* "fp32", the default */
    LLAP_GPU_TF32, /* "tf32" */
    LLAP_GPU_BF16, /* "bf16" */
} llap_gpu_precision;

/* The tables; static. */
LLAP_API const llap_option *llap_read_options(void);  /* of llap_read_opts */
LLAP_API const llap_option *llap_synth_options(void); /* of llap_synth_sizes */
LLAP_API const llap_option *llap_pack_options(void);  /* of llap_pack_opts */
LLAP_API const llap_option *llap_train_options(void); /* of llap_train_opts, and so on */
LLAP_API const llap_option *llap_forecast_options(void);
LLAP_API const llap_option *llap_impute_options(void);
LLAP_API const llap_option *llap_evaluate_options(void);
LLAP_API const llap_option *llap_pole_options(void);
LLAP_API const llap_option *llap_import_options(void);
LLAP_API const llap_option *llap_bench_options(void);

/* The option of that name, or NULL. */
LLAP_API const llap_option *llap_option_find(const llap_option *table, const char *name);

/* Gives an option of the struct the value that text says. Strings are not copied: the struct then
 * points to text. LLAP_EOPTION: no such option, or no such value; the detail begins with the name,
 * "size: expected one of small, tiny, anchor, paper, found 'tny' (did you mean 'tiny'?)". */
LLAP_API llap_status llap_option_set(const llap_option *table, void *options, const char *name,
                                     const char *text);

/* Whether the struct gives the option a value: the field is neither 0 nor NULL. */
LLAP_API int llap_option_given(const llap_option *option, const void *options);

/* The value as text, the default where none is given, "" where there is none: at most room bytes
 * with the closing NUL. Returns how long it is without, as snprintf does. */
LLAP_API size_t llap_option_text(const llap_option *option, const void *options, char *out,
                                 size_t room);

/* Every number within its range, every enum one of its values. LLAP_EOPTION as above. Functions
 * that take options check them by themselves. */
LLAP_API llap_status llap_options_check(const llap_option *table, const void *options);

/* Checks the struct of that size and copies it: words and numbers that were not given have their
 * defaults, where there are any, and LLAP_ZERO is 0. Texts stay as they are, NULL where none is
 * given. */
LLAP_API llap_status llap_options_resolve(const llap_option *table, const void *given, void *out,
                                          size_t size);

#ifdef __cplusplus
}
#endif

#endif
