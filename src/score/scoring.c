#include "score/scoring.h"

#include "base/alloc.h"
#include "base/progress.h"
#include "predict/forecaster.h"
#include "score/heard.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { WINDOWS_MAX = 256, BYTES = 64 << 20 }; /* of a block */

void scoring_deinit(scoring *s)
{
    for (int64_t i = 0; s->cell != NULL && i < s->n_forecasters * s->n_targets; i++) {
        ll_free(s->cell[i].lead);
        ll_free(s->cell[i].entity);
    }
    ll_free(s->cell);
    ll_free(s->unit);
    ll_free(s->window);
    *s = (scoring){ 0 };
}

static llap_status scoring_init(scoring *s, const scoring_input *in)
{
    *s = (scoring){ .n_targets = in->n_targets,
                    .n_windows = in->n,
                    .n_units = in->n_units,
                    .n_entities = in->panel->n_entities,
                    .n_forecasters = in->n_forecasters,
                    .leads = in->leads };
    const size_t n = (size_t)(in->n_forecasters * in->n_targets);
    s->cell = ll_new(n, sizeof *s->cell);
    s->unit = ll_new(n, (size_t)in->n_units * sizeof *s->unit);
    if (in->windows) s->window = ll_new(n, (size_t)in->n * sizeof *s->window);
    if (s->cell == NULL || s->unit == NULL || (in->windows && s->window == NULL))
        return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        s->cell[i].lead = ll_new((size_t)in->leads.n, sizeof *s->cell[i].lead);
        if (in->entities)
            s->cell[i].entity = ll_new((size_t)s->n_entities, sizeof *s->cell[i].entity);
        if (s->cell[i].lead == NULL || (in->entities && s->cell[i].entity == NULL))
            return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

/* ---- a block of windows ---- */

/* Room for one block, used again by the next. */
typedef struct block {
    int64_t              size, n_query; /* windows and queries there is room for */
    int64_t              first, n;      /* windows of the input */
    double              *truth;         /* [size,n_targets,n_query] */
    int32_t             *lead;          /* [size,n_targets,n_query] */
    ll_forecast_members *answer;        /* [size,n_targets] */
    tally               *one;           /* [size,n_targets] */
    tally_brief         *ahead;         /* [size,n_targets,leads] */
    tally_room          *room;          /* [n_threads] */
    int                  n_threads;
} block;

static void block_deinit(block *b)
{
    ll_free(b->truth);
    ll_free(b->lead);
    ll_free(b->answer);
    ll_free(b->one);
    ll_free(b->ahead);
    for (int i = 0; b->room != NULL && i < b->n_threads; i++) tally_room_deinit(&b->room[i]);
    ll_free(b->room);
}

static llap_status block_init(block *b, const scoring_input *in)
{
    *b = (block){ .n_query = 1, .n_threads = omp_get_max_threads() };
    for (int64_t i = 0; i < in->n; i++)
        if (in->w[i].n_query > b->n_query) b->n_query = in->w[i].n_query;
    const double each =
        (double)in->n_targets * ((double)b->n_query * 8 * (double)(in->ask.n_samples + 2) +
                                 (double)in->leads.n * (double)sizeof(tally_brief) + sizeof(tally));
    b->size = (int64_t)fmax(1, fmin(WINDOWS_MAX, BYTES / each));
    const size_t n_all = (size_t)(b->size * in->n_targets);
    b->truth = ll_new(n_all, (size_t)b->n_query * sizeof *b->truth);
    b->lead = ll_new(n_all, (size_t)b->n_query * sizeof *b->lead);
    b->answer = ll_new(n_all, sizeof *b->answer);
    b->one = ll_new(n_all, sizeof *b->one);
    b->ahead = ll_new(n_all, (size_t)in->leads.n * sizeof *b->ahead);
    b->room = ll_new((size_t)b->n_threads, sizeof *b->room);
    return b->truth == NULL || b->lead == NULL || b->answer == NULL || b->one == NULL ||
                   b->ahead == NULL || b->room == NULL
               ? LLAP_ENOMEM
               : LLAP_OK;
}

/* The next windows; those of one origin are kept together where they fit. */
static void block_next(block *b, const scoring_input *in)
{
    const int64_t left = in->n - b->first;
    b->n = left < b->size ? left : b->size;
    if (b->n == left) return;
    int64_t n = b->n;
    assert(in->w[b->first + n].origin >= in->w[b->first + n - 1].origin);
    while (n > 1 && in->w[b->first + n].origin == in->w[b->first + n - 1].origin) n--;
    if (n > 1) b->n = n;
}

/* What came true, and how far ahead. */
static void block_truth(block *b, const scoring_input *in)
{
    const llap_panel *p = in->panel;
    for (int64_t i = 0; i < b->n; i++) {
        const ll_forecast_window *w = &in->w[b->first + i];
        const int64_t             at = in->time != NULL ? w->time - in->time : 0;
        for (int64_t q = 0; q < w->n_query; q++) {
            const int64_t row = in->time != NULL ? in->row[at + q] : w->end + q;
            assert(in->truth != NULL || (row >= 0 && row < p->n_rows));
            const int32_t lead = ll_lead(&in->leads, w->time[q] - w->origin);
            for (int64_t k = 0; k < in->n_targets; k++) {
                const int64_t to = (i * in->n_targets + k) * b->n_query + q;
                b->truth[to] = in->truth != NULL ? in->truth[(at + q) * in->n_targets + k]
                               : scoring_known(in, row, k)
                                   ? (double)p->value[row * p->n_vars + in->var[k]]
                                   : NAN;
                b->lead[to] = in->time != NULL ? in->lead[(at + q) * in->n_targets + k] : lead;
                assert(b->lead[to] >= 0 && b->lead[to] < in->leads.n);
            }
        }
    }
}

static llap_status block_rooms(block *b, const scoring_input *in)
{
    int64_t most = 1;
    for (int64_t i = 0; i < b->n * in->n_targets; i++)
        if (b->answer[i].n > most) most = b->answer[i].n;
    for (int i = 0; i < b->n_threads; i++) {
        if (b->room[i].n_members >= most) continue;
        tally_room_deinit(&b->room[i]);
        const llap_status st = tally_room_init(&b->room[i], most, b->n_query);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}

static void block_score(block *b, const scoring_input *in)
{
    const int64_t n = b->n * in->n_targets;
    memset(b->one, 0, (size_t)n * sizeof *b->one);
    memset(b->ahead, 0, (size_t)(n * in->leads.n) * sizeof *b->ahead);
#pragma omp parallel for schedule(dynamic, 1) num_threads(b->n_threads)
    for (int64_t i = 0; i < n; i++) {
        const ll_forecast_window *w = &in->w[b->first + i / in->n_targets];
        const int64_t             k = i % in->n_targets;
        const tally_case          c = { .n_query = w->n_query,
                                        .truth = b->truth + i * b->n_query,
                                        .scale = &in->scale[k * in->panel->n_entities + w->entity],
                                        .bin = b->lead + i * b->n_query,
                                        .id = w->id + (uint64_t)k,
                                        .seed = in->ask.seed };
        tally_forecast(&c, &b->answer[i], &b->room[omp_get_thread_num()], &b->one[i],
                       b->ahead + i * in->leads.n);
    }
}

void scoring_sum_add(scoring_sum *s, const scoring_sum *more)
{
    s->n += more->n;
    s->z.crps += more->z.crps;
    s->z.se += more->z.se;
    s->y.crps += more->y.crps;
    s->y.se += more->y.se;
    s->n_unanswered += more->n_unanswered;
}

/* In the order of windows. */
static void block_add(const block *b, const scoring_input *in, int forecaster, scoring *out)
{
    for (int64_t i = 0; i < b->n * in->n_targets; i++) {
        const int64_t      at = b->first + i / in->n_targets, k = i % in->n_targets;
        const tally       *t = &b->one[i];
        scoring_cell      *cell = scoring_at(out, forecaster, k);
        scoring_sum       *u = out->unit + (forecaster * in->n_targets + k) * in->n_units;
        const tally_brief *ahead = b->ahead + i * in->leads.n;
        tally_add(&cell->total, t);
        for (int64_t l = 0; l < in->leads.n; l++) tally_brief_add(&cell->lead[l], &ahead[l]);
        for (int64_t l = 0; cell->entity != NULL && l < in->leads.n; l++)
            tally_brief_add(&cell->entity[in->w[at].entity], &ahead[l]);
        assert(in->unit[at] >= 0 && in->unit[at] < in->n_units);
        u += in->unit[at];
        const scoring_sum x = {
            t->n, { t->z.crps, t->z.se }, { t->y.crps, t->y.se }, t->n_unanswered
        };
        scoring_sum_add(u, &x);
        if (out->window != NULL) out->window[(forecaster * in->n_targets + k) * in->n + at] = x;
    }
}

/* Who watches sees the answers of the first forecaster. */
static llap_status block_show(const block *b, const scoring_input *in)
{
    const scoring_block seen = { .n = b->n,
                                 .n_targets = in->n_targets,
                                 .n_query = b->n_query,
                                 .w = in->w + b->first,
                                 .answer = b->answer,
                                 .truth = b->truth };
    llap_status         st = LLAP_OK;
    for (size_t k = 0; k < sizeof in->watch / sizeof *in->watch && st == LLAP_OK; k++)
        if (in->watch[k].see != NULL) st = in->watch[k].see(in->watch[k].self, &seen);
    return st;
}

/* What forecaster number i answers, and its scores. */
static llap_status block_forecast(block *b, const scoring_input *in, int i, ll_arena *arena)
{
    const ll_forecaster *f = in->f[i];
    ll_forecast_request  ask = in->ask;
    ask.progress = in->progress;
    ask.at = (llap_progress_event){ "scoring", b->first, in->n, "windows", f->name };
    llap_status st = ll_report(ask.progress, &ask.at);
    if (st == LLAP_OK) st = f->forecast(f, &ask, in->w + b->first, b->n, arena, b->answer);
    if (st == LLAP_OK) st = block_rooms(b, in);
    if (st == LLAP_OK) block_score(b, in);
    return st;
}

static llap_status block_run(block *b, const scoring_input *in, scoring *out)
{
    llap_status st = LLAP_OK;
    for (int i = 0; st == LLAP_OK && i < in->n_forecasters; i++) {
        ll_arena arena = { 0 };
        st = block_forecast(b, in, i, &arena);
        if (st == LLAP_OK && i == 0) st = block_show(b, in);
        if (st == LLAP_OK) block_add(b, in, i, out);
        ll_arena_deinit(&arena);
    }
    return st;
}

/* -------- blocks of several ranks -------- */

/* As many blocks as there are ranks, one each; all add up all of them, in order. */
typedef struct round_of_blocks {
    block    own, heard; /* of this rank; of another */
    int64_t *first, *n;  /* [size] the windows of each; n 0: none are left */
} round_of_blocks;

static void round_deinit(round_of_blocks *b)
{
    block_deinit(&b->own);
    block_deinit(&b->heard);
    ll_free(b->first);
    ll_free(b->n);
}

static llap_status round_init(round_of_blocks *b, const scoring_input *in)
{
    *b = (round_of_blocks){ .first = ll_new((size_t)in->ranks->size, sizeof *b->first),
                            .n = ll_new((size_t)in->ranks->size, sizeof *b->n) };
    llap_status st = b->first == NULL || b->n == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = block_init(&b->own, in);
    if (st == LLAP_OK) st = block_init(&b->heard, in);
    return st;
}

/* The next windows of all; returns where those after them begin. */
static int64_t round_next(round_of_blocks *b, const scoring_input *in, int64_t first)
{
    for (int i = 0; i < in->ranks->size; i++) {
        b->heard.first = first;
        b->heard.n = 0;
        if (first < in->n) block_next(&b->heard, in);
        b->first[i] = first;
        b->n[i] = b->heard.n;
        first += b->heard.n;
    }
    b->own.first = b->first[in->ranks->rank];
    b->own.n = b->n[in->ranks->rank];
    if (b->own.n > 0) block_truth(&b->own, in);
    return first;
}

/* The block of that rank, with the scores of a forecaster and the answers of the first. */
static llap_status round_add(round_of_blocks *b, const scoring_input *in, int from, int forecaster,
                             ll_arena *arena, scoring *out)
{
    const ll_ranks *r = in->ranks;
    block          *x = r->rank == from ? &b->own : &b->heard;
    if (b->n[from] == 0) return LLAP_OK;
    x->first = b->first[from];
    x->n = b->n[from];
    const size_t n = (size_t)(x->n * in->n_targets);
    llap_status  st = ll_ranks_share(r, x->one, n * sizeof *x->one, from);
    if (st == LLAP_OK)
        st = ll_ranks_share(r, x->ahead, n * (size_t)in->leads.n * sizeof *x->ahead, from);
    if (st == LLAP_OK && forecaster == 0) {
        if (r->rank != from) block_truth(x, in);
        st = ll_heard_members(r, from, in->w + x->first, x->n, in->n_targets, arena, x->answer);
        if (st == LLAP_OK) st = block_show(x, in);
    }
    if (st == LLAP_OK) block_add(x, in, forecaster, out);
    return st;
}

static llap_status run_ranks(const scoring_input *in, scoring *out)
{
    round_of_blocks b;
    llap_status     st = round_init(&b, in);
    for (int64_t at = 0; st == LLAP_OK && at < in->n;) {
        at = round_next(&b, in, at);
        for (int i = 0; st == LLAP_OK && i < in->n_forecasters; i++) {
            ll_arena arena = { 0 };
            if (b.own.n > 0) st = block_forecast(&b.own, in, i, &arena);
            st = ll_ranks_end_together(in->ranks, st);
            for (int k = 0; st == LLAP_OK && k < in->ranks->size; k++)
                st = round_add(&b, in, k, i, &arena, out);
            ll_arena_deinit(&arena);
        }
        if (st == LLAP_OK)
            st = ll_report(in->progress,
                           &(llap_progress_event){ "scoring", at, in->n, "windows", NULL });
    }
    round_deinit(&b);
    return st;
}

/* -------- all of them -------- */

static llap_status run_alone(const scoring_input *in, scoring *out)
{
    block       b;
    llap_status st = block_init(&b, in);
    while (st == LLAP_OK && b.first < in->n) {
        block_next(&b, in);
        block_truth(&b, in);
        st = block_run(&b, in, out);
        b.first += b.n;
        if (st == LLAP_OK)
            st = ll_report(in->progress,
                           &(llap_progress_event){ "scoring", b.first, in->n, "windows", NULL });
    }
    block_deinit(&b);
    return st;
}

llap_status scoring_run(const scoring_input *in, scoring *out)
{
    assert((in->time == NULL) == (in->row == NULL) && (in->time == NULL) == (in->lead == NULL));
    llap_status st = scoring_init(out, in);
    if (st == LLAP_OK) st = in->ranks == NULL ? run_alone(in, out) : run_ranks(in, out);
    if (st != LLAP_OK) scoring_deinit(out);
    return st;
}
