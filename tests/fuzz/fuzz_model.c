/* Model files on arbitrary bytes. The input is the JSON header of a file, a line "--data--" and the
 * data; the header's length is put before it, so that a mutation that makes it longer still reaches
 * what a configuration means. What is accepted describes itself and answers, or says why it does
 * not. */
#define _GNU_SOURCE /* memfd_create, memmem */
#include "base/alloc.h"
#include "data/panel_builder.h"
#include "predict/tables/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HOUR INT64_C(3600000000000)

static void must(bool ok)
{
    if (!ok) abort();
}

/* A file in memory, as a path: the reader maps it like any other. Spaces behind the header put the
 * data where all elements are aligned. */
static int open_file(const uint8_t *input, size_t n)
{
    static const char mark[] = "\n--data--\n";
    const uint8_t    *at = memmem(input, n, mark, strlen(mark));
    const size_t      header = at == NULL ? n : (size_t)(at - input);
    const uint8_t    *data = at == NULL ? input + n : at + strlen(mark);
    const size_t      rest = n - (size_t)(data - input);
    const uint64_t    length = (header + 63) / 64 * 64 + 56; /* 8 bytes are before it */
    char             *text = ll_new(length, 1);
    const int         fd = memfd_create("model", MFD_CLOEXEC);
    must(text != NULL && fd >= 0);
    memset(text, ' ', length);
    memcpy(text, input, header);
    must(write(fd, &length, 8) == 8 && write(fd, text, length) == (ssize_t)length &&
         write(fd, data, rest) == (ssize_t)rest);
    ll_free(text);
    return fd;
}

/* Two days of what the seeds' models forecast. */
static llap_panel *make_panel(void)
{
    ll_panel_builder *b = NULL;
    llap_panel       *p = NULL;
    uint32_t          v, e;
    must(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b) == LLAP_OK);
    must(ll_panel_builder_var(b, "pm", 2, &v) == LLAP_OK);
    for (int k = 0; k < 2; k++) {
        must(ll_panel_builder_entity(b, k == 0 ? "a" : "b", 1, &e) == LLAP_OK);
        for (int i = 0; i < 48; i++)
            must(ll_panel_builder_row(b, e, i * HOUR, &(float){ (float)(i * 7 % 11) }) == LLAP_OK);
    }
    must(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p) == LLAP_OK);
    ll_panel_builder_destroy(b);
    return p;
}

static void ask(const llap_model *m)
{
    static llap_panel *panel;
    if (panel == NULL) panel = make_panel();
    char              *text = NULL;
    llap_answer       *a = NULL;
    llap_forecast_opts forecast = { 0 };
    forecast.samples = 2;
    if (llap_model_describe(m, 1, &text) != LLAP_OK) must(llap_error_detail()[0] != '\0');
    llap_text_free(text);
    if (llap_forecast(m, panel, &forecast, &a) != LLAP_OK) must(llap_error_detail()[0] != '\0');
    llap_answer_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char        path[64];
    llap_model *m = NULL;
    const int   fd = open_file(data, n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (llap_model_load(path, &m) == LLAP_OK) ask(m);
    else must(m == NULL && llap_error_detail()[0] != '\0');
    llap_model_destroy(m);
    close(fd);
    return 0;
}
