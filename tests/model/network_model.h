/* A model with networks for tests, and its file. */
#ifndef LLAP_TESTS_MODEL_NETWORK_MODEL_H
#define LLAP_TESTS_MODEL_NETWORK_MODEL_H

#include "folder.h"

#include "model/model.h"

#include <unistd.h>

static const char *const entities[] = { "a", "b", "c" };
static const char *const targets[] = { "no2" };
static const char *const inputs[] = { "no2", "wind" };

enum { N = 3, C = 1, D = 2, CONTEXT = 20 };

static ll_network_config named(ll_profile profile, ll_size size)
{
    const ll_network_dims d = { .entities = N,
                                .inputs = D,
                                .targets = C,
                                .context = CONTEXT,
                                .latent = profile == LL_PROFILE_DEFAULT ? N * C : 0,
                                .tokens = 5,
                                .token_dim = 11,
                                .query_features = 8 };
    ll_network_config     c;
    CHECK_OK(ll_network_config_named(profile, size, &d, &c));
    return c;
}

static ll_anchor_model *make_anchor(void)
{
    enum { ROWS = 40 };
    double    t[ROWS], y[ROWS];
    ll_series s[N];
    for (int i = 0; i < ROWS; i++) t[i] = i, y[i] = sin(i) + 0.1 * i;
    for (int e = 0; e < N; e++) s[e] = (ll_series){ .n = ROWS, .t = t, .y = y };
    ll_chain     *chain = NULL;
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    o.climate = false;
    CHECK_OK(ll_chain_fit(s, N, &o, &chain));
    const ll_anchor_kernel k = {
        .n_terms = 1, .a = { 1 }, .rho = { 0.1 }, .omega = { 0 }, .nu = 0.1, .jitter = 1e-4
    };
    ll_anchor_model *a = NULL;
    CHECK_OK(ll_anchor_model_create(&(ll_anchor_spec){ .context = CONTEXT, .horizon = 4 }, chain,
                                    &k, 4, &a));
    return a;
}

/* With fresh networks. */
static llap_model *make_model(const ll_network_config *c)
{
    const ll_model_frame f = { .n_targets = C,
                               .n_entities = N,
                               .target = targets,
                               .entity = entities,
                               .axis = LL_AXIS_NUMBER,
                               .axis_unit = 1,
                               .unit = 1,
                               .context = CONTEXT,
                               .horizon = 4,
                               .step = 1,
                               .val_start = 10,
                               .test_start = 20 };
    ll_anchor_model    **anchor = NULL;
    llap_model          *m = NULL;
    if (c->profile == LL_PROFILE_DEFAULT) {
        anchor = ll_new(C, sizeof *anchor);
        anchor[0] = make_anchor();
    }
    CHECK_OK(ll_model_create(&f, anchor, &m));
    CHECK_OK(ll_network_create(c, inputs, &m->network));
    CHECK_OK(ll_network_start(m->network, 7, 1.0));
    return m;
}

static void make_file(const ll_network_config *c, const char *name)
{
    llap_model *m = make_model(c);
    CHECK_OK(llap_model_save(m, in_folder(name)));
    llap_model_destroy(m);
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(ll_alloc_live(), 0); /* nothing is left */
    static const char *const names[] = { "one", "two", "good", "bad" };
    for (int i = 0; i < 4; i++) (void)unlink(in_folder(names[i]));
    return rmdir(folder);
}

#endif
