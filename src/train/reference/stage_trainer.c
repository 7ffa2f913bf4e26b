/* What the first two stages have in common. */
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "nn/epochs.h"
#include "nn/optim.h"
#include "predict/frame.h"
#include "train/reference/reference.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <stdio.h>
#include <string.h>

enum { TABLES = 8 }; /* the most inputs that hold a batch */
#define INDEX LL_SESSION_ROWS "index"
#define IDS LL_SESSION_ROWS "ids"

/* The rows of all batches, r->B each, one after another by time. */
typedef struct stage_device_batches {
    void     *table[TABLES]; /* of the inputs of_batch, [n,width] */
    void     *ids;           /* int [n,2], two halves each */
    void     *index;         /* int [r->B] of a step */
    ll_epochs order;
} stage_device_batches;

/* -------- the graph -------- */

static int64_t device_rows(const ll_stage_trainer *l) { return l->r->n_batches * l->r->B; }

static ll_tensor *index_of(ll_graph *g, const ll_stage_trainer *l)
{
    return ll_input_int(g, INDEX, LL_SHAPE(l->rows));
}

ll_tensor *ll_stage_trainer_input(ll_graph *g, const ll_stage_trainer *l, const char *name,
                                  ll_shape shape, bool training)
{
    char table[32];
    if (l->device_data == NULL || !training) return ll_input(g, name, shape);
    snprintf(table, sizeof table, "%s%s", LL_SESSION_ROWS, name);
    const int64_t width = ll_shape_count(&shape) / l->rows;
    ll_tensor    *all = ll_input(g, table, LL_SHAPE(device_rows(l), width));
    return ll_reshape(g, ll_embedding(g, all, index_of(g, l)), shape);
}

ll_tensor *ll_stage_trainer_draw(ll_graph *g, const ll_stage_trainer *l, const ll_draw_attr *a)
{
    if (l->device_data == NULL) return NULL;
    return ll_draw(g, ll_input_int(g, "key", LL_SHAPE(4)),
                   ll_input_int(g, IDS, LL_SHAPE(device_rows(l), 2)), index_of(g, l), a);
}

static bool in_micro_batches(const ll_stage_trainer *l) { return l->rows < l->r->B; }

ll_tensor *ll_stage_trainer_whole(ll_graph *g, const ll_stage_trainer *l, const char *name,
                                  ll_shape shape)
{
    char of_all[32];
    if (!in_micro_batches(l)) return NULL;
    snprintf(of_all, sizeof of_all, "all_%s", name);
    shape.dim[0] = l->r->B;
    return ll_input(g, of_all, shape);
}

/* -------- batches that lie in the backend's memory -------- */

static void device_destroy(ll_stage_trainer *l)
{
    stage_device_batches *n = l->device_data;
    l->device_data = NULL;
    if (n == NULL) return;
    for (int i = 0; i < TABLES; i++) ll_device_release(l->r->backend, n->table[i]);
    ll_device_release(l->r->backend, n->ids);
    ll_device_release(l->r->backend, n->index);
    ll_epochs_deinit(&n->order);
    ll_free(n);
}

static ll_rng epoch_rng(const void *loader, int64_t epoch) { return ll_loader_rng(loader, epoch); }

static llap_status device_batches_alloc(ll_stage_trainer *l, stage_device_batches *n)
{
    const ll_reference *r = l->r;
    llap_status         st = ll_epochs_init(&n->order, r->backend, r->n_batches, r->B);
    n->order.user = l->feed.loader;
    if (r->recipe.data.shuffle) n->order.epoch_rng = epoch_rng;
    if (st == LLAP_OK) st = ll_device_alloc(r->backend, 4 * (size_t)r->B, &n->index);
    if (st == LLAP_OK) st = ll_device_alloc(r->backend, 8 * (size_t)device_rows(l), &n->ids);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        const size_t each = (size_t)ll_session_count(l->check, l->of_batch[i]) * sizeof(float);
        st = ll_device_alloc(r->backend, (size_t)r->n_batches * each, &n->table[i]);
    }
    return st;
}

/* Batch number k by time goes there, by way of the check's inputs. */
static llap_status device_batches_put(ll_stage_trainer *l, stage_device_batches *n, int64_t k,
                                      const ll_batch *b)
{
    const ll_backend *backend = l->r->backend;
    const int64_t     B = l->r->B;
    llap_status       st =
        ll_device_put(backend, (uint64_t *)n->ids + k * B, b->id, 8 * (size_t)b->n_rows);
    l->fill(l->r, b, B, l->check);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        const int64_t each = ll_session_count(l->check, l->of_batch[i]);
        st = ll_device_put(backend, (float *)n->table[i] + k * each,
                           ll_session_real(l->check, l->of_batch[i]), (size_t)each * sizeof(float));
    }
    return st;
}

/* Nothing happens where the backend has no memory of its own, or no room. */
static llap_status device_batches_create(ll_stage_trainer *l)
{
    ll_batch b = { 0 };
    if (l->r->backend->memory == NULL) return LLAP_OK;
    l->device_data = ll_new(1, sizeof *l->device_data);
    llap_status st = l->device_data == NULL ? LLAP_ENOMEM : device_batches_alloc(l, l->device_data);
    for (int64_t k = 0; k < l->r->n_batches && st == LLAP_OK; k++) {
        st = ll_reference_batch(l->r, k, &b);
        if (st == LLAP_OK) st = device_batches_put(l, l->device_data, k, &b);
    }
    if (st == LLAP_OK) st = ll_device_finish(l->r->backend);
    ll_batch_deinit(&b);
    if (st != LLAP_OK) device_destroy(l);
    return st == LLAP_ENOMEM ? LLAP_OK : st;
}

static llap_status device_batches_place(const ll_stage_trainer *l)
{
    const stage_device_batches *n = l->device_data;
    llap_status                 st = ll_session_place(l->train, INDEX, n->index);
    if (st == LLAP_OK) st = ll_session_place(l->train, IDS, n->ids);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", LL_SESSION_ROWS, l->of_batch[i]);
        st = ll_session_place(l->train, name, n->table[i]);
    }
    return st;
}

/* -------- the nets -------- */

/* As training begins with them. */
static llap_status make_params(ll_stage_trainer *l, ll_stage_trainer_start start)
{
    const ll_reference *r = l->r;
    ll_graph           *g = NULL;
    llap_status         st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_nn_train(g, l->describe(g, l, true), &l->how->optim);
        st = ll_params_create(g, r->backend, &l->params);
    }
    if (st == LLAP_OK) {
        ll_params_init(l->params, r->seed);
        if (start != NULL) start(l->params, r);
        ll_reference_start(r, l->params);
        st = ll_params_push(l->params);
    }
    ll_graph_destroy(g);
    return st;
}

static llap_status make_train(ll_stage_trainer *l)
{
    const int            n_threads = l->r->n_threads;
    const ll_train_attr *optim = &l->how->optim;
    ll_graph            *g = NULL;
    llap_status          st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *loss = l->describe(g, l, true);
    if (in_micro_batches(l)) {
        st = ll_session_create_micro_batch(g, loss, optim, l->params, n_threads, &l->train);
    } else {
        ll_nn_train(g, loss, optim);
        st = ll_session_create(g, l->params, n_threads, &l->train);
    }
    if (st == LLAP_OK && l->device_data != NULL) st = device_batches_place(l);
    ll_graph_destroy(g);
    return st;
}

static llap_status make_check(ll_stage_trainer *l)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) (void)l->describe(g, l, false);
    if (st == LLAP_OK) st = ll_session_create(g, l->params, l->r->n_threads, &l->check);
    ll_graph_destroy(g);
    return st;
}

static void destroy_nets(ll_stage_trainer *l)
{
    ll_session_destroy(l->train);
    ll_session_destroy(l->check);
    l->train = l->check = NULL;
}

static llap_status make_whole(ll_stage_trainer *l)
{
    llap_status st = make_check(l);
    if (st == LLAP_OK) st = device_batches_create(l);
    if (st == LLAP_OK) st = make_train(l);
    if (st != LLAP_ENOMEM || l->device_data == NULL) return st;
    device_destroy(l);
    return make_train(l);
}

/* A batch goes in equal parts, as few as there is room for. */
static llap_status make_micro_batches(ll_stage_trainer *l)
{
    const int64_t B = l->r->B;
    llap_status   st = LLAP_ENOMEM;
    for (int64_t n = 2; st == LLAP_ENOMEM && l->rows > 1; n *= 2) {
        destroy_nets(l);
        l->rows = n < B ? (B + n - 1) / n : 1;
        st = make_check(l);
        if (st == LLAP_OK) st = make_train(l);
    }
    if (st == LLAP_OK) ll_stage_in_micro_batches(l->r->o->log, l->name, l->r->backend, B, l->rows);
    return st;
}

/* -------- the stage -------- */

static llap_status fill(ll_stage_trainer *l, int64_t number, const ll_batch **b)
{
    const llap_status st = ll_batch_feed_at(&l->feed, number, b);
    if (st != LLAP_OK) return st;
    l->fill(l->r, *b, l->rows, l->train);
    if (l->vary != NULL) l->vary(l, *b, number, l->train);
    return st;
}

static llap_status make_ready(ll_stage_trainer *l, int64_t number)
{
    const ll_batch *b;
    if (l->ready == number) return LLAP_OK;
    const llap_status st = fill(l, number, &b);
    l->ready = st == LLAP_OK ? number : -1;
    return st;
}

static llap_status take_near(ll_stage_trainer *l, int64_t number)
{
    const int64_t B = l->r->B;
    if (l->vary != NULL) l->vary(l, NULL, number, l->train);
    return ll_epochs_take(&l->device_data->order, number * B, B, l->device_data->index);
}

/* The inputs of the micro-batch of b that begins with row `at`, but for those of the step. */
static ll_batch fill_micro_batch(const ll_stage_trainer *l, const ll_batch *b, int64_t at,
                                 ll_session *net)
{
    const int64_t  left = b->n_rows - at;
    const ll_batch micro_batch = ll_batch_view(b, at, left < l->rows ? left : l->rows);
    l->fill(l->r, &micro_batch, l->rows, net);
    if (in_micro_batches(l)) l->fill_whole(l->r, b, net);
    return micro_batch;
}

static void fill_train_micro_batch(const ll_stage_trainer *l, const ll_batch *b, int64_t at,
                                   int64_t number)
{
    const ll_batch micro_batch = fill_micro_batch(l, b, at, l->train);
    if (l->vary != NULL) l->vary(l, &micro_batch, number, l->train);
}

static llap_status step_in_micro_batches(ll_stage_trainer *l, int64_t number, double *loss,
                                         double *norm)
{
    const ll_batch *b;
    llap_status     st = ll_batch_feed_at(&l->feed, number, &b);
    for (int64_t at = 0; st == LLAP_OK && at < b->n_rows; at += l->rows) {
        fill_train_micro_batch(l, b, at, number);
        st = ll_session_add_micro_batch(l->train, l->params, number, at / l->rows, 1.0);
    }
    return st == LLAP_OK ? ll_session_finish_step(l->train, number, l->how->lr, loss, norm) : st;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    ll_stage_trainer *l = user;
    llap_status       st;
    if (in_micro_batches(l)) {
        st = step_in_micro_batches(l, number, loss, norm);
    } else {
        st = l->device_data != NULL ? take_near(l, number) : make_ready(l, number);
        if (st == LLAP_OK) st = ll_session_begin(l->train, l->params, number, l->how->lr);
        /* While a GPU computes, the next batch; it has its copy of this one. */
        if (st == LLAP_OK && l->device_data == NULL && l->r->backend->memory != NULL)
            st = make_ready(l, number + 1);
        if (st == LLAP_OK && loss != NULL) ll_session_end(l->train, loss, norm);
    }
    return st == LLAP_OK && loss == NULL ? ll_session_later(l->train, &l->results, number) : st;
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return ll_async_results_get(&((ll_stage_trainer *)user)->results, first, n, loss, norm);
}

llap_status ll_stage_trainer_check(ll_stage_trainer *l, const ll_batch *b, const char *const *names,
                                   int n, double *sum)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < n; i++) sum[i] = 0.0;
    for (int64_t at = 0; st == LLAP_OK && at < b->n_rows; at += l->rows) {
        (void)fill_micro_batch(l, b, at, l->check);
        st = ll_session_run(l->check);
        for (int i = 0; i < n && st == LLAP_OK; i++)
            sum[i] += ll_session_number(l->check, names[i]);
    }
    return st;
}

/* Piece after micro-batch, until one is found at fault. */
static llap_status non_finite_batch(ll_stage_trainer *l, int64_t number, char *text, size_t size)
{
    const ll_batch *b;
    char            known[512];
    llap_status     st = ll_batch_feed_at(&l->feed, number, &b);
    snprintf(known, sizeof known, "%s", text);
    for (int64_t at = 0; st == LLAP_OK && at < b->n_rows && strcmp(known, text) == 0;
         at += l->rows) {
        ll_graph *g = NULL;
        st = ll_graph_create(&g);
        fill_train_micro_batch(l, b, at, number);
        if (st == LLAP_OK)
            st = ll_session_find_non_finite(l->train, g, l->describe(g, l, true), l->params, text,
                                            size);
        ll_graph_destroy(g);
    }
    if (st == LLAP_OK) ll_frame_name_windows(&l->r->frame, b->end, b->n_rows, text, size);
    return st;
}

/* With all inputs here, where they can be looked at. */
static llap_status find_non_finite(void *user, int64_t number, char *text, size_t size)
{
    ll_stage_trainer     *l = user;
    stage_device_batches *device_data = l->device_data;
    l->ready = -1;
    if (device_data == NULL) return non_finite_batch(l, number, text, size);
    ll_session *train = l->train;
    l->device_data = NULL;
    l->train = NULL;
    llap_status st = make_train(l);
    if (st == LLAP_OK) st = non_finite_batch(l, number, text, size);
    ll_session_destroy(l->train);
    l->train = train;
    l->device_data = device_data;
    return st;
}

llap_status ll_stage_trainer_init(ll_stage_trainer *l, const ll_recipe_stage *how,
                                  ll_stage_trainer_start start, ll_stage *stage)
{
    const bool apart = l->r->backend->memory != NULL;
    l->how = how;
    l->rows = l->r->B;
    l->ready = -1;
    llap_status st = make_params(l, start);
    if (st == LLAP_OK) st = ll_async_results_init(&l->results, l->r->backend);
    if (st == LLAP_OK) st = ll_batch_feed_init(&l->feed, l->r);
    if (st == LLAP_OK) {
        st = make_whole(l);
        if (st == LLAP_ENOMEM && apart) st = make_micro_batches(l);
    }
    *stage = ll_stage_of(how);
    stage->name = l->name;
    stage->params = l->params;
    stage->user = l;
    stage->step = step;
    if (apart) stage->results = results;
    stage->find_non_finite = find_non_finite;
    return st;
}

llap_status ll_stage_trainer_run(ll_stage_trainer *l, ll_training_run *t, const ll_stage *stage)
{
    char              scope[32];
    const llap_status st = ll_training_run_stage(t, stage, NULL);
    snprintf(scope, sizeof scope, "%s.", l->name);
    return st == LLAP_OK ? ll_params_take(l->r->network->params, scope, l->params, scope) : st;
}

void ll_stage_trainer_deinit(ll_stage_trainer *l)
{
    ll_batch_feed_deinit(&l->feed);
    ll_batch_deinit(&l->val);
    ll_async_results_deinit(&l->results);
    destroy_nets(l);
    device_destroy(l);
    ll_params_destroy(l->params);
}
