/* What the stages of the `reference` profile look at. */
#include "base/alloc.h"
#include "base/error.h"
#include "task/reference.h"

#include <string.h>

enum { GROUPS = 10 }; /* of a batch, unless told */

/* -------- windows, scales, rows -------- */

static llap_status scale(task_reference *r, const llap_panel *p)
{
    llap_scaling_opts so = LLAP_SCALING_DEFAULT;
    so.by = r->frame.by_entity ? LLAP_SCALE_GLOBAL : LLAP_SCALE_BY_ENTITY;
    so.target_as_feature = r->frame.n_targets > 1;
    llap_status st = llap_scaling_create(r->windows, r->split, &so, &r->scaling);
    return st == LLAP_OK ? llap_scaled_create(p, r->scaling, &r->scaled) : st;
}

/* The most rows that so many groups in a row have. */
static int64_t most_rows(const llap_rows *rows, int64_t groups)
{
    int64_t most = 1;
    for (int64_t i = 0; i < rows->n_groups; i += groups) {
        const int64_t end = i + groups < rows->n_groups ? i + groups : rows->n_groups;
        const int64_t n = rows->group[end] - rows->group[i];
        if (n > most) most = n;
    }
    return most;
}

/* Does the usual gap fill the data? */
static bool is_irregular(const llap_windows *w, int64_t step)
{
    int64_t n_odd = 0, n = 0;
    for (int64_t e = 0; e < w->panel->n_entities; e++)
        for (int64_t i = w->panel->start[e] + 1; i < w->panel->start[e + 1]; i++, n++)
            n_odd += w->panel->time[i] - w->panel->time[i - 1] != step;
    return (double)n_odd > 0.01 * (double)n;
}

llap_status task_reference_look(task_reference *r, const llap_panel *p, const int64_t *var)
{
    const llap_row_view view = r->frame.by_entity ? LLAP_VIEW_INDEPENDENT : LLAP_VIEW_JOINT;
    r->groups = r->o->batch > 0 ? r->o->batch : GROUPS;
    llap_status st = task_windows(&r->frame, p, var, r->frame.n_targets, &r->windows);
    if (st == LLAP_OK) st = task_split(&r->frame, r->windows, &r->split);
    if (st == LLAP_OK && (r->split->n[LLAP_PART_TRAIN] == 0 || r->split->n[LLAP_PART_VAL] == 0))
        st = llap_fail(LLAP_EINVAL, "nothing observed in the part for training or for validation");
    if (st == LLAP_OK) st = scale(r, p);
    if (st == LLAP_OK)
        st = llap_rows_create(r->windows, r->split, LLAP_PART_TRAIN, view, &r->train);
    if (st == LLAP_OK) st = llap_rows_create(r->windows, r->split, LLAP_PART_VAL, view, &r->val);
    if (st != LLAP_OK) return st;
    r->irregular = is_irregular(r->windows, r->frame.step);
    r->batch = LLAP_BATCH_DEFAULT;
    r->batch.unit_ns = r->frame.unit;
    r->batch.diff = LLAP_DIFF_PLAIN;
    r->N = r->train->n_slots;
    r->l = r->windows->n_context;
    r->h = r->windows->n_query;
    r->D = r->scaling->n_features;
    r->C = r->scaling->n_targets;
    r->n_batches = llap_rows_batches(r->train, r->groups);
    r->B = most_rows(r->train, r->groups);
    return LLAP_OK;
}

void task_reference_deinit(task_reference *r)
{
    llap_rows_destroy(r->train);
    llap_rows_destroy(r->val);
    llap_scaled_destroy(r->scaled);
    llap_scaling_destroy(r->scaling);
    llap_split_destroy(r->split);
    llap_windows_destroy(r->windows);
}

/* -------- batches to inputs -------- */

static void clear(float *x, int64_t n)
{
    if (x != NULL) memset(x, 0, (size_t)n * sizeof *x);
}

void task_reference_targets(const task_reference *r, const llap_batch *b, int64_t B, float *y,
                            float *obs, float *ent)
{
    const int64_t N = r->N, h = r->h, C = r->C, hb = b->n_query;
    clear(y, B * h * N * C);
    clear(obs, B * h * N * C);
    clear(ent, B * N);
    for (int64_t i = 0; i < b->n_rows; i++)
        for (int64_t n = 0; n < N; n++) {
            if (!b->valid[i * N + n]) continue;
            ent[i * N + n] = 1;
            for (int64_t k = 0; k < hb; k++)
                for (int64_t c = 0; c < C; c++) {
                    const int64_t from = ((i * N + n) * hb + k) * C + c;
                    const int64_t to = ((i * h + k) * N + n) * C + c;
                    if (y != NULL) y[to] = b->y[from];
                    obs[to] = b->y_obs[from];
                }
        }
}

void task_reference_seen(const task_reference *r, const llap_batch *b, int64_t B, float *seen,
                         float *ent)
{
    const int64_t N = r->N, l = r->l, D = r->D, lb = b->n_context;
    clear(seen, B * l * N * D);
    clear(ent, B * N);
    for (int64_t i = 0; i < b->n_rows; i++)
        for (int64_t n = 0; n < N; n++) {
            if (!b->valid[i * N + n]) continue;
            ent[i * N + n] = 1;
            for (int64_t j = 0; j < lb; j++) /* short contexts stand at the end */
                for (int64_t d = 0; d < D; d++)
                    seen[((i * l + (l - lb + j)) * N + n) * D + d] =
                        b->x_obs[((i * N + n) * lb + j) * D + d];
        }
}

void task_reference_history(const task_reference *r, const llap_batch *b, int64_t B, task_net *net)
{
    const int64_t N = r->N, l = r->l, D = r->D, lb = b->n_context;
    float        *x = task_net_real(net, "x"), *dx = task_net_real(net, "dx");
    float        *dt = task_net_real(net, "dt");
    task_reference_seen(r, b, B, task_net_real(net, "seen"), task_net_real(net, "ent"));
    clear(x, B * l * N * D);
    clear(dx, B * l * N * D);
    clear(dt, B * l * N);
    for (int64_t i = 0; i < b->n_rows; i++)
        for (int64_t n = 0; n < N; n++) {
            if (!b->valid[i * N + n]) continue;
            for (int64_t j = 0; j < lb; j++) {
                const int64_t at = (i * l + (l - lb + j)) * N + n, row = (i * N + n) * lb + j;
                dt[at] = b->delta_t[row];
                for (int64_t d = 0; d < D; d++) {
                    x[at * D + d] = b->v[row * D + d];
                    if (dx != NULL) dx[at * D + d] = b->dv[row * D + d];
                }
            }
        }
}

llap_summary task_reference_summary(llap_graph *g, const llap_network_config *c, int64_t B,
                                    bool training)
{
    const llap_summarizer_config s = llap_network_summarizer(c, training);
    const int64_t                l = s.context, N = s.n_entities, D = s.features;
    return task_reference_summary_of(
        g, c,
        &(llap_history){ .x = llap_input(g, "x", LLAP_SHAPE(B, l, N, D)),
                         .dx = llap_input(g, "dx", LLAP_SHAPE(B, l, N, D)),
                         .obs = llap_input(g, "seen", LLAP_SHAPE(B, l, N, D)),
                         .ent = llap_input(g, "ent", LLAP_SHAPE(B, N)),
                         .dt = llap_input(g, "dt", LLAP_SHAPE(B, l, N)) },
        training);
}

llap_summary task_reference_summary_of(llap_graph *g, const llap_network_config *c,
                                       const llap_history *in, bool training)
{
    const llap_summarizer_config s = llap_network_summarizer(c, training);
    llap_scope_push(g, "summarizer");
    llap_summary out = llap_summarize(g, &s, in);
    llap_scope_pop(g);
    if (c->options.cond_adapter) { /* of imported models; before any normalising, spec 4.9 */
        llap_scope_push(g, "denoiser");
        llap_scope_push(g, "cond_adapter");
        out.context = llap_context_adapt(g, &c->adapter, out.context, llap_stat_tokens(g, in));
        llap_scope_pop(g);
        llap_scope_pop(g);
    }
    return out;
}

/* -------- the order of training -------- */

llap_status task_reference_batch(const task_reference *r, int64_t k, llap_batch *b)
{
    const llap_rows *rows = r->train;
    const int64_t end = (k + 1) * r->groups < rows->n_groups ? (k + 1) * r->groups : rows->n_groups;
    const int64_t first = rows->group[k * r->groups], n = rows->group[end] - first;
    int64_t      *list = llap_new((size_t)n, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) list[i] = first + i;
    const llap_status st = llap_batch_fill(b, rows, r->scaled, &r->batch, list, n);
    llap_free(list);
    return st;
}

llap_status task_feed_init(task_feed *f, const task_reference *r)
{
    llap_loader_opts o = LLAP_LOADER_DEFAULT;
    o.batch = r->batch;
    o.n_groups = r->groups;
    o.seed = r->seed;
    o.threads = r->o->prefetch < 0 ? 0 : r->o->prefetch == 0 ? 1 : (int)r->o->prefetch;
    o.order = r->recipe.data.shuffle ? LLAP_ORDER_BATCHES : LLAP_ORDER_TIME;
    *f = (task_feed){ .next = -1 };
    return llap_loader_create(r->train, r->scaled, &o, &f->loader);
}

void task_feed_deinit(task_feed *f)
{
    llap_loader_destroy(f->loader);
    *f = (task_feed){ 0 };
}

llap_status task_feed_at(task_feed *f, int64_t step, const llap_batch **out)
{
    const int64_t n = llap_loader_batches(f->loader), place = step % n;
    llap_status   st = LLAP_OK;
    if (f->next != step || place == 0) {
        st = llap_loader_start(f->loader, step / n);
        for (int64_t i = 0; i < place && st == LLAP_OK; i++)
            st = llap_loader_next(f->loader, &f->now);
    }
    if (st == LLAP_OK) st = llap_loader_next(f->loader, &f->now);
    f->next = st == LLAP_OK ? step + 1 : -1;
    *out = f->now;
    return st;
}

/* -------- validation -------- */

int64_t task_reference_val_batches(const task_reference *r)
{
    const int64_t all = (r->val->n_rows + r->B - 1) / r->B;
    return all < r->recipe.data.val_batches ? all : r->recipe.data.val_batches;
}

llap_status task_reference_val(const task_reference *r, int64_t i, llap_batch *b)
{
    const int64_t n = task_reference_val_batches(r), rows = r->val->n_rows;
    const int64_t all = (rows + r->B - 1) / r->B, first = i * all / n * r->B;
    const int64_t count = rows - first < r->B ? rows - first : r->B;
    int64_t      *list = llap_new((size_t)count, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    for (int64_t k = 0; k < count; k++) list[k] = first + k;
    const llap_status st = llap_batch_fill(b, r->val, r->scaled, &r->batch, list, count);
    llap_free(list);
    return st;
}

/* -------- names -------- */
