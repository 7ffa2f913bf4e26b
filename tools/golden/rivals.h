/* What the cases of the published models (b01 .. b09) share. */
#ifndef LLAP_GOLDEN_RIVALS_H
#define LLAP_GOLDEN_RIVALS_H

#include "golden.h"
#include "rivals/rivals.h"

ll_rival_head  golden_head(golden *c);
ll_noise_steps golden_steps(golden *c);

/* in.x with in.obs [B,K,C], filled by ll_fill_forward; compared with mid.filled. */
ll_tensor *golden_filled(golden *c);
/* in.NAME, of any type, as floats in the arena. */
float *golden_floats(golden *c, const char *name);

/* The loss of an answer at in.y, in.y_obs; both become outputs, and all is run and compared. */
void golden_answer(golden *c, ll_rival_head h, ll_tensor *answer);

#endif
