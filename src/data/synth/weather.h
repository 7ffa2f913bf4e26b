/* A made-up network of weather stations: what the demo looks at, and what `synth --kind weather`
 * writes. Not Gaussian, not linear, with units; the best possible forecast is not known.
 *
 *     temperature = base + fronts + slow drift + swing (1.3 - cloud) cos(2 pi (hour - 15) / 24)
 *                   + air of its own + noise                                              degC
 *     pressure    = 1013 + what the fronts will be in LEAD hours + slow drift + noise      hPa
 *
 * Fronts pass the stations one after the other; under a front there are clouds, and under clouds
 * days differ less from nights. Rows come about every hour, each moved by up to a quarter of one;
 * rows, blocks of rows and cells are lost, and the fourth station falls silent in the end. */
#ifndef LL_DATA_SYNTH_WEATHER_H
#define LL_DATA_SYNTH_WEATHER_H

#include "data/panel.h"

typedef struct ll_weather_opts {
    int64_t  n_entities, n_rows; /* rows per station before any are lost */
    uint64_t seed;
} ll_weather_opts;

/* Times are nanoseconds from 2024-03-01. Caller owns *out. LLAP_EINVAL: sizes that cannot be. */
llap_status ll_weather_panel(const ll_weather_opts *o, llap_panel **out);

#endif
