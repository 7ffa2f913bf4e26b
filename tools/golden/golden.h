/* The golden runner: checks our networks against tensors that the reference implementation
 * produced.
 *
 * A case file holds parameters (param.), inputs (in.), and what must come out (out., mid., grad.,
 * gradin.). A case's function builds the graph from the file's own shapes and options, binds and
 * runs it, and the frame compares every tensor of the file with the output of the same name. */
#ifndef LLAP_GOLDEN_H
#define LLAP_GOLDEN_H

#include "base/safetensors.h"
#include "graph/plan.h"

typedef struct golden {
    const char          *path;
    llap_tensors        *file;
    const char          *name;     /* the case */
    int                  n_bad;    /* tensors out of tolerance or not compared */
    bool                *seen;     /* by tensor of the file */
    double               top_grad; /* largest gradient magnitude in the file */
    struct golden_group *group;
} golden;

/* What one case does. Prints nothing; failures of the machinery are its status. */
typedef llap_status (*golden_fn)(golden *c);

typedef struct golden_case {
    const char *prefix; /* of the case's name; the first match counts */
    golden_fn   run;
} golden_case;

extern const golden_case golden_cases[];
extern const int         golden_n_cases;

/* -------- options and tensors of the file -------- */

llap_status golden_int(golden *c, const char *key, int64_t *out); /* metadata cfg.<key> */
llap_status golden_real(golden *c, const char *key, double *out);
bool        golden_has(const golden *c, const char *tensor);
llap_status golden_shape(golden *c, const char *tensor, llap_shape *out);
llap_status golden_floats(golden *c, const char *tensor, const float **data, int64_t *count);

/* An input of the graph with the shape of in.<name>; NULL and the graph's failure when absent. */
llap_tensor *golden_input(golden *c, llap_graph *g, const char *name);

/* Adds out.loss = mean((y - target)^2), all gradients as grad.<param>, gradin.<input>, and every
 * noted intermediate value that the file has as mid.<name>; plans, binds and runs; compares
 * everything. y is out.y. */
llap_status golden_run_layer(golden *c, llap_graph *g, llap_tensor *y, llap_tensor *const *inputs,
                             int n_inputs);

/* Compares one tensor of the file with what was computed. */
void golden_compare(golden *c, const char *tensor, const float *found, int64_t count);

llap_status golden_adaln(golden *c);
llap_status golden_transformer(golden *c);
llap_status golden_cross(golden *c);
llap_status golden_summary_pool(golden *c);
llap_status golden_adamw(golden *c);
llap_status golden_schedules(golden *c);

#endif
