/* Rows as lines of CSV on arbitrary bytes: a stream that judges its rows takes them or says why
 * not, keeps the promises of a panel, and says of its alarms what they are. */
#include "stream_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void look(llap_stream *s)
{
    int64_t           n = 0;
    llap_panel       *p = NULL;
    const llap_alarm *a = llap_stream_alarms(s, &n);
    for (int64_t i = 0; i < n; i++) {
        char *text = NULL;
        if (llap_stream_alarm_text(s, &a[i], (int)(i % 2), &text) == LLAP_OK) must(text != NULL);
        llap_text_free(text);
    }
    if (llap_stream_panel(s, NULL, &p) == LLAP_OK) must(ll_panel_check(p) == LLAP_OK);
    llap_panel_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char               hash[LL_STREAM_HASH + 1];
    const llap_model  *m = the_stream_model(hash);
    llap_stream       *s = NULL;
    llap_stream_lines *l = NULL;
    const char        *text = (const char *)data;
    must(llap_stream_create(m, &(llap_stream_opts){ .entities = 50, .rows = 200 }, &s) == LLAP_OK);
    must(llap_stream_judge(s, &(llap_detect_opts){ .rate = 0.01 }) == LLAP_OK);
    must(llap_stream_lines_create(s, &(llap_read_opts){ 0 }, &l) == LLAP_OK);
    while (n > 0) {
        const char  *end = memchr(text, '\n', n);
        const size_t length = end == NULL ? n : (size_t)(end - text) + 1;
        if (llap_stream_line(l, text, length) != LLAP_OK) must(llap_error_detail()[0] != '\0');
        text += length;
        n -= length;
    }
    look(s);
    llap_stream_lines_destroy(l);
    llap_stream_destroy(s);
    return 0;
}
