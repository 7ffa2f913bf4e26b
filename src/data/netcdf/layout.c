#include "data/netcdf/layout.h"

#include "base/error.h"
#include "base/log.h"
#include "data/netcdf/time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- helpers -------------------------------------------------------------------------------- */

static llap_status att_is(ll_nc_file *f, const ll_nc_var *v, const char *att, const char *value,
                          bool *yes)
{
    const char       *text;
    const llap_status st = ll_nc_att_text(f, v, att, &text);
    *yes = text != NULL && strcasecmp(text, value) == 0;
    return st;
}

/* Whether the variable lies on just these dimensions, apart from others of length 1. b may be -1.
 */
static bool lies_on(const ll_nc_file *f, const ll_nc_var *v, int a, int b)
{
    int on_a = 0, on_b = 0;
    for (int i = 0; i < v->n_dims; i++) {
        if (v->dim[i] == a) on_a++;
        else if (v->dim[i] == b) on_b++;
        else if (f->dim[v->dim[i]].len != 1) return false;
    }
    return on_a == 1 && on_b == (b >= 0);
}

/* ---- what describes other variables --------------------------------------------------------- */

/* Marks the variables that a list of names, or of "key: name" pairs, mentions. */
static void mark_names(ll_nc_file *f, const char *list, bool bounds)
{
    while (*list != '\0') {
        while (isspace((unsigned char)*list)) list++;
        size_t n = 0;
        while (list[n] != '\0' && !isspace((unsigned char)list[n])) n++;
        for (int v = 0; n > 0 && v < f->n_vars; v++)
            if (strlen(f->var[v].name) == n && memcmp(f->var[v].name, list, n) == 0)
                f->var[v].part = true, f->var[v].bounds |= bounds;
        list += n;
    }
}

static llap_status mark_parts(ll_nc_file *f)
{
    static const char *const lists[] = { "bounds",        "climatology",
                                         "coordinates",   "ancillary_variables",
                                         "cell_measures", "grid_mapping",
                                         "formula_terms" };
    static const char *const own[] = { "cf_role", "sample_dimension", "instance_dimension" };
    for (int v = -1; v < f->n_vars; v++) {
        const ll_nc_var *var = v < 0 ? NULL : &f->var[v];
        const char      *text;
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
            const llap_status st = ll_nc_att_text(f, var, lists[k], &text);
            if (st != LLAP_OK) return st;
            if (text != NULL) mark_names(f, text, k < 2);
        }
        for (size_t k = 0; v >= 0 && k < sizeof own / sizeof *own; k++) {
            const llap_status st = ll_nc_att_text(f, var, own[k], &text);
            if (st != LLAP_OK) return st;
            if (text != NULL) f->var[v].part = true;
        }
        if (v >= 0 && ll_nc_is_coordinate(f, var)) f->var[v].part = true;
    }
    return LLAP_OK;
}

/* ---- time ----------------------------------------------------------------------------------- */

/* How much a variable looks like the time; 0: not at all. */
static llap_status time_score(ll_nc_file *f, const ll_nc_var *v, int *score)
{
    *score = 0;
    if (!ll_nc_is_numeric(v->type) || v->n_dims == 0 || v->bounds) return LLAP_OK;
    const char *units, *standard;
    bool        axis_t;
    llap_status st = ll_nc_att_text(f, v, "units", &units);
    if (st == LLAP_OK) st = ll_nc_att_text(f, v, "standard_name", &standard);
    if (st == LLAP_OK) st = att_is(f, v, "axis", "T", &axis_t);
    if (st != LLAP_OK) return st;
    const bool since = units != NULL && ll_nc_since(units) != NULL;
    const bool named = strcasecmp(v->name, "time") == 0;
    if (standard != NULL && strcmp(standard, "time") != 0) return LLAP_OK; /* another time */
    const bool is_time = standard != NULL;
    if (!since && !is_time && !axis_t && !named) return LLAP_OK;
    *score = 16 * is_time + 8 * since + 4 * axis_t + 2 * ll_nc_is_coordinate(f, v) + named;
    return LLAP_OK;
}

static llap_status find_time(ll_nc_layout *l, ll_nc_file *f)
{
    if (f->opts->time != NULL) {
        const int v = ll_nc_find_var(f, f->opts->time);
        if (v < 0)
            return ll_fail(LLAP_EINVAL, "%s: there is no time variable '%s'", f->path,
                           f->opts->time);
        l->time = &f->var[v];
        if (ll_nc_is_numeric(l->time->type)) return LLAP_OK;
        return ll_fail(LLAP_EFORMAT, "%s: time variable '%s' is not numeric", f->path,
                       l->time->name);
    }
    int              best = 0;
    const ll_nc_var *rival = NULL;
    for (int v = 0; v < f->n_vars; v++) {
        int               score;
        const llap_status st = time_score(f, &f->var[v], &score);
        if (st != LLAP_OK) return st;
        if (score == 0 || score < best) continue;
        rival = score == best ? l->time : NULL;
        l->time = &f->var[v];
        best = score;
    }
    if (l->time == NULL) {
        int n_groups = 0;
        if (f->n_vars == 0 && f->nc->inq_groups(f->id, &n_groups, NULL) == 0 && n_groups > 0)
            return ll_fail(LLAP_EUNSUPPORTED,
                           "%s: has groups only; expected variables in the root group", f->path);
        return ll_fail(LLAP_EFORMAT,
                       "%s: no time variable: expected units as 'hours since 2000-01-01', "
                       "standard_name time, or the name",
                       f->path);
    }
    if (rival != NULL)
        return ll_fail(LLAP_EFORMAT, "%s: both '%s' and '%s' may be the time: choose one", f->path,
                       rival->name, l->time->name);
    return LLAP_OK;
}

/* ---- stations ------------------------------------------------------------------------------- */

static bool names_stations(const ll_nc_var *v)
{
    return v->type == LL_NC_CHAR
               ? v->n_dims <= 2
               : v->n_dims <= 1 && (v->type == LL_NC_STRING || ll_nc_is_integer(v->type));
}

/* The dimension of the stations that this variable names; -1: a single one. */
static int named_dim(const ll_nc_var *v)
{
    return v->n_dims > (v->type == LL_NC_CHAR) ? v->dim[0] : -1;
}

/* The variable with cf_role; NULL when there is none. */
static llap_status find_role(ll_nc_file *f, const ll_nc_var **out)
{
    *out = NULL;
    for (int v = 0; v < f->n_vars; v++) {
        const char       *role;
        const llap_status st = ll_nc_att_text(f, &f->var[v], "cf_role", &role);
        if (st != LLAP_OK) return st;
        if (role == NULL ||
            (strcmp(role, "timeseries_id") != 0 && strcmp(role, "trajectory_id") != 0))
            continue;
        if (*out != NULL)
            return ll_fail(LLAP_EFORMAT, "%s: both '%s' and '%s' have a cf_role: choose one",
                           f->path, (*out)->name, f->var[v].name);
        if (!names_stations(&f->var[v]))
            return ll_fail(LLAP_EFORMAT, "%s: %s: expected one text or integer per station",
                           f->path, ll_nc_describe(f, &f->var[v]));
        *out = &f->var[v];
    }
    return LLAP_OK;
}

/* What the caller named, or the file. Sets l->name and l->stations where they are known by that. */
static llap_status find_names(ll_nc_layout *l, ll_nc_file *f)
{
    l->stations = -1;
    const char *asked = f->opts->station;
    if (asked == NULL) {
        const llap_status st = find_role(f, &l->name);
        if (st == LLAP_OK && l->name != NULL) l->stations = named_dim(l->name);
        return st;
    }
    const int v = ll_nc_find_var(f, asked), d = ll_nc_find_dim(f, asked);
    if (v >= 0 && names_stations(&f->var[v])) {
        l->name = &f->var[v];
        l->stations = named_dim(l->name);
        f->var[v].part = true;
    } else if (d >= 0) {
        l->stations = d;
    } else {
        return ll_fail(LLAP_EINVAL,
                       v >= 0 ? "%s: '%s' does not name stations: expected text or integers"
                              : "%s: there is no variable or dimension '%s' for the stations",
                       f->path, asked);
    }
    return LLAP_OK;
}

/* The names must be those of the stations that were found. */
static llap_status check_names(ll_nc_layout *l, ll_nc_file *f)
{
    const int named = l->name == NULL ? -1 : named_dim(l->name);
    if (l->kind == LL_NETCDF_SINGLE) {
        if (named >= 0 && f->dim[named].len != 1) l->name = NULL;
        return LLAP_OK;
    }
    if (named >= 0 && named != l->stations)
        return ll_fail(LLAP_EFORMAT, "%s: %s names stations, but '%s' counts them", f->path,
                       ll_nc_describe(f, l->name), f->dim[l->stations].name);
    if (named >= 0) return LLAP_OK;
    l->name = NULL; /* the name of a single one, if any */
    const int v = ll_nc_find_var(f, f->dim[l->stations].name);
    if (v >= 0 && ll_nc_is_coordinate(f, &f->var[v]) && names_stations(&f->var[v]))
        l->name = &f->var[v];
    return LLAP_OK;
}

/* ---- layouts -------------------------------------------------------------------------------- */

/* The variable on dimension `on` (-1: any) whose attribute names a dimension (value NULL: any). */
static llap_status find_by_att(ll_nc_file *f, const char *att, const char *value, int on,
                               const ll_nc_var **out)
{
    *out = NULL;
    for (int v = 0; v < f->n_vars && *out == NULL; v++) {
        const char       *text;
        const llap_status st = ll_nc_att_text(f, &f->var[v], att, &text);
        if (st != LLAP_OK) return st;
        if (text == NULL || (value != NULL && strcmp(text, value) != 0) ||
            (on >= 0 && !ll_nc_on_dim(&f->var[v], on)))
            continue;
        if (!ll_nc_is_integer(f->var[v].type) || f->var[v].n_dims != 1)
            return ll_fail(LLAP_EFORMAT, "%s: %s has %s: expected integers on one dimension",
                           f->path, ll_nc_describe(f, &f->var[v]), att);
        *out = &f->var[v];
    }
    return LLAP_OK;
}

/* A ragged array, if row_size or an index belongs to the dimension of time. */
static llap_status find_ragged(ll_nc_layout *l, ll_nc_file *f, bool *found)
{
    const ll_nc_var *row_size, *index = NULL;
    llap_status      st = find_by_att(f, "sample_dimension", f->dim[l->i_dim].name, -1, &row_size);
    if (st == LLAP_OK) st = find_by_att(f, "instance_dimension", NULL, l->i_dim, &index);
    *found = row_size != NULL || index != NULL;
    if (st != LLAP_OK || !*found) return st;
    int stations;
    if (row_size != NULL) {
        l->kind = LL_NETCDF_CONTIGUOUS;
        l->rows = row_size;
        stations = row_size->dim[0];
    } else {
        const char *name;
        l->kind = LL_NETCDF_INDEXED;
        l->rows = index;
        st = ll_nc_att_text(f, index, "instance_dimension", &name);
        if (st != LLAP_OK) return st;
        stations = ll_nc_find_dim(f, name);
        if (stations < 0)
            return ll_fail(LLAP_EFORMAT, "%s: %s: instance_dimension '%s' does not exist", f->path,
                           index->name, name);
    }
    l->stations = stations;
    return LLAP_OK;
}

static bool may_be_column(const ll_nc_layout *l, const ll_nc_var *v)
{
    return v != l->time && v != l->name && v != l->rows && ll_nc_is_numeric(v->type) && !v->part;
}

/* The only dimension beside the time's that is longer than 1; -1: none, -2: several. */
static int other_dim(const ll_nc_file *f, const ll_nc_layout *l, const ll_nc_var *v)
{
    int other = -1;
    for (int i = 0; i < v->n_dims; i++) {
        if (v->dim[i] == l->i_dim || f->dim[v->dim[i]].len == 1) continue;
        if (other != -1) return -2;
        other = v->dim[i];
    }
    return other;
}

/* How well a dimension may count stations: 2 its coordinates are texts, 1 integers or none at all,
 * 0 reals, which are heights, frequencies, ... */
static int station_likeness(const ll_nc_file *f, int dim)
{
    const int v = ll_nc_find_var(f, f->dim[dim].name);
    if (v < 0 || !ll_nc_is_coordinate(f, &f->var[v])) return 1;
    return ll_nc_is_text(f->var[v].type) ? 2 : ll_nc_is_integer(f->var[v].type);
}

/* Nothing says which dimension counts the stations: the one that most data variables are on, unless
 * even more are on time alone. */
static llap_status guess_stations(ll_nc_layout *l, ll_nc_file *f)
{
    int *n_on = ll_arena_new(&f->text, (size_t)f->n_dims, sizeof *n_on);
    if (n_on == NULL) return LLAP_ENOMEM;
    int alone = 0, best = -1, rival = -1;
    for (int v = 0; v < f->n_vars; v++) {
        if (!may_be_column(l, &f->var[v]) || !ll_nc_on_dim(&f->var[v], l->i_dim)) continue;
        const int other = other_dim(f, l, &f->var[v]);
        if (other == -1) alone++;
        if (other >= 0) n_on[other]++;
    }
    for (int d = 0; d < f->n_dims; d++) {
        const int like = station_likeness(f, d);
        if (n_on[d] == 0 || like == 0 || (like == 1 && n_on[d] < alone)) continue;
        const int order = best < 0                            ? 1
                          : like != station_likeness(f, best) ? like - station_likeness(f, best)
                                                              : n_on[d] - n_on[best];
        if (order >= 0) rival = order == 0 ? best : -1;
        if (order >= 0) best = d;
    }
    if (best < 0) return LLAP_OK;
    if (rival >= 0)
        return ll_fail(LLAP_EFORMAT,
                       "%s: cannot tell whether dimension '%s' or '%s' counts the stations: choose "
                       "one",
                       f->path, f->dim[rival].name, f->dim[best].name);
    l->kind = LL_NETCDF_GRID;
    l->j_dim = l->stations = best;
    return LLAP_OK;
}

/* time(t): stations have a dimension of their own, or there is but one. */
static llap_status find_grid(ll_nc_layout *l, ll_nc_file *f)
{
    l->kind = LL_NETCDF_SINGLE;
    if (l->stations < 0) return l->name != NULL ? LLAP_OK : guess_stations(l, f);
    for (int v = 0; v < f->n_vars; v++)
        if (lies_on(f, &f->var[v], l->i_dim, l->stations)) {
            l->kind = LL_NETCDF_GRID;
            l->j_dim = l->stations;
            return LLAP_OK;
        }
    return LLAP_OK;
}

/* time(station, obs) in either order. */
static void find_incomplete(ll_nc_layout *l, const int dims[2])
{
    const int stations = l->stations == dims[1] ? 1 : 0;
    l->kind = LL_NETCDF_INCOMPLETE;
    l->j_dim = l->stations = dims[stations];
    l->i_dim = dims[1 - stations];
}

static llap_status find_shape(ll_nc_layout *l, ll_nc_file *f)
{
    int dims[2] = { -1, -1 }, n = 0;
    for (int i = 0; i < l->time->n_dims; i++) {
        const int d = l->time->dim[i];
        if (l->time->n_dims > 2 && f->dim[d].len == 1 && d != l->stations) continue;
        if (n < 2) dims[n] = d;
        n++;
    }
    if (n == 0 || n > 2 || dims[0] == dims[1])
        return ll_fail(LLAP_EFORMAT,
                       "%s: %s: expected time on one dimension, or on two, station and observation",
                       f->path, ll_nc_describe(f, l->time));
    if (n == 2) {
        find_incomplete(l, dims);
        return LLAP_OK;
    }
    l->i_dim = dims[0];
    bool        ragged;
    llap_status st = find_ragged(l, f, &ragged);
    return st != LLAP_OK || ragged ? st : find_grid(l, f);
}

/* ---- columns -------------------------------------------------------------------------------- */

static bool same_dims(const ll_nc_var *a, const ll_nc_var *b)
{
    bool same = a->n_dims == b->n_dims;
    for (int i = 0; i < a->n_dims && same; i++) same = a->dim[i] == b->dim[i];
    return same;
}

/* The flags among v's ancillary variables that tell observed from filled. */
static llap_status find_filled(ll_nc_file *f, ll_nc_column *c)
{
    const char *list;
    llap_status st = ll_nc_att_text(f, c->var, "ancillary_variables", &list);
    for (int v = 0; st == LLAP_OK && list != NULL && v < f->n_vars; v++) {
        const char *at = strstr(list, f->var[v].name);
        if (at == NULL || !ll_nc_is_integer(f->var[v].type) || !same_dims(&f->var[v], c->var))
            continue;
        const size_t n = strlen(f->var[v].name);
        if ((at > list && !isspace((unsigned char)at[-1])) ||
            (at[n] != '\0' && !isspace((unsigned char)at[n])))
            continue;
        bool yes;
        st = att_is(f, &f->var[v], "flag_meanings", "observed filled", &yes);
        if (yes) c->filled = &f->var[v];
    }
    return st;
}

static llap_status add_column(ll_nc_layout *l, ll_nc_file *f, const ll_nc_var *v, const char *name)
{
    ll_nc_column *c = &l->column[l->n_columns];
    *c = (ll_nc_column){ .var = v, .name = name };
    llap_status st = LLAP_OK;
    if (name == NULL) st = ll_nc_att_text(f, v, "llapdiff_name", &c->name);
    if (c->name == NULL) c->name = v->name;
    for (int k = 0; k < l->n_columns && st == LLAP_OK; k++)
        if (strcmp(l->column[k].name, c->name) == 0)
            st = ll_fail(LLAP_EINVAL, "%s: two columns are named '%s'", f->path, c->name);
    if (st == LLAP_OK) st = find_filled(f, c);
    l->n_columns++;
    return st;
}

/* "new=old", unless the file has a variable of just that name. *v -1: there is none. */
static llap_status parse_choice(ll_nc_file *f, const char *choice, int *v, const char **name)
{
    const char *equals = strchr(choice, '=');
    *name = NULL;
    *v = ll_nc_find_var(f, choice);
    if (*v >= 0 || equals == NULL) return LLAP_OK;
    *v = ll_nc_find_var(f, equals + 1);
    *name = ll_arena_strndup(&f->text, choice, (size_t)(equals - choice));
    return *name == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status chosen_column(ll_nc_layout *l, ll_nc_file *f, const char *choice)
{
    int         v;
    const char *name;
    llap_status st = parse_choice(f, choice, &v, &name);
    if (st != LLAP_OK) return st;
    if (v < 0) return ll_fail(LLAP_EINVAL, "%s: there is no variable '%s'", f->path, choice);
    const ll_nc_var *var = &f->var[v];
    if (!ll_nc_is_numeric(var->type))
        return ll_fail(LLAP_EFORMAT, "%s: variable '%s' is not numeric", f->path, var->name);
    if (!lies_on(f, var, l->i_dim, l->j_dim))
        return ll_fail(LLAP_EFORMAT, "%s: %s: expected dimensions %s%s%s", f->path,
                       ll_nc_describe(f, var), f->dim[l->i_dim].name, l->j_dim >= 0 ? ", " : "",
                       l->j_dim >= 0 ? f->dim[l->j_dim].name : "");
    return add_column(l, f, var, name);
}

static llap_status every_column(ll_nc_layout *l, ll_nc_file *f)
{
    char   ignored[256] = "";
    size_t n = 0;
    for (int v = 0; v < f->n_vars; v++) {
        const ll_nc_var *var = &f->var[v];
        if (may_be_column(l, var) && lies_on(f, var, l->i_dim, l->j_dim)) {
            const llap_status st = add_column(l, f, var, NULL);
            if (st != LLAP_OK) return st;
        } else if (var != l->time && var != l->name && var != l->rows && !var->part) {
            f->counts->ignored_vars++;
            if (n < 200)
                n += (size_t)snprintf(ignored + n, sizeof ignored - n, "%s%.50s", n > 0 ? ", " : "",
                                      var->name);
        }
    }
    if (f->counts->ignored_vars > 0)
        ll_logf(f->opts->log, LLAP_LOG_WARNING,
                "%s: %lld variables ignored, which are not numeric or not on (%s%s%s): %s%s",
                f->path, (long long)f->counts->ignored_vars, f->dim[l->i_dim].name,
                l->j_dim >= 0 ? ", " : "", l->j_dim >= 0 ? f->dim[l->j_dim].name : "", ignored,
                n >= 200 ? ", ..." : "");
    return LLAP_OK;
}

static llap_status find_columns(ll_nc_layout *l, ll_nc_file *f)
{
    const char *const *choice = f->opts->columns;
    size_t             most = (size_t)f->n_vars;
    if (choice != NULL)
        for (most = 0; choice[most] != NULL;) most++;
    l->column = ll_arena_new(&f->text, most, sizeof *l->column);
    if (l->column == NULL) return LLAP_ENOMEM;
    if (choice == NULL) return every_column(l, f);
    llap_status st = LLAP_OK;
    for (size_t k = 0; k < most && st == LLAP_OK; k++) st = chosen_column(l, f, choice[k]);
    return st;
}

llap_status ll_nc_layout_find(ll_nc_layout *l, ll_nc_file *f)
{
    *l = (ll_nc_layout){ .i_dim = -1, .j_dim = -1, .stations = -1 };
    llap_status st = mark_parts(f);
    if (st == LLAP_OK) st = find_names(l, f);
    if (st == LLAP_OK) st = find_time(l, f);
    if (st == LLAP_OK) st = find_shape(l, f);
    if (st == LLAP_OK) st = check_names(l, f);
    if (st != LLAP_OK) return st;
    f->counts->layout = l->kind;
    return find_columns(l, f);
}
