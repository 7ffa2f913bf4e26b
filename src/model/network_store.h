/* Inside the networks' container: shared by network.c and network_file.c. */
#ifndef LLAP_MODEL_NETWORK_STORE_H
#define LLAP_MODEL_NETWORK_STORE_H

#include "model/network.h"

/* The container around the leaves of a graph made by llap_network_declare. */
llap_status llap_network_create_from(const llap_network_config *c, const llap_graph *g,
                                     const char *const *input, llap_network **out);

/* n->schedule and the tables in the store, as the configuration says; nothing in `default`. */
llap_status llap_network_noise(llap_network *n);
/* n->schedule from the tables in the store. LLAP_EFORMAT: they contradict each other. */
llap_status llap_network_noise_loaded(llap_network *n);

/* After all tensors have been filled from files: deviations are positive, the noise process is
 * one. */
llap_status llap_network_loaded(llap_network *n);

/* "network" of a document; caller owns *input (llap_free), its strings borrow from j. */
llap_status llap_network_read_config(const llap_json *j, llap_network_config *c,
                                     const char ***input);

#endif
