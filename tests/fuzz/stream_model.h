/* The model that the streams of fuzz targets are of. */
#ifndef LLAPDIFF_TESTS_FUZZ_STREAM_MODEL_H
#define LLAPDIFF_TESTS_FUZZ_STREAM_MODEL_H

#include "base/alloc.h"
#include "data/panel_builder.h"
#include "stream/stream.h"

#include <llapdiff/llapdiff.h>
#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600000000000)

static inline void must(bool ok)
{
    if (!ok) abort();
}

/* The one model that streams are of: hours of a day, fitted in a moment. */
static inline const llap_model *the_stream_model(char hash[LL_STREAM_HASH + 1])
{
    static llap_model *m;
    static char        of[LL_STREAM_HASH + 1];
    if (m == NULL) {
        ll_panel_builder *b = NULL;
        llap_panel       *p = NULL;
        uint32_t          v, e;
        must(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b) == LLAP_OK);
        must(ll_panel_builder_var(b, "pm", 2, &v) == LLAP_OK);
        must(ll_panel_builder_entity(b, "a", 1, &e) == LLAP_OK);
        for (int i = 0; i < 400; i++)
            must(ll_panel_builder_row(b, e, i * HOUR, &(float){ (float)(i * 7 % 24) }) == LLAP_OK);
        must(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p) == LLAP_OK);
        ll_panel_builder_destroy(b);
        const llap_train_opts o = { .size = LLAP_TRAIN_SIZE_ANCHOR,
                                    .context = "24",
                                    .horizon = "6",
                                    .training = "{\"anchor\": {\"steps\": 5, \"rows\": 8}}" };
        must(llap_train(p, &o, &m) == LLAP_OK);
        must(ll_stream_model_hash(m, of) == LLAP_OK);
        llap_panel_destroy(p);
    }
    memcpy(hash, of, sizeof of);
    return m;
}

#endif
