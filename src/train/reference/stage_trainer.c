/* What the first two stages have in common. */
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "nn/epochs.h"
#include "nn/optim.h"
#include "predict/view/frame.h"
#include "ranks/ranks.h"
#include "train/reference/reference.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <assert.h>
#include <stdio.h>

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

static ll_tensor *index_of(ll_graph *g, const ll_loss_of *what)
{
    return ll_input_int(g, INDEX, LL_SHAPE(what->rows));
}

ll_tensor *ll_stage_trainer_input(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                                  const char *name, ll_shape shape)
{
    char table[32];
    assert(shape.dim[0] == what->rows);
    if (!what->on_device || !what->training) return ll_input(g, name, shape);
    snprintf(table, sizeof table, "%s%s", LL_SESSION_ROWS, name);
    const int64_t width = ll_shape_count(&shape) / what->rows;
    ll_tensor    *all = ll_input(g, table, LL_SHAPE(device_rows(l), width));
    return ll_reshape(g, ll_embedding(g, all, index_of(g, what)), shape);
}

ll_tensor *ll_stage_trainer_draw(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                                 const ll_draw_attr *a)
{
    if (!what->on_device) return NULL;
    return ll_draw(g, ll_input_int(g, "key", LL_SHAPE(4)),
                   ll_input_int(g, IDS, LL_SHAPE(device_rows(l), 2)), index_of(g, what), a);
}

ll_tensor *ll_stage_trainer_whole(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                                  const char *name, ll_shape shape)
{
    char of_all[32];
    if (!what->micro) return NULL;
    snprintf(of_all, sizeof of_all, "all_%s", name);
    shape.dim[0] = l->r->B;
    return ll_input(g, of_all, shape);
}

static ll_tensor *describe(ll_graph *g, void *user, const ll_loss_of *what)
{
    const ll_stage_trainer *l = user;
    return l->describe(g, l, what);
}

/* -------- batches that lie in the backend's memory -------- */

static void leave(void *user)
{
    ll_stage_trainer     *l = user;
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

/* check: a net for validation, whose inputs have the sizes of the tables. */
static llap_status device_batches_alloc(ll_stage_trainer *l, stage_device_batches *n,
                                        const ll_session *check)
{
    const ll_reference *r = l->r;
    llap_status         st = ll_epochs_init(&n->order, r->backend, r->n_batches, r->B);
    n->order.user = l->feed.loader;
    if (r->recipe.data.shuffle) n->order.epoch_rng = epoch_rng;
    if (st == LLAP_OK) st = ll_device_alloc(r->backend, 4 * (size_t)r->B, &n->index);
    if (st == LLAP_OK) st = ll_device_alloc(r->backend, 8 * (size_t)device_rows(l), &n->ids);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        assert(i < TABLES);
        const size_t each = (size_t)ll_session_count(check, l->of_batch[i]) * sizeof(float);
        st = ll_device_alloc(r->backend, (size_t)r->n_batches * each, &n->table[i]);
    }
    return st;
}

/* Batch number k by time goes there, by way of the check's inputs. */
static llap_status device_batches_put(const ll_stage_trainer *l, stage_device_batches *n, int64_t k,
                                      const ll_batch *b, ll_session *check)
{
    const ll_backend *backend = l->r->backend;
    const int64_t     B = l->r->B;
    llap_status       st =
        ll_device_put(backend, (uint64_t *)n->ids + k * B, b->id, 8 * (size_t)b->n_examples);
    assert(k >= 0 && k < l->r->n_batches && b->n_examples <= B);
    l->fill(l->r, b, B, check);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        const int64_t each = ll_session_count(check, l->of_batch[i]);
        st = ll_device_put(backend, (float *)n->table[i] + k * each,
                           ll_session_real(check, l->of_batch[i]), (size_t)each * sizeof(float));
    }
    return st;
}

static llap_status move(void *user, ll_loss_trainer *trainer)
{
    ll_stage_trainer *l = user;
    ll_batch          b = { 0 };
    ll_session       *check = NULL;
    assert(l->device_data == NULL);
    l->device_data = ll_new(1, sizeof *l->device_data);
    llap_status st =
        l->device_data == NULL ? LLAP_ENOMEM : ll_loss_trainer_check_net(trainer, l->r->B, &check);
    if (st == LLAP_OK) st = device_batches_alloc(l, l->device_data, check);
    for (int64_t k = 0; k < l->r->n_batches && st == LLAP_OK; k++) {
        st = ll_reference_batch(l->r, k, &b);
        if (st == LLAP_OK) st = device_batches_put(l, l->device_data, k, &b, check);
    }
    if (st == LLAP_OK) st = ll_device_finish(l->r->backend);
    ll_batch_deinit(&b);
    return st;
}

static llap_status place(void *user, bool training, ll_session *net)
{
    const ll_stage_trainer     *l = user;
    const stage_device_batches *n = l->device_data;
    if (!training) return LLAP_OK;
    assert(n != NULL);
    llap_status st = ll_session_place(net, INDEX, n->index);
    if (st == LLAP_OK) st = ll_session_place(net, IDS, n->ids);
    for (int i = 0; l->of_batch[i] != NULL && st == LLAP_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", LL_SESSION_ROWS, l->of_batch[i]);
        st = ll_session_place(net, name, n->table[i]);
    }
    return st;
}

static llap_status take(void *user, int64_t number, ll_session *net)
{
    ll_stage_trainer *l = user;
    const int64_t     B = l->r->B;
    if (l->vary != NULL) l->vary(l, NULL, number, net);
    return ll_epochs_take(&l->device_data->order, number * B, B, l->device_data->index);
}

/* -------- the stage -------- */

/* As training begins with them. */
static llap_status start(void *user, ll_params *p)
{
    const ll_stage_trainer *l = user;
    ll_params_init(p, l->r->seed);
    if (l->start != NULL) l->start(p, l->r);
    ll_reference_start(l->r, p);
    return LLAP_OK;
}

static void say_split(void *user, int64_t rows)
{
    const ll_stage_trainer *l = user;
    ll_stage_in_micro_batches(l->r->o->log, l->name, l->r->backend, l->r->B, rows);
}

/* The inputs of a net of `room` rows for the rows of b from `first` on, but for those of a step. */
static ll_batch fill_rows(const ll_stage_trainer *l, const ll_batch *b, int64_t first, int64_t room,
                          ll_session *net)
{
    const int64_t  left = b->n_examples - first;
    const ll_batch part = ll_batch_view(b, first, left < room ? left : room);
    l->fill(l->r, &part, room, net);
    if (room < l->r->B) l->fill_whole(l->r, b, net);
    return part;
}

static llap_status fill(void *user, const ll_micro_batch *m, ll_session *net, double *share)
{
    ll_stage_trainer *l = user;
    const ll_batch   *b;
    (void)share; /* of losses that know the whole batch it is 1 */
    const llap_status st = ll_batch_feed_at(&l->feed, m->step, &b);
    if (st != LLAP_OK) return st;
    const ll_batch part = fill_rows(l, b, m->first, m->room, net);
    if (l->vary != NULL) l->vary(l, &part, m->step, net);
    return LLAP_OK;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    ll_stage_trainer *l = user;
    return ll_loss_trainer_step(l->trainer, number, l->how->lr, loss, norm);
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return ll_loss_trainer_results(((ll_stage_trainer *)user)->trainer, first, n, loss, norm);
}

/* Ranks share the micro-batches out; all add them in order. */
static llap_status check_once(ll_stage_trainer *l, const ll_batch *b, const char *const *names,
                              int n, double *sum)
{
    const ll_ranks *r = l->r->backend->memory == NULL ? ll_ranks_joined() : NULL;
    const int64_t   rows = ll_loss_trainer_rows(l->trainer),
                  parts = (b->n_examples + rows - 1) / rows;
    double     *found = ll_new((size_t)(parts * n), sizeof *found); /* [parts,n] */
    ll_session *net = NULL;
    int64_t     first, end;
    llap_status st =
        found == NULL ? LLAP_ENOMEM : ll_loss_trainer_check_net(l->trainer, rows, &net);
    ll_ranks_part(r, parts, &first, &end);
    for (int64_t k = first; k < end && st == LLAP_OK; k++) {
        (void)fill_rows(l, b, k * rows, rows, net);
        st = ll_session_run(net);
        for (int i = 0; i < n && st == LLAP_OK; i++)
            found[k * n + i] = ll_session_number(net, names[i]);
    }
    if (st == LLAP_OK) st = ll_ranks_spread(r, found, parts, (size_t)n * sizeof *found);
    for (int i = 0; i < n; i++) sum[i] = 0.0;
    for (int64_t k = 0; k < parts * n && st == LLAP_OK; k++) sum[k % n] += found[k];
    ll_free(found);
    return st;
}

llap_status ll_stage_trainer_check(ll_stage_trainer *l, const ll_batch *b, const char *const *names,
                                   int n, double *sum)
{
    llap_status st;
    do st = check_once(l, b, names, n, sum);
    while (st == LLAP_ENOMEM && ll_loss_trainer_save_memory(l->trainer) == LLAP_OK);
    return st;
}

static llap_status find_non_finite(void *user, int64_t number, char *text, size_t size)
{
    ll_stage_trainer *l = user;
    const ll_batch   *b;
    llap_status       st = ll_loss_trainer_find_non_finite(l->trainer, number, text, size);
    if (st == LLAP_OK) st = ll_batch_feed_at(&l->feed, number, &b);
    if (st == LLAP_OK) ll_frame_name_windows(&l->r->frame, b->end, b->n_examples, text, size);
    return st;
}

llap_status ll_stage_trainer_init(ll_stage_trainer *l, const ll_recipe_stage *how, ll_stage *stage)
{
    const ll_reference        *r = l->r;
    const ll_loss_trainer_opts o = { .backend = r->backend,
                                     .n_threads = r->n_threads,
                                     .optim = how->optim,
                                     .batch = r->B,
                                     .micro_batches = r->o->micro_batches,
                                     .ranks = ll_ranks_joined(),
                                     .user = l,
                                     .describe = describe,
                                     .start = start,
                                     .fill = fill,
                                     .split = say_split,
                                     .move = move,
                                     .leave = leave,
                                     .place = place,
                                     .take = take };
    l->how = how;
    llap_status st = ll_batch_feed_init(&l->feed, r);
    if (st == LLAP_OK) st = ll_loss_trainer_create(&o, &l->trainer);
    *stage = ll_stage_of(how);
    stage->rounds = 1;
    stage->compare = "it may end sooner; fewer `steps` take less";
    if (st != LLAP_OK) return st;
    stage->name = l->name;
    stage->params = ll_loss_trainer_params(l->trainer);
    stage->user = l;
    stage->step = step;
    if (r->backend->memory != NULL) stage->results = results;
    stage->find_non_finite = find_non_finite;
    return st;
}

llap_status ll_stage_trainer_run(ll_stage_trainer *l, ll_training_run *t, const ll_stage *stage)
{
    char              scope[32];
    const llap_status st = ll_training_run_stage(t, stage, NULL);
    snprintf(scope, sizeof scope, "%s.", l->name);
    return st == LLAP_OK ? ll_params_take(l->r->network->params, scope, stage->params, scope) : st;
}

void ll_stage_trainer_deinit(ll_stage_trainer *l)
{
    ll_loss_trainer_destroy(l->trainer);
    ll_batch_feed_deinit(&l->feed);
    ll_batch_deinit(&l->val);
}
