#include "data/csv/token.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    FIRST_BYTES = 16 * 1024, /* small files stay small; long ones double it a few times */
    SLACK = 64,              /* bytes behind the buffer that may be looked at */
};

llap_status ll_csv_tokens_init(ll_csv_tokens *t, ll_source *source, size_t max_record)
{
    *t = (ll_csv_tokens){ .dialect = { ',', '"', '\n', "" },
                          .source = source,
                          .next_line = 1,
                          .max_record = max_record };
    t->bytes.source = source;
    t->capacity = FIRST_BYTES;
    t->field_capacity = 256;
    t->buffer = ll_new(t->capacity + SLACK, 1);
    t->field = ll_new(t->field_capacity, sizeof *t->field);
    if (t->buffer != NULL && t->field != NULL) return LLAP_OK;
    ll_csv_tokens_deinit(t);
    return LLAP_ENOMEM;
}

void ll_csv_tokens_deinit(ll_csv_tokens *t)
{
    ll_utf8_deinit(&t->bytes);
    ll_free(t->buffer);
    ll_free(t->field);
    *t = (ll_csv_tokens){ 0 };
}

/* Moves what is left to the front and reads on; grows when the record fills the buffer. */
static llap_status refill(ll_csv_tokens *t)
{
    const size_t left = t->end - t->at;
    if (t->at > 0) memmove(t->buffer, t->buffer + t->at, left);
    t->at = 0;
    t->end = left;
    if (left > t->capacity / 2) {
        char *larger = ll_grow(t->buffer, t->capacity * 2 + SLACK, 1);
        if (larger == NULL) return LLAP_ENOMEM;
        t->buffer = larger;
        t->capacity *= 2;
    }
    size_t      n;
    llap_status st = ll_utf8_read(&t->bytes, t->buffer + left, t->capacity - left, &n);
    if (st != LLAP_OK) return st;
    t->at_end = n == 0;
    t->end += n;
    if (!t->begun && n >= 3 && memcmp(t->buffer, "\xef\xbb\xbf", 3) == 0) t->at = 3;
    t->begun = true;
    const char *nul = n == 0 ? NULL : memchr(t->buffer + left, '\0', n);
    if (nul == NULL) return LLAP_OK;
    int64_t line = t->next_line;
    for (const char *p = t->buffer; p < nul; p++) line += *p == t->dialect.line_end;
    return ll_fail(LLAP_EFORMAT, "%s:%lld: holds a NUL byte: not a text file, or UTF-16",
                   ll_source_name(t->source), (long long)line);
}

/* Whether a header and two rows are among the bytes. */
static bool has_lines(const char *text, size_t n)
{
    int found = 0;
    for (size_t i = 0; i < n && found < 3; i++) found += text[i] == '\n' || text[i] == '\r';
    return found == 3;
}

llap_status ll_csv_tokens_peek(ll_csv_tokens *t, const char **text, size_t *n, bool *all)
{
    llap_status st = LLAP_OK;
    size_t      most = LL_CSV_PEEK; /* more where lines are longer */
    while (st == LLAP_OK && t->end - t->at < most && !t->at_end) {
        st = refill(t);
        if (st == LLAP_OK && t->end - t->at >= most && most < t->max_record &&
            !has_lines(t->buffer + t->at, most))
            most *= 2;
    }
    if (st != LLAP_OK) return st;
    const size_t left = t->end - t->at;
    *all = t->at_end && left <= most;
    *n = left <= most ? left : most;
    *text = t->buffer + t->at;
    return LLAP_OK;
}

static llap_status more_fields(ll_csv_tokens *t)
{
    if (t->n_fields >= LL_CSV_FIELDS)
        return ll_fail(LLAP_ELIMIT, "%s:%lld: more than %d fields", ll_source_name(t->source),
                       (long long)t->line, LL_CSV_FIELDS);
    ll_csv_field *larger = ll_grow(t->field, t->field_capacity * 2, sizeof *larger);
    if (larger == NULL) return LLAP_ENOMEM;
    t->field = larger;
    t->field_capacity *= 2;
    return LLAP_OK;
}

/* How a try to cut one record ended. Texts are unquoted in place only once it is complete, so that
 * a try that ran out of bytes can be made again from the start. */
typedef enum cut {
    CUT_DONE,
    CUT_SHORT, /* needs more bytes */
    CUT_FAILED,
} cut;

/* The end of the quoted field whose text begins at p: its closing quote, or NULL when it is not
 * there yet. *lines counts the line ends inside. */
static char *closing_quote(char *p, const char *end, char quote, char line_end, bool at_end,
                           int64_t *lines)
{
    for (; p < end; p++) {
        if (*p == line_end) ++*lines;
        if (*p != quote) continue;
        if (p + 1 == end) return at_end ? p : NULL; /* might be doubled */
        if (p[1] != quote) return p;
        p++;
    }
    return NULL;
}

static cut cut_quoted(ll_csv_tokens *t, char **at, ll_csv_field *f, int64_t *lines, llap_status *st)
{
    const char *end = t->buffer + t->end, quote = t->dialect.quote, line_end = t->dialect.line_end;
    char       *text = *at + 1;
    char       *close = closing_quote(text, end, quote, line_end, t->at_end, lines);
    if (close == NULL && !t->at_end) return CUT_SHORT;
    if (close == NULL) {
        *st = ll_fail(LLAP_EFORMAT, "%s:%lld: the quote of field %zu is never closed",
                      ll_source_name(t->source), (long long)t->line, t->n_fields + 1);
        return CUT_FAILED;
    }
    char *next = close + 1;
    if (next < end && *next == '\r' && line_end != '\r') {
        if (next + 1 == end && !t->at_end) return CUT_SHORT;
        if (next + 1 == end || next[1] == line_end) next++;
    }
    if (next < end && *next != t->dialect.separator && *next != line_end &&
        !(t->dialect.separator == ' ' && *next == '\t')) {
        *st = ll_fail(LLAP_EFORMAT, "%s:%lld: text behind the closing quote of field %zu",
                      ll_source_name(t->source), (long long)(t->line + *lines), t->n_fields + 1);
        return CUT_FAILED;
    }
    *f = (ll_csv_field){ text, (uint32_t)(close - text), true };
    *at = next;
    return CUT_DONE;
}

/* The first a or b in [p, end), or end. SLACK bytes behind end may be read, and are not heeded. */
#if defined(__SSE2__)
static char *find_either(char *p, char *end, char a, char b)
{
    const __m128i as = _mm_set1_epi8(a), bs = _mm_set1_epi8(b);
    for (; p < end; p += 16) {
        const __m128i  text = _mm_loadu_si128((const __m128i *)(const void *)p);
        const unsigned hits = (unsigned)_mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(text, as), _mm_cmpeq_epi8(text, bs)));
        if (hits == 0) continue;
        p += __builtin_ctz(hits);
        return p < end ? p : end;
    }
    return end;
}
#else
static char *find_either(char *p, char *end, char a, char b)
{
    while (p < end && *p != a && *p != b) p++;
    return p;
}
#endif

/* One field from *at up to its separator or line end, to which *at then points. */
static cut cut_plain(const ll_csv_tokens *t, char **at, ll_csv_field *f)
{
    const char  line_end = t->dialect.line_end;
    char *const end = t->buffer + t->end;
    char       *p = find_either(*at, end, t->dialect.separator, line_end);
    if (p == end && !t->at_end) return CUT_SHORT;
    uint32_t len = (uint32_t)(p - *at);
    if (len > 0 && p[-1] == '\r' && (p == end || *p == line_end)) len--;
    *f = (ll_csv_field){ *at, len, false };
    *at = p;
    return CUT_DONE;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* As cut_plain, where a run of blanks is one separator. */
static cut cut_blank(const ll_csv_tokens *t, char **at, ll_csv_field *f)
{
    const char *end = t->buffer + t->end, line_end = t->dialect.line_end;
    char       *p = *at;
    while (p < end && !is_blank(*p) && *p != line_end && *p != '\r') p++;
    if (p == end && !t->at_end) return CUT_SHORT;
    *f = (ll_csv_field){ *at, (uint32_t)(p - *at), false };
    *at = p;
    return CUT_DONE;
}

/* Passes the blanks before a field; true when the record ends with them. */
static bool skip_blanks(const ll_csv_tokens *t, char **at, cut *how)
{
    const char *end = t->buffer + t->end;
    char       *p = *at;
    while (p < end && (is_blank(*p) || (*p == '\r' && t->dialect.line_end != '\r'))) p++;
    if (p == end && !t->at_end) *how = CUT_SHORT;
    *at = p;
    return p == end || *p == t->dialect.line_end;
}

/* Where a, b and c stand among the 64 bytes from p on. */
#if defined(__SSE2__)
static uint64_t marks(const char *p, char a, char b, char c, uint64_t *where_c)
{
    const __m128i as = _mm_set1_epi8(a), bs = _mm_set1_epi8(b), cs = _mm_set1_epi8(c);
    uint64_t      where = 0;
    *where_c = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        const __m128i either = _mm_or_si128(_mm_cmpeq_epi8(text, as), _mm_cmpeq_epi8(text, bs));
        where |= (uint64_t)(unsigned)_mm_movemask_epi8(either) << 16 * i;
        *where_c |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, cs)) << 16 * i;
    }
    return where;
}
#else
static uint64_t marks(const char *p, char a, char b, char c, uint64_t *where_c)
{
    uint64_t where = 0;
    *where_c = 0;
    for (int i = 0; i < 64; i++) {
        where |= (uint64_t)(p[i] == a || p[i] == b) << i;
        *where_c |= (uint64_t)(p[i] == c) << i;
    }
    return where;
}
#endif

/* 64 bytes at a time, so that finding one field does not wait for the one before. */
char *ll_csv_cut_line(char *p, char *end, const ll_csv_dialect *d, ll_csv_field *field,
                      size_t capacity, size_t *n_fields)
{
    size_t n = 0;
    char  *start = p;
    for (; p < end; p += 64) {
        uint64_t quotes, where = marks(p, d->separator, d->line_end, d->quote, &quotes);
        if (quotes != 0 || n + 64 > capacity) return NULL;
        for (; where != 0; where &= where - 1) {
            char *mark = p + __builtin_ctzll(where);
            if (mark >= end) return NULL;
            field[n++] = (ll_csv_field){ start, (uint32_t)(mark - start), false };
            start = mark + 1;
            if (*mark != d->line_end) continue;
            ll_csv_field *last = &field[n - 1];
            if (last->len > 0 && last->text[last->len - 1] == '\r') last->len--;
            *n_fields = n;
            return mark;
        }
    }
    return NULL;
}

/* The usual record: no quotes, and all of it in the buffer. */
static bool cut_usual(ll_csv_tokens *t, char **at)
{
    char *end = ll_csv_cut_line(*at, t->buffer + t->end, &t->dialect, t->field, t->field_capacity,
                                &t->n_fields);
    if (end != NULL) *at = end;
    return end != NULL;
}

static cut cut_record(ll_csv_tokens *t, char **at, int64_t *lines, llap_status *st)
{
    const char *end = t->buffer + t->end;
    const char  separator = t->dialect.separator, quote = t->dialect.quote;
    *lines = 0;
    if (separator != ' ' && cut_usual(t, at)) return CUT_DONE;
    t->n_fields = 0;
    for (;;) {
        cut how = CUT_DONE;
        if (separator == ' ' && skip_blanks(t, at, &how)) return how;
        if (t->n_fields == t->field_capacity && (*st = more_fields(t)) != LLAP_OK)
            return CUT_FAILED;
        ll_csv_field *f = &t->field[t->n_fields];
        if (*at < end && **at == quote && quote != '\0') how = cut_quoted(t, at, f, lines, st);
        else how = separator == ' ' ? cut_blank(t, at, f) : cut_plain(t, at, f);
        if (how != CUT_DONE) return how;
        t->n_fields++;
        if (separator == ' ') continue;
        if (*at == end || **at != separator) return CUT_DONE;
        if (++*at == end && !t->at_end) return CUT_SHORT;
    }
}

/* "" inside a quoted field becomes ". */
static void unquote(ll_csv_field *f, char quote)
{
    char *to = memchr(f->text, quote, f->len);
    if (to == NULL) return;
    const char *end = f->text + f->len;
    for (const char *from = to; from < end; from++) {
        *to++ = *from;
        if (*from == quote) from++;
    }
    f->len = (uint32_t)(to - f->text);
}

static llap_status fail_long(const ll_csv_tokens *t)
{
    return ll_fail(LLAP_ELIMIT, "%s:%lld: line is longer than %zu bytes (is a quote not closed?)",
                   ll_source_name(t->source), (long long)t->line, t->max_record);
}

static llap_status next_record(ll_csv_tokens *t)
{
    int64_t     lines;
    llap_status st = LLAP_OK;
    t->line = t->next_line;
    for (;;) {
        char *at = t->buffer + t->at;
        cut   how = t->at == t->end && !t->at_end ? CUT_SHORT : cut_record(t, &at, &lines, &st);
        if (how == CUT_FAILED) return st;
        if (how == CUT_DONE) {
            const bool closed = at < t->buffer + t->end; /* by a line end */
            t->at = (size_t)(at - t->buffer) + closed;
            t->next_line += lines + 1;
            return LLAP_OK;
        }
        if (t->end - t->at > t->max_record) return fail_long(t);
        if ((st = refill(t)) != LLAP_OK) return st;
    }
}

/* Passes over a line of comment, if there is one here. */
static llap_status skip_comment(ll_csv_tokens *t, bool *was)
{
    const size_t len = strlen(t->dialect.comment);
    llap_status  st = LLAP_OK;
    *was = false;
    if (len == 0) return LLAP_OK;
    while (st == LLAP_OK && t->end - t->at < len && !t->at_end) st = refill(t);
    if (st != LLAP_OK || t->end - t->at < len ||
        memcmp(t->buffer + t->at, t->dialect.comment, len) != 0)
        return st;
    t->line = t->next_line;
    char *end = memchr(t->buffer + t->at, t->dialect.line_end, t->end - t->at);
    while (end == NULL && !t->at_end) {
        if (t->end - t->at > t->max_record) return fail_long(t);
        if ((st = refill(t)) != LLAP_OK) return st;
        end = memchr(t->buffer + t->at, t->dialect.line_end, t->end - t->at);
    }
    t->at = end == NULL ? t->end : (size_t)(end - t->buffer) + 1;
    t->next_line++;
    t->comment_lines++;
    *was = true;
    return LLAP_OK;
}

llap_status ll_csv_tokens_next(ll_csv_tokens *t)
{
    for (;;) {
        bool comment;
        t->n_fields = 0;
        if (t->at == t->end && t->at_end) return LLAP_OK;
        llap_status st = skip_comment(t, &comment);
        if (st == LLAP_OK && comment) continue;
        if (st == LLAP_OK) st = next_record(t);
        if (st != LLAP_OK) return st;
        const bool nothing =
            t->n_fields == 0 || (t->n_fields == 1 && t->field[0].len == 0 && !t->field[0].quoted);
        if (!nothing) break;
        if (t->at < t->end || !t->at_end) t->skipped_lines++;
    }
    for (size_t i = 0; i < t->n_fields; i++)
        if (t->field[i].quoted) unquote(&t->field[i], t->dialect.quote);
    return LLAP_OK;
}

llap_status ll_csv_tokens_lines(ll_csv_tokens *t, size_t want, char **text, size_t *n)
{
    llap_status st = LLAP_OK;
    *n = 0;
    if (memchr(t->buffer + t->at, t->dialect.quote, t->end - t->at) != NULL) return LLAP_OK;
    while (st == LLAP_OK && t->end - t->at < want && !t->at_end) st = refill(t);
    if (st != LLAP_OK) return st;
    *text = t->buffer + t->at;
    size_t len = t->end - t->at < want ? t->end - t->at : want;
    if (t->dialect.separator == ' ' || memchr(*text, t->dialect.quote, len) != NULL) return LLAP_OK;
    while (len > 0 && (*text)[len - 1] != t->dialect.line_end) len--;
    *n = len;
    return LLAP_OK;
}

void ll_csv_tokens_take(ll_csv_tokens *t, size_t n_bytes, int64_t n_lines)
{
    t->at += n_bytes;
    t->next_line += n_lines;
}
