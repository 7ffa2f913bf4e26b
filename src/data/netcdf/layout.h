/* Finds what a NetCDF file is: its time variable, how rows and stations are laid out, which
 * variables are columns. Not for other folders.
 *
 * All layouts are seen as elements (i, j): i along the time or observation dimension, j along the
 * stations where they have a dimension of their own in the data. */
#ifndef LL_DATA_NETCDF_LAYOUT_H
#define LL_DATA_NETCDF_LAYOUT_H

#include "data/netcdf/file.h"

typedef struct ll_nc_column {
    const ll_nc_var *var;
    const ll_nc_var *filled; /* its flags "observed filled", NULL without */
    const char      *name;   /* in the panel */
} ll_nc_column;

typedef struct ll_nc_layout {
    ll_netcdf_layout kind;
    const ll_nc_var *time;
    int              i_dim;    /* of times or observations */
    int              j_dim;    /* of stations in the data variables; -1: none */
    int              stations; /* dimension that counts the stations; -1: one station */
    const ll_nc_var *name;     /* text or integers that name the stations; NULL: none */
    const ll_nc_var *rows;     /* row_size, or index of the station; NULL: neither */
    ll_nc_column    *column;   /* borrowed from the file */
    int              n_columns;
} ll_nc_layout;

llap_status ll_nc_layout_find(ll_nc_layout *l, ll_nc_file *f);

#endif
