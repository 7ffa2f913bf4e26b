#include "oracles/presets.h"

#include "base/error.h"
#include "base/time/civil.h"

#include <string.h>

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PURGED                                            \
    {                                                     \
        .kind = LL_SPLIT_PURGED, .train = 0.7, .val = 0.1 \
    }
#define CONTIGUOUS                                            \
    {                                                         \
        .kind = LL_SPLIT_CONTIGUOUS, .train = 0.7, .val = 0.1 \
    }
#define BY_ENTITY                                                          \
    {                                                                      \
        .kind = LL_SPLIT_BY_ENTITY, .train = 0.7, .val = 0.1, .seed = 1234 \
    }

/* The four horizons, and the windows, of hourly, intensive-care and daily data. */
#define HOURLY_WINDOWS \
    .context_rows = 336, .horizon_rows = { 24, 48, 96, 168 }, .unit_ns = LL_NS_PER_HOUR
#define PATIENT_WINDOWS \
    .context_rows = 24, .horizon_rows = { 4, 8, 10, 12 }, .unit_ns = LL_NS_PER_HOUR
#define DAILY_WINDOWS \
    .context_rows = 200, .horizon_rows = { 5, 20, 60, 100 }, .unit_ns = LL_NS_PER_DAY

#define HOURLY_GRID .grid = LL_GRID_STEP, .step = LL_NS_PER_HOUR, .bin = LL_BIN_FLOOR
#define PATIENT_FILTER                                                                      \
    .agg = LL_AGG_LAST, .row_min = 0.6, .row_min_filled = true, .row_min_present = true,    \
    .min_rows = 36, .min_span = LL_NS_PER_HOUR, .need = "HR", .columns = LL_COLUMNS_COMMON, \
    .first = "HR"
#define WEATHER \
    LIST("temperature", "dew_point", "sea_level_pressure", "wind_speed", "precipitation")
#define ANY_VALUE .valid_min = 1, .valid_max = 0

/* clang-format off */
/* Daily bars. The published sixteenth variable, the return of a market index, needs an index. */
static const ll_derived daily_bars[] = {
    { .name = "RET_CLOSE", .op = LL_DERIVE_LOG_CHANGE, .a = "close", .b = "close" },
    { .name = "RET_OPEN", .op = LL_DERIVE_LOG_CHANGE, .a = "open", .b = "open" },
    { .name = "RET_HIGH", .op = LL_DERIVE_LOG_CHANGE, .a = "high", .b = "high" },
    { .name = "RET_LOW", .op = LL_DERIVE_LOG_CHANGE, .a = "low", .b = "low" },
    { .name = "OC_RET", .op = LL_DERIVE_LOG_RATIO, .a = "close", .b = "open" },
    { .name = "GAP_RET", .op = LL_DERIVE_LOG_CHANGE, .a = "open", .b = "close" },
    { .name = "HL_RANGE", .op = LL_DERIVE_LOG_RATIO, .a = "high", .b = "low" },
    { .name = "DLV", .op = LL_DERIVE_LOG_CHANGE, .a = "volume", .b = "volume" },
    { .name = "RVOL20_CLOSE", .op = LL_DERIVE_VOLATILITY, .a = "close", .span = 20 },
    { .name = "WEEKDAY_SIN", .op = LL_DERIVE_WEEKDAY },
    { .name = "WEEKDAY_COS", .op = LL_DERIVE_WEEKDAY, .cosine = true },
    { .name = "MONTHDAY_SIN", .op = LL_DERIVE_MONTHDAY },
    { .name = "MONTHDAY_COS", .op = LL_DERIVE_MONTHDAY, .cosine = true },
    { .name = "MONTH_SIN", .op = LL_DERIVE_MONTH },
    { .name = "MONTH_COS", .op = LL_DERIVE_MONTH, .cosine = true },
};
#define DAILY_BARS .derived = daily_bars, .n_derived = sizeof daily_bars / sizeof daily_bars[0]

static const ll_preset presets[] = {
    { .name = "bms_air", .about = "Beijing multi-site air quality, 12 stations, hourly",
      .circular = LIST("wd_deg"), ANY_VALUE, .day_zone = "+08:00",
      .timeline = { HOURLY_GRID, .common_span = true, .first = "PM2.5" },
      .target = { "PM2.5" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .batch_groups = 10, .latent = 24, .min_snr = 5.0, .summarizer_lr = 1e-4 },
    { .name = "bms_air/reference", .about = "the same, rows under 60 % dropped, half precision",
      ANY_VALUE, .day_zone = "+08:00",
      .timeline = { HOURLY_GRID, .common_span = true, .row_min = 0.6, .half = true,
                    .first = "PM2.5" },
      .target = { "PM2.5" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .batch_groups = 10, .latent = 24, .min_snr = 5.0, .summarizer_lr = 1e-4 },
    { .name = "uci_air", .about = "UCI air quality, one Italian station, hourly",
      ANY_VALUE,
      .timeline = { HOURLY_GRID, .fill = LL_FILL_GRID, .row_min = 0.6, .row_min_filled = true,
                    .first = "NO2(GT)" },
      .target = { "NO2(GT)" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .scale = LL_SCALE_GLOBAL,
      .batch_groups = 10, .latent = 16, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "uci_air/reference", .about = "the same in half precision",
      ANY_VALUE,
      .timeline = { HOURLY_GRID, .fill = LL_FILL_GRID, .row_min = 0.6, .row_min_filled = true,
                    .half = true, .first = "NO2(GT)" },
      .target = { "NO2(GT)" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .scale = LL_SCALE_GLOBAL,
      .batch_groups = 10, .latent = 16, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "physionet", .about = "PhysioNet 2012 set a, intensive care, hours by floor binning",
      .time_unit = "min", ANY_VALUE,
      .timeline = { HOURLY_GRID, .fill = LL_FILL_GRID, PATIENT_FILTER },
      .target = { "HR" }, PATIENT_WINDOWS, .season_rows = 24, .view = LL_VIEW_INDEPENDENT,
      .split = BY_ENTITY, .scale = LL_SCALE_GLOBAL,
      .batch_groups = 256, .latent = 16, .min_snr = 5.0, .summarizer_lr = 5e-4,
      .irregular = true },
    { .name = "physionet/floor", .about = "the same with the published split and scaling",
      .time_unit = "min", ANY_VALUE,
      .timeline = { HOURLY_GRID, .fill = LL_FILL_GRID, PATIENT_FILTER },
      .target = { "HR" }, PATIENT_WINDOWS, .season_rows = 24, .split = CONTIGUOUS,
      .own_rows = true, .batch_groups = 5, .latent = 16, .min_snr = 5.0, .summarizer_lr = 5e-4,
      .irregular = true },
    { .name = "physionet/reference", .about = "only what was stamped exactly on the hour",
      .time_unit = "min", ANY_VALUE,
      .timeline = { .grid = LL_GRID_STEP, .step = LL_NS_PER_HOUR, .bin = LL_BIN_EXACT,
                    .fill = LL_FILL_BOTH, PATIENT_FILTER, .half = true },
      .target = { "HR" }, PATIENT_WINDOWS, .season_rows = 24, .split = CONTIGUOUS,
      .batch_groups = 5, .latent = 16, .min_snr = 5.0, .summarizer_lr = 5e-4, .irregular = true },
    { .name = "physionet/minutes", .about = "the records as they are, to the minute, no grid",
      .time_unit = "min",
      .columns = LIST("HR", "MAP", "SysABP", "DiasABP", "RespRate", "Temp", "GCS", "Urine"),
      ANY_VALUE, .timeline = { .need = "HR" },
      .target = { "HR" }, .context_ns = 24 * LL_NS_PER_HOUR,
      .horizon_ns = { 4 * LL_NS_PER_HOUR, 8 * LL_NS_PER_HOUR, 10 * LL_NS_PER_HOUR, 12 * LL_NS_PER_HOUR }, .unit_ns = LL_NS_PER_HOUR, .pad = true,
      .view = LL_VIEW_INDEPENDENT, .split = BY_ENTITY, .scale = LL_SCALE_GLOBAL,
      .batch_groups = 256, .latent = 16, .min_snr = 5.0, .summarizer_lr = 5e-4,
      .irregular = true },
    { .name = "noaa_us", .about = "NOAA integrated surface data, United States, 2021 to 2024",
      .columns = WEATHER, ANY_VALUE,
      .timeline = { HOURLY_GRID, .fill = LL_FILL_GRID, .entity_min = 0.85, .row_min = 0.85,
                    .row_min_filled = true, .first = "temperature" },
      .target = { "temperature" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .batch_groups = 15, .latent = 24, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "noaa_uk", .about = "NOAA integrated surface data, United Kingdom, 2021 to 2024",
      .columns = WEATHER, ANY_VALUE,
      .timeline = { HOURLY_GRID, .fill = LL_FILL_GRID, .entity_min = 0.85, .row_min = 0.85,
                    .row_min_filled = true, .first = "temperature" },
      .target = { "temperature" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .batch_groups = 15, .latent = 16, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "metar_us", .about = "airport reports, 25 sites in the United States, 2012",
      .columns = WEATHER, ANY_VALUE,
      .timeline = { HOURLY_GRID, .common_span = true, .first = "temperature" },
      .target = { "temperature" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .batch_groups = 15, .latent = 24, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "metar_uk", .about = "airport reports, 5 sites in the United Kingdom, 2014 to 2015",
      .columns = LIST("temperature", "dew_point", "sea_level_pressure", "wind_speed"), ANY_VALUE,
      .timeline = { HOURLY_GRID, .common_span = true, .first = "temperature" },
      .target = { "temperature" }, HOURLY_WINDOWS, .season_rows = 24, .split = PURGED,
      .batch_groups = 15, .latent = 16, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "noaa_isd_lite", .about = "NOAA ISD-Lite, 13 stations, hourly and three-hourly",
      .columns = WEATHER, ANY_VALUE,
      .timeline = { HOURLY_GRID, .first = "temperature" },
      .target = { "temperature" }, HOURLY_WINDOWS, .season_rows = 24, .split = BY_ENTITY,
      .view = LL_VIEW_INDEPENDENT, .scale = LL_SCALE_GLOBAL,
      .batch_groups = 64, .latent = 16, .min_snr = 4.5, .summarizer_lr = 1e-4 },
    { .name = "us_equity", .about = "222 US shares, daily bars, 2017 to 2024",
      ANY_VALUE, DAILY_BARS, .timeline = { .min_rows = 350 },
      .target = { "RET_CLOSE" }, DAILY_WINDOWS, .season_rows = 5, .split = PURGED,
      .batch_groups = 5, .latent = 12, .min_snr = 5.0, .summarizer_lr = 5e-4 },
    { .name = "crypto", .about = "118 coins, daily bars, 2019 to 2022",
      ANY_VALUE, DAILY_BARS, .timeline = { .min_rows = 350 },
      .target = { "RET_CLOSE" }, DAILY_WINDOWS, .season_rows = 7, .split = PURGED,
      .batch_groups = 5, .latent = 16, .min_snr = 5.0, .summarizer_lr = 5e-4, .irregular = true },
    { .name = "ghcn_sporadic", .about = "daily climate of 1202 US stations, 5 % of the readings kept",
      ANY_VALUE, .timeline = { .grid = LL_GRID_NONE },
      .target = { "prcp", "snow", "snwd", "tmax", "tmin" }, .context_ns = 150 * LL_NS_PER_DAY,
      .horizon_ns = { 7 * LL_NS_PER_DAY, 14 * LL_NS_PER_DAY, 30 * LL_NS_PER_DAY, 50 * LL_NS_PER_DAY }, .unit_ns = LL_NS_PER_DAY,
      .view = LL_VIEW_INDEPENDENT, .split = PURGED, .scale = LL_SCALE_GLOBAL,
      .batch_groups = 256, .latent = 16, .min_snr = 5.0, .summarizer_lr = 5e-4,
      .irregular = true },
};
/* clang-format on */

enum { N_PRESETS = sizeof presets / sizeof presets[0] };

int64_t ll_preset_count(void) { return N_PRESETS; }

const ll_preset *ll_preset_at(int64_t i) { return &presets[i]; }

const ll_preset *ll_preset_find(const char *name)
{
    for (int i = 0; i < N_PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0) return &presets[i];
    return NULL;
}

llap_status ll_preset_panel(const ll_preset *s, const char *const *paths, size_t n_paths,
                            const llap_log *log, llap_panel **out)
{
    *out = NULL;
    ll_csv_opts csv = LL_CSV_DEFAULT;
    csv.time_unit = s->time_unit;
    csv.columns = s->columns;
    csv.circular = s->circular;
    csv.log = log;
    if (s->valid_min <= s->valid_max) {
        csv.valid_min = s->valid_min;
        csv.valid_max = s->valid_max;
    }
    llap_panel *raw = NULL, *made = NULL;
    llap_status st = ll_csv_read(paths, n_paths, &csv, &raw, NULL);
    if (st == LLAP_OK && s->derived != NULL) st = ll_derive(raw, s->derived, s->n_derived, &made);
    if (st == LLAP_OK) st = ll_timeline_apply(made != NULL ? made : raw, &s->timeline, out, NULL);
    llap_panel_destroy(raw);
    llap_panel_destroy(made);
    return st;
}

llap_status ll_preset_windows(const ll_preset *s, const llap_panel *panel, int h, ll_windows **out)
{
    *out = NULL;
    if (h < 0 || h >= LL_PRESET_HORIZONS)
        return ll_fail(LLAP_EINVAL, "preset %s: horizon number %d of %d", s->name, h,
                       LL_PRESET_HORIZONS);
    int64_t        target[LL_PRESET_TARGETS];
    ll_window_opts o = { .context_rows = s->context_rows,
                         .horizon_rows = s->horizon_rows[h],
                         .context_ns = s->context_ns,
                         .horizon_ns = s->horizon_ns[h],
                         .pad = s->pad,
                         .target = target };
    for (; o.n_targets < LL_PRESET_TARGETS && s->target[o.n_targets] != NULL; o.n_targets++) {
        target[o.n_targets] = ll_panel_find_var(panel, s->target[o.n_targets]);
        if (target[o.n_targets] < 0)
            return ll_fail(LLAP_EINVAL, "preset %s: the panel has no variable '%s'", s->name,
                           s->target[o.n_targets]);
    }
    return ll_windows_create(panel, &o, out);
}
