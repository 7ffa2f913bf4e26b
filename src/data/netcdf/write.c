#include "base/alloc.h"
#include "base/error.h"
#include "data/netcdf/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SLAB = 1 << 18 }; /* rows written at once */

typedef struct writer {
    const ll_nc_driver *nc;
    const llap_panel   *p;
    const char         *path;
    int                 file, station, obs; /* file, dimensions */
    int                 id, row_size, time; /* variables */
    int                *var, *filled;       /* [n_vars], -1: none */
    int                 deflate;
    int64_t             step; /* nanoseconds of the time's unit */
    void               *buffer;
} writer;

static llap_status fail_code(const writer *w, const char *what, int code)
{
    if (code > 0) return ll_fail_errno(code, "%s", w->path);
    return ll_fail(code == LL_NC_ENOMEM ? LLAP_ENOMEM : LLAP_EIO, "%s: %s: %s", w->path, what,
                   w->nc->error(code));
}

static llap_status put_text(const writer *w, int var, const char *name, const char *text)
{
    const int rc = w->nc->put_att(w->file, var, name, LL_NC_CHAR, strlen(text), text);
    return rc == 0 ? LLAP_OK : fail_code(w, name, rc);
}

static llap_status put_number(const writer *w, int var, const char *name, int type, size_t n,
                              const void *value)
{
    const int rc = w->nc->put_att(w->file, var, name, type, n, value);
    return rc == 0 ? LLAP_OK : fail_code(w, name, rc);
}

typedef struct text_att {
    const char *name, *text;
} text_att;

static llap_status put_texts(const writer *w, int var, const text_att *att, size_t n)
{
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) st = put_text(w, var, att[i].name, att[i].text);
    return st;
}

/* ---- definitions ---------------------------------------------------------------------------- */

static llap_status define(writer *w, const char *name, int type, int dim, int *var)
{
    int rc = w->nc->def_var(w->file, name, type, 1, &dim, var);
    if (rc == 0 && w->deflate > 0 && type != LL_NC_STRING)
        rc = w->nc->def_deflate(w->file, *var, 1, 1, w->deflate);
    return rc == 0 ? LLAP_OK : fail_code(w, name, rc);
}

static llap_status define_stations(writer *w)
{
    static const text_att id[] = { { "long_name", "entity" }, { "cf_role", "timeseries_id" } };
    static const text_att rows[] = { { "long_name", "number of observations of this entity" },
                                     { "sample_dimension", "obs" } };
    /* a length of 0 means unlimited, of which there are 0 so far: the same to a reader */
    int rc = w->nc->def_dim(w->file, "station", (size_t)w->p->n_entities, &w->station);
    if (rc == 0) rc = w->nc->def_dim(w->file, "obs", (size_t)w->p->n_rows, &w->obs);
    if (rc != 0) return fail_code(w, "dimensions", rc);
    llap_status st = define(w, "station_id", LL_NC_STRING, w->station, &w->id);
    if (st == LLAP_OK) st = define(w, "row_size", LL_NC_INT64, w->station, &w->row_size);
    if (st == LLAP_OK) st = put_texts(w, w->id, id, 2);
    if (st == LLAP_OK) st = put_texts(w, w->row_size, rows, 2);
    return st;
}

/* The coarsest unit in which every time is a whole number. */
static const char *choose_unit(writer *w)
{
    static const struct {
        int64_t     ns;
        const char *name;
    } units[] = { { 86400000000000, "days" },  { 3600000000000, "hours" },
                  { 60000000000, "minutes" },  { 1000000000, "seconds" },
                  { 1000000, "milliseconds" }, { 1000, "microseconds" },
                  { 1, "nanoseconds" } };
    size_t u = 0;
    for (int64_t r = 0; r < w->p->n_rows; r++)
        while (w->p->time[r] % units[u].ns != 0) u++;
    w->step = units[u].ns;
    return units[u].name;
}

/* What the reader cannot see in the unit. */
static llap_status define_axis(writer *w, const ll_axis *seen)
{
    const ll_axis *a = &w->p->axis;
    llap_status    st = LLAP_OK;
    if (strcmp(a->zone, seen->zone) != 0) st = put_text(w, w->time, "llapdiff_zone", a->zone);
    if (st == LLAP_OK && strcmp(a->format, seen->format) != 0)
        st = put_text(w, w->time, "llapdiff_format", a->format);
    if (st == LLAP_OK && strcmp(a->unit, seen->unit) != 0)
        st = put_text(w, w->time, "llapdiff_unit", a->unit);
    if (st == LLAP_OK && a->unit_ns != seen->unit_ns)
        st = put_number(w, w->time, "llapdiff_unit_ns", LL_NC_INT64, 1, &a->unit_ns);
    return st;
}

/* Without a _FillValue, readers take this time for a missing one. */
static llap_status define_time_fill(writer *w)
{
    const int64_t fallback = -9223372036854775806;
    bool          clash = false;
    for (int64_t r = 0; r < w->p->n_rows && !clash; r++)
        clash = w->p->time[r] / w->step == fallback;
    if (!clash) return LLAP_OK;
    int64_t fill = INT64_MAX; /* the largest number that is no time */
    for (int64_t r = 0; r < w->p->n_rows; r++)
        if (w->p->time[r] / w->step == fill) fill--, r = -1;
    return put_number(w, w->time, "_FillValue", LL_NC_INT64, 1, &fill);
}

static llap_status define_time(writer *w)
{
    char        units[64];
    const char *unit = choose_unit(w);
    const bool  calendar = w->p->axis.kind == LL_AXIS_CALENDAR;
    const bool  plain = !calendar && *w->p->axis.unit == '\0';
    ll_axis     seen = LL_AXIS_UTC;
    if (!calendar)
        seen = (ll_axis){ .kind = LL_AXIS_NUMBER,
                          .zone = "",
                          .format = "",
                          .unit = "",
                          .unit_ns = plain ? 1000000000 : -1 };
    if (plain) { /* a number without a unit counts seconds inside */
        if (w->step >= 1000000000) w->step = 1000000000;
        snprintf(units, sizeof units, w->step == 1000000000 ? "1" : "%lldE-9", (long long)w->step);
    } else {
        snprintf(units, sizeof units, "%s%s", unit, calendar ? " since 1970-01-01 00:00:00" : "");
    }
    llap_status st = define(w, "time", LL_NC_INT64, w->obs, &w->time);
    if (st == LLAP_OK) st = put_text(w, w->time, "standard_name", "time");
    if (st == LLAP_OK) st = put_text(w, w->time, "units", units);
    if (st == LLAP_OK && calendar) st = put_text(w, w->time, "calendar", "proleptic_gregorian");
    if (st == LLAP_OK) st = define_axis(w, &seen);
    if (st == LLAP_OK) st = define_time_fill(w);
    return st;
}

static bool any_filled(const llap_panel *p, int64_t v)
{
    for (int64_t r = 0; r < p->n_rows; r++)
        if (ll_panel_filled(p, r, v)) return true;
    return false;
}

/* A name that NetCDF and the CF conventions take as it is; the rest are given a number. */
static bool plain_name(const char *name)
{
    static const char *const taken[] = { "time", "station", "obs", "station_id", "row_size" };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0) return false;
    const size_t n = strlen(name);
    if (n == 0 || n > LL_NC_NAME_MAX - 20 || name[0] == ' ' || name[n - 1] == ' ') return false;
    for (size_t i = 0; i < n; i++) {
        const char c = name[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        const bool later = (c >= '0' && c <= '9') || strchr(".+-@()", c) != NULL;
        if (!letter && (i == 0 || !later)) return false;
    }
    return strncmp(name, "variable_", 9) != 0 && (n < 7 || strcmp(name + n - 7, "_filled") != 0);
}

static llap_status define_flags(writer *w, int64_t v, const char *name)
{
    char flags[LL_NC_NAME_MAX + 1];
    snprintf(flags, sizeof flags, "%s_filled", name);
    const text_att    atts[] = { { "long_name", "whether the value was observed or filled in" },
                                 { "standard_name", "status_flag" },
                                 { "flag_meanings", "observed filled" } };
    const signed char values[2] = { 0, 1 };
    llap_status       st = define(w, flags, LL_NC_BYTE, w->obs, &w->filled[v]);
    if (st == LLAP_OK) st = put_texts(w, w->filled[v], atts, 3);
    if (st == LLAP_OK) st = put_number(w, w->filled[v], "flag_values", LL_NC_BYTE, 2, values);
    if (st == LLAP_OK) st = put_text(w, w->var[v], "ancillary_variables", flags);
    return st;
}

static llap_status define_variable(writer *w, int64_t v)
{
    const char *given = w->p->var[v];
    char        name[LL_NC_NAME_MAX + 1];
    const bool  plain = plain_name(given);
    snprintf(name, sizeof name, plain ? "%s" : "variable_%.0s%lld", given, (long long)v);
    const float missing = NAN;
    llap_status st = define(w, name, LL_NC_FLOAT, w->obs, &w->var[v]);
    if (st == LLAP_OK) st = put_number(w, w->var[v], "_FillValue", LL_NC_FLOAT, 1, &missing);
    if (st == LLAP_OK) st = put_text(w, w->var[v], "coordinates", "time station_id");
    if (st == LLAP_OK && !plain) st = put_text(w, w->var[v], "long_name", given);
    if (st == LLAP_OK && !plain) st = put_text(w, w->var[v], "llapdiff_name", given);
    if (st == LLAP_OK && any_filled(w->p, v)) st = define_flags(w, v, name);
    return st;
}

static llap_status define_all(writer *w)
{
    static const text_att global[] = { { "Conventions", "CF-1.9" },
                                       { "featureType", "timeSeries" } };
    llap_status           st = put_texts(w, LL_NC_GLOBAL, global, 2);
    if (st == LLAP_OK) st = define_stations(w);
    if (st == LLAP_OK) st = define_time(w);
    for (int64_t v = 0; v < w->p->n_vars && st == LLAP_OK; v++) st = define_variable(w, v);
    return st;
}

/* ---- contents ------------------------------------------------------------------------------- */

static llap_status put(const writer *w, int var, int64_t start, int64_t count, const void *from)
{
    const size_t at = (size_t)start, n = (size_t)count;
    const int    rc = w->nc->put(w->file, var, &at, &n, from);
    return rc == 0 ? LLAP_OK : fail_code(w, "writing", rc);
}

static llap_status write_stations(writer *w)
{
    const llap_panel *p = w->p;
    int64_t          *rows = w->buffer;
    llap_status       st = LLAP_OK;
    for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e += SLAB) {
        const int64_t n = p->n_entities - e < SLAB ? p->n_entities - e : SLAB;
        for (int64_t i = 0; i < n; i++) rows[i] = p->start[e + i + 1] - p->start[e + i];
        st = put(w, w->row_size, e, n, rows);
        if (st == LLAP_OK) st = put(w, w->id, e, n, p->entity + e);
    }
    return st;
}

static llap_status write_column(writer *w, int64_t v, int64_t first, int64_t n)
{
    const llap_panel *p = w->p;
    float            *value = w->buffer;
    for (int64_t i = 0; i < n; i++) value[i] = p->value[(first + i) * p->n_vars + v];
    llap_status st = put(w, w->var[v], first, n, value);
    if (st != LLAP_OK || w->filled[v] < 0) return st;
    signed char *flag = w->buffer;
    for (int64_t i = 0; i < n; i++) flag[i] = ll_panel_filled(p, first + i, v);
    return put(w, w->filled[v], first, n, flag);
}

static llap_status write_rows(writer *w)
{
    const llap_panel *p = w->p;
    int64_t          *time = w->buffer;
    llap_status       st = LLAP_OK;
    for (int64_t r = 0; r < p->n_rows && st == LLAP_OK; r += SLAB) {
        const int64_t n = p->n_rows - r < SLAB ? p->n_rows - r : SLAB;
        for (int64_t i = 0; i < n; i++) time[i] = p->time[r + i] / w->step;
        st = put(w, w->time, r, n, time);
        for (int64_t v = 0; v < p->n_vars && st == LLAP_OK; v++) st = write_column(w, v, r, n);
    }
    return st;
}

llap_status ll_netcdf_write_with(const ll_nc_driver *nc, const llap_panel *p, const char *real,
                                 const char *path, const ll_netcdf_opts *o)
{
    if (o->deflate < 0 || o->deflate > 9)
        return ll_fail(LLAP_EINVAL, "%s: deflate: expected 0 to 9, found %d", path, o->deflate);
    writer w = { .nc = nc, .p = p, .path = path, .file = -1, .deflate = o->deflate };
    w.var = ll_new((size_t)p->n_vars, sizeof *w.var);
    w.filled = ll_new((size_t)p->n_vars, sizeof *w.filled);
    w.buffer = ll_new(SLAB, 8);
    llap_status st = w.var == NULL || w.filled == NULL || w.buffer == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t v = 0; v < p->n_vars && st == LLAP_OK; v++) w.filled[v] = -1;
    if (st == LLAP_OK) {
        const int rc = nc->create(real, &w.file);
        if (rc != 0) st = fail_code(&w, "cannot be created", rc);
        bool open = rc == 0;
        if (open) {
            st = define_all(&w);
            if (st == LLAP_OK) st = write_stations(&w);
            if (st == LLAP_OK) st = write_rows(&w);
        }
        if (open && st == LLAP_OK) { /* closing writes the rest */
            const int closed = nc->close(w.file);
            if (closed != 0) st = fail_code(&w, "writing", closed);
        } else if (open) {
            (void)nc->abort(w.file);
        }
    }
    ll_free(w.var);
    ll_free(w.filled);
    ll_free(w.buffer);
    return st;
}
