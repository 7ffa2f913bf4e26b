/* src/predict/view: a panel as a trained model sees it, and what is asked of it.
 *
 *   frame.h              time axis, columns of the targets, windows and their parts
 *   series.h, target_series.h, known_series.h:
 *                        the readings of one entity; of the targets; of the known inputs
 *   panel_view.h, stack_view.h:
 *                        the same for the networks; for the stack
 *   static_table.h, static_view.h:
 *                        static inputs; a model for entities that training has not seen
 *   queries.h, span.h    what is asked, and how people write it
 *   compare.h            is the data like that of training
 *   fill_view.h          the same for the filling of gaps
 *   gap_windows.h        gaps, and the windows in which they are filled
 *
 * May touch: base, base/time, base/rng, backend, backend/cpu, data, data/csv, data/windows, anchor,
 * anchor/chain, residual, stack, fill, model, predict/tables,
 * ranks. */
