/* The cpu backend with memory of its own, as a GPU has it: copies are real, and a pointer of the
 * wrong side fails the test. For what plans and runs do around kernels. */
#ifndef LLAP_TESTS_APART_H
#define LLAP_TESTS_APART_H

#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/device_memory.h"

enum { APART_BLOCKS = 4096 };

static struct {
    char  *at[APART_BLOCKS];
    size_t size[APART_BLOCKS];
    int    n_uploads, n_downloads;
    size_t n_bytes_up, most_up; /* of the uploads, and of the largest one */
    size_t limit;               /* bytes that one allocation may have; 0: any */
    int    n_refused;           /* of the next ones, once copies inside came after_copies times */
    int    after_copies;
} apart_state;

static bool apart_owns(const void *p, size_t n)
{
    for (int i = 0; i < APART_BLOCKS; i++) {
        const char *at = apart_state.at[i];
        if (at != NULL && (const char *)p >= at && (const char *)p + n <= at + apart_state.size[i])
            return true;
    }
    return false;
}

static llap_status apart_alloc(size_t n, void **out)
{
    *out = NULL;
    if (apart_state.limit > 0 && n > apart_state.limit) return LLAP_ENOMEM;
    if (apart_state.n_refused > 0 && apart_state.after_copies <= 0) {
        apart_state.n_refused--;
        return LLAP_ENOMEM;
    }
    *out = ll_new_aligned(n + 1, 1);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < APART_BLOCKS; i++) {
        if (apart_state.at[i] != NULL) continue;
        apart_state.at[i] = *out;
        apart_state.size[i] = n + 1;
        return LLAP_OK;
    }
    fail_msg("too many blocks");
    return LLAP_ENOMEM;
}

static void apart_release(void *p)
{
    for (int i = 0; i < APART_BLOCKS; i++)
        if (apart_state.at[i] == p) apart_state.at[i] = NULL;
    ll_free(p);
}

static llap_status apart_upload(void *to, const void *from, size_t n)
{
    assert_true(apart_owns(to, n) && !apart_owns(from, n));
    apart_state.n_uploads++;
    apart_state.n_bytes_up += n;
    if (n > apart_state.most_up) apart_state.most_up = n;
    memcpy(to, from, n);
    return LLAP_OK;
}

static llap_status apart_download(void *to, const void *from, size_t n)
{
    assert_true(apart_owns(from, n) && !apart_owns(to, n));
    apart_state.n_downloads++;
    memcpy(to, from, n);
    return LLAP_OK;
}

static llap_status apart_copy(void *to, const void *from, size_t n)
{
    if (apart_state.after_copies > 0) apart_state.after_copies--;
    assert_true(apart_owns(from, n) && apart_owns(to, n));
    memmove(to, from, n);
    return LLAP_OK;
}

static llap_status apart_clear(void *p, size_t n)
{
    assert_true(apart_owns(p, n));
    memset(p, 0, n);
    return LLAP_OK;
}

static llap_status apart_order(uint32_t *out, int64_t n, int64_t width, const ll_rng *r, void *work)
{
    assert_true(apart_owns(out, (size_t)(n * width) * sizeof *out));
    assert_true(apart_owns(work, ll_order_work(n)));
    return ll_device_order(&ll_backend_cpu, out, n, width, r, work);
}

static llap_status apart_finish(void) { return LLAP_OK; }
static const char *apart_why(void) { return "out of memory"; }

static const ll_memory apart_memory = { .alloc = apart_alloc,
                                        .release = apart_release,
                                        .upload = apart_upload,
                                        .download = apart_download,
                                        .copy = apart_copy,
                                        .clear = apart_clear,
                                        .order = apart_order,
                                        .finish = apart_finish,
                                        .why = apart_why };

static inline ll_backend apart_backend(void)
{
    ll_backend b = ll_backend_cpu;
    b.name = "apart";
    b.memory = &apart_memory;
    return b;
}

/* -------- runs of layers, one kernel of the cpu after the other -------- */

static int apart_runs __attribute__((unused)); /* that were computed */

static inline void apart_layer(const ll_layer *s, const ll_view *v, ll_view *y)
{
    const ll_attr attr = s->norm ? (ll_attr){ .norm = { .eps = s->eps, .offset = s->offset } }
                                 : (ll_attr){ .linear = { .gelu = s->gelu } };
    ll_view       in[4] = { 0 };
    for (int a = 0; a < 4; a++)
        if (s->arg[a] >= 0) in[a] = v[s->arg[a]];
    ll_call      one = { .op = s->norm ? LL_OP_NORM : LL_OP_LINEAR,
                         .attr = &attr,
                         .in = in,
                         .out = y,
                         .n_in = s->norm ? 3 : 4,
                         .n_out = 1,
                         .n_threads = 1 };
    const size_t n = ll_backend_cpu.work_bytes(&one);
    void        *work = ll_new_aligned(n + 1, 1);
    assert_non_null(work);
    one.work = work;
    ll_backend_cpu.kernel[one.op](&one);
    ll_free(work);
}

static inline void apart_layers(const ll_call *c)
{
    const ll_op_layers *run = c->attr->layers;
    ll_view             v[LL_LAYER_INPUTS + LL_LAYER_STEPS];
    apart_runs++;
    for (int k = 0; k < c->n_in; k++) v[k] = c->in[k];
    for (int i = 0; i < run->n_steps; i++) {
        const ll_layer *s = &run->step[i];
        ll_view        *y = &v[c->n_in + i];
        int64_t         step = 1;
        *y = (ll_view){ .present = true, .shape = s->shape };
        for (int axis = s->shape.rank - 1; axis >= 0; axis--) {
            y->stride[axis] = step;
            step *= s->shape.dim[axis];
        }
        y->data = s->out >= 0 ? c->out[s->out].data : ll_new_aligned((size_t)step, sizeof(float));
        assert_non_null(y->data);
        apart_layer(s, v, y);
    }
    for (int i = 0; i < run->n_steps; i++)
        if (run->step[i].out < 0) ll_free(v[c->n_in + i].data);
}

static inline bool apart_takes(const ll_call *c)
{
    for (int k = 0; c->op == LL_OP_LAYERS && k < c->n_in; k++) /* residuals that are dense */
        for (int i = 0; i < c->attr->layers->n_steps; i++)
            if (c->attr->layers->step[i].arg[3] == k && !ll_view_dense(&c->in[k])) return false;
    return c->op == LL_OP_LAYERS;
}

static inline ll_backend apart_layers_backend(void)
{
    ll_backend b = apart_backend();
    b.name = "apart, layers";
    b.takes = apart_takes;
    b.kernel[LL_OP_LAYERS] = apart_layers;
    return b;
}

/* The same with a queue aside that is as late as it may be: what goes there is computed when
 * somebody waits for it. */
enum { APART_LATE = 256 };
static struct {
    const ll_call *call[APART_LATE];
    int            n, most;
    bool           on;
} apart_queue;

static void apart_late_kernel(const ll_call *c)
{
    assert_true(apart_queue.n < APART_LATE);
    if (apart_queue.on) apart_queue.call[apart_queue.n++] = c;
    else ll_backend_cpu.kernel[c->op](c);
    if (apart_queue.n > apart_queue.most) apart_queue.most = apart_queue.n;
}

static llap_status apart_aside(bool begin)
{
    apart_queue.on = begin;
    return LLAP_OK;
}

static llap_status apart_join(void)
{
    for (int i = 0; i < apart_queue.n; i++)
        ll_backend_cpu.kernel[apart_queue.call[i]->op](apart_queue.call[i]);
    apart_queue.n = 0;
    return LLAP_OK;
}

static inline ll_backend apart_late_backend(void)
{
    static ll_memory memory;
    ll_backend       b = apart_backend();
    memory = *b.memory;
    memory.aside = apart_aside;
    memory.join = apart_join;
    b.memory = &memory;
    b.kernel[LL_OP_MATMUL] = b.kernel[LL_OP_SUM] = apart_late_kernel;
    return b;
}

/* -------- recordings: what is queued meanwhile is kept, and computed by replay -------- */

typedef struct apart_tape {
    ll_call call[2048]; /* each with views of its own, as runs may bind others for the next */
    int     n;
} apart_tape;

static struct {
    apart_tape *on; /* the one that is recorded, or NULL */
    int         replays;
    llap_status broken; /* how the next one that ends fails, though there is one */
} apart_tapes;

static void apart_taped_kernel(const ll_call *c)
{
    apart_tape *t = apart_tapes.on;
    if (t == NULL) {
        ll_backend_cpu.kernel[c->op](c);
        return;
    }
    assert_true((size_t)t->n < sizeof t->call / sizeof *t->call);
    ll_call *kept = &t->call[t->n++];
    ll_view *view = ll_new((size_t)(c->n_in + c->n_out), sizeof *view);
    assert_non_null(view);
    memcpy(view, c->in, (size_t)c->n_in * sizeof *view);
    memcpy(view + c->n_in, c->out, (size_t)c->n_out * sizeof *view);
    *kept = *c;
    kept->in = view;
    kept->out = view + c->n_in;
}

static void apart_tape_empty(apart_tape *t)
{
    for (int i = 0; i < t->n; i++) ll_free((void *)(uintptr_t)t->call[i].in);
    t->n = 0;
}

static bool        apart_tape_recording(void) { return apart_tapes.on != NULL; }
static llap_status apart_tape_record(void)
{
    apart_tapes.on = ll_new(1, sizeof *apart_tapes.on);
    return apart_tapes.on == NULL ? LLAP_ENOMEM : LLAP_OK;
}
static llap_status apart_tape_recorded(void **out)
{
    const llap_status broken = apart_tapes.broken;
    if (broken != LLAP_OK) apart_tape_empty(apart_tapes.on); /* not worth replaying */
    *out = apart_tapes.on;
    apart_tapes.on = NULL;
    apart_tapes.broken = LLAP_OK;
    return broken;
}
static llap_status apart_tape_replay(void *recording)
{
    const apart_tape *t = recording;
    apart_tapes.replays++;
    for (int i = 0; i < t->n; i++) ll_backend_cpu.kernel[t->call[i].op](&t->call[i]);
    return LLAP_OK;
}
static void apart_tape_forget(void *recording)
{
    apart_tape_empty(recording);
    ll_free(recording);
}

static inline ll_backend apart_taped_backend(void)
{
    static ll_memory memory;
    ll_backend       b = apart_backend();
    memory = *b.memory;
    memory.recording = apart_tape_recording;
    memory.record = apart_tape_record;
    memory.recorded = apart_tape_recorded;
    memory.replay = apart_tape_replay;
    memory.forget = apart_tape_forget;
    b.memory = &memory;
    for (int op = 0; op < LL_OP_COUNT; op++)
        if (b.kernel[op] != NULL) b.kernel[op] = apart_taped_kernel;
    return b;
}

/* One that does small calls of a kind at once: from the last to the first, which makes no
 * difference where none reads or writes what another writes. */
static int apart_at_once; /* calls that came with others */

static int apart_alike(const ll_call *c)
{
    if (c->n_out != 1 || ll_shape_count(&c->out[0].shape) > 4096) return 0;
    if (ll_op_is_unary(c->op) || ll_op_is_binary(c->op) || c->op == LL_OP_CHAIN) return 1;
    if (c->op == LL_OP_LINEAR || c->op == LL_OP_MATMUL) return 2;
    return c->op == LL_OP_SUM ? 3 : 0;
}

static bool apart_meet(const ll_view *a, const ll_view *b)
{
    const ll_view *v[] = { a, b };
    const float   *first[2], *last[2];
    for (int i = 0; i < 2; i++) {
        if (!v[i]->present || ll_shape_count(&v[i]->shape) == 0) return false;
        first[i] = last[i] = v[i]->data;
        for (int k = 0; k < v[i]->shape.rank; k++)
            last[i] += (v[i]->shape.dim[k] - 1) * v[i]->stride[k];
    }
    return first[0] <= last[1] && first[1] <= last[0];
}

static bool apart_depends(const ll_call *a, const ll_call *b) /* one writes, the other touches */
{
    for (int k = 0; k < b->n_in + b->n_out; k++)
        if (apart_meet(&a->out[0], k < b->n_in ? &b->in[k] : &b->out[k - b->n_in])) return true;
    return false;
}

static int apart_several(const ll_call *c, int n)
{
    int found = 1;
    for (; found < n && apart_alike(c) > 0 && apart_alike(&c[found]) == apart_alike(c); found++)
        for (int i = 0; i < found; i++)
            if (apart_depends(&c[i], &c[found]) || apart_depends(&c[found], &c[i])) {
                n = found; /* no more of them */
                found--;
                break;
            }
    if (found < 2) return 0;
    for (int i = found - 1; i >= 0; i--) ll_backend_cpu.kernel[c[i].op](&c[i]);
    apart_at_once += found;
    return found;
}

static inline ll_backend apart_several_backend(void)
{
    ll_backend b = apart_late_backend();
    b.alike = apart_alike;
    b.several = apart_several;
    return b;
}

#endif
