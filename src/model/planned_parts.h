/* What the files of the planned loop share: planned_graph.c describes, planned.c plans and binds,
 * planned_sample.c runs. */
#ifndef LLAP_MODEL_PLANNED_PARTS_H
#define LLAP_MODEL_PLANNED_PARTS_H

#include "model/brought.h"
#include "model/planned.h"

typedef struct planned_ready { /* a plan with its run */
    llap_plan *plan;
    llap_run  *run;
} planned_ready;

/* Numbers of a step: its row of the table, see backend.h. */
enum {
    X0_OF_X = LLAP_MOVE_X0_OF_X,
    X0_OF_PRED = LLAP_MOVE_X0_OF_PRED,
    EPS_OF_X = LLAP_MOVE_EPS_OF_X,
    EPS_OF_PRED = LLAP_MOVE_EPS_OF_PRED,
    NEXT_OF_X = LLAP_MOVE_NEXT_OF_X,
    NEXT_OF_X0 = LLAP_MOVE_NEXT_OF_X0,
    NEXT_OF_BEFORE = LLAP_MOVE_NEXT_OF_BEFORE,
    NEXT_OF_EPS = LLAP_MOVE_NEXT_OF_EPS,
    GUIDANCE = LLAP_MOVE_GUIDANCE,
    N_COEFS = LLAP_MOVE_NUMBERS
};

typedef enum planned_kind { FREE, GIVEN, N_KINDS } planned_kind; /* without and with the summary */

struct llap_planned {
    llap_denoiser_config c;
    llap_planned_opts    o;
    const llap_params   *params;
    llap_params         *folds;           /* NULL: none */
    bool                 half;            /* what attention reads of the shared is bf16 */
    int                  n;               /* points */
    float               *coef;            /* [n,N_COEFS] */
    planned_ready        shared[N_KINDS]; /* of all steps */
    planned_ready        step[2];         /* with one pass; with both predictions given */
    planned_ready        pass[N_KINDS];   /* of a guided step: the predictions, beside each other */
    bool                *guided;          /* [n] */
    /* near memory */
    void         *coef_near, *t, *time, *x, *x0, *window[6];
    void         *keep, *known; /* [B,h,Z]; [n,B,R,h,Z] what kept positions become behind a step */
    llap_brought *brought;      /* copies of parameters */
    float        *noise;        /* [B,R,h,Z], the caller's side */
    float        *mask;         /* [B,h,Z] likewise */
    llap_level   *level;        /* [n] */
    void         *recording;    /* of the loop, or NULL */
    bool          has_run;      /* as it comes, since the last recording that went wrong */
    bool          no_room;      /* for a recording */
};

/* What windows bring, in the order of llap_planned.window. */
enum { TQ, SUMMARY, SUMMARY_RAW, FEATURES, PAD, SUMMARY_PAD, N_WINDOW };
extern const char *const planned_window_names[N_WINDOW];

llap_shape planned_window_shape(const llap_planned *s, int i);

static inline bool planned_is_tokens(const llap_planned *s)
{
    return s->c.stream == LLAP_STREAM_TOKENS;
}

/* A name that the plan does not need is no failure. */
static inline llap_status planned_bind(planned_ready *r, const char *name, void *near, int64_t n)
{
    const llap_status st = near == NULL ? LLAP_OK : llap_run_bind_near(r->run, name, near, n);
    return st == LLAP_ENOTFOUND ? LLAP_OK : st;
}

/* What samples share, of all steps at once. */
void planned_describe_shared(const llap_planned *s, llap_graph *g, planned_kind k, llap_modal *m);
/* An llap_modal_fn: the tensor is an output of the graph of *user. */
typedef struct planned_outputs {
    llap_graph *g;
    bool        half; /* what attention reads may be bf16 */
} planned_outputs;
void planned_make_output(void *user, const char *name, llap_tensor **x);
/* The prediction of one kind, the output "pred"; inputs of the graph take the place of the modal's
 * tensors. */
void planned_describe_pass(const llap_planned *s, llap_graph *g, planned_kind k, llap_modal *modal);
/* One step: predictions, estimate, transition; the states x and x0 move on. With both, predictions
 * are the inputs "free" and "given"; else there is a pass inside, as above. */
void planned_describe_step(const llap_planned *s, llap_graph *g, llap_modal *modal, bool both);

/* The recording, and that the loop has run. */
void planned_forget(llap_planned *s);

#endif
