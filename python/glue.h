/* What the binding needs beside the public headers. declarations.py shows cffi the part between the
 * marks. */
#include <llapdiff/llapdiff.h>

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
/* END */

static int python_report(void *handle, const llap_progress_event *event);

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
