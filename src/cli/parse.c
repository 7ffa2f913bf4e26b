#include "cli.h"

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

/* Files write no_climate as well as no-climate. */
static bool same_name(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != (b[i] == '_' ? '-' : b[i])) return false;
    return true;
}

static bool find_option(const cli_command *c, const char *name, size_t n, char letter,
                        cli_option *out)
{
    for (size_t i = 0; cli_option_at(c, i, out); i++) {
        if (letter != 0 && out->letter == letter) return true;
        if (letter == 0 && strlen(out->name) == n && same_name(out->name, name, n)) return true;
    }
    return false;
}

/* "no option '--horizn', did you mean '--horizon'?" */
static llap_status no_such_option(const cli_command *c, const char *word, size_t n)
{
    static char kept[CLI_OPTIONS][sizeof((cli_option *)NULL)->name];
    const char *names[CLI_OPTIONS + 1] = { NULL };
    cli_option  o;
    char        name[64];
    for (size_t i = 0; i < CLI_OPTIONS && cli_option_at(c, i, &o); i++) {
        memcpy(kept[i], o.name, sizeof kept[i]);
        names[i] = kept[i];
    }
    snprintf(name, sizeof name, "%.*s", (int)(n > 2 ? n - 2 : 0), word + (n > 2 ? 2 : 0));
    const char *near = llap_text_nearest(name, names);
    for (size_t i = 0; near == NULL && strlen(name) > 1 && names[i] != NULL; i++)
        if (strncmp(names[i], name, strlen(name)) == 0) near = names[i]; /* options have one name */
    return cli_usage(c->name, "no option '%.*s'%s%s%s", (int)n, word,
                     near ? " (did you mean '--" : "", near ? near : "", near ? "'?)" : "");
}

/* Takes a value of the command line, or of a file: "--size expects one of ..., found 'big'". */
static llap_status set_option(const char *command, const cli_option *o, const char *value,
                              cli_common *common, void *options)
{
    static const char expected[] = ": expected ";
    char             *base = o->common ? (char *)common : (char *)options;
    const llap_status st = llap_option_set(o->table, base + o->offset, o->option->name, value);
    if (st == LLAP_OK) return st;
    const char *detail = llap_error_detail() + strlen(o->option->name);
    const bool  plain = strncmp(detail, expected, sizeof expected - 1) != 0;
    return cli_usage(command, "%s%s%s%s", source == NULL ? "--" : "", o->name,
                     plain ? "" : " expects ", plain ? detail : detail + sizeof expected - 1);
}

/* ---- options from a file ---- */

typedef struct from_file {
    const cli_command *command;
    cli_common        *common;
    void              *options;
} from_file;

/* Options whose value is that of a file, and where it stands there. */
static struct {
    const llap_option *option;
    const char        *place;
} told[CLI_OPTIONS];

static void remember_place(const llap_option *o, const char *place)
{
    int i = 0;
    while (i + 1 < CLI_OPTIONS && told[i].option != NULL && told[i].option != o) i++;
    told[i].option = o;
    told[i].place = place;
}

static const char *place_of(const llap_option *o)
{
    for (int i = 0; i < CLI_OPTIONS && told[i].option != NULL; i++)
        if (told[i].option == o) return told[i].place;
    return NULL;
}

llap_status cli_wrong_option(const cli_command *command, const char *detail)
{
    const size_t n = strcspn(detail, ":");
    cli_option   o;
    for (size_t i = 0;; i++) {
        if (!cli_option_at(command, i, &o)) return cli_usage(command->name, "%s", detail);
        if (strlen(o.option->name) == n && strncmp(o.option->name, detail, n) == 0) break;
    }
    source = place_of(o.option);
    const bool in_file = source != NULL;
    char       spelt[CLI_MESSAGE];
    cli_spell(command, detail + n, spelt, sizeof spelt);
    (void)cli_usage(command->name, "%s%s%s", in_file ? "" : "--", o.name, spelt);
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

static llap_status set_from_file(void *user, const char *name, const char *text, const char *place)
{
    const from_file *f = user;
    const char      *config = f->common->config;
    cli_option       o;
    struct stat      s;
    if (!find_option(f->command, name, strlen(name), 0, &o)) return LLAP_EUSAGE;
    /* Who reads JSON finds it in the file by itself, and can then say where; a pipe is read once.
     */
    const bool again = o.option->type == LLAP_OPTION_JSON && strcmp(config, "-") != 0 &&
                       stat(config, &s) == 0 && S_ISREG(s.st_mode);
    const char *kept = again ? config : keep(text);
    source = place;
    llap_status st = kept == NULL ? cli_usage(f->command->name, "'%s': too much", name)
                                  : set_option(f->command->name, &o, kept, f->common, f->options);
    if (st == LLAP_OK) remember_place(o.option, keep(place));
    source = NULL;
    return st;
}

/* --config FILE, wherever it stands: what it says comes first, so that the rest wins. */
static llap_status read_config(const cli_command *command, int argc, char **argv,
                               cli_common *common, void *options)
{
    const char *names[CLI_OPTIONS + 1] = { NULL };
    cli_option  o;
    size_t      n = 0;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) common->config = argv[i + 1];
        if (strncmp(argv[i], "--config=", 9) == 0) common->config = argv[i] + 9;
    }
    if (common->config == NULL) return LLAP_OK;
    if (*common->config == '\0') return cli_usage(command->name, "--config expects FILE, found ''");
    for (size_t i = 0; n + 1 < CLI_OPTIONS && cli_option_at(command, i, &o); i++) {
        if (strcmp(o.name, "config") == 0 || strncmp(o.name, "help", 4) == 0) continue;
        names[n] = keep(o.name);
        if (names[n] != NULL && strchr(names[n++], '-') != NULL) names[n++] = underscored(o.name);
    }
    from_file   f = { command, common, options };
    llap_status st = llap_config_read(common->config, names, set_from_file, &f);
    if (st == LLAP_EUSAGE) return LLAP_EFORMAT; /* said already, and of a file */
    if (st != LLAP_OK) fprintf(stderr, "llapdiff %s: %s\n", command->name, llap_error_detail());
    return st;
}

/* The operands that are there are those that the command wants. */
static llap_status check_operands(const cli_command *command, int n, char **operands)
{
    for (int i = 0; i < n; i++)
        if (*operands[i] == '\0')
            return cli_usage(command->name, "expects %s, found ''", command->operands);
    if (n < command->min_operands) return cli_usage(command->name, "expects %s", command->operands);
    if (command->max_operands >= 0 && n > command->max_operands)
        return cli_usage(command->name, "unexpected '%s'", operands[command->max_operands]);
    return LLAP_OK;
}

static bool is_word(const cli_option *o, const char *text)
{
    for (int k = 1; o->option->words[k] != NULL; k++)
        if (strcmp(o->option->words[k], text) == 0) return true;
    return false;
}

/* Is this argument an operand, as far as can be seen: a file that is there, or named like one? */
static bool is_operand(const char *text)
{
    struct stat s;
    return text[0] == '-' || strpbrk(text, "./") != NULL || stat(text, &s) == 0;
}

/* A list with what the command line has given before; NULL: too long. What a file gives does not
 * join. */
static const char *join(const cli_option *o, const void *options, const char *value)
{
    char        both[8192];
    const char *before =
        *(const char *const *)((const char *)options + o->offset + o->option->offset);
    if (before == NULL || place_of(o->option) != NULL) return value;
    const int n = snprintf(both, sizeof both, "%s,%s", before, value);
    return n >= 0 && n < (int)sizeof both ? keep(both) : NULL;
}

/* The option that argv[*i] names, with its value, for which *i goes on. */
static llap_status take_option(const cli_command *command, int argc, char **argv, int *i,
                               cli_common *common, void *options)
{
    const char  *a = argv[*i];
    const bool   is_long = a[1] == '-';
    const char  *name = a + (is_long ? 2 : 1), *equals = is_long ? strchr(a, '=') : NULL;
    const size_t n = equals != NULL ? (size_t)(equals - name) : strlen(name);
    cli_option   o;
    if (!find_option(command, name, n, is_long ? 0 : a[1], &o))
        return no_such_option(command, a, is_long ? n + 2 : 2);
    const bool  flag = o.option->type == LLAP_OPTION_FLAG;
    const char *value = equals != NULL ? equals + 1 : flag ? "true" : NULL;
    if (flag && (equals != NULL || (!is_long && a[2] != '\0')))
        return cli_usage(command->name, "--%s takes no value", o.name);
    if (value == NULL) {
        const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
        if (!is_long && a[2] != '\0') value = a + 2; /* -n5 */
        else if (o.alone != NULL && (next == NULL || (!is_word(&o, next) && is_operand(next))))
            value = o.alone;
        else if (*i + 1 < argc) value = argv[++*i];
        else return cli_usage(command->name, "--%s expects %s", o.name, o.arg);
    }
    if (o.idle) common->idle = keep(o.name);
    if (o.joins) value = join(&o, options, value);
    if (value == NULL) return cli_usage(command->name, "--%s: too much", o.name);
    const llap_status st = set_option(command->name, &o, value, common, options);
    if (st == LLAP_OK) remember_place(o.option, NULL);
    return st;
}

llap_status cli_parse(const cli_command *command, int argc, char **argv, cli_common *common,
                      void *options, int *n_operands)
{
    bool only_operands = false;
    *n_operands = 0;
    llap_status st = read_config(command, argc, argv, common, options);
    for (int i = 0; i < argc && st == LLAP_OK; i++) {
        char *a = argv[i];
        if (only_operands || a[0] != '-' || a[1] == '\0') /* "-" is an operand */
            argv[(*n_operands)++] = a;
        else if (strcmp(a, "--") == 0) only_operands = true;
        else st = take_option(command, argc, argv, &i, common, options);
    }
    if (st != LLAP_OK || common->help || common->help_reading) return st;
    return check_operands(command, *n_operands, argv);
}
