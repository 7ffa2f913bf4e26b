#include "serve/columns.h"

#include "base/text.h"
#include "predict/tables/answer.h"

llap_status ll_columns_time(ll_request *r, const llap_time_axis *axis, const char *name,
                            const int64_t *time, int64_t n, ll_ipc_column *out)
{
    *out = (ll_ipc_column){
        .name = name, .kind = LL_IPC_INSTANT, .zone = axis->zone, .cell = time, .stride = 1
    };
    if (axis->kind != LLAP_TIME_NUMBER) return LLAP_OK;
    double *number = ll_arena_new(&r->arena, (size_t)n, sizeof *number);
    if (number == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) number[i] = (double)time[i] / (double)axis->unit_ns;
    out->kind = LL_IPC_NUMBER;
    out->cell = number;
    return LLAP_OK;
}

ll_ipc_column ll_columns_words(const char *name, const int32_t *place, const char *const *text,
                               int64_t n_texts)
{
    return (ll_ipc_column){ .name = name,
                            .kind = LL_IPC_WORD,
                            .cell = place,
                            .stride = 1,
                            .text = text,
                            .n_texts = n_texts };
}

static llap_status put_numbers(ll_request *r, const llap_answer_columns *v, ll_table_columns *out)
{
    for (int64_t k = 0; k < v->n_numbers; k++) {
        char        digits[LL_DOUBLE_TEXT];
        const char *name = v->is_samples ? "value" : "mean";
        if (k > 0) {
            ll_text_double(v->quantiles[k - 1], digits);
            name = ll_arena_printf(&r->arena, "q%s", digits);
            if (name == NULL) return LLAP_ENOMEM;
        }
        out->column[out->n++] = (ll_ipc_column){ .name = name,
                                                 .kind = LL_IPC_NUMBER,
                                                 .cell = v->number + k,
                                                 .stride = (size_t)v->n_numbers };
    }
    return LLAP_OK;
}

/* Whether the mean, or the draw, lies outside the range of training; null: that is not known. */
static llap_status put_outside(ll_request *r, const llap_answer *a, ll_table_columns *out)
{
    if (a->low == NULL) return LLAP_OK;
    uint8_t *flag = ll_arena_new(&r->arena, a->n_rows, sizeof *flag);
    if (flag == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < a->n_rows; i++) {
        const double x = a->number[i * (size_t)a->n_numbers];
        double       low, high;
        if (!ll_answer_range(a, i, &low, &high)) flag[i] = 2;
        else flag[i] = x < low || x > high;
    }
    out->column[out->n++] =
        (ll_ipc_column){ .name = "outside", .kind = LL_IPC_FLAG, .cell = flag, .stride = 1 };
    return LLAP_OK;
}

llap_status ll_columns_of(ll_request *r, const llap_answer *a, ll_table_columns *out)
{
    enum { BESIDE = 6 }; /* columns that are no numbers, at most */
    const llap_answer_columns *v = llap_answer_view(a);
    *out = (ll_table_columns){ .n_rows = v->n_rows };
    out->column = ll_arena_new(&r->arena, BESIDE + (size_t)v->n_numbers, sizeof *out->column);
    if (out->column == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    out->column[out->n++] = ll_columns_words("entity", v->entity, v->entities, v->n_entities);
    if (v->is_backtest)
        st = ll_columns_time(r, &v->axis, "origin", v->origin, v->n_rows, &out->column[out->n++]);
    if (st == LLAP_OK)
        st = ll_columns_time(r, &v->axis, "time", v->time, v->n_rows, &out->column[out->n++]);
    out->column[out->n++] = ll_columns_words("variable", v->variable, v->variables, v->n_variables);
    if (v->is_imputation)
        out->column[out->n++] = (ll_ipc_column){
            .name = "observed", .kind = LL_IPC_FLAG, .cell = v->observed, .stride = 1
        };
    if (v->is_samples)
        out->column[out->n++] = (ll_ipc_column){
            .name = "sample", .kind = LL_IPC_SMALL, .cell = v->sample, .stride = 1
        };
    if (st == LLAP_OK) st = put_numbers(r, v, out);
    return st == LLAP_OK ? put_outside(r, a, out) : st;
}

llap_status ll_reply_arrow(ll_request *r, const llap_answer *a)
{
    ll_table_columns all;
    char            *bytes = NULL;
    size_t           n = 0;
    llap_status      st = ll_columns_of(r, a, &all);
    if (st == LLAP_OK) st = ll_ipc_write(all.column, all.n, all.n_rows, &bytes, &n);
    if (st == LLAP_OK) ll_reply_take(r, 200, LL_TYPE_ARROW, bytes, n);
    return st;
}
