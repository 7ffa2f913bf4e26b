/* src/networks: the paper's networks, one function for each equation, shapes in comments. They
 * describe graphs; nothing is run here.
 *
 *   vae.h           the set-VAE: values of all entities at a time to a latent and back
 *   latent.h        statistics that normalise latents
 *   summarizer.h    the history as tokens (reference profile)
 *   patches.h       the same in the default profile
 *   conditioning.h  tokens on their way to the denoiser
 *   denoiser.h      the denoiser; modal.h declares its equations
 *   poles.c, analysis.c, refine.c, synthesis.c, tokens.c:
 *                   those equations
 *   modes.h         poles as a tool: half-lives, periods, transfer functions
 *
 * May touch: base, base/json, base/rng, backend, graph, nn. */
