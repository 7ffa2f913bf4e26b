/* What the library needs from libnetcdf and udunits: a table that llapdiff-netcdf.so exports as
 * `llap_netcdf_driver` (object.c). Most rows are the functions of libnetcdf themselves, and
 * mean what its manual says; they return 0, a negative NetCDF code or a positive errno. Everything
 * that decides something is on this side, where it can be tested without the libraries. */
#ifndef LL_DATA_NETCDF_DRIVER_H
#define LL_DATA_NETCDF_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_NC_ABI 1 /* changes with this header; library and object must agree */
#define LL_NC_SYMBOL "llap_netcdf_driver"

enum {
    LL_NC_BYTE = 1,
    LL_NC_CHAR,
    LL_NC_SHORT,
    LL_NC_INT,
    LL_NC_FLOAT,
    LL_NC_DOUBLE,
    LL_NC_UBYTE,
    LL_NC_USHORT,
    LL_NC_UINT,
    LL_NC_INT64,
    LL_NC_UINT64,
    LL_NC_STRING,

    LL_NC_NAME_MAX = 256,  /* bytes of a name */
    LL_NC_VAR_DIMS = 1024, /* dimensions of a variable */
    LL_NC_GLOBAL = -1,     /* instead of a variable: the file's own attributes */

    LL_NC_ENAMEINUSE = -42,
    LL_NC_ENOTATT = -43,
    LL_NC_EMAXNAME = -53,
    LL_NC_EBADNAME = -59,
    LL_NC_ENOMEM = -61,
};

/* A unit as udunits understands it. */
typedef enum ll_nc_unit_kind {
    LL_NC_UNIT_OTHER, /* not understood, or not of time */
    LL_NC_UNIT_PLAIN, /* a number without dimension; scale is its size */
    LL_NC_UNIT_TIME,  /* scale seconds */
    LL_NC_UNIT_SINCE, /* scale seconds, from origin on */
} ll_nc_unit_kind;

typedef struct ll_nc_unit {
    ll_nc_unit_kind kind;
    double          scale;
    bool            years;            /* a mean year or month of udunits */
    double          origin;           /* seconds since 2001-01-01T00:00:00Z */
    int             year, month, day; /* of the origin, UTC; Julian before 1582-10-15 */
} ll_nc_unit;

typedef struct ll_nc_driver {
    uint32_t abi;
    void (*lock)(void); /* one thread at a time in all that follows */
    void (*unlock)(void);

    /* reading */
    const char *(*error)(int code);
    int (*open)(const char *path, int *file);
    int (*close)(int file);
    int (*inq_groups)(int file, int *n, int *ids);
    int (*inq_dims)(int file, int *n, int *ids, int parents);
    int (*inq_dim)(int file, int dim, char *name, size_t *len);
    int (*inq_n_vars)(int file, int *n);
    int (*inq_var)(int file, int var, char *name, int *type, int *n_dims, int *dims, int *n_atts);
    int (*inq_chunks)(int file, int var, int *storage, size_t *len); /* storage 0: chunked */
    int (*set_cache)(int file, int var, size_t n_bytes); /* of chunks, where there are any */
    int (*inq_att)(int file, int var, const char *name, int *type, size_t *len);
    int (*get_att)(int file, int var, const char *name, void *to);
    int (*get)(int file, int var, const size_t *start, const size_t *count, void *to);
    int (*free_strings)(size_t n, char **strings);

    /* writing */
    int (*create)(const char *path, int *file);
    int (*abort)(int file); /* closes without more writing */
    int (*def_dim)(int file, const char *name, size_t len, int *dim);
    int (*def_var)(int file, const char *name, int type, int n_dims, const int *dims, int *var);
    int (*def_deflate)(int file, int var, int shuffle, int deflate, int level);
    int (*put_att)(int file, int var, const char *name, int type, size_t len, const void *value);
    int (*put)(int file, int var, const size_t *start, const size_t *count, const void *from);

    /* units; NULL from units_open: the database of udunits is missing */
    void *(*units_open)(void);
    void (*units_close)(void *units); /* NULL is fine */
    ll_nc_unit (*units_parse)(void *units, const char *text);
} ll_nc_driver;

#endif
