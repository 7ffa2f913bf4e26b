/* Logs and scores as pictures. */
#include "base/alloc.h"
#include "base/file.h"
#include "plot/canvas.h"
#include "plot/picture.h"
#include "plot/score_plot.h"

#include <llapdiff/model.h>
#include <string.h>
#include <sys/stat.h>

enum { LOG_MAX = 256 << 20 };

llap_status llap_plot_scores(const char *text, const char *path)
{
    return ll_plot_text(text, strlen(text), "scores", path);
}

llap_status llap_plot_can_save(const char *path)
{
    ll_picture  format;
    struct stat s;
    ll_canvas  *c = NULL;
    llap_status st = ll_picture_of(path, &format);
    if (st == LLAP_OK && stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        return ll_file_can_write(path); /* a pipe is not opened before there is a picture */
    if (st == LLAP_OK) st = ll_canvas_create(path, 1, 1, &c);
    ll_canvas_destroy(c);
    return st;
}

llap_status llap_plot_log(const char *log, const char *path)
{
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = ll_file_read(strcmp(log, "-") == 0 ? "/dev/stdin" : log, LOG_MAX, &text, &n);
    if (st == LLAP_OK) st = ll_plot_text(text, n, log, path);
    ll_free(text);
    return st;
}
