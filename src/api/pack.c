/* Packing data, and opening what was packed. */
#include "base/error.h"
#include "base/options.h"
#include "base/text.h"
#include "data/panel_words.h"
#include "reading.h"

#include <string.h>

/* clang-format off */
#define OPTIONS llap_pack_opts
static const llap_option pack_options[] = {
    OPTION_INTEGER(memory, "1000", 16, 1e7, "megabytes for the rows that are being sorted"),
    OPTION_INTEGER(shard_rows, NULL, 524288, 1e12, "a folder of files with at most so many rows each (default: one file)"),
    OPTION_END,
};
#undef OPTIONS
/* clang-format on */

const llap_option *llap_pack_options(void) { return pack_options; }

/* What may still be said about rows that are there. */
static bool is_of_grid(const char *name)
{
    static const char *const grid[] = { "grid",    "bin",          "agg", "fill",
                                        "row_min", "columns_kept", "half" };
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++)
        if (strcmp(name, grid[i]) == 0) return true;
    return false;
}

/* Codes mean the words that they meant in training, or the model would read one as the other. */
static llap_status check_levels(const llap_panel *p, const char *path, const char *const *levels)
{
    const ll_panel_words *w = p->words;
    for (size_t i = 0; w != NULL && i < w->n_levels; i++) {
        const size_t n = strcspn(w->level[i], "=") + 1;
        size_t k = 0, at = 0; /* its place among those of its variable, here and in training */
        bool   known = false, same = false;
        for (size_t j = 0; j < i; j++) k += strncmp(w->level[j], w->level[i], n) == 0;
        for (const char *const *l = levels; l != NULL && *l != NULL; l++) {
            if (strncmp(*l, w->level[i], n) != 0) continue;
            known = true;
            same = same || (at == k && strcmp(*l, w->level[i]) == 0);
            at++;
        }
        if (known && !same)
            return ll_fail(LLAP_EINVAL,
                           "%s: the code %zu is '%s' here and another word in training: forecast "
                           "from the files themselves, or train on this panel",
                           path, k, ll_text_show(w->level[i]).text);
    }
    return LLAP_OK;
}

llap_status ll_read_packed(const char *path, const llap_read_opts *given, llap_panel **out)
{
    *out = NULL;
    for (const llap_option *o = llap_read_options(); o->name != NULL; o++)
        if (!is_of_grid(o->name) && llap_option_given(o, given))
            return ll_fail(LLAP_EOPTION, "%s: was settled when %s was packed", o->name, path);
    llap_panel *p;
    llap_status st = ll_pack_open(path, &p);
    if (st != LLAP_OK) return st;
    st = check_levels(p, path, given->levels);
    if (st == LLAP_OK) *out = p;
    else llap_panel_destroy(p);
    return st;
}

llap_status ll_pack_panel(ll_pack_writer *w, const llap_panel *p)
{
    llap_status st = ll_panel_verify_all(p);
    if (st == LLAP_OK) st = ll_pack_writer_begin(w, p->n_vars);
    if (st == LLAP_OK) st = ll_pack_writer_rows_of(w, p);
    return st == LLAP_OK ? ll_pack_writer_commit(w, p) : st;
}

/* Rows on a grid are made in memory: packing would not be what it says. */
static llap_status refuse_grid(const llap_read_opts *given)
{
    for (const llap_option *o = llap_read_options(); o->name != NULL; o++)
        if (is_of_grid(o->name) && llap_option_given(o, given))
            return ll_fail(LLAP_EOPTION,
                           "%s: is for reading; a packed panel keeps the rows as they are",
                           o->name);
    return LLAP_OK;
}

static llap_status pack(ll_reading *r, const llap_read_opts *given, const llap_pack_opts *how,
                        const char *to, llap_panel_sizes *made)
{
    llap_pack_opts  o;
    ll_pack_writer *w = NULL;
    llap_panel     *p = NULL;
    llap_status     st = llap_options_resolve(llap_pack_options(), how, &o, sizeof o);
    if (st == LLAP_OK) st = refuse_grid(given);
    if (st == LLAP_OK) st = ll_pack_writer_open(to, o.shard_rows, &w);
    r->pack = w;
    r->memory = o.memory * 1000000;
    if (st == LLAP_OK) {
        st = ll_read(r, given, &p);
        r->stream = NULL; /* released */
    }
    if (r->stream != NULL && r->stream->release != NULL) r->stream->release(r->stream);
    if (st == LLAP_OK)
        st = ll_pack_writer_begun(w) ? ll_pack_writer_commit(w, p) : ll_pack_panel(w, p);
    if (st == LLAP_OK && made != NULL) llap_panel_size(p, made);
    llap_panel_destroy(p);
    ll_pack_writer_close(w);
    return st;
}

llap_status llap_panel_pack(const char *const *paths, size_t n_paths, const llap_read_opts *given,
                            const llap_pack_opts *how, const char *to, llap_panel_sizes *made)
{
    ll_reading r = { .paths = paths, .n_paths = n_paths };
    return pack(&r, given, how, to, made);
}

llap_status llap_panel_pack_arrow(struct ArrowArrayStream *stream, const llap_read_opts *given,
                                  const llap_pack_opts *how, const char *to, llap_panel_sizes *made)
{
    ll_reading r = { .stream = stream };
    return pack(&r, given, how, to, made);
}
