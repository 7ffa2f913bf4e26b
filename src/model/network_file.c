/* The networks in a model file: what network.h says is in it, and nothing else. The file is
 * hostile: nothing is allocated by what it claims before its tensors have been seen to be that
 * large. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/network_store.h"

#include <assert.h>
#include <string.h>

#define EMA "ema."

void ll_network_write_config(ll_json_writer *w, const ll_network *n)
{
    assert(n->n_inputs == n->config.n_inputs);
    ll_json_open(w, "network", '{');
    ll_network_config_write(w, &n->config);
    ll_json_open(w, "inputs", '[');
    for (int64_t i = 0; i < n->n_inputs; i++) ll_json_put_string(w, NULL, n->input[i]);
    ll_json_close(w, ']');
    ll_json_close(w, '}');
}

llap_status ll_network_save(const ll_network *n, ll_tensors_writer *w)
{
    llap_status st = ll_params_save(n->params, LL_PARAMS_MODEL, "", w);
    if (st == LLAP_OK) st = ll_params_save(n->params, LL_PARAMS_EMA, EMA, w);
    return st;
}

/* -------- loading -------- */

/* Every tensor that the configuration asks for is there in its shape. */
static llap_status check_leaves(const ll_graph *g, const ll_tensors *t, size_t *n)
{
    const int   leaves = ll_graph_n_leaves(g);
    llap_status st = LLAP_OK;
    *n = 0;
    for (int i = 0; i < leaves && st == LLAP_OK; i++) {
        const ll_leaf_info l = ll_graph_leaf(g, i);
        ll_tensor_info     info;
        if (l.leaf != LL_LEAF_PARAM && l.leaf != LL_LEAF_STATE) continue;
        st = ll_tensors_require(t, l.name, LL_F32, l.shape.rank, l.shape.dim, &info);
        ++*n;
    }
    return st;
}

static llap_status read_inputs(const ll_json *j, ll_network_config *c, const char ***input)
{
    size_t      n = 0;
    llap_status st = ll_json_need(j, "network.inputs");
    if (st == LLAP_OK) st = ll_json_strings(j, "network.inputs", input, &n);
    c->n_inputs = (int64_t)n;
    for (size_t i = 1; st == LLAP_OK && i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp((*input)[i], (*input)[k]) == 0)
                return ll_fail(LLAP_EFORMAT, "config: 'network.inputs': '%s' is there twice",
                               (*input)[i]);
    return st;
}

llap_status ll_network_read_config(const ll_json *j, ll_network_config *c, const char ***input)
{
    int         profile = -1;
    llap_status st = ll_json_need(j, "network.profile");
    if (st == LLAP_OK) st = ll_json_enum(j, "network.profile", ll_profile_names, &profile);
    if (st != LLAP_OK) return st;
    ll_network_config_base((ll_profile)profile, c);
    st = read_inputs(j, c, input);
    return st == LLAP_OK ? ll_network_config_read(j, "network", c) : st;
}

/* Deviations divide. */
static llap_status check_positive(const ll_network *n)
{
    static const char *const names[] = { "scale.x.std", "scale.y.std", "latent.std", "cond.std" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ll_param_info *p = ll_params_find(n->params, names[i]);
        const bool           zero = strcmp(names[i], "cond.std") == 0; /* 1e-6 is added to it */
        for (int64_t k = 0; p != NULL && k < p->count; k++) {
            const double v = ll_param_get(n->params, p, k);
            if (!(v > 0) && !(zero && v == 0))
                return ll_fail(LLAP_EFORMAT, "%s: element %lld is not positive", names[i],
                               (long long)k);
        }
    }
    return LLAP_OK;
}

llap_status ll_network_loaded(ll_network *n)
{
    const llap_status st = check_positive(n);
    return st == LLAP_OK ? ll_network_noise_loaded(n) : st;
}

/* The ignored beginnings, and what the averages' names begin with. */
static llap_status load_tensors(ll_network *n, const ll_tensors *t, const char *const *ignore)
{
    size_t count = 0;
    while (ignore[count] != NULL) count++;
    const char **most = ll_new(count + 2, sizeof *most);
    if (most == NULL) return LLAP_ENOMEM;
    memcpy((void *)most, (const void *)ignore, count * sizeof *most);
    most[count] = EMA;
    llap_status st = ll_params_load(n->params, LL_PARAMS_MODEL, t,
                                    &(ll_load_opts){ .ignore = (const char *const *)most });
    ll_free((void *)most);
    if (st == LLAP_OK)
        st = ll_params_load(n->params, LL_PARAMS_EMA, t, &(ll_load_opts){ .prefix = EMA });
    return st;
}

static llap_status load_into(const ll_network_config *c, const char *const *input,
                             const ll_tensors *t, const char *const *ignore, ll_network **out,
                             size_t *n_tensors)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_network_declare(g, c);
    st = ll_graph_status(g);
    if (st == LLAP_EINVAL) st = ll_fail_in(LLAP_EFORMAT, "network");
    if (st == LLAP_OK) st = check_leaves(g, t, n_tensors);
    if (st == LLAP_OK) st = ll_network_create_from(c, g, input, out);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = load_tensors(*out, t, ignore);
    if (st == LLAP_OK) st = ll_network_loaded(*out);
    return st;
}

llap_status ll_network_load(const ll_tensors *t, const ll_json *config, const char *const *ignore,
                            ll_network **out, size_t *n_tensors)
{
    ll_network_config c;
    const char      **input = NULL;
    *out = NULL;
    llap_status st = ll_network_read_config(config, &c, &input);
    if (st == LLAP_OK) st = load_into(&c, (const char *const *)input, t, ignore, out, n_tensors);
    ll_free((void *)input);
    if (st != LLAP_OK) {
        ll_network_destroy(*out);
        *out = NULL;
    }
    return st;
}
