/* src/anchor: the exact Bayesian forecaster that everything else starts from, on plain arrays. It
 * knows no panel and no file.
 *
 *   model.h             a forecaster of one variable; forecast.c, filling.c, window.h
 *   fit.h               fitting a kernel; trial.h, calibration.h
 *   choose.c, drift.h, choose_kind.h, known_choose.h, periods_choice.c, linked_fit.c:
 *                       what validation decides
 *   components.h        what a forecast is made of
 *   neighbours.c        other entities' readings, for gaps; neighbours_fit.c
 *   process/            the Gaussian process with stable poles
 *   chain/              from readings to its scale and back
 *
 * May touch: base, base/rng, anchor/process, anchor/chain. */
