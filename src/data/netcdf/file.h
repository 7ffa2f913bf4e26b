/* The parts of an open NetCDF file: dimensions, variables, attributes, as the file states them. The
 * readers of this folder look here, never at libnetcdf. Not for other folders. */
#ifndef LL_DATA_NETCDF_FILE_H
#define LL_DATA_NETCDF_FILE_H

#include "base/arena.h"
#include "data/netcdf/driver.h"
#include "data/netcdf/netcdf.h"

typedef struct ll_nc_dim {
    const char *name;
    int64_t     len;
    int         id;
} ll_nc_dim;

typedef struct ll_nc_var {
    const char *name;
    int         id, type, n_dims;
    const int  *dim;    /* [n_dims], positions in the file's list of dimensions */
    bool        part;   /* described by or describing another: no column unless asked for */
    bool        bounds; /* of another variable */
} ll_nc_var;

typedef struct ll_nc_file {
    const ll_nc_driver   *nc;
    const ll_netcdf_opts *opts;
    ll_netcdf_counts     *counts;
    const char           *path; /* as the caller wrote it; for messages */
    int                   id;   /* -1 when not open */
    ll_arena              text;
    ll_nc_dim            *dim;
    ll_nc_var            *var;
    int                   n_dims, n_vars;
} ll_nc_file;

/* Opens the file at real, which messages call path, and lists it. Borrows all until
 * ll_nc_file_close, which is due also after a failure. */
llap_status ll_nc_file_open(ll_nc_file *f, const ll_nc_driver *nc, const char *real,
                            const char *path, const ll_netcdf_opts *o, ll_netcdf_counts *counts);
void        ll_nc_file_close(ll_nc_file *f);

/* Reports a code of libnetcdf: "FILE: WHAT: its text". what may be NULL. */
llap_status ll_nc_fail(const ll_nc_driver *nc, const char *path, const char *what, int code);

/* By name; -1 when there is none. */
int ll_nc_find_dim(const ll_nc_file *f, const char *name);
int ll_nc_find_var(const ll_nc_file *f, const char *name);

/* Whether one of the variable's dimensions is dim. */
bool ll_nc_on_dim(const ll_nc_var *v, int dim);
/* A 1-dimensional variable that has the name of its dimension. */
bool ll_nc_is_coordinate(const ll_nc_file *f, const ll_nc_var *v);
bool ll_nc_is_numeric(int type);
bool ll_nc_is_text(int type); /* char or string */
bool ll_nc_is_integer(int type);

/* "temp(time=100, station=3)" for messages; borrowed from the file. Never NULL. */
const char *ll_nc_describe(ll_nc_file *f, const ll_nc_var *v);

/* A text attribute, NULL when there is none or it is no text. Borrowed from the file. v NULL: an
 * attribute of the file itself. LLAP_ELIMIT beyond LL_NC_TEXT_MAX bytes. */
enum { LL_NC_TEXT_MAX = 1 << 16, LL_NC_NUMBERS_MAX = 64 };
llap_status ll_nc_att_text(ll_nc_file *f, const ll_nc_var *v, const char *name, const char **out);

/* A numeric attribute of up to LL_NC_NUMBERS_MAX values; n == 0 when there is none or it is text.
 * Integers are kept exactly in bits too (two's complement). */
typedef struct ll_nc_numbers {
    int     n, type;
    double  value[LL_NC_NUMBERS_MAX];
    int64_t bits[LL_NC_NUMBERS_MAX];
} ll_nc_numbers;
llap_status ll_nc_att_numbers(ll_nc_file *f, const ll_nc_var *v, const char *name,
                              ll_nc_numbers *out);

/* Element i of n values of a numeric type: as a double, and exactly for integers. */
double  ll_nc_element(const void *raw, int type, size_t i);
int64_t ll_nc_element_bits(const void *raw, int type, size_t i);

#endif
