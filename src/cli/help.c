/* Help, manual pages and completions, all printed from the tables. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static const char program_summary[] =
    "forecasts and gap filling for irregular, incomplete time series";

void cli_print_overview(void)
{
    printf("llapdiff: %s\n\nusage: llapdiff COMMAND [options] ...\n\ncommands:\n", program_summary);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        printf("  %-10s %s\n", (*c)->name, (*c)->summary);
    printf("\nllapdiff COMMAND --help explains a command and shows an example.\n"
           "exit codes: 0 done, 1 failed, 2 wrong usage, 3 interrupted\n");
}

/* Behind the help of a common option that the command has no use for. */
static const char *idle_note(const cli_option *o) { return o->idle ? "; no effect here" : ""; }

static void print_option(const cli_option *o)
{
    char left[128];
    snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "  ",
             o->letter ? o->letter : ' ', o->letter ? ", " : " ", o->name, *o->arg ? " " : "",
             o->arg);
    if (strlen(left) > 26) printf("  %s\n  %26s", left, "");
    else printf("  %-26s", left);
    printf("  %s%s\n", o->help, idle_note(o));
}

/* Groups of options, in the order of the help. */
typedef enum group { OF_COMMAND, OF_READING, OF_READING_USUAL, OF_ALL } group;

static bool is_in(group g, const cli_option *o)
{
    switch (g) {
    case OF_COMMAND:
        return !o->everywhere && !o->reading;
    case OF_READING:
        return o->reading;
    case OF_READING_USUAL:
        return o->reading && o->usual;
    default:
        return o->everywhere;
    }
}

/* Returns how many of the group there are; prints them below the title unless it is NULL. */
static int print_group(const cli_command *c, group g, const char *title)
{
    const bool reads = title == NULL || print_group(c, OF_READING, NULL) > 0;
    cli_option o;
    int        n = 0;
    for (size_t i = 0; cli_option_at(c, i, &o); i++) {
        if (!is_in(g, &o) || (!reads && strcmp(o.name, "help-reading") == 0)) continue;
        if (title != NULL && n == 0) printf("\n%s:\n", title);
        if (title != NULL) print_option(&o);
        n++;
    }
    return n;
}

/* What stands for DATA, of commands that read some. */
static const char data_text[] =
    "DATA: files or folders of CSV, NetCDF, a packed panel, or one database:\n"
    "'sqlite:FILE?table=NAME', 'postgresql://HOST/DATABASE?query=SELECT ...', or what\n"
    "`llapdiff serve` collected: '...?stream=NAME'.\n";

static bool takes_data(const cli_command *c) { return strstr(c->operands, "DATA") != NULL; }

static void print_head(const cli_command *c)
{
    printf("llapdiff %s: %s\n\nusage: llapdiff %s%s%s [options]\n", c->name, c->summary, c->name,
           *c->operands ? " " : "", c->operands);
}

void cli_print_help(const cli_command *c)
{
    char      title[128];
    const int more = print_group(c, OF_READING, NULL) - print_group(c, OF_READING_USUAL, NULL);
    print_head(c);
    printf("\n%s\n", c->text);
    if (takes_data(c)) printf("\n%s", data_text);
    print_group(c, OF_COMMAND, "options");
    snprintf(title, sizeof title, "how files are read (%d more: llapdiff %s --help-reading)", more,
             c->name);
    print_group(c, OF_READING_USUAL, title);
    print_group(c, OF_ALL, "common options");
    printf("\nexample:\n%s\n", c->example);
}

void cli_print_help_reading(const cli_command *c)
{
    print_head(c);
    if (print_group(c, OF_READING, "how files are read") == 0)
        printf("\nreads no tables; all options: llapdiff %s --help\n", c->name);
}

/* ---- manual pages ---- */

/* Text for troff: a leading dot or quote and every backslash and dash are protected. */
static void troff(const char *s)
{
    bool line_start = true;
    for (; *s != '\0'; s++) {
        if (line_start && (*s == '.' || *s == '\'')) fputs("\\&", stdout);
        if (*s == '\\') fputs("\\e", stdout);
        else if (*s == '-') fputs("\\-", stdout);
        else putchar(*s);
        line_start = *s == '\n';
    }
}

static void troff_options(const cli_command *c)
{
    cli_option o;
    for (size_t i = 0; cli_option_at(c, i, &o); i++) {
        printf(".TP\n\\fB");
        if (o.letter) printf("\\-%c\\fR, \\fB", o.letter);
        troff("--");
        troff(o.name);
        printf("\\fR");
        if (*o.arg != '\0') {
            printf(" \\fI");
            troff(o.arg);
            printf("\\fR");
        }
        printf("\n");
        troff(o.help);
        troff(idle_note(&o));
        printf("\n");
    }
}

static void troff_head(const char *name, const char *summary)
{
    printf(".TH %s 1 \"\" \"llapdiff %s\" \"User Commands\"\n.SH NAME\n", name, llap_version());
    troff(name);
    printf(" \\- ");
    troff(summary);
    printf("\n.SH SYNOPSIS\n");
}

void cli_print_manual(const cli_command *c)
{
    if (c == NULL) {
        troff_head("llapdiff", program_summary);
        printf(".B llapdiff\n.I COMMAND\n[options] ...\n.SH COMMANDS\n");
        for (const cli_command *const *k = cli_commands; *k != NULL; k++) {
            printf(".TP\n\\fBllapdiff\\-%s\\fR(1)\n", (*k)->name);
            troff((*k)->summary);
            printf("\n");
        }
        printf(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 interrupted.\n");
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "llapdiff-%s", c->name);
    troff_head(name, c->summary);
    printf(".B llapdiff %s\n", c->name);
    if (*c->operands) {
        printf(".I ");
        troff(c->operands);
        printf("\n");
    }
    printf("[options]\n.SH DESCRIPTION\n");
    troff(c->text);
    if (takes_data(c)) {
        printf("\n.PP\n");
        troff(data_text);
    }
    printf("\n.SH OPTIONS\n");
    troff_options(c);
    printf(".SH EXAMPLE\n.nf\n");
    troff(c->example);
    printf("\n.fi\n.SH SEE ALSO\n.BR llapdiff (1)\n");
}

/* ---- JSON ---- */

static void json_member(const char *key, const char *value)
{
    printf(", ");
    cli_json_string(key);
    printf(": ");
    cli_json_string(value);
}

static const char *type_name(llap_option_type type)
{
    switch (type) {
    case LLAP_OPTION_FLAG:
        return "flag";
    case LLAP_OPTION_INTEGER:
        return "whole number";
    case LLAP_OPTION_REAL:
        return "number";
    case LLAP_OPTION_WORD:
        return "choice";
    default:
        return "text";
    }
}

static void json_options(const cli_command *c)
{
    cli_option o;
    for (size_t i = 0; cli_option_at(c, i, &o); i++) {
        printf("%s\n    {\"name\": ", i == 0 ? "" : ",");
        cli_json_string(o.name);
        if (o.letter != 0) json_member("letter", (const char[]){ o.letter, '\0' });
        json_member("type", type_name(o.option->type));
        if (*o.arg != '\0') json_member("value", o.arg);
        if (o.option->usual != NULL) json_member("default", o.option->usual);
        json_member("help", o.help);
        printf("}");
    }
}

static void json_command(const cli_command *c)
{
    printf("{\"name\": ");
    cli_json_string(c->name);
    json_member("operands", c->operands);
    json_member("summary", c->summary);
    json_member("text", c->text);
    json_member("example", c->example);
    printf(", \"options\": [");
    json_options(c);
    printf("]}");
}

void cli_print_json(const cli_command *c)
{
    if (c != NULL) json_command(c);
    for (const cli_command *const *k = cli_commands; c == NULL && *k != NULL; k++) {
        printf("%s", k == cli_commands ? "[" : ",\n");
        json_command(*k);
    }
    printf(c == NULL ? "]\n" : "\n");
}

/* ---- completions ---- */

static void print_words(const cli_command *c)
{
    cli_option o;
    for (size_t i = 0; cli_option_at(c, i, &o); i++) printf(" --%s", o.name);
}

static void complete_bash(void)
{
    printf("_llapdiff() {\n    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        printf("%s%s", c == cli_commands ? "" : " ", (*c)->name);
    printf("'\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf("        %s) words='", (*c)->name);
        print_words(*c);
        printf("' ;;\n");
    }
    printf("        esac\n        [[ $word == -* ]] || words=\n    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\ncomplete -o default -F _llapdiff llapdiff\n");
}

/* A word inside single quotes of zsh's _arguments: no quote, no bracket, no colon. */
static void zsh_text(const char *s)
{
    for (; *s != '\0'; s++)
        if (*s == '[' || *s == ']' || *s == ':') printf("\\%c", *s);
        else if (*s == '\'') printf("'\\''");
        else putchar(*s);
}

static void zsh_options(const cli_command *c)
{
    cli_option o;
    for (size_t i = 0; cli_option_at(c, i, &o); i++) {
        const llap_option_type type = o.option->type;
        printf(" \\\n            '--%s%s[", o.name, type == LLAP_OPTION_FLAG ? "" : "=");
        zsh_text(o.help);
        printf("]%s", type == LLAP_OPTION_FLAG ? "" : ":value:");
        for (int k = 1; type == LLAP_OPTION_WORD && o.option->words[k] != NULL; k++)
            printf("%s%s", k == 1 ? "(" : " ", o.option->words[k]);
        printf("%s'", type == LLAP_OPTION_WORD ? ")" : type == LLAP_OPTION_FLAG ? "" : "_files");
    }
}

static void complete_zsh(void)
{
    printf("#compdef llapdiff\n_llapdiff() {\n    if (( CURRENT == 2 )); then\n"
           "        local -a commands=(");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf("\n            '%s:", (*c)->name);
        zsh_text((*c)->summary);
        printf("'");
    }
    printf(
        ")\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf("        %s) _arguments", (*c)->name);
        zsh_options(*c);
        printf(" \\\n            '*:file:_files' ;;\n");
    }
    printf("    esac\n}\n_llapdiff \"$@\"\n");
}

llap_status cli_print_completion(const char *shell)
{
    if (strcmp(shell, "bash") == 0) complete_bash();
    else if (strcmp(shell, "zsh") == 0) complete_zsh();
    else return cli_usage("help", "--completion expects bash or zsh, found '%s'", shell);
    return LLAP_OK;
}

/* Bytes of the UTF-8 character at s, which names of files need not be: 0. */
static size_t character(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    /* longer than need be, a surrogate, past U+10FFFF */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) || p[0] > 0xf4) return 0;
    return n;
}

void cli_json_string(const char *s)
{
    putchar('"');
    for (size_t n; *s != '\0'; s += n > 0 ? n : 1) {
        n = character(s);
        if (*s == '"' || *s == '\\') printf("\\%c", *s);
        else if ((unsigned char)*s < 0x20) printf("\\u%04x", (unsigned char)*s);
        else if (n == 0) printf("\\ufffd");
        else fwrite(s, 1, n, stdout);
    }
    putchar('"');
}

void cli_json_pair(const char *key, const char *value)
{
    putchar('{');
    cli_json_string(key);
    fputs(": ", stdout);
    cli_json_string(value);
    fputs("}\n", stdout);
}

void cli_print_text(const cli_common *common, char *text)
{
    const size_t n = strlen(text);
    fputs(text, stdout);
    if (common->json && (n == 0 || text[n - 1] != '\n')) putchar('\n');
    llap_text_free(text);
}
