#include "task/forecaster.h"

#include "base/rng.h"

#include <string.h>

uint64_t task_window_id(const llap_panel *p, int64_t entity, int64_t origin)
{
    const char *name = p->entity[entity];
    return llap_hash(llap_hash(0, &origin, sizeof origin), name, strlen(name));
}

void task_forecaster_deinit(task_forecaster *f)
{
    if (f->destroy != NULL) f->destroy(f->self);
    *f = (task_forecaster){ 0 };
}
