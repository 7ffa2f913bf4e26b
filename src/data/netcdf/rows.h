/* Where each element of a NetCDF file goes in the panel. Not for other folders.
 *
 * Element (i, j) of the data variables (layout.h) belongs to panel row
 *     ll_nc_row(p, i, j) = base[j] + position[i + j * stride],      none when position is -1
 * Times and stations are read, ordered and merged here; the values come later, slab by slab. */
#ifndef LL_DATA_NETCDF_ROWS_H
#define LL_DATA_NETCDF_ROWS_H

#include "data/netcdf/layout.h"
#include "data/netcdf/time.h"

typedef struct ll_nc_rows {
    ll_nc_clock  clock;
    int64_t      n_stations, n_i, n_j;
    const char **entity;  /* [n_stations], in byte order; borrowed from the file */
    int64_t     *station; /* [n_stations], the station in the file that each of them is */
    int64_t     *start;   /* [n_stations + 1] */
    int64_t     *time;    /* [n_times] behind one another; a grid has them once */
    int64_t      n_times;
    int64_t     *base;     /* [n_j] */
    int64_t     *position; /* [n_i], or [n_i,n_j] with j slowest */
    int64_t      stride;
} ll_nc_rows;

/* deinit is due also after a failure. */
llap_status ll_nc_rows_init(ll_nc_rows *r, ll_nc_file *f, const ll_nc_layout *l);
void        ll_nc_rows_deinit(ll_nc_rows *r);

static inline int64_t ll_nc_row(const ll_nc_rows *r, int64_t i, int64_t j)
{
    const int64_t p = r->position[i + j * r->stride];
    return p < 0 ? -1 : r->base[j] + p;
}

/* Reads n elements of a variable into `to`; start and count along i and j (layout.h); other
 * dimensions have length 1. The order in `to` is the file's. */
llap_status ll_nc_read_box(ll_nc_file *f, const ll_nc_layout *l, const ll_nc_var *v,
                           const int64_t start[2], const int64_t count[2], void *to);
/* Whether j runs faster than i in the file. */
bool ll_nc_j_is_inner(const ll_nc_layout *l, const ll_nc_var *v);

/* The names of the stations in the order of the file, n of them; borrowed from the file
 * (names.c). */
llap_status ll_nc_station_names(ll_nc_file *f, const ll_nc_layout *l, int64_t n, const char **name);

#endif
