/* Reads the columns that a test needs from one of the plain tables of LLAP_DATA: gzip, a header,
 * commas, no quotes, rows of one entity together; an empty cell is missing. */
#ifndef LLAP_TESTS_TABLE_H
#define LLAP_TESTS_TABLE_H

#include "anchor/chain/chain.h"
#include "check.h"

#include <zlib.h>

enum { TABLE_COLUMNS = 8 };

typedef struct table {
    size_t  n_entities, n_rows;
    size_t *start;            /* [n_entities + 1] first row of each */
    double *t;                /* [n_rows] hours since 1970, or the number itself */
    double *x[TABLE_COLUMNS]; /* [n_rows] each wanted column */
} table;

static inline double table_time(const char *s)
{
    int y, mo, d, h = 0, mi = 0, se = 0;
    if (strchr(s, '-') == NULL) return strtod(s, NULL);
    if (sscanf(s, "%d-%d-%dT%d:%d:%d", &y, &mo, &d, &h, &mi, &se) < 3) fail_msg("time '%s'", s);
    const int     shift = mo <= 2; /* days from civil, counted from March */
    const int64_t yy = y - shift, era = yy / 400, yoe = yy - era * 400;
    const int64_t doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    const int64_t days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
    return (double)(days * 24 + h) + mi / 60.0 + se / 3600.0;
}

/* False: no LLAP_DATA, or no such file there; the test is then to be skipped. */
static inline bool table_read(const char *name, const char *const *columns, size_t n_columns,
                              table *out)
{
    const char *root = getenv("LLAP_DATA");
    char        path[4096], line[65536], entity[256] = "";
    if (root == NULL) return false;
    snprintf(path, sizeof path, "%s/%s", root, name);
    gzFile f = gzopen(path, "rb");
    if (f == NULL) return false;
    *out = (table){ 0 };
    int    at[TABLE_COLUMNS + 2]; /* entity, time, columns */
    size_t capacity = 0, entities = 0;
    if (gzgets(f, line, sizeof line) == NULL) fail_msg("%s: empty", path);
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t c = 0; c < n_columns + 2; c++) {
        const char *want = c == 0 ? "entity" : c == 1 ? "time" : columns[c - 2];
        int         i = 0;
        at[c] = -1;
        for (const char *p = line; p != NULL; p = strchr(p, ','), p = p ? p + 1 : p, i++)
            if (strncmp(p, want, strlen(want)) == 0 && strchr(",", p[strlen(want)]) != NULL)
                at[c] = i;
        if (at[c] < 0) fail_msg("%s: no column '%s'", path, want);
    }
    while (gzgets(f, line, sizeof line) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (out->n_rows == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 14;
            out->t = realloc(out->t, capacity * sizeof(double));
            for (size_t c = 0; c < n_columns; c++)
                out->x[c] = realloc(out->x[c], capacity * sizeof(double));
        }
        int   i = 0;
        char *next = NULL;
        for (char *p = line; p != NULL; p = next, i++) {
            next = strchr(p, ',');
            if (next != NULL) *next++ = '\0';
            if (i == at[0] && strcmp(entity, p) != 0) {
                snprintf(entity, sizeof entity, "%s", p);
                if (out->n_entities + 1 >= entities) {
                    entities = entities ? 2 * entities : 64;
                    out->start = realloc(out->start, (entities + 1) * sizeof *out->start);
                }
                out->start[out->n_entities++] = out->n_rows;
            }
            if (i == at[1]) out->t[out->n_rows] = table_time(p);
            for (size_t c = 0; c < n_columns; c++)
                if (i == at[c + 2]) out->x[c][out->n_rows] = *p ? strtod(p, NULL) : NAN;
        }
        out->n_rows++;
    }
    gzclose(f);
    out->start[out->n_entities] = out->n_rows;
    return true;
}

static inline void table_free(table *t)
{
    free(t->start);
    free(t->t);
    for (int c = 0; c < TABLE_COLUMNS; c++) free(t->x[c]);
}

#endif
