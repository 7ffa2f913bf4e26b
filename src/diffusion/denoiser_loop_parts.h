/* What the files of the loop share: denoiser_loop_graph.c describes, denoiser_loop.c plans and
 * binds, denoiser_loop_sample.c runs. */
#ifndef LL_DIFFUSION_DENOISER_LOOP_PARTS_H
#define LL_DIFFUSION_DENOISER_LOOP_PARTS_H

#include "diffusion/denoiser_loop.h"
#include "diffusion/prepared_denoiser_parts.h"

/* Numbers of a step: its row of the table, see backend.h. */
enum {
    X0_OF_X = LL_MOVE_X0_OF_X,
    X0_OF_PRED = LL_MOVE_X0_OF_PRED,
    EPS_OF_X = LL_MOVE_EPS_OF_X,
    EPS_OF_PRED = LL_MOVE_EPS_OF_PRED,
    NEXT_OF_X = LL_MOVE_NEXT_OF_X,
    NEXT_OF_X0 = LL_MOVE_NEXT_OF_X0,
    NEXT_OF_BEFORE = LL_MOVE_NEXT_OF_BEFORE,
    NEXT_OF_EPS = LL_MOVE_NEXT_OF_EPS,
    GUIDANCE = LL_MOVE_GUIDANCE,
    N_COEFS = LL_MOVE_NUMBERS
};

typedef enum planned_kind { FREE, GIVEN, N_KINDS } planned_kind; /* without and with the summary */

struct ll_denoiser_loop {
    ll_denoiser_config           c;
    ll_prepared_denoiser_opts    o;
    ll_prepared_denoiser_weights weights;
    bool                         half;            /* what attention reads of the shared is bf16 */
    int                          n;               /* points */
    float                       *coef;            /* [n,N_COEFS] */
    ll_ready                     shared[N_KINDS]; /* of all steps */
    ll_ready                     step[2];         /* with one pass; with both predictions given */
    ll_ready pass[N_KINDS]; /* of a guided step: the predictions, beside each other */
    bool    *guided;        /* [n] */
    /* device memory */
    void     *coef_near, *t, *time, *x, *x0, *window[6];
    void     *keep, *known; /* [B,h,Z]; [n,B,R,h,Z] what kept positions become behind a step */
    float    *noise;        /* [B,R,h,Z], the caller's side */
    float    *mask;         /* [B,h,Z] likewise */
    ll_level *level;        /* [n] */
    void     *recording;    /* of the loop, or NULL */
    bool      has_run;      /* as it comes, since the last recording that went wrong */
    bool      no_room;      /* for a recording */
};

/* What windows bring, in the order of ll_denoiser_loop.window. */
enum { TQ, SUMMARY, SUMMARY_RAW, FEATURES, PAD, SUMMARY_PAD, N_WINDOW };
extern const char *const planned_window_names[N_WINDOW];

ll_shape planned_window_shape(const ll_denoiser_loop *s, int i);

static inline bool planned_is_tokens(const ll_denoiser_loop *s)
{
    return s->c.stream == LL_STREAM_TOKENS;
}

/* A name that the plan does not need is no failure. */
static inline llap_status planned_bind(ll_ready *r, const char *name, void *device_data, int64_t n)
{
    const llap_status st =
        device_data == NULL ? LLAP_OK : ll_run_bind_device(r->run, name, device_data, n);
    return st == LLAP_ENOTFOUND ? LLAP_OK : st;
}

/* What samples share, of all steps at once. */
void planned_describe_shared(const ll_denoiser_loop *s, ll_graph *g, planned_kind k, ll_modal *m);
/* An ll_modal_fn: the tensor is an output of the graph of *user. */
typedef struct planned_outputs {
    ll_graph *g;
    bool      half; /* what attention reads may be bf16 */
} planned_outputs;
void planned_make_output(void *user, const char *name, ll_tensor **x);
/* The prediction of one kind, the output "pred"; inputs of the graph take the place of the modal's
 * tensors. */
void planned_describe_pass(const ll_denoiser_loop *s, ll_graph *g, planned_kind k, ll_modal *modal);
/* One step: predictions, estimate, transition; the states x and x0 move on. With both, predictions
 * are the inputs "free" and "given"; else there is a pass inside, as above. */
void planned_describe_step(const ll_denoiser_loop *s, ll_graph *g, ll_modal *modal, bool both);

/* The recording, and that the loop has run. */
void planned_forget(ll_denoiser_loop *s);

#endif
