/* src/predict: answers from a trained model: forecasts, filled gaps, and what may be scored
 * (forecasters).
 *
 *   forecaster.h                whatever can be scored; forecaster_anchor.c, forecaster_network.c,
 *                               forecaster_reference.c, forecaster_rival.c
 *   forecast.c                  llap_forecast and the sampler handle
 *   components.h                what forecasts are made of
 *   network_members.h           the networks of a model, and who answers
 *   stack_draws.h               those networks beside a stack
 *   reference.h, reference_inputs.h:
 *                               models of the reference profile; what their networks take of a
 *                               batch
 *   pool.h                      several models as one
 *   impute.c, filler.h          gaps
 *   silent.h                    forecasts of a sensor that has long been silent
 *   scenarios.h                 other known inputs in the place of the data's
 *   totals.h, joint_draws.h     sums over entities; draws that go together
 *   outside.h                   answers where training has not been
 *   rivals/                     published models: windows and answers
 *   view/                       a panel as a model sees it, and what is asked
 *   tables/                     answers, their numbers, times that people write
 *   device.h                    where to compute
 *
 * May touch: base, base/time, base/rng, backend, backend/cpu, backend/cuda, graph, nn, data,
 * data/csv, data/windows, anchor, joint, networks, diffusion, residual, stack, fill, rivals,
 * rivals/feed, model, predict/tables, predict/view, predict/rivals, ranks. */
