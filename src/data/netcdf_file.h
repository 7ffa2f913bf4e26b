/* The parts of an open NetCDF file: dimensions, variables, attributes, as the file states them. The
 * readers of this folder look here, never at libnetcdf. Not for other folders. */
#ifndef LLAP_DATA_NETCDF_FILE_H
#define LLAP_DATA_NETCDF_FILE_H

#include "base/arena.h"
#include "data/netcdf.h"
#include "data/netcdf_driver.h"

typedef struct llap_nc_dim {
    const char *name;
    int64_t     len;
    int         id;
} llap_nc_dim;

typedef struct llap_nc_var {
    const char *name;
    int         id, type, n_dims;
    const int  *dim;    /* [n_dims], positions in the file's list of dimensions */
    bool        part;   /* described by or describing another: no column unless asked for */
    bool        bounds; /* of another variable */
} llap_nc_var;

typedef struct llap_nc_file {
    const llap_nc_driver   *nc;
    const llap_netcdf_opts *opts;
    llap_netcdf_counts     *counts;
    const char             *path; /* as the caller wrote it; for messages */
    int                     id;   /* -1 when not open */
    llap_arena              text;
    llap_nc_dim            *dim;
    llap_nc_var            *var;
    int                     n_dims, n_vars;
} llap_nc_file;

/* Opens the file at real, which messages call path, and lists it. Borrows all until
 * llap_nc_file_close, which is due also after a failure. */
llap_status llap_nc_file_open(llap_nc_file *f, const llap_nc_driver *nc, const char *real,
                              const char *path, const llap_netcdf_opts *o,
                              llap_netcdf_counts *counts);
void        llap_nc_file_close(llap_nc_file *f);

/* Reports a code of libnetcdf: "FILE: WHAT: its text". what may be NULL. */
llap_status llap_nc_fail(const llap_nc_driver *nc, const char *path, const char *what, int code);

/* By name; -1 when there is none. */
int llap_nc_find_dim(const llap_nc_file *f, const char *name);
int llap_nc_find_var(const llap_nc_file *f, const char *name);

/* Whether one of the variable's dimensions is dim. */
bool llap_nc_on_dim(const llap_nc_var *v, int dim);
/* A 1-dimensional variable that has the name of its dimension. */
bool   llap_nc_is_coordinate(const llap_nc_file *f, const llap_nc_var *v);
bool   llap_nc_is_numeric(int type);
bool   llap_nc_is_text(int type); /* char or string */
bool   llap_nc_is_integer(int type);
size_t llap_nc_type_size(int type); /* of a numeric type */

/* "temp(time=100, station=3)" for messages; borrowed from the file. Never NULL. */
const char *llap_nc_describe(llap_nc_file *f, const llap_nc_var *v);

/* A text attribute, NULL when there is none or it is no text. Borrowed from the file. v NULL: an
 * attribute of the file itself. LLAP_ELIMIT beyond LLAP_NC_TEXT_MAX bytes. */
enum { LLAP_NC_TEXT_MAX = 1 << 16, LLAP_NC_NUMBERS_MAX = 64 };
llap_status llap_nc_att_text(llap_nc_file *f, const llap_nc_var *v, const char *name,
                             const char **out);

/* A numeric attribute of up to LLAP_NC_NUMBERS_MAX values; n == 0 when there is none or it is text.
 * Integers are kept exactly in bits too (two's complement). */
typedef struct llap_nc_numbers {
    int     n, type;
    double  value[LLAP_NC_NUMBERS_MAX];
    int64_t bits[LLAP_NC_NUMBERS_MAX];
} llap_nc_numbers;
llap_status llap_nc_att_numbers(llap_nc_file *f, const llap_nc_var *v, const char *name,
                                llap_nc_numbers *out);

/* Element i of n values of a numeric type: as a double, and exactly for integers. */
double  llap_nc_element(const void *raw, int type, size_t i);
int64_t llap_nc_element_bits(const void *raw, int type, size_t i);

#endif
