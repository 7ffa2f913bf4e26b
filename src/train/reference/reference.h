/* src/train/reference: the `reference` profile: the paper's three stages, one after another.
 *
 *   reference.h      this file
 *   data.c           windows, split, scales, batches: what all stages look at
 *   stage_trainer.c  what stages 1 and 2 have in common
 *   vae.c            stage 1, the set-VAE
 *   summarizer.c     stage 2, the history summarizer
 *   encode.h         latents and summaries of the frozen networks, once
 *   diffusion.h      stage 3, the denoiser, in two files
 *   train.c          one after another, into a model
 *
 * Forecasts of such models are in predict (predict/reference.h). Letters: B rows of a batch, N
 * slots of a row, l context rows, h queries, D inputs, C targets.
 * May touch: base, base/rng, backend, backend/cpu, graph, nn, data, data/windows, networks,
 * diffusion, stack, fill, model, predict, predict/view, train/run, ranks. */
#ifndef LL_TRAIN_REFERENCE_REFERENCE_H
#define LL_TRAIN_REFERENCE_REFERENCE_H

#include "base/scratch.h"
#include "data/windows/loader.h"
#include "model/model.h"
#include "nn/loss_trainer.h"
#include "predict/reference.h"
#include "predict/reference_inputs.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

typedef struct ll_reference {
    const llap_train_opts *o;
    ll_network            *network; /* the container that everything ends in */
    bool                   started; /* it holds what the stages begin with; else fresh ones do */
    char                  *report;  /* of the stages, for the model; JSON */
    ll_recipe              recipe;
    ll_model_frame         frame;
    bool                   irregular; /* the preset for irregular data */
    int                    n_threads;
    const ll_backend      *backend; /* that the stages train on */
    const ll_backend      *exact;   /* the same in floats, for what the frozen networks give */
    uint64_t               seed;
    /* data */
    ll_windows      *windows;
    ll_split        *split;
    ll_scaling      *scaling;
    ll_scaled       *scaled;
    ll_example_list *train, *val;
    ll_batch_opts    batch;
    int64_t          groups;           /* of a batch */
    int64_t          B, N, l, h, D, C; /* B: the most rows of a batch of these groups */
    int64_t          n_batches;        /* of an epoch */
} ll_reference;

/* -------- data -------- */

/* Windows, scales and rows as the frame says; everything but network, o and frame is set. */
llap_status ll_reference_look(ll_reference *r, const llap_panel *p, const int64_t *var);
void        ll_reference_deinit(ll_reference *r);

/* The inputs of a batch in the sizes of training; present are slots with anything observed in their
 * context. */
void ll_reference_targets(const ll_reference *r, const ll_batch *b, int64_t B, float *y, float *obs,
                          float *ent); /* [B,h,N,C] twice, [B,N]; y may be NULL */
void ll_reference_history(const ll_reference *r, const ll_batch *b, int64_t B,
                          ll_session *net); /* "x", "dx", "seen", "ent", "dt"; and two of them: */
void ll_reference_seen(const ll_reference *r, const ll_batch *b, int64_t B, float *seen,
                       float *ent);
/* Batches of training in the order of the steps. */
typedef struct ll_batch_feed {
    ll_loader      *loader;
    int64_t         next; /* step whose batch comes next; -1: none */
    const ll_batch *now;
} ll_batch_feed;

/* Batch number k by time, as the feed has it at some step of each epoch. */
llap_status ll_reference_batch(const ll_reference *r, int64_t k, ll_batch *b);

llap_status ll_batch_feed_init(ll_batch_feed *f, const ll_reference *r);
void        ll_batch_feed_deinit(ll_batch_feed *f);
llap_status ll_batch_feed_at(ll_batch_feed *f, int64_t step, const ll_batch **out);

/* Batches of validation: all rows, or for small sizes some that are evenly spread. */
int64_t     ll_reference_val_batches(const ll_reference *r);
llap_status ll_reference_val(const ll_reference *r, int64_t i, ll_batch *b);

/* -------- the stages -------- */

/* A loss that is learned from batches of the data: the first member of its stage. Where the backend
 * has memory of its own and room for them, all batches lie there, and so does the order in which
 * steps take them; where it has no room for a batch at once, it goes in micro-batches. */
typedef struct ll_stage_trainer {
    const char   *name; /* of the stage, and before the names of its parameters */
    ll_reference *r;
    /* The loss, as an output too. */
    ll_tensor *(*describe)(ll_graph *g, const struct ll_stage_trainer *l, const ll_loss_of *what);
    /* Draws what is not as its layers say; NULL: nothing. */
    void (*start)(ll_params *p, const ll_reference *r);
    /* The inputs that hold b, in a net of B rows; their names, closed by NULL. */
    void (*fill)(const ll_reference *r, const ll_batch *b, int64_t B, ll_session *net);
    const char *const *of_batch;
    /* In micro-batches, those that hold what is known of the whole batch. */
    void (*fill_whole)(const ll_reference *r, const ll_batch *whole, ll_session *net);
    /* Those of step `number` of training, which learns from b (NULL: from what lies in device
     * memory). NULL where there are none. */
    void (*vary)(const struct ll_stage_trainer *l, const ll_batch *b, int64_t number,
                 ll_session *net);

    const ll_recipe_stage       *how;
    ll_loss_trainer             *trainer;
    ll_batch_feed                feed;
    struct stage_device_batches *device_data; /* the batches there; NULL: they come from the feed */
    ll_batch                     val;         /* room for a batch of validation */
} ll_stage_trainer;

/* Trainer and batches for a stage trainer that has its name, r and functions; and the stage, with
 * the stage trainer as its user, but for evaluate and fields. */
llap_status ll_stage_trainer_init(ll_stage_trainer *l, const ll_recipe_stage *how, ll_stage *stage);
/* To the end of the stage, whose result goes to the network. */
llap_status ll_stage_trainer_run(ll_stage_trainer *l, ll_training_run *t, const ll_stage *stage);
void        ll_stage_trainer_deinit(ll_stage_trainer *l); /* also after a failure */

/* For describe: an input of what->rows rows, taken from device memory where training has them
 * there; draws of such rows, NULL where none lie in device memory (they are inputs then); and in
 * micro-batches the input "all_NAME" of the whole batch, else NULL. */
ll_tensor *ll_stage_trainer_input(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                                  const char *name, ll_shape shape);
ll_tensor *ll_stage_trainer_draw(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                                 const ll_draw_attr *a);
ll_tensor *ll_stage_trainer_whole(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                                  const char *name, ll_shape shape);

/* Sums of the outputs of those names, for validation, over the micro-batches of b. */
llap_status ll_stage_trainer_check(ll_stage_trainer *l, const ll_batch *b, const char *const *names,
                                   int n, double *sum);

/* Where the container holds what stages begin with, copies what it has of theirs. What serves
 * training alone, such as the summarizer's decoder, is in no model and begins afresh. */
void ll_reference_start(const ll_reference *r, ll_params *params);

llap_status ll_reference_vae(ll_reference *r, ll_training_run *t);
llap_status ll_reference_summarizer(ll_reference *r, ll_training_run *t);
llap_status ll_reference_diffusion(ll_reference *r, ll_training_run *t);

/* All of it, with the options under "network" and "training" of config (or NULL); var [n_targets]
 * are the variables of the frame's targets. Caller owns *out. */
llap_status ll_reference_train(const llap_panel *p, const llap_train_opts *o, const ll_json *config,
                               const ll_model_frame *f, const int64_t *var,
                               const ll_backend *backend, llap_model **out);

#endif
