/* The options of a command, put together of the library's tables and the program's rows. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static const char *const of_types[] = {
    [LLAP_OPTION_TEXT] = "TEXT", [LLAP_OPTION_LIST] = "LIST", [LLAP_OPTION_FILE] = "FILE",
    [LLAP_OPTION_JSON] = "JSON", [LLAP_OPTION_CHAR] = "CHAR", [LLAP_OPTION_WORD] = "",
    [LLAP_OPTION_INTEGER] = "N", [LLAP_OPTION_REAL] = "X",    [LLAP_OPTION_FLAG] = "",
};

/* "LIST", "wide|long". */
static void write_arg(cli_option *o, const cli_row *row)
{
    size_t n = 0;
    snprintf(o->arg, sizeof o->arg, "%s", row->arg ? row->arg : of_types[o->option->type]);
    if (row->arg != NULL || o->option->type != LLAP_OPTION_WORD) return;
    for (int i = 1; o->option->words[i] != NULL && n < sizeof o->arg; i++)
        n += (size_t)snprintf(o->arg + n, sizeof o->arg - n, "%s%s", i > 1 ? "|" : "",
                              o->option->words[i]);
}

static void write_texts(cli_option *o, const cli_row *row)
{
    snprintf(o->name, sizeof o->name, "%s", row->name ? row->name : row->option);
    for (char *p = o->name; (p = strchr(p, '_')) != NULL;) *p = '-';
    write_arg(o, row);
    if (row->help != NULL) snprintf(o->help, sizeof o->help, "%s", row->help);
    else if (o->option->usual == NULL || strcmp(o->option->usual, "default") == 0)
        snprintf(o->help, sizeof o->help, "%s", o->option->help);
    else snprintf(o->help, sizeof o->help, "%s (default %s)", o->option->help, o->option->usual);
}

static bool look(const llap_option *table, size_t offset, const char *name, cli_option *out)
{
    out->option = table == NULL ? NULL : llap_option_find(table, name);
    out->table = table;
    out->offset = offset;
    return out->option != NULL;
}

/* In the command's own table, or in the library's that the row names; any of them where it names
 * none and the option is not the command's own. */
static bool look_in_command(const cli_command *c, const cli_row *row, cli_option *out)
{
    if (row->table == NULL && look(c->own, 0, row->option, out)) return true;
    for (size_t i = 0; i < sizeof c->parts / sizeof *c->parts && c->parts[i].table != NULL; i++)
        if ((row->table == NULL || row->table == c->parts[i].table) &&
            look(c->parts[i].table(), c->parts[i].offset, row->option, out))
            return true;
    return false;
}

/* Seed and device are the command's where it has them. */
static bool look_in_common(const cli_command *c, const cli_row *row, cli_option *out)
{
    out->common = look(cli_common_own, 0, row->option, out);
    if (out->common || look_in_command(c, row, out)) return true;
    out->common = out->idle = true;
    return look(llap_train_options(), offsetof(cli_common, unused), row->option, out);
}

bool cli_option_at(const cli_command *c, size_t i, cli_option *out)
{
    size_t n = 0;
    while (c->rows != NULL && c->rows[n].option != NULL) n++;
    const cli_row *row = i < n ? &c->rows[i] : &cli_common_rows[i - n];
    *out = (cli_option){
        .letter = row->letter,
        .everywhere = i >= n,
        .alone = row->alone,
        .joins = row->joins,
        .reading = row->table == llap_read_options,
        .usual = row->usual,
    };
    if (row->option == NULL) return false;
    if (!(i < n ? look_in_command(c, row, out) : look_in_common(c, row, out))) return false;
    write_texts(out, row);
    return true;
}

/* The option that the library calls so. */
static bool find_called(const cli_command *c, const char *name, size_t n, cli_option *out)
{
    for (size_t i = 0; cli_option_at(c, i, out); i++)
        if (strlen(out->option->name) == n && strncmp(out->option->name, name, n) == 0) return true;
    return false;
}

void cli_spell(const cli_command *c, const char *text, char *out, size_t room)
{
    size_t at = 0;
    while (*text != '\0' && at + 1 < room) {
        const char  *end = *text == '`' ? strchr(text + 1, '`') : NULL;
        const size_t n = end == NULL ? 0 : (size_t)(end - text) - 1;
        cli_option   o;
        if (end != NULL && find_called(c, text + 1, n, &o)) {
            at += (size_t)snprintf(out + at, room - at, "--%s", o.name);
            text = end + 1;
        } else {
            out[at++] = *text++;
        }
    }
    out[at < room ? at : room - 1] = '\0';
}

const char *cli_seed(const llap_option *table, const void *options)
{
    static char text[32];
    llap_option_text(llap_option_find(table, "seed"), options, text, sizeof text);
    return text;
}
