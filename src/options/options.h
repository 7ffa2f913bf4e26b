/* src/options: what every public options struct can hold, one line an option: name, kind, range,
 * default, help (<llapdiff/options.h>).
 *
 *   tables.c       training, forecasts, fills, scores, poles, import, bench; those of reading are
 * in api/panel_options.c
 *
 * May touch: base. */
