/* Addresses of databases, and what to ask them.
 *
 *     sqlite:FILE                     with or without one of these behind it:
 *     postgresql://[user[:password]@][host][:port][/database][?option=value&...]
 *
 *     ?query=SELECT ...               percent-encoded: % is %25, & is %26, ? of a file %3F
 *     ?table=NAME                     all of it; "schema.name" too
 *     ?stream=NAME                    the readings of a stream, of a store's database
 *
 * Other options of postgresql (sslmode=require ...) are libpq's. In a user or password @ is %40,
 * / %2F, ? %3F and : %3A. */
#ifndef LL_BASE_SQL_URL_H
#define LL_BASE_SQL_URL_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ll_sql_url {
    bool  sqlite; /* else PostgreSQL */
    char *target; /* the file; what libpq connects to */
    char *query;  /* what was asked for; NULL: nothing */
    char *stream; /* likewise; one of both at most */
    char *name;   /* "sqlite:air.db", "postgresql://host/database": no user, no password */
    char *asked;  /* the same with the query or stream behind it, cut to a line; for messages */
} ll_sql_url;

/* Whether it is one of these, by how it begins. */
bool ll_sql_is_url(const char *text);

/* Caller owns *u, also after a failure. LLAP_EINVAL: neither form, two of query, table and
 * stream, an option that SQLite has not, a percent sign that encodes nothing, a user or password
 * that libpq would take for something else, and show. */
llap_status ll_sql_url_init(ll_sql_url *u, const char *text);
/* The same of a file of SQLite by its path alone, in which nothing is encoded. */
llap_status ll_sql_url_file(ll_sql_url *u, const char *path);
void        ll_sql_url_deinit(ll_sql_url *u); /* { 0 } is fine */

#endif
