/* Addresses of databases, and what to ask them.
 *
 *     sqlite:FILE                     with or without one of these behind it:
 *     postgresql://[user[:password]@][host][:port][/database][?option=value&...]
 *
 *     ?query=SELECT ...               percent-encoded: % is %25, & is %26, ? of a file %3F
 *     ?table=NAME                     all of it; "schema.name" too
 *
 * Other options of postgresql (sslmode=require ...) are libpq's. */
#ifndef LL_BASE_SQL_URL_H
#define LL_BASE_SQL_URL_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ll_sql_url {
    bool  sqlite; /* else PostgreSQL */
    char *target; /* the file; what libpq connects to */
    char *query;  /* what was asked for; NULL: nothing */
    char *name;   /* "sqlite:air.db", "postgresql://host/database": no user, no password */
    char *asked;  /* the same with the query behind it, cut to a line; for messages */
} ll_sql_url;

/* Whether it is one of these, by how it begins. */
bool ll_sql_is_url(const char *text);

/* Caller owns *u, also after a failure. LLAP_EINVAL: neither form, both query and table, an option
 * that SQLite has not, a percent sign that encodes nothing. */
llap_status ll_sql_url_init(ll_sql_url *u, const char *text);
/* The same of a file of SQLite by its path alone, in which nothing is encoded. */
llap_status ll_sql_url_file(ll_sql_url *u, const char *path);
void        ll_sql_url_deinit(ll_sql_url *u); /* { 0 } is fine */

#endif
