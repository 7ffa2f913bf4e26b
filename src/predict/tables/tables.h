/* src/predict/tables: tables that go out and come in: answers, the numbers in them, times that
 * people write.
 *
 *   answer.h       rows of an answer as columns; answer.c writes CSV and JSON, answer_read.c reads
 *                  CSV back, answer_view.c is what callers outside see
 *   numbers.h      mean and quantiles of a law, or of draws
 *   times.h        times that people write: one, or a file of them
 *
 * May touch: base, base/json, base/time, data, data/csv, anchor, stack, fill, model, options,
 * ranks. */
