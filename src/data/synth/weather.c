#include "data/synth/weather.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "data/panel_builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAD = 16, LAG = 3, LAGS = 16 }; /* hours; LAGS: of the last station, most */
enum { DRAW_FRONT = 1, DRAW_SLOW, DRAW_CLOUD, DRAW_OWN, DRAW_STATION, DRAW_ROWS };
enum { DRAWS_OF_A_ROW = 8 };

static const int64_t EPOCH_2024 = INT64_C(1709251200000000000);
static const double  TWO_PI = 6.283185307179586476925286766559;

/* What all stations share, hour by hour from LAG * LAGS hours before the first row on. */
typedef struct sky {
    int64_t n;
    double *front, *slow, *cloud, *own; /* [n]; own: of one station at a time */
} sky;

static ll_rng draws(uint64_t seed, int64_t of, uint32_t what)
{
    return ll_rng_make(seed, LL_STREAM_SYNTH, (uint64_t)of, 1, what);
}

/* A process of variance 1 that forgets with a time of tau hours. */
static void relax(const ll_rng *r, double tau, double *x, int64_t n)
{
    const double keep = exp(-1 / tau), push = sqrt(1 - keep * keep);
    double       now = (double)ll_rng_normal(r, 0);
    for (int64_t i = 0; i < n; i++) {
        x[i] = now;
        now = keep * now + push * (double)ll_rng_normal(r, (uint64_t)i + 1);
    }
}

/* The same, rounded off: fronts come over hours, not at once. */
static void smooth(double *x, int64_t n, double hours)
{
    const double scale = sqrt(1 + hours / 22);
    double       now = x[0];
    for (int64_t i = 0; i < n; i++) {
        now += (x[i] - now) / hours;
        x[i] = scale * now;
    }
}

static void sky_deinit(sky *s)
{
    ll_free(s->front);
    ll_free(s->slow);
    ll_free(s->cloud);
    ll_free(s->own);
}

static llap_status sky_init(sky *s, const ll_weather_opts *o)
{
    const int64_t  n = o->n_rows + LAG * LAGS + LEAD + 2;
    double **const all[] = { &s->front, &s->slow, &s->cloud, &s->own };
    *s = (sky){ .n = n };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i] = ll_new((size_t)n, sizeof(double));
        if (*all[i] == NULL) return LLAP_ENOMEM;
    }
    const ll_rng front = draws(o->seed, 0, DRAW_FRONT), slow = draws(o->seed, 0, DRAW_SLOW);
    const ll_rng cloud = draws(o->seed, 0, DRAW_CLOUD);
    relax(&front, 22, s->front, n);
    smooth(s->front, n, 8);
    relax(&slow, 200, s->slow, n);
    relax(&cloud, 20, s->cloud, n);
    return LLAP_OK;
}

static double at(const double *x, double hour)
{
    const double  low = floor(hour), part = hour - low;
    const int64_t i = (int64_t)low;
    return (1 - part) * x[i] + part * x[i + 1];
}

typedef struct station {
    char   name[24];
    double lag, base, swing;
} station;

static station station_of(const ll_weather_opts *o, int64_t e)
{
    static const struct known {
        const char *name;
        double      base, swing;
    } known[] = { { "harbour", 15, 2.5 },
                  { "airfield", 14, 4.5 },
                  { "valley", 13, 6 },
                  { "hill", 10, 3 },
                  { "forest", 12.5, 4 } };
    const ll_rng r = draws(o->seed, e, DRAW_STATION);
    station      s = { .lag = LAG * (double)(e % LAGS) };
    if (e < (int64_t)(sizeof known / sizeof *known)) {
        snprintf(s.name, sizeof s.name, "%s", known[e].name);
        s.base = known[e].base;
        s.swing = known[e].swing;
    } else {
        snprintf(s.name, sizeof s.name, "station %lld", (long long)e + 1);
        s.base = 9 + 7 * (double)ll_rng_uniform(&r, 0);
        s.swing = 2 + 5 * (double)ll_rng_uniform(&r, 1);
    }
    return s;
}

/* Temperature and pressure at an hour since the first row; two draws of noise. */
static void measure(const sky *s, const station *of, double hour, const ll_rng *r, uint64_t draw,
                    float out[2])
{
    const double then = hour + LAG * LAGS - of->lag, front = at(s->front, then);
    const double cloud = 1 / (1 + exp(-1.5 * (at(s->cloud, then) - 0.8 * front)));
    const double day = of->swing * (1.3 - cloud) * cos(TWO_PI * (hour - 15) / 24);
    const double slow = at(s->slow, then);
    const double temperature = of->base + 3.2 * front + 0.8 * slow + day + 0.5 * at(s->own, then) +
                               0.15 * (double)ll_rng_normal(r, draw);
    const double pressure = 1013 + 6 * at(s->front, then + LEAD) + 1.5 * slow +
                            0.4 * (double)ll_rng_normal(r, draw + 1);
    out[0] = (float)(round(10 * temperature) / 10); /* as instruments write them */
    out[1] = (float)(round(10 * pressure) / 10);
}

/* The rows of one station that are not lost. */
static llap_status put_rows(const ll_weather_opts *o, const sky *s, const station *of, int64_t e,
                            uint32_t id, ll_panel_builder *b)
{
    const ll_rng  r = draws(o->seed, e, DRAW_ROWS);
    const int64_t end = e == 3 ? o->n_rows - o->n_rows / 14 : o->n_rows;
    llap_status   st = LLAP_OK;
    double        silent = 0; /* rows left of a block that is lost */
    for (int64_t i = 0; i < end && st == LLAP_OK; i++) {
        const uint64_t k = DRAWS_OF_A_ROW * (uint64_t)i;
        if (silent >= 1) {
            silent--;
            continue;
        }
        if (ll_rng_uniform(&r, k) < 0.004f)
            silent = -14 * log(1 - (double)ll_rng_uniform(&r, k + 1));
        if (silent >= 1 || ll_rng_uniform(&r, k + 2) < 0.08f) continue;
        const double hour = (double)i + 0.5 * ((double)ll_rng_uniform(&r, k + 3) - 0.5);
        float        row[2];
        measure(s, of, fmax(hour, 0), &r, k + 4, row);
        for (uint64_t v = 0; v < 2; v++)
            if (ll_rng_uniform(&r, k + 6 + v) < 0.05f) row[v] = NAN;
        const int64_t second = (int64_t)(fmax(hour, 0) * 3600);
        st = ll_panel_builder_row(b, id, EPOCH_2024 + second * INT64_C(1000000000), row);
    }
    return st;
}

llap_status ll_weather_panel(const ll_weather_opts *o, llap_panel **out)
{
    static const char *const names[] = { "temperature (degC)", "pressure (hPa)" };
    *out = NULL;
    if (o->n_entities < 1 || o->n_entities > 100000 || o->n_rows < 2 || o->n_rows > 10000000)
        return ll_fail(LLAP_EINVAL, "weather: %lld stations of %lld rows", (long long)o->n_entities,
                       (long long)o->n_rows);
    sky               s = { 0 };
    ll_panel_builder *b = NULL;
    uint32_t          id;
    llap_status       st = sky_init(&s, o);
    if (st == LLAP_OK) st = ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b);
    for (int v = 0; v < 2 && st == LLAP_OK; v++)
        st = ll_panel_builder_var(b, names[v], strlen(names[v]), &id);
    for (int64_t e = 0; e < o->n_entities && st == LLAP_OK; e++) {
        const station of = station_of(o, e);
        const ll_rng  own = draws(o->seed, e, DRAW_OWN);
        relax(&own, 8, s.own, s.n);
        st = ll_panel_builder_entity(b, of.name, strlen(of.name), &id);
        if (st == LLAP_OK) st = put_rows(o, &s, &of, e, id, b);
    }
    if (st == LLAP_OK) st = ll_panel_builder_finish(b, &LL_AXIS_UTC, out);
    ll_panel_builder_destroy(b);
    sky_deinit(&s);
    return st;
}
