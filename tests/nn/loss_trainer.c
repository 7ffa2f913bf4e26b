/* One loss, trained here, and behind a wall with all rows there, with copied rows and in
 * micro-batches: the same steps. */
#include "apart.h"

#include "nn/epochs.h"
#include "nn/loss_trainer.h"
#include "nn/nn.h"

#include <math.h>
#include <string.h>

enum { N = 30, D = 3, BATCH = 12, STEPS = 7 }; /* batches of 12, 12 and 6 rows, in order */

typedef struct world {
    const ll_backend *b;
    float             x[N * D], y[N];
    void             *device_x, *device_y, *device_index;
    ll_epochs         order;
    int64_t           said;     /* rows of a micro-batch, as the trainer has told them */
    int               n_filled; /* calls of fill */
    ll_loss_trainer  *t;
} world;

static int64_t count(void *user, int64_t step)
{
    (void)user;
    return step % 3 == 2 ? N - 2 * BATCH : BATCH;
}

static ll_tensor *rows_of(ll_graph *g, const char *name, int64_t width, const ll_loss_of *what)
{
    char table[32];
    if (!what->on_device) return ll_input(g, name, LL_SHAPE(what->rows, width));
    snprintf(table, sizeof table, LL_SESSION_ROWS "%s", name);
    return ll_embedding(g, ll_input(g, table, LL_SHAPE(N, width)),
                        ll_input_int(g, LL_SESSION_ROWS "index", LL_SHAPE(what->rows)));
}

static ll_tensor *describe(ll_graph *g, void *user, const ll_loss_of *what)
{
    (void)user;
    ll_tensor *h = ll_tanh(g, ll_nn_linear(g, "in", rows_of(g, "x", D, what), 5));
    ll_tensor *y = rows_of(g, "y", 1, what);
    ll_tensor *m = what->micro ? ll_input(g, "mask", LL_SHAPE(what->rows, 1))
                               : ll_full(g, LL_SHAPE(what->rows, 1), 1.0);
    ll_tensor *loss = ll_nn_masked_mse(g, ll_nn_linear(g, "out", h, 1), y, m, LL_ALL_AXES);
    ll_output(g, "loss", loss);
    return loss;
}

static llap_status start(void *user, ll_params *p)
{
    (void)user;
    ll_params_init(p, 3);
    ll_params_start_ema(p);
    return LLAP_OK;
}

static llap_status fill(void *user, const ll_micro_batch *b, ll_session *net, double *share)
{
    world        *w = user;
    const int64_t first = b->step % 3 * BATCH + b->first;
    float        *mask = ll_session_real(net, "mask");
    w->n_filled++;
    assert_int_equal(b->count, count(user, b->step));
    assert_true(b->first + b->rows <= b->count && b->rows <= b->room);
    memcpy(ll_session_real(net, "x"), w->x + first * D, (size_t)(b->rows * D) * sizeof(float));
    memcpy(ll_session_real(net, "y"), w->y + first, (size_t)b->rows * sizeof(float));
    for (int64_t i = 0; mask != NULL && i < b->room; i++) mask[i] = i < b->rows ? 1.0f : 0.0f;
    *share = (double)b->rows / (double)b->count;
    return LLAP_OK;
}

static void split(void *user, int64_t rows) { ((world *)user)->said = rows; }

static llap_status put(const world *w, const void *from, size_t n, void **device)
{
    const llap_status st = ll_device_alloc(w->b, n, device);
    return st == LLAP_OK ? ll_device_put(w->b, *device, from, n) : st;
}

static llap_status move(void *user, ll_loss_trainer *t)
{
    world *w = user;
    (void)t;
    llap_status st = put(w, w->x, sizeof w->x, &w->device_x);
    if (st == LLAP_OK) st = put(w, w->y, sizeof w->y, &w->device_y);
    if (st == LLAP_OK) st = ll_device_alloc(w->b, 4 * BATCH, &w->device_index);
    return st == LLAP_OK ? ll_epochs_init(&w->order, w->b, N, 1) : st;
}

static void leave(void *user)
{
    world *w = user;
    ll_device_release(w->b, w->device_x);
    ll_device_release(w->b, w->device_y);
    ll_device_release(w->b, w->device_index);
    ll_epochs_deinit(&w->order);
    w->device_x = w->device_y = w->device_index = NULL;
}

static llap_status place(void *user, bool training, ll_session *net)
{
    const world *w = user;
    (void)training;
    llap_status st = ll_session_place(net, LL_SESSION_ROWS "x", w->device_x);
    if (st == LLAP_OK) st = ll_session_place(net, LL_SESSION_ROWS "y", w->device_y);
    return st == LLAP_OK ? ll_session_place(net, LL_SESSION_ROWS "index", w->device_index) : st;
}

static llap_status take(void *user, int64_t step, ll_session *net)
{
    world *w = user;
    (void)net;
    return ll_epochs_take(&w->order, step % 3 * BATCH, count(user, step), w->device_index);
}

static void open_world_of(world *w, const ll_backend *b, int64_t micro_batches)
{
    const ll_loss_trainer_opts o = { .backend = b,
                                     .n_threads = 1,
                                     .optim = LL_TRAIN_DEFAULT,
                                     .batch = BATCH,
                                     .micro_batches = micro_batches,
                                     .user = w,
                                     .describe = describe,
                                     .start = start,
                                     .count = count,
                                     .fill = fill,
                                     .split = split,
                                     .move = move,
                                     .leave = leave,
                                     .place = place,
                                     .take = take };
    *w = (world){ .b = b };
    for (int i = 0; i < N * D; i++) w->x[i] = sinf(1.7f * (float)i);
    for (int i = 0; i < N; i++) w->y[i] = w->x[i * D] - 0.5f * w->x[i * D + 1];
    CHECK_OK(ll_loss_trainer_create(&o, &w->t));
}

static void open_world(world *w, const ll_backend *b) { open_world_of(w, b, 0); }

/* The steps, by twos ahead or one by one; how often memory is to be saved. */
static void train(const ll_backend *b, int n_saved, bool ahead, double *loss, double *norm)
{
    world w;
    open_world(&w, b);
    assert_int_equal(ll_loss_trainer_on_device(w.t), b->memory != NULL);
    for (int i = 0; i < n_saved; i++) CHECK_OK(ll_loss_trainer_save_memory(w.t));
    assert_int_equal(ll_loss_trainer_on_device(w.t), b->memory != NULL && n_saved == 0);
    for (int64_t i = 0; i < STEPS; i++)
        CHECK_OK(ll_loss_trainer_step(w.t, i, 0.01, ahead ? NULL : loss + i, norm + i));
    if (ahead) CHECK_OK(ll_loss_trainer_results(w.t, 0, STEPS, loss, norm));
    assert_int_equal(ll_loss_trainer_rows(w.t), n_saved > 1 ? BATCH >> (n_saved - 1) : BATCH);
    assert_int_equal(w.said, n_saved > 1 ? BATCH >> (n_saved - 1) : 0);
    assert_int_equal(w.n_filled == 0, b->memory != NULL && n_saved == 0);
    ll_loss_trainer_destroy(w.t);
    assert_null(w.device_x);
}

static void memory_changes_nothing(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    double           loss[STEPS], norm[STEPS], found[STEPS], found_norm[STEPS];
    train(&ll_backend_cpu, 0, false, loss, norm);
    assert_true(loss[STEPS - 1] < loss[0] && norm[0] > 0);
    for (int saved = 0; saved < 4; saved++)
        for (int ahead = 0; ahead < 2; ahead++) {
            train(&b, saved, ahead == 1, found, found_norm);
            for (int i = 0; i < STEPS; i++) { /* micro-batches are added in another order */
                const double tol = saved < 2 ? 0.0 : 1e-5;
                assert_true(fabs(found[i] - loss[i]) <= tol * loss[i]);
                assert_true(fabs(found_norm[i] - norm[i]) <= tol * norm[i]);
            }
        }
}

/* A fixed number of them: as the whole batch but for rounding, the same bytes wherever memory is,
 * also where a batch does not have all of them. Less memory would be another number. */
static void fixed_micro_batches(void **state)
{
    (void)state;
    const ll_backend        apart = apart_backend();
    const ll_backend *const backend[] = { &ll_backend_cpu, &apart };
    double                  whole[STEPS], whole_norm[STEPS], loss[2][STEPS], norm[2][STEPS];
    train(&ll_backend_cpu, 0, false, whole, whole_norm);
    for (int64_t n = 2; n <= 8; n *= 2) {
        for (int k = 0; k < 2; k++) {
            world w;
            open_world_of(&w, backend[k], n);
            assert_int_equal(ll_loss_trainer_rows(w.t), (BATCH + n - 1) / n);
            for (int64_t i = 0; i < STEPS; i++)
                CHECK_OK(ll_loss_trainer_step(w.t, i, 0.01, loss[k] + i, norm[k] + i));
            assert_int_equal(ll_loss_trainer_save_memory(w.t), LLAP_ENOMEM);
            assert_false(ll_loss_trainer_on_device(w.t));
            assert_int_equal(w.said, 0); /* it is as asked for */
            ll_loss_trainer_destroy(w.t);
        }
        assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
        assert_memory_equal(norm[0], norm[1], sizeof norm[0]);
        for (int i = 0; i < STEPS; i++) {
            assert_true(fabs(loss[0][i] - whole[i]) <= 1e-5 * whole[i]);
            assert_true(fabs(norm[0][i] - whole_norm[i]) <= 1e-5 * whole_norm[i]);
        }
    }
}

static llap_status make_and_step_fixed(void *user)
{
    const ll_loss_trainer_opts o = { .backend = &ll_backend_cpu,
                                     .n_threads = 1,
                                     .optim = LL_TRAIN_DEFAULT,
                                     .batch = BATCH,
                                     .micro_batches = 4,
                                     .user = user,
                                     .describe = describe,
                                     .start = start,
                                     .count = count,
                                     .fill = fill };
    world                     *w = user;
    double                     loss, norm;
    llap_status                st = ll_loss_trainer_create(&o, &w->t);
    if (st == LLAP_OK) st = ll_loss_trainer_step(w->t, 0, 0.01, &loss, &norm);
    ll_loss_trainer_destroy(w->t);
    return st;
}

static void fixed_micro_batches_without_memory(void **state)
{
    (void)state;
    world w;
    open_world(&w, &ll_backend_cpu); /* for its data */
    ll_loss_trainer_destroy(w.t);
    check_every_failed_allocation(make_and_step_fixed, &w);
}

/* Down to one row; what does not fit then is said, and a batch is one again. */
static void memory_ends(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    world            w;
    double           loss, norm;
    open_world(&w, &b);
    for (int i = 0; i < 5; i++) CHECK_OK(ll_loss_trainer_save_memory(w.t));
    assert_int_equal(ll_loss_trainer_rows(w.t), 1);
    apart_state.limit = 1;
    assert_int_equal(ll_loss_trainer_step(w.t, 0, 0.01, &loss, &norm), LLAP_ENOMEM);
    apart_state.limit = 0;
    assert_int_equal(ll_loss_trainer_rows(w.t), BATCH);
    CHECK_OK(ll_loss_trainer_step(w.t, 0, 0.01, &loss, &norm));
    assert_true(isfinite(loss) && w.said == 0);
    for (int i = 0; i < 4; i++) CHECK_OK(ll_loss_trainer_save_memory(w.t));
    CHECK_OK(ll_loss_trainer_step(w.t, 1, 0.01, &loss, &norm));
    assert_int_equal(w.said, 1);
    assert_int_equal(ll_loss_trainer_save_memory(w.t), LLAP_ENOMEM);
    CHECK_OK(ll_loss_trainer_step(w.t, 2, 0.01, &loss, &norm));
    assert_int_equal(w.said, 1); /* of whole batches nothing is said */
    ll_loss_trainer_destroy(w.t);
    open_world(&w, &ll_backend_cpu);
    assert_int_equal(ll_loss_trainer_save_memory(w.t), LLAP_ENOMEM);
    ll_loss_trainer_destroy(w.t);
}

/* In a whole batch, and where it is the last micro-batch. */
static void bad_steps_are_named(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    for (int saved = 0; saved < 4; saved++) {
        world  w;
        double loss, norm;
        char   text[200] = "nothing";
        open_world(&w, &b);
        for (int i = 0; i < saved; i++) CHECK_OK(ll_loss_trainer_save_memory(w.t));
        CHECK_OK(ll_loss_trainer_step(w.t, 0, 0.01, &loss, &norm));
        CHECK_OK(ll_loss_trainer_find_non_finite(w.t, 0, text, sizeof text));
        assert_string_equal(text, "nothing");
        w.y[N - 1] = NAN;
        CHECK_OK(ll_loss_trainer_find_non_finite(w.t, 5, text, sizeof text));
        assert_string_equal(text, "input 'y' is not finite");
        w.y[N - 1] = 1e30f;
        CHECK_OK(ll_loss_trainer_find_non_finite(w.t, 5, text, sizeof text));
        assert_non_null(strstr(text, "the loss is not finite"));
        ll_loss_trainer_destroy(w.t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_changes_nothing),
                                        cmocka_unit_test(fixed_micro_batches),
                                        cmocka_unit_test(fixed_micro_batches_without_memory),
                                        cmocka_unit_test(memory_ends),
                                        cmocka_unit_test(bad_steps_are_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
