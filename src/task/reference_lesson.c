/* What the first two stages have in common. */
#include "backend/near.h"
#include "base/alloc.h"
#include "nn/epochs.h"
#include "nn/optim.h"
#include "task/reference.h"

#include <stdio.h>
#include <string.h>

enum { TABLES = 8 }; /* the most inputs that hold a batch */
#define INDEX TASK_NET_ROWS "index"
#define IDS TASK_NET_ROWS "ids"

/* The rows of all batches, r->B each, one after another by time. */
typedef struct lesson_near {
    void       *table[TABLES]; /* of the inputs of_batch, [n,width] */
    void       *ids;           /* int [n,2], two halves each */
    void       *index;         /* int [r->B] of a step */
    llap_epochs order;
} lesson_near;

/* -------- the graph -------- */

static int64_t near_rows(const task_lesson *l) { return l->r->n_batches * l->r->B; }

static llap_tensor *index_of(llap_graph *g, const task_lesson *l)
{
    return llap_input_int(g, INDEX, LLAP_SHAPE(l->rows));
}

llap_tensor *task_lesson_input(llap_graph *g, const task_lesson *l, const char *name,
                               llap_shape shape, bool training)
{
    char table[32];
    if (l->near == NULL || !training) return llap_input(g, name, shape);
    snprintf(table, sizeof table, "%s%s", TASK_NET_ROWS, name);
    const int64_t width = llap_shape_count(&shape) / l->rows;
    llap_tensor  *all = llap_input(g, table, LLAP_SHAPE(near_rows(l), width));
    return llap_reshape(g, llap_embedding(g, all, index_of(g, l)), shape);
}

llap_tensor *task_lesson_draw(llap_graph *g, const task_lesson *l, const llap_draw_attr *a)
{
    if (l->near == NULL) return NULL;
    return llap_draw(g, llap_input_int(g, "key", LLAP_SHAPE(4)),
                     llap_input_int(g, IDS, LLAP_SHAPE(near_rows(l), 2)), index_of(g, l), a);
}

static bool in_pieces(const task_lesson *l) { return l->rows < l->r->B; }

llap_tensor *task_lesson_whole(llap_graph *g, const task_lesson *l, const char *name,
                               llap_shape shape)
{
    char of_all[32];
    if (!in_pieces(l)) return NULL;
    snprintf(of_all, sizeof of_all, "all_%s", name);
    shape.dim[0] = l->r->B;
    return llap_input(g, of_all, shape);
}

/* -------- batches that lie in the backend's memory -------- */

static void near_destroy(task_lesson *l)
{
    lesson_near *n = l->near;
    l->near = NULL;
    if (n == NULL) return;
    for (int i = 0; i < TABLES; i++) llap_near_release(l->r->backend, n->table[i]);
    llap_near_release(l->r->backend, n->ids);
    llap_near_release(l->r->backend, n->index);
    llap_epochs_deinit(&n->order);
    llap_free(n);
}

static llap_rng epoch_rng(const void *loader, int64_t epoch)
{
    return llap_loader_rng(loader, epoch);
}

static llap_status near_alloc(task_lesson *l, lesson_near *n)
{
    const task_reference *r = l->r;
    llap_status           st = llap_epochs_init(&n->order, r->backend, r->n_batches, r->B);
    n->order.user = l->feed.loader;
    if (r->recipe.data.shuffle) n->order.epoch_rng = epoch_rng;
    if (st == LLAP_OK) st = llap_near_alloc(r->backend, 4 * (size_t)r->B, &n->index);
    if (st == LLAP_OK) st = llap_near_alloc(r->backend, 8 * (size_t)near_rows(l), &n->ids);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        const size_t each = (size_t)task_net_count(l->check, l->of_batch[i]) * sizeof(float);
        st = llap_near_alloc(r->backend, (size_t)r->n_batches * each, &n->table[i]);
    }
    return st;
}

/* Batch number k by time goes there, by way of the check's inputs. */
static llap_status near_put(task_lesson *l, lesson_near *n, int64_t k, const llap_batch *b)
{
    const llap_backend *backend = l->r->backend;
    const int64_t       B = l->r->B;
    llap_status         st =
        llap_near_put(backend, (uint64_t *)n->ids + k * B, b->id, 8 * (size_t)b->n_rows);
    l->fill(l->r, b, B, l->check);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        const int64_t each = task_net_count(l->check, l->of_batch[i]);
        st = llap_near_put(backend, (float *)n->table[i] + k * each,
                           task_net_real(l->check, l->of_batch[i]), (size_t)each * sizeof(float));
    }
    return st;
}

/* Nothing happens where the backend has no memory of its own, or no room. */
static llap_status near_create(task_lesson *l)
{
    llap_batch b = { 0 };
    if (l->r->backend->memory == NULL) return LLAP_OK;
    l->near = llap_new(1, sizeof *l->near);
    llap_status st = l->near == NULL ? LLAP_ENOMEM : near_alloc(l, l->near);
    for (int64_t k = 0; k < l->r->n_batches && st == LLAP_OK; k++) {
        st = task_reference_batch(l->r, k, &b);
        if (st == LLAP_OK) st = near_put(l, l->near, k, &b);
    }
    if (st == LLAP_OK) st = llap_near_finish(l->r->backend);
    llap_batch_deinit(&b);
    if (st != LLAP_OK) near_destroy(l);
    return st == LLAP_ENOMEM ? LLAP_OK : st;
}

static llap_status near_place(const task_lesson *l)
{
    const lesson_near *n = l->near;
    llap_status        st = task_net_place(l->train, INDEX, n->index);
    if (st == LLAP_OK) st = task_net_place(l->train, IDS, n->ids);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", TASK_NET_ROWS, l->of_batch[i]);
        st = task_net_place(l->train, name, n->table[i]);
    }
    return st;
}

/* -------- the nets -------- */

/* As training begins with them. */
static llap_status make_params(task_lesson *l, task_lesson_start start)
{
    const task_reference *r = l->r;
    llap_graph           *g = NULL;
    llap_status           st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_nn_train(g, l->describe(g, l, true), &l->how->optim);
        st = llap_params_create(g, r->backend, &l->params);
    }
    if (st == LLAP_OK) {
        llap_params_init(l->params, r->seed);
        if (start != NULL) start(l->params, r);
        task_reference_start(r, l->params);
        st = llap_params_push(l->params);
    }
    llap_graph_destroy(g);
    return st;
}

static llap_status make_train(task_lesson *l)
{
    const int              n_threads = l->r->n_threads;
    const llap_train_attr *optim = &l->how->optim;
    llap_graph            *g = NULL;
    llap_status            st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *loss = l->describe(g, l, true);
    if (in_pieces(l)) {
        st = task_net_create_part(g, loss, optim, l->params, n_threads, &l->train);
    } else {
        llap_nn_train(g, loss, optim);
        st = task_net_create(g, l->params, n_threads, &l->train);
    }
    if (st == LLAP_OK && l->near != NULL) st = near_place(l);
    llap_graph_destroy(g);
    return st;
}

static llap_status make_check(task_lesson *l)
{
    llap_graph *g = NULL;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) (void)l->describe(g, l, false);
    if (st == LLAP_OK) st = task_net_create(g, l->params, l->r->n_threads, &l->check);
    llap_graph_destroy(g);
    return st;
}

static void destroy_nets(task_lesson *l)
{
    task_net_destroy(l->train);
    task_net_destroy(l->check);
    l->train = l->check = NULL;
}

static llap_status make_whole(task_lesson *l)
{
    llap_status st = make_check(l);
    if (st == LLAP_OK) st = near_create(l);
    if (st == LLAP_OK) st = make_train(l);
    if (st != LLAP_ENOMEM || l->near == NULL) return st;
    near_destroy(l);
    return make_train(l);
}

/* A batch goes in equal parts, as few as there is room for. */
static llap_status make_pieces(task_lesson *l)
{
    const int64_t B = l->r->B;
    llap_status   st = LLAP_ENOMEM;
    for (int64_t n = 2; st == LLAP_ENOMEM && l->rows > 1; n *= 2) {
        destroy_nets(l);
        l->rows = n < B ? (B + n - 1) / n : 1;
        st = make_check(l);
        if (st == LLAP_OK) st = make_train(l);
    }
    if (st == LLAP_OK) task_stage_in_pieces(l->r->o->log, l->name, l->r->backend, B, l->rows);
    return st;
}

/* -------- the stage -------- */

static llap_status fill(task_lesson *l, int64_t number, const llap_batch **b)
{
    const llap_status st = task_feed_at(&l->feed, number, b);
    if (st != LLAP_OK) return st;
    l->fill(l->r, *b, l->rows, l->train);
    if (l->vary != NULL) l->vary(l, *b, number, l->train);
    return st;
}

static llap_status make_ready(task_lesson *l, int64_t number)
{
    const llap_batch *b;
    if (l->ready == number) return LLAP_OK;
    const llap_status st = fill(l, number, &b);
    l->ready = st == LLAP_OK ? number : -1;
    return st;
}

static llap_status take_near(task_lesson *l, int64_t number)
{
    const int64_t B = l->r->B;
    if (l->vary != NULL) l->vary(l, NULL, number, l->train);
    return llap_epochs_take(&l->near->order, number * B, B, l->near->index);
}

/* The inputs of the piece of b that begins with row `at`, but for those of the step. */
static llap_batch fill_piece(const task_lesson *l, const llap_batch *b, int64_t at, task_net *net)
{
    const int64_t    left = b->n_rows - at;
    const llap_batch piece = llap_batch_view(b, at, left < l->rows ? left : l->rows);
    l->fill(l->r, &piece, l->rows, net);
    if (in_pieces(l)) l->fill_whole(l->r, b, net);
    return piece;
}

static void fill_train_piece(const task_lesson *l, const llap_batch *b, int64_t at, int64_t number)
{
    const llap_batch piece = fill_piece(l, b, at, l->train);
    if (l->vary != NULL) l->vary(l, &piece, number, l->train);
}

static llap_status step_in_pieces(task_lesson *l, int64_t number, double *loss, double *norm)
{
    const llap_batch *b;
    llap_status       st = task_feed_at(&l->feed, number, &b);
    for (int64_t at = 0; st == LLAP_OK && at < b->n_rows; at += l->rows) {
        fill_train_piece(l, b, at, number);
        st = task_net_add(l->train, l->params, number, at / l->rows, 1.0);
    }
    return st == LLAP_OK ? task_net_added(l->train, number, l->how->lr, loss, norm) : st;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    task_lesson *l = user;
    llap_status  st;
    if (in_pieces(l)) {
        st = step_in_pieces(l, number, loss, norm);
    } else {
        st = l->near != NULL ? take_near(l, number) : make_ready(l, number);
        if (st == LLAP_OK) st = task_net_begin(l->train, l->params, number, l->how->lr);
        /* While a GPU computes, the next batch; it has its copy of this one. */
        if (st == LLAP_OK && l->near == NULL && l->r->backend->memory != NULL)
            st = make_ready(l, number + 1);
        if (st == LLAP_OK && loss != NULL) task_net_end(l->train, loss, norm);
    }
    return st == LLAP_OK && loss == NULL ? task_net_later(l->train, &l->ahead, number) : st;
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return llap_ahead_get(&((task_lesson *)user)->ahead, first, n, loss, norm);
}

llap_status task_lesson_check(task_lesson *l, const llap_batch *b, const char *const *names, int n,
                              double *sum)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < n; i++) sum[i] = 0.0;
    for (int64_t at = 0; st == LLAP_OK && at < b->n_rows; at += l->rows) {
        (void)fill_piece(l, b, at, l->check);
        st = task_net_run(l->check);
        for (int i = 0; i < n && st == LLAP_OK; i++) sum[i] += task_net_number(l->check, names[i]);
    }
    return st;
}

/* Piece after piece, until one is found at fault. */
static llap_status blame_batch(task_lesson *l, int64_t number, char *text, size_t size)
{
    const llap_batch *b;
    char              known[512];
    llap_status       st = task_feed_at(&l->feed, number, &b);
    snprintf(known, sizeof known, "%s", text);
    for (int64_t at = 0; st == LLAP_OK && at < b->n_rows && strcmp(known, text) == 0;
         at += l->rows) {
        llap_graph *g = NULL;
        st = llap_graph_create(&g);
        fill_train_piece(l, b, at, number);
        if (st == LLAP_OK)
            st = task_net_blame(l->train, g, l->describe(g, l, true), l->params, text, size);
        llap_graph_destroy(g);
    }
    if (st == LLAP_OK) task_name_windows(&l->r->frame, b->end, b->n_rows, text, size);
    return st;
}

/* With all inputs here, where they can be looked at. */
static llap_status blame(void *user, int64_t number, char *text, size_t size)
{
    task_lesson *l = user;
    lesson_near *near = l->near;
    l->ready = -1;
    if (near == NULL) return blame_batch(l, number, text, size);
    task_net *train = l->train;
    l->near = NULL;
    l->train = NULL;
    llap_status st = make_train(l);
    if (st == LLAP_OK) st = blame_batch(l, number, text, size);
    task_net_destroy(l->train);
    l->train = train;
    l->near = near;
    return st;
}

llap_status task_lesson_init(task_lesson *l, const task_recipe_stage *how, task_lesson_start start,
                             task_stage *stage)
{
    const bool apart = l->r->backend->memory != NULL;
    l->how = how;
    l->rows = l->r->B;
    l->ready = -1;
    llap_status st = make_params(l, start);
    if (st == LLAP_OK) st = llap_ahead_init(&l->ahead, l->r->backend);
    if (st == LLAP_OK) st = task_feed_init(&l->feed, l->r);
    if (st == LLAP_OK) {
        st = make_whole(l);
        if (st == LLAP_ENOMEM && apart) st = make_pieces(l);
    }
    *stage = task_stage_of(how);
    stage->name = l->name;
    stage->params = l->params;
    stage->user = l;
    stage->step = step;
    if (apart) stage->results = results;
    stage->blame = blame;
    return st;
}

llap_status task_lesson_run(task_lesson *l, task_training *t, const task_stage *stage)
{
    char              scope[32];
    const llap_status st = task_training_stage(t, stage, NULL);
    snprintf(scope, sizeof scope, "%s.", l->name);
    return st == LLAP_OK ? llap_params_take(l->r->network->params, scope, l->params, scope) : st;
}

void task_lesson_deinit(task_lesson *l)
{
    task_feed_deinit(&l->feed);
    llap_batch_deinit(&l->val);
    llap_ahead_deinit(&l->ahead);
    destroy_nets(l);
    near_destroy(l);
    llap_params_destroy(l->params);
}
