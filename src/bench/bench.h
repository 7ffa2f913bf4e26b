/* src/bench: what `llapdiff bench` and the programs under bench/ time.
 *
 *   rig.h    networks on fresh weights and made-up data
 *   bench.c  llap_bench: every part beside the bare product
 *
 * May touch: base, base/json, base/rng, backend, backend/cpu, backend/cuda, graph, nn, data,
 * data/csv, data/synth, networks, diffusion, residual, stack, fill, model, predict. */
