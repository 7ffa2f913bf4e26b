/* Any bytes as a CSV file, under options that the first byte picks: a panel that keeps its
 * promises, or a failure with a detail. What was read is laid on a grid, where that is of a size to
 * be tried thousands of times a second. */
#include "data/csv/csv.h"
#include "data/timeline.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const circular[] = { "wd", NULL };
static const char *const missing[] = { "-1", "x", NULL };
static const char *const columns[] = { "b=x", NULL };

static ll_csv_opts pick(uint8_t byte)
{
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.max_line = 4096;
    o.max_entities = 100;
    if (byte & 1) o.text = LL_CSV_TEXT_CODE;
    if (byte & 2) o.bad_is_missing = true;
    if (byte & 4) o.duplicates = LL_DUPLICATES_ERROR;
    if (byte & 8) o.missing = missing;
    switch (byte >> 4) {
    case 1:
        o.separator = ' ';
        break;
    case 2:
        o.form = LL_CSV_LONG;
        break;
    case 3:
        o.entity = "";
        break;
    case 4:
        o.circular = circular;
        break;
    case 5:
        o.time_format = "elapsed";
        break;
    case 6:
        o.header = LL_NO;
        break;
    case 7:
        o.columns = columns;
        break;
    case 8:
        o.zone = "+08:00";
        break;
    case 9:
        o.skip_lines = 1;
        break;
    case 10:
        o.start = "2024-01-01";
        o.row_every = INT64_C(3600000000000);
        break;
    case 11:
        o.comment = "!";
        break;
    default:
        break;
    }
    return o;
}

static void check(bool ok)
{
    if (!ok) abort();
}

static bool is_short(const llap_panel *p)
{
    bool ok = p->n_rows < 100;
    for (int64_t e = 0; e < p->n_entities && ok; e++) {
        const int64_t first = p->time[p->start[e]], last = p->time[p->start[e + 1] - 1];
        ok = last / 1000000 - first / 1000000 < 1000000;
    }
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0) return 0;
    const ll_csv_opts o = pick(data[0]);
    llap_panel       *p, *q;
    ll_csv_report     report;
    const llap_status st = ll_csv_read_memory("fuzz", data + 1, n - 1, &o, &p, &report);
    if (st != LLAP_OK) {
        check(p == NULL && llap_error_detail()[0] != '\0');
        return 0;
    }
    check(ll_panel_check(p) == LLAP_OK && p->n_rows > 0);
    const ll_timeline_opts grid = { .grid = LL_GRID_AUTO, .fill = LL_FILL_BOTH, .row_min = 0.5 };
    if (is_short(p) && ll_timeline_apply(p, &grid, &q, NULL) == LLAP_OK) {
        check(ll_panel_check(q) == LLAP_OK);
        llap_panel_destroy(q);
    }
    llap_panel_destroy(p);
    return 0;
}
