/* The `reference` profile: three stages as the protocol has them, and forecasts from their result.
 *
 *   reference_data.c       windows, split, scales, batches: what all stages look at
 *   reference_lesson.c     what stages 1 and 2 have in common
 *   reference_vae.c        stage 1, the target VAE
 *   reference_summarizer.c stage 2, the history summarizer
 *   reference_encode.c     latents and summaries of the frozen networks, once
 *   reference_diffusion.c  stage 3, the denoiser, in three files (reference_diffusion.h)
 *   train_reference.c      one after another, into a model
 *   reference_nets.c       the nets that forecasts need, and what they see
 *   forecaster_reference.c the model as a forecaster
 *
 * Letters: B rows of a batch, N slots of a row, l context rows, h queries, D inputs, C targets. */
#ifndef LLAP_TASK_REFERENCE_H
#define LLAP_TASK_REFERENCE_H

#include "base/scratch.h"
#include "data/loader.h"
#include "model/model.h"
#include "task/forecaster.h"
#include "task/net.h"
#include "task/recipe.h"
#include "task/training.h"

typedef struct task_reference {
    const llap_train_opts *o;
    llap_network          *network; /* the container that everything ends in */
    bool                   started; /* it holds what the stages begin with; else fresh ones do */
    char                  *report;  /* of the stages, for the model; JSON */
    task_recipe            recipe;
    llap_model_frame       frame;
    bool                   irregular; /* the preset for irregular data */
    int                    n_threads;
    const llap_backend    *backend; /* that the stages train on */
    const llap_backend    *exact;   /* the same in floats, for what the frozen networks give */
    uint64_t               seed;
    /* data */
    llap_windows   *windows;
    llap_split     *split;
    llap_scaling   *scaling;
    llap_scaled    *scaled;
    llap_rows      *train, *val;
    llap_batch_opts batch;
    int64_t         groups;           /* of a batch */
    int64_t         B, N, l, h, D, C; /* B: the most rows of a batch of these groups */
    int64_t         n_batches;        /* of an epoch */
} task_reference;

/* -------- data -------- */

/* Windows, scales and rows as the frame says; everything but network, o and frame is set. */
llap_status task_reference_look(task_reference *r, const llap_panel *p, const int64_t *var);
void        task_reference_deinit(task_reference *r);

/* The networks' inputs from a batch, rows beyond those of the batch absent (zero). */
void task_reference_targets(const task_reference *r, const llap_batch *b, int64_t B, float *y,
                            float *obs, float *ent); /* [B,h,N,C] twice, [B,N]; y may be NULL */
void task_reference_history(const task_reference *r, const llap_batch *b, int64_t B,
                            task_net *net); /* "x", "dx", "seen", "ent", "dt"; and two of them: */
void task_reference_seen(const task_reference *r, const llap_batch *b, int64_t B, float *seen,
                         float *ent);
/* Adds those inputs to a graph, and the summarizer in scope "summarizer"; with the adapter where
 * the model has one. */
llap_summary task_reference_summary(llap_graph *g, const llap_network_config *c, int64_t B,
                                    bool training);
/* The same of inputs from elsewhere. */
llap_summary task_reference_summary_of(llap_graph *g, const llap_network_config *c,
                                       const llap_history *in, bool training);

/* Batches of training in the order of the steps. */
typedef struct task_feed {
    llap_loader      *loader;
    int64_t           next; /* step whose batch comes next; -1: none */
    const llap_batch *now;
} task_feed;

/* Batch number k by time, as the feed has it at some step of each epoch. */
llap_status task_reference_batch(const task_reference *r, int64_t k, llap_batch *b);

llap_status task_feed_init(task_feed *f, const task_reference *r);
void        task_feed_deinit(task_feed *f);
llap_status task_feed_at(task_feed *f, int64_t step, const llap_batch **out);

/* Batches of validation: all rows, or for small sizes some that are evenly spread. */
int64_t     task_reference_val_batches(const task_reference *r);
llap_status task_reference_val(const task_reference *r, int64_t i, llap_batch *b);

/* -------- the stages -------- */

/* A loss that is learned from batches of the data: the first member of its stage. Where the backend
 * has memory of its own and room for them, all batches lie there, and so does the order in which
 * steps take them; where it has no room for a batch at once, batches go in pieces. */
typedef struct task_lesson {
    const char     *name; /* of the stage, and before the names of its parameters */
    task_reference *r;
    /* The loss of l->rows rows, as an output too. */
    llap_tensor *(*describe)(llap_graph *g, const struct task_lesson *l, bool training);
    /* The inputs that hold b, in a net of B rows; their names, closed by NULL. */
    void (*fill)(const task_reference *r, const llap_batch *b, int64_t B, task_net *net);
    const char *const *of_batch;
    /* In pieces, those that hold what is known of the whole batch. */
    void (*fill_whole)(const task_reference *r, const llap_batch *whole, task_net *net);
    /* Those of step `number` of training, which learns from b (NULL: from what lies near). NULL
     * where there are none. */
    void (*vary)(const struct task_lesson *l, const llap_batch *b, int64_t number, task_net *net);

    const task_recipe_stage *how;
    llap_params             *params;
    task_net                *train, *check;
    int64_t                  rows; /* of both: r->B, or of a piece */
    task_feed                feed;
    struct lesson_near      *near;  /* the batches there; NULL: they come from the feed */
    int64_t                  ready; /* the step whose inputs are in the net; -1: none */
    llap_ahead               ahead;
    llap_batch               val; /* room for a batch of validation */
} task_lesson;

/* Draws what is not as its layers say; NULL: nothing. */
typedef void (*task_lesson_start)(llap_params *p, const task_reference *r);

/* Nets, fresh parameters and batches for a lesson that has its name, r, describe, fill, of_batch
 * and fill_whole; and the stage, with the lesson as its user, but for evaluate and fields. */
llap_status task_lesson_init(task_lesson *l, const task_recipe_stage *how, task_lesson_start start,
                             task_stage *stage);
/* To the end of the stage, whose result goes to the network. */
llap_status task_lesson_run(task_lesson *l, task_training *t, const task_stage *stage);
void        task_lesson_deinit(task_lesson *l); /* also after a failure */

/* For describe: an input of l->rows rows, taken from near where training has them there; draws of
 * such rows, NULL where none lie near (they are inputs then); and where batches go in pieces the
 * input "all_NAME" of the whole batch, else NULL. */
llap_tensor *task_lesson_input(llap_graph *g, const task_lesson *l, const char *name,
                               llap_shape shape, bool training);
llap_tensor *task_lesson_draw(llap_graph *g, const task_lesson *l, const llap_draw_attr *a);
llap_tensor *task_lesson_whole(llap_graph *g, const task_lesson *l, const char *name,
                               llap_shape shape);

/* Sums of the check's outputs of those names over the pieces of b. */
llap_status task_lesson_check(task_lesson *l, const llap_batch *b, const char *const *names, int n,
                              double *sum);

/* Where the container holds what stages begin with, copies what it has of theirs. What serves
 * training alone, such as the summarizer's decoder, is in no model and begins afresh. */
void task_reference_start(const task_reference *r, llap_params *params);

llap_status task_reference_vae(task_reference *r, task_training *t);
llap_status task_reference_summarizer(task_reference *r, task_training *t);
llap_status task_reference_diffusion(task_reference *r, task_training *t);

/* All of it, with the options under "network" and "training" of config (or NULL); var [n_targets]
 * are the variables of the frame's targets. Caller owns *out. */
llap_status task_reference_train(const llap_panel *p, const llap_train_opts *o,
                                 const llap_json *config, const llap_model_frame *f,
                                 const int64_t *var, const llap_backend *backend, llap_model **out);

/* -------- the result -------- */

/* Do all entities go through such a model together? */
bool task_reference_joint(const llap_network_config *c);

/* Draws paths, the reverse process on the backend; everything is borrowed until deinit. Where a
 * window keeps what is observed, each query time of which something was read has the latent of
 * those readings (spec model.md 7.3), and the others are drawn around it. */
llap_status task_reference_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                      const llap_backend *backend, task_forecaster *out);

/* What such a forecaster's denoiser gets to see of the window of an entity (joint: of all) that
 * ends at origin: E and E_raw [S,H]. Where E is normalised over a batch, this window is all of it.
 */
llap_status task_reference_summarise(const task_forecaster *f, int64_t entity, int64_t origin,
                                     float *E, float *E_raw);

#endif
