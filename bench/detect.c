/* Faults put into the test part of real data, found by llap_detect, by a rolling z-score and by
 * seasonal ESD on the same readings.
 *
 *     detect air.csv.gz NO2 [context|model] [rate] [seeds]
 *
 * The model and what is usual are learnt before the test part, which is left as it is there. A
 * deviation is that of training about its mean by hour of the day. One fault in 240 rows: a spike
 * (1 row), a drift (a ramp of 48 rows, held for 24), a stuck sensor (24 rows) or a silent one (24
 * missing cells), sizes 2 to 6 deviations for the first two. Prints the area under the curve of
 * each score over rows that are part of a fault and rows that are not (the 72 behind a fault
 * aside), also without silence, which the other two do not judge, the share of faults found and
 * after how many rows, and the alarms of all three where nothing was put in. The limits of the
 * other two are set on training for the same rate. Faults are drawn by each of several seeds (4),
 * and all are counted together. */
#include <llapdiff/detect.h>
#include <llapdiff/llapdiff.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIKE,
    DRIFT,
    STUCK,
    SILENT,
    KINDS,
    EVERY = 240,
    AFTER = 72,
    RAMP = 48,
    HOLD = 24,
    LONG = 24
};
enum { OURS, ROLLING, SEASONAL, METHODS, JOIN = 6 };
static const char *const kind_name[] = { "spike", "drift", "stuck", "silent" };
static const char *const method_name[] = { "llap_detect", "rolling z", "seasonal ESD" };

static void must(llap_status st)
{
    if (st == LLAP_OK) return;
    fprintf(stderr, "detect: %s\n", llap_error_detail());
    exit(1);
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (p == NULL) exit(1);
    return p;
}

static uint64_t draws;
static double   uniform(void)
{
    uint64_t z = (draws += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* One variable of all rows of a panel, and what was done to it. */
typedef struct data {
    const llap_panel_columns *c;
    float                    *y;     /* [n_rows] NaN: missing */
    int                      *fault; /* [n_rows] 0: none, 1 + kind; -1: not to be counted */
    int                      *event; /* [n_rows] number of the fault, from 1 */
    double                   *dev;   /* [n_entities] */
    double                   *hour;  /* [n_entities,24] mean of training */
    int64_t                  *first; /* [n_entities] of test */
    int                       n_events;
    int                      *kind_of;   /* by event */
    int64_t                  *begins_at; /* by event */
} data;

static int hour_of(int64_t t) { return (int)((t / INT64_C(3600000000000)) % 24 + 24) % 24; }

static void profile(data *d, int64_t from)
{
    const llap_panel_columns *c = d->c;
    for (int64_t e = 0; e < c->n_entities; e++) {
        double n[24] = { 0 }, sum[24] = { 0 }, squares = 0, all = 0;
        d->first[e] = c->first[e];
        while (d->first[e] < c->first[e + 1] && c->time[d->first[e]] < from) d->first[e]++;
        for (int64_t r = c->first[e]; r < d->first[e]; r++) {
            if (isnan(d->y[r])) continue;
            n[hour_of(c->time[r])]++;
            sum[hour_of(c->time[r])] += d->y[r];
        }
        for (int h = 0; h < 24; h++) d->hour[e * 24 + h] = n[h] > 0 ? sum[h] / n[h] : 0;
        for (int64_t r = c->first[e]; r < d->first[e]; r++) {
            if (isnan(d->y[r])) continue;
            const double off = d->y[r] - d->hour[e * 24 + hour_of(c->time[r])];
            squares += off * off;
            all++;
        }
        d->dev[e] = all > 0 ? sqrt(squares / all) : 1;
    }
}

/* ---- faults ---- */

static void put_fault(data *d, int64_t e, int64_t at, int kind)
{
    const int64_t length[] = { 1, RAMP + HOLD, LONG, LONG };
    const double  size = (2 + 4 * uniform()) * d->dev[e] * (uniform() < 0.5 ? -1 : 1);
    const int64_t end = d->c->first[e + 1];
    const float   held = d->y[at];
    const int     id = ++d->n_events;
    d->kind_of[id] = kind;
    d->begins_at[id] = at;
    for (int64_t k = 0; k < length[kind] && at + k < end; k++) {
        float *y = &d->y[at + k];
        d->fault[at + k] = 1 + kind;
        d->event[at + k] = id;
        if (kind == SPIKE) *y = (float)(*y + size);
        if (kind == DRIFT) {
            const double share = fmin((double)(k + 1) / RAMP, 1);
            *y = (float)(*y + size * share);
            if (fabs(size * share) < d->dev[e]) d->fault[at + k] = -1; /* not to be told yet */
        }
        if (kind == STUCK) *y = isnan(*y) ? NAN : held;
        if (kind == STUCK && k < 1) d->fault[at + k] = -1;
        if (kind == SILENT) *y = NAN;
    }
    for (int64_t k = length[kind]; k < length[kind] + AFTER && at + k < end; k++)
        d->fault[at + k] = -1;
}

static void put_faults(data *d)
{
    for (int64_t e = 0; e < d->c->n_entities; e++)
        for (int64_t at = d->first[e] + EVERY / 2; at + 2 * AFTER < d->c->first[e + 1];
             at += EVERY) {
            const int64_t place = at + (int64_t)(uniform() * (EVERY - 2 * AFTER - 10));
            const int     kind = (int)(uniform() * KINDS);
            if (place + 2 * AFTER >= d->c->first[e + 1] || isnan(d->y[place])) continue;
            put_fault(d, e, place, kind);
        }
}

/* ---- the other two ---- */

/* |y - mean|/deviation of the last n readings before. */
static void rolling(const data *d, int n, double *score)
{
    double *last = room((size_t)n, sizeof *last);
    for (int64_t e = 0; e < d->c->n_entities; e++) {
        int64_t seen = 0;
        for (int64_t r = d->c->first[e]; r < d->c->first[e + 1]; r++) {
            double sum = 0, squares = 0;
            score[r] = 0;
            if (isnan(d->y[r])) continue;
            const int64_t have = seen < n ? seen : n;
            for (int64_t k = 0; k < have; k++) sum += last[k], squares += last[k] * last[k];
            if (have >= n / 2 && have > 2) {
                const double mean = sum / (double)have;
                const double var = squares / (double)have - mean * mean;
                score[r] = fabs(d->y[r] - mean) / sqrt(fmax(var, 1e-6 * d->dev[e] * d->dev[e]));
            }
            last[seen++ % n] = d->y[r];
        }
    }
    free(last);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seasonal hybrid ESD: less the mean by hour of training, less the median of the last n, over
 * their median absolute deviation. */
static void seasonal(const data *d, int n, double *score)
{
    double *last = room((size_t)n, sizeof *last), *sorted = room((size_t)n, sizeof *sorted);
    for (int64_t e = 0; e < d->c->n_entities; e++) {
        int64_t seen = 0;
        double  median = 0, mad = d->dev[e];
        for (int64_t r = d->c->first[e]; r < d->c->first[e + 1]; r++) {
            score[r] = 0;
            if (isnan(d->y[r])) continue;
            const double off = d->y[r] - d->hour[e * 24 + hour_of(d->c->time[r])];
            if (seen >= n && seen % 12 == 0) { /* they move slowly */
                memcpy(sorted, last, (size_t)n * sizeof *sorted);
                qsort(sorted, (size_t)n, sizeof *sorted, by_size);
                median = sorted[n / 2];
                for (int k = 0; k < n; k++) sorted[k] = fabs(last[k] - median);
                qsort(sorted, (size_t)n, sizeof *sorted, by_size);
                mad = fmax(1.4826 * sorted[n / 2], 1e-3 * d->dev[e]);
            }
            if (seen >= n) score[r] = fabs(off - median) / mad;
            last[seen++ % n] = off;
        }
    }
    free(last);
    free(sorted);
}

/* ---- scores ---- */

typedef struct ranked {
    double score;
    int    fault; /* 1 + kind; 0: none */
} ranked;

/* What one method said of all rows of all seeds. */
typedef struct tally {
    ranked *row;
    size_t  n;
    double  faults[KINDS], hits[KINDS], late[KINDS];
} tally;

static int by_score(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
    return (x > y) - (x < y);
}

static void add_rows(tally *t, const data *d, const double *score)
{
    t->row = realloc(t->row, (t->n + (size_t)d->c->n_rows) * sizeof *t->row);
    if (t->row == NULL) exit(1);
    for (int64_t e = 0; e < d->c->n_entities; e++)
        for (int64_t r = d->first[e]; r < d->c->first[e + 1]; r++)
            if (d->fault[r] > 0 || (d->fault[r] == 0 && !isnan(d->y[r])))
                t->row[t->n++] = (ranked){ score[r], d->fault[r] };
}

/* Area under the curve of rows of that kind of fault (-1: of any, -2: of any but silence) against
 * quiet ones. Rows are sorted. */
static double area(const tally *t, int kind)
{
    double bad = 0, sum = 0, seen = 0;
    for (size_t i = 0, end; i < t->n; i = end) {
        double faults = 0, quiet = 0;
        for (end = i; end < t->n && t->row[end].score == t->row[i].score; end++) {
            const int f = t->row[end].fault;
            if (f == 0) quiet++;
            else faults += kind == -1 || (kind == -2 ? f != 1 + SILENT : f == 1 + kind);
        }
        sum += faults * (seen + 0.5 * quiet);
        seen += quiet;
        bad += faults;
    }
    return bad > 0 && seen > 0 ? sum / (bad * seen) : NAN;
}

/* Rows from first to end beyond the limit that begin an alarm. */
static double alarms(const data *d, const double *score, double limit, int test, double *rows)
{
    double n = 0;
    *rows = 0;
    for (int64_t e = 0; e < d->c->n_entities; e++) {
        int quiet = JOIN;
        for (int64_t r = test ? d->first[e] : d->c->first[e];
             r < (test ? d->c->first[e + 1] : d->first[e]); r++) {
            const int over = score[r] > limit;
            n += over && quiet >= JOIN;
            quiet = over ? 0 : quiet + 1;
            ++*rows;
        }
    }
    return n;
}

static double limit_for(const data *d, const double *score, double rate)
{
    double low = 1, high = 1e3, rows;
    for (int i = 0; i < 60; i++) {
        const double mid = 0.5 * (low + high);
        if (alarms(d, score, mid, 0, &rows) > rate * rows) low = mid;
        else high = mid;
    }
    return high;
}

static void add_found(tally *t, const data *d, const double *score, double limit)
{
    for (int id = 1; id <= d->n_events; id++) {
        const int kind = d->kind_of[id];
        t->faults[kind]++;
        for (int64_t r = d->begins_at[id]; r < d->c->n_rows && d->event[r] == id; r++)
            if (score[r] > limit) {
                t->hits[kind]++;
                t->late[kind] += (double)(r - d->begins_at[id]);
                break;
            }
    }
}

/* ---- ours ---- */

static llap_panel *panel_of(const data *d, const char *name)
{
    const char **entity = room((size_t)d->c->n_rows, sizeof *entity);
    llap_panel  *p;
    for (int64_t e = 0; e < d->c->n_entities; e++)
        for (int64_t r = d->c->first[e]; r < d->c->first[e + 1]; r++) entity[r] = d->c->entities[e];
    must(llap_panel_from_arrays(&(llap_arrays){ .n_rows = (size_t)d->c->n_rows,
                                                .n_vars = 1,
                                                .var = &name,
                                                .entity = entity,
                                                .time = d->c->time,
                                                .value = d->y,
                                                .axis = &d->c->axis },
                                &p));
    free((void *)entity);
    return p;
}

/* Margins of all test rows. */
static void ours(const llap_model *m, const data *d, const char *name, double rate, double *score)
{
    llap_panel     *p = panel_of(d, name);
    llap_detection *got;
    must(llap_detect(m, p, &(llap_detect_opts){ .rate = rate, .rows = 1 }, &got));
    for (int64_t e = 0; e < d->c->n_entities; e++) {
        int64_t               n;
        const llap_judgement *j = llap_detection_rows(got, e, 0, &n);
        for (int64_t r = d->first[e], k = 0; r < d->c->first[e + 1]; r++, k++)
            score[r] = k < n ? j[k].margin : 0;
    }
    llap_detection_destroy(got);
    llap_panel_destroy(p);
}

static data data_of(const llap_panel *p)
{
    const llap_panel_columns *c = llap_panel_view(p);
    const size_t              R = (size_t)c->n_rows, E = (size_t)c->n_entities;
    data                      d = { .c = c,
                                    .y = room(R, sizeof(float)),
                                    .fault = room(R, sizeof(int)),
                                    .event = room(R, sizeof(int)),
                                    .dev = room(E, sizeof(double)),
                                    .hour = room(E, 24 * sizeof(double)),
                                    .first = room(E, sizeof(int64_t)),
                                    .kind_of = room(R, sizeof(int)),
                                    .begins_at = room(R, sizeof(int64_t)) };
    for (int64_t r = 0; r < c->n_rows; r++)
        d.y[r] = llap_cell_observed(c, r, 0) ? c->value[r] : NAN;
    return d;
}

static void free_data(data *d)
{
    void *const arrays[] = { d->y,    d->fault, d->event,   d->dev,
                             d->hour, d->first, d->kind_of, d->begins_at };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

static void scores_of(const llap_model *m, const data *d, const char *name, double rate,
                      double **score)
{
    if (m != NULL) ours(m, d, name, rate, score[OURS]);
    rolling(d, 168, score[ROLLING]);
    seasonal(d, 14 * 24, score[SEASONAL]);
}

static void show(tally *t)
{
    printf("  %.0f spikes, %.0f drifts, %.0f stuck, %.0f silent; area under the curve, then share "
           "found and rows until then\n  %-14s %8s %8s",
           t->faults[SPIKE], t->faults[DRIFT], t->faults[STUCK], t->faults[SILENT], "", "all",
           "readings");
    for (int k = 0; k < KINDS; k++) printf(" %20s", kind_name[k]);
    putchar('\n');
    for (int i = 0; i < METHODS; i++) {
        qsort(t[i].row, t[i].n, sizeof *t[i].row, by_score);
        printf("  %-14s %8.4f %8.4f", method_name[i], area(&t[i], -1), area(&t[i], -2));
        for (int k = 0; k < KINDS; k++)
            printf("  %.4f %4.0f %% %5.1f", area(&t[i], k), 100 * t[i].hits[k] / t[i].faults[k],
                   t[i].late[k] / t[i].hits[k]);
        putchar('\n');
        free(t[i].row);
    }
}

/* Where nothing was put in: alarms, and the limits of the other two. */
static void quiet(const llap_model *m, const llap_panel *p, const data *d, double rate,
                  double **score, double *limit)
{
    double rows;
    scores_of(NULL, d, "", rate, score);
    llap_detection *got;
    must(llap_detect(m, p, &(llap_detect_opts){ .rate = rate }, &got));
    printf("  %-14s %8.4g\n", method_name[OURS], 1e3 * llap_detection_about(got)->found);
    for (int k = ROLLING; k < METHODS; k++) {
        limit[k] = limit_for(d, score[k], rate);
        const double n = alarms(d, score[k], limit[k], 1, &rows);
        printf("  %-14s %8.4g\n", method_name[k], 1e3 * n / rows);
    }
    llap_detection_destroy(got);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: detect DATA VARIABLE [CONTEXT|MODEL] [RATE] [SEEDS]\n"), 2;
    const double         rate = argc > 4 ? atof(argv[4]) : 0.005;
    const int            seeds = argc > 5 ? atoi(argv[5]) : 4;
    const llap_read_opts how = { .columns = argv[2] };
    llap_train_opts      train = { .size = LLAP_TRAIN_SIZE_ANCHOR,
                                   .context = argc > 3 ? argv[3] : "14d",
                                   .horizon = "24h" };
    llap_panel          *p;
    llap_model          *m;
    llap_detection      *got;
    double              *score[METHODS], limit[METHODS] = { 0 };
    tally                t[METHODS] = { 0 };
    must(llap_panel_read((const char *const[]){ argv[1] }, 1, &how, &p));
    if (strstr(train.context, ".safetensors") != NULL) must(llap_model_load(train.context, &m));
    else must(llap_train(p, &train, &m));
    must(llap_detect(m, p, &(llap_detect_opts){ .rate = rate }, &got));
    const int64_t from = llap_detection_about(got)->from;
    llap_detection_destroy(got);
    printf("%s %s: where nothing was put in, alarms wanted %.4g of 1000 rows; found:\n", argv[1],
           argv[2], 1e3 * rate);
    for (int seed = 0; seed <= seeds; seed++) {
        data d = data_of(p);
        draws = (uint64_t)seed;
        profile(&d, from);
        for (int k = 0; k < METHODS; k++) score[k] = room((size_t)d.c->n_rows, sizeof(double));
        if (seed == 0) {
            quiet(m, p, &d, rate, score, limit);
        } else {
            put_faults(&d);
            scores_of(m, &d, argv[2], rate, score);
            for (int k = 0; k < METHODS; k++) {
                add_rows(&t[k], &d, score[k]);
                add_found(&t[k], &d, score[k], limit[k]);
            }
        }
        for (int k = 0; k < METHODS; k++) free(score[k]);
        free_data(&d);
    }
    show(t);
    llap_model_destroy(m);
    llap_panel_destroy(p);
    return 0;
}
