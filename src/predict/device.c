#include "predict/device.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

llap_status ll_backend_choose(const char *device, const char *precision, const ll_backend **out)
{
    int of = 0;
    *out = &ll_backend_cpu;
    while (precision != NULL && ll_precision_names[of] != NULL &&
           strcmp(precision, ll_precision_names[of]) != 0)
        of++;
    if (ll_precision_names[of] == NULL)
        return ll_fail(LLAP_EOPTION, "precision: expected fp32, tf32 or bf16, found '%s'",
                       ll_text_show(precision).text);
    if (device == NULL) return LLAP_OK;
    const ll_backend *found = NULL;
    const llap_status st = ll_device_find(device, (ll_precision)of, &found);
    if (found != NULL) *out = found;
    return st;
}
