#include "read.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

llap_status cli_read_panel(const cli_common *common, const llap_read_opts *how, int n, char **paths,
                           llap_panel **out)
{
    llap_read_opts o = *how;
    o.log = &common->log;
    return llap_panel_read((const char *const *)paths, (size_t)n, &o, out);
}

llap_status cli_open(const cli_common *common, const llap_read_opts *how, int n, char **operands,
                     llap_model **model, llap_panel **panel)
{
    llap_read_opts o = *how;
    llap_status    st = llap_model_load(operands[0], model);
    if (st == LLAP_OK) o.levels = llap_model_levels(*model);
    if (st == LLAP_OK && n > 1) st = cli_read_panel(common, &o, n - 1, operands + 1, panel);
    return st;
}

llap_status cli_load_mates(const char *command, const char *list, cli_mates *out)
{
    llap_status st = LLAP_OK;
    *out = (cli_mates){ 0 };
    for (bool more = list != NULL; more && st == LLAP_OK;) {
        char         path[4096];
        const size_t len = strcspn(list, ",");
        if (len == 0) return cli_usage(command, "--with names no model");
        if (out->n == CLI_MATES) return cli_usage(command, "--with takes at most 16 models");
        if (len >= sizeof path) return cli_usage(command, "--with: a path of over 4095 bytes");
        snprintf(path, sizeof path, "%.*s", (int)len, list);
        st = llap_model_load(path, &out->model[out->n]);
        out->n += st == LLAP_OK;
        more = list[len] == ',';
        list += len + more;
    }
    return st;
}

void cli_mates_free(cli_mates *m)
{
    for (int64_t i = 0; i < m->n; i++) llap_model_destroy(m->model[i]);
}

/* Draws the bar, if there is one, and tells whether to stop. */
static int report(void *user, const llap_progress_event *e)
{
    const llap_progress bar = user == NULL ? (llap_progress){ 0 } : llap_bar_progress(user);
    if (bar.report != NULL) (void)bar.report(bar.user, e);
    return cli_stop_asked();
}

llap_progress cli_progress(const cli_common *common, llap_bar **bar)
{
    *bar = NULL;
    if (!common->quiet) (void)llap_bar_create(stderr, bar); /* without one it goes as well */
    return (llap_progress){ report, *bar };
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* A table that is there, in a folder that is read as a whole. */
static bool lies_in(const char *path, const char *folder)
{
    struct stat file, x, y;
    const char *slash = strrchr(path, '/');
    char        parent[4096];
    const int   length = slash == NULL ? 1 : (int)(slash - path) + 1;
    if (length >= (int)sizeof parent ||
        (strstr(path, ".csv") == NULL && strstr(path, ".tsv") == NULL &&
         strstr(path, ".txt") == NULL))
        return false;
    snprintf(parent, sizeof parent, "%.*s", length, slash == NULL ? "." : path);
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && stat(parent, &x) == 0 &&
           stat(folder, &y) == 0 && S_ISDIR(y.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

llap_status cli_spare(const char *command, const char *output, int n, char **operands)
{
    for (int i = 0; output != NULL && i < n; i++)
        if (operands[i] != NULL &&
            (cli_same_file(output, operands[i]) || lies_in(output, operands[i])))
            return cli_usage(
                command, "%s is an input and would be overwritten: choose another file", output);
    return LLAP_OK;
}

llap_status cli_check_output(const cli_common *common, const char *command, const cli_output *to,
                             int n, char **operands)
{
    llap_status st = cli_spare(command, to->file, n, operands);
    if (st == LLAP_OK) st = cli_spare(command, to->plot, n, operands);
    if (st != LLAP_OK) return st;
    if (common->json && to->file != NULL && strcmp(to->file, "-") != 0)
        return cli_usage(
            command, "--json prints to standard output and --output writes CSV: give one of them");
    if (to->file != NULL) st = llap_answer_can_write(to->file);
    if (st == LLAP_OK && to->plot != NULL) st = llap_answer_can_plot(to->plot);
    return st;
}

llap_status cli_join(const cli_common **common, cli_common *room, int *rank)
{
    int               size;
    const llap_status st = llap_ranks_join(rank, &size);
    if (st != LLAP_OK || *rank == 0) return st;
    *room = **common;
    room->quiet = 1;
    room->log.sink = NULL;
    *common = room;
    cli_ignore_signals();
    return LLAP_OK;
}

llap_status cli_put_answer(const cli_common *common, llap_answer *a, const llap_panel *panel,
                           const cli_output *to)
{
    char       *text = NULL;
    llap_status st = LLAP_OK;
    cli_catch_signals();
    if (to->plot != NULL) st = llap_answer_plot(a, panel, to->plot);
    if (st == LLAP_OK && !common->json)
        st = llap_answer_write(a, to->file == NULL ? "-" : to->file);
    if (st == LLAP_OK && common->json) st = llap_answer_json(a, &text);
    if (text != NULL) cli_print_text(common, text);
    llap_answer_destroy(a);
    return st;
}
