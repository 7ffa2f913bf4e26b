#include "task/device.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

llap_status task_device(const char *device, const char *precision, const llap_backend **out)
{
    int of = 0;
    *out = &llap_backend_cpu;
    while (precision != NULL && llap_precision_names[of] != NULL &&
           strcmp(precision, llap_precision_names[of]) != 0)
        of++;
    if (llap_precision_names[of] == NULL)
        return llap_fail(LLAP_EOPTION, "precision: expected fp32, tf32 or bf16, found '%s'",
                         llap_text_show(precision).text);
    if (device == NULL) return LLAP_OK;
    const llap_backend *found = NULL;
    const llap_status   st = llap_device_find(device, (llap_precision)of, &found);
    if (found != NULL) *out = found;
    return st;
}
