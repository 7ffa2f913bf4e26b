#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CLI_OPTIONS = 128 }; /* of a command, at most */

/* Where in a file the option stands that is being read; NULL: it is of the command line. */
static const char *source;

llap_status cli_usage(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "llapdiff%s%s: ", command ? " " : "", command ? command : "");
    if (source != NULL) fprintf(stderr, "%s: ", source);
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "; see llapdiff%s%s --help\n", command ? " " : "", command ? command : "");
    va_end(args);
    return LLAP_EUSAGE;
}

/* Both tables as one list: the command's own options first. */
static const cli_option *option_at(const cli_command *c, size_t i, bool *own)
{
    size_t n = 0;
    while (c->options != NULL && c->options[n].name != NULL) n++;
    *own = i < n;
    const cli_option *o = *own ? &c->options[i] : &cli_common_options[i - n];
    return o->name == NULL ? NULL : o;
}

/* Files write no_climate as well as no-climate. */
static bool same_name(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != (b[i] == '_' ? '-' : b[i])) return false;
    return true;
}

static const cli_option *find_option(const cli_command *c, const char *name, size_t n, char letter,
                                     bool *own)
{
    const cli_option *o;
    for (size_t i = 0; (o = option_at(c, i, own)) != NULL; i++) {
        if (letter != 0 && o->letter == letter) return o;
        if (letter == 0 && strlen(o->name) == n && same_name(o->name, name, n)) return o;
    }
    return NULL;
}

/* "no option '--horizn', did you mean '--horizon'?" */
static llap_status no_such_option(const cli_command *c, const char *word, size_t n)
{
    const char       *names[CLI_OPTIONS + 1] = { NULL };
    const cli_option *o;
    char              name[64];
    bool              own;
    for (size_t i = 0; i < CLI_OPTIONS && (o = option_at(c, i, &own)) != NULL; i++)
        names[i] = o->name;
    snprintf(name, sizeof name, "%.*s", (int)(n > 2 ? n - 2 : 0), word + (n > 2 ? 2 : 0));
    const char *near = llap_text_nearest(name, names);
    for (size_t i = 0; near == NULL && strlen(name) > 1 && names[i] != NULL; i++)
        if (strncmp(names[i], name, strlen(name)) == 0) near = names[i]; /* options have one name */
    return cli_usage(c->name, "no option '%.*s'%s%s%s", (int)n, word,
                     near ? " (did you mean '--" : "", near ? near : "", near ? "'?)" : "");
}

static llap_status set_number(const char *command, const cli_option *o, const char *value,
                              char *field)
{
    char *end;
    errno = 0;
    const bool   whole = o->type == CLI_INT;
    const double x = whole ? (double)strtoll(value, &end, 10) : strtod(value, &end);
    if (end == value || *end != '\0' || errno != 0 || !isfinite(x))
        return cli_usage(command, "--%s expects a %snumber, found '%s'", o->name,
                         whole ? "whole " : "", value);
    if (x < o->min || x > o->max)
        return cli_usage(command, "--%s expects %s in %.16g..%.16g, found %s", o->name,
                         whole ? "a whole number" : "a number", o->min, o->max, value);
    if (whole) memcpy(field, &(int64_t){ strtoll(value, NULL, 10) }, sizeof(int64_t));
    else memcpy(field, &x, sizeof x);
    return LLAP_OK;
}

static llap_status set_choice(const char *command, const cli_option *o, const char *value,
                              char *field)
{
    int i = 0;
    for (const char *p = o->arg; *p != '\0'; i++) {
        const size_t n = strcspn(p, "|");
        if (strlen(value) == n && memcmp(p, value, n) == 0) {
            memcpy(field, &i, sizeof i);
            return LLAP_OK;
        }
        p += n + (p[n] == '|');
    }
    return cli_usage(command, "--%s expects one of %s, found '%s'", o->name, o->arg, value);
}

static llap_status set_option(const char *command, const cli_option *o, const char *value,
                              char *field)
{
    switch (o->type) {
    case CLI_FLAG:
        memcpy(field, &(bool){ true }, sizeof(bool));
        return LLAP_OK;
    case CLI_STRING:
        if (*value == '\0' && strcmp(o->arg, "FILE") == 0)
            return cli_usage(command, "--%s expects %s, found ''", o->name, o->arg);
        memcpy(field, &value, sizeof value);
        return LLAP_OK;
    case CLI_CHOICE:
        return set_choice(command, o, value, field);
    default:
        return set_number(command, o, value, field);
    }
}

/* ---- options from a file ---- */

typedef struct from_file {
    const cli_command *command;
    cli_common        *common;
    void              *options;
} from_file;

/* Options whose value is that of a file, and where it stands there. */
static struct {
    const cli_option *option;
    const char       *place;
} told[CLI_OPTIONS];

static void remember_place(const cli_option *o, const char *place)
{
    int i = 0;
    while (i + 1 < CLI_OPTIONS && told[i].option != NULL && told[i].option != o) i++;
    told[i].option = o;
    told[i].place = place;
}

static const char *place_of(const cli_option *o)
{
    for (int i = 0; i < CLI_OPTIONS && told[i].option != NULL; i++)
        if (told[i].option == o) return told[i].place;
    return NULL;
}

llap_status cli_wrong_option(const cli_command *command, const char *detail)
{
    bool              own;
    const cli_option *o = find_option(command, detail, strcspn(detail, ":"), 0, &own);
    if (o == NULL) return cli_usage(command->name, "%s", detail);
    source = place_of(o);
    const bool in_file = source != NULL;
    (void)cli_usage(command->name, "%s%s%s", in_file ? "" : "--", o->name,
                    detail + strcspn(detail, ":"));
    source = NULL;
    return in_file ? LLAP_EFORMAT : LLAP_EUSAGE;
}

/* The text must stay for as long as the command runs: it is kept until the program ends. */
static char *keep(const char *text)
{
    enum { MOST = 256 };
    static char *kept[MOST];
    static int   n;
    for (int i = 0; i < n; i++)
        if (strcmp(kept[i], text) == 0) return kept[i];
    char *copy = n < MOST ? strdup(text) : NULL;
    if (copy != NULL) kept[n++] = copy;
    return copy;
}

static const char *underscored(const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s", name);
    for (char *p = text; (p = strchr(p, '-')) != NULL;) *p = '_';
    const char *kept = keep(text);
    return kept == NULL ? name : kept;
}

static llap_status set_kept(const from_file *f, const cli_option *o, const char *name,
                            const char *text, char *field)
{
    if (o->type == CLI_FLAG && strcmp(text, "false") == 0) return LLAP_OK;
    if (o->type == CLI_FLAG && strcmp(text, "true") != 0)
        return cli_usage(f->command->name, "'%s' expects true or false, found '%s'", name, text);
    /* Who reads JSON finds it in the file by itself, and can then say where; a pipe is read once.
     */
    const bool  json = o->type == CLI_STRING && strcmp(o->arg, "JSON") == 0;
    struct stat s;
    const bool  again = json && stat(f->common->config, &s) == 0 && S_ISREG(s.st_mode) &&
                       strcmp(f->common->config, "-") != 0;
    const char *kept = again ? f->common->config : keep(text);
    if (kept == NULL) return cli_usage(f->command->name, "'%s': too much", name);
    return set_option(f->command->name, o, kept, field);
}

static llap_status set_from_file(void *user, const char *name, const char *text, const char *place)
{
    const from_file  *f = user;
    bool              own = false;
    const cli_option *o = find_option(f->command, name, strlen(name), 0, &own);
    char             *base = own ? (char *)f->options : (char *)f->common;
    source = place;
    const llap_status st = set_kept(f, o, name, text, base + o->offset);
    if (st == LLAP_OK) remember_place(o, keep(place));
    source = NULL;
    return st;
}

/* --config FILE, wherever it stands: what it says comes first, so that the rest wins. */
static llap_status read_config(const cli_command *command, int argc, char **argv,
                               cli_common *common, void *options)
{
    const char       *names[CLI_OPTIONS + 1] = { NULL };
    const cli_option *o;
    bool              own;
    size_t            n = 0;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) common->config = argv[i + 1];
        if (strncmp(argv[i], "--config=", 9) == 0) common->config = argv[i] + 9;
    }
    if (common->config == NULL) return LLAP_OK;
    if (*common->config == '\0') return cli_usage(command->name, "--config expects FILE, found ''");
    for (size_t i = 0; n + 1 < CLI_OPTIONS && (o = option_at(command, i, &own)) != NULL; i++) {
        if (strcmp(o->name, "config") == 0 || strcmp(o->name, "help") == 0) continue;
        names[n++] = o->name;
        if (strchr(o->name, '-') != NULL) names[n++] = underscored(o->name);
    }
    from_file   f = { command, common, options };
    llap_status st = llap_config_read(common->config, names, set_from_file, &f);
    if (st == LLAP_EUSAGE) return LLAP_EFORMAT; /* said already, and of a file */
    if (st != LLAP_OK) fprintf(stderr, "llapdiff %s: %s\n", command->name, llap_error_detail());
    return st;
}

llap_status cli_parse(const cli_command *command, int argc, char **argv, cli_common *common,
                      void *options, int *n_operands)
{
    bool only_operands = false;
    *n_operands = 0;
    llap_status config = read_config(command, argc, argv, common, options);
    if (config != LLAP_OK) return config;
    for (int i = 0; i < argc; i++) {
        char      *a = argv[i];
        const bool is_long = a[0] == '-' && a[1] == '-';
        if (only_operands || a[0] != '-' || a[1] == '\0') { /* "-" is an operand */
            argv[(*n_operands)++] = a;
            continue;
        }
        if (is_long && a[2] == '\0') {
            only_operands = true;
            continue;
        }
        const char       *name = a + (is_long ? 2 : 1), *equals = is_long ? strchr(a, '=') : NULL;
        const size_t      n = equals != NULL ? (size_t)(equals - name) : strlen(name);
        bool              own = false;
        const cli_option *o = find_option(command, name, n, is_long ? 0 : a[1], &own);
        if (o == NULL) return no_such_option(command, a, is_long ? n + 2 : 2);
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (o->type == CLI_FLAG && (value != NULL || (!is_long && a[2] != '\0')))
            return cli_usage(command->name, "--%s takes no value", o->name);
        if (o->type != CLI_FLAG && value == NULL) {
            if (!is_long && a[2] != '\0') value = a + 2; /* -n5 */
            else if (i + 1 < argc) value = argv[++i];
            else return cli_usage(command->name, "--%s expects %s", o->name, o->arg);
        }
        if (!own && (o->use & command->without) != 0) common->idle = o->name;
        char       *base = own ? (char *)options : (char *)common;
        llap_status st = set_option(command->name, o, value, base + o->offset);
        if (st != LLAP_OK) return st;
        remember_place(o, NULL);
    }
    if (common->help) return LLAP_OK;
    for (int i = 0; i < *n_operands; i++)
        if (*argv[i] == '\0')
            return cli_usage(command->name, "expects %s, found ''", command->operands);
    if (*n_operands < command->min_operands)
        return cli_usage(command->name, "expects %s", command->operands);
    if (command->max_operands >= 0 && *n_operands > command->max_operands)
        return cli_usage(command->name, "unexpected '%s'", argv[command->max_operands]);
    return LLAP_OK;
}
