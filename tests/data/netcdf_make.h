/* Small NetCDF files, made with libnetcdf itself, and panels as text to compare with. */
#ifndef LLAP_TESTS_NETCDF_MAKE_H
#define LLAP_TESTS_NETCDF_MAKE_H

#include "folder.h"

#include "data/netcdf/netcdf.h"

#include <netcdf.h>
#include <unistd.h>

#define NC(call)                                                          \
    do {                                                                  \
        const int rc_ = (call);                                           \
        if (rc_ != NC_NOERR) fail_msg("%s: %s", #call, nc_strerror(rc_)); \
    } while (0)

static char path[256]; /* of the file being made */
static int  nc;

static inline void begin_as(const char *name, int mode)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    NC(nc_create(path, mode | NC_CLOBBER, &nc));
}
static inline void begin(const char *name) { begin_as(name, NC_NETCDF4); }

static inline void dim(const char *name, size_t len)
{
    int id;
    NC(nc_def_dim(nc, name, len, &id));
}

static inline int id_of(const char *var)
{
    int id = NC_GLOBAL;
    if (*var != '\0') NC(nc_inq_varid(nc, var, &id));
    return id;
}

/* dims: names with single blanks between, "" for none */
static inline void var(const char *name, nc_type type, const char *dims)
{
    int  ids[8], n = 0, id;
    char text[100];
    snprintf(text, sizeof text, "%s", dims);
    for (char *p = text, *end; *p != '\0'; p = end) {
        end = p + strcspn(p, " ");
        if (*end != '\0') *end++ = '\0';
        NC(nc_inq_dimid(nc, p, &ids[n++]));
    }
    NC(nc_def_var(nc, name, type, n, ids, &id));
}

static inline void text(const char *v, const char *att, const char *value)
{
    NC(nc_put_att_text(nc, id_of(v), att, strlen(value), value));
}

static inline void number(const char *v, const char *att, nc_type type, size_t n, const double *x)
{
    NC(nc_put_att_double(nc, id_of(v), att, type, n, x));
}
#define NUMBER(v, att, type, ...)                                            \
    number(v, att, type, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), \
           (double[]){ __VA_ARGS__ })

static inline void put(const char *v, const double *x) { NC(nc_put_var_double(nc, id_of(v), x)); }
#define PUT(v, ...) put(v, (double[]){ __VA_ARGS__ })

static inline void put_texts(const char *v, const char *const *x)
{
    NC(nc_put_var_string(nc, id_of(v), (const char **)(uintptr_t)x));
}
#define PUT_TEXTS(v, ...) put_texts(v, (const char *const[]){ __VA_ARGS__ })

static inline void put_chars(const char *v, const char *x) { NC(nc_put_var_text(nc, id_of(v), x)); }

static inline void classic_data(void) { NC(nc_enddef(nc)); }

static inline const char *end(void)
{
    NC(nc_close(nc));
    return path;
}

/* One line per row: entity, seconds, values; _ is missing, ~ filled. First the variables. */
static inline const char *show(const llap_panel *p)
{
    static char out[1 << 16];
    size_t      n = 0;
    out[0] = '\0';
    for (int64_t v = 0; v < p->n_vars; v++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", v > 0 ? " " : "", p->var[v]);
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (p->start[e] == p->start[e + 1])
            n += (size_t)snprintf(out + n, sizeof out - n, "\n%s -", p->entity[e]);
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            n += (size_t)snprintf(out + n, sizeof out - n, "\n%s %.9g", p->entity[e],
                                  (double)p->time[r] / 1e9);
            for (int64_t v = 0; v < p->n_vars; v++) {
                const float x = p->value[r * p->n_vars + v];
                if (isnan(x)) n += (size_t)snprintf(out + n, sizeof out - n, " _");
                else
                    n += (size_t)snprintf(out + n, sizeof out - n, " %.7g%s", (double)x,
                                          ll_panel_filled(p, r, v) ? "~" : "");
            }
        }
    }
    return out;
}

static inline ll_netcdf_opts defaults(void)
{
    ll_netcdf_opts o = LL_NETCDF_DEFAULT;
    o.object = LLAP_NETCDF_OBJECT;
    return o;
}

static ll_netcdf_counts counts; /* of the last file read */

/* The file reads as this text. */
#define EXPECT(file, opts, expected)                       \
    do {                                                   \
        llap_panel          *p_;                           \
        const ll_netcdf_opts o_ = (opts);                  \
        CHECK_OK(ll_netcdf_read(file, &o_, &p_, &counts)); \
        CHECK_OK(ll_panel_check(p_));                      \
        assert_string_equal(show(p_), expected);           \
        llap_panel_destroy(p_);                            \
    } while (0)

#define EXPECT_FAIL(file, opts, code, text)                              \
    do {                                                                 \
        llap_panel          *p_;                                         \
        const ll_netcdf_opts o_ = (opts);                                \
        CHECK_FAIL(ll_netcdf_read(file, &o_, &p_, &counts), code, text); \
        assert_null(p_);                                                 \
    } while (0)

#endif
