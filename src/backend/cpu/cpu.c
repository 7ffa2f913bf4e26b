#include "backend/cpu/cpu.h"

#include "backend/cpu/glue.h"

static size_t work_bytes(const llap_call *c)
{
    switch (c->op) {
    case LLAP_OP_SUM:
        return llap_cpu_sum_work(c);
    default:
        return 0;
    }
}

const llap_backend llap_backend_cpu = {
    .name = "cpu",
    .real_bytes = sizeof(float),
    .work_bytes = work_bytes,
    .kernel = {
#define X(ID, id) [LLAP_OP_##ID] = llap_cpu_unary,
        LLAP_UNARY_LIST(X)
#undef X
#define X(ID, id) [LLAP_OP_##ID] = llap_cpu_binary,
        LLAP_BINARY_LIST(X)
#undef X
#define X(ID, id) [LLAP_OP_##ID] = llap_cpu_##id,
        LLAP_SHAPED_LIST(X)
#undef X
    },
};
