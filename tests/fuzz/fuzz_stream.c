/* Saved streams on arbitrary bytes. The input is the JSON header of a file, a line "--data--" and
 * the data, as for models; HASH in it stands for that of the model. What is accepted keeps the
 * promises of a panel, answers, goes on and is saved to a file that is read again. */
#define _GNU_SOURCE /* memmem */
#include "base/safetensors.h"
#include "stream_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A file in memory; caller owns it. */
static uint8_t *make_file(const uint8_t *input, size_t n, const char *hash, size_t *size)
{
    static const char mark[] = "\n--data--\n";
    const uint8_t    *at = n == 0 ? NULL : memmem(input, n, mark, strlen(mark));
    const size_t      header = at == NULL ? n : (size_t)(at - input);
    const size_t      skipped = at == NULL ? n : header + strlen(mark);
    const size_t      rest = n - skipped;
    const uint64_t    length = (header + LL_STREAM_HASH + 63) / 64 * 64 + 56;
    *size = 8 + length + rest;
    uint8_t *file = ll_new(*size, 1);
    must(file != NULL);
    memset(file, ' ', 8 + length);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)(length >> (8 * i));
    const uint8_t *of = header == 0 ? NULL : memmem(input, header, "HASH", 4);
    const size_t   before = of == NULL ? header : (size_t)(of - input);
    if (header > 0) memcpy(file + 8, input, before);
    if (of != NULL) {
        memcpy(file + 8 + before, hash, LL_STREAM_HASH);
        memcpy(file + 8 + before + LL_STREAM_HASH, of + 4, header - before - 4);
    }
    if (rest > 0) memcpy(file + 8 + length, input + skipped, rest);
    return file;
}

static void use(llap_stream *s)
{
    llap_stream_counts c;
    llap_panel        *p = NULL;
    llap_answer       *a = NULL;
    llap_forecast_opts o = { .horizon = "2" };
    const float        value[4] = { 1, 2, 3, 4 };
    int64_t            n = 0;
    llap_stream_count(s, &c);
    while (llap_stream_variables(s)[n] != NULL) n++;
    if (llap_stream_panel(s, NULL, &p) == LLAP_OK) must(ll_panel_check(p) == LLAP_OK);
    if (n <= 4) (void)llap_stream_take(s, "a", 500 * HOUR, value, n);
    (void)llap_stream_clock(s, 600 * HOUR);
    must(llap_stream_alarms(s, &n) != NULL || n == 0);
    if (llap_stream_forecast(s, &o, &a) != LLAP_OK) must(llap_error_detail()[0] != '\0');
    llap_answer_destroy(a);
    llap_panel_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char              hash[LL_STREAM_HASH + 1];
    const llap_model *m = the_stream_model(hash);
    size_t            size;
    uint8_t          *file = make_file(data, n, hash, &size);
    ll_tensors       *t = NULL;
    llap_stream      *s = NULL;
    llap_status       st = ll_tensors_view(file, size, "stream", &t);
    if (st == LLAP_OK) st = ll_stream_read(m, t, &(llap_stream_opts){ .entities = 100 }, &s);
    if (st == LLAP_OK) use(s);
    else must(s == NULL && llap_error_detail()[0] != '\0');
    llap_stream_destroy(s);
    ll_tensors_close(t);
    ll_free(file);
    return 0;
}
