/* The joint law in a model file, the format of model.h. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/model_parts.h"

#include <math.h>
#include <string.h>

static const char correlation_name[] = LL_JOINT_TENSORS "correlation";
static const char loading_name[] = LL_JOINT_TENSORS "loading";

llap_status ll_joint_save(const ll_joint *j, ll_tensors_writer *w)
{
    if (j == NULL) return LLAP_OK;
    const bool    dense = j->rank == 0;
    const int64_t shape[2] = { (int64_t)j->n, (int64_t)(dense ? j->n : j->rank) };
    return ll_tensors_writer_add(w, dense ? correlation_name : loading_name, LL_F64, 2, shape,
                                 dense ? j->correlation : j->loading);
}

llap_status ll_joint_load(const ll_tensors *t, llap_model *m)
{
    ll_tensor_info info;
    const bool     dense = ll_tensors_find(t, correlation_name, &info);
    const char    *name = dense ? correlation_name : loading_name;
    const int64_t  n = (int64_t)ll_model_joint_series(&m->frame);
    if (!dense && !ll_tensors_find(t, loading_name, &info)) return LLAP_OK;
    if (m->frame.by_entity && (!dense || n > LL_JOINT_DENSE))
        return ll_fail(LLAP_EFORMAT, "%s: expected correlations of at most %d targets", name,
                       LL_JOINT_DENSE);
    llap_status st =
        ll_tensors_require(t, name, LL_F64, 2, (int64_t[]){ n, dense ? n : -1 }, &info);
    if (st != LLAP_OK) return st;
    const double *v = info.data;
    for (int64_t i = 0; i < info.n_elements; i++)
        if (!isfinite(v[i]))
            return ll_fail(LLAP_EFORMAT, "%s: element %lld is not a finite number", name,
                           (long long)i);
    double *own = ll_new((size_t)info.n_elements, sizeof *own);
    if (own == NULL) return LLAP_ENOMEM;
    if (info.n_bytes > 0) memcpy(own, v, info.n_bytes);
    if (!dense && info.shape[1] == 0) { /* 0 factors would mean all correlations */
        ll_free(own);
        return ll_fail(LLAP_EFORMAT, "%s: has no factor", name);
    }
    st = ll_joint_create((size_t)n, dense ? 0 : (size_t)info.shape[1], own, &m->joint);
    return st == LLAP_EFORMAT ? ll_fail_in(st, "%s", name) : st;
}
