/* Training's last part: AdamW and the average of the weights, all parameters in one pass. */
#include "backend/adamw.h"
#include "backend/cpu/glue.h"

#include <string.h>

static void advance(const ll_call *c, const ll_adamw_run *r, const ll_adamw_item *item, int n)
{
    const ll_kern  kn = ll_kern_best(c->n_threads);
    const ll_adamw o = { .lr = cpu_in(c, 5)[0],
                         .weight_decay = c->attr->adamw.weight_decay,
                         .beta1 = c->attr->adamw.beta1,
                         .beta2 = c->attr->adamw.beta2,
                         .eps = c->attr->adamw.eps,
                         .keep = r->keep,
                         .move = r->move,
                         .clip = cpu_in(c, 4)[0],
                         .step = ((const int32_t *)c->in[6].data)[0] };
    ll_kern_adamw(&kn, &o, item, n);
}

int ll_cpu_several(const ll_call *c, int n)
{
    enum { MOST = 512 };
    ll_adamw_run  run = { 0 };
    ll_adamw_item item[MOST];
    int           found = 0, done = 0;
    for (int took = 1; took > 0 && found < MOST; done += took) {
        took = ll_adamw_next(&run, &c[done], n - done, &item[found]);
        found += took > 0;
    }
    if (found > 0) advance(c, &run, item, found);
    return done;
}

/* One that is not in place: first copied. */
void ll_cpu_adamw(const ll_call *c)
{
    const int64_t       n = cpu_count(&c->in[0]);
    const ll_adamw_item item = {
        .p = cpu_out(c, 0), .m = cpu_out(c, 1), .v = cpu_out(c, 2), .grad = cpu_in(c, 3), .count = n
    };
    for (int i = 0; i < 3; i++)
        if (cpu_out(c, i) != cpu_in(c, i))
            memcpy(cpu_out(c, i), cpu_in(c, i), (size_t)n * sizeof(float));
    advance(c, &(ll_adamw_run){ 0 }, &item, 1);
}
