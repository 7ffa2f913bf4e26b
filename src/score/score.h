/* src/score: how good answers are, beside opponents, on times that training has not seen.
 *
 *   evaluation.h           a finished evaluation; evaluate.c makes it
 *   metric.h               how good one forecast of one value is
 *   tally.h                sums of scores
 *   readings.h             what was measured
 *   scoring.h              all forecasters over all windows
 *   heard.h                answers that another rank has made
 *   opponents.h            what any model has to beat
 *   bootstrap.h            how sure a difference is
 *   against_models.h       other models, scored beside
 *   against.h, keep.h      forecasts of others, scored beside; the model's own, written
 *   joint_scores.h         whether paths of several entities belong together
 *   total_windows.h        sums, scored as single values are; total_forecaster.c
 *   gaps/hide.h            readings hidden on purpose, as users lose them
 *   gaps/hidden_gaps.h     who fills them; gaps/naive.h
 *
 * May touch: base, base/json, base/time, base/rng, backend, data, data/windows, anchor, stack,
 * fill, rivals, rivals/feed, model, predict, predict/view, ranks. */
