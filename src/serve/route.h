/* From a request to its route, and whether its client may go there. */
#ifndef LL_SERVE_ROUTE_H
#define LL_SERVE_ROUTE_H

#include "serve/request.h"

/* Sets route and name, or a reply that says why there is none. */
void ll_route_find(ll_request *r);
/* Sets a reply where the client may not; else r->who. The headers may be NULL. */
void ll_access_check(ll_request *r, const char *authorization, const char *host,
                     const char *origin);
bool ll_route_takes(const ll_request *r);
/* "application/json, text/csv", the request's. */
const char *ll_route_gives(ll_request *r);

#endif
