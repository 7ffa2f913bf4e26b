/* Readings that arrive one by one. A stream holds of each entity the rows that an answer can still
 * depend on, so a forecast from it is that of the whole history, byte for byte, and memory does not
 * grow with what has passed.
 *
 *     llap_stream *s = NULL;
 *     llap_status  st = llap_stream_create(model, &(llap_stream_opts){ .like = history }, &s);
 *     if (st == LLAP_OK) st = llap_stream_take_panel(s, history);
 *     while (st == LLAP_OK && next_reading(&time, &value))
 *         st = llap_stream_take(s, "Rome", time, &value, 1);
 *     llap_answer *a = NULL;
 *     if (st == LLAP_OK) st = llap_stream_forecast(s, &ask, &a);
 *     if (st == LLAP_OK) st = llap_stream_save(s, "rome.stream");
 *     llap_stream_destroy(s);
 *
 * Late and repeated rows. A row may come in any order; it is put in its place, and from then on
 * answers are those of the history that has it. Of two rows of one entity and time the later value
 * of each variable stands, and a missing one erases nothing, as when files are read. A row older
 * than all that is kept changes no answer any more: it is dropped and counted.
 *
 * Threads. A stream belongs to one thread at a time; different streams, also of one model, do not
 * know of each other. Whoever serves many callers copies what is asked about under a lock
 * (llap_stream_panel, microseconds) and answers without it (llap_forecast of that panel): the
 * answers are the same.
 *
 * docs/spec/stream.md says what is kept, why that is enough, and what each call costs. */
#ifndef LLAPDIFF_STREAM_H
#define LLAPDIFF_STREAM_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_stream llap_stream;

typedef struct llap_stream_opts {
    /* Rows have the variables of this panel, in its order, and its time axis; no row of it is
     * taken. NULL: the model's targets and known inputs, in its order, times in UTC or the model's
     * numbers. Borrowed until llap_stream_create returns. */
    const llap_panel *like;
    int64_t           rows;   /* kept of an entity at most; 0: 65536. Where a context has more,
                               * the oldest go, answers are those without them, and `cut` says so */
    int64_t         entities; /* at most, further ones are LLAP_ELIMIT; 0: 100000 */
    const llap_log *log;      /* kept until the stream is destroyed; NULL: none */
} llap_stream_opts;

/* An empty stream. Borrows m until destroyed. Caller owns *out. LLAP_EINVAL: `like` lacks a target
 * of the model, or has another kind of time. */
LLAP_API llap_status llap_stream_create(const llap_model *m, const llap_stream_opts *o,
                                        llap_stream **out);
LLAP_API void        llap_stream_destroy(llap_stream *s); /* NULL is fine */

/* ---- readings ---- */

/* One row: value [n], NaN missing, in the order of llap_stream_variables; n is their number. An
 * infinite value is missing. A stream of which this failed is as before. LLAP_EINVAL: n, or a name
 * that is no UTF-8; LLAP_ELIMIT: too many entities. */
LLAP_API llap_status llap_stream_take(llap_stream *s, const char *entity, int64_t time,
                                      const float *value, int64_t n);

/* All rows of a panel, entity by entity; variables by name, others are not looked at. LLAP_EINVAL:
 * a variable of the stream is missing in it. */
LLAP_API llap_status llap_stream_take_panel(llap_stream *s, const llap_panel *p);

/* Rows as lines of CSV, as `tail -f` gives them. The first line names the columns: the time, the
 * entity where there are several, and any of the stream's variables (others are passed over, absent
 * ones are missing); when it comes again it is passed over. Of o the options entity, time (one
 * column each), separator and decimal are looked at. Times are written as in what the stream is
 * like, or as RFC 3339. Borrows s until destroyed; one thread at a time. Caller owns *out. */
typedef struct llap_stream_lines llap_stream_lines;
LLAP_API llap_status             llap_stream_lines_create(llap_stream *s, const llap_read_opts *o,
                                                          llap_stream_lines **out);
LLAP_API void                    llap_stream_lines_destroy(llap_stream_lines *l); /* NULL is fine */
/* The next line, n bytes with or without its end. LLAP_EFORMAT, LLAP_ELIMIT: not a row; the detail
 * names line and column, the stream is as before, and the next line may be read. */
LLAP_API llap_status llap_stream_line(llap_stream_lines *l, const char *text, size_t n);

/* What came so far, and what it takes. */
typedef struct llap_stream_counts {
    int64_t entities;
    int64_t rows;     /* held now */
    int64_t taken;    /* since the stream was created, as the next ones */
    int64_t late;     /* came after a later row of their entity, and were put in their place */
    int64_t dropped;  /* came so late that no answer depends on them */
    int64_t repeated; /* had the entity and time of one before */
    int64_t cut;      /* left although a context had them (opts.rows) */
    int64_t bytes;    /* of all entities together */
} llap_stream_counts;
LLAP_API void llap_stream_count(const llap_stream *s, llap_stream_counts *out);

/* Names of the variables, closed by NULL; of the entities, in order of arrival. Borrowed, the
 * entities' until the next row is taken. */
LLAP_API const char *const *llap_stream_variables(const llap_stream *s);
LLAP_API const char        *llap_stream_entity(const llap_stream *s, int64_t i);
/* The time of its newest row, of NULL that of all; false: there is none. */
LLAP_API int llap_stream_newest(const llap_stream *s, const char *entity, int64_t *time);

/* ---- answers ---- */

/* The rows that are held, of entities by name ("*", separated by commas as `only` of forecasts;
 * NULL: all), as a panel that any call of the library takes. Caller owns *out. */
LLAP_API llap_status llap_stream_panel(const llap_stream *s, const char *only, llap_panel **out);

/* llap_forecast of the history, for origins at or after the newest row of each entity; o->device is
 * that of the first call. Caller owns *out. */
LLAP_API llap_status llap_stream_forecast(llap_stream *s, const llap_forecast_opts *o,
                                          llap_answer **out);

/* llap_impute of the rows that are held: what was missing in them. Caller owns *out. */
LLAP_API llap_status llap_stream_impute(llap_stream *s, const llap_impute_opts *o,
                                        llap_answer **out);

/* Quantiles of one target of an entity at times [n_times] after its newest row, without an answer
 * object: out [n_times,n_levels], levels in (0, 1). The numbers of llap_stream_forecast where the
 * anchor answers by each entity's own readings, in a tenth of the time. LLAP_EUNSUPPORTED: networks
 * or linked entities answer; LLAP_EINVAL: no such entity or target, a time that is not later. */
LLAP_API llap_status llap_stream_quantiles(const llap_stream *s, const char *entity,
                                           const char *target, const int64_t *time, int64_t n_times,
                                           const double *level, int64_t n_levels, double *out);

/* ---- the file ---- */

/* Everything that is needed to go on: the same rows give the same answers and the same file again.
 * One safetensors file that names the model by a hash; written as a whole or not at all. */
LLAP_API llap_status llap_stream_save(const llap_stream *s, const char *path);
/* The bytes of that file. Caller owns *bytes (llap_text_free). */
LLAP_API llap_status llap_stream_save_memory(const llap_stream *s, char **bytes, size_t *n);
/* Of such bytes, which are borrowed until it returns. */
LLAP_API llap_status llap_stream_restore_memory(const llap_model *m, const void *bytes, size_t n,
                                                const llap_stream_opts *o, llap_stream **out);
/* Caller owns *out; o->like is not looked at. LLAP_EFORMAT: not a stream, one of another model, or
 * one that contradicts itself: the detail names what. */
LLAP_API llap_status llap_stream_restore(const llap_model *m, const char *path,
                                         const llap_stream_opts *o, llap_stream **out);

#ifdef __cplusplus
}
#endif

#endif
