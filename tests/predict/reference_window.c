/* The reference profile: a window is the same to the networks whether training encodes it or a
 * forecast is made from it. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "model/model.h"
#include "networks/conditioning.h"
#include "predict/forecaster.h"
#include "predict/reference.h"
#include "train/reference/encode.h"
#include "train/reference/reference.h"

enum { D = 3, STATIONS = 3, PATIENTS = 12, HOURS = 130, READS = 30, QUIET = 50, CONTEXT = 12 };
#define HOUR INT64_C(3600000000000)

static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l" };

static llap_panel *new_panel(int64_t entities, int64_t rows, ll_panel_draft *d)
{
    static const char *const var[] = { "u", "v", "w" };
    static int64_t           start[PATIENTS + 1];
    llap_panel              *p;
    for (int64_t e = 0; e <= entities; e++) start[e] = e * rows;
    *d = (ll_panel_draft){ .axis = LL_AXIS_UTC,
                           .n_entities = entities,
                           .n_vars = D,
                           .entity = names,
                           .var = var,
                           .start = start };
    CHECK_OK(ll_panel_create(d, &p));
    return p;
}

/* Cells of row i: some are missing, some filled, one far away. */
static void set_row(const ll_panel_draft *d, int64_t i, bool quiet)
{
    for (int64_t v = 0; v < D; v++) {
        const bool gone = (i * 7 + v * 3) % 11 == 0;
        if (gone && i % 2 == 0) continue;
        d->value[i * D + v] = (float)(sin(0.26 * (double)i) + 0.3 * cos(1.7 * (double)(i + v)));
        if (i == 95) d->value[i * D + v] = 1e3f;
        if (!gone && !quiet) ll_bit_set(d->observed, i * D + v);
    }
}

/* Stations on a grid. Everything that the last one says over a context is filled. */
static llap_panel *stations(void)
{
    ll_panel_draft d;
    llap_panel    *p = new_panel(STATIONS, HOURS, &d);
    for (int64_t i = 0; i < STATIONS * HOURS; i++) {
        const int64_t hour = i % HOURS;
        d.time[i] = hour * HOUR;
        set_row(&d, i,
                i / HOURS == STATIONS - 1 && hour > HOURS - QUIET &&
                    hour <= HOURS - QUIET + CONTEXT);
    }
    return p;
}

/* Patients seen at odd times. */
static llap_panel *patients(void)
{
    ll_panel_draft d;
    llap_panel    *p = new_panel(PATIENTS, READS, &d);
    for (int64_t i = 0; i < PATIENTS * READS; i++) {
        const int64_t k = i % READS;
        d.time[i] = (k + k * k % 5) * HOUR + i * 17 % 900 * (HOUR / 1000);
        if (k > 0 && d.time[i] <= d.time[i - 1]) d.time[i] = d.time[i - 1] + HOUR / 7;
        set_row(&d, i, false);
    }
    return p;
}

/* What training makes of E_raw [n,S,H]. */
static void normalise(const ll_network *net, const float *E_raw, int64_t n, float *E)
{
    const int64_t  S = net->config.summarizer.tokens, H = net->config.summarizer.width;
    const bool     fixed = net->config.options.cond_norm == LL_COND_NORM_FIXED;
    ll_graph      *g;
    ll_session    *k;
    const ll_shape each = LL_SHAPE(H);
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *in = ll_input(g, "E_raw", LL_SHAPE(n, S, H));
    ll_tensor *mean = fixed ? ll_state(g, "cond.mean", each, LL_INIT_ZERO) : NULL;
    ll_tensor *std = fixed ? ll_state(g, "cond.std", each, LL_INIT_ZERO) : NULL;
    ll_output(g, "E", ll_context_normalise(g, in, mean, std));
    CHECK_OK(ll_session_create(g, net->params, &ll_backend_cpu, 1, &k));
    memcpy(ll_session_real(k, "E_raw"), E_raw, (size_t)(n * S * H) * sizeof *E_raw);
    CHECK_OK(ll_session_run(k));
    memcpy(E, ll_session_output(k, "E"), (size_t)(n * S * H) * sizeof *E);
    ll_session_destroy(k);
    ll_graph_destroy(g);
}

typedef struct counts {
    int64_t rows, empty; /* and slots without anything observed in their context */
} counts;

/* The rows of one part both ways. */
static void compare(const ll_reference *r, const ll_example_list *rows, const ll_forecaster *f,
                    counts *n)
{
    const ll_network_config *c = &r->network->config;
    const int64_t            each = c->summarizer.tokens * c->summarizer.width;
    const size_t             bytes = (size_t)each * sizeof(float);
    float                   *E = ll_new(3 * (size_t)each, sizeof *E);
    ll_encoded               e = { 0 };
    ll_batch                 b = { 0 };
    CHECK_OK(ll_encode(r, rows, 0, "test", &e));
    for (int64_t i = 0; i < rows->n_examples; i++) {
        const ll_window *w = &r->windows->at[rows->member[rows->first[i]]];
        /* A window is cut where something comes later, a forecast cannot know. */
        if (rows->first[i + 1] - rows->first[i] < rows->n_slots) continue;
        CHECK_OK(ll_batch_fill(&b, rows, r->scaled, &r->batch, &i, 1));
        for (int64_t k = 0; k < rows->n_slots; k++) n->empty += !b.valid[k];
        CHECK_OK(ll_reference_summarise(f, w->entity, e.end[i], E, E + each));
        assert_memory_equal(E + each, e.E_raw + i * each, bytes);
        normalise(r->network, e.E_raw + i * each, 1, E + 2 * each);
        assert_memory_equal(E, E + 2 * each, bytes);
        n->rows++;
    }
    ll_batch_deinit(&b);
    ll_scratch_deinit(&e.block);
    ll_free(E);
}

static counts both_ways(llap_panel *p, bool alone, bool of_batch)
{
    llap_train_opts o = { 0 };
    llap_model     *m;
    counts          n = { 0 };
    o.target = "v", o.context = "12h", o.horizon = "4h", o.profile = LLAP_TRAIN_PROFILE_REFERENCE;
    o.steps = 12, o.batch = 5, o.seed = 3;
    if (alone) o.split = LLAP_TRAIN_SPLIT_ENTITY;
    CHECK_OK(llap_train(p, &o, &m));
    if (of_batch) m->network->config.options.cond_norm = LL_COND_NORM_BATCH;
    const int64_t var = ll_panel_find_var(p, "v");
    ll_forecaster f;
    ll_reference  r = { .o = &o,
                        .network = m->network,
                        .frame = m->frame,
                        .backend = &ll_backend_cpu,
                        .exact = &ll_backend_cpu,
                        .n_threads = 1 };
    CHECK_OK(ll_reference_look(&r, p, &var));
    CHECK_OK(ll_reference_forecaster(m, p, &var, &ll_backend_cpu, &f));
    compare(&r, r.train, &f, &n);
    compare(&r, r.val, &f, &n);
    ll_forecaster_deinit(&f);
    ll_reference_deinit(&r);
    llap_model_destroy(m);
    llap_panel_destroy(p);
    return n;
}

static void a_window_has_one_summary(void **state)
{
    (void)state;
    for (int of_batch = 0; of_batch < 2; of_batch++) {
        const counts n = both_ways(stations(), false, of_batch);
        assert_true(n.rows > 60);
        assert_true(n.empty > 0);
    }
}

static void so_has_one_of_an_entity_by_itself(void **state)
{
    (void)state;
    const counts n = both_ways(patients(), true, false);
    assert_true(n.rows > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_has_one_summary),
        cmocka_unit_test(so_has_one_of_an_entity_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
