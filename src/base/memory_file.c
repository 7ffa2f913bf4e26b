#define _GNU_SOURCE /* fopencookie */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

enum { FIRST = 4096 };

/* One byte more than is written: for the NUL. */
static ssize_t write_bytes(void *user, const char *bytes, size_t n)
{
    ll_memory_file *m = user;
    if (n >= m->room - m->n) {
        const size_t room = 2 * (m->n + n) + FIRST;
        char        *more = ll_grow(m->text, room, 1);
        if (more == NULL) {
            errno = ENOMEM;
            return 0; /* which stdio takes for a failed write */
        }
        m->text = more;
        m->room = room;
    }
    memcpy(m->text + m->n, bytes, n);
    m->n += n;
    return (ssize_t)n;
}

llap_status ll_memory_file_open(ll_memory_file *m)
{
    *m = (ll_memory_file){ .text = ll_new(FIRST, 1), .room = FIRST };
    if (m->text == NULL) return LLAP_ENOMEM;
    m->stream = fopencookie(m, "w", (cookie_io_functions_t){ .write = write_bytes });
    if (m->stream != NULL) return LLAP_OK;
    ll_free(m->text);
    m->text = NULL;
    return ll_fail(LLAP_ENOMEM, "out of memory: a stream into memory");
}

llap_status ll_memory_file_close(ll_memory_file *m, llap_status st, char **text, size_t *n)
{
    *text = NULL;
    *n = 0;
    if (m->stream == NULL) return st;
    const bool bad = ferror(m->stream) != 0;
    if ((fclose(m->stream) != 0 || bad) && st == LLAP_OK)
        st = ll_fail(LLAP_ENOMEM, "out of memory: a text of more than %zu bytes", m->n);
    m->stream = NULL;
    char *exact = st == LLAP_OK ? ll_grow(m->text, m->n + 1, 1) : NULL;
    if (exact == NULL) {
        ll_free(m->text);
        m->text = NULL;
        return st == LLAP_OK ? LLAP_ENOMEM : st;
    }
    exact[m->n] = '\0';
    m->text = NULL;
    *text = exact;
    *n = m->n;
    return LLAP_OK;
}
