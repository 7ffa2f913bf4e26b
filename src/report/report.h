/* src/report: what a model is, told and taken elsewhere: info, poles, import and export.
 *
 *   describe.h  what a model is: what `llapdiff info` prints; describe_show.c tells it
 *   poles.h     the poles of a model; poles_show.c tells them, poles_window.c those of one window
 *   import.c    the reference implementation's artefacts to a model and back
 *
 * May touch: base, base/json, base/time, base/rng, backend, backend/cpu, data, networks,
 * residual, stack, fill, rivals, rivals/feed, model, predict, predict/view. */
