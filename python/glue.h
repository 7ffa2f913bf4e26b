/* What the binding needs beside the public headers. declarations.py shows cffi the part between the
 * marks. */
#include <Python.h>

#include <llapdiff/llapdiff.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* BINDING */
typedef struct llap_py_progress {
    void   *handle;   /* of the Python object that is told */
    int64_t interval; /* nanoseconds between two reports; 0: all of them */
    int64_t due;
} llap_py_progress;

/* For llap_progress: asks Python at most once in an interval. */
int llap_py_report(void *user, const llap_progress_event *event);
/* Starts the first interval. */
void llap_py_progress_start(llap_py_progress *p);

/* A stream of one batch. Schema and array, and what they point to, belong to the Python object of
 * the handle, which is told when nobody needs them any more. 0: out of memory. */
int llap_py_stream(struct ArrowArrayStream *out, const struct ArrowSchema *schema,
                   const struct ArrowArray *array, void *handle);
/* The same on the heap; it ends with its capsule. NULL: out of memory. */
struct ArrowArrayStream *llap_py_stream_create(const struct ArrowSchema *schema,
                                               const struct ArrowArray *array, void *handle);
/* Ends the stream of a capsule, unless somebody took it. */
void llap_py_capsule_free(void *capsule);
/* END */

static int  python_report(void *handle, const llap_progress_event *event);
static void python_release(void *handle);

/* ---- progress ---- */

static int64_t llap_py_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void llap_py_progress_start(llap_py_progress *p) { p->due = llap_py_now() + p->interval; }

int llap_py_report(void *user, const llap_progress_event *event)
{
    llap_py_progress *p = (llap_py_progress *)user;
    if (p->interval > 0) {
        const int64_t now = llap_py_now();
        if (now < p->due) return 0;
        p->due = now + p->interval;
    }
    return python_report(p->handle, event);
}

/* ---- tables ---- */

/* Shared by the stream and by everything that was taken out of it: any of them may live longest. */
typedef struct llap_py_table {
    void                     *handle;
    const struct ArrowSchema *schema;
    const struct ArrowArray  *array;
    int                       n_users, given;
} llap_py_table;

static void llap_py_leave(llap_py_table *t)
{
    if (__atomic_sub_fetch(&t->n_users, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (Py_IsInitialized()) python_release(t->handle);
    free(t);
}

static llap_py_table *llap_py_join(llap_py_table *t)
{
    __atomic_add_fetch(&t->n_users, 1, __ATOMIC_RELAXED);
    return t;
}

/* Schemas and arrays are copied with all that is below, for their takers may part them. */
#define LLAP_PY_TREE(TYPE, NAME)                                                                  \
    static void llap_py_release_##NAME(TYPE *x)                                                   \
    {                                                                                             \
        for (int64_t i = 0; x->children != NULL && i < x->n_children; i++) {                      \
            if (x->children[i] != NULL && x->children[i]->release != NULL)                        \
                x->children[i]->release(x->children[i]);                                          \
            free(x->children[i]);                                                                 \
        }                                                                                         \
        free(x->children);                                                                        \
        if (x->dictionary != NULL && x->dictionary->release != NULL)                              \
            x->dictionary->release(x->dictionary);                                                \
        free(x->dictionary);                                                                      \
        x->release = NULL;                                                                        \
        llap_py_leave((llap_py_table *)x->private_data);                                          \
    }                                                                                             \
                                                                                                  \
    static int llap_py_copy_##NAME(const TYPE *from, TYPE *to, llap_py_table *t)                  \
    {                                                                                             \
        int ok = 1;                                                                               \
        *to = *from;                                                                              \
        to->release = llap_py_release_##NAME;                                                     \
        to->private_data = llap_py_join(t);                                                       \
        to->children = NULL;                                                                      \
        to->dictionary = NULL;                                                                    \
        if (from->n_children > 0)                                                                 \
            ok = (to->children = (TYPE **)calloc((size_t)from->n_children, sizeof(TYPE *))) != 0; \
        for (int64_t i = 0; ok && i < from->n_children; i++) {                                    \
            to->children[i] = (TYPE *)calloc(1, sizeof(TYPE));                                    \
            ok = to->children[i] != NULL &&                                                       \
                 llap_py_copy_##NAME(from->children[i], to->children[i], t);                      \
        }                                                                                         \
        if (ok && from->dictionary != NULL) {                                                     \
            to->dictionary = (TYPE *)calloc(1, sizeof(TYPE));                                     \
            ok = to->dictionary != NULL &&                                                        \
                 llap_py_copy_##NAME(from->dictionary, to->dictionary, t);                        \
        }                                                                                         \
        return ok;                                                                                \
    }

LLAP_PY_TREE(struct ArrowSchema, schema)
LLAP_PY_TREE(struct ArrowArray, array)

static int llap_py_get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    llap_py_table *t = (llap_py_table *)s->private_data;
    if (llap_py_copy_schema(t->schema, out, t)) return 0;
    out->release(out);
    return ENOMEM;
}

static int llap_py_get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    llap_py_table *t = (llap_py_table *)s->private_data;
    memset(out, 0, sizeof *out);
    if (t->given) return 0;
    if (!llap_py_copy_array(t->array, out, t)) {
        out->release(out);
        return ENOMEM;
    }
    t->given = 1;
    return 0;
}

static const char *llap_py_last_error(struct ArrowArrayStream *s)
{
    (void)s;
    return "out of memory";
}

static void llap_py_release_stream(struct ArrowArrayStream *s)
{
    s->release = NULL;
    llap_py_leave((llap_py_table *)s->private_data);
}

int llap_py_stream(struct ArrowArrayStream *out, const struct ArrowSchema *schema,
                   const struct ArrowArray *array, void *handle)
{
    llap_py_table *t = (llap_py_table *)calloc(1, sizeof *t);
    memset(out, 0, sizeof *out);
    if (t == NULL) return 0;
    t->handle = handle;
    t->schema = schema;
    t->array = array;
    t->n_users = 1;
    out->get_schema = llap_py_get_schema;
    out->get_next = llap_py_get_next;
    out->get_last_error = llap_py_last_error;
    out->release = llap_py_release_stream;
    out->private_data = t;
    return 1;
}

struct ArrowArrayStream *llap_py_stream_create(const struct ArrowSchema *schema,
                                               const struct ArrowArray *array, void *handle)
{
    struct ArrowArrayStream *s = (struct ArrowArrayStream *)calloc(1, sizeof *s);
    if (s != NULL && llap_py_stream(s, schema, array, handle)) return s;
    free(s);
    return NULL;
}

void llap_py_capsule_free(void *capsule)
{
    struct ArrowArrayStream *s =
        (struct ArrowArrayStream *)PyCapsule_GetPointer((PyObject *)capsule, "arrow_array_stream");
    if (s == NULL) return;
    if (s->release != NULL) s->release(s);
    free(s);
}
