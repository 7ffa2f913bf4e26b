/* The options of reading and of making up panels, each in one line, as those of the use cases. */
#include "base/options.h"

#include <llapdiff/panel.h>

/* clang-format off */
static const char *const forms[] = { "", [LLAP_TABLE_WIDE] = "wide", [LLAP_TABLE_LONG] = "long", NULL };
static const char *const headers[] = { "", [LLAP_READ_HEADER_YES] = "yes", [LLAP_READ_HEADER_NO] = "no", NULL };
static const char *const codes[] = { "", [LLAP_READ_CODES_FIND] = "find", [LLAP_READ_CODES_KEEP] = "keep", NULL };
static const char *const words[] = { "", [LLAP_READ_WORDS_IGNORE] = "ignore", [LLAP_READ_WORDS_CODE] = "code", [LLAP_READ_WORDS_ERROR] = "error", [LLAP_READ_WORDS_AUTO] = "auto", NULL };
static const char *const bads[] = { "", [LLAP_READ_BAD_ERROR] = "error", [LLAP_READ_BAD_MISSING] = "missing", NULL };
static const char *const duplicates[] = { "", [LLAP_READ_DUPLICATES_LAST] = "last", [LLAP_READ_DUPLICATES_ERROR] = "error", NULL };
static const char *const orders[] = { "", [LLAP_READ_UNORDERED_SORT] = "sort", [LLAP_READ_UNORDERED_ERROR] = "error", NULL };
static const char *const bins[] = { "", [LLAP_READ_BIN_NEAREST] = "nearest", [LLAP_READ_BIN_FLOOR] = "floor", [LLAP_READ_BIN_EXACT] = "exact", NULL };
static const char *const aggs[] = { "", [LLAP_READ_AGG_MEAN] = "mean", [LLAP_READ_AGG_LAST] = "last", NULL };
static const char *const fills[] = { "", [LLAP_READ_FILL_NONE] = "none", [LLAP_READ_FILL_FORWARD] = "forward", NULL };
static const char *const keeps[] = { "", [LLAP_READ_COLUMNS_KEPT_ALL] = "all", [LLAP_READ_COLUMNS_KEPT_COMMON] = "common", NULL };
static const char *const halves[] = { "", [LLAP_READ_HALF_NO] = "no", [LLAP_READ_HALF_YES] = "yes", NULL };
static const char *const walls[] = { "", [LLAP_READ_TWICE_ERROR] = "error", [LLAP_READ_TWICE_EARLIER] = "earlier", [LLAP_READ_TWICE_LATER] = "later", [LLAP_READ_TWICE_INFER] = "infer", NULL };

static const char *const joins[] = { "", [LLAP_READ_JOIN_YES] = "yes", [LLAP_READ_JOIN_NO] = "no", NULL };

#define OPTIONS llap_read_opts
static const llap_option read_options[] = {
    OPTION_TEXT(TEXT, entity, NULL, "column of the entity; '' for none: one series"),
    OPTION_WORD(join, NULL, joins, "whether files are parts of one series (default: where they continue each other)"),
    OPTION_TEXT(TEXT, time, NULL, "column of the time; parts joined by +, Date+Time"),
    OPTION_TEXT(TEXT, variable, NULL, "long form: column of the variable's name"),
    OPTION_TEXT(TEXT, value, NULL, "long form: column of the value"),
    OPTION_TEXT(TEXT, time_format, NULL, "rfc3339, epoch, number, elapsed or strptime"),
    OPTION_TEXT(TEXT, time_unit, NULL, "of epochs and numbers: s, ms, min, h"),
    OPTION_TEXT(TEXT, zone, NULL, "zone of times that name none: Europe/Rome, +08:00"),
    OPTION_TEXT(TEXT, start, NULL, "tables without a time: that of the first row"),
    OPTION_TEXT(TEXT, row_every, NULL, "and how far apart their rows are: 1h"),
    OPTION_WORD(twice, "infer", walls, "times that this zone shows twice; infer: by the order of rows"),
    OPTION_TEXT(CHAR, separator, NULL, "between fields; 'tab' for tabulators"),
    OPTION_TEXT(CHAR, decimal, NULL, "decimal point: . or ,"),
    OPTION_TEXT(CHAR, quote, "\"", "around fields"),
    OPTION_WORD(form, NULL, forms, "a row per time, or a row per value"),
    OPTION_WORD(header, NULL, headers, "whether the first line names the columns"),
    OPTION_INTEGER(skip_lines, "0", 0, 1e9, "lines in front of the table"),
    OPTION_TEXT(TEXT, comment, NULL, "beginning of comment lines: # or // ; '' for none"),
    OPTION_TEXT(LIST, columns, NULL, "variables to read; new=old renames"),
    OPTION_TEXT(LIST, drop, NULL, "variables to leave out"),
    OPTION_TEXT(LIST, missing, NULL, "further words or numbers that mean missing"),
    OPTION_WORD(codes, "find", codes, "whether -200, -9999 and the like mean missing"),
    OPTION_WORD(words, "auto", words, "columns of words; auto: code them where they are at most 20"),
    OPTION_WORD(bad, "error", bads, "cells that cannot be read"),
    OPTION_WORD(duplicates, "last", duplicates, "values given twice"),
    OPTION_WORD(unordered, "sort", orders, "time that goes back"),
    OPTION_TEXT(LIST, circular, NULL, "columns of degrees or compass points"),
    OPTION_TEXT(LIST, coded, NULL, "columns of words, coded 0, 1, ..."),
    OPTION_TEXT(TEXT, grid, "none", "put the rows on a grid"),
    OPTION_WORD(bin, "nearest", bins, "which values a grid point takes"),
    OPTION_WORD(agg, "mean", aggs, "several values of one grid point"),
    OPTION_WORD(fill, "none", fills, "carry values forward; they stay unobserved"),
    OPTION_REAL(row_min, "0", 0, 1, "drop rows with a smaller share of values"),
    OPTION_WORD(columns_kept, "all", keeps, "all variables, or those that every entity has"),
    OPTION_WORD(half, "no", halves, "round values to half precision"),
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_read_options(void) { return read_options; }

static const char *const kinds[] = { "", [LLAP_SYNTH_KIND_OSCILLATORS] = "oscillators", [LLAP_SYNTH_KIND_WEATHER] = "weather", NULL };

#define OPTIONS llap_synth_sizes
static const llap_option synth_options[] = {
    OPTION_WORD(kind, "oscillators", kinds, "damped oscillators, whose best forecast is known, or weather stations"),
    OPTION_INTEGER(entities, "6", 1, 1e5, "sensors"),
    OPTION_INTEGER(variables, NULL, 1, 1000, "variables of each (default 3; weather has 2)"),
    OPTION_INTEGER(rows, "2000", 2, 1e7, "hourly rows of each, before any are lost"),
    OPTION_SEED,
    OPTION_END,
};
#undef OPTIONS

const llap_option *llap_synth_options(void) { return synth_options; }
/* clang-format on */
