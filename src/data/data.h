/* src/data: panels, and what makes them: sources of bytes, times of a file, timelines.
 *
 *   panel.h                     the panel: rows, times, values, observed bits
 *   panel_builder.h, panel_merge.h:
 *                               rows in any order to a panel; several panels to one
 *   panel_words.h               its columns of words, which never change within an entity
 *   source.h, utf8.h            files, gzip, standard input; valid text
 *   clock.h, number.h, names.h  times, numbers and names as files write them
 *   timeline.h                  grids, carried values, rows worth keeping
 *   gaps.h                      how regular a panel is
 *
 * Inside it: csv, arrow, netcdf, inspect, windows, synth.
 * May touch: base, base/time. */
