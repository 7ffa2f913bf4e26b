/* Tables by the Arrow C data interface for tests: columns over static arrays, cut into batches.
 *
 *     static_frame f = { .n_rows = 3, .batch = 2 };
 *     frame_column(&f, "u", "id", (frame_buffers){ NULL, offsets, "aab" });
 *     frame_column(&f, "tsn:", "time", (frame_buffers){ NULL, ns });
 *     struct ArrowArrayStream s = frame_stream(&f);
 */
#ifndef LLAP_TESTS_DATA_ARROW_FRAME_H
#define LLAP_TESTS_DATA_ARROW_FRAME_H

#include <llapdiff/arrow.h>

#include <string.h>

enum { FRAME_COLUMNS = 8 };

typedef struct frame_buffers {
    const void *at[4];
} frame_buffers;

typedef struct static_frame {
    int64_t            n_rows, batch; /* rows of a batch; 0: all */
    int64_t            n_columns, done;
    struct ArrowSchema schema[FRAME_COLUMNS], *schemas[FRAME_COLUMNS];
    struct ArrowArray  array[FRAME_COLUMNS], *arrays[FRAME_COLUMNS];
    struct ArrowSchema values_schema[FRAME_COLUMNS];
    struct ArrowArray  values[FRAME_COLUMNS];
    frame_buffers      buffers[FRAME_COLUMNS], values_buffers[FRAME_COLUMNS];
    int                fail_at;         /* this call of get_next, from 1, fails */
    int                n_calls, n_open; /* n_open: not yet released */
} static_frame;

static inline void frame_release_schema(struct ArrowSchema *s)
{
    ((static_frame *)s->private_data)->n_open--;
    s->release = NULL;
}

static inline void frame_release_array(struct ArrowArray *a)
{
    ((static_frame *)a->private_data)->n_open--;
    a->release = NULL;
}

static inline void frame_keep_array(struct ArrowArray *a) { (void)a; }

static inline int64_t frame_n_buffers(const char *format)
{
    return strcmp(format, "n") == 0                               ? 0
           : strcmp(format, "u") == 0 || strcmp(format, "U") == 0 ? 3
           : strcmp(format, "vu") == 0                            ? 4
                                                                  : 2;
}

static inline struct ArrowArray *frame_column(static_frame *f, const char *format, const char *name,
                                              frame_buffers buffers)
{
    const int64_t c = f->n_columns++;
    f->buffers[c] = buffers;
    f->schema[c] = (struct ArrowSchema){ .format = format, .name = name, .flags = 2 };
    f->array[c] = (struct ArrowArray){ .null_count = -1,
                                       .n_buffers = frame_n_buffers(format),
                                       .release = frame_keep_array };
    return &f->array[c];
}

/* Makes the column last added the indices of a dictionary of texts. */
static inline void frame_dictionary(static_frame *f, int64_t n, frame_buffers texts)
{
    const int64_t c = f->n_columns - 1;
    f->values_buffers[c] = texts;
    f->values_schema[c] = (struct ArrowSchema){ .format = "u", .name = "" };
    f->values[c] = (struct ArrowArray){
        .length = n, .n_buffers = 3, .buffers = f->values_buffers[c].at, .release = frame_keep_array
    };
}

static inline int frame_get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    static_frame *f = s->private_data;
    for (int64_t c = 0; c < f->n_columns; c++) {
        f->schemas[c] = &f->schema[c];
        if (f->values_schema[c].format != NULL) f->schema[c].dictionary = &f->values_schema[c];
    }
    *out = (struct ArrowSchema){ .format = "+s",
                                 .n_children = f->n_columns,
                                 .children = f->schemas,
                                 .release = frame_release_schema,
                                 .private_data = f };
    f->n_open++;
    return 0;
}

static inline int frame_get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    static const void *none[1] = { NULL };
    static_frame      *f = s->private_data;
    *out = (struct ArrowArray){ 0 };
    if (++f->n_calls == f->fail_at) return 5;
    const int64_t left = f->n_rows - f->done;
    const int64_t n = f->batch > 0 && f->batch < left ? f->batch : left;
    if (n == 0) return 0;
    for (int64_t c = 0; c < f->n_columns; c++) {
        f->arrays[c] = &f->array[c];
        f->array[c].length = f->n_rows;
        f->array[c].buffers = f->buffers[c].at;
        f->values[c].buffers = f->values_buffers[c].at;
        f->array[c].dictionary = f->values[c].release == NULL ? NULL : &f->values[c];
    }
    *out = (struct ArrowArray){ .length = n,
                                .offset = f->done,
                                .n_buffers = 1,
                                .buffers = none,
                                .n_children = f->n_columns,
                                .children = f->arrays,
                                .release = frame_release_array,
                                .private_data = f };
    f->done += n;
    f->n_open++;
    return 0;
}

static inline const char *frame_last_error(struct ArrowArrayStream *s)
{
    (void)s;
    return "the well\nran dry";
}

static inline void frame_release_stream(struct ArrowArrayStream *s)
{
    ((static_frame *)s->private_data)->n_open--;
    s->release = NULL;
}

static inline struct ArrowArrayStream frame_stream(static_frame *f)
{
    f->done = f->n_calls = 0;
    f->n_open++;
    return (struct ArrowArrayStream){ .get_schema = frame_get_schema,
                                      .get_next = frame_get_next,
                                      .get_last_error = frame_last_error,
                                      .release = frame_release_stream,
                                      .private_data = f };
}

#endif
