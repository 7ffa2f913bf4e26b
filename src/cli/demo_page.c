#include "demo_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>llapdiff "
    "demo</title>\n"
    "<style>body{font:16px/1.5 sans-serif;color:#222;max-width:1000px;margin:2em auto;padding:0 "
    "1em}\nh1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}pre{background:#f4f4f4;padding:"
    "1em;overflow:auto;font-size:13px;white-space:pre-wrap}\nsvg{max-width:100%;height:auto}</"
    "style></head><body>\n"
    "<h1>llapdiff: what comes next, and what was missing</h1>\n"
    "<p>A made-up network of weather stations with jittered timestamps, lost rows, long gaps and a "
    "dead station, from file to forecast. Everything here was computed by <code>llapdiff "
    "demo</code>; "
    "the commands in the text make the same pictures again, and others with your own data.</p>\n";

static void put_escaped(FILE *f, const char *s)
{
    for (; *s != '\0'; s++)
        if (*s == '<') fputs("&lt;", f);
        else if (*s == '&') fputs("&amp;", f);
        else fputc(*s, f);
}

/* The picture without its XML head. Names within it are made the picture's own: two pictures of one
 * page would otherwise share letters. */
static bool put_svg(FILE *f, const char *path, int number)
{
    FILE *in = fopen(path, "r");
    if (in == NULL) return false;
    char line[1 << 14];
    bool body = false;
    while (fgets(line, sizeof line, in) != NULL) {
        if (!body && strncmp(line, "<svg", 4) != 0) continue;
        body = true;
        for (const char *p = line; *p != '\0';) {
            const char *mark[] = { "id=\"", "href=\"#", "url(#" };
            const char *next = NULL;
            size_t      n = 0;
            for (int k = 0; k < 3; k++) {
                const char *at = strstr(p, mark[k]);
                if (at != NULL && (next == NULL || at < next)) next = at, n = strlen(mark[k]);
            }
            if (next == NULL) {
                fputs(p, f);
                break;
            }
            fprintf(f, "%.*sp%d-", (int)(next + (ptrdiff_t)n - p), p, number);
            p = next + n;
        }
    }
    const bool ok = ferror(in) == 0 && body;
    fclose(in);
    return ok;
}

static void put_part(FILE *f, const demo_part *part, int i, bool *ok)
{
    fprintf(f, "<h2>%s</h2>\n<p>%s</p>\n", part->title, part->text);
    if (part->svg != NULL && !put_svg(f, part->svg, i)) *ok = false;
    if (part->table == NULL) return;
    fputs("<pre>", f);
    put_escaped(f, part->table);
    fputs("</pre>\n", f);
}

llap_status demo_page_write(const char *path, const demo_part *part, int n)
{
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.part", path);
    FILE *f = fopen(temporary, "w");
    bool  ok = f != NULL;
    if (ok) fputs(head, f);
    for (int i = 0; ok && i < n; i++) put_part(f, &part[i], i, &ok);
    if (f != NULL) {
        fputs("</body></html>\n", f);
        if (ferror(f) != 0) ok = false;
        if (fclose(f) != 0) ok = false;
    }
    if (ok && rename(temporary, path) == 0) return LLAP_OK;
    fprintf(stderr, "llapdiff demo: %s: %s\n", path, strerror(errno));
    remove(temporary);
    return LLAP_EIO;
}
