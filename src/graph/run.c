/* One caller's run of a plan: its memory, its bindings, its loop over the steps. */
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "graph/planner.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

typedef struct bound_view { /* an operand that lies in a slot */
    ll_view *view;
    int      slot;
    size_t   offset;
} bound_view;

typedef struct binding { /* of one slot */
    void *host; /* of the caller, copied around every exec; NULL: device_data is the caller's */
    void *device_data; /* what kernels see */
    void *own;         /* device memory of the run, made when a host's is bound; or NULL */
    bool  written;     /* by a step */
} binding;

struct ll_run {
    ll_plan       *plan; /* shared */
    unsigned char *workspace;
    ll_view       *view; /* of all steps, one after the other */
    ll_call       *call;
    unsigned char *room; /* of what steps keep */
    ll_kept       *kept; /* [n_steps] */
    bound_view    *bound;
    int            n_bound;
    binding       *slot;
    void         **fetched;   /* by result: a copy in the caller's memory, or NULL */
    bool           moved;     /* something was bound since the last exec */
    int            n_same;    /* execs since */
    void          *recording; /* of all steps, or NULL */
    bool           no_room;   /* for one */
    llap_status    aside;     /* what went wrong with steps aside */
};

static bool apart(const ll_run *r) { return r->plan->backend->memory != NULL; }

static void forget(ll_run *r)
{
    if (r->recording != NULL) r->plan->backend->memory->forget(r->recording);
    r->recording = NULL;
    r->n_same = 0;
}

void ll_run_destroy(ll_run *r)
{
    if (r == NULL) return;
    const ll_backend *b = r->plan->backend;
    forget(r);
    ll_device_release(b, r->workspace);
    ll_device_release(b, r->room);
    for (int i = 0; r->slot != NULL && i < r->plan->n_slots; i++)
        ll_device_release(b, r->slot[i].own);
    for (int i = 0; r->fetched != NULL && i < r->plan->n_results; i++) ll_free(r->fetched[i]);
    ll_plan_release(r->plan);
    ll_free(r->view);
    ll_free(r->call);
    ll_free(r->kept);
    ll_free(r->bound);
    ll_free(r->slot);
    ll_free(r->fetched);
    ll_free(r);
}

static void prepare_step(ll_run *r, const ll_plan_step *s, ll_call *c, ll_view *view)
{
    *c = (ll_call){ .op = s->op,
                    .attr = &s->attr,
                    .in = view,
                    .out = view + s->n_in,
                    .n_in = s->n_in,
                    .n_out = s->n_out,
                    .work = r->workspace + s->work_offset,
                    .n_threads = r->plan->n_threads };
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        const ll_place *at = &s->place[k];
        view[k] = at->view;
        if (!at->view.present) continue;
        if (at->slot >= 0) {
            assert(at->slot < r->plan->n_slots && r->n_bound < r->plan->n_places);
            r->bound[r->n_bound++] = (bound_view){ &view[k], at->slot, at->offset };
            if (k >= s->n_in) r->slot[at->slot].written = true;
        } else {
            view[k].data = (at->constant ? r->plan->constants : r->workspace) + at->offset;
        }
    }
}

static llap_status allocate(ll_run *r)
{
    const ll_plan *p = r->plan;
    void          *workspace = NULL, *room = NULL;
    r->view = ll_new((size_t)p->n_places, sizeof *r->view);
    r->call = ll_new((size_t)p->n_steps, sizeof *r->call);
    r->kept = ll_new((size_t)p->n_steps, sizeof *r->kept);
    r->bound = ll_new((size_t)p->n_places, sizeof *r->bound);
    r->slot = ll_new((size_t)p->n_slots, sizeof *r->slot);
    r->fetched = ll_new((size_t)p->n_results, sizeof *r->fetched);
    if (r->view == NULL || r->call == NULL || r->bound == NULL || r->slot == NULL ||
        r->fetched == NULL || r->kept == NULL)
        return LLAP_ENOMEM;
    llap_status st = ll_device_alloc(p->backend, p->workspace, &workspace);
    r->workspace = workspace;
    if (st == LLAP_OK && p->kept > 0) st = ll_device_alloc(p->backend, p->kept, &room);
    r->room = room;
    return st;
}

llap_status ll_run_create(ll_plan *p, ll_run **out)
{
    *out = NULL;
    ll_run *r = ll_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    r->plan = p;
    ll_plan_retain(p);
    const llap_status st = allocate(r);
    if (st != LLAP_OK) {
        ll_run_destroy(r);
        return st;
    }
    ll_view       *view = r->view;
    unsigned char *room = r->room;
    for (int i = 0; i < p->n_steps; i++) {
        prepare_step(r, &p->step[i], &r->call[i], view);
        if (p->step[i].kept_bytes > 0) {
            r->kept[i].data = room;
            r->call[i].kept = &r->kept[i];
            room += p->step[i].kept_bytes;
        }
        view += p->step[i].n_in + p->step[i].n_out;
    }
    assert(view - r->view == p->n_places && (size_t)(room - r->room) == p->kept);
    *out = r;
    return LLAP_OK;
}

static size_t slot_bytes(const ll_run *r, int i)
{
    const ll_slot *s = &r->plan->slot[i];
    return (size_t)ll_shape_count(&s->shape) * (s->elem == LL_INT ? sizeof(int32_t)
                                                : s->elem == LL_HALF
                                                    ? 2
                                                    : r->plan->backend->real_bytes);
}

/* The slot of that name for count elements. */
static llap_status find_slot(const ll_run *r, const char *name, int64_t count, int *out)
{
    for (int i = 0; i < r->plan->n_slots; i++) {
        const ll_slot *s = &r->plan->slot[i];
        if (strcmp(s->name, name) != 0) continue;
        *out = i;
        if (ll_shape_count(&s->shape) == count) return LLAP_OK;
        char text[LL_SHAPE_TEXT];
        return ll_fail(LLAP_EINVAL, "'%s': expected %s, found %" PRId64 " elements", name,
                       ll_shape_text(&s->shape, text), count);
    }
    return ll_fail(LLAP_ENOTFOUND, "'%s': the plan has no such input", name);
}

static void set_device(ll_run *r, int i, void *device_data)
{
    r->moved = r->moved || r->slot[i].device_data != device_data;
    r->slot[i].device_data = device_data;
}

llap_status ll_run_bind_device(ll_run *r, const char *name, void *data, int64_t count)
{
    int         i;
    llap_status st = find_slot(r, name, count, &i);
    if (st != LLAP_OK) return st;
    r->slot[i].host = NULL;
    set_device(r, i, data);
    return LLAP_OK;
}

llap_status ll_run_bind(ll_run *r, const char *name, void *data, int64_t count)
{
    int i;
    if (!apart(r)) return ll_run_bind_device(r, name, data, count);
    llap_status st = find_slot(r, name, count, &i);
    if (st == LLAP_OK && r->slot[i].own == NULL)
        st = ll_device_alloc(r->plan->backend, slot_bytes(r, i), &r->slot[i].own);
    if (st != LLAP_OK) return st;
    r->slot[i].host = data;
    set_device(r, i, r->slot[i].own);
    return LLAP_OK;
}

/* -------- running -------- */

static bool writes_slot(const ll_plan_step *s)
{
    for (int k = 0; k < s->n_out; k++)
        if (s->place[s->n_in + k].slot >= 0) return true;
    return false;
}

/* Step i must wait for those aside, of which `oldest` is the first still under way (or -1). */
static bool must_join(const ll_plan_step *s, int i, int oldest)
{
    return oldest >= 0 && (i - oldest >= LL_ASIDE_FAR || s->after >= oldest || writes_slot(s));
}

static void note(ll_run *r, llap_status st)
{
    if (r->aside == LLAP_OK) r->aside = st;
}

static void run_aside(ll_run *r, int i)
{
    const ll_memory *m = r->plan->backend->memory;
    assert(m != NULL && m->aside != NULL); /* else the planner puts nothing aside */
    note(r, m->aside(true));
    r->plan->step[i].fn(&r->call[i]);
    note(r, m->aside(false));
}

/* Steps from i on that neither run aside nor wait for those that do. */
static int n_alone(const ll_run *r, int i, int oldest)
{
    int end = i + 1;
    if (!apart(r)) return r->plan->n_steps - i; /* the host does nothing aside */
    while (end < r->plan->n_steps && !r->plan->step[end].aside &&
           !must_join(&r->plan->step[end], end, oldest))
        end++;
    return end - i;
}

static void run_steps(void *run)
{
    ll_run           *r = run;
    const ll_backend *b = r->plan->backend;
    const int         n = r->plan->n_steps;
    int               oldest = -1;
    for (int i = 0; i < n; i++) {
        const ll_plan_step *s = &r->plan->step[i];
        if (must_join(s, i, oldest)) {
            note(r, b->memory->join());
            oldest = -1;
        }
        if (s->aside) {
            run_aside(r, i);
            if (oldest < 0) oldest = i;
            continue;
        }
        const int done = b->several == NULL ? 0 : b->several(&r->call[i], n_alone(r, i, oldest));
        assert(done >= 0 && done <= n - i);
        if (done > 0) i += done - 1;
        else s->fn(&r->call[i]);
    }
    if (oldest >= 0) note(r, b->memory->join());
}

static void together(const ll_run *r, void (*body)(void *user), void *user)
{
    const ll_backend *b = r->plan->backend;
    if (b->together == NULL) body(user);
    else b->together(r->plan->n_threads, body, user);
}

/* The first time as it comes; from the second on as one recording, until something else is bound;
 * where there is no room for one always as it comes. A run inside somebody's recording becomes part
 * of that. */
static llap_status run_apart(ll_run *r)
{
    const ll_memory *m = r->plan->backend->memory;
    r->aside = LLAP_OK;
    if (m->record == NULL || m->recording() || r->n_same == 0 || r->no_room) {
        run_steps(r);
        r->n_same += r->aside == LLAP_OK && m->record != NULL && !m->recording();
        return ll_device_status(r->plan->backend, r->aside);
    }
    llap_status st = LLAP_OK;
    if (r->recording == NULL) {
        st = m->record();
        if (st == LLAP_OK) run_steps(r);
        if (st == LLAP_OK) st = m->recorded(&r->recording);
        if (st == LLAP_OK) st = r->aside;
    }
    if (st == LLAP_OK) st = m->replay(r->recording);
    if (st != LLAP_OK) forget(r); /* it may lack what went wrong */
    if (st == LLAP_ENOMEM) {
        r->no_room = true;
        return run_apart(r);
    }
    return ll_device_status(r->plan->backend, st);
}

/* Copies what is bound from the caller's memory there, or what was written back. */
static llap_status exchange(ll_run *r, bool back)
{
    const ll_backend *b = r->plan->backend;
    llap_status       st = LLAP_OK;
    for (int i = 0; i < r->plan->n_slots && st == LLAP_OK; i++) {
        const binding *s = &r->slot[i];
        if (s->host == NULL) continue;
        assert(s->device_data == s->own);
        if (!back) st = ll_device_put(b, s->device_data, s->host, slot_bytes(r, i));
        else if (s->written) st = ll_device_get(b, s->host, s->device_data, slot_bytes(r, i));
    }
    return st;
}

/* Hands what is bound to the steps. */
static llap_status bind_all(ll_run *r)
{
    for (int i = 0; i < r->plan->n_slots; i++)
        if (r->slot[i].device_data == NULL && ll_shape_count(&r->plan->slot[i].shape) > 0)
            return ll_fail(LLAP_EINVAL, "'%s' is not bound", r->plan->slot[i].name);
    if (!r->moved && r->n_same > 0) return LLAP_OK;
    for (int i = 0; i < r->n_bound; i++) {
        const bound_view *b = &r->bound[i];
        char             *at = r->slot[b->slot].device_data;
        b->view->data = at == NULL ? NULL : at + b->offset;
    }
    forget(r);
    r->moved = false;
    return LLAP_OK;
}

llap_status ll_run_exec(ll_run *r)
{
    llap_status st = bind_all(r);
    if (st != LLAP_OK) return st;
    if (!apart(r)) {
        together(r, run_steps, r);
        r->n_same = 1;
        return LLAP_OK;
    }
    st = exchange(r, false);
    if (st == LLAP_OK) st = run_apart(r);
    return st == LLAP_OK ? exchange(r, true) : st;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct timing {
    const ll_run *r;
    double       *seconds;
    llap_status   st;
} timing;

static void run_timed(void *user)
{
    timing       *t = user;
    const ll_run *r = t->r;
    for (int i = 0; i < r->plan->n_steps && t->st == LLAP_OK; i++) {
        t->st = ll_device_finish(r->plan->backend);
        const double start = now();
        r->plan->step[i].fn(&r->call[i]);
        if (t->st == LLAP_OK) t->st = ll_device_finish(r->plan->backend);
        t->seconds[i] += now() - start;
    }
}

llap_status ll_run_exec_timed(ll_run *r, double *seconds)
{
    timing t = { .r = r, .seconds = seconds, .st = bind_all(r) };
    if (t.st == LLAP_OK) t.st = exchange(r, false);
    if (t.st == LLAP_OK) together(r, run_timed, &t);
    return t.st == LLAP_OK ? exchange(r, true) : t.st;
}

typedef struct counting {
    const ll_run *r;
    double        products;
} counting;

static void run_counted(void *user)
{
    counting         *n = user;
    const ll_run     *r = n->r;
    const ll_backend *b = r->plan->backend;
    for (int i = 0; i < r->plan->n_steps; i++) {
        const ll_call *c = &r->call[i];
        const double   products = ll_plan_step_at(r->plan, i).products;
        if (products > 0.0) n->products += products * (1.0 - b->zero_share(c));
        r->plan->step[i].fn(c);
    }
}

llap_status ll_run_exec_counted(ll_run *r, double *products)
{
    *products = ll_plan_products(r->plan);
    if (r->plan->backend->zero_share == NULL || apart(r)) return ll_run_exec(r);
    counting          n = { .r = r };
    const llap_status st = bind_all(r);
    if (st == LLAP_OK) together(r, run_counted, &n);
    *products = n.products;
    return st;
}

static int find_result(const ll_run *r, const char *name, ll_shape *shape)
{
    for (int i = 0; i < r->plan->n_results; i++) {
        const ll_result *o = &r->plan->result[i];
        if (strcmp(o->name, name) != 0) continue;
        if (shape != NULL) *shape = o->shape;
        return i;
    }
    return -1;
}

void *ll_run_output_device(const ll_run *r, const char *name, ll_shape *shape)
{
    const int i = find_result(r, name, shape);
    return i < 0 ? NULL : r->workspace + r->plan->result[i].offset;
}

const void *ll_run_output(const ll_run *r, const char *name, ll_shape *shape)
{
    const int i = find_result(r, name, shape);
    if (i < 0) return NULL;
    const ll_result *o = &r->plan->result[i];
    if (o->elem == LL_HALF) return NULL;
    if (!apart(r)) return r->workspace + o->offset;
    const size_t n_bytes = (size_t)ll_shape_count(&o->shape) * r->plan->backend->real_bytes;
    if (r->fetched[i] == NULL) r->fetched[i] = ll_new_aligned(n_bytes, 1);
    if (r->fetched[i] == NULL) return NULL;
    const llap_status st =
        ll_device_get(r->plan->backend, r->fetched[i], r->workspace + o->offset, n_bytes);
    return st == LLAP_OK ? r->fetched[i] : NULL;
}
