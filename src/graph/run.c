/* One caller's run of a plan: its memory, its bindings, its loop over the steps. */
#include "base/alloc.h"
#include "base/error.h"
#include "graph/planner.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

typedef struct bound_view { /* an operand that lies in the caller's memory */
    llap_view *view;
    int        slot;
    size_t     offset;
} bound_view;

struct llap_run {
    llap_plan     *plan; /* shared */
    unsigned char *workspace;
    llap_view     *view; /* of all steps, one after the other */
    llap_call     *call;
    bound_view    *bound;
    int            n_bound;
    void         **slot; /* what the caller bound */
};

void llap_run_destroy(llap_run *r)
{
    if (r == NULL) return;
    llap_plan_release(r->plan);
    llap_free(r->workspace);
    llap_free(r->view);
    llap_free(r->call);
    llap_free(r->bound);
    llap_free(r->slot);
    llap_free(r);
}

static void prepare_step(llap_run *r, const llap_plan_step *s, llap_call *c, llap_view *view)
{
    *c = (llap_call){ .op = s->op,
                      .attr = &s->attr,
                      .in = view,
                      .out = view + s->n_in,
                      .n_in = s->n_in,
                      .n_out = s->n_out,
                      .work = r->workspace + s->work_offset,
                      .n_threads = r->plan->n_threads };
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        const llap_place *at = &s->place[k];
        view[k] = at->view;
        if (!at->view.present) continue;
        if (at->slot >= 0) r->bound[r->n_bound++] = (bound_view){ &view[k], at->slot, at->offset };
        else view[k].data = (at->constant ? r->plan->constants : r->workspace) + at->offset;
    }
}

llap_status llap_run_create(llap_plan *p, llap_run **out)
{
    *out = NULL;
    llap_run *r = llap_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    r->plan = p;
    llap_plan_retain(p);
    r->workspace = llap_new_aligned(p->workspace, 1);
    r->view = llap_new((size_t)p->n_places, sizeof *r->view);
    r->call = llap_new((size_t)p->n_steps, sizeof *r->call);
    r->bound = llap_new((size_t)p->n_places, sizeof *r->bound);
    r->slot = llap_new((size_t)p->n_slots, sizeof *r->slot);
    if (r->workspace == NULL || r->view == NULL || r->call == NULL || r->bound == NULL ||
        r->slot == NULL) {
        llap_run_destroy(r);
        return LLAP_ENOMEM;
    }
    llap_view *view = r->view;
    for (int i = 0; i < p->n_steps; i++) {
        prepare_step(r, &p->step[i], &r->call[i], view);
        view += p->step[i].n_in + p->step[i].n_out;
    }
    *out = r;
    return LLAP_OK;
}

llap_status llap_run_bind(llap_run *r, const char *name, void *data, int64_t count)
{
    for (int i = 0; i < r->plan->n_slots; i++) {
        const llap_slot *s = &r->plan->slot[i];
        if (strcmp(s->name, name) != 0) continue;
        if (llap_shape_count(&s->shape) != count) {
            char text[LLAP_SHAPE_TEXT];
            return llap_fail(LLAP_EINVAL, "'%s': expected %s, found %" PRId64 " elements", name,
                             llap_shape_text(&s->shape, text), count);
        }
        r->slot[i] = data;
        return LLAP_OK;
    }
    return llap_fail(LLAP_ENOTFOUND, "'%s': the plan has no such input", name);
}

/* Hands the caller's arrays to the steps. */
static llap_status bind_all(llap_run *r)
{
    for (int i = 0; i < r->plan->n_slots; i++)
        if (r->slot[i] == NULL && llap_shape_count(&r->plan->slot[i].shape) > 0)
            return llap_fail(LLAP_EINVAL, "'%s' is not bound", r->plan->slot[i].name);
    for (int i = 0; i < r->n_bound; i++) {
        const bound_view *b = &r->bound[i];
        b->view->data = r->slot[b->slot] == NULL ? NULL : (char *)r->slot[b->slot] + b->offset;
    }
    return LLAP_OK;
}

llap_status llap_run_exec(llap_run *r)
{
    const llap_status st = bind_all(r);
    for (int i = 0; i < r->plan->n_steps && st == LLAP_OK; i++) r->plan->step[i].fn(&r->call[i]);
    return st;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

llap_status llap_run_exec_timed(llap_run *r, double *seconds)
{
    const llap_status st = bind_all(r);
    for (int i = 0; i < r->plan->n_steps && st == LLAP_OK; i++) {
        const double start = now();
        r->plan->step[i].fn(&r->call[i]);
        seconds[i] += now() - start;
    }
    return st;
}

const void *llap_run_output(const llap_run *r, const char *name, llap_shape *shape)
{
    for (int i = 0; i < r->plan->n_results; i++) {
        const llap_result *o = &r->plan->result[i];
        if (strcmp(o->name, name) != 0) continue;
        if (shape != NULL) *shape = o->shape;
        return r->workspace + o->offset;
    }
    return NULL;
}
