/* src/data: panels, and what makes them: times of a file, timelines.
 *
 *   panel.h                     the panel: rows, times, values, observed bits
 *   panel_builder.h, panel_merge.h:
 *                               rows in any order to a panel; several panels to one
 *   panel_words.h               its columns of words, which never change within an entity
 *   clock.h                     times as files write them
 *   timeline.h                  grids, carried values, rows worth keeping
 *   gaps.h                      how regular a panel is
 *
 * Inside it: text, csv, arrow, arrow_ipc, sql, netcdf, inspect, windows, synth.
 * May touch: base, base/time, data/text. */
