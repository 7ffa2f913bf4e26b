#include "data/panel_runs.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/pack.h"
#include "data/panel_runs_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_ROWS = 8192 };

/* A file without a name beside the packed panel. */
static llap_status open_file(const char *beside, int *fd)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s.runs.XXXXXX", beside) >= (int)sizeof path)
        return ll_fail(LLAP_EINVAL, "%s: a path of over 4095 bytes", beside);
    *fd = mkstemp(path);
    if (*fd < 0) return ll_fail_errno(errno, "%s: cannot create a file beside it", beside);
    (void)unlink(path);
    return LLAP_OK;
}

static llap_status create(ll_panel_builder *b)
{
    if (b->runs != NULL) return LLAP_OK;
    ll_row_runs *r = b->runs = ll_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    r->fd = -1;
    r->name = ll_pack_writer_path(b->opts.pack);
    return open_file(r->name, &r->fd);
}

void ll_row_runs_destroy(ll_row_runs *r)
{
    if (r == NULL) return;
    if (r->fd >= 0) close(r->fd);
    ll_free(r->run);
    ll_free(r->span);
    ll_free(r);
}

llap_status ll_row_runs_write(const ll_row_runs *r, const void *bytes, size_t n, int64_t at)
{
    const char *from = bytes;
    while (n > 0) {
        const ssize_t done = pwrite(r->fd, from, n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return ll_fail_errno(done == 0 ? ENOSPC : errno, "%s: rows being sorted", r->name);
        from += done, n -= (size_t)done, at += done;
    }
    return LLAP_OK;
}

llap_status ll_row_runs_read(const ll_row_runs *r, void *bytes, size_t n, int64_t at)
{
    char *to = bytes;
    while (n > 0) {
        const ssize_t done = pread(r->fd, to, n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return ll_fail_errno(done == 0 ? EIO : errno, "%s: rows being sorted", r->name);
        to += done, n -= (size_t)done, at += done;
    }
    return LLAP_OK;
}

/* ---- memory to a run ---- */

static llap_status add_spans(ll_panel_builder *b)
{
    ll_row_runs     *r = b->runs;
    const uint32_t   n = b->entities.n;
    ll_builder_span *larger = ll_grow(r->span, n, sizeof *larger);
    if (larger == NULL) return LLAP_ENOMEM;
    r->span = larger;
    for (; r->n_spans < n; r->n_spans++)
        r->span[r->n_spans] = (ll_builder_span){ .first = INT64_MAX, .last = INT64_MIN };
    for (int64_t i = 0; i < b->rows.n; i++) {
        ll_builder_span *s = &r->span[ll_events_entity(&b->rows, i)];
        const int64_t    t = b->rows.time[i];
        s->first = t < s->first ? t : s->first;
        s->last = t > s->last ? t : s->last;
        s->rows++;
    }
    return LLAP_OK;
}

static llap_status write_run(const ll_panel_builder *b, const ll_row_run *run,
                             const uint32_t *arrival)
{
    const ll_row_runs *r = b->runs;
    uint32_t           id[PIECE_ROWS];
    llap_status        st = LLAP_OK;
    for (int kind = 0; kind < 2; kind++) /* entities, then arrivals */
        for (int64_t i = 0; i < run->n && st == LLAP_OK; i += PIECE_ROWS) {
            const int64_t n = run->n - i < PIECE_ROWS ? run->n - i : PIECE_ROWS;
            for (int64_t k = 0; k < n; k++)
                id[k] = kind == 0         ? ll_events_entity(&b->rows, i + k)
                        : arrival == NULL ? (uint32_t)(i + k)
                                          : arrival[i + k];
            st =
                ll_row_runs_write(r, id, (size_t)n * sizeof *id, run->at + (kind * run->n + i) * 4);
        }
    if (st == LLAP_OK)
        st = ll_row_runs_write(r, b->rows.time, (size_t)run->n * 8, ll_row_run_times(run, 0));
    if (st == LLAP_OK)
        st = ll_row_runs_write(r, b->value, (size_t)(run->n * run->stride) * 4,
                               ll_row_run_values(run, 0));
    return st;
}

static llap_status add_run(ll_row_runs *r, const ll_row_run *run)
{
    if (r->n == r->room) {
        const size_t room = 2 * r->room + 16;
        ll_row_run  *more = ll_grow(r->run, room, sizeof *more);
        if (more == NULL) return LLAP_ENOMEM;
        r->run = more;
        r->room = room;
    }
    r->run[r->n++] = *run;
    r->end = ll_row_run_values(run, run->n);
    return LLAP_OK;
}

llap_status ll_row_runs_spill(ll_panel_builder *b)
{
    uint32_t   *rank = NULL, *sorted = NULL, *arrival = NULL;
    ll_row_run  run = { .of_cells = b->cells.n > 0 };
    llap_status st = create(b);
    if (b->rows.n + b->cells.n == 0 || st != LLAP_OK) return st;
    st = ll_building_ranks(b, &rank, &sorted);
    if (st == LLAP_OK) st = ll_building_sort(b, rank, &arrival);
    if (st == LLAP_OK) st = add_spans(b);
    run.at = b->runs->end;
    run.n = b->rows.n;
    run.stride = b->stride;
    run.arrivals = run.of_cells ? b->runs_cells : b->runs_rows;
    if (st == LLAP_OK) st = write_run(b, &run, arrival);
    if (st == LLAP_OK) st = add_run(b->runs, &run);
    ll_free(rank);
    ll_free(sorted);
    ll_free(arrival);
    b->rows.n = 0;
    b->runs_rows = b->counts.rows;
    b->runs_cells = b->counts.cells;
    return st;
}

/* ---- all runs again ---- */

llap_status ll_row_runs_visit(ll_row_runs *r, void (*see)(void *user, uint32_t var, float *x),
                              void        *user)
{
    llap_status st = LLAP_OK;
    for (size_t k = 0; k < r->n && st == LLAP_OK; k++) {
        const ll_row_run *run = &r->run[k];
        const int64_t     most = run->n < PIECE_ROWS ? run->n : PIECE_ROWS;
        float            *x = ll_new((size_t)(most * run->stride), sizeof *x);
        if (x == NULL) return LLAP_ENOMEM;
        for (int64_t i = 0; i < run->n && st == LLAP_OK; i += most) {
            const int64_t n = (run->n - i < most ? run->n - i : most) * run->stride;
            bool          changed = false;
            st = ll_row_runs_read(r, x, (size_t)n * sizeof *x, ll_row_run_values(run, i));
            for (int64_t c = 0; c < n && st == LLAP_OK; c++) {
                const float was = x[c];
                if (isnan(was)) continue;
                see(user, (uint32_t)(c % run->stride), &x[c]);
                changed = changed || !(x[c] == was);
            }
            if (st == LLAP_OK && changed)
                st = ll_row_runs_write(r, x, (size_t)n * sizeof *x, ll_row_run_values(run, i));
        }
        ll_free(x);
    }
    return st;
}

void ll_row_runs_spans(const ll_row_runs *r, ll_builder_span *out, uint32_t n)
{
    for (uint32_t e = 0; r != NULL && e < n && e < r->n_spans; e++) {
        const ll_builder_span *s = &r->span[e];
        out[e].first = s->first < out[e].first ? s->first : out[e].first;
        out[e].last = s->last > out[e].last ? s->last : out[e].last;
        out[e].rows += s->rows;
    }
}

static int earlier(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The rows of a run that was read, in the order in which they came. */
static llap_status restore_arrival(ll_panel_builder *b, const ll_row_run *run)
{
    const size_t n = (size_t)run->n;
    uint32_t    *arrival = ll_new(n, sizeof *arrival);
    uint64_t    *key = ll_new(n, sizeof *key);
    llap_status  st = arrival == NULL || key == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK)
        st = ll_row_runs_read(b->runs, arrival, n * sizeof *arrival, run->at + 4 * run->n);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) key[i] = (uint64_t)arrival[i] << 32 | i;
    ll_free(arrival);
    if (st == LLAP_OK) {
        int64_t *order = (int64_t *)(void *)key;
        qsort(key, n, sizeof *key, earlier);
        for (size_t i = 0; i < n; i++) order[i] = (int64_t)(key[i] & UINT32_MAX);
        st = ll_building_permute(b, order);
    }
    ll_free(key);
    return st;
}

/* A run back into memory, which is empty, under other entities, in the order of its arrival: parts
 * of one series that overlap are put together in that order. */
static llap_status load(ll_panel_builder *b, const ll_row_run *run, const uint32_t *to)
{
    const ll_row_runs *r = b->runs;
    uint32_t           id[PIECE_ROWS];
    llap_status        st = ll_building_widen(b);
    assert(b->rows.n == 0 && run->stride <= b->stride);
    if (st == LLAP_OK)
        st = ll_building_reserve(b, run->n > b->rows.capacity ? run->n : b->rows.capacity,
                                 b->entities.n);
    for (int64_t i = 0; i < run->n && st == LLAP_OK; i += PIECE_ROWS) {
        const int64_t n = run->n - i < PIECE_ROWS ? run->n - i : PIECE_ROWS;
        st = ll_row_runs_read(r, id, (size_t)n * sizeof *id, run->at + i * 4);
        for (int64_t k = 0; k < n && st == LLAP_OK; k++) ll_events_put(&b->rows, i + k, to[id[k]]);
    }
    if (st == LLAP_OK)
        st = ll_row_runs_read(r, b->rows.time, (size_t)run->n * 8, ll_row_run_times(run, 0));
    if (st == LLAP_OK)
        st = ll_row_runs_read(r, b->value, (size_t)(run->n * run->stride) * 4,
                              ll_row_run_values(run, 0));
    if (st != LLAP_OK) return st;
    const int64_t now = b->stride;
    b->stride = run->stride;
    b->rows.n = run->n;
    st = restore_arrival(b, run);
    return st != LLAP_OK || now == run->stride ? st : ll_building_widen(b);
}

llap_status ll_row_runs_join(ll_panel_builder *b, const uint32_t *to)
{
    llap_status  st = ll_row_runs_spill(b);
    const size_t n = b->runs->n;
    for (size_t k = 0; k < n && st == LLAP_OK; k++) {
        const ll_row_run run = b->runs->run[k];
        st = load(b, &run, to);
        if (st == LLAP_OK) st = ll_row_runs_spill(b);
        if (st != LLAP_OK) break;
        b->runs->run[b->runs->n - 1].arrivals = run.arrivals;
        b->runs->run[b->runs->n - 1].of_cells = run.of_cells;
    }
    if (st != LLAP_OK) return st;
    memmove(b->runs->run, b->runs->run + n, (b->runs->n - n) * sizeof *b->runs->run);
    b->runs->n -= n;
    return LLAP_OK;
}
