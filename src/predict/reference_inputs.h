/* What the networks of the `reference` profile take of a batch, in training and later: one way for
 * both, so that a window has one summary. */
#ifndef LL_PREDICT_REFERENCE_INPUTS_H
#define LL_PREDICT_REFERENCE_INPUTS_H

#include "data/windows/batch.h"
#include "model/model.h"
#include "nn/session.h"

/* How all batches of a model are made, in training and later. */
ll_batch_opts ll_reference_batch_opts(const ll_model_frame *f);

/* The networks' inputs from a batch (of rows to learn from, or of ll_batch_ask), rows beyond
 * those of the batch absent (zero). B rows, h queries or l context rows of a net: */
void ll_batch_targets(const ll_batch *b, int64_t B, int64_t h, const uint8_t *present, float *y,
                      float *obs, float *ent); /* [B,h,N,C] twice, [B,N]; y may be NULL */
/* The context: who is there, and which cells were observed. */
void ll_batch_seen(const ll_batch *b, int64_t B, int64_t l, float *seen, float *ent);
/* All inputs of a history: "x", "dx", "seen", "ent", "dt". */
void ll_batch_history(const ll_batch *b, int64_t B, int64_t l, ll_session *net);
/* What that fills, entities first as in a batch (x, dx, obs [B,N,l,D], dt [B,N,l]), as the history
 * that a summarizer takes: views, nothing is moved. */
ll_history ll_batch_views(ll_graph *g, const ll_history *in);
/* Adds the inputs "x", "dx", "seen", "ent" and "dt" of B windows to a graph, and the summarizer in
 * scope "summarizer"; with the adapter where the model has one. */
ll_summary ll_reference_summary(ll_graph *g, const ll_network_config *c, int64_t B, bool training);
/* The same of inputs from elsewhere. */
ll_summary ll_reference_summary_of(ll_graph *g, const ll_network_config *c, const ll_history *in,
                                   bool training);

#endif
