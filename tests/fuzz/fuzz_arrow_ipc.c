/* The reader of Arrow streams on arbitrary bytes: a failure with a detail, or a table by the C data
 * interface whose buffers are as long as its rows need: reading it to a panel stays within the
 * bytes. */
#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/arrow_ipc/arrow_ipc.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok) abort();
}

/* What the interface promises of every batch. */
static int64_t count_rows(const uint8_t *data, size_t n)
{
    struct ArrowArrayStream s;
    struct ArrowSchema      schema;
    struct ArrowArray       a;
    int64_t                 rows = 0;
    must(ll_ipc_open(data, n, &s) == LLAP_OK);
    must(s.get_schema(&s, &schema) == 0 && schema.release != NULL && schema.n_children > 0);
    while (s.get_next(&s, &a) == 0 && a.release != NULL) {
        must(a.n_children == schema.n_children && a.length >= 0 && a.offset == 0);
        for (int64_t c = 0; c < a.n_children; c++) {
            const struct ArrowArray *k = a.children[c];
            must(k->length == a.length && k->null_count >= 0 && k->null_count <= k->length);
            must((k->dictionary != NULL) == (schema.children[c]->dictionary != NULL));
        }
        rows += a.length;
        a.release(&a);
    }
    schema.release(&schema);
    s.release(&s);
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ArrowArrayStream s;
    llap_panel             *p = NULL;
    ll_csv_opts             o = LL_CSV_DEFAULT;
    const llap_status       st = ll_ipc_open(data, n, &s);
    must((st == LLAP_OK) == (s.release != NULL));
    if (st != LLAP_OK) {
        must(llap_error_detail()[0] != '\0');
        return 0;
    }
    o.max_entities = 100;
    const int64_t     rows = count_rows(data, n);
    const llap_status read = ll_arrow_read(&s, &o, &p, NULL);
    must(s.release == NULL && (read == LLAP_OK) == (p != NULL));
    must(p == NULL || p->n_rows <= rows);
    llap_panel_destroy(p);
    return 0;
}
