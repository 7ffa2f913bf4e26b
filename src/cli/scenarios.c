/* Files of scenarios: other values of the known inputs to come. */
#include "read.h"

#include <stdlib.h>
#include <string.h>

/* The name of a file without folders and what follows its first dot. */
static void name_after(llap_scenario *s, char *text, char *name)
{
    const char  *slash = strrchr(text, '/');
    const char  *base = slash == NULL ? text : slash + 1;
    const size_t n = strcspn(base, ".");
    memcpy(name, base, n);
    name[n] = '\0';
    s->name = name;
    s->source = text;
}

/* "cold=cold.csv" of n bytes. */
static llap_status take(const cli_common *common, const char *command, const llap_read_opts *how,
                        const char *item, size_t n, const cli_output *to, cli_scenarios *out)
{
    llap_scenario *s = &out->is[out->n];
    char          *text = malloc(2 * (n + 1)); /* what was given, and a name made of it */
    if (text == NULL) return cli_usage(command, "--scenario: out of memory");
    out->text[out->n] = text;
    memcpy(text, item, n);
    text[n] = '\0';
    char *equals = strchr(text, '=');
    if (equals != NULL) *equals = '\0', s->name = text, s->source = equals + 1;
    else name_after(s, text, text + n + 1);
    if (*s->name == '\0' || *s->source == '\0')
        return cli_usage(command, "--scenario expects NAME=FILE, found '%.*s'", (int)n, item);
    char       *file = (char *)s->source;
    llap_status st = cli_spare(command, to->file, 1, &file);
    if (st == LLAP_OK) st = cli_spare(command, to->plot, 1, &file);
    if (st == LLAP_OK) st = cli_read_panel(common, how, 1, &file, &out->panel[out->n]);
    s->known = out->panel[out->n];
    out->n++;
    return st;
}

llap_status cli_read_scenarios(const cli_common *common, const char *command,
                               const llap_read_opts *how, const char *list, const cli_output *to,
                               cli_scenarios *out)
{
    llap_status st = LLAP_OK;
    *out = (cli_scenarios){ 0 };
    for (bool more = list != NULL; more && st == LLAP_OK;) {
        const size_t n = strcspn(list, ",");
        if (out->n == CLI_SCENARIOS)
            return cli_usage(command, "--scenario: at most %d of them", CLI_SCENARIOS);
        st = take(common, command, how, list, n, to, out);
        more = list[n] == ',';
        list += n + more;
    }
    return st;
}

void cli_scenarios_free(cli_scenarios *s)
{
    for (int i = 0; i < CLI_SCENARIOS; i++) {
        llap_panel_destroy(s->panel[i]);
        free(s->text[i]);
    }
}
