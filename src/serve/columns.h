/* An answer by columns, those of its CSV, as Arrow streams and tensors have them. */
#ifndef LL_SERVE_COLUMNS_H
#define LL_SERVE_COLUMNS_H

#include "data/arrow_ipc/arrow_ipc.h"
#include "serve/request.h"

#include <llapdiff/answer.h>

typedef struct ll_table_columns {
    ll_ipc_column *column; /* [n] they borrow the answer, and are the request's */
    size_t         n;
    int64_t        n_rows;
} ll_table_columns;

/* A column of times; of a file's numbers: ticks through their unit. */
llap_status   ll_columns_time(ll_request *r, const llap_time_axis *axis, const char *name,
                              const int64_t *time, int64_t n, ll_ipc_column *out);
ll_ipc_column ll_columns_words(const char *name, const int32_t *place, const char *const *text,
                               int64_t n_texts);
llap_status   ll_columns_of(ll_request *r, const llap_answer *a, ll_table_columns *out);

/* As a stream of Arrow. */
llap_status ll_reply_arrow(ll_request *r, const llap_answer *a);
/* The answer to an inference: its columns as tensors. */
llap_status ll_reply_tensors(ll_request *r, const llap_answer *a);

#endif
