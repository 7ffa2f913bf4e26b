/* What is unusual: readings that their past did not lead to expect, series that drift away, sensors
 * that are stuck or silent.
 *
 *     llap_detection *d = NULL;
 *     llap_status     st = llap_detect(model, panel, &(llap_detect_opts){ .rate = 0.001 }, &d);
 *     int64_t n = 0;
 *     for (const llap_alarm *a = llap_detection_alarms(d, &n); n > 0; a++, n--)
 *         printf("%s %s: %s\n", a->entity, a->variable, llap_condition_name(a->condition));
 *     llap_detection_destroy(d);
 *
 * Every reading gets the law that the model gives of it from what came before (llap_impute with
 * causal, were it missing), hence a score that is standard normal as long as the model is right.
 * What is usual of scores, levels, equal readings and gaps is learnt from the data before a time;
 * six tests judge each row after it, and their limits are set so that together they raise as many
 * alarms as are wanted. Alarms that follow one another are one event. docs/spec/stream.md 5 has the
 * rules. */
#ifndef LLAPDIFF_DETECT_H
#define LLAPDIFF_DETECT_H

#include <llapdiff/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llap_condition {
    LLAP_CONDITION_NORMAL,
    LLAP_CONDITION_UNUSUAL,  /* a reading far from its law */
    LLAP_CONDITION_DRIFTING, /* readings that lie to one side again and again */
    LLAP_CONDITION_STUCK,    /* the same reading more often than is usual */
    LLAP_CONDITION_SILENT,   /* none for longer than is usual */
} llap_condition;
LLAP_API const char *llap_condition_name(llap_condition c); /* "normal", "unusual", .. */

/* What is said of one row of one series. NaN: nothing is known. */
typedef struct llap_judgement {
    int64_t time;
    double  value;            /* NaN: not read, and only silence is judged */
    double  expected;         /* median of its law */
    double  low, high;        /* a reading outside is unusual by itself */
    double  score;            /* normal score of the value in its law */
    double  p;                /* share of usual readings that are as far from theirs */
    double  surprise;         /* minus its logarithm */
    double  margin;           /* how far the oddest test is beyond the limit that was learnt, in
                               * surprise. Grows as things get odder, whatever the test */
    llap_condition condition; /* by that test, where the margin is beyond what alarms of this series
                               * so far have taught (at first 0) */
} llap_judgement;

/* Rows beyond a limit that follow one another, with fewer than `join` usual rows between two. */
typedef struct llap_alarm {
    const char    *entity, *variable; /* borrowed from what the alarm came from */
    llap_condition condition;         /* at its oddest row */
    int64_t        from; /* when it began: first odd row; of silence the last reading */
    int64_t        to;   /* last odd row so far */
    int64_t        time; /* when it was noticed */
    int64_t        rows; /* odd ones so far */
    int            open; /* it has not ended yet */
    llap_judgement peak; /* its oddest row */
} llap_alarm;

typedef struct llap_detect_opts {
    double rate;      /* alarms wanted where all is well, as a share of rows and variables; 0:
                       * 0.001 */
    const char *from; /* time from which rows are judged; what is usual is learnt before it. NULL:
                       * the part that training left for testing, or the last two thirds of data
                       * that has nothing before it */
    int64_t     join; /* usual rows that end an alarm; 0: 6 */
    const char *only; /* entities, separated by commas, with * and ?; NULL: all */
    int         rows; /* keep what is said of every row (llap_detection_rows) */
    const char *late; /* of streams: rows are judged when one this much later has come, "10min", so
                       * that earlier ones still can; NULL: at once */
    const llap_log *log;
    llap_progress   progress;
} llap_detect_opts;

LLAP_API const llap_option *llap_detect_options(void);

typedef struct llap_detection llap_detection;

/* Judges the rows of a panel. Caller owns *out. LLAP_EUNSUPPORTED: a model without anchors.
 * LLAP_EINVAL: no row to learn from, or none to judge. */
LLAP_API llap_status llap_detect(const llap_model *m, const llap_panel *p,
                                 const llap_detect_opts *o, llap_detection **out);
LLAP_API void        llap_detection_destroy(llap_detection *d); /* NULL is fine */

/* Borrowed until it is destroyed, as the next ones. */
typedef struct llap_detection_info {
    int64_t entities, variables;
    int64_t learnt; /* rows and variables that what is usual was learnt from */
    int64_t judged; /* rows and variables after it */
    int64_t alarms;
    int64_t from;   /* time of the first row judged */
    double  wanted; /* alarms as a share of rows and variables */
    double  found;  /* alarms/judged. What was odd and what was a false alarm it cannot tell */
} llap_detection_info;
LLAP_API const llap_detection_info *llap_detection_about(const llap_detection *d);

/* In order of the time when they were noticed. */
LLAP_API const llap_alarm *llap_detection_alarms(const llap_detection *d, int64_t *n);

/* Where rows were kept: those of one entity and target, in order of time. NULL: there are none. */
LLAP_API const llap_judgement *llap_detection_rows(const llap_detection *d, int64_t entity,
                                                   int64_t variable, int64_t *n);

/* A table for people, and JSON. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_detection_text(const llap_detection *d, char **text);
LLAP_API llap_status llap_detection_json(const llap_detection *d, char **text);

/* Draws what was read, what would have been usual, and the alarms: fields of the series with most
 * alarms. Rows must have been kept. PNG, SVG or PDF as the path ends; replaces the file as a whole.
 * LLAP_EOPTION: another end. LLAP_EINVAL: no rows were kept. LLAP_EUNSUPPORTED: built without
 * cairo. */
LLAP_API llap_status llap_detection_plot(const llap_detection *d, const char *path);

/* ---- of readings that arrive ---- */

/* Takes all rows of a panel as llap_stream_take_panel does, and learns what is usual from them;
 * rate, join, late and progress of o. From now on every row that is taken is judged. Rows that come
 * after a later one has been judged change what follows, but are not judged. LLAP_EINVAL: the
 * stream has rows already. */
LLAP_API llap_status llap_stream_learn(llap_stream *s, const llap_panel *history,
                                       const llap_detect_opts *o);

/* Judges from the first row on by what holds for any model, until more is known: readings by their
 * laws alone. */
LLAP_API llap_status llap_stream_judge(llap_stream *s, const llap_detect_opts *o);

/* Alarms that began or ended since they were last forgotten, in that order; an alarm that begins
 * and ends comes twice, open and closed. Borrowed until the next call on the stream. */
LLAP_API const llap_alarm *llap_stream_alarms(const llap_stream *s, int64_t *n);
LLAP_API void              llap_stream_forget_alarms(llap_stream *s);

/* One of them as a line for people, or as JSON on one line. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_stream_alarm_text(const llap_stream *s, const llap_alarm *a, int json,
                                            char **text);

/* What was said of the newest row judged of a series; NULL: none was. Borrowed likewise. */
LLAP_API const llap_judgement *llap_stream_judged(const llap_stream *s, const char *entity,
                                                  const char *target);

/* It is now that late: rows that have waited long enough are judged, and who has not been heard of
 * until then is silent. */
LLAP_API llap_status llap_stream_clock(llap_stream *s, int64_t now);

/* No row comes late any more: those that wait (`late`) are judged. */
LLAP_API llap_status llap_stream_settle(llap_stream *s);

#ifdef __cplusplus
}
#endif

#endif
