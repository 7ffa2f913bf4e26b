/* What the first two stages have in common. */
#include "base/alloc.h"
#include "nn/optim.h"
#include "task/reference.h"

#include <stdio.h>

static llap_status make_train(task_lesson *l, const llap_train_attr *optim, task_lesson_start start)
{
    const task_reference *r = l->r;
    llap_graph           *g = NULL;
    llap_status           st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_nn_train(g, l->describe(g, r, true), optim);
        st = llap_params_create(g, r->backend, &l->params);
    }
    if (st == LLAP_OK) {
        llap_params_init(l->params, r->seed);
        if (start != NULL) start(l->params, r);
        task_reference_start(r, l->params);
        st = llap_params_push(l->params);
    }
    if (st == LLAP_OK) st = task_net_create(g, l->params, r->n_threads, &l->train);
    llap_graph_destroy(g);
    return st;
}

static llap_status make_check(task_lesson *l)
{
    llap_graph *g = NULL;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) (void)l->describe(g, l->r, false);
    if (st == LLAP_OK) st = task_net_create(g, l->params, l->r->n_threads, &l->check);
    llap_graph_destroy(g);
    return st;
}

static bool batches_stay(const task_lesson *l) { return l->r->backend->memory != NULL; }

/* The number by time of the batch that a step learns from. */
static int64_t batch_at(task_lesson *l, int64_t number)
{
    const int64_t epoch = number / l->r->n_batches;
    if (l->epoch != epoch) llap_loader_order(l->feed.loader, epoch, l->order);
    l->epoch = epoch;
    return l->order[number % l->r->n_batches];
}

/* Fills the inputs; of a batch that is there already only those of the step. */
static llap_status fill(task_lesson *l, int64_t number, bool there)
{
    const llap_batch *b = &l->own;
    llap_status       st = LLAP_OK;
    if (!batches_stay(l)) st = task_feed_at(&l->feed, number, &b);
    else if (!there) st = task_reference_batch(l->r, batch_at(l, number), &l->own);
    if (st == LLAP_OK && !there) l->fill(l->r, b, number, l->train);
    if (st == LLAP_OK && l->vary != NULL) l->vary(l->r, number, l->train);
    return st;
}

static llap_status make_ready(task_lesson *l, int64_t number)
{
    if (l->ready == number) return LLAP_OK;
    const bool        there = batches_stay(l) && task_net_at_batch(l->train, batch_at(l, number));
    const llap_status st = fill(l, number, there);
    l->ready = st == LLAP_OK ? number : -1;
    return st;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    task_lesson *l = user;
    llap_status  st = make_ready(l, number);
    if (st == LLAP_OK) st = task_net_begin(l->train, l->params, number, l->lr);
    if (st != LLAP_OK) return st;
    /* While a GPU computes, the next batch; it has its copy of this one. */
    if (llap_params_backend(l->params)->memory != NULL) st = make_ready(l, number + 1);
    if (loss == NULL) return st == LLAP_OK ? task_net_later(l->train, &l->ahead, number) : st;
    task_net_end(l->train, loss, norm);
    return st;
}

static llap_status results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    return llap_ahead_get(&((task_lesson *)user)->ahead, first, n, loss, norm);
}

static llap_status blame(void *user, int64_t number, char *text, size_t size)
{
    task_lesson *l = user;
    llap_graph  *g = NULL;
    llap_status  st = fill(l, number, false); /* the next one may be there already */
    l->ready = -1;
    if (st == LLAP_OK) st = llap_graph_create(&g);
    if (st == LLAP_OK)
        st = task_net_blame(l->train, g, l->describe(g, l->r, true), l->params, text, size);
    llap_graph_destroy(g);
    const llap_batch *b = batches_stay(l) ? &l->own : l->feed.now;
    if (b != NULL) task_name_windows(&l->r->frame, b->end, b->n_rows, text, size);
    return st;
}

llap_status task_lesson_init(task_lesson *l, const task_recipe_stage *how, task_lesson_start start,
                             task_stage *stage)
{
    llap_status st = make_train(l, &how->optim, start);
    if (st == LLAP_OK) st = make_check(l);
    if (st == LLAP_OK) st = llap_ahead_init(&l->ahead, l->r->backend);
    if (st == LLAP_OK) st = task_feed_init(&l->feed, l->r);
    if (st == LLAP_OK && batches_stay(l)) {
        l->order = llap_new((size_t)l->r->n_batches, sizeof *l->order);
        st = l->order == NULL ? LLAP_ENOMEM
                              : task_net_keep_batches(l->train, l->r->n_batches, l->of_batch);
    }
    l->epoch = -1;
    l->lr = how->lr;
    l->ready = -1;
    *stage = task_stage_of(how);
    stage->name = l->name;
    stage->params = l->params;
    stage->user = l;
    stage->step = step;
    if (l->r->backend->memory != NULL) stage->results = results;
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
    llap_batch_deinit(&l->own);
    llap_free(l->order);
    llap_ahead_deinit(&l->ahead);
    task_net_destroy(l->train);
    task_net_destroy(l->check);
    llap_params_destroy(l->params);
}
