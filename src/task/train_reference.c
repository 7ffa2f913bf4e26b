/* Training a model of the `reference` profile: its three stages one after another. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "task/reference.h"

#include <omp.h>
#include <string.h>
#include <sys/resource.h>

static llap_status parse_size(const char *text, llap_size *size)
{
    *size = LLAP_SIZE_TINY;
    if (text == NULL || strcmp(text, "tiny") == 0) return LLAP_OK;
    if (strcmp(text, "paper") != 0)
        return llap_fail(LLAP_EINVAL, "size: the reference profile has tiny and paper, found '%s'",
                         llap_text_show(text).text);
    *size = LLAP_SIZE_PAPER;
    return LLAP_OK;
}

static llap_status configure(const task_reference *r, llap_network_config *c)
{
    const llap_network_dims dims = { .entities = r->frame.n_entities,
                                     .inputs = r->D,
                                     .targets = r->C,
                                     .context = r->l,
                                     .irregular = r->irregular };
    llap_size               size;
    llap_status             st = parse_size(r->o->size, &size);
    if (st == LLAP_OK) st = llap_network_config_named(LLAP_PROFILE_REFERENCE, size, &dims, c);
    if (st != LLAP_OK) return st;
    if (r->frame.by_entity) { /* entities on their own are not told apart */
        c->vae.n_entities = 0;
        c->summarizer.n_entities = 1;
    }
    if (c->summarizer.tokens > r->l) c->summarizer.tokens = r->l;
    /* Of the training summaries: with those of a batch, a forecast would depend on which others are
     * asked for with it. */
    c->options.cond_norm = LLAP_COND_NORM_FIXED;
    return llap_network_config_check(c);
}

static void copy_scale(const task_reference *r, const char *name, const float *from)
{
    const llap_param_info *to = llap_params_find(r->network->params, name);
    memcpy(to->data, from, (size_t)to->count * sizeof *from);
}

static llap_status make_network(task_reference *r, const llap_panel *p)
{
    llap_network_config c;
    llap_status         st = configure(r, &c);
    if (st == LLAP_OK) st = llap_network_create(&c, p->var, &r->network);
    if (st == LLAP_OK) st = llap_network_start(r->network, r->seed, 0);
    if (st != LLAP_OK) return st;
    copy_scale(r, "scale.x.mean", r->scaling->x_mean);
    copy_scale(r, "scale.x.std", r->scaling->x_std);
    copy_scale(r, "scale.y.mean", r->scaling->y_mean);
    copy_scale(r, "scale.y.std", r->scaling->y_std);
    return LLAP_OK;
}

static llap_status train(task_reference *r, const llap_panel *p)
{
    task_training *t = NULL;
    llap_status    st = task_training_open(p, r->o, &r->network->config, &t);
    if (st == LLAP_OK)
        llap_logf(r->o->log, LLAP_LOG_INFO,
                  "reference: %lld rows of %lld entities, %lld batches an epoch",
                  (long long)r->train->n_rows, (long long)r->N, (long long)r->n_batches);
    if (st == LLAP_OK) st = task_reference_vae(r, t);
    if (st == LLAP_OK) st = task_reference_summarizer(r, t);
    if (st == LLAP_OK) st = task_reference_diffusion(r, t);
    task_training_destroy(t);
    struct rusage used;
    if (st == LLAP_OK && getrusage(RUSAGE_SELF, &used) == 0)
        llap_logf(r->o->log, LLAP_LOG_INFO, "peak memory %.2f GB",
                  (double)used.ru_maxrss * 1024e-9);
    return st;
}

llap_status task_reference_train(const llap_panel *p, const llap_train_opts *o,
                                 const llap_model_frame *f, const int64_t *var,
                                 const llap_backend *backend, llap_model **out)
{
    *out = NULL;
    task_reference r = { .o = o,
                         .frame = *f,
                         .seed = (uint64_t)o->seed,
                         .n_threads = omp_get_max_threads(),
                         .backend = backend };
    llap_status    st = task_reference_look(&r, p, var);
    if (st == LLAP_OK) st = make_network(&r, p);
    if (st == LLAP_OK) st = train(&r, p);
    if (st == LLAP_OK) st = llap_model_create(f, NULL, out);
    if (st == LLAP_OK) (*out)->network = r.network;
    else llap_network_destroy(r.network);
    task_reference_deinit(&r);
    return st;
}
