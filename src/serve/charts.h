/* What charts are drawn of, as JSON. Times are numbers that scripts can use: milliseconds since
 * 1970, or the numbers of the data. */
#ifndef LL_SERVE_CHARTS_H
#define LL_SERVE_CHARTS_H

#include "base/json/json.h"
#include "serve/decimate.h"
#include "serve/sets.h"

double ll_charts_time(const ll_axis *a, int64_t t);
void   ll_charts_put_time(ll_json_writer *w, const char *key, const ll_axis *a, int64_t t);
void   ll_charts_put_axis(ll_json_writer *w, const ll_axis *a);
/* With the seven digits of single precision; null where it is not finite. */
void ll_charts_put_number(ll_json_writer *w, double v);
/* The parameter of that name, where there is one; else *t stays. */
llap_status ll_charts_read_time(const ll_request *r, const char *name, const ll_axis *a,
                                int64_t *t);
llap_status ll_charts_read_points(const ll_request *r, int64_t *points);
/* Times, means and, of stretches and with a band, least and greatest values; ends d. */
void ll_charts_put_points(ll_json_writer *w, const char *key, const ll_axis *a, ll_decimated *d,
                          bool band);
/* The entity as a list of names with * and ?; NULL, all, where it would be read as another. */
const char *ll_charts_only(const char *entity);
/* Ends the text; it is the answer where st says so. */
llap_status ll_charts_reply(ll_request *r, ll_json_writer *w, llap_status st);

#endif
