/* The time of a record: from its cells, by counting, or chosen where a clock shows it twice. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/time/civil.h"
#include "data/csv/reader.h"
#include "data/text/number.h"

#include <stdio.h>

static llap_status fail_part(const ll_csv_reader *r, int part, ll_csv_field f)
{
    return ll_csv_reader_fail(
        r, r->time_column[part],
        ll_fail(LLAP_EFORMAT, "expected a whole number, found '%s'", ll_csv_show(f).text));
}

/* year, month, day, ... each in its column */
static llap_status read_parts(ll_csv_reader *r, const ll_csv_field *part, int64_t *out)
{
    int32_t number[LL_CLOCK_PARTS_MAX];
    for (int i = 0; i < r->schema.n_time; i++) {
        int64_t x;
        if (!ll_number_ticks(part[i].text, part[i].len, '.', 1, &x) || x < INT32_MIN ||
            x > INT32_MAX)
            return fail_part(r, i, part[i]);
        number[i] = (int32_t)x;
    }
    const llap_status st = ll_clock_read_parts(&r->clock, number, r->schema.n_time, out);
    return st == LLAP_OK ? st : ll_csv_reader_fail(r, r->time_column[0], st);
}

static llap_status read_text(ll_csv_reader *r, int64_t *out, bool *empty)
{
    ll_csv_field part[LL_CLOCK_PARTS_MAX] = { 0 };
    const int    n = r->schema.n_time;
    *empty = n > 0;
    for (int i = 0; i < n; i++) {
        part[i] = ll_csv_trim(r->tokens.field[r->time_column[i]]);
        *empty = *empty && part[i].len == 0;
    }
    if (*empty || n == 0) return LLAP_OK;
    if (r->clock.kind == LL_CLOCK_PARTS) return read_parts(r, part, out);
    llap_status st;
    if (n == 2) {
        char         joined[128];
        const size_t len = (size_t)snprintf(joined, sizeof joined, "%.*s %.*s", (int)part[0].len,
                                            part[0].text, (int)part[1].len, part[1].text);
        st = ll_clock_read(&r->clock, joined, len < sizeof joined ? len : sizeof joined - 1,
                           r->schema.decimal, out);
    } else st = ll_clock_read(&r->clock, part[0].text, part[0].len, r->schema.decimal, out);
    return st == LLAP_OK ? st : ll_csv_reader_fail(r, r->time_column[0], st);
}

static int64_t local_of(const ll_csv_reader *r, int64_t t)
{
    const int64_t s = ll_floor_s(t);
    return s + ll_zone_at(r->clock.zone, s).offset_s;
}

/* Both instants of a time that the zone's clock shows twice, in autumn; false: it does not. */
static bool read_both(ll_csv_reader *r, int64_t both[2])
{
    bool empty, ok = true;
    for (int k = 0; k < 2 && ok; k++) {
        r->clock.wall = k == 0 ? LL_WALL_EARLIER : LL_WALL_LATER;
        ok = read_text(r, &both[k], &empty) == LLAP_OK;
    }
    r->clock.wall = LL_WALL_ERROR;
    return ok && both[0] < both[1] && local_of(r, both[0]) == local_of(r, both[1]);
}

llap_status ll_csv_reader_time(ll_csv_reader *r, int64_t both[2], bool *empty)
{
    llap_status st = read_text(r, both, empty);
    both[1] = both[0];
    if (st != LLAP_EFORMAT || !r->o->infer_wall || r->clock.zone == NULL || r->schema.is_long)
        return st;
    if (read_both(r, both)) return LLAP_OK;
    both[1] = both[0];
    return read_text(r, both, empty); /* for its message */
}

/* A time on the clock of the zone. */
static llap_status in_zone(const ll_clock *clock, ll_wall wall, int64_t local, int64_t *out)
{
    int32_t           offset = 0;
    const llap_status st = ll_zone_resolve(clock->zone, ll_floor_s(local), wall, &offset);
    if (st == LLAP_OK && __builtin_sub_overflow(local, (int64_t)offset * 1000000000, out))
        return ll_fail(LLAP_ELIMIT, "time lies outside 1677 to 2262");
    return st;
}

llap_status ll_csv_reader_clock_time(ll_csv_reader *r, int64_t both[2])
{
    const int64_t local = both[0];
    llap_status   st = in_zone(&r->clock, r->clock.wall, local, both);
    both[1] = both[0];
    if (st != LLAP_EFORMAT || !r->o->infer_wall || r->schema.is_long) return st;
    if (in_zone(&r->clock, LL_WALL_EARLIER, local, &both[0]) == LLAP_OK &&
        in_zone(&r->clock, LL_WALL_LATER, local, &both[1]) == LLAP_OK && both[0] < both[1] &&
        local_of(r, both[0]) == local_of(r, both[1]))
        return LLAP_OK;
    return in_zone(&r->clock, r->clock.wall, local, both); /* for its message */
}

static llap_status fail_fold(const ll_csv_fold *f)
{
    return ll_fail(
        LLAP_EFORMAT,
        "%s:%lld: the zone's clock shows this time twice, and the order of the rows does "
        "not tell which it is: choose the earlier or the later (`twice`), or write the "
        "offset",
        f->path, (long long)f->line);
}

llap_status ll_csv_reader_choose_time(ll_csv_reader *r, int64_t both[2])
{
    if (r->entity >= r->n_folds) {
        const uint32_t n = r->entity * 2 + 16;
        ll_csv_fold   *larger = ll_grow(r->fold, n, sizeof *larger);
        if (larger == NULL) return LLAP_ENOMEM;
        memset(larger + r->n_folds, 0, (n - r->n_folds) * sizeof *larger);
        r->fold = larger;
        r->n_folds = n;
    }
    ll_csv_fold  *f = &r->fold[r->entity];
    const int64_t day = local_of(r, both[0]) / 86400,
                  newest = ll_panel_builder_newest(r->builder, r->entity);
    if (f->path == NULL || f->day != day) {
        if (f->path != NULL && !f->told) return fail_fold(f);
        *f = (ll_csv_fold){ .day = day, .line = r->tokens.line, .path = r->path };
    }
    if (newest >= both[1]) {
        f->line = r->tokens.line;
        return fail_fold(f);
    }
    if (newest < both[0]) return LLAP_OK;
    both[0] = both[1];
    f->told = true;
    return LLAP_OK;
}

llap_status ll_csv_reader_check_folds(const ll_csv_reader *r)
{
    for (uint32_t e = 0; e < r->n_folds; e++)
        if (r->fold[e].path != NULL && !r->fold[e].told) return fail_fold(&r->fold[e]);
    return LLAP_OK;
}

/* The time of a row that has none: behind the one before. An empty line might be a value that is
 * missing, or nothing: times behind it would be a guess. */
llap_status ll_csv_reader_count_time(ll_csv_reader *r, int64_t *out)
{
    if (r->entity >= r->n_counted) {
        const uint32_t n = r->entity * 2 + 16;
        int64_t       *larger = ll_grow(r->counted, n, sizeof *larger);
        if (larger == NULL) return LLAP_ENOMEM;
        memset(larger + r->n_counted, 0, (n - r->n_counted) * sizeof *larger);
        r->counted = larger;
        r->n_counted = n;
    }
    if (r->empty_before < 0) r->empty_before = r->tokens.skipped_lines;
    if (r->tokens.skipped_lines != r->empty_before)
        return ll_fail(LLAP_EFORMAT,
                       "%s:%lld: an empty line in front of it: write NA where a value is missing",
                       ll_source_name(r->tokens.source), (long long)r->tokens.line);
    int64_t since;
    if (__builtin_mul_overflow(r->counted[r->entity]++, r->o->row_every, &since) ||
        __builtin_add_overflow(r->start, since, out))
        return ll_fail(LLAP_ELIMIT, "%s:%lld: its time is out of range",
                       ll_source_name(r->tokens.source), (long long)r->tokens.line);
    return LLAP_OK;
}
