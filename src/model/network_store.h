/* Inside the networks' container: shared by network.c and network_file.c. */
#ifndef LL_MODEL_NETWORK_STORE_H
#define LL_MODEL_NETWORK_STORE_H

#include "model/network.h"

/* The container around the leaves of a graph made by ll_network_declare. */
llap_status ll_network_create_from(const ll_network_config *c, const ll_graph *g,
                                   const char *const *input, ll_network **out);

/* n->schedule and the tables in the store, as the configuration says; nothing in `default`. */
llap_status ll_network_noise(ll_network *n);
/* n->schedule from the tables in the store. LLAP_EFORMAT: they contradict each other. */
llap_status ll_network_noise_loaded(ll_network *n);

/* After all tensors have been filled from files: deviations are positive, the noise process is
 * one. */
llap_status ll_network_loaded(ll_network *n);

/* "network" of a document; caller owns *input (ll_free), its strings borrow from j. */
llap_status ll_network_read_config(const ll_json *j, ll_network_config *c, const char ***input);

#endif
