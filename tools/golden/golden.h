/* The golden runner: checks our networks against tensors that the reference implementation
 * produced.
 *
 * A case file holds parameters (param.), inputs (in.) and what must come out (out., mid., grad.,
 * gradin.). The function of a case describes the computation in c->graph from the file's own shapes
 * and options, and the frame loads, runs and compares every tensor of the file with the result of
 * the same name. A tensor that is not compared counts as failed unless golden_skip names it.
 *
 *     void golden_cross(golden *c)
 *     {
 *         ll_nn_block_opts o = { golden_int(c, "num_heads") };
 *         ll_tensor *q = golden_input(c, "x_q"), *kv = golden_input(c, "x_kv");
 *         ll_tensor *y = ll_nn_cross_block(c->graph, "", q, kv, NULL, &o);
 *         ll_output(c->graph, "out.y", y);
 *         golden_run(c, loss);
 *     }
 *
 * Adding a case: a function in the file of its family (c04.c; b01.c .. are the published models of
 * src/rivals), a line in the table of main.c.
 *
 * The first failure is kept in c->status, later calls do nothing; so nothing is checked on the way.
 * Numbers are doubles here; they become what the backend computes with when they are bound. */
#ifndef LLAP_GOLDEN_H
#define LLAP_GOLDEN_H

#include "backend/cuda/cuda.h"
#include "base/arena.h"
#include "base/json/fields.h"
#include "base/safetensors.h"
#include "diffusion/diffusion.h"
#include "graph/plan.h"
#include "networks/summarizer.h"
#include "networks/vae.h"
#include "nn/params.h"

typedef struct golden {
    const char       *path;
    const char       *name; /* the case */
    const ll_tensors *file;
    const ll_backend *backend;
    int               n_threads;
    bool              patient; /* also what takes many minutes */
    ll_precision      precision;
    llap_status       status;
    ll_graph         *graph;  /* empty at first */
    ll_params        *params; /* from golden_plan on */
    ll_plan          *plan;
    ll_run           *run;
    ll_arena          arena; /* lives as long as the case */
    const char       *part;  /* options are cfg.<part><key>, "vae."; NULL: cfg.<key> */

    /* the frame's */
    struct golden_note  *note;  /* of each tensor of the file */
    struct golden_given *given; /* inputs with computed values */
    struct golden_group *group;
    double               top_grad; /* largest gradient magnitude in the file */
    int                  n_bad;
} golden;

void golden_fail(golden *c, llap_status st, const char *fmt, ...) LLAP_PRINTF(3, 4);

/* -------- options and tensors of the file -------- */

int64_t golden_int(golden *c, const char *key); /* metadata cfg.<key> */
double  golden_real(golden *c, const char *key);
bool    golden_is(golden *c, const char *key, const char *value);
void    golden_list(golden *c, const char *key, ll_reals *out); /* "[1, 2, 4]" */
/* One of the names (closed by NULL): its index. */
int golden_choice(golden *c, const char *key, const char *const *names);

bool     golden_has(const golden *c, const char *tensor);
ll_shape golden_shape(golden *c, const char *tensor);
int64_t  golden_dim(golden *c, const char *tensor, int axis); /* negative counts from the end */
double  *golden_values(golden *c, const char *tensor);        /* a copy in the arena, any dtype */
double  *golden_new(golden *c, int64_t count);                /* zeros in the arena */

/* -------- describing -------- */

/* An input of the graph with shape and values of in.<name>; NULL when the file has none. */
ll_tensor *golden_input(golden *c, const char *name);
ll_tensor *golden_input_int(golden *c, const char *name);
/* An input with computed values, which must stay (golden_new). */
ll_tensor *golden_give(golden *c, const char *name, ll_shape shape, double *values);

/* Makes x (NULL is fine) an output where the file has a tensor of that full name; golden_mid does
 * so for what was last noted under a name. */
void golden_output(golden *c, const char *tensor, ll_tensor *x);
void golden_mid(golden *c, const char *tensor, const char *noted);

/* Compares only the elements of a tensor where keep is not 0. keep must stay. */
void golden_keep(golden *c, const char *tensor, const double *keep);
void golden_skip(golden *c, const char *tensor); /* is none of our results */

/* -------- running: all of it, or step by step -------- */

/* Adds (unless loss is NULL) d loss / d each parameter as grad.<name> and d loss / d each input
 * that the file has a gradin. of, and each noted value that the file has as mid.<name>; plans,
 * loads "param." strictly (but for parameters that the loss does not reach), runs, compares. */
void golden_run(golden *c, ll_tensor *loss);

void golden_gradients(golden *c, ll_tensor *loss);
void golden_noted(golden *c);
void golden_plan(golden *c); /* makes store, plan and run, and binds them */
void golden_load(golden *c);
void golden_bind(golden *c); /* what golden_input and golden_give named */
void golden_exec(golden *c);
void golden_compare_outputs(golden *c);

void golden_after(golden *c); /* states behind the run, as after.<name> */

/* Binds count reals (or whole numbers) under that name. */
void golden_bind_values(golden *c, const char *name, const double *values, int64_t count);
/* A result of the last run, NULL when there is none. */
double *golden_result(golden *c, const char *output, int64_t *count);

/* Compares one tensor of the file with what was computed; allowed is per element, or NULL for the
 * fixtures' tolerances. */
void golden_compare(golden *c, const char *tensor, const double *found, int64_t count,
                    const double *allowed);

/* -------- the frame, for main.c -------- */

typedef struct golden_opts {
    const ll_backend *backend;
    int               n_threads;
    bool              only_known; /* pass over cases that the table does not have */
    bool              patient;    /* the paper's size in plain loops too */
    ll_precision      precision;  /* of the backend, for the tolerances */
} golden_opts;

typedef struct golden_case {
    const char *prefix; /* of the case's name; the first match counts */
    void (*run)(golden *c);
} golden_case;

/* 1 passed, 0 failed, -1 passed over. Prints its report. */
int golden_run_file(const char *path, const golden_case *cases, int n, const golden_opts *opts);

/* -------- the cases -------- */

void golden_vae(golden *c); /* c01.c */
void golden_latent_stats(golden *c);
void golden_summarizer(golden *c); /* c02.c */
void golden_adapter(golden *c);
void golden_laplace(golden *c); /* c03.c */
void golden_modal_block(golden *c);
void golden_adaln(golden *c); /* c04.c */
void golden_transformer(golden *c);
void golden_cross(golden *c);
void golden_summary_pool(golden *c);
void golden_denoiser(golden *c); /* c05.c */
void golden_lapformer(golden *c);
void golden_scheduler(golden *c); /* c06.c */
void golden_min_snr(golden *c);
void golden_generate(golden *c); /* c07.c */
void golden_adamw(golden *c);    /* c08.c */
void golden_schedules(golden *c);
void golden_train_step(golden *c); /* c08_train.c */
void golden_metrics(golden *c);    /* c09.c */
void golden_paper(golden *c);      /* c10.c */
void golden_pipeline(golden *c);   /* c11.c */

void golden_dlinear(golden *c);     /* b01.c */
void golden_patchtst(golden *c);    /* b02.c */
void golden_mrdiff(golden *c);      /* b03.c */
void golden_timegrad(golden *c);    /* b04.c */
void golden_mtan(golden *c);        /* b05.c */
void golden_tpatchgnn(golden *c);   /* b06.c */
void golden_contiformer(golden *c); /* b07.c */
void golden_neuralcde(golden *c);   /* b08.c */
void golden_csdi(golden *c);        /* b09.c */

/* What several cases read from the options. */

ll_vae_config        golden_vae_config(golden *c);
ll_summarizer_config golden_summarizer_config(golden *c);

/* What the cases of the denoiser share: options, inputs, intermediate values by the names that the
 * files give them, and the schedule of the tables param.<prefix>betas .. (caller owns). */
ll_denoiser_config golden_denoiser_config(golden *c);
ll_denoiser_in     golden_denoiser_in(golden *c);
void         golden_denoiser_notes(golden *c, const ll_denoiser_config *cfg, const char *prefix);
ll_schedule *golden_schedule(golden *c, const char *prefix);

#endif
