/* src/rivals: nine published models as graphs, so that what they answer can be set beside ours
 * (docs/spec/rivals.md). Each is one file of its paper's equations; nothing is run here.
 *
 *   common.h       what several share: filling, RevIN, quantile heads, GRU layers, noise, steps
 *   dlinear.h      a moving average and the rest, a linear map each
 *   patchtst.h     patches of a series as tokens
 *   mrdiff.h       diffusions from coarse to fine
 *   timegrad.h     a recurrent network and a diffusion of each row
 *   mtan.h         attention to times, a VAE
 *   tpatchgnn.h    patches of equal time, a graph over the variables
 *   contiformer.h  attention in continuous time
 *   neuralcde.h    a state driven by the path of the readings
 *   csdi.h         diffusion on a grid of features and times
 *   options.h      all of them by name, their options and configurations
 *
 * May touch: base, base/json, backend, graph, nn. */
#ifndef LL_RIVALS_RIVALS_H
#define LL_RIVALS_RIVALS_H

#include "rivals/contiformer.h"
#include "rivals/csdi.h"
#include "rivals/dlinear.h"
#include "rivals/mrdiff.h"
#include "rivals/mtan.h"
#include "rivals/neuralcde.h"
#include "rivals/patchtst.h"
#include "rivals/timegrad.h"
#include "rivals/tpatchgnn.h"

#endif
