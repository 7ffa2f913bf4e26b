/* Data that a server holds in memory by a name, so that charts of it and training need not send it
 * again: "data sets" of the routes under /v1/data. They are gone with the process. */
#ifndef LL_SERVE_SETS_H
#define LL_SERVE_SETS_H

#include "data/panel.h"
#include "serve/request.h"

/* Shared by the requests and jobs that use it: it lasts until the last of them lets go. */
typedef struct ll_set {
    char            name[LL_NAME_MAX + 1];
    llap_panel     *panel;
    size_t          n_bytes;
    struct ll_sets *of;    /* whose n_bytes has its bytes until it is gone; NULL: not yet any's */
    char           *about; /* what it is like, JSON */
    atomic_int      holders;
    int64_t         usual_gap; /* between rows, ticks; 0: unknown */

    pthread_mutex_t filling;   /* of the gaps that were filled last, for the next part of a chart */
    uint64_t        filled_by; /* the model's hash */
    char           *filled_entity;
    llap_answer    *filled; /* NULL: none yet */
} ll_set;

enum { LL_SETS_MAX = 64 };

struct ll_sets {
    pthread_mutex_t lock;
    ll_set         *set[LL_SETS_MAX];
    size_t          n;
    int64_t         n_bytes; /* of these, and of those that were replaced and are still used */
};

llap_status ll_sets_start(llap_server *s);
void        ll_sets_stop(llap_server *s); /* NULL sets are fine */

ll_set *ll_sets_get(llap_server *s, const char *name); /* NULL: none; ll_set_release */
void    ll_set_release(ll_set *k);                     /* NULL is fine */

/* The set and the model that a request names by its parameters or path; LLAP_ENOTFOUND: there is
 * none. Caller releases both. */
llap_status ll_set_of(const ll_request *r, const char *name, ll_set **out);
llap_status ll_model_for(const ll_request *r, const char *name, ll_served **out);
/* Words of the set have the codes that the model knows. */
llap_status ll_set_check_words(const ll_set *k, const llap_model *m);

llap_status ll_answer_inspect(ll_request *r);
llap_status ll_answer_put_set(ll_request *r);
llap_status ll_answer_sets(ll_request *r);
llap_status ll_answer_set(ll_request *r);
llap_status ll_answer_delete_set(ll_request *r);
/* charts.c */
llap_status ll_answer_coverage(ll_request *r);
llap_status ll_answer_set_chart(ll_request *r);
llap_status ll_answer_set_fan(ll_request *r);
llap_status ll_answer_stream_chart(ll_request *r);
llap_status ll_answer_stream_fan(ll_request *r);

#endif
