/* src/train: llap_train: anchors first, networks on what they leave, every choice made by scoring
 * forecasts of the validation part. That is why it stands above predict and score.
 *
 *   train.h           this file
 *   plan.h            which windows fit and which choose, sizes and numbers
 *   parts.h           a split given as a file
 *   anchors.h         the anchor of each target
 *   training_set.h    what the networks are trained on
 *   networks.h        sizes and options, their spread, who answers
 *   network_member.h  one member, from its first weights to its best
 *   filling.h         do all sensors fill gaps?
 *   fill_choice.h     do networks fill them?
 *   trainer.c         the public handle
 *
 * Inside it: run (the loop of every stage), stack (quantile networks around the anchors),
 * reference (the paper's stages) and rivals (published models).
 * May touch: ranks, base, base/time, base/rng, backend, backend/cpu, backend/cuda, graph, nn, data,
 * data/csv, data/windows, anchor, anchor/chain, joint, networks, diffusion, residual, stack,
 * fill, rivals, rivals/feed, model, predict, predict/view, score, train/run, train/reference,
 * train/stack, train/rivals. */

/* llap_train and what llap_trainer needs of it. */
#ifndef LL_TRAIN_TRAIN_H
#define LL_TRAIN_TRAIN_H

#include <llapdiff/model.h>

/* What can be said about the options and the data before anything is fitted: LLAP_OK, or what
 * llap_train would refuse after the same look. The options are the caller's. */
llap_status ll_train_check(const llap_panel *panel, const llap_train_opts *o);

#endif
