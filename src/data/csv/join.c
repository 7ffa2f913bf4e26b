/* Series that were cut over several files: years, months. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/time/civil.h"
#include "data/csv/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef struct piece {
    const ll_csv_part *part;
    ll_builder_span    span;
} piece;

static int by_time(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    if (x->span.first != y->span.first) return x->span.first < y->span.first ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

static double mean_gap(const piece *p)
{
    return (double)ll_elapsed(p->span.first, p->span.last) / (double)(p->span.rows - 1);
}

/* ---- names ---- */

static const char *name_of(const ll_csv_reader *r, const piece *p)
{
    return ll_panel_builder_entity_name(r->builder, p->part->entity);
}

static size_t count_digits(const char *s)
{
    size_t n = 0;
    while (isdigit((unsigned char)s[n])) n++;
    return n;
}

/* Is the number a part of that date, as names of files have it: 2016, 16, 03, 201603, 20160301? */
static bool is_of_date(const char *digits, size_t n, int64_t time)
{
    const ll_civil d = ll_civil_at(time, NULL);
    char           text[32];
    snprintf(text, sizeof text, "%04d%02d%02d", (int)d.year, (int)d.month, (int)d.day);
    if (strlen(text) != 8) return false;
    static const struct {
        size_t from, n;
    } part[] = { { 0, 4 }, { 2, 2 }, { 4, 2 }, { 6, 2 }, { 0, 6 }, { 0, 8 } };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].n == n && memcmp(text + part[i].from, digits, n) == 0) return true;
    return false;
}

static bool tells_date(const char *digits, size_t n, const piece *p)
{
    return is_of_date(digits, n, p->span.first) || is_of_date(digits, n, p->span.last);
}

/* The names of parts differ by one number, or by dates alone: air_1 and air_2, air_2016_12 and
 * air_2017_01. Numbers beside dates are other series: station7_2016 and station9_2017. */
static bool names_agree(const char *a, const char *b, const piece *of_a, const piece *of_b)
{
    int dates = 0, others = 0;
    while (*a != '\0' && *b != '\0') {
        const size_t n = count_digits(a), k = count_digits(b);
        if (n == 0 || k == 0) {
            if (*a++ != *b++) return false;
            continue;
        }
        const bool differ = n != k || memcmp(a, b, n) != 0;
        const bool date = tells_date(a, n, of_a) && tells_date(b, k, of_b);
        dates += date && (differ || n >= 4); /* 01 may be anything */
        others += differ && !date;
        a += n;
        b += k;
    }
    return *a == *b && (others == 0 || (others == 1 && dates == 0));
}

/* ---- times ---- */

/* b goes on where a ends: a few steps later, or a tenth of the shorter of the two. */
static bool goes_on(const piece *a, const piece *b)
{
    if (a->part->columns != b->part->columns || a->span.rows < 2 || b->span.rows < 2) return false;
    if (b->span.first <= a->span.last) return false;
    const double gap = (double)ll_elapsed(a->span.last, b->span.first);
    const double shorter = fmin((double)ll_elapsed(a->span.first, a->span.last),
                                (double)ll_elapsed(b->span.first, b->span.last));
    return gap <= fmax(3 * fmax(mean_gap(a), mean_gap(b)), shorter / 10);
}

/* What the names have in common, without the digits and marks behind it: air of air_2019 and
 * air_2020. */
static llap_status name_whole(ll_csv_reader *r, const piece *p, size_t n, uint32_t *entity)
{
    const char *first = name_of(r, &p[0]);
    size_t      len = strlen(first);
    for (size_t i = 1; i < n; i++) {
        const char *name = name_of(r, &p[i]);
        size_t      k = 0;
        while (k < len && name[k] == first[k]) k++;
        len = k;
    }
    while (len > 0 && ((unsigned char)first[len] & 0xc0) == 0x80) len--; /* whole characters */
    while (len > 0 && (isdigit((unsigned char)first[len - 1]) ||
                       ispunct((unsigned char)first[len - 1]) || first[len - 1] == ' '))
        len--;
    return len < 2 ? ll_panel_builder_entity(r->builder, "series", strlen("series"), entity)
                   : ll_panel_builder_entity(r->builder, first, len, entity);
}

static llap_status check_overlap(const ll_csv_reader *r, const piece *p, size_t n)
{
    for (size_t i = 1; r->o->join == LL_YES && i < n; i++)
        if (p[i].span.first <= p[i - 1].span.last)
            return ll_fail(LLAP_EINVAL,
                           "%s: begins before %s ends: not parts of one series (`join`); series of "
                           "several entities need a column that names them (`entity`)",
                           p[i].part->path, p[i - 1].part->path);
    return LLAP_OK;
}

static llap_status make_one(ll_csv_reader *r, const piece *p, size_t n, char said[512])
{
    uint32_t    whole;
    llap_status st = name_whole(r, p, n, &whole);
    if (st != LLAP_OK) return st;
    const uint32_t n_entities = ll_panel_builder_n_entities(r->builder);
    uint32_t      *to = ll_new(n_entities, sizeof *to);
    if (to == NULL) return LLAP_ENOMEM;
    for (uint32_t e = 0; e < n_entities; e++) to[e] = e;
    for (size_t i = 0; i < n; i++) to[p[i].part->entity] = whole;
    st = ll_panel_builder_join(r->builder, to);
    if (st == LLAP_OK) st = ll_word_notes_join(&r->words, to, n_entities);
    ll_free(to);
    if (st != LLAP_OK) return st;
    snprintf(said, 512,
             "%zu files%s are one series, '%s', from %s to %s; `join` no keeps them apart", n,
             r->o->join == LL_AUTO && r->o->entity == NULL ? " that continue each other" : "",
             ll_text_show(ll_panel_builder_entity_name(r->builder, whole)).text, p[0].part->path,
             p[n - 1].part->path);
    return LLAP_OK;
}

llap_status ll_csv_reader_join(ll_csv_reader *r, char said[512])
{
    const bool   asked = r->o->join == LL_YES || r->o->entity != NULL;
    const size_t n = r->n_parts;
    llap_status  st = LLAP_OK;
    said[0] = '\0';
    if (n < 2 || r->o->join == LL_NO) return LLAP_OK;
    ll_builder_span *span = ll_new(ll_panel_builder_n_entities(r->builder), sizeof *span);
    piece           *p = ll_new(n, sizeof *p);
    if (span == NULL || p == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) {
        size_t k = 0;
        ll_panel_builder_spans(r->builder, span);
        for (size_t i = 0; i < n; i++)
            if (span[r->part[i].entity].rows > 0)
                p[k++] = (piece){ &r->part[i], span[r->part[i].entity] };
        qsort(p, k, sizeof *p, by_time);
        bool all = k > 1 && (asked || r->settled.form == LL_CSV_WIDE);
        for (size_t i = 1; i < k && !asked; i++)
            all = all && goes_on(&p[i - 1], &p[i]) &&
                  names_agree(name_of(r, &p[i - 1]), name_of(r, &p[i]), &p[i - 1], &p[i]);
        if (all) st = check_overlap(r, p, k);
        if (st == LLAP_OK && all) st = make_one(r, p, k, said);
    }
    ll_free(span);
    ll_free(p);
    return st;
}
